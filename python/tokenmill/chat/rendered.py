"""What a rendering is: a text, and which part of it was written by what."""

from __future__ import annotations

from typing import Any, NamedTuple

from .sources import LITERAL, Runs, Source, is_trusted, kind_of, message_of, path_of
from .tracked import Tracked

__all__ = ["RenderedChat", "Segment"]


class Segment(NamedTuple):
    """A part of a rendering that one thing wrote."""

    start: int
    """Where it begins, in characters."""
    stop: int
    """Where it ends."""
    message: int | None
    """The index of the message that it is a field of, or in whose turn it was written; else None."""
    role: str | None
    """The role of that message, as given."""
    field: str | None
    """The field path, such as ``content``, ``tool_calls[0].function.arguments`` or ``tools[1]``; None for
    text of the template."""
    kind: str
    """``template`` (literals, special tokens, the date, and what the template computed), ``role``, ``name``,
    ``id``, ``content``, ``reasoning``, ``tool_call``, ``tool_result``, ``tools``, ``documents``, ``variable``
    (of the call), or ``unknown``."""
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

    __slots__ = ("_chat", "_found", "_literals", "_pieces", "_turns", "template", "text")

    text: str
    """What the template wrote."""
    template: str
    """The name of the template."""

    def __init__(
        self,
        text: str,
        pieces: list[Tracked],
        turns: list[int | None],
        chat: list[Any],
        literals: tuple[str, ...],
        template: str,
    ) -> None:
        self.text, self.template = text, template
        self._pieces: list[Tracked] | None = pieces
        self._turns, self._chat, self._literals = turns, chat, literals
        self._found: _Found | None = None

    def __repr__(self) -> str:
        return f"RenderedChat({self.text!r}, template={self.template!r})"

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RenderedChat):
            return NotImplemented
        mine = (self.text, self.template, self._literals, self._parts())
        return mine == (other.text, other.template, other._literals, other._parts())

    def __hash__(self) -> int:
        return hash((self.text, self.template))

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.text, self.template, self._literals, self._parts())

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.text, self.template, self._literals, found = state
        self._pieces, self._turns, self._chat = None, [], []
        self._found = _Found(*found)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The parts of the text, in order; they tile it. Neighbours that one thing wrote are one part."""
        return self._parts().segments

    @property
    def untrusted(self) -> tuple[tuple[int, int], ...]:
        """Where the text is not the template's own: pairs ``(start, stop)``, in characters.

        In order and apart from each other, as ``encode(untrusted=)`` takes them.
        """
        found: list[tuple[int, int]] = []
        begun, at = -1, 0
        if self._pieces is None:
            runs_of_pieces = [self._runs_of_segments()]
        else:
            runs_of_pieces = [piece.runs for piece in self._pieces]
        for runs in runs_of_pieces:
            for index in range(1, len(runs), 2):
                length, source = runs[index - 1], runs[index]
                if source is LITERAL or is_trusted(source):
                    if begun >= 0 and length:
                        found.append((begun, at))
                        begun = -1
                elif begun < 0 and length:
                    begun = at
                at += length
        if begun >= 0:
            found.append((begun, at))
        return tuple(found)

    @property
    def turns(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each message the pairs ``(start, stop)`` of what was written in its turn.

        Mostly one, with all that the template wrote around it; none where the template left the message out,
        or wrote it in another's turn.
        A turn is a loop's turn of that message. What a template writes of a message outside of such a loop is
        its turn too, with the literals of the same expression.
        """
        return self._parts().turns

    @property
    def generation(self) -> tuple[tuple[int, int], ...]:
        """The pairs ``(start, stop)`` of what ``{% generation %}`` blocks wrote."""
        return self._parts().generation

    @property
    def literals(self) -> tuple[str, ...]:
        """The literals of the template that stand in what it wrote itself, each once."""
        written, at = [], 0
        for start, stop in (*self.untrusted, (len(self.text), len(self.text))):
            written.append(self.text[at:start])
            at = stop
        return tuple([literal for literal in self._literals if any(literal in text for text in written)])

    def _runs_of_segments(self) -> Runs:
        """Runs that tell trusted text from other text, of a chat that was pickled."""
        runs: list[Any] = []
        for segment in self.segments:
            runs += (segment.stop - segment.start, LITERAL if segment.trusted else None)
        return tuple(runs)

    def _parts(self) -> _Found:
        found = self._found
        if found is None:
            assert self._pieces is not None
            found = self._found = _find(self._pieces, self._turns, self._chat)
        return found


class _Found(NamedTuple):
    """What is found when segments or turns are asked for."""

    segments: tuple[Segment, ...]
    turns: tuple[tuple[tuple[int, int], ...], ...]
    generation: tuple[tuple[int, int], ...]


def _find(pieces: list[Tracked], outer_turns: list[int | None], chat: list[Any]) -> _Found:
    described = _Described(chat)
    #: The parts so far: where each begins, and what it is.
    starts: list[int] = []
    parts: list[tuple[Any, ...]] = []
    turns: list[list[int]] = [[] for _ in chat]
    generation: list[tuple[int, int]] = []
    opened: list[int] = []
    at = 0
    last = None
    for piece, outer in zip(pieces, outer_turns, strict=False):
        runs = piece.runs
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
            part, place = described.of(source, turn)
            stop = at + length
            if place is not None:
                stretches = turns[place]
                if stretches and stretches[-1] == at:
                    stretches[-1] = stop
                else:
                    stretches += (at, stop)
            if part is not last and part != last:
                starts.append(at)
                parts.append(part)
                last = part
            at = stop
    stops = [*starts[1:], at] if starts else []
    return _Found(
        tuple([Segment(start, stop, *part) for start, stop, part in zip(starts, stops, parts, strict=True)]),
        tuple([tuple(zip(each[::2], each[1::2], strict=True)) for each in turns]),
        tuple(generation),
    )


class _Described:
    """What segments say of a source, each looked up once."""

    def __init__(self, chat: list[Any]) -> None:
        self._roles = [message.get("role") for message in chat]
        self._known: dict[tuple[int, int | None], tuple[tuple[Any, ...], int | None]] = {}

    def of(self, source: Source, turn: int | None) -> tuple[tuple[Any, ...], int | None]:
        """Message, role, field, kind and trust; and the message whose turn it is."""
        key = (id(source), turn)
        known = self._known.get(key)
        if known is None:
            bound = source[1] if source is not None and source[0] == "literal" else None
            message = message_of(source)
            if message is None:
                message = bound if turn is None else turn
            role = None if message is None else self._roles[message]
            role = str.__str__(role) if isinstance(role, str) else None
            field = None if source is None else path_of(source)
            place = message if turn is None else turn
            known = ((message, role, field, kind_of(source, role), is_trusted(source)), place)
            self._known[key] = known
        return known


def _only_message(runs: Runs) -> int | None:
    """The one message that fields in these runs are of; None where there are several, or none."""
    found = {message_of(source) for source in runs[1::2] if source is not LITERAL}
    found.discard(None)
    return found.pop() if len(found) == 1 else None
