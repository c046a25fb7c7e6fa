"""One rendering, from messages to ``RenderedChat``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from .._forks import waited_for
from ..errors import MissingExtraError
from . import builtin
from .continued import append_mark, end_of_continued
from .cutting import shortened
from .refusals import refusal
from .rendered import RenderedChat
from .tools import schema_of

__all__ = ["check_not_empty", "choose", "literals_of", "render", "roles_of", "variables_of"]

_JINJA2 = (3, 1, 6)


def choose(templates: Mapping[str, str], template: str | None, tools: object) -> tuple[str, str]:
    """The name and the source of the template to render with.

    ``template`` is the name of one of them, of one that comes with tokenmill, or a source of its own, which
    is then called ``given``; a text without ``{`` is taken for a name. Without it the one named ``tool_use``
    serves where ``tools`` is not None, else the one named ``default``. Raises ``TemplateError`` where there
    is none of these.

    >>> choose({"default": "A", "rag": "B"}, "rag", None)
    ('rag', 'B')
    """
    if template is not None:
        if template in templates:
            return template, templates[template]
        if "{" in template:
            return "given", template
        if template in builtin.NAMES:
            return template, builtin.source_of(template)
        known = ", ".join(map(repr, [*sorted(templates), *builtin.NAMES]))
        raise refusal(None, None, f"no template is named {template!r}; those with a name are {known}")
    if tools is not None and "tool_use" in templates:
        return "tool_use", templates["tool_use"]
    if "default" in templates:
        return "default", templates["default"]
    if not templates:
        raise refusal(None, None, "the tokenizer has no chat template; give one as template=")
    names = ", ".join(map(repr, sorted(templates)))
    raise refusal(None, None, f"no template is named 'default'; choose one of {names} by template=")


def render(
    source: str,
    messages: Sequence[Any],
    *,
    special_tokens: Mapping[str, str | list[str]],
    tools: Sequence[Any] | None = None,
    documents: Sequence[Any] | None = None,
    add_generation_prompt: bool = False,
    continue_final_message: bool | str = False,
    now: datetime | None = None,
    keep_none: bool = False,
    roles: Iterable[str] | None = None,
    name: str = "default",
    max_steps: int | None = None,
    **variables: Any,
) -> RenderedChat:
    """Render a conversation with a chat template: the text of transformers 5.23, and where each part is from.

    ``messages`` are mappings (dataclasses, and objects with ``model_dump()``, count as such) with a
    ``role``; keys whose value is None are left out unless ``keep_none`` is set. ``tools`` are schemas, or
    functions with type hints and a docstring in Google's style. ``special_tokens`` are variables of the
    template whose text is trusted (``bos_token``, ...); ``variables`` are all others, and win over special
    tokens of that name.

    ``continue_final_message`` cuts the text where the last message's content ends (or the field of this
    name). ``now`` is the moment of ``strftime_now``: the local time by default. ``roles`` are those that
    messages may have: by default ``DEFAULT_ROLES`` and those that the template compares with. ``max_steps``
    bounds what the template may do (``steps.MAX_STEPS`` by default); ``name`` is what errors call the
    template.

    Raises ``TemplateError`` for templates that are wrong, refuse the conversation or exceed a bound, and for
    roles that are not allowed; ``MissingExtraError`` without jinja2.

    >>> render("{{ messages[0].content }}", [{"role": "user", "content": "Hi"}], special_tokens={}).text
    'Hi'
    """
    engine = _engine()
    template = engine.template_of(source, name)
    conversation = _conversation(messages)
    if continue_final_message and add_generation_prompt:
        raise ValueError(
            "continue_final_message goes on with the last message, add_generation_prompt begins a new one: "
            "choose one of them"
        )
    given = {
        "tools": None if tools is None else [_schema(tool) for tool in tools],
        "documents": None if documents is None else _checked_documents(documents),
        "add_generation_prompt": add_generation_prompt,
    }
    chat, plain_messages = engine.chat_of(conversation, keep_none)
    allowed = template.roles if roles is None else frozenset(roles)
    engine.check_roles(chat, allowed, name, template.reads_roles)
    ending = None
    if continue_final_message:
        ending = append_mark(chat, continue_final_message, source, name)
    run = engine.Run(template, chat, special_tokens, {**given, **variables}, name)
    text, runs = run.tracked(engine.MAX_STEPS if max_steps is None else max_steps, now)
    if ending is not None:
        stop = end_of_continued(text, ending, name)
        text, runs = text[:stop], shortened(runs, stop)
    return RenderedChat(text, runs, plain_messages, template.literals, name)


def literals_of(source: str, name: str) -> tuple[str, ...]:
    """The literals of a template, each once. Raises ``TemplateError`` for one that is wrong."""
    literals: tuple[str, ...] = _engine().template_of(source, name).literals
    return literals


def variables_of(source: str, name: str) -> frozenset[str]:
    """The names that a template reads and never sets. Raises ``TemplateError`` for one that is wrong."""
    variables: frozenset[str] = _engine().template_of(source, name).variables
    return variables


def roles_of(source: str, name: str, roles: Iterable[str] | None) -> frozenset[str]:
    """The roles that messages may have. Raises ``TemplateError`` for a template that is wrong."""
    own: frozenset[str] = _engine().template_of(source, name).roles
    return own if roles is None else frozenset(roles)


# ---- what is given ------------------------------------------------------------------------------


def _conversation(messages: Any) -> list[Any]:
    chat = getattr(messages, "messages", messages)
    if isinstance(chat, (str, bytes, Mapping)) or not hasattr(chat, "__iter__"):
        raise TypeError(f"messages must be a list of dicts, not {type(chat).__name__}")
    chat = list(chat)
    check_not_empty(chat)
    return chat


def check_not_empty(chat: Sequence[Any]) -> None:
    """Raise ``ValueError`` for a conversation without messages."""
    if not chat:
        raise ValueError("an empty conversation renders to nothing: give at least one message")


def _schema(tool: Any) -> Any:
    return tool if isinstance(tool, Mapping) else schema_of(tool)


def _checked_documents(documents: Sequence[Any]) -> list[Any]:
    for index, document in enumerate(documents):
        if not isinstance(document, Mapping):
            raise TypeError(
                f"documents[{index}] must be a dict with title and text, not {type(document).__name__}"
            )
    return list(documents)


# ---- jinja2, when it is needed ----------------------------------------------------------------------


_loaded: Any = None


def _engine() -> Any:
    """The module that runs templates: it imports jinja2."""
    global _loaded
    if _loaded is None:
        with waited_for:
            try:
                import jinja2
            except ImportError:
                raise _missing("jinja2, which is not installed") from None
            version = tuple(int(part) for part in jinja2.__version__.split(".")[:3] if part.isdigit())
            if version < _JINJA2:
                raise _missing(f"jinja2 3.1.6 or newer, whose sandbox holds, not {jinja2.__version__}")
            from . import engine

            _loaded = engine
    return _loaded


def _missing(what: str) -> MissingExtraError:
    return MissingExtraError(f'chat templates need {what}: pip install "tokenmill[chat]"', extra="chat")
