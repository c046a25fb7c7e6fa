"""From the tables of an ``Encoding`` to a ``Tokenizer``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from ... import Tokenizer
from ...errors import FormatError, PatternError
from ._published import COVERING

__all__ = ["ID_LIMIT", "distinct_ids", "make_tokenizer"]

ID_LIMIT = (1 << 32) - 1
"""Ids are below this."""


def distinct_ids(
    ranks: Mapping[bytes, int], special_tokens: Mapping[str, int]
) -> tuple[dict[str, int], dict[int, int]]:
    """A distinct id for each special token, and for each id that was made up the real one."""
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


def make_tokenizer(ranks: Mapping[bytes, int], pattern: str, special_tokens: dict[str, int]) -> Tokenizer:
    """The tokenizer that encodes what a pattern matches. Published patterns match everything."""
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
    # A pattern of letters alone would be taken for the name of a split.
    split = f"(?:{pattern})" if re.fullmatch(r"[\w-]*", pattern) else pattern
    unmatched: Literal["keep", "drop"] = "keep" if pattern in COVERING else "drop"
    try:
        return Tokenizer.from_ranks(ranks, split=split, unmatched=unmatched, special_tokens=special_tokens)
    except PatternError as error:
        said = str(error).replace("pre_tokenizer[0]: pattern", "pat_str: pattern", 1)
        raise PatternError(said, **vars(error)) from None
