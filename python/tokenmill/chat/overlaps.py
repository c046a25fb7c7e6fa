"""Which tokens stand for which parts of a text, found without offsets.

In: texts, their ids, and spans of the texts. Out: ranges of tokens. Where the bytes of the tokens, one after
the other, are those of the text, their lengths say where each token stands; to encode with offsets takes
several times as long as to encode. Where they are not, the answer is None for that text, and offsets have to
say it. So have they for all texts of a tokenizer whose offsets leave out white space of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._forks import waited_for

if TYPE_CHECKING:
    from .._core import Tokenizer
    from ..ragged import Ragged

__all__ = ["has_whole_offsets", "ranges_of"]

Span = tuple[int, int]


def has_whole_offsets(tok: Tokenizer) -> bool:
    """Whether offsets of this tokenizer cover the white space of tokens."""
    try:
        offsets = tok.encode_with_offsets(" a").offsets
    except Exception:  # an unknown character, or a hook that refuses this text: offsets serve all
        return False
    return bool(offsets) and offsets[0][0] == 0 and offsets[-1][1] == 2 and all(a < b for a, b in offsets)


def ranges_of(
    tok: Tokenizer, texts: Sequence[str], rows: Ragged, spans: Sequence[Sequence[Span]]
) -> list[list[Span] | None]:
    """For each text the pairs ``(first, stop)`` of the tokens that overlap each of its spans.

    ``rows`` are the ids of the texts as ``encode_batch`` gives them; ``spans`` are ``(start, stop)`` in
    characters, not empty, in order and apart from each other. A token that straddles the end of a span is in
    its range. None for a text that the bytes of its tokens do not spell, as where a normalizer changed it.
    Cost: linear.

    >>> import tokenmill
    >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    >>> rows = tok.encode_batch(["low é"])
    >>> rows.to_lists(), ranges_of(tok, ["low é"], rows, [[(0, 1), (4, 5)]])
    ([[257, 32, 195, 169]], [[(0, 1), (2, 4)]])
    """
    with waited_for:
        import numpy as np

    lengths = tok.token_lengths(rows.ids)
    ends = np.cumsum(lengths)
    begins = np.concatenate((np.zeros(1, np.int64), ends))[rows.row_offsets]
    sizes, starts, stops = _in_bytes(texts, spans)
    are_tiled = [
        size == found and text == decoded
        for size, found, text, decoded in zip(
            sizes, np.diff(begins).tolist(), texts, tok.decode_batch(rows), strict=True
        )
    ]
    for place in np.flatnonzero(lengths == 0).tolist():
        are_tiled[int(np.searchsorted(rows.row_offsets, place, side="right")) - 1] = False
    counts = [len(of_text) for of_text in spans]
    before, begin = (np.repeat(each[:-1], counts) for each in (rows.row_offsets, begins))
    first = np.searchsorted(ends, begin + np.array(starts, np.int64), side="right") - before
    stop_token = np.searchsorted(ends, begin + np.array(stops, np.int64), side="left") + 1 - before
    pairs = list(zip(first.tolist(), stop_token.tolist(), strict=True))
    ranges: list[list[Span] | None] = []
    at = 0
    for count, is_tiled in zip(counts, are_tiled, strict=True):
        ranges.append(pairs[at : at + count] if is_tiled else None)
        at += count
    return ranges


def _in_bytes(
    texts: Sequence[str], spans: Sequence[Sequence[Span]]
) -> tuple[list[int], list[int], list[int]]:
    """The bytes of each text, and where each span starts and stops in those of its own."""
    sizes: list[int] = []
    starts: list[int] = []
    stops: list[int] = []
    for text, of_text in zip(texts, spans, strict=True):
        if text.isascii():
            starts += [start for start, _ in of_text]
            stops += [stop for _, stop in of_text]
            sizes.append(len(text))
            continue
        at = size = 0
        for start, stop in of_text:
            size += _size(text[at:start])
            starts.append(size)
            size += _size(text[start:stop])
            stops.append(size)
            at = stop
        sizes.append(size + _size(text[at:]))
    return sizes, starts, stops


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
