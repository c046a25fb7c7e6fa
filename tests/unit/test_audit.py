"""`Tokenizer.audit`: what is promised of each stage, and the worst text that was found.

A slope of counted work is the same in every run, so it is compared with numbers. One of time is not:
`bench/limits.py` prints what an audit finds by the clock.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

BYTES = [bytes([byte]) for byte in range(256)]
STRAIGHT = 1.3
"""A slope of counted work that is that of n log n at most: some stages count it in slices."""


def of_bytes(native: Any, split: str) -> Any:
    return native.Tokenizer.from_tokens(BYTES, split=split, special_tokens=["<s>"])


def check_growth(audit: Any) -> None:
    """Nothing that is counted grows faster than n log n, and something is said of every stage."""
    for stage in audit:
        assert stage.reason
        assert (stage.worst is None) == (stage.texts == 0)
        if stage.worst is not None:
            assert stage.worst.text
            assert stage.worst.nanoseconds_per_byte > 0
            assert stage.worst.measure == "time" or stage.worst.slope < STRAIGHT, stage


@pytest.mark.parametrize("split", ["gpt2", "cl100k"])
def test_trained_tokenizers_count_linear_work_in_every_stage(native: Any, split: str) -> None:
    texts = ["the lower the lowest the newest of 1234 words\n" * 50]
    tok = native.train(texts=texts, num_merges=80, split=split, special_tokens=["<|end|>", "<|endoftext|>"])
    audit = tok.audit()
    plan = [(stage.name, stage.path) for stage in tok.plan() if stage.name != "appending"]
    assert [(stage.name, stage.path) for stage in audit] == plan
    assert {stage.name: stage.guarantee for stage in audit} == {
        "added tokens": "linear",
        "normalization": "linear",
        "pre-tokenization": "linear",
        "lookup of pretokens": "linear",
        "model": "n log n",
        "decoding": "linear",
    }
    check_growth(audit)
    assert audit["normalization"].worst is None
    assert audit["model"].texts > 0
    assert "13 bytes" in audit["added tokens"].reason
    # The tokenizer's own cache has seen nothing of it.
    usage = tok.memory_usage()
    assert (usage["hits"], usage["misses"], usage["workers"]) == (0, 0, 0)


def test_a_pattern_that_reads_too_far_is_found(native: Any) -> None:
    split = of_bytes(native, "a*b|a").audit()["pre-tokenization"]
    assert split.guarantee == "quadratic"
    assert split.texts > 0


def test_a_pattern_that_backtracks_meets_its_limit(native: Any) -> None:
    tok = of_bytes(native, r"(?:a|aa)+(b)\1|.")
    audit = tok.audit()
    split = audit["pre-tokenization"]
    assert split.guarantee == "bounded"
    assert "67108864 steps for a text and 16 for each byte" in split.reason
    assert "limit on backtracking" in split.worst.error
    with pytest.raises(native.PatternError):
        tok.encode(split.worst.text)
    assert "The text above: " in str(audit)


@pytest.mark.parametrize(
    ("name", "guarantees"),
    [
        ("bert-base-uncased", {"normalization": "n log n", "pre-tokenization": "linear", "model": "linear"}),
        ("t5-small", {"normalization": "linear", "model": "linear", "decoding": "linear"}),
        ("llama2", {"model": "n log n", "decoding": "linear"}),
        ("qwen2.5", {"normalization": "n log n", "pre-tokenization": "linear", "model": "n log n"}),
    ],
)
def test_published_tokenizers_are_audited(
    native: Any, data: Path, name: str, guarantees: dict[str, str]
) -> None:
    audit = native.load(data / "vocab" / name).audit()
    assert {stage: audit[stage].guarantee for stage in guarantees} == guarantees
    check_growth(audit)


def test_whole_pretokens_that_are_no_token_are_a_finding(native: Any, tmp_path: Path) -> None:
    model = {"type": "WordLevel", "vocab": {"low": 0}, "unk_token": "<unk>"}
    file: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
    }
    file |= {"post_processor": None, "decoder": None, "model": model}
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    tok = native.load(tmp_path / "tokenizer.json")
    with pytest.raises(native.UnknownTokenError):
        tok.encode("new")
    audit = tok.audit(seconds=1)
    assert audit["model"].guarantee == "linear"
    assert audit["pre-tokenization"].texts > 0
    worst = audit["model"].worst
    assert worst.slope is None
    assert "unknown" in worst.error or "vocabulary" in worst.error
    with pytest.raises(native.UnknownTokenError):
        tok.encode(worst.text)


def test_a_function_of_yours_promises_nothing_and_its_errors_are_findings(native: Any) -> None:
    def fold(text: str) -> str:
        if len(text) > 1000:
            raise RuntimeError("too long for me")
        return text.lower()

    tok = of_bytes(native, "gpt2").with_normalizer(fold, name="fold")
    stage = tok.audit(seconds=1)["normalization"]
    assert stage.guarantee == "none"
    assert '"fold" is a function of yours' in stage.reason
    assert "too long for me" in stage.worst.error


def test_a_function_may_interrupt_an_audit(native: Any) -> None:
    def fold(text: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        of_bytes(native, "gpt2").with_normalizer(fold, name="fold").audit()


def test_other_threads_run_meanwhile(native: Any) -> None:
    """Another thread ends the audit. Alone it goes on for longer than the process may live."""
    script = """
        import sys, threading, time, _thread
        import tokenmill
        tok = tokenmill.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)], split="a*b|a")
        main = threading.get_ident()
        def look():
            tok.audit(seconds=100_000, max_bytes=2**30)
        def end():
            while sys._current_frames()[main].f_code is not look.__code__:
                time.sleep(0)
            # Time to get from there into the audit.
            for _ in range(1000):
                time.sleep(0)
            _thread.interrupt_main()
        threading.Thread(target=end).start()
        try:
            look()
        except KeyboardInterrupt:
            print("heard")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "heard\n", done.stderr


def test_an_audit_is_a_table_and_a_dict(native: Any) -> None:
    audit = of_bytes(native, "gpt2").audit(seconds=0.5, max_bytes=8192)
    header, *lines = str(audit).splitlines()
    assert header.split() == ["stage", "guarantee", "slope", "ns/byte", "worst", "text", "found"]
    assert all(line.startswith(stage.name) for line, stage in zip(lines, audit, strict=False))
    assert lines[1].endswith("nothing to do")
    whole = audit.to_dict()
    assert json.loads(json.dumps(whole)) == whole
    assert whole["stages"][1]["worst"] is None
    assert all(len(stage.worst.text) <= 8192 for stage in audit if stage.worst)
    with pytest.raises(AttributeError):
        audit["model"].guarantee = "linear"
    with pytest.raises(KeyError, match="speed"):
        audit["speed"]
