"""Where tokens stand in the text that they decode to.

In: a tokenizer and ids. Out: a place for each. A stream gives text when it is certain, which may be several
tokens later: where it held bytes back, parts of the ids are decoded anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._core import Tokenizer

__all__ = ["decoded_places"]

Span = tuple[int, int]

#: Tokens that are looked at together while a character is not complete: no character has more bytes, but
#: bytes that are no text go on for longer.
_MAX_WINDOW = 8


def decoded_places(tok: Tokenizer, ids: list[int]) -> list[Span]:
    """``(start, stop)`` of each token in ``tok.decode(ids)``; tokens that share a character have it whole."""
    stream = tok.decode_stream(errors="replace")
    places: list[Span] = []
    at = 0

    def give(behind: int, length: int) -> None:
        nonlocal at
        first = len(places)
        if behind - first == 1:
            places.append((at, at + length))
        elif behind > first:
            places.extend(_held(tok, ids, (first, behind), (at, at + length)))
        at += length

    for index, number in enumerate(ids):
        length = len(stream.step(number))
        if length:
            give(index + 1, length)
    give(len(ids), len(stream.finish()))
    return places


def _held(tok: Tokenizer, ids: list[int], tokens: Span, text: Span) -> list[Span]:
    """The places of tokens whose text came at once."""
    places: list[Span] = []
    (first, behind), (at, end) = tokens, text
    # The first token of all may be decoded otherwise than behind others: a part has one before it.
    before = max(first - 1, 0)
    known = len(tok.decode(ids[before:first]))
    for index in range(first, behind):
        part = tok.decode(ids[before : index + 1])
        if part.endswith("\ufffd") and index + 1 - first < _MAX_WINDOW and index + 1 < behind:
            continue
        stop = end if index + 1 == behind else min(at + max(len(part) - known, 0), end)
        places.extend([(at, stop)] * (index + 1 - first))
        at, before, first = stop, first, index + 1
        known = len(tok.decode(ids[before:first]))
    return places
