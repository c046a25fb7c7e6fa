"""How many tokens each text has; no ids are made.

A line for each FILE, `COUNT NAME`, and the total where there are several;
standard input gives the number alone.

  tokenmill count -t tokenizer/ docs/*.md
"""

from __future__ import annotations

import argparse

from .files import STDIN, as_json, read_inputs, write_output
from .options import NO_FILE, add_files, add_output, add_special, add_tokenizer, load_tokenizer

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``count`` takes."""
    add_files(parser, "a text")
    add_special(parser)
    add_output(parser)
    add_tokenizer(parser)


def run(args: argparse.Namespace) -> int:
    """Count each text, then write the table."""
    inputs = read_inputs(args.files, tokenizer=args.tokenizer, no_file=NO_FILE)
    tokenizer = load_tokenizer(args)
    rows = [(name, tokenizer.count(content, special=args.special), len(content)) for name, content in inputs]
    total = sum(count for _, count, _ in rows)
    if args.json:
        texts = [{"file": name, "count": count, "bytes": size} for name, count, size in rows]
        write_output(args.out, as_json({"texts": texts, "total": total}))
    elif [name for name, _, _ in rows] == [STDIN]:
        write_output(args.out, f"{total}\n".encode())
    else:
        shown = [(str(count), name) for name, count, _ in rows]
        if len(shown) > 1:
            shown.append((str(total), "total"))
        width = max(len(count) for count, _ in shown)
        lines = "".join(f"{count:>{width}} {name}\n" for count, name in shown)
        write_output(args.out, lines.encode("utf-8", "surrogateescape"))
    return 0
