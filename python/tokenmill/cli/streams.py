"""The standard streams, any of which may be closed, full, or without a reader.

``sys.stdin``, ``sys.stdout`` and ``sys.stderr`` are ``None`` where the process was started without them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any

from .usage import UsageError

__all__ = [
    "check_stdout",
    "is_terminal",
    "naming",
    "open_stdin",
    "print_page",
    "read_stdin",
    "say",
    "write_stdout",
]


def is_terminal(stream: IO[Any] | None) -> bool:
    """Whether a person reads what is written there, or types what is read."""
    return stream is not None and not stream.closed and stream.isatty()


@contextlib.contextmanager
def naming(name: str) -> Iterator[None]:
    """Put this name into an ``OSError`` that does not say which file failed."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, name) from error


# ---- words for people -------------------------------------------------------------------------


def say(words: str) -> None:
    """Print a line for people on stderr. If it cannot be written, the command goes on."""
    if sys.stderr is None:  # print would take stdout instead
        return
    try:
        print(words, file=sys.stderr, flush=True)
    except OSError:
        _give_up(sys.stderr)


# ---- data -------------------------------------------------------------------------------------


def check_stdout() -> None:
    """Raise ``UsageError`` where there is no standard output."""
    if sys.stdout is None or sys.stdout.closed:
        raise UsageError("standard output is closed", hint="send it to a file or to /dev/null")


def write_stdout(pieces: Iterable[bytes]) -> None:
    """Write all pieces to standard output; when this returns, the system has taken them."""
    with _stdout() as stdout:
        stdout.flush()
        for piece in pieces:
            left = memoryview(piece)
            while left:  # with PYTHONUNBUFFERED a write may take a part only
                left = left[stdout.buffer.write(left) :]
        stdout.buffer.flush()


def print_page(page: str) -> None:
    """Print a page of help."""
    with _stdout() as stdout:
        stdout.write(page)
        stdout.flush()


@contextlib.contextmanager
def _stdout() -> Iterator[Any]:
    check_stdout()
    try:
        with naming("standard output"):
            yield sys.stdout
    except OSError:
        _give_up(sys.stdout)
        raise


def _give_up(stream: IO[Any]) -> None:
    """Discard what is still buffered, so that the interpreter does not fail to write it when it exits."""
    with contextlib.suppress(OSError, ValueError):  # the stream has no file descriptor
        number = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)


# ---- standard input ---------------------------------------------------------------------------


@contextlib.contextmanager
def open_stdin() -> Iterator[IO[bytes]]:
    """Standard input, to be read; on a terminal a line says that input is expected."""
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("standard input is closed", hint="name a FILE, or pipe something in")
    if is_terminal(sys.stdin):
        say("reading standard input; end it with Ctrl-D")
    with naming("standard input"):
        yield sys.stdin.buffer


def read_stdin() -> bytes:
    """All of standard input."""
    with open_stdin() as stdin:
        content: bytes | None = stdin.read()
        if content is None:  # standard input is non-blocking and has no data yet
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return content
