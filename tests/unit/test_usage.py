"""What a tokenizer says of itself: the way of each stage, what it holds in memory, what its cache did."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

TEXT = "the lower the lowest the newest " * 50
SIZES = ["vocabulary", "model", "lists", "seed", "workers", "cache_bytes"]


@pytest.fixture
def saved(native: Any, tmp_path: Path) -> Path:
    tok = native.train(texts=[TEXT], num_merges=40, split="gpt2", special_tokens=["<s>"])
    tok.save(tmp_path / "t.json")
    return tmp_path / "t.json"


def test_memory_usage_counts_what_is_looked_up(native: Any, saved: Path) -> None:
    tok = native.load(saved)
    before = tok.memory_usage()
    assert list(before) == [*SIZES, "hits", "misses"]
    assert before["cache_bytes"] == 32 * 2**20
    assert (before["hits"], before["misses"], before["workers"]) == (0, 0, 0)
    assert all(before[name] > 0 for name in ("vocabulary", "model", "lists", "seed"))
    tok.encode(TEXT + "unheard-of")
    once = tok.memory_usage()
    assert once["hits"] + once["misses"] > 300
    assert 0 < once["misses"] < 20
    assert 0 < once["workers"] <= once["cache_bytes"]
    tok.encode(TEXT + "unheard-of")
    twice = tok.memory_usage()
    assert twice["misses"] == once["misses"]
    assert twice["hits"] > once["hits"]


@pytest.mark.parametrize("cache_bytes", [0, 1, 30_000, 2**20, None])
def test_a_cache_of_any_size_gives_the_same_ids_and_keeps_to_it(
    native: Any, saved: Path, cache_bytes: int | None
) -> None:
    tok = native.load(saved, cache_bytes=cache_bytes)
    plain = native.load(saved)
    assert tok == plain
    assert tok.fingerprint == plain.fingerprint
    texts = [f"{n} low{n}er {'x' * (n % 300)} new{n * n}est" for n in range(3000)]
    failed: list[int] = []

    def work(start: int) -> None:
        for text in texts[start::4]:
            if tok.encode(text) != plain.encode(text) or tok.count(text) != len(plain.encode(text)):
                failed.append(start)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    usage = tok.memory_usage()
    assert usage["workers"] <= usage["cache_bytes"] == (32 * 2**20 if cache_bytes is None else cache_bytes)


def test_plan_has_a_row_for_each_stage(native: Any, saved: Path) -> None:
    tok = native.load(saved)
    stages = {stage: (path, reason) for stage, path, reason in tok.plan()}
    assert list(stages) == [
        "added tokens",
        "normalization",
        "pre-tokenization",
        "look-up of pretokens",
        "model",
        "decoding",
    ]
    assert stages["added tokens"][0] == "one search"
    assert stages["pre-tokenization"][0] == "scanner"
    assert stages["model"][0] == "BPE over bytes"
    assert stages["decoding"][0] == "copied bytes"
    assert all(reason for _, reason in stages.values())
    assert {stage: path for stage, path, _ in native.load(saved, cache_bytes=0).plan()}[
        "look-up of pretokens"
    ] == "known ones only"


def test_plan_says_why_a_pattern_is_slower(native: Any) -> None:
    def split(pattern: str) -> str:
        rows = native.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)], split=pattern).plan()
        paths: dict[str, str] = {stage: path for stage, path, _ in rows}
        return paths["pre-tokenization"]

    assert split("cl100k") == "scanner"
    assert split(r"\w+\b") == "linear regex engine"
    assert split(r"(?<=a)b") == "backtracking regex engine"
    assert split("none") == "whole text"


def test_plan_of_other_pipelines(native: Any, data: Path) -> None:
    plan = {
        name: native.load(data / "vocab" / name).plan()
        for name in ("bert-base-uncased", "t5-small", "qwen2.5")
    }
    paths = {name: {stage: path for stage, path, _ in rows} for name, rows in plan.items()}
    assert paths["bert-base-uncased"]["model"] == "longest match first"
    assert paths["bert-base-uncased"]["pre-tokenization"] == "step by step"
    assert paths["t5-small"]["model"] == "best path"
    assert paths["qwen2.5"]["normalization"] == "NFC"
    assert paths["qwen2.5"]["pre-tokenization"] == "scanner"
