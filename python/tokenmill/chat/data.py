"""What a template sees: plain data, wrapped so that every part of it carries its source.

``plain`` rebuilds what callers give as the types of JSON, as transformers does: a template gets no object
whose methods it could call. ``wrapped`` puts strings, numbers, truth values and None into subclasses that
carry a source, lists and dicts into subclasses that wrap their items when a template first looks into them.
The wrapped forms print, compare and compute as the plain ones do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from .sources import Source
from .tracked import Tracked, made

__all__ = [
    "BASES",
    "Message",
    "TrackedBool",
    "TrackedDict",
    "TrackedFloat",
    "TrackedInt",
    "TrackedList",
    "TrackedNone",
    "copied",
    "opened",
    "plain",
    "scalar",
    "unwrapped",
    "wrapped",
]

_SCALARS = frozenset((str, int, float, bool, type(None)))


def plain(value: Any) -> Any:
    """The value in the types of JSON (tuples stay); the object itself where it is made of nothing else.

    Mappings, dataclasses and objects with ``model_dump()`` become dicts, numpy scalars become Python values,
    and subclasses of ``str``, ``int`` and ``float`` become their base. Anything else becomes the name of its
    type, as a string.
    """
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is dict:
        for key, item in value.items():
            if (type(key) not in _SCALARS) or (type(item) not in _SCALARS and plain(item) is not item):
                return {plain(key): plain(item) for key, item in value.items()}
        return value
    if kind is list:
        for item in value:
            if type(item) not in _SCALARS and plain(item) is not item:
                return [plain(item) for item in value]
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return tuple([plain(item) for item in value])
    if _is_numpy_scalar(kind):
        return plain(value.item())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if callable(getattr(value, "model_dump", None)):
        return plain(value.model_dump())
    return f"<{kind.__name__}>"


def copied(value: Any) -> Any:
    """Plain data with lists and dicts of its own."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [copied(item) for item in value]
    return value


def _is_numpy_scalar(kind: type) -> bool:
    """Whether this is a type of numpy's scalars; told by its name, so that numpy is not imported."""
    return any(base.__module__ == "numpy" and base.__name__ == "generic" for base in kind.__mro__)


# ---- numbers, truth values, None --------------------------------------------------------------


class TrackedInt(int):
    """An ``int`` from data."""

    carries_source = True

    source: Source


class TrackedFloat(float):
    """A ``float`` from data."""

    carries_source = True

    source: Source


class TrackedBool(int):
    """A ``bool`` from data: ``bool`` itself has no subclasses."""

    carries_source = True

    source: Source

    def __repr__(self) -> str:
        return "True" if self else "False"

    __str__ = __repr__

    def __format__(self, spec: str, /) -> str:
        return format(bool(self), spec)


class TrackedNone:
    """A None from data."""

    __slots__ = ("source",)

    carries_source = True

    source: Source

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return other is None or type(other) is TrackedNone

    def __hash__(self) -> int:
        return hash(None)

    def __repr__(self) -> str:
        return "None"

    def __format__(self, spec: str, /) -> str:
        return format(None, spec)


# ---- dicts --------------------------------------------------------------------------------------


class _View:
    """What ``keys()`` and ``items()`` of a wrapped dict give: their keys carry a source."""

    __slots__ = ("_make", "_of", "_raw")

    def __init__(self, of: TrackedDict, make: Callable[[], Iterator[Any]], raw: Any) -> None:
        self._of, self._make, self._raw = of, make, raw

    def __iter__(self) -> Iterator[Any]:
        return self._make()

    def __reversed__(self) -> Iterator[Any]:
        return iter(list(self._make())[::-1])

    def __len__(self) -> int:
        return len(self._of)

    def __contains__(self, item: object) -> bool:
        return item in self._raw

    def __eq__(self, other: object) -> bool:
        result: bool = self._raw == (other._raw if isinstance(other, _View) else other)
        return result

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return repr(self._raw)


class TrackedDict(dict[Any, Any]):
    """A dict from data, whose values are wrapped. ``plain_value`` is the dict before that."""

    __slots__ = ("index", "plain_value", "source")

    carries_source = True

    index: int
    plain_value: dict[Any, Any]
    source: Any

    def _keys(self) -> Iterator[Any]:
        source = self.source
        for key in dict.__iter__(self):
            yield made(key, (len(key), (source, key)) if key else ()) if type(key) is str else key

    def _items(self) -> Iterator[tuple[Any, Any]]:
        source = self.source
        for key, value in dict.items(self):
            if type(key) is str:
                yield made(key, (len(key), (source, key)) if key else ()), value
            else:
                yield key, value

    def __iter__(self) -> Iterator[Any]:
        return self._keys()

    def keys(self) -> Any:
        return _View(self, self._keys, dict.keys(self))

    def items(self) -> Any:
        return _View(self, self._items, dict.items(self))

    def __reversed__(self) -> Iterator[Any]:
        return iter(list(self._keys())[::-1])

    def __reduce__(self) -> NoReturn:
        raise TypeError("what a template sees is not pickled")


