"""What a call of the tokenizers library takes, as texts and pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["read_inputs"]

_Row = tuple[Any, Any]


def read_inputs(inputs: Sequence[Any], *, is_pretokenized: bool) -> tuple[list[Any], list[Any] | None]:
    """The texts of a batch, and its pairs: ``None`` where a text has none, or instead of the list.

    An item is a text or two of them; with ``is_pretokenized`` a text is a list or tuple of ``str``.
    Raises ``TypeError`` for anything else.
    """
    if isinstance(inputs, str) or not hasattr(inputs, "__getitem__"):
        raise TypeError(f"a batch is a sequence of inputs, not {type(inputs).__name__}")
    if not is_pretokenized and all(isinstance(item, str) for item in inputs):
        return list(inputs), None
    read = _read_words if is_pretokenized else _read_texts
    rows = [read(item) for item in inputs]
    pairs = [pair for _, pair in rows]
    return [text for text, _ in rows], (None if pairs.count(None) == len(pairs) else pairs)


def _read_texts(item: Any) -> _Row:
    if isinstance(item, str):
        return item, None
    if isinstance(item, list | tuple) and len(item) == 2 and _are_texts(item):
        return item[0], item[1]
    raise TypeError(f"an input is a str, or a list or tuple of two, not {_described(item)}")


def _read_words(item: Any) -> _Row:
    item = _plain(item)
    if isinstance(item, list | tuple):
        if _are_texts(item):
            return item, None
        parts = [_plain(part) for part in item]
        if len(parts) == 2 and all(isinstance(part, list | tuple) and _are_texts(part) for part in parts):
            return parts[0], parts[1]
    raise TypeError(f"a pre-tokenized input is a list of str, or two of these, not {_described(item)}")


def _are_texts(items: Sequence[Any]) -> bool:
    return all(isinstance(item, str) for item in items)


def _plain(item: Any) -> Any:
    """A numpy array as a list."""
    return item.tolist() if hasattr(item, "tolist") and not isinstance(item, str) else item


def _described(item: Any) -> str:
    if isinstance(item, list | tuple):
        kinds = sorted({type(one).__name__ for one in item})
        return f"{type(item).__name__} of {len(item)} ({', '.join(kinds)})"
    return type(item).__name__
