"""Texts in, results out: files or standard input, standard output or a file that appears whole."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from .streams import naming, open_stdin, read_stdin, say, write_stdout
from .usage import UsageError

__all__ = [
    "BINARY",
    "STDIN",
    "as_json",
    "as_text",
    "check_output",
    "check_read_once",
    "check_remote",
    "check_text",
    "expand",
    "hinting",
    "is_pipe",
    "is_remote",
    "is_slashed",
    "open_input",
    "read_input",
    "read_inputs",
    "source",
    "write_output",
    "write_summary",
    "write_whole",
]

STDIN = "-"
BINARY = "--binary takes the bytes as they are"
"""The hint for a file that is not text but is meant."""

_MOST_SHOWN = 60
"""The most characters that an error shows of a text that was taken for the name of a file."""
_START = 16
"""The first bytes, which tell whether a file is text."""
_IN_MEMORY = 1 << 26
"""The most bytes for standard output that are kept in memory; more go to a temporary file."""
_BLOCK = 1 << 20
"""Bytes of that file that are read at once."""


def expand(files: Iterable[str], *, no_file: str | None = None) -> list[str]:
    """Every file that is meant: the matches of a glob in sorted order, folders among them left out.

    What exists under the name given is never read as a pattern. ``no_file`` is the hint for several words
    that match nothing.
    """
    return [name for given in files for name in _matches(given, no_file)]


def _matches(given: str, no_file: str | None) -> list[str]:
    import glob

    if not given:
        raise UsageError("the name of a file is empty")
    if given == STDIN or not glob.has_magic(given) or os.path.lexists(given):
        return [given]
    found = sorted(name for name in glob.glob(given, recursive=True) if not Path(name).is_dir())  # noqa: PTH207
    if not found and no_file is not None and len(given.split()) > 1:
        raise UsageError(f"{_short(given)}: no file matches", hint=no_file)
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file matches", given)
    return found


def check_read_once(names: Iterable[str], *, tokenizer: str | None = None) -> None:
    """Raise ``UsageError`` for a pipe that would be read twice, as a text or as the tokenizer.

    The first reading takes all that is in it; the second would find nothing, or wait for ever.
    """
    pipes: dict[object, str] = {}
    if tokenizer is not None and (pipe := _pipe_at(tokenizer)) is not None:
        pipes[pipe] = tokenizer
    for name in names:
        pipe = _pipe_of_stdin() if name == STDIN else _pipe_at(name)
        if pipe is None:
            continue
        if pipe in pipes:
            said = f"{source(name)}: can be read only once, and is given twice"
            if pipes[pipe] != name:
                said = f"{source(pipes[pipe])} and {source(name)}: one pipe, which can be read only once"
            raise UsageError(said, hint="save what comes through it to a file first")
        pipes[pipe] = name


def _pipe_of_stdin() -> object:
    """An identity of standard input, which can be read only once, whatever it is."""
    try:
        return STDIN if sys.stdin is None else _pipe(os.fstat(sys.stdin.fileno())) or STDIN
    except OSError:
        return STDIN


def is_pipe(name: str) -> bool:
    """Whether a file can be read only once."""
    return _pipe_at(name) is not None


def _pipe_at(name: str) -> object:
    """An identity of a pipe; ``None`` for what can be read again."""
    try:
        return _pipe(os.stat(name))  # noqa: PTH116  # a row of ids is no Path
    except (OSError, ValueError):
        return None


def _pipe(status: os.stat_result) -> object:
    is_pipe = stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode)
    return (status.st_dev, status.st_ino) if is_pipe else None


def read_inputs(
    files: Iterable[str],
    *,
    tokenizer: str | None = None,
    no_file: str | None = None,
) -> Iterator[tuple[str, bytes]]:
    """``(name, content)`` of each file, byte for byte; ``-``, or no file at all, is standard input.

    Each is read once, when its turn comes; a pipe that is given twice, or is also the tokenizer, is refused
    at once. ``no_file`` is the hint for a word that is neither a file nor looks like the name of one.
    """
    names = expand(files, no_file=no_file) or [STDIN]
    check_read_once(names, tokenizer=tokenizer)
    return _contents(names, no_file)


def _contents(names: Iterable[str], no_file: str | None) -> Iterator[tuple[str, bytes]]:
    for name in names:
        with hinting(name, no_file):
            content = read_input(name)
        yield name, content


def check_text(name: str, content: bytes, *, hint: str | None = None) -> None:
    """Raise ``UsageError`` for content that begins like a compressed file, UTF-16 or UTF-32."""
    from .._files import not_text

    reason = not_text(content[:_START])
    if reason is not None:
        raise UsageError(f"{source(name)}: {reason}", hint=hint)


@contextlib.contextmanager
def hinting(name: str, no_file: str | None) -> Iterator[None]:
    """Add the hint ``no_file`` to the error for a missing file whose name does not look like one."""
    try:
        yield
    except OSError as error:
        is_word = " " in name or not (os.sep in name or Path(name).suffix)
        if no_file is None or not is_word or error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):
            raise
        raise UsageError(f"{_short(name)}: {error.strerror}", hint=no_file) from error


def _short(name: str) -> str:
    return name if len(name) <= _MOST_SHOWN else name[:_MOST_SHOWN] + "…"


def read_input(name: str) -> bytes:
    """What is in one file, or comes from standard input."""
    if name == STDIN:
        return read_stdin()
    with naming(name):
        return Path(name).read_bytes()


@contextlib.contextmanager
def open_input(name: str) -> Iterator[IO[bytes]]:
    """A file or standard input, to be read in parts."""
    if name == STDIN:
        with open_stdin() as stdin:
            yield stdin
    else:
        with naming(name), Path(name).open("rb") as opened:
            yield opened


def source(name: str) -> str:
    """What a message calls an input."""
    return "standard input" if name == STDIN else name


def as_text(name: str, content: bytes) -> str:
    """``content`` decoded as UTF-8; the error for other bytes names the file and what they are."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        check_text(name, content)
        raise UsageError(
            f"{source(name)}: byte {error.start} is not UTF-8",
            hint="`tokenmill encode` takes any bytes; here a text is needed",
        ) from error


