"""What compiled templates call for operators, output and lookups: Python's operations, tracked and charged.

Generated modules import all of this by name (see ``codegen``).
"""

from __future__ import annotations

from typing import Any

from jinja2.exceptions import SecurityError
from jinja2.runtime import LoopContext
from jinja2.utils import Namespace

from .data import LazyDict, LazyList, Message, TrackedDict, TrackedList, opened
from .filters import formatted
from .pieces import as_text
from .sources import message_of
from .steps import RUNS, LimitError, State
from .tracked import Tracked, joined, literal, made, only_source, runs_of

__all__ = [
    "Message",
    "TemplateNamespace",
    "Tracked",
    "add",
    "as_text",
    "concatenated",
    "getattribute",
    "getitem",
    "literal",
    "message_index_of",
    "modulo",
    "part",
    "power",
    "times",
    "turn_mark",
]

#: No chat template needs integers of more bits.
_MAX_BITS = 20_000

_DICTS = frozenset((dict, Message, TrackedDict, LazyDict))
_DICT_NAMES = frozenset(dir(dict))
#: Methods of strings that the sandbox gives as they are.
_TEXT_NAMES = frozenset(
    ("strip", "lstrip", "rstrip", "split", "rsplit", "startswith", "endswith", "replace", "lower", "upper")
)
_LOOP_NAMES = frozenset(
    (
        "first",
        "last",
        "index",
        "index0",
        "revindex",
        "revindex0",
        "length",
        "previtem",
        "nextitem",
        "depth",
        "depth0",
    )
)


class TemplateNamespace(Namespace):
    """``namespace()`` of templates: its attributes have no leading underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, args = args[0], args[1:]
        attributes = dict(*args, **kwargs)
        for name in attributes:
            _refuse_private(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _refuse_private(name)
        Namespace.__setitem__(self, name, value)


def _refuse_private(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(
            f"a namespace keeps no attribute that begins with an underscore, such as {str(name)!r}"
        )


# ---- operators ----------------------------------------------------------------------------------


def add(state: State, *parts: Any) -> Any:
    """``a + b + c``, from the left."""
    runs: list[Any] = []
    for value in parts:
        kind = type(value)
        if kind is Tracked:
            runs += value.runs
        elif kind is str:
            runs += (len(value), None)
        else:
            break
    else:
        text = "".join(parts)
        state.left -= len(text) + RUNS * len(runs)
        if state.left < 0:
            state.charge(0)
        return made(text, tuple(runs))
    result = parts[0]
    for value in parts[1:]:
        result = opened(result) + value if type(value) is not LazyList else opened(result) + opened(value)
        if isinstance(result, (str, list, tuple)):
            state.charge(len(result))
        elif isinstance(result, int):
            _bounded(result)
    return result


def concatenated(state: State, *parts: Any) -> Tracked:
    """``a ~ b ~ c``."""
    texts = [part if type(part) is Tracked else as_text(state, part) for part in parts]
    text = "".join(texts)
    runs = joined((), texts)
    state.charge(len(text) + RUNS * len(runs))
    return made(text, runs)


def times(state: State, left: Any, right: Any) -> Any:
    """``a * b``."""
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > _MAX_BITS:
            raise LimitError(f"it computes an integer of more than {_MAX_BITS:,} bits")
        return left * right
    for one, other in ((left, right), (right, left)):
        if isinstance(one, (str, list, tuple)) and isinstance(other, int):
            state.charge(len(one) * max(0, other))
            return opened(one) * other
    return left * right


def power(_state: State, left: Any, right: Any) -> Any:
    """``a ** b``."""
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * max(0, right) > _MAX_BITS:
        raise LimitError(f"it computes an integer of more than {_MAX_BITS:,} bits")
    return left**right


def modulo(state: State, left: Any, right: Any) -> Any:
    """``a % b``: of numbers, or a format and its values."""
    if isinstance(left, str):
        return formatted(state, made(left, runs_of(left)) if type(left) is str else left, right)
    return left % right


def _bounded(number: int) -> None:
    if number.bit_length() > _MAX_BITS:
        raise LimitError(f"it computes an integer of more than {_MAX_BITS:,} bits")


# ---- lookups ------------------------------------------------------------------------------------


def getattribute(environment: Any, value: Any, name: str) -> Any:
    """``value.name``."""
    kind = type(value)
    if kind in _DICTS:
        if name not in _DICT_NAMES:
            try:
                return value[name]
            except KeyError:
                return environment.undefined(obj=value, name=name)
    elif kind is Tracked:
        if name in _TEXT_NAMES:
            return getattr(value, name)
    elif kind is LoopContext:
        if name in _LOOP_NAMES:
            return getattr(value, name)
    elif kind is TemplateNamespace:
        attributes = value._Namespace__attrs
        if name in attributes:
            return attributes[name]
    return environment.getattr(value, name)


def getitem(environment: Any, value: Any, key: Any) -> Any:
    """``value[key]``."""
    if type(value) in _DICTS:
        try:
            return value[key]
        except KeyError:
            if isinstance(key, str) and key not in _DICT_NAMES:
                return environment.undefined(obj=value, name=key)
        except TypeError:
            pass
    return environment.getitem(value, key)


def part(state: State, value: Any, start: Any, stop: Any, step: Any) -> Any:
    """``value[start:stop:step]``."""
    result = value[start:stop:step]
    if isinstance(result, (str, list, tuple)):
        state.charge(len(result))
    return result


# ---- whose turn it is ---------------------------------------------------------------------------


def message_index_of(value: Any) -> int | None:
    """The index of the message that a loop is at; None where the item is not a message.

    A template may build a message from parts of others: it counts as the message that its role came from, or
    else its content.
    """
    if type(value) is Message:
        return value.index
    if type(value) is dict and "role" in value:
        for key in ("role", "content"):
            field = value.get(key)
            if isinstance(field, str):
                index = message_of(only_source(field))
                if index is not None:
                    return index
                for source in runs_of(field)[1::2]:
                    index = message_of(source)
                    if index is not None:
                        return index
            elif isinstance(field, (TrackedList, TrackedDict)):
                return message_of(field.source)
    return None


def turn_mark(state: State) -> Tracked:
    """An empty text with a mark that says whose turn it is from here on."""
    return made("", (0, ("turn", state.message)))
