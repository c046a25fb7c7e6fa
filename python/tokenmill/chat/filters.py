"""The filters and tests of templates: those of jinja2, tracked and with their steps counted.

Filters that make text from text are implemented here, for ``Tracked`` strings. Those that only select or
order items are jinja2's own. All others get plain values, and their text is of unknown origin.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from jinja2 import filters as standard
from jinja2 import tests as standard_tests
from jinja2.exceptions import FilterArgumentError
from jinja2.runtime import Context
from jinja2.utils import pass_context
from markupsafe import Markup

from .data import BASES, TrackedBool, TrackedFloat, TrackedInt, TrackedNone, opened, scalar, unwrapped
from .markup import TrackedMarkup, escaped, marked_safe
from .percent import percent_widths
from .pieces import as_json, as_text
from .sources import COMPUTED, Source, source_of
from .steps import ITEMS, READING, RUNS, State
from .tracked import Tracked, made, only_source, runs_of

__all__ = ["filters", "tests"]

Filter = Callable[..., Any]


def _state(context: Context) -> State:
    state: State = context.state  # type: ignore[attr-defined]
    return state


def _soft(context: Context, value: Any) -> Any:
    """What ``soft_str`` gives: strings as they are, the rest as text."""
    if type(value) is Tracked or isinstance(value, str):
        return value if type(value) is not str else made(value, runs_of(value))
    return as_text(_state(context), value)


# ---- text to text -----------------------------------------------------------------------------


def _by_method(name: str) -> Filter:
    """A filter that is a method of ``str``."""

    @pass_context
    def method(context: Context, value: Any) -> Any:
        text = _soft(context, value)
        _state(context).charge(len(text))
        return getattr(text, name)()

    return method


@pass_context
def _trim(context: Context, value: Any, chars: Any = None) -> Any:
    text = value if type(value) is Tracked else _soft(context, value)
    context.state.charge(len(text) // READING)  # type: ignore[attr-defined]
    return text.strip(chars if chars is None else scalar(chars))


@pass_context
def _title(context: Context, value: Any) -> Any:
    text = _soft(context, value)
    _state(context).charge(len(text))
    result = standard.do_title(str.__str__(text))
    if len(result) == len(text):
        return made(result, runs_of(text))
    return made(result, (len(result), only_source(text)))


@pass_context
def _replace(context: Context, value: Any, old: Any, new: Any, count: Any = None) -> Any:
    state = _state(context)
    text, old, new = as_text(state, value), as_text(state, old), as_text(state, new)
    count = scalar(count)
    return replaced(state, text, old, new, -1 if count is None else count)


def replaced(state: State, text: Any, old: str, new: str, count: Any) -> Any:
    """``text.replace(old, new, count)``, within the bound of steps."""
    state.reading(text)
    found = str.count(text, old)
    state.charge(ITEMS * found)
    if len(new) > len(old):
        state.require(len(text) + found * (len(new) - len(old)))
    result = text.replace(old, new, count)
    state.charge(len(result) + RUNS * len(runs_of(result)))
    return result


@pass_context
def _join(context: Context, values: Any, between: Any = "", attribute: Any = None) -> Any:
    state = _state(context)
    if attribute is not None:
        values = map(standard.make_attrgetter(context.environment, scalar(attribute)), values)
    parts = [as_text(state, value) for value in state.iterated(values, 1)]
    return joined_parts(state, as_text(state, between), parts)


def joined_parts(state: State, between: Any, parts: list[Any]) -> Any:
    """``between.join(parts)``, within the bound of steps."""
    state.charge(sum(map(len, parts)) + (len(between) + RUNS) * len(parts))
    result = between.join(parts)
    state.charge(RUNS * len(runs_of(result)))
    return result


@pass_context
def _center(context: Context, value: Any, width: Any = 80) -> Any:
    text = _soft(context, value)
    _state(context).charge(max(len(text), width if isinstance(width, int) else 0))
    return text.center(width)


@pass_context
def _indent(context: Context, text: Any, width: Any = 4, first: Any = False, blank: Any = False) -> Any:
    state = _state(context)
    if isinstance(width, str):
        margin: Any = width
    else:
        state.require(width if isinstance(width, int) else 0)
        margin = made(" " * width, (max(0, width), COMPUTED) if width > 0 else ())
    newline: Any = made("\n", (1, COMPUTED))
    if type(text) is str:
        text = made(text, runs_of(text))
    if isinstance(text, Markup):
        margin, newline = marked_safe(margin), marked_safe(newline)
    text = text + newline
    state.charge((str.count(text, "\n") + 1) * len(margin) + len(text))
    if blank:
        result = (newline + margin).join(text.splitlines())
    else:
        lines = text.splitlines()
        result = lines.pop(0)
        if lines:
            result = result + (newline + newline.join([margin + line if line else line for line in lines]))
    return margin + result if first else result


@pass_context
def _format(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
    if args and kwargs:
        raise FilterArgumentError("can't handle positional and keyword arguments at the same time")
    return formatted(_state(context), _soft(context, value), kwargs or args)


def formatted(state: State, form: Any, values: Any) -> Any:
    """``form % values``, within the bound of steps."""
    state.reading(form)
    state.require(percent_widths(str.__str__(form), values))
    state.charge_items([values])
    result = form % values
    state.charge(len(result))
    return result


@pass_context
def _truncate(
    context: Context,
    text: Any,
    length: int = 255,
    killwords: bool = False,
    end: Any = "...",
    leeway: Any = None,
) -> Any:
    return standard.do_truncate(context.environment, text, length, killwords, end, leeway)


@pass_context
def _string(context: Context, value: Any) -> Any:
    return _soft(context, value)


@pass_context
def _safe(context: Context, value: Any) -> Any:
    if isinstance(value, TrackedMarkup):
        return value
    return marked_safe(Markup(value) if hasattr(value, "__html__") else as_text(_state(context), value))


@pass_context
def _escape(context: Context, value: Any) -> Any:
    if isinstance(value, str):
        _state(context).charge(6 * len(value))
        return escaped(value)
    return escaped(value if hasattr(value, "__html__") else as_text(_state(context), value))


@pass_context
def _reverse(context: Context, value: Any) -> Any:
    _state(context).reading(value)
    return value[::-1] if isinstance(value, str) else standard.do_reverse(value)


@pass_context
def _tojson(
    context: Context,
    value: Any,
    ensure_ascii: Any = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: Any = False,
) -> Any:
    return as_json(_state(context), value, ensure_ascii, indent, separators, sort_keys)


# ---- numbers ------------------------------------------------------------------------------------


def _source_of(value: Any) -> Source:
    return only_source(value) if isinstance(value, str) else source_of(value)


def _number(function: Filter) -> Filter:
    """A filter that turns a value into a number, which gets the source of the value."""

    @wraps(function)
    def number(value: Any, *args: Any, **kwargs: Any) -> Any:
        args = tuple([scalar(arg) for arg in args])
        result = function(scalar(value), *args, **{key: scalar(arg) for key, arg in kwargs.items()})
        source = _source_of(value)
        if source is None or type(result) not in (int, float):
            return result
        tracked: Any = TrackedInt(result) if type(result) is int else TrackedFloat(result)
        tracked.source = source
        return tracked

    return number


def _round(value: Any, precision: Any = 0, method: Any = "common") -> Any:
    if isinstance(precision, int) and abs(precision) > 1000:
        raise FilterArgumentError("the precision of round is at most 1000")
    return standard.do_round(value, precision, method)


# ---- items --------------------------------------------------------------------------------------


def _charged(function: Filter, passes: str | None, cost: int = 1) -> Filter:
    """A filter of jinja2 that is charged for each item."""

    @pass_context
    @wraps(function)
    def charged(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        state = _state(context)
        state.charge_items([value, args, kwargs])
        value = state.iterated(value, cost) if hasattr(value, "__iter__") else value
        if passes == "environment":
            return function(context.environment, value, *args, **kwargs)
        if passes == "context":
            return function(context, value, *args, **kwargs)
        return function(value, *args, **kwargs)

    return charged


@pass_context
def _slice(context: Context, value: Any, slices: Any, fill_with: Any = None) -> Any:
    _state(context).charge(int(slices))
    return standard.sync_do_slice(_state(context).iterated(value, 1), slices, fill_with)


@pass_context
def _batch(context: Context, value: Any, linecount: Any, fill_with: Any = None) -> Any:
    if fill_with is not None:
        _state(context).charge(int(linecount))
    return standard.do_batch(_state(context).iterated(value, 1), linecount, fill_with)


@pass_context
def _sum(context: Context, values: Any, attribute: Any = None, start: Any = 0) -> Any:
    if not isinstance(start, (int, float)):
        raise FilterArgumentError("sum adds numbers: start is none")
    return standard.sync_do_sum(context.environment, _state(context).iterated(values, 1), attribute, start)


@pass_context
def _attr(context: Context, value: Any, name: Any) -> Any:
    name = as_text(_state(context), name)
    base = BASES.get(type(value))
    if base is not None and not hasattr(base, name):
        return context.environment.undefined(obj=value, name=name)
    return standard.do_attr(context.environment, value, name)


@pass_context
def _random(context: Context, values: Any) -> Any:
    return standard.do_random(context, opened(values))


def _length(value: Any) -> int:
    return len(value)


# ---- the rest -----------------------------------------------------------------------------------


def _untracked(function: Filter, passes: str | None) -> Filter:
    """A filter that gets plain values, and whose text is of unknown origin."""

    @pass_context
    @wraps(function)
    def plainly(context: Context, *args: Any, **kwargs: Any) -> Any:
        state = _state(context)
        state.charge_items([args, kwargs])
        given = [unwrapped(arg) for arg in args]
        for arg in given:
            if isinstance(arg, (str, list, tuple, dict)):
                # Some of these scan the text again from each word or tag on, which takes quadratic time.
                size = len(arg) if isinstance(arg, str) else len(repr(arg))
                state.charge(size * (1 + size // 100))
        named = {key: unwrapped(arg) for key, arg in kwargs.items()}
        if passes == "environment":
            given.insert(0, context.environment)
        elif passes == "eval_context":
            given.insert(0, context.eval_ctx)
        return function(*given, **named)

    return plainly


def filters() -> dict[str, Filter]:
    """Every filter by name."""
    ours: dict[str, Filter] = {
        **{name: _by_method(name) for name in ("upper", "lower", "capitalize")},
        "abs": _number(abs),
        "attr": _attr,
        "batch": _batch,
        "center": _center,
        "count": _length,
        "d": standard.do_default,
        "default": standard.do_default,
        "dictsort": _charged(standard.do_dictsort, None),
        "e": _escape,
        "escape": _escape,
        "first": standard.sync_do_first,
        "float": _number(standard.do_float),
        "format": _format,
        "groupby": _charged(standard.sync_do_groupby, "environment"),
        "indent": _indent,
        "int": _number(standard.do_int),
        "items": standard.do_items,
        "join": _join,
        "last": standard.do_last,
        "length": _length,
        "list": _charged(standard.sync_do_list, None),
        "map": _charged(standard.sync_do_map, "context", 10),
        "max": _charged(standard.do_max, "environment"),
        "min": _charged(standard.do_min, "environment"),
        "random": _random,
        "reject": _charged(standard.sync_do_reject, "context", 10),
        "rejectattr": _charged(standard.sync_do_rejectattr, "context", 10),
        "replace": _replace,
        "reverse": _reverse,
        "round": _number(_round),
        "safe": _safe,
        "select": _charged(standard.sync_do_select, "context", 10),
        "selectattr": _charged(standard.sync_do_selectattr, "context", 10),
        "slice": _slice,
        "sort": _charged(standard.do_sort, "environment"),
        "string": _string,
        "sum": _sum,
        "title": _title,
        "tojson": _tojson,
        "trim": _trim,
        "truncate": _truncate,
        "unique": _charged(standard.sync_do_unique, "environment"),
    }
    passing = {"xmlattr": "eval_context", "urlize": "eval_context", "wordwrap": "environment"}
    for name, function in standard.FILTERS.items():
        if name not in ours:
            ours[name] = _untracked(function, passing.get(name))
    return ours


# ---- tests --------------------------------------------------------------------------------------


def _compares(function: Filter) -> Filter:
    """A test that is charged for reading all of its operands."""

    @pass_context
    @wraps(function)
    def comparing(context: Context, *args: Any) -> Any:
        for arg in args:
            _state(context).reading(arg)
        return function(*args)

    return comparing


def _is_none(value: Any) -> bool:
    return value is None or type(value) is TrackedNone


def _is_true(value: Any) -> bool:
    return value is True or (type(value) is TrackedBool and bool(value))


def _is_false(value: Any) -> bool:
    return value is False or (type(value) is TrackedBool and not value)


def _is_boolean(value: Any) -> bool:
    return type(value) is TrackedBool or value is True or value is False


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not _is_boolean(value)


def _is_same(value: Any, other: Any) -> bool:
    scalars = (TrackedBool, TrackedNone, TrackedInt)
    value = unwrapped(value) if isinstance(value, scalars) else value
    other = unwrapped(other) if isinstance(other, scalars) else other
    return value is other


def tests() -> dict[str, Filter]:
    """Every test by name."""
    ours: dict[str, Filter] = {
        "none": _is_none,
        "true": _is_true,
        "false": _is_false,
        "boolean": _is_boolean,
        "integer": _is_integer,
        "sameas": _is_same,
    }
    given: dict[str, Any] = dict(standard_tests.TESTS)
    words = [
        "eq",
        "equalto",
        "==",
        "ne",
        "!=",
        "lt",
        "lessthan",
        "<",
        "le",
        "<=",
        "gt",
        "greaterthan",
        ">",
        "ge",
        ">=",
        "in",
    ]
    ours |= {name: _compares(given[name]) for name in words}
    return {**given, **ours}
