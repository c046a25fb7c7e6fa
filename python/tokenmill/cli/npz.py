"""Rows of ids and labels as one file that ``numpy.load`` reads, written as the rows come.

The file has the length of each array before its numbers. So all numbers are collected first, in memory or,
if there are many, in temporary files.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from .streams import naming

__all__ = ["as_npz"]

_TYPES = {"ids": "<u4", "labels": "<i8", "row_offsets": "<i8"}
_IN_MEMORY = 1 << 26
"""The most bytes of an array that are kept in memory."""
_BLOCK = 1 << 20
"""Bytes that are written at once."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every entry, so that the same rows make the same bytes."""


def as_npz(rows: Iterable[Mapping[str, Sequence[int]]], columns: Sequence[str]) -> Iterator[bytes]:
    """The ``columns`` of all rows as flat arrays, with the ``row_offsets`` of a ``Ragged``, in pieces."""
    import numpy as np

    with contextlib.ExitStack() as stack:
        held: dict[str, IO[bytes]] = {
            name: stack.enter_context(tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))
            for name in (*columns, "row_offsets")
        }
        with naming(tempfile.gettempdir()):
            end = 0
            held["row_offsets"].write(np.array([end], _TYPES["row_offsets"]).tobytes())
            for row in rows:
                for name in columns:
                    held[name].write(np.array(row[name], _TYPES[name]).tobytes())
                end += len(row[columns[0]])
                held["row_offsets"].write(np.array([end], _TYPES["row_offsets"]).tobytes())
        yield from _zipped(held)


def _zipped(held: Mapping[str, IO[bytes]]) -> Iterator[bytes]:
    sink = _Sink()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, file in held.items():
            entry = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            with archive.open(entry, "w", force_zip64=True) as member:
                member.write(_header(_TYPES[name], file.tell()))
                file.seek(0)
                while block := file.read(_BLOCK):
                    member.write(block)
                    yield sink.taken()
    yield sink.taken()


def _header(dtype: str, size: int) -> bytes:
    """The header of an array of ``size`` bytes."""
    import numpy as np
    from numpy.lib import format

    npy: Any = format  # which has no types
    header = io.BytesIO()
    shape = (size // np.dtype(dtype).itemsize,)
    npy.write_array_header_1_0(header, {"descr": dtype, "fortran_order": False, "shape": shape})
    return header.getvalue()


class _Sink(io.RawIOBase):
    """Holds what an archive writes until it is fetched. Like a pipe, it does not seek."""

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def writable(self) -> bool:
        """It can only be written to."""
        return True

    def write(self, piece: Any) -> int:
        """Keep a piece."""
        self._held.append(bytes(piece))
        return len(piece)

    def taken(self) -> bytes:
        """What was written since the last call."""
        held, self._held = b"".join(self._held), []
        return held
