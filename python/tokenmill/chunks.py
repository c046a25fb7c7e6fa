"""Parts of a text under a budget of ids: what ``Tokenizer.chunk`` and ``Tokenizer.truncate`` give."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final, overload

from ._forks import waited_for
from ._table import quoted
from .ragged import Ragged

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ._core import ReadyIds
    from ._table import Printer

__all__ = ["Chunk", "Chunks"]


@final
@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a text, and the ids that it has when it is encoded by itself."""

    text: str
    """The part."""
    ids: list[int]
    """Its ids, with those of special tokens around it if they were asked for."""
    start: int
    """Where it begins, in characters of the whole text."""
    end: int
    """Where it ends, in characters."""
    byte_start: int
    """Where it begins, in bytes of UTF-8."""
    byte_end: int
    """Where it ends, in bytes of UTF-8."""

    @property
    def count(self) -> int:
        """The number of its ids."""
        return len(self.ids)

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        """What IPython shows: without the ids, of which there may be thousands."""
        places = f"characters {self.start}-{self.end}, bytes {self.byte_start}-{self.byte_end}"
        ids = f"{self.count:,} id" + "s" * (self.count != 1)
        printer.text("Chunk(...)" if cycle else f"Chunk({ids}, {places}, {quoted(self.text)})")

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        with waited_for:
            from ._notebook import html_of_chunk

        return html_of_chunk(self)


@final
class Chunks(Sequence[Chunk]):
    """The chunks of a text, in its order. Arrays have all of them; an index makes a ``Chunk``."""

    __slots__ = ("_bounds", "_ready_ids", "_rows", "_text")

    _text: str
    _rows: Ragged
    _ready_ids: ReadyIds | None
    # Columns: start, end, byte_start, byte_end.
    _bounds: tuple[npt.NDArray[np.int64], ...]

    def __init__(self) -> None:
        raise TypeError("Chunks are made by Tokenizer.chunk")

    @classmethod
    def _of(cls, text: str, ready_ids: ReadyIds | None, arrays: tuple[Any, ...]) -> Chunks:
        ids, row_offsets, *bounds = arrays
        return cls._made(text, Ragged._of(ids, row_offsets, ready_ids, None), tuple(bounds), ready_ids)

    @classmethod
    def _made(cls, text: str, rows: Ragged, bounds: tuple[Any, ...], ready_ids: ReadyIds | None) -> Chunks:
        made = cls.__new__(cls)
        made._text, made._rows, made._ready_ids = text, rows, ready_ids
        for bound in bounds:
            bound.flags.writeable = False
        made._bounds = tuple(bound.view() for bound in bounds)
        return made

    @property
    def text(self) -> str:
        """The whole text."""
        return self._text

    @property
    def ids(self) -> Ragged:
        """The ids: a row for each chunk."""
        return self._rows

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """The number of ids of each chunk."""
        offsets = self._rows.row_offsets
        return offsets[1:] - offsets[:-1]

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where each begins, in characters of the text; read-only."""
        return self._bounds[0]

    @property
    def ends(self) -> npt.NDArray[np.int64]:
        """Where each ends, in characters of the text; read-only."""
        return self._bounds[1]

    @property
    def byte_starts(self) -> npt.NDArray[np.int64]:
        """Where each begins, in bytes of UTF-8; read-only."""
        return self._bounds[2]

    @property
    def byte_ends(self) -> npt.NDArray[np.int64]:
        """Where each ends, in bytes of UTF-8; read-only."""
        return self._bounds[3]

    def texts(self) -> list[str]:
        """The text of each chunk."""
        text = self._text
        bounds = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [text[start:end] for start, end in bounds]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Chunk: ...
    @overload
    def __getitem__(self, index: slice) -> Chunks: ...
    def __getitem__(self, index: int | slice) -> Chunk | Chunks:
        """A chunk; a slice of them as ``Chunks`` of the same text."""
        if isinstance(index, slice):
            bounds = tuple(bound[index].copy() for bound in self._bounds)
            return Chunks._made(self._text, self._rows[index], bounds, self._ready_ids)
        at = operator.index(index)
        if at < 0:
            at += len(self)
        if not 0 <= at < len(self):
            raise IndexError(f"chunk {index} of {len(self)} chunks")
        start, end, byte_start, byte_end = (int(bound[at]) for bound in self._bounds)
        [ids] = self._rows[at : at + 1].to_lists()
        return Chunk(self._text[start:end], ids, start, end, byte_start, byte_end)

    def __iter__(self) -> Iterator[Chunk]:
        columns = (bound.tolist() for bound in self._bounds)
        for ids, start, end, byte_start, byte_end in zip(self._rows.to_lists(), *columns, strict=True):
            yield Chunk(self._text[start:end], ids, start, end, byte_start, byte_end)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Chunks):
            return NotImplemented
        return len(self) == len(other) and all(
            ours == theirs for ours, theirs in zip(self, other, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (self._rows.ids, self._rows.row_offsets, *self._bounds)
        return (Chunks._of, (self._text, None, tuple(array.copy() for array in arrays)))

    def __repr__(self) -> str:
        """The number of chunks, and of their ids."""
        return f"Chunks({len(self)} chunks, {len(self._rows.ids)} ids)"


def chunk_of(text: str, ids: list[int], start: int, end: int, byte_start: int, byte_end: int) -> Chunk:
    """The chunk of a text between two characters."""
    return Chunk(text[start:end], ids, start, end, byte_start, byte_end)


def chunks_of_file(
    path: str | os.PathLike[str], stream: Any, *, ready_ids: ReadyIds | None, block_size: int
) -> Iterator[Chunk]:
    """The chunks of a file, which a stream cuts. The file is opened at once."""
    if block_size < 1:
        raise ValueError(f"block_size={block_size} is not at least 1")
    file = Path(path).open("rb")  # noqa: SIM115 -- closed by the generator

    def generate() -> Iterator[Chunk]:
        with file:
            is_last = False
            while not is_last:
                block = file.read(block_size)
                is_last = not block
                text, before, (ids, row_offsets, *columns) = stream.push(block, is_last)
                rows = Ragged._of(ids, row_offsets, ready_ids, None).to_lists()
                for own, start, end, *in_bytes in zip(rows, *(c.tolist() for c in columns), strict=True):
                    yield Chunk(text[start - before : end - before], own, start, end, *in_bytes)

    return generate()
