"""``train --out``: what cannot be saved is refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenmill

from .conftest import TEXT, Run

MARK = ("--alphabet", "chars", "--end-of-word", "</w>")


@pytest.mark.parametrize(
    ("out", "options", "words"),
    [
        ("x.xyz", (), ["x.xyz: no format", "hint: --out FOLDER/"]),
        ("x.tiktoken", (), ["a .tiktoken file holds neither the split nor the special tokens"]),
        ("x.tiktoken", (), ["hint: --lossy saves it anyway; give --split NAME when you load it"]),
        ("vocab.json", (), ["neither the split", "--lossy"]),
        ("merges.txt", (), ["neither the split", "--lossy"]),
        ("x.tiktoken", ("--alphabet", "chars", "--lossy"), ["bytes, not characters"]),
        ("x.json", MARK, ["tokenizer.json cannot hold a separate end-of-word symbol"]),
        ("x", MARK, ["hint: --end-of-word-form suffix"]),
        ("missing/x.json", (), ["missing: the folder does not exist"]),
        ("missing/x.tiktoken", ("--lossy",), ["missing: the folder does not exist"]),
    ],
)
def test_it_is_refused_before_a_byte_is_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, options: tuple[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("train", "no-such-file", "--num-merges", 5, "--out", out, *options)
    assert (result.code, result.out) == (2, b"")
    assert "no-such-file" not in result.err
    for word in words:
        assert word in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_version_in_a_name_is_part_of_it(run: Run, text_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "my-model-v1.5"
    assert run("train", text_file, "--num-merges", 5, "--out", target).code == 0
    assert (target / "tokenizer.json").is_file()


def test_a_file_without_ending_is_no_folder(run: Run, text_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "notes"
    target.write_text("mine")
    result = run("train", text_file, "--num-merges", 5, "--out", target)
    assert (result.code, result.out) == (2, b"")
    assert target.read_text() == "mine"


@pytest.mark.parametrize("name", ["ranks.tiktoken", "vocab.json", "merges.txt"])
def test_lossy_saves_the_tokens_alone(run: Run, text_file: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    assert run("train", text_file, "--num-merges", 5, "--out", target, "--lossy").code == 0
    expected = tokenmill.train(text_file, num_merges=5)
    assert tokenmill.load(target, split="cl100k").encode(TEXT) == expected.encode(TEXT)


def test_the_suffix_form_can_be_saved(run: Run, text_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "deep" / "folder"
    options = (*MARK, "--end-of-word-form", "suffix")
    assert run("train", text_file, "--num-merges", 5, "--out", target, *options).code == 0
    assert (target / "tokenizer.json").is_file()
