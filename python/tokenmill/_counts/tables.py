"""Counted pretokens as Arrow tables and Parquet files: columns pretoken (large_binary) and count (uint64)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import PretokenTable
from .._forks import waited_for
from .._train_inputs import misuse
from ..errors import MissingExtraError, TrainingError
from .facts import FORMAT, CountedFacts, damaged, read_facts
from .sums import MOST, PretokenSum

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["as_arrow", "as_parquet", "from_arrow", "from_parquet", "is_there"]

_DIGEST = f"{FORMAT}.sha256".encode()
"""Metadata key of a Parquet file: the SHA-256 of the JSON under ``FORMAT``."""


def is_there() -> bool:
    """Whether pyarrow is installed."""
    try:
        _pyarrow("")
    except MissingExtraError:
        return False
    return True


def _pyarrow(what: str, module: str = "pyarrow") -> Any:
    try:
        with waited_for:
            return import_module(module)
    except ImportError as missing:
        message = f'{what} needs pyarrow: pip install "tokenmill[arrow]"'
        raise MissingExtraError(message, extra="arrow") from missing


def as_arrow(table: PretokenTable, facts: CountedFacts | None) -> Any:
    """A ``pyarrow.Table``, with the facts, if there are any, in its schema's metadata."""
    pa = _pyarrow("to_arrow()")
    with waited_for:
        data, offsets, counts = table.columns()
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        pretokens = pa.Array.from_buffers(pa.large_binary(), len(table), buffers)
        numbers = pa.Array.from_buffers(pa.uint64(), len(table), [None, pa.py_buffer(counts)])
        columns = [
            pa.field("pretoken", pa.large_binary(), nullable=False),
            pa.field("count", pa.uint64(), nullable=False),
        ]
        schema = pa.schema(columns, metadata=None if facts is None else {FORMAT: facts.as_json()})
        return pa.Table.from_arrays([pretokens, numbers], schema=schema)


def as_parquet(table: PretokenTable, facts: CountedFacts | None) -> Any:
    """Encode the counts as a Parquet file in memory. A part of a folder has no facts of its own."""
    pa, pq = _pyarrow("a .parquet file"), _pyarrow("a .parquet file", "pyarrow.parquet")
    sink = pa.BufferOutputStream()
    # No pretoken is there twice, so that a dictionary of them would only be in the way.
    options = {"compression": "zstd", "use_dictionary": False, "write_page_checksum": True}
    arrow = as_arrow(table, facts)
    if facts is not None:
        # The checksums of Parquet cover pages, but not the metadata of the schema.
        metadata = {**arrow.schema.metadata, _DIGEST: _digest(facts.as_json())}
        arrow = arrow.replace_schema_metadata(metadata)
    pq.write_table(arrow, sink, **options)
    return memoryview(sink.getvalue())


def from_parquet(path: str) -> tuple[PretokenTable, CountedFacts | None]:
    """The counts in a Parquet file, and the facts if it has them. Raises ``FormatError`` naming the file."""
    pa, pq = _pyarrow(f"{path}: Parquet"), _pyarrow(f"{path}: Parquet", "pyarrow.parquet")
    total = PretokenSum()
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            schema = file.schema_arrow
            _places(schema)
            for group in range(file.num_row_groups):
                batches = file.read_row_group(group, columns=["pretoken", "count"]).to_batches()
                for batch in batches:
                    total.add(_table_of(batch.column("pretoken"), batch.column("count")))
    except TrainingError as error:
        raise damaged(path, "", str(error)) from error
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise damaged(path, "", f"is no Parquet file that can be read: {error}") from error
    metadata = schema.metadata or {}
    found, digest = metadata.get(FORMAT.encode()), metadata.get(_DIGEST)
    if found is not None and digest not in (None, _digest(found)):
        raise damaged(path, "facts", "are damaged: the checksum does not match", "checksum")
    return total.result(), _facts_in(schema, path)


