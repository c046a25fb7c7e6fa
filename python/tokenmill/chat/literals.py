"""Control tokens in what others wrote: found, refused, rewritten, or taken for what they look like.

A literal in a message is text: nothing that a message says is a control token (``"text"``). Where data are
to hold them, ``literals=`` says so: ``"parse"`` takes them for the tokens that they are, ``"reject"`` refuses
the message, and a function rewrites its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from ..errors import SpecialTokenError
from .rendered import RenderedChat, Segment

__all__ = ["FoundLiteral", "LiteralPolicy", "Literals", "markers_of", "policy_of", "rewritten"]

Rewrite: TypeAlias = Callable[[str], str]
LiteralPolicy: TypeAlias = 'Literal["text", "reject", "parse"] | Rewrite'
Literals: TypeAlias = "LiteralPolicy | Mapping[str, LiteralPolicy]"

#: Marks of protocols that are plain text to a tokenizer: ``[INST]``, ``<<SYS>>``, ``<|user|>``, ``</think>``.
MARKER = re.compile(r"<<[^<>\s]+>>|<[^<>\s]+>|\[/?[A-Z][A-Z_]*\]")
_WORDS = ("text", "reject", "parse")


class FoundLiteral(NamedTuple):
    """A control token's literal, or a marker of the template, in text that others wrote."""

    literal: str
    start: int
    """Where it begins in the rendering, in characters."""
    stop: int
    message: int | None
    field: str | None
    id: int | None
    """The id of the added token; None for a marker that is plain text to the tokenizer."""


def markers_of(literals: tuple[str, ...]) -> frozenset[str]:
    """The marks of a protocol in the literals of its template."""
    return frozenset(mark for literal in literals for mark in MARKER.findall(literal))


def policy_of(literals: Literals, segment: Segment) -> LiteralPolicy:
    """What is done with literals in this segment: by its kind, else by the role of its message."""
    if not isinstance(literals, Mapping):
        return literals
    for key in (segment.kind, segment.role):
        if key is not None and key in literals:
            return literals[key]
    return "text"


def check(literals: Literals) -> None:
    """Refuse what is no policy."""
    policies = literals.values() if isinstance(literals, Mapping) else [literals]
    for policy in policies:
        if not callable(policy) and policy not in _WORDS:
            raise ValueError(
                f"literals={policy!r} is none of {', '.join(map(repr, _WORDS))}, a function or a mapping"
            )


def found_in(
    chat: RenderedChat, added: list[tuple[int, int, int]], protected: frozenset[int], markers: frozenset[str]
) -> list[tuple[FoundLiteral, Segment]]:
    """The literals in untrusted text, with the segment that each begins in."""
    text = chat.text
    places: dict[tuple[int, int], int | None] = {}
    for start, stop, token in added:
        if token in protected:
            places[start, stop] = token
    for mark in markers:
        at = text.find(mark)
        while at >= 0:
            places.setdefault((at, at + len(mark)), None)
            at = text.find(mark, at + 1)
    if not places:
        return []
    untrusted = [segment for segment in chat.segments if not segment.trusted]
    found = []
    for (start, stop), number in sorted(places.items()):
        touched = next((s for s in untrusted if s.start < stop and start < s.stop), None)
        if touched is not None:
            literal = FoundLiteral(text[start:stop], start, stop, touched.message, touched.field, number)
            found.append((literal, touched))
    return found


def refuse(literal: FoundLiteral) -> None:
    """Raise the error of ``"reject"``."""
    where = f"messages[{literal.message}]" if literal.message is not None else "the conversation"
    if literal.field:
        where = f"{where}.{literal.field}" if literal.message is not None else literal.field
    raise SpecialTokenError(
        f"{where} holds {literal.literal!r}, a control literal of the chat template, at character "
        f"{literal.start} of "
        'the rendering; pass literals="text" to take it for plain text, or a function that rewrites it',
        token=literal.literal,
        position=literal.start,
    )


def rewritten(messages: list[Any], literals: Literals, control: re.Pattern[str]) -> list[Any]:
    """The messages, those strings rewritten that hold a control literal, by the functions of ``literals``."""
    of_role = literals if isinstance(literals, Mapping) else {}
    of_all = None if isinstance(literals, Mapping) else literals
    if not any(map(callable, [*of_role.values(), of_all])):
        return messages

    def of(value: Any, rewrite: Rewrite) -> Any:
        if isinstance(value, str):
            if not control.search(value):
                return value
            new = rewrite(value)
            if not isinstance(new, str):
                raise TypeError(f"the function of literals= gives a str, not {type(new).__name__}")
            return new
        if isinstance(value, Mapping):
            return {key: of(item, rewrite) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [of(item, rewrite) for item in value]
        return value

    changed = []
    for message in messages:
        role = message.get("role") if isinstance(message, Mapping) else None
        rewrite = of_role.get(role, of_all) if isinstance(role, str) else of_all
        if isinstance(message, Mapping) and callable(rewrite):
            message = {key: value if key == "role" else of(value, rewrite) for key, value in message.items()}
        changed.append(message)
    return changed
