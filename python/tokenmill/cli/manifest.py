"""What a folder's tokenizer is, as its manifest says it: JSON.

Hashes of the files that are read, fingerprint, ids that a model depends on, and
golden vectors: texts with their ids and offsets. --write puts it into the folder
as tokenmill.json, in place of another; the other files stay as they are. What no
tokenizer knows is given by the options; what the folder's manifest says of it
stays. Files that are not what that manifest says are an error; delete the
manifest to take them as they are.

  tokenmill manifest tokenizer/
  tokenmill manifest tokenizer/ --write --padding-side-train right
  tokenmill verify tokenizer/
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from .files import write_output
from .folders import add_folder, reading
from .streams import say
from .terminal import visible
from .usage import UsageError

__all__ = ["add_arguments", "run"]

_SIDES = ("right", "left")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``manifest`` takes."""
    add_folder(parser, "folder of a tokenizer, or a tokenizer of any kind (not with --write)")
    parser.add_argument("--write", action="store_true", help="write tokenmill.json into the folder, too")
    parser.add_argument(
        "--think-end-id",
        metavar="ID",
        type=int,
        help="the id that ends a train of thought, where none is written </think>",
    )
    parser.add_argument("--padding-side-train", choices=_SIDES, help="the side that was padded in training")
    parser.add_argument("--padding-side-generate", choices=_SIDES, help="the side to pad for generation")
    parser.add_argument("--corpus", metavar="TEXT", help="what the tokenizer was trained on, in your words")
    parser.add_argument(
        "--out",
        metavar="PATH",
        help="write to this file instead of to standard output, all at once at the end",
    )


def run(args: argparse.Namespace) -> int:
    """Make the manifest, print it, and write it where that is asked for."""
    import tokenmill
    from tokenmill import manifest

    names = ("think_end_id", "padding_side_train", "padding_side_generate", "corpus")
    given = {name: value for name in names if (value := getattr(args, name)) is not None}
    path = Path(args.tokenizer)
    if path.is_dir():
        make = manifest.write if args.write else manifest.manifest_of
        made: dict[str, Any] = make(args.tokenizer, given, **reading(args))
    elif args.write:
        # The error of the system for what is not there.
        path.stat()
        raise UsageError(f"{visible(args.tokenizer)}: no folder: a manifest stands beside the files of one")
    else:
        made = manifest.manifest_of(tokenmill.load(args.tokenizer, **reading(args)), given)
    text = json.dumps(made, ensure_ascii=True, indent=2)
    write_output(args.out, f"{text}\n".encode())
    if args.write:
        say(f"wrote {visible(str(path / 'tokenmill.json'))}")
    return 0