def from_arrow(data: Any) -> tuple[PretokenTable, CountedFacts | None]:
    """The counts in what speaks Arrow, and the facts if its schema has them. Raises ``TrainingError``."""
    pa = _pyarrow("from_arrow()")
    if hasattr(data, "__arrow_c_stream__"):
        batches = pa.RecordBatchReader.from_stream(data)
    elif hasattr(data, "__arrow_c_array__"):
        batch = pa.record_batch(data)
        batches = pa.RecordBatchReader.from_batches(batch.schema, [batch])
    else:
        raise TypeError(
            "from_arrow() takes a table, a batch or a stream of Arrow (__arrow_c_stream__ or "
            f"__arrow_c_array__), not {type(data).__name__}"
        )
    pretoken, count = _places(batches.schema)
    total = PretokenSum()
    for batch in batches:
        total.add(_table_of(batch.column(pretoken), batch.column(count)))
    return total.result(), _facts_in(batches.schema, None)


def _places(schema: Any) -> tuple[int, int]:
    """Where the columns are."""
    pretoken, count = (schema.get_field_index(name) for name in ("pretoken", "count"))
    if pretoken < 0 or count < 0:
        there = ", ".join(schema.names) or "none"
        raise misuse(f"counts have the columns pretoken and count, each once; here are {there}")
    return pretoken, count


def _facts_in(schema: Any, path: str | None) -> CountedFacts | None:
    found = (schema.metadata or {}).get(FORMAT.encode())
    return None if found is None else read_facts(found, path)


def _digest(facts: bytes) -> bytes:
    with waited_for:
        import hashlib
    return hashlib.sha256(facts).hexdigest().encode()


def _table_of(pretokens: Any, counts: Any) -> PretokenTable:
    """A table of two arrays."""
    pa = _pyarrow("")
    for name, column in (("pretoken", pretokens), ("count", counts)):
        if column.null_count:
            row = column.is_null().index(True).as_py()
            raise misuse(f"{name}[{row}] is null; each pretoken has a count")
    with _refusing(f"pretoken is {pretokens.type}, but has to be binary or a string"):
        kind = pretokens.type.value_type if pa.types.is_dictionary(pretokens.type) else pretokens.type
        is_view = str(kind) in ("binary_view", "string_view")
        if not is_view and not any(
            is_kind(kind)
            for is_kind in (
                pa.types.is_binary,
                pa.types.is_large_binary,
                pa.types.is_string,
                pa.types.is_large_string,
            )
        ):
            raise pa.ArrowTypeError(kind)
        if kind != pretokens.type:
            pretokens = pretokens.cast(kind)
        pretokens = pretokens.cast(pa.large_binary())
    is_decimal = pa.types.is_decimal(counts.type)
    if not (pa.types.is_integer(counts.type) or is_decimal):
        raise misuse(f"count is {counts.type}, but has to be an integer or a decimal")
    try:
        numbers = counts.cast(pa.uint64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        raise _beyond(pretokens, counts) from None
    data, offsets = _columns(pretokens)
    return _core.PretokenTable.from_columns(data, offsets, _little(numbers))


def _columns(pretokens: Any) -> tuple[memoryview | bytes, bytes]:
    """The bytes of a large_binary array, and where each value begins."""
    if len(pretokens) == 0:
        return b"", bytes(8)
    with waited_for:
        import numpy as np
    _, bounds, values = pretokens.buffers()
    offsets = np.frombuffer(bounds, np.int64)[pretokens.offset :][: len(pretokens) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    data = b"" if first == last else memoryview(values).cast("B")[first:last]
    return data, _little(offsets - first)


def _little(numbers: npt.NDArray[Any]) -> bytes:
    """The bytes of numbers of 64 bits, the lowest of each first."""
    return numbers.astype("<u8").tobytes()


def _beyond(pretokens: Any, counts: Any) -> TrainingError:
    """The error for a count that is no whole number of 64 bits."""
    for pretoken, count in zip(pretokens, counts, strict=True):
        number = count.as_py()
        if not 0 <= number <= MOST or number != int(number):
            text = pretoken.as_py().decode("utf-8", "replace")[:40]
            if number > MOST:
                return misuse(f"the pretoken {text!r} occurs {number:,} times; counts end at 2^64 - 1")
            return misuse(
                f"the pretoken {text!r} has the count {number}; it has to be a whole number from 1 on"
            )
    return misuse(f"the counts, {counts.type}, do not fit uint64")


@contextmanager
def _refusing(reason: str) -> Iterator[None]:
    pa = _pyarrow("")
    try:
        yield
    except pa.ArrowException:
        raise misuse(reason) from None
