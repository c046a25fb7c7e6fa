"""Continuing the last message: a mark at its end shows where the rendering is to be cut.

The mark and the rules are those of transformers, since a template may look at the text that it gets.
"""

from __future__ import annotations

from typing import Any

from .refusals import refusal
from .sources import REASONING

__all__ = ["append_mark", "end_of_continued"]

_END = "CONTINUE_FINAL_MESSAGE_TAG "


def append_mark(chat: list[Any], field: bool | str, source: str, name: str) -> str:
    """Append the mark to the last message; returns the text before the mark."""
    field = field if isinstance(field, str) else "content"
    message = chat[-1]
    value = message.get(field)
    if value is None:
        raise refusal(name, None, f"the last message has no {field!r} to continue")
    fields = [key for key in REASONING if message.get(key) == value] if field in REASONING else [field]
    if not any(key in source for key in fields):
        raise refusal(name, None, f"the template does not read {field!r}, which is to be continued")
    if isinstance(value, (list, tuple)):
        for at in range(len(value) - 1, -1, -1):
            block = value[at]
            if isinstance(block, dict) and "text" in block:
                message.extend_text((field, at, "text"), _END)
                return _text(block["text"], field, name)
        raise refusal(name, None, "the last message has no text block to continue")
    text = _text(value, field, name)
    for key in fields:
        message.extend_text((key,), _END)
    return text


def _text(value: Any, field: str, name: str) -> str:
    if not isinstance(value, str):
        raise refusal(name, None, f"the {field!r} of the last message is no text that could be continued")
    return str.__str__(value)


def end_of_continued(text: str, ending: str, name: str) -> int:
    """Where the text that is to be continued ends in the rendering."""
    mark = _END.strip()
    if ending.strip() not in text or mark not in text:
        raise refusal(
            name, None, "the template does not write the last message as it is: it cannot be continued"
        )
    stop = text.rindex(mark)
    # A template that trims the text trims the blank after the mark.
    return stop if text.startswith(_END, stop) else len(text[:stop].rstrip())
