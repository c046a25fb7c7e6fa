"""The laws of chunks by counting alone: every border, every longer prefix.

Shares no code with what it checks. The caller gives the borders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

FINER = {"line": "sentence", "sentence": "word", "word": "grapheme", "grapheme": "character"}

LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


def lines(text: str) -> list[int]:
    """Where lines end, with 0 and the end of the text."""
    return sorted({0, len(text), *(found.end() for found in LINES.finditer(text))})


def check(
    tok: Any,
    text: str,
    n: int,
    *,
    overlap: int = 0,
    at: str = "character",
    borders: Callable[[str], Sequence[int]],
    reach: int | None = None,
    **arguments: Any,
) -> list[tuple[int, int]]:
    """Check the chunks of a text against the laws, with ``oversize="split"``. Returns their borders.

    With ``reach`` only parts of so many characters are tried as longer ones.
    """
    chunks = list(tok.chunk(text, n, overlap=overlap, at=at, **arguments))
    counts: dict[tuple[int, int], int] = {}

    def count(start: int, end: int) -> int:
        if (start, end) not in counts:
            counts[start, end] = tok.count(text[start:end], **arguments)
        return counts[start, end]

    def longest(start: int, behind: int, kind: str) -> int | None:
        known = [end for end in borders(kind) if end > behind]
        return next((end for end in reversed(known) if within(end, start) and count(start, end) <= n), None)

    def within(end: int, start: int) -> bool:
        return reach is None or end - start <= reach

    last: tuple[int, int] | None = None
    spans = []
    for chunk in chunks:
        span = (chunk.start, chunk.end)
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.ids == tok.encode(chunk.text, **arguments)
        before, inside = text[: chunk.start].encode(), chunk.text.encode()
        assert (chunk.byte_start, chunk.byte_end) == (len(before), len(before) + len(inside))
        assert chunk.count <= n
        # Where it begins.
        if last is None:
            assert chunk.start == 0
        elif overlap == 0:
            assert chunk.start == last[1]
        else:
            starts = [start for start in borders(at) if last[0] < start < last[1]]
            allowed = [start for start in starts if count(start, last[1]) <= overlap]
            fitting = next((start for start in allowed if longest(start, last[1], at) is not None), last[1])
            assert chunk.start == fitting, (chunk, last)
        # Where it ends.
        kind: str | None = at
        behind = max(chunk.start, last[1] if last is not None else 0)
        want = None
        while want is None and kind is not None:
            want = longest(chunk.start, behind, kind)
            kind = FINER.get(kind)
        assert want == chunk.end, (chunk, want)
        last = span
        spans.append(span)
    assert (last[1] if last else 0) == len(text)
    if overlap == 0:
        assert "".join(text[start:end] for start, end in spans) == text
    return spans
