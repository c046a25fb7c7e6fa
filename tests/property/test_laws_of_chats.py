"""The laws of chat rendering: the tracker changes no text, and never takes data for the template's own."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest
from tokenmill.chat import RenderedChat, render
from tokenmill.errors import TemplateError

from property.chat_grammar import Grammar, conversation

COUNT = 20_000 if os.environ.get("TOKENMILL_SLOW") == "1" else 600


def plainly(source: str, messages: list[Any]) -> str | Exception:
    """What jinja2 makes of it, with transformers' settings and its own strings."""
    from transformers.utils.chat_template_utils import _cached_compile_jinja_template

    try:
        text: str = _cached_compile_jinja_template(source).render(
            messages=messages,
            tools=None,
            documents=None,
            add_generation_prompt=False,
            bos_token="<BOS>",
            extra="𫝀",
        )
    except Exception as error:
        return error
    return text


def tracked(source: str, messages: list[Any]) -> RenderedChat | TemplateError:
    try:
        return render(
            source,
            messages,
            special_tokens={"bos_token": "<BOS>"},
            keep_none=True,
            max_steps=10**7,
            extra="𫝀",
        )
    except TemplateError as error:
        return error


def letters(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every ideograph of a message, and its field."""
    if isinstance(value, str):
        yield from ((char, path) for char in value if char >= "\U00020000")
    elif isinstance(value, dict):
        for key, item in value.items():
            place = (f"{path}.{key}" if path else key) if key.isidentifier() else f"{path}[{key!r}]"
            yield from letters(key, place)
            yield from letters(item, place)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from letters(item, f"{path}[{at}]")


def is_literal(char: str) -> bool:
    return "가" <= char <= "힣"


@pytest.mark.table
def test_tracked_text_is_plain_text_and_data_are_never_trusted() -> None:
    rendered = refused = complete = 0
    for seed in range(COUNT):
        rng = random.Random(seed)
        source, messages = Grammar(rng).template(), conversation(rng)
        ours, theirs = tracked(source, messages), plainly(source, messages)
        assert isinstance(ours, TemplateError) == isinstance(theirs, Exception), (
            seed,
            source,
            messages,
            ours,
            theirs,
        )
        if isinstance(ours, TemplateError):
            refused += 1
            continue
        rendered += 1
        assert ours.text == theirs, (seed, source, messages)
        places = {char: (i, path) for i, each in enumerate(messages) for char, path in letters(each, "")}
        at = 0
        for segment in ours.segments:
            assert segment.start == at < segment.stop, (seed, source)
            at = segment.stop
            for char in ours.text[segment.start : segment.stop]:
                if char in places:
                    message, path = places[char]
                    assert not segment.trusted, (seed, source, segment, char)
                    if segment.kind != "unknown":
                        assert segment.message == message, (seed, source, segment, char, path)
                        assert (
                            path == segment.field
                            or segment.field is None
                            or path.startswith((f"{segment.field}.", f"{segment.field}["))
                        ), (seed, source, segment, char, path)
                elif is_literal(char):
                    assert segment.kind in ("template", "unknown"), (seed, source, segment, char)
        assert at == len(ours.text), (seed, source)
        bounds = [place for pair in ours.untrusted for place in pair]
        assert bounds == sorted(set(bounds)), (seed, source)
        complete += all(segment.kind != "unknown" for segment in ours.segments)
    print(
        f"chat templates at random: {rendered} rendered as by jinja2 alone, {refused} refused by both; "
        f"the origin of every character known in {complete}"
    )
    assert rendered > COUNT // 2
    assert complete > rendered // 2
