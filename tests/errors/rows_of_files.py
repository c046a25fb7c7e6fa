"""Rows: files that cannot be read, and formats that cannot hold what is saved."""

from __future__ import annotations

import base64
import bz2
import gzip
import importlib
import json
import lzma
import pickle
from typing import Any

from tokenmill import errors

from errors.making import (
    NO_ID,
    broken,
    edited_folder,
    edited_manifest,
    empty_folder,
    from_state,
    load,
    load_pair,
    ranks,
    rows,
    several_rank_files,
    tokenizer_json,
    train_on,
    train_on_folder,
    with_chars,
    with_tok,
)

FILES = [
    *rows(
        FileNotFoundError,
        ("train on a missing file", train_on("missing.txt"), "missing.txt"),
        ("train on a glob without a match", train_on("*.text"), "no file matches"),
        ("load a missing file", load("missing.json", None), "missing.json"),
        (
            "save beside a missing folder",
            with_tok(lambda tok, folder: tok.save(folder / "no" / "t.json")),
            "t.json",
        ),
    ),
    *rows(
        FileNotFoundError, ("train on an empty folder", train_on_folder, "no file in this folder has a name")
    ),
    *rows(
        OSError,
        (
            "save under a file",
            with_tok(lambda tok, folder: ((folder / "f").write_text("f"), tok.save(folder / "f" / "t.json"))),
            "t.json",
        ),
    ),
]


WHOLE = json.dumps(tokenizer_json())


def in_ranks(
    name: str, content: str, says: str, facts: dict[str, object], **options: object
) -> tuple[Any, ...]:
    run = load("r.tiktoken", content, split="none", **options)
    return name, run, says, {"path": "r.tiktoken", **facts}


ALPHABET = [f"{base64.b64encode(bytes([byte])).decode()} {byte}" for byte in range(256)]


def is_no_tokenizer(
    name: str, content: bytes | str, says: str, kind: str, field: str = ""
) -> tuple[Any, ...]:
    return name, load("x", content), says, {"path": "x", "kind": kind, "field": field, "limit": None}


