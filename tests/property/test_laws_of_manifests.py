"""Fingerprint and golden vectors: the same in every notation, another after every change of behaviour.

A few changes of each kind; in the slow tests 100 notations and 200 edits that change behaviour.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenmill import TokenmillError

from property.changes import MAKERS, Parts, behaviour_edits, notations

PROBES = [
    "",
    "low lower lowest newest wider",
    " low  lower\n\nlow\t\t12 345 x\t\ty",
    "don't NEW Näive e\u0301 你好 <tool> x<tool>y <tool>z",
    "loww elow estest 1212 neweset llooww tsew",
    "!low? n-ew (12) Hello w",
    "<s>low</s> <s> low </s>  [CLS]low[SEP] low[UNK]",
    "lowlowlowlowlowlow",
]
"""Texts beside the golden ones."""


@pytest.fixture(scope="module", params=list(MAKERS))
def parts(request: pytest.FixtureRequest, native: Any) -> Parts:
    return MAKERS[request.param](native)


def loaded(native: Any, folder: Path, text: str) -> Any:
    path = folder / "t.json"
    path.write_text(text, encoding="utf-8")
    return native.load(path)


def behaviour(tok: Any, text: str) -> list[object]:
    """All that a tokenizer makes of a text."""
    found: list[object] = []
    for options in (
        {"special": "text"},
        {"special": "parse"},
        {"special": "text", "add_special_tokens": True},
    ):
        try:
            encoding = tok.encode_with_offsets(text, **options)
            found += [encoding.ids, encoding.offsets, tok.decode(encoding.ids)]
            found += [tok.decode(encoding.ids, skip_special_tokens=True)]
        except TokenmillError as error:
            found.append(type(error).__name__)
    return found


def golden(tok: Any) -> list[dict[str, Any]]:
    from tokenmill.manifest import manifest_of

    vectors: list[dict[str, Any]] = manifest_of(tok)["golden"]
    return vectors


def of_ids(tok: Any) -> list[object]:
    """What each id decodes to, alone and behind another."""
    ids = sorted(set(tok.vocab.values()) | set(tok.special_tokens.values()))
    return [tok.decode([number]) for number in ids] + [tok.decode([ids[-1], number]) for number in ids]


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


def changed_behaviour(native: Any, folder: Path, parts: Parts, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Edits that change what the tokenizer does: (name, before, after)."""
    before = loaded(native, folder, json.dumps(parts))
    vectors = golden(before)
    texts = [*PROBES, *(vector["text"] for vector in vectors)]
    expected = {text: behaviour(before, text) for text in texts}
    decoded = of_ids(before)
    for what, edited in behaviour_edits(random.Random(seed), parts):
        try:
            after = loaded(native, folder, json.dumps(edited))
        except TokenmillError:
            continue  # no tokenizer any more
        differs = any(behaviour(after, text) != found for text, found in expected.items())
        if differs or of_ids(after) != decoded:
            yield what, before, after
        else:
            # Nothing that was tried tells the two apart: equal vectors are what equal fingerprints promise.
            assert golden(after) == vectors or after.fingerprint != before.fingerprint, what


def check_edits(native: Any, folder: Path, parts: Parts, count: int, seed: int) -> Counter[str]:
    kinds: Counter[str] = Counter()
    edits = changed_behaviour(native, folder, parts, seed)
    for _ in range(count):
        what, before, after = next(edits)
        assert after.fingerprint != before.fingerprint, what
        kinds[what.partition(":")[0]] += 1
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
