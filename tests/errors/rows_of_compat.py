"""Rows: what the faces of other libraries refuse. Those of tiktoken are compared with it in tests/exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tokenmill import errors

from errors.making import Run, rows


def small() -> Any:
    from tokenizers import Tokenizer, models

    return Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))


def attach(given: Any) -> Run:
    def run(native: Any, _: Any) -> object:
        from tokenmill.compat import transformers

        return transformers.attach(given)

    return run


def with_object(use: Callable[[Any], object], change: Callable[[Any], object] = bool, **options: Any) -> Run:
    """Make the object of a small tokenizer that was changed, and use it."""

    def run(native: Any, _: Any) -> object:
        from tokenmill.compat.transformers import tokenizer_object

        plain = small()
        change(plain)
        return use(tokenizer_object(plain, **options))

    return run


def with_dropout(plain: Any) -> None:
    plain.model.dropout = 0.1


def with_own_code(plain: Any) -> None:
    from tokenizers import pre_tokenizers

    plain.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(object())


def object_of(source: Any) -> Run:
    def run(native: Any, _: Any) -> object:
        from tokenmill.compat.transformers import tokenizer_object

        return tokenizer_object(source)

    return run


def with_scores(json: bytes, scores: list[float]) -> Run:
    def run(native: Any, _: Any) -> object:
        from tokenmill import _core

        return _core.from_tokenizer_json(json, scores)

    return run


UNIGRAM = b'{"model":{"type":"Unigram","unk_id":0,"vocab":[["u",0],["a",-1]]},"added_tokens":[]}'
BPE = b'{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"added_tokens":[]}'

COMPAT = [
    *rows(
        TypeError,
        ("attaching a text", attach("gpt2"), "AutoTokenizer.from_pretrained(...) gives, not str"),
        ("an object of a path", object_of("tokenizer.json"), "or a tokenizers.Tokenizer, not str"),
        ("a number to encode", with_object(lambda one: one.encode(3)), "is a str, or a list or tuple of two"),
        ("a pair as one text", with_object(lambda one: one.encode(("a", "b"))), "second argument"),
        ("one text as a batch of inputs", with_object(lambda one: one.encode_batch("ab")), "not str"),
        ("words that are none", with_object(lambda one: one.encode([1], None, True)), "list of 1 (int)"),
        ("half of a pair", with_object(lambda one: one.encode("a\ud800")), "half of a surrogate pair"),
    ),
    *rows(
        ValueError,
        ("scores of a model without", with_scores(BPE, [0.0]), "scores are those of a Unigram model"),
        ("no threads for an object", with_object(bool, num_threads=0), "num_threads=0 is not between"),
    ),
    *rows(
        errors.FormatError,
        (
            "a token without a score",
            with_scores(UNIGRAM, [0.0]),
            "a token has no score",
            {"field": "model.vocab", "kind": "missing", "path": None},
        ),
        (
            "a score that is no number",
            with_scores(UNIGRAM, [0.0, float("nan")]),
            "the score is no number",
            {"field": "model.vocab[1]", "kind": "range", "path": None},
        ),
        (
            "dropout in an object",
            with_object(bool, with_dropout),
            "model.dropout",
            {"field": "model.dropout", "kind": "unsupported", "path": None},
        ),
        (
            "own code in an object",
            with_object(bool, with_own_code),
            "cannot be written as tokenizer.json",
            {"field": "", "kind": "unsupported", "path": None},
        ),
    ),
]
