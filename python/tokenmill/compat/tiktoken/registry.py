"""Encodings by name, each made once.

``ENCODING_CONSTRUCTORS`` may be added to: a name, and a function that returns the arguments of
``Encoding``. Modules of the namespace ``tiktoken_ext`` are not looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._forks import OwnLock
from ._published import CONSTRUCTORS
from .core import Encoding

__all__ = ["ENCODINGS", "ENCODING_CONSTRUCTORS", "get_encoding", "list_encoding_names"]

# A fork is not kept waiting while an encoding is downloaded: the child has a lock of its own.
_lock = OwnLock()

ENCODINGS: dict[str, Encoding] = {}
"""What ``get_encoding`` has made so far."""

ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] = dict(CONSTRUCTORS)
"""What it can make: the arguments of ``Encoding`` by name."""


def get_encoding(encoding_name: str) -> Encoding:
    """The encoding of this name, the same object at every call.

    Its rank file is downloaded unless it is on this machine (see ``load``). Raises ``ValueError`` for a name
    that is not known, and what ``load.read_file_cached`` raises.
    """
    if not isinstance(encoding_name, str):
        raise ValueError(f"the name of an encoding is a str, not {type(encoding_name).__name__}")
    with _lock.held:
        if encoding_name not in ENCODINGS:
            constructor = ENCODING_CONSTRUCTORS.get(encoding_name)
            if constructor is None:
                known = ", ".join(ENCODING_CONSTRUCTORS)
                raise ValueError(f"no encoding is called {encoding_name!r}; known are {known}")
            ENCODINGS[encoding_name] = Encoding(**constructor())
        return ENCODINGS[encoding_name]


def list_encoding_names() -> list[str]:
    """The names that ``get_encoding`` knows."""
    with _lock.held:
        return list(ENCODING_CONSTRUCTORS)
