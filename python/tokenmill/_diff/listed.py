"""What differs between two tokenizers, listed: tokens, merges, stages, added tokens, templates."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tokenmill._core import written_stages
from tokenmill.errors import TokenmillError

if TYPE_CHECKING:
    from tokenmill._core import Tokenizer

__all__ = ["SETTINGS", "STAGES", "added_tokens", "merges", "stages", "templates", "tokens"]

STAGES = ("normalizer", "pre_tokenizer", "model", "post_processor", "decoder")
SETTINGS = ("truncation", "padding", "roles", "defaults")

Tokens = tuple[tuple[str, int], ...]
Moved = tuple[tuple[str, int, int], ...]
Merges = tuple[tuple[int, bytes, bytes], ...]


def stages(tok: Tokenizer) -> dict[str, Any]:
    """The stages, added tokens and settings of a tokenizer as plain data."""
    found: dict[str, Any] = json.loads(written_stages(tok))
    return found


def tokens(a: Tokenizer, b: Tokenizer) -> tuple[Tokens, Tokens, Moved]:
    """The tokens that only A and only B has, and those with another id; each in the order of ids."""
    in_a, in_b = a.vocab, b.vocab
    only_a = sorted((id, token) for token, id in in_a.items() if token not in in_b)
    only_b = sorted((id, token) for token, id in in_b.items() if token not in in_a)
    moved = sorted((id, in_b[token], token) for token, id in in_a.items() if in_b.get(token, id) != id)
    return (
        tuple([(token, id) for id, token in only_a]),
        tuple([(token, id) for id, token in only_b]),
        tuple([(token, id, other) for id, other, token in moved]),
    )


def merges(tok: Tokenizer, ranks: list[int]) -> Merges:
    """The merges of these ranks: rank, left and right part."""
    if not ranks:
        return ()
    try:
        listed = tok.merges
    except TokenmillError:
        return ()
    return tuple([(rank, *listed[rank]) for rank in ranks])


def added_tokens(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> list[tuple[str, Any, Any]]:
    """The added tokens that differ: literal, and what each side says of it, or None."""
    sides = [{token["content"]: token for token in side} for side in (a, b)]
    contents = dict.fromkeys([*sides[0], *sides[1]])
    rows = [(content, sides[0].get(content), sides[1].get(content)) for content in contents]
    return [row for row in rows if row[1] != row[2]]


def templates(a: Tokenizer, b: Tokenizer) -> list[tuple[str, str | None, str | None]]:
    """The chat templates that differ: name, and the sha256 of each side's source, or None."""

    def digest(source: str | None) -> str | None:
        return None if source is None else sha256(source.encode()).hexdigest()

    in_a, in_b = a.chat_templates, b.chat_templates
    names = sorted({*in_a, *in_b})
    rows = [(name, digest(in_a.get(name)), digest(in_b.get(name))) for name in names]
    return [row for row in rows if row[1] != row[2]]
