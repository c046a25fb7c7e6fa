"""Ids into text.

FILE holds ids separated by white space or commas, in brackets or not, or is an array as
`encode --format npy` writes it. The bytes they stand for are written as they are, one FILE behind the other,
with nothing in between.

  tokenmill encode -t tokenizer/ book.txt | tokenmill decode -t tokenizer/ | cmp - book.txt
"""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from .files import as_json, read_inputs, source, write_output
from .options import add_files, add_output, add_tokenizer, load_tokenizer
from .usage import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["add_arguments", "run"]

_NPY = b"\x93NUMPY"
_ID = re.compile(rb"[0-9]+")
_BETWEEN = b" \t\r\n,[]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``decode`` takes."""
    add_files(parser, "ids")
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
    tokenizer = load_tokenizer(args)
    texts = [
        (
            name,
            tokenizer.decode_bytes(
                _parse(name, content),
                skip_special_tokens=args.skip_special_tokens,
                undefined=args.undefined,
            ),
        )
        for name, content in read_inputs(args.files)
    ]
    if args.json:
        shown = [{"file": name, "text": text.decode("utf-8", "replace")} for name, text in texts]
        write_output(args.out, as_json({"texts": shown}))
    else:
        write_output(args.out, b"".join(text for _, text in texts))
    return 0


def _parse(name: str, content: bytes) -> list[int] | npt.NDArray[Any]:
    """The ids that a file holds."""
    if content.startswith(_NPY):
        return _parse_npy(name, content)
    words = content.translate(bytes.maketrans(_BETWEEN, b" " * len(_BETWEEN))).split()
    for word in words:
        # Longer numbers are no ids, and Python refuses to read thousands of digits.
        if not _ID.fullmatch(word) or len(word) > 20:
            shown = word[:40].decode("utf-8", "backslashreplace")
            raise UsageError(
                f"{source(name)}: {shown!r} is not an id", hint="ids are whole numbers from 0 on"
            )
    return [int(word) for word in words]


def _parse_npy(name: str, content: bytes) -> npt.NDArray[Any]:
    import io

    import numpy as np

    try:
        array: npt.NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise UsageError(f"{source(name)}: not a whole numpy array: {error}") from error
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise UsageError(
            f"{source(name)}: an array of ids has one dimension and whole numbers, not {array.dtype}"
        )
    return array
