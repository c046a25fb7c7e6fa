"""What is trained from counts of engines, and from the texts themselves."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engines.documents import documents

#: For each model the options of reading, and those of learning.
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bpe": ({"special_tokens": ["<|endoftext|>", "<s>"]}, {"vocab_size": 1000}),
    "wordpiece": (
        {"model": "wordpiece", "unk_token": "[UNK]", "special_tokens": ["[CLS]"]},
        {"model": "wordpiece", "unk_token": "[UNK]", "vocab_size": 600},
    ),
    "unigram": ({"model": "unigram"}, {"model": "unigram", "vocab_size": 400, "character_coverage": 1.0}),
}

#: Sums of counts that 32 bits and 63 bits do not hold.
HUGE = [2**32 + 7, 2**63 + 11, 2**64 - 1]


def corpus() -> list[str | None]:
    """A few thousand documents, some of them null."""
    return documents(3000, 100_000)


#: How much is learned from `large_corpus`.
LARGE = 32_000


def large_corpus(data: Path) -> list[str]:
    """English and many languages in documents of some kilobytes."""
    texts = []
    for name in ("english", "multilingual"):
        text = (data / "corpus" / f"{name}.txt").read_text("utf-8")
        texts += [text[at : at + 4000] for at in range(0, len(text), 4000)]
    return texts


def train_from_texts(native: Any, model: str, texts: Iterable[str | None], **learning: Any) -> Any:
    options = {**MODELS[model][0], **MODELS[model][1], **learning}
    return native.train(texts=[text for text in texts if text is not None], **options)


def train_from_counts(native: Any, model: str, counts: Any, **learning: Any) -> Any:
    return native.train(counts=counts, **{**MODELS[model][1], **learning})
