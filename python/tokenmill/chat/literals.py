"""Literals of control tokens in text that others wrote: found, refused, rewritten, or parsed.

By default (``literals="text"``) a literal in a message stays text: nothing that a message says becomes a
control token. ``"parse"`` makes them tokens, for data that hold control tokens on purpose, ``"reject"``
refuses the message, and a function rewrites its text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from ..errors import SpecialTokenError
from .data import plain
from .rendered import RenderedChat, Segment
from .sources import DOCUMENTS, TOOLS, Source, kind_of
from .tools import schema_of

__all__ = [
    "FoundLiteral",
    "LiteralPolicy",
    "Literals",
    "control_markers",
    "markers_of",
    "policy_of",
    "rewritten",
    "written_as_text",
]

Rewrite: TypeAlias = Callable[[str], str]
LiteralPolicy: TypeAlias = 'Literal["text", "reject", "parse"] | Rewrite'
Literals: TypeAlias = "LiteralPolicy | Mapping[str, LiteralPolicy]"

#: Markers of chat formats, which may be plain text to a tokenizer: ``[INST]``, ``<<SYS>>``, ``<|user|>``,
#: ``</think>``.
MARKER = re.compile(r"<<[^<>\s]+>>|<[^<>\s]+>|\[/?[A-Z][A-Z_]*\]")
#: Those of them that hardly ever are meant as plain text: ``<|im_start|>``, ``<start_of_turn>``, ``</s>``.
CONTROL = re.compile(r"<[|\uff5c][^<>\s]+[|\uff5c]>|<(?:start|begin|end)_of_\w+>|</?s>|<[be]os>")
_WORDS = ("text", "reject", "parse")

OF_RENDERING = frozenset(
    (
        "tools",
        "documents",
        "add_generation_prompt",
        "continue_final_message",
        "now",
        "keep_none",
        "roles",
        "max_steps",
    )
)
"""Options of a rendering; all others are variables of the template."""


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
    """The markers in the literals of a template."""
    return frozenset(marker for literal in literals for marker in MARKER.findall(literal))


def policy_of(literals: Literals, segment: Segment) -> LiteralPolicy:
    """What is done with literals in this segment: by its kind, else by the role of its message."""
    return _policy(literals, segment.kind, segment.role)


#: Kinds of text that no message holds, though it may be written in a message's turn: a policy for the
#: message's role does not apply to it.
_OF_NO_MESSAGE = frozenset(("tools", "documents", "variable", "template", "unknown"))


def _policy(literals: Literals, kind: str, role: str | None) -> LiteralPolicy:
    if not isinstance(literals, Mapping):
        return literals
    if kind in literals:
        return literals[kind]
    if role is not None and kind not in _OF_NO_MESSAGE and role in literals:
        return literals[role]
    return "text"


#: What a mapping may name besides roles.
_KINDS = frozenset(
    (
        *("content", "reasoning", "tool_call", "tool_result", "name", "id"),
        *("tools", "documents", "variable", "unknown"),
    )
)


def check(literals: Literals, roles: Collection[str]) -> None:
    """Refuse what is no policy, and a policy for what is neither a role of the template nor a kind."""
    for key in literals if isinstance(literals, Mapping) else ():
        if key not in _KINDS and key not in roles:
            raise ValueError(
                f"literals has a policy for {key!r}, which is neither a role of the template "
                f"({', '.join(sorted(roles))}) nor a kind ({', '.join(sorted(_KINDS))})"
            )
    policies = literals.values() if isinstance(literals, Mapping) else [literals]
    for policy in policies:
        if not callable(policy) and policy not in _WORDS:
            raise ValueError(
                f"literals={policy!r} is none of {', '.join(map(repr, _WORDS))}, a function or a mapping"
            )


def found_in(
    chat: RenderedChat,
    added: list[tuple[int, int, int]],
    markers: frozenset[str],
    untrusted: Sequence[tuple[int, int]],
) -> list[tuple[FoundLiteral, Segment]]:
    """The literals in untrusted text, with the segment that each begins in.

    These are the added tokens ``added``, given as ``(start, stop, id)``, and all occurrences of ``markers``.
    ``untrusted`` are the ranges of that text: ``chat.untrusted``.
    """
    text = chat.text
    places: dict[tuple[int, int], int | None] = {}
    for start, stop, token in added:
        places[start, stop] = token
    for marker in markers:
        at = text.find(marker)
        while at >= 0:
            places.setdefault((at, at + len(marker)), None)
            at = text.find(marker, at + 1)
    touching = [place for place in sorted(places.items()) if _is_touched(untrusted, *place[0])]
    if not touching:
        return []  # As a rule: segments cost more than all else here.
    segments = [segment for segment in chat.segments if not segment.trusted]
    found = []
    for (start, stop), number in touching:
        touched = next((s for s in segments if s.start < stop and start < s.stop), None)
        if touched is not None:
            literal = FoundLiteral(text[start:stop], start, stop, touched.message, touched.field, number)
            found.append((literal, touched))
    return found


def _is_touched(ranges: Sequence[tuple[int, int]], start: int, stop: int) -> bool:
    """Whether this part of the text has characters in one of the ranges, which are in order."""
    at = bisect_right(ranges, start, key=lambda span: span[1])
    return at < len(ranges) and ranges[at][0] < stop


def control_markers(text: str) -> set[str]:
    """The markers in a text that hardly ever are meant as plain text."""
    return set(CONTROL.findall(text))


def written_as_text(chat: RenderedChat, added: Collection[tuple[int, int, int]]) -> tuple[str, ...]:
    """The control markers that the template wrote and that are none of its added tokens, each once.

    ``added`` are these tokens, given as ``(start, stop, id)``.
    """
    written: dict[str, None] = {}
    ranges = chat.untrusted
    for match in CONTROL.finditer(chat.text):
        if match[0] not in written and not _is_touched(ranges, *match.span()):
            written[match[0]] = None
    tokens = {chat.text[start:stop] for start, stop, _ in added}
    return tuple([marker for marker in written if not any(marker in token for token in tokens)])


def without_space(text: str, start: int, stop: int, literal: str) -> tuple[int, int]:
    """Where the literal of a token stands, without the white space beside it that the token includes."""
    at = text.find(literal, start, stop)
    if at >= 0:
        return at, at + len(literal)
    # The literal is matched in normalized text, and may differ from this text.
    found = text[start:stop]
    return start + len(found) - len(found.lstrip()), stop - len(found) + len(found.rstrip())


def refuse(literal: FoundLiteral, segment: Segment) -> None:
    """Raise the error of ``"reject"``."""
    where = literal.field or "the conversation"
    if literal.message is not None and segment.kind not in _OF_NO_MESSAGE:
        where = f"messages[{literal.message}]" + (f".{literal.field}" if literal.field else "")
    what = "a marker of the chat template" if literal.id is None else "a control token's literal"
    raise SpecialTokenError(
        f"{where} holds {literal.literal!r}, {what}, at character {literal.start} of the rendering; pass "
        'literals="text" to take it for plain text, or a function that rewrites it',
        token=literal.literal,
        position=literal.start,
    )


def rewritten(
    messages: list[Any], options: Mapping[str, Any], literals: Literals, holds: Callable[[str], bool]
) -> tuple[list[Any], dict[str, Any]]:
    """Messages and options, with strings that hold a control literal rewritten by a function of ``literals``.

    ``options`` are tools, documents and variables. Roles are not rewritten: they are checked.
    """

    def of(value: Any, source: Source, role: str | None) -> Any:
        if isinstance(value, str):
            rewrite = _policy(literals, kind_of(source, role), role)
            if not callable(rewrite) or not holds(value):
                return value
            new = rewrite(value)
            if not isinstance(new, str):
                raise TypeError(f"the function of literals= gives a str, not {type(new).__name__}")
            return new
        if isinstance(value, dict):
            return {
                of(key, (source, key), role): of(item, (source, key), role) for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            items = [of(item, (source, index), role) for index, item in enumerate(value)]
            return items if isinstance(value, list) else tuple(items)
        return value

    changed = []
    for index, message in enumerate(map(plain, messages)):
        role = message.get("role") if isinstance(message, dict) else None
        new = of(message, ("message", index), role if isinstance(role, str) else None)
        if role is not None:
            new["role"] = role
        changed.append(new)
    given = dict(options)
    if given.get("tools") is not None:
        schemas = [tool if isinstance(tool, Mapping) else schema_of(tool) for tool in given["tools"]]
        given["tools"] = of(plain(schemas), TOOLS, None)
    if given.get("documents") is not None:
        given["documents"] = of(plain(given["documents"]), DOCUMENTS, None)
    for key, value in given.items():
        if key not in OF_RENDERING:
            given[key] = of(value, ("variable", key), None)
    return changed, given