FORMAT = rows(
    errors.FormatError,
    # what is no tokenizer at all
    is_no_tokenizer("an empty file", b"", "empty", "empty"),
    is_no_tokenizer("a blank file", b" \n\t", "empty", "empty"),
    is_no_tokenizer("UTF-16", WHOLE.encode("utf-16"), "UTF-16", "encoding"),
    is_no_tokenizer("Latin-1", b'{"version":\n"caf\xe9"}', "byte 16", "encoding", "line 2"),
    is_no_tokenizer(
        "a file that ends within a character",
        b'{"version": "caf\xc3',
        "within a character",
        "truncated",
        "line 1",
    ),
    is_no_tokenizer("gzip", gzip.compress(WHOLE.encode()), "gzip", "wrong-kind"),
    is_no_tokenizer("zstd", b"\x28\xb5\x2f\xfd\x04\x00", "zstd", "wrong-kind"),
    is_no_tokenizer("a zip archive", b"PK\x03\x04rest", "zip", "wrong-kind"),
    is_no_tokenizer("bzip2", bz2.compress(WHOLE.encode()), "bzip2", "wrong-kind"),
    is_no_tokenizer("xz", lzma.compress(WHOLE.encode()), "xz", "wrong-kind"),
    is_no_tokenizer("a PNG", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "an image", "wrong-kind"),
    is_no_tokenizer("a JPEG", b"\xff\xd8\xff\xe0\0\x10JFIF", "an image", "wrong-kind"),
    is_no_tokenizer("a PDF", b"%PDF-1.7\n%\xe2\xe3", "a PDF document", "wrong-kind"),
    is_no_tokenizer("Parquet", b"PAR1\x15\x04\x15\xff", "Parquet data", "wrong-kind"),
    is_no_tokenizer("Arrow", b"ARROW1\0\0\xff", "Arrow data", "wrong-kind"),
    is_no_tokenizer("a NumPy array", b"\x93NUMPY\x01\0v\0{", "a NumPy array", "wrong-kind"),
    is_no_tokenizer("a library", b"\x7fELF\x02\x01\x01\0", "a program or a library", "wrong-kind"),
    is_no_tokenizer("a pickle", pickle.dumps({"a": 1}), "pickle, which could run", "wrong-kind"),
    is_no_tokenizer("an old pickle", pickle.dumps({"a": 1}, 2), "pickle, which could run", "wrong-kind"),
    is_no_tokenizer("a checkpoint", b"PK\x03\x04" + bytes(26) + b"x/data.pkl", "model weights", "wrong-kind"),
    is_no_tokenizer(
        "safetensors",
        (20).to_bytes(8, "little") + b'{"a":{"dtype":"F32"}' + b"\xff",
        "model weights",
        "wrong-kind",
    ),
    is_no_tokenizer("HDF5", b"\x89HDF\r\n\x1a\n\0", "model weights", "wrong-kind"),
    is_no_tokenizer("a chat template", "{%- for m in messages %}", "a Jinja template", "wrong-kind"),
    is_no_tokenizer("a chat template that begins with bos", "{{ bos_token }}", "a Jinja", "wrong-kind"),
    is_no_tokenizer("a chat template that begins with a comment", "{# chat #}", "a Jinja", "wrong-kind"),
    is_no_tokenizer("a web page", "<!DOCTYPE html><html></html>", "web page", "wrong-kind"),
    is_no_tokenizer("a web page in small letters", "<!doctype html>", "web page", "wrong-kind"),
    is_no_tokenizer(
        "an LFS pointer",
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        "LFS",
        "wrong-kind",
    ),
    is_no_tokenizer("prose", "Once upon a time\nthere was a file.\n", "none of the formats", "wrong-kind"),
    is_no_tokenizer("a list", "[1, 2, 3]", "none of the formats", "wrong-kind"),
    ("JSON of something else", load("x", '{"name": "x", "private": true}'), "name", {"path": "x"}),
    # .tiktoken
    (
        "ranks without a known split",
        load("r.tiktoken", ranks("YQ== 0")),
        "pass split=",
        broken("unknown", "split", path="r.tiktoken"),
    ),
    (
        "ranks that are named like published ones",
        load("cl100k_base.tiktoken", ranks("YQ== 0")),
        "named like the published cl100k_base.tiktoken, but its sha256 is",
        broken("unknown", "split", path="cl100k_base.tiktoken"),
    ),
    (
        "ranks that are named like published ones, with a split",
        load("qwen.tiktoken", ranks("YQ== 0"), split="qwen2", strict=True),
        "damaged, or another file?",
        broken("inconsistent", "sha256", path="qwen.tiktoken"),
    ),
    in_ranks("not base64", ranks("YQ== 0", "Y! 1"), "base64", broken("base64", "line 2")),
    in_ranks("not base64 on the first line", ranks("Y! 0", "YQ== 1"), "base64", {}),
    in_ranks("URL-safe base64", ranks("YQ== 0", "-_-_ 1"), "URL-safe", broken("base64", "line 2")),
    in_ranks(
        "an empty token of ranks, for the strict",
        ranks("YQ== 0", "== 1"),
        "left out",
        broken("empty", "line 2"),
        strict=True,
    ),
    in_ranks(
        "base64 without padding, for the strict",
        ranks("YQ== 0", "Yg 1"),
        "padding is missing",
        broken("base64", "line 2"),
        strict=True,
    ),
    in_ranks(
        "a gap in the ranks, for the strict",
        ranks(*ALPHABET, "YWE= 257"),
        "no token has this rank",
        broken("missing", "rank 256"),
        strict=True,
    ),
    in_ranks(
        "a byte without a token, for the strict",
        ranks(*ALPHABET[:-1]),
        "this byte alone",
        broken("missing", "byte 0xFF"),
        strict=True,
    ),
    in_ranks(
        "a special token that is an ordinary one, for the strict",
        ranks(*ALPHABET),
        '"a" is 300',
        broken("duplicate", "special_tokens"),
        strict=True,
        special_tokens={"a": 300},
    ),
    in_ranks("a rank is missing", ranks("YQ== 0", "Yg=="), "rank is missing", broken("line", "line 2")),
    in_ranks("a rank is no number", ranks("YQ== 0", "Yg== x"), "not a number", broken("line", "line 2")),
    in_ranks("a rank of -1", ranks("YQ== 0", "Yg== -1"), "-1", broken("range", "line 2")),
    in_ranks("a rank of 2^32", ranks("YQ== 0", "Yg== 4294967296"), "4294967296", broken("range", "line 2")),
    in_ranks("a rank of 2^32 - 1", ranks("YQ== 0", f"Yg== {NO_ID}"), str(NO_ID), broken("range", "line 2")),
    in_ranks("a rank beyond numbers", ranks("YQ== 0", "Yg== " + "9" * 50), "9", broken("range", "line 2")),
    in_ranks("more on a line", ranks("YQ== 0", "Yg== 1 2"), "there is more", broken("line", "line 2")),
    in_ranks(
        "a rank twice",
        ranks("YQ== 0", "Yg== 1", "Yw== 0"),
        "rank 0 is also on line 1",
        broken("duplicate", "line 3"),
    ),
    in_ranks(
        "a token twice, for the strict",
        ranks("YQ== 0", "Yg== 1", "YQ== 2"),
        "token is also on line 1",
        broken("duplicate", "line 3"),
        strict=True,
    ),
    in_ranks(
        "a line without end",
        ranks("YQ== 0", "Y" * 200_000 + " 1"),
        "longer",
        broken("limit", "line 2", limit=65_536),
    ),
    # vocab.json with merges.txt
    (
        "a pair without a known split",
        lambda native, folder: (
            (folder / "vocab.json").write_text('{"a": 0}'),
            (folder / "merges.txt").write_text("#version: 0.2\n"),
            native.load(folder),
        ),
        "pass split=",
        broken("unknown", "split"),
    ),
    (
        "a merge of an unknown token",
        load_pair('{"a": 0, "b": 1}', "#version: 0.2\na x\n"),
        '"x"',
        broken("merge", "line 2", path="merges.txt"),
    ),
    (
        "a merge with an unknown result",
        load_pair('{"a": 0, "b": 1}', "a b\n", "merges.txt"),
        '"ab"',
        broken("merge", "line 1", path="merges.txt"),
    ),
    (
        "a line of one token",
        load_pair('{"a": 0}', "a\n"),
        "two tokens",
        broken("line", "line 1", path="merges.txt"),
    ),
    (
        "a vocab.json alone",
        load_pair('{"a": 0}', None),
        "merges.txt",
        broken("missing", "merges.txt", path="vocab.json"),
    ),
    (
        "a table that is no tokenizer.json",
        load("some.json", '{"a": 1}'),
        'has no "model", as a tokenizer.json has, and is read as a vocab.json: some.json needs merges.txt',
        broken("missing", "merges.txt", path="some.json"),
    ),
    (
        "merges of another model",
        load_pair('{"a": 0, "b": 1, "ab": 2}', "a b\na x\nx x\n"),
        "2 of 3 merges",
        broken("inconsistent", "line 2", path="merges.txt"),
    ),
    (
        "a merge twice, for the strict",
        load_pair('{"a": 0, "b": 1, "ab": 2}', "a b\na b\n", strict=True),
        "also on line 1",
        broken("duplicate", "line 2", path="merges.txt"),
    ),
    (
        "a gap in the ids, for the strict",
        load_pair('{"a": 0, "b": 1, "ab": 3}', "a b\n", strict=True),
        "no token has this id",
        broken("missing", "id 2", path="vocab.json"),
    ),
    (
        "a vocab.json that is a list",
        load_pair('["a"]', "a b\n"),
        "tuple",
        broken("type", "[0]", path="vocab.json"),
    ),
    ("an empty merges.txt", load_pair('{"a": "x"}', ""), "", {}),
    (
        "an id twice, for the strict",
        load_pair('{"a": 0, "b": 0}', "#version: 0.2\n", strict=True),
        "id 0",
        broken("duplicate", ""),
    ),
    (
        "an id twice in a table",
        lambda native, _: native.Tokenizer.from_merges({"a": 0, "b": 0}, []),
        "id 0",
        broken("duplicate", "model.vocab[1]"),
    ),
    (
        "a broken pattern in a file",
        load(
            "t.json",
            tokenizer_json(
                pre_tokenizer={
                    "type": "Sequence",
                    "pretokenizers": [
                        {
                            "type": "Split",
                            "pattern": {"Regex": "(a"},
                            "behavior": "Isolated",
                            "invert": False,
                        },
                        {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
                    ],
                }
            ),
        ),
        "(a",
        broken("pattern", "pre_tokenizer.pretokenizers[0].pattern.Regex"),
    ),
    # folders and states
    ("an empty folder", empty_folder, "holds no tokenizer.json", broken("missing", None, path="empty")),
    ("two rank files", several_rank_files, "name one of them", broken("unknown", None)),
    (
        "a manifest of the future",
        lambda native, folder: edited_manifest(native, folder, lambda m: m.update(manifest_version=3)),
        "manifest version 3",
        broken("version", "manifest_version", path="m/tokenmill.json"),
    ),
    (
        "a state of something else",
        from_state(b"x" * 100),
        "not a tokenmill tokenizer",
        broken("wrong-kind", ""),
    ),
    (
        "a state that was cut",
        from_state(b"tokenmill\x04" + bytes(40)),
        "checksum",
        broken("inconsistent", ""),
    ),
    ("a state of the future", from_state(b"tokenmill\x09" + bytes(40)), "version 9", broken("version", "")),
    # tables
    (
        "a token twice in a list",
        lambda native, _: native.Tokenizer.from_tokens([b"a", b"b", b"ab", b"ab"]),
        "same bytes",
        broken("duplicate", None, path=None),
    ),
    (
        "a byte twice in a list",
        lambda native, _: native.Tokenizer.from_tokens([b"a", b"a"]),
        "same bytes",
        broken("duplicate", None, path=None),
    ),
    (
        "an unreachable token twice in a list",
        lambda native, _: native.Tokenizer.from_tokens([b"xy", b"xy"]),
        "same bytes",
        broken("duplicate", None, path=None),
    ),
    (
        "an empty token in a list",
        lambda native, _: native.Tokenizer.from_tokens([b"a", b""]),
        "token 1 is empty",
        broken("empty", None),
    ),
    (
        "a merge in a table without its result",
        lambda native, _: native.Tokenizer.from_merges({"a": 0, "b": 1}, [("a", "b")]),
        '"ab"',
        broken("merge", "merges[0]"),
    ),
    (
        "a merge twice in a table",
        lambda native, _: native.Tokenizer.from_pairs([(97, 98), (97, 98)]),
        "same bytes",
        broken("duplicate", "model.vocab[257]"),
    ),
    # what a format cannot hold
    (
        "ranks of a split",
        with_chars(lambda tok, folder: tok.save(folder / "t.tiktoken")),
        "cannot hold the split",
        broken("cannot-hold", "split", path="t.tiktoken"),
    ),
    (
        "ranks of special tokens",
        lambda native, folder: native.Tokenizer.from_tokens([b"a"], special_tokens=["<s>"]).save(
            folder / "t.tiktoken"
        ),
        "<s>",
        broken("cannot-hold", "added_tokens", path="t.tiktoken"),
    ),
    (
        "a pair of a split",
        with_tok(lambda tok, folder: tok.save(folder / "vocab.json")),
        "cannot hold the split and the special tokens (<s>)",
        broken("cannot-hold", "split", path="vocab.json"),
    ),
    (
        "ranks of characters",
        with_chars(lambda tok, folder: tok.save(folder / "t.tiktoken", lossy=True)),
        "characters",
        broken("cannot-hold", "model"),
    ),
    (
        "a separate end of word in tokenizer.json",
        with_chars(lambda tok, folder: tok.save(folder / "t.json"), end_of_word="</w>"),
        'end_of_word_form="suffix"',
        broken("cannot-hold", "model.end_of_word_suffix", path="t.json"),
    ),
    (
        "a list that no merges can say",
        lambda native, folder: native.Tokenizer.from_tokens([b"a", b"b", b"c", b"abc"]).save(
            folder / "t.json"
        ),
        "token 3",
        broken("cannot-hold", "model.merges", path="t.json"),
    ),
    (
        "an unknown extension",
        with_tok(lambda tok, folder: tok.save(folder / "t.txt")),
        "no format goes by this name",
        broken("unknown", None, path="t.txt"),
    ),
)

MANIFEST = rows(
    errors.ManifestError,
    ("an edited folder", edited_folder, "the manifest says", {"field": "files.tokenizer.json.sha256"}),
    (
        "an edited manifest",
        lambda native, folder: edited_manifest(
            native, folder, lambda m: m["files"]["tokenizer.json"].update(sha256="00" * 32)
        ),
        "00" * 32,
        {"expected": f"sha256 {'00' * 32}"},
    ),
    (
        "a key that no manifest has",
        with_tok(lambda tok, folder: tok.save(folder / "m", manifest={"padding_side": "left"})),
        "padding_side: a manifest takes one of",
        {"field": "padding_side", "found": '"padding_side"'},
    ),
    (
        "a side that is none",
        with_tok(lambda tok, folder: tok.save(folder / "m", manifest={"padding_side_train": "up"})),
        'not "up"',
        {"field": "padding_side_train", "found": '"up"'},
    ),
    (
        "another fingerprint",
        with_tok(
            lambda tok, folder: (
                tok.save(folder / "m"),
                importlib.import_module("tokenmill").load(folder / "m", expected_fingerprint="tm1-0"),
            )
        ),
        "this is not the tokenizer that was asked for",
        {"field": "fingerprint", "expected": "tm1-0"},
    ),
)
