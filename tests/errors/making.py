"""What the rows of the table of errors are made with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NO_ID = 2**32 - 1

Run = Callable[[Any, Path], object]
Json = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One way to fail."""

    name: str
    run: Run
    error: type[BaseException]
    says: str
    facts: dict[str, object] = field(default_factory=dict)


# ---- what the rows are made with --------------------------------------------------------------


def train(**options: Any) -> Run:
    """Train on a little text, with these options."""

    def run(native: Any, folder: Path) -> object:
        given: Json = {"texts": ["low lower lowest"], "num_merges": 3, **options}
        if "vocab_size" in options and "num_merges" not in options:
            del given["num_merges"]
        return native.train(**given)

    return run


def train_on(name: str, content: bytes | None = None, **options: Any) -> Run:
    """Train on this file (or this pattern) of the folder."""

    def run(native: Any, folder: Path) -> object:
        if content is not None:
            (folder / name).write_bytes(content)
        return native.train(folder / name, num_merges=3, **options)

    return run


def load(name: str, content: bytes | str | Json | None, **options: Any) -> Run:
    """Load a file with this content."""

    def run(native: Any, folder: Path) -> object:
        if content is not None:
            data = json.dumps(content) if isinstance(content, dict) else content
            (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
        return native.load(folder / name, **options)

    return run


def load_pair(vocab: str, merges: str | None, name: str = "vocab.json", **options: Any) -> Run:
    def run(native: Any, folder: Path) -> object:
        (folder / "vocab.json").write_text(vocab, encoding="utf-8")
        if merges is not None:
            (folder / "merges.txt").write_text(merges, encoding="utf-8")
        return native.load(folder / name, split="none", **options)

    return run


def tokenizer_json(**changes: Any) -> Json:
    """A sound file with these changes; `__` steps inwards, a value of `...` removes the key."""
    document: Json = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": False,
            "use_regex": True,
        },
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3},
            "merges": [["a", "b"]],
        },
    }
    for path, value in changes.items():
        *outer, last = path.split("__")
        inside = document
        for step in outer:
            inside = inside[step]
        if value is ...:
            del inside[last]
        else:
            inside[last] = value
    return document


def added(**flags: Any) -> list[Json]:
    entry: Json = {"id": 4, "content": "<s>", "special": True}
    for flag in ("single_word", "lstrip", "rstrip", "normalized"):
        entry[flag] = False
    return [{**entry, **flags}]


def with_tok(use: Callable[[Any, Path], object]) -> Run:
    """Use a byte-level tokenizer with the special token `<s>`, id 0."""

    def run(native: Any, folder: Path) -> object:
        texts = ["low lower lowest"] * 2
        return use(native.train(texts=texts, num_merges=4, special_tokens=["<s>"]), folder)

    return run


def with_chars(use: Callable[[Any, Path], object], **options: Any) -> Run:
    """Use a tokenizer over the characters of `low lower lowest`."""

    def run(native: Any, folder: Path) -> object:
        texts = ["low lower lowest"] * 2
        return use(native.train(texts=texts, num_merges=4, alphabet="chars", **options), folder)

    return run


def with_letters(use: Callable[[Any, Path], object]) -> Run:
    """Use a tokenizer whose model sees bytes as letters, and knows those of `aé`."""

    def run(native: Any, folder: Path) -> object:
        model = {"type": "BPE", "vocab": {"a": 0, "Ã": 1, "©": 2}, "merges": []}
        file = {"version": "1.0", "added_tokens": [], "normalizer": {"type": "ByteLevel"}, "model": model}
        (folder / "letters.json").write_text(json.dumps(file), encoding="utf-8")
        return use(native.load(folder / "letters.json"), folder)

    return run


def edited_folder(native: Any, folder: Path) -> object:
    """Change a tokenizer.json beside its manifest by one byte, and load the folder."""
    native.train(texts=["ab ab"], num_merges=1).save(folder / "m")
    path = folder / "m" / "tokenizer.json"
    path.write_bytes(path.read_bytes() + b"\n")
    return native.load(folder / "m")


def edited_manifest(native: Any, folder: Path, change: Callable[[Json], object]) -> object:
    native.train(texts=["ab ab"], num_merges=1).save(folder / "m")
    path = folder / "m" / "tokenmill.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    return native.load(folder / "m")


def several_rank_files(native: Any, folder: Path) -> object:
    for name in ("a.tiktoken", "b.tiktoken"):
        (folder / name).write_bytes(b"YQ== 0\n")
    return native.load(folder, split="none")


def empty_folder(native: Any, folder: Path) -> object:
    (folder / "empty").mkdir()
    return native.load(folder / "empty")


def train_on_folder(native: Any, folder: Path) -> object:
    return native.train(folder, num_merges=1)


def from_state(state: bytes) -> Run:
    def run(native: Any, folder: Path) -> object:
        from tokenmill import _core

        return _core.from_state(state)

    return run


def longer_than(native: Any, dtype: str) -> object:
    tok = native.Tokenizer.from_tokens([b"a"], special_tokens={"<s>": 70_000})
    return tok.encode_to_numpy("a", dtype=dtype)


def zeros(size: int, dtype: str = "uint32") -> Any:
    import numpy as np

    return np.zeros(size, dtype)


def array(values: list[Any]) -> Any:
    import numpy as np

    return np.array(values)


def column(values: list[Any]) -> Any:
    import pyarrow as pa

    return pa.array(values)


@dataclass(frozen=True)
class Exports:
    """An object that gives this for an Arrow array."""

    pair: Any

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.pair


@dataclass(frozen=True)
class Streams:
    """An object that gives this for an Arrow stream."""

    capsule: Any

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.capsule


def rows(error: type[BaseException], *entries: tuple[Any, ...]) -> Iterator[Row]:
    for name, run, says, *facts in entries:
        yield Row(name, run, error, says, facts[0] if facts else {})


def ranks(*lines: str) -> str:
    return "".join(line + "\n" for line in lines)


def broken(kind: str, place: str | None, **more: object) -> dict[str, object]:
    facts: dict[str, object] = {"kind": kind, **more}
    return facts if place is None else {**facts, "field": place}


def forcing(level: object) -> Run:
    """Force these instructions."""

    def run(native: Any, folder: Path) -> object:
        from tokenmill import _core

        return _core.force_cpu(level)  # type: ignore[arg-type]

    return run
