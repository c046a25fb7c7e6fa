"""Training with `tie_break="huggingface"`: the merges of tokenizers 0.23.3, one by one.

The peer gets the text as one string, since its file reader cuts at line ends. Where its result is not
what the counts say, or changes from run to run, a test shows it; docs/differences.md has the list.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .peer_tokenizers import (
    USER_REGEX,
    byte_level,
    merges_of,
    peer_training,
    prefix,
    saved_regex,
    written_merges,
)

KNOWN = ["gpt2", "cl100k", "o200k", "qwen2", "llama3", "whitespace"]


def same_merges(what: str, theirs: list[tuple[str, str]], ours: list[tuple[str, str]]) -> None:
    for rank, (want, got) in enumerate(zip(theirs, ours, strict=False)):
        assert got == want, f"{what}: merge {rank} is {got}, theirs {want}"
    assert len(ours) == len(theirs), what
    print(f"{what}: {len(ours)} merges compared, 0 differences")


def compare(
    native: Any, folder: Path, text: str, *, split: str, vocab_size: int, gpt2_by_name: bool = False
) -> Any:
    """Train both on one string; ours is returned."""
    from tokenizers import pre_tokenizers

    pre_tokenizer = (
        pre_tokenizers.ByteLevel(add_prefix_space=False)
        if gpt2_by_name
        else byte_level(saved_regex(split, native, folder))
    )
    theirs = peer_training([text], vocab_size=vocab_size, pre_tokenizer=pre_tokenizer)
    ours = native.train(texts=[text], vocab_size=vocab_size, split=split, tie_break="huggingface")
    same_merges(f"{split}, {len(text.encode())} bytes", merges_of(theirs), written_merges(ours))
    # Its pair counts are 32-bit; here none comes near.
    assert all(count < 2**31 for _, _, count in ours.training_report.merges)
    return ours


# ---- prefixes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("corpus", "split", "size"),
    [
        ("english", "gpt2", 3_000_000),
        ("multilingual", "cl100k", 2_000_000),
        ("multilingual", "o200k", 2_000_000),
        ("multilingual", "qwen2", 1_000_000),
        ("code", "llama3", 2_000_000),
        ("code", "whitespace", 1_000_000),
        ("cjk", "cl100k", 500_000),
        ("json", USER_REGEX, 1_000_000),
    ],
)
def test_the_merges_of_a_prefix_are_those_of_the_peer(
    native: Any, data: Path, tmp_path: Path, corpus: str, split: str, size: int
) -> None:
    text = prefix(data / "corpus" / f"{corpus}.txt", size)
    ours = compare(native, tmp_path, text, split=split, vocab_size=8_000, gpt2_by_name=split == "gpt2")
    assert len(ours.merges) == 8_000 - 256


def test_the_merges_without_a_split_are_those_of_the_peer(native: Any, data: Path, tmp_path: Path) -> None:
    text = prefix(data / "corpus" / "english.txt", 20_000)
    compare(native, tmp_path, text, split="none", vocab_size=1_000)


def test_training_until_nothing_is_left_gives_the_merges_of_the_peer(
    native: Any, data: Path, tmp_path: Path
) -> None:
    text = prefix(data / "corpus" / "multilingual.txt", 100_000)
    ours = compare(native, tmp_path, text, split="cl100k", vocab_size=100_000)
    assert ours.training_report.stopped_early is not None


def test_the_peer_is_the_same_from_run_to_run_over_bytes(data: Path) -> None:
    text = prefix(data / "corpus" / "multilingual.txt", 200_000)
    from tokenizers import pre_tokenizers

    runs = {
        json.dumps(peer_training([text], vocab_size=4_000, pre_tokenizer=pre_tokenizers.ByteLevel())["model"])
        for _ in range(4)
    }
    assert len(runs) == 1


# ---- 40 MB --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_32000_tokens_of_english_are_those_of_the_peer(native: Any, english: str, tmp_path: Path) -> None:
    ours = compare(native, tmp_path, english, split="gpt2", vocab_size=32_000, gpt2_by_name=True)
    assert len(ours.merges) == 31_744


@pytest.mark.slow
@pytest.mark.parametrize("split", ["cl100k", "o200k"])
def test_16000_tokens_of_many_languages_are_those_of_the_peer(
    native: Any, multilingual: str, tmp_path: Path, split: str
) -> None:
    ours = compare(native, tmp_path, multilingual, split=split, vocab_size=16_000)
    assert len(ours.merges) == 15_744


# ---- small corpora, full of ties ----------------------------------------------------------------

WORDS = st.lists(st.text("abcd", min_size=1, max_size=12), min_size=1, max_size=12)


@given(texts=WORDS, min_frequency=st.integers(1, 3))
def test_small_corpora_over_bytes(native: Any, texts: list[str], min_frequency: int) -> None:
    theirs = peer_training(
        texts, vocab_size=1_000, pre_tokenizer=byte_level(None), min_frequency=min_frequency
    )
    ours = native.train(
        texts=texts, vocab_size=1_000, split="none", tie_break="huggingface", min_frequency=min_frequency
    )
    assert written_merges(ours) == merges_of(theirs)


@given(texts=WORDS, min_frequency=st.integers(1, 3))
def test_small_corpora_over_characters(native: Any, texts: list[str], min_frequency: int) -> None:
    theirs = peer_training(texts, vocab_size=1_000, bytes_first=False, min_frequency=min_frequency)
    ours = native.train(
        texts=texts,
        num_merges=1_000,
        split="none",
        alphabet="chars",
        tie_break="huggingface",
        min_frequency=min_frequency,
    )
    assert [(left.decode(), right.decode()) for left, right in ours.merges] == merges_of(theirs)
    assert ours.vocab == theirs["model"]["vocab"]


@given(text=st.text("a \n\x00é\u00ad\u0120ĠÿŁ0", max_size=60))
def test_ties_between_bytes_follow_the_written_alphabet(native: Any, text: str) -> None:
    """A space (Ġ) and the controls come after all printable bytes there."""
    theirs = peer_training([text], vocab_size=1_000, pre_tokenizer=byte_level(None))
    ours = native.train(texts=[text], vocab_size=1_000, split="none", tie_break="huggingface")
    assert written_merges(ours) == merges_of(theirs)


# ---- special tokens -----------------------------------------------------------------------------


def test_special_tokens_that_do_not_occur_change_nothing(native: Any, data: Path, tmp_path: Path) -> None:
    text = prefix(data / "corpus" / "english.txt", 500_000)
    specials = ["<|endoftext|>", "<|pad|>", "[UNK]"]
    theirs = peer_training(
        [text],
        vocab_size=2_000,
        pre_tokenizer=byte_level(saved_regex("cl100k", native, tmp_path)),
        special_tokens=specials,
    )
    ours = native.train(texts=[text], vocab_size=2_000, tie_break="huggingface", special_tokens=specials)
    same_merges("cl100k with special tokens", merges_of(theirs), written_merges(ours))
    assert ours.special_tokens == {token: theirs["model"]["vocab"][token] for token in specials}
    assert len(ours) == len(theirs["model"]["vocab"]) == 2_000


def test_special_tokens_in_the_text_are_learned_from_by_the_peer_and_cut_out_by_us(native: Any) -> None:
    text = "xx<s>xx<s>xx<s>"
    theirs = peer_training([text], vocab_size=300, pre_tokenizer=byte_level(None), special_tokens=["<s>"])
    ours = native.train(
        texts=[text], vocab_size=300, split="none", tie_break="huggingface", special_tokens=["<s>"]
    )
    assert merges_of(theirs) == [("<", "s"), ("x", "x"), ("<s", ">"), ("xx", "<s>"), ("xx<s>", "xx<s>")]
    # Its `<s>` is the special token, learned again.
    assert theirs["model"]["vocab"]["<s>"] == 0
    assert written_merges(ours) == [("x", "x")]
    # What the peer learns from the pieces between them is what we learn.
    between = peer_training(["xx", "xx", "xx"], vocab_size=300, pre_tokenizer=byte_level(None))
    assert merges_of(between) == written_merges(ours)


# ---- limits -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def half_a_megabyte(data: Path) -> str:
    return prefix(data / "corpus" / "english.txt", 500_000)


def longest(merges: list[tuple[str, str]]) -> int:
    return max(len(left + right) for left, right in merges)


@pytest.mark.parametrize("limit", [3, 4, 5, 8, 16])
def test_a_limit_of_the_peer_is_one_more_than_ours(native: Any, half_a_megabyte: str, limit: int) -> None:
    theirs, ours = (
        trained_with_limit(native, half_a_megabyte, theirs=limit, ours=limit - 1),
        trained_with_limit(native, half_a_megabyte, theirs=limit, ours=limit),
    )
    same_merges(f"max_token_length {limit} there, {limit - 1} here", *theirs)
    assert longest(theirs[0]) <= limit - 1
    assert longest(ours[1]) == limit
    assert ours[0] != ours[1]


@pytest.mark.parametrize("limit", [1, 2])
def test_a_limit_below_three_is_no_limit_for_the_first_pairs_of_the_peer(
    native: Any, half_a_megabyte: str, limit: int
) -> None:
    theirs, ours = trained_with_limit(native, half_a_megabyte, theirs=limit, ours=2)
    assert longest(theirs) == 2
    assert theirs == ours


def test_with_a_limit_of_one_nothing_merges_here(native: Any, half_a_megabyte: str) -> None:
    ours = native.train(texts=[half_a_megabyte], vocab_size=3_000, split="gpt2", max_token_length=1)
    assert ours.merges == []
    assert ours.training_report.stopped_early is not None


def trained_with_limit(
    native: Any, text: str, *, theirs: int, ours: int
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    from tokenizers import pre_tokenizers

    peer = peer_training(
        [text],
        vocab_size=3_000,
        pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False),
        max_token_length=theirs,
    )
    tok = native.train(
        texts=[text], vocab_size=3_000, split="gpt2", tie_break="huggingface", max_token_length=ours
    )
    return merges_of(peer), written_merges(tok)


# ---- where the peer depends on chance or on the width of a number -------------------------------


def test_ties_between_glued_word_ends_change_from_run_to_run_in_the_peer(native: Any) -> None:
    """`b</w>` and `d</w>` take their ids there in the order of a randomly seeded map."""
    texts = ["ab", "cb", "ad", "cd"] * 3
    runs = {
        tuple(merges_of(peer_training(texts, vocab_size=100, bytes_first=False, end_of_word_suffix="</w>")))
        for _ in range(60)
    }
    ours = {tuple(written_suffix_merges(native, texts)) for _ in range(5)}
    assert len(runs) > 1
    assert len(ours) == 1
    assert ours < runs


def test_glued_word_ends_without_ties_are_those_of_the_peer(native: Any) -> None:
    texts = ["abc"] * 9 + ["xbc"] * 4 + ["ab"] * 2
    theirs = peer_training(texts, vocab_size=100, bytes_first=False, end_of_word_suffix="</w>")
    ours = written_suffix_merges(native, texts)
    assert ours == merges_of(theirs) == [("b", "c</w>"), ("a", "bc</w>"), ("x", "bc</w>"), ("a", "b</w>")]


def suffix_trained(native: Any, texts: list[str]) -> Any:
    return native.train(
        texts=texts,
        num_merges=100,
        split="none",
        alphabet="chars",
        tie_break="huggingface",
        end_of_word="</w>",
        end_of_word_form="suffix",
    )


def written_suffix_merges(native: Any, texts: list[str]) -> list[tuple[str, str]]:
    return [(left.decode(), right.decode()) for left, right in suffix_trained(native, texts).merges]


@pytest.mark.slow
def test_a_pair_that_occurs_more_than_2_to_the_31_times_is_lost_by_the_peer(native: Any) -> None:
    """Its pair counts are 32-bit: past the limit the count is negative and the pair is dropped."""
    letters, texts = 1_000_000, 2_148

    def corpus() -> Iterator[str]:
        text = "a" * letters
        for _ in range(texts):
            yield text

    ours = native.train(texts=corpus(), num_merges=3, split="none", alphabet="chars", tie_break="huggingface")
    count = (letters - 1) * texts
    assert count >= 2**31
    assert ours.training_report.merges[0] == (b"a", b"a", count)
    assert [left + right for left, right in ours.merges] == [b"a" * 2, b"a" * 4, b"a" * 8]
    theirs = peer_training(corpus(), vocab_size=4, bytes_first=False)
    assert merges_of(theirs) == []
