"""What tasks of Ray do to count: each block is counted and its counts are shared out; shares are summed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._counts.counting import PartialCounts
from .._forks import waited_for
from .counted import counts_of_bytes, counts_to_bytes, nothing_counted, shares, sum_of, write_part

__all__ = ["count_block", "no_counts", "row_count", "sum_share"]


def count_block(table: Any, *, column: str, reading: Mapping[str, Any], parts: int) -> Any:
    """The counts of a block in several shares: a row for each, with its number."""
    partial = PartialCounts(reading)
    partial.feed(table.column(column))
    return _rows(
        [(share, counts_to_bytes(counts)) for share, counts in enumerate(shares(partial.result(), parts))]
    )


def row_count(table: Any) -> int:
    """The rows of a block: of an empty one Ray has no schema, which goes with no other."""
    rows: int = table.num_rows
    return rows


def no_counts(reading: Mapping[str, Any]) -> Any:
    """What a block without rows would give."""
    return _rows([(0, counts_to_bytes(nothing_counted(reading)))])


def sum_share(table: Any, *, min_count: int | None, out: str | None) -> Any:
    """The sum of one share of all blocks; with ``out`` it is written there, and the row has its facts."""
    share = table.column("share")[0].as_py()
    counts = sum_of((counts_of_bytes(one.as_py()) for one in table.column("counts")), min_count)
    if out is None:
        return _rows([(share, counts_to_bytes(counts))])
    write_part(counts, out, share)
    return _rows([(share, counts._facts.as_json())])


def _rows(rows: list[tuple[int, bytes]]) -> Any:
    with waited_for:
        import pyarrow as pa

    numbers = pa.array([share for share, _ in rows], pa.int32())
    return pa.table({"share": numbers, "counts": pa.array([data for _, data in rows], pa.large_binary())})
