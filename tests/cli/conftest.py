"""A small tokenizer on disk, and the command line run inside this process."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from exact.folders_made import byte_level, klass, make
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
Pipe = Callable[[bytes], str]


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


@pytest.fixture(scope="session")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose tokenizer names the tokens that begin and end a text, and puts the first before it."""
    begin = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    template = {
        "type": "TemplateProcessing",
        "single": [begin, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
    }
    roles = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    return make(
        tmp_path_factory.mktemp("named"),
        byte_level(["<s>", "</s>", "<pad>"], post_processor=template),
        tokenizer_config=klass("PreTrainedTokenizerFast", **roles),
    )


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    """A text in a file, with line ends and characters of every width."""
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode())
    return path


@pytest.fixture(params=["/dev/fd", "named"])
def pipe(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pipe]:
    """``pipe(content)``: the path of a pipe that gives this once, as ``<(...)`` makes it, or with a name."""
    if not (hasattr(os, "mkfifo") and Path("/dev/fd").exists()):
        pytest.skip("needs named pipes and /dev/fd")
    readers: list[int] = []
    writers: list[threading.Thread] = []

    def write(end: str | int, content: bytes) -> None:
        with contextlib.suppress(BrokenPipeError), open(end, "wb") as opened:  # noqa: PTH123
            opened.write(content)

    def make(content: bytes) -> str:
        end: str | int
        if request.param == "named":
            path = end = str(tmp_path / f"pipe{len(writers)}")
            os.mkfifo(path)
        else:
            reader, end = os.pipe()
            readers.append(reader)
            path = f"/dev/fd/{reader}"
        writers.append(threading.Thread(target=write, args=(end, content), daemon=True))
        writers[-1].start()
        return path

    yield make
    for reader in readers:
        os.close(reader)
    for writer in writers:
        writer.join(60)
