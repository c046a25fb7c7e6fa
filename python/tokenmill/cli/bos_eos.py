"""``--bos`` and ``--eos``: a token before and after each document."""

from __future__ import annotations

import argparse
import contextlib
import os
from typing import TYPE_CHECKING, NamedTuple

from tokenmill import TokenmillError

from .given import in_quotes
from .parsing import closest
from .terminal import visible
from .usage import UsageError

if TYPE_CHECKING:
    from tokenmill import Tokenizer

__all__ = ["BosEos", "add_bos_eos", "read_bos_eos"]

_ROLE = object()
"""The value of an option that is given without a token."""
_WORDS = {"--bos": "begins", "--eos": "ends"}
_MOST_SHOWN = 5
"""The most special tokens that a hint lists."""
_MOST_CHARACTERS = 60
"""The most characters that an error shows of a text that was taken for a token."""


class BosEos(NamedTuple):
    """The ids before and after each document: none, or one each."""

    bos: list[int]
    eos: list[int]


def add_bos_eos(parser: argparse.ArgumentParser) -> None:
    """``--bos`` and ``--eos``, with a token or without."""
    for option, where in (("--bos", "before"), ("--eos", "after")):
        parser.add_argument(
            option,
            nargs="?",
            const=_ROLE,
            metavar="TOKEN",
            help=f"put this token {where} each document, a literal or an id; without TOKEN the one that "
            f"{_WORDS[option]} a text, if the tokenizer names one",
        )


def read_bos_eos(tokenizer: Tokenizer, args: argparse.Namespace) -> BosEos:
    """The ids that the options mean. Raises ``UsageError`` for what is no token."""
    bos_eos = BosEos(
        _ids(tokenizer, "--bos", args.bos, tokenizer.bos_token_id),
        _ids(tokenizer, "--eos", args.eos, tokenizer.eos_token_id),
    )
    if args.add_special_tokens and (bos_eos.bos or bos_eos.eos):
        _check_not_doubled(tokenizer, bos_eos)
    return bos_eos


def _ids(tokenizer: Tokenizer, option: str, given: object, role: int | None) -> list[int]:
    if given is None:
        return []
    if isinstance(given, str):
        return [_id(tokenizer, option, given)]
    if role is not None:
        return [role]
    special = list(map(visible, tokenizer.special_tokens))
    shown = ", ".join(special[:_MOST_SHOWN]) + ", ..." * (len(special) > _MOST_SHOWN)
    raise UsageError(
        f"{option}: the tokenizer does not say which token {_WORDS[option]} a text",
        hint=f"{option} TOKEN, its literal or id; special tokens: {shown or 'none'}",
    )


def _id(tokenizer: Tokenizer, option: str, given: str) -> int:
    """The id of a special token's literal, a number, or the written form of another token."""
    special = tokenizer.special_tokens
    if given in special:
        return special[given]
    if given.isascii() and given.isdigit():
        number = int(given) if len(given) <= 10 else 1 << 32
        if number < 1 << 32 and tokenizer.id_to_token(number) is not None:
            return number
        raise UsageError(
            f"{option} {given[:40]}: the vocabulary has no such id", hint="`tokenmill info` shows the largest"
        )
    found = tokenizer.token_to_id(given)
    if found is not None:
        return found
    hint = f"`tokenmill vocab` lists the tokens; if it is the text, do not put it right after {option}"
    if os.path.lexists(given):
        hint = f"if it is a file, put {option} after it: {given} {option}"
    elif len(given.split()) > 1:
        text = given if len(given) <= _MOST_CHARACTERS else "some words"
        hint = f"if it is the text, do not put it right after {option}: --text {in_quotes(text)} {option}"
    shown = given if len(given) <= _MOST_CHARACTERS else given[:_MOST_CHARACTERS] + "…"
    raise UsageError(
        f"{option} {visible(shown)}: no token and no id of the vocabulary{closest(given, special)}", hint=hint
    )


def _check_not_doubled(tokenizer: Tokenizer, bos_eos: BosEos) -> None:
    """Refuse to put the same token twice in a row, by the option and by the tokenizer's template."""
    with contextlib.suppress(TokenmillError):  # the vocabulary may be unable to spell this text
        alone = tokenizer.encode("a")
        within = tokenizer.encode("a", add_special_tokens=True)
        for option, ids, place in (("--bos", bos_eos.bos, 0), ("--eos", bos_eos.eos, -1)):
            if ids and within and within[place] == ids[0] and alone[place:][:1] != ids:
                raise UsageError(
                    f"{option} and --add-special-tokens would both put {tokenizer.id_to_token(ids[0])} there",
                    hint="leave one of them out",
                )
