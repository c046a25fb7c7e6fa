"""The characters that sweeps go over, and the surroundings that each of them gets there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

PLANE = 0x10000
# Planes 0 to 3, and the block of plane 14 whose characters are ignorable, assigned or not.
WHOLE = [range(4 * PLANE), range(0xE0000, 0xE1000)]
# Elsewhere nothing is assigned, or all is private: of these every so many, and the edges.
STEP = 61
EDGES = [
    code
    for start in [*range(4 * PLANE, sys.maxunicode, PLANE), 0xE1000]
    for code in [*range(start, start + 2), *range((start | 0xFFFF) - 3, (start | 0xFFFF) + 1)]
]


def scalars(codes: Iterable[int] = range(sys.maxunicode + 1)) -> list[int]:
    """These but for surrogates."""
    return [code for code in codes if not 0xD800 <= code < 0xE000]


SAMPLE = [*EDGES, *range(4 * PLANE, sys.maxunicode + 1, STEP)]
EVERY = sorted({*SAMPLE, *(code for whole in WHOLE for code in scalars(whole))})
"""All characters that are assigned or may come to be, and of each range of others its edges and a sample."""

# Below are all that are white, and most that are more than letters: each of their texts stands alone.
LETTERS = 0x3100
# Characters whose surroundings are one text, and what keeps them apart.
TOGETHER = 32
BETWEEN = "\n"


def contexts(codes: Iterable[int]) -> Iterator[str]:
    """The six surroundings of each: alone, at letters, at spaces, doubled after a digit."""
    for sign in map(chr, codes):
        yield from (sign, f"a{sign}", f"{sign}a", f" {sign}", f"{sign} ", f"1{sign}{sign}")


def shared_contexts(codes: Iterable[int]) -> Iterator[str]:
    """The same, but from `LETTERS` on only the character alone has a text of its own: the other surroundings
    of `TOGETHER` characters share one, from which `apart` gets them back."""
    codes = list(codes)
    yield from contexts(code for code in codes if code < LETTERS)
    rest = [code for code in codes if code >= LETTERS]
    yield from map(chr, rest)
    for at in range(0, len(rest), TOGETHER):
        some = contexts(rest[at : at + TOGETHER])
        yield BETWEEN.join(text for number, text in enumerate(some) if number % 6)


def apart(text: str) -> list[str]:
    """The texts that one of `shared_contexts` was made of: where it differs, one of these does."""
    return text.split(BETWEEN) if len(text) > 3 else [text]
