"""The argument parser: argparse, with guesses at what was meant, and numbers as people write them."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any, NoReturn

from .streams import print_page
from .usage import UsageError

__all__ = ["Help", "Parser", "check_words", "closest", "whole_number"]

_NUMBER = re.compile(r"([0-9]{1,15}|[0-9]{1,3}(?:[,_][0-9]{3}){1,4})([kKmM]?)")
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_NEGATIVE = re.compile(r"-[0-9.]+")
_SHORT = {"-o": "--out"}
"""Short options of other programs."""
_BEGINNING = 3
"""The fewest characters that are taken for the beginning of a name."""
_MOST_MEANT = 2
"""The most names with one beginning that a guess lists."""


class Help(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of a command's own description."""


class Parser(argparse.ArgumentParser):
    """Errors are raised, not printed, and name the page that helps. A parser is for one command line."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._given: set[str] = set()

    def error(self, message: str) -> NoReturn:
        """Raise what argparse found."""
        message = message.removeprefix("argument ").replace("one of the arguments ", "one of ")
        message = message.replace("the following arguments are required:", "missing:")
        raise UsageError(message, hint=f"{self.prog} --help")

    def _print_message(self, message: str, file: object = None) -> None:  # noqa: ARG002
        """Print the page of --help or --version; argparse would ignore that it cannot be written."""
        print_page(message)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Refuse an option of one value that is given again; argparse would take the last one in silence."""
        if action.option_strings and action.nargs != 0 and not isinstance(action, argparse._AppendAction):
            if action.dest in self._given:
                raise UsageError(
                    f"{'/'.join(action.option_strings)} is given twice, and takes one value",
                    hint=f"{self.prog} --help",
                )
            self._given.add(action.dest)
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Say what could have been chosen, in words that no version of Python changes."""
        if action.choices is None or value in action.choices:
            return
        choices = list(map(str, action.choices))
        meant = closest(str(value), choices)
        raise argparse.ArgumentError(action, f"{value!r} is none of {', '.join(choices)}{meant}")


def check_words(parser: Parser, commands: Mapping[str, Parser], words: Sequence[str]) -> None:
    """Refuse a command or an option that does not exist, and guess which one was meant.

    argparse would complain of something else first, such as the option that is missing instead.
    """
    page = f"{parser.prog} --help"
    for place, word in enumerate(words):
        if word.startswith("-"):
            _check_option(parser, word)
        elif word not in commands:
            meant = closest(word, commands) or f"; there are {', '.join(commands)}"
            raise UsageError(f"no command is called {word!r}{meant}", hint=page)
        else:
            for before, option in pairwise(takewhile(lambda word: word != "--", words[place:])):
                _check_option(commands[word], option, before)
            return
    if not words:
        raise UsageError(f"no command is given; there are {', '.join(commands)}", hint=page)


def _check_option(parser: Parser, word: str, before: str = "") -> None:
    if not word.startswith("-") or word == "-" or " " in word or _NEGATIVE.fullmatch(word):
        return  # argparse does not take it for an option either
    known = parser._option_string_actions
    name = word.partition("=")[0]
    if name in known:
        return
    short = known.get(word[:2])
    if short is not None and short.nargs != 0 and f"-{name}" not in known:  # -tPATH
        return
    hint = f"{parser.prog} --help"
    options = [option for option in known if option.startswith("--")]
    if name in _SHORT and _SHORT[name] in options:
        raise UsageError(f"{parser.prog} has no option {name}; did you mean {_SHORT[name]}?", hint=hint)
    meant = closest(name.replace("_", "-"), options)
    taker = known.get(before)
    if not meant and taker is not None and taker.nargs != 0:
        hint = f"if it belongs to {before}: {before}={word}"
    elif not word.startswith("--") or "text" in (action.dest for action in parser._actions):
        hint += "; what begins with - and is no option goes after --"
    raise UsageError(f"{parser.prog} has no option {name}{meant}", hint=hint)


def closest(word: str, known: Iterable[str]) -> str:
    """``; did you mean ...?``: names that begin with the word, else one that is near, or nothing."""
    names = {name.lstrip("-"): name for name in known}
    word = word.lstrip("-").lower()
    longer = [name for name in names if name.startswith(word)] if len(word) >= _BEGINNING else []
    near = longer if 0 < len(longer) <= _MOST_MEANT else difflib.get_close_matches(word, names, n=1)
    return f"; did you mean {' or '.join(names[name] for name in near)}?" if near else ""


def whole_number(lowest: int) -> Callable[[str], int]:
    """A function that reads ``32000``, ``32_000``, ``32,000`` and ``32k`` (32,000, not 32,768)."""

    def read(text: str) -> int:
        found = _NUMBER.fullmatch(text.strip())
        number = int(re.sub("[,_]", "", found[1])) * _FACTORS[found[2].lower()] if found else -1
        if number < lowest:
            raise argparse.ArgumentTypeError(
                f"{text[:30]!r} is not a whole number from {lowest} on; write 32000, 32_000 or 32k"
            )
        return number

    return read
