"""Text into ids.

Each FILE is a document and becomes one line of ids, separated by spaces; with
--documents lines each of its lines does. --text TEXT is the text itself. So is
a single FILE of several words, if there is no such file, nor one that it looks
like (a/b, c.txt), and ids are printed, without --out.

FILE may be compressed (.gz, .zst), a folder, a glob, or a URL. Each row of
JSONL (.jsonl, .ndjson, or with --field), Parquet and Arrow files (--column) is
a document. --out NAME.parquet writes tables with their columns and new ones,
ids and n_tokens; so do .arrow and .feather (Arrow file) and .arrows (stream).

Bytes of text are taken as they are, whether they are UTF-8 or not. UTF-16,
UTF-32 with a byte-order mark, and what is compressed otherwise, are refused:
their bytes are no text, unless --binary says that all files are meant as they
are.

--out NAME.bin writes the ids of all documents one after the other, as raw
numbers of 16 or 32 bits, the lowest byte first: numpy.fromfile reads them.
What was written to a file is said on standard error, for raw numbers and
tables with --json on standard output. Whatever is written appears whole or,
after an error, not at all.

  tokenmill encode -t tokenizer/ book.txt > book.ids
  tokenmill encode -t tokenizer/ "Hello world"
  tokenmill encode -t tokenizer/ --eos '<|end|>' --out train.bin 'corpus/*.txt'
  tokenmill encode -t tokenizer/ --column text --out ids.parquet 'd/*.parquet'
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from tokenmill import TokenmillError

from .bos_eos import BosEos, add_bos_eos, read_bos_eos
from .corpora import add_rows, names_of, rows_of
from .documents import Batch, documents
from .files import STDIN, as_json, check_read_once, write_summary, write_whole
from .given import add_texts, hint_of_text, texts_given
from .options import (
    add_files,
    add_output,
    add_special,
    add_special_tokens,
    add_tokenizer,
    load_tokenizer,
)
from .parsing import whole_number
from .streams import check_stdout, is_terminal, say
from .tables import TABLES, add_columns, as_tables, check_columns
from .usage import UsageError, explain
from .written import as_lines, as_npy, in_json, raw

if TYPE_CHECKING:
    import numpy.typing as npt

    from tokenmill import Ragged, Tokenizer

    from .written import Ids

__all__ = ["add_arguments", "run"]

_LONG = 1_000_000
"""Texts of fewer bytes are encoded without numpy, which takes a while to import."""
_LARGEST = (1 << 16) - 1
"""The largest id that uint16 holds."""
_FORMS = {"npy": "npy", "bin": "bin", "feather": "arrow", **{form: form for form in TABLES}}
"""The format that each ending of --out implies."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``encode`` takes."""
    add_files(parser, "a text")
    add_texts(parser)
    parser.add_argument(
        "--documents", choices=("file", "lines"), default="file", help="what a document is (default: file)"
    )
    add_rows(parser)
    add_bos_eos(parser)
    add_special_tokens(parser, "add")
    add_special(parser)
    parser.add_argument(
        "--format",
        choices=("ids", "npy", "bin", *TABLES),
        help="ids in print, one document as a numpy array, raw numbers, or tables with ids: a Parquet file, "
        "an Arrow file, an Arrow stream (default: what the ending of --out says, else ids)",
    )
    parser.add_argument(
        "--dtype",
        choices=("uint16", "uint32"),
        help="the numbers of arrays, raw numbers and tables (default: uint32; for bin uint16, if it holds "
        "the largest id)",
    )
    add_columns(parser)
    parser.add_argument(
        "--num-threads", type=whole_number(1), metavar="N", help="threads (default: every core)"
    )
    add_output(parser)
    add_tokenizer(parser)


