"""Counts that Spark has summed, on the driver: collected, or written to a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .._forks import waited_for
from ..pretoken_counts import PretokenCounts
from .counted import facts_with, nothing_counted, sum_of, too_many

__all__ = ["collected", "written"]

_MOST = 2**64 - 1


def collected(sums: Any, reading: Mapping[str, Any], min_count: int | None) -> PretokenCounts:
    """The counts in the memory of the driver."""
    with waited_for:
        import pyarrow.compute as pc

    table = sums.toArrow()
    is_figure = pc.is_valid(table["figure"])
    figures = {row["figure"]: int(row["count"]) for row in table.filter(is_figure).to_pylist()}
    counted = table.filter(pc.invert(is_figure)).select(["pretoken", "count"])
    counts = PretokenCounts.from_arrow(counted, facts=facts_with(nothing_counted(reading).facts, figures))
    return sum_of([counts], min_count)


def written(sums: Any, reading: Mapping[str, Any], min_count: int | None, out: str) -> None:
    """The counts as a folder of Parquet, with the facts beside the parts, written last."""
    with waited_for:
        from pyspark.sql import functions as f

    sums = sums.persist()
    try:
        figures = {row["figure"]: int(row["count"]) for row in sums.where("figure is not null").collect()}
        counted = sums.where("figure is null").select("pretoken", "count")
        largest = counted.agg(f.max("count")).collect()[0][0]
        if largest is not None and largest > _MOST:
            pretoken = counted.where(f.col("count") == largest).select("pretoken").first()[0]
            raise too_many(bytes(pretoken))
        facts = facts_with(nothing_counted(reading).facts, figures)
        if min_count is not None:
            counted = counted.where(f.col("count") >= min_count)
            facts["min_count"] = min_count
        counted.write.parquet(out)
        line = sums.sparkSession.createDataFrame([(json.dumps(facts),)], "value string")
        line.coalesce(1).write.text(f"{out.rstrip('/')}/_facts.json")
    finally:
        sums.unpersist()
