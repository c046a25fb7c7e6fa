"""Encoding a text that goes on, or that breaks off within a character.

How a text is cut may change when more is written after it, so the tokens of its last match are not
final. This module holds them apart, and finds what may become of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence

from ._merging import merge_piece

__all__ = ["completions", "stable_length"]

# White_Space of Unicode; str.isspace() counts four control characters more.
_WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
_WHITE_SPACE += "\u2028\u2029\u202f\u205f\u3000"


def stable_length(tokens: Sequence[bytes | None], last: int) -> int:
    """How many tokens are final, when the last match has made the last ``last`` of them.

    A run of blank tokens that ends in the last match belongs to it, for a line end to come may join them.
    A token that is ``None`` is special.
    """
    length = len(tokens) - last
    if last > 0 and _is_blank(tokens[length]):
        while length > 0 and _is_blank(tokens[length - 1]):
            length -= 1
    return length


def _is_blank(token: bytes | None) -> bool:
    return token is not None and not token.strip(b" \n\t")


def completions(
    unstable: bytes,
    *,
    ordered: Sequence[bytes],
    ranks: Mapping[bytes, int],
    encode: Callable[[str], list[int]],
    token_bytes: Callable[[int], bytes],
) -> list[list[int]]:
    """The sequences of tokens that a text may go on with, given the bytes that are not final.

    Each spells the unstable bytes and at most the rest of one token more. ``ordered`` is the vocabulary in
    byte order. Cost: an ``encode`` for each token that begins with some end of the bytes, often thousands.
    """
    found: set[tuple[int, ...]] = set()
    if not unstable:
        return []
    for token in _beginning_with(unstable, ordered):
        found.add((ranks[token],))
    for cut in range(1, len(unstable)):
        for token in _beginning_with(unstable[cut:], ordered):
            whole = unstable[:cut] + token
            ids = _encode_bytes(whole, ranks, encode)
            covered = 0
            for count, number in enumerate(ids, start=1):
                covered += len(token_bytes(number))
                if covered >= len(unstable):
                    ids = ids[:count]
                    break
            found.add(tuple(ids))
    # White space at the end may be cut off by what follows it, as `\s+(?!\S)` does.
    for char in _WHITE_SPACE:
        space = char.encode()
        if len(unstable) > len(space) and unstable.endswith(space):
            front = merge_piece(unstable.removesuffix(space), ranks, whole=False)
            found.add((*front, *merge_piece(space, ranks, whole=False)))
    return [list(ids) for ids in sorted(found)]


def _beginning_with(prefix: bytes, ordered: Sequence[bytes]) -> Iterator[bytes]:
    for place in range(bisect_left(ordered, prefix), len(ordered)):
        if not ordered[place].startswith(prefix):
            return
        yield ordered[place]


def _encode_bytes(whole: bytes, ranks: Mapping[bytes, int], encode: Callable[[str], list[int]]) -> list[int]:
    try:
        text = whole.decode()
    except UnicodeDecodeError:
        return merge_piece(whole, ranks, whole=False)
    return encode(text)
