"""Which parts of a conversation are trained: what ``train_on=`` says."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from .rendered import RenderedChat

__all__ = ["Selection", "TrainOn", "refuse_without_labels", "selection_of"]

TrainOn: TypeAlias = "str | int | Iterable[str | int]"

#: Kinds of segments that can be trained on their own.
KINDS = ("content", "reasoning", "tool_call", "tool_result", "name", "id")
#: Fields that may be named by their key alone; any other name without a dot or a bracket is a role.
_FIELDS = frozenset(("tool_calls", "tool_call_id", "reasoning_content", "thinking"))
_PATH = re.compile(r"[A-Za-z_]\w*([.\[].*)")


class Selection(NamedTuple):
    """Which turns are trained, and which of their fields."""

    roles: frozenset[str]
    messages: frozenset[int]
    """Indices; those from the end are negative."""
    last: bool
    """Whether only the last turn of ``roles`` is trained."""
    kinds: frozenset[str]
    fields: tuple[str, ...]
    """Field paths; each stands for the fields below it, too."""

    def turns(self, roles: Sequence[str | None]) -> list[int]:
        """The indices of the messages that are trained, among messages of these roles."""
        count = len(roles)
        chosen = [index for index, role in enumerate(roles) if role in self.roles]
        if self.last:
            chosen = chosen[-1:]
        for index in self.messages:
            if not -count <= index < count:
                raise IndexError(f"train_on: there is no message {index}; there are {count}")
            chosen.append(index % count)
        return sorted(set(chosen))

    @property
    def has_parts(self) -> bool:
        """Whether only fields of the turns are trained."""
        return bool(self.kinds or self.fields)

    def parts(self, chat: RenderedChat, message: int) -> list[tuple[int, int]]:
        """Where the trained fields of a message stand."""
        return [
            (segment.start, segment.stop)
            for segment in chat.segments
            if segment.message == message
            and segment.field is not None
            and (segment.kind in self.kinds or any(_is_below(segment.field, field) for field in self.fields))
        ]


def _is_below(path: str, field: str) -> bool:
    return path.startswith(field) and (len(path) == len(field) or path[len(field)] in ".[")


def refuse_without_labels(options: Mapping[str, Any]) -> None:
    """Raise ``TypeError`` for arguments that say what is trained in a call that makes no labels."""
    if options.get("return_labels"):
        return
    defaults: dict[str, object] = {"train_on": "assistant", "end_of_turn": True}
    for name, default in defaults.items():
        given = options.get(name, default)
        if type(given) is not type(default) or given != default:
            raise TypeError(f"{name}= says which labels there are: pass return_labels=True with it")


def selection_of(train_on: TrainOn, allowed: Collection[str]) -> Selection:
    """What ``train_on=`` means, where messages have the roles ``allowed``.

    Raises ``ValueError`` where it is empty or has a name that is neither a role, a kind nor a field.
    """
    items = [train_on] if isinstance(train_on, str | int) else list(train_on)
    if not items:
        raise ValueError('train_on is empty, so that nothing is trained: name a role, such as "assistant"')
    roles: set[str] = set()
    messages: set[int] = set()
    kinds: set[str] = set()
    fields: list[str] = []
    last = False
    for item in items:
        if isinstance(item, bool) or not isinstance(item, str | int):
            raise TypeError(f"train_on names roles, messages, kinds and fields, not {type(item).__name__}")
        if isinstance(item, int):
            messages.add(item)
        elif item == "last":
            last = True
        elif item in KINDS:
            kinds.add(item)
        elif item in _FIELDS or _PATH.fullmatch(item):
            fields.append(item)
        elif item in allowed:
            roles.add(item)
        else:
            raise ValueError(
                f"train_on names {item!r}, which is neither a role of the template "
                f"({', '.join(sorted(allowed))}), nor 'last', nor a kind ({', '.join(KINDS)}), nor the path "
                "of a field"
            )
    if not roles and (last or not messages):
        roles.add("assistant")
    return Selection(frozenset(roles), frozenset(messages), last, frozenset(kinds), tuple(fields))
