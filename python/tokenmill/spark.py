"""Data frames and SQL functions of Spark; extra ``spark`` (4.1 or newer).

>>> tok = tokenmill.load("tokenizer.json")  # doctest: +SKIP
>>> docs = spark.read.parquet("s3://bucket/docs")  # doctest: +SKIP
>>> tokenmill.spark.encode(docs, tok, "text").write.parquet("s3://bucket/ids")  # doctest: +SKIP
>>> spark.udf.register("token_count", tokenmill.spark.udf(tok, "count"))  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ._core import Tokenizer
from ._counts.counting import reading_options
from ._engines.counted import nothing_counted
from ._engines.sent import SentTokenizer, missing
from ._engines.spark_counts import collected, written
from ._engines.spark_schema import check_options, check_text, column_function, with_new_columns
from ._engines.spark_tasks import COUNTED, PARTIAL, BatchCounter, BatchEncoder, ColumnFunction
from ._engines.tables import Special, encode_options
from ._forks import waited_for
from .pretoken_counts import PretokenCounts, check_min_count

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["count_pretokens", "encode", "udf"]


def encode(
    df: DataFrame,
    tok: Tokenizer,
    column: str = "text",
    *,
    ids_column: str | None = "ids",
    count_column: str | None = "n_tokens",
    offsets: bool = False,
    add_special_tokens: bool = False,
    special: Special = "text",
    num_threads: int | None = 1,
    init: Callable[[], object] | None = None,
) -> DataFrame:
    """Add columns of ids (``array<int>``) and counts (``bigint``) to a data frame of Spark, lazily.

    The arguments are as for ``Tokenizer.encode_arrow``; ``offsets=True`` adds ``starts`` and ``ends``
    (``array<int>``). The tokenizer is broadcast, or sent with the function under Spark Connect, and made once
    in each Python worker; ``num_threads`` is for each task (see ``spark.task.cpus``). ``init`` is for a
    tokenizer with Python hooks: it registers them in each worker. A retried task gives the same rows.

    What is wrong with the arguments or columns is raised now, as by ``encode_arrow``. An error in a row
    reaches the caller in the text of Spark's exception, with the number of the row in its partition.
    """
    _library()
    options = encode_options(
        ids_column, count_column, "int32", offsets, add_special_tokens, special, num_threads
    )
    sent = SentTokenizer(tok, init, _sender(df.sparkSession))
    column, schema = with_new_columns(df.schema, tok, column, options)
    return df.mapInArrow(BatchEncoder(sent, column, options), schema)


def udf(
    tok: Tokenizer,
    what: Literal["encode", "count", "truncate"] = "encode",
    *,
    max_tokens: int | None = None,
    add_special_tokens: bool = False,
    special: Special = "text",
    init: Callable[[], object] | None = None,
) -> Any:
    """A function of a column: ids (``array<int>``), their number (``bigint``), or the text, cut.

    ``"truncate"`` cuts at the right to ``max_tokens``, as ``Tokenizer.truncate``. For SQL, register it:
    ``spark.udf.register("token_count", tokenmill.spark.udf(tok, "count"))``. Null stays null. The other
    arguments are as for ``encode``. Raises ``ValueError`` for another ``what``, and for ``max_tokens`` with
    or without ``"truncate"``.
    """
    sql = _library()
    kinds = {"encode": "array<int>", "count": "bigint", "truncate": "string"}
    if what not in kinds:
        raise ValueError(f"what={what!r} is none of {', '.join(map(repr, kinds))}")
    if (max_tokens is not None) != (what == "truncate"):
        raise ValueError('max_tokens is for what="truncate", which needs it')
    plain = special if isinstance(special, str) else frozenset(special)
    options: dict[str, Any] = {"add_special_tokens": add_special_tokens, "special": plain}
    sent = SentTokenizer(tok, init, _sender(sql.SparkSession.getActiveSession()))
    check_options(tok, options)
    if max_tokens is not None:
        tok.truncate("", max_tokens)
    return column_function(ColumnFunction(sent, what, max_tokens, options), kinds[what])


def count_pretokens(
    df: DataFrame,
    column: str = "text",
    *,
    out: str | os.PathLike[str] | None = None,
    min_count: int | None = None,
    num_threads: int | None = 1,
    **reading: Any,
) -> PretokenCounts | None:
    """Count the pretokens of a data frame of Spark, to train on them: ``train(counts=...)``.

    ``reading`` are the options of ``tokenmill.count_pretokens`` that say how texts are read (``split``,
    ``normalizer``, ``special_tokens``, ``model``...). Each task counts its partition, with ``num_threads``;
    Spark sums by pretoken, in decimals, since its own integers end at 2**63. Pretokens that occur less often
    than ``min_count`` are dropped afterwards. Nulls are no documents.

    With ``out``, a folder or URL that is not there yet, Spark writes the counts as Parquet, and None is
    returned; ``train(counts=out)`` reads the folder. Without it the result has to fit the driver's memory.
    Raises what ``count_pretokens`` raises; what is wrong with a text is in the text of Spark's exception.
    """
    _library()
    column = check_text(df.schema, column)
    check_min_count(min_count)
    options = reading_options(**reading, num_threads=num_threads)
    nothing_counted(options)  # raises what is wrong with them
    if out is not None:
        out = os.fspath(out)
        if "://" not in out and Path(out).exists():
            raise FileExistsError(17, "it is there already; counts need a new folder", out)
    quoted = "`" + column.replace("`", "``") + "`"  # a name may have full stops
    partial = df.select(quoted).mapInArrow(BatchCounter(options), PARTIAL)
    sums = partial.groupBy(*COUNTED).agg({"count": "sum"}).withColumnRenamed("sum(count)", "count")
    if out is None:
        return collected(sums, options, min_count)
    written(sums, options, min_count, out)
    return None


def _library() -> Any:
    try:
        with waited_for:
            import pyarrow  # noqa: F401  # what Spark passes batches in
            import pyspark.sql.types
    except ImportError as error:
        raise missing("tokenmill.spark", "pyspark and pyarrow", "spark") from error
    return pyspark.sql


def _sender(session: Any) -> Callable[[bytes], Any]:
    """How bytes are sent to workers: once to each machine, where the session can do that."""
    context = getattr(session, "sparkContext", None)
    return context.broadcast if context is not None else lambda state: state
