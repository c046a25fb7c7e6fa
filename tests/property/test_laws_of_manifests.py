"""Fingerprint and golden vectors: the same in every notation, another after every change of behaviour.

A few changes of each kind; in the slow tests 100 notations and 200 edits that change behaviour.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from property.behaviour import edits, golden, loaded
from property.changes import MAKERS, Parts, notations


@pytest.fixture(scope="module", params=list(MAKERS))
def parts(request: pytest.FixtureRequest, native: Any) -> Parts:
    return MAKERS[request.param](native)


def check_notations(native: Any, folder: Path, parts: Parts, count: int, seed: int) -> None:
    first = loaded(native, folder, json.dumps(parts))
    vectors, fingerprint = golden(first), first.fingerprint
    assert 20 <= len(vectors) <= 60
    written = notations(random.Random(seed), parts)
    for number in range(count):
        what, text = next(written)
        tok = loaded(native, folder, text)
        if number % 3 == 1:
            what += ", saved again"
            tok.save(folder / "again.json", lossy=True)
            tok = native.load(folder / "again.json")
        elif number % 3 == 2:
            what += ", as a folder"
            (folder / "kept").mkdir(exist_ok=True)
            (folder / "kept" / "tokenizer.json").write_text(text, encoding="utf-8")
            tok = native.load(folder / "kept")
        assert tok.fingerprint == fingerprint, what
        assert golden(tok) == vectors, what


def test_no_notation_changes_fingerprint_or_vectors(native: Any, tmp_path: Path, parts: Parts) -> None:
    check_notations(native, tmp_path, parts, count=5, seed=1)


@pytest.mark.slow
def test_no_notation_of_a_hundred_changes_fingerprint_or_vectors(
    native: Any, tmp_path: Path, parts: Parts
) -> None:
    check_notations(native, tmp_path, parts, count=100, seed=2)


def check_edits(native: Any, folder: Path, parts: Parts, count: int, seed: int) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for edited in edits(native, folder, parts, seed):
        if not edited.changes_behaviour:
            # Nothing that was tried tells the two apart: equal vectors are what equal fingerprints promise.
            before, after = edited.before, edited.after
            assert golden(after) == golden(before) or after.fingerprint != before.fingerprint, edited.what
            continue
        assert edited.after.fingerprint != edited.before.fingerprint, edited.what
        kinds[edited.kind] += 1
        if kinds.total() == count:
            break
    return kinds


def test_edits_that_change_behaviour_change_the_fingerprint(
    native: Any, tmp_path: Path, parts: Parts
) -> None:
    assert len(check_edits(native, tmp_path, parts, count=8, seed=3)) > 3


@pytest.mark.slow
def test_two_hundred_edits_that_change_behaviour_change_the_fingerprint(
    native: Any, tmp_path: Path, parts: Parts
) -> None:
    kinds = check_edits(native, tmp_path, parts, count=200, seed=4)
    assert len(kinds) > 8, kinds
