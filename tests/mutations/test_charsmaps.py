"""The map of characters in a SentencePiece model with one bit flipped, in every unit of its trie in turn.

A map that loads may mean something else, but no text may lead out of it: that would be a panic, which is no
`FormatError`. Where sentencepiece refuses a map, we refuse it too, or say so in the load report and refuse it
with `strict=True`; where neither does, there is nothing to say. The slow run flips one of the 32 bits of each
unit, and of each four bytes of the texts behind them, and all 32 of some; the plain run takes a sample.
"""

from __future__ import annotations

import base64
import json
import random
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from . import golden, sources
from .messages import BYTE, BYTES, NORMAL, Model, with_field, without_field, written
from .sources_of_models import CHARSMAP, MODELS, NORMALIZER, charsmap, model_of

PARTS = 8
"""The units are shared out among so many tests."""
WHOLE = 16
"""Units in each of them of which all bits are flipped."""
STEP = 1997
"""The sample: every so many bytes, and those at either end, where the sizes stand."""

TEXTS = [
    *golden.PLAIN,
    "\u1e9b\u0323 \u00bd ﷺ ㌀ ㍿ ℡ №",
    "각 가\u11a8 ｶﾞ ﾊﾟ か\u3099",
    "\u0344 \u0958 \u2126 \u212b \uf900 \ufb1d",
    "①②③ ⅷ ⒈ 🄐 🅰 𝒜𝔅ℂ 𝟘𝟙",
    "\u00a0\u2003\u3000\t\r\n\x0b\x0c\x1c\u200b\ufeff",
    "".join(map(chr, range(1, 300))),
    "".join(map(chr, range(0x2000, 0x2100))),
    "".join(map(chr, range(0x3300, 0x3400))),
    "".join(map(chr, range(0xFB00, 0xFE00, 3))),
    "".join(map(chr, range(0x1D400, 0x1D500))),
    "\U0010ffff\U000e0001\ufffe",
]


