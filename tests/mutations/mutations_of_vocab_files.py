"""`vocab.txt`, and `vocab.json` with `merges.txt`, damaged.

What they mean is what the tokenizers library makes of them, in BERT's pipeline and in GPT-2's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import sources
from .making import Content, Damage, Encode, Format, Mutation, Source, in_bytes

WORDS = tuple(sources.WORDS)
PAIRS = tuple(sources.SPECIALS)

AT = 2000
"""The line, counted from 1, or the id that is damaged."""

Row = tuple[int, str, Damage, tuple[str, ...]]


# ---- vocab.txt --------------------------------------------------------------------------------------


def at_line(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Damage to one line: what stands in its place, with its line end or without."""

    def damage(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        lines[AT - 1] = change(lines[AT - 1])
        return b"".join(lines)

    return damage


def without_unknown(data: bytes) -> bytes:
    """The line stays, so that ids do."""
    return data.replace(b"[UNK]\n", b"[unused]\n")


def repeated(data: bytes) -> bytes:
    """The line stands in the place of another, further on."""
    lines = data.splitlines(keepends=True)
    lines[AT + 100] = lines[AT - 1]
    return b"".join(lines)


def rows_of_words() -> Iterator[Row]:
    def row(number: int, name: str, change: Callable[[bytes], Content]) -> Row:
        return number, name, in_bytes(change), WORDS

    yield row(1, "empty", lambda data: b"")
    yield row(1, "nothing but line ends", lambda data: b"\n\n")
    yield row(2, "a blank line", at_line(lambda line: b"\n" + line))
    yield row(2, "a line of blanks", at_line(lambda line: b" \t\n" + line))
    yield row(3, "lines that end in CR LF", lambda data: data.replace(b"\n", b"\r\n"))
    yield row(3, "a byte-order mark", lambda data: b"\xef\xbb\xbf" + data)
    yield row(4, "no line end at the end", lambda data: data.rstrip(b"\n"))
    yield row(5, "a blank line at the end", lambda data: data + b"\n")
    yield row(6, "a line twice", repeated)
    yield row(7, "a blank behind a token", at_line(lambda line: line.rstrip() + b" \n"))
    yield row(7, "a blank before a token", at_line(lambda line: b" " + line))
    yield row(8, "Latin-1", at_line(lambda line: b"caf\xe9\n"))
    yield row(9, "a zero byte", at_line(lambda line: b"\0" + line))
    yield row(10, "a line of a megabyte", at_line(lambda line: b"a" * 2**20 + b"\n"))
    yield row(11, "no unknown token", without_unknown)
    yield row(12, "U+2028 within a token", at_line(lambda line: "x\u2028y\n".encode()))
    yield row(12, "U+0085 within a token", at_line(lambda line: "x\u0085y\n".encode()))
    yield row(12, "a carriage return within a token", at_line(lambda line: b"x\ry\n"))


# ---- vocab.json -------------------------------------------------------------------------------------


def in_vocab(change: Callable[[bytes], Content]) -> Damage:
    return in_bytes(change, "vocab.json")


def with_id(number: object) -> Damage:
    """Another id for one token."""

    def change(data: bytes) -> bytes:
        vocab = json.loads(data)
        vocab[list(vocab)[AT]] = number
        return json.dumps(vocab).encode()

    return in_vocab(change)


def with_new_token(name: str, number: int | None = None) -> Damage:
    """One more token, with this id or the next."""

    def change(data: bytes) -> bytes:
        vocab = json.loads(data)
        return json.dumps({**vocab, name: len(vocab) if number is None else number}).encode()

    return in_vocab(change)


def with_a_gap(data: bytes) -> bytes:
    """The last ordinary token is further on."""
    vocab = json.loads(data)
    ordinary = vocab.keys() - set(sources.SPECIALS.values())
    vocab[max(ordinary, key=vocab.__getitem__)] += 5
    return json.dumps(vocab).encode()


def key_twice(data: bytes) -> bytes:
    """The token stands before itself, with another id."""
    token = json.dumps(list(json.loads(data))[AT], ensure_ascii=False).encode() + b": "
    return data.replace(token, token + b"7, " + token, 1)


def rows_of_vocab_json() -> Iterator[Row]:
    def row(number: int, name: str, damage: Damage) -> Row:
        return number, name, damage, PAIRS

    yield row(13, "vocab.json cut", in_vocab(lambda data: data[: len(data) // 2]))
    yield row(13, "vocab.json empty", in_vocab(lambda data: b""))
    yield row(13, "a comma behind the last entry", in_vocab(lambda data: data[:-1] + b",}"))
    yield row(13, "a byte-order mark", in_vocab(lambda data: b"\xef\xbb\xbf" + data))
    yield row(14, "a list", in_vocab(lambda data: json.dumps(list(json.loads(data))).encode()))
    yield row(14, "an id that is a string", with_id("12"))
    yield row(14, "an id below zero", with_id(-1))
    yield row(14, "an id of 2^32", with_id(2**32))
    yield row(14, "an id of 1.5", with_id(1.5))
    yield row(15, "ids with a gap", in_vocab(with_a_gap))
    yield row(16, "two tokens with one id", with_new_token("ĠzzzĠ", 7))
    yield row(16, "a token twice", in_vocab(key_twice))
    yield row(16, "a token that is not in the byte alphabet", with_new_token("a b"))


# ---- merges.txt -------------------------------------------------------------------------------------


def in_merges(change: Callable[[list[bytes]], list[bytes]]) -> Damage:
    """Damage to the lines, the header first, each with its line end."""
    return in_bytes(lambda data: b"".join(change(data.splitlines(keepends=True))), "merges.txt")


def with_line(line: bytes) -> Damage:
    """Another line in the place of one."""
    return in_merges(lambda lines: [*lines[: AT - 1], line, *lines[AT:]])


def with_one_more(line: bytes) -> Damage:
    return in_merges(lambda lines: [*lines[: AT - 1], line, *lines[AT - 1 :]])


def at_last(change: Callable[[bytes], bytes]) -> Damage:
    return in_merges(lambda lines: [*lines[:-1], change(lines[-1])])


def with_carriage_returns(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b"\n", b"\r\n") for line in lines]


def exchanged(lines: list[bytes]) -> list[bytes]:
    lines[1], lines[AT] = lines[AT], lines[1]
    return lines


def without_a_result(source: Source) -> Source:
    """What one of the last merges makes is no token, another has its id; nothing is made of it."""
    merges = [line.split(" ") for line in source.bytes_of("merges.txt").decode().splitlines()[1:]]
    parts = {part for merge in merges for part in merge}
    result = next(left + right for left, right in reversed(merges) if left + right not in parts)
    vocab = json.loads(source.bytes_of("vocab.json"))
    vocab["ĠzzzĠ"] = vocab.pop(result)
    return source.with_file("vocab.json", json.dumps(vocab).encode())


def merges_of_another(source: Source) -> Source:
    return source.with_file("merges.txt", source.others["merges.txt"])


def rows_of_merges() -> Iterator[Row]:
    def row(number: int, name: str, damage: Damage) -> Row:
        return number, name, damage, PAIRS

    yield row(17, "no header", in_merges(lambda lines: lines[1:]))
    yield row(17, "lines that end in CR LF", in_merges(with_carriage_returns))
    yield row(17, "no line end at the end", in_bytes(lambda data: data.rstrip(b"\n"), "merges.txt"))
    yield row(18, "the header once more", with_one_more(b"#version: 0.2\n"))
    yield row(18, "a merge that looks like a comment", in_merges(lambda lines: [*lines, b"# #\n"]))
    yield row(18, "a comment", with_one_more(b"# merges from here on\n"))
    yield row(18, "a blank line between merges", with_one_more(b"\n"))
    yield row(19, "a merge of one part", with_line(b"ab\n"))
    yield row(19, "a merge of three parts", with_line(b"a b c\n"))
    yield row(19, "a blank behind a merge", at_last(lambda line: line.rstrip() + b" \n"))
    yield row(19, "a tab between the parts", at_last(lambda line: line.replace(b" ", b"\t")))
    yield row(20, "a merge of unknown parts", with_line("☃ ☃\n".encode()))
    yield row(21, "a merge whose result is no token", without_a_result)
    yield row(22, "a merge twice", in_merges(lambda lines: [*lines, lines[1]]))
    yield row(22, "a merge twice, one behind the other", in_merges(lambda lines: [*lines[:2], *lines[1:]]))
    yield row(23, "two merges exchanged", in_merges(exchanged))
    yield row(24, "the merges of another model", merges_of_another)
    yield row(24, "no merges", in_bytes(lambda data: b"", "merges.txt"))
    yield row(24, "merges that are not UTF-8", with_line(b"\xff a\n"))
    yield row(25, "no merges.txt", lambda source: source.without_file("merges.txt"))
    yield row(25, "no vocab.json", without_vocab)


def without_vocab(source: Source) -> Source:
    return replace(source.without_file("vocab.json"), opens="merges.txt")


# ---- the reference ----------------------------------------------------------------------------------


def reference(source: Source, path: Path) -> Encode:
    theirs = bert(path) if path.name == "vocab.txt" else gpt2(source, path.parent)

    def encode(text: str, parse: bool) -> list[int]:
        theirs.encode_special_tokens = not parse
        return list(theirs.encode(text, add_special_tokens=parse).ids)

    return encode


def bert(path: Path) -> Any:
    """As `tests/exact/test_vocab_txt.py` has it; what is not in the vocabulary is left out."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    vocab = models.WordPiece.read_file(str(path))
    theirs = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    theirs.normalizer = normalizers.BertNormalizer()
    theirs.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    theirs.add_special_tokens([AddedToken(token, normalized=False) for token in SPECIAL if token in vocab])
    if "[SEP]" in vocab and "[CLS]" in vocab:
        sep, cls = (("[SEP]", vocab["[SEP]"]), ("[CLS]", vocab["[CLS]"]))
        theirs.post_processor = processors.BertProcessing(sep, cls)
    theirs.decoder = decoders.WordPiece()
    return theirs


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def gpt2(source: Source, folder: Path) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    theirs = Tokenizer(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.decoder = decoders.ByteLevel()
    theirs.add_special_tokens(
        [AddedToken(token, normalized=False) for token in source.options["special_tokens"]]
    )
    return theirs


def mutations() -> list[Mutation]:
    rows = [*rows_of_words(), *rows_of_vocab_json(), *rows_of_merges()]
    return [Mutation(number, name, damage, names) for number, name, damage, names in rows]


DIFFERS = {
    "empty": "a vocabulary without tokens there",
    "nothing but line ends": "a vocabulary of the empty token there",
    "a byte-order mark": "editors write it, and it says nothing; there a part of the first token, or no JSON",
    "a line of a megabyte": "longer than a token can be",
    "an id of 2^32": "loads there as the id 0, which another token has",
    "a token that is not in the byte alphabet": "no text can become it; a special token must be named",
    "a blank line between merges": "editors add them, and they cannot mean anything",
}
VOCAB_FILES = Format("vocab_files", sources.vocab_files, mutations(), reference, DIFFERS)
