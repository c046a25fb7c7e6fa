"""`untrusted=` and `protected=` beside a plain twin, on the texts of the bank of injections.

The twin is the rule, written down without any engine: a literal that touches an untrusted character is no
literal if its token is special or protected; of the others the leftmost counts, of those the longest; then
the conditions of its token on what stands beside it. Tokens that are matched in normalized text are looked
for in what the first search leaves, normalized character by character.
"""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from .injections import Words, bank

Span = tuple[int, int]
Found = tuple[int, int, int]
Normalize = Callable[[str], str]
"""What becomes of one character."""

WORDS = Words("<|im_start|>", "<|im_end|>", "<think>", "<|pad|>")
#: Literals that begin, end and hold each other, with every flag.
FLAGS = [
    ("<|im_start|>", "special normalized rstrip"),
    ("<|im_end|>", "special normalized lstrip"),
    ("<|im_end|>x", "special"),
    ("<|im_", "special normalized"),
    ("im_end", "special single_word normalized"),
    ("end|>", ""),
    ("|>", "normalized lstrip"),
    ("<|pad|>", "special lstrip rstrip"),
    ("<think>", "normalized lstrip rstrip"),
    ("</think>", "rstrip"),
    ("<think", "normalized"),
    ("think>x", "single_word"),
    ("<tool_call>", "special rstrip"),
    ("tool_c", ""),
]
FLAG_NAMES = ("special", "single_word", "lstrip", "rstrip", "normalized")


class Token(NamedTuple):
    id: int
    literal: str
    flags: frozenset[str]


def _nfkc(char: str) -> str:
    return unicodedata.normalize("NFKC", char)


def _lower(char: str) -> str:
    return char.lower()


def _bare(char: str) -> str:
    """Nothing for what is not seen."""
    return "" if unicodedata.category(char) in ("Cf", "Mn", "Cc") and char not in "\n\t" else char


def _all(char: str) -> str:
    return "".join(_lower(_bare(each)) for each in _nfkc(char))


NORMALIZERS: dict[str, Normalize] = {"lower": _lower, "nfkc": _nfkc, "bare": _bare, "all": _all}


def pieces_of(normalize: Normalize) -> Callable[[str], list[tuple[str, int, int]]]:
    """The same as a function for `with_normalizer`."""
    return lambda text: [(normalize(char), at, at + 1) for at, char in enumerate(text)]


# ---- the twin ------------------------------------------------------------------------------------


class Marked:
    """A text, each character with its place in the text that was given, and whether it is untrusted."""

    def __init__(self, text: str, spans: list[Span], untrusted: set[int]) -> None:
        self.text, self.spans, self.untrusted = text, spans, untrusted

    def touched(self, start: int, stop: int) -> bool:
        return not self.untrusted.isdisjoint(range(self.spans[start][0], self.spans[stop - 1][1]))


def found_in(marked: Marked, tokens: list[tuple[str, Token]], guarded: set[int]) -> Iterator[Found]:
    """The tokens in one search: places in ``marked``."""
    text, at, behind = marked.text, 0, 0
    while at < len(text):
        here = [
            (literal, token)
            for literal, token in tokens
            if text.startswith(literal, at)
            and not (token.id in guarded and marked.touched(at, at + len(literal)))
        ]
        if not here:
            at += 1
            continue
        literal, token = max(here, key=lambda pair: len(pair[0]))
        start, stop = at, at + len(literal)
        at = stop
        if "single_word" in token.flags:
            beside = text[start - 1 : start] + text[stop : stop + 1]
            if re.search(r"\w", beside):
                continue
        if "lstrip" in token.flags:
            start = max(behind, len(text[:start].rstrip()))
        if "rstrip" in token.flags:
            stop += len(text[stop:]) - len(text[stop:].lstrip())
        at = behind = stop
        yield start, stop, token.id


class Twin:
    """The added tokens of a tokenizer, and its normalizer."""

    def __init__(self, tokens: list[Token], normalize: Normalize) -> None:
        self.normalize = normalize
        self.tokens = tokens
        self.first = [(token.literal, token) for token in tokens if "normalized" not in token.flags]
        self.second = [
            ("".join(map(normalize, token.literal)), token) for token in tokens if "normalized" in token.flags
        ]

    def parts(self, text: str, untrusted: list[Span], protected: set[int]) -> Iterator[Found | str]:
        """The tokens, and the normalized text between them."""
        guarded = {token.id for token in self.tokens if "special" in token.flags} | protected
        marks = {at for start, stop in untrusted for at in range(start, stop)}
        raw = Marked(text, [(at, at + 1) for at in range(len(text))], marks)
        at = 0
        for start, stop, id in [*found_in(raw, self.first, guarded), (len(text), len(text), -1)]:
            yield from self._normalized(text[at:start], at, marks, guarded)
            if id >= 0:
                yield start, stop, id
            at = stop

    def _normalized(
        self, text: str, offset: int, marks: set[int], guarded: set[int]
    ) -> Iterator[Found | str]:
        chars, spans = [], []
        for at, given in enumerate(text, offset):
            for char in self.normalize(given):
                chars.append(char)
                spans.append((at, at + 1))
        marked = Marked("".join(chars), spans, marks)
        at = 0
        for start, stop, id in found_in(marked, self.second, guarded):
            if at < start:
                yield marked.text[at:start]
            yield spans[start][0], spans[stop - 1][1], id
            at = stop
        if at < len(chars):
            yield marked.text[at:]


# ---- texts ---------------------------------------------------------------------------------------


