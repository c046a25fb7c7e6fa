"""What callers give: ids that are integers."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index

__all__ = ["checked_ids"]


def checked_ids(ids: Iterable[int]) -> list[int]:
    """The ids as ``int``, those of numpy too. Raises ``TypeError`` for all else."""
    found = []
    for place, number in enumerate(ids):
        try:
            found.append(index(number))
        except TypeError:
            raise TypeError(f"ids[{place}] is an integer, not {type(number).__name__}") from None
    return found
