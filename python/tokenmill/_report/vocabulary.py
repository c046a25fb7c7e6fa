"""What a vocabulary is made of: scripts, white space, digits, symbols, parts of characters."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .measures import Tokens

__all__ = ["kind_of", "made_of"]

PARTIAL, SPECIAL, SPACE, DIGITS, SYMBOLS, MIXED, CONTROL = (
    "parts of characters",
    "special tokens",
    "white space",
    "digits",
    "punctuation and symbols",
    "several scripts",
    "control characters",
)
_NAMES = {"Cjk": "Han", "Kangxi": "Han", "Ideographic": "Han"}
"""Scripts whose characters are not named after them."""
_NO_SCRIPT = {"Combining", "Modifier", "Mathematical", "Double", "Circled", "Parenthesized", "Squared"}
"""First words of names of letters and marks that belong to no script."""
_FORMS = ("FULLWIDTH ", "HALFWIDTH ", "SMALL ", "SUPERSCRIPT ", "SUBSCRIPT ", "TURNED ")
"""What stands before the script in names of forms."""


def made_of(tokens: Tokens) -> dict[str, int]:
    """How many tokens are of each kind, the most frequent first."""
    counts = Counter(
        SPECIAL if id in tokens.special else kind_of(token) for id, token in tokens.bytes.items()
    )
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def kind_of(token: bytes) -> str:
    """The script of the letters in a token; where it has none, what else it is."""
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return PARTIAL
    scripts = {script for char in text if (script := _script(char))}
    if len(scripts) == 1:
        return scripts.pop()
    if scripts:
        return "Japanese" if scripts <= {"Han", "Hiragana", "Katakana"} else MIXED
    if not text.strip():
        return SPACE
    if any(char.isnumeric() for char in text):
        return DIGITS
    return CONTROL if all(unicodedata.category(char) in ("Cc", "Cf") for char in text) else SYMBOLS


@cache
def _script(char: str) -> str | None:
    """The script of a letter or mark, after its Unicode name; None for what has none."""
    if char.isascii():
        return "Latin" if char.isalpha() else None
    if unicodedata.category(char)[0] not in "LM":
        return None
    name = unicodedata.name(char, "")
    for form in _FORMS:
        name = name.removeprefix(form)
    first = name.split(" ")[0].split("-")[0].title()
    if not first or first in _NO_SCRIPT:
        return None
    return _NAMES.get(first, first)
