"""A change of a text, and of its ids: what ``Tokenizer.edit`` gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from ._core import Encoding

__all__ = ["Edit"]


@final
@dataclass(frozen=True, slots=True)
class Edit:
    """A changed text with its encoding. The ids ``start:old_stop`` became the ids ``start:new_stop``."""

    text: str
    """The changed text."""
    encoding: Encoding
    """Its encoding."""
    start: int
    """The number of ids before the change: they are as they were, and so are their offsets."""
    old_stop: int
    """Where the changed ids end in the encoding that was given."""
    new_stop: int
    """Where they end in this one. The ids after them are as they were; their offsets have moved."""


def changed(text: str, start: int, stop: int, replacement: str) -> str:
    """A text in which a range of characters is replaced."""
    return text[:start] + replacement + text[stop:]
