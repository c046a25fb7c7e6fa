"""Bytes a token by the size of the vocabulary, for tokenizers that can be cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import TokenmillError
from ..vocab_sizes import compare_vocab_sizes

if TYPE_CHECKING:
    from .._core import Tokenizer
    from .texts import Texts

__all__ = ["curve"]

_SIZES = (512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072)


def curve(tok: Tokenizer, texts: Texts, num_threads: int | None) -> dict[str, Any]:
    """The points of the curve; where there is none, why."""
    largest = tok.vocab_size
    try:
        # Special tokens and the alphabet remain in every size, so that the smallest is asked for first.
        sizes = [size for size in _SIZES if size < largest and _can_be(tok, size)]
        groups = {"all texts": [text for own in texts.groups.values() for text in own]}
        found = compare_vocab_sizes(tok, groups, [*sizes, largest], num_threads=num_threads)
    except TokenmillError as error:
        return {"points": [], "reason": str(error.__cause__ or error)}
    return {"points": [[row.size, row.bytes_per_token] for row in found], "reason": None}


def _can_be(tok: Tokenizer, size: int) -> bool:
    return size >= tok.vocab_size - len(tok.merges)
