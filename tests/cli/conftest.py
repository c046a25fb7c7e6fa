"""A small tokenizer on disk, and the command line run inside this process."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill.cli import main

TEXT = "The quick brown fox jumps over the lazy dog.\nDer Käse, das Brötchen; 你好 🦊\n" * 4
END = "<|end|>"


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: bytes
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON document and nothing else."""
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("count", "-t", folder, stdin=b"text")``: one command, its exit code and both its outputs."""

    def call(*arguments: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        return Result(code, out, err.decode())

    return call


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a saved byte-level tokenizer that has one special token."""
    target = tmp_path_factory.mktemp("tokenizer")
    tokenizer = tokenmill.train(texts=[TEXT], num_merges=40, special_tokens=[END])
    tokenizer.save(target)
    return target


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    """A text in a file, with line ends and characters of every width."""
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode())
    return path
