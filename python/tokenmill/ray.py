"""Data sets of Ray; extra ``ray``.

>>> import ray  # doctest: +SKIP
>>> tok = tokenmill.load("tokenizer.json")  # doctest: +SKIP
>>> docs = ray.data.read_parquet("s3://bucket/docs")  # doctest: +SKIP
>>> tokenmill.ray.encode(docs, tok, "text", num_cpus=4).write_parquet("s3://bucket/ids")  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ._core import Tokenizer
from ._counts.counting import reading_options
from ._counts.facts import read_facts
from ._engines.counted import counts_of_bytes, new_folder, sum_of, write_facts
from ._engines.ray_tasks import count_block, no_counts, row_count, sum_share
from ._engines.sent import SentTokenizer, missing
from ._engines.tables import Special, TableEncoder, check_column, encode_options
from ._forks import waited_for
from .pretoken_counts import PretokenCounts, check_min_count

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["count_pretokens", "encode"]


def encode(
    ds: Dataset,
    tok: Tokenizer,
    column: str = "text",
    *,
    ids_column: str | None = "ids",
    count_column: str | None = "n_tokens",
    dtype: Literal["uint16", "uint32", "int32", "int64", "uint64"] = "uint32",
    offsets: bool = False,
    add_special_tokens: bool = False,
    special: Special = "text",
    num_cpus: int = 1,
    compute: Any = None,
    batch_size: int | None = None,
    ray_remote_args: Mapping[str, Any] | None = None,
    init: Callable[[], object] | None = None,
) -> Dataset:
    """Add columns of ids and counts to a data set of Ray, lazily.

    The first arguments are as for ``Tokenizer.encode_arrow``. Each actor makes the tokenizer once, has
    ``num_cpus`` cores and runs as many threads. ``compute`` is a strategy of Ray; by default a pool of actors
    that grows from one to what the cluster has. ``batch_size`` is in rows; None is a whole block.
    ``ray_remote_args`` (``memory``, ``resources``, ``runtime_env``...) go to the actors. ``init`` is for a
    tokenizer with Python hooks: it registers them in each actor.

    What is wrong with the arguments, and with columns where Ray knows the schema already, is raised now, as
    by ``encode_arrow``. An error in a row reaches the caller in the text of Ray's exception, with the number
    of the row in its block.
    """
    pa, data, _ = _libraries()
    threads = max(1, int(num_cpus))
    options = encode_options(ids_column, count_column, dtype, offsets, add_special_tokens, special, threads)
    sent = SentTokenizer(tok, init)
    known = _known_schema(ds, pa) or pa.schema([(column, pa.string())])
    tok.encode_arrow(known.empty_table(), column, **options)
    return ds.map_batches(
        TableEncoder,
        fn_constructor_args=(sent, column, options),
        batch_format="pyarrow",
        batch_size=batch_size,
        zero_copy_batch=True,
        udf_modifying_row_count=False,
        compute=data.ActorPoolStrategy(min_size=1) if compute is None else compute,
        **{"num_cpus": num_cpus, **(ray_remote_args or {})},
    )


def count_pretokens(
    ds: Dataset,
    column: str = "text",
    *,
    out: str | os.PathLike[str] | None = None,
    min_count: int | None = None,
    num_cpus: int = 1,
    parts: int | None = None,
    ray_remote_args: Mapping[str, Any] | None = None,
    **reading: Any,
) -> PretokenCounts | None:
    """Count the pretokens of a data set of Ray, to train on them: ``train(counts=...)``.

    ``reading`` are the options of ``tokenmill.count_pretokens`` that say how texts are read (``split``,
    ``normalizer``, ``special_tokens``, ``model``...). Tasks count a block each, on ``num_cpus`` cores; the
    counts are shared out by pretoken among ``parts`` tasks (as many as the cluster has cores, unless given),
    which sum them exactly in 64 bits and drop what occurs less often than ``min_count``. Nulls are no
    documents.

    With ``out``, a new folder or its URL, these tasks write their parts there as Parquet, nothing comes to
    the driver, and None is returned; ``train(counts=out)`` reads the folder. Without it the result has to fit
    the driver's memory. ``ray_remote_args`` go to the tasks that count. Raises what ``count_pretokens``
    raises; what is wrong with a text or a sum is in the text of Ray's exception.
    """
    pa, data, cluster = _libraries()
    check_min_count(min_count)
    if known := _known_schema(ds, pa):
        check_column(known, column)
    options = reading_options(**reading, num_threads=max(1, int(num_cpus)))
    nothing = no_counts(options)  # raises what is wrong with them
    if out is not None:
        out = new_folder(out)
    if parts is None:
        parts = max(1, int(cluster.cluster_resources().get("CPU", 1)))
    partial_counts = ds.map_batches(
        partial(count_block, column=column, reading=options, parts=parts),
        batch_format="pyarrow",
        batch_size=None,
        zero_copy_batch=True,
        **{"num_cpus": num_cpus, **(ray_remote_args or {})},
    )
    blocks = partial_counts.to_arrow_refs()
    rows = cluster.get([cluster.remote(num_cpus=0)(row_count).remote(block) for block in blocks])
    blocks = [block for block, count in zip(blocks, rows, strict=True) if count]
    counted = data.from_arrow_refs(blocks) if blocks else data.from_arrow(nothing)
    sums = counted.groupby("share", num_partitions=parts).map_groups(
        partial(sum_share, min_count=min_count, out=out), batch_format="pyarrow"
    )
    found = [row["counts"] for row in sums.take_all()]
    if out is None:
        return sum_of([counts_of_bytes(one) for one in found])
    write_facts([read_facts(one) for one in found], out)
    return None


def _known_schema(ds: Dataset, pa: Any) -> Any:
    """The schema of a data set, if Ray knows it already."""
    known = getattr(ds.schema(fetch_if_missing=False), "base_schema", None)
    return known if isinstance(known, pa.Schema) else None


def _libraries() -> tuple[Any, Any, Any]:
    try:
        with waited_for:
            import pyarrow
            import ray
            import ray.data
    except ImportError as error:
        raise missing("tokenmill.ray", "ray.data and pyarrow", "ray") from error
    return pyarrow, ray.data, ray
