"""Which part of a rendering is whose turn: what labels need, at a fraction of what segments cost.

In: the runs that a template wrote. Out: the stretches of each message's turn, and what generation blocks
wrote.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from .sources import LITERAL, Runs, Source, message_of

__all__ = ["Outline", "Run", "Stretch", "Walked", "outline_of_runs", "walk"]


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


def outline_of_runs(walked: Walked, count: int) -> Outline:
    """The outline of a rendering of so many messages."""
    return Outline(_stretches(walked.runs, count), walked.generation)


Run: TypeAlias = "tuple[int, int, Source, int | None]"
"""Where a part of the text begins and ends, its source, and the message whose turn it was written in."""


class Walked(NamedTuple):
    """All runs of a rendering, and what its marks say."""

    runs: list[Run]
    generation: tuple[tuple[int, int], ...]


def walk(pieces: list[Runs], outer_turns: list[int | None]) -> Walked:
    """All runs of a rendering, from those of its pieces and the message in whose turn each was written."""
    found: list[Run] = []
    generation: list[tuple[int, int]] = []
    opened: list[int] = []
    start = 0
    for runs, outer in zip(pieces, outer_turns, strict=False):
        turn = outer
        if outer is None and len(runs) > 2:
            outer = turn = _only_message(runs)
        for index in range(0, len(runs), 2):
            length = runs[index]
            if length:
                stop = start + length
                found.append((start, stop, runs[index + 1], turn))
                start = stop
                continue
            kind, value = runs[index + 1] or (None, None)
            if kind == "turn":
                turn = value if value is not None else outer
            elif kind == "generation":
                if value:
                    opened.append(start)
                elif opened:
                    generation.append((opened.pop(), start))
    # A text that is to be continued is cut before a block ends.
    generation += [(begun, start) for begun in reversed(opened) if begun < start]
    return Walked(found, tuple(generation))


def _only_message(runs: Runs) -> int | None:
    """The one message that fields in these runs are of; None where there are several, or none."""
    found = {message_of(source) for source in runs[1::2] if source is not LITERAL}
    found.discard(None)
    return found.pop() if len(found) == 1 else None


# ---- turns --------------------------------------------------------------------------------------


def _stretches(runs: list[Run], count: int) -> tuple[tuple[Stretch, ...], ...]:
    """For each of so many messages the stretches of its turn."""
    found: list[list[Stretch]] = [[] for _ in range(count)]
    #: The stretch that is being followed, and whose it is.
    place: int | None = None
    begin = end = 0
    first: int | None = None
    last: int | None = None
    is_shared = is_hidden = False
    for start, stop, source, turn in runs:
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
                found[place].append(Stretch(begin, end, first, last, is_shared, is_hidden))
            place, begin, first, last, is_shared, is_hidden = where, start, None, None, False, False
        end = stop
        if own:
            if first is None:
                first = start
            last = stop
            is_hidden = is_hidden or hidden
        elif others:
            is_shared = True
    if place is not None:
        found[place].append(Stretch(begin, end, first, last, is_shared, is_hidden))
    return tuple([tuple(each) for each in found])


#: The roots of other data.
_DATA = frozenset(("tools", "documents", "variable"))
