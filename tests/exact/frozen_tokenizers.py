"""The tokenizers whose ids are frozen: published ones, by file, and small ones that are made here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .files import file_of, special
from .frozen_texts import corpus

__all__ = ["OWN", "PUBLISHED", "SLOW", "made", "published"]

# ---- published --------------------------------------------------------------------------------

_GPT_2 = {"split": "gpt2", "special_tokens": ["<|endoftext|>"]}
# Ranks know neither a split nor special tokens: a name says both where it is known, else they are given.
PUBLISHED: dict[str, dict[str, Any]] = {
    "bert-base-chinese/vocab.txt": {},
    "bert-base-uncased": {},
    "cl100k_base/cl100k_base.tiktoken": {},
    "clip": {},
    "deepseek-v3": {},
    "gguf/ggml-vocab-bert-bge.gguf": {},
    "gguf/ggml-vocab-gpt-2.gguf": {},
    "gguf/ggml-vocab-llama-spm.gguf": {},
    "gpt-oss": {},
    "gpt2": {},
    "gpt2/vocab.json": {"split": "gpt2"},
    "llama2": {},
    "llama2/tokenizer.model": {},
    "llama3/tokenizer.model": {"split": "llama3"},
    "llama3.1": {},
    "mistral-7b-v0.1/tokenizer.model": {},
    "mistral-7b-v0.3": {},
    "mistral-nemo/tekken.json": {},
    "mistral-nemo/tokenizer.json": {},
    "o200k_base/o200k_base.tiktoken": {},
    "p50k_base/p50k_base.tiktoken": {},
    "phi-3-mini": {},
    "qwen/qwen.tiktoken": {"split": "qwen2"},
    "qwen2.5": {},
    "qwen3": {},
    "r50k_base/r50k_base.tiktoken": _GPT_2,
    "roberta-base": {},
    "sentencepiece-test/test_ja_model.model": {},
    "sentencepiece-test/test_model.model": {},
    "t5-small": {},
    "whisper-tiktoken/multilingual.tiktoken": {"split": "gpt2"},
    "whisper-tiny": {},
}


def published(native: Any, data: Path, name: str) -> Any:
    """A tokenizer of the shared folder."""
    return native.load(data / "vocab" / name, **PUBLISHED[name])


# ---- trained here -----------------------------------------------------------------------------

_TRAINED: dict[str, dict[str, Any]] = {
    "bpe-gpt2": {"split": "gpt2", "vocab_size": 700},
    "bpe-cl100k": {"split": "cl100k", "vocab_size": 700, "special_tokens": ["<|im_start|>", "<|im_end|>"]},
    "bpe-o200k": {
        "split": "o200k",
        "vocab_size": 700,
        "special_ids": "last",
        "special_tokens": ["<|endoftext|>"],
    },
    "bpe-qwen2-nfc": {"split": "qwen2", "vocab_size": 700, "normalizer": "NFC"},
    "bpe-whitespace": {"split": "whitespace", "num_merges": 300, "tie_break": "lexicographic-largest"},
    "bpe-none": {"split": "none", "num_merges": 300, "tie_break": "first-seen"},
    "bpe-own-split": {
        "split": r"\p{L}+|\p{N}|[^\p{L}\p{N}]",
        "num_merges": 300,
        "tie_break": "huggingface",
    },
    "bpe-characters": {
        "split": "whitespace",
        "alphabet": "chars",
        "end_of_word": "</w>",
        "num_merges": 300,
        "unk_token": "<unk>",
    },
    "bpe-bos-eos": {
        "vocab_size": 700,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "add_bos_token": True,
        "add_eos_token": True,
    },
    "wordpiece": {
        "model": "wordpiece",
        "vocab_size": 400,
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "post_processor": "BertProcessing",
    },
    "wordpiece-likelihood": {
        "model": "wordpiece",
        "vocab_size": 400,
        "score": "likelihood",
        "lowercase": False,
        "unk_token": "[UNK]",
    },
    "unigram-byte-fallback": {
        "model": "unigram",
        "vocab_size": 600,
        "byte_fallback": True,
        "normalizer": "identity",
    },
    "unigram-nfkc-digits": {
        "model": "unigram",
        "vocab_size": 300,
        "normalizer": "nmt_nfkc_cf",
        "split_digits": True,
    },
    "unigram-tokenizers": {"model": "unigram", "vocab_size": 300, "dialect": "tokenizers"},
}

# ---- made from files --------------------------------------------------------------------------

_BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def _spelled(**parts: Any) -> dict[str, Any]:
    """A file in which every byte is a token: ids show all that a normalizer wrote."""
    tokens = [*_BYTES, *"abcdelorstw\u2581", "lo", "low", "er"]
    merges = [["l", "o"], ["lo", "w"], ["e", "r"]]
    file = file_of(tokens, **parts)
    file["model"] = {"type": "BPE", "vocab": file["model"]["vocab"], "merges": merges, "byte_fallback": True}
    return file


def _worded(*pre_tokenizers: dict[str, Any]) -> dict[str, Any]:
    """A file with a few words: offsets of the unknown token show how a text was cut."""
    tokens = ["<unk>", "low", "Low", "the", "est", "1", ".", " low", "\u2581low", "<s>"]
    stage = {"type": "Sequence", "pretokenizers": list(pre_tokenizers)}
    return file_of(tokens, pre_tokenizer=stage, added_tokens=[special(9, "<s>")])


def _split(pattern: dict[str, str], behavior: str, *, invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def _metaspace(scheme: str) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": True}


def _steps(kind: str, *steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", kind: list(steps)}


_BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
_BERT |= {"strip_accents": None, "lowercase": True}
_FALLBACK = {"type": "ByteFallback"}
_FUSE = {"type": "Fuse"}
_REPLACE = {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": "\u2581"}

_FILES: dict[str, Callable[[], dict[str, Any]]] = {
    "normalizer-nfc": lambda: _spelled(normalizer={"type": "NFC"}),
    "normalizer-nfd": lambda: _spelled(normalizer={"type": "NFD"}),
    "normalizer-nfkc": lambda: _spelled(normalizer={"type": "NFKC"}),
    "normalizer-nfkd-accents-lowercase": lambda: _spelled(
        normalizer=_steps("normalizers", {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"})
    ),
    "normalizer-bert": lambda: _spelled(normalizer=_BERT),
    "normalizer-nmt-strip": lambda: _spelled(
        normalizer=_steps(
            "normalizers", {"type": "Nmt"}, {"type": "Strip", "strip_left": True, "strip_right": True}
        )
    ),
    "normalizer-replace-prepend": lambda: _spelled(
        normalizer=_steps("normalizers", _REPLACE, {"type": "Prepend", "prepend": "\u2581"})
    ),
    "pre-bert": lambda: _worded({"type": "BertPreTokenizer"}),
    "pre-whitespace": lambda: _worded({"type": "Whitespace"}),
    "pre-whitespace-split-digits": lambda: _worded(
        {"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": True}
    ),
    "pre-scripts-digits": lambda: _worded(
        {"type": "UnicodeScripts"}, {"type": "Digits", "individual_digits": False}
    ),
    "pre-punctuation": lambda: _worded({"type": "Punctuation", "behavior": "MergedWithPrevious"}),
    "pre-delimiter-metaspace": lambda: _worded(
        {"type": "CharDelimiterSplit", "delimiter": "e"}, _metaspace("first")
    ),
    "pre-split-contiguous": lambda: _worded(_split({"Regex": "[aeiou]"}, "Contiguous")),
    "pre-split-inverted": lambda: _worded(_split({"Regex": "\\w+"}, "MergedWithNext", invert=True)),
    "decoder-byte-fallback": lambda: _spelled(
        decoder=_steps(
            "decoders",
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            _FALLBACK,
            _FUSE,
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        )
    ),
    "decoder-wordpiece": lambda: (
        _worded({"type": "Whitespace"}) | {"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True}}
    ),
    "decoder-metaspace": lambda: _worded(_metaspace("always")) | {"decoder": _metaspace("always")},
    "decoder-ctc": lambda: (
        _worded({"type": "Whitespace"})
        | {"decoder": {"type": "CTC", "pad_token": "<unk>", "word_delimiter_token": ".", "cleanup": True}}
    ),
    "decoder-bpe": lambda: _spelled(decoder={"type": "BPEDecoder", "suffix": "w"}),
}

OWN = [*_TRAINED, *_FILES]
"""The names of those that need no shared folder."""

SLOW = {"unigram-nfkc-digits"}
"""Those that take seconds: the table of its normalizer is made anew."""


def made(native: Any, folder: Path, name: str) -> Any:
    """One of our own."""
    if name in _TRAINED:
        texts = corpus(wide=name.startswith("bpe"))
        return native.train(texts=texts, num_threads=1, **_TRAINED[name])
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(_FILES[name]()), encoding="utf-8")
    return native.load(path)
