"""Each token of the vocabulary with its id.

A line for each token, in the order of the ids: the id, the token in the written
form of the vocabulary as a JSON string, and its bytes in hexadecimal digits,
with tabs between them. Over bytes Ġ is a space in the written form, Ċ a line
end. Nothing is lost: json.loads and bytes.fromhex of Python read them back.

  tokenmill vocab -t tokenizer/ --special
  tokenmill vocab -t cl100k_base | grep -i hello
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from .files import as_json, write_output
from .options import add_output, add_tokenizer, load_tokenizer

if TYPE_CHECKING:
    from tokenmill import Tokenizer

__all__ = ["add_arguments", "run"]

_PIECE = 4096
"""Tokens that are written at once."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``vocab`` takes."""
    parser.add_argument("--special", action="store_true", help="special tokens alone")
    add_output(parser)
    add_tokenizer(parser)


def run(args: argparse.Namespace) -> int:
    """Load the tokenizer and write its tokens."""
    tokenizer = load_tokenizer(args)
    special = set(tokenizer.special_tokens.values())
    rows = [(number, token) for number, token in _tokens(tokenizer) if not args.special or number in special]
    write_output(args.out, (_json if args.json else _lines)(tokenizer, rows, special))
    return 0


def _tokens(tokenizer: Tokenizer) -> list[tuple[int, str]]:
    """Pairs of id and token in the order of the ids; tokens may share an id, and ids a token."""
    rows = {(number, token) for token, number in tokenizer.vocab.items()}
    missing = tokenizer.vocab_size - len({number for number, _ in rows})
    if missing:
        known = {number for number, _ in rows}
        for number in range(tokenizer.max_id + 1):
            if number in known or (token := tokenizer.id_to_token(number)) is None:
                continue
            rows.add((number, token))
            missing -= 1
            if not missing:
                break
    return sorted(rows)


def _lines(tokenizer: Tokenizer, rows: Iterable[tuple[int, str]], _: object) -> Iterator[bytes]:
    left = iter(rows)
    while piece := list(islice(left, _PIECE)):
        yield "".join(
            f"{number}\t{_quoted(token)}\t{tokenizer.token_bytes(number).hex()}\n" for number, token in piece
        ).encode()


def _quoted(token: str) -> str:
    """A JSON string on one line, with characters that do not print as escapes."""
    if token.isprintable():
        return json.dumps(token, ensure_ascii=False)
    shown = (json.dumps(char, ensure_ascii=not char.isprintable())[1:-1] for char in token)
    return f'"{"".join(shown)}"'


def _json(tokenizer: Tokenizer, rows: Iterable[tuple[int, str]], special: set[int]) -> Iterator[bytes]:
    """One object, in pieces."""
    left = iter(rows)
    yield f'{{"vocab_size": {tokenizer.vocab_size}, "tokens": ['.encode()
    between = b""
    while piece := list(islice(left, _PIECE)):
        tokens = [
            {
                "id": number,
                "token": token,
                "bytes": tokenizer.token_bytes(number).hex(),
                "special": number in special,
            }
            for number, token in piece
        ]
        yield between + as_json(tokens).removesuffix(b"]\n").removeprefix(b"[")
        between = b", "
    yield b"]}\n"
