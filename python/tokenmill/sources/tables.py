"""Tables: Parquet and Arrow files, batch by batch, by pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, BinaryIO

from .._forks import waited_for
from .decompressed import Stream
from .faults import damaged, missing_arrow, unusable
from .readable_file import ReadableFile

__all__ = ["Table", "of_arrow_file", "of_arrow_stream", "of_parquet", "text_of"]

_BATCH = 4 << 20
"""Bytes of text in a batch of Parquet, about: what can be decoded between two looks for Ctrl-C."""
_ROWS = 8192
"""The most rows of such a batch."""
_Part = tuple[Any, int]
"""A batch, and how much of the file was read then, in bytes."""
_SHOWN = 20
"""How many columns an error names."""


class Table:
    """The rows of a file: those of one column as arrays of bytes, or whole batches. Either is read once."""

    def __init__(
        self,
        pyarrow: Any,
        name: str,
        format: str,
        schema: Any,
        column: str,
        parts: Callable[[bool], Iterator[_Part]],
    ) -> None:
        self._pyarrow = pyarrow
        self._name = name
        self._format = format
        self._parts = parts
        self.schema = schema
        self.column = column
        self.position = 0
        """How much of the file was read, in bytes; of Parquet and Arrow files a share by rows."""

    def arrays(self) -> Iterator[Any]:
        """The column, in parts."""
        return self._read(whole=False)

    def batches(self) -> Iterator[Any]:
        """All columns, in batches."""
        return self._read(whole=True)

    def _read(self, *, whole: bool) -> Iterator[Any]:
        row = 1
        parts = self._parts(whole)
        while True:
            with self._reading(row):
                part = next(parts, None)
                if part is None:
                    return
                batch, self.position = part
                array = batch.column(batch.schema.get_field_index(self.column))
                found = batch if whole else text_of(self._pyarrow, array)
            yield found
            row += len(found)

    def _reading(self, row: int) -> AbstractContextManager[None]:
        return _reading(self._pyarrow, self._name, self._format, row=row)


def _pyarrow(name: str, what: str) -> Any:
    try:
        with waited_for:
            import pyarrow
            import pyarrow.ipc
            import pyarrow.parquet
    except ImportError as missing:
        raise missing_arrow(name, what) from missing
    return pyarrow


def of_parquet(file: BinaryIO, name: str, column: str | None, size: int) -> Table:
    """A Parquet file. Memory: a batch, and the pages that it is decoded from."""
    pyarrow = _pyarrow(name, "a Parquet file")
    with _reading(pyarrow, name, "Parquet"):
        # Without pre_buffer no more is read ahead than a page or two, even if a row group is the whole file.
        opened = pyarrow.parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20)
        schema, facts = opened.schema_arrow, opened.metadata
        chosen = _column(pyarrow, schema, name, column)

    def parts(whole: bool) -> Iterator[_Part]:
        done = 0
        for group in range(facts.num_row_groups):
            rows = _rows_of_batch(facts.row_group(group), None if whole else chosen)
            columns = None if whole else [chosen]
            for batch in opened.iter_batches(
                batch_size=rows, row_groups=[group], columns=columns, use_threads=whole
            ):
                done += batch.num_rows
                yield batch, size * done // max(facts.num_rows, 1)

    return Table(pyarrow, name, "Parquet", schema, chosen, parts)


def _rows_of_batch(group: Any, column: str | None) -> int:
    """How many rows have about as many bytes as a batch should have."""
    chunks = [group.column(index) for index in range(group.num_columns)]
    size = sum(chunk.total_uncompressed_size for chunk in chunks if column in (None, chunk.path_in_schema))
    return max(1, min(_ROWS, int(_BATCH * group.num_rows // max(size, 1))))


def of_arrow_file(file: BinaryIO, name: str, column: str | None, size: int) -> Table:
    """An Arrow file (Feather too). Memory: a batch, as the file has them."""
    pyarrow = _pyarrow(name, "an Arrow file")
    ipc = pyarrow.ipc
    with _reading(pyarrow, name, "Arrow"):
        schema = ipc.open_file(file).schema
        chosen = _column(pyarrow, schema, name, column)

    def parts(whole: bool) -> Iterator[_Part]:
        # Columns that are not asked for are not read.
        fields = None if whole else [schema.get_field_index(chosen)]
        reader = ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=fields, use_threads=False))
        count = reader.num_record_batches
        for number in range(count):
            batch = reader.get_batch(number)
            if whole:
                batch.validate(full=True)
            yield batch, size * (number + 1) // count

    return Table(pyarrow, name, "Arrow", schema, chosen, parts)


def of_arrow_stream(stream: Stream, name: str, column: str | None) -> Table:
    """An Arrow stream. Memory: a batch of all columns, as the stream has them."""
    pyarrow = _pyarrow(name, "an Arrow stream")
    file = pyarrow.PythonFile(_Whole(stream), mode="r")
    with _reading(pyarrow, name, "Arrow stream"):
        reader = pyarrow.ipc.open_stream(file, options=pyarrow.ipc.IpcReadOptions(use_threads=False))
        chosen = _column(pyarrow, reader.schema, name, column)

    def parts(whole: bool) -> Iterator[_Part]:
        for batch in reader:
            if whole:
                batch.validate(full=True)
            yield batch, stream.position

    return Table(pyarrow, name, "Arrow stream", reader.schema, chosen, parts)


class _Whole(ReadableFile):
    """A stream as pyarrow asks for one: a read gives all the bytes that were asked for."""

    def __init__(self, stream: Stream) -> None:
        super().__init__()
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        """Read ``size`` bytes, or as many as are left."""
        parts: list[bytes] = []
        while size > 0 and (part := self._stream.read(min(size, 1 << 20))):
            parts.append(part)
            size -= len(part)
            self.position += len(part)
        return b"".join(parts)


def _column(pyarrow: Any, schema: Any, name: str, column: str | None) -> str:
    """The column that is asked for: by default that called text."""
    chosen = "text" if column is None else column
    names = list(schema.names)
    if names.count(chosen) != 1:
        shown = ", ".join(f'"{each}"' for each in names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        has = f"it has {shown}" if names else "it has none"
        said = f"has {names.count(chosen)} columns" if chosen in names else "has no column"
        raise unusable(name, f'{said} "{chosen}": {has}; name another one with column=')
    kind = schema.field(chosen).type
    if not _is_text(pyarrow, kind):
        raise unusable(name, f'column "{chosen}" is of {kind}, not of strings; name another one with column=')
    return chosen


def _is_text(pyarrow: Any, kind: Any) -> bool:
    if isinstance(kind, pyarrow.BaseExtensionType):
        kind = kind.storage_type
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    return kind in _bytes_of(pyarrow) or kind in _bytes_of(pyarrow).values()


def _bytes_of(pyarrow: Any) -> dict[Any, Any]:
    """The type of bytes that is laid out as a type of strings."""
    pairs = [("string", "binary"), ("large_string", "large_binary"), ("string_view", "binary_view")]
    return {
        getattr(pyarrow, text)(): getattr(pyarrow, plain)()
        for text, plain in pairs
        if hasattr(pyarrow, plain)
    }


def text_of(pyarrow: Any, array: Any) -> Any:
    """The same array, as bytes, checked to be sound. Whether these are text is looked at later."""
    if isinstance(array, pyarrow.ExtensionArray):
        array = array.storage
    if isinstance(array, pyarrow.DictionaryArray):
        words = text_of(pyarrow, array.dictionary)
        array = pyarrow.DictionaryArray.from_arrays(array.indices, words, safe=False)
    elif (plain := _bytes_of(pyarrow).get(array.type)) is not None:
        array = array.view(plain)
    array.validate(full=True)
    return array


@contextmanager
def _reading(pyarrow: Any, name: str, format: str, *, row: int | None = None) -> Iterator[None]:
    """What pyarrow raises for a file that is not sound becomes an error that names the file and the row."""
    try:
        yield
    except pyarrow.ArrowNotImplementedError as error:
        raise unusable(name, f"cannot be read by this version of pyarrow: {error}") from error
    except (pyarrow.ArrowMemoryError, pyarrow.ArrowCancelled):
        raise
    except (pyarrow.ArrowException, OSError, ValueError, LookupError, TypeError, OverflowError) as error:
        is_other = isinstance(error, OSError) and error.errno is not None
        if is_other or getattr(error, "path", None) == name:
            raise
        raise damaged(name, format, str(error), row=row) from error
