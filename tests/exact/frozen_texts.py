"""500 texts that are the same on every machine and with every Python: ten groups of fifty.

They are written from ranges of code points and from a generator of our own, so that neither the Unicode
tables of Python nor its ways to draw change them; no corpus is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["GROUPS", "corpus"]

PER_GROUP = 50

_Item = TypeVar("_Item")


class Drawn:
    """Numbers of a 64-bit xorshift generator (Marsaglia, "Xorshift RNGs", 2003)."""

    def __init__(self, seed: int) -> None:
        self.state = (seed * 0x9E3779B97F4A7C15 + 1) % 2**64 or 1

    def below(self, end: int) -> int:
        """A number from 0, below ``end``."""
        state = self.state
        state ^= state << 13 & 2**64 - 1
        state ^= state >> 7
        state ^= state << 17 & 2**64 - 1
        self.state = state
        return (state >> 11) % end

    def one(self, items: Sequence[_Item]) -> _Item:
        return items[self.below(len(items))]

    def many(self, make: Callable[[], str], least: int, most: int) -> str:
        """What ``make`` writes, from ``least`` to ``most`` times."""
        return "".join(make() for _ in range(least + self.below(most - least + 1)))


_SYLLABLES = ["lo", "we", "ri", "na", "ta", "st", "ing", "er", "the", "an", "to", "ke", "mi", "ver", "tion"]
_SYLLABLES += ["qu", "x", "es", "low", "new", "wid", "est"]
_SUFFIXES = ["'s", "'t", "'ll", "'RE", "\u2019s", "n't", "-", "--", ".", ",", "!?", "\u2026", "; ", ")("]
_SCRIPTS = [
    *((0xC0, 0x17F), (0x370, 0x3FF), (0x400, 0x45F), (0x531, 0x556), (0x5D0, 0x5EA), (0x621, 0x652)),
    *((0x905, 0x94D), (0x985, 0x9CD), (0xB85, 0xBCD), (0xE01, 0xE4E), (0x10D0, 0x10F0), (0x1200, 0x1248)),
    *((0x1100, 0x1112), (0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3)),
    *((0x20000, 0x2A6D6), (0x1E900, 0x1E943), (0x300, 0x345)),
]  # fmt: skip
_DIGITS = [0x30, 0x30, 0x30, 0x660, 0x966, 0xFF10, 0x1D7CE]
_BETWEEN_DIGITS = ["", "", "", ".", ",", " ", "\u00a0", "-", "/", "e", "\u00b2", "\u2155", "\u2167", "%"]
_SPACES = [
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "\u00a0",
    "\u2003",
    "\u3000",
    "\u0085",
    "\u2028",
    "\x0b",
]
_FACES = [
    "\U0001f600",
    "\u2764\ufe0f",
    "\U0001f44d\U0001f3fd",
    "\U0001f1eb\U0001f1f7",
    "1\ufe0f\u20e3",
    "\u2603",
]
_FACES += ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001fae0"]
_CODE = [
    "def ",
    "self.",
    "x_1",
    "camelCase",
    "HTTPServer2",
    " = ",
    "==",
    "->",
    "{",
    "}",
    "()",
    ";",
    "\n",
    "\n    ",
]
_CODE += [
    "\n\t",
    "// ",
    "# ",
    '"',
    "'",
    "\\n",
    "0xFF",
    "<div>",
    "</div>",
    "&amp;",
    "[i]",
    "!=",
    "`",
    "$x",
    "http://",
]
_MARKUP = [
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "<think>",
    "[CLS]",
]
_MARKUP += [
    "<|eot_id|>",
    "<|start_header_id|>",
    "user",
    "assistant",
    "\n",
    "[UNK]",
    "<unk>",
    "<pad>",
    "<|im",
    "_end|>",
]
_MARKUP += ["<0x0A>", "\u2581", "\u0120", "##ing", "</w>", "<mask>", "[MASK]"]
_HIDDEN = ["\u200b", "\u200d", "\u200c", "\u00ad", "\u2060", "\ufeff", "\u200e", "\u202e", "\u202c", "\u2066"]
_HIDDEN += [
    "\0",
    "\x01",
    "\x1b",
    "\x7f",
    "\u0085",
    "\ufffd",
    "\ufffe",
    "\ue000",
    "\U000e0041",
    "\ufe0f",
    "\u034f",
]


def _word(drawn: Drawn) -> str:
    word = drawn.many(lambda: drawn.one(_SYLLABLES), 1, 4)
    return drawn.one([word, word, word, word.capitalize(), word.upper()])


def _words(drawn: Drawn) -> str:
    return drawn.many(lambda: drawn.one(["", " ", " "]) + _word(drawn), 1, 20)


def _contractions(drawn: Drawn) -> str:
    return drawn.many(lambda: _word(drawn) + drawn.one(_SUFFIXES) + drawn.one(["", " "]), 1, 12)


def _scripts(drawn: Drawn) -> str:
    def run() -> str:
        first, last = drawn.one(_SCRIPTS)
        return drawn.many(lambda: chr(first + drawn.below(last - first + 1)), 1, 8) + drawn.one(
            ["", " ", "a"]
        )

    return drawn.many(run, 1, 8)


def _digits(drawn: Drawn) -> str:
    def digit() -> str:
        return chr(zero + drawn.below(10)) + drawn.one(_BETWEEN_DIGITS)

    zero = drawn.one(_DIGITS)
    return drawn.many(digit, 1, 24)


def _white_space(drawn: Drawn) -> str:
    return drawn.many(lambda: drawn.one(_SPACES) + drawn.one(["", "", "a", "B", "1", "."]), 1, 24)


def _emoji(drawn: Drawn) -> str:
    return drawn.many(lambda: drawn.one(_FACES) + drawn.one(["", "", " ", "a"]), 1, 12)


def _code(drawn: Drawn) -> str:
    return drawn.many(lambda: drawn.one(_CODE), 1, 30)


def _markup(drawn: Drawn) -> str:
    return drawn.many(lambda: drawn.one(_MARKUP) + drawn.one(["", "", " ", _word(drawn)]), 1, 12)


def _hidden(drawn: Drawn) -> str:
    return drawn.many(lambda: drawn.one(_HIDDEN) + drawn.one(["", "a", " low", "\u00e9", "1"]), 1, 14)


def _scalars(drawn: Drawn) -> str:
    def scalar() -> str:
        code = drawn.below(drawn.one([0x80, 0x800, 0x10000, 0x110000]))
        return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)

    return drawn.many(scalar, 0, 20)


_MAKERS: dict[str, Callable[[Drawn], str]] = {
    "words": _words,
    "contractions": _contractions,
    "scripts": _scripts,
    "digits": _digits,
    "white-space": _white_space,
    "emoji": _emoji,
    "code": _code,
    "markup": _markup,
    "hidden": _hidden,
    "scalars": _scalars,
}


def _group(place: int, make: Callable[[Drawn], str]) -> list[str]:
    return [make(Drawn(1000 * place + number)) for number in range(PER_GROUP)]


GROUPS: dict[str, list[str]] = {
    name: _group(place, make) for place, (name, make) in enumerate(_MAKERS.items(), start=1)
}
"""The texts, by what they are made of."""


def corpus(*, wide: bool) -> list[str]:
    """Texts to train on: others of the same kinds, words most of all; with many scripts only if ``wide``."""
    kinds = [*[_words] * 6, *[_contractions] * 2, _code, *[_scripts, _emoji, _digits] * wide]
    return [
        make(Drawn(100_000 + 1000 * place + number))
        for place, make in enumerate(kinds)
        for number in range(40)
    ]
