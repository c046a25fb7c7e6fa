"""How many tokens each text has, and how many characters and bytes they are.

FILE gives a table with a row for each, and the total where there are several;
standard input, or one text in the command, the number of tokens alone. --json
has all figures of both. Where the vocabulary has an unknown token, a column
says how many tokens are it, if any is.

--text TEXT is the text itself. So is a single FILE of several words, if there
is no such file, nor one that it looks like (a/b, c.txt), and without --out.
FILE may be compressed (.gz, .zst), a folder, a glob, or a URL. Of JSONL
(.jsonl, .ndjson, or with --field), Parquet and Arrow files (--column) the texts
of all rows count together.

Every byte counts: of standard input the last line end too, which echo puts
there and printf %s does not. UTF-16, UTF-32 with a byte-order mark, and what is
compressed otherwise, are refused, unless --binary says that all files are meant
as they are.

With --limit, a text that has more tokens is shown as >N and makes the exit code
1; no more of it is counted than that takes.

  tokenmill count -t tokenizer/ docs/*.md
  tokenmill count -t tokenizer/ --text "Hello world"
  tokenmill count -t tokenizer/ --limit 8192 prompts/*.txt
"""

from __future__ import annotations

import argparse
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .corpora import add_rows, contents, rows_of
from .files import STDIN, as_json, write_output
from .given import COMMAND, add_texts, hint_of_text, texts_given
from .options import (
    add_files,
    add_output,
    add_special,
    add_special_tokens,
    add_tokenizer,
    load_tokenizer,
)
from .parsing import whole_number
from .streams import is_terminal
from .terminal import quoted, table

if TYPE_CHECKING:
    from tokenmill import Tokenizer

__all__ = ["add_arguments", "run"]

_LONG = 1_000_000
"""Texts of fewer bytes are encoded without numpy, which takes a while to import."""
_PART = 1 << 20
"""Bytes that are decoded at once: a whole text would take up to four times as much memory again."""


