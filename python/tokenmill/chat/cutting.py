"""The runs of parts of a text.

In: the runs of a text, and places in it. Out: the runs of parts. A part stands for itself: it says again
whose turn it is in, and begins and ends the ``{% generation %}`` blocks that it was cut out of. Such an end
and the beginning of the next part carry the identity of the block, so that the block is whole again where
parts are joined (see ``outline``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from .sources import BLOCK_CUT, BLOCK_RESUMED, GENERATION_START, GENERATION_STOP, Runs

__all__ = ["cut", "cutter", "shortened", "tiler"]

Part: TypeAlias = Callable[[int, int], Runs]

#: Blocks within this many others are left to these: each part repeats the marks of the blocks that are open.
_MAX_DEPTH = 8


def cut(runs: Runs, start: int, stop: int) -> Runs:
    """The runs of a part of a text."""
    if len(runs) == 2 and runs[0]:
        return (stop - start, runs[1]) if start < stop else ()
    return cutter(runs)(start, stop)


def shortened(runs: list[Any], stop: int) -> list[Any]:
    """The runs of the beginning of a text. What is open there stays open."""
    found: list[Any] = []
    at = 0
    for length, source in zip(runs[::2], runs[1::2], strict=True):
        if at > stop or (length and at == stop):
            break
        found += (min(length, stop - at), source)
        at += length
    return found


class _Marks:
    """What the marks before a place of a text say."""

    __slots__ = ("_ignored", "blocks", "turn")

    def __init__(self) -> None:
        #: The open blocks that are too deep.
        self._ignored = 0
        #: The last mark of a turn.
        self.turn: Any = None
        #: The open blocks, outermost first: an identity, and what to add to a place to get that in the block.
        self.blocks: list[tuple[object, int]] = []

    def copy(self) -> _Marks:
        """The same, to go on from."""
        other = _Marks()
        other.turn, other.blocks, other._ignored = self.turn, self.blocks.copy(), self._ignored
        return other

    def pass_by(self, mark: Any, at: int, identity: object) -> bool:
        """Go past a mark at this place; a block that begins there has this identity.

        False for a mark that is to be left out, since its block is too deep.
        """
        kind = None if mark is None else mark[0]
        begins, ends = _begins_block(mark), mark is GENERATION_STOP or kind == BLOCK_CUT
        if (begins and len(self.blocks) == _MAX_DEPTH) or (ends and self._ignored):
            self._ignored += 1 if begins else -1
            return False
        if kind == BLOCK_RESUMED:
            block, place = mark[1]
            self.blocks.append((block, place - at))
        elif begins:
            self.blocks.append((identity, -at))
        elif ends:
            del self.blocks[-1:]
        elif kind == "turn":
            self.turn = mark
        return True

    def begin(self, at: int) -> list[Any]:
        """The marks that a part from this place on begins with."""
        found = [] if self.turn is None else [0, self.turn]
        for block, shift in self.blocks:
            found += (0, (BLOCK_RESUMED, (block, at + shift)))
        return found

    def end(self, at: int) -> list[Any]:
        """The marks that a part up to this place ends with."""
        found: list[Any] = []
        for block, shift in reversed(self.blocks):
            found += (0, (BLOCK_CUT, (block, at + shift)))
        return found


def _begins_block(mark: Any) -> bool:
    return mark is GENERATION_START or (mark is not None and mark[0] == BLOCK_RESUMED)


def cutter(runs: Runs) -> Part:
    """A function like ``cut`` for many parts of one text, in order: all of them take the time of one pass."""
    if len(runs) == 2 and runs[0]:
        return partial(cut, runs)
    index = begin = 0
    marks = _Marks()
    identities: dict[int, object] = {}

    def part(start: int, stop: int) -> Runs:
        nonlocal index, begin
        while index < len(runs) and begin + runs[index] <= start:
            if not runs[index]:
                marks.pass_by(runs[index + 1], begin, identities.setdefault(index, object()))
            begin += runs[index]
            index += 2
        if stop <= start:
            return (*marks.begin(start), *marks.end(start)) if marks.blocks else ()
        found, inner = marks.begin(start), marks.copy()
        at, place = begin, index
        while place < len(runs) and at <= stop:
            length, source = runs[place], runs[place + 1]
            if length:
                if at == stop:
                    break
                found += (min(at + length, stop) - max(at, start), source)
            elif at == stop and _begins_block(source):
                break
            elif inner.pass_by(source, at, identities.setdefault(place, object())):
                found += (0, source)
            at, place = at + length, place + 2
        return (*found, *inner.end(min(at, stop)))

    return part


def tiler(runs: Runs) -> Part:
    """A function that gives the runs of parts of one text, in order, between which others will stand.

    Each mark is in one part: in the first that ends at its place or later. So what stands in the place of a
    piece of the text is in the turn and the block that the piece was in.
    """
    index = begin = 0

    def part(start: int, stop: int) -> Runs:
        nonlocal index, begin
        found: list[Any] = []
        while index < len(runs) and begin <= stop:
            length, source = runs[index], runs[index + 1]
            end = begin + length
            if not length:
                found += (0, source)
            elif end > start:
                if max(begin, start) < stop:
                    found += (min(end, stop) - max(begin, start), source)
                if end > stop:
                    break
            begin, index = end, index + 2
        return tuple(found)

    return part
