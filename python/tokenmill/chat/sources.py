"""Where characters of a rendering came from.

A *source* is a small tuple. Roots name what the text was written by; every other source is a pair of its
container's source and a key or index, so that a field's source costs nothing but the pair:
``((("message", 2), "tool_calls"), 0)`` is the first tool call of the third message. None is text of unknown
origin.

*Runs* say which source wrote how many characters: a flat tuple ``(length, source, length, source, ...)``.
Runs of length 0 are marks: they say something about a place, not about characters.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Source: TypeAlias = "tuple[Any, Any] | None"
Runs: TypeAlias = "tuple[Any, ...]"

LITERAL = ("literal", None)
"""A literal of the template. Bound to the message in whose turn it was written: ``("literal", index)``."""
SPECIAL = ("special", None)
"""A variable that holds a special token."""
DATE = ("date", None)
"""What ``strftime_now`` wrote."""
COMPUTED = ("computed", None)
"""What the template computed: numbers, truth values, the brackets and commas of its own lists. No data, but
no literal either, and so not trusted."""
TOOLS = ("tools", None)
DOCUMENTS = ("documents", None)

GENERATION_START = ("generation", True)
GENERATION_STOP = ("generation", False)
BLOCK_CUT = "block cut"
"""The root of the mark where a part of a text ends within a block; its key is the block's identity and the
place in the block."""
BLOCK_RESUMED = "block resumed"
"""The root of the mark where a part of a text begins within a block; its key is the same."""
BLOCK_MARKS = frozenset(("generation", BLOCK_CUT, BLOCK_RESUMED))


def piece_of(turn: int | None) -> tuple[str, int | None]:
    """The mark before a piece of output: the message in whose turn it was written, or None."""
    return ("piece", turn) if turn is None or turn >= len(_PIECES) else _PIECES[turn]


_PIECES = [("piece", turn) for turn in range(64)]

TRUSTED = frozenset(("literal", "special", "date"))
"""The roots whose text is trusted. Roles are checked, and trusted too."""

DEFAULT_ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))
"""Roles that a conversation may have with any template, besides those that the template compares with."""

SPECIAL_VARIABLES = tuple([f"{role}_token" for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")])
"""The variables that a tokenizer gives a template, where it names a token for them."""

REASONING = ("reasoning_content", "thinking", "reasoning")
"""The keys that reasoning of a message goes by; the first is the one that most templates read."""

_IDS = frozenset(("id", "tool_call_id", "call_id"))
_CALLS = frozenset(("tool_calls", "function_call", "tool_call"))
_RESULTS = frozenset(("tool_responses", "tool_results"))
TOOL_ROLES = frozenset(("tool", "function", "ipython", "tool_result", "tool_response", "observation"))
"""Roles of messages that hold the result of a tool."""
_KINDS_OF_ROOTS = {
    "literal": "template",
    "special": "template",
    "date": "template",
    "computed": "template",
    "tools": "tools",
    "documents": "documents",
    "variable": "variable",
}


def source_of(value: Any, otherwise: Source = None) -> Source:
    """The source of a wrapped value that is no string (see ``data``)."""
    # Looked up on the type, since jinja2's undefined raises for every attribute.
    source: Source = value.source if getattr(type(value), "carries_source", False) else otherwise
    return source


def keys_of(source: tuple[Any, Any]) -> tuple[tuple[Any, Any], list[Any]]:
    """The root of a source, and the keys that lead from it."""
    keys = []
    while type(source[0]) is tuple:
        keys.append(source[1])
        source = source[0]
    keys.reverse()
    return source, keys


def path_of(source: tuple[Any, Any]) -> str | None:
    """The field path, such as ``tool_calls[0].function.arguments``; None for text of the template."""
    root, keys = keys_of(source)
    if root[0] == "message":
        path = ""
    elif root[0] in ("tools", "documents"):
        path = root[0]
    elif root[0] == "variable":
        path = root[1]
    else:
        return None
    for key in keys:
        if isinstance(key, str) and key.isidentifier():
            path += f".{key}" if path else key
        else:
            path += f"[{key!r}]"
    return path or None


def kind_of(source: Source, role: object) -> str:
    """The kind of a segment that this source wrote, in a message of this role."""
    if source is None:
        return "unknown"
    root, keys = keys_of(source)
    if root[0] != "message":
        return _KINDS_OF_ROOTS.get(root[0], "unknown")
    first, last = (keys[0], keys[-1]) if keys else (None, None)
    if last in _IDS and (len(keys) == 1 or first in _CALLS):
        return "id"
    if first == "role" and len(keys) == 1:
        return "role"
    if first == "name":
        return "name"
    if first in _CALLS:
        return "tool_call"
    if first in REASONING or (first == "content" and last in REASONING):
        return "reasoning"
    if first in _RESULTS or role in TOOL_ROLES:
        return "tool_result"
    return "content"


def is_trusted(source: Source) -> bool:
    """Whether the template, or a role that was checked, wrote it."""
    if source is None:
        return False
    inside, key = source
    if type(inside) is tuple:
        if inside[0] == "message":
            return bool(key == "role")
        return keys_of(source)[0] == SPECIAL  # one of a list of special tokens
    return inside in TRUSTED


def only_message(runs: Runs) -> int | None:
    """The one message that fields in these runs are of; None where there are several, or none."""
    found = {message_of(source) for source in runs[1::2] if source is not LITERAL}
    found.discard(None)
    return found.pop() if len(found) == 1 else None


def message_of(source: Source) -> int | None:
    """The index of the message whose field wrote this; None for what no message holds."""
    if source is None:
        return None
    while type(source[0]) is tuple:
        source = source[0]
    index: int | None = source[1] if source[0] == "message" else None
    return index
