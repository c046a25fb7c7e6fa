"""What ``|safe`` gives, with runs.

jinja2's ``Markup`` escapes the plain strings that it is combined with, whatever the template's own setting.
Its methods make the text here too; the runs are those that the same method of ``Tracked`` gives, where both
give the same characters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup, escape

from .sources import Runs
from .tracked import Tracked, made, runs_by_part, runs_of

__all__ = ["TrackedMarkup", "escaped", "marked_safe"]


class TrackedMarkup(Markup):
    """A ``Markup`` with runs."""

    __slots__ = ("runs",)

    runs: Runs

    def __new__(cls, value: Any = "", *more: Any) -> TrackedMarkup:
        result = super().__new__(cls, value, *more)
        result.runs = (len(result), None)
        return result

    def __str__(self) -> str:
        return made(str.__str__(self), self.runs)

    def __repr__(self) -> str:
        return f"Markup({str.__repr__(self)})"

    def __add__(self, other: Any) -> Any:
        if not (isinstance(other, str) or hasattr(other, "__html__")):
            return NotImplemented
        right = escaped(other)
        return marked_safe(made(str.__add__(self, right), self.runs + right.runs))

    def __radd__(self, other: Any) -> Any:
        if not (isinstance(other, str) or hasattr(other, "__html__")):
            return NotImplemented
        left = escaped(other)
        return marked_safe(made(str.__add__(left, self), left.runs + self.runs))


def _with_runs(name: str) -> Callable[..., Any]:
    of_markup, of_tracked = getattr(Markup, name), getattr(Tracked, name)

    def method(self: TrackedMarkup, *args: Any, **options: Any) -> Any:
        result = of_markup(self, *args, **options)
        try:
            twin = of_tracked(made(str.__str__(self), self.runs), *args, **options)
        except TypeError:
            # ``Markup`` escapes its arguments first, so it also takes some that are not strings, such as an
            # undefined name.
            return result
        several = isinstance(result, (list, tuple))
        for mine, other in zip(result, twin, strict=True) if several else [(result, twin)]:
            if str.__eq__(mine, other):
                mine.runs = other.runs
        return result

    method.__name__ = name
    return method


for _name in (
    *("strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "split", "rsplit", "splitlines"),
    *("partition", "rpartition", "replace", "upper", "lower", "casefold", "swapcase", "capitalize", "title"),
    *("center", "ljust", "rjust", "__getitem__", "__mul__", "__rmul__", "__mod__"),
):
    setattr(TrackedMarkup, _name, _with_runs(_name))


def marked_safe(text: str) -> TrackedMarkup:
    """A string as markup, with the runs that it has."""
    result = TrackedMarkup(str.__str__(text))
    result.runs = runs_of(text)
    return result


def escaped(value: Any) -> TrackedMarkup:
    """What ``markupsafe.escape`` makes of it: markup as it is, characters of HTML as entities elsewhere."""
    if isinstance(value, TrackedMarkup):
        return value
    text = escape(str.__str__(value) if isinstance(value, Tracked) else value)
    if not isinstance(value, Tracked):
        return TrackedMarkup(text)
    plain = str.__str__(text)
    return marked_safe(made(plain, runs_by_part(value, plain, escape)))
