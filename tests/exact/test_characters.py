"""What sweeps over characters leave out is what they have beside it."""

from __future__ import annotations

import sys
import unicodedata

from .characters import EVERY, LETTERS, apart, contexts, scalars, shared_contexts


def test_what_is_left_out_is_of_the_category_of_what_is_not() -> None:
    """On both sides of each gap, and nothing that is assigned: private or no character."""
    assert {*EVERY} < {*scalars()}
    left_out = 0
    for before, behind in zip(EVERY, [*EVERY[1:], sys.maxunicode + 1], strict=True):
        gap = scalars(range(before + 1, behind))
        if gap:
            kinds = {unicodedata.category(chr(code)) for code in [before, *gap, behind]}
            assert kinds in ({"Cn"}, {"Co"}), hex(before)
        left_out += len(gap)
    assert len(EVERY) + left_out == len(scalars())
    print(f"{len(EVERY)} of {len(scalars())} characters, {left_out} are like one beside them")


def test_no_white_character_shares_a_text() -> None:
    assert not [code for code in range(LETTERS, sys.maxunicode + 1) if chr(code).isspace()]


def test_shared_texts_hold_all_surroundings() -> None:
    codes = [*range(0x40), *range(LETTERS - 5, LETTERS + 100), 0x10FFFF]
    texts = list(shared_contexts(codes))
    assert len(texts) < 2 * len(codes) + 5 * 0x45
    assert {part for text in texts for part in apart(text)} >= {*contexts(codes)}
