"""What runs a template: messages wrapped, variables gathered, the text collected."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn

from jinja2.exceptions import SecurityError

from .compiled import Compiled, compiled, line_of
from .data import Message, plain, unwrapped, wrapped
from .refusals import refusal
from .sources import DOCUMENTS, REASONING, SPECIAL, TOOLS
from .steps import MAX_STEPS, LimitError, State
from .tracked import Tracked, plain_text

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


def refuse(error: BaseException, name: str) -> NoReturn:
    """Raise what a template raised, with its name and line."""
    if isinstance(error, RecursionError):
        message = "it calls itself, or its data nest, too deeply"
    else:
        message = plain_text(str(error)) or type(error).__name__
    raise refusal(name, line_of(error), message) from error


def chat_of(conversation: list[Any], keep_none: bool) -> list[Message]:
    """The messages as a template sees them: plain, wrapped, without keys whose value is None.

    Reasoning is found under each of the names that templates read, as in transformers.
    """
    chat = []
    for index, message in enumerate(conversation):
        if type(message) is not dict:
            given, message = message, plain(message)
            if type(message) is not dict:
                raise TypeError(
                    f"messages[{index}] is a dict with a role and a content, not {type(given).__name__}"
                )
        root = ("message", index)
        shell = Message()
        shell.source, shell.index = root, index
        reasoned = False
        for key, value in message.items():
            if type(value) is str and type(key) is str:
                if value:
                    text = _new(Tracked, value)
                    text.runs = (len(value), (root, key))
                    dict.__setitem__(shell, key, text)
                else:
                    dict.__setitem__(shell, key, wrapped(value, None))
            elif value is not None or keep_none:
                key = plain(key)
                dict.__setitem__(shell, key, wrapped(plain(value), (root, key)))
            else:
                continue
            if key in REASONING:
                reasoned = True
        if reasoned:
            shell = _with_reasoning(shell)
        chat.append(shell)
    return chat


def _with_reasoning(message: Message) -> Message:
    reasoning = next((message[key] for key in REASONING if message.get(key) != None), None)  # noqa: E711
    if reasoning is None:
        return message
    again = Message({"thinking": reasoning})
    dict.update(again, zip(dict.keys(message), dict.values(message), strict=True))
    again.source, again.index = message.source, message.index
    dict.__setitem__(again, "reasoning_content", reasoning)
    return again


def check_roles(chat: list[Message], allowed: frozenset[str], name: str) -> None:
    """Refuse messages whose role is none of these: a role is text that the template trusts."""
    for message in chat:
        role = message.get("role")
        if role not in allowed and role != None:  # noqa: E711
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
        self.template, self.chat, self.name = template.template, chat, name
        self.special, self.variables = special, variables

    def tracked(self, limit: int, now: datetime | None) -> tuple[str, list[Tracked], list[int | None]]:
        """The text, its pieces, and whose turn each was written in.

        Data are plain where wrapped ones would not do.
        """
        state = State(limit, now)
        try:
            return self._collected(self._wrapped(), state)
        except (LimitError, RecursionError, SecurityError) as error:
            refuse(error, self.name)
        except Exception:
            # Most likely the conversation does not suit the template. What plain data give decides, and
            # names types as template authors know them.
            pass
        try:
            return self._collected(self._plain(), State(limit, state.now))
        except Exception as error:
            refuse(error, self.name)

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

    def _collected(
        self, variables: dict[str, Any], state: State
    ) -> tuple[str, list[Tracked], list[int | None]]:
        context: Any = self.template.new_context(variables)
        context.state = state
        pieces: list[Any] = []
        turns: list[int | None] = []
        for piece in self.template.root_render_func(context):
            pieces.append(piece)
            turns.append(state.message)
        state.charge(sum(map(len, pieces)))
        return "".join(pieces), pieces, turns
