"""The table of docs/chat-templates.md: how templates are labelled. Run it to print the table:

TOKENMILL_DATA=... PYTHONPATH=python:tests python -m exact.label_table
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tokenmill.chat import ChatEncoding
from tokenmill.errors import TemplateError

from exact.chat_templates import NOW, SPECIAL_TOKENS, generation_blocks, template_sources
from exact.conversations import CONVERSATIONS
from exact.labelled import tokenizer_for

HEAD = (
    "| template | conversations | labels | turns without an end-of-turn token | mask of transformers |",
    "| --- | ---: | --- | ---: | --- |",
)


class Row(NamedTuple):
    """How one template is labelled."""

    template: str
    conversations: int
    """Those with a turn of the model that the template renders."""
    by_uniqueness: int
    """Those in which a turn was found by its text alone."""
    refused: int
    """Those whose labels are a `TemplateError`."""
    without_end: int
    """Turns behind which the template writes no end-of-turn token."""
    turns: int
    marked: int
    """Conversations of which transformers' mask has something."""

    @property
    def labels(self) -> str:
        if self.refused:
            return f"refused in {self.refused}"
        if not self.turns:
            return "renders no turn"
        return f"by uniqueness in {self.by_uniqueness}" if self.by_uniqueness else "tracked in full"

    def markdown(self) -> str:
        mask = f"what its blocks mark, in {self.marked}" if self.marked else "all zeros"
        ends = f"{self.without_end} of {self.turns}" if self.without_end else ""
        return f"| {self.template} | {self.conversations} | {self.labels} | {ends} | {mask} |"


def rows(data: Path) -> Iterator[Row]:
    """A row for each template, each source once."""
    known: set[str] = set()
    for name, source in template_sources(data).items():
        if source not in known:
            known.add(source)
            yield row(name, source)


def row(name: str, source: str) -> Row:
    tok = tokenizer_for(source)
    conversations = by_uniqueness = refused = without_end = turns = marked = 0
    for _, messages, options in CONVERSATIONS:
        if all(message["role"] != "assistant" for message in messages):
            continue
        try:
            tok.render_chat(messages, now=NOW, **options)
        except (TemplateError, ValueError):
            continue
        conversations += 1
        try:
            encoding = tok.apply_chat_template(
                messages, now=NOW, return_labels=True, allow_empty=True, **options
            )
        except TemplateError:
            refused += 1
            continue
        by_uniqueness += any(not is_tracked(encoding, turn.message) for turn in encoding.turns)
        if "continue_final_message" not in options:  # which cuts the end off
            turns += len(encoding.turns)
            without_end += len(encoding.turns_without_end)
        if "endgeneration" in source:
            blocks = generation_blocks(source, messages, SPECIAL_TOKENS, **options)
            marked += any(start < stop for start, stop in blocks)
    return Row(name, conversations, by_uniqueness, refused, without_end, turns, marked)


def is_tracked(encoding: ChatEncoding, message: int) -> bool:
    """Whether the rendering says where a message stands, and of all that stands there who wrote it."""
    chat: Any = encoding.chat
    stands = chat.turns[message] or any(segment.message == message for segment in chat.segments)
    return bool(stands) and all(segment.kind != "unknown" for segment in chat.segments)


def table(found: list[Row]) -> str:
    return "\n".join([*HEAD, *(each.markdown() for each in found)])


if __name__ == "__main__":
    print(table(list(rows(Path(os.environ["TOKENMILL_DATA"])))))
