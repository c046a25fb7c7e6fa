"""`tokenizer.json` files, damaged. What they mean is what the tokenizers library makes of them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import sources
from .making import Content, Damage, Encode, Format, Mutation, Source, in_bytes, larger_than

ANY = ("gpt2", "bert", "t5", "llama2")
OBJECTS = ("gpt2", "bert", "llama2")
"""The vocabulary is an object of ids."""
LISTS = ("t5", "sentencepiece", "sentencepiece-ja")
"""The vocabulary is a list of pieces and scores; the normalizer has a charsmap."""
MERGES = ("gpt2", "llama2", "qwen2.5")
TYPED = ("llama2", "qwen2.5", "deepseek-v3", "sentencepiece")
TEMPLATES = ("bert", "t5", "llama2")
SPLITS = ("qwen2.5", "deepseek-v3", "llama3.1")

BYTES = ("gpt2", "qwen2.5", "llama3.1")
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}

AT = 2000
"""The entry of a vocabulary or of the merges that is damaged: one of several characters."""

Json = Any
Row = tuple[int, str, Damage, tuple[str, ...]]


def in_document(change: Callable[[Json], Json]) -> Damage:
    """Damage to the document, which is written as it was; the change may be in place."""

    def damage(data: bytes) -> bytes:
        document = json.loads(data)
        changed = change(document)
        return sources.written(document if changed is None else changed)

    return in_bytes(damage)


def in_model(change: Callable[[Json], None]) -> Damage:
    return in_document(lambda document: change(document["model"]))


def entry(vocab: Json) -> str:
    """The damaged token of a vocabulary of ids."""
    tokens: list[str] = sorted(vocab, key=vocab.__getitem__)
    return tokens[AT]


def put(**changes: Json) -> Damage:
    """Set fields of the file."""
    return in_document(lambda document: {**document, **changes})


# ---- bytes ------------------------------------------------------------------------------------------

WEB_PAGE = b"<!DOCTYPE html>\n<html><head><title>404</title></head><body>Not found</body></html>\n"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 1355256\n" % (b"0" * 64)


def rows_of_bytes() -> Iterator[Row]:
    def row(number: int, name: str, change: Callable[[bytes], Content]) -> Row:
        return number, name, in_bytes(change), ANY

    yield row(1, "cut in the middle", lambda data: data[: len(data) // 2])
    yield row(1, "cut before the last brace", lambda data: data.rstrip(b"}\n"))
    yield row(2, "empty", lambda data: b"")
    yield row(2, "nothing but blanks", lambda data: b" \n\t\r\n")
    yield row(3, "a byte-order mark", lambda data: b"\xef\xbb\xbf" + data)
    yield row(4, "UTF-16", lambda data: data.decode().encode("utf-16"))
    yield row(
        4,
        "a byte that is not UTF-8",
        broken_character,
    )
    yield row(5, "gzip", lambda data: gzip.compress(data, mtime=0))
    yield row(6, "a web page", lambda data: WEB_PAGE)
    yield row(6, "a pointer to a large file", lambda data: POINTER)
    yield row(7, "a comma behind the last entry", lambda data: data.rstrip(b"}\n") + b",\n}")
    yield row(7, "a comment", lambda data: data.replace(b"{", b"{ // a comment\n", 1))
    yield row(7, "more text behind the end", lambda data: data + b"{}")
    yield row(9, "other white space", lambda data: json.dumps(json.loads(data)).encode())
    yield row(25, "more than a GiB", larger_than(2**30 + 1))
    yield row(25, "nested 100,000 deep", lambda data: nested(data, 100_000))
    yield row(25, "nested 127 deep", lambda data: nested(data, 127))


def broken_character(data: bytes) -> bytes:
    middle = data.index(b'"', len(data) // 2)
    return data[:middle] + b"\xff" + data[middle:]


def nested(data: bytes, depth: int) -> bytes:
    """An unknown value at the start of the model."""
    return data.replace(b'"model": {', b'"model": {"x": ' + b"[" * depth + b"]" * depth + b", ", 1)


# ---- fields -----------------------------------------------------------------------------------------


def reordered(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(one) for one in value] if isinstance(value, list) else value


def without_a_type(model: Json) -> None:
    del model["type"]


def without(name: str) -> Damage:
    def change(document: Json) -> None:
        del document[name]

    return in_document(change)


def rows_of_fields() -> Iterator[Row]:
    yield 9, "keys in another order", in_document(reordered), ANY
    yield 10, "an unknown key", put(flavour="vanilla"), ANY
    yield 10, "an unknown key in the model", in_model(lambda model: model.update(flavour="vanilla")), ANY
    yield (
        10,
        "an unknown key in the decoder",
        in_document(lambda document: document["decoder"].update(flavour="vanilla")),
        ANY,
    )
    yield 10, "a decoder with a flag that is a number", put(decoder={**BYTE_LEVEL, "use_regex": 1}), BYTES
    yield 10, "a decoder without its flags", put(decoder={"type": "ByteLevel"}), BYTES
    yield (
        10,
        "a post-processor with a flag that is a number",
        put(post_processor={**BYTE_LEVEL, "use_regex": 1}),
        BYTES,
    )
    yield 11, "another version", put(version="9.9"), ANY
    yield 11, "a version that is a number", put(version=1.0), ANY
    yield 11, "a version that is null", put(version=None), ANY
    yield 11, "no version", without("version"), ANY
    yield 12, "no type of the model", in_model(without_a_type), TYPED
    yield 12, "a type of the model that is null", in_model(lambda model: model.update(type=None)), TYPED
    yield 12, "an unknown type of the model", in_model(lambda model: model.update(type="Markov")), ANY
    yield 12, "no model", without("model"), ANY


# ---- vocabulary -------------------------------------------------------------------------------------


def with_id(number: Json) -> Damage:
    def change(model: Json) -> None:
        model["vocab"][entry(model["vocab"])] = number

    return in_model(change)


def with_score(score: Json) -> Damage:
    def change(model: Json) -> None:
        model["vocab"][AT // 4][1] = score

    return in_model(change)


def key_twice(data: bytes) -> bytes:
    """The token stands before itself, with another id."""
    token = entry(json.loads(data)["model"]["vocab"])
    key = json.dumps(token, ensure_ascii=False).encode() + b": "
    return data.replace(key, key + b"7,\n" + key, 1)


def one_id_for_two(model: Json) -> None:
    vocab = model["vocab"]
    vocab[entry(vocab)] = AT - 1


def piece_twice(model: Json) -> None:
    model["vocab"][AT // 4][0] = model["vocab"][AT // 4 - 1][0]


def other_id_of_an_added_token(document: Json) -> None:
    document["added_tokens"][-1]["id"] = AT


def added_token_twice(document: Json) -> None:
    document["added_tokens"].append(document["added_tokens"][0])


def empty_added_token(document: Json) -> None:
    document["added_tokens"].append({**document["added_tokens"][0], "content": ""})


def added_token_without_a_flag(document: Json) -> None:
    del document["added_tokens"][0]["lstrip"]


def with_added(document: Json, change: Json) -> None:
    """The first added token with another field, or without its id."""
    token = document["added_tokens"][0]
    if change is None:
        del token["id"]
    else:
        token.update(change)


def rows_of_vocabularies() -> Iterator[Row]:
    yield 8, "a token twice", in_bytes(key_twice), OBJECTS
    yield 8, "a piece twice", in_model(piece_twice), LISTS
    yield 13, "an id that is a string", with_id("12"), OBJECTS
    yield 13, "an id that is null", with_id(None), OBJECTS
    yield 13, "a score that is a string", with_score("-1.5"), LISTS
    yield 14, "an id of -1", with_id(-1), OBJECTS
    yield 14, "an id of 2^32", with_id(2**32), OBJECTS
    yield 14, "an id of 2^32 - 1", with_id(2**32 - 1), OBJECTS
    yield 14, "an id of 2^31", with_id(2**31), OBJECTS
    yield 14, "an id of 2^64", with_id(2**64), OBJECTS
    yield 14, "an id of 1.5", with_id(1.5), OBJECTS
    yield 15, "two tokens with one id", in_model(one_id_for_two), OBJECTS
    yield 20, "an added token with the id of another", in_document(other_id_of_an_added_token), ANY
    yield 20, "an added token twice", in_document(added_token_twice), ANY
    yield 20, "an empty added token", in_document(empty_added_token), ANY
    yield 20, "an added token without an id", in_document(lambda document: with_added(document, None)), ANY
    yield (
        20,
        "an added token whose id is null",
        in_document(lambda document: with_added(document, {"id": None})),
        ANY,
    )
    yield 20, "an added token without a flag", in_document(added_token_without_a_flag), ANY


# ---- merges -----------------------------------------------------------------------------------------


def with_merge(change: Callable[[str, str], Json]) -> Damage:
    """Another merge in the place of one; what it is given are the parts of that."""

    def damage(model: Json) -> None:
        merge = model["merges"][AT]
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        model["merges"][AT] = change(left, right)

    return in_model(damage)


def other_notation(model: Json) -> None:
    model["merges"] = [
        merge.split(" ") if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]
    ]


def without_a_result(model: Json) -> None:
    """What one of the last merges makes is no token, another has its id; nothing is made of it."""
    merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    parts = {part for merge in merges for part in merge}
    result = next(left + right for left, right in reversed(merges) if left + right not in parts)
    model["vocab"]["\u2603"] = model["vocab"].pop(result)


def exchanged(model: Json) -> None:
    merges = model["merges"]
    merges[0], merges[AT] = merges[AT], merges[0]


def merge_twice(model: Json) -> None:
    model["merges"].append(model["merges"][0])


def rows_of_merges() -> Iterator[Row]:
    yield 16, "a merge without a blank", with_merge(lambda left, right: left + right), MERGES
    yield 16, "a merge of three parts", with_merge(lambda left, right: f"{left} {right} a"), MERGES
    yield 16, "a list of three parts", with_merge(lambda left, right: [left, right, "a"]), MERGES
    yield 16, "a merge that is a number", with_merge(lambda left, right: 7), MERGES
    yield 17, "merges in the other notation", in_model(other_notation), MERGES
    yield 18, "a merge whose result is no token", in_model(without_a_result), MERGES
    yield 18, "a merge of an unknown part", with_merge(lambda left, right: [left, "\u2603\u2603"]), MERGES
    yield (
        18,
        "a merge that is longer than any token",
        with_merge(lambda left, right: [left * 1000, right * 1000]),
        MERGES,
    )
    yield 19, "two merges exchanged", in_model(exchanged), MERGES
    yield 19, "a merge twice", in_model(merge_twice), MERGES


# ---- components -------------------------------------------------------------------------------------


def special_of_a_template(document: Json) -> None:
    """The template names a token that its table has not."""
    table = document["post_processor"]["special_tokens"]
    del table[min(table)]


def sequence_of_a_template(document: Json) -> None:
    document["post_processor"]["single"].append({"Sequence": {"id": "B", "type_id": 0}})


def with_pattern(pattern: str) -> Damage:
    def change(document: Json) -> None:
        steps = document["pre_tokenizer"]["pretokenizers"]
        split = next(step for step in steps if step["type"] == "Split")
        split["pattern"] = {"Regex": pattern}

    return in_document(change)


def with_charsmap(change: Callable[[str], Json]) -> Damage:
    def damage(document: Json) -> None:
        normalizer = document["normalizer"]
        steps = normalizer.get("normalizers", [normalizer])
        step = next(step for step in steps if step["type"] == "Precompiled")
        step["precompiled_charsmap"] = change(step["precompiled_charsmap"])

    return in_document(damage)


def cut(charsmap: str) -> str:
    return charsmap[: len(charsmap) // 8 * 4]


def flipped(byte: int, bit: int) -> Callable[[str], str]:
    def change(charsmap: str) -> str:
        data = bytearray(base64.b64decode(charsmap))
        data[byte] ^= 1 << bit
        return base64.b64encode(data).decode()

    return change


def rows_of_components() -> Iterator[Row]:
    yield 21, "a template with an undefined token", in_document(special_of_a_template), TEMPLATES
    yield 21, "a template for one text with two", in_document(sequence_of_a_template), TEMPLATES
    yield 22, "a pattern that may take exponential time", with_pattern("(a+)+$"), SPLITS
    yield 23, "a pattern that is none", with_pattern("(a"), SPLITS
    yield 23, "a pattern that refers to a group", with_pattern(r"(a)\1"), SPLITS
    yield 23, "an unknown pre-tokenizer", put(pre_tokenizer={"type": "Chop"}), ANY
    yield 23, "a normalizer without its field", put(normalizer={"type": "Replace"}), ANY
    yield 24, "a charsmap that is null", with_charsmap(lambda charsmap: None), LISTS
    yield 24, "a charsmap that is not base64", with_charsmap(lambda charsmap: "*" + charsmap[1:]), LISTS
    yield 24, "a charsmap of three bytes", with_charsmap(lambda charsmap: "AAAA"), LISTS
    yield (
        24,
        "a charsmap cut in its middle",
        with_charsmap(cut),
        LISTS,
    )
    yield 24, "a bit of the charsmap's size", with_charsmap(flipped(1, 3)), LISTS
    yield 24, "a bit of the charsmap's table", with_charsmap(flipped(4 + 4 * 0x41 + 1, 4)), LISTS
    yield 24, "a charsmap whose last text does not end", with_charsmap(flipped(-1, 6)), LISTS
    yield 24, "a bit of the charsmap's texts", with_charsmap(flipped(-40, 0)), LISTS


def reference(source: Source, path: Path) -> Encode:
    from tokenizers import Tokenizer

    theirs = Tokenizer.from_file(str(path))
    theirs.no_truncation()
    theirs.no_padding()

    def encode(text: str, parse: bool) -> list[int]:
        theirs.encode_special_tokens = not parse
        return list(theirs.encode(text, add_special_tokens=parse).ids)

    return encode


def mutations() -> list[Mutation]:
    rows = [
        *rows_of_bytes(),
        *rows_of_fields(),
        *rows_of_vocabularies(),
        *rows_of_merges(),
        *rows_of_components(),
    ]
    return [
        Mutation(number, name, damage, names, name != "more than a GiB")
        for number, name, damage, names in sorted(rows, key=lambda row: row[0])
    ]


NOT_READ = "says nothing here; listed, and refused by strict=True"
DIFFERS = {
    "a version that is null": NOT_READ,
    "a type of the model that is null": NOT_READ,
    "a decoder with a flag that is a number": NOT_READ,
    "a decoder without its flags": NOT_READ,
    "a post-processor with a flag that is a number": NOT_READ,
    "an added token without an id": NOT_READ,
    "an added token whose id is null": NOT_READ,
    "a byte-order mark": "editors write it, and it says nothing; there it is no JSON",
    "an id of 2^32 - 1": "the number that stands for no token here",
    "a template with an undefined token": "loads there, and panics when it is used",
    "a template for one text with two": "loads there, and panics when it is used",
    "a pattern that refers to a group": "not translated with certainty",
    "a bit of the charsmap's size": "loads there, and walks a table that is none",
    "a bit of the charsmap's table": "loads there, and walks outside of the table",
}
TOKENIZER_JSON = Format("tokenizer_json", sources.tokenizer_json, mutations(), reference, DIFFERS)
