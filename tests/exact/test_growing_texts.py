"""Texts that grow at their end or at their start, beside encoding each of them at once."""

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


END = pytest.mark.parametrize("at_start", [False, True], ids=["appender", "prepender"])


def grow(tok: Any, parts: list[Any], rng: random.Random, at_start: bool) -> int:
    """Pushes the parts, some of which are cut off again, and compares each state; the number of states."""
    special = rng.choice(["text", "text", "parse"])
    grown = tok.prepender(special=special) if at_start else tok.appender(special=special)
    text, count = type(parts[0])(), 0
    for part in reversed(parts) if at_start else parts:
        grown.push(part)
        text = part + text if at_start else text + part
        if rng.random() < 0.05:
            length = rng.randrange(max(0, len(text) - 40), len(text) + 1)
            if isinstance(text, str) or takes_bytes(tok):
                grown.truncate(length)
                text = text[len(text) - length :] if at_start else text[:length]
        assert grown.token_count == tok.count(text, special=special)
        count += 1
        if rng.random() < 0.05:
            assert grown.ids() == tok.encode(text, special=special)
            assert len(grown) == len(text)
    assert grown.ids() == tok.encode(text, special=special)
    return count


def takes_bytes(tok: Any) -> bool:
    try:
        tok.encode(b"\xff")
    except ValueError:
        return False
    return True


def check(tok: Any, corpus: Callable[[str], str], states: int, size: int, at_start: bool) -> int:
    rng = random.Random(7)
    count = 0
    for text in texts(corpus, rng, size):
        count += grow(tok, pieces(text, rng, takes_bytes(tok)), rng, at_start)
        if count >= states:
            return count
    return count


@END
def test_every_state(tok: Any, corpus: Callable[[str], str], at_start: bool) -> None:
    check(tok, corpus, 500, 150, at_start)


@END
def test_every_state_without_a_split(unsplit: Any, corpus: Callable[[str], str], at_start: bool) -> None:
    check(unsplit, corpus, 500, 150, at_start)


@pytest.mark.slow
@END
def test_a_hundred_thousand_pushes(tok: Any, corpus: Callable[[str], str], at_start: bool) -> None:
    count = check(tok, corpus, 100_000, 2_000, at_start)
    print(f"{tok!r}: {count} pushes, 0 differences")


@pytest.mark.slow
@END
def test_a_hundred_thousand_pushes_without_a_split(
    unsplit: Any, corpus: Callable[[str], str], at_start: bool
) -> None:
    check(unsplit, corpus, 100_000, 2_000, at_start)


@pytest.mark.slow
@END
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "gpt2", "llama3.1"])
def test_a_megabyte(name: str, data: Path, corpus: Callable[[str], str], at_start: bool) -> None:
    """Character by character, looked at a thousand times."""
    tok = tokenmill.load(data / "vocab" / name)
    rng = random.Random(11)
    for text in (*(corpus(kind)[:1_000_000] for kind in ("english", "cjk", "code")), " " * 1_000_000):
        grown = tok.prepender() if at_start else tok.appender()
        # The counts of all beginnings, or of all endings, are those of ranges.
        ranges = tok.interval_counter(text)
        lengths = sorted(rng.randrange(1, len(text)) for _ in range(1_000))
        done = 0
        for number, length in enumerate([*lengths, len(text)]):
            start, stop = (len(text) - length, len(text)) if at_start else (0, length)
            part = text[start : len(text) - done] if at_start else text[done:stop]
            for character in reversed(part) if at_start else part:
                grown.push(character)
            done = length
            assert grown.stable_length <= length
            assert grown.token_count == ranges.count(start, stop)
            if number % 50 == 0:
                assert grown.token_count == tok.count(text[start:stop])
        assert grown.ids() == tok.encode(text)


@END
def test_what_is_stable_stays(tok: Any, corpus: Callable[[str], str], at_start: bool) -> None:
    rng = random.Random(3)
    states = 0
    for text in texts(corpus, rng, 120):
        grown = tok.prepender() if at_start else tok.appender()
        sent: list[int] = []
        for character in reversed(text) if at_start else text:
            grown.push(character)
            # From the end that does not grow.
            ids = grown.ids()[::-1] if at_start else grown.ids()
            assert ids[: len(sent)] == sent
            assert len(sent) <= grown.stable_count <= len(ids)
            assert grown.stable_length <= len(grown)
            sent = ids[: grown.stable_count]
            states += 1
        if states > 500:
            break


@END
def test_without_a_split_tokens_become_stable(unsplit: Any, at_start: bool) -> None:
    grown = unsplit.prepender() if at_start else unsplit.appender()
    grown.push("The quick brown fox jumps over the lazy dog. " * 20)
    assert 600 < grown.stable_length < len(grown)


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


def test_cutting_and_going_back_at_the_start(unsplit: Any) -> None:
    prepender = unsplit.prepender()
    prepender.push("naïve 漢字")
    assert repr(prepender).startswith("Prepender(8 characters, ")
    snapshot = prepender.snapshot()
    prepender.push("more and ")
    prepender.restore(snapshot)
    assert (len(prepender), prepender.ids()) == (8, unsplit.encode("naïve 漢字"))
    prepender.truncate(3)
    assert prepender.ids() == unsplit.encode(" 漢字")
    with pytest.raises(BudgetError, match="cut to 7 bytes"):
        prepender.restore(snapshot)
    with pytest.raises(BudgetError, match="3 characters"):
        prepender.truncate(4)
    with pytest.raises(BudgetError, match="another prepender"):
        unsplit.prepender().restore(snapshot)
    prepender.push(b"\xbc\xa2")
    assert prepender.ids() == unsplit.encode(b"\xbc\xa2" + " 漢字".encode())
    prepender.push(b"\xe6")
    assert prepender.ids() == unsplit.encode("漢 漢字")
    prepender.truncate(8)
    assert repr(prepender).startswith("Prepender(8 bytes, ")
    assert prepender.ids() == unsplit.encode("漢 漢字".encode()[2:])


def test_an_error_in_front_leaves_the_text_as_it_was() -> None:
    tok = tokenmill.Tokenizer.from_tokens([b"a", b"b", b"ab"])
    prepender = tok.prepender()
    prepender.push("aa")
    with pytest.raises(UnknownTokenError) as error:
        prepender.push("b?b")
    assert (error.value.char, error.value.position) == ("?", 1)
    assert (len(prepender), prepender.ids()) == (2, tok.encode("aa"))
    prepender.push("a")
    assert prepender.ids() == tok.encode("aaa")
