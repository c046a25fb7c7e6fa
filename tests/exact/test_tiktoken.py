"""Rank files that tiktoken ships: the same ids as tiktoken 0.14.0.

The fast run compares every 16th piece of 4 kB, the slow one every piece and each adversarial text
whole. Both print how many were compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ENCODINGS = ["r50k_base", "p50k_base", "cl100k_base", "o200k_base"]
CORPORA = ["english", "code", "multilingual", "cjk", "json"]
PIECE = 4096


@cache
def tiktoken_encoding(name: str, data: Path) -> Any:
    """tiktoken's own definition, with its rank file read from the test data."""
    import tiktoken
    from tiktoken_ext import openai_public

    def local(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        import base64

        file = url.rsplit("/", 1)[-1]
        raw = (data / "vocab" / Path(file).stem / file).read_bytes()
        assert expected_hash is None or hashlib.sha256(raw).hexdigest() == expected_hash
        return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, raw.splitlines())}

    before = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = local
    try:
        return tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[name]())
    finally:
        openai_public.load_tiktoken_bpe = before


def pieces(text: bytes, step: int = 1) -> Iterator[str]:
    """Every step-th piece of 4 kB, cut at character boundaries."""
    starts = list(range(0, len(text), PIECE))[::step]
    for start in starts:
        yield text[boundary(text, start) : boundary(text, start + PIECE)].decode("utf-8")


def boundary(text: bytes, at: int) -> int:
    """The next character boundary."""
    while at < len(text) and text[at] & 0xC0 == 0x80:
        at += 1
    return at


def compare(ours: Any, theirs: Any, texts: list[str]) -> int:
    """How many texts differ; both sides in batches, on all cores."""
    expected = theirs.encode_ordinary_batch(texts, num_threads=2)
    found = ours.encode_batch(texts, num_threads=2).to_lists()
    for text, want, got in zip(texts, expected, found, strict=True):
        if want != got:
            at = next(i for i, (a, b) in enumerate(zip([*want, None], [*got, None], strict=False)) if a != b)
            pytest.fail(
                f"ids differ at {at}: tiktoken {want[at : at + 5]}, ours {got[at : at + 5]} in {text!r:.300}"
            )
    return len(texts)


@pytest.fixture(params=ENCODINGS)
def pair(request: pytest.FixtureRequest, native: Any, data: Path) -> tuple[str, Any, Any]:
    """Name, our tokenizer, theirs."""
    name = request.param
    return name, native.load(data / "vocab" / name / f"{name}.tiktoken"), tiktoken_encoding(name, data)


def sources(data: Path) -> list[Path]:
    return [data / "corpus" / f"{name}.txt" for name in CORPORA] + sorted(
        (data / "adversarial").glob("*.txt")
    )


def test_a_sample_of_all_texts_has_the_same_ids(pair: tuple[str, Any, Any], data: Path) -> None:
    name, ours, theirs = pair
    compared = sum(compare(ours, theirs, list(pieces(path.read_bytes(), 16))) for path in sources(data))
    print(f"{name}: {compared} pieces compared, 0 differences")
    assert compared > 2_000


@pytest.mark.slow
def test_every_piece_of_all_texts_has_the_same_ids(pair: tuple[str, Any, Any], data: Path) -> None:
    name, ours, theirs = pair
    compared = sum(compare(ours, theirs, list(pieces(path.read_bytes()))) for path in sources(data))
    print(f"{name}: {compared} pieces compared, 0 differences")
    assert compared > 30_000


@pytest.mark.slow
def test_adversarial_texts_whole_have_the_same_ids(pair: tuple[str, Any, Any], data: Path) -> None:
    name, ours, theirs = pair
    compared, panics = 0, []
    for path in sorted((data / "adversarial").glob("*.txt")):
        text = path.read_bytes().decode("utf-8")
        found = ours.encode(text)
        assert ours.decode(found) == text
        try:
            expected = theirs.encode_ordinary(text)
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # no Exception, but a BaseException
                raise
            panics.append(path.stem)
            continue
        assert found == expected, path.stem
        compared += 1
    print(f"{name}: {compared} whole texts compared, 0 differences; tiktoken panics on {panics}")
    assert compared >= 33


