"""Training step by step, for small texts: the executable definition on the pretokens of the text."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from tokenmill import reference

from .corpora import in_parts, rows_of

__all__ = ["MOST_BYTES", "trace"]

S = TypeVar("S", bytes, str)

MOST_BYTES = 20_000
"""The most bytes of all texts together: the definition counts everything again after each merge."""
_STEPS = 20
_ROWS = 12
"""How many steps, and rows of each list, are shown unless all are asked for."""


def trace(files: list[str], num_merges: int, args: argparse.Namespace) -> str:
    """The page that shows the steps of the training that ``args`` describe."""
    from tokenmill import reference

    documents = _documents(files, args)
    pretokens = [piece for text in documents for piece in _pretokens(text, args)]
    tie_break: reference.TieBreak = args.tie_break or "lexicographic"
    if args.alphabet != "chars":
        return _page(
            reference.trace_training(
                map(reference.byte_symbols, pretokens),
                num_merges=num_merges,
                tie_break=tie_break,
                min_frequency=args.min_frequency or 2,
                max_token_length=args.max_token_length,
                alphabet=reference.BYTES,
            ),
            num_merges,
            args,
        )
    form: Literal["separate", "suffix"] = args.end_of_word_form or "separate"
    words = [reference.char_symbols(word, args.end_of_word, form) for word in pretokens]
    return _page(
        reference.trace_training(
            words,
            num_merges=num_merges,
            tie_break=tie_break,
            min_frequency=args.min_frequency or 2,
            max_token_length=args.max_token_length,
            alphabet=reference.alphabet_of(words, args.end_of_word),
            end_of_word=args.end_of_word,
        ),
        num_merges,
        args,
    )


def _page(steps: Iterator[reference.Step[S]], num_merges: int, args: argparse.Namespace) -> str:
    """The steps as text; of a long page the first ones, with a line that says so."""
    from tokenmill import reference

    if args.trace_all:
        return reference.format_trace(steps)
    shown = list(islice(steps, _STEPS))
    page = reference.format_trace(shown, most_rows=_ROWS)
    if page == reference.format_trace(shown) and num_merges <= _STEPS:
        return page
    left = f"{num_merges - _STEPS:,} more steps" if num_merges > _STEPS else "some lists are cut"
    return f"{page}\n{left}: --trace-all shows everything\n"


def _documents(files: list[str], args: argparse.Namespace) -> list[str]:
    """The documents of the files as training reads them."""
    texts = []
    for content in [content for name in files for _, content in in_parts(name, rows_of(args))]:
        parts = [content]
        if args.documents == "lines":
            *lines, last = content.split(b"\n")
            parts = [*(line.removesuffix(b"\r") for line in lines), last]
        for part in parts:
            try:
                texts.append(part.decode(errors="replace" if args.errors == "replace" else "strict"))
            except UnicodeDecodeError:  # training left it out; with errors="strict" it would have stopped
                continue
    return texts


def _pretokens(text: str, args: argparse.Namespace) -> Iterator[str]:
    """The pretokens of a document, special tokens cut out.

    Training without any bound ends when each pretoken is one token; its ids show where the text is cut.
    """
    import tokenmill

    # The unknown token's literal is cut out of the text like the others.
    literals = [*args.special_tokens, *([args.unk_token] if args.unk_token else [])]
    whole = tokenmill.train(
        texts=[text],
        num_merges=len(text.encode()),
        min_frequency=1,
        split=args.split,
        special_tokens=list(dict.fromkeys(literals)),
        num_threads=1,
    )
    special = set(whole.special_tokens.values())
    for token in whole.encode(text, special="parse"):
        if token not in special:
            yield whole.token_bytes(token).decode()
