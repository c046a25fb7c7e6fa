"""``tokenmill convert``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenmill.cli import convert, main


@pytest.fixture
def file(native: Any, tmp_path: Path) -> Path:
    tok = native.train(texts=["low lower"] * 3, num_merges=4, split="gpt2", special_tokens=["<|end|>"])
    tok.save(tmp_path / "in.json")
    return tmp_path / "in.json"


def test_it_writes_what_is_the_same(
    native: Any, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.txt").write_text("lower low\n", encoding="utf-8")
    code = main(
        ["convert", str(file), str(tmp_path / "t.gguf"), "--verify", str(tmp_path / "text.txt"), "--json"]
    )
    facts = json.loads(capsys.readouterr().out)
    assert (code, facts["differing"], facts["is_same"], facts["format"]) == (0, 0, True, "gguf")
    assert native.load(tmp_path / "t.gguf") == native.load(file)


def test_it_says_what_is_given_again(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(file), str(tmp_path / "t.tiktoken")]) == 0
    out = capsys.readouterr().out
    assert "split='gpt2'" in out
    assert "special_tokens=" in out


def test_a_refusal_is_2_and_a_difference_is_1(
    native: Any, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(file), str(tmp_path / "t.model")]) == 2
    assert "SentencePiece" in capsys.readouterr().err
    assert main(["convert", str(file), str(tmp_path / "t.bin")]) == 2
    assert "--to" in capsys.readouterr().err
    native.train(texts=["low"] * 2, num_merges=1, split="gpt2", normalizer="NFC").save(file)
    assert main(["convert", str(file), str(tmp_path / "t.tiktoken"), "--lossy"]) == 1
    assert "before" in capsys.readouterr().out


def test_a_refusal_names_the_target_that_was_asked_for(
    native: Any, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "t.model"
    assert main(["convert", str(file), str(target)]) == 2
    assert capsys.readouterr().err.startswith(f"tokenmill: error: {target}: model: ")
    with pytest.raises(native.FormatError) as raised:
        native.convert(file, target)
    assert raised.value.path == str(target)
    assert raised.value.kind == "cannot-hold"


def test_the_example_of_the_help_can_be_pasted() -> None:
    assert "--split cl100k \\\n      --special-token" in str(convert.__doc__)
