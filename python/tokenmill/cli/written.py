"""Ids in the forms that ``encode`` writes: as text, as JSON, as a numpy file, as raw numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .documents import Row
from .files import as_json

if TYPE_CHECKING:
    import numpy.typing as npt

    Ids = list[int] | npt.NDArray[Any]

__all__ = ["as_lines", "as_npy", "in_json", "raw"]

_PIECE = 1 << 16
"""Ids that are written as text at once."""
_RAW_PIECE = 1 << 20
"""Ids that are written as raw numbers at once."""


def as_lines(rows: Iterable[Ids]) -> Iterator[bytes]:
    """A line for each row, in pieces."""
    for ids in rows:
        yield from _joined(ids, " ")
        yield b"\n"


def in_json(rows: Iterable[tuple[str, int | None, Ids]]) -> Iterator[bytes]:
    """One object of the rows (file, its line or row, ids), in pieces, as ``json.dumps`` would write it."""
    yield b'{"texts": ['
    between = b""
    for name, line, ids in rows:
        unit = "row" if isinstance(line, Row) else "line"
        place = {"file": name} if line is None else {"file": name, unit: line}
        yield between + as_json({**place, "count": len(ids), "ids": []}).removesuffix(b"]}\n")
        yield from _joined(ids, ", ")
        yield b"]}"
        between = b", "
    yield b"]}\n"


def _joined(ids: Ids, between: str) -> Iterator[bytes]:
    for start in range(0, len(ids), _PIECE):
        piece = ids[start : start + _PIECE]
        numbers = piece if isinstance(piece, list) else piece.tolist()
        yield (between * (start > 0) + between.join(map(str, numbers))).encode()


def as_npy(ids: npt.NDArray[Any]) -> Iterator[bytes]:
    """A numpy file of one array, in pieces, as ``numpy.save`` writes it."""
    import io

    from numpy.lib import format

    npy: Any = format  # which has no types
    header = io.BytesIO()
    npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(ids))
    yield header.getvalue()
    yield from _pieces(ids)


def raw(ids: npt.NDArray[Any]) -> Iterator[bytes]:
    """The numbers alone, the lowest byte of each first, in pieces."""
    yield from _pieces(ids.astype(ids.dtype.newbyteorder("<"), copy=False))


def _pieces(ids: npt.NDArray[Any]) -> Iterator[bytes]:
    for start in range(0, len(ids), _RAW_PIECE):
        yield ids[start : start + _RAW_PIECE].tobytes()
