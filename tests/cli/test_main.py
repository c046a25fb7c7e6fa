"""The frame: exit codes, errors in one line, help, what is imported, pipes that close, Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tokenmill

from .conftest import END, Run

COMMANDS = (
    "train",
    "count-pretokens",
    "encode",
    "decode",
    "count",
    "chat",
    "inspect",
    "doctor",
    "info",
    "vocab",
    "curve",
    "demo",
)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_data_and_succeeds(run: Run, command: str) -> None:
    result = run(*filter(None, [command]), "--help")
    assert result.code == 0
    assert result.out.startswith(f"usage: tokenmill {command}".encode().rstrip())
    assert result.err == ""


def test_version(run: Run) -> None:
    assert re.fullmatch(rb"tokenmill \d+\.\d+\.\d+\S*\n", run("--version").out)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["encode"],
        ["count", "-t", "{folder}", "--special", "maybe"],
        ["encode", "-t", "{folder}", "missing.txt"],
        ["encode", "-t", "missing"],
        ["encode", "-t", "{folder}", "."],
        ["encode", "-t", "{folder}", "--out", "missing/ids"],
        ["encode", "-t", "{folder}", "--format", "npy", "--json"],
        ["encode", "-t", "{folder}", "--format", "npy", "a", "b"],
        ["encode", "-t", "{folder}", "--format", "npy", "--documents", "lines"],
        ["encode", "-t", "{folder}", "--format", "bin", "--json"],
        ["encode", "-t", "{folder}", "--dtype", "uint16"],
        ["encode", "-t", "{folder}", "--text", "some words", "missing.txt"],
        ["encode", "-t", "{folder}", "--eos"],
        ["encode", "-t", "{folder}", "--num-threads", "0"],
        ["info"],
        ["vocab", "-t", "missing"],
        ["train", "missing.txt", "--num-merges", "1", "--out", "x.json"],
        ["train", "missing*.txt", "--num-merges", "1", "--out", "x.json"],
        ["train", "-", "--num-merges", "1"],
        ["train", "-", "--out", "x.json"],
        ["train", "-", "--num-merges", "1", "--vocab-size", "300", "--out", "x.json"],
        ["train", "-", "--vocab-size", "10", "--out", "x.json"],
        ["train", "-", "-", "--num-merges", "1", "--out", "x.json"],
    ],
)
def test_bad_use_is_one_line_and_exit_code_2(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*(argument.format(folder=folder) for argument in arguments), stdin=b"some text")
    assert (result.code, result.out) == (2, b"")
    lines = result.err.splitlines()
    assert lines[0].startswith("tokenmill: error: ")
    assert all(line.startswith("hint: ") for line in lines[1:])
    assert len(lines) <= 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["decode"], b"999999", ["999999", "hint: "]),
        (["decode"], b"1 two 3", ["'two'", "standard input"]),
        (["decode"], b"\x93NUMPY\x01\x00", ["array"]),
        (["encode", "--special", "raise"], f"fox {END}".encode(), [END, "--special text"]),
    ],
)
def test_bad_input_is_named(
    run: Run, folder: Path, arguments: list[str], stdin: bytes, words: list[str]
) -> None:
    result = run(*arguments, "-t", folder, stdin=stdin)
    assert (result.code, result.out) == (2, b"")
    for word in words:
        assert word in result.err


def test_a_broken_tokenizer_file_is_named(run: Run, tmp_path: Path) -> None:
    broken = tmp_path / "tokenizer.json"
    broken.write_text('{"version": "1.0", "model"')
    result = run("count", "-t", broken, stdin=b"fox")
    assert result.code == 2
    assert str(broken) in result.err


def _python(code: str) -> list[str]:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_help_and_import_leave_the_heavy_modules_alone() -> None:
    heavy = "print([m for m in ('numpy', 'rich', 'pyarrow', 'tokenizers') if m in sys.modules])"
    assert _python(f"import sys, tokenmill; {heavy}") == ["[]"]
    quiet = "contextlib.redirect_stdout(io.StringIO())"
    help_first = (
        f"import contextlib, io, sys\nfrom tokenmill.cli import main\nwith {quiet}: main(['--help'])\n"
    )
    assert _python(help_first + heavy) == ["[]"]


def _command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "tokenmill.cli", *map(str, arguments)]


def test_as_a_process_data_and_words_come_apart(folder: Path) -> None:
    done = subprocess.run(_command("count", "-t", folder), input=b"fox", capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert int(done.stdout) > 0
    done = subprocess.run(_command("count", "-t", "missing"), input=b"fox", capture_output=True)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"tokenmill: error: missing: ")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_long_output_arrives_whole(folder: Path, tmp_path: Path, unbuffered: str) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"many words " * 30_000)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(_command("encode", "-t", folder, text), env=environment, capture_output=True)
    assert done.returncode == 0
    expected = tokenmill.load(folder).encode(text.read_bytes())
    assert done.stdout.split() == [str(number).encode() for number in expected]


def test_a_reader_that_goes_away_is_no_error(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"many words " * 200_000)
    process = subprocess.Popen(
        _command("encode", "-t", folder, text), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    words = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert words == b""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_ctrl_c_ends_with_130_and_no_traceback(folder: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        _command("count", "-t", folder, pipe), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with pipe.open("wb"):  # returns when the command has opened its end, and waits for text
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err == b"tokenmill: stopped\n"
