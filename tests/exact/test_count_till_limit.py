"""Counting that stops at a limit, beside counting everything."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenmill
from tokenmill.errors import SpecialTokenError, UnknownTokenError

from .families import FAMILIES


@pytest.fixture(scope="module", params=FAMILIES)
def tok(request: pytest.FixtureRequest, data: Path) -> Any:
    return tokenmill.load(data / "vocab" / request.param)


def check(tok: Any, text: Any, limit: int, **arguments: Any) -> None:
    count = tok.count(text, **arguments)
    assert tok.count_till_limit(text, limit, **arguments) == (count if count <= limit else None)


def test_limits_around_the_count(tok: Any, corpus: Callable[[str], str]) -> None:
    rng = random.Random(1)
    for name in ("english", "cjk", "code", "multilingual"):
        whole = corpus(name)
        for length in (0, 1, 30, 2_000, 100_000):
            at = rng.randrange(len(whole) - length)
            text = whole[at : at + length]
            for special in (False, True):
                count = tok.count(text, add_special_tokens=special)
                for limit in {max(0, count + by) for by in (-1_000, -2, -1, 0, 1, 5)}:
                    check(tok, text, limit, add_special_tokens=special)
    counts = tok.count_batch([text, "", "a b c"])
    limited = tok.count_batch([text, "", "a b c"], limit=2)
    assert limited.dtype == np.int64
    assert limited.tolist() == [count if count <= 2 else -1 for count in counts]
    threads = tok.count_batch([text, "a"] * 100, limit=10, num_threads=2)
    assert threads.tolist() == tok.count_batch([text, "a"] * 100, limit=10).tolist()


@pytest.mark.parametrize("name", ["cl100k_base", "llama3.1"])
def test_texts_without_cuts(name: str, data: Path) -> None:
    tok = tokenmill.load(data / "vocab" / name)
    for text in ("a" * 300_000, " " * 300_000, "漢" * 200_000, "\n " * 100_000, "ab" * 100_000):
        for limit in (0, 7, 5_000, 10**9):
            check(tok, text, limit)
            check(tok, text.encode(), limit)
    check(tok, b"ab \xff\xfe cd" * 1_000, 50)
    check(tok, "ab 漢".encode()[:-1], 3)


def test_nothing_behind_the_limit_is_read(data: Path) -> None:
    """What is wrong there is not seen: that is how one can tell."""
    tok = tokenmill.Tokenizer.from_tokens([b"a", b" "], split="gpt2", special_tokens=["<s>"])
    text = "a " * 50_000
    assert tok.count_till_limit(text + "?", 1_000) is None
    assert tok.count_till_limit(text + "<s>", 1_000, special="raise") is None
    with pytest.raises(UnknownTokenError) as unknown:
        tok.count_till_limit(text + "é?", 10**6)
    assert (unknown.value.char, unknown.value.position) == ("é", len(text))
    tok = tokenmill.Tokenizer.from_tokens(
        [bytes([value]) for value in range(256)], split="gpt2", special_tokens=["<s>"]
    )
    with pytest.raises(SpecialTokenError) as special:
        tok.count_till_limit("é" * 3 + text + "<s>", 10**6, special="raise")
    assert special.value.position == len(text) + 3
    refused: list[Any] = [-1, "3", 1.5, None]
    for wrong in refused:
        with pytest.raises((TypeError, ValueError)):
            tok.count_till_limit("a", wrong)


def test_literals_across_windows(data: Path) -> None:
    tok = tokenmill.load(data / "vocab" / "llama3.1")
    for gap in range(0, 300, 7):
        text = "".join("w" * gap + " <|eot_id|>" * (gap % 3 + 1) for _ in range(40))
        count = tok.count(text, special="parse")
        for limit in (count - 1, count, 100):
            check(tok, text, limit, special="parse")
