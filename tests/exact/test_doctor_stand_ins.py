"""The doctor on wrong results that no file causes: a stand-in gives them in place of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
import tokenmill
from tokenmill import Tokenizer
from tokenmill._doctor import behaviour, conversations, special
from tokenmill._doctor.examined import Examined
from tokenmill.findings import Finding

from .planted_faults import CHATML, TEXT

Checks = Callable[[Examined], Iterator[Finding]]


class StandIn:
    """A tokenizer with one method that gives something else."""

    def __init__(self, tok: Tokenizer, name: str, instead: Callable[..., Any]) -> None:
        self._tok, self._name, self._instead = tok, name, instead

    def __getattr__(self, name: str) -> Any:
        if name != self._name:
            return getattr(self._tok, name)
        return lambda *given, **options: self._instead(self._tok, *given, **options)


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    special_tokens = ["<s>", "<pad>", "<|im_start|>", "<|im_end|>"]
    made = tokenmill.train(texts=[TEXT] * 3, vocab_size=400, split="cl100k", special_tokens=special_tokens)
    made = made.with_special_tokens(bos_token="<s>", eos_token="<|im_end|>", pad_token="<pad>")
    return made.with_chat_template(CHATML)


def beyond(tok: Tokenizer, text: str) -> Any:
    """Offsets that are one byte too large."""
    spans = tok.encode_with_offsets(text).byte_offsets
    return SimpleNamespace(byte_offsets=[(start + 1, stop + 1) for start, stop in spans])


def back(tok: Tokenizer, text: str) -> Any:
    """Offsets that go back."""
    return SimpleNamespace(byte_offsets=tok.encode_with_offsets(text).byte_offsets[::-1])


def holes(tok: Tokenizer, text: str) -> Any:
    """Offsets of all tokens but the first."""
    return SimpleNamespace(byte_offsets=tok.encode_with_offsets(text).byte_offsets[1:])


def parsed(tok: Tokenizer, text: str, **options: Any) -> Any:
    """The ids of special tokens for their literals."""
    return tok.encode(text, **{**options, "special": "parse"})


def reversed_ids(tok: Tokenizer, text: str, **options: Any) -> Any:
    """Other ids one by one than in a batch."""
    return tok.encode(text, **options)[::-1]


def forged(tok: Tokenizer, chat: Any, **options: Any) -> Any:
    """The ids of the rendered text, whoever wrote its parts."""
    if options:
        return tok.apply_chat_template(chat, **options)
    return {"input_ids": tok.encode(tok.render_chat(chat).text, special="parse")}


def unmasked(tok: Tokenizer, rows: Any) -> Any:
    """Padding as labels."""
    batch = tok.pad_batch(rows)
    return {name: batch["input_ids" if name == "labels" else name] for name in batch}


def of_behaviour(examined: Examined) -> Iterator[Finding]:
    return behaviour.checks(examined, 0.02)


@pytest.mark.parametrize(
    ("check", "checks", "name", "instead"),
    [
        ("offsets", of_behaviour, "encode_with_offsets", beyond),
        ("offsets", of_behaviour, "encode_with_offsets", back),
        ("offsets", of_behaviour, "encode_with_offsets", holes),
        ("determinism", of_behaviour, "encode", reversed_ids),
        ("reserved", special.checks, "encode", parsed),
        ("template_literals", conversations.checks, "apply_chat_template", forged),
        ("padding", conversations.checks, "pad_batch", unmasked),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_wrong_results_are_found(
    tok: Tokenizer, check: str, checks: Checks, name: str, instead: Callable[..., Any]
) -> None:
    def status(of: Tokenizer) -> str:
        return next(row.status for row in checks(Examined(of, None, [])) if row.check == check)

    assert status(tok) == "pass"
    assert status(cast(Tokenizer, StandIn(tok, name, instead))) == "fail"
