"""Encoding tables: reads Parquet and Arrow, writes the same columns and new ones with ids and counts."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tokenmill import MissingExtraError

from .corpora import Rows, opened
from .files import source
from .usage import UsageError, explain

if TYPE_CHECKING:
    from tokenmill import Tokenizer

__all__ = ["TABLES", "add_columns", "as_tables", "check_columns"]

TABLES = {"parquet": "a Parquet file", "arrow": "an Arrow file", "arrows": "an Arrow stream"}
"""The formats of tables, as messages call them."""

_GROUP = 1 << 26
"""Size in memory at which batches are written as one group (of Parquet: a row group), in bytes."""


class Counts(Protocol):
    """What was encoded so far."""

    def add(self, documents: int, size: int, tokens: int) -> None:
        """More documents, with the bytes of their texts and their tokens."""


def add_columns(parser: argparse.ArgumentParser) -> None:
    """``--ids-column``, ``--count-column`` and ``--offsets``."""
    parser.add_argument(
        "--ids-column",
        metavar="NAME",
        help="tables only: name of the new column with ids (default: ids); '' omits it",
    )
    parser.add_argument(
        "--count-column",
        metavar="NAME",
        help="tables only: name of the new column with the number of ids (default: n_tokens); '' omits it",
    )
    parser.add_argument(
        "--offsets",
        action="store_true",
        help="tables only: add the columns starts and ends, the character range of each token",
    )


def check_columns(args: argparse.Namespace, form: str) -> None:
    """Refuse options that do not apply to tables, and options of columns if the output is no table."""
    columns = {
        "--ids-column": args.ids_column is not None,
        "--count-column": args.count_column is not None,
        "--offsets": args.offsets,
    }
    if form not in TABLES:
        if given := [option for option, is_given in columns.items() if is_given]:
            raise UsageError(
                f"{given[0]} is for tables with ids",
                hint="--out NAME.parquet or NAME.arrow, or --format parquet",
            )
        return
    others = {
        "--text": bool(args.texts),
        "--binary": args.binary,
        "--documents lines": args.documents == "lines",
        "--field": args.field is not None,
        "--bos": args.bos is not None,
        "--eos": args.eos is not None,
    }
    if wrong := [option for option, is_given in others.items() if is_given]:
        raise UsageError(
            f"{wrong[0]} does not apply to --format {form}, which adds columns to tables",
            hint="--add-special-tokens, for a tokenizer that was trained with --eos-token and --add-eos-token"
            if wrong[0] in ("--bos", "--eos")
            else "--format bin or ids",
        )
    if args.ids_column == "" and args.offsets:
        raise UsageError("--offsets needs the column of ids: each pair belongs to an id")
    if args.ids_column == "" and args.count_column == "":
        raise UsageError("--ids-column and --count-column are both empty: no column would be added")


def as_tables(
    form: str,
    names: list[str],
    tokenizer: Tokenizer,
    dtype: Literal["uint16", "uint32"],
    args: argparse.Namespace,
    counts: Counts,
) -> Iterator[bytes]:
    """Encode the tables of all files into one table; yield its bytes. ``form`` is a key of ``TABLES``."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as missing:
        raise MissingExtraError(
            f'{TABLES[form]} needs pyarrow: pip install "tokenmill[arrow]"', extra="arrow"
        ) from missing
    column = args.column or "text"
    pieces = _Pieces()
    writer: Any = None
    group = _Group(pyarrow)
    for name in names:
        for batch in _encoded(pyarrow, form, name, column, tokenizer, dtype, args):
            if writer is None:
                with _writing(pyarrow, form):
                    writer = _writer(pyarrow, form, pyarrow.PythonFile(pieces, mode="w"), batch.schema)
            elif not batch.schema.equals(group.schema):
                raise UsageError(
                    f"{source(name)}: has other columns than {source(names[0])}",
                    hint="one call for each kind of table",
                )
            counts.add(*_figures(pyarrow, batch, column, args))
            group.add(batch)
            if group.size >= _GROUP:
                with _writing(pyarrow, form):
                    writer.write_table(group.taken())
                yield pieces.taken()
    assert writer is not None  # a table without rows gives a batch without rows
    with _writing(pyarrow, form):
        if group.rows:
            writer.write_table(group.taken())
        writer.close()
    yield pieces.taken()


