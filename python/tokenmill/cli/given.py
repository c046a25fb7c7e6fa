"""Texts in the command itself: those of ``--text``, and words in the place of a file."""

from __future__ import annotations

import argparse
import os
import re
import shlex

from .files import STDIN
from .streams import say
from .usage import UsageError

__all__ = ["COMMAND", "TEXT_HINT", "add_texts", "hint_of_text", "in_quotes", "texts_given"]

COMMAND = "the command"
"""What stands in the place of a file's name for a text in the command itself."""
TEXT_HINT = "a text itself goes after --text"

_ENDING = re.compile(r"\.(?![0-9]+$)\w{1,10}$")
"""The ending of a file's name, not that of a number (`it costs 3.5`)."""
_MOST_SHOWN = 60
"""Characters of a text that a hint repeats."""


def add_texts(parser: argparse.ArgumentParser) -> None:
    """``--text``, any number of times, and ``--binary``."""
    parser.add_argument(
        "--text",
        metavar="TEXT",
        dest="texts",
        action="append",
        default=[],
        help="a text itself, whatever is in it, in place of FILE; may be given again",
    )
    parser.add_argument(
        "--binary",
        action="store_true",
        help="take compressed files and UTF-16 as the bytes that they are, which is an error otherwise",
    )


def texts_given(files: list[str], texts: list[str], *, printed: bool) -> list[bytes]:
    """The texts that the command itself holds: those of ``--text``, or a FILE that is one.

    Such a FILE is the only one, has white space in it, is not a file and does not look like the path of one.
    It is taken for a text only where the result is ``printed``: there a mistyped path is noticed.
    """
    if texts:
        if files:
            raise UsageError("give FILE or --text, not both")
        for text in texts:
            if os.path.isfile(text):  # noqa: PTH113  # a Path raises where a text is too long for a name
                say(f"hint: without --text the file {text} is read; this is its name")
        return [os.fsencode(text) for text in texts]
    return [os.fsencode(text) for text in files if printed and len(files) == 1 and _is_text(text)]


def _is_text(word: str) -> bool:
    if len(word.split()) < 2 or {"/", os.sep} & set(word) or _ENDING.search(word) or os.path.lexists(word):
        return False
    from glob import glob

    return not glob(word)  # noqa: PTH207  # `what is this?` is a pattern too


def hint_of_text(files: list[str]) -> str | None:
    """The hint for words given as files where a text may be meant; None if any of them is a file."""
    if any(name == STDIN or os.path.lexists(name) for name in files):
        return None
    text = " ".join(files)
    return f"{TEXT_HINT}: --text {in_quotes(text if len(text) <= _MOST_SHOWN else 'some words')}"


def in_quotes(text: str) -> str:
    """The text as one word for a shell: in double quotes, if the shell expands nothing in it."""
    return shlex.quote(text) if set(text) & set('"$`\\!') else f'"{text}"'
