"""Standard streams that are closed, full, or without a reader: a message, an exit code, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110

CLOSED, FULL = "standard output is closed", "standard output: No space left on device"
NO_INPUT = "standard input is closed"
WORDS = {
    "train": "train text --num-merges 2 --out made/",
    "train -": "train - --num-merges 2 --out made/",
    "trace": "train text --num-merges 2 --trace",
    "encode": "encode -t {folder} text",
    "encode --out": "encode -t {folder} text --out made",
    "encode -": "encode -t {folder}",
    "npy": "encode -t {folder} text --format npy",
    "bin": "encode -t {folder} text --format bin",
    "count --out": "count -t {folder} text --out made",
    "bin --out": "encode -t {folder} text --out made.bin",
    "bin --json": "encode -t {folder} text --out made.bin --json",
    "lines -": "encode -t {folder} --documents lines",
    "decode": "decode -t {folder} 65 66",
    "decode -": "decode -t {folder}",
    "count": "count -t {folder} text",
    "count -": "count -t {folder}",
    "inspect": "inspect -t {folder} hello",
    "inspect -": "inspect -t {folder}",
    "plan": "inspect -t {folder} --plan",
    "info": "info -t {folder}",
    "vocab": "vocab -t {folder}",
    "demo": "demo --out made/",
    "version": "--version",
    "help": "--help",
    "help of a command": "train --help",
    "no command": "nope",
    "no file": "count -t {folder} missing",
    "no tokenizer": "count -t missing text",
}
SILENT = {"encode --out", "count --out", "bin --out"}
"""What writes nothing to standard output."""
FAILING = {"no command", "no file", "no tokenizer"}


class Done(NamedTuple):
    """What a process left behind."""

    returncode: int
    stdout: str
    stderr: str


def _run(name: str, streams: str, folder: Path, where: Path) -> Done:
    """One command with its streams as a shell redirects them."""
    (where / "text").write_text("hello hello world\n")
    words = WORDS[name].format(folder=folder).split()
    script = f'exec "$@" {streams}'
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "tokenmill.cli", *words]
    done = subprocess.run(command, cwd=where, input=b"65 66", capture_output=True, timeout=120)
    out, err = done.stdout.decode("latin1"), done.stderr.decode()
    for word in ("Traceback", "internal error", "Exception ignored"):
        assert word not in err
    return Done(done.returncode, out, err)


@pytest.mark.parametrize(
    ("name", "streams", "code", "said"),
    [
        ("train", ">&-", 2, CLOSED),
        ("trace", ">&-", 2, CLOSED),
        ("encode", ">&-", 2, CLOSED),
        ("decode", ">&-", 2, CLOSED),
        ("count", ">&-", 2, CLOSED),
        ("inspect", ">&-", 2, CLOSED),
        ("help", ">&-", 2, CLOSED),
        ("count --out", ">&-", 0, ""),
        ("encode", ">/dev/full", 2, FULL),
        ("npy", ">/dev/full", 2, FULL),
        ("bin", ">/dev/full", 2, FULL),
        ("vocab", ">/dev/full", 2, FULL),
        ("bin --json", ">&-", 2, CLOSED),
        ("lines -", "<&-", 2, NO_INPUT),
        ("version", ">/dev/full", 2, FULL),
        ("help of a command", ">/dev/full", 2, FULL),
        ("count", "1</dev/null", 2, "standard output: Bad file descriptor"),
        ("train -", "<&-", 2, NO_INPUT),
        ("count -", "<&-", 2, NO_INPUT),
        ("inspect -", "<&-", 2, NO_INPUT),
        ("count", "<&-", 0, ""),
        ("count -", "0>/dev/null", 2, "standard input: Bad file descriptor"),
        ("count", "2>&-", 0, ""),
        ("no tokenizer", "2>&-", 2, ""),
        ("no command", "2>/dev/full", 2, ""),
        ("count", "<&- >&- 2>&-", 2, ""),
    ],
)
def test_a_stream_that_is_needed_and_cannot_be_used_is_named(
    folder: Path, tmp_path: Path, name: str, streams: str, code: int, said: str
) -> None:
    done = _run(name, streams, folder, tmp_path)
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == (0 if not said else 1 if said == FULL or "Bad" in said else 2)
    if said:
        assert done.stderr.startswith(f"tokenmill: error: {said}")
    if code:
        assert done.stdout == ""  # words for people are never among the data
        assert not (tmp_path / "made").exists()
        assert not (tmp_path / "made.bin").exists()


def test_ids_are_saved_where_what_is_said_of_them_cannot_be(folder: Path, tmp_path: Path) -> None:
    done = _run("bin --json", ">/dev/full", folder, tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["the ids are saved: made.bin", f"tokenmill: error: {FULL}"]
    assert (tmp_path / "made.bin").stat().st_size
    done = _run("bin --out", "2>/dev/full", folder, tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_tokenizer_is_saved_where_its_summary_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    done = _run("train", ">/dev/full", folder, tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["the tokenizer is saved: made/", f"tokenmill: error: {FULL}"]
    assert (tmp_path / "made" / "tokenizer.json").is_file()


STREAMS = [
    *(">&-", "<&-", "2>&-", "<&- >&- 2>&-"),
    *(">/dev/full", "2>/dev/full", ">/dev/full 2>/dev/full", ">&- 2>/dev/full", "<&- >/dev/full 2>&-"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("streams", STREAMS)
def test_every_command_with_every_stream(folder: Path, tmp_path: Path, name: str, streams: str) -> None:
    done = _run(name, streams, folder, tmp_path)
    without_output = any(word in (">&-", ">/dev/full") for word in streams.split())
    fails = name in FAILING
    fails |= name.endswith(" -") and "<&-" in streams
    fails |= without_output and name not in SILENT
    assert done.returncode == (2 if fails else 0)
    if fails:
        assert done.stdout == ""
        silent = "2>" in streams
        assert done.stderr == "" if silent else "tokenmill: error: " in done.stderr


@pytest.mark.parametrize(
    "name",
    [
        *("encode", "version", "no command"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in WORDS
            if name not in ("encode", "version", "no command")
        ),
    ],
)
def test_a_reader_that_went_away_before_the_start_is_no_error(
    folder: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "text").write_text("hello hello world\n")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "tokenmill.cli", *WORDS[name].format(folder=folder).split()]
    done = subprocess.run(command, cwd=tmp_path, input=b"65 66", stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    if name in FAILING:
        assert done.returncode == 2
        return
    assert done.returncode == (0 if name in SILENT else 141)
    assert b"rror" not in done.stderr


def test_a_reader_of_the_words_that_went_away_changes_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "tokenmill.cli", *WORDS["no file"].format(folder=folder).split()]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=writer)
    os.close(writer)
    assert (done.returncode, done.stdout) == (2, b"")
