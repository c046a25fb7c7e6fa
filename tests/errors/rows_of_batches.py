"""Rows: lists of texts that a call cannot take. Each names the text: `text[1]` in lists and in arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenmill import errors

from errors.making import Row, Run, rows, with_chars, with_tok
from errors.rows_of_compat import with_object

WORDS: dict[str, Any] = {"is_pretokenized": True}
RAISE: dict[str, Any] = {"special": "raise"}
ERROR: dict[str, Any] = {"surrogates": "error"}
FIRST: dict[str, Any] = {"truncation": "only_first", "max_length": 2}
SECOND: dict[str, Any] = {**FIRST, "truncation": "only_second"}

ARRAYS: dict[str, Any] = {"return_tensors": "np", "padding": True, "pad_id": 0}
FORMS: dict[str, dict[str, Any]] = {
    "in lists": {},
    # These are made in another way.
    "in arrays": ARRAYS,
    "in arrays with offsets": {**ARRAYS, "return_offsets_mapping": True},
}


def calling(*given: Any, **options: Any) -> Callable[[Any, Path], object]:
    return lambda tok, _: tok(*given, **options)


def in_all_forms(error: type[BaseException], *entries: tuple[Any, ...]) -> list[Row]:
    """Rows of a call with these texts and options, in every form of the result."""
    made: list[Row] = []
    for name, given, options, says, *facts in entries:
        chosen = with_chars if error is errors.UnknownTokenError else with_tok
        for form, more in FORMS.items():
            run: Run = chosen(calling(*given, **options, **more))
            made += rows(error, (f"{name}, {form}", run, says, *facts))
    return made


def with_offsets(*given: Any, **options: Any) -> Run:
    return with_tok(lambda tok, _: tok.encode_with_offsets(*given, **options))


LOW = ["low", "low"]

BATCHES: list[Row] = [
    *in_all_forms(
        errors.SpecialTokenError,
        (
            "a special token in a list",
            [["low", "é<s>"]],
            RAISE,
            'text[1]: special token "<s>" at character 1',
            {"token": "<s>", "position": 1},
        ),
        ("a special token in bytes of a list", [["low", "é<s>".encode()]], RAISE, "text[1]: special token"),
        ("a special token in a list of pairs", [LOW, ["low", "é<s>"]], RAISE, "pair[1]: special token"),
        ("a special token in the text of a pair", ["é<s>", "low"], RAISE, "text: special token"),
        ("a special token in a pair", ["low", "é<s>"], RAISE, "pair: special token"),
        (
            "a special token in a word of a list",
            [[["low"], ["a", "é<s>"]]],
            {**RAISE, **WORDS},
            "text[1][1]: special token",
            {"token": "<s>", "position": 1},
        ),
        (
            "a special token in a word of a pair in a list",
            [[LOW, LOW], [LOW, ["low", "low", "é<s>"]]],
            {**RAISE, **WORDS},
            "pair[1][2]: special token",
        ),
        ("a special token in a word", [["low", "é<s>"]], {**RAISE, **WORDS}, "text[1]: special token"),
        (
            "a special token in a word of a pair",
            [LOW, ["low", "<s>"]],
            {**RAISE, **WORDS},
            "pair[1]: special",
        ),
    ),
    *in_all_forms(
        errors.UnknownTokenError,
        (
            "an unknown character in a list",
            [["low", "low x"]],
            {},
            'text[1]: the vocabulary cannot spell "x" (character 4',
            {"char": "x", "position": 4},
        ),
        (
            "an unknown character in a list of pairs",
            [LOW, ["x", "low"]],
            {},
            "pair[0]: the vocabulary cannot",
        ),
        ("an unknown character in a word of a list", [[["low"], ["lo", "x"]]], WORDS, "text[1][1]: the voc"),
    ),
    *in_all_forms(
        UnicodeEncodeError,
        ("a surrogate in a list", [["a", "aé\ud800"]], ERROR, "in text[1]; pass", {"start": 2, "end": 3}),
        ("a surrogate in a list of pairs", [LOW, ["a", "\ud800"]], ERROR, "in pair[1]; pass"),
        ("a surrogate in a pair", ["a", "\ud800"], ERROR, "in pair; pass"),
        ("a surrogate in a word of a list", [[["a"], ["b", "\ud800"]]], {**ERROR, **WORDS}, "in text[1][1];"),
    ),
    *in_all_forms(
        TypeError,
        (
            "a number in a list",
            [["a", 3]],
            {},
            "text[1] must be str, bytes, bytearray or memoryview, not int",
        ),
        (
            "a list in a list",
            [["a", ["b"]]],
            {},
            "text[1] must be str, bytes, bytearray or memoryview, not list",
        ),
        ("a number in a list of pairs", [LOW, ["a", 3]], {}, "pair[1] must be str"),
        ("a number as a pair", ["a", 3], {}, "pair must be str"),
        ("a number as words in a list", [[["a"], 3]], WORDS, "text[1] must be a sequence of words where"),
        ("a text as words in a list", [[["a"], "b"]], WORDS, "text[1] must be a sequence of words where"),
        (
            "a dict as words in a list",
            [[["a"], {"b": 1}]],
            WORDS,
            "text[1] must be a sequence of words where",
        ),
        (
            "a text as words of a pair in a list",
            [[LOW, LOW], [LOW, "b"]],
            WORDS,
            "pair[1] must be a sequence",
        ),
        ("a number as a word in a list", [[["a"], ["b", 3]]], WORDS, "text[1][1] must be str"),
        (
            "a number as a word of a pair in a list",
            [[LOW, LOW], [LOW, ["b", 3]]],
            WORDS,
            "pair[1][1] must be",
        ),
        ("a number as a word", [["a", 3]], WORDS, "text[1] must be str"),
        ("a number as a word of a pair", [LOW, ["b", 3]], WORDS, "pair[1] must be str"),
        (
            "one pair for many texts",
            [LOW, "low"],
            {},
            "pair must be a list as long as that of the texts: of 2, not one",
        ),
    ),
    *in_all_forms(
        ValueError,
        ("fewer pairs than texts", [LOW, ["low"]], {}, "of 2, not of 1"),
        (
            "a list with a text too short to be cut alone",
            [["low" * 9, "a"], ["low", "low low low"]],
            FIRST,
            "text[1]: the first sequence has 1 ids",
        ),
        (
            "a list with a pair too short to be cut alone",
            [["low", "low low low"], ["low" * 9, "a"]],
            SECOND,
            "pair[1]: the second sequence has 1 ids",
        ),
        (
            "a pair too short to be cut alone",
            ["low low low", "a"],
            SECOND,
            "pair: the second sequence has 1 ids",
        ),
        (
            "a list with a window not longer than the stride",
            [["low" * 9, "low" * 9], ["low", "abc"]],
            {**FIRST, "max_length": 4, "stride": 1},
            "text[1]: stride=1 is not below 1",
        ),
    ),
    *rows(
        errors.SpecialTokenError,
        (
            "a special token in a pair with offsets",
            with_offsets("low", "é<s>", **RAISE),
            "pair: special token",
        ),
        (
            "a special token in a word with offsets",
            with_offsets(["a", "é<s>"], **RAISE, **WORDS),
            "text[1]: special token",
            {"token": "<s>", "position": 1},
        ),
    ),
    *rows(
        TypeError,
        ("a number as a pair with offsets", with_offsets("low", 3), "pair must be str"),
        (
            "a number as a word with offsets",
            with_offsets(["low"], ["low", 3], **WORDS),
            "pair[1] must be str",
        ),
        (
            "half of a pair in a batch of an object",
            with_object(lambda one: one.encode_batch(["a", "a\ud800"])),
            "in input[1];",
        ),
        (
            "half of a pair in a pair of a batch of an object",
            with_object(lambda one: one.encode_batch([("a", "b"), ("a", "a\ud800")])),
            "in input[1][1];",
        ),
    ),
]
