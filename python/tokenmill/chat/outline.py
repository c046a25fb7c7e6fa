"""Which part of a rendering is whose turn: what labels need, at a fraction of what segments cost.

In: the runs that a template wrote. Out: the stretches of each message's turn, and what generation blocks
wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from .sources import GENERATION_START, GENERATION_STOP, LITERAL, Source

__all__ = ["Outline", "Part", "Stretch", "outline_of_runs", "parts_of"]


class Stretch(NamedTuple):
    """A part of a rendering that was written in the turn of one message."""

    start: int
    """Where it begins, in characters."""
    stop: int
    """Where it ends."""
    first: int | None
    """Where in it the first text begins that the message holds, its role apart, or that is of unknown origin;
    None where the template wrote all of it."""
    last: int | None
    """Where the last such text ends."""
    is_shared: bool
    """Whether text of another message stands in it, roles apart."""
    is_hidden: bool
    """Whether text of unknown origin stands in it."""


class Outline(NamedTuple):
    """Whose turn it is in which part of a rendering."""

    stretches: tuple[tuple[Stretch, ...], ...]
    """``turns``, with the extent of each message's own text."""
    generation: tuple[tuple[int, int], ...]

    def spans(self, message: int) -> list[tuple[int, int]]:
        """Where the turn of a message was written."""
        return [stretch[:2] for stretch in self.stretches[message]]


Part: TypeAlias = "tuple[int, int, Source, int | None]"
"""Where a part of the text begins and ends, its source, and the message whose turn it was written in."""


def parts_of(runs: Sequence[Any]) -> list[Part]:
    """The parts of a rendering, from its runs."""
    parts: list[Part] = []
    start = 0
    outer: int | None = None
    turn: int | None = None
    for length, source in zip(runs[::2], runs[1::2], strict=True):
        if length:
            parts.append((start, start + length, source, turn))
            start += length
        else:
            outer, turn = _after(source, outer, turn)
    return parts


def _after(mark: Source, outer: int | None, turn: int | None) -> tuple[int | None, int | None]:
    """The message in whose turn what follows a mark is written: by what the piece says, and now."""
    kind, value = mark or (None, None)
    if kind == "piece":
        return value, value
    if kind == "turn":
        return outer, outer if value is None else value
    return outer, turn


def outline_of_runs(runs: Sequence[Any], count: int) -> Outline:
    """The outline of a rendering of so many messages, from its runs."""
    found: list[list[Stretch]] = [[] for _ in range(count)]
    generation: list[tuple[int, int]] = []
    opened: list[int] = []
    outer: int | None = None
    turn: int | None = None
    #: The stretch that is being followed, and whose it is.
    place: int | None = None
    begin = start = stop = 0
    first: int | None = None
    last: int | None = None
    is_shared = is_hidden = False
    for length, source in zip(runs[::2], runs[1::2], strict=True):
        if not length:
            if source is GENERATION_START:
                opened.append(stop)
            elif source is GENERATION_STOP:
                if opened:
                    generation.append((opened.pop(), stop))
            else:
                outer, turn = _after(source, outer, turn)
            continue
        start, stop = stop, stop + length
        # Whose turn it is, whether this is text that counts for ``Stretch.first``, or another message's.
        own = others = False
        where = turn
        if hidden := source is None:
            own = True
        elif source is not LITERAL:
            root = source
            while type(root[0]) is tuple:
                root = root[0]
            if root[0] == "message":
                if turn is None:
                    where = root[1]
                if source[1] != "role" or source[0] is not root:
                    own = where == root[1]
                    others = not own
            elif root[0] == "literal":
                if turn is None:
                    where = root[1]
            else:
                own = root[0] in _DATA
        if where != place:
            if place is not None:
                found[place].append(Stretch(begin, start, first, last, is_shared, is_hidden))
            place, begin, first, last, is_shared, is_hidden = where, start, None, None, False, False
        if own:
            if first is None:
                first = start
            last = stop
            is_hidden = is_hidden or hidden
        elif others:
            is_shared = True
    if place is not None:
        found[place].append(Stretch(begin, stop, first, last, is_shared, is_hidden))
    # A text that is to be continued is cut before a block ends.
    generation += [(begun, stop) for begun in reversed(opened) if begun < stop]
    return Outline(tuple([tuple(each) for each in found]), tuple(generation))


#: The roots of other data.
_DATA = frozenset(("tools", "documents", "variable"))
