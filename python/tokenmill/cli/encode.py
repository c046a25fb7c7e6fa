"""Text into ids.

Each FILE is one text and becomes one line of ids, separated by spaces. Bytes
are taken as they are, whether they are UTF-8 or not. A whole text and its ids
are held in memory.

  tokenmill encode -t tokenizer/ book.txt > book.ids
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .files import STDIN, as_json, expand, read_inputs, write_output
from .options import NO_FILE, add_files, add_output, add_special, add_tokenizer, load_tokenizer
from .streams import is_terminal
from .usage import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

    from tokenmill import Tokenizer

    _Ids = list[int] | npt.NDArray[Any]

__all__ = ["add_arguments", "run"]

_LONG = 1_000_000
"""Bytes. Shorter texts do without numpy, which takes a while to import."""
_PIECE = 1 << 16
"""Ids that are put into print at once."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``encode`` takes."""
    add_files(parser, "a text")
    add_special(parser)
    parser.add_argument(
        "--format",
        choices=("ids", "npy"),
        default="ids",
        help="ids in print, or one text as a numpy array of uint32 (default: ids)",
    )
    add_output(parser)
    add_tokenizer(parser)


def run(args: argparse.Namespace) -> int:
    """Encode each text, then write."""
    if args.format == "npy":
        return _run_npy(args)
    inputs = read_inputs(args.files, tokenizer=args.tokenizer, no_file=NO_FILE)
    tokenizer = load_tokenizer(args)
    rows = [(name, _encode(tokenizer, content, args)) for name, content in inputs]
    if args.json:
        write_output(args.out, _json(rows))
    else:
        write_output(args.out, (piece for _, ids in rows for piece in (*_written(ids, " "), b"\n")))
    return 0


def _encode(tokenizer: Tokenizer, content: bytes, args: argparse.Namespace) -> _Ids:
    """The ids; those of a long text as an array, which takes a tenth of the memory."""
    if len(content) < _LONG:
        return tokenizer.encode(content, special=args.special)
    return tokenizer.encode_to_numpy(content, special=args.special)


def _written(ids: _Ids, between: str) -> Iterator[bytes]:
    """The ids in print, in pieces."""
    for start in range(0, len(ids), _PIECE):
        piece = ids[start : start + _PIECE]
        numbers = piece if isinstance(piece, list) else piece.tolist()
        yield (between * (start > 0) + between.join(map(str, numbers))).encode()


def _json(rows: list[tuple[str, _Ids]]) -> Iterator[bytes]:
    """What ``json.dumps`` would make of it, in pieces."""
    yield b'{"texts": ['
    for place, (name, ids) in enumerate(rows):
        head = as_json({"file": name, "count": len(ids), "ids": []}).removesuffix(b"]}\n")
        yield b", " * (place > 0) + head
        yield from _written(ids, ", ")
        yield b"]}"
    yield b"]}\n"


def _run_npy(args: argparse.Namespace) -> int:
    if args.json:
        raise UsageError("--format npy and --json are two forms of output: choose one")
    files = expand(args.files) or [STDIN]
    if len(files) > 1:
        raise UsageError("an array holds the ids of one text", hint="one call for each file, or --format ids")
    if args.out is None and is_terminal(sys.stdout):
        raise UsageError("an array is not for a terminal", hint="--out ids.npy")
    import io

    import numpy as np

    inputs = read_inputs(files, tokenizer=args.tokenizer, no_file=NO_FILE)
    tokenizer = load_tokenizer(args)
    [(_, content)] = inputs
    array = io.BytesIO()
    np.save(array, tokenizer.encode_to_numpy(content, special=args.special))
    write_output(args.out, array.getvalue())
    return 0
