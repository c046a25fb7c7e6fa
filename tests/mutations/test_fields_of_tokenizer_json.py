"""Each field of a tokenizer.json as each other type of JSON, null, and left out.

Where the tokenizers library refuses what is left, we refuse it too, or say what was found, and refuse it with
`strict=True`. The plain run tries the fields that are not read; the slow one all of every component.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

Json = Any
Place = tuple[str | int, ...]

MISSING = object()
VALUES = [None, True, False, 0, 1, -1, 1.5, 2**40, "", "x", [], ["x"], [1], {}, {"a": 1}, MISSING]

FLAGS = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}
PIECES: list[Json] = [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
SECOND: Json = {"Sequence": {"id": "B", "type_id": 1}}

COMPONENTS: dict[str, list[Json]] = {
    "normalizer": [
        *({"type": name} for name in ("NFC", "Lowercase", "StripAccents", "Nmt", "ByteLevel")),
        {"type": "Strip", "strip_left": True, "strip_right": False},
        {"type": "Replace", "pattern": {"String": "a"}, "content": "b"},
        {"type": "Replace", "pattern": {"Regex": "a"}, "content": "b"},
        {"type": "Prepend", "prepend": "_"},
        {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
    ],
    "pre_tokenizer": [
        *({"type": name} for name in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")),
        {"type": "ByteLevel", **FLAGS},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True, "str_rep": "▁"},
        {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "prepend_scheme": "first"},
        {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False},
        {"type": "Punctuation", "behavior": "Isolated"},
        {"type": "Digits", "individual_digits": True},
        {"type": "CharDelimiterSplit", "delimiter": "-"},
        {"type": "FixedLength", "length": 3},
    ],
    "post_processor": [
        {"type": "ByteLevel", **FLAGS},
        {"type": "ByteLevel", **FLAGS, "trim_offsets": False},
        {"type": "BertProcessing", "sep": ["b", 2], "cls": ["a", 1]},
        {
            "type": "RobertaProcessing",
            "sep": ["b", 2],
            "cls": ["a", 1],
            "trim_offsets": True,
            "add_prefix_space": False,
        },
        {
            "type": "TemplateProcessing",
            "single": PIECES,
            "pair": [*PIECES, SECOND],
            "special_tokens": {"a": {"id": "a", "ids": [1], "tokens": ["a"]}},
        },
    ],
    "decoder": [
        {"type": "ByteLevel", **FLAGS},
        {"type": "WordPiece", "prefix": "##", "cleanup": True},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True, "str_rep": "▁"},
        {"type": "BPEDecoder", "suffix": "</w>"},
        {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
        *({"type": name} for name in ("ByteFallback", "Fuse")),
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        {"type": "Replace", "pattern": {"String": "_"}, "content": " "},
    ],
    "truncation": [{"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}],
    "padding": [
        {
            "strategy": strategy,
            "direction": "Left",
            "pad_to_multiple_of": 2,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "<unk>",
        }
        for strategy in ("BatchLongest", {"Fixed": 4})
    ],
    "model": [
        {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {"<unk>": 0, "a": 1, "b": 2, "ab": 3},
            "merges": [["a", "b"]],
        },
        {"vocab": {"<unk>": 0, "a": 1, "b": 2, "ab": 3}, "merges": ["a b"]},
        {
            "type": "WordPiece",
            "unk_token": "<unk>",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"<unk>": 0, "a": 1, "b": 2},
        },
        {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "a": 1, "b": 2}},
        {
            "type": "Unigram",
            "unk_id": 0,
            "byte_fallback": False,
            "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -2.0]],
        },
    ],
}
SEQUENCES = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "post_processor": "processors",
    "decoder": "decoders",
}
NOT_READ: list[Place] = [
    ("version",),
    ("added_tokens", 0, "id"),
    ("model", "type"),
    ("model", "byte_fallback"),
    ("truncation", "direction"),
    ("padding", "direction"),
    ("pre_tokenizer", "use_regex"),
    ("pre_tokenizer", "prepend_scheme"),
    ("pre_tokenizer", "str_rep"),
    ("pre_tokenizer", "behavior"),
    ("pre_tokenizer", "length"),
    ("post_processor", "use_regex"),
    ("post_processor", "special_tokens", "a", "id"),
    ("decoder", "use_regex"),
    ("decoder", "add_prefix_space"),
    ("decoder", "trim_offsets"),
    ("decoder", "prepend_scheme"),
    ("decoder", "str_rep"),
]


def document(part: str, component: Json) -> Json:
    token = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    found: Json = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": 0, "content": "<unk>", **token}],
        **dict.fromkeys(SEQUENCES),
        "model": COMPONENTS["model"][3],
    }
    return {**found, part: component}


def documents() -> Iterator[tuple[str, Json]]:
    for part, components in COMPONENTS.items():
        for component in components:
            yield part, document(part, component)


def places(value: Json, before: Place = ()) -> Iterator[Place]:
    if before:
        yield before
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in rows:
        yield from places(inner, (*before, key))


def at(value: Json, place: Place) -> Json:
    for key in place:
        value = value[key]
    return value


def put(value: Json, place: Place, new: Json) -> Json:
    """The document with another value at a place."""
    copy: Json = dict(value) if isinstance(value, dict) else list(value)
    if len(place) > 1:
        copy[place[0]] = put(copy[place[0]], place[1:], new)
    elif new is MISSING:
        del copy[place[0]]
    else:
        copy[place[0]] = new
    return copy


def compare(native: Any, path: Path, found: Json) -> str:
    """What both libraries make of a document; never in silence where the other one refuses it."""
    from tokenizers import Tokenizer

    text = json.dumps(found)
    path.write_text(text, encoding="utf-8")
    theirs = "loads"
    try:
        Tokenizer.from_str(text)
    except Exception:
        theirs = "refuses"
    try:
        tolerated = native.load(path).load_report.tolerated
    except native.TokenmillError:
        return f"{theirs}, refused"
    assert tolerated or theirs == "loads", text
    if not tolerated:
        assert native.load(path, strict=True).load_report.tolerated == []
        return f"{theirs}, loaded"
    with pytest.raises(native.FormatError) as caught:
        native.load(path, strict=True)
    assert (caught.value.kind, caught.value.field) == (tolerated[0].kind, tolerated[0].field)
    return f"{theirs}, tolerated"


def is_changed(whole: Json, place: Place, new: Json) -> bool:
    return new is MISSING or repr(at(whole, place)) != repr(new)


def test_fields_that_are_not_read_are_looked_at(native: Any, tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    for number, (part, whole) in enumerate(documents()):
        there = {place for place in places(whole) if place[0] == part or number == 0}
        for place in (place for place in NOT_READ if place in there):
            for new in VALUES:
                if is_changed(whole, place, new):
                    outcomes[compare(native, tmp_path / "tokenizer.json", put(whole, place, new))] += 1
    assert outcomes["refuses, tolerated"] >= 125, outcomes
    assert outcomes["loads, refused"] <= 1, outcomes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "in_sequence"), [*((part, False) for part in COMPONENTS), *((part, True) for part in SEQUENCES)]
)
def test_every_field_as_every_type(native: Any, tmp_path: Path, part: str, in_sequence: bool) -> None:
    outcomes: Counter[str] = Counter()
    for component in COMPONENTS[part]:
        used = {"type": "Sequence", SEQUENCES[part]: [component]} if in_sequence else component
        whole = document(part, used)
        assert compare(native, tmp_path / "tokenizer.json", whole) == "loads, loaded"
        for place in places(whole):
            for new in VALUES:
                if is_changed(whole, place, new):
                    outcomes[compare(native, tmp_path / "tokenizer.json", put(whole, place, new))] += 1
    print(f"{part}: {dict(outcomes)}")
    assert outcomes["refuses, tolerated"] > 0


def test_a_sound_file_has_no_findings(native: Any, tmp_path: Path) -> None:
    for _, whole in documents():
        assert compare(native, tmp_path / "tokenizer.json", whole) == "loads, loaded"
