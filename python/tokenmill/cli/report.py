r"""Tokenizers side by side on one page: how well they spell texts, and why.

Each TOKENIZER is a file, a folder, a known name or a repository, under its own
name or under another as NAME=TOKENIZER; at most 8. --text names the texts of a
language or a domain, under their file's name or as NAME=FILE; files of one
name belong together. With --parallel the texts of all names say the same, row
by row of JSONL, Parquet and Arrow, line by line of other files, and the page
shows what each costs over --reference. Without --text the Universal
Declaration of Human Rights in 30 languages is measured.

The page is one file of HTML, which asks nobody for anything.

  tokenmill report out/ cl100k_base --out report.html
  tokenmill report mine=out/ theirs=tokenizer.json --text en.txt de.txt \
      --parallel --reference en --word ' tokenization' --out report.html
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill import MissingExtraError

from .corpora import Rows, add_rows, in_parts, rows_of
from .files import as_json, as_text, check_output, check_read_once, source, write_output
from .named import named_files
from .options import add_offline, add_output, load_named
from .parsing import whole_number
from .terminal import bar_wanted
from .usage import UsageError

if TYPE_CHECKING:
    from tokenmill import Tokenizer

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``report`` takes."""
    parser.add_argument("tokenizers", metavar="TOKENIZER", nargs="+", help="a tokenizer, or NAME=TOKENIZER")
    texts = parser.add_argument_group("the texts")
    texts.add_argument(
        "--text",
        dest="text_files",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="the texts of a language or domain, or NAME=FILE; may be given again",
    )
    add_rows(texts)
    texts.add_argument(
        "--parallel", action="store_true", help="the texts of all names say the same, one by one"
    )
    texts.add_argument(
        "--reference",
        metavar="NAME",
        help="what others are compared with (default: English or en, else the first)",
    )
    texts.add_argument(
        "--word",
        dest="words",
        metavar="WORD",
        action="append",
        help="show the merges of this word; may be given again",
    )
    loading = parser.add_argument_group("the tokenizers")
    loading.add_argument(
        "--split", metavar="NAME", help="how text is cut, for .tiktoken files, which do not say"
    )
    add_offline(loading)
    parser.add_argument(
        "--num-threads", type=whole_number(1), metavar="N", help="threads (default: every core)"
    )
    add_output(parser, json="the numbers as one JSON object, in place of the page")


def run(args: argparse.Namespace) -> int:
    """Load the tokenizers, measure, write the page."""
    import tokenmill

    if not args.json:
        _check_extra()
    check_output(args.out)
    rows = rows_of(args)
    named = named_files(args.text_files) if args.text_files else {}
    check_read_once([path for paths in named.values() for path in paths])
    tokenizers = _tokenizers(args)
    texts = {name: _texts(paths, rows, args.parallel) for name, paths in named.items()}
    for name, own in texts.items():
        if not any(own):
            raise UsageError(f"{', '.join(map(source, named[name]))}: there is no text to measure")
    if args.reference is not None and named and not args.parallel:
        raise UsageError("--reference compares texts that say the same", hint="--parallel says that they do")
    if args.reference is not None and named and args.reference not in named:
        raise UsageError(f"--reference {args.reference} is none of the names of texts: {', '.join(named)}")
    if args.parallel and not named:
        raise UsageError(
            "--parallel is for --text", hint="the texts that are measured without --text are parallel"
        )
    found = tokenmill.report(
        tokenizers,
        texts or None,
        parallel=args.parallel,
        reference=args.reference,
        words=args.words,
        num_threads=args.num_threads,
        progress=bar_wanted(),
    )
    write_output(args.out, as_json(found.to_dict()) if args.json else found.html.encode())
    return 0


def _check_extra() -> None:
    """Refuse before the work what would be refused after it."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise MissingExtraError(
            'the page needs matplotlib: pip install "tokenmill[report]"; --json does without', extra="report"
        )


def _tokenizers(args: argparse.Namespace) -> dict[str, Tokenizer]:
    """The tokenizers by the names given, else by those of their files and folders."""
    found: dict[str, Tokenizer] = {}
    for word in args.tokenizers:
        name, equals, path = word.partition("=")
        if not equals or os.path.lexists(word):
            name, path = _name_of(word), word
        elif not name or not path:
            raise UsageError(f"{word}: a name and a tokenizer are needed, as in mine=tokenizer.json")
        if name in found:
            raise UsageError(f"two tokenizers are called {name}", hint=f"other-{name}={path}")
        split = args.split if path.endswith(".tiktoken") else None
        found[name] = load_named(path, split=split, offline=args.offline)
    return found


def _name_of(word: str) -> str:
    """What a reader calls a tokenizer: its folder, its file without the ending, or the name itself."""
    path = Path(word)
    if not path.exists():
        return word
    path = path.resolve()
    if path.is_file() and path.name in ("tokenizer.json", "tokenizer.model", "vocab.txt", "vocab.json"):
        path = path.parent
    return path.name if path.is_dir() else path.stem


def _texts(paths: list[str], rows: Rows, parallel: bool) -> list[str]:
    """The texts of a name; parallel ones are rows, or lines with something in them."""
    texts = []
    for path in paths:
        for row, content in in_parts(path, rows):
            text = as_text(path if row is None else f"{source(path)}: row {row}", content)
            texts += [line for line in text.splitlines() if line] if parallel and row is None else [text]
    return texts