def texts(rng: random.Random, words: Words, count: int) -> Iterator[tuple[str, list[Span]]]:
    """Texts of the bank, side by side, and ranges in them, some of which begin and end where a text does."""
    fields = [text for case in bank() for text in case.texts(words).values() if text]
    for _ in range(count):
        parts = rng.choices(fields, k=rng.randint(1, 4))
        if rng.random() < 0.5:
            parts.insert(rng.randrange(len(parts)), rng.choice(words))
        text = "".join(parts)
        bounds = [0]
        for part in parts:
            bounds.append(bounds[-1] + len(part))
        ranges = []
        for _ in range(rng.randint(0, 4)):
            if rng.random() < 0.5:
                at = rng.randrange(len(parts))
                ranges.append((bounds[at], bounds[at + 1]))
            else:
                start, stop = sorted(rng.choices(range(len(text) + 1), k=2))
                ranges.append((start, min(stop, start + rng.randint(0, 9))))
        yield text, ranges


@pytest.fixture(scope="module")
def base(native: Any, data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, list[Token]]:
    """GPT-2 with added tokens and without, and the tokens."""
    folder = data / "vocab" / "gpt2"
    file = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    file["added_tokens"] = []
    tokens = [
        Token(id, literal, frozenset(flags.split())) for id, (literal, flags) in enumerate(FLAGS, 50_257)
    ]
    path = tmp_path_factory.mktemp("twin") / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    plain = native.load(path)
    # So that each has the id given to it, and text is never spelled with it.
    assert not any(plain.token_to_id(token.literal) for token in tokens)
    file["added_tokens"] = [
        {"id": token.id, "content": token.literal, **{name: name in token.flags for name in FLAG_NAMES}}
        for token in tokens
    ]
    path.write_text(json.dumps(file), encoding="utf-8")
    return native.load(path), plain, tokens


slow_too = pytest.mark.parametrize("count", [150, pytest.param(6_000, marks=pytest.mark.slow)])


@slow_too
@pytest.mark.parametrize("name", [None, "lower as text", *NORMALIZERS])
def test_ids_are_those_of_the_twin(base: tuple[Any, Any, list[Token]], name: str | None, count: int) -> None:
    tok, plain, tokens = base
    normalize: Normalize = str
    if name == "lower as text":  # aligned by comparison
        normalize, tok = _lower, tok.with_normalizer(lambda text: "".join(map(_lower, text)))
    elif name is not None:
        normalize = NORMALIZERS[name]
        tok = tok.with_normalizer(pieces_of(normalize))
    twin = Twin(tokens, normalize)
    rng = random.Random(f"{name}")
    found = dropped = 0
    for text, untrusted in texts(rng, WORDS, count):
        protected = {token.id for token in tokens if rng.random() < 0.3}
        options: dict[str, Any] = {"untrusted": untrusted, "protected": protected}
        parts = list(twin.parts(text, untrusted, protected))
        expected = [part for part in parts if not isinstance(part, str)]
        context = (text, untrusted, protected)
        assert tok.find_added(text, **options) == expected, context
        ids: list[int] = []
        for part in parts:
            ids += plain.encode(part) if isinstance(part, str) else [part[2]]
        assert tok.encode(text, special="parse", **options) == ids, context
        assert tok.count(text, special="parse", **options) == len(ids)
        encoding = tok.encode_with_offsets(text, special="parse", **options)
        assert encoding.ids == ids, context
        found += len(expected)
        dropped += len(tok.find_added(text)) - len(expected)
    print(f"{name}: {count} texts, {found} tokens found, {dropped} fewer than in trusted text")
    assert found > count // 2
    assert dropped > count // 4


#: Tokenizers whose added tokens are found in the text as it is.
PUBLISHED = {
    "qwen3": Words("<|im_start|>", "<|im_end|>", "<tool_call>", "<|endoftext|>"),
    "llama3.1": Words("<|start_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"),
    "gpt-oss": Words("<|start|>", "<|end|>", "<|message|>", "<|endoftext|>"),
    "mistral-7b-v0.3": Words("[INST]", "</s>", "[TOOL_CALLS]", "[control_8]"),
    "phi-3-mini": Words("<|user|>", "<|end|>", "</s>", "<|placeholder1|>"),
    "bert-base-uncased": Words("[CLS]", "[SEP]", "[MASK]", "[PAD]"),
    "t5-small": Words("<extra_id_1>", "<extra_id_10>", "</s>", "<pad>"),
    "llama2": Words("<s>", "</s>", "<unk>", "<<SYS>>"),
}


@slow_too
@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_found_is_what_the_twin_finds(native: Any, data: Path, name: str, count: int) -> None:
    path = data / "vocab" / name / "tokenizer.json"
    tok = native.load(path)
    tokens = [
        Token(entry["id"], entry["content"], frozenset(flag for flag in FLAG_NAMES if entry[flag]))
        for entry in json.loads(path.read_text(encoding="utf-8"))["added_tokens"]
    ]
    assert not any("normalized" in token.flags for token in tokens)
    twin = Twin(tokens, str)
    rng = random.Random(name)
    for text, untrusted in texts(rng, PUBLISHED[name], count // 3):
        protected = {token.id for token in tokens if rng.random() < 0.3}
        options: dict[str, Any] = {"untrusted": untrusted, "protected": protected}
        parts = twin.parts(text, untrusted, protected)
        expected = [part for part in parts if not isinstance(part, str)]
        assert tok.find_added(text, **options) == expected, (text, untrusted)
        ids = tok.encode(text, special="parse", **options)
        added = {token.id for token in tokens} - {tok.unk_token_id}
        assert [id for id in ids if id in added] == [id for _, _, id in expected if id in added]
        assert tok.encode_with_offsets(text, special="parse", **options).ids == ids