def run(args: argparse.Namespace) -> int:
    """Encode the documents, batch by batch, and write them."""
    form = _form(args)
    printed = form == "ids" and args.out in (None, STDIN)
    texts = texts_given(args.files, args.texts, printed=printed)
    files = [] if texts else args.files
    by_lines = args.documents == "lines"
    names = [] if texts else names_of(files, no_file=hint_of_text(files)) or [STDIN]
    _check(form, args, documents=len(texts or names))
    if form in TABLES:
        check_read_once(names, tokenizer=args.tokenizer)
        tokenizer = load_tokenizer(args)
        dtype, counts = _dtype(tokenizer, form, args.dtype), _Counts()
        write_whole(args.out, as_tables(form, names, tokenizer, dtype, args, counts))
        _report(args, form, dtype, counts)
        return 0
    batches = documents(
        names, texts, by_lines=by_lines, rows=rows_of(args), tokenizer=args.tokenizer, binary=args.binary
    )
    tokenizer = load_tokenizer(args)
    dtype = _dtype(tokenizer, form, args.dtype)
    encoder = _Encoder(
        tokenizer,
        read_bos_eos(tokenizer, args),
        special=args.special,
        add_special_tokens=args.add_special_tokens,
        num_threads=args.num_threads,
    )
    counts = _Counts()
    pieces: Iterator[bytes]
    if form == "bin":
        pieces = (piece for batch in batches for piece in raw(counts.of(batch, encoder.array(batch, dtype))))
    elif form == "npy":
        pieces = (
            piece
            for batch in _alone(batches)
            for piece in as_npy(counts.of(batch, encoder.array(batch, dtype)))
        )
    elif args.json:
        pieces = in_json(
            row
            for batch in batches
            for row in zip(batch.names, batch.lines, counts.of_rows(batch, encoder.rows(batch)), strict=True)
        )
    else:
        pieces = as_lines(ids for batch in batches for ids in counts.of_rows(batch, encoder.rows(batch)))
    write_whole(args.out, pieces)
    _report(args, form, dtype, counts)
    return 0


# ---- what is asked for ------------------------------------------------------------------------


def _form(args: argparse.Namespace) -> str:
    """``ids``, ``npy``, ``bin``, or one of ``TABLES``."""
    if args.format is not None:
        return str(args.format)
    ending = "" if args.out is None else args.out.rpartition(".")[2]
    return _FORMS.get(ending, "ids")


def _check(form: str, args: argparse.Namespace, *, documents: int) -> None:
    """Refuse what does not go together."""
    check_columns(args, form)
    if form == "ids":
        if args.dtype is not None:
            raise UsageError(
                "--dtype is for raw numbers, arrays and tables", hint="--out NAME.bin, or --format bin"
            )
        return
    to_stdout = args.out in (None, STDIN)
    if args.json and (form == "npy" or to_stdout):
        raise UsageError(f"--format {form} and --json are two forms of output: choose one")
    if form == "npy" and (documents > 1 or args.documents == "lines"):
        raise _one_text()
    if to_stdout and is_terminal(sys.stdout):
        what = "raw numbers are" if form == "bin" else f"{TABLES.get(form, 'an array')} is"
        raise UsageError(f"{what} not for a terminal", hint=f"--out ids.{form}")
    if args.json:
        check_stdout()


def _one_text() -> UsageError:
    return UsageError(
        "an array holds the ids of one text",
        hint="--format bin writes many, one after the other; or one call for each file, or --format ids",
    )


def _alone(batches: Iterable[Batch]) -> Iterator[Batch]:
    """The batches, if they have one document in all; a file of rows may have more."""
    seen = 0
    for batch in batches:
        seen += len(batch.texts)
        if seen > 1:
            raise _one_text()
        yield batch


def _dtype(tokenizer: Tokenizer, form: str, given: str | None) -> Literal["uint16", "uint32"]:
    """The type of the numbers. It depends on the vocabulary alone, not on the texts."""
    if form == "bin" and given is None:
        return "uint16" if tokenizer.max_id <= _LARGEST else "uint32"
    if given != "uint16":
        return "uint32"
    if tokenizer.max_id > _LARGEST:
        raise UsageError(
            f"--dtype uint16 holds ids up to {_LARGEST:,}, and this vocabulary has ids up to "
            f"{tokenizer.max_id:,}",
            hint="--dtype uint32",
        )
    return "uint16"


