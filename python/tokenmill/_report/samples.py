"""Texts token by token, and words merge by merge."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from .._table import visible
from ..explain import Ordinary, Pretoken
from .measures import shown_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._core import Tokenizer
    from .texts import Texts

__all__ = ["WORDS", "merge_steps", "sample_texts", "sampled"]

WORDS = (
    " tokenization",
    " internationally",
    " Menschenrechte",
    " справедливость",
    "人人生而自由",
    "12345.67",
)
"""The words whose merges are shown where none are chosen."""
_CHARACTERS = 220
"""Of a text, about, that a sample shows."""
_GROUPS = 6
"""Groups of texts of which a sample is shown."""
_HARD = (
    'if (a <= b && c != "d") {\n    return x[i]++;  // 0x1F\n}',
    "<script>alert('&amp;')</script> "
    "\u202e\u05d0 right to left\u202c, NUL \x00, bell \x07, e\u0301, 👩\u200d👩\u200d👧, \ufeff.",
)
_TITLES = ("Code", "Hard characters")


def sample_texts(texts: Texts) -> list[tuple[str, str]]:
    """Titles and texts: the beginnings of some groups, the reference first, then code and hard characters."""
    names = list(texts.groups)
    if texts.reference is not None:
        names.remove(texts.reference)
        names.insert(0, texts.reference)
    own = [(name, _beginning(next(text for text in texts.groups[name] if text))) for name in names[:_GROUPS]]
    return [*own, *zip(_TITLES, _HARD, strict=True)]


def _beginning(text: str) -> str:
    """The first words of a text."""
    if len(text) <= _CHARACTERS:
        return text
    cut = text[:_CHARACTERS]
    # The rest of a word goes, not that of a script without spaces.
    end = cut.rfind(" ")
    return (cut[:end] if end > _CHARACTERS // 2 else cut) + " …"


def sampled(toks: Iterable[Tokenizer], texts: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Each text with its tokens by tokenizer: id, bytes, offsets in characters, and what is shown of it."""
    listed = list(toks)
    return [
        {
            "title": title,
            "text": text,
            "right_to_left": _is_right_to_left(text),
            "tokens": [_tokens(tok, text) for tok in listed],
        }
        for title, text in texts
    ]


def _is_right_to_left(text: str) -> bool:
    """Whether the first letter is of a script that runs to the left."""
    strong = (unicodedata.bidirectional(char) for char in text)
    return next((kind for kind in strong if kind in ("L", "R", "AL")), "L") != "L"


def _tokens(tok: Tokenizer, text: str) -> list[dict[str, Any]]:
    found = tok.encode_with_offsets(text)
    made: list[dict[str, Any]] = []
    seen = 0
    for id, (start, stop) in zip(found.ids, found.offsets, strict=True):
        token = tok.token_bytes(id)
        shown = shown_bytes(token)
        # A part of a character, or of what a normalizer wrote for one, is shown by its own bytes.
        if start >= seen and stop > start and _is_text(token):
            shown = visible(text[start:stop])
        seen = max(seen, stop)
        made.append({"id": id, "bytes": token.hex(" "), "start": start, "stop": stop, "shown": shown})
    return made


def _is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def merge_steps(tok: Tokenizer, word: str) -> list[dict[str, Any]]:
    """The pretokens of a word: how each became its tokens, and its row of symbols after each merge."""
    pretokens = [
        pretoken
        for segment in tok.explain(word).segments
        if isinstance(segment, Ordinary)
        for pretoken in segment.pretokens
    ]
    return [_steps(tok, pretoken) for pretoken in pretokens]


def _steps(tok: Tokenizer, pretoken: Pretoken) -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    if pretoken.symbols is not None and pretoken.merges is not None:
        row = list(pretoken.symbols)
        steps.append({"symbols": [_symbol(tok, symbol) for symbol in row], "merged": None, "rank": None})
        for merge in pretoken.merges:
            row[merge.at : merge.at + 2] = [merge.result]
            symbols = [_symbol(tok, symbol) for symbol in row]
            steps.append({"symbols": symbols, "merged": merge.at, "rank": merge.rank})
    return {
        "text": visible(pretoken.text),
        "how": pretoken.how,
        "steps": steps,
        "tokens": [
            {"id": token.id, "shown": shown_bytes(tok.token_bytes(token.id))} for token in pretoken.tokens
        ],
    }


def _symbol(tok: Tokenizer, symbol: str) -> str:
    """A symbol as text: the written form of a format hides what a byte-level token says."""
    id = tok.token_to_id(symbol)
    return visible(symbol) if id is None else shown_bytes(tok.token_bytes(id))
