"""Errors of use, and what every error looks like on the command line: one line, and a hint.

Errors of the library name Python arguments (`split=`, `errors="skip"`); here they name options (`--split`,
`--errors skip`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container

from tokenmill import (
    FormatError,
    PatternError,
    TrainingError,
    UnknownTokenError,
    VocabularyError,
)

__all__ = ["SPLITS", "UsageError", "explain"]

SPLITS = ("gpt2", "cl100k", "o200k", "llama3", "qwen2", "whitespace", "none")

_MOST_SHOWN = 300
"""The most characters of a file's name that an error shows."""
_NAMES = (
    *(
        "vocab_size",
        "num_merges",
        "normalizer",
        "split",
        "special_tokens",
        "special_ids",
        "tie_break",
        "min_frequency",
    ),
    *("max_token_length", "documents", "alphabet", "end_of_word_form", "end_of_word"),
    *(f"{role}_token" for role in ("add_bos", "add_eos", "bos", "eos", "unk", "sep", "pad", "cls", "mask")),
    *("errors", "num_threads", "special", "undefined", "lossy"),
    *("field", "column", "ids_column", "count_column", "offsets"),
    *("train_on", "allow_empty", "literals", "template", "add_generation_prompt"),
)
_NAME = "|".join(_NAMES)
# Not within quotes, dotted names of fields, or words of their own (`special tokens`, `the split`).
_BEFORE = r"(?<![\w.\"'`/-])"
_ARGUMENT = re.compile(rf"{_BEFORE}({_NAME})=(?:\"(\w+)\"|([\w-]+))?")
_FIELD = re.compile(rf"^({_NAME})(?:\[\d+\])?(?=: )")
_SNAKE = re.compile(rf"{_BEFORE}({'|'.join(name for name in _NAMES if '_' in name)})\b(?!=)")
_OR_VALUE = re.compile(r"(--[\w-]+ \w+) or \"(\w+)\"")


class UsageError(Exception):
    """Arguments or input that a command cannot work with."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def explain(error: Exception, options: Container[str] | None = None) -> tuple[str, str | None]:
    """The message of an error as one line, and what to do about it where that is known.

    ``options`` are those of the command: no other one is named. Without them every one is.
    """
    if isinstance(error, OSError) and error.strerror:
        name = error.filename
        message = f"{_shown(name)}: {error.strerror}" if name is not None else error.strerror
    elif isinstance(error, MemoryError):
        message = str(error) or "there is not enough memory"
    elif isinstance(error, UnicodeEncodeError):
        message = "an argument holds bytes that are not UTF-8"
    elif isinstance(error, UsageError):
        message = str(error)
    else:
        message = _in_options(str(error), getattr(error, "path", None), options)
    return " ".join(message.split("\n")), _hint(error)


def _shown(name: object) -> str:
    """The name of a file; only both ends of a very long one."""
    text = str(name)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN // 2]}…{text[-_MOST_SHOWN // 2 :]}"


def _in_options(message: str, path: str | None, options: Container[str] | None) -> str:
    """A message of the library with options in place of Python arguments; names of files stay as they are."""

    def where_there_is_one(write: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
        def written(found: re.Match[str]) -> str:
            return write(found) if options is None or _option(found[1]) in options else found[0]

        return written

    head = f"{path}: " if path is not None and message.startswith(f"{path}: ") else ""
    said = message.removeprefix(head)
    said = said.replace('; convert the file, or pass errors="replace" or "skip"', "")
    said = said.replace(", or what roles= names", "").replace(", or a function that rewrites it", "")
    said = said.replace(" and give them to load() again", " and give them again with each use")
    said = _FIELD.sub(where_there_is_one(lambda found: _option(found[1])), said)
    said = _ARGUMENT.sub(where_there_is_one(_argument), said)
    said = _SNAKE.sub(where_there_is_one(lambda found: _option(found[1])), said)
    said = _OR_VALUE.sub(r"\1 or \2", said)
    return head + said.replace("pass --", "give --")


def _option(name: str) -> str:
    return f"--{name.removesuffix('s') if name == 'special_tokens' else name}".replace("_", "-")


def _argument(found: re.Match[str]) -> str:
    name, *values = found.groups()
    value = next((value for value in values if value and value != "True"), None)
    return f"{_option(name)} {value}" if value else _option(name)


def _hint(error: Exception) -> str | None:
    if isinstance(error, UsageError):
        return error.hint
    if isinstance(error, IsADirectoryError) and error.filename is not None:
        folder = str(error.filename).rstrip("/")
        return f"'{folder}/*' in quotes takes the files in it, '{folder}/**' those of its folders too"
    if isinstance(error, FormatError) and getattr(error, "field", None) == "split":
        return "for instance --split cl100k; its special tokens, if it has any, by --special-token LITERAL=ID"
    if isinstance(error, PatternError):
        from .parsing import closest

        if meant := closest(error.pattern, SPLITS):
            return meant.removeprefix("; ")
        if getattr(error, "position", None) is not None:
            return f"--split takes {', '.join(SPLITS)}, or a regular expression"
    if isinstance(error, TrainingError) and getattr(error, "byte", None) is not None:
        # A file of another encoding is so as a whole, and nothing helps one that is damaged.
        if "iconv" in str(error) or not ("not UTF-8" in str(error) or "surrogate" in str(error)):
            return None
        return "--errors replace|skip: replace puts U+FFFD in its place, skip leaves the document out"
    if isinstance(error, VocabularyError) and getattr(error, "position", None) is not None:
        return "is this the tokenizer that made the ids?"
    if isinstance(error, UnknownTokenError):
        return "what is trained with --alphabet bytes spells every text"
    return None