def as_json(result: object) -> bytes:
    """One JSON document on a line of its own, without escapes unless it has a lone surrogate."""
    try:
        return json.dumps(result, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(result).encode() + b"\n"


def is_slashed(out: str) -> bool:
    """Whether a name ends with a slash, and so means a folder; a ``Path`` would drop the slash."""
    return out.endswith(tuple(filter(None, (os.sep, os.altsep))))


def is_remote(out: str) -> bool:
    """Whether a name is a URL."""
    if "://" not in out:
        return False
    from .._remote import is_url

    return is_url(out)


def check_remote(out: str) -> None:
    """Refuse a URL that cannot be written to; called before the work begins."""
    if is_remote(out):
        from .._remote import check_writable

        check_writable(out)


def check_output(out: str | None, *, option: str = "--out") -> None:
    """Refuse before the work begins what ``write_output`` would refuse after it."""
    if out is None or out == STDIN:
        return
    _check_name(out, option)
    if is_remote(out):
        check_remote(out)
    elif Path(out).is_dir():
        raise _is_a_folder(out, option)
    elif not (folder := Path(out).parent).is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(folder))


def _check_name(out: str, option: str) -> None:
    if not out:
        raise UsageError(f"{option} is empty", hint=f"{option} FILE, or leave it out")
    if is_slashed(out):
        raise UsageError(f"{out}: is the name of a folder", hint=f"{option} {out}NAME")


def _is_a_folder(out: str, option: str) -> UsageError:
    return UsageError(f"{out}: is a folder", hint=f"{option} {out}/NAME")


def write_output(out: str | None, content: bytes | Iterable[bytes], *, option: str = "--out") -> None:
    """Write to standard output, or to the file or URL ``out``, which is written completely or not at all.

    What is long comes in pieces. ``option`` is what the name was given with.
    """
    pieces = [content] if isinstance(content, bytes) else content
    if out is None or out == STDIN:
        write_stdout(pieces)
        return
    _check_name(out, option)
    from .._remote import write_to

    with naming(out):
        try:
            write_to(out, pieces)
        except IsADirectoryError as error:
            if error.filename != out:
                raise
            raise _is_a_folder(out, option) from error


def write_whole(out: str | None, pieces: Iterable[bytes]) -> None:
    """As ``write_output``, for pieces that are made as they are written.

    An error while they are made leaves standard output empty too, which the shell may have sent to a file.
    """
    if out is not None and out != STDIN:
        write_output(out, pieces)
        return
    import tempfile

    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
        for piece in _gathered(pieces):
            with naming(tempfile.gettempdir()):
                file.write(piece)
        file.seek(0)
        write_output(None, iter(lambda: file.read(_BLOCK), b""))


def _gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same in fewer pieces."""
    held, size = [], 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _BLOCK:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


def write_summary(saved: str, content: bytes, *, what: str = "the tokenizer is") -> None:
    """Print the report on a file that was saved. The file stays if printing fails."""
    try:
        write_output(None, content)
    except BrokenPipeError:
        raise
    except OSError:
        say(f"{what} saved: {saved}")
        raise
