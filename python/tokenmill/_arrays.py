"""Operations on arrays in place of numpy's functions that import modules when they are first called.

A child that is forked while another thread imports such a module would wait for it for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._forks import waited_for

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["sorted_once"]


def sorted_once(*parts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The values of these arrays in order, each once."""
    with waited_for:
        import numpy as np

    values = np.sort(np.concatenate(parts))
    is_new = np.ones(len(values), bool)
    is_new[1:] = values[1:] != values[:-1]
    once: npt.NDArray[Any] = values[is_new]
    return once
