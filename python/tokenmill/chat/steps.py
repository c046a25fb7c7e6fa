"""How much a rendering may do: steps are counted, never time.

An iteration of a loop or a call of a macro costs as many steps as its body has nodes. An operation that makes
a text or a list costs a step for each character or item, and one that reads a long text a fraction of that.
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
"""Reading this many characters or items costs one step."""
RUNS = 8
"""The steps that each run of a text costs, besides its characters."""
ITEMS = 20
"""The steps that each item costs in an operation on single items."""

CONTAINERS = frozenset((list, tuple, dict))
"""The types of containers that templates make; those from data have types of their own."""
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
    """The state of one rendering, besides its variables."""

    __slots__ = ("_bound", "left", "limit", "message", "now")

    def __init__(self, limit: int, now: datetime | None) -> None:
        self.limit = self.left = limit
        self.now = now
        #: The index of the message whose turn is being written; None outside of turns.
        self.message: int | None = None
        self._bound: dict[int, tuple[str, int]] | None = None

    def charge(self, steps: int) -> None:
        """Take this many steps."""
        self.left -= steps
        if self.left < 0:
            raise LimitError(f"it takes more than {self.limit:,} steps")

    def require(self, steps: int) -> None:
        """Refuse an operation that needs more steps than are left, before it is done."""
        if steps > self.left:
            raise LimitError(f"it takes more than {self.limit:,} steps")

    def reading(self, value: Any) -> Any:
        """The value, after charging for reading all of it."""
        kind = type(value)
        if kind in CONTAINERS:
            self.charge_items(value)
        elif kind in _SIZED:
            size = len(value)
            if size > READING:
                self.charge(size // READING)
        return value

    def charge_items(self, value: Any) -> None:
        """Charge for each item of a container that a template made, and of the containers in it.

        A list that is in it several times is charged each time: it is printed, compared or hashed each time.
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
            waiting += [item for item in items if type(item) in CONTAINERS or isinstance(item, Namespace)]

    def iterated(self, values: Any, cost: int) -> Any:
        """The values that a loop goes through, after charging for its iterations, or while it runs."""
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

    def with_bound_literals(self, value: Any) -> Any:
        """A value to be assigned; in a message's turn, its literals belong to that message from then on."""
        if type(value) is Tracked and self.message is not None and LITERAL in value.runs:
            bound = self.source_of_literals(self.message)
            return made(value, tuple([bound if part is LITERAL else part for part in value.runs]))
        return value

    def source_of_literals(self, index: int) -> tuple[str, int]:
        """The source of literals of a message's turn."""
        if self._bound is None:
            self._bound = {}
        return self._bound.setdefault(index, ("literal", index))
