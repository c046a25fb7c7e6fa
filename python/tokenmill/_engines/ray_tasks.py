"""What tasks of Ray do to count: each block is counted and its counts are shared out; shares are summed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .counted import counts_of_bytes, counts_to_bytes, shares, write_part

__all__ = ["count_block", "sum_share"]


def count_block(table: Any, *, column: str, reading: Mapping[str, Any], parts: int) -> Any:
    """The counts of a block, in so many shares: a row for each, with its number."""
    import pyarrow as pa

    from .._count_pretokens import PartialCounts

    partial = PartialCounts(reading)
    partial.feed(table.column(column))
    found = [(number, counts) for number, counts in enumerate(shares(partial.result(), parts))]
    return pa.table(
        {
            "share": pa.array([number for number, _ in found], pa.int32()),
            "counts": pa.array([counts_to_bytes(counts) for _, counts in found], pa.large_binary()),
        }
    )


def sum_share(table: Any, *, min_count: int | None, out: str | None) -> Any:
    """The sum of one share of all blocks: as bytes, or written as a part of ``out``."""
    import pyarrow as pa

    from ..pretoken_counts import merge_counts

    number = table.column("share")[0].as_py()
    counts = merge_counts(
        (counts_of_bytes(one.as_buffer()) for one in table.column("counts")), min_count=min_count
    )
    if out is not None:
        write_part(counts, out, number)
    data = b"" if out is not None else counts_to_bytes(counts)
    return pa.table({"share": pa.array([number], pa.int32()), "counts": pa.array([data], pa.large_binary())})
