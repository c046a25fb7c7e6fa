"""The map of characters in a SentencePiece model with one bit flipped, at every byte in turn.

A map that loads may mean something else, but no text may lead out of it: that would be a panic, which is no
`FormatError`. The plain run takes a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from . import golden
from .messages import BYTES, with_field
from .sources_of_models import CHARSMAP, NORMALIZER, charsmap, model_of

PARTS = 8
"""The bytes are shared out among so many tests; each flips another bit."""
STEP = 997
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
def test_every_byte_flipped_loads_or_is_a_format_error(
    native: Any, data: Path, tmp_path: Path, part: int
) -> None:
    size = len(charsmap(model_of(data, "botchan")))
    print(flip(native, data, tmp_path, range(part, size, PARTS), part))


def test_a_sample_of_bytes_flipped_loads_or_is_a_format_error(
    native: Any, data: Path, tmp_path: Path
) -> None:
    size = len(charsmap(model_of(data, "botchan")))
    places = sorted({*range(40), *range(0, size, STEP), *range(size - 20, size)})
    print(flip(native, data, tmp_path, places, 0))


def flip(native: Any, data: Path, folder: Path, at: Iterable[int], first_bit: int) -> str:
    """Flip a bit at each place; how many loaded."""
    model = model_of(data, "botchan")
    model = model.with_pieces(model.pieces[:100])
    blob = bytearray(charsmap(model))
    path = folder / "flipped.model"
    loaded = changed = 0
    places: Counter[tuple[str, str]] = Counter()
    assert len(TEXTS) >= 20
    path.write_bytes(model.to_bytes())
    before = native.load(path).encode_batch(TEXTS).to_lists()
    for place in at:
        bit = 1 << (first_bit + place // PARTS) % 8
        blob[place] ^= bit
        path.write_bytes(
            model.with_part(
                NORMALIZER, lambda part: with_field(part, CHARSMAP, BYTES, bytes(blob))
            ).to_bytes()
        )
        try:
            tok = native.load(path)
        except native.FormatError as error:
            places[error.kind, error.field] += 1
        else:
            ids = tok.encode_batch(TEXTS).to_lists()
            loaded += 1
            changed += ids != before
        blob[place] ^= bit
    assert bytes(blob) == charsmap(model)
    assert set(places) == {("charsmap", "normalizer_spec.precompiled_charsmap")}
    assert min(loaded, changed) > 0
    refused = places.total()
    return f"{loaded + refused} bytes flipped: {refused} refused, {loaded} load, {changed} with other ids"
