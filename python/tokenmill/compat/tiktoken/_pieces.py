"""What a pattern matches in a text, and the merging of one piece.

tiktoken drops the text between two matches; a split of tokenmill keeps it as a pretoken. Where a
pattern is not known to match everything, the matches are told from the gaps here, by several splits of
the same text. That is exact and slow; a split that removes will take its place.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache

from ... import Encoding, Tokenizer, train
from ...errors import PatternError, UnknownTokenError

__all__ = ["Matcher", "merge_piece", "pretokens"]

Spans = list[tuple[int, int]]
"""Byte positions, half-open."""

# The engine gives up a search that may be resumed at a million places, whatever the text.
_GIVE_UP = r"(?:(?=)|(?=)){0,2000000}(?!)"

_BYTES = [bytes([byte]) for byte in range(256)]


def pretokens(text: str, split: str) -> Spans:
    """The spans that a split cuts a text into: a vocabulary with each of them as a token shows them."""
    if not text:
        return []
    tok = train(texts=[text], num_merges=1 << 40, min_frequency=1, split=split, num_threads=1)
    return tok.encode_with_offsets(text).byte_offsets


class Matcher:
    """The matches of one pattern, as spans. ``covers`` says that it leaves no gaps."""

    def __init__(self, pattern: str, *, covers: bool) -> None:
        # What consists of letters alone would be the name of a split.
        self.split = f"(?:{pattern})" if re.fullmatch(r"[\w-]*", pattern) else pattern
        self.covers = covers
        if covers:
            return
        # The pattern stands in these twice, so that its groups would get other numbers.
        if re.search(r"\\[1-9gkGK]|\(\?P?<(?![=!])|\(\?P=", pattern.replace("\\\\", "")):
            raise PatternError(
                f"pattern {pattern!r}: back references, named groups, \\G and \\K cannot be used where the "
                "text between two matches is dropped",
                pattern=pattern,
                position=None,
            )
        self._with_gaps = rf"(?>{pattern})(?:(?!(?:{pattern}))(?s:.))*+"
        self._at_start = rf"\A(?=(?:{pattern}))"
        Tokenizer.from_tokens([], split=self._with_gaps)
        self._behind_match = Tokenizer.from_tokens(_BYTES, split=self._at_start + _GIVE_UP)
        self._matches_char = lru_cache(maxsize=4096)(self._match_of_char)

    def spans(self, text: str) -> Spans:
        """Where it matches."""
        cuts = pretokens(text, self.split)
        if self.covers or not cuts:
            return cuts
        # Each piece of the second split is a match and the gap behind it, or the gap in front of all.
        starts = {start for start, _ in pretokens(text, self._with_gaps)}
        found = [span for span in cuts if span[0] in starts]
        return found if self._matches_first(text) else found[1:]

    def keep(self, text: str, encoding: Encoding, special_ids: AbstractSet[int]) -> tuple[list[int], int]:
        """The ids that matches hold, and special ones; and how many of them the last match made.

        The text between two special tokens is a text of its own. A special token at the end makes the
        number 0, as a text without a match does.
        """
        data = text.encode()
        kept: list[int] = []
        within: list[tuple[int, int]] = []  # ids and starts since the last special token
        begin = 0

        def close(end: int) -> int:
            spans = self.spans(data[begin:end].decode())
            last = 0
            tokens = iter(within)
            number, at = next(tokens, (0, len(data)))
            for start, stop in spans:
                last = 0
                while at < begin + stop:
                    if at >= begin + start:
                        kept.append(number)
                        last += 1
                    number, at = next(tokens, (0, len(data)))
            within.clear()
            return last

        for number, (start, end) in zip(encoding.ids, encoding.byte_offsets, strict=True):
            if number in special_ids:
                close(start)
                kept.append(number)
                begin = end
            else:
                within.append((number, start))
        return kept, close(len(data))

    def _matches_first(self, text: str) -> bool:
        if len(text) == 1:
            return self._matches_char(text)
        return len(pretokens(text, rf"{self._at_start}(?s:.)")) == 2

    def _match_of_char(self, char: str) -> bool:
        """One character cannot be cut, so the answer is whether the engine gives up behind a match."""
        try:
            self._behind_match.encode(char)
        except PatternError:
            return True
        return False


def merge_piece(piece: bytes, ranks: Mapping[bytes, int], *, whole: bool = True) -> list[int]:
    """The ids of bytes that no pattern cuts: the piece itself if it is a token, else merged by rank.

    With ``whole=False`` a piece that is a token is merged as well, and may come out in parts. Any bytes
    will do, valid UTF-8 or not. Raises ``UnknownTokenError`` for a byte without a token. Cost: n log n.
    """
    if whole and piece in ranks:
        return [ranks[piece]]
    size = len(piece)
    # The part that starts at i ends at ends[i]; a part that is merged into the one before starts no more.
    ends = list(range(1, size + 1))
    starts_before = list(range(-1, size))

    def joined(left: int) -> bytes | None:
        middle = ends[left]
        return piece[left : ends[middle]] if middle < size else None

    queue: list[tuple[int, int, int]] = []

    def offer(left: int) -> None:
        both = joined(left)
        if both is not None and both in ranks:
            heapq.heappush(queue, (ranks[both], left, len(both)))

    for left in range(size - 1):
        offer(left)
    while queue:
        _, left, length = heapq.heappop(queue)
        both = joined(left) if ends[left] > 0 else None
        if both is None or len(both) != length:
            continue  # one of the two has changed since
        middle, end = ends[left], ends[ends[left]]
        ends[left], ends[middle] = end, 0
        starts_before[end] = left
        offer(left)
        if left > 0:
            offer(starts_before[left])
    ids = []
    at = 0
    while at < size:
        token = piece[at : ends[at]]
        if token not in ranks:
            raise UnknownTokenError(
                f"the byte 0x{token[0]:02x} at {at} has no token in this vocabulary",
                char=f"0x{token[0]:02x}",
                position=at,
            )
        ids.append(ranks[token])
        at = ends[at]
    return ids
