"""Types of Spark, on the driver: those of a frame with new columns, and of a function of a column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._core import Tokenizer
from .._forks import waited_for
from .spark_tasks import ColumnFunction

__all__ = ["check_options", "check_text", "column_function", "with_new_columns"]


def check_text(schema: Any, column: str) -> str:
    """The name of a column of text as the schema writes it: Spark does not tell case.

    Raises ``ValueError`` for a column that is not there, ``TypeError`` for one without text.
    """
    with waited_for:
        from pyspark.sql import types

    fields = [field for field in schema.fields if field.name.lower() == column.lower()]
    if len(fields) > 1:
        fields = [field for field in fields if field.name == column]
    if len(fields) != 1:
        names = ", ".join(f'"{field.name}"' for field in schema.fields) or "no columns"
        raise ValueError(f'df has no column "{column}"; it has {names}')
    is_text = types.StringType | types.BinaryType | types.CharType | types.VarcharType | types.NullType
    if not isinstance(fields[0].dataType, is_text):
        found = fields[0].dataType.simpleString()
        raise TypeError(f'column "{column}" of df is of type {found}; it must be string or binary: cast it')
    return str(fields[0].name)


def with_new_columns(schema: Any, tok: Tokenizer, column: str, options: dict[str, Any]) -> tuple[str, Any]:
    """The column as the schema writes it, and the schema with the columns that ``encode`` adds.

    Raises what ``encode_arrow`` raises.
    """
    with waited_for:
        import pyarrow as pa
        from pyspark.sql import types

    column = check_text(schema, column)
    known = pa.schema([(field.name, pa.string()) for field in schema.fields])
    added = list(pa.schema(tok.encode_arrow(known.empty_table(), column, **options)))[len(known) :]
    new = types.StructType(list(schema.fields))
    taken = {field.name.lower(): field.name for field in schema.fields}
    for field in added:
        if field.name.lower() in taken:
            other = taken[field.name.lower()]
            raise ValueError(f'"{field.name}" is the column "{other}" to Spark; choose another name')
        is_list = pa.types.is_large_list(field.type)
        kind = types.ArrayType(types.IntegerType(), containsNull=False) if is_list else types.LongType()
        new.add(field.name, kind)
    return column, new


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
