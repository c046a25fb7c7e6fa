r"""A tokenizer in another format, written only if it is the same there.

The result is saved aside, loaded and compared over the texts of --verify and
over generated ones. If no id and no decoded text differs, it is put in place.
What the format cannot hold is refused by name, unless --lossy says to leave it
out.

tiktoken and vocab+merges hold neither the split nor the special tokens: both
are shown, and whoever loads the result gives them again. An image is the
compiled tokenizer, for this release of tokenmill: it loads in milliseconds.

  tokenmill convert tokenizer.json model.gguf --verify corpus/*.txt
  tokenmill convert gpt2/ gpt2.tiktoken
  tokenmill convert gpt2/ gpt2.tokenmill
  tokenmill convert ranks.tiktoken tokenizer.json --split cl100k \
      --special-token '<|end|>=100257'
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .files import as_json, write_output
from .options import add_offline, add_unsaid, load_tokenizer

if TYPE_CHECKING:
    from tokenmill.conversion import Conversion

__all__ = ["add_arguments", "run"]

_FORMATS = (
    *("tokenizer.json", "tiktoken", "vocab+merges", "vocab.txt", "sentencepiece", "gguf", "tekken"),
    "image",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``convert`` takes."""
    parser.add_argument(
        "tokenizer", metavar="IN", help="a file, a folder, or a name, as -t of the other commands takes it"
    )
    parser.add_argument("target", metavar="OUT", help="the file or folder to write")
    parser.add_argument(
        "--to",
        choices=_FORMATS,
        metavar="FORMAT",
        help=f"{', '.join(_FORMATS)} (default: what the name of OUT says)",
    )
    parser.add_argument(
        "--verify",
        metavar="TEXT",
        nargs="+",
        default=[],
        help="files of text to compare over, besides made ones",
    )
    parser.add_argument(
        "--lossy",
        action="store_true",
        help="leave out what the format cannot hold, and write where texts differ",
    )
    add_unsaid(parser)
    parser.add_argument("--revision", metavar="REV", help="branch, tag or commit of the repository")
    add_offline(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object, for programs")
    parser.set_defaults(out=None)


def run(args: argparse.Namespace) -> int:
    """Convert, say what was compared; 1 if something differs."""
    from tokenmill.conversion import convert

    from .usage import UsageError

    tokenizer = load_tokenizer(args)
    try:
        done = convert(tokenizer, args.target, to=args.to, verify=args.verify, lossy=args.lossy)
    except UnicodeDecodeError as error:
        raise UsageError(f"--verify: a text is not UTF-8: {error.reason} at byte {error.start}") from error
    except ValueError as error:
        if "no format goes by this name" not in str(error) or type(error) is not ValueError:
            raise
        raise UsageError(
            f"{args.target}: no format goes by this name", hint=f"--to {'|'.join(_FORMATS)}"
        ) from error
    write_output(None, as_json(done.to_dict()) if args.json else _page(done).encode())
    return 1 if done.differing else 0


def _page(done: Conversion) -> str:
    return f"{done}\n"
