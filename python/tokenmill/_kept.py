"""A property whose value is made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["kept"]

_T = TypeVar("_T")


class kept(Generic[_T]):  # noqa: N801  # read as a decorator, like property
    """As ``functools.cached_property`` is from Python 3.12 on: without a lock.

    Older versions hold one lock for all objects while a value is made; in a child that is forked meanwhile it
    is held for ever. Here two threads may make the value; the first one is kept.
    """

    def __init__(self, make: Callable[[Any], _T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> kept[_T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...
    def __get__(self, instance: object | None, owner: type) -> kept[_T] | _T:
        if instance is None:
            return self
        # From now on Python finds the object's attribute before this property.
        made: _T = instance.__dict__.setdefault(self._name, self._make(instance))
        return made
