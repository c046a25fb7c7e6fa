"""Another tokenizer, which this one should equal: what differs, stage by stage, and a text that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from ..difference import diff
from ..errors import TokenmillError
from ..findings import Finding
from .examined import Examined, found, listed, some
from .special import ROLES
from .texts import FERTILITY, HARD

if TYPE_CHECKING:
    from .._core import Tokenizer
    from ..difference import Difference, Witness

__all__ = ["checks"]

_PARTS = {
    "encode": ("reference_ids", "the ids of texts", "normalizer, split, vocabulary and merges"),
    "decode": ("reference_text", "the text of ids", "vocabulary and decoder"),
    "template": ("reference_around", "the tokens around a text", "the post-processor"),
    "chat": ("reference_chat", "the chat templates", "the chat templates"),
}
"""By digest: the check, what it stands for, and where to look."""


def checks(examined: Examined, reference: Tokenizer) -> Iterator[Finding]:
    """``reference_`` with ids, text, around, chat, vocabulary and roles."""
    tok = examined.tok
    ours, theirs = tok.digests, reference.digests
    whole = cache(lambda: diff(tok, reference))
    same_vocabulary = examined.vocab == reference.vocab
    for digest, (check, what, where) in _PARTS.items():
        if ours[digest] == theirs[digest]:
            yield found(check, "reference", f"{what} are the same")
            continue
        witness, verdict = _difference(examined, reference, digest, whole)
        if verdict == "same":
            yield found(check, "reference", f"{what} are the same, though written otherwise")
            continue
        if verdict == "unknown":
            yield found(
                check,
                "reference",
                f"{what} may differ: {where} are others, and no text tried shows it",
                status="warn",
                way_out="`tokenmill diff` lists what differs, and says what was tried",
                ours=ours[digest],
                reference=theirs[digest],
            )
            continue
        yield found(
            check,
            "reference",
            f"{what} differ{f': {witness}' if witness else ''}",
            status="fail",
            way_out=f"compare {where} of the two files"
            + ("" if same_vocabulary or digest == "chat" else "; the vocabularies differ, too"),
            ours=ours[digest],
            reference=theirs[digest],
            witness=witness,
        )
    yield _vocabulary(examined, reference)
    yield _roles(tok, reference)


def _vocabulary(examined: Examined, reference: Tokenizer) -> Finding:
    ours, theirs = examined.vocab, reference.vocab
    moved = [token for token, id in ours.items() if token in theirs and theirs[token] != id]
    extra = [token for token in ours if token not in theirs]
    missing = [token for token in theirs if token not in ours]
    special = [
        token
        for token in {**examined.added, **reference.added_tokens}
        if (token in examined.special) != (token in reference.special_tokens)
    ]
    facts: dict[str, Any] = {
        "moved": len(moved),
        "extra": len(extra),
        "missing": len(missing),
        "moved_tokens": [[token, ours[token], theirs[token]] for token in some(moved)],
        "extra_tokens": some(extra),
        "missing_tokens": some(missing),
        "special_differs": some(special),
    }
    parts = [
        f"{len(tokens):,} {what}: {listed(tokens)}"
        for tokens, what in (
            (moved, "tokens have other ids"),
            (extra, "tokens are not in the reference"),
            (missing, "tokens of the reference are missing"),
            (special, "added tokens are special in only one of the two"),
        )
        if tokens
    ]
    if parts:
        return found(
            "reference_vocabulary",
            "reference",
            "; ".join(parts),
            status="fail",
            way_out="rows of the embedding belong to ids: a model needs the vocabulary that it was trained "
            "with",
            **facts,
        )
    return found("reference_vocabulary", "reference", f"all {len(ours):,} tokens have the same ids", **facts)


def _roles(tok: Tokenizer, reference: Tokenizer) -> Finding:
    names = [f"{role}_token_id" for role in ROLES] + ["padding_side", "truncation_side", "model_max_length"]
    differs = {name: [getattr(tok, name), getattr(reference, name)] for name in names}
    differs = {name: values for name, values in differs.items() if values[0] != values[1]}
    if differs:
        shown = ", ".join(f"{name} {ours} (reference: {theirs})" for name, (ours, theirs) in differs.items())
        return found(
            "reference_roles",
            "reference",
            shown,
            status="fail",
            way_out="take tokenizer_config.json of the reference",
            differs=differs,
        )
    return found("reference_roles", "reference", "roles and defaults of calls are the same")


def _difference(
    examined: Examined, reference: Tokenizer, digest: str, whole: Callable[[], Difference]
) -> tuple[str, str]:
    """What shows the difference, and the verdict: ``same``, ``different`` or ``unknown``.

    ``whole`` compares the two as a whole, which may take a minute: it is asked where the texts at hand show
    nothing.
    """
    if digest == "chat":
        names = examined.tok.chat_templates, reference.chat_templates
        changed = [name for name in {**names[0], **names[1]} if names[0].get(name) != names[1].get(name)]
        return f"template {listed(changed)}", "different"
    if shown := _shown_by_text(examined, reference, digest):
        return shown, "different"
    difference = whole()
    if difference.verdict == "same":
        return "", "same"
    witness = difference.witness
    if witness is None or not _is_about(witness, digest):
        return "", "unknown"
    ours, theirs = witness.error_a or witness.a, witness.error_b or witness.b
    return f"{witness.call}, {listed([str(_input(witness))])}: {ours!r} and not {theirs!r}", "different"


def _is_about(witness: Witness, digest: str) -> bool:
    """Whether a witness shows that this part differs; it shows only the first difference that was found."""
    if digest == "decode":
        return witness.kind == "ids"
    return witness.kind == "text" and ("add_special_tokens" in witness.call) == (digest == "template")


def _input(witness: Witness) -> Any:
    return witness.text if witness.kind == "text" else list(witness.ids or ())


def _shown_by_text(examined: Examined, reference: Tokenizer, digest: str) -> str:
    """A built-in or given text whose results differ, with both; empty if none does."""
    texts = [*HARD.values(), *(text for text, _, _ in FERTILITY.values()), *examined.texts[:1000]]
    for text in texts:
        ours, theirs = _result(examined.tok, text, digest), _result(reference, text, digest)
        if ours != theirs:
            at = next(
                (at for at, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]),
                min(len(ours), len(theirs)),
            )
            return f"{listed([text])}: {_shown(ours, at)} and not {_shown(theirs, at)}"
    return ""


def _result(tok: Tokenizer, text: str, digest: str) -> Any:
    try:
        if digest == "encode":
            return tok.encode(text)
        if digest == "template":
            return tok.encode(text, add_special_tokens=True)
        return tok.decode(tok.encode(text))
    except TokenmillError as error:
        return f"{type(error).__name__}"


def _shown(result: Any, at: int) -> str:
    if isinstance(result, str):
        return listed([result[max(0, at - 5) : at + 25]])
    return f"{result[at : at + 4]} at {at}"
