r"""How much text a token holds, by the size of the vocabulary and by language.

Each FILE is the text of a language, under its own name without the ending, or
under another as NAME=FILE; files of one name belong together. They may be
compressed, JSONL, Parquet or Arrow (--field, --column), and should be other
text than what the tokenizer was trained on. For each name and size the table
has the bytes of a token, or what --measure says instead.

-t names byte-pair encoding of the largest size: its first merges are the
tokenizer of a smaller one. With --train the tokenizers are trained here, which
Unigram and WordPiece need for each size anew.

  tokenmill curve -t tokenizer/ --sizes 1k,2k,4k,8k en.txt de.txt zh.txt
  tokenmill curve --train 'corpus/*.txt' --model unigram --sizes 4k,8k,16k \
      --svg curve.svg English=en.txt German=de.txt
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from .corpora import Rows, add_rows, in_parts, names_of, rows_of
from .files import STDIN, as_json, as_text, check_read_once, source, write_output
from .named import named_files
from .options import add_files, add_output, add_tokenizer, load_tokenizer
from .parsing import whole_number
from .spool import spooled
from .streams import is_terminal
from .terminal import bar_wanted, table
from .usage import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenmill import Tokenizer, VocabSizes
    from tokenmill.vocab_sizes import Measure

__all__ = ["add_arguments", "run"]

_MEASURES: dict[str, Measure] = {
    "bytes-per-token": "bytes_per_token",
    "fertility": "fertility",
    "tokens-per-character": "tokens_per_character",
    "tokens": "tokens",
}
_OF_LOADING = {"special_tokens": "--special-token", "revision": "--revision", "offline": "--offline"}
"""Options that mean nothing where the tokenizer is trained."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``curve`` takes."""
    add_files(parser, "the text of a language, or NAME=FILE")
    add_rows(parser)
    parser.add_argument(
        "--sizes",
        type=_sizes,
        metavar="N,N,...",
        required=True,
        help="sizes of the vocabulary, special tokens and alphabet included: 1k,2k,4k",
    )
    parser.add_argument(
        "--measure",
        choices=tuple(_MEASURES),
        default="bytes-per-token",
        metavar="NAME",
        help="what the table and the plot show: bytes-per-token (default), fertility (tokens per word), "
        "tokens-per-character, tokens",
    )
    parser.add_argument("--svg", metavar="OUT.svg", help="draw the curves into this file, too")
    parser.add_argument(
        "--num-threads", type=whole_number(1), metavar="N", help="threads (default: every core)"
    )
    add_output(parser)
    training = parser.add_argument_group("training, in place of -t")
    training.add_argument(
        "--train",
        metavar="FILE",
        action="append",
        default=[],
        help="text to learn from: a file, a glob in quotes, or - for standard input; may be given again",
    )
    training.add_argument(
        "--model",
        choices=("bpe", "wordpiece", "unigram"),
        help="what is learned (default: bpe); --split says how text is cut for it",
    )
    add_tokenizer(parser, required=False)


def run(args: argparse.Namespace) -> int:
    """Encode with each size, write the plot, then the table."""
    _check(args)
    named = named_files(args.files)
    training, rows = names_of(args.train), rows_of(args)
    check_read_once([path for paths in named.values() for path in paths] + training, tokenizer=args.tokenizer)
    texts = {name: [text for path in paths for text in _texts(path, rows)] for name, paths in named.items()}
    for name, own in texts.items():
        if not any(own):
            raise UsageError(f"{', '.join(map(source, named[name]))}: there is no text to measure")
    found = _compare(texts, training, args)
    measure = _MEASURES[args.measure]
    if args.svg is not None:
        write_output(args.svg, found.to_svg(measure).encode(), option="--svg")
    page = as_json(found.to_dict()) if args.json else _page(found, measure, args.out).encode()
    write_output(args.out, page)
    return 0


def _sizes(text: str) -> list[int]:
    try:
        return [whole_number(1)(part) for part in text.split(",")]
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"{text[:30]!r} is not a list of whole numbers from 1 on; write 1k,2k,4k"
        ) from None


def _check(args: argparse.Namespace) -> None:
    if (args.tokenizer is None) == (not args.train):
        said = (
            "choose one of -t/--tokenizer and --train" if args.train else "missing: -t/--tokenizer or --train"
        )
        raise UsageError(said, hint="tokenmill curve --help")
    if args.svg == STDIN:
        raise UsageError("--svg needs a file: standard output has the table", hint="--svg curve.svg")
    if not args.train:
        if args.model is not None:
            raise UsageError("--model is for --train", hint="--train FILE --model unigram")
        return
    for name, option in _OF_LOADING.items():
        if getattr(args, name):
            raise UsageError(f"{option} is for -t/--tokenizer, not for --train")
    if args.model == "unigram" and args.split is not None:
        raise UsageError("--split is for --model bpe and wordpiece", hint="--model bpe")


# ---- texts ------------------------------------------------------------------------------------


def _texts(path: str, rows: Rows) -> list[str]:
    return [
        as_text(path if row is None else f"{source(path)}: row {row}", content)
        for row, content in in_parts(path, rows)
    ]


# ---- tokenizers -------------------------------------------------------------------------------


def _compare(texts: Mapping[str, list[str]], training: list[str], args: argparse.Namespace) -> VocabSizes:
    import tokenmill

    def compare(tokenizer: Tokenizer | None, **options: Any) -> VocabSizes:
        try:
            return tokenmill.compare_vocab_sizes(
                tokenizer,
                texts,
                args.sizes,
                num_threads=args.num_threads,
                progress=bar_wanted(),
                **options,
            )
        except (tokenmill.VocabularyError, tokenmill.TrainingError) as error:
            if not isinstance(error.__cause__, tokenmill.TokenmillError):
                raise
            raise _unusable(error, args) from error

    if not training:
        return compare(load_tokenizer(args))
    with spooled(training, again=True) as files:

        def train(size: int, progress: bool = False) -> Tokenizer:
            try:
                return tokenmill.train(
                    files,
                    field=args.field,
                    column=args.column,
                    vocab_size=size,
                    model=args.model or "bpe",
                    split=args.split,
                    unk_token="[UNK]" if args.model == "wordpiece" else None,
                    num_threads=args.num_threads,
                    progress=progress,
                )
            except tokenmill.TrainingError as error:
                if not str(error).startswith("vocab_size: "):
                    raise
                said = str(error).removeprefix("vocab_size: ").removesuffix(", or character_coverage lower")
                raise UsageError(f"--sizes: {said}") from error

        if args.model in (None, "bpe"):
            return compare(train(max(args.sizes), bar_wanted()))
        return compare(None, train=train)


def _unusable(error: Exception, args: argparse.Namespace) -> UsageError:
    """The same error in the words of the command line."""
    import tokenmill

    cause = error.__cause__
    if isinstance(cause, tokenmill.FormatError):
        return UsageError(
            f"{args.tokenizer}: cannot be cut to another size: {cause.reason}",
            hint="--train FILE --model unigram, or another model, trains a tokenizer of each size",
        )
    said = str(cause).removeprefix("vocab_size=")
    is_largest = said.startswith(f"{max(args.sizes)} ")
    hint = "more text to learn from gives more merges" if args.train and is_largest else None
    return UsageError(f"--sizes: {said}", hint=hint)


def _page(found: VocabSizes, measure: Measure, out: str | None) -> str:
    header, *rows = found.cells(measure)
    rich = out is None and is_terminal(sys.stdout)
    page = table(header, rows, right=range(1, len(header)), rich=rich)
    return page + "".join(f"{note}\n" for note in found.notes())
