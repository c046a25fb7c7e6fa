"""One rendering, from messages to ``RenderedChat``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from .._forks import waited_for
from ..errors import MissingExtraError, TemplateError
from .rendered import RenderedChat
from .sources import DOCUMENTS, REASONING, SPECIAL, TOOLS
from .tools import schema_of
from .tracked import plain_text

if TYPE_CHECKING:
    from types import ModuleType

    from .compiled import Compiled

__all__ = ["DEFAULT_ROLES", "choose", "render"]

DEFAULT_ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))
"""Roles that a conversation may have with any template, besides those that the template compares with."""

#: What transformers appends to the text that is to be continued: it shows where the text ended.
_END = "CONTINUE_FINAL_MESSAGE_TAG "

_JINJA2 = (3, 1, 6)


def choose(templates: Mapping[str, str], template: str | None, tools: object) -> tuple[str, str]:
    """The name and the source of the template to render with.

    ``template`` is the name of one of them, or a source of its own, which is then called ``given``. Without it
    the one named ``tool_use`` serves where ``tools`` is not None, else the one named ``default``. Raises
    ``TemplateError`` where there is none of these.

    >>> choose({"default": "A", "rag": "B"}, "rag", None)
    ('rag', 'B')
    """
    if template is not None:
        return (template, templates[template]) if template in templates else ("given", template)
    if tools is not None and "tool_use" in templates:
        return "tool_use", templates["tool_use"]
    if "default" in templates:
        return "default", templates["default"]
    if not templates:
        raise _error(None, None, "the tokenizer has no chat template; give one as template=")
    names = ", ".join(map(repr, sorted(templates)))
    raise _error(None, None, f"no template is named 'default'; choose one of {names} by template=")


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
    """Render a conversation with a chat template: the text of transformers 5.23, and who wrote which part.

    ``messages`` are mappings (dataclasses, and objects with ``model_dump()``, count as such) with a ``role``;
    keys whose value is None are left out unless ``keep_none`` is set. ``tools`` are schemas, or functions with
    type hints and a docstring in Google's style. ``special_tokens`` are variables of the template whose text is
    trusted (``bos_token``, ...); ``variables`` are all others, and win over special tokens of the same name.

    ``continue_final_message`` cuts the text where the last message's content (or the field of this name) ends.
    ``now`` is the moment of ``strftime_now``: the local time by default. ``roles`` are the roles that messages
    may have: by default ``DEFAULT_ROLES`` and those that the template compares with. ``max_steps`` bounds what
    the template may do (``steps.MAX_STEPS`` by default); ``name`` is what errors call it.

    Raises ``TemplateError`` for templates that are wrong, refuse the conversation or exceed a bound, and for
    roles that are not allowed; ``MissingExtraError`` without jinja2.

    >>> render("{{ messages[0].content }}", [{"role": "user", "content": "Hi"}], special_tokens={}).text
    'Hi'
    """
    modules = _modules()
    plain = modules.data.plain
    template = _compiled(modules, source, name)
    chat = _plain_messages(plain, messages, keep_none)
    _check_roles(chat, template.roles | DEFAULT_ROLES if roles is None else frozenset(roles), name)
    if continue_final_message:
        if add_generation_prompt:
            raise ValueError(
                "continue_final_message goes on with the last message, add_generation_prompt begins a new one: "
                "choose one of them"
            )
        chat[-1], ending = _to_be_continued(chat[-1], continue_final_message, source, name)
    given = {
        "tools": None if tools is None else plain([_schema(tool) for tool in tools]),
        "documents": None if documents is None else plain(_checked_documents(documents)),
        "add_generation_prompt": add_generation_prompt,
    }
    special = {key: plain(value) for key, value in special_tokens.items() if key not in variables}
    others = {key: plain(value) for key, value in variables.items()}
    limit = modules.steps.MAX_STEPS if max_steps is None else max_steps
    run = _Run(modules, template, chat, {**given, **special, **others}, special, limit, now, name)
    text, pieces = run.tracked()
    if continue_final_message:
        stop = _end_of_continued(text, ending, name)
        text, pieces = text[:stop], _shortened(modules, pieces, stop)
    return RenderedChat(text, pieces, [message.get("role") for message in chat], template.literals, name)


class _Run:
    """A template with all that one rendering gives it."""

    def __init__(
        self,
        modules: Any,
        template: Compiled,
        chat: list[dict[Any, Any]],
        variables: dict[str, Any],
        special: dict[str, Any],
        limit: int,
        now: datetime | None,
        name: str,
    ) -> None:
        self.modules, self.template, self.chat, self.variables = modules, template, chat, variables
        self.special, self.limit, self.now, self.name = special, limit, now, name

    def tracked(self) -> tuple[str, list[Any]]:
        """The text and its pieces; with plain data where wrapped data would not do."""
        from jinja2.exceptions import SecurityError

        try:
            return self._pieces(self._wrapped())
        except (self.modules.steps.LimitError, RecursionError, SecurityError) as error:
            _refuse(self.modules, error, self.name)
        except Exception:
            # Most likely the conversation does not suit the template. What plain data give decides, and
            # names types as template authors know them.
            pass
        try:
            return self._pieces({"messages": self.chat, **self.variables})
        except Exception as error:
            _refuse(self.modules, error, self.name)

    def _wrapped(self) -> dict[str, Any]:
        wrapped, message = self.modules.data.wrapped, self.modules.data.Message
        found: dict[str, Any] = {}
        for key, value in self.variables.items():
            if value is None or type(value) is bool:
                found[key] = value
            elif key in self.special:
                found[key] = wrapped(value, SPECIAL)
            else:
                root = TOOLS if key == "tools" else DOCUMENTS if key == "documents" else ("variable", key)
                found[key] = wrapped(value, root)
        messages = []
        for index, fields in enumerate(self.chat):
            source = ("message", index)
            shell = message({key: wrapped(value, (source, key)) for key, value in fields.items()})
            shell.plain_value, shell.source, shell.index = fields, source, index
            messages.append(shell)
        found["messages"] = messages
        return found

    def _pieces(self, variables: dict[str, Any]) -> tuple[str, list[Any]]:
        template = self.template.template
        context: Any = template.new_context(variables)
        state = context.state = self.modules.steps.State(self.limit, self.now)
        texts: list[str] = []
        pieces: list[Any] = []
        for piece in template.root_render_func(context):
            texts.append(piece)
            pieces.append((piece.runs, state.message))
            state.left -= len(piece)
            if state.left < 0:
                state.charge(0)
        return "".join(texts), pieces


# ---- errors -------------------------------------------------------------------------------------


def _error(name: str | None, line: int | None, message: str) -> TemplateError:
    place = "chat template" if name is None else f"chat template {name!r}"
    if line is not None:
        place += f", line {line}"
    return TemplateError(f"{place}: {message}", template=name, line=line, message=message)


def _refuse(modules: Any, error: BaseException, name: str) -> NoReturn:
    """Raise what a template raised, with its name and line."""
    if isinstance(error, RecursionError):
        message = "it calls itself, or its data nest, too deeply"
    else:
        message = plain_text(str(error)) or type(error).__name__
    raise _error(name, modules.compiled.line_of(error), message) from error


# ---- what is given ------------------------------------------------------------------------------


def _plain_messages(plain: Any, messages: Any, keep_none: bool) -> list[dict[Any, Any]]:
    chat = getattr(messages, "messages", messages)
    if isinstance(chat, (str, bytes, Mapping)) or not hasattr(chat, "__iter__"):
        raise TypeError(f"messages are a list of dicts, not {type(chat).__name__}")
    found = []
    for index, message in enumerate(chat):
        fields = plain(message)
        if type(fields) is not dict:
            raise TypeError(f"messages[{index}] is a dict with a role and a content, not {type(message).__name__}")
        fields = dict(fields) if keep_none else {key: value for key, value in fields.items() if value is not None}
        reasoning = next((fields[key] for key in REASONING if fields.get(key) is not None), None)
        if reasoning is not None:
            fields = {"thinking": reasoning, **fields, "reasoning_content": reasoning}
        found.append(fields)
    if not found:
        raise ValueError("an empty conversation renders to nothing: give at least one message")
    return found


def _check_roles(chat: list[dict[Any, Any]], allowed: frozenset[str], name: str) -> None:
    for index, message in enumerate(chat):
        role = message.get("role")
        if role is not None and not (isinstance(role, str) and role in allowed):
            known = ", ".join(map(repr, sorted(allowed)))
            raise _error(
                name, None, f"messages[{index}] has the role {role!r}; allowed are {known}, or what roles= names"
            )


def _schema(tool: Any) -> Any:
    return tool if isinstance(tool, Mapping) else schema_of(tool)


def _checked_documents(documents: Sequence[Any]) -> list[Any]:
    for index, document in enumerate(documents):
        if not isinstance(document, Mapping):
            raise TypeError(f"documents[{index}] is a dict with title and text, not {type(document).__name__}")
    return list(documents)


# ---- going on with the last message ---------------------------------------------------------------


def _to_be_continued(
    message: dict[Any, Any], field: bool | str, source: str, name: str
) -> tuple[dict[Any, Any], str]:
    """The last message with the mark at its end, and the text that the mark follows."""
    field = field if isinstance(field, str) else "content"
    value = message.get(field)
    if value is None:
        raise _error(name, None, f"the last message has no {field!r} to continue")
    fields = [key for key in REASONING if message.get(key) == value] if field in REASONING else [field]
    if not any(key in source for key in fields):
        raise _error(name, None, f"the template does not read {field!r}, which is to be continued")
    message = dict(message)
    if isinstance(value, (list, tuple)):
        for at in range(len(value) - 1, -1, -1):
            block = value[at]
            if "text" in block:
                marked = {**block, "text": block["text"] + _END}
                blocks = [*value[:at], marked, *value[at + 1 :]]
                message[field] = blocks if isinstance(value, list) else tuple(blocks)
                return message, block["text"]
        raise _error(name, None, "the last message has no text block to continue")
    if not isinstance(value, str):
        raise _error(name, None, f"the {field!r} of the last message is no text that could be continued")
    for key in fields:
        message[key] = value + _END
    return message, value


def _end_of_continued(text: str, ending: str, name: str) -> int:
    """Where the text that is to be continued ends in the rendering."""
    mark = _END.strip()
    if ending.strip() not in text or mark not in text:
        raise _error(name, None, "the template does not write the last message as it is: it cannot be continued")
    stop = text.rindex(mark)
    # A template that trims the text trims the blank after the mark.
    return stop if text.startswith(_END, stop) else len(text[:stop].rstrip())


def _shortened(modules: Any, pieces: list[Any], stop: int) -> list[Any]:
    found = []
    for runs, turn in pieces:
        length = sum(runs[::2])
        if length >= stop:
            found.append((modules.tracked.cut(runs, 0, stop), turn))
            break
        found.append((runs, turn))
        stop -= length
    return found


# ---- jinja2, when it is needed ----------------------------------------------------------------------


class _Modules:
    """The modules that import jinja2."""

    def __init__(self) -> None:
        from . import compiled, data, steps, tracked

        self.compiled: ModuleType = compiled
        self.data: ModuleType = data
        self.steps: ModuleType = steps
        self.tracked: ModuleType = tracked


_loaded: _Modules | None = None


def _modules() -> Any:
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
            _loaded = _Modules()
    return _loaded


def _missing(what: str) -> MissingExtraError:
    return MissingExtraError(
        f'chat templates need {what}: pip install "tokenmill[chat]"',
        extra="chat",
    )


def _compiled(modules: Any, source: str, name: str) -> Compiled:
    try:
        found: Compiled = modules.compiled.compiled(source)
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        _refuse(modules, error, name)
    return found
