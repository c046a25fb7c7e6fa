"""Cutting texts under a budget of ids."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenmill
from tokenmill.errors import BudgetError

from . import chunk_laws
from .families import FAMILIES

BORDERS = ["character", "grapheme", "word", "sentence", "line"]


@cache
def every_byte() -> Any:
    """A tokenizer of bytes: with it the borders of a text can be asked for one by one."""
    return tokenmill.Tokenizer.from_tokens([bytes([value]) for value in range(256)], split="none")


def borders_of(text: str) -> Callable[[str], list[int]]:
    @cache
    def borders(kind: str) -> list[int]:
        if kind == "character":
            return list(range(len(text) + 1))
        if kind == "line":
            return chunk_laws.lines(text)
        # What fits between two neighbouring borders alone, each kept whole.
        parts = every_byte().chunk(text, 1, at=kind, oversize="keep")
        return [0, *parts.ends.tolist()]

    return borders


@pytest.fixture(scope="module", params=FAMILIES)
def tok(request: pytest.FixtureRequest, data: Path) -> Any:
    return tokenmill.load(data / "vocab" / request.param)


def adversarial(rng: random.Random, length: int) -> str:
    pieces = [
        " ",
        "  ",
        "\n",
        "\r\n",
        "a",
        "ab",
        "abc",
        "é",
        "e\u0301",
        "漢",
        "字",
        "，",
        "。",
        "🦊",
        "👩‍👩‍👧",
        "🇩🇪",
        "1",
        "23",
    ]
    pieces += [
        "'s",
        ".",
        "! ",
        "-",
        "\t",
        "\u00a0",
        "\u200b",
        "ก็",
        "ﬁ",
        "The ",
        " THE",
        "</s>",
        "<mask>",
        "[MASK]",
        "<|x|>",
    ]
    out = ""
    while len(out) < length:
        piece = rng.choice(pieces)
        out += piece * (rng.randrange(1, 30) if rng.random() < 0.1 else 1)
    return out[:length]


def check_texts(tok: Any, at: str, corpus: Callable[[str], str], texts: int, longest: int) -> None:
    rng = random.Random(f"{at} {tok.vocab_size} {texts}")
    for number in range(texts):
        length = rng.choice([30, 200, longest])
        if number % 2:
            text = adversarial(rng, length)
        else:
            whole = corpus(rng.choice(["english", "multilingual", "code", "cjk"]))
            start = rng.randrange(len(whole) - length)
            text = whole[start : start + length]
        for n in (7, 20, 64):
            for overlap in (0, rng.randrange(1, n)):
                chunk_laws.check(tok, text, n, overlap=overlap, at=at, borders=borders_of(text))


@pytest.mark.parametrize("at", BORDERS)
def test_laws(tok: Any, at: str, corpus: Callable[[str], str]) -> None:
    check_texts(tok, at, corpus, 2, 250)


def test_laws_where_special_tokens_are_parsed(tok: Any) -> None:
    rng = random.Random(tok.vocab_size)
    literals = [*list(tok.special_tokens)[:4], "<|x|>", "<", "|>"]
    parsed: list[Any] = ["parse", frozenset(literals[:1] if tok.special_tokens else [])]
    for at in BORDERS:
        text = "".join(rng.choice([adversarial(rng, 20), rng.choice(literals)]) for _ in range(10))
        for special in parsed:
            for n, overlap in ((7, 0), (20, 6)):
                borders = borders_of(text)
                chunk_laws.check(tok, text, n, overlap=overlap, at=at, borders=borders, special=special)


@pytest.mark.slow
@pytest.mark.parametrize("at", BORDERS)
def test_laws_on_many_texts(tok: Any, at: str, corpus: Callable[[str], str]) -> None:
    check_texts(tok, at, corpus, 40, 600)
    text = adversarial(random.Random(at), 4_000)
    chunk_laws.check(tok, text, 64, at=at, borders=borders_of(text), reach=400)
    whole = corpus("multilingual")[:12_000]
    chunk_laws.check(tok, whole, 512, overlap=64, at=at, borders=borders_of(whole), reach=4_000)


def test_calls(data: Path, tmp_path: Path) -> None:
    tok = tokenmill.load(data / "vocab" / "llama3.1")
    text = "The quick brown fox. It jumps over the lazy dog!\r\nΚαλημέρα κόσμε; 漢字かな交じり文。🦊\n" * 20
    chunks = tok.chunk(text, 33, at="sentence", overlap=5)
    assert chunks.text == text
    assert [chunk.text for chunk in chunks] == chunks.texts()
    assert chunks.counts.tolist() == [chunk.count for chunk in chunks] == [len(row) for row in chunks.ids]
    assert chunks.starts.tolist() == [chunk.start for chunk in chunks]
    assert chunks.byte_ends.tolist() == [chunk.byte_end for chunk in chunks]
    assert list(chunks[2:5]) == [chunks[2], chunks[3], chunks[4]]
    assert list(chunks[::-2]) == [chunks[at] for at in range(len(chunks) - 1, -1, -2)]
    assert chunks[-1].end == len(text)
    with pytest.raises(IndexError):
        chunks[len(chunks)]
    batch = tok.chunk_batch([text, "", text[7:]], 33, at="sentence", overlap=5, num_threads=2)
    assert batch == [chunks, tok.chunk("", 33), tok.chunk(text[7:], 33, at="sentence", overlap=5)]
    special = tok.chunk(text, 33, add_special_tokens=True)
    assert all(chunk.ids == tok.encode(chunk.text, add_special_tokens=True) for chunk in special)
    assert max(special.counts) == 33
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    for size in (1, 7, 100, 1 << 20):
        streamed = list(tok.chunk_file(path, 33, at="sentence", overlap=5, block_size=size, num_threads=2))
        assert streamed == list(chunks)
    path.write_bytes(text.encode() + b"\xff")
    with pytest.raises(ValueError, match=f"byte {len(text.encode())}"):
        list(tok.chunk_file(path, 33))


def test_surrogates_stay_in_the_text() -> None:
    tok = every_byte()
    text = "a\ud83e\udd8ab\ud800c"
    chunks = tok.chunk(text, 4)
    assert "".join(chunks.texts()) == text
    assert [chunk.count for chunk in chunks] == [1, 4, 4, 1]
    assert tok.truncate(text, 5).text == "a\ud83e\udd8a"
    with pytest.raises(UnicodeEncodeError):
        tok.chunk(text, 4, surrogates="error")


def test_what_is_asked_for_wrongly(data: Path, tmp_path: Path) -> None:
    tok: Any = tokenmill.load(data / "vocab" / "llama3.1")
    wrong: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (TypeError, "text must be str, not bytes", lambda: tok.chunk(b"abc", 5)),
        (TypeError, "text must be str", lambda: tok.truncate(["a"], 5)),
        (TypeError, "not one text", lambda: tok.chunk_batch("abc", 5)),
        (TypeError, r"texts\[1\] must be str, not NoneType", lambda: tok.chunk_batch(["abc", None], 5)),
        (ValueError, "is no length", lambda: tok.chunk("abc", -1)),
        (ValueError, 'at="sentense" is none of', lambda: tok.chunk("abc", 5, at="sentense")),
        (ValueError, 'oversize="drop" is none of', lambda: tok.chunk("abc", 5, oversize="drop")),
        (ValueError, 'side="middle" is none of', lambda: tok.truncate("abc", 5, side="middle")),
        (BudgetError, "leaves no ids", lambda: tok.chunk("abc", 0)),
        (BudgetError, "must be less", lambda: tok.chunk("abc", 5, overlap=5)),
        (BudgetError, "special tokens alone are 1", lambda: tok.truncate("abc", 0, add_special_tokens=True)),
        (BudgetError, 'character 2, "🦊"', lambda: tok.chunk("ab🦊", 1)),
        (BudgetError, r"texts\[1\]: .*character 2", lambda: tok.chunk_batch(["a", "ab🦊"], 1)),
        (
            BudgetError,
            "line at character 3",
            lambda: tok.chunk("ab\nabc abc abc abc", 3, at="line", oversize="error"),
        ),
        (FileNotFoundError, "nowhere", lambda: tok.chunk_file(tmp_path / "nowhere", 5)),
        (ValueError, "block_size", lambda: tok.chunk_file(tmp_path, 5, block_size=0)),
        (TypeError, "made by Tokenizer.chunk", lambda: tokenmill.Chunks()),
    ]
    for kind, words, call in wrong:
        with pytest.raises(kind, match=words):
            call()
    with pytest.raises(tokenmill.SpecialTokenError) as special:
        tok.chunk("é" * 50 + "<|eot_id|>", 5, special="raise")
    assert special.value.position == 50
    assert tok.truncate("abc", 0) == tokenmill.Chunk("", [], 0, 0, 0, 0)


def test_text_that_costs_nothing_joins_the_chunk(data: Path) -> None:
    bert = tokenmill.load(data / "vocab" / "bert-base-uncased")
    text = "one" + " " * 5_000 + "two" + "\u200b" * 100
    assert bert.chunk(text, 1).texts() == ["one" + " " * 5_000, "two" + "\u200b" * 100]
    assert bert.truncate(text, 1).text == "one" + " " * 5_000
    assert bert.truncate(text, 1, side="left").text == " " * 5_000 + "two" + "\u200b" * 100
    t5 = tokenmill.load(data / "vocab" / "t5-small")
    assert t5.count("🦊" * 1_000) == t5.count("🦊" * 10)
    assert t5.truncate("🦊" * 1_000 + " end", t5.count("🦊")).text == "🦊" * 1_000 + " "


def test_tokens_that_end_inside_characters() -> None:
    """A loop of tokens of which none ends where a character does: the naive way breaks each character."""
    inside = [
        b"\xbc\xe5\xad\x97\xe6",
        b"\x97\xe6\xbc",
        b"\xe6\xbc",
        b"\xe5\xad",
        b"\x97\xe6",
        b"\xbc\xe5",
        b"\xbc\xe5\xad",
    ]
    tokens = [*(bytes([value]) for value in range(256)), *sorted(inside, key=len)]
    tok = tokenmill.Tokenizer.from_tokens(tokens, split="none")
    text = "漢字" * 60
    for n in (3, 7, 20):
        for overlap in (0, 2):
            chunk_laws.check(tok, text, n, overlap=overlap, borders=borders_of(text))


def test_long_texts_without_a_cut(data: Path) -> None:
    """Where no split cuts, each character is counted once, and the search ends when nothing fits any more."""
    for name in ("cl100k_base", "qwen2.5", "llama2"):
        tok = tokenmill.load(data / "vocab" / name)
        for text in (
            "ab" * 2_000,
            "漢字仮名" * 700,
            "\n " * 1_000,
            "x" + " " * 3_000 + "y",
            "1234567890" * 200,
        ):
            chunks = list(tok.chunk(text, 50))
            assert "".join(chunk.text for chunk in chunks) == text
            for chunk in chunks:
                assert chunk.ids == tok.encode(chunk.text)
                longer = range(chunk.end + 1, min(len(text), chunk.end + 300) + 1)
                assert all(tok.count(text[chunk.start : end]) > 50 for end in longer), (name, text[:4], chunk)


def test_threads_change_no_chunk(data: Path, corpus: Callable[[str], str], tmp_path: Path) -> None:
    """A text of several blocks of each thread, with runs without cuts."""
    for vocabulary in ("cl100k_base", "o200k_base", "gpt2", "t5-small", "bert-base-uncased"):
        tok: Any = tokenmill.load(data / "vocab" / vocabulary)
        pieces = [
            corpus(name)[: 200_000 + 7 * number] for number, name in enumerate(("english", "cjk", "code"))
        ]
        text = ("é" * 1_000).join(pieces * 2) + " " * 5_000 + "x"
        path = tmp_path / "text.txt"
        path.write_bytes(text.encode())
        for at, overlap in (("character", 0), ("line", 0), ("word", 20)):
            one = tok.chunk(text, 200, at=at, overlap=overlap)
            assert one == tok.chunk(text, 200, at=at, overlap=overlap, num_threads=3), (vocabulary, at)
            step = max(1, len(one) // 60)
            assert all(chunk.ids == tok.encode(chunk.text) for chunk in list(one)[::step])
        assert list(tok.chunk_file(path, 200, num_threads=2)) == list(tok.chunk(text, 200, num_threads=None))


def test_a_byte_without_a_token_is_named_where_it_is_reached(tmp_path: Path) -> None:
    """A character that is too long comes first, also where the text is encoded ahead."""
    tok: Any = tokenmill.Tokenizer.from_tokens(
        [bytes([value]) for value in range(256) if value != 7], split="gpt2"
    )
    text = "a few words " * 20
    for threads in (1, 2):
        with pytest.raises(BudgetError, match="character 240"):
            tok.chunk(text + "漢 and" + text * 40_000 + "\x07", 2, num_threads=threads)
        with pytest.raises(tokenmill.errors.UnknownTokenError, match=r"U\+0007.*character 240"):
            tok.chunk(text + "\x07", 2, num_threads=threads)
    path = tmp_path / "text.txt"
    path.write_bytes(("ü" + text + "\x07").encode())
    with pytest.raises(tokenmill.errors.UnknownTokenError, match=r"U\+0007.*character 241"):
        list(tok.chunk_file(path, 4, block_size=100))


def test_an_unknown_token_may_stand_for_any_bytes(tmp_path: Path) -> None:
    """The length of its name says nothing about the text."""
    base = tokenmill.train(texts=["the cat and the hat that sat " * 40], vocab_size=300, split="gpt2")
    base.save(tmp_path / "tokenizer.json")
    saved = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    model = saved["model"]
    del model["vocab"]["z"]
    model["vocab"]["<unk>"] = 300
    model["unk_token"] = "<unk>"
    for fuse in (False, True):
        model["fuse_unk"] = fuse
        (tmp_path / "tokenizer.json").write_text(json.dumps(saved), encoding="utf-8")
        tok = tokenmill.load(tmp_path / "tokenizer.json")
        assert tok.encode("zz") == [300] * (1 if fuse else 2)
        rng = random.Random(7)
        for _ in range(40):
            text = "".join(
                rng.choices(["the cat", " hat", "z", "zz", " ", "q", "ü", "漢"], k=rng.randrange(1, 50))
            )
            for n, overlap in ((4, 0), (20, 5)):
                for at in ("character", "word"):
                    chunk_laws.check(tok, text, n, overlap=overlap, at=at, borders=borders_of(text))


def test_a_missing_byte_costs_no_power_of_the_text() -> None:
    """Without a table of prefixes each chunk reads no more than its ids can stand for."""
    tokens = [bytes([value]) for value in range(256) if value != 122]
    tok: Any = tokenmill.Tokenizer.from_tokens([*tokens, b"ab", b"aa"], split="cl100k")
    text = "ab" * 40_000 + " and more"
    chunks = tok.chunk(text, 64)
    assert chunks.text == text
    assert len(chunks) == 626
    with pytest.raises(tokenmill.errors.UnknownTokenError, match="character 80009"):
        tok.chunk(text + "z", 64)


def test_two_documents_do_not_depend_on_threads(data: Path, corpus: Callable[[str], str]) -> None:
    tok = tokenmill.load(data / "vocab" / "cl100k_base")
    texts = [corpus(name)[:60_000] for name in ("english", "cjk", "code")] * 2
    one = tok.chunk_batch(texts, 200, overlap=20)
    assert tok.chunk_batch(texts, 200, overlap=20, num_threads=2) == one
    assert all(np.all(chunks.counts <= 200) for chunks in one)
