"""Vocabularies of all families: what holds for texts that grow is tested with each."""

from __future__ import annotations

FAMILIES = [
    # Byte-level, with splits of several kinds.
    "cl100k_base",
    "o200k_base",
    "gpt2",
    "llama3.1",
    "deepseek-v3",
    # Byte-level, with a normalizer, a prefix, or a mark at the end of words.
    "qwen2.5",
    "roberta-base",
    "clip",
    "whisper-tiny",
    # SentencePiece, Unigram, WordPiece.
    "llama2",
    "mistral-7b-v0.3",
    "t5-small",
    "bert-base-uncased",
    "bert-base-chinese",
]
