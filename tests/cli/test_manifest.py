"""``manifest`` and ``verify``: printed, written, and compared; exit codes 0, 1 and 2."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import tokenmill
from tokenmill import manifest

from .conftest import Run


@pytest.fixture
def kept(folder: Path, tmp_path: Path) -> Path:
    """A folder of one's own, with a manifest."""
    return Path(shutil.copytree(folder, tmp_path / "kept"))


def lower(folder: Path) -> None:
    path = folder / "tokenizer.json"
    parts = json.loads(path.read_text(encoding="utf-8"))
    parts["normalizer"] = {"type": "Lowercase"}
    path.write_text(json.dumps(parts), encoding="utf-8")


def test_manifest_prints_what_is_there_and_writes_nothing(run: Run, kept: Path) -> None:
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    result = run("manifest", kept, "--padding-side-train", "right", "--corpus", "a page")
    assert (result.code, result.err) == (0, "")
    assert result.json == manifest.manifest_of(kept, {"padding_side_train": "right", "corpus": "a page"})
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before


def test_manifest_of_a_file_is_that_of_its_tokenizer(run: Run, kept: Path) -> None:
    result = run("manifest", kept / "tokenizer.json")
    assert result.json == manifest.manifest_of(tokenmill.load(kept / "tokenizer.json"))
    result = run("manifest", kept / "tokenizer.json", "--write")
    assert (result.code, result.out) == (2, b"")
    assert "no folder" in result.err


def test_write_puts_it_into_the_folder(run: Run, kept: Path, tmp_path: Path) -> None:
    (kept / "tokenmill.json").unlink()
    result = run("manifest", kept, "--write", "--think-end-id", 5, "--padding-side-generate", "left")
    assert (result.code, result.err) == (0, f"wrote {kept / 'tokenmill.json'}\n")
    written = json.loads((kept / "tokenmill.json").read_text(encoding="utf-8"))
    assert result.json == written
    assert (written["think_end_id"], written["padding_side_generate"]) == (5, "left")
    # What was given stays, and the same bytes are written.
    first = (kept / "tokenmill.json").read_bytes()
    assert run("manifest", kept, "--write", "--out", tmp_path / "m.json").code == 0
    assert (kept / "tokenmill.json").read_bytes() == first
    assert json.loads((tmp_path / "m.json").read_text(encoding="utf-8")) == written


def test_verify_says_that_nothing_differs(run: Run, kept: Path) -> None:
    result = run("verify", kept)
    verified = manifest.verify(kept)
    counts = f"{verified.files} files and {verified.vectors} golden vectors"
    assert (result.code, result.err) == (0, "")
    assert result.out.decode() == f"ok: {counts} compared\n"
    page = run("verify", kept, "--json").json
    assert (page["ok"], page["findings"], page["vectors"]) == (True, [], verified.vectors)


def test_no_option_is_named_that_the_command_does_not_have(run: Run, kept: Path, tmp_path: Path) -> None:
    path = kept / "tokenmill.json"
    parts = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**parts, "vocab_size": "5"}), encoding="utf-8")
    result = run("verify", kept)
    assert result.code == 2
    assert "tokenmill.json: vocab_size: " in result.err
    path.unlink()
    lower(kept)
    result = run("convert", kept, tmp_path / "t.tiktoken")
    assert result.code == 2
    assert ": normalizer: a .tiktoken file cannot hold" in result.err


def test_verify_finds_what_has_changed(run: Run, kept: Path) -> None:
    lower(kept)
    result = run("verify", kept)
    lines = result.out.decode().splitlines()
    assert result.code == 1
    assert lines[0].startswith("DIFFERENT: ")
    assert lines[1] == "files.tokenizer.json.sha256"
    assert lines[2].startswith("  expected  sha256 ")
    assert lines[3].startswith("  found     sha256 ")
    findings = run("verify", kept, "--json").json["findings"]
    assert [found["field"] for found in findings][:2] == ["files.tokenizer.json.sha256", "fingerprint"]
    vectors = [found for found in findings if found["field"].startswith("golden[")]
    assert vectors[0]["field"] == "golden[1].ids"
    assert vectors[0]["expected"] != vectors[0]["found"]
    # Nor is a manifest written over it.
    refused = run("manifest", kept, "--write")
    assert refused.code == 2
    assert "the file has changed since it was saved" in refused.err


def test_without_a_manifest_there_is_nothing_to_compare(run: Run, kept: Path) -> None:
    (kept / "tokenmill.json").unlink()
    result = run("verify", kept)
    assert (result.code, result.out) == (2, b"")
    assert "tokenmill manifest --write makes one" in result.err
    for missing in (kept / "none", kept / "tokenizer.json"):
        assert run("verify", missing).code == 2


def test_version_1_is_compared_as_far_as_it_goes(run: Run, kept: Path) -> None:
    path = kept / "tokenmill.json"
    parts = json.loads(path.read_text(encoding="utf-8"))
    names = ("files", "vocab_size", "special_tokens")
    path.write_text(json.dumps({"manifest_version": 1, **{name: parts[name] for name in names}}))
    result = run("verify", kept)
    assert result.code == 0
    assert "version 1 has no golden vectors" in result.out.decode()


def test_files_that_hold_no_split_are_given_one(run: Run, tmp_path: Path) -> None:
    tok = tokenmill.train(texts=["low lower 12"] * 3, vocab_size=262, split="gpt2", special_tokens=["<s>"])
    folder = tmp_path / "pair"
    tok.save(folder, format="vocab+merges", lossy=True)
    options = ("--split", "gpt2", "--special-token", "<s>=0")
    assert run("verify", folder, *options).code == 0
    assert run("verify", folder).code == 2