def test_special_tokens_are_those_of_tiktoken(pair: tuple[str, Any, Any]) -> None:
    _, ours, theirs = pair
    assert ours.special_tokens == theirs._special_tokens
    assert ours.vocab_size == len(theirs._mergeable_ranks.keys() | {*map(str.encode, theirs._special_tokens)})
    assert ours.max_id == theirs.max_token_value
    for literal in theirs._special_tokens:
        for text in [literal, f"a {literal}b", f"  {literal}  {literal}", f"x\n{literal}\n"]:
            assert ours.encode(text, special="parse") == theirs.encode(text, allowed_special="all")
            assert ours.encode(text) == theirs.encode(text, disallowed_special=())
            assert ours.encode(text, special={literal}) == theirs.encode(text, allowed_special={literal})


def test_tokens_have_the_same_bytes(pair: tuple[str, Any, Any]) -> None:
    _, ours, theirs = pair
    for token, rank in theirs._mergeable_ranks.items():
        assert ours.token_bytes(rank) == token


def test_lone_surrogates_become_what_tiktoken_makes_of_them(native: Any, data: Path) -> None:
    ours = native.load(data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken")
    theirs = tiktoken_encoding("cl100k_base", data)
    for text in ["\ud83d\ude00", "a\ud83d", "\ude00\ud83d", "\ud83d\ud83d\ude00x", "é\ud800é"]:
        assert ours.encode(text) == theirs.encode(text), ascii(text)


def test_a_published_file_keeps_its_special_tokens_when_more_are_named(native: Any, data: Path) -> None:
    path = data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken"
    known = tiktoken_encoding("cl100k_base", data)._special_tokens
    ours = native.load(path, special_tokens=["<|endoftext|>", "<|new|>"])
    assert ours.special_tokens == {**known, "<|new|>": 100277}
    assert native.load(path, special_tokens={"<|im_start|>": 100264}).special_tokens == {
        **known,
        "<|im_start|>": 100264,
    }


def test_ids_that_are_given_win_over_those_of_a_published_file(native: Any, data: Path) -> None:
    """Qwen 2.5 has the ranks of Qwen, and other special tokens."""
    path = data / "vocab" / "qwen" / "qwen.tiktoken"
    known = native.load(path).special_tokens
    ours = native.load(path, special_tokens={"<|box_start|>": 151648, "<|extra_9|>": 151900})
    kept = {literal: i for literal, i in known.items() if i != 151648 and literal != "<|extra_9|>"}
    assert len(kept) == len(known) - 2
    assert ours.special_tokens == {**kept, "<|box_start|>": 151648, "<|extra_9|>": 151900}
    named = {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}
    assert native.load(path, special_tokens=named).special_tokens == known


def test_the_published_ranks_of_llama_3_are_split_by_the_name_of_their_own(native: Any, data: Path) -> None:
    """The pattern is that of cl100k, and no file holds it: the name comes from what the file is."""
    path = data / "vocab" / "llama3" / "tokenizer.model"
    assert native.load(path).split == "llama3"
    assert native.load(path, split="cl100k").split == "cl100k"
    assert native.load(path.with_name("tokenizer.json")).split == "cl100k"


def test_llama_3_with_fewer_tokens_is_its_first_ranks(native: Any, data: Path, tmp_path: Path) -> None:
    folder = data / "vocab" / "llama3"
    lines = (folder / "tokenizer.model").read_bytes().splitlines(keepends=True)
    (tmp_path / "first.tiktoken").write_bytes(b"".join(lines[:20_000]))
    first = native.load(tmp_path / "first.tiktoken", split="llama3")
    whole = native.load(folder / "tokenizer.json")
    small = whole.with_vocab_size(len(whole) - len(lines) + 20_000)
    text = (data / "corpus" / "multilingual.txt").read_text(encoding="utf-8")[:200_000]
    assert small.encode(text) == first.encode(text)
