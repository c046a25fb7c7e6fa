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

__all__ = [
    "STDIN",
    "as_json",
    "as_text",
    "expand",
    "read_input",
    "read_inputs",
    "read_stdin",
    "source",
    "write_output",
]

STDIN = "-"

_MOST_SHOWN = 60
"""Characters of a text that was taken for the name of a file."""


def expand(files: Iterable[str]) -> list[str]:
    """Every file that is meant: the matches of a glob in sorted order, folders among them left out.

    What exists under the name given is never read as a pattern.
    """
    return [name for given in files for name in _matches(given)]


def _matches(given: str) -> list[str]:
    import glob

    if not given:
        raise UsageError("the name of a file is empty")
    if given == STDIN or not glob.has_magic(given) or os.path.lexists(given):
        return [given]
    found = sorted(name for name in glob.glob(given, recursive=True) if not Path(name).is_dir())  # noqa: PTH207
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file matches", given)
    return found


def read_inputs(files: Iterable[str], *, no_file: str | None = None) -> Iterator[tuple[str, bytes]]:
    """``(name, content)`` of each file, byte for byte; ``-``, or no file at all, is standard input.

    ``no_file`` is the hint for a word that is neither a file nor looks like the name of one.
    """
    for name in expand(files) or [STDIN]:
        try:
            yield name, read_input(name)
        except OSError as error:
            is_word = " " in name or not (os.sep in name or Path(name).suffix)
            if no_file is None or not is_word or error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):
                raise
            shown = name if len(name) <= _MOST_SHOWN else name[:_MOST_SHOWN] + "…"
            raise UsageError(f"{shown}: {error.strerror}", hint=no_file) from error


def read_input(name: str) -> bytes:
    """What is in one file, or comes from standard input."""
    return read_stdin().read() if name == STDIN else Path(name).read_bytes()


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
        raise UsageError(
            f"{source(name)}: byte {error.start} is not UTF-8",
            hint="`tokenmill encode` takes any bytes; here a text is needed",
        ) from error


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
    if not out:
        raise UsageError("--out is empty", hint="--out FILE, or leave it out for standard output")
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

    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:  # it names the temporary file
        raise OSError(error.errno, error.strerror, str(target)) from error
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
