"""The wire format of protobuf, so that a SentencePiece model can be taken apart and written again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

Field = tuple[int, int, Any]
"""Number, the way it is written, and the value: a number, or bytes."""


def number(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def fields(message: bytes) -> Iterator[Field]:
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == VARINT:
            yield tag >> 3, VARINT, varint()
            continue
        size = varint() if tag & 7 == BYTES else {FIXED64: 8, FIXED32: 4}[tag & 7]
        yield tag >> 3, tag & 7, message[at : at + size]
        at += size


def field(which: int, way: int, value: Any) -> bytes:
    head = number(which << 3 | way)
    if way == VARINT:
        return head + number(value)
    return head + (number(len(value)) if way == BYTES else b"") + bytes(value)


def written(parts: Iterable[Field]) -> bytes:
    return b"".join(field(*part) for part in parts)


def with_field(message: bytes, which: int, way: int, value: Any) -> bytes:
    """The message with this field in the place of what it has under that number."""
    return written([*without_field(message, which), (which, way, value)])


def without_field(message: bytes, which: int) -> list[Field]:
    return [part for part in fields(message) if part[0] != which]


NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6


@dataclass(frozen=True)
class Piece:
    text: bytes
    score: bytes = bytes(4)
    """A single-precision number as it stands in the file."""
    kind: int = NORMAL

    def message(self) -> bytes:
        kind = [] if self.kind == NORMAL else [(3, VARINT, self.kind)]
        return written([(1, BYTES, self.text), (2, FIXED32, self.score), *kind])


@dataclass(frozen=True)
class Model:
    """A SentencePiece model: its pieces, and the messages behind them by their numbers."""

    pieces: list[Piece]
    parts: list[tuple[int, bytes]]

    @classmethod
    def of(cls, data: bytes) -> Model:
        pieces: list[Piece] = []
        parts: list[tuple[int, bytes]] = []
        for which, _, message in fields(data):
            if which == 1:
                values = {key: value for key, _, value in fields(message)}
                pieces.append(Piece(values[1], values.get(2, bytes(4)), values.get(3, NORMAL)))
            else:
                parts.append((which, message))
        return cls(pieces, parts)

    def part(self, which: int) -> bytes:
        return next(message for number, message in self.parts if number == which)

    def with_part(self, which: int, change: Callable[[bytes], bytes]) -> Model:
        parts = [(number, change(message) if number == which else message) for number, message in self.parts]
        return replace(self, parts=parts)

    def with_pieces(self, pieces: list[Piece]) -> Model:
        return replace(self, pieces=pieces)

    def to_bytes(self) -> bytes:
        return written(
            [(1, BYTES, piece.message()) for piece in self.pieces]
            + [(which, BYTES, message) for which, message in self.parts]
        )
