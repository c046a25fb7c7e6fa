"""Rows: SentencePiece models, tekken.json, GGUF files, vocab.txt and odd rank files that cannot be read.

Each is a sound small file with one thing changed. More of the kind, byte by byte, is in the unit tests of
`crates/io`.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gguf_files import small_gpt2
from tokenmill import errors

from errors.making import Json, Run, load, rows

# ---- SentencePiece --------------------------------------------------------------------------------


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def piece(text: str | bytes, kind: int = 1, score: float = 0.0) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    inside = field(1, data) + varint(2 << 3 | 5) + struct.pack("<f", score) + field(3, kind)
    return field(1, inside)


PIECES = [piece("<unk>", 2), piece("<s>", 3), piece("▁a", 1, -1.0), piece("b", 1, -2.0)]


def model(*more: bytes, pieces: list[bytes] = PIECES, trainer: bytes = b"") -> bytes:
    return b"".join(pieces) + field(2, trainer) + b"".join(more)


BYTES = [piece(f"<0x{byte:02X}>", 6) for byte in range(256)]


def spm(content: bytes, **options: Any) -> Run:
    return load("m.model", content, **options)


def strictly(content: bytes) -> Run:
    return spm(content, strict=True)


def at(kind: str, place: str = "") -> dict[str, object]:
    return {"kind": kind, "field": place}


AFTER = field(5, field(2, struct.pack("<I", 4096) + b"ab") + field(3, 0) + field(4, 0) + field(5, 0))
CHARSMAP = field(3, field(2, struct.pack("<I", 4096) + b"ab"))
SENTENCEPIECE: list[tuple[Any, ...]] = [
    ("a model that is cut", spm(model()[:10]), "byte 2", at("protobuf")),
    ("a model of random bytes", spm(b"\x9a\xf3\xff\x81" * 9), "byte", at("protobuf")),
    ("an empty model", spm(b""), "empty", at("empty")),
    ("a group without an end", spm(model(varint(7 << 3 | 3))), "cut off", at("protobuf")),
    ("an end without a group", spm(model(varint(7 << 3 | 4))), "way 4", at("protobuf")),
    ("groups in groups", spm(model(varint(7 << 3 | 3) * 101)), "nested", at("protobuf")),
    ("a model without pieces", spm(model(pieces=[])), "no pieces", at("missing", "pieces")),
    ("a model without an unknown piece", spm(model(pieces=PIECES[1:])), "type 2", at("missing", "pieces")),
    ("a model with two unknown pieces", spm(model(piece("?", 2))), "piece 0", at("duplicate", "pieces[4]")),
    ("an empty piece", spm(model(piece(""))), "empty", at("empty", "pieces[4].piece")),
    ("a piece not in UTF-8", strictly(model(piece(b"a\xff"))), "UTF-8", at("encoding", "pieces[4].piece")),
    ("a user piece not in UTF-8", spm(model(piece(b"a\xff", 4))), "UTF-8", at("encoding", "pieces[4].piece")),
    ("a zero byte in a piece", strictly(model(piece("a\0b"))), "zero byte", at("range", "pieces[4].piece")),
    ("a piece that is there twice", spm(model(piece("b"))), "piece 3", at("duplicate", "pieces[4]")),
    ("a score that is none", spm(model(piece("c", 1, float("nan")))), "NaN", at("range", "pieces[4].score")),
    ("a type of piece that is none", strictly(model(piece("c", 99))), "99", at("type", "pieces[4].type")),
    (
        "a type of model that is none",
        strictly(model(trainer=field(3, 99))),
        "99",
        at("type", "trainer_spec.model_type"),
    ),
    (
        "bytes and no unknown piece",
        strictly(model(*BYTES, pieces=PIECES[1:], trainer=field(35, 1))),
        "every byte",
        at("missing", "pieces"),
    ),
    (
        "an infinite score of BPE",
        strictly(model(piece("c", 1, float("inf")), trainer=field(3, 2))),
        "inf",
        at("range", "pieces[4].score"),
    ),
    ("a byte piece that is none", spm(model(piece("<0x-1>", 6))), "<0x-1>", at("type", "pieces[4]")),
    ("a byte piece without fallback", spm(model(BYTES[65])), "fallback", at("inconsistent", "pieces[4]")),
    (
        "a byte piece that is missing",
        spm(model(*BYTES[:-1], trainer=field(35, 1))),
        "<0xFF>",
        at("missing", "pieces"),
    ),
    ("a piece that is too long", spm(model(piece("c" * 70_000))), "70000", at("limit", "pieces[4].piece")),
    (
        "a model of words",
        spm(model(trainer=field(3, 3))),
        "word",
        at("unsupported", "trainer_spec.model_type"),
    ),
    (
        "a model of characters with a longer piece",
        spm(model(trainer=field(3, 4))),
        "longer than a character",
        at("unsupported", "pieces[2]"),
    ),
    (
        "a model that changes spaces after decoding",
        spm(model(field(5, field(2, b"abcd")))),
        "after decoding",
        at("unsupported", "denormalizer_spec.add_dummy_prefix"),
    ),
    (
        "a map after decoding that ends before its trie",
        spm(model(AFTER)),
        "4096",
        at("charsmap", "denormalizer_spec.precompiled_charsmap"),
    ),
    (
        "a map that ends before its trie",
        spm(model(CHARSMAP)),
        "4096",
        at("charsmap", "normalizer_spec.precompiled_charsmap"),
    ),
]

# ---- tekken.json ----------------------------------------------------------------------------------


def tekken(change: Callable[[Json], object] = lambda file: None, **options: Any) -> Run:
    tokens = [bytes([byte]) for byte in range(256)] + [b"ab"]
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(tokens)
    ]
    config = {
        "pattern": r"\s+|\S+",
        "default_vocab_size": 280,
        "default_num_special_tokens": 23,
        "version": "v3",
    }
    file: Json = {"config": config, "vocab": vocab}
    change(file)
    return load("tokenizer.json", json.dumps(file), **options)


def setting(name: str, value: object) -> Run:
    return tekken(lambda file: file["config"].update({name: value}))


def without(name: str) -> Run:
    return tekken(lambda file: file.pop(name))


def entry(index: int, **changes: object) -> Run:
    return tekken(lambda file: file["vocab"][index].update(changes))


def special(*entries: tuple[object, str]) -> Run:
    listed = [{"rank": rank, "token_str": text, "is_control": True} for rank, text in entries]
    return tekken(lambda file: file.update(special_tokens=listed), strict=True)


def section(name: str, value: object) -> Run:
    return tekken(lambda file: file.update({name: value}), strict=True)


TEKKEN: list[tuple[Any, ...]] = [
    ("a tekken file without config", without("config"), "config", {"kind": "missing"}),
    ("a tekken file without vocab", without("vocab"), "vocab", {"kind": "missing"}),
    (
        "a tekken pattern that is invalid",
        setting("pattern", "(a"),
        "(a",
        at("pattern", "config.pattern"),
    ),
    ("a tekken version of tomorrow", setting("version", "v99"), "v99", at("version", "config.version")),
    (
        "a tekken version that lists its special tokens",
        setting("version", "v13"),
        "v13",
        at("missing", "special_tokens"),
    ),
    (
        "fewer ranks than a tekken file needs",
        setting("default_vocab_size", 400),
        "257",
        at("inconsistent", "config.default_vocab_size"),
    ),
    ("a tekken size that is text", setting("default_vocab_size", "280"), "280", {"kind": "type"}),
    (
        "a tekken rank out of place",
        entry(3, rank=4),
        "index in the list",
        at("inconsistent", "vocab[3].rank"),
    ),
    ("a tekken rank that is text", entry(3, rank="3"), "3", {"kind": "type"}),
    (
        "a tekken token that is not base64",
        entry(256, token_bytes="YWJjZ"),
        "",
        at("base64", "vocab[256].token_bytes"),
    ),
    (
        "a tekken byte out of place",
        entry(3, token_bytes="YQ=="),
        "bytes in order",
        at("inconsistent", "vocab[3].token_bytes"),
    ),
    (
        "a tekken token that is there twice",
        entry(256, token_bytes="YQ=="),
        "same bytes",
        at("duplicate", "vocab[256].token_bytes"),
    ),
    (
        "a tekken special rank twice",
        special((0, "<unk>"), (0, "<s>")),
        "its place",
        at("inconsistent", "special_tokens[1].rank"),
    ),
    (
        "a tekken special rank out of range",
        special((23, "<unk>")),
        "23",
        at("inconsistent", "special_tokens[0].rank"),
    ),
    (
        "a tekken special rank that is a list",
        special(([], "<unk>")),
        "number",
        at("type", "special_tokens[0].rank"),
    ),
    (
        "a tekken special token that is a token too",
        special((0, "ab")),
        "as text",
        at("duplicate", "vocab[256].token_bytes"),
    ),
    ("a tekken entry with another key", entry(3, score=1), "score", at("unsupported", "vocab[3].score")),
    ("a tekken image section that is text", section("image", "?"), "object", at("type", "image")),
    (
        "a tekken audio section without its parts",
        section("audio", {"a": 1}),
        "missing",
        at("missing", "audio.audio_encoding_config"),
    ),
]

# ---- GGUF -----------------------------------------------------------------------------------------


def gguf(cut: slice = slice(None), **changes: Any) -> Run:
    return load("m.gguf", small_gpt2(**changes)[cut])


def patched(offset: int, data: bytes) -> Run:
    file = small_gpt2()
    return load("m.gguf", file[:offset] + data + file[offset + len(data) :])


def key(name: str) -> str:
    return f"tokenizer.ggml.{name}"


GGUF: list[tuple[Any, ...]] = [
    ("a GGUF version of tomorrow", patched(4, b"\x63"), "99", at("version", "version")),
    ("a big-endian GGUF file", patched(4, b"\0\0\0\x03"), "big-endian", at("unsupported", "version")),
    ("2^63 keys", patched(16, struct.pack("<Q", 1 << 63)), "keys", at("limit", "kv_count")),
    ("a string beyond the end", patched(24, b"\xff" * 8), "byte 32", at("truncated")),
    ("a GGUF file that is cut", gguf(slice(200)), "more", at("truncated", key("tokens"))),
    ("a GGUF file without a tokenizer", gguf(model=None), "no tokenizer", at("missing", key("model"))),
    ("a GGUF tokenizer that is unknown", gguf(model="rwkv"), "rwkv", at("unsupported", key("model"))),
    ("a GGUF file without a split", gguf(pre=None), "split=", at("unknown", key("pre"))),
    ("a GGUF split that is unknown", gguf(pre="tomorrow"), "tomorrow", at("unsupported", key("pre"))),
    ("tokens that are numbers", gguf(tokens=[1, 2]), "strings", at("type", key("tokens"))),
    ("types of one byte", gguf(token_type=b"\1\1\1\1\3"), "32 bits", at("type", key("token_type"))),
    ("fewer scores than tokens", gguf(scores=[0.5]), "5 tokens", at("inconsistent", key("scores"))),
    ("a GGUF file without merges", gguf(merges=None), "missing", at("missing", key("merges"))),
    ("a merge without a blank", gguf(merges=["a b", "ab"]), "blank", at("merge", key("merges[1]"))),
    ("a GGUF merge of an unknown token", gguf(merges=["a x"]), "x", at("merge", key("merges[0]"))),
    ("a file that is not GGUF", load("m.gguf", b"GGML\xff\xff"), "GGUF", at("wrong-kind")),
    (
        "a GGUF merge that is there twice",
        load("m.gguf", small_gpt2(merges=["a b", "a b"]), strict=True),
        "occurs earlier, at",
        at("duplicate", key("merges[1]")),
    ),
    ("an id beyond the tokens", gguf(bos_token_id=5), "5", at("range", key("bos_token_id"))),
    ("a token that is there twice", gguf(tokens=list("abcda")), "token 0", at("duplicate", key("tokens[4]"))),
    (
        "a byte token that is none",
        gguf(model="llama", tokens=["a", "b", "c", "<0x-1>", "e"], token_type=[1, 1, 1, 6, 1]),
        "<0x-1>",
        at("type", key("tokens[3]")),
    ),
]

# ---- vocab.txt and ranks --------------------------------------------------------------------------

WRITTEN = [chr(code) for code in [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x180)]]
IN_ALPHABET = "".join(
    f"{base64.b64encode(char.encode()).decode()} {rank}\n" for rank, char in enumerate(WRITTEN[:256])
)
OTHERS: list[tuple[Any, ...]] = [
    ("an empty vocab.txt", load("vocab.txt", b""), "empty", at("empty")),
    ("a vocab.txt in Latin-1", load("vocab.txt", b"[UNK]\na\ncaf\xe9\n"), "UTF-8", at("encoding", "line 3")),
    (
        "a vocab.txt without an unknown token, for the strict",
        load("vocab.txt", "a\nb\n", strict=True),
        "[UNK]",
        at("missing", "[UNK]"),
    ),
    ("a line of a megabyte", load("vocab.txt", "[UNK]\n" + "a" * 2**20), "65536", at("limit", "line 2")),
    (
        "a split for a format that has one",
        load("vocab.txt", "[UNK]\na\n", split="gpt2"),
        "split of its own",
        at("inconsistent", "pre_tokenizer"),
    ),
    (
        "ranks in the byte alphabet",
        load("r.tiktoken", IN_ALPHABET, split="none"),
        "byte alphabet",
        at("wrong-kind"),
    ),
]

# ---- images ---------------------------------------------------------------------------------------


def image(change: Callable[[bytes], bytes] = lambda content: content, **options: Any) -> Run:
    def run(native: Any, folder: Path) -> object:
        tok = native.train(texts=["low lower"], num_merges=2, special_tokens=["<s>"])
        tok.save(folder / "t.tokenmill")
        content = change((folder / "t.tokenmill").read_bytes())
        return load("changed.tokenmill", content, **options)(native, folder)

    return run


def to_folder(native: Any, folder: Path) -> object:
    return native.train(texts=["low lower"], num_merges=2).save(folder, format="image")


IMAGES: list[tuple[Any, ...]] = [
    ("an image that ends too early", image(lambda content: content[:-9]), "save it again", at("truncated")),
    (
        "an image with a changed byte",
        image(lambda content: content[:999] + b"?" + content[1000:]),
        "bytes of this image were changed",
        at("inconsistent"),
    ),
    (
        "an image of another type of machine",
        image(lambda content: content[:20] + content[20:24][::-1] + content[24:]),
        "another type of machine",
        at("version"),
    ),
    (
        "a split for an image of another split",
        image(split="gpt2"),
        "split of its own",
        at("inconsistent", "pre_tokenizer"),
    ),
    ("an image saved to a folder", to_folder, "an image is one file", at("cannot-hold")),
]

FORMATS = [*rows(errors.FormatError, *SENTENCEPIECE, *TEKKEN, *GGUF, *OTHERS, *IMAGES)]
