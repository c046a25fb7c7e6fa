"""The vocabularies that are measured, in the form that each peer takes.

A vocabulary is published as a file of ranks or as a ``tokenizer.json``. Where it is ranks, what reads a
``tokenizer.json`` gets one that is made of them with the library tokenizers, never with ours: a fault of our
own could not show otherwise.
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
_OTHERS = r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
REGEXES = {
    # Digits in threes from the right, as numbers are written.
    "cl100k-threes": (
        rf"\p{{N}}{{1,3}}(?=(?:\p{{N}}{{3}})*(?!\p{{N}}))|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|{_OTHERS}"
    ),
    # Words by their capitals: ` HTTP`, `Server`, ` get`, `Name`.
    "cl100k-camel": (
        r"[^\r\n\p{L}\p{N}]?(?:\p{Lu}?[\p{Ll}\p{M}]+|\p{Lu}+(?!\p{Ll})|[\p{Lt}\p{Lm}\p{Lo}\p{M}]+)|\p{N}|"
        + _OTHERS
    ),
    # No pretoken has letters of two scripts.
    "cl100k-scripts": (
        r" ?(?:\p{Latin}+|\p{Cyrillic}+|\p{Greek}+|\p{Arabic}+|\p{Hebrew}+)"
        r"| ?(?:\p{Devanagari}+|\p{Thai}+|\p{Hangul}+)"
        r"|\p{Han}+|\p{Hiragana}+|\p{Katakana}+|[\p{L}\p{M}]+|\p{N}{1,3}|" + _OTHERS
    ),
}
"""Splits that no library knows by name, and which are not of the forms that scanners know."""


@dataclass(frozen=True)
class Vocabulary:
    """Files that say the same, and how text is cut before merging."""

    name: str
    rank_file: Path | None
    json_file: Path | None
    """Its ``tokenizer.json``, where it is published as one: then that library is the reference."""
    split: str
    """The split's name."""
    published: str | None
    """The encoding of tiktoken that has this split."""
    pattern: str | None
    """The split without possessive quantifiers, which the regex engine of tokenizers reads otherwise."""
    split_to_give: str | None = None
    """What is said besides the file, which is not known by its hash."""
    pad_token: str | None = None
    """The added token that batches are padded with; None for a file of ranks, which has none."""
    model_file: Path | None = None
    """The same vocabulary as a file of sentencepiece."""
    is_wordpiece: bool = False
    chat_tokens: tuple[str, ...] = ()
    """The added tokens that a chat template writes; the first one begins a turn."""

    @property
    def file(self) -> Path:
        """As it is published."""
        file = self.json_file or self.rank_file
        assert file is not None
        return file

    @property
    def reference(self) -> str:
        """The library whose ids are right."""
        return "tiktoken" if self.json_file is None else "tokenizers"

    def ranks(self) -> dict[bytes, int]:
        """Token bytes to rank."""
        assert self.rank_file is not None
        lines = (line.split() for line in self.rank_file.read_bytes().splitlines())
        return {base64.b64decode(token): int(rank) for token, rank in lines}

    def tokenizer_json(self) -> Path:
        """The published file, or one that is made from the ranks, once."""
        if self.json_file is not None:
            return self.json_file
        target = data.scratch() / f"{self.name}.tokenizer.json"
        if not target.exists() or target.stat().st_mtime < self.file.stat().st_mtime:
            partial = target.with_suffix(".partial")
            partial.write_text(_as_tokenizer_json(self), encoding="utf-8")
            partial.replace(target)
        return target


LEARNED = "stdlib-8k"
NAMES = (
    *("cl100k", "o200k", "llama3", "qwen2.5", "gpt2", "o200k-unsplit"),
    *("deepseek-v3", "llama2", "phi-3", "bert", "t5"),
    *REGEXES,
)


def find(name: str) -> Vocabulary:
    """The vocabulary of this name; without the shared data, one that is learned from Python's source."""
    folder = data.shared()
    if folder is None or name == LEARNED:
        return _learned()
    files = folder / "vocab"
    cl100k, o200k, r50k = (files / f"{base}/{base}.tiktoken" for base in _RANKS)
    known = {
        "cl100k": Vocabulary(name, cl100k, None, "cl100k", "cl100k_base", _CL100K),
        "o200k": Vocabulary(name, o200k, None, "o200k", "o200k_base", _O200K),
        "llama3": Vocabulary(
            name,
            files / "llama3/tokenizer.model",
            files / "llama3.1/tokenizer.json",
            "llama3",
            None,
            _CL100K,
            pad_token="<|finetune_right_pad_id|>",
            chat_tokens=("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|begin_of_text|>"),
        ),
        # Its normal form is no part of a rank file.
        "qwen2.5": Vocabulary(
            name,
            None,
            files / "qwen2.5/tokenizer.json",
            "qwen2",
            None,
            None,
            pad_token="<|endoftext|>",
            chat_tokens=("<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"),
        ),
        "gpt2": Vocabulary(name, r50k, files / "gpt2/tokenizer.json", "gpt2", "r50k_base", _GPT2),
        "deepseek-v3": Vocabulary(
            name, None, files / "deepseek-v3/tokenizer.json", "deepseek-v3", None, None
        ),
        "llama2": Vocabulary(
            name,
            None,
            files / "llama2/tokenizer.json",
            "none",
            None,
            None,
            model_file=files / "llama2/tokenizer.model",
        ),
        "phi-3": Vocabulary(name, None, files / "phi-3-mini/tokenizer.json", "none", None, None),
        "bert": Vocabulary(
            name, None, files / "bert-base-uncased/tokenizer.json", "bert", None, None, is_wordpiece=True
        ),
        "t5": Vocabulary(name, None, files / "t5-small/tokenizer.json", "words", None, None),
        "o200k-unsplit": Vocabulary(name, o200k, None, "none", None, None, split_to_give="none"),
    }
    for own, pattern in REGEXES.items():
        known[own] = Vocabulary(name, cl100k, None, "own", None, pattern, split_to_give=pattern)
    return known[name]


_RANKS = ("cl100k_base", "o200k_base", "r50k_base")


def _learned() -> Vocabulary:
    target = data.scratch() / f"{LEARNED}.tiktoken"
    if not target.exists():
        import tokenmill

        tokenizer = tokenmill.train(data.library_files(1), vocab_size=8_000, errors="skip")
        rows = (
            base64.b64encode(tokenizer.token_bytes(rank)) + b" %d\n" % rank for rank in range(len(tokenizer))
        )
        target.write_bytes(b"".join(rows))
    return Vocabulary(LEARNED, target, None, "cl100k", "cl100k_base", _CL100K, split_to_give="cl100k")


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
    stages: list[Any] = [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    if vocabulary.pattern is not None:
        stages.insert(0, pre_tokenizers.Split(Regex(vocabulary.pattern), "isolated"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(stages)
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
