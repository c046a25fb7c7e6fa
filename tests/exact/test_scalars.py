"""Every character in six contexts, in each split that we ship: the same pieces as its peers.

The vocabularies hold every piece that tokenizers 0.23.3 cuts, whole, so that each piece is one token:
a word-level one here, one with the 256 bytes besides for tiktoken 0.14.0, which is given its own spelling
of the pattern where it has one. The splits that GGUF files name are steps of several patterns, which
tiktoken does not have. Of the ranges where nothing is assigned, or all is private, a sample stands for
all (`characters.py`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from gguf_files import small_gpt2

from .characters import EVERY, apart, scalars, shared_contexts
from .peer_tokenizers import GPT2_REGEX, saved, saved_regex

SPLITS = ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "whitespace"]
# As tiktoken 0.14.0 has them; the others are written there as they are in a tokenizer.json.
TIKTOKEN = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
}
# A name of each of the other splits that files of llama.cpp may have.
OF_GGUF = [
    "qwen35",
    "starcoder",
    "falcon",
    "deepseek-llm",
    "deepseek-coder",
    "deepseek-v3",
    "tekken",
    "bloom",
    "viking",
    "bailingmoe",
    "seed-coder",
    "chameleon",
    "default",
]
# Characters in one vocabulary.
MANY = 2_000


def split_at(regex: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}


def splits_of(name: str, native: Any, folder: Path) -> list[dict[str, Any]]:
    """The steps of a split, as a tokenizer.json has them."""
    if name in SPLITS:
        regex = saved_regex(name, native, folder)
        assert regex is not None
        return [split_at(regex)]
    path = folder / "vocabulary.gguf"
    path.write_bytes(small_gpt2(pre=name))
    # Which token begins a sequence is of no concern.
    file = json.loads(saved(native.load(path), folder, lossy=True).read_text(encoding="utf-8"))
    steps: list[dict[str, Any]]
    *steps, byte_level = file["pre_tokenizer"]["pretokenizers"]
    assert byte_level["type"] == "ByteLevel"
    if byte_level["use_regex"]:
        steps.append(split_at(GPT2_REGEX))
    assert {step["type"] for step in steps} == {"Split"}
    return steps


def word_level(splits: list[dict[str, Any]], ranks: dict[bytes, int], folder: Path) -> Path:
    """A tokenizer.json with this split, whose words have these numbers."""
    vocab = {token.decode(): number for token, number in ranks.items() if number >= 256 or token[0] < 128}
    model = {"type": "WordLevel", "unk_token": "\0", "vocab": vocab}
    pre_tokenizer = {"type": "Sequence", "pretokenizers": splits}
    path = folder / "tokenizer.json"
    file = {"version": "1.0", "pre_tokenizer": pre_tokenizer, "model": model}
    path.write_text(json.dumps(file), encoding="utf-8")
    return path


class Peers:
    """A split beside its peers, which cut texts, many at a time."""

    def __init__(self, name: str, native: Any, folder: Path) -> None:
        from tokenizers import Regex, pre_tokenizers

        self.name, self.native, self.folder = name, native, folder
        self.splits = splits_of(name, native, folder)
        regexes = [step["pattern"]["Regex"] for step in self.splits]
        steps = [pre_tokenizers.Split(Regex(regex), "isolated") for regex in regexes]
        self.peer = pre_tokenizers.Sequence(steps)
        self.tiktoken_regex = TIKTOKEN.get(name, regexes[0]) if name in SPLITS else None

    def differ(self, texts: list[str]) -> dict[str, list[str]]:
        """Those that are cut otherwise than tokenizers does: by us, and by tiktoken."""
        import tiktoken

        cut = [[piece for piece, _ in self.peer.pre_tokenize_str(text)] for text in texts]
        ranks = {bytes([value]): value for value in range(256)}
        for pieces in cut:
            for piece in pieces:
                ranks.setdefault(piece.encode(), len(ranks))
        expected = [[ranks[piece.encode()] for piece in pieces] for pieces in cut]
        ours = self.native.load(word_level(self.splits, ranks, self.folder))
        found = {"tokenizers": ours.encode_batch(texts).to_lists()}
        if self.tiktoken_regex is not None:
            third = tiktoken.Encoding(
                self.name, pat_str=self.tiktoken_regex, mergeable_ranks=ranks, special_tokens={}
            )
            # tiktoken beside tokenizers, whose pieces are compared with ours.
            found["tiktoken"] = [third.encode_ordinary(text) for text in texts]
        return {
            library: [text for text, ids, want in zip(texts, rows, expected, strict=True) if ids != want]
            for library, rows in found.items()
        }


def compare(name: str, codes: list[int], native: Any, folder: Path) -> None:
    peers = Peers(name, native, folder)
    count = 0
    for at in range(0, len(codes), MANY):
        texts = list(shared_contexts(codes[at : at + MANY]))
        count += len(texts)
        for library, found in peers.differ(texts).items():
            # Every table of the pinned versions is of Unicode 16: none differs.
            if found:
                parts = [part for text in found for part in apart(text)]
                named = peers.differ(parts)[library] or found
                pytest.fail(f"{name}, beside {library}: {named!a:.2000}")
    print(f"| {name} | {len(codes)} characters in six contexts | {count} texts | 0 differ |")


@pytest.mark.parametrize("split", [*SPLITS, *OF_GGUF])
def test_a_sample_of_all_characters(split: str, native: Any, tmp_path: Path) -> None:
    codes = scalars([*range(0, sys.maxunicode + 1, 499), *range(0, 0x3000, 23)])
    compare(split, sorted({*codes}), native, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("split", [*SPLITS, *OF_GGUF])
def test_every_character(split: str, native: Any, tmp_path: Path) -> None:
    compare(split, EVERY, native, tmp_path)
