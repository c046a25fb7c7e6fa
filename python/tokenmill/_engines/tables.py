"""Tables of Arrow with ids: the options, and what a worker does."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any, Literal

from .._forks import waited_for
from .sent import SentTokenizer

__all__ = ["RowEncoder", "Special", "TableEncoder", "check_column", "dtype_name", "encode_options"]

Special = Literal["text", "parse", "raise"] | AbstractSet[str]


def encode_options(
    ids_column: str | None,
    count_column: str | None,
    dtype: Any,
    offsets: bool,
    add_special_tokens: bool,
    special: Special,
    num_threads: int | None,
) -> dict[str, Any]:
    """The options of ``Tokenizer.encode_arrow``, in a form that pickles."""
    return {
        "ids_column": ids_column,
        "count_column": count_column,
        "dtype": dtype_name(dtype),
        "offsets": offsets,
        "add_special_tokens": add_special_tokens,
        "special": special if isinstance(special, str) else frozenset(special),
        "num_threads": num_threads,
    }


def dtype_name(dtype: Any) -> str:
    """The name of a type of ids, as numpy reads it. What it does not know stays, for a better error."""
    with waited_for:
        import numpy as np

    if dtype is None:
        return "uint32"
    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        return str(dtype)


def check_column(schema: Any, column: str) -> None:
    """Raises ``ValueError`` for a column that is not in a schema, ``TypeError`` for one without text."""
    with waited_for:
        import pyarrow as pa

    if schema.names.count(column) != 1:
        names = ", ".join(f'"{name}"' for name in schema.names) or "no columns"
        how = "more than one column" if column in schema.names else "no column"
        raise ValueError(f'the data has {how} "{column}"; it has {names}')
    kind = schema.field(column).type
    held = kind.value_type if pa.types.is_dictionary(kind) else kind
    known = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view", "null")
    if str(held) not in known:
        raise TypeError(f'column "{column}" is of type {kind}; it must be string or binary: cast it')


class TableEncoder:
    """Called with a table in a worker, it gives the table with ids."""

    def __init__(self, sent: SentTokenizer, column: str, options: dict[str, Any]) -> None:
        self._sent = sent
        self._column = column
        self._options = options

    def __call__(self, table: Any) -> Any:
        with waited_for:
            import pyarrow as pa

        return pa.table(self._sent().encode_arrow(table, self._column, **self._options))


class RowEncoder:
    """Called with a batch of Python rows, a list for each column, it gives the new columns as lists."""

    def __init__(self, sent: SentTokenizer, column: str, options: dict[str, Any]) -> None:
        self._sent = sent
        self._column = column
        self._options = options

    def __call__(self, rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
        with waited_for:
            import pyarrow as pa

        if self._column not in rows:
            check_column(pa.schema([(name, pa.null()) for name in rows]), self._column)
        encoded = pa.table(
            self._sent().encode_arrow(
                pa.table({self._column: rows[self._column]}), self._column, **self._options
            )
        )
        new = encoded.column_names[1:]
        if taken := [name for name in new if name in rows]:
            raise ValueError(f'"{taken[0]}" is a column already; choose another name')
        lists: dict[str, list[Any]] = encoded.select(new).to_pydict()
        return lists
