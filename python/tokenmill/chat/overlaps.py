"""Which tokens stand for which parts of a text, found without offsets.

In: texts, their ids, and spans of the texts. Out: ranges of tokens. Where the bytes of the tokens, one after
the other, are those of the text, their lengths say where each token stands; to encode with offsets takes
several times as long as to encode. Where they are not, the answer is None for that text, and offsets have to
say it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._arrays import sorted_once
from .._forks import waited_for

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .._core import Tokenizer
    from ..ragged import Ragged

__all__ = ["TokenRanges"]

Span = tuple[int, int]

#: Vocabularies with larger ids get no table of lengths.
_MAX_IDS = 1 << 22


class TokenRanges:
    """Ranges of tokens for spans of texts. It keeps the lengths of the tokens of one tokenizer."""

    __slots__ = ("_lengths",)

    def __init__(self) -> None:
        #: For each id the length of its token in bytes; 0 if it was not looked up yet.
        self._lengths: npt.NDArray[np.int32] | None = None

    def of(
        self, tok: Tokenizer, texts: Sequence[str], rows: Ragged, spans: Sequence[Sequence[Span]]
    ) -> list[list[Span] | None]:
        """For each text the pairs ``(first, stop)`` of the tokens that overlap each of its spans.

        ``rows`` are the ids of the texts as ``encode_batch`` gives them; ``spans`` are ``(start, stop)`` in
        characters, not empty, in order and apart from each other. A token that straddles the end of a span
        is in its range. None for a text that the bytes of its tokens do not spell, as where a normalizer
        changed it. Cost: linear.

        >>> import tokenmill
        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> rows = tok.encode_batch(["low é"])
        >>> rows.to_lists(), TokenRanges().of(tok, ["low é"], rows, [[(0, 1), (4, 5)]])
        ([[257, 32, 195, 169]], [[(0, 1), (2, 4)]])
        """
        with waited_for:
            import numpy as np

        lengths = self._lengths_of(tok, rows.ids)
        if lengths is None:
            return [None] * len(texts)
        ends = np.cumsum(lengths, dtype=np.int64)
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
        behind = np.searchsorted(ends, begin + np.array(stops, np.int64), side="left") + 1 - before
        pairs = list(zip(first.tolist(), behind.tolist(), strict=True))
        ranges: list[list[Span] | None] = []
        at = 0
        for count, is_tiled in zip(counts, are_tiled, strict=True):
            ranges.append(pairs[at : at + count] if is_tiled else None)
            at += count
        return ranges

    def _lengths_of(self, tok: Tokenizer, ids: npt.NDArray[Any]) -> npt.NDArray[np.int32] | None:
        """The length in bytes of the token of each id; None for ids too large for a table."""
        with waited_for:
            import numpy as np

        kept = self._lengths
        size = int(ids.max(initial=0)) + 1
        if size > _MAX_IDS:
            return None
        if kept is None or len(kept) < size:
            kept = np.concatenate((np.zeros(0, np.int32) if kept is None else kept, np.zeros(size, np.int32)))
        lengths: npt.NDArray[np.int32] = kept[ids]
        unmet = lengths == 0
        if unmet.any():
            new = sorted_once(ids[unmet])
            kept[new] = [len(tok.token_bytes(number)) for number in new.tolist()]
            lengths = kept[ids]
        self._lengths = kept
        return lengths


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
