"""Options of training that restrict what is learned: against plain loops that do the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill.errors import TrainingError
from tokenmill.reference import byte_symbols, choose, merge_corpus, pair_counts, train_wordpiece

Allowed = Callable[[bytes], bool]


def is_whole(token: bytes) -> bool:
    """Whether bytes of a text lie within one character or are made of whole ones."""
    try:
        token.decode()
    except UnicodeDecodeError:
        return not any(byte & 0xC0 != 0x80 for byte in token[1:]) and len(token) < 4
    return True


def merges_by_definition(words: dict[str, int], count: int, allowed: Allowed, tie: Any) -> list[Any]:
    corpus: Any = {byte_symbols(word): n for word, n in words.items()}
    numbers = {bytes([byte]): byte for byte in range(256)}
    merges: list[Any] = []
    while len(merges) < count:
        counts = {pair: n for pair, n in pair_counts(corpus).items() if n > 1 and allowed(b"".join(pair))}
        if not counts:
            break
        most = max(counts.values())
        best = choose([pair for pair, n in counts.items() if n == most], tie, numbers)
        merges.append(best)
        numbers[b"".join(best)] = len(numbers)
        corpus = merge_corpus(corpus, best)
    return merges


def random_words(rng: random.Random, letters: str) -> dict[str, int]:
    return {
        "".join(rng.choices(letters, k=rng.randrange(1, 9))): rng.randrange(1, 8)
        for _ in range(rng.randrange(1, 15))
    }


@pytest.mark.parametrize("tie", ["lexicographic", "lexicographic-largest", "first-seen", "token-id"])
def test_only_allowed_tokens_are_made(tie: Any) -> None:
    rng = random.Random(tie)
    rules: list[tuple[dict[str, Any], Allowed]] = [
        ({"whole_characters": True}, is_whole),
        ({"allowed_merges": lambda token: len(token) % 4 != 3}, lambda token: len(token) % 4 != 3),
        ({"allowed_merges": lambda token: False}, lambda token: False),
    ]
    for _ in range(150):
        words = random_words(rng, rng.choice(["ab", "abc", "aé漢", "é漢😀字"]))
        options, allowed = rng.choice(rules)
        tok = tokenmill.train(texts=words, num_merges=20, split="none", tie_break=tie, **options)
        assert tok.merges == merges_by_definition(words, 20, allowed, tie), (words, options)


def test_a_pattern_is_for_the_text_of_a_token() -> None:
    texts = ["abc1 abc1 漢字1 漢字1"] * 3
    tok = tokenmill.train(texts=texts, vocab_size=300, split="none", allowed_merges=r" ?[a-z]+|[漢字]+")
    learned = [left + right for left, right in tok.merges]
    assert b"abc" in learned
    assert "漢字".encode() in learned
    assert not [token for token in learned if b"1" in token]
    assert all(map(is_whole, learned))
    assert tok.training_report is not None
    assert tok.training_report.stopped_early == "not-allowed"


def test_what_a_function_raises_is_raised() -> None:
    def fails(token: bytes) -> bool:
        raise LookupError(token)

    with pytest.raises(LookupError, match="ab"):
        tokenmill.train(texts=["ab ab"], num_merges=1, allowed_merges=fails)
    wrong: list[tuple[Any, str]] = [(lambda token: 1, "must be bool, not int"), (5, "allowed_merges")]
    for given, message in wrong:
        with pytest.raises(TypeError, match=message):
            tokenmill.train(texts=["ab ab"], num_merges=1, allowed_merges=given)


def test_a_function_is_asked_once_for_each_merge() -> None:
    asked: list[bytes] = []

    def allows(token: bytes) -> bool:
        asked.append(token)
        return token != b"ab"

    tok = tokenmill.train(
        texts=["abc abd bc bc bc"] * 3, num_merges=3, split="whitespace", allowed_merges=allows
    )
    assert len(asked) == len(set(asked))
    assert [left + right for left, right in tok.merges] == [token for token in asked if token != b"ab"]


def test_nothing_is_merged_across_characters_that_are_left_out() -> None:
    rng = random.Random(9)
    for _ in range(100):
        words = random_words(rng, "abcdxyz")
        kept = rng.randrange(1, 6)
        options: dict[str, Any] = {"alphabet": "chars", "num_merges": 12, "split": "none"}
        tok = tokenmill.train(texts=words, unk_token="<unk>", limit_alphabet=kept, **options)
        characters = [str(tok.id_to_token(id)) for id in range(1, tok.vocab_size - len(tok.merges))]
        assert len(characters) <= kept
        cut: dict[str, int] = {}
        for word, n in words.items():
            for part in "".join(c if c in characters else " " for c in word).split():
                cut[part] = cut.get(part, 0) + n
        assert tok.merges == tokenmill.train(texts=cut, **options).merges, (words, kept)


def test_wordpiece_learns_nothing_of_words_with_unknown_characters() -> None:
    rng = random.Random(10)
    for _ in range(100):
        words = random_words(rng, "abcdx")
        options: dict[str, Any] = {
            "model": "wordpiece",
            "unk_token": "[UNK]",
            "normalizer": "none",
            "split": "none",
        }
        tok = tokenmill.train(texts=words, num_merges=8, limit_alphabet=3, **options)
        pieces = [str(tok.id_to_token(id)) for id in range(1, tok.vocab_size)]
        known = {c for c in pieces if len(c) == 1}
        assert len(known) <= 3
        rest = {word: n for word, n in words.items() if set(word) <= known}
        learned = [piece for piece in pieces if len(piece.removeprefix("##")) > 1]
        want = [piece for piece in train_wordpiece(rest, 8) if len(piece.removeprefix("##")) > 1]
        assert learned == want, words


def test_characters_that_are_asked_for_are_known() -> None:
    texts = ["low lower lowest"] * 3
    known = "wxé"
    chars = tokenmill.train(
        texts=texts, num_merges=3, alphabet="chars", unk_token="<unk>", initial_alphabet=known,
        end_of_word="</w>", end_of_word_form="suffix", split="whitespace",
    )  # fmt: skip
    assert chars.unk_token_id not in chars.encode("xéw lowx")
    wordpiece = tokenmill.train(
        texts=texts,
        num_merges=3,
        model="wordpiece",
        unk_token="[UNK]",
        initial_alphabet=known,
        normalizer="none",
    )
    assert wordpiece.unk_token_id not in wordpiece.encode("xéw lowx")
    rare = tokenmill.train(
        texts=[*texts, "z"], num_merges=3, alphabet="chars", unk_token="<unk>", character_coverage=0.9
    )
    assert rare.unk_token_id in rare.encode("z")


@pytest.mark.parametrize("model", ["bpe", "wordpiece", "sentencepiece", "tokenizers"])
def test_reserved_tokens_count_and_padding_comes_last(model: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"model": model} if model in ("bpe", "wordpiece") else {
        "model": "unigram", "dialect": model
    }  # fmt: skip
    if model != "bpe":
        options["unk_token"] = "<unk>"
    size = 300 if model == "bpe" else 30
    texts = ["the miller mills the meal and the mealy mill"] * 3
    plain = tokenmill.train(texts=texts, vocab_size=size - 2, special_tokens=["<s>"], **options)
    assert plain.vocab_size <= size - 2
    tok = tokenmill.train(
        texts=texts,
        vocab_size=size,
        special_tokens=["<s>"],
        reserved_tokens=2,
        pad_vocab_to_multiple_of=64,
        **options,
    )
    assert tok.vocab_size % 64 == 0
    names = [str(tok.id_to_token(id)) for id in range(tok.vocab_size)]
    reserved = [name for name in names if name.startswith("<|reserved_")]
    assert reserved == [f"<|reserved_{number}|>" for number in range(len(reserved))]
    learned = [name for name in names if name not in reserved]
    assert learned == [str(plain.id_to_token(id)) for id in range(plain.vocab_size)]
    assert names[-(len(reserved) - 2) :] == reserved[2:]
    text = f"the mill {reserved[0]} {reserved[-1]}"
    assert set(tok.encode(text)).isdisjoint({names.index(name) for name in reserved})
    assert names.index(reserved[-1]) in tok.encode(text, special="parse")
    tok.save(tmp_path / "folder")
    assert tokenmill.load(tmp_path / "folder") == tok


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit_alphabet": 5}, "limit_alphabet"),
        ({"initial_alphabet": "a"}, "initial_alphabet"),
        ({"character_coverage": 0.9}, "character_coverage"),
        ({"whole_characters": True, "alphabet": "chars"}, "whole_characters"),
        ({"whole_characters": True, "model": "wordpiece", "unk_token": "[UNK]"}, "whole_characters"),
        ({"allowed_merges": "[", "vocab_size": 300}, "allowed_merges"),
        ({"allowed_merges": "a", "model": "unigram", "num_merges": None, "vocab_size": 20}, "allowed_merges"),
        ({"alphabet": "chars", "limit_alphabet": 1, "initial_alphabet": "ab"}, "limit_alphabet"),
        ({"alphabet": "chars", "character_coverage": 2.0}, "character_coverage"),
        ({"pad_vocab_to_multiple_of": 0}, "pad_vocab_to_multiple_of"),
        ({"reserved_tokens": -1}, "reserved_tokens"),
        ({"reserved_tokens": 2, "special_tokens": ["<|reserved_1|>"]}, "special_tokens"),
        ({"num_merges": None, "vocab_size": 257, "reserved_tokens": 2}, "vocab_size"),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"num_merges": 1} | options
    if given.get("vocab_size") == 300:
        del given["num_merges"]
    with pytest.raises(TrainingError, match=message):
        tokenmill.train(texts=["low lower"] * 2, **given)


def test_the_command_line(tmp_path: Path) -> None:
    from tokenmill.cli.app import main

    text = tmp_path / "text.txt"
    text.write_text("low lower lowest 12 12 漢字 漢字\n" * 3, encoding="utf-8")
    words = [
        "train",
        str(text),
        "--vocab-size",
        "280",
        "--json",
        "--whole-characters",
        "--allowed-merges",
        "[a-z ]+",
    ]
    words += ["--reserved-tokens", "2", "--pad-vocab-to-multiple-of", "32", "--out", str(tmp_path / "tok")]
    assert main(words) == 0
    tok = tokenmill.load(tmp_path / "tok")
    assert tok.vocab_size == 288
    assert not [left + right for left, right in tok.merges if b"1" in left + right]
    words = ["train", str(text), "--num-merges", "2", "--json", "--alphabet", "chars", "--unk-token", "<unk>"]
    words += ["--limit-alphabet", "5", "--initial-alphabet", "xy", "--out", str(tmp_path / "chars")]
    assert main(words) == 0
    chars = tokenmill.load(tmp_path / "chars")
    assert chars.unk_token_id not in chars.encode("xy")
    assert chars.unk_token_id in chars.encode("漢")
