"""Rows: budgets of ids that cannot be met, and vocabularies that an algorithm cannot serve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenmill import errors

from errors.making import Run, rows

NOTHING: dict[str, object] = {"needed": None, "limit": None}


def grown(change: Any, kind: str = "appender") -> Run:
    """Change a text of three characters."""

    def run(native: Any, folder: Path) -> object:
        tok = native.Tokenizer.from_tokens([b"a", b"b", b"ab"])
        text = getattr(tok, kind)()
        text.push("aab")
        return change(tok, text)

    return run


def by(name: str, tok: Any) -> Run:
    from tokenmill import algorithms

    return lambda native, folder: getattr(algorithms, name)(tok(native), "a")


def over_characters(native: Any) -> Any:
    return native.train(texts=["low"], num_merges=1, alphabet="chars")


def shortened(tok: Any, appender: Any) -> object:
    snapshot = appender.snapshot()
    appender.truncate(1)
    return appender.restore(snapshot)


def cut(change: Any) -> Run:
    """Cut a text with a vocabulary of three tokens."""
    return lambda native, folder: change(native.Tokenizer.from_tokens([b"a", b"b", b"ab"]))


BUDGETS = list(
    rows(
        errors.BudgetError,
        (
            "an algorithm over bytes, for characters",
            by("table", over_characters),
            "heap serves every",
            NOTHING,
        ),
        (
            "a text that is cut to more than it has",
            grown(lambda tok, appender: appender.truncate(4)),
            "the text has 3 characters; it cannot be cut to 4",
            NOTHING,
        ),
        ("a snapshot of a text that is gone", grown(shortened), "which cannot be restored", NOTHING),
        (
            "an overlap of a whole chunk",
            cut(lambda tok: tok.chunk("abab", 2, overlap=2)),
            "an overlap of 2 leaves nothing of a chunk of 2 ids",
            {"needed": None, "limit": 2},
        ),
        (
            "a line over the budget",
            cut(lambda tok: tok.chunk("aab", 1, at="line", oversize="error")),
            'the line at character 0, "aab", needs 2 ids, over the limit of 1',
            {"needed": 2, "limit": 1},
        ),
        (
            "a snapshot of another appender",
            grown(lambda tok, appender: appender.restore(tok.appender().snapshot())),
            "is of another appender",
            NOTHING,
        ),
        (
            "a text that grew in front is cut to more than it has",
            grown(lambda tok, prepender: prepender.truncate(4), "prepender"),
            "the text has 3 characters; it cannot be cut to 4",
            NOTHING,
        ),
        (
            "a snapshot of another prepender",
            grown(lambda tok, prepender: prepender.restore(tok.prepender().snapshot()), "prepender"),
            "is of another prepender",
            NOTHING,
        ),
        (
            "a range that a text does not have",
            cut(lambda tok: tok.interval_counter("aab").count(2, 5)),
            "there is no range from 2 to 5 in a text of 3 characters",
            NOTHING,
        ),
        (
            "a range that begins inside a character",
            lambda native, folder: (
                native.train(texts=["é"], num_merges=0).interval_counter("é").fits(1, 1, "bytes")
            ),
            "byte 1 is inside a character",
            NOTHING,
        ),
        (
            "a change behind the end of a text",
            cut(lambda tok: tok.edit("aab", tok.encode_with_offsets("aab"), 2, 5, "")),
            "there is no range from 2 to 5 in a text of 3 characters",
            NOTHING,
        ),
        (
            "a change of a text with a pair",
            cut(lambda tok: tok.edit("aab", tok.encode_with_offsets("aab", "ab"), 0, 1, "")),
            "the encoding has a pair",
            NOTHING,
        ),
        (
            "a change of a text with the encoding of another",
            cut(lambda tok: tok.edit("aab", tok.encode_with_offsets("bbb"), 0, 1, "")),
            "the encoding is not that of the text",
            NOTHING,
        ),
    )
)
