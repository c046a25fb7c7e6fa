"""The vocabularies that are measured, in the form that each peer takes.

A vocabulary is published as a file of ranks or as a ``tokenizer.json``. Where it is ranks, what reads a
``tokenizer.json`` gets one that is made of them with the library tokenizers, never with ours: a fault of our
own could not show otherwise.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import data
import made_files
from made_files import made

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
        file = self.json_file or self.rank_file or self.model_file
        assert file is not None
        return file

    @property
    def reference(self) -> str:
        """The library whose ids are right."""
        if self.json_file is not None:
            return "tokenizers"
        return "tiktoken" if self.rank_file is not None else "sentencepiece"

    def ranks(self) -> dict[bytes, int]:
        """Token bytes to rank."""
        assert self.rank_file is not None
        return _ranks(self.rank_file)

    def tokenizer_json(self) -> Path:
        """The published file, or one that is made from the ranks, once."""
        if self.json_file is not None:
            return self.json_file
        return made(
            f"{self.name}.tokenizer.json",
            (self.file,),
            lambda: made_files.of_ranks(self.ranks(), self.pattern),
        )

    @property
    def has_json(self) -> bool:
        """Whether there is a ``tokenizer.json``, or the ranks to make one of."""
        return self.json_file is not None or self.rank_file is not None


def _ranks(file: Path) -> dict[bytes, int]:
    lines = (line.split() for line in file.read_bytes().splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in lines}


LEARNED = "stdlib-8k"
NAMES = (
    *("cl100k", "o200k", "llama3", "qwen2.5", "gpt2", "o200k-unsplit"),
    *("deepseek-v3", "mistral-nemo", "gpt-oss", "starcoder-like", "falcon-like", "llama4-like"),
    *("llama2", "phi-3", "gemma-like", "llama2-model", "mistral-model"),
    *("bert", "bert-chinese", "t5", "albert-like", "xlnet-like", "t5-model"),
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
        "o200k-unsplit": Vocabulary(name, o200k, None, "none", None, None, split_to_give="none"),
    }
    for own, pattern in REGEXES.items():
        known[own] = Vocabulary(name, cl100k, None, "own", None, pattern, split_to_give=pattern)
    return known[name] if name in known else _of_another_family(name, files)


def _of_another_family(name: str, files: Path) -> Vocabulary:
    """What is no rank file: published, or made of what is published."""

    def of_json(split: str, file: Path, **more: Any) -> Vocabulary:
        return Vocabulary(name, None, file, split, None, None, **more)

    def of_model(file: Path) -> Vocabulary:
        return Vocabulary(name, None, None, "none", None, None, model_file=file)

    published = {
        "deepseek-v3": "deepseek-v3",
        "mistral-nemo": "tekken",
        "gpt-oss": "o200k",
        "phi-3": "none",
        "t5": "words",
    }
    folders = {"phi-3": "phi-3-mini", "t5": "t5-small"}
    if name in published:
        return of_json(published[name], files / folders.get(name, name) / "tokenizer.json")
    llama2, t5, gpt2 = (files / folder / "tokenizer.json" for folder in ("llama2", "t5-small", "gpt2"))
    model = files / "llama2/tokenizer.model"
    match name:
        case "llama2":
            return of_json("none", llama2, model_file=model)
        case "llama2-model":
            return of_model(model)
        case "mistral-model":
            return of_model(files / "mistral-7b-v0.1/tokenizer.model")
        case "bert":
            return of_json("bert", files / "bert-base-uncased/tokenizer.json", is_wordpiece=True)
        case "bert-chinese":
            words = files / "bert-base-chinese/vocab.txt"
            file = made(f"{name}.json", (words,), lambda: made_files.bert_of(words))
            return of_json("bert", file, is_wordpiece=True)
        case "gemma-like":
            folders_of_ranks = ("o200k_base", "cl100k_base", "deepseek-v3", "qwen", "whisper-tiktoken")
            sources = tuple(
                file for folder in folders_of_ranks for file in sorted((files / folder).glob("*.tiktoken"))
            )
            file = made(f"{name}.json", sources, lambda: made_files.like_gemma(*map(_ranks, sources)))
            return of_json("none", file)
        case "starcoder-like" | "falcon-like":
            stages = made_files.STARCODER if name.startswith("star") else made_files.FALCON
            file = made(f"{name}.json", (gpt2,), lambda: made_files.with_stages(gpt2, pre_tokenizer=stages))
            return of_json("own", file)
        case "llama4-like":
            o200k = find("o200k")
            base = o200k.tokenizer_json()
            file = made(f"{name}.json", (base,), lambda: made_files.like_llama4(base))
            return of_json("o200k", file)
        case "albert-like" | "xlnet-like":
            lower_case = name.startswith("albert")
            file = made(f"{name}.json", (t5,), lambda: made_files.like_albert(t5, lower_case=lower_case))
            return of_json("words", file)
        case "t5-model":
            return of_model(made(f"{name}.model", (t5,), lambda: made_files.unigram_model(t5)))
    raise SystemExit(f"bench: no vocabulary {name!r}; there are {', '.join(NAMES)}")


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
