"""Which tokens a text can hold: what the model never gives, what the split cuts, what is rewritten before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._forks import waited_for
from ..errors import TokenmillError
from ..findings import Finding
from .examined import Examined, counted, found, listed, some
from .texts import CONTEXTS

__all__ = ["checks"]

LEAST_SPLIT = 0.002
"""The share of tokens that the split keeps from a text before ``split_against_merges`` warns."""
LEAST_REWRITTEN = 0.01
"""The share of tokens whose text comes back changed before ``normalizer`` warns."""
ALPHABET = " abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class _Reached:
    """What texts showed: tokens that stand alone, those after something, and those that none held."""

    tried: int
    prefixed: list[int]
    missed: list[int]
    rewritten: list[int]


def checks(examined: Examined) -> Iterator[Finding]:
    """``unreachable``, ``merge_order``, ``unused_merges``, ``split_against_merges``, ``normalizer``."""
    never, whole_only = examined.tok._never_built()
    reached = _reached(examined, {*never, *whole_only})
    yield _unreachable(examined, never, whole_only, reached)
    yield from _unused_merges(examined, never)
    yield from _split(examined, reached)
    yield from _normalizer(examined, reached)


def _unreachable(
    examined: Examined, never: Sequence[int], whole_only: Sequence[int], reached: _Reached
) -> Finding:
    names = [examined.written.get(id, "") for id in never]
    facts: dict[str, Any] = {
        "never": len(never),
        "never_ids": some(never),
        "whole_pretoken_only": len(whole_only),
        "whole_pretoken_only_ids": some(whole_only),
        "behind_a_prefix_only": len(reached.prefixed),
    }
    others = f"; {len(whole_only):,} only where a pretoken is exactly the token" if whole_only else ""
    if never:
        return found(
            "unreachable",
            "file",
            counted(len(never), "token", "tokens") + f" that no text becomes: {listed(names)}{others}",
            status="warn",
            way_out="their rows are never trained; where you did not expect them, merges are missing, "
            "swapped or of another vocabulary",
            **facts,
        )
    return found("unreachable", "file", f"the model gives every token{others}", **facts)


def _unused_merges(examined: Examined, never: Sequence[int]) -> Iterator[Finding]:
    if examined.model not in ("bytes", "chars"):
        for name in ("merge_order", "unused_merges"):
            examined.skip(name, "the model has no list of merges")
        return
    try:
        merges = examined.tok.merges
    except TokenmillError:
        for name in ("merge_order", "unused_merges"):
            examined.skip(name, "no list of merges describes this vocabulary")
        return
    unused = examined.tok._unused_merges()
    unreached = {examined.tok.token_bytes(id) for id in never}
    # SentencePiece models become lists with every way to build a token, of which one is made.
    lost = [rank for rank in unused if merges[rank][0] + merges[rank][1] in unreached]
    others = len(unused) - len(lost)
    if others:
        examined.skip("merge_order", "tokens are built in several ways, of which one is made")
    else:
        yield _order(merges)
    more = f"; {others:,} are other ways to a token that is built" if others else ""
    if lost:
        shown = [f"{_text(merges[rank][0])} {_text(merges[rank][1])}" for rank in lost[:3]]
        yield found(
            "unused_merges",
            "file",
            f"{len(lost):,} of {len(merges):,} merges are never made and their tokens never built: "
            f"{listed(shown)}{more}",
            status="warn",
            way_out="a merge comes before those that build its parts, or is overtaken by one: compare the "
            "order of the merges with the published file",
            lost=len(lost),
            ranks=some(lost),
            other_ways=others,
        )
        return
    yield found(
        "unused_merges", "file", f"{len(merges):,} merges, each token built by one{more}", other_ways=others
    )


def _order(merges: Sequence[tuple[bytes, bytes]]) -> Finding:
    """Training finds a merge after those that build its two sides; a list that says otherwise was changed."""
    first: dict[bytes, int] = {}
    for rank, (left, right) in enumerate(merges):
        first.setdefault(left + right, rank)
    early = [
        rank
        for rank, (left, right) in enumerate(merges)
        if first.get(left, -1) > rank or first.get(right, -1) > rank
    ]
    if early:
        shown = [f"{_text(merges[rank][0])} {_text(merges[rank][1])}" for rank in early[:3]]
        return found(
            "merge_order",
            "file",
            f"{len(early):,} of {len(merges):,} merges come before one that builds a side of them: "
            f"{listed(shown)}",
            status="warn",
            way_out="no training gives this order: compare the merges with the published file",
            merges=len(early),
            ranks=some(early),
        )
    return found(
        "merge_order", "file", f"each of {len(merges):,} merges comes after those that build its sides"
    )


def _split(examined: Examined, reached: _Reached) -> Iterator[Finding]:
    missed = reached.missed
    names = [examined.written.get(id, "") for id in missed]
    share = len(missed) / max(1, reached.tried)
    facts: dict[str, Any] = {
        "tokens": len(missed),
        "tried": reached.tried,
        "share": round(share, 6),
        "ids": some(missed),
    }
    shown = f"{len(missed):,} of {reached.tried:,} tokens were in none of the texts tried"
    if share > LEAST_SPLIT and len(missed) > 1:
        yield found(
            "split_against_merges",
            "file",
            f"{shown}: {listed(names)}",
            status="warn",
            way_out="the pre-tokenizer cuts what these tokens join; the vocabulary was made with another "
            "split",
            **facts,
        )
        return
    rest = f": {listed(names)}" if missed else ""
    yield found("split_against_merges", "file", f"{shown}{rest}", **facts)


def _normalizer(examined: Examined, reached: _Reached) -> Iterator[Finding]:
    if not examined.normalizers:
        yield found("normalizer", "file", "texts reach the split as they are")
        return
    names = ", ".join(examined.normalizers)
    rewritten = reached.rewritten
    share = len(rewritten) / max(1, reached.tried)
    facts: dict[str, Any] = {
        "normalizers": list(examined.normalizers),
        "tokens": len(rewritten),
        "ids": some(rewritten),
    }
    if share > LEAST_REWRITTEN:
        tokens = [examined.written.get(id, "") for id in rewritten]
        yield found(
            "normalizer",
            "file",
            counted(len(rewritten), "token", "tokens")
            + f" cannot be reached, as their text is rewritten ({names}): {listed(tokens)}",
            status="warn",
            way_out="the vocabulary was made without this normalizer: compare it with the published file",
            **facts,
        )
        return
    yield found("normalizer", "file", f"texts are rewritten by {names}, as the vocabulary expects", **facts)


def _reached(examined: Examined, unbuilt: set[int]) -> _Reached:
    """Put every whole token between the contexts, until a text holds it."""
    texts: dict[int, str] = {}
    unk = examined.tok.unk_token_id
    for id, token in examined.ordinary.items():
        if id in unbuilt or id == unk or not token or (examined.spells_bytes and _is_byte(examined, id)):
            continue
        try:
            texts[id] = examined.bytes_in_text(id).decode("utf-8")
        except UnicodeDecodeError:
            continue  # part of a character
    if examined.model == "wordpiece":
        texts = {id: text.removeprefix("##") for id, text in texts.items()}
    left = list(texts)
    prefixed: list[int] = []
    contexts = CONTEXTS if examined.model != "wordpiece" else (*CONTEXTS, *((char, "") for char in ALPHABET))
    for number, (before, after) in enumerate(contexts):
        if not left:
            break
        held = _held(examined, left, [before + texts[id] + after for id in left])
        if number:
            prefixed += [id for id, is_held in zip(left, held, strict=True) if is_held]
        left = [id for id, is_held in zip(left, held, strict=True) if not is_held]
    held = _held(examined, left, [texts[id] * 2 for id in left]) if left else []
    prefixed += [id for id, is_held in zip(left, held, strict=True) if is_held]
    left = [id for id, is_held in zip(left, held, strict=True) if not is_held]
    rewritten = [id for id in left if _is_rewritten(examined, texts[id])] if examined.normalizers else []
    changed = set(rewritten)
    missed = [id for id in left if id not in changed]
    if examined.model not in ("bytes", "chars", "score"):
        missed = []  # whether a context was missing, or a better spelling exists, texts cannot tell
    return _Reached(len(texts), prefixed, missed, rewritten)


def _held(examined: Examined, ids: Sequence[int], texts: Sequence[str]) -> list[bool]:
    """For each text, whether its encoding holds the id."""
    with waited_for:
        import numpy as np

    held: list[bool] = []
    try:
        for start, rows in examined.batches(texts):
            offsets = np.asarray(rows.row_offsets)
            lengths = np.diff(offsets)
            wanted = np.repeat(np.asarray(ids[start : start + len(lengths)], dtype=np.int64), lengths)
            row_of = np.repeat(np.arange(len(lengths)), lengths)
            hits = row_of[np.asarray(rows.ids) == wanted]
            held += (np.bincount(hits, minlength=len(lengths)) > 0).tolist()
        return held
    except TokenmillError:
        # A text that cannot be spelled stops a batch.
        encoded = [examined.encode(text) for text in texts]
        return [isinstance(row, list) and id in row for id, row in zip(ids, encoded, strict=True)]


def _is_rewritten(examined: Examined, text: str) -> bool:
    try:
        steps = [
            segment.normalized
            for segment in examined.tok.explain(text).segments
            if hasattr(segment, "normalized")
        ]
    except TokenmillError:
        return False
    last = [step[-1].text for step in steps if step]
    return bool(last) and any(left.strip(" ▁") != text.strip(" ▁") for left in last)


def _is_byte(examined: Examined, id: int) -> bool:
    written = examined.written.get(id, "")
    return len(written) == 6 and written.startswith("<0x") and written.endswith(">")


def _text(token: bytes) -> str:
    return token.decode("utf-8", "backslashreplace")
