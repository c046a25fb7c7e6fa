"""Texts in, results out: files or standard input, standard output or a file that appears whole."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from .terminal import say
from .usage import UsageError

__all__ = ["STDIN", "as_json", "as_text", "read_inputs", "read_stdin", "source", "write_output"]

STDIN = "-"


def read_inputs(files: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """``(name, content)`` of each file, byte for byte; ``-``, or no file at all, is standard input."""
    for name in list(files) or [STDIN]:
        if name == STDIN:
            yield STDIN, read_stdin().read()
        else:
            yield name, Path(name).read_bytes()


def read_stdin() -> IO[bytes]:
    """Standard input, to be read; whoever sits before a terminal is told that it is waited for."""
    if sys.stdin.isatty():
        say("reading standard input; end it with Ctrl-D")
    return sys.stdin.buffer


def source(name: str) -> str:
    """What a message calls an input."""
    return "standard input" if name == STDIN else name


def as_text(name: str, content: bytes) -> str:
    """``content`` as UTF-8; what is none is an error that names file and byte."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{source(name)}: byte {error.start} is not UTF-8") from error


def as_json(result: object) -> bytes:
    """One JSON document on a line of its own; text stays readable."""
    return json.dumps(result, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def write_output(out: str | None, content: bytes | Iterable[bytes]) -> None:
    """Write to standard output, or to the file ``out``, which is replaced at once or not at all.

    What is long comes in pieces.
    """
    pieces = [content] if isinstance(content, bytes) else content
    if out is None or out == STDIN:
        sys.stdout.flush()
        for piece in pieces:
            left = memoryview(piece)
            while left:  # with PYTHONUNBUFFERED a write may take a part only
                left = left[sys.stdout.buffer.write(left) :]
        sys.stdout.buffer.flush()
        return
    target = Path(out).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(Path(out).parent))
    if target.is_dir():
        raise UsageError(f"{out}: is a folder", hint=f"--out {Path(out, 'NAME')}")
    if target.exists() and not target.is_file():  # a pipe or a device
        with target.open("wb") as file:
            file.writelines(pieces)
    else:
        _replace(target, pieces)


def _replace(target: Path, pieces: Iterable[bytes]) -> None:
    import tempfile

    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_mode(target))
        temporary.replace(target)
    except BaseException:
        temporary.unlink()
        raise


def _mode(target: Path) -> int:
    """The rights of the file that is replaced, else those that a new file would get."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
