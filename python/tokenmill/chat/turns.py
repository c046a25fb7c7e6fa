"""What the model writes in a rendering: the turns that labels are made from.

A turn starts after its header, which is what the generation prompt writes, and ends with its end-of-turn
token. All between belongs to the model, template tags included.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .outline import Outline
from .prompts import Prompt, end_of_header
from .refusals import refusal
from .rendered import RenderedChat, Segment, content_of, texts_of

__all__ = ["Added", "Turn", "token_behind", "turn_of"]

#: Kinds of segments that make up headers, and are not what a message says.
_HEADER_KINDS = frozenset(("template", "role"))

Span = tuple[int, int]


class Added(NamedTuple):
    """The special tokens that a template wrote into a rendering, in the order of the text."""

    starts: Sequence[int]
    stops: Sequence[int]
    ids: Sequence[int]
    eos: int | None

    @classmethod
    def of(cls, found: Iterable[tuple[int, int, int]], special: frozenset[int], eos: int | None) -> Added:
        """From what ``Tokenizer.find_added`` gives; of ids that are not ``special`` only ``eos`` counts."""
        kept = [token for token in found if token[2] in special or token[2] == eos]
        starts, stops, ids = zip(*kept, strict=True) if kept else ((), (), ())
        return cls(starts, stops, ids, eos)

    def end_of_turn(self, start: int, stop: int) -> Span | None:
        """The token that ends a turn: in this part of the text the first eos, else the last token."""
        first, end = bisect_left(self.starts, start), bisect_left(self.starts, stop)
        if end == first:
            return None
        return self.eos_in(start, stop) or (self.starts[end - 1], self.stops[end - 1])

    def eos_in(self, start: int, stop: int) -> Span | None:
        """The first eos in this part of the text."""
        for index in range(bisect_left(self.starts, start), bisect_left(self.starts, stop)):
            if self.ids[index] == self.eos:
                return self.starts[index], self.stops[index]
        return None


class Turn(NamedTuple):
    """What the model writes in the turn of one message, whatever of it is trained.

    Labels may be fewer: with parts in ``train_on``, with ``end_of_turn=False``, and where the template marks
    what is trained with ``{% generation %}``.
    """

    message: int
    """The index of the message."""
    spans: tuple[Span, ...]
    """Where it stands in the text: pairs ``(start, stop)`` in characters, mostly one; the end included."""
    end: Span | None
    """Where its end-of-turn token stands, also if that is not trained; None where the template wrote none."""

    def ended_by(self, token: Span) -> Turn:
        """The turn with this token, which follows its last span, as its end."""
        *others, (start, _) = self.spans
        return Turn(self.message, (*others, (start, token[1])), token)


def token_behind(turn: Turn, text: str, added: Added, untrusted: Sequence[Span]) -> Span | None:
    """The special token right after a turn, with only white space between; None if other text comes first.

    Templates that loop over indices or pairs, or close a turn when the next begins, write it outside of the
    turn. White space that the template did not write is other text.
    """
    if not turn.spans:
        return None
    stop = turn.spans[-1][1]
    index = bisect_left(added.starts, stop)
    if index == len(added.starts) or text[stop : added.starts[index]].strip():
        return None
    before = bisect_left(untrusted, (added.starts[index],))
    if before and untrusted[before - 1][1] > stop:
        return None
    return added.starts[index], added.stops[index]


def turn_of(
    chat: RenderedChat,
    outline: Outline,
    message: int,
    role: str | None,
    prompts: Sequence[Prompt],
    added: Added,
    untrusted: Sequence[Span],
) -> Turn | None:
    """What the model writes in a message's turn; None where the template wrote nothing of it.

    ``role`` is that of the message; ``prompts`` are what ``add_generation_prompt`` writes, the likeliest
    first; ``untrusted`` are the chat's untrusted ranges. Raises ``TemplateError`` where the place of the turn
    is not known: a guess would train on what others wrote.
    """
    parts: list[_Part] = []
    any_shared = any_hidden = False
    for start, stop, first, last, is_shared, is_hidden in outline.turns[message]:
        first, last = (stop, start) if first is None or last is None else (first, last)
        parts.append(_Part(start, stop, 0, first, last, False))
        any_shared, any_hidden = any_shared or is_shared, any_hidden or is_hidden
    if not parts:
        merged = _spans_of_merged(chat, message)
        if not merged:
            return _untracked_turn(chat, message, added)
        parts = _parts_of(chat, message, merged)
    elif any_shared:
        parts = _parts_of(chat, message, outline.spans(message))
    else:
        written = [part for part in parts if part.first < part.stop]
        if not written and content_of(chat, message).strip():
            # Perhaps the template hides it, and wrote only the role in the message's turn.
            untracked = _untracked_turn(chat, message, added)
            if untracked is not None:
                return untracked
        parts = written or parts[:1]
    spans: list[Span] = []
    end: Span | None = None
    for number, part in enumerate(parts):
        if number:
            begin = part.first
        else:
            begin = end_of_header(chat.text, part.start, min(part.first, part.stop), prompts, untrusted)
            if begin < part.floor or chat.text[part.start : part.first].strip() == role:
                begin = part.first
            if any_hidden:
                _refuse_hidden_header(chat, message, begin, prompts)
        seen = max(begin, part.last)
        end = added.end_of_turn(seen, part.stop)
        if end is not None:
            stop = end[1]
        elif part.continued:
            stop = part.stop
        else:
            # White space that the template writes between turns is not the model's.
            stop = seen + len(chat.text[seen : part.stop].rstrip())
        spans.append((begin, stop))
    return Turn(message, tuple([span for span in spans if span[0] < span[1]]), end)


def _refuse_hidden_header(chat: RenderedChat, message: int, begin: int, prompts: Sequence[Prompt]) -> None:
    """Refuse a turn that begins with text of unknown origin, which a header may be a part of.

    It is not refused where the header stands before that text, or where the text begins like a field of the
    message.
    """
    index = bisect_left(chat.segments, begin + 1, key=lambda segment: segment.start) - 1
    if index < 0 or chat.segments[index].kind != "unknown":
        return
    before = chat.text[:begin].rstrip()
    if any(prompt.text.strip() and before.endswith(prompt.text.rstrip()) for prompt in prompts):
        return
    words = chat.text[begin : chat.segments[index].stop].split()
    texts = [content_of(chat, message), *texts_of(chat, message)]
    if any(words[: len(text.split())] == text.split() for text in texts if text.strip()):
        return
    raise refusal(
        chat.template,
        None,
        f"labels need the place where messages[{message}] begins, and the template hides whether its header "
        "ends before it; leave this message out with train_on=, or use another template",
    )


class _Part(NamedTuple):
    """A part of a turn that no other message's text interrupts."""

    start: int
    stop: int
    """Where the span of the turn ends, or the text of another message begins."""
    floor: int
    """Where the fields of others before its first field end; 0 if there are none."""
    first: int
    """Where its first field begins; ``stop`` where it has none."""
    last: int
    """Where its last field ends; ``start`` where it has none."""
    continued: bool
    """Whether a message of the same role continues the same turn."""


