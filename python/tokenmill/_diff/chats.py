"""Conversations whose text differs between two tokenizers' chat templates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

from .inputs import of_messages

if TYPE_CHECKING:
    from tokenmill._core import Tokenizer

__all__ = ["Found", "search"]

Message = dict[str, Any]
Messages = tuple[Message, ...]
Found = tuple[Messages, str, dict[str, Any]]
"""Messages, the name of the template, and options of ``render_chat``."""

_TOOL = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Finds.",
        "parameters": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
    },
}
_CALL = {"id": "call00001", "type": "function", "function": {"name": "find", "arguments": {"x": "y"}}}
_CONTENTS = ("a", "", " a\n", "\n\n a", "b c\n", "<think>\nb\n</think>\n\nc", "é")
_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"add_generation_prompt": True},
    {"tools": [_TOOL]},
    {"enable_thinking": False, "add_generation_prompt": True},
    {"documents": [{"title": "t", "text": "b"}]},
)
_ROLES: tuple[tuple[str, ...], ...] = (
    ("user",),
    ("system",),
    ("assistant",),
    ("system", "user"),
    ("user", "assistant"),
    ("user", "user"),
    ("developer", "user"),
    ("system", "user", "assistant"),
    ("user", "assistant", "user"),
    ("system", "user", "assistant", "user", "assistant"),
)


def search(a: Tokenizer, b: Tokenizer) -> tuple[Found | None, int]:
    """A conversation for which the two differ, as short as it can be, and how many were tried."""
    names = sorted({*a.chat_templates, *b.chat_templates})
    tried = 0
    for name in names:
        if a.chat_templates.get(name) == b.chat_templates.get(name):
            continue
        for messages in _conversations():
            for options in _OPTIONS:
                tried += 1

                def differs(messages: Messages, options: dict[str, Any] = options, name: str = name) -> bool:
                    (text_a, error_a), (text_b, error_b) = (
                        of_messages(tok, messages, name, options) for tok in (a, b)
                    )
                    return bool(text_a != text_b or (error_a is None) != (error_b is None))

                if differs(messages):
                    return (_shrunk(messages, differs), name, options), tried
    return None, tried


def _conversations() -> Iterator[Messages]:
    for roles in _ROLES:
        for contents in [(content,) * len(roles) for content in _CONTENTS]:
            yield tuple(
                {"role": role, "content": content} for role, content in zip(roles, contents, strict=True)
            )
    thinking: tuple[tuple[str, ...], ...] = (("user", "assistant"), ("user", "assistant", "user"))
    for roles, content in product(thinking, ("", "a")):
        yield tuple(
            {"role": role, "content": content, **({"reasoning_content": "b"} if role == "assistant" else {})}
            for role in roles
        )
    user = {"role": "user", "content": "a"}
    call = {"role": "assistant", "content": "", "tool_calls": [_CALL]}
    answer = {"role": "tool", "content": "b", "name": "find", "tool_call_id": "call00001"}
    yield (user, call)
    yield (user, call, answer)
    yield (user, call, answer, answer)
    yield (user, call, answer, {"role": "assistant", "content": "c"}, user)
    yield ({"role": "user", "content": [{"type": "text", "text": "a"}]},)
    yield ({"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "a"}]},)


def _shrunk(messages: Messages, differs: Callable[[Messages], bool]) -> Messages:
    """The messages without what can go: whole ones, then keys, then single characters."""
    is_shorter = True
    while is_shorter:
        is_shorter = False
        for shorter in _shorter(messages):
            if differs(shorter):
                messages, is_shorter = shorter, True
                break
    return messages


def _shorter(messages: Messages) -> Iterator[Messages]:
    """The same with one thing less."""
    for at, message in enumerate(messages):
        before, after = messages[:at], messages[at + 1 :]
        yield (*before, *after)
        for key, value in message.items():
            if key not in ("role", "content"):
                yield (*before, {name: message[name] for name in message if name != key}, *after)
            if key != "role" and isinstance(value, str):
                for i in range(len(value)):
                    yield (*before, {**message, key: value[:i] + value[i + 1 :]}, *after)
