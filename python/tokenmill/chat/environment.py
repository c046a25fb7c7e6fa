"""The sandbox that templates run in: transformers' settings, tracked strings, bounds."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import update_wrapper
from string import Formatter
from typing import Any, NoReturn

from jinja2 import nodes
from jinja2.compiler import find_undeclared
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
from jinja2.utils import generate_lorem_ipsum, pass_context
from markupsafe import Markup

from .codegen import TrackingGenerator
from .data import BASES, scalar
from .filters import filters, joined_parts, replaced, tests
from .markup import TrackedMarkup
from .operations import TemplateNamespace
from .percent import origin_of
from .pieces import as_text
from .sources import DATE, GENERATION_START, GENERATION_STOP, TRUSTED
from .steps import CONTAINERS, State
from .tracked import from_pieces, made, plain_text, runs_of

__all__ = ["ChatContext", "ChatEnvironment"]

_METHODS = (types.MethodType, types.BuiltinMethodType)
_BASES: dict[type, type] = {**BASES, TrackedMarkup: Markup}
_PADDING_METHODS = frozenset(("center", "ljust", "rjust", "zfill", "expandtabs"))


class ChatContext(Context):
    """The variables of a rendering, and its state."""

    state: State

    def derived(self, locals: dict[str, Any] | None = None) -> ChatContext:
        context: Any = super().derived(locals)
        context.state = self.state
        return context  # type: ignore[no-any-return]


class Generation(Extension):
    """``{% generation %}``: what stands in it is what a model is trained on."""

    tags = frozenset(("generation",))  # type: ignore[assignment]

    opened = made("", (0, GENERATION_START))
    closed = made("", (0, GENERATION_STOP))

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        if find_undeclared(body, _MACRO_VARIABLES) or any(_leaves(node) for node in body):
            # In transformers the block is a macro. This one behaves differently in a macro than in place.
            return nodes.CallBlock(self.call_method("_marked"), [], [], body).set_lineno(line)
        # It has a scope of its own, as a macro has; compiled in place it is much faster.
        start, stop = nodes.Output([self.attr("opened")]), nodes.Output([self.attr("closed")])
        scope = nodes.Scope([start.set_lineno(line), *body, stop.set_lineno(line)])
        return scope.set_lineno(line)

    def _marked(self, caller: Macro) -> Any:
        text = caller()
        return made(text, (0, GENERATION_START, *runs_of(text), 0, GENERATION_STOP))


#: Variables that only macros have.
_MACRO_VARIABLES = ("caller", "kwargs", "varargs")


def _leaves(node: nodes.Node) -> bool:
    """Whether it holds ``break`` or ``continue``."""
    leaving: Any = (nodes.Break, nodes.Continue)
    return isinstance(node, leaving) or node.find(leaving) is not None


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """The environment of chat templates. It has no state: one serves all threads."""

    code_generator_class = TrackingGenerator
    context_class = ChatContext

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[Generation, loopcontrols],
            # Constant expressions are computed by the rendering, which counts steps, not while compiling.
            optimized=False,
            cache_size=0,
        )
        self.filters.update(filters())
        self.tests.update(tests())
        self.globals.update(
            range=_range,
            dict=_TemplateDict(),
            lipsum=_lipsum,
            namespace=TemplateNamespace,
            raise_exception=_raise_exception,
            strftime_now=_strftime_now,
        )

    # ---- what templates may reach -------------------------------------------------------------

    def getattr(self, obj: Any, attribute: str) -> Any:
        base = _BASES.get(type(obj))
        if base is not None and not hasattr(base, attribute):
            try:
                return obj[attribute]
            except (TypeError, LookupError):
                return self.undefined(obj=obj, name=attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        base = _BASES.get(type(obj))
        if base is not None and isinstance(argument, str) and not hasattr(base, argument):
            try:
                return obj[argument]
            except (TypeError, LookupError):
                return self.undefined(obj=obj, name=argument)
        return super().getitem(obj, argument)

    def wrap_str_format(self, value: Any) -> Any:
        if not isinstance(value, _METHODS) or value.__name__ not in ("format", "format_map"):
            return None
        form: Any = value.__self__
        if not isinstance(form, str):
            return None
        if isinstance(form, Markup):
            return super().wrap_str_format(value)
        by_map = value.__name__ == "format_map"

        @pass_context
        def formatting(context: ChatContext, *args: Any, **kwargs: Any) -> Any:
            if by_map:
                if kwargs or len(args) != 1:
                    raise TypeError("format_map() takes exactly one argument")
                kwargs, args = args[0], ()
            return _formatted(self, context.state, form, args, kwargs)

        return update_wrapper(formatting, value)

    # ---- calls --------------------------------------------------------------------------------

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        state: State = __context.state  # type: ignore[attr-defined]
        state.charge(100)
        if type(__obj) is not Macro:  # a macro hands its arguments on
            for arg in args:
                if type(arg) in CONTAINERS:
                    state.charge_items(arg)
            for arg in kwargs.values():
                if type(arg) in CONTAINERS:
                    state.charge_items(arg)
        if isinstance(__obj, _METHODS):
            owner = __obj.__self__
            if isinstance(owner, str):
                kwargs.pop("_loop_vars", None)
                kwargs.pop("_block_vars", None)
                return _call_of_text(state, __obj, owner, args, kwargs)
            if isinstance(owner, (dict, list, tuple)):
                state.reading(owner)
        elif isinstance(__obj, LoopContext) and args:
            args = (state.iterated(args[0], 100), *args[1:])
        return super().call(__context, __obj, *args, **kwargs)


def _call_of_text(state: State, method: Any, owner: Any, args: Any, kwargs: Any) -> Any:
    """Call a method of a string, within the bound of steps."""
    name = method.__name__
    state.reading(owner)
    args = tuple([arg if isinstance(arg, str) else scalar(arg) for arg in args])
    if type(owner) is str and name in ("join", "replace"):
        owner = made(owner, runs_of(owner))
        method = getattr(owner, name)
    if name in _PADDING_METHODS:
        state.charge(max((arg for arg in args if isinstance(arg, int)), default=8) * (1 + owner.count("\t")))
    elif name == "replace" and len(args) >= 2 and not kwargs:
        if all(isinstance(arg, str) for arg in args[:2]):
            return replaced(state, owner, args[0], args[1], args[2] if len(args) > 2 else -1)
    elif name == "join" and len(args) == 1:
        parts = list(state.iterated(args[0], 1))
        if all(isinstance(part, str) for part in parts):
            return joined_parts(state, owner, parts)
        args = (parts,)
    elif name == "translate" and args and isinstance(args[0], dict):
        longest = max([len(new) for new in args[0].values() if isinstance(new, str)], default=1)
        state.charge(len(owner) * longest)
    elif name in ("translate", "encode", "splitlines", "split", "rsplit"):
        state.charge(len(owner))
    result = method(*args, **kwargs)
    if isinstance(result, str):
        state.charge(len(result))
    return result


# ---- str.format ---------------------------------------------------------------------------------


class _BoundedFormatter(SandboxedFormatter):
    """Formats, and refuses widths that are too large."""

    def __init__(self, environment: ChatEnvironment, state: State) -> None:
        super().__init__(environment)
        self._state = state
        #: What was formatted, in order: pairs of a piece and the value it came from.
        self.fields: list[tuple[str, Any]] = []

    def format_field(self, value: Any, format_spec: str) -> Any:
        spec = str.__str__(format_spec)
        self._state.require(_numbers_in(spec))
        if isinstance(value, (list, dict, tuple)) and not spec:
            value = as_text(self._state, value)
        piece = super().format_field(value, spec)
        self._state.charge(len(piece))
        self.fields.append((piece, value))
        return piece


def _numbers_in(spec: str) -> int:
    digits = "".join([char if char in "0123456789" else " " for char in spec]).split()
    return sum(int(number[:20]) for number in digits)


def _formatted(
    environment: ChatEnvironment, state: State, form: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    state.charge_items([args, kwargs])
    formatter = _BoundedFormatter(environment, state)
    plain = str.__str__(form)
    text = formatter.vformat(plain, args, kwargs)
    state.charge(len(text))
    pieces: list[tuple[str, Any]] = []
    fields = iter(formatter.fields)
    at = 0
    for literal, name, spec, _ in Formatter().parse(plain):
        if literal:
            # Where doubled braces became single ones, the literal does not stand in the format as it is.
            pieces.append((literal, form[at : at + len(literal)] if plain.startswith(literal, at) else None))
        at += len(literal)
        if name is None:
            at += 1 if plain.startswith(("{", "}"), at) else 0
            continue
        if spec and "{" in spec:
            return from_pieces(text, None)
        piece, value = next(fields)
        pieces.append((piece, origin_of(value)))
        at = plain.find("}", at) + 1
    return from_pieces(text, pieces)


# ---- globals ------------------------------------------------------------------------------------


class _TemplateDict:
    """``dict()`` of templates: the constructor without the other attributes of the type."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args, **kwargs)


@pass_context
def _range(context: ChatContext, *args: Any) -> range:
    numbers = range(*args)
    context.state.charge(len(numbers))
    if len(numbers) > 100_000:
        raise OverflowError("a range has at most 100,000 items")
    return numbers


@pass_context
def _lipsum(context: ChatContext, n: int = 5, html: bool = True, min: int = 20, max: int = 100) -> str:
    context.state.charge(20 * n * max)
    return generate_lorem_ipsum(n, html, min, max)


@pass_context
def _raise_exception(context: ChatContext, message: Any) -> NoReturn:
    raise JinjaError(plain_text(as_text(context.state, message)))


@pass_context
def _strftime_now(context: ChatContext, form: str) -> Any:
    state = context.state
    if state.now is None:
        state.now = datetime.now()  # one moment for the whole rendering
    text = state.now.strftime(str.__str__(form) if isinstance(form, str) else form)
    # The date is trusted only where its format is.
    sources = runs_of(form)[1::2]
    trusted = all(source is not None and source[0] in TRUSTED for source in sources)
    return made(text, (len(text), DATE if trusted else None))