# ---- encoding ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Encoder:
    """Batches of documents to ids, with bos and eos around each document."""

    tokenizer: Tokenizer
    bos_eos: BosEos
    special: Literal["text", "parse", "raise"]
    add_special_tokens: bool
    num_threads: int | None

    def rows(self, batch: Batch) -> Iterable[Ids]:
        """The ids of each document; for a long one as an array, which takes a tenth of the memory."""
        if sum(map(len, batch.texts)) >= _LONG:
            if len(batch.texts) == 1:
                return [self.array(batch, "uint32")]
            rows = self._ragged(batch, "uint32").to_lists()
        else:
            rows = self._lists(batch)
        bos, eos = self.bos_eos
        return [bos + ids + eos for ids in rows] if bos or eos else rows

    def array(self, batch: Batch, dtype: Literal["uint16", "uint32"]) -> npt.NDArray[Any]:
        """The ids of all documents, one after the other."""
        import numpy as np

        bos, eos = self.bos_eos
        if len(batch.texts) == 1:
            ids = self._numpy(batch, dtype)
            return np.concatenate([np.array(bos, dtype), ids, np.array(eos, dtype)]) if bos or eos else ids
        rows = self._ragged(batch, dtype)
        if not (bos or eos):
            return rows.ids
        starts, ends = rows.row_offsets[:-1], rows.row_offsets[1:]
        # numpy.insert keeps the order of values for one place: the end of a document before the next start.
        places = np.column_stack([*[starts] * len(bos), *[ends] * len(eos)]).ravel()
        return np.insert(rows.ids, places, np.tile(np.array(bos + eos, dtype), len(rows)))

    def _numpy(self, batch: Batch, dtype: Literal["uint16", "uint32"]) -> npt.NDArray[Any]:
        with self._naming(batch):
            return self.tokenizer.encode_to_numpy(
                batch.texts[0],
                dtype=dtype,
                add_special_tokens=self.add_special_tokens,
                special=self.special,
                num_threads=self.num_threads,
            )

    def _ragged(self, batch: Batch, dtype: Literal["uint16", "uint32"]) -> Ragged:
        with self._naming(batch):
            return self.tokenizer.encode_batch(
                batch.texts,
                dtype=dtype,
                add_special_tokens=self.add_special_tokens,
                special=self.special,
                num_threads=self.num_threads,
            )

    def _lists(self, batch: Batch) -> list[list[int]]:
        with self._naming(batch):
            return [self._list(text) for text in batch.texts]

    def _list(self, text: bytes) -> list[int]:
        return self.tokenizer.encode(
            text,
            add_special_tokens=self.add_special_tokens,
            special=self.special,
            num_threads=self.num_threads,
        )

    @contextlib.contextmanager
    def _naming(self, batch: Batch) -> Iterator[None]:
        """Make errors say which document they are about."""
        try:
            yield
        except TokenmillError as error:
            for index, text in enumerate(batch.texts):
                try:
                    self._list(text)
                except TokenmillError as found:
                    message, hint = explain(found)
                    raise UsageError(f"{batch.place(index)}: {message}", hint=hint) from error
            raise


# ---- what is said of it -----------------------------------------------------------------------


@dataclass
class _Counts:
    """What was encoded so far."""

    documents: int = 0
    bytes: int = 0
    tokens: int = 0

    def of(self, batch: Batch, ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The ids of a batch, counted."""
        self._add(batch)
        self.tokens += len(ids)
        return ids

    def add(self, documents: int, size: int, tokens: int) -> None:
        """More documents, with the bytes of their texts and their tokens."""
        self.documents += documents
        self.bytes += size
        self.tokens += tokens

    def of_rows(self, batch: Batch, rows: Iterable[Ids]) -> Iterator[Ids]:
        """The ids of each document of a batch, counted."""
        self._add(batch)
        for ids in rows:
            self.tokens += len(ids)
            yield ids

    def _add(self, batch: Batch) -> None:
        self.documents += len(batch.texts)
        self.bytes += sum(map(len, batch.texts))


def _report(args: argparse.Namespace, form: str, dtype: str, counts: _Counts) -> None:
    """Report what was written to a file; for raw numbers always, since they do not name their type."""
    if (form == "bin" or form in TABLES) and args.json:
        facts = {"file": args.out, "dtype": dtype, **asdict(counts)}
        write_summary(args.out, as_json(facts), what="the ids are")
        return
    to_stdout = args.out in (None, STDIN)
    if to_stdout and form != "bin":
        return
    saved = "" if to_stdout else f"saved {args.out}: "
    said = ", ".join(
        f"{count:,} {name.removesuffix('s') if count == 1 else name}"
        for name, count in asdict(counts).items()
    )
    say(f"{saved}{said}" + ("" if form == "ids" else f" as {dtype}"))
