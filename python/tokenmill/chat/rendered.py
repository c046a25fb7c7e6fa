"""What a rendering is: a text, and which part of it was written by what."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .._forks import waited_for
from .._table import quoted, table, visible
from .outline import Outline, Part, outline_of_runs, parts_of
from .sources import LITERAL, Runs, Source, is_trusted, kind_of, message_of, path_of

if TYPE_CHECKING:
    from .._table import Printer

__all__ = ["RenderedChat", "Segment", "content_of", "outline_of", "texts_of"]

_LISTED = 100
"""Segments of a rendering that IPython shows in a terminal."""


class Segment(NamedTuple):
    """A part of a rendering that came from one source."""

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
    """Whether it came from the template's own literals, a special token, the date, or a checked role."""


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

    __slots__ = (
        *("_literals", "_messages", "_outline", "_runs", "_segments", "_unwritten"),
        *("template", "text"),
    )

    text: str
    """What the template wrote."""
    template: str
    """The name of the template."""

    def __init__(
        self,
        text: str,
        runs: list[Any],
        messages: list[dict[Any, Any]],
        literals: tuple[str, ...],
        template: str,
    ) -> None:
        self.text, self.template = text, template
        self._runs: list[Any] | None = runs
        # The messages as plain data. What the template was given has many objects, which would keep Python's
        # garbage collector busy.
        self._messages, self._literals = messages, literals
        self._outline: Outline | None = None
        self._segments: tuple[Segment, ...] | None = None
        self._unwritten: tuple[tuple[int, str], ...] | None = None

    def __repr__(self) -> str:
        return f"RenderedChat({self.text!r}, template={self.template!r})"

    def __str__(self) -> str:
        return self.text

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        """What IPython shows: a line for each segment."""
        printer.text("RenderedChat(...)" if cycle else table(self._table()))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        with waited_for:
            from .._notebook import html_of_chat

        return html_of_chat(self)

    def _table(self) -> list[tuple[str, str, str, str, str]]:
        rows = [("characters", "message", "role", "part", "text")]
        for segment in self.segments[:_LISTED]:
            text = quoted(self.text[segment.start : segment.stop])
            message = "" if segment.message is None else str(segment.message)
            places = (f"{segment.start}-{segment.stop}", message, visible(segment.role or ""))
            rows.append(
                (*places, "template" if segment.trusted else visible(segment.field or segment.kind), text)
            )
        if len(self.segments) > _LISTED:
            rows.append(("…", "", "", "", f"and {len(self.segments) - _LISTED:,} more"))
        return rows

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RenderedChat):
            return NotImplemented
        return self.__getstate__() == other.__getstate__()

    def __hash__(self) -> int:
        return hash((self.text, self.template))

    def __getstate__(self) -> tuple[Any, ...]:
        found = (self._found_outline(), self.segments, self.unwritten, self.roles)
        return (self.text, self.template, self._literals, *found)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.text, self.template, self._literals, *found = state
        self._outline, self._segments, self._unwritten, roles = found
        self._runs = None
        # Of the messages, only roles are kept.
        self._messages = [{"role": role} for role in roles]

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The parts of the text, in order; they cover all of it.

        Neighbours from the same source are one segment.
        """
        if self._segments is None:
            self._segments = _segments(parts_of(self._known_runs()), self.roles)
        return self._segments

    @property
    def untrusted(self) -> tuple[tuple[int, int], ...]:
        """Where the text is not the template's own: pairs ``(start, stop)``, in characters.

        In order and apart from each other, as ``encode(untrusted=)`` takes them.
        """
        found: list[tuple[int, int]] = []
        begun, at = -1, 0
        runs = self._runs_of_segments() if self._runs is None else self._runs
        for length, source in zip(runs[::2], runs[1::2], strict=True):
            if source is LITERAL or not length or is_trusted(source):
                if begun >= 0 and length:
                    found.append((begun, at))
                    begun = -1
            elif begun < 0:
                begun = at
            at += length
        if begun >= 0:
            found.append((begun, at))
        return tuple(found)

    @property
    def turns(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each message the pairs ``(start, stop)`` of what was written in its turn.

        Usually one, with all that the template wrote around the message; empty where the template left it out
        or wrote it in another message's turn.
        Inside a loop over messages the turn is that iteration. Outside, it is what the template wrote of the
        message, with the literals of the same expression.
        """
        return tuple([tuple([span[:2] for span in each]) for each in self._found_outline().turns])

    @property
    def generation(self) -> tuple[tuple[int, int], ...]:
        """The pairs ``(start, stop)`` of what ``{% generation %}`` blocks wrote."""
        return self._found_outline().generation

    @property
    def literals(self) -> tuple[str, ...]:
        """The literals of the template that stand in what it wrote itself, each once."""
        written, at = [], 0
        for start, stop in (*self.untrusted, (len(self.text), len(self.text))):
            written.append(self.text[at:start])
            at = stop
        return tuple([literal for literal in self._literals if any(literal in text for text in written)])

    @property
    def unwritten(self) -> tuple[tuple[int, str], ...]:
        """The fields that hold text and that the template leaves out: pairs of message and field.

        Many templates leave out fields that they do not know, and the reasoning of earlier turns.
        """
        if self._unwritten is None:
            written = None if self._runs is None else _written_by_runs(self._runs)
            if written is None:
                self._unwritten = _unwritten(self._messages, self.segments)
            else:
                self._unwritten = _not_in(written, self._messages, frozenset())
        return self._unwritten

    def _runs_of_segments(self) -> Runs:
        """For an unpickled chat: runs that only tell trusted text from other text."""
        runs: list[Any] = []
        for segment in self.segments:
            runs += (segment.stop - segment.start, LITERAL if segment.trusted else None)
        return tuple(runs)

    @property
    def roles(self) -> tuple[str | None, ...]:
        """The role of each message."""
        roles = [message.get("role") for message in self._messages]
        return tuple([str.__str__(role) if isinstance(role, str) else None for role in roles])

    def _known_runs(self) -> list[Any]:
        assert self._runs is not None
        return self._runs

    def _found_outline(self) -> Outline:
        if self._outline is None:
            self._outline = outline_of(self)
        return self._outline


