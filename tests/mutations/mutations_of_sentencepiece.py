"""SentencePiece models, damaged. What they mean is what sentencepiece makes of them."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from . import sources_of_models
from .making import Content, Damage, Encode, Format, Mutation, Source, in_bytes, larger_than
from .messages import (
    BYTE,
    BYTES,
    CONTROL,
    FIXED32,
    FIXED64,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    VARINT,
    Model,
    Piece,
    field,
    number,
    with_field,
    without_field,
    written,
)
from .sources_of_models import CHARSMAP, NORMALIZER, TRAINER

ALL = ("botchan", "japanese", "llama2", "mistral")

MODEL_TYPE, BYTE_FALLBACK = 3, 35
FROM_END = 10
"""The piece that is damaged, counted from the end: an ordinary one."""

Change = Callable[[bytes], Content]


def model(change: Callable[[Model], Model]) -> Change:
    return lambda data: change(Model.of(data)).to_bytes()


def piece(change: Callable[[Piece], Piece]) -> Change:
    """Damage to one ordinary piece."""

    def damage(found: Model) -> Model:
        pieces = list(found.pieces)
        pieces[-FROM_END] = change(pieces[-FROM_END])
        return found.with_pieces(pieces)

    return model(damage)


def more(*added: Piece) -> Change:
    """More pieces behind the last."""
    return model(lambda found: found.with_pieces([*found.pieces, *added]))


def score(value: float) -> Change:
    return piece(lambda one: replace(one, score=struct.pack("<f", value)))


def trainer(change: Callable[[bytes], bytes]) -> Change:
    return model(lambda found: found.with_part(TRAINER, change))


def model_type(value: int) -> Change:
    return trainer(lambda message: with_field(message, MODEL_TYPE, VARINT, value))


def cut_inside_a_piece(data: bytes) -> bytes:
    found = Model.of(data)
    before = found.with_pieces(found.pieces[:-FROM_END])
    return replace(before, parts=[]).to_bytes() + field(1, BYTES, found.pieces[-FROM_END].message())[:-3]


def reordered(data: bytes) -> bytes:
    """The other messages before the pieces, and the fields of each piece from the last to the first."""
    found = Model.of(data)
    parts = written((which, BYTES, message) for which, message in reversed(found.parts))
    pieces = [[(3, VARINT, one.kind), (2, FIXED32, one.score), (1, BYTES, one.text)] for one in found.pieces]
    return parts + written((1, BYTES, written(one)) for one in pieces)


def unknown_fields(data: bytes) -> bytes:
    """Fields without a meaning: in the model, in its parts, in each piece."""
    strange = written(
        [(200, VARINT, 7), (201, BYTES, b"?"), (202, FIXED32, b"1234"), (203, FIXED64, bytes(8))]
    )
    found = Model.of(data)
    pieces = written((1, BYTES, one.message() + strange) for one in found.pieces)
    return pieces + written((which, BYTES, message + strange) for which, message in found.parts) + strange


def repeated_fields(data: bytes) -> bytes:
    """A score and a type before those that count, which are the last."""
    found = Model.of(data)
    early = written([(2, FIXED32, struct.pack("<f", 5.0)), (3, VARINT, CONTROL)])
    pieces = written((1, BYTES, early + one.message() + field(3, VARINT, one.kind)) for one in found.pieces)
    return pieces + written((which, BYTES, message) for which, message in found.parts)


def negative_zeros(data: bytes) -> bytes:
    """Every zero score with the other sign."""
    zeros = {struct.pack("<f", 0.0): struct.pack("<f", -0.0), struct.pack("<f", -0.0): struct.pack("<f", 0.0)}
    found = Model.of(data)
    return found.with_pieces(
        [replace(one, score=zeros.get(one.score, one.score)) for one in found.pieces]
    ).to_bytes()


def exchanged_scores(data: bytes) -> bytes:
    """The scores of the ordinary pieces in the opposite order."""
    found = Model.of(data)
    scores = [one.score for one in found.pieces if one.kind == NORMAL]
    return found.with_pieces(
        [replace(one, score=scores.pop()) if one.kind == NORMAL else one for one in found.pieces]
    ).to_bytes()


def without_kind(kind: int) -> Change:
    return model(lambda found: found.with_pieces([one for one in found.pieces if one.kind != kind]))


def without_a_byte(data: bytes) -> bytes:
    """255 pieces for bytes, and the flag that asks for all."""
    found = with_all_bytes(data)
    return found.with_pieces([one for one in found.pieces if one.text != b"<0x41>"]).to_bytes()


def with_all_bytes(data: bytes) -> Model:
    """Byte fallback, with its 256 pieces behind all others."""
    found = Model.of(data).with_part(TRAINER, lambda message: with_field(message, BYTE_FALLBACK, VARINT, 1))
    pieces = [one for one in found.pieces if one.kind != BYTE]
    return found.with_pieces(
        [*pieces, *(Piece(f"<0x{byte:02X}>".encode(), kind=BYTE) for byte in range(256))]
    )


def byte_piece(text: bytes) -> Change:
    """One piece more that is said to be a byte, beside the 256."""

    def damage(data: bytes) -> bytes:
        found = with_all_bytes(data)
        return found.with_pieces([*found.pieces, Piece(text, kind=BYTE)]).to_bytes()

    return damage


def flipped_flag(data: bytes) -> bytes:
    """Byte fallback where there are no pieces for it, none where there are."""
    found = Model.of(data)
    has_bytes = any(one.kind == BYTE for one in found.pieces)
    return found.with_part(
        TRAINER, lambda message: with_field(message, BYTE_FALLBACK, VARINT, int(not has_bytes))
    ).to_bytes()


# ---- the charsmap -----------------------------------------------------------------------------------


def charsmap(change: Callable[[bytes], bytes]) -> Damage:
    """Damage to the map of characters; a model without one gets that of another, damaged."""

    def damage(source: Source) -> Source:
        blob = change(source.others["charsmap"])
        found = Model.of(source.bytes_of(source.opens))
        found = found.with_part(NORMALIZER, lambda message: with_field(message, CHARSMAP, BYTES, blob))
        return source.with_file(source.opens, found.to_bytes())

    return damage


FIRST_BYTE = 0xC2
"""The byte whose unit in the trie is damaged: that of the first characters beyond ASCII."""


def trie(change: Callable[[int, int, list[int]], None]) -> Damage:
    """Damage to the units of the trie: where those of first bytes stand, and which of them is damaged."""

    def damage(blob: bytes) -> bytes:
        (size,) = struct.unpack_from("<I", blob)
        units = list(struct.unpack_from(f"<{size // 4}I", blob, 4))
        base = offset(units[0])
        change(base, base ^ FIRST_BYTE, units)
        return blob[:4] + struct.pack(f"<{len(units)}I", *units) + blob[4 + size :]

    return charsmap(damage)


def offset(unit: int) -> int:
    return unit >> 10 << ((unit & 0x200) >> 6)


def outside(base: int, at: int, units: list[int]) -> None:
    units[at] |= 0xFFFF_FE00 & 0x7FFF_FFFF


def back_to_the_start(base: int, at: int, units: list[int]) -> None:
    units[at] = units[at] & 0xFF | (at ^ base) << 10


def no_such_replacement(base: int, at: int, units: list[int]) -> None:
    """The leaf of the first key under the damaged unit names a place behind the end."""
    group = at ^ offset(units[at])
    for byte in range(1, 256):
        child = group ^ byte
        if units[child] & 0x8000_00FF == byte and units[child] & 0x100:
            units[child ^ offset(units[child])] = 0xFFFF_FFFF
            return
    raise AssertionError("no key of two bytes")


def nowhere(base: int, at: int, units: list[int]) -> None:
    """One that is not used becomes the value of a text behind the last."""
    units[next(i for i, unit in enumerate(units) if i > 0 and unit <= 0xFF)] = 0xFFFF_FFFF


def no_root(base: int, at: int, units: list[int]) -> None:
    units[0] |= 0x08


def with_size(change: Callable[[int, int], int]) -> Damage:
    """Another size of the trie, from the one that is said and that of the blob."""
    return charsmap(
        lambda blob: struct.pack("<I", change(struct.unpack_from("<I", blob)[0], len(blob))) + blob[4:]
    )


# ---- the wire ---------------------------------------------------------------------------------------


def behind(raw: bytes) -> Change:
    """Bytes behind the last field."""
    return lambda data: data + raw


def group(which: int, inner: bytes) -> bytes:
    return number(which << 3 | 3) + inner + number(which << 3 | 4)


def nested_groups(depth: int) -> bytes:
    return number(200 << 3 | 3) * depth + number(200 << 3 | 4) * depth


def rows() -> Iterator[tuple[int, str, Damage]]:
    def row(index: int, name: str, change: Change) -> tuple[int, str, Damage]:
        return index, name, in_bytes(change)

    yield row(1, "cut inside a piece", cut_inside_a_piece)
    yield row(2, "empty", lambda _: b"")
    yield row(3, "random bytes", lambda data: random.Random(0).randbytes(len(data)))
    yield row(4, "unknown fields", unknown_fields)
    yield row(5, "fields in another order", reordered)
    yield row(5, "fields that are repeated", repeated_fields)
    yield row(6, "no pieces", model(lambda found: found.with_pieces([])))
    yield row(6, "no ordinary pieces", without_ordinary)
    yield row(7, "no unknown piece", without_kind(UNKNOWN))
    yield row(8, "two unknown pieces", more(Piece(b"<unk2>", kind=UNKNOWN)))
    yield row(9, "an empty piece", piece(lambda one: replace(one, text=b"")))
    yield row(9, "a piece without a text", piece_without_text)
    yield row(10, "a piece with a zero byte", more(Piece(b"a\0b", struct.pack("<f", -1e6))))
    yield row(11, "a piece that is not UTF-8", more(Piece(b"a\xff", struct.pack("<f", -1e6))))
    yield row(
        11, "a piece that ends inside a character", more(Piece("你".encode()[:2], struct.pack("<f", -1e6)))
    )
    yield row(11, "a user-defined piece that is not UTF-8", more(Piece(b"a\xff", kind=USER_DEFINED)))
    yield row(11, "a control piece that is not UTF-8", more(Piece(b"a\xff", kind=CONTROL)))
    yield row(12, "a piece that is there twice", repeated_piece)
    yield row(12, "a control piece that is an ordinary one too", more(Piece(b"<s>", struct.pack("<f", -1e6))))
    yield row(12, "an ordinary piece that is a control one too", control_twin)
    yield row(12, "an ordinary piece that is a byte too", ordinary_byte)
    yield row(13, "a score that is not a number", score(float("nan")))
    yield row(13, "an infinite score", score(float("inf")))
    yield row(13, "a negative infinite score", score(float("-inf")))
    yield row(14, "zero scores of the other sign", negative_zeros)
    yield row(14, "a subnormal score", score(1e-45))
    yield row(15, "scores in the opposite order", exchanged_scores)
    yield row(16, "a type that does not exist", piece(lambda one: replace(one, kind=99)))
    yield row(16, "a type that is zero", piece(lambda one: replace(one, kind=0)))
    yield row(17, "255 bytes", without_a_byte)
    yield row(18, "the byte <0x-1>", byte_piece(b"<0x-1>"))
    yield row(18, "the byte <0xZZ>", byte_piece(b"<0xZZ>"))
    yield row(18, "the byte <0x041>", byte_piece(b"<0x041>"))
    yield row(19, "byte fallback the other way", flipped_flag)
    yield row(20, "no model type", trainer(lambda message: written(without_field(message, MODEL_TYPE))))
    yield row(21, "model type word", model_type(3))
    yield row(21, "model type char", model_type(4))
    yield row(21, "model type 99", model_type(99))
    yield 22, "a trie larger than the blob", with_size(lambda _, whole: whole)
    yield 22, "a trie of 4 GiB", with_size(lambda *_: 0xFFFF_FFFC)
    yield 22, "a trie of half a unit", with_size(lambda size, _: size - 2)
    yield 22, "a blob of three bytes", charsmap(lambda blob: blob[:3])
    yield 22, "a last text that does not end", charsmap(lambda blob: blob[:-1] + b"a")
    yield 23, "a unit that leads nowhere", trie(nowhere)
    yield 23, "a first unit that is no root", trie(no_root)
    yield 23, "a unit that points outside", trie(outside)
    yield 23, "a unit that leads back", trie(back_to_the_start)
    yield 23, "a replacement outside", trie(no_such_replacement)
    yield row(24, "a piece of 4 MiB", piece(lambda one: replace(one, text=b"a" * 2**22)))
    yield row(25, "a number of eleven bytes", behind(number(200 << 3) + b"\xff" * 10 + b"\1"))
    yield row(25, "a negative length", behind(number(200 << 3 | BYTES) + b"\xff" * 9 + b"\1"))
    yield row(25, "a group", behind(group(200, field(1, VARINT, 1))))
    yield row(25, "a group that does not end", behind(number(200 << 3 | 3)))
    yield row(25, "100,000 groups in each other", behind(nested_groups(100_000)))
    yield row(25, "the field number zero", behind(b"\2\0"))
    yield row(25, "more than a GiB", larger_than(2**30 + 1))


def without_ordinary(data: bytes) -> bytes:
    found = Model.of(data)
    kinds = (UNKNOWN, CONTROL, BYTE)
    return found.with_pieces([one for one in found.pieces if one.kind in kinds]).to_bytes()


def repeated_piece(data: bytes) -> bytes:
    found = Model.of(data)
    return found.with_pieces([*found.pieces, found.pieces[-FROM_END]]).to_bytes()


def ordinary_byte(data: bytes) -> bytes:
    found = with_all_bytes(data)
    return found.with_pieces([*found.pieces, Piece(b"<0x41>", struct.pack("<f", -1e6))]).to_bytes()


def control_twin(data: bytes) -> bytes:
    found = Model.of(data)
    return found.with_pieces([*found.pieces, replace(found.pieces[-FROM_END], kind=CONTROL)]).to_bytes()


def piece_without_text(data: bytes) -> bytes:
    return data + field(1, BYTES, field(2, FIXED32, bytes(4)))


def reference(source: Source, path: Path) -> Encode:
    from sentencepiece import SentencePieceProcessor

    theirs = SentencePieceProcessor(model_file=str(path))

    def encode(text: str, parse: bool) -> list[int]:
        if parse:
            raise ValueError("sentencepiece recognises no special tokens in a text")
        ids: list[int] = theirs.encode(text)
        return ids

    return encode


DIFFERS = {
    "no ordinary pieces": "all text is unknown; listed, and refused by strict=True",
    "a last text that does not end": "no text leads there or beyond; listed, and refused by strict=True",
    "a unit that leads nowhere": "no text leads there; listed, and refused by strict=True",
    "a first unit that is no root": "what it says besides is not read; listed, and refused by strict=True",
    "a user-defined piece that is not UTF-8": "text is searched for it, and finds it within characters",
    "a control piece that is not UTF-8": "its literal is a special token, which is text",
    "an ordinary piece that is a byte too": "two pieces with one text, of which either may come out",
    "a piece with a zero byte": "sentencepiece took such files until 0.2.3, and there are some in use",
    "a score that is not a number": "no order of the pieces can be told from it",
    "model type word": "not supported",
    "model type char": "not supported",
    "a unit that leads back": "a key without an end: what one search may look at would grow with the text",
}

SENTENCEPIECE = Format(
    "sentencepiece",
    sources_of_models.sentencepiece,
    [Mutation(index, name, damage, ALL, name != "more than a GiB") for index, name, damage in rows()],
    reference,
    DIFFERS,
)
