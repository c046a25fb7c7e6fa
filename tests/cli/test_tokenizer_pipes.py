"""``-t`` with a pipe: the tokenizer is what it is as a file, whatever its format."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import tokenmill

from .conftest import TEXT, Pipe, Run

VOCAB = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nworld\n##s\n"


def _saved(folder: Path, name: str) -> tuple[Path, tuple[str, ...]]:
    """A file of this format, and the options it needs."""
    path = folder / name
    if name == "vocab.txt":
        path.write_text(VOCAB)
        return path, ()
    tokenizer = tokenmill.train(texts=[TEXT], num_merges=40, split="gpt2")
    tokenizer.save(path, lossy=True)
    return path, () if name == "tokenizer.json" else ("--split", "gpt2")


@pytest.mark.parametrize("name", ["tokenizer.json", "ranks.tiktoken", "vocab.txt"])
def test_a_tokenizer_that_comes_through_a_pipe_is_the_same(
    run: Run, tmp_path: Path, pipe: Pipe, name: str
) -> None:
    path, options = _saved(tmp_path, name)
    content = path.read_bytes()
    for command in (["encode"], ["count"], ["inspect", "--json"], ["inspect", "--plan"]):
        stdin = b"" if "--plan" in command else b"hello worlds"
        expected = run(*command, "-t", path, *options, stdin=stdin)
        found = run(*command, "-t", pipe(content), *options, stdin=stdin)
        assert (found.code, found.out, found.err) == (expected.code, expected.out, expected.err)
        assert found.code == 0


def test_tokenizer_and_text_come_through_two_pipes(
    run: Run, folder: Path, tmp_path: Path, pipe: Pipe
) -> None:
    (tmp_path / "text").write_bytes(TEXT.encode())
    content = (folder / "tokenizer.json").read_bytes()
    expected = run("encode", "-t", folder, tmp_path / "text").out
    assert run("encode", "-t", pipe(content), pipe(TEXT.encode())).out == expected
    assert run("decode", "-t", pipe(content), pipe(expected)).out == TEXT.encode()


@pytest.mark.parametrize("content", [b"", b"{", b"no tokenizer"])
def test_a_pipe_without_a_tokenizer_is_named(run: Run, pipe: Pipe, content: bytes) -> None:
    path = pipe(content)
    result = run("count", "-t", path, stdin=b"fox")
    assert (result.code, result.out) == (2, b"")
    assert result.err.startswith(f"tokenmill: error: {path}: ")
    assert os.path.lexists(path)
