"""The documents that commands read: of text, JSONL and tables, compressed or not, here or at URLs."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, NamedTuple, cast

from .files import (
    BINARY,
    STDIN,
    check_read_once,
    check_text,
    expand,
    hinting,
    open_input,
    read_inputs,
    source,
)
from .streams import naming, open_stdin
from .usage import UsageError

if TYPE_CHECKING:
    from tokenmill.sources import Opened

__all__ = [
    "Rows",
    "add_rows",
    "contents",
    "in_parts",
    "is_plain",
    "names_of",
    "opened",
    "refuse_lines",
    "rows_of",
    "stored",
    "text_of",
]


class Rows(NamedTuple):
    """What in rows is a document: as ``--field`` and ``--column`` say."""

    field: str | None = None
    column: str | None = None


def add_rows(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """``--field`` and ``--column``."""
    parser.add_argument(
        "--field",
        metavar="NAME",
        help="the files are JSONL, and this string of each line is a text: text, meta.body (default for "
        ".jsonl and .ndjson: text)",
    )
    parser.add_argument(
        "--column",
        metavar="NAME",
        help="the column of Parquet and Arrow files that has the texts (default: text)",
    )


def rows_of(args: argparse.Namespace) -> Rows:
    """What ``add_rows`` was given."""
    return Rows(args.field, args.column)


def names_of(files: Iterable[str], *, no_file: str | None = None) -> list[str]:
    """Every file that is meant: as ``expand``, and the files in folders and at URLs."""
    return [name for given in files for name in _names(given, no_file)]


def _names(given: str, no_file: str | None) -> list[str]:
    if given == STDIN or not given:
        return expand([given], no_file=no_file)
    from tokenmill import sources

    if Path(given).is_dir():
        return sources.in_folder(given)
    if sources.is_url(given) and not os.path.lexists(given):
        return sources.names_of(given)
    try:
        return expand([given], no_file=no_file)
    except FileNotFoundError:  # a pattern that matches folders alone
        return sources.names_of(given)


@contextlib.contextmanager
def opened(name: str, rows: Rows) -> Iterator[Opened]:
    """A file or standard input, opened and known for what it is."""
    from tokenmill import sources

    with contextlib.ExitStack() as stack:
        if name == STDIN:
            stdin = stack.enter_context(open_stdin())
            # With a column asked for, what begins as an Arrow stream is one: no text begins so.
            column = rows.column or "text"
            made = sources.Source("standard input", 0, lambda: _again(stdin), field=rows.field, column=column)
        else:
            stack.enter_context(naming(name))
            made = sources.opener(name, **rows._asdict())
        found = made.open()
        stack.callback(found.close)
        yield found


@contextlib.contextmanager
def stored(name: str) -> Iterator[IO[bytes]]:
    """A file or standard input as it is stored."""
    from tokenmill import sources

    if name != STDIN and sources.is_url(name) and not os.path.lexists(name):
        with sources.opener(name).stored() as file:
            yield file
    else:
        with open_input(name) as file:
            yield file


def _again(stdin: IO[bytes]) -> BinaryIO:
    """Standard input as a file that can be closed without closing it."""
    try:
        number = stdin.fileno()
    except OSError:  # there is none after it
        return io.BytesIO(stdin.read())
    return cast("BinaryIO", open(os.dup(number), "rb", buffering=0))  # noqa: PTH123  # a descriptor


def contents(
    files: Iterable[str],
    rows: Rows,
    *,
    tokenizer: str | None = None,
    no_file: str | None = None,
    binary: bool = False,
) -> Iterator[tuple[str, Iterator[bytes] | bytes]]:
    """``(name, content)`` of each file, byte for byte; of a file of rows the documents, one after the other.

    No file at all is standard input. Each is read once, when its turn comes; a pipe that is given twice, or
    is also the tokenizer, is refused at once. ``no_file`` is the hint for a word that is neither a file nor
    looks like the name of one. Other files than text and rows are refused, unless they are ``binary``: then
    all are taken as they are.
    """
    names = names_of(files, no_file=no_file) or [STDIN]
    if binary:
        return iter(read_inputs(names, tokenizer=tokenizer, no_file=no_file))
    check_read_once(names, tokenizer=tokenizer)
    return _contents(names, rows, no_file)


def _contents(
    names: Iterable[str], rows: Rows, no_file: str | None
) -> Iterator[tuple[str, Iterator[bytes] | bytes]]:
    for name in names:
        with hinting(name, no_file), opened(name, rows) as found:
            if found.form == "text":
                yield name, text_of(name, found)
            else:
                yield name, (text for _, texts in found.documents() for text in texts if text is not None)


def text_of(name: str, found: Opened, *, hint: str | None = BINARY) -> bytes:
    """The whole of a text that is open."""
    content = found.whole()
    check_text(name, content, hint=hint)
    return content


def is_plain(name: str, rows: Rows) -> bool:
    """Whether a file is text that can be read as it stands on the disk."""
    from tokenmill import sources

    return name != STDIN and isinstance(sources.source_of(name, **rows._asdict()), str)


def in_parts(name: str, rows: Rows) -> Iterator[tuple[int | None, bytes]]:
    """The documents of a file with their rows; a text is one, without a row."""
    with opened(name, rows) as found:
        if found.form == "text":
            yield None, text_of(name, found, hint=None)
            return
        for first, texts in found.documents():
            yield from ((first + i, text) for i, text in enumerate(texts) if text is not None)


def refuse_lines(name: str) -> UsageError:
    """The error for lines asked of a file of rows."""
    return UsageError(
        f"{source(name)}: each row of this file is a document",
        hint="leave --documents lines out, which is for text",
    )
