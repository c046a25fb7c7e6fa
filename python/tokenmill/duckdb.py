"""Functions for SQL in DuckDB; extra ``duckdb``.

>>> import duckdb
>>> import tokenmill
>>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
>>> con = duckdb.connect()
>>> tokenmill.duckdb.register(con, tok)
>>> con.sql("select token_count('lower'), token_ids('lower')").fetchall()
[(3, [257, 101, 114])]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._core import Tokenizer
from ._engines.sent import missing
from ._engines.tables import Special
from ._forks import waited_for

if TYPE_CHECKING:
    import duckdb

__all__ = ["register"]


def register(
    con: duckdb.DuckDBPyConnection,
    tok: Tokenizer,
    prefix: str = "",
    *,
    add_special_tokens: bool = False,
    special: Special = "text",
    num_threads: int | None = 1,
) -> None:
    """Make ``token_count(text)`` and ``token_ids(text)`` known to a connection, with a prefix.

    ``token_count`` gives a BIGINT, ``token_ids`` a UINTEGER[]; both are NULL for NULL. Several tokenizers
    take several prefixes; a name that is taken is DuckDB's own error. DuckDB calls with 2,048 rows at a time,
    on one thread: for a whole table ``Tokenizer.encode_arrow(con.table("docs"))`` is faster. An error in a
    text is DuckDB's ``InvalidInputException`` with our message. Needs pyarrow (the extra has it).
    """
    try:
        with waited_for:
            import_module("duckdb")
            import pyarrow as pa
    except ImportError as error:
        raise missing("tokenmill.duckdb", "duckdb and pyarrow", "duckdb") from error

    if not isinstance(tok, Tokenizer):
        raise TypeError(f"tok must be a Tokenizer, not {type(tok).__name__}")
    options: dict[str, Any] = {
        "add_special_tokens": add_special_tokens,
        "special": special,
        "num_threads": num_threads,
    }

    def token_count(texts: Any) -> Any:
        table = pa.table({"text": texts})
        return pa.table(tok.encode_arrow(table, ids_column=None, **options)).column(1)

    def token_ids(texts: Any) -> Any:
        table = pa.table({"text": texts})
        return pa.table(tok.encode_arrow(table, count_column=None, **options)).column(1)

    # The arguments are checked now.
    token_count(pa.array([], pa.string()))
    con.create_function(f"{prefix}token_count", token_count, ["VARCHAR"], "BIGINT", type="arrow")
    try:
        con.create_function(f"{prefix}token_ids", token_ids, ["VARCHAR"], "UINTEGER[]", type="arrow")
    except BaseException:
        con.remove_function(f"{prefix}token_count")
        raise
