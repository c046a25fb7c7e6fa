"""Every character in six contexts, in each split that we ship: the same pieces as its peers.

The vocabularies hold every piece that tokenizers 0.23.3 cuts, whole, so that each piece is one token:
a word-level one here, one with the 256 bytes besides for tiktoken 0.14.0, which is given its own spelling
of the pattern where it has one.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .peer_tokenizers import saved_regex

SPLITS = ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "whitespace"]
# As tiktoken 0.14.0 has them; the others are written there as they are in a tokenizer.json.
TIKTOKEN = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
}
# Characters in one vocabulary.
MANY = 2_000


def contexts(codes: Iterable[int]) -> Iterator[tuple[int, str]]:
    for code in codes:
        sign = chr(code)
        for text in (sign, f"a{sign}", f"{sign}a", f" {sign}", f"{sign} ", f"1{sign}{sign}"):
            yield code, text


def word_level(regex: str, ranks: dict[bytes, int], folder: Path) -> Path:
    """A tokenizer.json with this split, whose words have these numbers."""
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    vocab = {token.decode(): number for token, number in ranks.items() if number >= 256 or token[0] < 128}
    model = {"type": "WordLevel", "unk_token": "\0", "vocab": vocab}
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", "pre_tokenizer": split, "model": model}), encoding="utf-8")
    return path


def compare(split: str, codes: list[int], native: Any, folder: Path) -> None:
    import tiktoken
    from tokenizers import Regex, pre_tokenizers

    regex = saved_regex(split, native, folder)
    assert regex is not None
    peer = pre_tokenizers.Split(Regex(regex), "isolated")
    differ: dict[str, Counter[str]] = {"tokenizers": Counter(), "tiktoken": Counter()}
    texts = 0
    for at in range(0, len(codes), MANY):
        cases = list(contexts(codes[at : at + MANY]))
        cut = [[piece for piece, _ in peer.pre_tokenize_str(text)] for _, text in cases]
        ranks = {bytes([value]): value for value in range(256)}
        for pieces in cut:
            for piece in pieces:
                ranks.setdefault(piece.encode(), len(ranks))
        ours = native.load(word_level(regex, ranks, folder))
        third = tiktoken.Encoding(
            split, pat_str=TIKTOKEN.get(split, regex), mergeable_ranks=ranks, special_tokens={}
        )
        found = ours.encode_batch([text for _, text in cases]).to_lists()
        others = third.encode_ordinary_batch([text for _, text in cases], num_threads=1)
        for (code, _), pieces, ids, other in zip(cases, cut, found, others, strict=True):
            category = unicodedata.category(chr(code))
            expected = [ranks[piece.encode()] for piece in pieces]
            differ["tokenizers"][category] += ids != expected
            differ["tiktoken"][category] += other != expected
        texts += len(cases)
    for name, counts in differ.items():
        listed = ", ".join(f"{category} {count}" for category, count in counts.items() if count)
        found_in = f"{len(codes)} characters | {texts} texts"
        print(f"| {split} | {name} | {found_in} | {sum(counts.values())} differ | {listed} |")
    # Every table of the pinned versions is of Unicode 16: none differs.
    assert not sum(sum(counts.values()) for counts in differ.values())


def scalars(step: int = 1) -> list[int]:
    return [code for code in range(0, sys.maxunicode + 1, step) if not 0xD800 <= code < 0xE000]


@pytest.mark.parametrize("split", SPLITS)
def test_a_sample_of_all_characters(split: str, native: Any, tmp_path: Path) -> None:
    compare(split, sorted({*scalars(499), *range(0, 0x3000, 23)}), native, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
def test_every_character(split: str, native: Any, tmp_path: Path) -> None:
    compare(split, scalars(), native, tmp_path)
