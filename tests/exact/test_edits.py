"""Changed texts, beside encoding them anew."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill.errors import BudgetError, SpecialTokenError, UnknownTokenError

from .families import FAMILIES
from .test_growing_texts import WORDS, texts

ATTRIBUTES = ["ids", "tokens", "surface_tokens", "offsets", "byte_offsets", "type_ids", "word_ids"]


@pytest.fixture(scope="module", params=[*FAMILIES, "unsplit"])
def tok(request: pytest.FixtureRequest, data: Path) -> Any:
    if request.param == "unsplit":
        return tokenmill.load(data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken", split="none")
    return tokenmill.load(data / "vocab" / request.param)


def edits(tok: Any, text: str, count: int, rng: random.Random) -> None:
    """Changes a text again and again."""
    special = rng.choice(["text", "text", "parse"])
    adds = rng.random() < 0.3
    encoding = tok.encode_with_offsets(text, special=special, add_special_tokens=adds)
    for _ in range(count):
        start = rng.randrange(len(text) + 1)
        stop = min(len(text), start + rng.choice([0, 0, 1, 1, 2, 5, 40]))
        put = "".join(rng.choices([*WORDS, "word", "字"], k=rng.choice([0, 1, 1, 2, 5])))
        edit = tok.edit(text, encoding, start, stop, put, special=special)
        changed = text[:start] + put + text[stop:]
        want = tok.encode_with_offsets(changed, special=special, add_special_tokens=adds)
        assert edit.text == changed
        for attribute in ATTRIBUTES:
            assert getattr(edit.encoding, attribute) == getattr(want, attribute), attribute
        assert edit.encoding == want
        assert edit.encoding.ids[: edit.start] == encoding.ids[: edit.start]
        assert edit.encoding.ids[edit.new_stop :] == encoding.ids[edit.old_stop :]
        assert edit.encoding.offsets[: edit.start] == encoding.offsets[: edit.start]
        moved = [(a + len(put) - (stop - start), b + len(put) - (stop - start)) for a, b in encoding.offsets]
        special_ids = edit.encoding.special_tokens_mask[edit.new_stop :]
        behind = list(zip(edit.encoding.offsets[edit.new_stop :], special_ids, strict=True))
        assert all(
            is_special or offset == moved[edit.old_stop + i] for i, (offset, is_special) in enumerate(behind)
        )
        text, encoding = changed, edit.encoding


def test_edits(tok: Any, corpus: Callable[[str], str]) -> None:
    rng = random.Random(13)
    for number, text in enumerate(texts(corpus, rng, 400)):
        edits(tok, text, 8, rng)
        if number == 11:
            break


@pytest.mark.slow
def test_ten_thousand_edits(tok: Any, corpus: Callable[[str], str]) -> None:
    rng = random.Random(14)
    for number, text in enumerate(texts(corpus, rng, 1_500)):
        edits(tok, text, 20, rng)
        if number == 499:
            break


def test_an_edit_reaches_no_farther_than_it_must(data: Path, corpus: Callable[[str], str]) -> None:
    tok = tokenmill.load(data / "vocab" / "cl100k_base")
    text = corpus("english")[:20_000]
    encoding = tok.encode_with_offsets(text)
    at = text.index(" the ", 10_000) + 1
    edit = tok.edit(text, encoding, at, at + 3, "a")
    assert (edit.old_stop - edit.start, edit.new_stop - edit.start) == (1, 1)
    same = tok.edit(text, encoding, at, at + 3, "the")
    assert same.start == same.old_stop == same.new_stop
    assert same.encoding == encoding


def test_what_is_refused(data: Path) -> None:
    tok: Any = tokenmill.load(data / "vocab" / "bert-base-uncased")
    text = "hello there world"
    encoding = tok.encode_with_offsets(text, add_special_tokens=True)
    assert tok.edit(text, encoding, 0, 5, "bye").encoding.tokens[:2] == ["[CLS]", "bye"]
    with pytest.raises(BudgetError, match="from 3 to 99 in a text of 17"):
        tok.edit(text, encoding, 3, 99, "")
    with pytest.raises(BudgetError, match="has a pair"):
        tok.edit(text, tok.encode_with_offsets(text, "pair"), 0, 1, "")
    cut = tok([text], truncation=True, max_length=4)[0]
    with pytest.raises(BudgetError, match="truncated or padded"):
        tok.edit(text, cut, 0, 1, "")
    other = tokenmill.load(data / "vocab" / "gpt2")
    with pytest.raises(BudgetError, match="another tokenizer"):
        other.edit(text, encoding, 0, 1, "")
    with pytest.raises(BudgetError, match="not that of the text"):
        tok.edit("something else here", encoding, 12, 14, "x")
    with pytest.raises(BudgetError, match="end after the text"):
        tok.edit("hello", encoding, 0, 0, "x")
    for wrong in (None, 3, b"x"):
        with pytest.raises(TypeError, match="replacement"):
            tok.edit(text, encoding, 0, 1, wrong)
    with pytest.raises(TypeError):
        tok.edit(text, encoding.ids, 0, 1, "x")


def test_errors_name_the_place_in_the_changed_text() -> None:
    tok = tokenmill.Tokenizer.from_tokens([b"a", b"b", b"ab"])
    encoding = tok.encode_with_offsets("abab")
    with pytest.raises(UnknownTokenError) as error:
        tok.edit("abab", encoding, 2, 3, "b?")
    assert (error.value.char, error.value.position) == ("?", 3)
    special = tok.with_special_tokens(["aa"])
    with pytest.raises(SpecialTokenError):
        special.edit("abab", special.encode_with_offsets("abab"), 1, 2, "", special="raise")


def test_surrogate_pairs_are_refused(data: Path) -> None:
    tok = tokenmill.load(data / "vocab" / "gpt2")
    for text, start, stop, put in [
        ("\ud83d\ude00", 1, 1, "x"),
        ("\ud83dx\ude00", 1, 2, ""),
        ("a\ud83d", 2, 2, "\ude00"),
        ("a", 1, 1, "\ud83d\ude00"),
    ]:
        with pytest.raises(BudgetError, match="two surrogates"):
            tok.edit(text, tok.encode_with_offsets(text), start, stop, put)
    edit = tok.edit("a\ud83d", tok.encode_with_offsets("a\ud83d"), 0, 1, "b")
    assert edit.encoding == tok.encode_with_offsets("b\ud83d")


def test_offsets_of_a_function_that_go_back(data: Path) -> None:
    tok = tokenmill.load(data / "vocab" / "gpt2")
    tok = tok.with_normalizer(lambda text: text.replace("ab", "x").lower(), name="shortens")
    text = "\U0001f1f7aba\u00c9"
    encoding = tok.encode_with_offsets(text)
    for at in range(len(text) + 1):
        edit = tok.edit(text, encoding, at, at, "x")
        assert edit.encoding == tok.encode_with_offsets(edit.text)
