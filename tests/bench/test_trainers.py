"""The part of the benchmark that measures ways to train."""

from __future__ import annotations

import importlib
import json
import random
import shutil
from pathlib import Path
from typing import Any

import incremental
import pytest
import trainers
from tokenmill import reference
from word_trainers import NAIVE_PYTHON, NAIVE_RUST, TRAINERS


@pytest.mark.parametrize("seed", range(20))
def test_the_incremental_trainer_learns_what_the_definition_does(seed: int) -> None:
    chance = random.Random(seed)
    letters = "abé"[: 1 + seed % 3]
    words = {
        "".join(chance.choices(letters, k=chance.randint(1, 12))): chance.randint(1, 5) for _ in range(30)
    }
    corpus = reference.count_pretokens(words, reference.char_symbols)
    expected = reference.train(corpus, num_merges=40, tie_break="token-id", min_frequency=1 + seed % 4)
    found = incremental.train(words, 40, min_frequency=1 + seed % 4)
    assert found == [(left, right) for left, right, _ in expected]


def test_no_words_give_no_merges() -> None:
    assert incremental.train({}, 5) == []


def test_a_difference_says_where_it_is() -> None:
    same = {"tokenmill": ["a b", "ab c"], "tokenizers": ["a b", "ab c"]}
    assert trainers.compare({**same, NAIVE_PYTHON: ["a b"]}) == "identical, 2"
    assert trainers.compare({**same, NAIVE_PYTHON: ["b a"]}) == f"DIFFER at merge 0 of {NAIVE_PYTHON}"
    assert trainers.compare({**same, "tokenizers": ["a b"]}) == "DIFFER in number: tokenizers has 1 of 2"


def test_the_table_has_medians_and_says_what_is_scaled() -> None:
    samples = [
        *({"trainer": "tokenmill", "wall": wall} for wall in (0.5, 9.0, 0.25)),
        {"trainer": NAIVE_PYTHON, "wall": 1234.5, "measured": 3.0, "scaled": True},
    ]
    assert trainers.table(samples) == [
        "| trainer | seconds | times tokenmill |",
        "| --- | ---: | ---: |",
        f"| {NAIVE_PYTHON} | up to 1,200 | up to 2,500 |",
        "| tokenmill | 0.5 | 1 |",
    ]


def test_an_unknown_trainer_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert trainers.main(["--quick", "--trainers", "tokenmill,sentencepiece"]) == 2
    assert "sentencepiece: none of naive Python" in capsys.readouterr().err


def test_without_cargo_naive_rust_is_left_out(
    native: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    given = ["--quick", "--sentences", "50", "--merges", "5"]
    assert trainers.main([*given, "--trainers", f"tokenmill,{NAIVE_RUST}"]) == 0
    said = capsys.readouterr()
    assert "naive Rust is left out: it needs cargo" in said.err
    assert "| naive Rust |" not in said.out


def test_without_shared_data_the_text_is_that_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("data"), "shared", lambda: None)
    found = trainers.sentences(1_000)
    assert 500 < len(found) <= 1_000
    assert any("def" in sentence.split() for sentence in found)


def test_the_short_form_runs_and_all_learn_the_same(
    native: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tokenizers")
    if shutil.which("cargo") is None:
        pytest.skip("naive Rust needs cargo")
    out = tmp_path / "out.json"
    assert trainers.main(["--quick", "--json", str(out)]) == 0
    assert "merges: identical, 200\n" in capsys.readouterr().out
    record = json.loads(out.read_text(encoding="utf-8"))
    assert [sample["trainer"] for sample in record["samples"]] == list(TRAINERS)
    assert all(sample["wall"] > 0 for sample in record["samples"])
    assert record["settings"]["merges"] == 200
