"""Bytes a token by the size of the vocabulary, for tokenizers that can be cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import FormatError, TokenmillError
from ..vocab_sizes import compare_vocab_sizes

if TYPE_CHECKING:
    from .._core import Tokenizer
    from .texts import Texts

__all__ = ["curve", "merge_count"]

_POINTS = 6
"""Sizes besides the whole vocabulary: powers of two below it, which are made and encoded with."""


def merge_count(tok: Tokenizer) -> int | None:
    """How many merges a tokenizer has; None where its model has none."""
    try:
        return len(tok.merges)
    except FormatError:
        return None


def curve(tok: Tokenizer, merges: int | None, texts: Texts, num_threads: int | None) -> dict[str, Any]:
    """The points of the curve of a tokenizer with that many merges; where there is none, why."""
    largest = tok.vocab_size
    powers = (2**power for power in reversed(range(1, (largest - 1).bit_length())))
    # Special tokens and the alphabet remain in every size.
    sizes = [size for size in powers if largest - (merges or 0) <= size < largest][:_POINTS]
    try:
        groups = {"all texts": [text for own in texts.groups.values() for text in own]}
        found = compare_vocab_sizes(tok, groups, [*sizes, largest], num_threads=num_threads)
    except TokenmillError as error:
        return {"points": [], "reason": str(error.__cause__ or error)}
    return {"points": [[row.size, row.bytes_per_token] for row in found], "reason": None}
