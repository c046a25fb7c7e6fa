"""Ids into text.

FILE holds ids separated by white space or commas, in brackets or not, or is
what `encode` writes with --json or --format npy; raw numbers, as in NAME.bin,
do not say what they are, and need --dtype. Ids can stand in the command itself,
where no file has such a name. The bytes they stand for are written as they are,
one FILE after the other, with nothing in between.

  tokenmill encode -t tokenizer/ book.txt | tokenmill decode -t tokenizer/
  tokenmill decode -t tokenizer/ 72 105
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .files import STDIN, as_json, read_inputs, source, write_output
from .npy import MAGIC, parse_npy
from .options import add_files, add_output, add_tokenizer, load_tokenizer
from .streams import is_terminal, say
from .usage import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

    _Ids = list[int] | npt.NDArray[Any]

__all__ = ["add_arguments", "run"]

_ID = re.compile(rb"[0-9]+")
_BETWEEN = b" \t\r\n,[]"
_OF_IDS = set("0123456789" + _BETWEEN.decode())
_WORDS = "the command"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``decode`` takes."""
    add_files(parser, "ids")
    parser.add_argument(
        "--dtype",
        choices=("uint16", "uint32"),
        help="FILE holds raw numbers of this type, as encode --format bin writes them",
    )
    parser.add_argument("--skip-special-tokens", action="store_true", help="leave special tokens out")
    parser.add_argument(
        "--undefined",
        choices=("error", "skip", "replace"),
        default="error",
        help="what an id that does not exist does (default: error)",
    )
    add_output(parser)
    add_tokenizer(parser)


def run(args: argparse.Namespace) -> int:
    """Decode the ids of each file; ``--json`` shows bytes that are no UTF-8 as U+FFFD."""
    inputs = _inputs(args)
    tokenizer = load_tokenizer(args)
    texts = [
        (
            name,
            tokenizer.decode_bytes(
                ids,
                skip_special_tokens=args.skip_special_tokens,
                undefined=args.undefined,
            ),
        )
        for given, content in inputs
        for name, ids in (_parse(given, content) if args.dtype is None else _raw(given, content, args.dtype))
    ]
    if args.json:
        shown = [{"file": name, "text": text.decode("utf-8", "replace")} for name, text in texts]
        write_output(args.out, as_json({"texts": shown}))
    else:
        content = b"".join(text for _, text in texts)
        write_output(args.out, content)
        if args.out is None and is_terminal(sys.stdout) and not content.endswith(b"\n"):
            say("")  # so that the prompt begins on a new line; the decoded text itself has no line end
    return 0


def _inputs(args: argparse.Namespace) -> Iterable[tuple[str, bytes]]:
    """The files; or the words themselves, where none is a file and there are ids among them."""
    words: list[str] = args.files
    # Path.exists raises where a row of ids is too long for a name.
    is_file = any(word == STDIN or os.path.exists(word) for word in words)  # noqa: PTH110
    if args.dtype is None and not is_file and any(set(word) <= _OF_IDS for word in words):
        return [(_WORDS, " ".join(words).encode())]
    no_file = "FILE holds ids; a text becomes ids with `tokenmill encode`"
    return read_inputs(words, tokenizer=args.tokenizer, no_file=no_file)


def _parse(name: str, content: bytes) -> list[tuple[str, _Ids]]:
    """The ids that a file holds; those of several texts where `encode --json` wrote it."""
    if content.startswith(MAGIC):
        return [(name, parse_npy(source(name), content))]
    if content.lstrip().startswith(b"{"):
        return _parse_json(name, content)
    words = content.translate(bytes.maketrans(_BETWEEN, b" " * len(_BETWEEN))).split()
    for word in words:
        # Longer numbers are no ids, and Python refuses to read thousands of digits.
        if not _ID.fullmatch(word) or len(word) > 20:
            shown = word[:40].decode("utf-8", "backslashreplace")
            hint = "ids are whole numbers from 0 on; a text becomes ids with `tokenmill encode`"
            if b"\0" in content:
                hint = "raw numbers are read with --dtype uint16 or --dtype uint32"
            raise UsageError(f"{source(name)}: {shown!r} is not an id", hint=hint)
    return [(name, [int(word) for word in words])]


def _raw(name: str, content: bytes, dtype: str) -> list[tuple[str, _Ids]]:
    """The ids of raw numbers, the lowest byte of each first."""
    import numpy as np

    read = np.dtype(dtype).newbyteorder("<")
    if len(content) % read.itemsize:
        raise UsageError(
            f"{source(name)}: {len(content):,} bytes are no whole numbers of {read.itemsize} bytes",
            hint="is this the --dtype that it was written with?",
        )
    return [(name, np.frombuffer(content, read).astype(dtype, copy=False))]


def _parse_json(name: str, content: bytes) -> list[tuple[str, _Ids]]:
    import json

    try:
        texts = json.loads(content)["texts"]
        rows = [(str(text["file"]), text["ids"]) for text in texts]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{source(name)}: neither ids nor what `tokenmill encode --json` writes",
            hint="ids are whole numbers from 0 on; a text becomes ids with `tokenmill encode`",
        ) from error
    for _, ids in rows:
        if not isinstance(ids, list) or any(type(number) is not int for number in ids):
            raise UsageError(f'{source(name)}: "ids" is a list of whole numbers')
    return rows
