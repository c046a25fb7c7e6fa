"""Tokenizers for templates of published models, and what of a conversation has labels with them."""

from __future__ import annotations

import re
from typing import Any

import tokenmill
from tokenmill.chat import ChatEncoding

from exact.chat_templates import SPECIAL_TOKENS

#: What the templates write that a tokenizer has as special tokens.
MARK = re.compile(
    r"<\|[^|<>\s]*\|>|<｜[^｜<>\s]*｜>|<[a-z]+:[be]os>|\[/?[A-Z_]+\]|</?s>|<(?:start|end)_of_turn>|<\|[a-z_]+>|<[a-z_]+\|>"
)


def special_in(source: str) -> list[str]:
    return sorted({*MARK.findall(source), *SPECIAL_TOKENS.values()})


def tokenizer_for(source: str) -> Any:
    """A tokenizer that has nearly a token for each byte, and the special tokens of the template."""
    plain: Any = tokenmill.train(texts=["low lower"], num_merges=1)
    return plain.with_special_tokens(special_in(source), **SPECIAL_TOKENS).with_chat_template(source)


def characters(spans: Any) -> set[int]:
    return {at for start, stop in spans for at in range(start, stop)}


def trained(encoding: ChatEncoding) -> set[int]:
    """The characters of the tokens that have labels."""
    pairs = zip(encoding.offsets.tolist(), encoding["labels"], strict=True)
    return characters(span for span, label in pairs if label != -100)


def shown(text: str, chosen: set[int]) -> str:
    """A text with brackets around what is chosen."""
    shown, inside = [], False
    for at, char in enumerate([*text, ""]):
        if (at in chosen) != inside:
            shown.append("⟧" if inside else "⟦")
            inside = not inside
        shown.append(char)
    return "".join(shown)
