"""Rows of ids in two flat arrays: what a batch of texts becomes.

``ids`` holds the ids of all rows one after the other; row ``i`` is
``ids[row_offsets[i]:row_offsets[i + 1]]``. Rows and slices are views, so taking one copies nothing.
numpy is imported when a ``Ragged`` is made, never by ``import tokenmill``.

``RaggedEncodings`` are such rows with the part of its text that each id stands for.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, cast, final, overload

from ._forks import waited_for
from .errors import MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ._core import EncodedRows, Encoding, ReadyIds

__all__ = ["Ragged", "RaggedEncodings"]


class Ragged:
    """A sequence of rows of ids, each of its own length. It never changes after it was made.

    ``ids`` is one-dimensional, of any integer type; ``row_offsets`` holds ``len(self) + 1`` integers,
    from 0 up to ``len(ids)``, none below the one before. Anything else is a ``ValueError``.
    Both are copied, so that a source that changes later does not change the rows.

    >>> rows = Ragged([5, 6, 7], [0, 2, 2, 3])
    >>> len(rows), rows.to_lists()
    (3, [[5, 6], [], [7]])
    """

    __slots__ = ("_ids", "_nulls", "_ready_ids", "_row_offsets")

    _ids: npt.NDArray[Any]
    _row_offsets: npt.NDArray[np.int64]
    # The `int` objects that lists of these ids are made of; None for ids that come from elsewhere.
    _ready_ids: ReadyIds | None
    # Which rows, all of them empty, are null; None where none is.
    _nulls: npt.NDArray[np.bool_] | None

    def __init__(self, ids: npt.ArrayLike, row_offsets: npt.ArrayLike) -> None:
        with waited_for:
            import numpy as np

        # In two steps: torch warns where numpy asks one of its tensors for a copy.
        flat, offsets = (np.array(np.asarray(values)) for values in (ids, row_offsets))
        if flat.ndim != 1 or offsets.ndim != 1:
            raise ValueError(
                f"ids and row_offsets have one dimension each, not {flat.ndim} and {offsets.ndim}"
            )
        if flat.size == 0 and flat.dtype.kind == "f":  # what numpy makes of []
            flat = flat.astype(np.uint32)
        if flat.dtype.kind not in "iu":
            raise ValueError(f"ids are integers, not {flat.dtype}")
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(flat):
            raise ValueError(f"row_offsets go from 0 to the number of ids, {len(flat)}")
        if offsets.dtype.kind not in "iu":
            raise ValueError(f"row_offsets are integers, not {offsets.dtype}")
        falls = np.flatnonzero(offsets[1:] < offsets[:-1])
        if len(falls):
            raise ValueError(f"row_offsets never fall, but row_offsets[{falls[0] + 1}] does")
        self._keep(flat, offsets.astype(np.int64, copy=False), None, None)

    @classmethod
    def _of(
        cls,
        ids: npt.NDArray[Any],
        row_offsets: npt.NDArray[np.int64],
        ready_ids: ReadyIds | None,
        nulls: npt.NDArray[np.bool_] | None,
    ) -> Ragged:
        """Rows of arrays that are sound and that nobody else changes: nothing is checked or copied."""
        rows = cls.__new__(cls)
        rows._keep(ids, row_offsets, ready_ids, nulls)
        return rows

    def _keep(
        self,
        ids: npt.NDArray[Any],
        row_offsets: npt.NDArray[np.int64],
        ready_ids: ReadyIds | None,
        nulls: npt.NDArray[np.bool_] | None,
    ) -> None:
        for array in (ids, row_offsets):
            array.flags.writeable = False
        # Views of arrays that are read-only cannot be made writable again.
        self._ids, self._row_offsets = ids.view(), row_offsets.view()
        self._ready_ids, self._nulls = ready_ids, nulls

    @property
    def ids(self) -> npt.NDArray[Any]:
        """The ids of all rows, one after the other; read-only."""
        return self._ids

    @property
    def row_offsets(self) -> npt.NDArray[np.int64]:
        """Where each row begins in ``ids``, and finally where the last one ends; read-only."""
        return self._row_offsets

    def __len__(self) -> int:
        return len(self._row_offsets) - 1

    @overload
    def __getitem__(self, index: int, /) -> npt.NDArray[Any]: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | npt.NDArray[Any], /) -> Ragged: ...
    def __getitem__(
        self, index: int | slice | Sequence[int] | npt.NDArray[Any], /
    ) -> npt.NDArray[Any] | Ragged:
        """Row ``index`` as a view of ``ids``; a slice, or the rows of these numbers, as a ``Ragged``.

        A slice of neighbours shares ``ids``; one with a step, and a list or an array of numbers, copies the
        rows it takes. An array of ``bool`` says of each row whether it is taken.

        >>> Ragged([5, 6, 7], [0, 2, 2, 3])[[2, 0]].to_lists()
        [[7], [5, 6]]
        """
        offsets = self._row_offsets
        rows = None if isinstance(index, int) else _rows_of(index, len(self))
        if rows is None:
            at = operator.index(cast("int", index))
            if at < 0:
                at += len(self)
            if not 0 <= at < len(self):
                raise IndexError(f"row {index} of {len(self)} rows")
            return self._ids[offsets[at] : offsets[at + 1]]
        if isinstance(rows, range) and rows.step == 1:
            stop = max(rows.start, rows.stop)
            bounds = offsets[rows.start : stop + 1]
            return Ragged._of(
                self._ids[bounds[0] : bounds[-1]],
                bounds - bounds[0],
                self._ready_ids,
                None if self._nulls is None else self._nulls[rows.start : stop],
            )
        return self._take(rows)

    def _take(self, rows: Sequence[int]) -> Ragged:
        """The rows of these numbers, none of which is negative."""
        with waited_for:
            import numpy as np

        bounds = self._row_offsets
        picked = [self._ids[bounds[row] : bounds[row + 1]] for row in rows]
        ends = np.cumsum([0, *map(len, picked)], dtype=np.int64)
        nulls = None if self._nulls is None else self._nulls[list(rows)]
        return Ragged._of(np.concatenate([self._ids[:0], *picked]), ends, self._ready_ids, nulls)

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        for start, end in pairwise(self._row_offsets.tolist()):
            yield self._ids[start:end]

    def to_lists(self) -> list[list[int]]:
        """One list of plain ``int`` for each row."""
        if self._ready_ids is not None:
            return self._ready_ids.rows(self._ids, self._row_offsets)
        return [row.tolist() for row in self]

    def pad(
        self,
        pad_id: int,
        *,
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: Literal["left", "right"] = "right",
        dtype: npt.DTypeLike = "int64",
        num_threads: int | None = 1,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The rows as an array of rows x length, and their mask: 1 where an id is, 0 where padding is.

        Rows are padded to the longest, or to ``length``, up to a multiple of ``pad_to_multiple_of``.
        ``tok.pad_batch(rows)`` gives the same with the padding of a tokenizer, and more. Raises
        ``ValueError`` for a row that is longer than ``length``, and for a ``dtype`` that cannot hold an id.

        >>> ids, mask = Ragged([5, 6, 7], [0, 2, 3]).pad(0)
        >>> ids.tolist(), mask.tolist()
        ([[5, 6], [7, 0]], [[1, 1], [1, 0]])
        """
        with waited_for:
            from ._pad_batch import padded

        if padding_side not in ("left", "right"):
            raise ValueError(f'padding_side={padding_side!r} is neither "left" nor "right"')
        made = padded(
            Ragged._of(self._ids, self._row_offsets, None, None),
            pad_id=operator.index(pad_id),
            is_left=padding_side == "left",
            length=length,
            multiple_of=pad_to_multiple_of,
            dtype=dtype,
            num_threads=num_threads,
        )
        return made["input_ids"], made["attention_mask"]

    def to_arrow(self) -> Any:
        """The same as a ``pyarrow.LargeListArray``, sharing memory with this one.

        What was null in the Arrow array that the texts came from is null again.
        Needs the extra ``arrow``: a ``MissingExtraError`` says so where it is not installed.
        """
        try:
            with waited_for:
                pa: Any = import_module("pyarrow")
                # pyarrow imports pandas, if it is installed, when it makes its first array.
                offsets, ids = pa.array(self._row_offsets), pa.array(self._ids)
        except ImportError as missing:
            raise MissingExtraError(
                'to_arrow() needs pyarrow: pip install "tokenmill[arrow]"', extra="arrow"
            ) from missing
        if self._nulls is None:
            return pa.LargeListArray.from_arrays(offsets, ids)
        return pa.LargeListArray.from_arrays(offsets, ids, mask=pa.array(self._nulls))

    def __eq__(self, other: object, /) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        with waited_for:
            from numpy import array_equal as same

        return bool(
            same(self._row_offsets, other._row_offsets)
            and same(self._ids, other._ids)
            and same(self._null_rows(), other._null_rows())
        )

    def _null_rows(self) -> list[int]:
        return [] if self._nulls is None else self._nulls.nonzero()[0].tolist()

    def __repr__(self) -> str:
        return f"Ragged({len(self)} rows, {len(self._ids)} ids, {self._ids.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._ids, self._row_offsets, self._nulls)


