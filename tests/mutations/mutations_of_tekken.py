"""tekken.json files, damaged. What they mean is what mistral-common makes of them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import sources_of_models
from .making import Content, Encode, Format, Mutation, Source, in_bytes, larger_than

ALL = ("nemo", "240718", "240911", "240911, named")
RANK = 1000
"""The rank that is damaged: a token of several bytes."""
SPECIAL = 7
"""The special token that is damaged: one that plays no part."""

Change = Callable[[bytes], Content]


def document(change: Callable[[Any], None]) -> Change:
    """Damage to the parsed file."""

    def damage(data: bytes) -> bytes:
        found = json.loads(data)
        change(found)
        return json.dumps(found).encode()

    return damage


def config(name: str, value: Any) -> Change:
    return document(lambda found: found["config"].update({name: value}))


def without(*path: str) -> Change:
    def change(found: Any) -> None:
        for name in path[:-1]:
            found = found[name]
        del found[path[-1]]

    return document(change)


def entry(**changes: Any) -> Change:
    """Damage to one rank."""
    return document(lambda found: found["vocab"][RANK].update(changes))


def entry_without(name: str) -> Change:
    return document(lambda found: found["vocab"][RANK].pop(name))


def token(change: Callable[[str], str]) -> Change:
    """Damage to the bytes of one rank, as they are written."""

    def damage(found: Any) -> None:
        one = found["vocab"][RANK]
        one["token_bytes"] = change(one["token_bytes"])

    return document(damage)


def names() -> list[dict[str, Any]]:
    return [
        {"rank": rank, "token_str": name, "is_control": True}
        for rank, name in enumerate(sources_of_models.special_names())
    ]


def special(**changes: Any) -> Change:
    """Damage to one special token, in a list of them that a file may have."""

    def damage(found: Any) -> None:
        found["special_tokens"] = names()
        found["special_tokens"][SPECIAL].update(changes)

    return document(damage)


def special_without(name: str) -> Change:
    def damage(found: Any) -> None:
        found["special_tokens"] = names()
        found["special_tokens"][SPECIAL].pop(name)

    return document(damage)


def more_special(found: Any) -> None:
    """One name more than there are ids."""
    count = found["config"]["default_num_special_tokens"]
    found["special_tokens"] = names()
    found["special_tokens"] += [
        {"rank": i, "token_str": f"<{i}>", "is_control": True} for i in range(len(names()), count + 1)
    ]


def more_entries(found: Any) -> None:
    """Ranks behind those that are used, the last of them none at all."""
    vocab = found["vocab"]
    for i in range(20):
        vocab.append({"rank": len(vocab), "token_bytes": f"unused {i}", "token_str": None})


def fewer_entries(found: Any) -> None:
    config = found["config"]
    del found["vocab"][config["default_vocab_size"] - config["default_num_special_tokens"] - 1 :]


def exchanged(found: Any) -> None:
    """The bytes of two ranks."""
    one, other = found["vocab"][RANK], found["vocab"][RANK + 1]
    one["token_bytes"], other["token_bytes"] = other["token_bytes"], one["token_bytes"]


def other_first_byte(found: Any) -> None:
    vocab = found["vocab"]
    vocab[65]["token_bytes"], vocab[66]["token_bytes"] = vocab[66]["token_bytes"], vocab[65]["token_bytes"]


def special_in_vocab(found: Any) -> None:
    found["vocab"][RANK]["token_bytes"] = base64.b64encode(b"[INST]").decode()


def wrong_texts(found: Any) -> None:
    for one in found["vocab"]:
        one["token_str"] = "wrong"


def no_texts(found: Any) -> None:
    """None of the texts, which only inform; a number in place of one."""
    for one in found["vocab"]:
        one["token_str"] = None
    found["vocab"][RANK]["token_str"] = 7


def later_version(found: Any) -> None:
    found["config"]["version"] = "v13"
    found["special_tokens"] = names()


def other_order(found: Any) -> None:
    found["special_tokens"] = names()[::-1]


def later_without_names(found: Any) -> None:
    found["config"]["version"] = "v13"
    found.pop("special_tokens", None)


def nested(depth: int) -> Change:
    return lambda data: b'{"deep": ' + b"[" * depth + b"]" * depth + b", " + data[1:]


def other_key(size: int) -> Change:
    return lambda data: b'{"more": "' + b"a" * size + b'", ' + data[1:]


def rows() -> Iterator[tuple[int, str, Change]]:
    yield 1, "cut in the middle", lambda data: data[: len(data) // 2]
    yield 1, "cut at the end", lambda data: data[:-1]
    yield 2, "no config", without("config")
    yield 2, "an empty config", document(lambda found: found.update(config={}))
    yield 3, "no pattern", without("config", "pattern")
    yield 4, "a pattern that is invalid", config("pattern", "(a")
    yield 5, "a pattern of more than linear cost", config("pattern", r"(a+)+$|\s+|\S+")
    yield 6, "no vocab", without("vocab")
    yield 7, "fewer ranks than are used", document(fewer_entries)
    yield 7, "fewer ids than special tokens", config("default_vocab_size", 5)
    yield 8, "more ranks than are used", document(more_entries)
    yield 9, "a rank that is not its place", entry(rank=RANK + 20_000)
    yield 10, "a rank that is there twice", entry(rank=RANK + 1)
    yield 11, "base64 with a foreign character", token(lambda text: text[0] + "*" + text[1:])
    yield 11, "base64 with a foreign character for its own", token(lambda text: "*" + text[1:])
    yield 11, "base64 with a character beyond ASCII", token(lambda text: text[0] + "é" + text[1:])
    yield 11, "base64 cut off", token(lambda _: "YWJjZ")
    yield 11, "base64 without its padding", token(lambda _: "enF4eg")
    yield 11, "base64 with bits left over", token(lambda _: "enF4eh==")
    yield 11, "an empty token", token(lambda _: "")
    yield (
        12,
        "bytes that are there twice",
        document(
            lambda found: found["vocab"][RANK].update(token_bytes=found["vocab"][RANK - 1]["token_bytes"])
        ),
    )
    yield 12, "the bytes of two ranks exchanged", document(exchanged)
    yield 13, "texts that are wrong", document(wrong_texts)
    yield 13, "texts that are null", document(no_texts)
    yield 13, "a text that is not there", entry_without("token_str")
    yield 13, "a key that is not known", entry(score=1.0)
    yield 14, "first ranks that are not the bytes", document(other_first_byte)
    yield 15, "no special tokens in a later version", document(later_without_names)
    yield 16, "special tokens in another order", document(other_order)
    yield 16, "a special rank that is there twice", special(rank=SPECIAL - 1)
    yield 16, "a special token that is there twice", special(token_str="[INST]")
    yield 17, "a special rank beyond their number", special(rank=5000)
    yield 17, "a negative special rank", special(rank=-1)
    yield 17, "more special tokens than ids", document(more_special)
    yield 18, "a special token that is a token too", document(special_in_vocab)
    yield 19, "is_control is missing", special_without("is_control")
    yield 19, "the name of a special token is missing", special_without("token_str")
    yield 20, "version v99", config("version", "v99")
    yield 20, "a version that is a number", config("version", 3)
    yield 21, "an earlier version", config("version", "v2")
    yield 21, "a later version", document(later_version)
    yield 22, "an image section that is a text", document(lambda found: found.update(image="?"))
    yield 22, "an audio section without its parts", document(lambda found: found.update(audio={"a": 1}))
    yield 23, "a number written as text", config("default_vocab_size", "4000")
    yield 23, "a rank written as text", entry(rank=str(RANK))
    yield 23, "bytes that are a number", entry(token_bytes=5)
    yield 24, "another key of 4 MiB", other_key(2**22)
    yield 24, "100,000 lists in each other", nested(100_000)
    yield 24, "2^62 special tokens", config("default_num_special_tokens", 2**62)
    yield 24, "more than a GiB", larger_than(2**30 + 1)


def renamed(source: Source) -> Source:
    data = source.bytes_of("tekken.json")
    return replace(source, files={"tokenizer.json": data}, opens="tokenizer.json")


def reference(source: Source, path: Path) -> Encode:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    theirs = Tekkenizer.from_file(path)

    def encode(text: str, parse: bool) -> list[int]:
        if parse:
            raise ValueError("mistral-common recognises no special tokens in a text")
        return theirs.encode(text, bos=False, eos=False)

    return encode


DIFFERS = {
    "an image section that is a text": "it says nothing about text; the report has what it lacks",
    "an audio section without its parts": "it says nothing about text; the report has what it lacks",
    "100,000 lists in each other": "the limit of the interpreter, in a key that means nothing",
}

NOT_ASKED = ("2^62 special tokens", "more than a GiB")

TEKKEN = Format(
    "tekken",
    sources_of_models.tekken,
    [
        *(
            Mutation(number, name, in_bytes(change), ALL, name not in NOT_ASKED)
            for number, name, change in rows()
        ),
        Mutation(25, "called tokenizer.json", renamed, ALL),
    ],
    reference,
    DIFFERS,
)
