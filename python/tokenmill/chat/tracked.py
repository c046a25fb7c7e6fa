"""Strings that know where their characters came from.

A ``Tracked`` is a ``str`` with runs (see ``sources``). Each method computes its text with the method of
``str`` itself, and the runs separately: where a method cannot follow the sources, the runs are of unknown
origin, but the text is never another. Methods that are not covered here give a plain ``str``, which counts as
unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, SupportsIndex

from .cutting import cut, cutter, tiler
from .percent import percent_pieces
from .sources import LITERAL, Runs, Source

__all__ = [
    "Runs",
    "Tracked",
    "from_pieces",
    "joined",
    "literal",
    "made",
    "only_source",
    "plain_text",
    "runs_by_part",
    "runs_of",
    "sliced",
]

_new = str.__new__
_plain = str.__str__


class Tracked(str):
    """A string with runs."""

    __slots__ = ("runs",)

    runs: Runs

    def __str__(self) -> str:
        return self

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Tracked):
            return made(str.__add__(self, other), self.runs + other.runs)
        if type(other) is str:
            return made(str.__add__(self, other), (*self.runs, len(other), None))
        if isinstance(other, str):  # Markup, whose ``__radd__`` escapes this text
            return NotImplemented
        return str.__add__(self, other)

    def __radd__(self, other: Any) -> Any:
        if type(other) is str:
            return made(str.__add__(other, self), (len(other), None, *self.runs))
        return NotImplemented

    def __mul__(self, times: SupportsIndex) -> Tracked:
        text = str.__mul__(self, times)
        if len(self.runs) == 2:
            return same_source(self, text)
        return made(text, self.runs * max(0, times.__index__()))

    __rmul__ = __mul__

    def __mod__(self, values: Any) -> Any:
        text = str.__mod__(self, values)
        pieces = percent_pieces(self, values)
        return from_pieces(text, pieces)

    def __getitem__(self, key: Any) -> Any:
        text = str.__getitem__(self, key)
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return made(text, cut(self.runs, start, stop))
            if step == -1 and len(text) == len(self):
                return made(text, reversed_runs(self.runs))
            return same_source(self, text)
        at = key.__index__()
        at += len(self) if at < 0 else 0
        return made(text, cut(self.runs, at, at + 1))

    def __iter__(self) -> Iterator[str]:
        part = cutter(self.runs)
        for at, char in enumerate(str.__iter__(self)):
            yield made(char, part(at, at + 1))

    # ---- cutting ------------------------------------------------------------------------------

    def strip(self, chars: str | None = None, /) -> Tracked:
        text = str.strip(self, chars)
        if len(text) == len(self):
            return self
        stop = len(str.rstrip(self, chars))
        return made(text, cut(self.runs, stop - len(text), stop))

    def lstrip(self, chars: str | None = None, /) -> Tracked:
        text = str.lstrip(self, chars)
        return (
            self if len(text) == len(self) else made(text, cut(self.runs, len(self) - len(text), len(self)))
        )

    def rstrip(self, chars: str | None = None, /) -> Tracked:
        text = str.rstrip(self, chars)
        return self if len(text) == len(self) else made(text, cut(self.runs, 0, len(text)))

    def removeprefix(self, prefix: str, /) -> Tracked:
        text = str.removeprefix(self, prefix)
        return made(text, cut(self.runs, len(self) - len(text), len(self)))

    def removesuffix(self, suffix: str, /) -> Tracked:
        text = str.removesuffix(self, suffix)
        return made(text, cut(self.runs, 0, len(text)))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> Any:
        return self._split_parts(str.split(self, sep, maxsplit), sep)

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> Any:
        return self._split_parts(str.rsplit(self, sep, maxsplit), sep)

    def splitlines(self, keepends: bool = False) -> Any:
        kept, at, found = str.splitlines(self, True), 0, []
        part = cutter(self.runs)
        for line, whole in zip(str.splitlines(self, keepends), kept, strict=True):
            found.append(made(line, part(at, at + len(line))))
            at += len(whole)
        return found

    def partition(self, sep: str, /) -> Any:
        return self._cut_in_three(str.partition(self, sep))

    def rpartition(self, sep: str, /) -> Any:
        return self._cut_in_three(str.rpartition(self, sep))

    def _cut_in_three(self, parts: tuple[str, str, str]) -> tuple[Tracked, ...]:
        found, at = [], 0
        for part in parts:
            found.append(made(part, cut(self.runs, at, at + len(part))))
            at += len(part)
        return tuple(found)

    def _split_parts(self, parts: list[str], sep: str | None) -> list[Tracked]:
        """The parts that splitting made, in the order of the text, with their runs."""
        found, at = [], 0
        runs = cutter(self.runs)
        for part in parts:
            if sep is None:  # only white space stands between them
                at = str.find(self, part, at)
            found.append(made(part, runs(at, at + len(part))))
            at += len(part) + (0 if sep is None else len(sep))
        return found

    # ---- joining and replacing ----------------------------------------------------------------

    def join(self, parts: Iterable[Any], /) -> Tracked:
        parts = list(parts)
        return made(str.join(self, parts), joined(self.runs, parts))

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> Any:
        text = str.replace(self, old, new, count)
        left = count.__index__()
        if left < 0:
            left = len(self) + 1
        runs: list[Any] = []
        at, added, part = 0, runs_of(new), tiler(self.runs)
        if not old:  # before each character, and at the end
            times = min(left, len(self) + 1)
            runs += part(0, 0)
            for at in range(times):
                runs += added
                runs += part(at, min(at + 1, len(self)))
            runs += part(times, len(self))
            return checked(text, tuple(runs))
        found = str.find(self, old)
        if found < 0 or not left:
            return self
        while found >= 0 and left:
            runs += part(at, found)
            runs += added
            at = found + len(old)
            found, left = str.find(self, old, at), left - 1
        runs += part(at, len(self))
        return made(text, tuple(runs))

    # ---- changing case ------------------------------------------------------------------------

    def upper(self) -> Any:
        return changed_by_character(self, str.upper)

    def lower(self) -> Any:
        return changed_by_character(self, str.lower)

    def casefold(self) -> Any:
        return changed_by_character(self, str.casefold)

    def swapcase(self) -> Any:
        return changed_by_character(self, str.swapcase)

    def capitalize(self) -> Any:
        return recased(self, str.capitalize(self))

    def title(self) -> Any:
        return recased(self, str.title(self))

    # ---- padding ------------------------------------------------------------------------------

    def center(self, width: SupportsIndex, fill: str = " ", /) -> Any:
        return padded(self, str.center(self, width, fill), fill)

    def ljust(self, width: SupportsIndex, fill: str = " ", /) -> Any:
        return padded(self, str.ljust(self, width, fill), fill)

    def rjust(self, width: SupportsIndex, fill: str = " ", /) -> Any:
        return padded(self, str.rjust(self, width, fill), fill)

    def zfill(self, width: SupportsIndex, /) -> Any:
        return same_source(self, str.zfill(self, width))

    def expandtabs(self, tabsize: SupportsIndex = 8) -> Any:
        return same_source(self, str.expandtabs(self, tabsize))


# ---- making ------------------------------------------------------------------------------------


def made(text: str, runs: Runs) -> Tracked:
    """A text with these runs."""
    result = _new(Tracked, text)
    result.runs = runs
    return result


def literal(text: str) -> Tracked:
    """A literal of the template."""
    return made(text, (len(text), LITERAL) if text else ())


def plain_text(text: str) -> str:
    """The same characters without runs."""
    return _plain(text)


def runs_of(text: Any) -> Runs:
    """The runs of a string of any type."""
    if type(text) is str:
        return (len(text), None)
    runs: Runs | None = getattr(text, "runs", None)
    return (len(text), None) if runs is None else runs


def checked(text: str, runs: Runs) -> Tracked:
    """A text with these runs if they are as long as it, else of unknown origin."""
    return made(text, runs if sum(runs[::2]) == len(text) else (len(text), None))


def from_pieces(text: str, pieces: list[tuple[str, Any]] | None) -> Tracked:
    """A text with the runs of pieces, if these are its pieces; else of unknown origin."""
    if pieces is None or "".join([piece for piece, _ in pieces]) != text:
        return made(text, (len(text), None))
    runs: list[Any] = []
    for piece, origin in pieces:
        if isinstance(origin, str):
            runs += runs_of(origin) if len(origin) == len(piece) else (len(piece), only_source(origin))
        elif piece:
            runs += (len(piece), origin)
    return made(text, tuple(runs))


# ---- runs ---------------------------------------------------------------------------------------


def reversed_runs(runs: Runs) -> Runs:
    """The runs of a text read backwards, without marks: nothing begins or ends where it did."""
    found: list[Any] = []
    for at in range(len(runs) - 2, -1, -2):
        if runs[at]:
            found += runs[at : at + 2]
    return tuple(found)


def joined(between: Runs, parts: list[Any]) -> Runs:
    """The runs of parts with the same text between each two."""
    runs: list[Any] = []
    for number, part in enumerate(parts):
        if number:
            runs += between
        runs += runs_of(part)
    return tuple(runs)


def only_source(text: Any) -> Source:
    """The source of all of a text; None where it has several, or none that is known."""
    runs = runs_of(text)
    if len(runs) == 2:
        source: Source = runs[1] if runs[0] else None
        return source
    sources = {source for length, source in zip(runs[::2], runs[1::2], strict=True) if length}
    return sources.pop() if len(sources) == 1 else None


def same_source(before: str, text: str) -> Tracked:
    """What a text became: it keeps its source where it had a single one."""
    return made(text, (len(text), only_source(before)) if text else ())


def sliced(text: Any, runs: Runs) -> Iterator[tuple[str, Source]]:
    """The text of each run, with its source."""
    at = 0
    for length, source in zip(runs[::2], runs[1::2], strict=True):
        if length:
            yield str.__getitem__(text, slice(at, at + length)), source
        at += length


def changed_by_character(before: Tracked, change: Any) -> Tracked:
    """The text with its characters changed, each (nearly) independent of its neighbours."""
    text = change(before)
    if len(text) == len(before):  # these changes never shorten, so each character became one
        return made(text, before.runs)
    return made(text, runs_by_part(before, text, change))


def runs_by_part(before: Tracked, text: str, change: Callable[[str], str]) -> Runs:
    """The runs of a text that a change made: of unknown origin where it is not what the parts become."""
    pieces: list[str] = []
    runs: list[Any] = []
    at = 0
    for length, source in zip(before.runs[::2], before.runs[1::2], strict=True):
        if length:
            pieces.append(_plain(change(str.__getitem__(before, slice(at, at + length)))))
            length, at = len(pieces[-1]), at + length
        runs += (length, source)
    return tuple(runs) if "".join(pieces) == text else (len(text), None)


def recased(before: Tracked, text: str) -> Tracked:
    """A text whose characters were changed in ways that depend on their neighbours."""
    return made(text, before.runs) if len(text) == len(before) else same_source(before, text)


def padded(before: Tracked, text: str, fill: str) -> Tracked:
    """A text that was padded on one side or both."""
    missing = len(text) - len(before)
    if not missing:
        return before
    # Only the text itself tells how much of the padding is on which side.
    for left in (0, missing, missing // 2, missing - missing // 2):
        if text == str.__add__(_plain(fill) * left, before) + _plain(fill) * (missing - left):
            source = only_source(fill)
            return made(text, (left, source, *before.runs, missing - left, source))
    return made(text, (len(text), None))