def _writer(pyarrow: Any, form: str, file: Any, schema: Any) -> Any:
    if form == "parquet":
        return pyarrow.parquet.ParquetWriter(file, schema)
    return pyarrow.ipc.new_file(file, schema) if form == "arrow" else pyarrow.ipc.new_stream(file, schema)


@contextmanager
def _writing(pyarrow: Any, form: str) -> Iterator[None]:
    """Turn errors about columns that the format does not support into usage errors with a hint."""
    try:
        yield
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        if "ictionary replacement" in str(error):
            raise UsageError(
                "an Arrow file holds one dictionary per column, and these tables differ in theirs",
                hint="--format arrows (a stream) or parquet",
            ) from error
        said = str(error).partition("\n")[0]
        raise UsageError(
            f"{TABLES[form]} does not support these columns: {said}",
            hint="--format arrow" if form == "parquet" else "--format parquet",
        ) from error


def _encoded(
    pyarrow: Any,
    form: str,
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
                f"{source(name)}: is not a table; --format {form} adds columns to tables",
                hint="--format bin or ids, or Parquet and Arrow files",
            )
        table = found.table()
        for batch in _or_empty(pyarrow, table.schema, table.batches()):
            try:
                encoded = tokenizer.encode_arrow(
                    batch,
                    column,
                    ids_column=_column(args.ids_column, "ids"),
                    count_column=_column(args.count_column, "n_tokens"),
                    offsets=args.offsets,
                    dtype=dtype,
                    add_special_tokens=args.add_special_tokens,
                    special=args.special,
                    num_threads=args.num_threads,
                )
            except (ValueError, TypeError) as error:
                raise UsageError(f"{source(name)}: {explain(error)[0]}") from error
            yield pyarrow.record_batch(encoded)


def _or_empty(pyarrow: Any, schema: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """The batches, or one without rows where there are none."""
    is_empty = True
    for batch in batches:
        is_empty = False
        yield batch
    if is_empty:
        yield pyarrow.RecordBatch.from_pylist([], schema=schema)


def _column(given: str | None, default: str) -> str | None:
    """The name of a new column, or ``None`` if the column is omitted."""
    return default if given is None else given or None


def _figures(pyarrow: Any, batch: Any, column: str, args: argparse.Namespace) -> tuple[int, int, int]:
    """The number of documents, of bytes of text, and of tokens in a batch."""
    import pyarrow.compute as compute

    def found(name: str) -> Any:
        return batch.column(batch.schema.get_field_index(name))

    size = compute.sum(_lengths(pyarrow, found(column))).as_py() or 0
    if (count_column := _column(args.count_column, "n_tokens")) is not None:
        tokens = found(count_column)
    else:
        tokens = compute.list_value_length(found(args.ids_column or "ids"))
    return len(tokens) - tokens.null_count, size, compute.sum(tokens).as_py() or 0


def _lengths(pyarrow: Any, texts: Any) -> Any:
    """The length of each text in bytes."""
    import pyarrow.compute as compute

    if isinstance(texts, pyarrow.ExtensionArray):
        texts = texts.storage
    if isinstance(texts, pyarrow.DictionaryArray):
        return _lengths(pyarrow, texts.dictionary).take(texts.indices)
    if str(texts.type) in ("string_view", "binary_view"):  # binary_length does not support views
        texts = texts.cast(pyarrow.large_binary())
    return compute.binary_length(texts)


class _Group:
    """Batches to be written as one group."""

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
