"""Whether a tokenizer is healthy, and fits its files, a model or another one.

Each check passes, warns or fails; its line has the evidence and what was seen,
and below it the way out. Of a folder, the files are compared with one another
and with its tokenmill.json, and the model in it is checked. --text adds what
texts show, --config a model elsewhere, --against a tokenizer that should mean
the same.

The exit code is 1 where a check fails, with --strict where one warns, too, and
2 where there is nothing by that name. docs/doctor.md says what each check does.

  tokenmill doctor tokenizer/
  tokenmill doctor tokenizer/ --text corpus.txt --against published/ --strict
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .files import as_json, as_text, read_inputs, write_output
from .options import add_output, add_tokenizer, load_named, load_tokenizer
from .usage import UsageError

if TYPE_CHECKING:
    from tokenmill import Tokenizer

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``doctor`` takes."""
    add_output(parser)
    add_tokenizer(parser, place="T")
    parser.add_argument(
        "--text",
        dest="files",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="text that it is meant for; may be given again",
    )
    parser.add_argument(
        "--config", metavar="C", help="the folder of a model, or its config.json (default: T, if it has one)"
    )
    parser.add_argument("--against", metavar="REFERENCE", help="a tokenizer that should give the same")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a check warns, too")


def run(args: argparse.Namespace) -> int:
    """Examine the tokenizer; 1 where something was found."""
    import tokenmill

    for name, value in (("--config", args.config), ("--against", args.against)):
        if value == "":
            raise UsageError(f"{name} is empty")
    given = read_inputs(args.files, tokenizer=args.tokenizer) if args.files else ()
    texts = [as_text(name, content) for name, content in given]

    def load(_: object) -> Tokenizer:
        return load_tokenizer(args)

    against = None if args.against is None else load_named(args.against, offline=args.offline)
    diagnosis = tokenmill.doctor(args.tokenizer, texts=texts, config=args.config, against=against, load=load)
    write_output(args.out, as_json(diagnosis.to_dict()) if args.json else f"{diagnosis}\n".encode())
    return 0 if diagnosis.ok(strict=args.strict) else 1
