"""What a tokenizer is: sizes, special tokens, split, chat templates, fingerprint.

What is put around a text is what --add-special-tokens of `encode` adds, with …
in the place of the text. Defects of its files that were tolerated are listed
last.

Tokenizers with the same fingerprint mean the same, whatever their files look
like. The digests are its parts: the ids of a text (encode), the text of ids
(decode), the tokens around ids (template); that of the chat templates (chat)
stands beside them. Memory is what its tables take, and the most that caches may
take beside them.

  tokenmill info -t tokenizer/
  tokenmill info -t cl100k_base --json
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tokenmill import FormatError, TokenmillError, VocabularyError

from .files import as_json, write_output
from .options import ROLES, add_output, add_tokenizer, load_tokenizer
from .terminal import visible

if TYPE_CHECKING:
    from tokenmill import Tokenizer

__all__ = ["add_arguments", "run"]

_TABLES = ("vocabulary", "model", "lists", "seed")
_MOST_SHOWN = 20
"""The most special tokens that are listed."""
_MOST_TRIED = 100
"""The most ids whose texts are tried to see what is put around a text."""
_WIDTH = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``info`` takes."""
    add_output(parser)
    add_tokenizer(parser)


def run(args: argparse.Namespace) -> int:
    """Load the tokenizer and say what it is."""
    tokenizer = load_tokenizer(args)
    facts = _facts(tokenizer, args.tokenizer)
    write_output(args.out, as_json(facts) if args.json else _page(tokenizer, facts))
    return 0


def _facts(tokenizer: Tokenizer, name: str) -> dict[str, Any]:
    return {
        "tokenizer": name,
        "vocab_size": tokenizer.vocab_size,
        "max_id": _max_id(tokenizer),
        "merges": _merges(tokenizer),
        "model": _model(tokenizer),
        "split": tokenizer.split,
        "special_tokens": tokenizer.special_tokens,
        "roles": {role: getattr(tokenizer, f"{role}_token_id") for role in ROLES},
        "padding_side": tokenizer.padding_side,
        "truncation_side": tokenizer.truncation_side,
        "model_max_length": tokenizer.model_max_length,
        "chat_templates": {name: len(source.encode()) for name, source in tokenizer.chat_templates.items()},
        "fingerprint": tokenizer.fingerprint,
        "digests": tokenizer.digests,
        "memory": tokenizer.memory_usage(),
        "around": _templates(tokenizer),
        "tolerated": _tolerated(tokenizer),
    }


def _max_id(tokenizer: Tokenizer) -> int | None:
    try:
        return tokenizer.max_id
    except VocabularyError:  # it is empty
        return None


def _merges(tokenizer: Tokenizer) -> int | None:
    try:
        return len(tokenizer.merges)
    except FormatError:  # another model, or merges that cannot be written as a list
        return None


def _model(tokenizer: Tokenizer) -> str:
    """The kind of model: BPE over bytes, over characters or by score, Unigram, WordPiece, WordLevel."""
    stage = tokenizer.plan()["model"]
    if stage.path.startswith("BPE"):
        return stage.path.partition(",")[0]
    return stage.reason.removeprefix("the model is ")


def _page(tokenizer: Tokenizer, facts: dict[str, Any]) -> bytes:
    largest, merges, split = facts["max_id"], facts["merges"], facts["split"]
    roles = [(role, number) for role, number in facts["roles"].items() if number is not None]
    memory = facts["memory"]
    lines = [
        ("tokenizer", [visible(facts["tokenizer"])]),
        (
            "vocabulary",
            [f"{facts['vocab_size']:,} ids" + ("" if largest is None else f", the largest {largest}")],
        ),
        ("merges", ["no list of merges" if merges is None else f"{merges:,}"]),
        ("model", [facts["model"]]),
        ("split", ["no single split" if split is None else visible(split)]),
        ("special tokens", _special(facts["special_tokens"]) or ["none"]),
        ("roles", [f"{role:<6}{_shown(tokenizer, number)}" for role, number in roles] or ["none"]),
        *_around(tokenizer, facts["around"]),
        ("inputs", [_inputs(tokenizer)]),
        (
            "chat templates",
            [f"{visible(name)}  {size:,} bytes" for name, size in facts["chat_templates"].items()]
            or ["none"],
        ),
        ("fingerprint", [facts["fingerprint"]]),
        ("digests", [f"{name:<10}{digest}" for name, digest in facts["digests"].items()]),
        (
            "memory",
            [
                f"{sum(memory[name] for name in _TABLES):,} bytes of tables; "
                f"caches take up to {memory['cache_bytes']:,}"
            ],
        ),
        *[("tolerated", [_defect(found) for found in facts["tolerated"]])] * bool(facts["tolerated"]),
    ]
    return "".join(
        f"{'' if row else name:<{_WIDTH}}{value}\n"
        for name, values in lines
        for row, value in enumerate(values)
    ).encode("utf-8", "surrogateescape")


