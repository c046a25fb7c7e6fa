"""The keys of a GGUF file, so that one can be taken apart and written again."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, LIST, U64, I64, F64 = range(13)
LETTERS = {
    U8: "B",
    I8: "b",
    U16: "H",
    I16: "h",
    U32: "I",
    I32: "i",
    F32: "f",
    BOOL: "?",
    U64: "Q",
    I64: "q",
    F64: "d",
}
PREFIX = "tokenizer.ggml."


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


@dataclass(frozen=True)
class List:
    """The type of the items, how many they are said to be, and their bytes."""

    of: int
    count: int
    items: bytes

    def to_bytes(self) -> bytes:
        return struct.pack("<IQ", self.of, self.count) + self.items


Value = tuple[int, bytes]
"""A type, and the bytes of the value behind it."""


@dataclass(frozen=True)
class Keys:
    """Keys with their values, in the order of the file."""

    rows: list[tuple[str, Value]]
    version: int = 3
    tensors: int = 0
    behind: bytes = b""
    """What stands behind the keys."""

    @classmethod
    def of(cls, data: bytes) -> Keys:
        version, tensors, count = struct.unpack_from("<IQQ", data, 4)
        at = 24
        rows: list[tuple[str, Value]] = []

        def size(kind: int, at: int) -> int:
            """Of the value that begins here."""
            if kind == TEXT:
                return 8 + int(struct.unpack_from("<Q", data, at)[0])
            if kind != LIST:
                return struct.calcsize(LETTERS[kind])
            of, length = struct.unpack_from("<IQ", data, at)
            if of in LETTERS:
                return 12 + int(length) * struct.calcsize(LETTERS[of])
            whole = 12
            for _ in range(length):
                whole += size(of, at + whole)
            return whole

        for _ in range(count):
            end = at + size(TEXT, at)
            name = data[at + 8 : end].decode()
            (kind,) = struct.unpack_from("<I", data, end)
            at = end + 4 + size(kind, end + 4)
            rows.append((name, (kind, data[end + 4 : at])))
        return cls(rows, version, tensors, data[at:])

    @classmethod
    def made(cls, texts: Mapping[str, str]) -> Keys:
        return cls([(PREFIX + name, (TEXT, text(value.encode()))) for name, value in texts.items()])

    def head(self, count: int | None = None) -> bytes:
        count = len(self.rows) if count is None else count
        return b"GGUF" + struct.pack("<IQQ", self.version, self.tensors, count)

    def to_bytes(self) -> bytes:
        return self.head() + b"".join(written(*row) for row in self.rows) + self.behind

    # ---- what is there ------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        return any(key == PREFIX + name for key, _ in self.rows)

    def value(self, name: str) -> Value:
        return next(value for key, value in self.rows if key == PREFIX + name)

    def list_of(self, name: str) -> List:
        kind, data = self.value(name)
        assert kind == LIST
        of, count = struct.unpack_from("<IQ", data)
        return List(of, count, data[12:])

    def texts(self, name: str) -> list[bytes]:
        items = self.list_of(name)
        found, at = [], 0
        for _ in range(items.count):
            (length,) = struct.unpack_from("<Q", items.items, at)
            found.append(items.items[at + 8 : at + 8 + length])
            at += 8 + length
        return found

    def numbers(self, name: str) -> list[Any]:
        items = self.list_of(name)
        return list(struct.unpack(f"<{items.count}{LETTERS[items.of]}", items.items))

    def ids(self) -> list[tuple[str, int]]:
        """The tokens that play a part."""
        return [
            (key.removeprefix(PREFIX), struct.unpack("<I", data)[0])
            for key, (kind, data) in self.rows
            if key.endswith("_token_id") and kind == U32
        ]

    # ---- the same with another value ----------------------------------------------------------------

    def with_value(self, name: str, value: Value) -> Keys:
        key = PREFIX + name
        if not self.has(name):
            return replace(self, rows=[*self.rows, (key, value)])
        return replace(self, rows=[(row, value if row == key else old) for row, old in self.rows])

    def without(self, name: str) -> Keys:
        return replace(self, rows=[row for row in self.rows if row[0] != PREFIX + name])

    def with_list(self, name: str, items: List) -> Keys:
        return self.with_value(name, (LIST, items.to_bytes()))

    def with_texts(self, name: str, texts: list[bytes]) -> Keys:
        return self.with_list(name, List(TEXT, len(texts), b"".join(map(text, texts))))

    def with_text(self, name: str, value: bytes) -> Keys:
        return self.with_value(name, (TEXT, text(value)))

    def with_raw(self, name: str, of: int, items: bytes) -> Keys:
        return self.with_list(name, List(of, len(items) // struct.calcsize(LETTERS[of]), items))

    def with_new(self, name: str, kind: int, value: Any) -> Keys:
        """A number, or a list of them."""
        if isinstance(value, list):
            return self.with_raw(name, kind, struct.pack(f"<{len(value)}{LETTERS[kind]}", *value))
        return self.with_value(name, (kind, struct.pack(f"<{LETTERS[kind]}", value)))

    def with_plain(self, name: str, value: int) -> Keys:
        return self.with_new(name, self.value(name)[0], value)

    def with_items(self, name: str, order: list[int]) -> Keys:
        """A list of numbers, of which these are kept in this order."""
        numbers = self.numbers(name)
        return self.with_new(name, self.list_of(name).of, [numbers[i] for i in order])


def written(key: str, value: Value) -> bytes:
    kind, data = value
    return text(key.encode()) + struct.pack("<I", kind) + data
