"""What the ids of texts say of a tokenizer: how long texts become, in which language, with which tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from .._forks import waited_for
from .._table import visible

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .._core import Tokenizer
    from .texts import Texts

    Counts = npt.NDArray[np.int64]

__all__ = ["Tokens", "measured", "renyi_efficiency", "shown_bytes", "tokens_of"]

ALPHA = 2.5
_MOST = 30
"""Tokens that are listed as the most used; as many that are never used."""
LONGEST = 16
"""Bytes from which on tokens are counted together."""


@dataclass(frozen=True)
class Tokens:
    """The tokens of a vocabulary by id."""

    special: frozenset[int]
    bytes: Mapping[int, bytes]
    rows: int
    """The largest id and one."""
    partial: npt.NDArray[np.bool_]
    """Whether a token is no text: it begins or ends inside a character."""


def tokens_of(tok: Tokenizer) -> Tokens:
    """All tokens of a tokenizer."""
    with waited_for:
        import numpy as np

    special = frozenset(tok.special_tokens.values())
    all_bytes = {id: tok.token_bytes(id) for id in sorted(set(tok.vocab.values()))}
    partial = np.zeros(tok.max_id + 1, dtype=bool)
    for id, token in all_bytes.items():
        if not token.isascii() and id not in special:
            partial[id] = _is_partial(token)
    return Tokens(special, all_bytes, tok.max_id + 1, partial)


def _is_partial(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return True
    return False


def shown_bytes(token: bytes) -> str:
    """A token as people read it; bytes that are no text stand as hexadecimal digits."""
    try:
        return visible(token.decode())
    except UnicodeDecodeError:
        return " ".join(f"{byte:02X}" for byte in token)


def measured(tok: Tokenizer, tokens: Tokens, texts: Texts, num_threads: int | None) -> dict[str, Any]:
    """All that is counted of one tokenizer, as numbers by name."""
    with waited_for:
        import numpy as np

    total: Counts = np.zeros(tokens.rows, dtype=np.int64)
    rows = []
    for name, own in texts.groups.items():
        batch = tok.encode_batch(own, num_threads=num_threads)
        counts = np.bincount(batch.ids, minlength=tokens.rows).astype(np.int64)
        total += counts
        lengths = np.diff(batch.row_offsets)
        rows.append(_row(name, own, counts, lengths, tokens, tok.unk_token_id))
    by_name = {row["name"]: row for row in rows}
    reference = None if texts.reference is None else by_name[texts.reference]["tokens"]
    for row in rows:
        is_parallel = row["name"] in texts.parallel
        row["premium"] = row["tokens"] / reference if reference and is_parallel else None
    counts_by_id = total.tolist()
    return {
        "rows": rows,
        "total": _row("all texts", [t for own in texts.groups.values() for t in own], total, None, tokens,
                      tok.unk_token_id),
        "parity": _parity([by_name[name] for name in texts.parallel], texts.reference),
        "renyi_efficiency": renyi_efficiency(counts_by_id, tok.vocab_size),
        "lengths": _lengths(counts_by_id, tokens),
        **_used(counts_by_id, tokens),
    }  # fmt: skip


def _row(
    name: str, texts: list[str], counts: Counts, lengths: Counts | None, tokens: Tokens, unknown: int | None
) -> dict[str, Any]:
    count = int(counts.sum())
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    characters = sum(map(len, texts))
    words = sum(len(text.split()) for text in texts)
    partial = int(counts[tokens.partial].sum())
    row = {
        "name": name,
        "texts": len(texts),
        "bytes": size,
        "characters": characters,
        "words": words,
        "tokens": count,
        "byte_tokens": partial,
        "unknown": 0 if unknown is None else int(counts[unknown]),
        "bytes_per_token": size / count if count else None,
        "tokens_per_word": count / words if words else None,
        "tokens_per_character": count / characters if characters else None,
        "byte_token_rate": partial / count if count else None,
    }
    if lengths is not None:
        ordered = sorted(lengths.tolist())
        row["text_lengths"] = {
            "shortest": ordered[0],
            "median": ordered[(len(ordered) - 1) // 2],
            "longest": ordered[-1],
        }
    return row


def _parity(rows: list[Mapping[str, Any]], reference: str | None) -> dict[str, Any] | None:
    """How evenly languages are treated: None where no texts say the same."""
    if len(rows) < 2:
        return None
    counts = [row["tokens"] for row in rows]
    others = [row for row in rows if row["name"] != reference]
    premiums = sorted(row["premium"] or 0.0 for row in others)
    middle = len(premiums) // 2
    most = max(rows, key=lambda row: row["tokens"])
    least = min(rows, key=lambda row: row["tokens"])
    return {
        "gini": _gini(counts),
        "largest_over_smallest": most["tokens"] / least["tokens"] if least["tokens"] else None,
        "most_tokens": most["name"],
        "least_tokens": least["name"],
        "median_premium": premiums[middle]
        if len(premiums) % 2
        else (premiums[middle - 1] + premiums[middle]) / 2,
        "highest_premium": max(premiums),
    }


def _gini(values: list[int]) -> float:
    """The Gini coefficient: 0 where all are equal, towards 1 where one has everything."""
    total, count = sum(values), len(values)
    if not total:
        return 0.0
    weighted = sum(place * value for place, value in enumerate(sorted(values), start=1))
    return 2 * weighted / (count * total) - (count + 1) / count


def renyi_efficiency(counts: list[int], vocab_size: int, alpha: float = ALPHA) -> float | None:
    """The Rényi entropy of the tokens of texts, divided by the largest that the vocabulary allows.

    Zouhar et al., "Tokenization and the Noiseless Channel", 2023. None where there are no tokens, or only
    one entry in the vocabulary.
    """
    total = sum(counts)
    if not total or vocab_size < 2:
        return None
    powers = math.fsum((count / total) ** alpha for count in counts if count)
    return math.log(powers) / (1 - alpha) / math.log(vocab_size)


def _lengths(counts: list[int], tokens: Tokens) -> dict[str, list[int]]:
    """How many tokens have 1, 2, ... bytes: of the vocabulary and of the texts. The last is that or more."""
    vocabulary, texts = [0] * LONGEST, [0] * LONGEST
    for id, token in tokens.bytes.items():
        if id not in tokens.special:
            place = min(max(len(token), 1), LONGEST) - 1
            vocabulary[place] += 1
            texts[place] += counts[id]
    return {"vocabulary": vocabulary, "texts": texts}


def _used(counts: list[int], tokens: Tokens) -> dict[str, Any]:
    """The tokens that texts use most, and those that they never use."""
    ordinary = [id for id in tokens.bytes if id not in tokens.special]
    count = sum(counts)
    most = nsmallest(_MOST, (id for id in ordinary if counts[id]), key=lambda id: (-counts[id], id))
    never = [id for id in ordinary if not counts[id]]
    longest = nsmallest(_MOST, never, key=lambda id: (-len(tokens.bytes[id]), id))
    return {
        "most_used": [
            {**_token(id, tokens), "count": counts[id], "share": counts[id] / count} for id in most
        ],
        "ordinary_tokens": len(ordinary),
        "never_used": len(never),
        "never_used_longest": [_token(id, tokens) for id in longest],
    }


def _token(id: int, tokens: Tokens) -> dict[str, Any]:
    token = tokens.bytes[id]
    return {"id": id, "token": shown_bytes(token), "bytes": len(token)}
