"""The documents that ``encode`` reads: whole files, lines of files, or texts in the command itself.

They come in batches. One batch is in memory at a time, so that a corpus of any size can be encoded; only a
document that is longer than a batch takes more.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .files import STDIN, check_read_once, expand, hinting, open_input, read_inputs, source
from .streams import say
from .usage import UsageError

__all__ = ["COMMAND", "Batch", "documents", "texts_given"]

COMMAND = "the command"
"""What stands in the place of a file's name for a text in the command itself."""

_BATCH = 1 << 24
"""Bytes of a batch, about."""
_ENTRY = 64
"""Bytes that a document takes beside its text, about."""
_ALONE = 1 << 22
"""Bytes. A document of this size is a batch of its own: threads share it, not only the documents."""
_BLOCK = 1 << 20
"""Bytes of lines that are read at once."""
_ENDING = re.compile(r"\.\w{1,10}$")

_NO_FILE = "a text itself goes in quotes, or after --text: --text 'some words'"
"""What to do about a word that is no file."""


class Batch(NamedTuple):
    """Documents, and where each is from: the name of a file, and the line, from 1 on, if it is one."""

    texts: list[bytes]
    names: list[str]
    lines: list[int | None]

    def place(self, index: int) -> str:
        """What a message calls a document."""
        line = self.lines[index]
        return source(self.names[index]) + ("" if line is None else f": line {line}")


def texts_given(files: list[str], texts: list[str]) -> list[bytes]:
    """The texts that the command itself holds: those of ``--text``, or a FILE that is one.

    That is a single one, with white space in it, which is no file and does not look like the path of one.
    """
    if texts:
        if files:
            raise UsageError("give FILE or --text, not both")
        for text in texts:
            if os.path.isfile(text):  # noqa: PTH113  # a Path raises where a text is too long for a name
                say(f"hint: without --text the file {text} is encoded; this is its name")
        return [os.fsencode(text) for text in texts]
    return [os.fsencode(text) for text in files if len(files) == 1 and _is_text(text)]


def _is_text(word: str) -> bool:
    if len(word.split()) < 2 or {"/", os.sep} & set(word) or _ENDING.search(word) or os.path.lexists(word):
        return False
    from glob import glob

    return not glob(word)  # noqa: PTH207  # `what is this?` is a pattern too


def documents(
    files: list[str], texts: list[bytes], *, by_lines: bool, tokenizer: str | None = None
) -> Iterator[Batch]:
    """The documents of ``files``, or of standard input, or those in ``texts``, in their order.

    Each file is read once, when its turn comes; a pipe that is given twice, or is also the tokenizer, is
    refused at once.
    """
    if texts:
        return _grouped(_given(texts, by_lines=by_lines))
    if by_lines:
        names = expand(files) or [STDIN]
        check_read_once(names, tokenizer=tokenizer)
        return _grouped(part for name in names for part in _lines_of(name))
    inputs = read_inputs(files, tokenizer=tokenizer, no_file=_NO_FILE)
    return _grouped(Batch([content], [name], [None]) for name, content in inputs)


def _given(texts: list[bytes], *, by_lines: bool) -> Iterator[Batch]:
    for text in texts:
        if by_lines:
            yield from _numbered(COMMAND, [_parted(text)] if text else [])
        else:
            yield Batch([text], [COMMAND], [None])


def _parted(text: bytes) -> list[bytes]:
    """The lines of a text without their ends; what follows the last line end is a line if it is anything."""
    *lines, last = text.split(b"\n")
    if b"\r" in text:
        lines = [line.removesuffix(b"\r") for line in lines]
    return [*lines, last] if last else lines


def _lines_of(name: str) -> Iterator[Batch]:
    """The lines of a file, many at a time, as ``train --documents lines`` takes them."""
    with hinting(name, _NO_FILE), open_input(name) as file:
        yield from _numbered(name, _blocks(iter(lambda: _read(file.read(_BLOCK)), b"")))


def _read(block: bytes | None) -> bytes:
    if block is None:  # it does not block, and nothing is there yet
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
    """The parts, put together up to the size of a batch."""
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