@final
class RaggedEncodings(Ragged):
    """Rows of ids with offsets: what ``encode_batch(texts, offsets=True)`` gives.

    It is a ``Ragged`` that also has ``offsets``, an array of a row ``(start, end)`` for each id, in
    characters of its text, and ``byte_offsets``, the same in bytes of its UTF-8; what was added to a text
    has ``(0, 0)``. ``to_encodings()`` gives the rows as ``encode_with_offsets`` gives each. Two of them are
    equal if their ids, rows and offsets are.

    >>> import tokenmill
    >>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
    >>> batch = tok.encode_batch(["lowe", "", "low"], offsets=True)
    >>> batch.offsets.tolist()
    [[0, 3], [3, 4], [0, 3]]
    >>> batch[2:].to_encodings()[0].tokens
    ['low']
    """

    __slots__ = ("_byte_offsets", "_encodings", "_offsets", "_rows")

    _offsets: npt.NDArray[np.int64]
    # Made when they are first asked for.
    _byte_offsets: npt.NDArray[np.int64] | None
    # The rows of a whole batch, and which of them are here.
    _encodings: EncodedRows
    _rows: range

    def __init__(self) -> None:
        raise TypeError("RaggedEncodings are made by encode_batch(texts, offsets=True)")

    @classmethod
    def _of_encodings(
        cls,
        ids: npt.NDArray[Any],
        row_offsets: npt.NDArray[np.int64],
        ready_ids: ReadyIds | None,
        nulls: npt.NDArray[np.bool_] | None,
        offsets: npt.NDArray[np.int64],
        encodings: EncodedRows,
        rows: range | None = None,
    ) -> RaggedEncodings:
        """As ``_of``; ``offsets`` may be flat; ``rows`` says which of ``encodings`` (default: all)."""
        batch = cls.__new__(cls)
        batch._keep(ids, row_offsets, ready_ids, nulls)
        offsets.flags.writeable = False
        batch._offsets = offsets.reshape(-1, 2)
        batch._byte_offsets = None
        batch._encodings = encodings
        batch._rows = range(len(encodings)) if rows is None else rows
        return batch

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """``(start, end)`` of each id of ``ids``, in characters of its text: ``len(ids)`` x 2; read-only."""
        return self._offsets

    @property
    def byte_offsets(self) -> npt.NDArray[np.int64]:
        """As ``offsets``, in bytes: of the text's UTF-8, or of the text itself if it was given as bytes.

        Made when it is first asked for, and kept.

        >>> import tokenmill
        >>> tok = tokenmill.train(texts=["müde mühle"] * 3, vocab_size=258)
        >>> batch = tok.encode_batch(["mü"], offsets=True)
        >>> batch.offsets.tolist(), batch.byte_offsets.tolist()
        ([[0, 2]], [[0, 3]])
        """
        made = self._byte_offsets
        if made is None:
            rows = self._rows
            made = self._encodings.byte_offsets(rows.start, rows.step, len(rows))
            made.flags.writeable = False
            made = self._byte_offsets = made.reshape(-1, 2)
        return made

    @overload
    def __getitem__(self, index: int, /) -> npt.NDArray[Any]: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | npt.NDArray[Any], /) -> RaggedEncodings: ...
    def __getitem__(
        self, index: int | slice | Sequence[int] | npt.NDArray[Any], /
    ) -> npt.NDArray[Any] | RaggedEncodings:
        """As for ``Ragged``: row ``index`` of the ids; several rows with their offsets."""
        part = super().__getitem__(index)
        if not isinstance(part, Ragged):
            return part
        rows = _rows_of(index, len(self))
        assert rows is not None
        bounds = self._row_offsets
        if isinstance(rows, range) and rows.step == 1:
            start = bounds[rows.start]
            offsets = self._offsets[start : start + len(part.ids)]
        else:
            with waited_for:
                from numpy import concatenate

            taken = [self._offsets[bounds[row] : bounds[row + 1]] for row in rows]
            offsets = concatenate([self._offsets[:0], *taken])
        encodings, of = self._encodings, self._rows
        if isinstance(index, slice):
            of = of[index]
        else:
            encodings = encodings.take([of[row] for row in rows])
            of = range(len(encodings))
        arrays = (part._ids, part._row_offsets, part._ready_ids, part._nulls, offsets)
        return RaggedEncodings._of_encodings(*arrays, encodings, of)

    def to_encodings(self) -> list[Encoding]:
        """An ``Encoding`` for each row, as ``encode_with_offsets`` gives it; that of a null has no ids."""
        return self._own_rows().encodings()

    def _own_rows(self) -> EncodedRows:
        rows = self._rows
        if rows == range(len(self._encodings)):
            return self._encodings
        return self._encodings.part(rows.start, rows.step, len(rows))

    def __eq__(self, other: object, /) -> bool:
        if not isinstance(other, RaggedEncodings):
            return False if isinstance(other, Ragged) else NotImplemented
        with waited_for:
            from numpy import array_equal as same

        return super().__eq__(other) and bool(same(self._offsets, other._offsets))

    def __repr__(self) -> str:
        return f"RaggedEncodings({len(self)} rows, {len(self._ids)} ids, {self._ids.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (self._ids, self._row_offsets, self._nulls, self._offsets)
        return _restored_encodings, (*arrays, self._own_rows())


