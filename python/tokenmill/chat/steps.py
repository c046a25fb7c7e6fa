"""How much a rendering may do: steps are counted, never time.

A turn of a loop or a call of a macro costs as many steps as its body has nodes, an operation that makes a
text or a list one step for each character or item, and one that reads a long text a fraction of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from jinja2.utils import Namespace
from markupsafe import Markup

from .data import LazyDict, LazyList, Message, TrackedDict, TrackedList
from .markup import TrackedMarkup
from .sources import LITERAL
from .tracked import Tracked, joined, made

__all__ = ["MAX_NESTING", "MAX_SOURCE", "MAX_STEPS", "LimitError", "State"]

MAX_STEPS = 100_000_000
"""The steps that a rendering may take unless ``max_steps`` says otherwise: some seconds' work."""
MAX_SOURCE = 1_000_000
"""The characters that the source of a template may have."""
MAX_NESTING = 100
"""How deep the nodes of a template may nest."""

READING = 16
"""Reading costs less than making, by this factor."""
RUNS = 8
"""What a run of a text costs, beside its characters."""
ITEMS = 20
"""What an item costs that is walked through one by one."""

HOLDERS = frozenset((list, tuple, dict))
"""The types of what templates put together; what is from data has types of its own."""
_SIZED = frozenset(
    (
        list,
        tuple,
        dict,
        range,
        str,
        Markup,
        Tracked,
        TrackedMarkup,
        TrackedDict,
        LazyDict,
        Message,
        TrackedList,
        LazyList,
    )
)


class LimitError(Exception):
    """A rendering that exceeds a bound."""


class State:
    """What one rendering keeps beside its variables."""

    __slots__ = ("_bound", "left", "limit", "message", "now")

    def __init__(self, limit: int, now: datetime | None) -> None:
        self.limit = self.left = limit
        self.now = now
        #: The index of the message whose turn is being written; None outside of turns.
        self.message: int | None = None
        self._bound: dict[int, tuple[str, int]] | None = None

    def charge(self, steps: int) -> None:
        """Take so many steps."""
        self.left -= steps
        if self.left < 0:
            raise LimitError(f"it takes more than {self.limit:,} steps")

    def foresee(self, steps: int) -> None:
        """Refuse what would make too much, before it is made."""
        if steps > self.left:
            raise LimitError(f"it takes more than {self.limit:,} steps")

    def reading(self, value: Any) -> Any:
        """The value, after paying for a look at all of it."""
        kind = type(value)
        if kind in HOLDERS:
            self.weigh(value)
        elif kind in _SIZED:
            size = len(value)
            if size > READING:
                self.charge(size // READING)
        return value

    def weigh(self, value: Any) -> None:
        """Pay for each item in what a template put together, counted as a tree.

        The same list may stand in a tree many times over: printed, compared or hashed, it counts each time.
        """
        waiting = [value]
        while waiting:
            value = waiting.pop()
            kind = type(value)
            if kind is list or kind is tuple:
                items: Any = value
            elif kind is dict:
                items = [*value.keys(), *value.values()]
            elif isinstance(value, Namespace):
                items = value._Namespace__attrs.values()
            else:
                continue
            self.charge(ITEMS * len(items))
            waiting += [item for item in items if type(item) in HOLDERS or isinstance(item, Namespace)]

    def turns(self, values: Any, cost: int) -> Any:
        """What a loop goes through, after paying for its turns."""
        if type(values) in _SIZED:
            self.charge(len(values) * cost)
            return values
        if hasattr(values, "__len__"):
            self.charge(len(values) * cost)
            return values
        return self._each(iter(values), cost)

    def _each(self, values: Iterator[Any], cost: int) -> Iterator[Any]:
        for value in values:
            self.charge(cost)
            yield value

    def concat(self, pieces: Any) -> Tracked:
        """The text of what was written into a macro, a set block or the like."""
        pieces = list(pieces)
        if len(pieces) == 1 and type(pieces[0]) is Tracked:
            return pieces[0]
        text, runs = "".join(pieces), joined((), pieces)
        self.charge(len(text) + RUNS * len(runs))
        return made(text, runs)

    def kept(self, value: Any) -> Any:
        """What is assigned in a message's turn: its literals belong to that message from now on."""
        if type(value) is Tracked and self.message is not None and LITERAL in value.runs:
            bound = self.bound(self.message)
            return made(value, tuple([bound if part is LITERAL else part for part in value.runs]))
        return value

    def bound(self, index: int) -> tuple[str, int]:
        """The source of literals of a message's turn."""
        if self._bound is None:
            self._bound = {}
        return self._bound.setdefault(index, ("literal", index))
