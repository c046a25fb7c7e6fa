"""Arguments that several commands share, and how they are read."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from tokenmill import MissingExtraError

from .streams import say
from .usage import UsageError, explain

if TYPE_CHECKING:
    from tokenmill import Tokenizer

__all__ = [
    "ROLES",
    "add_files",
    "add_offline",
    "add_output",
    "add_special",
    "add_tokenizer",
    "add_unsaid",
    "load_named",
    "load_tokenizer",
    "special_tokens",
]

ROLES = {
    "bos": "the beginning of a text",
    "eos": "the end of a text",
    "unk": "what the vocabulary cannot spell; with --alphabet chars, characters that are not known",
    "sep": "what separates two texts",
    "pad": "padding",
    "cls": "what represents a whole text",
    "mask": "what is to be predicted",
}
"""The roles that a token can have, and what it is then for."""
_WITH_ID = re.compile("(.+)=([0-9]{1,20})", re.DOTALL)


def add_tokenizer(
    parser: argparse.ArgumentParser, *, required: bool = True, place: str | None = None
) -> None:
    """``-t``, or a word called ``place``, and what a file without split or special tokens needs."""
    group = parser.add_argument_group("the tokenizer")
    what = (
        "tokenizer.json, a .tiktoken file, vocab.json with merges.txt, or a folder; else the name of an "
        "encoding such as cl100k_base, or a repository of the Hugging Face hub (owner/name), which are "
        "downloaded"
    )
    if place is None:
        group.add_argument("-t", "--tokenizer", metavar="NAME", required=required, help=what)
    else:
        group.add_argument("tokenizer", metavar=place, help=what)
    group.add_argument("--revision", metavar="REV", help="branch, tag or commit of the repository")
    add_offline(group)
    add_unsaid(group)


def add_offline(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """``--offline``."""
    parser.add_argument(
        "--offline", action="store_true", help="download nothing: take what was downloaded before"
    )


def add_unsaid(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """``--split`` and ``--special-token``: what a file of ids alone does not say."""
    parser.add_argument(
        "--split",
        metavar="NAME",
        help="how text is cut, for a file that does not say: a name such as cl100k, or a pattern",
    )
    parser.add_argument(
        "--special-token",
        dest="special_tokens",
        metavar="LITERAL=ID",
        action="append",
        default=[],
        help="a special token and its id, '<|end|>=100257', for a file that holds none (.tiktoken); "
        "without =ID they take the ids after the last one; may be given again",
    )


def load_tokenizer(args: argparse.Namespace) -> Tokenizer:
    """The tokenizer that ``add_tokenizer``'s arguments name."""
    return load_named(
        args.tokenizer,
        split=args.split,
        special_tokens=special_tokens(args.special_tokens),
        revision=args.revision,
        offline=args.offline,
    )


def load_named(
    name: str,
    *,
    offline: bool,
    split: str | None = None,
    special_tokens: list[str] | dict[str, int] | None = None,
    revision: str | None = None,
) -> Tokenizer:
    """The tokenizer of this name; the errors of ``load`` in words for a command."""
    import tokenmill
    from tokenmill import hub

    if not name:
        raise UsageError("the name of the tokenizer is empty")
    if revision is not None and hub.kind_of(name) != "repository":
        raise UsageError(f"--revision is for repositories of the hub (owner/name), not for {name}")
    if not offline:
        _announce(name)
    try:
        return tokenmill.load(
            name, split=split, special_tokens=special_tokens, revision=revision, offline=offline
        )
    except FileNotFoundError as error:
        missing, said = error.filename or name, _in_options(str(error.strerror))
        if hub.kind_of(name) == "repository" and missing != name:
            missing, said = name, f"{said}: {missing}"
        raise UsageError(f"{missing}: {said}", hint=_hint(name, offline)) from error
    except ConnectionError as error:
        hint = "--offline takes what was downloaded before" if error.strerror else None
        raise UsageError(explain(error)[0], hint=hint) from error
    except MissingExtraError as error:
        raise UsageError(str(error), hint="or name a file or folder on your disk") from error


def _in_options(said: str) -> str:
    """An error of ``load`` that names the options in place of Python's arguments."""
    return re.sub(r"load\('([\w-]+)'\)", r"-t \1", said).replace("cache_dir= or ", "")


def _announce(name: str) -> None:
    """Say from where a tokenizer is downloaded, for a name that is no path."""
    from tokenmill import hub

    kind = hub.kind_of(name)
    if kind == "repository":
        say(f"{name} is no path here; asking the Hugging Face hub for it")
    elif kind == "encoding" and not hub.is_cached(name):
        say(f"downloading {name} to {hub.cache_folder()}, once")


def _hint(name: str, offline: bool) -> str:
    """What to do where there is no such tokenizer."""
    from tokenmill import hub

    if offline and hub.kind_of(name) != "path":
        return "without --offline it is downloaded"
    return "a tokenizer is a file, a folder, an encoding or a repository; `tokenmill train` makes one"


def special_tokens(given: list[str]) -> list[str] | dict[str, int] | None:
    """What ``--special-token`` says: literals, or literals with ids; a number after the last `=` is an id."""
    if not given:
        return None
    pairs = [pair for pair in map(_WITH_ID.fullmatch, given) if pair]
    if not pairs:
        return given
    if len(pairs) < len(given):
        raise UsageError(
            "some --special-token have an id and some have none",
            hint="LITERAL=ID for all of them, or for none",
        )
    ids: dict[str, int] = {}
    for pair in pairs:
        if ids.setdefault(pair[1], int(pair[2])) != int(pair[2]):
            raise UsageError(f"--special-token {pair[1]} is given with two ids")
    return ids


def add_files(parser: argparse.ArgumentParser, what: str) -> None:
    """``FILE...``, with stdin where none is given."""
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help=f"{what}; - or none at all is standard input"
    )


def add_special(parser: argparse.ArgumentParser) -> None:
    """``--special``: what a special token's literal in the text means."""
    parser.add_argument(
        "--special",
        choices=("text", "parse", "raise"),
        default="text",
        help="a special token's literal in the text is plain text, the token, or an error (default: text)",
    )


def add_special_tokens(parser: argparse.ArgumentParser, verb: str) -> None:
    """``--add-special-tokens``; ``verb`` is what the command does with these."""
    parser.add_argument(
        "--add-special-tokens",
        action="store_true",
        help=f"{verb} the special tokens that the tokenizer puts around a text",
    )


def add_output(parser: argparse.ArgumentParser, *, json: str = "one JSON object, for programs") -> None:
    """``--out`` and ``--json``; the latter is described by ``json``."""
    parser.add_argument(
        "--out",
        metavar="PATH",
        help="write to this file or URL instead of to standard output, all at once at the end",
    )
    parser.add_argument("--json", action="store_true", help=json)