def _parts_of(chat: RenderedChat, message: int, spans: Sequence[Span]) -> list[_Part]:
    """The parts of a turn: at least one; of several, those that hold fields of the message."""
    parts: list[_Part] = []
    for start, stop in spans:
        inside = [s for s in _within(chat.segments, start, stop) if s.kind not in _HEADER_KINDS]
        owned = _owned(inside, message)
        at, floor, own = start, 0, list[Segment]()
        for segment, mine in zip(inside, owned, strict=True):
            if mine:
                own.append(segment)
            elif own:
                same = segment.role == chat.roles[message]
                parts.append(_Part(at, segment.start, floor, own[0].start, own[-1].stop, same))
                at, floor, own = segment.stop, segment.stop, []
            else:
                floor = segment.stop
        first, last = (own[0].start, own[-1].stop) if own else (stop, at)
        parts.append(_Part(at, stop, floor, first, last, False))
    written = [part for part in parts if part.first < part.stop]
    return written or parts[:1]


def _owned(fields: Sequence[Segment], message: int) -> list[bool]:
    """Which fields of a turn belong to the message.

    Not those of others, nor a field that is repeated right before them, such as a tool's name before its
    result.
    """
    owned = [field.kind == "unknown" or field.message == message for field in fields]
    said: set[str] = set()
    for index, field in enumerate(fields):
        if owned[index] and field.field is not None and field.kind == "tool_call":
            if field.field in said and index + 1 < len(fields) and fields[index + 1].message != message:
                owned[index] = False
            said.add(field.field)
    return owned


def _within(segments: Sequence[Segment], start: int, stop: int) -> Sequence[Segment]:
    """The segments that begin there."""
    first, end = (bisect_left(segments, at, key=lambda segment: segment.start) for at in (start, stop))
    return segments[first:end]


def _spans_of_merged(chat: RenderedChat, message: int) -> tuple[Span, ...]:
    """Where a message stands whose turn the template merged with another message of its role.

    It extends to the end of that turn.
    """
    own = [s for s in chat.segments if s.message == message and s.kind not in _HEADER_KINDS]
    if not own:
        return ()
    start, at = own[0].start, own[-1].start
    for role, turn in zip(chat.roles, chat.turns, strict=True):
        for begin, stop in turn:
            if role == chat.roles[message] and begin <= start and at < stop:
                return ((start, stop),)
    return ()


def _untracked_turn(chat: RenderedChat, message: int, added: Added) -> Turn | None:
    """The turn of a message whose text has no known origin: the only place where its content stands."""
    content = content_of(chat, message).strip()
    if not content:
        return None
    places: list[int] = []
    for segment in chat.segments:
        # The template's own text may read like the content: a message must not choose where its turn begins.
        if segment.kind != "unknown" and (segment.trusted or segment.message != message):
            continue
        at = chat.text.find(content, segment.start, segment.stop)
        while at >= 0 and len(places) < 2:
            places.append(at)
            at = chat.text.find(content, at + 1, segment.stop)
    if not places:
        return None
    if len(places) > 1:
        raise refusal(
            chat.template,
            None,
            f"labels need the place of messages[{message}].content, which the template hides, and its text "
            "stands in more than one place; leave this message out with train_on=, or use another template",
        )
    start, stop = places[0], places[0] + len(content)
    # Any other special token may belong to the next turn, so only an eos counts.
    end = added.eos_in(stop, _next_known(chat.segments, stop))
    return Turn(message, ((start, stop if end is None else end[1]),), end)


def _next_known(segments: Sequence[Segment], at: int) -> int:
    """Where the text after this place ends that no message is known to have written."""
    for segment in segments:
        if segment.start >= at and (segment.kind != "template" or segment.message is not None):
            return segment.start
    return segments[-1].stop if segments else at
