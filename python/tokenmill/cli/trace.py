"""Training step by step, for small texts: the executable definition on the pretokens of the text."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from .files import as_text, read_inputs
from .usage import UsageError

__all__ = ["read_documents", "trace"]

_LIMIT = 20_000
"""Bytes. The definition counts everything again after each merge, and the page shows all of it."""


def read_documents(files: list[str], documents: str) -> list[str]:
    """The documents of the files, if all together are small enough to be traced."""
    size = sum(map(os.path.getsize, files))
    if size > _LIMIT:
        raise UsageError(
            f"{size:,} bytes are too many to trace; {_LIMIT:,} is the limit",
            hint="trace a sample of the text: the steps are the same in kind",
        )
    texts = [as_text(name, content) for name, content in read_inputs(files)]
    if documents == "file":
        return texts
    lines = (line.removesuffix("\r") for text in texts for line in text.split("\n"))
    return [line for line in lines if line]


def trace(documents: list[str], num_merges: int, args: argparse.Namespace) -> str:
    """The page that shows every step of the training that ``args`` describe."""
    from tokenmill import reference

    pretokens = [piece for text in documents for piece in _pretokens(text, args)]
    if args.alphabet == "bytes":
        return reference.format_trace(
            reference.trace_training(
                map(reference.byte_symbols, pretokens),
                num_merges=num_merges,
                tie_break=args.tie_break,
                min_frequency=args.min_frequency,
                max_token_length=args.max_token_length,
                alphabet=reference.BYTES,
            )
        )
    words = [reference.char_symbols(word, args.end_of_word, args.end_of_word_form) for word in pretokens]
    return reference.format_trace(
        reference.trace_training(
            words,
            num_merges=num_merges,
            tie_break=args.tie_break,
            min_frequency=args.min_frequency,
            max_token_length=args.max_token_length,
            alphabet=reference.alphabet_of(words, args.end_of_word),
            end_of_word=args.end_of_word,
        )
    )


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
