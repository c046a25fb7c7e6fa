"""Expressions of Polars that encode and count; extra ``polars``.

>>> import polars as pl
>>> import tokenmill
>>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
>>> frame = pl.LazyFrame({"text": ["low", None, "lower"]})
>>> frame.select(tokenmill.polars.count("text", tok).alias("n")).collect()["n"].to_list()
[1, None, 3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ._core import Tokenizer
from ._engines.sent import missing
from ._engines.tables import Special, dtype_name
from ._forks import waited_for

if TYPE_CHECKING:
    import polars as pl

__all__ = ["count", "encode"]


def encode(
    text: str | pl.Expr,
    tok: Tokenizer,
    *,
    dtype: Literal["uint16", "uint32", "int32", "int64", "uint64"] = "uint32",
    add_special_tokens: bool = False,
    special: Special = "text",
    num_threads: int | None = 1,
) -> pl.Expr:
    """The ids of each text: a list of ``dtype``, null where the text is null.

    ``text`` is the name of a column or an expression of strings, binary, categories or enumerations. Works in
    lazy and in streaming frames. The other arguments, and what is raised, are as for
    ``Tokenizer.encode_arrow``; while a frame is collected Polars raises its own ``ComputeError`` with that
    message, in which rows count within the part that Polars was at.
    """
    pl = _library()
    options = {"add_special_tokens": add_special_tokens, "special": special, "num_threads": num_threads}
    ids = _new_column(tok, "ids", {"count_column": None, "dtype": dtype, **options})
    inner = getattr(pl, dtype_name(dtype).replace("uint", "UInt").replace("int", "Int"))
    return _expression(text).map_batches(ids, return_dtype=pl.List(inner), is_elementwise=True)


def count(
    text: str | pl.Expr,
    tok: Tokenizer,
    *,
    add_special_tokens: bool = False,
    special: Special = "text",
    num_threads: int | None = 1,
) -> pl.Expr:
    """The number of ids of each text (Int64), null where the text is null; no ids are stored.

    The arguments, and what is raised, are as for ``encode``.
    """
    pl = _library()
    options = {"add_special_tokens": add_special_tokens, "special": special, "num_threads": num_threads}
    counts = _new_column(tok, "n_tokens", {"ids_column": None, **options})
    return _expression(text).map_batches(counts, return_dtype=pl.Int64, is_elementwise=True)


def _library() -> Any:
    try:
        with waited_for:
            import polars
    except ImportError as error:
        raise missing("tokenmill.polars", "polars", "polars") from error
    return polars


def _expression(text: str | pl.Expr) -> Any:
    pl = _library()
    if isinstance(text, str):
        return pl.col(text)
    if not isinstance(text, pl.Expr):
        raise TypeError(f"text must be the name of a column or an expression, not {type(text).__name__}")
    return text


def _new_column(tok: Tokenizer, name: str, options: dict[str, Any]) -> Any:
    """A function of a series. Its arguments are checked now, not when a frame is collected."""
    pl = _library()
    if not isinstance(tok, Tokenizer):
        raise TypeError(f"tok must be a Tokenizer, not {type(tok).__name__}")

    def new_column(series: Any) -> Any:
        frame = pl.DataFrame({"text": series})
        return pl.DataFrame(tok.encode_arrow(frame, **options))[name].alias(series.name)

    new_column(pl.Series([], dtype=pl.String))
    return new_column
