"""The documents that ``encode`` reads: whole files, lines or rows of files, or texts in the command itself.

They come in batches. One batch is in memory at a time, so that a corpus of any size can be encoded; only a
document that is longer than a batch takes more.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from .corpora import Rows, opened, refuse_lines, text_of
from .files import BINARY, check_read_once, check_text, hinting, open_input, read_inputs, source
from .given import COMMAND, hint_of_text

__all__ = ["Batch", "Row", "documents"]

_BATCH = 1 << 24
"""Bytes of a batch, about."""
_ENTRY = 64
"""Bytes that a document takes besides its text, about."""
_ALONE = 1 << 22
"""A document of this many bytes is a batch of its own, so that threads share the work on it."""
_BLOCK = 1 << 20
"""Bytes of lines that are read at once."""


class Row(int):
    """The number of a row: of JSONL or of a table, and no line of text."""


class Batch(NamedTuple):
    """Documents, and where each is from: the name of a file, and the line or row, from 1 on, if it is one."""

    texts: list[bytes]
    names: list[str]
    lines: list[int | None]

    def place(self, index: int) -> str:
        """What a message calls a document."""
        line = self.lines[index]
        unit = "row" if isinstance(line, Row) else "line"
        return source(self.names[index]) + ("" if line is None else f": {unit} {line}")


def documents(
    names: list[str],
    texts: list[bytes],
    *,
    by_lines: bool,
    rows: Rows,
    tokenizer: str | None = None,
    binary: bool = False,
) -> Iterator[Batch]:
    """The documents of the files of these names, or those in ``texts``, in their order.

    Each file is read once, when its turn comes; a pipe that is given twice, or is also the tokenizer, is
    refused at once. What is neither text nor rows is refused unless it is meant (``binary``): then every file
    is taken as it is.
    """
    if texts:
        return _grouped(_given(texts, by_lines=by_lines))
    no_file = hint_of_text(names)
    if not binary:
        check_read_once(names, tokenizer=tokenizer)
        return _grouped(part for name in names for part in _of(name, no_file, rows, by_lines=by_lines))
    if by_lines:
        check_read_once(names, tokenizer=tokenizer)
        return _grouped(part for name in names for part in _lines_of(name, no_file))
    inputs = read_inputs(names, tokenizer=tokenizer, no_file=no_file)
    return _grouped(Batch([content], [name], [None]) for name, content in inputs)


def _of(name: str, no_file: str | None, rows: Rows, *, by_lines: bool) -> Iterator[Batch]:
    """The documents of a file."""
    with hinting(name, no_file), opened(name, rows) as found:
        if found.form != "text":
            if by_lines:
                raise refuse_lines(name)
            for first, texts in found.documents():
                kept = [(text, Row(first + i)) for i, text in enumerate(texts) if text is not None]
                yield Batch([text for text, _ in kept], [name] * len(kept), [row for _, row in kept])
        elif by_lines:
            blocks = found.blocks()
            start = next(blocks, b"")
            check_text(name, start, hint=BINARY)
            yield from _numbered(name, _blocks(chain([start], blocks)))
        else:
            yield Batch([text_of(name, found)], [name], [None])


def _given(texts: list[bytes], *, by_lines: bool) -> Iterator[Batch]:
    for text in texts:
        if by_lines:
            yield from _numbered(COMMAND, [_parted(text)] if text else [])
        else:
            yield Batch([text], [COMMAND], [None])


def _parted(text: bytes) -> list[bytes]:
    """The lines of a text without their line ends; a final line end does not begin another line."""
    *lines, last = text.split(b"\n")
    if b"\r" in text:
        lines = [line.removesuffix(b"\r") for line in lines]
    return [*lines, last] if last else lines


def _lines_of(name: str, no_file: str | None) -> Iterator[Batch]:
    """The lines of a file, many at a time, as ``train --documents lines`` takes them."""
    with hinting(name, no_file), open_input(name) as file:
        yield from _numbered(name, _blocks(iter(lambda: _read(file.read(_BLOCK)), b"")))


def _read(block: bytes | None) -> bytes:
    if block is None:  # the file is non-blocking and has no data yet
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return block


def _blocks(blocks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The lines of a text that comes in blocks."""
    begun: list[bytes] = []  # a line that has no end yet; joined once, however long it is
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield _parted(b"".join([*begun, block[:end]]))
            begun = []
        begun.append(block[end:])
    if last := b"".join(begun):
        yield [last]


def _numbered(name: str, parts: Iterable[list[bytes]]) -> Iterator[Batch]:
    number = 1
    for lines in parts:
        yield Batch(lines, [name] * len(lines), list(range(number, number + len(lines))))
        number += len(lines)


def _grouped(parts: Iterable[Batch]) -> Iterator[Batch]:
    """The parts, joined to batches of up to the size of one."""
    batch, size = Batch([], [], []), 0
    for part in parts:
        held = sum(map(len, part.texts)) + _ENTRY * len(part.texts)
        if batch.texts and (held >= _ALONE or size + held > _BATCH):
            yield batch
            batch, size = Batch([], [], []), 0
        batch.texts.extend(part.texts)
        batch.names.extend(part.names)
        batch.lines.extend(part.lines)
        size += held
        if held >= _ALONE:
            yield batch
            batch, size = Batch([], [], []), 0
    if batch.texts:
        yield batch
