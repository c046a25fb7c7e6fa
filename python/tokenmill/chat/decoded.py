"""Where tokens stand in the text that they decode to.

In: a tokenizer and ids. Out: ``(start, stop)`` of each token. A decode stream returns text once it is final,
which may be several tokens later: where the text of several tokens came together, they are decoded again in
smaller parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._core import Tokenizer

__all__ = ["decoded_places"]

Span = tuple[int, int]

#: The most tokens that are taken for one incomplete character. No character has more bytes, but bytes that
#: are not UTF-8 may go on for longer.
_MAX_INCOMPLETE = 8


def decoded_places(tok: Tokenizer, ids: list[int]) -> list[Span]:
    """``(start, stop)`` of each token in ``tok.decode(ids)``; tokens that share a character have it whole."""
    stream = tok.decode_stream(errors="replace")
    places: list[Span] = []
    at = 0

    def give(end_token: int, length: int) -> None:
        nonlocal at
        first = len(places)
        if end_token - first == 1:
            places.append((at, at + length))
        elif end_token > first:
            places.extend(_shared_places(tok, ids, (first, end_token), (at, at + length)))
        at += length

    for index, number in enumerate(ids):
        length = len(stream.step(number))
        if length:
            give(index + 1, length)
    give(len(ids), len(stream.finish()))
    return places


def _shared_places(tok: Tokenizer, ids: list[int], tokens: Span, text: Span) -> list[Span]:
    """The places of tokens whose text the stream returned together."""
    places: list[Span] = []
    (first, end_token), (at, end) = tokens, text
    # A token may decode differently at the beginning, so each part is decoded with the token before it.
    before = max(first - 1, 0)
    known = len(tok.decode(ids[before:first]))
    for index in range(first, end_token):
        part = tok.decode(ids[before : index + 1])
        if part.endswith("\ufffd") and index + 1 - first < _MAX_INCOMPLETE and index + 1 < end_token:
            continue
        stop = end if index + 1 == end_token else min(at + max(len(part) - known, 0), end)
        places.extend([(at, stop)] * (index + 1 - first))
        at, before, first = stop, first, index + 1
        known = len(tok.decode(ids[before:first]))
    return places
