"""`.tiktoken` files, damaged. What they mean is what `tiktoken.load` makes of them."""

from __future__ import annotations

import base64
import os
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from . import sources
from .making import Content, Encode, Format, Mutation, Source, in_bytes, larger_than

ALL = ("r50k_base", "cl100k_base", "o200k_base")
LINE = 1000
"""The line that is damaged, counted from 1: a token of several bytes."""


def line(change: Callable[[bytes, bytes], bytes], number: int = LINE) -> Callable[[bytes], bytes]:
    """Damage to one line: what stands in the place of its token and rank."""

    def damage(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        token, rank = lines[number - 1].split()
        lines[number - 1] = change(token, rank)
        return b"".join(lines)

    return damage


def with_rank(rank: bytes) -> Callable[[bytes], bytes]:
    return line(lambda token, _: token + b" " + rank + b"\n")


def with_token(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return line(lambda token, rank: change(token) + b" " + rank + b"\n")


def in_the_middle(text: bytes) -> Callable[[bytes], bytes]:
    """Put in before the damaged line."""
    return line(lambda token, rank: text + token + b" " + rank + b"\n")


def first_lines(count: int, more: int) -> Callable[[bytes], bytes]:
    def cut(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        return b"".join(lines[:count]) + lines[count][:more]

    return cut


def shuffled(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    random.Random(0).shuffle(lines)
    return b"".join(lines)


def swapped(data: bytes) -> bytes:
    """Exchange the ranks of two tokens of several bytes."""
    lines = [one.split() for one in data.splitlines()]
    lines[300][1], lines[301][1] = lines[301][1], lines[300][1]
    return b"".join(b" ".join(fields) + b"\n" for fields in lines)


def with_a_gap(data: bytes) -> bytes:
    """The last token is further on."""
    *lines, last = data.splitlines(keepends=True)
    token, rank = last.split()
    return b"".join(lines) + token + b" %d\n" % (int(rank) + 5)


def without_a_byte(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(one for one in lines if one.split()[0] != base64.b64encode(b"w"))


def url_safe(data: bytes) -> bytes:
    return data.translate(bytes.maketrans(b"+/", b"-_"))


def with_padding(signs: int) -> Callable[[bytes], bytes]:
    """All the padding that there is, replaced."""

    def change(data: bytes) -> bytes:
        lines = [one.split() for one in data.splitlines()]
        padded = [token.rstrip(b"=") + b"=" * signs * token.endswith(b"=") for token, _ in lines]
        return b"".join(token + b" " + rank + b"\n" for token, (_, rank) in zip(padded, lines, strict=True))

    return change


def with_an_empty_token(written: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data + written + b" 3000\n"


def repeated(text: bytes, times: int) -> Callable[[bytes], Content]:
    def change(data: bytes) -> Content:
        def write(path: Path) -> None:
            with path.open("wb") as file:
                file.write(data)
                for _ in range(times >> 16):
                    file.write(text * (1 << 16))

        return write

    return change


def rows() -> Iterator[tuple[int, str, Callable[[bytes], Content]]]:
    yield 1, "cut within a line", first_lines(2000, 3)
    yield 2, "cut at the end of a line", first_lines(2000, 0)
    yield 3, "empty", lambda data: b""
    yield 3, "nothing but line ends", lambda data: b"\n\r\n\n"
    yield 4, "lines that end in CR LF", lambda data: data.replace(b"\n", b"\r\n")
    yield 5, "blank lines", lambda data: b"\n" + data.replace(b"\n", b"\n\n")
    yield 6, "no line end at the end", lambda data: data.rstrip(b"\n")
    yield 7, "blanks around tabs", lambda data: data.replace(b" ", b"\t ").replace(b"\n", b" \t \n")
    yield 8, "a byte-order mark", lambda data: b"\xef\xbb\xbf" + data
    yield 9, "a line without a rank", with_rank(b"")
    yield 9, "a line with a third field", with_rank(b"999 1")
    yield 10, "a rank that is no number", with_rank(b"x")
    yield 10, "a rank with a point", with_rank(b"999.0")
    yield 11, "a rank below zero", with_rank(b"-1")
    yield 12, "a rank of 2^32", with_rank(b"4294967296")
    yield 12, "a rank of 2^32 - 1", with_rank(b"4294967295")
    yield 12, "a rank of 2^128", with_rank(b"340282366920938463463374607431768211456")
    yield 13, "a rank twice", with_rank(b"998")
    yield 14, "a token twice", line(lambda token, rank: token + b" 5000\n" + token + b" " + rank + b"\n")
    yield 15, "a gap in the ranks", with_a_gap
    yield 16, "lines shuffled", shuffled
    yield 17, "a character that is not base64", with_token(lambda token: b"*" + token[1:])
    yield 17, "a character that is not ASCII", with_token(lambda token: "é".encode() + token[1:])
    yield 17, "a byte that is not UTF-8", with_token(lambda token: b"\xff" + token[1:])
    yield 18, "padding that is missing", with_padding(0)
    yield 18, "padding that is too long", with_padding(5)
    yield 19, "the URL-safe alphabet", url_safe
    yield 20, "an empty token", with_an_empty_token(b"=")
    yield 20, "an empty token, written ====", with_an_empty_token(b"====")
    yield 21, "no token of one byte", without_a_byte
    yield 22, "two ranks exchanged", swapped
    yield 23, "a token of a megabyte", with_token(lambda token: base64.b64encode(b"a" * 2**20))
    yield (
        24,
        "a special token that is a token too",
        lambda data: data + base64.b64encode(b"<|endoftext|>") + b" 3000\n",
    )
    yield 25, "more than a GiB", larger_than(2**30 + 1)
    yield 25, "more than 16 Mi lines", repeated(b"YQ 1\n", 2**24 + 2**16)


@cache
def pattern(encoding: str) -> Any:
    """The pattern of an encoding; its ranks are not wanted."""
    from tiktoken_ext import openai_public

    load = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = lambda *_, **__: {}
    try:
        return openai_public.ENCODING_CONSTRUCTORS[encoding]()["pat_str"]
    finally:
        openai_public.load_tiktoken_bpe = load


def reference(source: Source, path: Path) -> Encode:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    # An empty folder: else it would keep the file by its path, and find it there in the next run.
    with mock.patch.dict(os.environ, TIKTOKEN_CACHE_DIR=""):
        ranks = load_tiktoken_bpe(str(path))
    theirs = tiktoken.Encoding(
        "damaged",
        pat_str=pattern(path.stem.removeprefix(sources.CUT)),
        mergeable_ranks=ranks,
        special_tokens=source.options["special_tokens"],
    )

    def encode(text: str, parse: bool) -> list[int]:
        return theirs.encode(text, allowed_special="all") if parse else theirs.encode_ordinary(text)

    return encode


DIFFERS = {
    "a rank of 2^32 - 1": "the number that stands for no token here",
    "padding that is missing": "the bytes are clear without it; an error there",
    "a token of a megabyte": "longer than a token can be",
}
TIKTOKEN = Format(
    "tiktoken",
    sources.tiktoken,
    [Mutation(number, name, in_bytes(change), ALL, number != 25) for number, name, change in rows()],
    reference,
    DIFFERS,
)
