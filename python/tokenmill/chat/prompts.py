"""The generation prompts of a template, the end of a turn's header found with them, and what closes a turn.

In: a template, tried with short conversations. Out: its generation prompts, and what closes turns. Templates
differ in what ``add_generation_prompt`` does: it writes a header, or a header and the beginning of a thought,
or nothing, since the model's turns have no header or the template always writes one.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import TemplateError
from .literals import MARKER
from .rendered import RenderedChat, content_of
from .rendering import render

__all__ = ["Closing", "Prompt", "closing_of", "end_of_header", "prompts_of"]

#: A whole tag, word or other character: two texts have only whole ones in common.
_PIECE = re.compile(r"<[^<>\s]*>|\[/?[A-Z_]+\]|\w+|\s|.", re.DOTALL)

#: The part of a header that is searched for: up to and including its first tag or word.
_LEAD = re.compile(r"(?:[^\w<]|<(?![^<>\s]*>))*(?:<[^<>\s]*>|\w+)")

_PROBES: tuple[list[dict[str, Any]], ...] = (
    [{"role": "user", "content": "x"}],
    [{"role": "system", "content": "y"}, {"role": "user", "content": "x"}],
    [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
)
_ANSWER = {"role": "assistant", "content": "z"}

#: Some templates render nothing without tools.
_TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "", "parameters": {"type": "object", "properties": {}}},
}
_EPOCH = datetime(2000, 1, 1)


class Prompt(NamedTuple):
    """A generation prompt: what a template writes for the model to go on from."""

    text: str
    """The header of a turn of the model; empty where the turns have none."""
    closing: str
    """All that the template writes after the content of a question, the prompt included."""


class Closing(NamedTuple):
    """What a template writes after turns."""

    last: str
    """After an answer that is the last message, without a generation prompt."""
    each: str
    """What the texts between two messages have in common at their beginning, whatever the roles."""
    before: str
    """All that it writes before the content of the first question."""

    def closes_turns_with(self, token: str) -> bool:
        """Whether the template closes turns with this token, and does not begin them with it."""
        return self.last.startswith(token) or (self.each.startswith(token) and token not in self.before)


@lru_cache(maxsize=256)
def prompts_of(source: str, special: str, variables: str) -> tuple[Prompt, ...]:
    """The prompts of a template, the likeliest first; none where short conversations do not tell.

    ``special`` and ``variables`` are what else the template is given, as JSON.
    """
    tokens, given = json.loads(special), json.loads(variables)
    options: dict[str, Any] = {"special_tokens": tokens, "now": _EPOCH, **given}
    for tools in (None, [_TOOL]):
        for messages in _PROBES:
            plain = _rendered(source, messages, tools=tools, **options)
            prompted = _rendered(source, messages, tools=tools, add_generation_prompt=True, **options)
            if plain is None or prompted is None:
                continue
            contents = (segment.stop for segment in prompted.segments if segment.kind == "content")
            closing = prompted.text[max(contents, default=len(prompted.text)) :]
            if prompted.text != plain.text:
                return (Prompt(_added(plain.text, prompted.text), closing),)
            answered = _rendered(source, [*messages, _ANSWER], tools=tools, **options)
            always = _always(prompted, tokens)
            if always is not None:
                asked = _rendered(source, [*messages, _ANSWER, messages[-1]], tools=tools, **options)
                if always.strip() in _between(asked, len(messages)):
                    always = None  # It closes every turn, so it is no prompt.
            headers = [always, _before_answer(answered, len(messages)), ""]
            if answered is not None and _hides_header(answered, len(messages)):
                headers = headers[:1]
            return tuple([Prompt(header, closing) for header in dict.fromkeys(headers) if header is not None])
    return ()


@lru_cache(maxsize=256)
def closing_of(source: str, special: str, variables: str) -> Closing | None:
    """What a template writes after turns; None where short conversations do not tell.

    The arguments are those of ``prompts_of``.
    """
    options: dict[str, Any] = {"special_tokens": json.loads(special), "now": _EPOCH, **json.loads(variables)}
    prompts = prompts_of(source, special, variables)
    for tools in (None, [_TOOL]):
        for messages in _PROBES:
            answered = _rendered(source, [*messages, _ANSWER], tools=tools, **options)
            answer = _content(answered, len(messages))
            if answered is None or answer is None:
                continue
            last = answered.text[answer[1] :].lstrip()
            if any(prompt.text.strip() and last.startswith(prompt.text.strip()) for prompt in prompts):
                last = ""
            asked = _rendered(source, [*messages, _ANSWER, messages[-1]], tools=tools, **options)
            question = _content(asked, 0)
            each = before = ""
            if asked is not None and question is not None and len(messages) == 1:
                behind_question, behind_answer = _between(asked, 0), _between(asked, 1)
                each = behind_question[: _common(behind_question, behind_answer)].lstrip()
                before = asked.text[: question[0]]
            return Closing(last, each, before)
    return None


def _content(chat: RenderedChat | None, message: int) -> tuple[int, int] | None:
    """Where the content of a message stands; also text of unknown origin that equals the content."""
    if chat is None:
        return None
    content = content_of(chat, message)
    found = [
        (start, stop)
        for start, stop, of, _, _, kind, _ in chat.segments
        if (of == message and kind == "content")
        or (kind == "unknown" and chat.text[start:stop].strip() == content)
    ]
    return (found[0][0], found[-1][1]) if found else None


def _between(chat: RenderedChat | None, message: int) -> str:
    """What stands between the contents of a message and the next one."""
    one, two = _content(chat, message), _content(chat, message + 1)
    return "" if chat is None or one is None or two is None else chat.text[one[1] : two[0]]


def _rendered(source: str, messages: Sequence[Any], **options: Any) -> RenderedChat | None:
    try:
        return render(source, messages, **options)
    except TemplateError:
        return None


def _added(plain: str, prompted: str) -> str:
    """What the prompt adds; some templates write something else, such as an eos, where there is no prompt."""
    return prompted[len(plain) if prompted.startswith(plain) else _common(plain, prompted) :]


def _always(chat: RenderedChat, tokens: Mapping[str, Any]) -> str | None:
    """The prompt of a template that always writes one: the text after all turns."""
    after = chat.text[max((stop for turn in chat.turns for _, stop in turn), default=len(chat.text)) :]
    return after if any(map(str.isalnum, after)) and after.strip() not in tokens.values() else None


def _before_answer(chat: RenderedChat | None, message: int) -> str | None:
    """The header of answers, for a template without a prompt: the text before the content in its turn.

    None where that is only markers.
    """
    turn = chat.turns[message] if chat is not None else ()
    if chat is None or not turn:
        return None
    fields = (s.start for s in chat.segments if s.message == message and s.kind in ("content", "unknown"))
    header = chat.text[turn[0][0] : min(fields, default=turn[0][0])]
    return header if any(map(str.isalnum, MARKER.sub("", header))) else None


def _hides_header(chat: RenderedChat, message: int) -> bool:
    """Whether an answer begins with text of unknown origin that does not begin with the answer's content."""
    fields = [s for s in chat.segments if s.message == message and s.kind in ("content", "unknown")]
    if not fields or fields[0].kind == "content":
        return False
    return not chat.text[fields[0].start :].lstrip().startswith(_ANSWER["content"])


