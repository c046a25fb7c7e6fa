"""Paths that cannot be read or written, wherever one is given: a message, exit code 2, nothing left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .conftest import TEXT, Run

LONG = "x" * 300
BAD = {
    "a loop of links": ("loop", "Too many levels of symbolic links"),
    "below a loop of links": ("loop/x.json", "Too many levels of symbolic links"),
    "too long": (LONG, "File name too long"),
    "below a file": ("text/x.json", "Not a directory"),
    "a NUL": ("a\0b", "holds no NUL"),
    "a missing folder": ("missing/x.json", ""),
    "empty": ("", "empty"),
}
SOURCES = {
    "-t": ("count", "-t", "{}", "text"),
    "count": ("count", "-t", "{folder}", "{}"),
    "encode": ("encode", "-t", "{folder}", "{}"),
    "npy": ("encode", "-t", "{folder}", "{}", "--format", "npy"),
    "bin": ("encode", "-t", "{folder}", "text", "{}", "--format", "bin"),
    "lines": ("encode", "-t", "{folder}", "text", "{}", "--documents", "lines"),
    "info -t": ("info", "-t", "{}"),
    "decode": ("decode", "-t", "{folder}", "text.npy", "{}"),
    "inspect --file": ("inspect", "-t", "{folder}", "--file", "{}"),
    "train": ("train", "text", "{}", "--num-merges", "2", "--out", "made"),
    "trace": ("train", "text", "{}", "--num-merges", "2", "--trace"),
}
TARGETS = {
    "count --out": ("count", "-t", "{folder}", "text", "--out", "{}"),
    "encode --out": ("encode", "-t", "{folder}", "text", "--out", "{}"),
    "npy --out": ("encode", "-t", "{folder}", "text", "--format", "npy", "--out", "{}"),
    "bin --out": ("encode", "-t", "{folder}", "text", "--format", "bin", "--out", "{}"),
    "info --out": ("info", "-t", "{folder}", "--out", "{}"),
    "vocab --out": ("vocab", "-t", "{folder}", "--out", "{}"),
    "decode --out": ("decode", "-t", "{folder}", "65", "--out", "{}"),
    "inspect --out": ("inspect", "-t", "{folder}", "hello", "--out", "{}"),
    "train --out": ("train", "text", "--num-merges", "2", "--out", "{}"),
    "demo --out": ("demo", "--out", "{}"),
}


def _fails(run: Run, folder: Path, words: tuple[str, ...], path: str) -> str:
    """Run the command with this path in its place, see that it fails as it should, and return the message."""
    before = sorted(Path().iterdir())
    result = run(*(word.format(path, folder=folder) for word in words))
    assert (result.code, result.out) == (2, b"")
    lines = result.err.splitlines()
    assert len(lines) <= 2
    assert lines[0].startswith("tokenmill: error: ")
    assert "internal error" not in lines[0]
    assert len(lines[0]) < 500
    assert sorted(Path().iterdir()) == before
    return lines[0]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a text, ids, and two links that lead to each other."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text(TEXT, encoding="utf-8")
    (tmp_path / "text.npy").write_bytes(b"65")
    (tmp_path / "loop").symlink_to("other")
    (tmp_path / "other").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("source", SOURCES)
def test_what_cannot_be_read_is_named(run: Run, folder: Path, here: Path, source: str, bad: str) -> None:
    path, words = BAD[bad]
    if source == "inspect --file" and not path:
        return  # reads standard input
    message = _fails(run, folder, SOURCES[source], path)
    if not source.endswith("-t"):
        assert words in message


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("target", TARGETS)
def test_what_cannot_be_written_is_named(run: Run, folder: Path, here: Path, target: str, bad: str) -> None:
    path, words = BAD[bad]
    if target == "demo --out" and bad == "a missing folder":
        return  # which is made
    assert words in _fails(run, folder, TARGETS[target], path)


@pytest.mark.parametrize("source", [name for name in SOURCES if not name.endswith("-t")])
def test_a_folder_is_no_source(run: Run, folder: Path, here: Path, source: str) -> None:
    (here / "folder").mkdir()
    message = _fails(run, folder, SOURCES[source], "folder")
    assert any(f"folder: {said}" in message for said in ("is a folder", "Is a directory", "no file in this"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads and writes everything")
@pytest.mark.parametrize("source", SOURCES)
def test_what_may_not_be_read_is_named(run: Run, folder: Path, here: Path, source: str) -> None:
    (here / "closed").write_text("")
    (here / "closed").chmod(0)
    assert "closed: Permission denied" in _fails(run, folder, SOURCES[source], "closed")


@pytest.mark.parametrize("target", ["count --out", "train --out"])
def test_a_working_directory_that_is_gone(
    run: Run, folder: Path, here: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    (here / "gone").mkdir()
    monkeypatch.chdir("gone")
    (here / "gone").rmdir()
    words = tuple(str(here / "text") if word == "text" else word for word in TARGETS[target])
    assert "made.json: No such file or directory" in _fails(run, folder, words, "made.json")
    assert run("count", "-t", folder, here / "text").code == 0


def test_a_name_as_long_as_can_be_is_written(run: Run, folder: Path, here: Path) -> None:
    assert run("count", "-t", folder, "text", "--out", "x" * 255).code == 0
    assert Path("x" * 255).read_text().endswith(" text\n")


def test_out_goes_where_links_lead(run: Run, folder: Path, here: Path) -> None:
    Path("first").symlink_to("second")
    Path("second").symlink_to("target")
    for _ in range(2):  # made, and replaced
        assert run("count", "-t", folder, "text", "--out", "first").code == 0
        assert Path("first").is_symlink()
        assert not Path("target").is_symlink()
        assert Path("target").read_text().endswith(" text\n")


def test_out_that_is_full_is_named(run: Run, folder: Path, here: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    Path("full").symlink_to("/dev/full")
    assert "full: No space left on device" in _fails(run, folder, TARGETS["encode --out"], "full")
    assert Path("/dev/full").is_char_device()


def test_a_disk_that_is_full_leaves_no_half_file(
    run: Run, folder: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    Path("old").write_text("old")
    for target in ("old", "new"):
        message = _fails(run, folder, TARGETS["encode --out"], target)
        assert message == f"tokenmill: error: {target}: No space left on device"
    assert Path("old").read_text() == "old"


def test_a_link_to_nowhere_becomes_no_folder(run: Run, folder: Path, here: Path) -> None:
    Path("nowhere").symlink_to("missing")
    assert "nowhere: is a link to" in _fails(run, folder, TARGETS["train --out"], "nowhere")
    assert "nowhere: is a link to" in _fails(run, folder, TARGETS["demo --out"], "nowhere")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "tokenmill: error: there is not enough memory\n"),
        (KeyError("x"), "tokenmill: internal error: test_paths.py:"),
    ],
)
def test_what_nobody_thought_of_is_no_traceback(
    run: Run, folder: Path, here: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("tokenmill.cli.count.write_output", fail)
    result = run("count", "-t", folder, "text")
    assert (result.code, result.out) == (2, b"")
    assert result.err.startswith(words)
    assert len(result.err.splitlines()) <= 2
