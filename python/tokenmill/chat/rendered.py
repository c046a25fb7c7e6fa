"""What a rendering is: a text, and which part of it was written by what."""

from __future__ import annotations

from typing import Any, NamedTuple

from .sources import LITERAL, Source, is_trusted, kind_of, message_of, path_of
from .tracked import Runs

__all__ = ["RenderedChat", "Segment"]


class Segment(NamedTuple):
    """A part of a rendering that one thing wrote."""

    start: int
    """Where it begins, in characters."""
    stop: int
    """Where it ends."""
    message: int | None
    """The index of the message that it is a field of, or in whose turn it was written; None outside of all."""
    role: str | None
    """The role of that message, as given."""
    field: str | None
    """The field path, such as ``content``, ``tool_calls[0].function.arguments`` or ``tools[1]``; None for text of
    the template."""
    kind: str
    """``template`` (literals, special tokens, the date, and what the template computed), ``role``, ``name``,
    ``id``, ``content``, ``reasoning``, ``tool_call``, ``tool_result``, ``tools``, ``documents``, ``variable`` (of
    the call), or ``unknown``."""
    trusted: bool
    """Whether the template's own literals, a special token, the date or a role that was checked wrote it."""


class RenderedChat:
    """A conversation as text. It never changes after it was made.

    >>> from tokenmill.chat import render
    >>> source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    >>> chat = render(source, [{"role": "user", "content": "Hi"}], special_tokens={})
    >>> chat.text, chat.untrusted
    ('<user>Hi', ((6, 8),))
    >>> chat.segments[-1].field, chat.segments[-1].message
    ('content', 0)
    """

    __slots__ = ("_generation", "_literals", "_pieces", "_roles", "_segments", "_turns", "template", "text")

    text: str
    """What the template wrote."""
    template: str
    """The name of the template."""

    def __init__(
        self,
        text: str,
        pieces: list[tuple[Runs, int | None]],
        roles: list[Any],
        literals: tuple[str, ...],
        template: str,
    ) -> None:
        self.text, self.template = text, template
        self._pieces, self._roles, self._literals = pieces, roles, literals
        self._segments: tuple[Segment, ...] | None = None
        self._turns: tuple[tuple[tuple[int, int], ...], ...] = ()
        self._generation: tuple[tuple[int, int], ...] = ()

    def __repr__(self) -> str:
        return f"RenderedChat({self.text!r}, template={self.template!r})"

    def __str__(self) -> str:
        return self.text

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The parts of the text, in order; they tile it. Neighbours that one thing wrote are one part."""
        return self._found()

    @property
    def untrusted(self) -> tuple[tuple[int, int], ...]:
        """Pairs ``(start, stop)``, in characters, of all that neither the template nor a checked role wrote: what
        ``encode(untrusted=)`` takes. In order, and apart from each other."""
        found: list[tuple[int, int]] = []
        for segment in self._found():
            if segment.trusted:
                continue
            if found and found[-1][1] == segment.start:
                found[-1] = (found[-1][0], segment.stop)
            else:
                found.append((segment.start, segment.stop))
        return tuple(found)

    @property
    def turns(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each message the pairs ``(start, stop)`` of what was written in its turn: mostly one, with all that
        the template wrote around it; none where the template left the message out, or moved it elsewhere.

        A turn is a loop's turn of that message. What a template writes of a message outside of such a loop is
        its turn too, with the literals of the same expression.
        """
        self._found()
        return self._turns

    @property
    def generation(self) -> tuple[tuple[int, int], ...]:
        """The pairs ``(start, stop)`` of what ``{% generation %}`` blocks wrote."""
        self._found()
        return self._generation

    @property
    def literals(self) -> tuple[str, ...]:
        """The literals of the template that stand in what it wrote itself, each once."""
        written: list[str] = []
        before = None
        for segment in self._found():
            if segment.trusted:
                text = self.text[segment.start : segment.stop]
                if before == segment.start:
                    written[-1] += text
                else:
                    written.append(text)
                before = segment.stop
        return tuple(literal for literal in self._literals if literal and any(literal in text for text in written))

    def _found(self) -> tuple[Segment, ...]:
        segments = self._segments
        if segments is None:
            segments = self._segments = self._find()
        return segments

    def _find(self) -> tuple[Segment, ...]:
        described = _Described(self._roles)
        found: list[Segment] = []
        turns: list[list[tuple[int, int]]] = [[] for _ in self._roles]
        generation: list[tuple[int, int]] = []
        opened: list[int] = []
        at = 0
        for runs, outer in self._pieces:
            turn = outer
            if outer is None and len(runs) > 2:
                outer = turn = _only_message(runs)
            for index in range(0, len(runs), 2):
                length, source = runs[index], runs[index + 1]
                if not length:
                    kind, value = source or (None, None)
                    if kind == "turn":
                        turn = value if value is not None else outer
                    elif kind == "generation":
                        if value:
                            opened.append(at)
                        elif opened:
                            generation.append((opened.pop(), at))
                    continue
                stop = at + length
                message, role, field, what, trusted, bound = described.of(source, turn)
                place = bound if bound is not None else message if turn is None else turn
                if place is not None:
                    stretches = turns[place]
                    if stretches and stretches[-1][1] == at:
                        stretches[-1] = (stretches[-1][0], stop)
                    else:
                        stretches.append((at, stop))
                last = found[-1] if found else None
                if last is not None and last[2:] == (message, role, field, what, trusted):
                    found[-1] = Segment(last.start, stop, *last[2:])
                else:
                    found.append(Segment(at, stop, message, role, field, what, trusted))
                at = stop
        self._turns = tuple([tuple(stretches) for stretches in turns])
        self._generation = tuple(generation)
        return tuple(found)


class _Described:
    """What segments say of a source, each looked up once."""

    def __init__(self, roles: list[Any]) -> None:
        self._roles = roles
        self._known: dict[tuple[Any, int | None], tuple[Any, ...]] = {}

    def of(self, source: Source, turn: int | None) -> tuple[Any, ...]:
        """Message, role, field, kind, trust, and the message that a literal is bound to."""
        key = (id(source), turn)
        known = self._known.get(key)
        if known is None:
            bound = source[1] if source is not None and source[0] == "literal" else None
            message = message_of(source)
            if message is None:
                message = turn if bound is None else bound
            role = None if message is None else self._roles[message]
            field = None if source is None else path_of(source)
            known = (message, role, field, kind_of(source, role), is_trusted(source), bound)
            self._known[key] = known
        return known


def _only_message(runs: Runs) -> int | None:
    """The one message that fields in these runs are of; None where there are several, or none."""
    found = {message_of(source) for source in runs[1::2] if source is not LITERAL}
    found.discard(None)
    return found.pop() if len(found) == 1 else None
