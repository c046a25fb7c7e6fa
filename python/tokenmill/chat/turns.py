"""What of a rendering the model writes: the turns that labels are made of.

A turn of the model begins where the header ends that the template writes before it (what
``add_generation_prompt`` writes), and ends with its end-of-turn token. All between is the model's, tags and
braces of the template too: the model is to write them as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .literals import MARKER
from .refusals import refusal
from .rendered import RenderedChat, Segment

__all__ = ["Added", "Turn", "turn_of"]

#: Kinds of segments that are no field of a message, or name its header.
_HEADER_KINDS = frozenset(("template", "role"))

Span = tuple[int, int]


class Added(NamedTuple):
    """The special tokens that a template wrote into a rendering, in the order of the text."""

    starts: list[int]
    stops: list[int]
    are_eos: list[bool]

    @classmethod
    def of(cls, found: Iterable[tuple[int, int, int]], special: frozenset[int], eos: int | None) -> Added:
        """From what ``Tokenizer.find_added`` gives; of ids that are not ``special`` only ``eos`` counts."""
        kept = [token for token in found if token[2] in special or token[2] == eos]
        return cls(
            [token[0] for token in kept], [token[1] for token in kept], [token[2] == eos for token in kept]
        )

    def end_of_turn(self, start: int, stop: int) -> Span | None:
        """The token that ends a turn: in this part of the text the first eos, else the last token."""
        first, behind = bisect_left(self.starts, start), bisect_left(self.starts, stop)
        for index in range(first, behind):
            if self.are_eos[index]:
                return self.starts[index], self.stops[index]
        return (self.starts[behind - 1], self.stops[behind - 1]) if behind > first else None


class Turn(NamedTuple):
    """What the model writes in the turn of one message."""

    message: int
    spans: tuple[Span, ...]
    """Pairs ``(start, stop)`` in characters; mostly one."""
    end: Span | None
    """Where its end-of-turn token stands; None where the template wrote none."""


def turn_of(chat: RenderedChat, message: int, prompts: Sequence[str], added: Added) -> Turn | None:
    """What the model writes in a message's turn; None where the template wrote nothing of it.

    ``prompts`` are what ``add_generation_prompt`` writes, the likeliest first. Raises ``TemplateError`` where
    the place of the turn is not known: a guess would train on what others wrote.
    """
    stretches = chat.turns[message]
    if not stretches:
        return _untracked_turn(chat, message, added)
    fields = [segment for segment in chat.segments if segment.message == message]
    spans: list[Span] = []
    end: Span | None = None
    for number, (start, stop) in enumerate(stretches):
        inside = [s for s in fields if start <= s.start < stop and s.kind not in _HEADER_KINDS]
        inside += [s for s in chat.segments if s.kind == "unknown" and start <= s.start < stop]
        first = min((s.start for s in inside), default=None)
        last = max((s.stop for s in inside), default=None)
        begin = _end_of_header(chat.text, start, stop, first, prompts)
        if number + 1 < len(stretches):
            spans.append((begin, stop))
            continue
        seen = begin if last is None else max(begin, last)
        end = added.end_of_turn(seen, stop)
        # White space that the template writes between turns is not the model's.
        spans.append((begin, seen + len(chat.text[seen:stop].rstrip()) if end is None else end[1]))
    return Turn(message, tuple([span for span in spans if span[0] < span[1]]), end)


def _end_of_header(text: str, start: int, stop: int, first: int | None, prompts: Sequence[str]) -> int:
    """Where the model begins to write in ``text[start:stop]``, whose first field begins at ``first``."""
    bound = stop if first is None else first
    for prompt in prompts:
        if not prompt:
            # No header, but marks such as <think>; or one that `add_generation_prompt` does not write.
            before = MARKER.sub("", text[start:bound])
            return bound if any(map(str.isalnum, before)) else start
        at = text.find(prompt, start, bound)
        if at >= 0:
            return at + len(prompt)
        if text.endswith(prompt, 0, start):
            return start
        # White space at its end may have been trimmed, or be the beginning of what follows.
        bare = prompt.rstrip()
        if bare and text.endswith(bare, 0, start):
            return start
    for prompt in prompts:
        # What a prompt puts behind the header itself, such as the beginning of a thought, may be missing.
        lines = prompt.splitlines(keepends=True)
        for count in range(len(lines) - 1, 0, -1):
            head = "".join(lines[:count])
            at = text.find(head, start, bound) if any(map(str.isalnum, head)) else -1
            if at >= 0:
                return at + len(head)
    return bound


def _untracked_turn(chat: RenderedChat, message: int, added: Added) -> Turn | None:
    """The turn of a message that the template hides: from the only place where its content can be."""
    content = chat.content_of(message).strip()
    if not content:
        return None
    places: list[int] = []
    for segment in chat.segments:
        if segment.kind != "unknown" and segment.message != message:
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
    end = added.end_of_turn(stop, _next_known(chat.segments, stop))
    return Turn(message, ((start, stop if end is None else end[1]),), end)


def _next_known(segments: Sequence[Segment], at: int) -> int:
    """Where the text from there on that no message claims ends."""
    for segment in segments:
        if segment.start >= at and (segment.kind != "template" or segment.message is not None):
            return segment.start
    return segments[-1].stop if segments else at
