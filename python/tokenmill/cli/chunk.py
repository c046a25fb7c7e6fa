"""Texts in chunks of at most N tokens each.

Each chunk is the longest part that ends at a border and has at most N tokens
when it is encoded by itself; joined they are the text. With --overlap a chunk
begins with the end of the one before it, as far as that has at most K tokens.

For each chunk a line that names its file, its place in it, in characters, and
its number of tokens, then its text. With --json, and in --out, one JSON object
a line instead: file, row, chunk, start, end, byte_start, byte_end, count, text,
and with --ids the ids. Files of text are read in parts, however large they are;
FILE may be compressed (.gz, .zst), a folder, a glob or a URL, too. Each row of
JSONL, Parquet and Arrow files is a text, and its number in row.

  tokenmill chunk -t tokenizer/ --max-tokens 512 --at sentence docs/*.md
  tokenmill chunk -t tokenizer/ --max-tokens 512 --overlap 64 --out chunks.jsonl big.txt
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .corpora import add_rows, in_parts, is_plain, names_of, rows_of
from .files import STDIN, as_json, as_text, check_read_once, source, write_output
from .options import add_files, add_output, add_special, add_tokenizer, load_tokenizer
from .parsing import whole_number
from .streams import naming
from .usage import UsageError

if TYPE_CHECKING:
    from tokenmill import Chunk, Tokenizer

    _Place = tuple[str, int | None, int, Chunk]

__all__ = ["add_arguments", "run"]

_BORDERS = ("character", "grapheme", "word", "sentence", "line")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``chunk`` takes."""
    add_files(parser, "a text")
    add_rows(parser)
    parser.add_argument(
        "--max-tokens",
        type=whole_number(1),
        metavar="N",
        required=True,
        help="the most tokens of a chunk",
    )
    parser.add_argument(
        "--overlap", type=whole_number(0), default=0, metavar="K", help="tokens that the next chunk repeats"
    )
    parser.add_argument(
        "--at", choices=_BORDERS, default="character", help="where chunks end (default: character)"
    )
    parser.add_argument(
        "--oversize",
        choices=("split", "error", "keep"),
        default="split",
        help="what has more tokens between two borders is cut at finer ones, an error, or a chunk of its own "
        "(default: split)",
    )
    parser.add_argument(
        "--add-special-tokens", action="store_true", help="count the tokens around each chunk, too"
    )
    parser.add_argument(
        "--ids", action="store_true", help="the ids of each chunk, too (with --json or --out)"
    )
    parser.add_argument(
        "--num-threads", type=whole_number(1), metavar="N", help="threads (default: every core)"
    )
    add_special(parser)
    add_output(parser, json="one JSON object a line, for programs")
    add_tokenizer(parser)


def run(args: argparse.Namespace) -> int:
    """Cut each file, and write the chunks as they are found."""
    is_json = args.json or args.out not in (None, STDIN)
    if args.ids and not is_json:
        raise UsageError("--ids is for --json and --out", hint="--json")
    names = names_of(args.files) or [STDIN]
    check_read_once(names, tokenizer=args.tokenizer)
    tokenizer = load_tokenizer(args)
    show = _as_json if is_json else _as_page
    write_output(args.out, show(_chunks(tokenizer, names, args), args))
    return 0


def _chunks(tokenizer: Tokenizer, names: Iterable[str], args: argparse.Namespace) -> Iterator[_Place]:
    options: dict[str, Any] = {
        "overlap": args.overlap,
        "at": args.at,
        "oversize": args.oversize,
        "add_special_tokens": args.add_special_tokens,
        "special": args.special,
        "num_threads": args.num_threads,
    }
    rows = rows_of(args)
    for name in names:
        if is_plain(name, rows):
            with naming(name):
                for number, chunk in enumerate(tokenizer.chunk_file(name, args.max_tokens, **options)):
                    yield source(name), None, number, chunk
            continue
        for row, content in in_parts(name, rows):
            place = source(name) if row is None else f"{source(name)}: row {row}"
            for number, chunk in enumerate(
                tokenizer.chunk(as_text(place, content), args.max_tokens, **options)
            ):
                yield source(name), row, number, chunk


def _as_json(chunks: Iterable[_Place], args: argparse.Namespace) -> Iterator[bytes]:
    for name, row, number, chunk in chunks:
        yield as_json(
            {
                "file": name,
                **({} if row is None else {"row": row}),
                "chunk": number,
                "start": chunk.start,
                "end": chunk.end,
                "byte_start": chunk.byte_start,
                "byte_end": chunk.byte_end,
                "count": chunk.count,
                "text": chunk.text,
                **({"ids": chunk.ids} if args.ids else {}),
            }
        )


def _as_page(chunks: Iterable[_Place], _: object) -> Iterator[bytes]:
    for name, row, number, chunk in chunks:
        tokens = "1 token" if chunk.count == 1 else f"{chunk.count} tokens"
        place = f"characters {chunk.start} to {chunk.end}"
        of = name if row is None else f"{name}, row {row}"
        page = f"== {of}, chunk {number}: {place}, {tokens}\n{chunk.text}"
        yield page.encode("utf-8", "surrogateescape") + b"\n" * (not page.endswith("\n"))
