"""What runs a template: messages wrapped, variables gathered, the text collected."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn

from jinja2.exceptions import SecurityError, UndefinedError
from jinja2.runtime import Macro

from .compiled import Compiled, compiled, line_of
from .data import Message, copied, plain, unwrapped, wrapped
from .environment import ChatContext
from .refusals import refusal
from .sources import (
    DEFAULT_ROLES,
    DOCUMENTS,
    REASONING,
    SPECIAL,
    SPECIAL_VARIABLES,
    TOOLS,
    Runs,
    only_message,
    piece_of,
)
from .steps import MAX_STEPS, LimitError, State
from .tracked import Tracked, made, plain_text

__all__ = ["MAX_STEPS", "Run", "chat_of", "check_roles", "template_of"]

_new = str.__new__


def template_of(source: str, name: str) -> Compiled:
    """The compiled template."""
    try:
        return compiled(source)
    except MemoryError:
        raise
    except Exception as error:
        refuse(error, name)


def refuse(error: BaseException, name: str, hint: str = "") -> NoReturn:
    """Raise what a template raised, with its name and line, and a hint at the likely cause."""
    if isinstance(error, RecursionError):
        message = "it calls itself, or its data nest, too deeply"
    else:
        message = plain_text(str(error)) or type(error).__name__
    raise refusal(name, line_of(error), message + hint) from error


def chat_of(conversation: list[Any], keep_none: bool) -> tuple[list[Message], list[dict[Any, Any]]]:
    """The messages as a template sees them, without keys whose value is None; and a copy as plain data.

    Reasoning is found under each of the names that templates read, as in transformers.
    """
    chat, data = [], []
    places = _places
    for index, message in enumerate(conversation):
        if type(message) is not dict:
            given, message = message, plain(message)
            if type(message) is not dict:
                hint = ": this takes one conversation" if isinstance(given, list | tuple) else ""
                raise TypeError(
                    f"messages[{index}] must be a dict with a role and a content, not "
                    f"{type(given).__name__}{hint}"
                )
        kept = message.copy()
        data.append(kept)
        root, sources, known_roles = places[index] if index < len(places) else _place(index)
        shell = Message()
        shell.source, shell.index = root, index
        reasoned = False
        for key, value in message.items():
            if type(value) is str and value:
                if key == "role" and value in known_roles:
                    shell[key] = known_roles[value]
                    continue
                text = _new(Tracked, value)
                text.runs = (len(value), sources[key] if key in sources else (root, plain(key)))
                shell[key if type(key) is str else plain(key)] = text
                if key == "content":
                    continue
            elif value is not None or keep_none:
                value = plain(value)
                if value is not None:
                    kept[key] = copied(value)
                key = plain(key)
                shell[key] = wrapped(value, (root, key))
            if key in REASONING and value is not None:
                reasoned = True
        chat.append(_with_reasoning(shell) if reasoned else shell)
    return chat, data


def _place(index: int) -> tuple[Any, dict[Any, Any], dict[str, Tracked]]:
    """The sources of the message of this index, and its roles: the same in all conversations."""
    root = ("message", index)
    sources = {key: (root, key) for key in ("role", "content", "name", "tool_call_id", *REASONING)}
    runs = {role: (len(role), sources["role"]) for role in DEFAULT_ROLES}
    return root, sources, {role: made(role, runs[role]) for role in DEFAULT_ROLES}


#: What ``_place`` gives for the first messages, made once.
_places = [_place(index) for index in range(64)]


def _with_reasoning(message: Message) -> Message:
    reasoning = next(message[key] for key in REASONING if message.get(key) != None)  # noqa: E711
    again = Message({"thinking": reasoning})
    dict.update(again, zip(dict.keys(message), dict.values(message), strict=True))
    again.source, again.index = message.source, message.index
    dict.__setitem__(again, "reasoning_content", reasoning)
    return again


def check_roles(chat: list[Message], allowed: frozenset[str], name: str, are_read: bool) -> None:
    """Refuse messages whose role is none of these: a role is text that the template trusts.

    Where the template reads roles, refuse those without one, too: most templates leave them out.
    """
    for message in chat:
        role = message.get("role")
        if role == None:  # noqa: E711
            if are_read:
                keys = ", ".join(map(repr, map(plain_text, map(str, message)))) or "nothing"
                hint = ": a row of a file is no message, its messages are" if "messages" in message else ""
                raise refusal(name, None, f"messages[{message.index}] has no role; it has {keys}{hint}")
        elif role not in allowed:
            known = ", ".join(map(repr, sorted(allowed)))
            raise refusal(
                name,
                None,
                f"messages[{message.index}] has the role {role!r}; allowed are {known}, or what roles= names",
            )


class Run:
    """A template with all that one rendering gives it."""

    def __init__(
        self,
        template: Compiled,
        chat: list[Message],
        special: Mapping[str, Any],
        variables: dict[str, Any],
        name: str,
    ) -> None:
        self.template, self.globals, self.chat, self.name = template.template, template.globals, chat, name
        self.special, self.variables, self.reads = special, variables, template.variables

    def tracked(self, limit: int, now: datetime | None) -> tuple[str, list[Any]]:
        """The text and its runs, with a mark where each turn begins.

        If the template fails on wrapped data, it runs again on plain data.
        """
        state = State(limit, now)
        try:
            return self._collected(self._wrapped(), state)
        except (LimitError, RecursionError, SecurityError) as error:
            refuse(error, self.name)
        except MemoryError:
            raise
        except Exception:
            # Most likely the conversation does not suit the template. The result with plain data decides, and
            # its errors name the types that template authors know.
            pass
        try:
            return self._collected(self._plain(), State(limit, state.now))
        except MemoryError:
            raise
        except (TypeError, UndefinedError) as error:
            refuse(error, self.name, self._unusual_content() + self._unnamed_tokens())
        except Exception as error:
            refuse(error, self.name)

    def _unusual_content(self) -> str:
        """Messages whose content is no text: most templates take nothing else."""
        found = []
        for message in self.chat:
            content = message.get("content")
            if content == None:  # noqa: E711
                found.append(f"messages[{message.index}].content is missing or None")
            elif not isinstance(content, str):
                found.append(f"messages[{message.index}].content is no str")
        return f" ({', '.join(found[:3])}{', ...' if len(found) > 3 else ''})" if found else ""

    def _unnamed_tokens(self) -> str:
        """Special tokens that the template reads and nobody gave."""
        given = {**self.special, **self.variables}
        missing = [name for name in SPECIAL_VARIABLES if name in self.reads - given.keys()]
        return f" (the tokenizer names no {', no '.join(missing)})" if missing else ""

    def _wrapped(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in self.special.items():
            found[key] = wrapped(plain(value), SPECIAL)
        for key, value in self.variables.items():
            if value is None or value is True or value is False:
                found[key] = value
            else:
                root = TOOLS if key == "tools" else DOCUMENTS if key == "documents" else ("variable", key)
                found[key] = wrapped(plain(value), root)
        found["messages"] = self.chat
        return found

    def _plain(self) -> dict[str, Any]:
        given = {**self.special, **self.variables}
        return {**{key: plain(value) for key, value in given.items()}, "messages": unwrapped(self.chat)}

    def _collected(self, variables: dict[str, Any], state: State) -> tuple[str, list[Any]]:
        template = self.template
        context = ChatContext(template.environment, {**self.globals, **variables}, None, template.blocks)
        context.state = state
        pieces: list[Any] = []
        # One list for all pieces: many small tuples would keep Python's garbage collector busy.
        runs: list[Any] = []
        turn: int | None = None
        needs_mark = False
        for piece in template.root_render_func(context):
            pieces.append(piece)
            own: Runs = piece.runs  # type: ignore[attr-defined]
            of_piece = state.message
            if of_piece is None and len(own) > 2:
                of_piece = only_message(own)
            if of_piece != turn or needs_mark:
                turn = of_piece
                runs += (0, piece_of(turn))
            # The piece may hold marks of its own, which must not apply to the next piece.
            needs_mark = 0 in own
            runs += own
        _release(context)
        state.charge(sum(map(len, pieces)))
        return "".join(pieces), runs


def _release(context: ChatContext) -> None:
    """Break reference cycles of a template that has finished.

    A macro holds the context that holds it, and often itself, which in a batch would make Python's garbage
    collector run more often.
    """
    for value in context.vars.values():
        if type(value) is Macro:
            value.__dict__.clear()
    context.vars.clear()
