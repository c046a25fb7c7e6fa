"""Rows: what `report` cannot compare."""

from __future__ import annotations

from typing import Any

from tokenmill import errors

from errors.making import Row, Run, rows, with_tok

NO_PLACE: dict[str, object] = {"path": None, "byte": None}


def report(texts: Any = "low", **options: Any) -> Run:
    """A report of one tokenizer."""
    return with_tok(lambda tok, _: _native().report(tok, texts, **options))


def report_of(make: Any) -> Run:
    """A report of what a function makes of a tokenizer."""
    return with_tok(lambda tok, _: _native().report(make(tok), "low"))


def _native() -> Any:
    import tokenmill

    return tokenmill


REPORTS: list[Row] = [
    *rows(
        errors.TrainingError,
        ("no tokenizers to report", report_of(lambda _: []), "there are no tokenizers", NO_PLACE),
        ("nine tokenizers to report", report_of(lambda tok: [tok] * 9), "give at most 8", NO_PLACE),
        ("no texts to report", report({}), "texts is empty: give texts by name, or None", NO_PLACE),
        (
            "a name without text to report",
            report({"en": "low", "de": ""}),
            "texts['de'] has no text",
            NO_PLACE,
        ),
        (
            "parallel texts of two lengths",
            report({"en": ["low"], "de": ["tief", "nieder"]}, parallel=True),
            "parallel texts must be equally many: 'en' has 1, 'de' has 2",
            NO_PLACE,
        ),
        ("a reference that is no name", report(reference="fr"), "reference='fr' is none of", NO_PLACE),
        (
            "a reference of texts that are not parallel",
            report({"en": "low"}, reference="en"),
            "pass parallel=True where they do",
            NO_PLACE,
        ),
        (
            "a language that the declaration has not",
            report(None, reference="Latin"),
            "reference='Latin' is none of the languages: English, Chinese",
            NO_PLACE,
        ),
        ("parallel without texts", report(None, parallel=True), "are parallel anyway", NO_PLACE),
        ("an empty word to report", report(words=["low", ""]), "words[1] is empty", NO_PLACE),
        ("too many words to report", report(words=["low"] * 51), "give at most 50", NO_PLACE),
    ),
    *rows(
        TypeError,
        (
            "a path as a tokenizer to report",
            report_of(lambda _: {"a": "tok.json"}),
            "tokenizers['a'] must be a Tokenizer, not str",
        ),
        (
            "a number as a tokenizer's name",
            report_of(lambda tok: {1: tok}),
            "each key of tokenizers must be str",
        ),
        (
            "a number as a name of texts to report",
            report({5: "low"}),
            "each key of texts must be str, not int",
        ),
        ("a number among texts to report", report({"en": [5]}), "texts['en'][0] must be str, not int"),
        ("bytes to report", report(b"low"), "texts['texts'][0] must be str, not int"),
        ("one str as words", report(words="low"), "words must be an iterable of str, not one str"),
        ("a number as a word", report(words=[5]), "words[0] must be str, not int"),
    ),
]
