"""`Tokenizer.load_report`: what each file supplied, and what is known without the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gguf_files import small_gpt2

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "##s"]


def saved(native: Any, path: Path) -> Path:
    native.train(texts=["hello world hello"], num_merges=9, split="none").save(path, lossy=True)
    return path


def test_a_file_of_ranks_supplies_its_vocabulary(native: Any, tmp_path: Path) -> None:
    report = native.load(saved(native, tmp_path / "own.tiktoken"), split="none").load_report
    assert report.files == {"own.tiktoken": ["vocabulary"]}
    assert report.notes == []
    assert str(report) == "LoadReport\n  own.tiktoken: vocabulary"


def test_two_files_supply_a_vocabulary_and_its_merges(native: Any, tmp_path: Path) -> None:
    report = native.load(saved(native, tmp_path / "vocab.json"), split="none").load_report
    assert report.files == {"vocab.json": ["vocabulary"], "merges.txt": ["merges"]}


def test_a_file_that_says_everything_is_listed_with_its_parts(native: Any, tmp_path: Path) -> None:
    report = native.load(saved(native, tmp_path / "tokenizer.json")).load_report
    assert report.files == {"tokenizer.json": ["vocabulary", "decoder"]}
    (tmp_path / "model.gguf").write_bytes(small_gpt2())
    (parts,) = native.load(tmp_path / "model.gguf").load_report.files.values()
    assert {"vocabulary", "pre_tokenizer"} <= set(parts)
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    assert native.load(tmp_path / "vocab.txt").load_report.files == {"vocab.txt": ["vocabulary"]}


@pytest.mark.parametrize(("name", "split"), [("cl100k_base", "cl100k"), ("gpt2", "gpt2")])
def test_what_the_hash_of_a_published_file_tells_is_noted(
    native: Any, data: Path, name: str, split: str
) -> None:
    folder = data / "vocab" / name
    path = folder / (f"{name}.tiktoken" if name != "gpt2" else "vocab.json")
    report = native.load(path).load_report
    assert report.files[path.name] == ["vocabulary"]
    known = "known by the sha256 of the published file"
    assert report.notes == [f"the split ({split}) and the special tokens: {known}"]
    assert report.tolerated == []
    # The caller's own split is the caller's.
    assert native.load(path, split="none").load_report.notes == [f"the special tokens: {known}"]


@pytest.mark.parametrize("end", [-1, 1_000_000])
def test_a_damaged_copy_of_a_published_file_is_a_finding(
    native: Any, data: Path, tmp_path: Path, end: int
) -> None:
    whole = (data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken").read_bytes()
    part = whole[: whole.rindex(b"\n", 0, end) + 1]
    path = tmp_path / "cl100k_base.tiktoken"
    path.write_bytes(part)
    with pytest.raises(
        native.FormatError, match=r"damaged, or another file\? If it is another file, pass split="
    ):
        native.load(path)
    [finding] = native.load(path, split="cl100k").load_report.tolerated
    assert (finding.kind, finding.file, finding.field) == ("inconsistent", path.name, "sha256")
    assert "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7" in finding.reason
    with pytest.raises(native.FormatError, match="named like the published") as raised:
        native.load(path, split="cl100k", strict=True)
    assert (raised.value.path, raised.value.field) == (str(path), "sha256")
    # Another name claims nothing.
    path = path.rename(tmp_path / "own.tiktoken")
    assert native.load(path, split="cl100k").load_report.tolerated == []
