"""Each token of a text: its id, text, written form, bytes, and where it stands.

The column `text` is what people read; `token` is the same in the letters of the
vocabulary, where over bytes Ġ is a space, Ċ a line end, and a byte that is no
letter has another one in its place. Long cells are shortened. Offsets are
half-open, first in characters and then in bytes of the text. TEXT, or --text
TEXT, is the text itself, --file FILE what is in a file; without them the text
is read from standard input, without its last line end.

With --stages: what every stage made of the text. Added tokens, normalized text,
pretokens, tokens, and for byte-pair encoding the merges in their order.

Without a text: --plan says which way each stage of the tokenizer goes and why,
--audit how its time grows with the length of a text: what is promised, and the
worst text that was found, with the slope that was measured (3 seconds at most).

  tokenmill inspect -t tokenizer/ "Hello world"
  tokenmill inspect -t tokenizer/ --stages "Hello world"
  tokenmill inspect -t tokenizer/ --audit
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from .files import STDIN, as_json, as_text, check_read_once, read_input, write_output
from .options import add_output, add_special, add_tokenizer, load_tokenizer
from .streams import is_terminal, say
from .terminal import colour_wanted, painted, quoted, shortened, table, visible
from .usage import UsageError

if TYPE_CHECKING:
    from tokenmill import Encoding, Tokenizer

__all__ = ["add_arguments", "run"]

_LIMIT = 100_000
"""Bytes of a text that is shown as a table."""
_PIECE = 4096
"""Tokens of JSON that are written at once."""
_HEADER = ("#", "id", "text", "token", "bytes", "characters", "byte offsets")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``inspect`` takes."""
    parser.add_argument("text", metavar="TEXT", nargs="?", help="the text itself")
    parser.add_argument("--text", metavar="TEXT", dest="text_itself", help="the same, whatever is in it")
    parser.add_argument("--file", metavar="FILE", help="a file with the text, every byte of it; - is stdin")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--stages", action="store_true", help="what every stage made of the text, merges and all"
    )
    what.add_argument("--plan", action="store_true", help="which way each stage goes, and why; takes no text")
    what.add_argument(
        "--audit",
        action="store_true",
        help="how the time of each stage grows, promised and measured; takes no text",
    )
    parser.add_argument(
        "--color",
        "--colour",
        dest="colour",
        choices=("always", "never", "auto"),
        default="auto",
        help="colour the text token by token (auto: on a terminal, unless NO_COLOR is set)",
    )
    add_special(parser)
    add_output(parser)
    add_tokenizer(parser)


def run(args: argparse.Namespace) -> int:
    """Encode the text and show what became of it."""
    if sum(given is not None for given in (args.text, args.text_itself, args.file)) > 1:
        raise UsageError("give one of TEXT, --text and --file")
    if args.text is None:
        args.text = args.text_itself
    if args.plan or args.audit:
        return _show_stages(args)
    if args.text is None:
        check_read_once([args.file or STDIN], tokenizer=args.tokenizer)
    tokenizer = load_tokenizer(args)
    text = _text(args)
    content = text.encode()
    if len(content) > _LIMIT and not args.json:
        raise UsageError(
            f"{len(content):,} bytes are too many for a table; {_LIMIT:,} is the limit",
            hint="--json writes any size; or inspect a part of the text",
        )
    if args.stages and (text or args.json):
        explanation = tokenizer.explain(text, special=args.special)
        shown = f"{explanation}\n".encode("utf-8", "backslashreplace")
        write_output(args.out, as_json(explanation.to_dict()) if args.json else shown)
        return 0
    encoding = tokenizer.encode_with_offsets(text, special=args.special)
    if args.json:
        write_output(args.out, _json(tokenizer, encoding))
        return 0
    if not len(encoding):
        say("no tokens")
        write_output(args.out, b"")
        return 0
    pieces = [content[start:end] for start, end in encoding.byte_offsets]
    page = _table(tokenizer, encoding, rich=args.out is None and is_terminal(sys.stdout))
    if colour_wanted(args.colour, args.out):
        page = painted(pieces) + "\n\n" + page
    write_output(args.out, page.encode("utf-8", "backslashreplace"))
    return 0


def _show_stages(args: argparse.Namespace) -> int:
    option = "--plan" if args.plan else "--audit"
    if args.text is not None or args.file is not None:
        raise UsageError(f"{option} takes no text", hint="--stages shows what the stages make of a text")
    tokenizer = load_tokenizer(args)
    said = tokenizer.plan() if args.plan else tokenizer.audit()
    shown = f"{said}\n".encode("utf-8", "backslashreplace")
    write_output(args.out, as_json(said.to_dict()) if args.json else shown)
    return 0


def _text(args: argparse.Namespace) -> str:
    if args.text is not None:
        if os.path.isfile(args.text):  # noqa: PTH113  # a Path raises where a text is too long for a name
            say(f"hint: --file {args.text} inspects what is in the file; this is its name")
        return as_text("TEXT", os.fsencode(args.text))
    name = args.file or STDIN
    if os.path.isdir(name):  # noqa: PTH112
        raise UsageError(f"{name}: is a folder", hint="--file names one file in it")
    text = as_text(name, read_input(name))
    return text if args.file else text.removesuffix("\n")


def _json(tokenizer: Tokenizer, encoding: Encoding) -> Iterator[bytes]:
    """One object, in pieces."""
    rows = zip(encoding.ids, encoding.tokens, encoding.offsets, encoding.byte_offsets, strict=True)
    yield f'{{"count": {len(encoding)}, "tokens": ['.encode()
    between = b""
    while piece := list(islice(rows, _PIECE)):
        tokens = [
            {
                "id": number,
                "token": token,
                "bytes": tokenizer.token_bytes(number).hex(),
                "offsets": offsets,
                "byte_offsets": byte_offsets,
            }
            for number, token, offsets, byte_offsets in piece
        ]
        yield between + as_json(tokens).removesuffix(b"]\n").removeprefix(b"[")
        between = b", "
    yield b"]}\n"


def _table(tokenizer: Tokenizer, encoding: Encoding, *, rich: bool) -> str:
    rows = [
        (
            str(place),
            str(number),
            quoted(tokenizer.token_bytes(number)),
            shortened([visible(char) for char in token]),
            shortened(tokenizer.token_bytes(number).hex(" ").split(), " "),
            f"{start}-{end}",
            f"{byte_start}-{byte_end}",
        )
        for place, (number, token, (start, end), (byte_start, byte_end)) in enumerate(
            zip(encoding.ids, encoding.tokens, encoding.offsets, encoding.byte_offsets, strict=True)
        )
    ]
    return table(_HEADER, rows, right=(0, 1, 5, 6), rich=rich)
