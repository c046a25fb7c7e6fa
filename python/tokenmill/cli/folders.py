"""The arguments of commands on the folder of a tokenizer."""

from __future__ import annotations

import argparse
from typing import Any

from .options import add_unsaid, special_tokens
from .usage import UsageError

__all__ = ["add_folder", "reading"]


def add_folder(parser: argparse.ArgumentParser, what: str) -> None:
    """``DIR``, and what its files may lack."""
    parser.add_argument("tokenizer", metavar="DIR", help=what)
    add_unsaid(parser)


def reading(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``load`` that ``add_folder`` declares."""
    if not args.tokenizer:
        raise UsageError("the name of the folder is empty")
    return {"split": args.split, "special_tokens": special_tokens(args.special_tokens)}
