"""Tables in, the same tables with ids out: what ``encode --format parquet`` writes."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tokenmill import MissingExtraError

from .corpora import Rows, opened
from .files import source
from .usage import UsageError

if TYPE_CHECKING:
    from tokenmill import Tokenizer

__all__ = ["as_parquet"]

_GROUP = 1 << 26
"""Bytes of columns, as they are in memory, that a row group has at least, but for the last one."""


class Counts(Protocol):
    """What was encoded so far."""

    def add(self, documents: int, size: int, tokens: int) -> None:
        """More documents, with the bytes of their texts and their tokens."""


def as_parquet(
    names: list[str],
    tokenizer: Tokenizer,
    dtype: Literal["uint16", "uint32"],
    args: argparse.Namespace,
    counts: Counts,
) -> Iterator[bytes]:
    """The tables of all files as one Parquet file with ``ids`` and ``n_tokens``, in pieces."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as missing:
        raise MissingExtraError(
            'a Parquet file needs pyarrow: pip install "tokenmill[arrow]"', extra="arrow"
        ) from missing
    column = args.column or "text"
    pieces = _Pieces()
    writer: Any = None
    group = _Group(pyarrow)
    for name in names:
        for batch in _encoded(pyarrow, name, column, tokenizer, dtype, args):
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(pyarrow.PythonFile(pieces, mode="w"), batch.schema)
            elif not batch.schema.equals(group.schema):
                raise UsageError(
                    f"{source(name)}: has other columns than {source(names[0])}",
                    hint="one call for each kind of table",
                )
            counts.add(*_figures(pyarrow, batch, column))
            group.add(batch)
            if group.size >= _GROUP:
                writer.write_table(group.taken())
                yield pieces.taken()
    assert writer is not None  # a table without rows gives a batch without rows
    if group.rows:
        writer.write_table(group.taken())
    writer.close()
    yield pieces.taken()


def _encoded(
    pyarrow: Any,
    name: str,
    column: str,
    tokenizer: Tokenizer,
    dtype: Literal["uint16", "uint32"],
    args: argparse.Namespace,
) -> Iterator[Any]:
    """The batches of a table with their ids."""
    with opened(name, Rows(None, column)) as found:
        if found.form != "rows":
            raise UsageError(
                f"{source(name)}: is no table, and --format parquet gives tables back with their ids",
                hint="--format bin or ids, or Parquet and Arrow files",
            )
        table = found.table()
        for batch in _or_empty(pyarrow, table.schema, table.batches()):
            try:
                encoded = tokenizer.encode_arrow(
                    batch,
                    column,
                    dtype=dtype,
                    add_special_tokens=args.add_special_tokens,
                    special=args.special,
                    num_threads=args.num_threads,
                )
            except (ValueError, TypeError) as error:
                raise UsageError(f"{source(name)}: {error}") from error
            yield pyarrow.record_batch(encoded)


def _or_empty(pyarrow: Any, schema: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """The batches, or one without rows where there are none."""
    is_empty = True
    for batch in batches:
        is_empty = False
        yield batch
    if is_empty:
        yield pyarrow.RecordBatch.from_pylist([], schema=schema)


def _figures(pyarrow: Any, batch: Any, column: str) -> tuple[int, int, int]:
    """Documents, bytes of text, tokens."""
    import pyarrow.compute as compute

    texts, tokens = batch.column(batch.schema.get_field_index(column)), batch.column("n_tokens")
    if pyarrow.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    size = compute.sum(compute.binary_length(texts)).as_py() or 0
    return len(tokens) - tokens.null_count, size, compute.sum(tokens).as_py() or 0


class _Group:
    """Batches that become a row group."""

    def __init__(self, pyarrow: Any) -> None:
        self._pyarrow = pyarrow
        self._batches: list[Any] = []
        self.schema: Any = None
        self.size = 0

    @property
    def rows(self) -> bool:
        """Whether there is anything to write."""
        return bool(self._batches)

    def add(self, batch: Any) -> None:
        """One more batch."""
        self.schema = batch.schema
        self._batches.append(batch)
        self.size += batch.nbytes

    def taken(self) -> Any:
        """All of them as a table; they are gone then."""
        table = self._pyarrow.Table.from_batches(self._batches)
        self._batches, self.size = [], 0
        return table


class _Pieces:
    """A file that keeps what is written until it is taken."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._position = 0
        self.closed = False

    def write(self, piece: Any, /) -> int:
        content = bytes(piece)
        self._held.append(content)
        self._position += len(content)
        return len(content)

    def taken(self) -> bytes:
        """What was written since the last call."""
        held = b"".join(self._held)
        self._held.clear()
        return held

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False
