"""Counts of ranges of a text, beside encoding each range."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenmill
from tokenmill.errors import BudgetError, SpecialTokenError

from .families import FAMILIES
from .test_growing_texts import texts


@pytest.fixture(scope="module", params=[*FAMILIES, "unsplit"])
def tok(request: pytest.FixtureRequest, data: Path) -> Any:
    if request.param == "unsplit":
        return tokenmill.load(data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken", split="none")
    return tokenmill.load(data / "vocab" / request.param)


def ranges_of(length: int, count: int, rng: random.Random) -> list[tuple[int, int]]:
    """Ranges whose lengths are log-uniform up to 10,000 characters."""
    made = []
    for _ in range(count):
        size = min(int(math.exp(rng.uniform(0, math.log(10_000)))), length)
        start = rng.randrange(length - size + 1)
        made.append((start, start + size))
    return made


def check(tok: Any, text: str, count: int, rng: random.Random, special: str = "text") -> None:
    counter = tok.interval_counter(text, special=special)
    ranges = ranges_of(len(text), count, rng)
    found = counter.count_many(np.array(ranges))
    slices = [text[start:stop] for start, stop in ranges]
    assert found.tolist() == tok.count_batch(slices, special=special).tolist()
    for (start, stop), want in list(zip(ranges, found.tolist(), strict=True))[:20]:
        assert counter.count(start, stop) == want
        first, last = len(text[:start].encode()), len(text[:stop].encode())
        assert counter.count(first, last, "bytes") == want
        n = rng.choice([0, 1, 5, 40])
        farthest = counter.fits(start, n)
        assert farthest == start + len(tok.truncate(text[start:], n, special=special).text)
        assert counter.fits(first, n, "bytes") == len(text[:farthest].encode())


def test_ranges(tok: Any, corpus: Callable[[str], str]) -> None:
    rng = random.Random(5)
    for number, text in enumerate(texts(corpus, rng, 2_000)):
        check(tok, text, 100, rng, "parse" if number % 4 == 1 else "text")
        if number == 7:
            break


@pytest.mark.slow
def test_a_million_ranges(tok: Any, corpus: Callable[[str], str]) -> None:
    rng = random.Random(6)
    for name in ("english", "cjk", "code", "multilingual"):
        check(tok, corpus(name)[:200_000], 16_000, rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_a_million_ranges_of_large_vocabularies(name: str, data: Path, corpus: Callable[[str], str]) -> None:
    rng = random.Random(8)
    whole = tokenmill.load(data / "vocab" / name)
    tiktoken = data / "vocab" / name / f"{name}.tiktoken"
    for tok in (whole, tokenmill.load(tiktoken, split="none")):
        for kind in ("english", "cjk", "code", "multilingual"):
            check(tok, corpus(kind)[:1_000_000], 64_000, rng)


def test_ranges_inside_characters(data: Path) -> None:
    tok = tokenmill.load(data / "vocab" / "gpt2")
    text = "naïve 漢字 \U0001f98a!"
    raw = text.encode()
    counter = tok.interval_counter(text)
    for start in range(len(raw) + 1):
        for stop in range(start, len(raw) + 1):
            assert counter.count(start, stop, "bytes") == tok.count(raw[start:stop])
    with pytest.raises(BudgetError, match="inside a character"):
        counter.fits(3, 5, "bytes")


def test_special_tokens_around_a_range(data: Path) -> None:
    tok = tokenmill.load(data / "vocab" / "bert-base-uncased")
    counter = tok.interval_counter("Hello there", add_special_tokens=True)
    assert counter.count(0, 5) == tok.count("Hello", add_special_tokens=True)
    assert counter.count(3, 3) == 2
    assert counter.fits(0, 3) == 6
    with pytest.raises(BudgetError, match="special tokens alone"):
        counter.fits(0, 1)


def test_arguments() -> None:
    tok: Any = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
    counter = tok.interval_counter("low lower")
    assert (len(counter), repr(counter)) == (9, "IntervalCounter(9 characters)")
    assert counter.memory > 0
    assert counter.count_many([]).tolist() == []
    assert counter.count_many([[0, 3], (3, 9)], num_threads=2).dtype == np.int64
    for wrong in ([1, 2, 3], [(0.5, 1.0)], [[0, 1, 2]], "ab", None):
        with pytest.raises(TypeError, match="ranges"):
            counter.count_many(wrong)
    with pytest.raises(BudgetError, match=r"ranges\[1\].*from 5 to 3"):
        counter.count_many([(0, 1), (5, 3)])
    with pytest.raises(BudgetError, match="from a place that no text has to 3"):
        counter.count_many([(-1, 3)])
    with pytest.raises(BudgetError, match="from 0 to 10 in a text of 9 characters"):
        counter.count(0, 10)
    with pytest.raises(ValueError, match="unit"):
        counter.count(0, 1, "words")
    with pytest.raises(TypeError, match="text"):
        tok.interval_counter(b"low")
    special = tok.with_special_tokens(["<s>"])
    with pytest.raises(SpecialTokenError):
        special.interval_counter("a<s>", special="raise")
    assert special.interval_counter("a<s>", special="parse").count(0, 4) == 2


def test_surrogate_pairs_are_refused(data: Path) -> None:
    tok = tokenmill.load(data / "vocab" / "gpt2")
    with pytest.raises(BudgetError, match="character at 1 is written as two surrogates"):
        tok.interval_counter("a\ud83d\ude00b")
    assert tok.interval_counter("a\ud83db").count(0, 2) == tok.count("a\ud83d")


def test_beginnings_that_cannot_be_spelled() -> None:
    """With an end-of-word suffix only whole words have an ending that is a token."""
    tok = tokenmill.train(
        texts=["12 12 ab ab 112"],
        num_merges=3,
        alphabet="chars",
        end_of_word="</w>",
        end_of_word_form="suffix",
    )
    text = "12 ab 112"
    counter = tok.interval_counter(text)
    spelled = 0
    for start in range(len(text)):
        for stop in range(start, len(text) + 1):
            try:
                want = tok.count(text[start:stop])
            except tokenmill.UnknownTokenError:
                with pytest.raises(tokenmill.UnknownTokenError):
                    counter.count(start, stop)
            else:
                assert counter.count(start, stop) == want
                spelled += 1
    assert spelled > 20
    prepender = tok.prepender()
    prepender.push("12 ab")
    prepender.push("112 ")
    assert prepender.token_count == tok.count("112 12 ab")
