"""Write what fuzzing starts from: small pieces of real tokenizer files, one folder a target.

    python fuzz/seeds.py [--data FOLDER] [--out fuzz/corpus]

The pieces are cut here, from the files below `vocab/` of the data that the tests use (TOKENMILL_DATA, else
`data/` of TOKENMILL_SHARED); nothing of them is kept in the repository. Files that are not there are left
out. The targets that make tokenizers from bytes start from random bytes.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

# How much of a vocabulary a seed keeps: mutations are to meet structure, not one more token.
TOKENS = 60
# The first merges of GPT-2 make the tokens after its bytes.
GGUF_TOKENS = 280
RANDOM_SEEDS = 200
MADE_FROM_BYTES = ("encode", "decode", "stream", "split")


def tokenizer_json(path: Path) -> bytes:
    """The file with all its stages and little of its vocabulary."""
    file = json.loads(path.read_text(encoding="utf-8"))
    model = file["model"]
    tokens = model["vocab"]
    if isinstance(tokens, list):
        model["vocab"] = tokens[:TOKENS]
        kept = {piece for piece, _ in model["vocab"]}
    else:
        kept = {token for token, place in tokens.items() if place < TOKENS}
        model["vocab"] = {token: place for token, place in tokens.items() if token in kept}
    if "merges" in model:
        parts = [merge.split(" ", 1) if isinstance(merge, str) else merge for merge in model["merges"][:4000]]
        # What the first merges are made of comes with them.
        for left, right in parts[:15]:
            for token in (left, right, left + right):
                if token in tokens:
                    model["vocab"][token] = tokens[token]
        named = model["vocab"]
        is_whole = [left in named and right in named and left + right in named for left, right in parts]
        model["merges"] = [merge for merge, whole in zip(model["merges"], is_whole, strict=False) if whole][
            :30
        ]
    added = file["added_tokens"] = file["added_tokens"][:6]
    if isinstance(tokens, dict):
        # Ids without holes: added tokens that are not in the vocabulary come after it.
        in_order = sorted(model["vocab"], key=model["vocab"].__getitem__)
        in_order += [token["content"] for token in added if token["content"] not in model["vocab"]]
        ids = {token: place for place, token in enumerate(in_order)}
        model["vocab"] = {token: ids[token] for token in in_order if token in model["vocab"]}
        for token in added:
            token["id"] = ids[token["content"]]
    shorten_charsmap(file.get("normalizer"))
    return json.dumps(file, ensure_ascii=False).encode()


def shorten_charsmap(step: Any) -> None:
    """A map is larger than all the rest; it has a target of its own."""
    if not isinstance(step, dict):
        return
    for inner in step.get("normalizers", []):
        shorten_charsmap(inner)
    if step.get("type") == "Precompiled":
        step["precompiled_charsmap"] = base64.b64encode(small_charsmap()).decode()


def tekken(path: Path) -> bytes:
    """The file with the bytes and a few tokens."""
    file = json.loads(path.read_text(encoding="utf-8"))
    kept = 256 + 10
    file["vocab"] = file["vocab"][:kept]
    config = file["config"]
    config["default_vocab_size"] = kept + config["default_num_special_tokens"]
    return json.dumps(file, ensure_ascii=False).encode()


def fields(message: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """The fields of a protobuf message: number, the whole field, and what a field of bytes holds."""

    def varint(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (message[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if message[at - 1] < 0x80:
                return value, at

    at = 0
    while at < len(message):
        start = at
        key, at = varint(at)
        inner = b""
        match key & 7:
            case 0:
                _, at = varint(at)
            case 1:
                at += 8
            case 2:
                length, at = varint(at)
                inner, at = message[at : at + length], at + length
            case _:
                at += 4
        yield key >> 3, message[start:at], inner


def sentencepiece(path: Path) -> bytes:
    """The model with its first pieces, its bytes, and no map."""
    out = []
    pieces = 0
    for number, whole, inner in fields(path.read_bytes()):
        if number == 1:
            pieces += 1
            if pieces <= TOKENS or b"<0x" in inner:
                out.append(whole)
        else:
            # Without lists of files and tokens, and without the map.
            dropped = {2: (1, 30, 31), 3: (2,)}.get(number, ())
            kept = b"".join(part for field, part, _ in fields(inner) if field not in dropped)
            out.append(bytes([number << 3 | 2]) + varint(len(kept)) + kept)
    return b"".join(out)


def varint(value: int) -> bytes:
    """A number as protobuf writes it."""
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def charsmaps(path: Path) -> Iterator[bytes]:
    """The map of a model, and parts of it that may still be one; each with no text of its own."""
    for number, _, inner in fields(path.read_bytes()):
        if number != 3:
            continue
        for field, _, charsmap in fields(inner):
            if field == 2 and charsmap:
                yield charsmap + b"\x00\x00"


def small_charsmap() -> bytes:
    """A map of one key, `a` to `b`, as a trie of 512 units."""
    units = [0] * 512
    units[0] = 1 << 10  # the root: what follows it stands from unit 1 on
    at = 1 ^ ord("a")
    units[at] = (256 << 10) | 0x100 | ord("a")  # a leaf hangs here
    units[at ^ 256] = 0x80000000  # its value: the replacement at byte 0
    trie = struct.pack("<512I", *units)
    return struct.pack("<I", len(trie)) + trie + b"b\x00"


def gguf(path: Path) -> bytes:
    """The keys of the tokenizer, lists cut to the first items."""
    data = path.read_bytes()
    at = 24
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def number(kind: str) -> int:
        nonlocal at
        (value,) = struct.unpack_from(kind, data, at)
        at += struct.calcsize(kind)
        return int(value)

    def plain(kind: int) -> bytes:
        nonlocal at
        start = at
        size = number("<Q") if kind == 8 else sizes[kind]
        at += size
        return data[start:at]

    kept = []
    for _ in range(struct.unpack_from("<Q", data, 16)[0]):
        key = plain(8)
        kind = number("<I")
        if kind == 9:
            inner, count = number("<I"), number("<Q")
            items = [plain(inner) for _ in range(count)][: 15 if key.endswith(b".merges") else GGUF_TOKENS]
            value = struct.pack("<IQ", inner, len(items)) + b"".join(items)
        else:
            value = plain(kind)
            if key.endswith(b"_token_id"):
                value = struct.pack("<I", struct.unpack("<I", value)[0] % TOKENS)
        if key[8:].startswith(b"tokenizer."):
            kept.append(key + struct.pack("<I", kind) + value)
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(kept)) + b"".join(kept)


def lines(path: Path, count: int = TOKENS) -> bytes:
    """The first lines of a file."""
    return b"".join(path.read_bytes().splitlines(keepends=True)[:count])


def pair(folder: Path) -> bytes:
    """vocab.json and merges.txt, parted by a zero byte."""
    vocab = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    merges = (folder / "merges.txt").read_text(encoding="utf-8").splitlines()[:20]
    named = {token: place for token, place in vocab.items() if place < 256}
    for merge in merges:
        for token in (*merge.split(" "), merge.replace(" ", "")):
            if token in vocab:
                named[token] = vocab[token]
    return json.dumps(named, ensure_ascii=False).encode() + b"\x00" + "\n".join(merges).encode()


def folder_of(folder: Path, which: int) -> bytes:
    """The configuration of a folder as the target wants it: which tokenizer, then the files."""
    parts = []
    for name in ("tokenizer_config.json", "config.json", "special_tokens_map.json"):
        path = folder / name
        if not path.is_file():
            parts.append(b"")
            continue
        values = json.loads(path.read_text(encoding="utf-8"))
        values.pop("chat_template", None)
        if "added_tokens_decoder" in values:
            values["added_tokens_decoder"] = dict(list(values["added_tokens_decoder"].items())[:4])
        parts.append(json.dumps(values, ensure_ascii=False).encode())
    return bytes([which]) + b"\x00".join(parts)


def seeds(vocab: Path) -> Iterator[tuple[str, str, bytes]]:
    """Target, name and bytes of every seed."""
    for path in sorted(vocab.glob("*/tokenizer.json")):
        yield "tokenizer_json", path.parent.name, tokenizer_json(path)
    for path in sorted(vocab.glob("*/tekken.json")):
        yield "tekken", path.parent.name, tekken(path)
    for path in sorted([*vocab.glob("*/*.model"), *vocab.glob("*/tokenizer.model.v*")]):
        # Some of this name hold ranks.
        if path.read_bytes()[:1] == b"\n":
            yield "sentencepiece", f"{path.parent.name}-{path.name}", sentencepiece(path)
            for i, charsmap in enumerate(charsmaps(path)):
                yield "charsmap", f"{path.parent.name}-{path.name}-{i}", charsmap
        else:
            yield "tiktoken", path.parent.name, lines(path)
    for path in sorted(vocab.glob("gguf/*.gguf")):
        yield "gguf", path.stem, gguf(path)
    for path in sorted(vocab.glob("*/*.tiktoken")):
        yield "tiktoken", path.stem, lines(path)
    for path in sorted(vocab.glob("*/vocab.txt")):
        # The unknown token stands at 100.
        yield "vocab_txt", path.parent.name, lines(path, 120)
    for path in sorted(vocab.glob("*/merges.txt")):
        yield "vocab_merges", path.parent.name, pair(path.parent)
    for path in sorted(vocab.glob("*/tokenizer_config.json")):
        for which in range(3):
            yield "folder", f"{path.parent.name}-{which}", folder_of(path.parent, which)


def json_lines() -> Iterator[bytes]:
    """JSON lines, each seed after a byte that selects the field and the size of reads."""
    lines = [
        '{"text": "low lower", "id": [1, -2.5e+3, true, null, {"text": "no"}]}',
        '{"a": {"b": "\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83e\\udd8a"}, "text": "é🦊"}',
        '{"text": null, "a": null}',
        " \t\r",
        '{"text": "first", "text": "last", "a": {"b": "first"}, "a": {"b": "last"}}',
        '{"text": "\\ud83e", "a": {"b": "\\udd8a"}, "n": [NaN, Infinity, -Infinity]}',
        '{"t\\u0065xt": "", "a": {"b": ""}}',
    ]
    joined = "\n".join(lines).encode()
    for choice in (0, 1, 2, 7, 255):
        yield bytes([choice]) + joined + b"\n"
        yield from (bytes([choice]) + line.encode() for line in lines)
        yield (
            bytes([choice]) + b"\xef\xbb\xbf" + lines[0].encode() + b'\n{"text": "\xff", "a": {"b": "\xc3"}}'
        )


def states(read: Path) -> Iterator[tuple[str, str, bytes]]:
    """The state of every small tokenizer.json, without what stands before it and its checksum."""
    try:
        import tokenmill
    except ImportError:
        print("the package is not built: no seeds of the state", file=sys.stderr)
        return
    for path in sorted(read.glob("tokenizer_json/*")):
        try:
            state = tokenmill.load(path).__reduce__()[1][0]
        except tokenmill.FormatError:
            continue
        yield "state", path.name.removeprefix("seed-"), state[len(b"tokenmill") + 1 + 32 :]


def main() -> None:
    """Write all seeds and say how many there are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    shared = os.environ.get("TOKENMILL_SHARED", str(HERE.parent.parent / "shared"))
    data = os.environ.get("TOKENMILL_DATA", str(Path(shared) / "data"))
    parser.add_argument("--data", type=Path, default=Path(data), help="the folder that holds vocab/")
    parser.add_argument("--out", type=Path, default=HERE / "corpus", help="where the seeds go")
    options = parser.parse_args()
    written: dict[str, int] = {}

    def write(target: str, name: str, seed: bytes) -> None:
        folder = options.out / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"seed-{name}").write_bytes(seed)
        written[target] = written.get(target, 0) + 1

    for target, name, seed in seeds(options.data / "vocab"):
        write(target, name, seed)
    write("charsmap", "small", small_charsmap() + b"abc" + b"\x00\x03")
    for i, seed in enumerate(json_lines()):
        write("json_lines", str(i), seed)
    for target, name, seed in states(options.out):
        write(target, name, seed)
    chance = random.Random(0)
    for target in MADE_FROM_BYTES:
        for i in range(RANDOM_SEEDS):
            write(target, f"random-{i:03}", chance.randbytes(chance.randrange(50, 1500)))
    print(", ".join(f"{target} {count}" for target, count in sorted(written.items())))


if __name__ == "__main__":
    main()
