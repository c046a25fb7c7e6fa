"""Placeholder text: sentences as in a book, or in text of yours.

Without --from and --model the text is drawn from a small model of Cicero's De
finibus, which Lorem Ipsum was made of, or of Jane Austen with --language en.
With --from it is drawn from a file, by a tokenizer that is trained on it at
once; with --model from what NGramModel.save wrote. The text ends with the
first sentence that ends from the amount on; --exact cuts it there, and closes
it with a full stop.

  tokenmill lorem --words 80 --seed 7
  tokenmill lorem --sentences 3 --language en
  tokenmill lorem --words 200 --from notes.txt
"""

from __future__ import annotations

import argparse
import secrets
from typing import TYPE_CHECKING, Any

from .corpora import Rows, in_parts
from .files import STDIN, as_json, as_text, write_output
from .options import add_output
from .parsing import whole_number
from .usage import UsageError

if TYPE_CHECKING:
    from tokenmill.placeholder import NGramModel

__all__ = ["add_arguments", "run"]

_UNITS = ("words", "tokens", "sentences", "characters")
_MERGES = 4096
"""How many merges the tokenizer of ``--from`` learns at most."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``lorem`` takes."""
    amounts = parser.add_mutually_exclusive_group()
    for unit in _UNITS:
        default = " (default: 80 words)" if unit == "words" else ""
        amounts.add_argument(
            f"--{unit}", type=whole_number(1), metavar="N", help=f"at least N {unit}{default}"
        )
    parser.add_argument("--exact", action="store_true", help="exactly N, cut and closed")
    parser.add_argument(
        "--seed",
        type=whole_number(0),
        metavar="N",
        help="the same seed gives the same text (default: another one each time)",
    )
    parser.add_argument(
        "--start", metavar="TEXT", help="what the text begins with; it has to occur in the corpus"
    )
    models = parser.add_mutually_exclusive_group()
    models.add_argument(
        "--from", dest="corpus", metavar="FILE", help="draw from this text; - is standard input"
    )
    models.add_argument("--model", metavar="PATH", help="draw from this model, as NGramModel.save wrote it")
    models.add_argument(
        "--language", choices=("la", "en"), help="Latin or English, from a small model (default: la)"
    )
    parser.add_argument(
        "--order", type=int, choices=(2, 3), help="tokens of an n-gram with --from (default: 3)"
    )
    add_output(parser, json="one JSON object with the text and its seed, for programs")


def run(args: argparse.Namespace) -> int:
    """Draw a text and write it."""
    if args.order is not None and args.corpus is None:
        raise UsageError("--order is for --from; a model has its own", hint="--from FILE")
    unit = next((unit for unit in _UNITS if getattr(args, unit) is not None), "words")
    amount: dict[str, Any] = {unit: getattr(args, unit) or 80}
    seed = secrets.randbits(32) if args.seed is None else args.seed
    text = _model(args).generate(**amount, seed=seed, start=args.start, exact=args.exact)
    if args.json:
        shown = as_json({"text": text, "seed": seed, "words": len(text.split()), "characters": len(text)})
    else:
        shown = text.encode() + b"\n"
    write_output(args.out, [shown])
    return 0


def _model(args: argparse.Namespace) -> NGramModel:
    import tokenmill
    from tokenmill import placeholder

    if args.model is not None:
        return placeholder.NGramModel.load(args.model)
    if args.corpus is None:
        return placeholder.bundled(args.language or "la")
    text = "\n".join(as_text(args.corpus, content) for _, content in in_parts(args.corpus, Rows()))
    if not text.strip():
        name = "standard input" if args.corpus == STDIN else args.corpus
        raise UsageError(f"{name} has no text to draw from")
    tokenizer = tokenmill.train(texts=[text], num_merges=_MERGES)
    return placeholder.NGramModel.train(tokenizer, texts=[text], order=args.order or 3)