@pytest.mark.parametrize("part", [pytest.param(part, marks=pytest.mark.slow) for part in range(PARTS)])
def test_a_bit_flipped_in_every_unit_loads_or_is_a_format_error(
    native: Any, data: Path, tmp_path: Path, part: int
) -> None:
    size = len(charsmap(model_of(data, "botchan")))
    units = range(part, size // 4, PARTS)
    rng = random.Random(part)
    bits = {32 * unit + rng.randrange(32) for unit in units}
    bits.update(32 * unit + bit for unit in rng.sample(units, WHOLE) for bit in range(32))
    print(flip(native, data, tmp_path, sorted(bits)))


def test_a_sample_of_bytes_flipped_loads_or_is_a_format_error(
    native: Any, data: Path, tmp_path: Path
) -> None:
    size = len(charsmap(model_of(data, "botchan")))
    places = sorted({*range(40), *range(0, size, STEP), *range(size - 20, size)})
    print(flip(native, data, tmp_path, [8 * place + place // PARTS % 8 for place in places]))


def flip(native: Any, data: Path, folder: Path, bits: Sequence[int]) -> str:
    """Flip each of these bits of the map; how many loaded."""
    model = model_of(data, "botchan")
    model = model.with_pieces(model.pieces[:100])
    blob = charsmap(model)
    whole = bytearray(model.to_bytes())
    start = whole.index(blob)
    path = folder / "flipped.model"
    loaded = changed = said = 0
    places: Counter[tuple[str, str]] = Counter()
    assert len(TEXTS) >= 20
    path.write_bytes(whole)
    before = native.load(path).encode_batch(TEXTS).to_lists()
    for number in bits:
        place, bit = number // 8, 1 << number % 8
        whole[start + place] ^= bit
        damaged = bytes(whole)
        path.write_bytes(damaged)
        try:
            tok = native.load(path)
        except native.FormatError as error:
            places[error.kind, error.field] += 1
        else:
            found = [(one.kind, one.field) for one in tok.load_report.tolerated]
            assert found == ([] if is_taken(damaged) else [FAULT]), number
            # The lowest byte of a unit is its label: it leads nowhere that only strict loading refuses.
            assert not found or place % 4, number
            assert (strict_fault(native, path) is None) == (not found)
            said += len(found)
            ids = tok.encode_batch(TEXTS).to_lists()
            loaded += 1
            changed += ids != before
        whole[start + place] ^= bit
    assert whole == model.to_bytes()
    assert set(places) == {FAULT}
    assert min(loaded, changed, said) > 0
    refused = places.total()
    which = f"{loaded} load, {changed} with other ids, {said} with a finding"
    return f"{loaded + refused} bits flipped: {refused} refused, {which}"


FAULT = ("charsmap", "normalizer_spec.precompiled_charsmap")


def with_map(model: Model, blob: bytes) -> Model:
    return model.with_part(NORMALIZER, lambda part: with_field(part, CHARSMAP, BYTES, blob))


def is_taken(data: bytes) -> bool:
    """By sentencepiece."""
    from sentencepiece import SentencePieceProcessor

    try:
        SentencePieceProcessor(model_proto=data)
    except Exception:
        return False
    return True


def strict_fault(native: Any, path: Path) -> tuple[str, str] | None:
    try:
        native.load(path, strict=True)
    except native.FormatError as error:
        return error.kind, error.field
    return None


def unused(units: list[int]) -> int:
    """A unit that is nothing but a label."""
    return next(at for at, unit in enumerate(units) if at and unit <= 0xFF)


def root(units: list[int]) -> None:
    units[0] |= 0x08


def value(units: list[int]) -> None:
    units[unused(units)] = 0xFFFF_FFFF


def target(units: list[int]) -> None:
    units[unused(units)] |= 0x7FFF_FE00


def no_value(units: list[int]) -> None:
    """It says that a key ends here, and where the value would be is none."""
    at = unused(units)
    other = next(other for other, unit in enumerate(units) if unit >> 31 == 0)
    units[at] |= 0x100 | (at ^ other) << 10


@pytest.mark.parametrize("change", [root, value, target, no_value])
def test_units_that_no_walk_comes_to_are_findings(
    native: Any, data: Path, tmp_path: Path, change: Callable[[list[int]], None]
) -> None:
    """In a model, and in the normalizer of a tokenizer.json alone and in a sequence; the ids are the same."""
    model = model_of(data, "botchan")
    blob = charsmap(model)
    (size,) = struct.unpack_from("<I", blob)
    units = list(struct.unpack_from(f"<{size // 4}I", blob, 4))
    change(units)
    damaged = blob[:4] + struct.pack(f"<{len(units)}I", *units) + blob[4 + size :]
    path = tmp_path / "t.model"
    path.write_bytes(model.to_bytes())
    before = native.load(path).encode_batch(TEXTS).to_lists()
    path.write_bytes(with_map(model, damaged).to_bytes())
    assert not is_taken(path.read_bytes())
    tok = native.load(path)
    assert [(one.kind, one.field) for one in tok.load_report.tolerated] == [FAULT]
    assert tok.encode_batch(TEXTS).to_lists() == before
    assert strict_fault(native, path) == FAULT

    step = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(damaged).decode()}
    sequence = {"type": "Sequence", "normalizers": [{"type": "NFC"}, step]}
    for normalizer, field in ((step, "normalizer"), (sequence, "normalizer.normalizers[1]")):
        document = json.loads(sources.tokenizer_json(data, "sentencepiece").bytes_of("tokenizer.json"))
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps({**document, "normalizer": normalizer}), encoding="utf-8")
        fault = ("charsmap", f"{field}.precompiled_charsmap")
        tolerated = native.load(path).load_report.tolerated
        assert [(one.kind, one.field) for one in tolerated] == [fault]
        assert strict_fault(native, path) == fault


def test_a_model_cut_at_any_field_is_refused_or_said(native: Any, data: Path, tmp_path: Path) -> None:
    """The other parts of the file before its pieces, or behind them."""
    found: Counter[str] = Counter()
    path = tmp_path / "t.model"
    for name in MODELS:
        model = model_of(data, name)
        first = [one for one in model.pieces if one.kind not in (NORMAL, BYTE)][:3]
        others = [one for kind in (BYTE, NORMAL) for one in model.pieces if one.kind == kind]
        pieces = [(1, BYTES, one.message()) for one in [*first, *others[:260]]]
        parts = [
            (which, BYTES, written(without_field(part, CHARSMAP)) if which == NORMALIZER else part)
            for which, part in model.parts
        ]
        for parts_of_file in ([*pieces, *parts], [*parts, *pieces]):
            size = len(parts_of_file)
            for count in {*range(1, 8), *range(1, size, 9), *range(size - 6, size)}:
                path.write_bytes(written(parts_of_file[:count]))
                try:
                    tolerated = native.load(path).load_report.tolerated
                except native.FormatError:
                    found["refused"] += 1
                    continue
                taken = is_taken(path.read_bytes())
                assert taken or tolerated, (name, count)
                assert (strict_fault(native, path) is None) == (not tolerated)
                found["taken" if taken else "said"] += 1
    assert min(found["taken"], found["said"]) > 0, found
