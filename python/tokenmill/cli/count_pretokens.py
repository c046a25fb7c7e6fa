"""Count the pretokens of text files, and save the counts for train --counts.

FILE is a path, a folder, a glob in quotes, a URL, or - for standard input; each
text is one document, and each row of JSONL, Parquet and Arrow files (--field,
--column) is one. They may be compressed (.gz, .zst). Counts of many parts of a
corpus, made on any machines, give the tokenizer that training on all of its
files gives:

  tokenmill count-pretokens 'corpus/a*.txt' --out counts/a.parquet
  tokenmill count-pretokens 'corpus/b*.txt' --out counts/b.parquet
  tokenmill train --counts counts/ --vocab-size 32k --out tokenizer/

A name that ends in .parquet is a Parquet file (needs pyarrow), any other a
plain one. Options say how texts are read, as those of train do; train takes
them from the counts. All special tokens have to be given here.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from .corpora import add_rows, names_of, rows_of
from .files import STDIN, as_json, check_read_once, check_remote, is_slashed, write_summary
from .parsing import whole_number
from .reading import add_reading, reading
from .spool import spooled
from .streams import naming, say
from .terminal import bar_wanted
from .usage import UsageError

if TYPE_CHECKING:
    from tokenmill import PretokenCounts

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``count-pretokens`` takes."""
    # All options in the first line would not fit: the name of the command is long.
    parser.usage = "tokenmill count-pretokens FILE [FILE ...] --out PATH [options]"
    parser.add_argument("files", metavar="FILE", nargs="+", help="text to count; - is standard input")
    add_rows(parser)
    parser.add_argument("--out", metavar="PATH", required=True, help="the file or URL to save to")
    parser.add_argument("--json", action="store_true", help="the report as one JSON object, for programs")
    parser.add_argument(
        "--min-count",
        type=whole_number(1),
        metavar="N",
        help="drop what occurs less often, at the end; such counts cannot be put together with others",
    )
    how = parser.add_argument_group("how")
    add_reading(how)
    how.add_argument(
        "--num-threads", type=whole_number(1), metavar="N", help="threads for counting (default: every core)"
    )


def run(args: argparse.Namespace) -> int:
    """Count, save, and report."""
    import tokenmill

    if not args.out or args.out == STDIN or is_slashed(args.out):
        raise UsageError("--out is the name of a file", hint="--out counts.parquet")
    check_remote(args.out)
    names = names_of(args.files)
    check_read_once(names)
    start = time.perf_counter()
    with spooled(names) as files:
        counts = tokenmill.count_pretokens(
            files,
            **rows_of(args)._asdict(),
            **reading(args),
            min_count=args.min_count,
            num_threads=args.num_threads,
            progress=bar_wanted(),
        )
    if counts.bytes == 0:
        say("tokenmill: warning: there was no text to count")
    with naming(args.out):
        counts.save(args.out)
    seconds = time.perf_counter() - start
    page = _facts(counts, args, seconds) if args.json else _summary(counts, args, seconds)
    write_summary(args.out, page, what="the counts are")
    return 0


def _facts(counts: PretokenCounts, args: argparse.Namespace, seconds: float) -> bytes:
    facts = {"saved": args.out, **counts.facts, "distinct_pretokens": len(counts)}
    return as_json({**facts, "seconds": round(seconds, 3)})


def _summary(counts: PretokenCounts, args: argparse.Namespace, seconds: float) -> bytes:
    lines = [
        ("saved", args.out),
        ("documents", f"{counts.documents:,}"),
        ("bytes", f"{counts.bytes:,}"),
        ("pretokens", f"{counts.pretokens:,}, {len(counts):,} distinct"),
        *[("left out", f"{counts.skipped:,} not UTF-8")] * bool(counts.skipped),
        *[("mended", f"{counts.replaced:,} with U+FFFD for what is not UTF-8")] * bool(counts.replaced),
        ("seconds", f"{seconds:.2f}"),
    ]
    return "".join(f"{name:<14}{value}\n" for name, value in lines).encode("utf-8", "surrogateescape")
