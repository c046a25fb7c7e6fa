"""Rows: files tokenizer.json that cannot be read."""

from __future__ import annotations

import json
from typing import Any

from tokenmill import errors

from errors.making import NO_ID, Json, broken, load, rows, tokenizer_json

ADDED: Json = {
    "content": "<x>",
    **dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized", "special"], False),
}


def replace_normalizer(pattern: Json) -> Json:
    return {"type": "Replace", "pattern": pattern, "content": ""}


def template(single: list[Json]) -> Json:
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": {}}


WHOLE = json.dumps(tokenizer_json())
UNSUPPORTED: list[tuple[str, Json, str]] = [
    ("another normalizer", {"normalizer": {"type": "X"}}, "normalizer.type"),
    ("another pre-tokenizer", {"pre_tokenizer": {"type": "X"}}, "pre_tokenizer.type"),
    ("another model", {"model__type": "X"}, "model.type"),
    ("another post-processor", {"post_processor": {"type": "X"}}, "post_processor.type"),
    ("another decoder", {"decoder": {"type": "X"}}, "decoder.type"),
    ("a pattern of another kind", {"normalizer": replace_normalizer({"X": "a"})}, "normalizer.pattern"),
]
WRONG_FIELDS: list[tuple[str, Json, str, dict[str, object]]] = [
    ("a normalizer that is text", {"normalizer": "NFC"}, "an object", broken("type", "normalizer")),
    (
        "a normalizer without its type",
        {"normalizer": {}},
        "missing",
        broken("missing", "normalizer.type"),
    ),
    (
        "a step of a sequence without a field",
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Strip"}]}},
        "missing",
        broken("missing", "normalizer.normalizers[1].strip_left"),
    ),
    (
        "a charsmap that is not base64",
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "a b"}},
        "base64",
        broken("base64", "normalizer.precompiled_charsmap"),
    ),
    (
        "a charsmap that is cut off",
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
        "too few for the size of the trie",
        broken("charsmap", "normalizer[0]"),
    ),
    (
        "an invalid regex in a file",
        {"normalizer": replace_normalizer({"Regex": "(a"})},
        "(a",
        broken("pattern", "normalizer.pattern.Regex"),
    ),
    (
        "a behavior that is none",
        {"pre_tokenizer": {"type": "Punctuation", "behavior": "Dropped"}},
        "Dropped",
        broken("type", "pre_tokenizer.behavior"),
    ),
    (
        "an older Metaspace that contradicts itself",
        {"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "add_prefix_space": False}},
        "never",
        broken("inconsistent", "pre_tokenizer.add_prefix_space"),
    ),
    (
        "truncation without its stride",
        {"truncation": {"strategy": "LongestFirst", "max_length": 8, "direction": "Right"}},
        "missing",
        broken("missing", "truncation.stride"),
    ),
    (
        "padding to no length",
        {"padding": {"strategy": "Shortest"}},
        "BatchLongest",
        broken("type", "padding.strategy"),
    ),
    (
        "a template that names what is not there",
        {"post_processor": template([{"SpecialToken": {"id": "<s>", "type_id": 0}}])},
        "<s>",
        broken("missing", "post_processor.single[0]"),
    ),
    (
        "a template of a third sequence",
        {"post_processor": template([{"Sequence": {"id": "C", "type_id": 0}}])},
        "C",
        broken("type", "post_processor.single[0].Sequence.id"),
    ),
    (
        "a WordPiece without its prefix",
        {"model__type": "WordPiece", "model__unk_token": "a"},
        "missing",
        broken("missing", "model.continuing_subword_prefix"),
    ),
    (
        "a Unigram with a table of ids",
        {"model__type": "Unigram"},
        "a list",
        broken("type", "model.vocab"),
    ),
    (
        "a Unigram whose unknown token is beyond its list",
        {"model__type": "Unigram", "model__vocab": [["a", -1.0]], "model__unk_id": 1},
        "not the place",
        broken("range", "model.unk_id"),
    ),
    ("dropout above 1", {"model__dropout": 1.5}, "between", broken("range", "model.dropout")),
]


def in_json(name: str, changes: Json, says: str, facts: dict[str, object]) -> tuple[Any, ...]:
    return name, load("t.json", tokenizer_json(**changes)), says, {"path": "t.json", **facts}


