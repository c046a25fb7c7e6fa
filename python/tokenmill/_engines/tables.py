"""Tables of Arrow with ids: the options, and what a worker does."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any, Literal

from .._forks import waited_for
from .sent import SentTokenizer

__all__ = ["Special", "TableEncoder", "encode_options"]

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
        "dtype": str(dtype),
        "offsets": offsets,
        "add_special_tokens": add_special_tokens,
        "special": special if isinstance(special, str) else frozenset(special),
        "num_threads": num_threads,
    }


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
