"""What tasks of Spark do with their batches. Spark knows neither large lists nor unsigned numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._counts.counting import PartialCounts
from .._forks import waited_for
from .counted import FIGURES
from .sent import SentTokenizer

__all__ = ["COUNTED", "PARTIAL", "BatchCounter", "BatchEncoder", "ColumnFunction"]

#: An array of Spark has offsets of 32 bits.
MAX_IDS = 2**31 - 1

#: The rows of a task that counts: a pretoken and its count, or a figure by its name.
PARTIAL = "figure string, pretoken binary, count decimal(20,0)"

#: Their key.
COUNTED = ("figure", "pretoken")

#: Pretokens in a batch, and their bytes, which have offsets of 32 bits.
_ROWS = 1 << 16
MAX_BYTES = 1 << 30


class BatchEncoder:
    """Called with the batches of a partition, it gives them with ids."""

    def __init__(self, sent: SentTokenizer, column: str, options: dict[str, Any]) -> None:
        self._sent = sent
        self._column = column
        self._options = options

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        with waited_for:
            import pyarrow as pa

        first = next(batches, None)
        if first is None:
            return
        # One stream for the partition, in which rows are counted for errors.
        every = (batch for part in ([first], batches) for batch in part)
        reader = pa.RecordBatchReader.from_batches(first.schema, every)
        encoded = self._sent().encode_arrow(reader, self._column, **self._options)
        for batch in pa.RecordBatchReader.from_stream(encoded):
            yield from narrow(batch)


def narrow(batch: Any) -> Iterator[Any]:
    """A batch with offsets of 32 bits in its lists, cut where it has too many ids for them."""
    with waited_for:
        import pyarrow as pa

    wide = [i for i, column in enumerate(batch.columns) if pa.types.is_large_list(column.type)]
    if batch.num_rows > 1 and any(len(batch.column(i).flatten()) > MAX_IDS for i in wide):
        half = batch.num_rows // 2
        yield from narrow(batch.slice(0, half))
        yield from narrow(batch.slice(half))
        return
    columns = list(batch.columns)
    for i in wide:
        columns[i] = columns[i].cast(pa.list_(pa.int32()))
    yield pa.RecordBatch.from_arrays(columns, batch.schema.names)


class ColumnFunction:
    """Called with the arrays of a column, it gives those of the result."""

    def __init__(
        self, sent: SentTokenizer, what: str, max_tokens: int | None, options: dict[str, Any]
    ) -> None:
        self._sent = sent
        self._what = what
        self._max_tokens = max_tokens
        self._options = options

    def __call__(self, arrays: Iterator[Any]) -> Iterator[Any]:
        with waited_for:
            import pyarrow as pa

        tok = self._sent()
        for texts in arrays:
            if self._what == "truncate":
                assert self._max_tokens is not None
                cut = [
                    None if text is None else tok.truncate(text, self._max_tokens, **self._options).text
                    for text in texts.to_pylist()
                ]
                yield pa.array(cut, pa.string())
                continue
            batch = pa.record_batch({"text": texts})
            only: Mapping[str, Any] = (
                {"ids_column": None} if self._what == "count" else {"count_column": None, "dtype": "int32"}
            )
            column = pa.record_batch(tok.encode_arrow(batch, **only, **self._options)).column(1)
            yield column if self._what == "count" else column.cast(pa.list_(pa.int32()))


class BatchCounter:
    """Called with the batches of a partition, it gives the counts of their pretokens, and figures."""

    def __init__(self, reading: Mapping[str, Any]) -> None:
        self._reading = reading

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        with waited_for:
            import pyarrow as pa

        partial = PartialCounts(self._reading)
        for batch in batches:
            partial.feed(batch.column(0))
        counts = partial.result()
        number = pa.decimal128(20, 0)
        names = ["figure", "pretoken", "count"]
        for batch in _small(counts.to_arrow().to_batches(max_chunksize=_ROWS)):
            nothing = pa.nulls(batch.num_rows, pa.string())
            columns = [nothing, batch.column(0).cast(pa.binary()), batch.column(1).cast(number)]
            yield pa.RecordBatch.from_arrays(columns, names)
        figures = [counts.facts[name] for name in FIGURES]
        columns = [
            pa.array(FIGURES),
            pa.nulls(len(FIGURES), pa.binary()),
            pa.array(figures, pa.uint64()).cast(number),
        ]
        yield pa.RecordBatch.from_arrays(columns, names)


def _small(batches: Iterable[Any]) -> Iterator[Any]:
    """The same batches, cut where one has too many bytes."""
    for batch in batches:
        if batch.num_rows > 1 and batch.nbytes > MAX_BYTES:
            half = batch.num_rows // 2
            yield from _small([batch.slice(0, half), batch.slice(half)])
        else:
            yield batch
