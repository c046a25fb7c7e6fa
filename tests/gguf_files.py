"""GGUF files made for tests: keys and no tensors."""

from __future__ import annotations

import struct
from typing import Any

U8, U32, I32, F32, BOOL, TEXT, LIST = 0, 4, 5, 6, 7, 8, 9
PREFIX = "tokenizer.ggml."


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def value_of(value: Any) -> bytes:
    """A value with its type: a bool, a text, an id, or a list of texts, numbers or bytes."""
    if isinstance(value, bool):
        return struct.pack("<I?", BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", U32, value)
    if isinstance(value, str):
        return struct.pack("<I", TEXT) + text(value)
    if isinstance(value, bytes):
        return struct.pack("<IIQ", LIST, U8, len(value)) + value
    if value and isinstance(value[0], str):
        return struct.pack("<IIQ", LIST, TEXT, len(value)) + b"".join(map(text, value))
    kind, letter = (F32, "f") if value and isinstance(value[0], float) else (I32, "i")
    return struct.pack(f"<IIQ{len(value)}{letter}", LIST, kind, len(value), *value)


def gguf(**keys: Any) -> bytes:
    """A file with these keys of the tokenizer; `None` leaves one out."""
    whole = ("tokenizer.", "general.")
    named = ((name if name.startswith(whole) else PREFIX + name, value) for name, value in keys.items())
    rows = [(name, value) for name, value in named if value is not None]
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(rows))
    return head + b"".join(text(name) + value_of(value) for name, value in rows)


def small_gpt2(**changes: Any) -> bytes:
    """A sound byte-level file with these changes."""
    keys: dict[str, Any] = {
        "model": "gpt2",
        "pre": "gpt-2",
        "tokens": ["a", "b", "ab", "Ġ", "<s>"],
        "token_type": [1, 1, 1, 1, 3],
        "merges": ["a b"],
        "bos_token_id": 4,
    }
    return gguf(**{**keys, **changes})