def content_of(chat: RenderedChat, message: int) -> str:
    """The text of a message's content, its parts of text joined; empty where there is none."""
    content = chat._messages[message].get("content")
    if isinstance(content, str):
        return str.__str__(content)
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(str.__str__(text) for text in texts if isinstance(text, str))


def texts_of(chat: RenderedChat, message: int) -> list[str]:
    """The texts of a message's other fields, its role apart."""
    fields = chat._messages[message].items()
    return [str.__str__(value) for key, value in fields if key != "role" and isinstance(value, str)]


def outline_of(chat: RenderedChat) -> Outline:
    """The outline of a rendering: all that labels need, much cheaper than ``segments``.

    The rendering does not keep it: many small tuples keep Python's garbage collector busy.
    """
    if chat._outline is not None:
        return chat._outline
    return outline_of_runs(chat._known_runs(), len(chat._messages))


def _written_by_runs(runs: list[Any]) -> dict[int, list[str]] | None:
    """The fields of each message that stand in the text, found without segments, which cost more.

    None where there is text of unknown origin: which message it may be of, its turn tells.
    """
    sources = {id(source): source for length, source in zip(runs[::2], runs[1::2], strict=True) if length}
    written: dict[int, list[str]] = {}
    for source in sources.values():
        if source is None:
            return None
        container, key = source
        if type(container) is tuple and container[0] == "message" and type(key) is str and key.isidentifier():
            written.setdefault(container[1], []).append(key)
            continue
        if kind_of(source, None) == "unknown":
            return None
        message, field = message_of(source), path_of(source)
        if message is not None and field is not None:
            written.setdefault(message, []).append(field)
    return written


def _unwritten(messages: list[dict[Any, Any]], segments: tuple[Segment, ...]) -> tuple[tuple[int, str], ...]:
    """The fields of messages that hold text and have no segment."""
    unknown = {segment.message for segment in segments if segment.kind == "unknown"}
    if None in unknown:
        # Any field may stand in text of unknown origin.
        return ()
    written: dict[int, list[str]] = {}
    for segment in segments:
        if segment.field is not None and segment.message is not None:
            written.setdefault(segment.message, []).append(segment.field)
    return _not_in(written, messages, unknown)


def _not_in(
    written: Mapping[int, list[str]], messages: list[dict[Any, Any]], unknown: Collection[int | None]
) -> tuple[tuple[int, str], ...]:
    """The fields with text that are not written, of messages that are not ``unknown``."""
    found: list[tuple[int, str]] = []
    for index, message in enumerate(messages):
        for key, value in message.items():
            is_text = isinstance(value, str | list | dict) and value
            if (
                not is_text
                or (isinstance(value, str) and value.isspace())
                or key == "role"
                or index in unknown
            ):
                continue
            own = written.get(index, ())
            if key in own:  # As a rule: the path of a field of a message is its key.
                continue
            field = path_of((("message", index), key))
            below = (f"{field}.", f"{field}[")
            if field and not any(path == field or path.startswith(below) for path in own):
                found.append((index, field))
    return tuple(found)


# ---- segments -----------------------------------------------------------------------------------


def _segments(parts: list[Part], roles: Sequence[str | None]) -> tuple[Segment, ...]:
    """Segments, of which no two neighbours are alike; ``roles`` are those of the messages."""
    known: dict[tuple[int, int | None], _Description] = {}
    #: Where each segment begins, and what is said of it.
    starts: list[int] = []
    described: list[_Description] = []
    last: _Description | None = None
    for start, _, source, turn in parts:
        key = (id(source), turn)
        description = known.get(key)
        if description is None:
            message = message_of(source)
            if message is None:
                message = turn
                if turn is None and source is not None and source[0] == "literal":
                    message = source[1]
            role = None if message is None else roles[message]
            describe = _described if _is_common(source) else _described.__wrapped__
            description = known[key] = describe(source, message, role)
        if description is not last and description != last:
            starts.append(start)
            described.append(description)
            last = description
    stops = [*starts[1:], parts[-1][1]] if parts else []
    fields = [(start, stop, *of) for start, stop, of in zip(starts, stops, described, strict=True)]
    return tuple(map(_new, repeat(Segment), fields))


_new = tuple.__new__
_Description: TypeAlias = "tuple[int | None, str | None, str | None, str, bool]"
"""Message, role, field, kind and trust."""


@lru_cache(maxsize=4096)
def _described(source: Source, message: int | None, role: str | None) -> _Description:
    """What segments say of a source, in the turn of this message or a field of it."""
    field = None if source is None else path_of(source)
    return (message, role, field, kind_of(source, role), is_trusted(source))


def _is_common(source: Source) -> bool:
    """Whether many renderings have this source: a literal, or a field of a message.

    Other sources are not cached: a key 1 would also be found for True.
    """
    return source is None or type(source[0]) is str or (type(source[1]) is str and source[0][0] == "message")
