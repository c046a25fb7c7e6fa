"""How many ids a conversation has, and which of its turns fit.

In: a tokenizer with templates, and messages. Out: a number, or the messages that are left. Nothing is cut
within a turn: half a tool call is no tool call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import BudgetError
from .preparing import prepared
from .rendering import check_not_empty
from .sources import TOOL_ROLES

if TYPE_CHECKING:
    from .._core import Tokenizer

__all__ = ["count", "fit"]

_SYSTEM_ROLES = frozenset(("system", "developer"))


def count(tok: Tokenizer, messages: Any, **options: Any) -> int:
    """See ``Tokenizer.count_chat``."""
    return _count(tok, messages, (), options)


def _count(tok: Tokenizer, messages: Any, own: Sequence[str], options: Mapping[str, Any]) -> int:
    row = prepared(tok, messages, own, **options)
    return tok.count(row.chat.text, special="parse", untrusted=row.untrusted, protected=row.protected)


def fit(
    tok: Tokenizer,
    messages: Sequence[Any],
    n: int,
    *,
    keep: Iterable[str | int] = ("system", "last"),
    **options: Any,
) -> list[Any]:
    """See ``Tokenizer.fit_chat``."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"n must be an integer, the ids that there may be, not {type(n).__name__}")
    messages = list(messages)
    check_not_empty(messages)
    exchanges = _exchanges(messages)
    kept = _kept(messages, exchanges, keep)
    droppable = [place for place, exchange in enumerate(exchanges) if kept.isdisjoint(exchange)]
    if not kept:
        # At least one exchange has to be left.
        droppable = droppable[:-1]

    def without(number: int) -> list[Any]:
        dropped = {index for place in droppable[:number] for index in exchanges[place]}
        return [message for index, message in enumerate(messages) if index not in dropped]

    def needs(number: int) -> int:
        return _count(tok, without(number), ("keep",), options)

    # The fewest exchanges that have to be dropped: more than low, at most high.
    low, high = 0, len(droppable)
    if needs(low) <= n:
        return messages
    fewest = needs(high) if high else needs(low)
    if fewest > n:
        raise BudgetError(
            f"the conversation needs {fewest} ids with all dropped that keep= allows to drop, and may have "
            f"{n}; keep less, or shorten a message",
            needed=fewest,
            limit=n,
        )
    while high - low > 1:
        middle = (low + high) // 2
        if needs(middle) <= n:
            high = middle
        else:
            low = middle
    return without(high)


def _exchanges(messages: Sequence[Any]) -> list[list[int]]:
    """The messages that are dropped together, by their indices; in the order of the first of each.

    A user's message (or several in a row) with what follows, up to the next message of a user. A message of
    the system is alone, wherever it stands. What stands between a tool call and its results stays with both.
    """
    behind_calls = _behind_calls(messages)
    exchanges: list[list[int]] = []
    current: list[int] | None = None
    before: str | None = None
    for index, message in enumerate(messages):
        role = _role(message)
        if role in _SYSTEM_ROLES:
            exchanges.append([index])
            continue
        begins = role == "user" and before != "user" and index not in behind_calls
        if current is None or begins:
            current = []
            exchanges.append(current)
        current.append(index)
        before = role
    return exchanges


def _behind_calls(messages: Sequence[Any]) -> set[int]:
    """The tool results, and what stands between them and their calls.

    The call is the one with the id of the result, else the last message with calls, else the assistant's
    last one.
    """
    found: set[int] = set()
    ids: dict[str | None, int] = {}
    last: int | None = None
    last_call: int | None = None
    for index, message in enumerate(messages):
        role = _role(message)
        if role in TOOL_ROLES:
            call = ids.get(_text(message, "tool_call_id"), last if last_call is None else last_call)
            if call is not None:
                found.update(range(call + 1, index + 1))
        elif role == "assistant":
            last = index
            calls = _field(message, "tool_calls")
            if isinstance(calls, Sequence) and calls:
                last_call = index
                ids.update({_text(each, "id"): index for each in calls})
    return found


def _field(value: Any, name: str) -> Any:
    """What a message or a call has under this name; None where there is nothing."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _text(value: Any, name: str) -> str | None:
    found = _field(value, name)
    return found if isinstance(found, str) else None


def _role(message: Any) -> str | None:
    return _text(message, "role")


def _kept(messages: Sequence[Any], exchanges: Sequence[Sequence[int]], keep: Iterable[str | int]) -> set[int]:
    """The indices that are not dropped."""
    if isinstance(keep, str):
        raise TypeError(f"keep is a sequence of roles, indices and 'last', not one str; write ({keep!r},)")
    kept: set[int] = set()
    for item in keep:
        if isinstance(item, bool) or not isinstance(item, str | int):
            raise TypeError(f"keep names roles, indices and 'last', not {type(item).__name__}")
        if isinstance(item, int):
            if not -len(messages) <= item < len(messages):
                raise IndexError(f"keep: there is no message {item}; there are {len(messages)}")
            kept.add(item % len(messages))
        elif item == "last":
            last: Sequence[int] = max(exchanges, key=lambda exchange: exchange[-1])
            kept.update(last)
        else:
            same = _SYSTEM_ROLES if item in _SYSTEM_ROLES else {item}
            kept |= {index for index, message in enumerate(messages) if _role(message) in same}
    return kept
