"""Whether two tokenizers give the same, and what differs.

The verdict is same where that is proved, different where there is a text, a
row of ids or a conversation for which they differ (it is shown as short as it
can be), and unknown where there is neither; then what was tried is listed. The
text of --text is searched first, each file as one text.

Exit code 0 says that they are the same; 1 that they are not, or that it is not
known.

  tokenmill diff old/ new/
  tokenmill diff cl100k_base tokenizer.json --text notes.txt --json
"""

from __future__ import annotations

import argparse

from .corpora import names_of
from .files import as_json, as_text, check_read_once, read_inputs, write_output
from .options import add_offline, add_output, add_unsaid, load_named, special_tokens

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``diff`` takes."""
    parser.add_argument("a", metavar="A", help="a tokenizer: a file, a folder or a name, as for -t")
    parser.add_argument("b", metavar="B", help="the one that it is compared with")
    parser.add_argument(
        "--text", metavar="FILE", action="append", default=[], help="text to search first; may be given again"
    )
    add_offline(parser)
    add_unsaid(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Compare the two; 0 where they are the same."""
    import tokenmill

    files = names_of(args.text)
    check_read_once([*files, args.a], tokenizer=args.b)
    special = special_tokens(args.special_tokens)
    a, b = (
        load_named(name, split=args.split, special_tokens=special, offline=args.offline)
        for name in (args.a, args.b)
    )
    texts = [as_text(name, content) for name, content in read_inputs(files)] if files else []
    found = tokenmill.diff(a, b, texts=texts)
    page = as_json(found.to_dict()) if args.json else f"{found}\n".encode()
    write_output(args.out, page)
    return 0 if found.verdict == "same" else 1
