"""The argument ``texts`` of calls that look at texts one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["each_text"]


def each_text(texts: Any, name: str = "texts") -> Iterator[str]:
    """Each of ``texts``, which is a text or an iterable of texts. Raises ``TypeError`` for anything else.

    ``name`` is what errors call it.
    """
    if isinstance(texts, str):
        yield texts
        return
    if isinstance(texts, bytes | bytearray) or not isinstance(texts, Iterable):
        raise TypeError(f"{name} must be a str or an iterable of str, not {type(texts).__name__}")
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{name}[{position}] must be str, not {type(text).__name__}")
        yield text
