"""Arguments that several commands share, and how they are read."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill import Tokenizer

__all__ = ["add_files", "add_output", "add_special", "add_tokenizer", "load_tokenizer"]


def add_tokenizer(parser: argparse.ArgumentParser) -> None:
    """``-t`` and what a file without split or special tokens needs beside it."""
    group = parser.add_argument_group("the tokenizer")
    group.add_argument(
        "-t",
        "--tokenizer",
        metavar="PATH",
        required=True,
        help="tokenizer.json, a .tiktoken file, vocab.json with merges.txt, or a folder",
    )
    group.add_argument("--split", metavar="NAME", help="how text is cut, for a file that does not say")
    group.add_argument(
        "--special-token",
        dest="special_tokens",
        metavar="LITERAL",
        action="append",
        help="a special token, for a file that holds none; may be given again",
    )


def load_tokenizer(args: argparse.Namespace) -> Tokenizer:
    """The tokenizer that ``add_tokenizer``'s arguments name."""
    import tokenmill

    return tokenmill.load(args.tokenizer, split=args.split, special_tokens=args.special_tokens)


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


def add_output(parser: argparse.ArgumentParser) -> None:
    """``--out`` and ``--json``."""
    parser.add_argument(
        "--out", metavar="PATH", help="write there instead of to standard output, all at once at the end"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, for programs")
