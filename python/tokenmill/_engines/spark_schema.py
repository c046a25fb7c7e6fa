"""Types of Spark, on the driver: those of a frame with new columns, and of a function of a column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._core import Tokenizer
from .._forks import waited_for
from .spark_tasks import ColumnFunction

__all__ = ["check_options", "column_function", "with_new_columns"]


def with_new_columns(types: Any, schema: Any, tok: Tokenizer, column: str, options: dict[str, Any]) -> Any:
    """The schema of a frame with the columns that ``encode`` adds. Raises what ``encode_arrow`` raises."""
    with waited_for:
        import pyarrow as pa

    is_text = types.StringType | types.BinaryType | types.CharType | types.VarcharType
    for field in schema.fields:
        if field.name == column and not isinstance(field.dataType, is_text):
            found = field.dataType.simpleString()
            raise TypeError(
                f'column "{column}" of df is of type {found}; it must be string or binary: cast it'
            )
    known = pa.schema([(field.name, pa.string()) for field in schema.fields])
    added = pa.schema(tok.encode_arrow(known.empty_table(), column, **options))
    new = types.StructType(list(schema.fields))
    for field in list(added)[len(known) :]:
        is_list = pa.types.is_large_list(field.type)
        kind = types.ArrayType(types.IntegerType(), containsNull=False) if is_list else types.LongType()
        new.add(field.name, kind)
    return new


def check_options(tok: Tokenizer, options: dict[str, Any]) -> None:
    """Raises what ``encode_arrow`` raises for these options."""
    with waited_for:
        import pyarrow as pa

    tok.encode_arrow(pa.table({"text": pa.array([], pa.string())}), **options)


def column_function(function: ColumnFunction, kind: str) -> Any:
    """What Spark calls with the arrays of a column."""
    with waited_for:
        import pyarrow as pa
        from pyspark.sql.functions import arrow_udf

    def new_column(arrays: Any) -> Any:
        return function(arrays)

    # Spark tells by these types what it is to call, and how.
    new_column.__annotations__ = {"arrays": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return arrow_udf(new_column, returnType=kind)
