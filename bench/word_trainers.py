"""Training on words, naive to fast, each in a process of its own: what ``bench/trainers.py`` runs."""

from __future__ import annotations

import gc
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

NAIVE_PYTHON, INCREMENTAL, NAIVE_RUST = "naive Python", "incremental Python", "naive Rust"
TRAINERS = (NAIVE_PYTHON, NAIVE_RUST, INCREMENTAL, "tokenizers", "tokenmill")

Merges = list[tuple[str, str]]


def learn(trainer: str, sentences: str, num_merges: int, out: str, program: str = "") -> dict[str, Any]:
    """Learn merges from a file of sentences, words between spaces, and write them, both parts in hex.

    The clock covers counting the words too. Ties go to the smallest ids, which follow the code points of
    characters and then the order of merges. ``program`` is the example of the Rust crate.
    """
    if trainer == NAIVE_RUST:
        command = [program, sentences, str(num_merges), out]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {"wall": float(done.stdout), "cpu": used.ru_utime + used.ru_stime}
    texts = Path(sentences).read_text(encoding="utf-8").splitlines()
    # It is told a size of the vocabulary, not a number of merges.
    characters = len(set("".join(texts)) - {" "})
    ways: dict[str, Callable[[list[str], int], Any]] = {
        NAIVE_PYTHON: _naive,
        INCREMENTAL: _incremental,
        "tokenizers": partial(_tokenizers, characters=characters),
        "tokenmill": _tokenmill,
    }
    train = ways[trainer]
    train(["a b"], 1)  # imports
    gc.collect()
    gc.disable()
    start, cpu = time.perf_counter(), time.process_time()
    result = train(texts, num_merges)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    merges = result if isinstance(result, list) else _merges(result)
    lines = [f"{left.encode().hex()} {right.encode().hex()}\n" for left, right in merges]
    Path(out).write_text("".join(lines), encoding="ascii")
    return {"wall": wall, "cpu": cpu}


def _words(texts: list[str]) -> Counter[str]:
    return Counter(word for text in texts for word in text.split())


def _naive(texts: list[str], num_merges: int) -> Merges:
    from tokenmill import reference

    corpus = reference.count_pretokens(_words(texts), reference.char_symbols)
    learned = reference.train(corpus, num_merges=num_merges, tie_break="token-id")
    return [(left, right) for left, right, _ in learned]


def _incremental(texts: list[str], num_merges: int) -> Merges:
    from incremental import train

    return train(_words(texts), num_merges)


def _tokenizers(texts: list[str], num_merges: int, *, characters: int) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=characters + num_merges, min_frequency=2, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _tokenmill(texts: list[str], num_merges: int) -> Any:
    import tokenmill

    return tokenmill.train(
        texts=texts,
        num_merges=num_merges,
        split=r"\s+",
        alphabet="chars",
        tie_break="token-id",
        num_threads=1,
    )


def _merges(result: Any) -> Merges:
    import json

    if hasattr(result, "to_str"):
        return [(left, right) for left, right in json.loads(result.to_str())["model"]["merges"]]
    return [(left.decode(), right.decode()) for left, right in result.merges]
