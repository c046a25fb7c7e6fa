"""``diff`` on published tokenizers: edits of real files, with a witness or the proof of no effect."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from true_witness import check

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("native")]

Data = dict[str, Any]
Edit = Callable[[Data], None]


def of(data: Path, name: str) -> Data:
    found: Data = json.loads((data / "vocab" / name / "tokenizer.json").read_text(encoding="utf-8"))
    return found


def loaded(data: Data, folder: Path, name: str) -> tokenmill.Tokenizer:
    path = folder / name
    path.write_text(json.dumps(data), encoding="utf-8")
    return tokenmill.load(path)


def compared(data: Data, folder: Path, edit: Edit) -> tokenmill.Difference:
    """The original against the edited file, both ways. `bench/diff.py` has the times."""
    edited = copy.deepcopy(data)
    edit(edited)
    a, b = loaded(data, folder, "a.json"), loaded(edited, folder, "b.json")
    found = tokenmill.diff(a, b)
    swapped = tokenmill.diff(b, a)
    assert (swapped.verdict, swapped.proof) == (found.verdict, found.proof)
    if found.verdict == "different":
        check(found, a, b)
        check(swapped, b, a)
    return found


def parts(merge: Any) -> list[str]:
    return merge.split(" ") if isinstance(merge, str) else merge


def swapped_merges(data: Data, at: int) -> None:
    merges = data["model"]["merges"]
    merges[at], merges[at + 1] = merges[at + 1], merges[at]


def neighbours(data: Data, *, meet: bool) -> list[int]:
    """Ranks of merges that share no token with the next, or that are its rivals for a token."""
    merges = [parts(merge) for merge in data["model"]["merges"]]
    found = []
    for at, (one, two) in enumerate(itertools.pairwise(merges)):
        # Where one builds a side of the other, their order is fixed anyway.
        touches = one[1] == two[0] or two[1] == one[0]
        touches = touches and "".join(one) not in two and "".join(two) not in one
        # Two ways to build one token are no rivals either.
        touches = touches and "".join(one) != "".join(two)
        overlaps = {one[0], one[1], "".join(one)} & {two[0], two[1], "".join(two)}
        if touches if meet else not overlaps:
            found.append(at)
    return found


def split_of(data: Data) -> Data:
    """The step of a tokenizer.json that splits by a pattern."""
    pre = data["pre_tokenizer"]
    steps = pre.get("pretokenizers", [pre])
    return next(step for step in steps if step["type"] == "Split")


@pytest.mark.parametrize("name", ["gpt2", "llama3.1"])
def test_merges_of_neighbouring_rank_that_do_not_meet_are_the_same(
    name: str, data: Path, tmp_path: Path
) -> None:
    original = of(data, name)
    apart = neighbours(original, meet=False)
    for at in (apart[10], apart[len(apart) // 2], apart[-10]):
        found = compared(original, tmp_path, lambda data, at=at: swapped_merges(data, at))  # type: ignore[misc]
        assert (found.verdict, found.proof) == ("same", "merges")
        assert len(found.moved_merges) == 1


@pytest.mark.parametrize("name", ["gpt2", "llama3.1"])
def test_merges_that_meet_have_a_witness(name: str, data: Path, tmp_path: Path) -> None:
    original = of(data, name)
    merges = original["model"]["merges"]
    # Far down, an early merge loses against everything that it shares a letter with.
    found = compared(
        original, tmp_path, lambda data: data["model"]["merges"].insert(2_000, data["model"]["merges"].pop(5))
    )
    assert found.verdict == "different"
    meeting = neighbours(original, meet=True)
    # Of several ways to build a token, texts use one: not all of these merges are ever made.
    for at in meeting[:: len(meeting) // 12]:
        found = compared(original, tmp_path, lambda data, at=at: swapped_merges(data, at))  # type: ignore[misc]
        if found.verdict == "different":
            break
        assert found.proof == "merges"
    else:
        pytest.fail(f"none of {[merges[at] for at in meeting[:: len(meeting) // 12]]} has an effect")


def test_digits_by_three_and_by_two(data: Path, tmp_path: Path) -> None:
    def by_two(data: Data) -> None:
        pattern = split_of(data)["pattern"]
        assert r"\p{N}{1,3}" in pattern["Regex"]
        pattern["Regex"] = pattern["Regex"].replace(r"\p{N}{1,3}", r"\p{N}{1,2}")

    found = compared(of(data, "llama3.1"), tmp_path, by_two)
    assert found.witness is not None
    assert found.witness.text is not None
    assert len(found.witness.text) == 3


@pytest.mark.parametrize("name", ["gpt2", "llama3.1", "bert-base-uncased", "llama2", "t5-small"])
def test_a_normalizer_and_an_added_token(name: str, data: Path, tmp_path: Path) -> None:
    original = of(data, name)

    def normalizer(data: Data) -> None:
        steps = [step for step in [data["normalizer"]] if step is not None]
        replace = {"type": "Replace", "pattern": {"String": "q"}, "content": "k"}
        data["normalizer"] = {"type": "Sequence", "normalizers": [*steps, replace]}

    def added(data: Data) -> None:
        entry = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        data["added_tokens"].append({"id": 1_000_000, "content": "<|more|>", **entry})

    assert compared(original, tmp_path, normalizer).verdict == "different"
    assert compared(original, tmp_path, added).verdict == "different"