class LazyDict(TrackedDict):
    """A dict from data that nobody has looked into: its values are not wrapped yet."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return opened(self)[key]

    def get(self, key: Any, default: Any = None, /) -> Any:
        return opened(self).get(key, default)

    def values(self) -> Any:
        return opened(self).values()

    def copy(self) -> Any:
        return opened(self).copy()

    def _items(self) -> Iterator[tuple[Any, Any]]:
        items: Iterator[tuple[Any, Any]] = opened(self)._items()
        return items


class Message(TrackedDict):
    """A message: a wrapped dict that knows its index, and makes ``plain_value`` when it is asked for."""

    __slots__ = ()

    @property
    def plain_value(self) -> dict[Any, Any]:  # type: ignore[override]
        return {key: unwrapped(value) for key, value in dict.items(self)}

    def extend_text(self, path: tuple[Any, ...], more: str) -> None:
        """Append to the text at this path, as if the caller had given it so."""
        key, *inner = path
        value = _extended(unwrapped(dict.__getitem__(self, key)), inner, more)
        dict.__setitem__(self, key, wrapped(value, (self.source, key)))


def _extended(value: Any, path: list[Any], more: str) -> Any:
    if not path:
        return value + more
    key, *inner = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = _extended(value[key], inner, more)
    return copy if isinstance(value, (dict, list)) else tuple(copy)


# ---- lists --------------------------------------------------------------------------------------


class TrackedList(list[Any]):
    """A list from data, whose items are wrapped. ``plain_value`` is the list before that."""

    __slots__ = ("plain_value", "source")

    carries_source = True

    plain_value: list[Any]
    source: Any


class LazyList(TrackedList):
    """A list from data that nobody has looked into: its items are not wrapped yet."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return opened(self)[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(opened(self))

    def __reversed__(self) -> Iterator[Any]:
        return iter(list(opened(self))[::-1])

    def __add__(self, other: Any) -> Any:
        return list.__add__(opened(self), other)

    def __mul__(self, times: Any) -> Any:
        return list.__mul__(opened(self), times)

    def copy(self) -> Any:
        return opened(self).copy()


def opened(value: Any) -> Any:
    """The same object, with its items wrapped."""
    kind = type(value)
    if kind is LazyDict:
        source = value.source
        for key, item in dict.items(value):
            dict.__setitem__(value, key, wrapped(item, (source, key)))
        value.__class__ = TrackedDict
    elif kind is LazyList:
        source = value.source
        for at, item in enumerate(list.__iter__(value)):
            list.__setitem__(value, at, wrapped(item, (source, at)))
        value.__class__ = TrackedList
    return value


# ---- wrapping -----------------------------------------------------------------------------------


def wrapped(value: Any, source: Source) -> Any:
    """Plain data with its source."""
    kind = type(value)
    if kind is str:
        return made(value, (len(value), source) if value else ())
    if kind is dict:
        lazy = LazyDict(value)
        lazy.plain_value, lazy.source = value, source
        return lazy
    if kind is list:
        items = LazyList(value)
        items.plain_value, items.source = value, source
        return items
    if kind is tuple:
        return tuple([wrapped(item, (source, at)) for at, item in enumerate(value)])
    scalar: Any
    if value is None:
        scalar = TrackedNone()
    elif kind is bool:
        scalar = TrackedBool(value)
    elif kind is int:
        scalar = TrackedInt(value)
    else:
        scalar = TrackedFloat(value)
    scalar.source = source
    return scalar


#: For each type that carries a source, the plain type whose attributes a template may see.
BASES: dict[type, type] = {
    Tracked: str,
    TrackedInt: int,
    TrackedFloat: float,
    TrackedBool: bool,
    TrackedNone: type(None),
    TrackedDict: dict,
    LazyDict: dict,
    Message: dict,
    TrackedList: list,
    LazyList: list,
}


def scalar(value: Any) -> Any:
    """The value, plain if it is a wrapped string, number, truth value or None."""
    return unwrapped(value) if type(value) in _WRAPPED_SCALARS else value


_WRAPPED_SCALARS = frozenset((Tracked, TrackedInt, TrackedFloat, TrackedBool, TrackedNone))


def unwrapped(value: Any) -> Any:
    """The value with plain ones in the place of wrapped ones, inside lists, tuples and dicts too."""
    kind = type(value)
    if kind is Tracked:
        return str.__str__(value)
    if kind in _SCALARS:
        return value
    if isinstance(value, (TrackedDict, TrackedList)):
        return value.plain_value
    if kind is list:
        return [unwrapped(item) for item in value]
    if kind is tuple:
        return tuple([unwrapped(item) for item in value])
    if kind is dict:
        return {unwrapped(key): unwrapped(item) for key, item in value.items()}
    if kind is TrackedBool:
        return bool(value)
    if kind is TrackedNone:
        return None
    if kind is TrackedInt:
        return int(value)
    if kind is TrackedFloat:
        return float(value)
    return value