def _templates(tokenizer: Tokenizer) -> dict[str, list[int | None] | None]:
    """The ids that are put around a text and around a pair, with None in the place of each text.

    A list is None where no text was found that the vocabulary can spell.
    """
    return {"text": _template(tokenizer, pair=False), "pair": _template(tokenizer, pair=True)}


def _template(tokenizer: Tokenizer, *, pair: bool) -> list[int | None] | None:
    for text in _samples(tokenizer):
        try:
            encoding = tokenizer.encode_with_offsets(text, text if pair else None, add_special_tokens=True)
        except TokenmillError:  # the vocabulary cannot spell it, or there are no pairs
            continue
        places = encoding.sequence_ids
        if {0, 1}.issubset(places) if pair else 0 in places:
            # Each text is one None, however many ids it has.
            shown = zip([None, *places], places, encoding.ids, strict=False)
            return [
                number if place is None else None
                for before, place, number in shown
                if place is None or place != before
            ]
    return None


def _samples(tokenizer: Tokenizer) -> Iterator[str]:
    """Texts to try, until the vocabulary can spell one."""
    yield "a"
    for number in range(_MOST_TRIED):
        if tokenizer.id_to_token(number) is not None and (text := tokenizer.decode([number])):
            yield text


def _around(
    tokenizer: Tokenizer, templates: dict[str, list[int | None] | None]
) -> list[tuple[str, list[str]]]:
    """The rows that show what is put around texts; a single row where nothing is."""
    text, pair = templates["text"], templates["pair"]
    if text == [None] and pair in ([None, None], None):
        return [("around a text", ["nothing"])]
    return [
        (
            f"around a {name}",
            [" ".join("…" if id is None else visible(tokenizer.id_to_token(id) or "") for id in ids)],
        )
        for name, ids in templates.items()
        if ids is not None
    ]


def _tolerated(tokenizer: Tokenizer) -> list[dict[str, str]]:
    """The defects of its files that loading tolerated."""
    report = tokenizer.load_report
    return [
        {"kind": found.kind, "file": found.file, "field": found.field, "reason": found.reason}
        for found in ([] if report is None else report.tolerated)
    ]


def _defect(found: dict[str, str]) -> str:
    return ": ".join(visible(found[name]) for name in ("file", "field", "reason") if found[name])


def _inputs(tokenizer: Tokenizer) -> str:
    """How texts are padded and cut as inputs of a model."""
    length = tokenizer.model_max_length
    most = "" if length is None else f", at most {length:,} ids"
    return f"padded {tokenizer.padding_side}, cut {tokenizer.truncation_side}{most}"


def _special(tokens: dict[str, int]) -> list[str]:
    """The special tokens in two columns; the first ones where there are many."""
    shown = [(str(number), visible(literal)) for literal, number in list(tokens.items())[:_MOST_SHOWN]]
    width = max((len(number) for number, _ in shown), default=0)
    rows = [f"{number:>{width}}  {literal}" for number, literal in shown]
    if more := len(tokens) - len(shown):
        rows.append(f"and {more:,} more: tokenmill vocab --special")
    return rows


def _shown(tokenizer: Tokenizer, number: int) -> str:
    return f"{number}  {visible(tokenizer.id_to_token(number) or '')}"
