"""A file that is opened here: decompressed, fetched, or read as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, BinaryIO, Literal

from .._core import json_lines
from ..errors import TrainingError
from .decompressed import Gzip, Stored, Stream, zstd
from .faults import unusable
from .kinds import START, compression, kind_of, other_than_its_name
from .tables import Table, of_arrow_file, of_arrow_stream, of_parquet

__all__ = ["Opened", "Source"]

_BLOCK = 1 << 20
"""Bytes that are read at once."""
_NAMES = {"parquet": "Parquet", "arrow": "an Arrow file", "arrow-stream": "an Arrow stream"}


class Source:
    """A file of documents. ``open`` opens it, when its turn comes."""

    __slots__ = ("_column", "_field", "_file", "name", "size")

    def __init__(
        self, name: str, size: int, file: Callable[[], BinaryIO], *, field: str | None, column: str | None
    ) -> None:
        self.name = name
        self.size = size
        """Its bytes as it is stored; 0 if they are not known."""
        self._file = file
        self._field = field
        self._column = column

    def stored(self) -> BinaryIO:
        """The file as it is stored, opened."""
        return self._file()

    def open(self) -> Opened:
        """The file, opened, and known for what it is by its first bytes."""
        file = self._file()
        try:
            return self._opened(file)
        except BaseException:
            file.close()
            raise

    def _opened(self, file: BinaryIO) -> Opened:
        name = self.name
        start = _start(file)
        if reason := other_than_its_name(start, name):
            raise unusable(name, reason)
        how = compression(start)
        stored = Stored(file, start)
        if how is None:
            kind = kind_of(start, name, self._field, self._column)
            if kind in ("parquet", "arrow"):
                if not file.seekable():
                    raise unusable(
                        name, f"is {_NAMES[kind]}, and can be read front to back only; save it first"
                    )
                file.seek(0)
                of = of_parquet if kind == "parquet" else of_arrow_file
                return Opened(name, file, "rows", table=of(file, name, self._column, self.size))
            stream: Stream = stored
        else:
            stream = Gzip(stored, name) if how == "gzip" else zstd(stored, name)
            inner = _start(stream)
            kind = kind_of(inner, name, self._field, self._column)
            if kind in ("parquet", "arrow"):
                command = "gunzip" if how == "gzip" else "unzstd"
                raise unusable(
                    name,
                    f"is {_NAMES[kind]}, compressed as a whole, which cannot be read so; decompress it with "
                    f"{command} first",
                )
            stream = Started(stream, inner)
        if kind == "arrow-stream":
            return Opened(name, file, "rows", table=of_arrow_stream(stream, name, self._column))
        form: Literal["jsonl", "text"] = "jsonl" if kind == "jsonl" else "text"
        return Opened(name, file, form, stream=stream, field="text" if self._field is None else self._field)


class Opened:
    """A file that is open: bytes of text or JSONL to be read, or batches of rows."""

    __slots__ = ("_file", "_stream", "_table", "field", "form", "name")

    def __init__(
        self,
        name: str,
        file: BinaryIO,
        form: Literal["text", "jsonl", "rows"],
        *,
        stream: Stream | None = None,
        table: Table | None = None,
        field: str = "",
    ) -> None:
        self.name = name
        self._file = file
        self._stream = stream
        self._table = table
        self.form = form
        self.field = field
        """Which string of a line of JSONL is a document."""

    @property
    def position(self) -> int:
        """Bytes of the file, as it is stored, that were read."""
        if self._stream is not None:
            return self._stream.position
        assert self._table is not None
        return self._table.position

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes of text or JSONL; none at the end."""
        assert self._stream is not None
        return self._stream.read(size)

    def batches(self) -> Iterator[Any]:
        """The rows as Arrow arrays, one after the other."""
        assert self._table is not None
        return self._table.arrays()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    # For those who want the documents in Python.

    def blocks(self) -> Iterator[bytes]:
        """The bytes of text or JSONL, in parts."""
        while block := self.read(_BLOCK):
            yield block

    def whole(self) -> bytes:
        """All bytes of a text."""
        whole = BytesIO()
        whole.writelines(self.blocks())
        return whole.getvalue()

    def table(self) -> Table:
        """The table, of which whole batches can be read."""
        assert self._table is not None
        return self._table

    def documents(self) -> Iterator[tuple[int, list[bytes | None]]]:
        """The documents of rows, many at a time, after the number of the first: None where a row is none."""
        row = 1
        for texts in self._texts() if self._table is None else map(_to_list, self.batches()):
            yield row, texts
            row += len(texts)

    def _texts(self) -> Iterator[list[bytes | None]]:
        row, start = 1, 0
        for lines in _whole_lines(self.blocks()):
            try:
                texts = json_lines(lines, self.field, row, start)
            except TrainingError as error:
                message = f"{self.name}: {error}"
                raise TrainingError(message, path=self.name, row=error.row, byte=error.byte) from error
            yield texts
            row += len(texts)
            start += len(lines)


def _to_list(array: Any) -> list[bytes | None]:
    texts: list[bytes | None] = array.to_pylist()
    return texts


def _whole_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in parts that end with a line."""
    begun: list[bytes] = []
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join([*begun, block[:end]])
            begun = []
        begun.append(block[end:])
    if last := b"".join(begun):
        yield last


class Started:
    """A stream whose first bytes were read."""

    def __init__(self, stream: Stream, start: bytes) -> None:
        self._stream = stream
        self._start = start

    @property
    def position(self) -> int:
        """Bytes of the file as it is stored that were read."""
        return self._stream.position

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes; none at the end."""
        if self._start:
            given, self._start = self._start[:size], self._start[size:]
            return given
        return self._stream.read(size)


def _start(stream: Stream | BinaryIO) -> bytes:
    """The first bytes; fewer where the file has fewer."""
    start = b""
    while len(start) < START and (more := stream.read(START - len(start))):
        start += more
    return start