def end_of_header(
    text: str, start: int, bound: int, prompts: Sequence[Prompt], untrusted: Sequence[tuple[int, int]]
) -> int:
    """Where the model begins to write in a turn that begins at ``start``, with its first field at ``bound``.

    ``untrusted`` are the parts of the text that the template did not write itself, in order: what looks like
    a header in them is not one.
    """
    for header, closing in prompts:
        if not header:
            return _end_of_closing(text, start, _end_of_untrusted(untrusted, start), closing)
        # White space at its end may have been trimmed, or be the beginning of what follows.
        trimmed = header.rstrip()
        if text.endswith((header, trimmed), 0, start):
            found = header if text.endswith(header, 0, start) else trimmed
            if start - len(found) >= _end_of_untrusted(untrusted, start):
                return start
        if text.startswith(header, start) and start + len(header) <= bound:
            return start + len(header)
        lead = _LEAD.match(header)
        if lead is None:
            continue
        # Perhaps only its beginning is there: what a template adds to the header itself, such as the
        # beginning of a thought, depends on the turn.
        for sought in (header, header.lstrip()):
            at = text.find(sought[: len(sought) - len(header) + lead.end()], start, bound)
            if at >= 0:
                return at + _common(sought, text[at:bound])
    return bound


def _end_of_untrusted(untrusted: Sequence[tuple[int, int]], start: int) -> int:
    """Where the last untrusted text before ``start`` ends."""
    before = bisect_left(untrusted, (start,))
    return min(untrusted[before - 1][1], start) if before else 0


def _end_of_closing(text: str, start: int, floor: int, closing: str) -> int:
    """Where a turn without a header begins: right after what closes the turn before, from ``floor`` on.

    The template may write white space in between as part of the turn before. It counts as the model's: a
    prompt ends before it, so the model has to write it.
    """
    if closing.strip():
        for at in range(start, len(text[:start].rstrip()) - 1, -1):
            if text.endswith(closing, floor, at):
                return at
    return start


def _common(one: str, two: str) -> int:
    """The length of what both begin with, in whole tags and words."""
    length = 0
    for mine, theirs in zip(_PIECE.finditer(one), _PIECE.finditer(two), strict=False):
        if mine[0] != theirs[0]:
            break
        length = mine.end()
    return length
