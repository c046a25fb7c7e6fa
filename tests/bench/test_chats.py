"""The part of the benchmark that measures conversations."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from chats import fresh, lines, main, repeated, verdict
from chatting import CHATS, ROLES, _ends, conversations


def answer(**changed: Any) -> dict[str, Any]:
    """Of two conversations; the last character of a block has the tokens 1 and 2 of the second."""
    return {"ids": [[1, 2], [3, 4, 5]], "masks": [[0, 1], [1, 1, 1]], "ends": [[1], [1, 2]], **changed}


def test_equal_answers_are_identical() -> None:
    assert verdict(answer(), answer()) == "identical, 5 ids of 2 conversations, 4 of them trained"


def test_a_difference_says_where_it_is() -> None:
    assert verdict(answer(), answer(ids=[[1, 2]])).startswith("DIFFER in number")
    assert verdict(answer(ids=[[1, 2], [3, 4, 6]]), answer()) == "DIFFER in the ids of conversation 1"
    found = verdict(answer(masks=[[1, 1], [1, 1, 1]]), answer())
    assert found == "DIFFER in the mask of conversation 0 at id 0: 1, not 0"


def test_only_what_transformers_leaves_out_at_the_end_of_a_block_is_a_gap() -> None:
    less = answer(masks=[[0, 1], [1, 1, 0]])
    assert verdict(answer(), less).endswith("; 1 of these are gaps of char_to_token in transformers' mask")
    assert verdict(less, answer()).startswith("DIFFER in the mask of conversation 1 at id 2")
    assert verdict(answer(), less | {"ends": [[1], [1]]}).startswith("DIFFER in the mask")


def test_the_tokens_of_the_last_character_of_a_block_are_found() -> None:
    assert _ends([(0, 2), (2, 3), (2, 3), (3, 4)], [(0, 3), (3, 3)]) == [1, 2]


def test_ratios_are_taken_inside_rounds() -> None:
    times = {"tokenmill": [1.0, 2.0, 4.0], "transformers": [4.0, 6.0, 4.0]}
    samples = [
        {"round": number, "template": "chatml", "library": library, "disturbed": False}
        | {"cpu": [seconds, 1.0, 3.0], "wall": [seconds, 1.0, 3.0]}
        for library, own in times.items()
        for number, seconds in enumerate(own)
    ]
    (line,) = [line for line in lines(samples) if " fresh " in line]
    assert "2000.0 (1000.0 to 4000.0)" in line
    assert "3.00 (1.00 to 4.00)" in line
    assert (fresh([3.0, 1.0, 2.0]), repeated([3.0, 1.0, 2.0]), repeated([3.0])) == (3.0, 1.5, 3.0)


def test_conversations_are_long_enough(native: object) -> None:
    import data

    corpora = data.corpora()
    found = conversations(corpora, 11, 1_024)
    assert len(found) == 11
    assert all([message["role"] for message in talk] == list(ROLES) for talk in found)
    assert min(sum(len(message["content"].encode()) for message in talk) for talk in found) >= 1_024


def test_without_shared_data_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.import_module("data"), "shared", lambda: None)
    assert main(["--quick"]) == 2
    assert "no shared data" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "chatml" else pytest.mark.slow) for name in CHATS]
)
def test_it_runs(
    native: object, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    pytest.importorskip("transformers")
    out = tmp_path / "out.json"
    given = ["--quick", "--conversations", "5", "--rounds", "1", "--templates", name, "--json", str(out)]
    assert main(given) == 0
    assert f"{name}: identical" in capsys.readouterr().out
    record = json.loads(out.read_text(encoding="utf-8"))
    assert [sample["library"] for sample in record["samples"]] == ["tokenmill", "transformers"]
    assert {len(sample["cpu"]) for sample in record["samples"]} == {2}
