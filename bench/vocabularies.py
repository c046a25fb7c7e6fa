"""The vocabularies that are measured, in the form that each peer takes.

A vocabulary is a file of ranks. What reads a ``tokenizer.json`` gets one that is derived from the ranks with
the library tokenizers, never with ours: a fault of our own could not show otherwise.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import data

_CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]*[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]+{_ENDINGS}"
    rf"|[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]*{_ENDINGS}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True)
class Vocabulary:
    """Ranks in a file, and how text is cut before them."""

    name: str
    rank_file: Path
    split: str
    """Our name of the split."""
    published: str
    """The encoding of tiktoken that has this split."""
    pattern: str
    """The split without possessive quantifiers, which the regex engine of tokenizers reads otherwise."""

    def ranks(self) -> dict[bytes, int]:
        """Token bytes to rank."""
        lines = (line.split() for line in self.rank_file.read_bytes().splitlines())
        return {base64.b64decode(token): int(rank) for token, rank in lines}

    def tokenizer_json(self) -> Path:
        """The same as a ``tokenizer.json``, made once."""
        target = data.scratch() / f"{self.name}.tokenizer.json"
        if not target.exists() or target.stat().st_mtime < self.rank_file.stat().st_mtime:
            partial = target.with_suffix(".partial")
            partial.write_text(_as_tokenizer_json(self), encoding="utf-8")
            partial.replace(target)
        return target


_KNOWN = {
    "cl100k": ("cl100k_base", "cl100k", "cl100k_base", _CL100K),
    "o200k": ("o200k_base", "o200k", "o200k_base", _O200K),
    "gpt2": ("r50k_base", "gpt2", "r50k_base", _GPT2),
}
NAMES = tuple(_KNOWN)
LEARNED = "stdlib-8k"


def find(name: str) -> Vocabulary:
    """The vocabulary of this name; without the shared data, one that is learned from Python's source."""
    folder = data.shared()
    if folder is None or name == LEARNED:
        return _learned()
    file, split, published, pattern = _KNOWN[name]
    return Vocabulary(name, folder / "vocab" / file / f"{file}.tiktoken", split, published, pattern)


def _learned() -> Vocabulary:
    target = data.scratch() / f"{LEARNED}.tiktoken"
    if not target.exists():
        import tokenmill

        tokenizer = tokenmill.train(data.library_files(1), vocab_size=8_000, errors="skip")
        rows = (
            base64.b64encode(tokenizer.token_bytes(rank)) + b" %d\n" % rank for rank in range(len(tokenizer))
        )
        target.write_bytes(b"".join(rows))
    return Vocabulary(LEARNED, target, "cl100k", "cl100k_base", _CL100K)


def tiktoken_pattern(published: str, ranks: Mapping[bytes, int]) -> str:
    """The split that tiktoken ships for one of its encodings; nothing is downloaded."""
    openai_public: Any = import_module("tiktoken_ext.openai_public")

    def local(*_: object, **__: object) -> Mapping[bytes, int]:
        return ranks

    openai_public.load_tiktoken_bpe = local
    build: Callable[[], dict[str, Any]] = getattr(openai_public, published)
    return str(build()["pat_str"])


def byte_characters() -> dict[int, str]:
    """The character that stands for each byte in a byte-level ``tokenizer.json``."""
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printing)]
    return {byte: chr(byte) for byte in printing} | {byte: chr(256 + n) for n, byte in enumerate(others)}


def _as_tokenizer_json(vocabulary: Vocabulary) -> str:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    ranks = vocabulary.ranks()
    characters = byte_characters()

    def written(token: bytes) -> str:
        return "".join(characters[byte] for byte in token)

    merges = []
    for token, rank in sorted(ranks.items(), key=lambda entry: entry[1]):
        if len(token) > 1:
            parts = _parts(token, rank, ranks)
            if len(parts) == 2:
                merges.append((written(parts[0]), written(parts[1])))
    model = models.BPE(vocab={written(token): rank for token, rank in ranks.items()}, merges=merges)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(vocabulary.pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    written_out: dict[str, Any] = json.loads(tokenizer.to_str())
    return json.dumps(written_out, ensure_ascii=False)


def _parts(token: bytes, rank: int, ranks: Mapping[bytes, int]) -> list[bytes]:
    """What stands in the place of ``token`` when only lower ranks have been merged."""
    parts = [token[at : at + 1] for at in range(len(token))]
    while len(parts) > 2:
        joined = [ranks.get(left + right, rank) for left, right in pairwise(parts)]
        lowest = min(joined)
        if lowest >= rank:
            break
        at = joined.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts
