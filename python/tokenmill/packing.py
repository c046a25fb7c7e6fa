"""Packing: documents of any length into windows of one length, with hardly any padding.

A model then trains on full windows. Each window says which document each of its tokens is of, and positions
start anew at each document, so that documents need not see each other.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, final, overload

from . import _core
from ._arrays import sorted_once
from ._forks import waited_for
from ._pad_batch import JOINED, Column, aligned, columns_of, padded
from .model_inputs import IGNORED, ModelInputs

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Packed", "pack"]

OWN = ("position_ids", "document_ids", JOINED)
"""Columns that packing makes anew."""


@final
class Packed(Sequence[ModelInputs]):
    """A sequence of windows, each ``ModelInputs`` of one dimension. Made by ``pack``; it never changes.

    A window has ``input_ids``, the other columns of the rows, and:

    - ``position_ids``: from 0 on for each document,
    - ``document_ids``: the row that each token comes from,
    - ``cu_seqlens``: where each document begins, and the end of the window (int32), as attention with
      variable lengths takes it.

    ``pad`` makes a batch of all of them; ``tok.pad_batch`` and a ``collator`` take some.
    """

    __slots__ = ("_bounds", "_columns", "_dropped_rows", "_dropped_tokens", "_length", "_segments", "_starts")

    _columns: dict[str, npt.NDArray[Any]]
    # Where windows begin in the columns, and where pieces of documents do; both with the end of the last one.
    _bounds: npt.NDArray[np.int64]
    _segments: npt.NDArray[np.int64]
    # Where the pieces of each window begin in `_segments`.
    _starts: npt.NDArray[np.int64]
    _length: int
    _dropped_rows: npt.NDArray[np.int64]
    _dropped_tokens: int

    def __init__(self) -> None:
        raise TypeError("Packed are made by pack(rows, length)")

    @classmethod
    def _of(
        cls,
        columns: dict[str, npt.NDArray[Any]],
        bounds: npt.NDArray[np.int64],
        segments: npt.NDArray[np.int64],
        length: int,
        dropped: tuple[npt.NDArray[np.int64], int],
    ) -> Packed:
        packed = cls.__new__(cls)
        for array in (*columns.values(), bounds, segments, dropped[0]):
            array.flags.writeable = False
        packed._columns, packed._bounds, packed._segments = columns, bounds, segments
        packed._starts = segments.searchsorted(bounds)
        packed._length = length
        packed._dropped_rows, packed._dropped_tokens = dropped
        return packed

    @property
    def dropped_rows(self) -> npt.NDArray[np.int64]:
        """The rows of which something was left out, as ``long`` and ``drop`` said; read-only."""
        return self._dropped_rows

    @property
    def dropped_tokens(self) -> int:
        """How many tokens were left out."""
        return self._dropped_tokens

    @property
    def split_rows(self) -> npt.NDArray[np.int64]:
        """The rows of which several pieces were kept; read-only.

        They are longer than a window or, with ``method="concat"``, stand at the end of one.
        """
        with waited_for:
            import numpy as np

        pieces = self._columns["document_ids"][self._segments[:-1]]
        rows, counts = np.unique(pieces, return_counts=True)
        split: npt.NDArray[np.int64] = rows[counts > 1]
        split.flags.writeable = False
        return split

    @property
    def fill(self) -> float:
        """How full the windows are: tokens divided by places for them; 1.0 where there are no windows."""
        places = len(self) * self._length
        return int(self._bounds[-1]) / places if places else 1.0

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @overload
    def __getitem__(self, index: int, /) -> ModelInputs: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[ModelInputs]: ...
    def __getitem__(self, index: int | slice, /) -> ModelInputs | list[ModelInputs]:
        """Window ``index``, as views; for a slice a list of windows."""
        if isinstance(index, slice):
            return [self._window(at) for at in range(len(self))[index]]
        at = operator.index(index)
        if at < 0:
            at += len(self)
        if not 0 <= at < len(self):
            raise IndexError(f"window {index} of {len(self)} windows")
        return self._window(at)

    def _window(self, at: int) -> ModelInputs:
        with waited_for:
            import numpy as np

        start, end = self._bounds[at : at + 2]
        window = ModelInputs({name: values[start:end] for name, values in self._columns.items()})
        segments = self._segments[self._starts[at] : self._starts[at + 1] + 1] - start
        window[JOINED] = segments.astype(np.int32)
        return window

    def __iter__(self) -> Iterator[ModelInputs]:
        return map(self._window, range(len(self)))

    def pad(
        self,
        pad_id: int,
        *,
        padding_side: Literal["left", "right"] = "right",
        pad_values: Mapping[str, int | float] | None = None,
        return_tensors: Literal["np", "pt"] = "np",
        dtype: npt.DTypeLike = "int64",
        num_threads: int | None = 1,
    ) -> ModelInputs:
        """All windows as arrays of windows x length, with ``attention_mask``.

        Padding has ``pad_id``, the label -100 and the document -1; ``pad_values`` says what it has in columns
        of other names. ``cu_seqlens`` counts the cells of all windows, row after row, with padding as a
        document of its own.
        """
        if padding_side not in ("left", "right"):
            raise ValueError(f'padding_side={padding_side!r} is neither "left" nor "right"')
        with waited_for:
            import numpy as np

        columns: dict[str, Any] = {
            name: Column(values, self._bounds) for name, values in self._columns.items()
        }
        numbers = [window[JOINED] for window in self]
        ends = np.cumsum([0, *map(len, numbers)], dtype=np.int64)
        columns[JOINED] = Column(np.concatenate([np.zeros(0, np.int32), *numbers]), ends)
        return padded(
            columns,
            pad_id=pad_id,
            is_left=padding_side == "left",
            length=self._length,
            pad_values=pad_values,
            return_tensors=return_tensors,
            dtype=dtype,
            num_threads=num_threads,
        )

    def __eq__(self, other: object, /) -> bool:
        if not isinstance(other, Packed):
            return NotImplemented
        with waited_for:
            from numpy import array_equal as same

        mine, theirs = self._columns, other._columns
        return (
            self._length == other._length
            and mine.keys() == theirs.keys()
            and bool(same(self._bounds, other._bounds) and same(self._segments, other._segments))
            and all(same(mine[name], theirs[name]) for name in mine)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Packed({len(self)} windows of up to {self._length}, {int(self._bounds[-1])} tokens)"

    def __reduce__(self) -> tuple[Any, ...]:
        dropped = (self._dropped_rows, self._dropped_tokens)
        return _restored, (self._columns, self._bounds, self._segments, self._length, dropped)


def _restored(*parts: Any) -> Packed:
    """The windows of a pickle."""
    return Packed._of(*parts)


def pack(
    rows: Any,
    length: int,
    *,
    method: Literal["best-fit", "concat"] = "best-fit",
    long: Literal["split", "truncate", "drop", "error"] = "split",
    drop: Literal["last"] | None = None,
    separator: int | None = None,
    separator_values: Mapping[str, int | float] | None = None,
    mask_first_label: bool = False,
) -> Packed:
    """Windows of at most ``length`` tokens of rows of ids: ``Packed``.

    No token is lost unless you say so, but a row that is longer than a window is split.

    ``rows`` is what ``tok.pad_batch`` takes: lists, arrays, a ``Ragged``, mappings with ``input_ids`` and
    more columns with a value for each id (``labels``, ``loss_mask``, ...), which are kept beside them.

    - ``"best-fit"`` puts each row as a whole into the window that it fills best: hardly any space is left,
      and only rows longer than a window are cut.
    - ``"concat"`` joins all rows and cuts every ``length`` tokens: all windows but the last one are full.
      ``drop="last"`` leaves that one out unless it is full.

    ``long`` says what happens to a row that is longer than a window: it is split into windows
    (``split_rows``), truncated to the first ``length`` tokens, dropped, or an error. What is left out is
    counted in ``dropped_tokens``. Of a conversation that is split, the second part has answers without their
    questions: ``"drop"`` and ``"error"`` keep conversations whole.
    ``separator`` is put after each row: a token of this row, a label where rows have labels, and with 1 in
    masks; ``separator_values`` says what it has in columns of other names. It is for rows without an end of
    their own, as a rule ``tok.eos_token_id``. A conversation has one: a separator would be a second token of
    that kind, and trained.

    Labels are kept as they are. In a window, a model that shifts them predicts the first token of a document
    from the last one of another; with ``mask_first_label`` its label is -100 (labels are made of the ids
    where rows have none). If all labels of a window are -100, the mean loss of it alone is nan.

    The same rows give the same windows, in the order of their first documents. Raises ``ValueError`` for rows
    that are padded, or columns that do not fit. Cost: n log n.

    >>> windows = pack([[5, 6, 7], [8, 9, 10, 11], [12]], 4)
    >>> [window.input_ids.tolist() for window in windows]
    [[5, 6, 7, 12], [8, 9, 10, 11]]
    >>> windows[0].document_ids.tolist(), windows[0].position_ids.tolist(), windows[0].cu_seqlens.tolist()
    ([0, 0, 0, 2], [0, 1, 2, 0], [0, 3, 4])
    """
    with waited_for:
        import numpy as np

    length = operator.index(length)
    if length < 1:
        raise ValueError(f"length={length} is no length of a window")
    for name, given, known in (
        ("method", method, ("best-fit", "concat")),
        ("long", long, ("split", "truncate", "drop", "error")),
        ("drop", drop, (None, "last")),
    ):
        if given not in known:
            raise ValueError(f"{name}={given!r} is none of {', '.join(map(repr, known))}")
    if drop is not None and method != "concat":
        raise ValueError('drop="last" is for method="concat"; best fit may leave several windows not full')
    columns = _read(rows, mask_first_label)
    bounds = columns["input_ids"].bounds
    assert bounds is not None
    flat = {name: column.values for name, column in columns.items()}
    if separator is not None:
        extra = _separator_values(flat, operator.index(separator), dict(separator_values or {}))
        flat = {name: np.insert(values, bounds[1:], extra[name]) for name, values in flat.items()}
        bounds = bounds + np.arange(len(bounds))
    kept, dropped, tokens = _kept(bounds, length, long)
    pieces = _best_fit(*kept, length) if method == "best-fit" else _concatenated(*kept, length)
    row, start, count, window = pieces
    if drop == "last" and len(window):
        last = window == window[-1]
        if (cut := int(count[last].sum())) < length:
            dropped, tokens = sorted_once(dropped, row[last]), tokens + cut
            row, start, count, window = (part[~last] for part in pieces)
    # Where each piece begins in the output.
    segments = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    within = np.arange(segments[-1]) - np.repeat(segments[:-1], count)
    index = within + np.repeat(start, count)
    packed = {name: values[index] for name, values in flat.items()}
    if mask_first_label:
        packed["labels"][segments[:-1]] = IGNORED
    packed["position_ids"] = within
    packed["document_ids"] = np.repeat(row, count)
    is_first = np.diff(window, prepend=-1) != 0
    ends = np.append(segments[:-1][is_first], segments[-1])
    return Packed._of(packed, ends, segments, length, (dropped, tokens))


def _read(rows: Any, makes_labels: bool) -> dict[str, Column]:
    """The columns that go into windows: one value for each id."""
    with waited_for:
        import numpy as np

    columns = columns_of(rows)
    ids = columns["input_ids"]
    for name, column in columns.items():
        if column.bounds is None:
            raise ValueError(
                f"{name} has one value in each row, and a window has many rows: leave it out; document_ids "
                "say which row a token is of"
            )
        if name != JOINED:
            aligned(name, column, ids)
    mask = columns.get("attention_mask")
    if mask is not None and not mask.values.all():
        raise ValueError("rows are padded (attention_mask has zeros): pack rows without padding")
    if makes_labels and "labels" not in columns:
        columns["labels"] = Column(ids.values.astype(np.int64), ids.bounds)
    return {name: column for name, column in columns.items() if name not in OWN}


def _separator_values(
    flat: dict[str, npt.NDArray[Any]], separator: int, given: dict[str, Any]
) -> dict[str, Any]:
    """What a separator has in each column."""
    known = {"input_ids": separator, "labels": separator, "token_type_ids": 0, **given}
    for name in flat:
        if name not in known:
            if not name.endswith("mask"):
                raise ValueError(
                    f"nothing says what a separator has in {name}: pass separator_values={{{name!r}: 0}}"
                )
            known[name] = 1
    return known


_Pieces = tuple["npt.NDArray[np.int64]", "npt.NDArray[np.int64]", "npt.NDArray[np.int64]"]
"""Row, start in the flat columns, and number of tokens of each piece."""


def _kept(
    bounds: npt.NDArray[np.int64], length: int, long: str
) -> tuple[_Pieces, npt.NDArray[np.int64], int]:
    """The pieces that are kept, one for each row that has tokens; and what ``long`` leaves out.

    Of that, the rows in question and the number of tokens.
    """
    with waited_for:
        import numpy as np

    start, count = bounds[:-1], bounds[1:] - bounds[:-1]
    row = np.arange(len(count), dtype=np.int64)
    is_long = count > length
    dropped, tokens = np.zeros(0, np.int64), 0
    if long == "error" and is_long.any():
        at = int(is_long.argmax())
        raise ValueError(
            f"row {at} has {count[at]} tokens, more than a window of {length}; pass "
            'long="split", "truncate" or "drop"'
        )
    if long == "truncate":
        dropped, tokens = row[is_long], int((count[is_long] - length).sum())
        count = np.minimum(count, length)
    elif long == "drop":
        dropped, tokens = row[is_long], int(count[is_long].sum())
        count = np.where(is_long, 0, count)
    some = count > 0
    return (row[some], start[some], count[some]), dropped, tokens


def _best_fit(
    row: npt.NDArray[np.int64], start: npt.NDArray[np.int64], count: npt.NDArray[np.int64], length: int
) -> tuple[Any, Any, Any, Any]:
    """Rows cut into pieces of at most a window, and the window of each by best fit; in order of windows."""
    with waited_for:
        import numpy as np

    parts = -(-count // length)
    of = np.repeat(np.arange(len(row)), parts)
    offset = (np.arange(len(of)) - np.repeat(np.cumsum(parts) - parts, parts)) * length
    row, start, count = row[of], start[of] + offset, np.minimum(count[of] - offset, length)
    window = _core.best_fit_windows(np.ascontiguousarray(count), length)
    order = np.argsort(window, kind="stable")
    return row[order], start[order], count[order], window[order]


def _concatenated(
    row: npt.NDArray[np.int64], start: npt.NDArray[np.int64], count: npt.NDArray[np.int64], length: int
) -> tuple[Any, Any, Any, Any]:
    """All rows joined and cut at the ends of windows, and the window of each piece."""
    with waited_for:
        import numpy as np

    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    begins = sorted_once(ends - count, np.arange(0, total, length)).astype(np.int64)
    of = np.searchsorted(ends, begins, side="right")
    counts = np.diff(np.append(begins, total))
    return row[of], start[of] + begins - (ends - count)[of], counts, begins // length
