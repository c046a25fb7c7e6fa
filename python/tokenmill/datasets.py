"""Data sets of the library datasets; extra ``datasets``.

>>> import datasets
>>> import tokenmill
>>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
>>> ds = datasets.Dataset.from_dict({"text": ["low", "lower"]})
>>> tokenmill.datasets.encode(ds, tok)[1]
{'text': 'lower', 'ids': [257, 101, 114], 'n_tokens': 3}
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

from ._core import Tokenizer
from ._engines.sent import SentTokenizer, missing
from ._engines.tables import RowEncoder, Special, TableEncoder, encode_options
from ._forks import waited_for

__all__ = ["encode"]

_Data = TypeVar("_Data")

#: Options of map that change no row.
_OF_MAP = (
    "cache_file_name",
    "desc",
    "keep_in_memory",
    "load_from_cache_file",
    "suffix_template",
    "writer_batch_size",
)


def encode(
    ds: _Data,
    tok: Tokenizer,
    column: str = "text",
    *,
    ids_column: str | None = "ids",
    count_column: str | None = "n_tokens",
    dtype: Literal["uint16", "uint32", "int32", "int64", "uint64"] = "uint32",
    offsets: bool = False,
    add_special_tokens: bool = False,
    special: Special = "text",
    num_threads: int | None = 1,
    batch_size: int = 1000,
    num_proc: int | None = None,
    init: Callable[[], object] | None = None,
    **map_options: Any,
) -> _Data:
    """Add columns of ids and counts to a data set, a streaming one, or each one of a dict.

    The first arguments are as for ``Tokenizer.encode_arrow``. ``batch_size`` and ``num_proc`` are those of
    ``map``, and so are ``map_options``: ``cache_file_name``, ``desc``, ``keep_in_memory``,
    ``load_from_cache_file``, ``suffix_template`` and ``writer_batch_size``; a streaming data set takes
    ``batch_size`` alone. The format of the data set (``with_format``) is the same afterwards. The result is
    cached under a fingerprint of the data set's own, the tokenizer and every option that can change a row, so
    it is found again by another process, whatever ``num_proc`` and ``num_threads``. ``init`` is for
    tokenizers with Python hooks: it registers them in each process. Nothing is found again for these, since a
    name says nothing of what its function does.

    Raises what ``encode_arrow`` raises; within a worker process datasets raises it with its own trace.
    """
    try:
        with waited_for:
            import datasets
            import pyarrow as pa
    except ImportError as error:
        raise missing("tokenmill.datasets", "datasets", "datasets") from error

    options = encode_options(
        ids_column, count_column, dtype, offsets, add_special_tokens, special, num_threads
    )
    if isinstance(ds, datasets.DatasetDict | datasets.IterableDatasetDict):
        more = {"batch_size": batch_size, "num_proc": num_proc, "init": init, **map_options}
        parts = {name: encode(part, tok, column, **options, **more) for name, part in ds.items()}
        return cast(_Data, type(ds)(parts))
    if not isinstance(ds, datasets.Dataset | datasets.IterableDataset):
        raise TypeError(f"ds must be a data set of datasets, not {type(ds).__name__}")
    sent = SentTokenizer(tok, init)
    known = ds.features
    features = None
    if known is not None:
        # What is wrong with the columns or arguments is said before any process is started.
        none = known.arrow_schema.empty_table()
        schema = pa.schema(tok.encode_arrow(none, column, **options))
        new = datasets.Features.from_arrow_schema(pa.schema(list(schema)[len(known) :]))
        features = datasets.Features({**known, **new})
    if isinstance(ds, datasets.IterableDataset):
        if num_proc is not None or map_options:
            raise TypeError("a streaming data set takes neither num_proc nor other options of map")
        return cast(_Data, _streamed(ds, sent, column, options, batch_size, features))
    if unknown := [name for name in map_options if name not in _OF_MAP]:
        raise TypeError(f"{unknown[0]} is no option here; of map there are {', '.join(_OF_MAP)}")
    facts = {name: value for name, value in options.items() if name != "num_threads"}
    own = uuid.uuid4().hex if tok._hook_names else tok.fingerprint
    line = json.dumps([ds._fingerprint, own, column, facts], sort_keys=True, default=sorted)
    key = hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    if len(ds) == 0:  # map calls nothing, so that nothing would be added
        mapped = datasets.Dataset(pa.table(tok.encode_arrow(none, column, **options)), fingerprint=key)
    else:
        mapped = ds.with_format("arrow").map(
            TableEncoder(sent, column, options),
            batched=True,
            batch_size=batch_size,
            num_proc=num_proc,
            new_fingerprint=key,
            **map_options,
        )
    form = ds.format
    mapped.set_format(form["type"], None, **form["format_kwargs"])
    if form["columns"] != ds.column_names:  # a format may choose columns: the new ones are shown too
        added = [name for name in mapped.column_names if name not in ds.column_names]
        shown = [*form["columns"], *added]
        mapped.set_format(form["type"], shown, form["output_all_columns"], **form["format_kwargs"])
    return cast(_Data, mapped)


def _streamed(
    ds: Any, sent: SentTokenizer, column: str, options: dict[str, Any], batch_size: int, features: Any
) -> Any:
    """A streaming data set with new columns."""
    kind = ds._formatting.format_type if ds._formatting else None
    if getattr(getattr(ds, "_ex_iterable", None), "iter_arrow", None):
        ds = ds.with_format("arrow")
        function: Callable[[Any], Any] = TableEncoder(sent, column, options)
    else:
        # Its rows are Python objects; as tables, each batch would have the types of what it happens to hold.
        ds, function = ds.with_format(None), RowEncoder(sent, column, options)
    return ds.map(function, batched=True, batch_size=batch_size, features=features).with_format(kind)
