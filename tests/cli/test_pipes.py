"""What can be read once, read once: pipes as `<(...)` makes them, named pipes, standard input."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tokenmill

from .conftest import TEXT, Pipe, Run

pytestmark = pytest.mark.skipif(
    not (hasattr(os, "mkfifo") and Path("/dev/fd").exists()), reason="needs named pipes and /dev/fd"
)

LARGE = TEXT.encode() * 2000
"""More than a pipe holds at once."""


def _npy(ids: list[int]) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array(ids, np.uint32))
    return file.getvalue()


@pytest.mark.parametrize("content", [b"", b"fox", LARGE])
def test_encode_and_count_read_a_pipe_like_a_file(
    run: Run, folder: Path, tmp_path: Path, pipe: Pipe, content: bytes
) -> None:
    file = tmp_path / "text"
    file.write_bytes(content)
    for command in (("encode",), ("encode", "--format", "npy"), ("encode", "--documents", "lines")):
        assert run(*command, "-t", folder, pipe(content)).out == run(*command, "-t", folder, file).out
    counted = run("count", "-t", folder, "--json", pipe(content), pipe(b"fox"), file).json
    expected = run("count", "-t", folder, "--json", file).json["total"]
    assert [row["count"] for row in counted["texts"]] == [expected, run_count(run, folder, b"fox"), expected]
    assert [row["bytes"] for row in counted["texts"]] == [len(content), 3, len(content)]


def run_count(run: Run, folder: Path, content: bytes) -> int:
    return int(run("count", "-t", folder, stdin=content).out)


def test_decode_reads_every_form_from_a_pipe(run: Run, folder: Path, pipe: Pipe) -> None:
    ids = tokenmill.load(folder).encode(TEXT * 2000)
    as_json = json.dumps({"texts": [{"file": "a", "ids": ids}]}).encode()
    for written in (" ".join(map(str, ids)).encode(), _npy(ids), as_json):
        result = run("decode", "-t", folder, pipe(written))
        assert (result.code, result.out, result.err) == (0, LARGE, "")


def test_inspect_reads_a_pipe(run: Run, folder: Path, text_file: Path, pipe: Pipe) -> None:
    result = run("inspect", "-t", folder, "--file", pipe(TEXT.encode()), "--json")
    assert result.json == run("inspect", "-t", folder, "--file", text_file, "--json").json


@pytest.mark.parametrize("documents", ["file", "lines"])
def test_train_reads_pipes_and_files(
    run: Run, text_file: Path, tmp_path: Path, pipe: Pipe, documents: str
) -> None:
    large, piped, named = tmp_path / "large", tmp_path / "piped.json", tmp_path / "named.json"
    large.write_bytes(LARGE)
    options = ("--num-merges", 30, "--documents", documents, "--out")
    assert run("train", pipe(LARGE), text_file, pipe(b"fox"), "-", *options, piped, stdin=b"dog").code == 0
    (tmp_path / "fox").write_bytes(b"fox")
    (tmp_path / "dog").write_bytes(b"dog")
    assert run("train", large, text_file, tmp_path / "fox", tmp_path / "dog", *options, named).code == 0
    assert piped.read_bytes() == named.read_bytes()


def test_trace_reads_a_pipe_once(run: Run, text_file: Path, pipe: Pipe) -> None:
    arguments = ("--num-merges", 5, "--trace")
    traced = run("train", pipe(TEXT.encode()), text_file, *arguments)
    assert traced.code == 0
    assert traced.out == run("train", text_file, text_file, *arguments).out


def test_trace_of_what_is_too_long_stops_reading(run: Run, text_file: Path, pipe: Pipe) -> None:
    result = run("train", text_file, pipe(b"ab " * 10_000), "--num-merges", 5, "--trace")
    assert (result.code, result.out) == (2, b"")
    assert "more than 20,000 bytes are too many to trace" in result.err


@pytest.mark.parametrize("trace", [[], ["--trace"]])
def test_errors_name_the_pipe(run: Run, tmp_path: Path, pipe: Pipe, trace: list[str]) -> None:
    path = pipe(b"fine\xff")
    result = run("train", path, "--num-merges", 1, "--out", tmp_path / "made.json", *trace)
    assert (result.code, result.out) == (2, b"")
    assert result.err.startswith(f"tokenmill: error: {path}: at byte 4: ")


@pytest.mark.parametrize(
    "words",
    [
        ("count", "-t", "{folder}", "{pipe}", "{pipe}"),
        ("encode", "-t", "{folder}", "{pipe}", "./{pipe}"),
        ("encode", "-t", "{folder}", "{pipe}", "./{pipe}", "--documents", "lines"),
        ("encode", "-t", "{pipe}", "{pipe}", "--documents", "lines", "--format", "bin"),
        ("decode", "-t", "{folder}", "{pipe}", "1", "{pipe}"),
        ("count", "-t", "{pipe}", "{pipe}"),
        ("inspect", "-t", "{pipe}", "--file", "{pipe}"),
        ("train", "{pipe}", "p*", "--num-merges", "2", "--out", "made"),
        ("train", "{pipe}", "{pipe}", "--num-merges", "2", "--trace"),
        ("count", "-t", "{folder}", "-", "-"),
        ("encode", "-t", "{folder}", "-", "-"),
        ("decode", "-t", "{folder}", "-", "-"),
        ("train", "-", "-", "--num-merges", "2", "--out", "made"),
    ],
)
def test_what_can_be_read_once_is_not_taken_twice(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")  # which has no writer: to open it would be to wait for ever
    result = run(*(word.format(folder=folder, pipe="pipe") for word in words), stdin=b"1 2")
    assert (result.code, result.out) == (2, b"")
    assert "can be read only once" in result.err
    assert "hint: save what comes through it to a file first" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_files_may_be_given_twice(run: Run, folder: Path, text_file: Path) -> None:
    assert run("count", "-t", folder, text_file, text_file, "/dev/null", "/dev/null").code == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["count", "-t", "{folder}", "/dev/stdin"], 0),
        (["train", "/dev/stdin", "--num-merges", "2", "--trace"], 0),
        (["count", "-t", "{folder}", "-", "/dev/stdin"], 2),
    ],
)
def test_standard_input_goes_by_its_path_too(folder: Path, words: list[str], code: int) -> None:
    command = [sys.executable, "-m", "tokenmill.cli", *(word.format(folder=folder) for word in words)]
    done = subprocess.run(command, input=TEXT.encode(), capture_output=True, timeout=60)
    assert done.returncode == code
    if code:
        assert b"standard input and /dev/stdin: one pipe" in done.stderr
    else:
        assert done.stdout


def test_load_leaves_a_pipe_to_the_reader(
    run: Run, folder: Path, pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing in Python opens a tokenizer's file to find out what its name means."""
    content = (folder / "tokenizer.json").read_bytes()
    real = tokenmill._core.load_file

    def load_file(path: str, **options: object) -> tokenmill.Tokenizer:
        with open(path, "rb") as opened:  # noqa: PTH123
            assert opened.read() == content
        return real(folder, additions={})

    monkeypatch.setattr(tokenmill._core, "load_file", load_file)
    assert tokenmill.load(pipe(content)).vocab_size
    assert run("count", "-t", pipe(content), stdin=b"fox").code == 0


def test_ctrl_c_is_heard_while_training_waits_for_what_a_pipe_brings(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    arguments = ["train", path, "--num-merges", "1", "--out", tmp_path / "made.json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tokenmill.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with path.open("wb"):  # returns when the command has opened its end, and waits for text
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"tokenmill: stopped\n")
    assert [left.name for left in tmp_path.iterdir()] == ["pipe"]
