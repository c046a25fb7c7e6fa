"""Learning from counts of real text: one vocabulary for any parts, in any order, for every model."""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill import PretokenCounts

SLOW = "TOKENMILL_SLOW" in os.environ
MODELS: list[dict[str, Any]] = [
    {},
    {"alphabet": "chars", "split": "gpt2"},
    {"model": "wordpiece", "unk_token": "[UNK]"},
    {"model": "wordpiece", "unk_token": "[UNK]", "score": "likelihood"},
    {"model": "unigram"},
    {"model": "unigram", "dialect": "tokenizers", "split": "Metaspace"},
]
LEARNED = ("alphabet", "score", "vocab_size")


def saved(tok: Any, folder: Path) -> str:
    """A hash of the tokenizer as a file."""
    path = folder / "tok.json"
    tok.save(path, lossy=True)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("size", "vocab_size"), [(300_000, 3_000), pytest.param(20_000_000, 32_000, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("options", MODELS, ids=lambda options: "-".join(map(str, options.values())) or "bpe")
def test_parts_in_any_order_give_one_vocabulary(
    corpus: Any, options: dict[str, Any], size: int, vocab_size: int, tmp_path: Path
) -> None:
    lines = [
        line for name in ("english", "multilingual") for line in corpus(name)[:size].splitlines(keepends=True)
    ]
    # Documents of some lines, so that pretokens may span line ends.
    texts = ["".join(lines[i : i + 20]) for i in range(0, len(lines), 20)]
    options = {**options, "vocab_size": vocab_size}
    reading = {name: value for name, value in options.items() if name not in LEARNED}
    learning = {name: value for name, value in options.items() if name in ("model", "unk_token", *LEARNED)}
    whole = tokenmill.train(texts=texts, **options)
    assert whole.vocab_size == vocab_size
    expected = saved(whole, tmp_path)
    for parts in (1, 2, 7, 64):
        counted = [tokenmill.count_pretokens(texts=texts[i::parts], **reading) for i in range(parts)]
        random.Random(parts).shuffle(counted)
        if parts == 7:
            # Through the store, too.
            for number, part in enumerate(counted):
                part.save(tmp_path / f"{number}.counts")
            merged = PretokenCounts.load(tmp_path / "0.counts")
            merged = tokenmill.merge_counts([merged, *(tmp_path / f"{i}.counts" for i in range(1, 7))])
            assert merged == tokenmill.merge_counts(counted)
            assert saved(tokenmill.train(counts=merged, **learning), tmp_path) == expected
            continue
        assert saved(tokenmill.train(counts=counted, **learning), tmp_path) == expected
