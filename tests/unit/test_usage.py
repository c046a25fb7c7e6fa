"""What a tokenizer says of itself: the way of each stage, what it holds in memory, what its cache did."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

TEXT = "the lower the lowest the newest " * 50
SIZES = ["vocabulary", "model", "lists", "seed", "image", "chat_templates", "workers", "cache_bytes"]


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
    assert all(before[name] > 0 for name in ("vocabulary", "model", "seed"))
    assert (before["lists"], before["image"]) == (0, 0)
    tok.encode(TEXT + "unheard-of")
    once = tok.memory_usage()
    assert once["lists"] > 0
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


STAGES = [
    "added tokens",
    "normalization",
    "pre-tokenization",
    "lookup of pretokens",
    "model",
    "decoding",
    "appending",
]


def test_plan_has_a_part_for_each_stage(native: Any, saved: Path) -> None:
    plan = native.load(saved).plan()
    assert [stage.name for stage in plan] == STAGES
    assert len(plan) == len(STAGES)
    assert plan["added tokens"].path == "one search"
    assert plan["pre-tokenization"].path == "scanner"
    assert plan["model"].path == "BPE over bytes, side by side"
    assert plan["decoding"].path == "copied bytes"
    assert plan["appending"].path == "pretoken by pretoken"
    assert all(stage.reason for stage in plan)
    assert native.load(saved, cache_bytes=0).plan()["lookup of pretokens"].path == "static table alone"
    with pytest.raises(KeyError, match="encoding"):
        plan["encoding"]
    with pytest.raises(AttributeError):
        plan["model"].path = "another"
    assert plan == native.load(saved).plan()


def test_plan_is_a_table_and_a_dict(native: Any, saved: Path) -> None:
    plan = native.load(saved).plan()
    header, *lines = str(plan).splitlines()
    assert header.split() == ["stage", "path", "reason"]
    assert len(lines) == len(STAGES)
    for line, stage in zip(lines, plan, strict=True):
        assert line.startswith(stage.name)
        assert line.endswith(stage.reason)
    whole = plan.to_dict()
    assert json.loads(json.dumps(whole)) == whole
    assert whole["stages"][0] == {
        "name": "added tokens",
        "path": "one search",
        "reason": plan["added tokens"].reason,
    }


def test_plan_says_why_a_pattern_is_slower(native: Any) -> None:
    def split(pattern: str) -> str:
        tok = native.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)], split=pattern)
        path: str = tok.plan()["pre-tokenization"].path
        return path

    assert split("cl100k") == "scanner"
    assert split(r"\w+\b") == "automaton"
    assert split(r"(?<=a)b(?=\w+!)") == "automaton"
    assert split(r"(?:a*)*b") == "linear regex engine"
    assert split(r"(.)\1") == "backtracking regex engine"
    assert split("none") == "whole text"


def test_plan_says_which_way_bytes_are_merged(native: Any) -> None:
    every_byte = [bytes([byte]) for byte in range(256)]

    def stage(tokens: list[bytes]) -> tuple[str, str]:
        model = native.Tokenizer.from_tokens(tokens).plan()["model"]
        return model.path, model.reason

    assert stage([*every_byte, b"ab"])[0] == "BPE over bytes, side by side"
    assert stage([b"a", b"b", b"ab"]) == ("BPE over bytes, one by one", "a byte has no token")
    # It would follow `ab`, and take the first part of the next one.
    path, reason = stage([*every_byte, b"aba", b"ab"])
    assert path == "BPE over bytes, one by one"
    assert "ranks below a part of it" in reason


def test_plan_of_other_pipelines(native: Any, data: Path) -> None:
    plan = {
        name: native.load(data / "vocab" / name).plan()
        for name in ("bert-base-uncased", "t5-small", "qwen2.5")
    }
    assert plan["bert-base-uncased"]["model"].path == "longest match first"
    assert plan["bert-base-uncased"]["pre-tokenization"].path == "step by step"
    assert plan["t5-small"]["model"].path == "best path"
    assert plan["qwen2.5"]["normalization"].path == "NFC"
    assert plan["qwen2.5"]["pre-tokenization"].path == "scanner"
