"""Which parts of a rendering belong to which turn: all that labels need, much cheaper than segments.

In: the runs that a template wrote. Out: the parts of the text that were written in each message's turn, and
in generation blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from .sources import BLOCK_CUT, BLOCK_MARKS, BLOCK_RESUMED, LITERAL, Source

__all__ = ["Outline", "Part", "TurnSpan", "outline_of_runs", "parts_of"]


class TurnSpan(NamedTuple):
    """A part of a rendering that was written in the turn of one message."""

    start: int
    """Where it begins, in characters."""
    stop: int
    """Where it ends."""
    first: int | None
    """Where the first text begins that is of the message itself (its role apart), of other data such as
    tools, or of unknown origin; None if there is none."""
    last: int | None
    """Where the last such text ends."""
    is_shared: bool
    """Whether text of another message stands in it, roles apart."""
    is_hidden: bool
    """Whether text of unknown origin stands in it."""


class Outline(NamedTuple):
    """The parts of a rendering that belong to each turn, and to generation blocks."""

    turns: tuple[tuple[TurnSpan, ...], ...]
    """For each message the parts of its turn; none where the template wrote nothing in it."""
    generation: tuple[tuple[int, int], ...]
    """What ``{% generation %}`` blocks wrote: pairs ``(start, stop)``."""

    def spans(self, message: int) -> list[tuple[int, int]]:
        """Where the turn of a message was written."""
        return [span[:2] for span in self.turns[message]]


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
    """The message whose turn follows a mark: for the whole output piece, and at this place in it."""
    kind, value = mark or (None, None)
    if kind == "piece":
        return value, value
    if kind == "turn":
        return outer, outer if value is None else value
    return outer, turn


def outline_of_runs(runs: Sequence[Any], count: int) -> Outline:
    """The outline of a rendering of ``count`` messages, from its runs."""
    found: list[list[TurnSpan]] = [[] for _ in range(count)]
    blocks = _Blocks()
    outer: int | None = None
    turn: int | None = None
    # The span that the loop is in: the message, where the span begins, and its other fields.
    current: int | None = None
    begin = start = stop = 0
    first: int | None = None
    last: int | None = None
    is_shared = is_hidden = False
    for length, source in zip(runs[::2], runs[1::2], strict=True):
        if not length:
            if source is not None and source[0] in BLOCK_MARKS:
                blocks.pass_by(source, stop)
            else:
                outer, turn = _after(source, outer, turn)
            continue
        start, stop = stop, stop + length
        message = turn
        own = others = hidden = False
        if source is LITERAL:
            if turn == current:
                continue
        elif source is None:
            own = hidden = True
        else:
            root = source
            while type(root[0]) is tuple:
                root = root[0]
            if root[0] == "message":
                if turn is None:
                    message = root[1]
                if source[1] != "role" or source[0] is not root:
                    own = message == root[1]
                    others = not own
            elif root[0] == "literal":
                if turn is None:
                    message = root[1]
            else:
                own = root[0] in _DATA
        if message != current:
            if current is not None:
                found[current].append(TurnSpan(begin, start, first, last, is_shared, is_hidden))
            current, begin, first, last, is_shared, is_hidden = message, start, None, None, False, False
        if own:
            if first is None:
                first = start
            last = stop
            is_hidden = is_hidden or hidden
        elif others:
            is_shared = True
    if current is not None:
        found[current].append(TurnSpan(begin, stop, first, last, is_shared, is_hidden))
    return Outline(tuple([tuple(each) for each in found]), blocks.found_up_to(stop))


class _Blocks:
    """The generation blocks of a rendering, from their marks."""

    __slots__ = ("_cut", "_found", "_opened")

    def __init__(self) -> None:
        self._found: list[tuple[int, int]] = []
        #: Where each open block begins, outermost first.
        self._opened: list[int] = []
        #: The blocks that were cut last, innermost first: their identity, and the place in them.
        self._cut: list[tuple[object, int]] = []

    def pass_by(self, mark: Any, at: int) -> None:
        """Go past a mark at this place of the text."""
        kind, value = mark
        if kind == BLOCK_RESUMED:
            block, place = value
            if self._cut and self._cut[-1][0] is block and self._cut[-1][1] <= place:
                # What stands between two parts of a block is in the block.
                self._cut.pop()
                self._opened.append(self._found.pop()[0])
                return
            self._cut.clear()
            self._opened.append(at)
        elif kind == BLOCK_CUT:
            if self._close(at):
                self._cut.append(value)
        else:
            self._cut.clear()
            if value:
                self._opened.append(at)
            else:
                self._close(at)

    def _close(self, at: int) -> bool:
        """End the innermost open block there, if there is one."""
        if not self._opened:
            return False
        self._found.append((self._opened.pop(), at))
        return True

    def found_up_to(self, stop: int) -> tuple[tuple[int, int], ...]:
        """The blocks of the text, which ends there: a text that is to be continued may end within some."""
        return (*self._found, *[(begun, stop) for begun in reversed(self._opened) if begun < stop])


#: The roots of other data.
_DATA = frozenset(("tools", "documents", "variable"))
