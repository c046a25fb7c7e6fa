"""One input given to a tokenizer, through its public methods: what a witness says of both is seen here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenmill._core import Tokenizer

__all__ = ["CALLS", "Result", "of_ids", "of_messages", "of_text"]

Result = tuple[Any, "str | None"]
"""What a call gave, and the error in its place where it gave none."""

CALLS = {
    "text": "encode(text)",
    "parsed": 'encode(text, special="parse")',
    "special": 'encode(text, special="parse", add_special_tokens=True)',
    "pair": 'encode_with_offsets(text, text, special="parse", add_special_tokens=True)',
    "offsets": 'encode_with_offsets(text, special="parse")',
}
"""The ways in which a text is encoded, as they are written in Python."""

_NOW = datetime(2024, 1, 31, 12, 30)


def _tried(call: Callable[[], Any]) -> Result:
    try:
        return call(), None
    except ValueError as error:  # all errors of this package that speak of the input, and some others
        return None, f"{type(error).__name__}: {error}"


def of_text(tok: Tokenizer, text: str, call: str) -> Result:
    """What a call of ``CALLS`` gives.

    Ids; of a pair, each id with its type and the text that it is of; for offsets, each id with its bytes and
    its pretoken.
    """

    def run() -> Any:
        if call == "text":
            return tuple(tok.encode(text))
        if call == "parsed":
            return tuple(tok.encode(text, special="parse"))
        if call == "special":
            return tuple(tok.encode(text, special="parse", add_special_tokens=True))
        if call == "pair":
            both = tok.encode_with_offsets(text, text, special="parse", add_special_tokens=True)
            return tuple(zip(both.ids, both.type_ids, both.sequence_ids, strict=True))
        one = tok.encode_with_offsets(text, special="parse")
        return tuple(zip(one.ids, one.byte_offsets, one.word_ids, strict=True))

    return _tried(run)


def of_ids(tok: Tokenizer, ids: tuple[int, ...], skip_special_tokens: bool) -> Result:
    """The bytes that ids decode to."""
    return _tried(lambda: tok.decode_bytes(ids, skip_special_tokens=skip_special_tokens))


def of_messages(
    tok: Tokenizer, messages: tuple[dict[str, Any], ...], template: str, options: Mapping[str, Any]
) -> Result:
    """The text of a conversation by a named template."""

    def run() -> str:
        return tok.render_chat(list(messages), template=template, now=_NOW, **options).text

    if template not in tok.chat_templates:
        return None, f"there is no template {template!r}"
    return _tried(run)
