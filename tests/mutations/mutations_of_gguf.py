"""GGUF files, damaged. There is no library of the format to ask: what must come is written down."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from . import keys, sources_of_models
from .keys import PREFIX, Keys, List
from .making import Content, Encode, Format, Mutation, Source, in_bytes, larger_than

BYTE_LEVEL = ("gpt-2", "deepseek-llm", "qwen2")
BY_SCORE = ("llama-spm", "phi-3", "t5")
MIXED = ("gpt-2", "llama-spm", "bert-bge", "t5")

AT = 900
"""The token, or merge, that is damaged: an ordinary one."""
BYTE = 6

Change = Callable[[bytes], Content]


def in_keys(change: Callable[[Keys], Keys]) -> Change:
    return lambda data: change(Keys.of(data)).to_bytes()


def text_at(name: str, change: Callable[[list[bytes]], bytes]) -> Change:
    """Damage to one of a list of texts: what stands in its place, from all of them."""

    def damage(found: Keys) -> Keys:
        texts = found.texts(name)
        texts[AT] = change(texts)
        return found.with_texts(name, texts)

    return in_keys(damage)


def version(number: int) -> Change:
    return in_keys(lambda found: replace(found, version=number))


def big_endian(data: bytes) -> bytes:
    found = Keys.of(data)
    return b"GGUF" + struct.pack(">IQQ", found.version, found.tensors, len(found.rows)) + data[24:]


def key_count(count: int) -> Change:
    return lambda data: Keys.of(data).head(count) + data[24:]


def with_list(name: str, change: Callable[[List], List]) -> Change:
    return in_keys(lambda found: found.with_list(name, change(found.list_of(name))))


def long_string(length: int) -> Change:
    """A text, the name of the model, that is said to be so long."""
    return in_keys(lambda found: found.with_value("model", (keys.TEXT, struct.pack("<Q", length) + b"gpt2")))


def up_to_tokens(data: bytes) -> bytes:
    """Cut in the middle of the list of tokens."""
    found = Keys.of(data)
    place = next(i for i, (key, _) in enumerate(found.rows) if key == f"{PREFIX}tokens")
    before = b"".join(keys.written(*row) for row in found.rows[:place])
    tokens = keys.written(*found.rows[place])
    return found.head() + before + tokens[: len(tokens) // 2]


def up_to_a_key(data: bytes) -> bytes:
    """Cut inside the name of the last key."""
    found = Keys.of(data)
    rows = [keys.written(*row) for row in found.rows]
    return found.head() + b"".join(rows[:-1]) + rows[-1][:12]


def shorter(name: str) -> Change:
    return in_keys(lambda found: found.with_items(name, list(range(len(found.numbers(name)) - 1))))


def number(name: str, kind: int, value: int) -> Change:
    return in_keys(lambda found: found.with_new(name, kind, value))


def id_behind_the_last(name: str) -> Change:
    return in_keys(lambda found: found.with_new(name, keys.U32, len(found.texts("tokens"))))


def byte_token(text: bytes) -> Change:
    """One token that is said to be a byte."""

    def damage(found: Keys) -> Keys:
        tokens, kinds = found.texts("tokens"), found.numbers("token_type")
        tokens[AT], kinds[AT] = text, BYTE
        return found.with_texts("tokens", tokens).with_new("token_type", keys.I32, kinds)

    return in_keys(damage)


def token_type_of(of: int) -> Change:
    return in_keys(lambda found: found.with_new("token_type", of, found.numbers("token_type")))


def nested_lists(depth: int) -> Change:
    items = struct.pack("<IQ", keys.LIST, 1) * depth + struct.pack("<IQ", keys.U8, 0)
    return in_keys(lambda found: found.with_value("more", (keys.LIST, items)))


def other_keys(found: Keys) -> Keys:
    """A key of every type that says nothing about the tokenizer, before all others."""
    plain = [
        (f"more.{kind}", (kind, bytes(struct.calcsize(letter)))) for kind, letter in keys.LETTERS.items()
    ]
    lists = [("more.list", (keys.LIST, List(keys.TEXT, 1, keys.text(b"a")).to_bytes()))]
    return replace(found, rows=[*plain, *lists, *found.rows])


def other_key_twice(found: Keys) -> Keys:
    row = ("general.more", (keys.TEXT, keys.text(b"a")))
    return replace(found, rows=[*found.rows, row, row])


def repeated_merge(found: Keys) -> Keys:
    """The first merge once more, behind the last."""
    merges = found.texts("merges")
    return found.with_texts("merges", [*merges, merges[0]])


def exchanged_merges(found: Keys) -> Keys:
    merges = found.texts("merges")
    merges[0], merges[2] = merges[2], merges[0]
    return found.with_texts("merges", merges)


def reordered(found: Keys) -> Keys:
    return replace(found, rows=found.rows[::-1])


def damaged_tensors(found: Keys) -> Keys:
    return replace(found, tensors=5, behind=b"\xff" * 1000)


def every_mixed() -> Iterator[tuple[int, str, Change]]:
    yield 1, "another magic", lambda data: b"GGML" + data[4:]
    yield 1, "no magic", lambda data: data[4:]
    yield 2, "version 0", version(0)
    yield 2, "version 1", version(1)
    yield 2, "version 99", version(99)
    yield 2, "version 2", version(2)
    yield 3, "numbers the other way round", big_endian
    yield 4, "2^63 keys", key_count(2**63)
    yield 4, "a key more than there is", in_keys_count_plus_one
    yield 4, "a key less than there is", in_keys_count_minus_one
    yield 5, "a text longer than the file", long_string(10**9)
    yield 5, "a text of 2^64 - 1 bytes", long_string(2**64 - 1)
    yield 6, "2^61 numbers", with_list("token_type", lambda items: replace(items, count=2**61))
    yield 6, "2^62 texts", with_list("tokens", lambda items: replace(items, count=2**62))
    yield (
        6,
        "more texts than follow",
        with_list("tokens", lambda items: replace(items, count=items.count + 10**6)),
    )
    yield 7, "cut inside the tokens", up_to_tokens
    yield 7, "cut inside a key", up_to_a_key
    yield 7, "cut inside the head", lambda data: data[:20]
    yield 8, "no model", in_keys(lambda found: found.without("model"))
    yield 9, "a model that is not known", in_keys(lambda found: found.with_text("model", b"rwkv"))
    yield 9, "a model that is a number", number("model", keys.U32, 7)
    yield (
        13,
        "tokens that are numbers",
        in_keys(lambda found: found.with_new("tokens", keys.U32, list(range(3000)))),
    )
    yield 13, "tokens that are one text", in_keys(lambda found: found.with_text("tokens", b"abc"))
    yield 13, "no tokens", in_keys(lambda found: found.without("tokens"))
    yield 13, "an empty list of tokens", in_keys(lambda found: found.with_texts("tokens", []))
    yield 14, "token types of one byte", token_type_of(keys.U8)
    yield 14, "token types of eight bytes", token_type_of(keys.I64)
    yield 14, "token types without a sign", token_type_of(keys.U32)
    yield 15, "fewer token types than tokens", shorter("token_type")
    yield 19, "an id behind the last", id_behind_the_last("padding_token_id")
    yield 19, "an id that is a text", in_keys(lambda found: found.with_text("padding_token_id", b"1"))
    yield 20, "the largest id", number("mask_token_id", keys.U32, 2**32 - 1)
    yield 20, "a negative id", number("mask_token_id", keys.I32, -1)
    yield 20, "an id of 2^32", number("mask_token_id", keys.U64, 2**32)
    yield (
        22,
        "a key that is there twice",
        in_keys(lambda found: replace(found, rows=[*found.rows, found.rows[-1]])),
    )
    yield 23, "a token that is there twice", text_at("tokens", lambda tokens: tokens[AT - 1])
    yield 24, "a token that is not UTF-8", text_at("tokens", lambda _: b"a\xff")
    yield 24, "a key that is not UTF-8", key_not_utf8
    yield 25, "damaged tensors", in_keys(damaged_tensors)
    yield 25, "keys in another order", in_keys(reordered)
    yield 25, "other keys of every type", in_keys(other_keys)
    yield 25, "lists in lists", nested_lists(10)
    yield 25, "a token of 1 MiB", text_at("tokens", lambda _: b"a" * 2**20)
    yield 25, "a GiB of tensors", larger_than(2**30 + 1)


def in_keys_count_plus_one(data: bytes) -> bytes:
    return key_count(len(Keys.of(data).rows) + 1)(data)  # type: ignore[return-value]


def in_keys_count_minus_one(data: bytes) -> bytes:
    return key_count(len(Keys.of(data).rows) - 1)(data)  # type: ignore[return-value]


def key_not_utf8(data: bytes) -> bytes:
    return data.replace(f"{PREFIX}model".encode(), f"{PREFIX}mode".encode() + b"\xff")


def byte_level() -> Iterator[tuple[int, str, Change]]:
    yield 10, "no name of a split", in_keys(lambda found: found.without("pre"))
    yield 11, "a split that is not known", in_keys(lambda found: found.with_text("pre", b"gpt-9"))
    yield 11, "an empty name of a split", in_keys(lambda found: found.with_text("pre", b""))
    yield 12, "the split of another family", in_keys(lambda found: found.with_text("pre", b"gpt-4o"))
    yield 16, "no merges", in_keys(lambda found: found.without("merges"))
    yield 16, "merges that are numbers", in_keys(lambda found: found.with_new("merges", keys.I32, [1, 2]))
    yield 17, "a merge without a blank", text_at("merges", lambda _: b"ab")
    yield 17, "an empty merge", text_at("merges", lambda _: b"")
    yield 18, "a merge of an unknown token", text_at("merges", lambda _: b"zzqq x")
    yield 18, "a merge into an unknown token", text_at("merges", lambda _: b"z q")
    yield 18, "a merge that is there twice", in_keys(repeated_merge)
    yield 18, "two merges exchanged", in_keys(exchanged_merges)


def by_score() -> Iterator[tuple[int, str, Change]]:
    yield 15, "fewer scores than tokens", shorter("scores")
    yield 15, "scores that are texts", in_keys(lambda found: found.with_texts("scores", [b"1"] * 3000))
    yield (
        15,
        "scores of eight bytes",
        in_keys(lambda found: found.with_new("scores", keys.F64, found.numbers("scores"))),
    )
    yield 15, "a score that is not a number", score(float("nan"))
    yield 15, "an infinite score", score(float("inf"))
    yield 22, "a key of another sort there twice", in_keys(other_key_twice)
    yield 23, "an empty token", text_at("tokens", lambda _: b"")
    yield 21, "the byte <0x-1>", byte_token(b"<0x-1>")
    yield 21, "the byte <0xZZ>", byte_token(b"<0xZZ>")
    yield 21, "the byte <0x041>", byte_token(b"<0x041>")


def score(value: float) -> Change:
    def damage(found: Keys) -> Keys:
        scores = found.numbers("scores")
        scores[AT] = value
        return found.with_new("scores", keys.F32, scores)

    return in_keys(damage)


def reference(source: Source, path: Path) -> Encode:
    raise NotImplementedError("no library to ask")


def table() -> Iterator[Mutation]:
    """In the order of the numbers."""
    groups: list[tuple[tuple[str, ...], Iterator[tuple[int, str, Change]]]] = [
        (MIXED, every_mixed()),
        (BYTE_LEVEL, byte_level()),
        (BY_SCORE, by_score()),
    ]
    for names, rows in groups:
        for index, name, change in rows:
            yield Mutation(index, name, in_bytes(change), names, asks_reference=False)


GGUF = Format("gguf", sources_of_models.gguf, sorted(table(), key=lambda row: row.number), reference, {})