def _rows_of(index: object, count: int) -> range | list[int] | None:
    """The rows that an index chooses of ``count``, counted from the first; None for an index of one row."""
    if isinstance(index, slice):
        return range(count)[index]
    # A tuple would be an index in several dimensions. A tensor with one number passes for a number.
    if not isinstance(index, list | range) and not getattr(index, "ndim", 0):
        return None
    with waited_for:
        import numpy as np

    rows: npt.NDArray[Any] = np.asarray(index)
    if rows.ndim != 1:
        raise IndexError(f"rows are chosen by numbers of one dimension, not {rows.ndim}")
    if rows.dtype == bool:
        if len(rows) != count:
            raise IndexError(f"an array of bool has one value for each of {count} rows, not {len(rows)}")
        rows = rows.nonzero()[0]
    if rows.dtype.kind not in "iu" and len(rows):
        raise TypeError(f"rows are chosen by integers, not {rows.dtype}")
    outside = (rows < -count) | (rows >= count)
    if outside.any():
        raise IndexError(f"row {rows[outside][0]} of {count} rows")
    return [row + count if row < 0 else row for row in rows.tolist()]


def _restored_encodings(
    ids: npt.NDArray[Any],
    row_offsets: npt.NDArray[np.int64],
    nulls: npt.NDArray[np.bool_] | None,
    offsets: npt.NDArray[np.int64],
    encodings: EncodedRows,
) -> RaggedEncodings:
    """The rows of a pickle, with their offsets."""
    rows = Ragged(ids, row_offsets)
    if len(encodings) != len(rows) or offsets.shape != (len(rows.ids), 2):
        raise ValueError(
            f"{len(rows)} rows of {len(rows.ids)} ids, but {len(encodings)} encodings and "
            f"offsets of shape {offsets.shape}"
        )
    return RaggedEncodings._of_encodings(rows._ids, rows._row_offsets, None, nulls, offsets, encodings)


def _restored(
    ids: npt.NDArray[Any], row_offsets: npt.NDArray[np.int64], nulls: npt.NDArray[np.bool_] | None
) -> Ragged:
    """The rows of a pickle."""
    rows = Ragged(ids, row_offsets)
    rows._nulls = nulls
    return rows
