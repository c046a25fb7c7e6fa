"""Every pre-tokenizer of a tokenizer.json cuts as tokenizers 0.23.3 does: pieces and offsets.

The model of the files below knows every piece that the peer cuts, and nothing else.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .characters import EVERY, apart, scalars, shared_contexts
from .files import both, file_of, special
from .peer_tokenizers import CORPORA, cut, head

Stage = dict[str, Any]
Pieces = list[tuple[str, tuple[int, int]]]

BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
SCHEMES = ["first", "always", "never"]


def split(pattern: str, behavior: str = "Isolated", *, invert: bool = False, regex: bool = True) -> Stage:
    kind = "Regex" if regex else "String"
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def byte_level(*, prefix: bool, regex: bool) -> Stage:
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": False, "use_regex": regex}


def metaspace(scheme: str, replacement: str = "▁", *, cuts: bool = True) -> Stage:
    return {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": cuts}


def sequence(*stages: Stage) -> Stage:
    return {"type": "Sequence", "pretokenizers": list(stages)}


BERT: Stage = {"type": "BertPreTokenizer"}
WORDS: Stage = {"type": "Whitespace"}
WHITE: Stage = {"type": "WhitespaceSplit"}
SCRIPTS: Stage = {"type": "UnicodeScripts"}
PUNCTUATION: Stage = {"type": "Punctuation", "behavior": "Isolated"}
DIGITS: Stage = {"type": "Digits", "individual_digits": True}

# One of each kind: these meet every character.
KINDS: dict[str, Stage] = {
    "bert": BERT,
    "whitespace": WORDS,
    "whitespace split": WHITE,
    "scripts": SCRIPTS,
    "punctuation": PUNCTUATION,
    "digits": DIGITS,
    "digits in runs": {"type": "Digits", "individual_digits": False},
    "delimiter": {"type": "CharDelimiterSplit", "delimiter": "é"},
    "fixed length": {"type": "FixedLength", "length": 2},
    "metaspace": metaspace("always"),
    "byte level": byte_level(prefix=False, regex=True),
    "byte level with a prefix": byte_level(prefix=True, regex=True),
    "split": split(r"\w+|[^\w\s]+", "Removed", invert=True),
}
REGEXES = [
    "-", "(?=b)", "a*", "-|(?=b)", r"\s+", "x*?", "$", "^", r"\p{L}+|\d", r"\b", r"a\Kb|c\K", r"\R",
    r"\X", "[[:punct:]]", "[[:alpha:][:digit:]]+", "[^[:space:]]", "[[:word:]]+", r"(?m:a.b)", r"\N+|\O",
    r"\p{N}{1,3}+", r"\h+", r"[\w&&[^a]]+", "a{,2}", "a{2}+", r"\s+$", r"\w", r"\W+", r"[\w]+", r"\p{^L}",
    r"\p{Han}+|\p{Emoji}", r"\P{Latin}+", "[一-龥぀-ゟ゠-ヿ]+",
]  # fmt: skip
LITERALS = ["-", "--", "", "aa", "é", " ", "▁", "-a", ".", "a.", "\\d"]

OTHERS: dict[str, Stage] = {
    **{
        f"{regex} {behavior} {invert}": split(regex, behavior, invert=invert)
        for regex in REGEXES
        for behavior in BEHAVIORS
        for invert in [False, True]
    },
    **{
        f"{literal!r} {behavior} {invert}": split(literal, behavior, invert=invert, regex=False)
        for literal in LITERALS
        for behavior in BEHAVIORS
        for invert in [False, True]
    },
    **{f"punctuation {name}": {"type": "Punctuation", "behavior": name} for name in BEHAVIORS},
    **{
        f"metaspace {mark} {scheme} {cuts}": metaspace(scheme, mark, cuts=cuts)
        for mark in "▁ _é"
        for scheme in SCHEMES
        for cuts in [False, True]
    },
    **{
        f"byte level {prefix} {regex}": byte_level(prefix=prefix, regex=regex)
        for prefix in [False, True]
        for regex in [False, True]
    },
    **{f"delimiter {sign}": {"type": "CharDelimiterSplit", "delimiter": sign} for sign in "- ▁😀"},
    **{f"length {length}": {"type": "FixedLength", "length": length} for length in [1, 3, 7]},
    "t5": sequence(WHITE, metaspace("always")),
    "falcon": sequence(PUNCTUATION, byte_level(prefix=False, regex=True), DIGITS, split("[0-9][0-9][0-9]")),
    "starcoder": sequence(DIGITS, byte_level(prefix=False, regex=True)),
    "clip": sequence(split(r"'s|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "Removed", invert=True)),
    "gemma": split(" ", "MergedWithPrevious", regex=False),
    "first behind a cut": sequence(split("b", "Removed", regex=False), metaspace("first"), PUNCTUATION),
    "prefix behind a cut": sequence(split("-", regex=False), byte_level(prefix=True, regex=True)),
    "a chain of rewriters": sequence(
        byte_level(prefix=True, regex=False), metaspace("always"), byte_level(prefix=True, regex=True)
    ),
    # All that stands for a byte of the first character is at the start.
    "first behind bytes": sequence(
        byte_level(prefix=False, regex=False),
        {"type": "FixedLength", "length": 1},
        metaspace("first", cuts=False),
    ),
    "first behind digits of bytes": sequence(
        byte_level(prefix=True, regex=True), DIGITS, metaspace("first", cuts=False)
    ),
    "scripts, words, first": sequence(SCRIPTS, WORDS, metaspace("first", cuts=False)),
}

TEXTS = [
    "", " ", "-", "--", "-a--b-c-", "abab", "a-b c", "  a  b", " a▁b ", "▁", "▁ ▁a", "\na", "aaa", "a.b a..b",
    "Hey, you $5 €6⹝\x1ca\x85b\u3000c", "a\u200db\u200cc ²½ⅧⅨ٣12 3456789", "アa漢字ー かб Ω1 \ue000x\ue000",
    "don't WE'LL 'ſ", "e\u0301\u0301 \u0301", "🇫🇷🎉👩🏽\u200d🚀❤\ufe0f", "\r\n\n \r a\r\nb",
    "क्त 각\u1100\u1161\u11a8",
]  # fmt: skip
NASTY = "ab-- \n\r\té中に한½1²3.,'!$+\u0301\u200d\u200c\u3000_A\u1112\u1161"
NASTY += "🇫🏽🎉\ufe0f\u0915\u094d\x85\u2028ーΩд▁😀\ue000"


class Pair:
    """A pre-tokenizer here and there."""

    def __init__(self, stage: Stage, native: Any, folder: Path) -> None:
        from tokenizers import Tokenizer

        self.stage, self.native, self.path = stage, native, folder / "tokenizer.json"
        peer = Tokenizer.from_str(self.file([]))
        self.peer = peer.pre_tokenizer
        self.count = 0

    def file(self, pieces: Iterable[str]) -> str:
        """A tokenizer.json whose model knows these pieces, whole."""
        tokens = dict.fromkeys(["<unk>", *pieces])
        vocab = {token: number for number, token in enumerate(tokens)}
        model = {"type": "WordLevel", "unk_token": "<unk>", "vocab": vocab}
        return json.dumps({"version": "1.0", "pre_tokenizer": self.stage, "model": model})

    def theirs(self, text: str) -> Pieces:
        pieces: Pieces = self.peer.pre_tokenize_str(text)
        return pieces

    def compare(self, texts: Sequence[str]) -> int:
        """How many pieces all the texts have; of a text that many characters share the part is named."""
        differs = self.first_that_differs(texts)
        if differs is not None:
            text, found, pieces = self.first_that_differs(apart(differs[0])) or differs
            pytest.fail(f"{self.stage}: on {text!a}\nours   {found!a}\ntheirs {pieces!a}")
        return self.count

    def first_that_differs(self, texts: Sequence[str]) -> tuple[str, Pieces, Pieces] | None:
        """The text, our pieces of it and theirs."""
        theirs = [self.theirs(text) for text in texts]
        self.path.write_text(self.file(piece for pieces in theirs for piece, _ in pieces), encoding="utf-8")
        ours = self.native.load(self.path)
        for text, pieces in zip(texts, theirs, strict=True):
            encoding = ours.encode_with_offsets(text)
            tokens = [ours.id_to_token(number) for number in encoding.ids]
            found = list(zip(tokens, encoding.offsets, strict=True))
            if found != pieces:
                return text, found, pieces
        self.count = sum(map(len, theirs))
        return None


@pytest.fixture(params=[*KINDS, *OTHERS])
def pair(request: pytest.FixtureRequest, native: Any, tmp_path: Path) -> Pair:
    return Pair({**KINDS, **OTHERS}[request.param], native, tmp_path)


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest, native: Any, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return Pair(KINDS[request.param], native, tmp_path_factory.mktemp("kind"))


def test_texts_are_cut_alike(pair: Pair) -> None:
    signs = random.Random(1)
    nasty = ["".join(signs.choices(NASTY, k=signs.randint(1, 14))) for _ in range(60)]
    pair.compare([*TEXTS, *nasty])


def test_all_bytes_of_the_first_character_are_at_the_start(native: Any, tmp_path: Path) -> None:
    """Whichever stage wrote them, and each of them gets a mark in front where it is a piece of its own."""
    steps = sequence({"type": "FixedLength", "length": 1}, metaspace("first"))
    tokens = ["u", "Ã", "▁Ã", "©", "▁©", "<s>"]
    added = [special(5, "<s>")]
    normalizer = {"type": "ByteLevel"}
    file = file_of(tokens, normalizer=normalizer, pre_tokenizer=steps, added_tokens=added)
    ours, theirs = both(native, tmp_path, file)
    for text, ids in {"éé": [2, 4, 1, 3], "<s>é": [5, 1, 3], "é<s>é": [2, 4, 5, 1, 3]}.items():
        assert ours.encode(text, special="parse") == theirs.encode(text).ids == ids


@given(texts=st.lists(st.text(st.sampled_from(NASTY), max_size=14) | st.text(max_size=8), max_size=20))
def test_nasty_texts_are_cut_alike(kind: Pair, texts: list[str]) -> None:
    kind.compare(texts)


def test_pieces_of_the_corpora_are_cut_alike(kind: Pair, data: Path) -> None:
    texts = [
        text for name in CORPORA for text in cut(head(data / "corpus" / f"{name}.txt", 8_000), 800, 8_000)
    ]
    count = kind.compare(texts)
    print(f"{kind.stage}: {count} pieces, 0 differences")


# Characters for which one file is made.
MANY = 2_000


def compare_contexts(pair: Pair, codes: list[int]) -> None:
    texts = 0
    for at in range(0, len(codes), MANY):
        some = list(shared_contexts(codes[at : at + MANY]))
        pair.compare(some)
        texts += len(some)
    print(f"{pair.stage}: {len(codes)} characters in six contexts, {texts} texts, 0 differences")


def test_a_sample_of_all_characters_is_cut_alike(kind: Pair) -> None:
    codes = scalars([*range(0, sys.maxunicode + 1, 997), *range(0, 0x3000, 37)])
    compare_contexts(kind, sorted({*codes}))


@pytest.mark.slow
def test_every_character_is_cut_alike(kind: Pair) -> None:
    """All that are assigned; a sample stands for ranges where nothing is, or all is private."""
    compare_contexts(kind, EVERY)


def test_pieces_of_no_characters_are_refused(native: Any, tmp_path: Path) -> None:
    pair = Pair({"type": "FixedLength", "length": 5}, native, tmp_path)
    pair.stage = {"type": "FixedLength", "length": 0}
    pair.path.write_text(pair.file(["a"]), encoding="utf-8")
    with pytest.raises(native.FormatError) as raised:
        native.load(pair.path)
    assert raised.value.field == "pre_tokenizer[0].length"
