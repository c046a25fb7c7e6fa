"""The options of reading: what cuts texts into pretokens, with the defaults that each model gives.

``train`` and ``count_pretokens`` share them. What they come to are the facts of counted pretokens: pretokens
of the same facts may be summed, and learned from as the texts may.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _core
from ._train_inputs import misuse
from .errors import TrainingError

__all__ = [
    "BERT",
    "SENTENCEPIECE",
    "check_literals",
    "common_facts",
    "contradiction",
    "differences",
    "facts_of",
    "filled",
    "refuse",
    "resolved",
]

BERT = ("lowercase", "strip_accents", "clean_text", "handle_chinese_chars")
"""Options of BertNormalizer."""
SENTENCEPIECE = ("split_by_unicode_script", "split_digits", "add_dummy_prefix", "remove_extra_whitespaces")
"""Options of the SentencePiece dialect."""

_DEFAULTS = {
    "lowercase": True,
    "clean_text": True,
    "handle_chinese_chars": True,
    "split_by_unicode_script": True,
    "split_digits": False,
    "add_dummy_prefix": True,
    "remove_extra_whitespaces": True,
}
_SHOWN = 8
"""The most special tokens that an error shows."""


def refuse(options: Mapping[str, object], needed: str) -> None:
    """Options that mean nothing without another one are mistakes."""
    for name, value in options.items():
        if value is not None:
            raise misuse(f"{name}={value!r} is for {needed}")


def check_literals(special_tokens: object) -> None:
    """Special tokens are a list of literals."""
    if isinstance(special_tokens, str):
        raise misuse("special_tokens is a single string: pass a list")
    if isinstance(special_tokens, Mapping):
        raise misuse(
            "special_tokens is a mapping, but training gives the ids: pass a list (and special_ids=)"
        )


def resolved(model: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The same options, those that are None as the model has them.

    They are dialect, user_defined_symbols, normalizer, split, unk_token and those of BERT and SENTENCEPIECE.
    Raises ``TrainingError`` for contradictions.
    """
    reading = dict(options)
    sentencepiece = {name: options[name] for name in SENTENCEPIECE}

    def default(name: str, value: object) -> None:
        if reading[name] is None:
            reading[name] = value

    if model != "unigram":
        refuse({name: options[name] for name in ("dialect", "user_defined_symbols")}, 'model="unigram"')
    if model != "unigram" or options["dialect"] == "tokenizers":
        refuse(sentencepiece, 'dialect="sentencepiece"')
    if model == "unigram":
        default("dialect", "sentencepiece")
        if reading["dialect"] == "sentencepiece":
            refuse({"split": options["split"]}, 'dialect="tokenizers"')
            default("split", "none")
            default("normalizer", "nmt_nfkc")
            default("unk_token", "<unk>")
        else:
            default("split", "Metaspace")
    elif model == "wordpiece":
        default("normalizer", "BertNormalizer")
        default("split", "BertPreTokenizer")
    else:
        default("split", "cl100k")
    if reading["normalizer"] != "BertNormalizer":
        refuse({name: options[name] for name in BERT}, 'normalizer="BertNormalizer"')
    if reading["normalizer"] == "none":
        reading["normalizer"] = None
    return reading


# ---- facts -------------------------------------------------------------------------------------


def facts_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of reading, of options for the core: they are the same in counts that are put together."""
    is_sentencepiece = options["dialect"] == "sentencepiece"
    facts: dict[str, Any] = {
        "dialect": "sentencepiece" if is_sentencepiece else None,
        "normalizer": options["normalizer"] or "none",
    }
    if facts["normalizer"] == "BertNormalizer":
        facts.update(_with_defaults(options, BERT))
    if is_sentencepiece:
        facts.update(_with_defaults(options, SENTENCEPIECE))
    else:
        facts["split"] = options["split"]
    facts["special_tokens"] = _core.special_literals(options)
    facts["user_defined_symbols"] = list(options["user_defined_symbols"] or ())
    facts["errors"] = options["errors"]
    return facts


def _with_defaults(options: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: _DEFAULTS.get(name) if options[name] is None else options[name] for name in names}


def filled(model: str, options: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Options of training, those that are None as the facts of counts say."""
    options = dict(options)

    def take(*names: str) -> None:
        for name in names:
            if options[name] is None:
                options[name] = facts.get(name)

    is_sentencepiece = facts["dialect"] == "sentencepiece"
    if model == "unigram" and options["dialect"] is None:
        options["dialect"] = "sentencepiece" if is_sentencepiece else "tokenizers"
    if (model == "unigram" and options["dialect"] == "sentencepiece") != is_sentencepiece:
        own = "sentencepiece" if is_sentencepiece else f"split {facts['split']}"
        asked = options["dialect"] if model == "unigram" else model
        raise contradiction("the counts", "asked for", {"dialect": (own, asked)})
    take("normalizer", *(SENTENCEPIECE if is_sentencepiece else ("split",)))
    if options["normalizer"] == "BertNormalizer":
        take(*BERT)
    if model == "unigram":
        take("user_defined_symbols")
    if options["special_tokens"] is None:
        reserved = options["reserved_tokens"]
        added = {f"<|reserved_{i}|>" for i in range(reserved)} if isinstance(reserved, int) else set()
        options["special_tokens"] = [token for token in facts["special_tokens"] if token not in added]
    return options


def _comparable(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts so that equal ones mean the same."""
    facts = dict(facts)
    if facts.get("split") is not None:
        facts["split"] = _core.known_split(facts["split"]) or facts["split"]
    if "strip_accents" in facts and facts["strip_accents"] is None:
        facts["strip_accents"] = facts["lowercase"]
    special, symbols = set(facts["special_tokens"]), set(facts["user_defined_symbols"])
    if facts["dialect"] is None:
        # Both are cut out of the text.
        special, symbols = special | symbols, set()
    facts["special_tokens"], facts["user_defined_symbols"] = special, symbols
    return facts


def differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, tuple[object, object]]:
    """The facts of reading of two that mean something else, by name."""
    left, right = _comparable(left), _comparable(right)
    names = [*left, *(name for name in right if name not in left)]
    return {name: (left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name)}


def contradiction(left: str, right: str, found: Mapping[str, tuple[object, object]]) -> TrainingError:
    """The error for facts that differ; ``left`` and ``right`` say whose they are."""
    said = []
    for name, (own, other) in found.items():
        if isinstance(own, set) and isinstance(other, set):
            sides = [f"only {left}: {_listed(own - other)}", f"only {right}: {_listed(other - own)}"]
            said.append(f"{name} ({', '.join(side for side in sides if not side.endswith(': '))})")
        else:
            said.append(f"{name} ({left}: {own!r}, {right}: {other!r})")
    return misuse(
        f"these texts were not read in one way: {'; '.join(said)}. What is not given is as in the counts; "
        "for anything else count the texts again"
    )


def _listed(literals: Iterable[str]) -> str:
    all_of_them = sorted(literals)
    more = f" and {len(all_of_them) - _SHOWN} more" if len(all_of_them) > _SHOWN else ""
    return ", ".join(map(repr, all_of_them[:_SHOWN])) + more


def common_facts(all_facts: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """The facts of several counts. Raises ``TrainingError`` where they differ, with the names of two."""
    for facts, name in zip(all_facts[1:], names[1:], strict=True):
        if found := differences(all_facts[0], facts):
            raise contradiction(names[0], name, found)
    # What is written in several ways is written in the same way in whatever order they come.
    return dict(min(all_facts, key=lambda facts: json.dumps(facts, sort_keys=True)))
