"""Chat templates: the same text as transformers, the same refusals, and every character's origin."""

# ruff: noqa: E501 (templates are easier to read on one line)
from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tokenmill.chat import RenderedChat, render
from tokenmill.chat.rendered import outline_of
from tokenmill.chat.sources import REASONING
from tokenmill.chat.tools import schema_of
from tokenmill.errors import TemplateError

from exact.chat_templates import NOW, SPECIAL_TOKENS, Reference, template_sources
from exact.conversations import CONVERSATIONS


@pytest.fixture(scope="module")
def sources(data: Path) -> dict[str, str]:
    return template_sources(data)


def rendered(source: str, messages: list[Any], **options: Any) -> RenderedChat | Exception:
    try:
        return render(source, messages, special_tokens=SPECIAL_TOKENS, now=NOW, **options)
    except (TemplateError, ValueError, TypeError) as error:
        return error


def agree(ours: RenderedChat | Exception, theirs: str | Exception) -> bool:
    """Equal texts, or both an error."""
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        return isinstance(ours, Exception) and isinstance(theirs, Exception)
    return ours.text == theirs


@pytest.mark.table
def test_every_template_renders_every_conversation_as_transformers_does(
    sources: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = Reference(monkeypatch)
    counted: Counter[str] = Counter()
    differing, untracked = [], []
    for name, source in sources.items():
        for title, messages, options in CONVERSATIONS:
            ours, theirs = (
                rendered(source, messages, **options),
                reference.render(source, messages, **options),
            )
            counted["pairs"] += 1
            if not agree(ours, theirs):
                differing.append((name, title, theirs, ours))
            if isinstance(ours, RenderedChat):
                counted["rendered"] += 1
                if any(segment.kind == "unknown" for segment in ours.segments):
                    untracked.append((name, title))
    print(
        f"chat templates: {len(sources)} x {len(CONVERSATIONS)} conversations, {counted['pairs']} pairs "
        f"compared with transformers, {len(differing)} differences; {counted['rendered']} rendered, "
        f"{counted['rendered'] - len(untracked)} of them with the origin of every character"
    )
    assert differing == []
    assert untracked == []
    assert counted["rendered"] > 2000


# ---- what each character came from, found without the tracker -----------------------------------


class Painter:
    """Gives every letter of a conversation's data an ideograph of its own, and keeps what stands for what."""

    #: Values that templates compare: painted ones would take other ways.
    KEPT = frozenset(("role", "type"))

    def __init__(self) -> None:
        #: For each ideograph the message that it stands in, and its field path.
        self.places: dict[str, tuple[int | None, str]] = {}

    def text(self, text: str, message: int | None, path: str | None) -> str:
        painted = []
        for char in text:
            if char.isalnum() and char.isascii():
                char = chr(0x20000 + len(self.places))  # of no template
                assert char <= "\U0002a6d6"
                self.places[char] = (message, path or "")
            painted.append(char)
        text = "".join(painted)
        if path is None:  # a key stands at the path that it makes
            self.places |= {char: (message, text) for char in painted if char in self.places}
        return text

    def value(self, value: Any, message: int | None, path: str) -> Any:
        if isinstance(value, str):
            return self.text(value, message, path)
        if isinstance(value, (list, tuple)):
            return [self.value(item, message, f"{path}[{at}]") for at, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        painted = {}
        for key, item in value.items():
            if path.endswith(("arguments", "properties")):
                key = self.text(key, message, None)
                place = f"{path}.{key}"
                self.places |= {char: (message, place) for char in key if char in self.places}
            else:
                place = f"{path}.{key}" if path else key
            painted[key] = item if key in self.KEPT else self.value(item, message, place)
        return painted


def within(field: str | None, true: str) -> bool:
    """Whether the field is what holds the character, or something around it."""
    if field in REASONING and true in REASONING:  # the same text under several names
        return True
    return field is not None and (true == field or true.startswith((f"{field}.", f"{field}[")))


@pytest.mark.table
def test_what_stands_for_data_is_found_in_their_fields_and_nowhere_else(sources: dict[str, str]) -> None:
    characters = 0
    wrong = []
    for name, source in sources.items():
        for title, messages, options in CONVERSATIONS:
            if title == "objects" or "continue_final_message" in options:
                continue
            painter = Painter()
            painted = [painter.value(each, index, "") for index, each in enumerate(messages)]
            given = dict(options)
            for key in ("tools", "documents"):
                if key in given:
                    schemas = [schema_of(item) if callable(item) else item for item in given[key]]
                    given[key] = painter.value(schemas, None, key)
            chat = rendered(source, painted, **given)
            if isinstance(chat, Exception):
                continue
            for segment in chat.segments:
                for char in chat.text[segment.start : segment.stop]:
                    if char not in painter.places:
                        continue
                    characters += 1
                    message, path = painter.places[char]
                    if (
                        segment.trusted
                        or not within(segment.field, path)
                        or (message is not None and segment.message != message)
                    ):
                        wrong.append((name, title, segment, char, message, path))
    print(f"chat templates: {characters} characters of data found in their fields")
    assert wrong == []
    assert characters > 80_000


def test_turn_spans_hold_the_segments_of_their_message(sources: dict[str, str]) -> None:
    compared = 0
    for name, source in sources.items():
        for title, messages, options in CONVERSATIONS:
            chat = rendered(source, messages, **options)
            if isinstance(chat, Exception):
                continue
            turns = outline_of(chat).turns
            for index, turn in enumerate(chat.turns):
                fields = [s for s in chat.segments if s.kind not in ("template", "role")]
                own = [s for s in fields if s.message == index]
                want = []
                for start, stop in turn:
                    inside = [s for s in own if start <= s.start < stop]
                    first, last = (inside[0].start, inside[-1].stop) if inside else (None, None)
                    shared = any(start <= s.start < stop for s in fields if s.message != index)
                    hidden = any(segment.kind == "unknown" for segment in inside)
                    want.append((start, stop, first, last, shared, hidden))
                assert [tuple(span) for span in turns[index]] == want, (name, title, index)
                compared += len(want)
    assert compared > 5000


def test_the_data_are_plain_json() -> None:
    """So that a difference is never one of this file's own making."""
    for title, messages, _ in CONVERSATIONS:
        if title != "objects":
            assert json.loads(json.dumps(messages)) == messages


# ---- blocks of what a model writes --------------------------------------------------------------

#: Templates around a block that is a macro in transformers: variables, loops, and what is wrong in a macro.
BLOCKS = {
    "turns": "{% for m in messages %}<{% generation %}{{ m.content }}.{% endgeneration %}>{% endfor %}",
    "white space": "{% for m in messages %}\n {%- generation %}\n  {{ m.content }}\n {% endgeneration %}\n{% endfor %}",
    "a variable of its own": "{% set x = 'a' %}{% generation %}{% set x = x ~ 'b' %}{{ x }}{% endgeneration %}{{ x }}",
    "a new variable": "{% generation %}{% set x = 'b' %}{{ x }}{% endgeneration %}{{ x is defined }}",
    "in a loop": "{% for m in messages %}{% set x = m.role %}{% generation %}{% set x = 'q' %}{{ x }}"
    "{{ loop.index }}{{ loop.last }}{% endgeneration %}{{ x }}{% endfor %}",
    "a loop inside": "{% generation %}{% for m in messages %}{{ loop.index }}{{ m.content }}{% endfor %}"
    "{% endgeneration %}",
    "a namespace": "{% set n = namespace(i=0) %}{% for m in messages %}{% generation %}{% set n.i = n.i + 1 %}"
    "{{ n.i }}{% endgeneration %}{% endfor %}{{ n.i }}",
    "an if": "{% for m in messages %}{% if m.role == 'user' %}{% set y = 'u' %}{% generation %}{{ y }}"
    "{% endgeneration %}{% endif %}{{ y }}{% endfor %}",
    "a macro inside": "{% generation %}{% macro f(a) %}<{{ a }}>{% endmacro %}{{ f('x') }}{% endgeneration %}",
    "a macro of that name": "{% generation %}{% macro f(a) %}<{{ a }}>{% endmacro %}{% endgeneration %}{{ f is defined }}",
    "set inside": "{% generation %}{% set x %}{{ messages[0].content }}{% endset %}{{ x }}{% endgeneration %}{{ x }}",
    "empty": "a{% generation %}{% endgeneration %}b",
    "break": "{% for m in messages %}{% generation %}{{ m.content }}{% break %}{% endgeneration %}{% endfor %}",
    "break of a loop inside": "{% generation %}{% for m in messages %}{{ m.content }}{% break %}{% endfor %}"
    "{% endgeneration %}",
    "continue": "{% for m in messages %}{% generation %}{% continue %}{% endgeneration %}{{ m.content }}{% endfor %}",
    "caller": "{% generation %}{{ caller() }}{% endgeneration %}",
    "whether there is a caller": "{% generation %}{{ caller is defined }}{% endgeneration %}",
    "varargs": "{% generation %}{{ varargs }}{{ kwargs }}{% endgeneration %}",
    "not closed": "{% generation %}a",
    "an error": "{% generation %}{{ messages.x.y }}{% endgeneration %}",
}


@pytest.mark.parametrize("name", BLOCKS)
def test_generation_blocks_are_those_of_transformers(name: str) -> None:
    from transformers.utils.chat_template_utils import render_jinja_template

    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": " é "}]
    ours = rendered(BLOCKS[name], messages)
    result: Any
    try:
        result = render_jinja_template(
            [messages], chat_template=BLOCKS[name], return_assistant_tokens_mask=True
        )
        (theirs,), (spans,) = result
    except Exception as error:
        theirs, spans = error, ()
    assert agree(ours, theirs), (ours, theirs)
    if isinstance(ours, RenderedChat):
        assert [tuple(span) for span in spans] == list(ours.generation)
