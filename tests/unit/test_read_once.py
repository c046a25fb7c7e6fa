"""A tokenizer's file may be a pipe: it is opened once and read once."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from gguf_files import small_gpt2

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "##s"]
NAMES = ["tokenizer.json", "ranks.tiktoken", "vocab.txt", "model.gguf", "vocab.json", "merges.txt"]


def pipe(path: Path, content: bytes) -> threading.Thread:
    """A pipe at this path that gives these bytes once, in parts."""
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb", buffering=0) as end:
            for start in range(0, len(content), 1000):
                end.write(content[start : start + 1000])

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    return writer


def content(native: Any, folder: Path, name: str) -> bytes:
    if name == "vocab.txt":
        return "\n".join(WORDS).encode()
    if name == "model.gguf":
        return small_gpt2()
    native.train(texts=["hello world hello"], num_merges=9, split="none").save(folder / name, lossy=True)
    return (folder / name).read_bytes()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are needed")
@pytest.mark.parametrize("name", NAMES)
def test_a_pipe_is_loaded_as_the_file_is(native: Any, tmp_path: Path, name: str) -> None:
    options = {} if name in {"tokenizer.json", "vocab.txt", "model.gguf"} else {"split": "none"}
    (tmp_path / "file").mkdir()
    of_file = content(native, tmp_path / "file", name)
    (tmp_path / "file" / name).write_bytes(of_file)
    expected = native.load(tmp_path / "file" / name, **options)
    (tmp_path / "pipe").mkdir()
    for beside in ("vocab.json", "merges.txt"):  # one of the pair is a pipe, the other a file
        if name in {"vocab.json", "merges.txt"} and beside != name:
            (tmp_path / "pipe" / beside).write_bytes((tmp_path / "file" / beside).read_bytes())
    writer = pipe(tmp_path / "pipe" / name, of_file)
    found = native.load(tmp_path / "pipe" / name, **options)
    writer.join()
    assert found == expected
    assert found.load_report.tolerated == expected.load_report.tolerated


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are needed")
def test_a_pipe_is_loaded_by_the_number_of_an_open_file(native: Any, tmp_path: Path) -> None:
    """As `<(command)` of a shell gives one."""
    expected = native.train(texts=["hello world hello"], num_merges=9)
    expected.save(tmp_path / "t.json")
    out, end = os.pipe()

    def write() -> None:
        with os.fdopen(end, "wb") as pipe:
            pipe.write((tmp_path / "t.json").read_bytes())

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    assert native.load(f"/dev/fd/{out}") == expected
    writer.join()
    os.close(out)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are needed")
@pytest.mark.parametrize("written", [None, b"{"], ids=["nobody writes", "the writer is silent"])
@pytest.mark.parametrize("goes_on", [False, True], ids=["interrupted", "reads go on after a signal"])
def test_who_waits_for_a_pipe_hears_ctrl_c(
    native: Any, tmp_path: Path, written: bytes | None, goes_on: bool
) -> None:
    # Polars, for one, has reads go on.
    signal.siginterrupt(signal.SIGINT, not goes_on)
    os.mkfifo(tmp_path / "pipe")
    done = threading.Event()

    def write() -> None:
        with (tmp_path / "pipe").open("wb", buffering=0) as end:
            end.write(written or b"")
            done.wait()

    if written is not None:
        threading.Thread(target=write, daemon=True).start()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            native.load(tmp_path / "pipe")
    finally:
        signal.siginterrupt(signal.SIGINT, True)
    done.set()
    timer.join()
