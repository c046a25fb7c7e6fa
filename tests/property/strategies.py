"""What the laws are tried on: texts with every edge that a tokenizer has, and small tokenizers.

A `Recipe` says how a tokenizer is made, so that a failing example can be read and made again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st
from tokenmill import reference

EXAMPLES = 2000 if os.environ.get("TOKENMILL_SLOW") == "1" else 100
"""Examples of each test, as in the profiles of conftest.py."""

FORMATS = [
    ("tokenizer.json", "t.json"),
    ("tiktoken", "t.tiktoken"),
    ("vocab+merges", "vocab.json"),
    (None, "m"),
]
"""Formats to save in, with a name for each; None is a folder."""

# ---- texts ------------------------------------------------------------------------------------

LITERALS = ["<s>", "</s>", "<|endoftext|>", "<s><s>", "</w>", "s>", "[UNK]"]

# Contractions in all cases, long s, Kelvin sign; marks, joiners, digits of several scripts; every
# white space; line ends; byte-order mark; the end of each plane's use; what the byte map writes.
PIECES = [
    *("low", "lower", "lowest", " low", "aaa", "ab", "ba", "bab", " ", "  ", "   "),
    *("'s", "'S", "'ſ", "'t", "'re", "'VE", "'m", "'ll", "'d", "'Ll", "I'm", "don't", "''"),
    *("1", "12", "123", "1234", "٣٤٥٦", "½", "²", "Ⅷ", "3.14", "1,000"),
    *("\n", "\r\n", "\r", "\n\n", " \n", "\t", "\x0b", "\x0c", "\x85", "\xa0", "\u1680", "\u2003"),
    *("\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\u200b", "\x1c", "\x1d", "\x1e", "\x1f"),
    *("é", "e\u0301", "ñ", "ﬁ", "ß", "ẞ", "İ", "ı", "K", "Σ", "ς", "ǅ", "ʰ", "नि", "กำ", "ਨਾ"),
    *("你好", "世界", "日本語", "한국어", "각", "、", "。", "🦊", "👩‍👩‍👧", "🏳️‍🌈", "🇫🇷", "👍🏽"),
    *("\x00", "\x7f", "\xad", "\ufeff", "\ufffd", "\uffff", "\U0010ffff", "\ue000", "\U00020000"),
    *("Ġ", "Ċ", "Ā", "_", "!", "?!", "...", "/", "\\", '"', "#", "##a", "--", "=>", "{}", "ab_c"),
]

pieces = st.sampled_from(PIECES)
texts = st.lists(pieces | st.text(max_size=4), max_size=12).map("".join)
words = st.lists(st.sampled_from("ab lowe"), max_size=24).map("".join)
forged = st.lists(pieces | st.sampled_from(LITERALS), max_size=10).map("".join)
lone = st.sampled_from(["\ud800", "\udc00", "\ud83e", "\udd8a", "\ud83e\udd8a", "\udfff"])
with_surrogates = st.lists(pieces | lone, max_size=10).map("".join)
byte_strings = st.binary(max_size=40) | st.lists(
    texts.map(str.encode)
    | st.sampled_from([b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\xa6", b"\x80", b"\xed\xa0\x80"]),
    max_size=6,
).map(b"".join)
any_text = texts | words | forged


def whole(text: str) -> str:
    """A text as surrogates="replace" reads it."""
    units = text.encode("utf-16-le", "surrogatepass")
    out: list[str] = []
    at = 0
    while at < len(units):
        unit = int.from_bytes(units[at : at + 2], "little")
        low = int.from_bytes(units[at + 2 : at + 4], "little")
        if 0xD800 <= unit < 0xDC00 and 0xDC00 <= low < 0xE000:
            out.append(chr(0x10000 + ((unit - 0xD800) << 10) + low - 0xDC00))
            at += 4
        else:
            out.append("\ufffd" if 0xD800 <= unit < 0xE000 else chr(unit))
            at += 2
    return "".join(out)


# ---- tokenizers -------------------------------------------------------------------------------

SPLITS = [
    *("none", "none", "whitespace", "gpt2", "cl100k", "o200k", "qwen2"),
    *(
        r"\w+|\s",
        r"[a-z]",
        r"(?=b)",
        r"\s+(?!\S)|\S+",
        r"\p{Lu}?\p{Ll}++|.",
        r"(?<=a)b",
        "^a|b$",
        "(?s:.){3}",
    ),
]

# Those that threads and long texts are tried with.
THREADED = [
    "gpt2",
    "cl100k",
    "o200k",
    "qwen2",
    "whitespace",
    r"\w+|\s+",
    r"\s+(?!\S)|\S+",
    r"(?<=o)w|l+",
    "none",
]


@dataclass(frozen=True)
class Recipe:
    """A constructor of `Tokenizer`, or `train`, with its arguments."""

    how: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def make(self, native: Any) -> Any:
        if self.how == "train":
            return native.train(**self.arguments)
        return getattr(native.Tokenizer, self.how)(**self.arguments)

    @property
    def is_bytes(self) -> bool:
        return bool(self.arguments.get("alphabet", "bytes") == "bytes")

    @property
    def is_byte_complete(self) -> bool:
        return self.is_bytes and self.how in ("train", "from_pairs")


def special_tokens(most: int = 3) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(LITERALS), max_size=most, unique=True)


@st.composite
def trained(draw: st.DrawFn, splits: Sequence[str] = SPLITS, alphabet: str | None = None) -> Recipe:
    """Trained on a few texts, with any options that go together."""
    arguments: dict[str, Any] = {
        "texts": draw(st.lists(any_text, max_size=5)) * draw(st.integers(1, 3)),
        "num_merges": draw(st.integers(0, 30)),
        "split": draw(st.sampled_from(splits)),
        "alphabet": alphabet or draw(st.sampled_from(["bytes", "bytes", "chars"])),
        "special_tokens": draw(special_tokens()),
        "special_ids": draw(st.sampled_from(["first", "last"])),
        "tie_break": draw(
            st.sampled_from(
                ["lexicographic", "lexicographic-largest", "first-seen", "token-id", "huggingface"]
            )
        ),
        "min_frequency": draw(st.integers(1, 3)),
        "max_token_length": draw(st.none() | st.integers(1, 6)),
    }
    if arguments["alphabet"] == "chars":
        arguments["unk_token"] = draw(st.sampled_from([None, None, "[UNK]", "<unk>"]))
        mark = draw(st.sampled_from([None, "</w>", "_", "ſ"]))
        literals = [*arguments["special_tokens"], arguments["unk_token"] or ""]
        held = any(mark in text for text in arguments["texts"]) if mark and len(mark) == 1 else False
        if mark and not held and not any(literal.endswith(mark) for literal in literals):
            arguments["end_of_word"] = mark
            arguments["end_of_word_form"] = draw(st.sampled_from(["separate", "suffix"]))
    return Recipe("train", arguments)


small = st.lists(st.sampled_from([b"a", b"b", b"c"]), min_size=1, max_size=5).map(b"".join)


@st.composite
def token_lists(draw: st.DrawFn, splits: Sequence[str] = SPLITS) -> Recipe:
    """An ordered list of tokens: any order, and parts of a token may be missing or come later."""
    tokens = draw(st.lists(small | texts.map(str.encode).filter(len), max_size=14, unique=True))
    base = draw(st.sampled_from([[], [b"a", b"b", b"c"], [bytes([value]) for value in range(256)]]))
    tokens = list(dict.fromkeys([*base, *tokens] if draw(st.booleans()) else [*tokens, *base]))
    arguments: dict[str, Any] = {"tokens": tokens, "split": draw(st.sampled_from(splits))}
    if draw(st.booleans()):
        arguments["special_tokens"] = draw(special_tokens())
    return Recipe("from_tokens", arguments)


@st.composite
def pair_lists(draw: st.DrawFn, splits: Sequence[str] = SPLITS) -> Recipe:
    """Pairs of ids, no two of which spell the same bytes."""
    tokens = list(reference.BYTES)
    pairs: list[tuple[int, int]] = []
    for _ in range(draw(st.integers(0, 20))):
        part = st.integers(97, 99) | st.integers(0, len(tokens) - 1)
        pair = draw(st.tuples(part, part))
        joined = tokens[pair[0]] + tokens[pair[1]]
        if joined not in tokens:
            tokens.append(joined)
            pairs.append(pair)
    arguments = {
        "pairs": pairs,
        "split": draw(st.sampled_from(splits)),
        "special_tokens": draw(special_tokens()),
    }
    return Recipe("from_pairs", arguments)


@st.composite
def merge_tables(draw: st.DrawFn, splits: Sequence[str] = SPLITS) -> Recipe:
    """Ids with holes, and merges in any order, whether or not they can ever be reached."""
    tokens = list(dict.fromkeys([b"a", b"b", b"c", *draw(st.lists(small, max_size=12))]))
    ids = draw(
        st.lists(st.integers(0, 40) | st.integers(0, 2**32 - 2), unique=True).filter(lambda ids: True)
        if draw(st.booleans())
        else st.permutations(range(len(tokens)))
    )
    free = (number for number in range(100, 200) if number not in ids)
    vocab = {token: (ids[place] if place < len(ids) else next(free)) for place, token in enumerate(tokens)}
    possible = [(left, right) for left in tokens for right in tokens if left + right in vocab]
    chosen = draw(st.lists(st.sampled_from(possible), unique=True, max_size=20)) if possible else []
    return Recipe("from_merges", {"vocab": vocab, "merges": chosen, "split": draw(st.sampled_from(splits))})


def recipes(splits: Sequence[str] = SPLITS) -> st.SearchStrategy[Recipe]:
    return trained(splits) | token_lists(splits) | pair_lists(splits) | merge_tables(splits)


def byte_complete(splits: Sequence[str] = SPLITS) -> st.SearchStrategy[Recipe]:
    return trained(splits, "bytes") | pair_lists(splits)


# ---- what may fail ----------------------------------------------------------------------------

E = TypeVar("E", bound=BaseException)


def attempt(kind: type[E], use: Callable[[], Any]) -> tuple[Any, E | None]:
    """What came of it, and the error of this kind, if that is what came."""
    try:
        return use(), None
    except kind as error:
        return None, error


# ---- the definition's own way to an encoding --------------------------------------------------

# Python's \s has four separators more than the White_Space of Unicode, which the engine goes by.
SPACE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
WHITESPACE = re.compile(f" ?[^{SPACE}]+|[{SPACE}]+")

Symbols = Callable[[str], tuple[Any, ...]]


def cut(text: str, split: str) -> list[str]:
    """The pretokens of a text without special tokens, for the two splits that `re` can say."""
    if split == "none":
        return [text] if text else []
    assert split == "whitespace"
    return WHITESPACE.findall(text)
