"""Ways to merge a text by byte-pair encoding, to be read and compared.

Each takes a tokenizer and a text and gives ids; the stages before merging (added tokens, normalizer, split)
are those of the tokenizer. ``heap``, ``table`` and ``backtracking`` give the ids of ``tok.encode``;
``greedy`` and ``minimal`` are approximations. ``encode`` itself is faster than the three exact ones: it
caches pretokens, and merges short ones side by side and long ones by windows.

>>> import tokenmill
>>> from tokenmill import algorithms
>>> tokens = [b"a", b"b", b"c", b"ab", b"cb", b"ac", b"bb", b"cbb", b"acbb"]
>>> others = [bytes([value]) for value in range(256) if bytes([value]) not in tokens]
>>> tok = tokenmill.Tokenizer.from_tokens(tokens + others)
>>> [tok.token_bytes(id) for id in algorithms.table(tok, "abacbb")]
[b'ab', b'acbb']

What each does, and why it is right, is on the page "algorithms" of the documentation; the code is in
``crates/core/src/budget/algorithms``.
"""

from __future__ import annotations

from ._core import Tokenizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set
    from typing import Literal

__all__ = ["backtracking", "greedy", "heap", "minimal", "table"]


def heap(
    tok: Tokenizer, text: str | bytes, *, special: Literal["text", "parse", "raise"] | Set[str] = "text"
) -> list[int]:
    """Merge by the definition: of all pairs that merge the one of the lowest rank, from a heap.

    A bit for each byte marks where tokens begin. Serves every vocabulary of byte-pair encoding, others
    raise ``BudgetError``. Cost: n log n for each pretoken. The first call for a vocabulary makes its table
    of all pairs.
    """
    return _ids("heap", tok, text, special)


def table(
    tok: Tokenizer, text: str | bytes, *, special: Literal["text", "parse", "raise"] | Set[str] = "text"
) -> list[int]:
    """Find the last token of every prefix, and read the ids backwards from the end.

    Whether a token may follow the one before it is told by replaying the merges at their border.
    ``BudgetError`` for merges that are not over all bytes, or whose ranks contradict one another. Cost:
    linear in the tokens that the text holds, overlapping ones too. The first call for a vocabulary makes
    the tables, as for the next three.
    """
    return _ids("table", tok, text, special)


def backtracking(
    tok: Tokenizer, text: str | bytes, *, special: Literal["text", "parse", "raise"] | Set[str] = "text"
) -> list[int]:
    """Append the longest token that may follow; where none may, replace the last one by a shorter one.

    A bit for each byte marks places from which nothing led on, so that none is tried twice. ``BudgetError``
    as for ``table``. Cost: linear, and in ordinary text about one look at each token.
    """
    return _ids("backtracking", tok, text, special)


def greedy(
    tok: Tokenizer, text: str | bytes, *, special: Literal["text", "parse", "raise"] | Set[str] = "text"
) -> list[int]:
    """Take the longest token at each place: an approximation, whose ids decode to the text.

    ``BudgetError`` as for ``table``. Cost: linear.
    """
    return _ids("greedy", tok, text, special)


def minimal(
    tok: Tokenizer, text: str | bytes, *, special: Literal["text", "parse", "raise"] | Set[str] = "text"
) -> list[int]:
    """Take as few tokens as possible: an approximation, whose ids decode to the text.

    No exact encoding has fewer ids. ``BudgetError`` as for ``table``. Cost: linear, as that of ``table``.
    """
    return _ids("minimal", tok, text, special)


def _ids(
    name: str, tok: Tokenizer, text: str | bytes, special: Literal["text", "parse", "raise"] | Set[str]
) -> list[int]:
    if not isinstance(tok, Tokenizer):
        raise TypeError(f"tok must be a Tokenizer, not {type(tok).__name__}; load one with tokenmill.load")
    return tok._encode_by(name, text, special=special)
