"""Lists and dicts as text: which character of ``str(value)`` or of JSON came from which field.

The text is always what ``str`` and ``json.dumps`` make of the plain value. The pieces are made separately;
where they do not join to the same text, all of it counts as of unknown origin.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from jinja2.utils import Namespace

from .data import (
    TrackedBool,
    TrackedDict,
    TrackedFloat,
    TrackedInt,
    TrackedList,
    TrackedNone,
    opened,
    unwrapped,
)
from .sources import COMPUTED, Source, source_of
from .steps import CONTAINERS, State
from .tracked import Tracked, from_pieces, made, runs_of, sliced

__all__ = ["as_json", "as_text"]

_SCALARS = (TrackedInt, TrackedFloat, TrackedBool, TrackedNone)
_NUMBERS = (int, float, bool, type(None))


# ---- str ----------------------------------------------------------------------------------------


def as_text(state: State, value: Any) -> Tracked:
    """``str(value)``, tracked."""
    kind = type(value)
    if kind is Tracked:
        return value  # type: ignore[no-any-return]
    if kind is str:
        return made(value, (len(value), None) if value else ())
    if isinstance(value, _SCALARS):
        text = str(value)
        return made(text, (len(text), value.source))
    if kind in _NUMBERS:
        text = str(value)
        return made(text, (len(text), COMPUTED))
    if isinstance(value, (TrackedDict, TrackedList)) or kind in CONTAINERS:
        state.charge_items(value)
        text = str(unwrapped(value))
        state.charge(len(text))
        return from_pieces(text, list(_repr_pieces(value, COMPUTED)))
    if isinstance(value, Namespace):
        state.charge_items(value)
    text = str(value)
    state.charge(len(text))
    if isinstance(text, Tracked):
        return text
    return made(text, (len(text), None) if text else ())


def _repr_pieces(value: Any, around: Source) -> Iterator[tuple[str, Any]]:
    """The pieces of ``repr``; brackets and commas are the container's."""
    if isinstance(value, (TrackedDict, TrackedList)):
        opened(value)
        around = value.source
    if isinstance(value, dict):
        yield "{", around
        for number, (key, item) in enumerate(value.items()):
            if number:
                yield ", ", around
            yield from _repr_pieces(key, around)
            yield ": ", around
            yield from _repr_pieces(item, around)
        yield "}", around
    elif isinstance(value, (list, tuple)):
        yield "[" if isinstance(value, list) else "(", around
        for number, item in enumerate(value):
            if number:
                yield ", ", around
            yield from _repr_pieces(item, around)
        if isinstance(value, list):
            yield "]", around
        else:
            yield ",)" if len(value) == 1 else ")", around
    elif isinstance(value, str):
        yield from _quoted(value, repr(unwrapped(value)), repr)
    else:
        yield repr(value), source_of(value, around)


def _quoted(value: str, text: str, quote: Callable[[str], str]) -> Iterator[tuple[str, Any]]:
    """The pieces of a string in quotes, with escapes: a quote has the source of the character beside it."""
    inside = list(sliced(value, runs_of(value)))
    if len(inside) <= 1:
        yield text, inside[0][1] if inside else COMPUTED
        return
    inner = [(quote(piece)[1:-1], source) for piece, source in inside]
    if "".join([piece for piece, _ in inner]) == text[1:-1]:
        yield text[0], inside[0][1]
        yield from inner
        yield text[-1], inside[-1][1]
    else:
        yield text, None


# ---- JSON ---------------------------------------------------------------------------------------


def as_json(
    state: State, value: Any, ensure_ascii: Any, indent: Any, separators: Any, sort_keys: Any
) -> Tracked:
    """``json.dumps(value)``, tracked."""
    state.charge_items([value, indent, separators])
    indent, separators = unwrapped(indent), unwrapped(separators)
    if isinstance(indent, int):
        state.require(indent)
    whole = unwrapped(value)
    if isinstance(value, Namespace):
        whole = value  # which ``json.dumps`` refuses
    text = json.dumps(
        whole,
        ensure_ascii=bool(ensure_ascii),
        indent=indent,
        separators=separators,
        sort_keys=bool(sort_keys),
    )
    state.charge(len(text))
    if isinstance(value, str):
        return from_pieces(
            text, list(_quoted(value, text, lambda piece: json.dumps(piece, ensure_ascii=bool(ensure_ascii))))
        )
    if isinstance(value, _SCALARS):
        return made(text, (len(text), value.source))
    if isinstance(value, (TrackedDict, TrackedList)) and not _is_of_message(value.source):
        # Schemas and documents are long, and nobody needs the sources of their fields: each is one piece.
        return made(text, (len(text), value.source))
    if not isinstance(value, (dict, list, tuple)):
        return made(text, (len(text), COMPUTED))
    writer = _JsonPieces(bool(ensure_ascii), indent, separators, bool(sort_keys))
    return from_pieces(text, list(writer.pieces(value, COMPUTED, 0)))


def _is_of_message(source: Any) -> bool:
    while type(source[0]) is tuple:
        source = source[0]
    return bool(source[0] == "message")


class _JsonPieces:
    """Writes JSON piece by piece, as ``json.dumps`` does with the same settings."""

    def __init__(self, ensure_ascii: bool, indent: Any, separators: Any, sort_keys: bool) -> None:
        self.ascii, self.sort_keys = ensure_ascii, sort_keys
        self.indent = " " * indent if isinstance(indent, int) else indent
        given = separators or ((", ", ": ") if indent is None else (",", ": "))
        self.comma: str = given[0]
        self.colon: str = given[1]

    def dumps(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=self.ascii)

    def pieces(self, value: Any, around: Source, depth: int) -> Iterator[tuple[str, Any]]:
        if isinstance(value, (TrackedDict, TrackedList)):
            opened(value)
            around = value.source
        if isinstance(value, dict):
            items = sorted(value.items()) if self.sort_keys else list(value.items())
            yield from self._inside(
                "{}", [item for _, item in items], around, depth, [key for key, _ in items]
            )
        elif isinstance(value, (list, tuple)):
            yield from self._inside("[]", list(value), around, depth, None)
        elif isinstance(value, str):
            yield from _quoted(value, self.dumps(unwrapped(value)), self.dumps)
        else:
            yield self.dumps(unwrapped(value)), source_of(value, around)

    def _inside(
        self, brackets: str, items: list[Any], around: Source, depth: int, keys: list[Any] | None
    ) -> Iterator[tuple[str, Any]]:
        yield brackets[0], around
        for number, item in enumerate(items):
            if number:
                yield self.comma, around
            if self.indent is not None:
                yield "\n" + self.indent * (depth + 1), around
            if keys is not None:
                key = keys[number]
                yield from (
                    _quoted(key, self.dumps(unwrapped(key)), self.dumps)
                    if isinstance(key, str)
                    else [(f'"{self.dumps(unwrapped(key))}"', source_of(key, around))]
                )
                yield self.colon, around
            yield from self.pieces(item, around, depth + 1)
        if items and self.indent is not None:
            yield "\n" + self.indent * depth, around
        yield brackets[1], around
