"""Checks of what callers pass, with the kinds of errors that tiktoken raises."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from ...errors import SpecialTokenError
from ._making import ID_LIMIT

__all__ = ["check_threads", "disallowed", "missing", "no_set", "refuse", "to_bytes", "to_texts"]


def to_bytes(text_or_bytes: str | bytes) -> bytes:
    token = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
    if not isinstance(token, bytes):
        raise TypeError(f"expected str or bytes, not {type(token).__name__}")
    return token


def to_texts(text: Iterable[str]) -> list[str]:
    texts = list(text)
    for one in texts:
        if not isinstance(one, str):
            raise TypeError(f"expected a str, not {type(one).__name__}")
    return texts


def check_threads(num_threads: int | None) -> None:
    if num_threads is not None and num_threads <= 0:
        raise ValueError(f"num_threads is at least 1, not {num_threads}")


def missing(token: int | None) -> Exception:
    if token is None or not 0 <= token <= ID_LIMIT:
        return OverflowError(f"{token} is not an id: ids are between 0 and {ID_LIMIT - 1}")
    return KeyError(f"no token has the id {token}")


def no_set(allowed: object) -> TypeError:
    """The error of an ``allowed_special`` that is no set."""
    hint = f"; for one literal write {{{allowed!r}}}" if isinstance(allowed, str) else ""
    return TypeError(f'allowed_special is "all" or a set, not {type(allowed).__name__}{hint}')


def refuse(text: str, literals: frozenset[str]) -> None:
    """Raise if the text holds one of the literals."""
    if literals:
        found = _search_for(literals).search(text)
        if found is not None:
            raise disallowed(found.group(), found.start())


def disallowed(token: str, position: int | None = None) -> SpecialTokenError:
    """The error of a literal that the text holds, at a character if it is known where."""
    place = "" if position is None else f" at character {position}"
    return SpecialTokenError(
        f"the text holds {token!r}{place}, which is not allowed: add it to allowed_special to have it "
        "encoded as a special token, or pass disallowed_special=() to read it as plain text",
        token=token,
        position=position,
    )


@functools.lru_cache(maxsize=128)
def _search_for(literals: frozenset[str]) -> re.Pattern[str]:
    """Of several at one place the longest is named."""
    return re.compile("|".join(map(re.escape, sorted(literals, key=lambda one: (-len(one), one)))))
