"""``tok.pad_batch``: rows of every kind as flat columns, and these as padded arrays."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._arrays import sorted_once
from ._forks import waited_for
from .model_inputs import IGNORED, ModelInputs, _Columns
from .ragged import Ragged, RaggedEncodings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Column", "aligned", "columns_of", "padded"]

PADDED_BY = {
    "document_ids": -1,
    "labels": IGNORED,
    "position_ids": 0,
    "special_tokens_mask": 1,
}
"""The value of padding in columns of these names; in other masks it is 0."""

JOINED = "cu_seqlens"
"""A column: where documents begin in a window, or in all cells of a batch, row after row."""


@dataclass(frozen=True, slots=True)
class Column:
    """The values of all rows, one after the other, and where each row begins."""

    values: npt.NDArray[Any]
    bounds: npt.NDArray[np.int64] | None
    """The start of each row, and the end of the last one; None for one value in each row."""

    @property
    def rows(self) -> int:
        return len(self.values) if self.bounds is None else len(self.bounds) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        assert self.bounds is not None
        return self.bounds[1:] - self.bounds[:-1]


# ---- reading ------------------------------------------------------------------------------------


def columns_of(rows: Any, asked: Sequence[str] = ()) -> dict[str, Column]:
    """The columns of rows of any kind, ``input_ids`` among them; ``asked`` is what encodings give besides."""
    if isinstance(rows, Ragged):
        return _of_ragged(rows, asked)
    if isinstance(rows, Mapping):
        if "input_ids" not in rows:
            raise ValueError(f"a mapping of columns needs input_ids; this one has {', '.join(rows)}")
        columns = {name: _column(name, values) for name, values in rows.items()}
    elif hasattr(rows, "ndim"):
        columns = {"input_ids": _column("input_ids", rows)}
    else:
        if isinstance(rows, str | bytes) or not isinstance(rows, Sequence):
            raise TypeError(f"rows must be a sequence of rows of ids, not {type(rows).__name__}")
        columns = _of_sequence(list(rows), asked)
    ids = columns["input_ids"]
    if ids.bounds is None or ids.values.ndim != 1:
        raise TypeError("input_ids must be a list of ids in each row; for a single row give a list of one")
    if ids.values.dtype.kind not in "iu":
        raise TypeError(f"ids are integers, not {ids.values.dtype}")
    for name, column in columns.items():
        if column.rows != ids.rows:
            raise ValueError(f"{name} has {column.rows} rows, input_ids {ids.rows}")
    return columns


def _of_sequence(rows: list[Any], asked: Sequence[str]) -> dict[str, Column]:
    first = rows[0] if rows else []
    if isinstance(first, str):
        raise TypeError("rows must be ids, not texts: tok(texts, return_tensors=...) encodes and pads them")
    if isinstance(first, _core.Encoding):
        return _of_encodings(rows, asked)
    if not isinstance(first, Mapping):
        return {"input_ids": _column("input_ids", rows)}
    if "input_ids" not in first:
        raise ValueError(f"a row needs input_ids; row 0 has {', '.join(map(str, first)) or 'nothing'}")
    for at, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {at} is {type(row).__name__}, row 0 a mapping: rows must be of one kind")
        if row.keys() != first.keys():
            odd = min(row.keys() ^ first.keys(), key=str)
            has, lacks = (at, 0) if odd in row else (0, at)
            raise ValueError(f"row {has} has {odd!r}, row {lacks} has not: all rows need the same columns")
    return {name: _column(name, [row[name] for row in rows]) for name in first}


LISTS = {
    "token_type_ids": "type_ids",
    "attention_mask": "attention_mask",
    "special_tokens_mask": "special_tokens_mask",
    "offset_mapping": "offsets",
}
"""The attributes of encodings, by the names of the columns that they become."""


def _of_encodings(rows: list[Any], asked: Sequence[str]) -> dict[str, Column]:
    for at, row in enumerate(rows):
        if not isinstance(row, _core.Encoding):
            raise TypeError(f"row {at} is {type(row).__name__}, row 0 an Encoding: rows must be of one kind")
    columns = {"input_ids": _column("input_ids", [row.ids for row in rows])}
    for name, of in LISTS.items():
        # Encodings that are padded already keep their mask, which tells ids from padding.
        if name in asked or (name == "attention_mask" and any(0 in row.attention_mask for row in rows)):
            lists = [getattr(row, of) for row in rows]
            columns[name] = _pairs(lists) if name == "offset_mapping" else _column(name, lists)
    return columns


def _pairs(rows: list[list[tuple[int, int]]]) -> Column:
    with waited_for:
        import numpy as np

    values = np.array([pair for row in rows for pair in row], np.int64).reshape(-1, 2)
    return Column(values, np.cumsum([0, *map(len, rows)], dtype=np.int64))


def _of_ragged(rows: Ragged, asked: Sequence[str]) -> dict[str, Column]:
    columns = {"input_ids": Column(rows.ids, rows.row_offsets)}
    if not isinstance(rows, RaggedEncodings):
        return columns
    if "offset_mapping" in asked:
        columns["offset_mapping"] = Column(rows.offsets, rows.row_offsets)
    others = [name for name in asked if name in LISTS and name not in ("offset_mapping", "attention_mask")]
    if others:
        more = _of_encodings(rows.to_encodings(), others)
        columns |= {name: more[name] for name in others}
    return columns


def _column(name: str, values: Any) -> Column:
    """A column of one value, or one list of values, in each row."""
    with waited_for:
        import numpy as np

    if isinstance(values, Column):
        return values
    if isinstance(values, Ragged):
        return Column(values.ids, values.row_offsets)
    if hasattr(values, "ndim"):
        array = _array(name, None, values)
        if array.ndim < 2:
            return Column(array, None)
        bounds = np.arange(len(array) + 1, dtype=np.int64) * array.shape[1]
        return Column(array.reshape(-1, *array.shape[2:]), bounds)
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise TypeError(f"{name} must be a list with something in each row, not {type(values).__name__}")
    flat = _core.flat_rows(list(values))
    if flat is not None:
        return Column(*flat)
    arrays = [_array(name, at, row) for at, row in enumerate(values)]
    if all(array.ndim == 0 for array in arrays):
        return Column(np.array(arrays), None)
    for at, array in enumerate(arrays):
        if array.ndim == 0:
            raise ValueError(f"{name} has a list in some rows, but one value in row {at}")
    # An empty list has no type of its own.
    filled = [array for array in arrays if array.size]
    try:
        joined = np.concatenate(filled) if filled else np.zeros(0, np.int64)
    except ValueError as error:
        raise ValueError(f"the rows of {name} differ in more than their length: {error}") from None
    return Column(joined, np.cumsum([0, *map(len, arrays)], dtype=np.int64))


def _array(name: str, row: int | None, value: Any) -> npt.NDArray[Any]:
    with waited_for:
        import numpy as np

    where = name if row is None else f"{name} of row {row}"
    try:
        array = np.asarray(value)
    except ValueError:
        raise TypeError(f"{where} is a list of lists of unequal length") from None
    if array.dtype.kind not in "biuf":
        what = (
            "encode it with apply_chat_template"
            if name == "messages"
            else "leave this column out of the rows"
        )
        raise TypeError(f"{where} holds {_type_inside(value)}, no numbers: {what}")
    return array


def _type_inside(value: Any) -> str:
    while isinstance(value, Sequence) and not isinstance(value, str | bytes) and value:
        value = value[0]
    return type(value).__name__


# ---- padding ------------------------------------------------------------------------------------


def padded(
    rows: Any,
    *,
    pad_id: int | None,
    pad_type_id: int = 0,
    is_left: bool = False,
    length: int | None = None,
    max_length: int | None = None,
    multiple_of: int | None = None,
    pad_values: Mapping[str, int | float] | None = None,
    own_length: Sequence[str] | None = None,
    return_tensors: str | None = None,
    return_token_type_ids: bool = False,
    return_attention_mask: bool = True,
    return_special_tokens_mask: bool = False,
    return_offsets_mapping: bool = False,
    return_length: bool = False,
    return_position_ids: bool = False,
    position_offset: int | Sequence[int] | None = None,
    dtype: npt.DTypeLike = None,
    out: Any = None,
    num_threads: int | None = 1,
) -> ModelInputs:
    """Rows as arrays; ``pad_id`` is None where nothing may be padded.

    Rows are padded to ``length``, None for that of the longest. The rest is as for ``pad_batch``.
    """
    columns = _Columns(return_tensors or "np", "int64" if dtype is None else dtype, out)
    asked = {
        "token_type_ids": return_token_type_ids,
        "special_tokens_mask": return_special_tokens_mask,
        "offset_mapping": return_offsets_mapping,
    }
    given = columns_of(rows, [name for name, is_asked in asked.items() if is_asked])
    for name, is_asked in asked.items():
        if is_asked and name not in given:
            raise ValueError(
                f"these rows have no {name}: it comes from Encodings, or is a column of the rows"
            )
    if not return_position_ids and _is_given(position_offset):
        raise ValueError("position_offset is for return_position_ids=True")
    ids = given["input_ids"]
    filler = _Filler(columns, ids, pad_id, pad_type_id, is_left, length, multiple_of, num_threads)
    _check_length(ids, max_length, multiple_of or 1)
    filler.values.update(pad_values or {})
    made = {"input_ids": filler.column("input_ids", ids)}
    if return_attention_mask and "attention_mask" not in given:
        made["attention_mask"] = filler.mask()
    for name, column in given.items():
        if name == "input_ids" or (name == "attention_mask" and not return_attention_mask):
            continue
        if column.bounds is None:
            made[name] = column.values
        elif name == JOINED:
            made[name] = filler.joined(column)
        else:
            if name not in (own_length or ()):
                aligned(name, column, ids)
            made[name] = filler.column(name, column)
    if return_position_ids and "position_ids" not in made:
        made["position_ids"] = filler.positions(given.get("attention_mask"), position_offset)
    if return_length:
        with waited_for:
            import numpy as np

        made["length"] = np.full(ids.rows, filler.length, np.int64)
    return columns.finish(made)


def _check_length(ids: Column, max_length: int | None, multiple_of: int) -> None:
    """Refuses a row that is longer than ``max_length``: nothing is cut."""
    longest = int(ids.lengths.max(initial=0))
    if max_length is not None and longest > max_length + -max_length % multiple_of:
        raise ValueError(
            f"input_ids of row {int(ids.lengths.argmax())} has {longest} values, more than "
            f"max_length={max_length}; ids are not cut here: cut the rows first, or raise max_length"
        )


def _is_given(offset: int | Sequence[int] | None) -> bool:
    with waited_for:
        import numpy as np

    return offset is not None and bool(np.any(offset))


def aligned(name: str, column: Column, ids: Column) -> None:
    """Refuses a column that is not as long as ``input_ids`` in each row."""
    differs = (column.lengths != ids.lengths).nonzero()[0]
    if len(differs):
        row = int(differs[0])
        raise ValueError(
            f"{name} of row {row} has {column.lengths[row]} values, input_ids {ids.lengths[row]}; columns "
            f"with a length of their own are named: own_length=({name!r},)"
        )


class _Filler:
    """Pads columns to one length, on one side."""

    def __init__(
        self,
        columns: _Columns,
        ids: Column,
        pad_id: int | None,
        pad_type_id: int,
        is_left: bool,
        length: int | None,
        multiple_of: int | None,
        num_threads: int | None,
    ) -> None:
        assert ids.bounds is not None
        self._columns, self._ids, self._bounds, self._is_left = columns, ids, ids.bounds, is_left
        self._may_pad, self._multiple_of, self._threads = pad_id is not None, multiple_of, num_threads
        self.values: dict[str, Any] = {**PADDED_BY, "token_type_ids": pad_type_id}
        if pad_id is not None:
            self.values["input_ids"] = pad_id
        self.length = self._length("input_ids", ids, length)

    def _length(self, name: str, column: Column, length: int | None) -> int:
        lengths = column.lengths
        longest = int(lengths.max(initial=0))
        if not self._may_pad:
            if len(lengths) and lengths.min() != longest:
                row = int((lengths != lengths[0]).argmax())
                raise ValueError(
                    f"rows of unequal length make no array: {name} of row 0 has {lengths[0]} values, of row "
                    f"{row} {lengths[row]}; pass padding=True"
                )
            return longest
        wanted = longest if length is None else length
        multiple = self._multiple_of or 1
        wanted += -wanted % multiple
        if longest > wanted:
            row = int(lengths.argmax())
            raise ValueError(
                f"{name} of row {row} has {longest} values, more than the {length} that rows are padded to; "
                "cut the rows first, or raise the length"
            )
        return wanted

    def column(self, name: str, column: Column) -> Any:
        """The values of a column, padded."""
        with waited_for:
            import numpy as np

        values, bounds = column.values, column.bounds
        assert bounds is not None
        length = self.length
        if name != "input_ids" and not np.array_equal(column.lengths, self._ids.lengths):
            length = self._length(name, column, None)
        pad = self._value(name, has_padding=bool(len(column.lengths)) and bool(column.lengths.min() < length))
        if values.ndim > 1 or values.dtype.kind not in "iu":
            made = np.full((column.rows, length, *values.shape[1:]), pad, values.dtype)
            made[self._places(column, length)] = values
            return made
        try:
            pad = operator.index(pad)
        except TypeError:
            raise TypeError(
                f"{name} has integers, so pad_values[{name!r}] must be one, not {pad!r}"
            ) from None
        self._check(name, values, pad)
        made = self._columns.allocated(name, column.rows, length)
        if values.dtype != np.uint32:
            values = values.astype(np.int64, copy=False)
        _core.pad_rows(np.ascontiguousarray(values), bounds, made, pad, self._is_left, self._threads)
        return made

    def _value(self, name: str, has_padding: bool) -> Any:
        value = self.values.get(name, 0 if name.endswith("mask") or name == "offset_mapping" else None)
        if value is None and has_padding:
            raise ValueError(
                f"nothing says what padding is in {name}: pass pad_values={{{name!r}: 0}}, or another"
            )
        return 0 if value is None else value

    def _check(self, name: str, values: npt.NDArray[Any], pad: int) -> None:
        with waited_for:
            import numpy as np

        dtype = self._columns.dtype
        if values.dtype == np.uint64 or dtype != np.int64:
            least = min(int(values.min(initial=0)), pad)
            most = max(int(values.max(initial=0)), pad)
            bounds = np.iinfo(dtype if dtype != np.uint64 else np.int64)
            if least < bounds.min or most > bounds.max or (dtype.kind == "u" and least < 0):
                odd = most if most > bounds.max else least
                raise ValueError(f"dtype {dtype} cannot hold {odd}, a value of {name}; use int64")

    def _places(self, column: Column, length: int) -> npt.NDArray[np.bool_]:
        """Which cells are no padding."""
        with waited_for:
            import numpy as np

        cells = np.arange(length)
        lengths = column.lengths[:, None]
        return cells >= length - lengths if self._is_left else cells < lengths

    def mask(self) -> Any:
        """1 where an id is, 0 where padding is."""
        made = self._columns.allocated("attention_mask", self._ids.rows, self.length)
        _core.mask_rows(self._bounds, made, self._is_left, self._threads)
        return made

    def positions(self, mask: Column | None, offset: int | Sequence[int] | None) -> Any:
        """Positions of ids; with a mask of the rows' own, counted from the first id that it has 1 for."""
        with waited_for:
            import numpy as np

        try:
            first = np.asarray(0 if offset is None else offset)
        except ValueError:
            first = np.zeros(0)
        if first.dtype.kind not in "iu":
            raise TypeError(f"position_offset is an integer, or one for each row, not {_type_inside(offset)}")
        if first.ndim > 1 or (first.ndim == 1 and len(first) != self._ids.rows):
            raise ValueError(
                f"position_offset is one number, or one for each of {self._ids.rows} rows; it has the shape "
                f"{first.shape}"
            )
        most, least = (int(first.max()), int(first.min())) if first.size else (0, 0)
        bounds = np.iinfo(self._columns.dtype if self._columns.dtype != np.uint64 else np.int64)
        lowest = 0 if self._columns.dtype.kind == "u" else bounds.min
        if most + self.length > bounds.max or least < lowest:
            odd = least if least < lowest else most + self.length
            raise ValueError(f"dtype {self._columns.dtype} cannot hold the position {odd}")
        first = np.broadcast_to(first.astype(np.int64), (self._ids.rows,))
        made = self._columns.allocated("position_ids", self._ids.rows, self.length)
        if mask is None:
            _core.position_rows(self._bounds, np.ascontiguousarray(first), made, self._is_left, self._threads)
            return made
        full = np.zeros(made.shape, np.int64)
        full[self._places(self._ids, self.length)] = mask.values
        made[:] = np.maximum(np.cumsum(full, axis=1) - 1, 0) + first[:, None]
        return made

    def joined(self, column: Column) -> Any:
        """Where documents begin in all cells of the batch; the padding of a row counts as a document."""
        with waited_for:
            import numpy as np

        bounds, lengths = column.bounds, self._ids.lengths
        assert bounds is not None
        starts = np.arange(column.rows, dtype=np.int64) * self.length
        left = self.length - lengths if self._is_left else np.zeros_like(lengths)
        all_starts = np.repeat(starts + left, column.lengths) + column.values
        edges = np.append(starts, column.rows * self.length)
        return sorted_once(all_starts, edges).astype(np.int32)