class _Row(NamedTuple):
    """The counts for a text: ids, characters (None where it is not UTF-8), bytes, unknown tokens."""

    name: str
    tokens: int | None
    """None where there are more than the limit."""
    characters: int | None
    size: int
    unknown: int | None
    """None where the vocabulary has no unknown token, or the tokens were not counted."""
    limit: int | None = None
    documents: int | None = None
    """How many texts they are; None for one text."""

    @property
    def shown(self) -> str:
        """The number of tokens, for people."""
        return f">{self.limit}" if self.tokens is None else str(self.tokens)

    @property
    def bytes_per_token(self) -> float | None:
        """None where there are no tokens, or more than the limit."""
        return self.size / self.tokens if self.tokens else None

    def facts(self) -> dict[str, Any]:
        """The figures by name."""
        ratio = self.bytes_per_token
        fits = {} if self.limit is None else {"fits": self.tokens is not None}
        rows = {} if self.documents is None else {"documents": self.documents}
        return {
            **fits,
            **rows,
            "count": self.tokens,
            "characters": self.characters,
            "bytes": self.size,
            "bytes_per_token": None if ratio is None else round(ratio, 3),
            "unknown": self.unknown,
        }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``count`` takes."""
    add_files(parser, "a text")
    add_texts(parser)
    add_rows(parser)
    add_special_tokens(parser, "count")
    add_special(parser)
    parser.add_argument(
        "--limit", type=whole_number(0), metavar="N", help="exit with 1 if a text has more than N tokens"
    )
    add_output(parser)
    add_tokenizer(parser)


def run(args: argparse.Namespace) -> int:
    """Count each text, then write the table."""
    texts = texts_given(args.files, args.texts, printed=args.out in (None, STDIN))
    inputs: Iterable[tuple[str, Iterator[bytes] | bytes]] = (
        [(COMMAND, text) for text in texts]
        if texts
        else contents(
            args.files,
            rows_of(args),
            tokenizer=args.tokenizer,
            no_file=hint_of_text(args.files),
            binary=args.binary,
        )
    )
    tokenizer = load_tokenizer(args)
    rows = [
        _row(tokenizer, name, content, args)
        if isinstance(content, bytes)
        else _row_of_many(tokenizer, name, content, args)
        for name, content in inputs
    ]
    total = _total(rows)
    if args.json:
        shown = [{"file": row.name, **row.facts()} for row in rows]
        write_output(args.out, as_json({"texts": shown, "total": total.tokens, "totals": total.facts()}))
    elif len(rows) == 1 and (texts or rows[0].name == STDIN):
        write_output(args.out, f"{total.shown}\n".encode())
    else:
        names = [quoted(text) for text in texts] or [row.name for row in rows]
        page = _table([*zip(names, rows, strict=True), *[("total", total)] * (len(rows) > 1)], args.out)
        write_output(args.out, page.encode("utf-8", "surrogateescape"))
    return int(any(row.tokens is None for row in rows))


def _row(tokenizer: Tokenizer, name: str, content: bytes, args: argparse.Namespace) -> _Row:
    unknown = tokenizer.unk_token_id
    special, around = args.special, args.add_special_tokens
    if args.limit is not None and (
        tokenizer.count_till_limit(content, args.limit, add_special_tokens=around, special=special) is None
    ):
        return _Row(name, None, _characters(content), len(content), None, args.limit)
    if unknown is None:
        count, found = tokenizer.count(content, add_special_tokens=around, special=special), None
    elif len(content) < _LONG:
        ids = tokenizer.encode(content, add_special_tokens=around, special=special)
        count, found = len(ids), ids.count(unknown)
    else:
        array = tokenizer.encode_to_numpy(content, add_special_tokens=around, special=special)
        count, found = len(array), int((array == unknown).sum())
    return _Row(name, count, _characters(content), len(content), found, args.limit)


def _row_of_many(tokenizer: Tokenizer, name: str, texts: Iterable[bytes], args: argparse.Namespace) -> _Row:
    """The sums for the texts of a file; with a limit up to the first one that has more tokens."""
    unknown = None if tokenizer.unk_token_id is None else 0
    summed = _Row(name, 0, 0, 0, unknown, args.limit, 0)
    for text in texts:
        summed = _sum([summed, _row(tokenizer, name, text, args)], name, (summed.documents or 0) + 1)
        if summed.tokens is None:
            break
    return summed


def _characters(content: bytes) -> int | None:
    decoder = getincrementaldecoder("utf-8")()
    parts = (content[start : start + _PART] for start in range(0, len(content), _PART))
    try:
        return sum(len(decoder.decode(part)) for part in parts) + len(decoder.decode(b"", final=True))
    except UnicodeDecodeError:
        return None


def _total(rows: list[_Row]) -> _Row:
    many = any(row.documents is not None for row in rows)
    documents = sum(1 if row.documents is None else row.documents for row in rows)
    return _sum(rows, "total", documents if many else None)


def _sum(rows: list[_Row], name: str, documents: int | None) -> _Row:
    def added(numbers: list[int | None]) -> int | None:
        known = [number for number in numbers if number is not None]
        return sum(known) if len(known) == len(numbers) else None

    limits = [row.limit for row in rows if row.limit is not None]
    return _Row(
        name,
        added([row.tokens for row in rows]),
        added([row.characters for row in rows]),
        sum(row.size for row in rows),
        added([row.unknown for row in rows]),
        max(limits, default=None),
        documents,
    )


def _table(rows: list[tuple[str, _Row]], out: str | None) -> str:
    header = ["tokens", "characters", "bytes", "bytes/token"]
    has_unknown = any(row.unknown for _, row in rows)
    cells = []
    for name, row in rows:
        ratio = row.bytes_per_token
        cells.append(
            [
                row.shown,
                "-" if row.characters is None else str(row.characters),
                str(row.size),
                "-" if ratio is None else f"{ratio:.2f}",
                *[str(row.unknown)] * has_unknown,
                name,
            ]
        )
    header += [*["unknown"] * has_unknown, ""]
    numbers = range(len(header) - 1)
    return table(header, cells, right=numbers, rich=out is None and is_terminal(sys.stdout))
