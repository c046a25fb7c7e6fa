"""From the tables of an ``Encoding`` to a ``Tokenizer``."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from ... import Tokenizer, load
from ...errors import FormatError
from .load import dump_tiktoken_bpe

__all__ = ["ID_LIMIT", "distinct_ids", "make_tokenizer"]

ID_LIMIT = (1 << 32) - 1
"""Ids are below this."""


def distinct_ids(
    ranks: Mapping[bytes, int], special_tokens: Mapping[str, int]
) -> tuple[dict[str, int], dict[int, int]]:
    """Ids of special tokens without repetition, and what the ids that were made up stand for."""
    taken = set(ranks.values())
    free = max(max(taken), max(special_tokens.values(), default=0)) + 1
    ids: dict[str, int] = {}
    second_names: dict[int, int] = {}
    for literal, number in special_tokens.items():
        ids[literal] = number
        if number in taken:
            ids[literal] = free
            second_names[free] = number
            free += 1
        taken.add(number)
    return ids, second_names


def make_tokenizer(ranks: Mapping[bytes, int], split: str, special_tokens: dict[str, int]) -> Tokenizer:
    tokens = sorted(ranks, key=ranks.__getitem__)
    first, last = ranks[tokens[0]], ranks[tokens[-1]]
    ids = [first, last, *special_tokens.values()]
    if min(ids) < 0 or max(ids) >= ID_LIMIT:
        raise OverflowError(f"ids are between 0 and {ID_LIMIT - 1}")
    if len(set(ranks.values())) < len(tokens):
        raise FormatError(
            "mergeable_ranks: two tokens have the same rank",
            path=None,
            field="mergeable_ranks",
            kind="duplicate",
            reason="two tokens have the same rank",
            limit=None,
        )
    if (first, last) == (0, len(tokens) - 1):
        return Tokenizer.from_tokens(tokens, split=split, special_tokens=special_tokens)
    # Ids with holes between them can be written to a file. The empty line keeps it from being taken for a
    # published one, which would bring special tokens of its own.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ranks.tiktoken")
        dump_tiktoken_bpe(dict(ranks), str(path))
        path.write_bytes(path.read_bytes() + b"\n")
        return load(path, split=split, special_tokens=special_tokens)