TOKENIZER_JSON = rows(
    errors.FormatError,
    *(
        (
            f"truncated after {size} bytes",
            load("t.json", WHOLE[:size]),
            "ends too early",
            broken("truncated", None, path="t.json"),
        )
        for size in (1, len(WHOLE) // 2, len(WHOLE) - 1)
    ),
    ("text behind the end", load("t.json", WHOLE + "x"), "after the end", broken("json", None)),
    ("not JSON", load("t.json", WHOLE.replace(":", ";", 1)), "expected", broken("json", None)),
    (
        "too deep",
        load("t.json", WHOLE.replace('"normalizer": null', '"normalizer": ' + "[" * 5000 + "]" * 5000)),
        "recursion limit",
        broken("limit", None),
    ),
    *(
        in_json(name, changes, "not supported", broken("unsupported", at))
        for name, changes, at in UNSUPPORTED
    ),
    *(in_json(*row) for row in WRONG_FIELDS),
    in_json("an unknown version", {"version": "2.0"}, "2.0", broken("version", "version")),
    in_json("an unknown key", {"spare": 1}, "spare", broken("unsupported", "spare")),
    in_json("no model", {"model": ...}, "model", broken("missing", "model")),
    in_json("a version that is a number", {"version": 1.0}, "string", broken("type", "version")),
    in_json("no vocab", {"model__vocab": ...}, "missing", broken("missing", "model.vocab")),
    in_json("no merges", {"model__merges": ...}, "missing", broken("missing", "model.merges")),
    in_json("an id of another type", {"model__vocab": {"a": "0"}}, "string", broken("type", "model.vocab.a")),
    in_json("a negative id", {"model__vocab": {"a": -1}}, "-1", broken("range", "model.vocab.a")),
    in_json("an id of 2^32", {"model__vocab": {"a": 2**32}}, "4294967296", broken("range", "model.vocab.a")),
    in_json("an id of 1.5", {"model__vocab": {"a": 1.5}}, "1.5", broken("range", "model.vocab.a")),
    in_json(
        "an id of 2^32 - 1", {"model__vocab": {"a": NO_ID}, "model__merges": []}, "", broken("range", None)
    ),
    in_json(
        "a merge without its left part",
        {"model__merges": [["a", "b"], ["x", "b"]]},
        '"x"',
        broken("merge", "model.merges[1]"),
    ),
    in_json(
        "a merge without its right part",
        {"model__merges": ["a x"]},
        '"x"',
        broken("merge", "model.merges[0]"),
    ),
    in_json(
        "a merge without its result", {"model__merges": ["b c"]}, '"bc"', broken("merge", "model.merges[0]")
    ),
    in_json(
        "a merge behind first lines of a merges.txt",
        {"model__merges": ["#version: 0.2", "a b", "#version: 0.2", "a x"]},
        '"x"',
        broken("merge", "model.merges[3]"),
    ),
    in_json("a merge of one", {"model__merges": [["a"]]}, "fewer", broken("merge", "model.merges[0]")),
    in_json(
        "a merge of three", {"model__merges": ["a b c"]}, "two tokens", broken("merge", "model.merges[0]")
    ),
    in_json("a merge of numbers", {"model__merges": [3]}, "a merge", {"field": "model.merges[0]"}),
    (
        "another split than the file's",
        load("t.json", tokenizer_json(), split="cl100k"),
        "split of its own",
        broken("inconsistent", "pre_tokenizer", path="t.json"),
    ),
    (
        "a key that says nothing, for the strict",
        load("t.json", tokenizer_json(decoder__spare=1), strict=True),
        "no such key",
        broken("ignored", "decoder.spare", path="t.json"),
    ),
    (
        "two tokens with one id, for the strict",
        load("t.json", tokenizer_json(model__vocab={"a": 0, "b": 0}, model__merges=[]), strict=True),
        "id 0",
        broken("duplicate", "model.vocab", path="t.json"),
    ),
    (
        "an added token with the id of another token, for the strict",
        load(
            "t.json",
            tokenizer_json(
                model__vocab={"a": 0, "b": 2}, model__merges=[], added_tokens=[{**ADDED, "id": 2}]
            ),
            strict=True,
        ),
        "id 2",
        broken("inconsistent", "added_tokens[0]", path="t.json"),
    ),
    (
        "two added tokens with one id, for the strict",
        load(
            "t.json",
            tokenizer_json(
                model__vocab={"<x>": 0, "b": 0},
                model__merges=[],
                added_tokens=[{**ADDED, "id": 0}, {**ADDED, "id": 0, "content": "b"}],
            ),
            strict=True,
        ),
        "listed later",
        broken("duplicate", "added_tokens[0]", path="t.json"),
    ),
    (
        "a piece twice, for the strict",
        load(
            "t.json",
            tokenizer_json(
                model={"type": "Unigram", "unk_id": 0, "vocab": [["u", 0], ["a", -1], ["a", -2]]},
                pre_tokenizer=None,
                decoder=None,
            ),
            strict=True,
        ),
        "also token 1",
        broken("duplicate", "model.vocab[2]", path="t.json"),
    ),
)
