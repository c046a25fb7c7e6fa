"""Texts that grow, beside encoding each of them at once."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill.errors import BudgetError, UnknownTokenError

from .families import FAMILIES


@pytest.fixture(scope="module", params=FAMILIES)
def tok(request: pytest.FixtureRequest, data: Path) -> Any:
    return tokenmill.load(data / "vocab" / request.param)


@pytest.fixture(scope="module")
def unsplit(data: Path) -> Any:
    return tokenmill.load(data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken", split="none")


WORDS = [
    "a",
    "b",
    " ",
    " a",
    " b",
    "c d",
    "e\u0301",
    "\u0301",
    "\ufb01",
    "\u6f22",
    "\uff0c",
    "'s",
    "1",
    "A",
    "\t",
    "-",
]
WORDS += [
    "<s>",
    "</s>",
    "[MASK]",
    "<mask>",
    " <mask>",
    "<|endoftext|>",
    "\u2581",
    "\u00a0",
    "\u200b",
    "\u00ad",
    "s .",
]


WORDS += [
    "e\u0301",
    "字",
    "漢字",
    "のは",
    " の",
    "한국 어",
    " 한",
    "\u3099",
    "ก ข",
    "ร์",
    "\u200d",
    "क ख",
    " \u093c",
    "ا ل",
    " \u064b",
]
LANGUAGES = ["ko", "ru", "ja", "zh", "th", "ar", "hi", "he", "el", "de", "fr", "vi"]


def texts(corpus: Callable[[str], str], rng: random.Random, size: int) -> Iterator[str]:
    """Parts of corpora, emoji, and floods of white space, without end."""
    whole = [corpus(name)[:400_000] for name in ("english", "cjk", "code", "multilingual")]
    whole += [corpus(f"lang/{language}")[:20_000] for language in LANGUAGES]
    while True:
        kind = rng.randrange(8)
        length = rng.randrange(1, size)
        if kind == 3:
            kind = rng.randrange(3, len(whole))
            at = rng.randrange(len(whole[kind]) - length)
            yield whole[kind][at : at + length]
        elif kind < 3:
            at = rng.randrange(len(whole[kind]) - length)
            yield whole[kind][at : at + length]
        elif kind == 4:
            yield "".join(rng.choices("🦊🏳️‍🌈👩‍👩‍👧‍👦 !aé", k=length))
        elif kind < 7:
            yield "".join(rng.choices(WORDS, k=length))[:length]
        else:
            yield "".join(rng.choices(["  ", "\n", "\t", " a", "\r\n", "\u3000", "1"], k=length))[:length]


def pieces(text: str, rng: random.Random, takes_bytes: bool) -> list[str] | list[bytes]:
    """The characters of a text, its words, or its bytes."""
    kind = rng.randrange(3 if takes_bytes else 2)
    if kind == 0:
        return list(text)
    if kind == 1:
        return re.findall(r"\s*\S+|\s+", text)
    return [bytes([value]) for value in text.encode()]


def grow(tok: Any, parts: list[Any], rng: random.Random) -> int:
    """Pushes the parts, some of which are cut off again, and compares each state; the number of states."""
    special = rng.choice(["text", "text", "parse"])
    appender, text, count = tok.appender(special=special), type(parts[0])(), 0
    for part in parts:
        appender.push(part)
        text += part
        if rng.random() < 0.05:
            length = rng.randrange(max(0, len(text) - 40), len(text) + 1)
            if isinstance(text, str) or takes_bytes(tok):
                appender.truncate(length)
                text = text[:length]
        assert appender.token_count == tok.count(text, special=special)
        count += 1
        if rng.random() < 0.05:
            assert appender.ids() == tok.encode(text, special=special)
            assert len(appender) == len(text)
    assert appender.ids() == tok.encode(text, special=special)
    return count


def takes_bytes(tok: Any) -> bool:
    try:
        tok.encode(b"\xff")
    except ValueError:
        return False
    return True


def check(tok: Any, corpus: Callable[[str], str], states: int, size: int) -> int:
    rng = random.Random(7)
    count = 0
    for text in texts(corpus, rng, size):
        count += grow(tok, pieces(text, rng, takes_bytes(tok)), rng)
        if count >= states:
            return count
    return count


def test_every_state(tok: Any, corpus: Callable[[str], str]) -> None:
    check(tok, corpus, 1_000, 150)


def test_every_state_without_a_split(unsplit: Any, corpus: Callable[[str], str]) -> None:
    check(unsplit, corpus, 1_000, 150)


@pytest.mark.slow
def test_a_hundred_thousand_pushes(tok: Any, corpus: Callable[[str], str]) -> None:
    count = check(tok, corpus, 100_000, 2_000)
    print(f"{tok!r}: {count} pushes, 0 differences")


@pytest.mark.slow
def test_a_hundred_thousand_pushes_without_a_split(unsplit: Any, corpus: Callable[[str], str]) -> None:
    check(unsplit, corpus, 100_000, 2_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "gpt2", "llama3.1"])
def test_a_megabyte(name: str, data: Path, corpus: Callable[[str], str]) -> None:
    """Character by character, looked at a thousand times."""
    tok = tokenmill.load(data / "vocab" / name)
    rng = random.Random(11)
    for corpus_name in ("english", "cjk", "code"):
        text = corpus(corpus_name)[:1_000_000]
        appender = tok.appender()
        places = sorted(rng.randrange(1, len(text)) for _ in range(1_000))
        at = 0
        for place in [*places, len(text)]:
            for character in text[at:place]:
                appender.push(character)
            at = place
            # The count of the whole so far, from where nothing changes it any more.
            stable = appender.stable_length
            assert stable <= place
            assert appender.token_count == tok.count(text[:place])
        assert appender.ids() == tok.encode(text)


def test_what_is_stable_stays(tok: Any, corpus: Callable[[str], str]) -> None:
    rng = random.Random(3)
    states = 0
    for text in texts(corpus, rng, 120):
        appender = tok.appender()
        sent: list[int] = []
        for character in text:
            appender.push(character)
            ids = appender.ids()
            assert ids[: len(sent)] == sent
            assert len(sent) <= appender.stable_count <= len(ids)
            assert appender.stable_length <= len(appender)
            sent = ids[: appender.stable_count]
            states += 1
        if states > 1_000:
            break


def test_without_a_split_tokens_become_stable(unsplit: Any) -> None:
    appender = unsplit.appender()
    appender.push("The quick brown fox jumps over the lazy dog. " * 20)
    assert 600 < appender.stable_length < len(appender)


def test_special_tokens_around_the_text(data: Path) -> None:
    tok = tokenmill.load(data / "vocab" / "bert-base-uncased")
    appender = tok.appender(add_special_tokens=True)
    assert (appender.token_count, appender.ids()) == (2, tok.encode("", add_special_tokens=True))
    appender.push("Hello")
    appender.push("s")
    assert appender.ids() == tok.encode("Hellos", add_special_tokens=True)
    assert appender.token_count == len(appender.ids())


def test_special_tokens_in_the_text() -> None:
    tok = tokenmill.Tokenizer.from_tokens([b"<", b"s", b">", b"a"], special_tokens=["<s>"])
    as_text, parsed = tok.appender(), tok.appender(special="parse")
    for character in "a<s>a":
        as_text.push(character)
        parsed.push(character)
    assert as_text.ids() == tok.encode("a<s>a") != parsed.ids() == tok.encode("a<s>a", special="parse")
    refusing = tok.appender(special="raise")
    refusing.push("a<s")
    with pytest.raises(tokenmill.SpecialTokenError):
        refusing.push(">")
    assert refusing.ids() == tok.encode("a<s")


def test_an_error_leaves_the_text_as_it_was() -> None:
    tok = tokenmill.Tokenizer.from_tokens([b"a", b"b", b"ab"])
    appender = tok.appender()
    appender.push("aa")
    with pytest.raises(UnknownTokenError) as error:
        appender.push("b?b")
    assert (error.value.char, error.value.position) == ("?", 3)
    assert (len(appender), appender.ids()) == (2, tok.encode("aa"))
    appender.push("b")
    assert appender.ids() == tok.encode("aab")


def test_cutting_and_going_back(unsplit: Any) -> None:
    appender = unsplit.appender()
    appender.push("naïve 漢字")
    assert repr(appender).startswith("Appender(8 characters, ")
    snapshot = appender.snapshot()
    appender.push(" and more")
    appender.restore(snapshot)
    assert (len(appender), appender.ids()) == (8, unsplit.encode("naïve 漢字"))
    appender.truncate(3)
    assert appender.ids() == unsplit.encode("naï")
    with pytest.raises(BudgetError, match="cut to 4 bytes"):
        appender.restore(snapshot)
    with pytest.raises(BudgetError, match="3 characters"):
        appender.truncate(4)
    with pytest.raises(BudgetError, match="another appender"):
        unsplit.appender().restore(snapshot)
    for wrong in (-1, "2", None):
        with pytest.raises((TypeError, ValueError)):
            appender.truncate(wrong)
    appender.push(b"\xe6")
    assert repr(appender).startswith("Appender(5 bytes, ")
    assert appender.ids() == unsplit.encode("naï".encode() + b"\xe6")
    appender.push(b"\xbc\xa2")
    assert appender.ids() == unsplit.encode("naï漢")
    appender.truncate(4)
    assert appender.ids() == unsplit.encode("naï")
