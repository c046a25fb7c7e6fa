"""Rows: models on disk that cannot be compared with a tokenizer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenmill import errors

from errors.making import Row, Run, broken, rows, with_tok

TENSORS = "model.safetensors"


def check(name: str = "", content: bytes = b"", **options: Any) -> Run:
    """Check a folder with this file."""

    def run(tok: Any, folder: Path) -> object:
        import tokenmill

        if name:
            (folder / name).write_bytes(content)
        return tokenmill.check_checkpoint(tok, folder, **options)

    return with_tok(run)


def header(entries: Any) -> bytes:
    """A file of tensors with this header and four bytes of data."""
    data = json.dumps(entries).encode()
    return len(data).to_bytes(8, "little") + data + bytes(4)


A_TENSOR = header({"wte.weight": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}})

CHECKPOINTS: list[Row] = [
    *rows(FileNotFoundError, ("a folder without a model", check(), "no config.json")),
    *rows(
        TypeError,
        ("a number as the name of a tensor", check(embedding=5), "embedding must be str, not int"),
    ),
    *rows(
        errors.FormatError,
        (
            "a config.json that is a list",
            check("config.json", b"[1]"),
            "must hold an object",
            broken("type", "", path="config.json"),
        ),
        (
            "a config.json that is cut off",
            check("config.json", b'{"vocab_size": '),
            "no JSON",
            broken("syntax", "", path="config.json"),
        ),
        (
            "tensors that end within their header",
            check(TENSORS, A_TENSOR[:20]),
            "the file has 12 after its length",
            broken("truncated", "header", path=TENSORS),
        ),
        (
            "tensors with an endless header",
            check(TENSORS, (1 << 40).to_bytes(8, "little")),
            "at most 100,000,000 are read",
            {"kind": "limit", "field": "header", "path": TENSORS, "limit": 100_000_000},
        ),
        (
            "a tensor that ends behind its file",
            check(TENSORS, header({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})),
            "is not within the 4 bytes",
            broken("truncated", "header.a.data_offsets", path=TENSORS),
        ),
        (
            "a tensor without a shape",
            check(TENSORS, header({"a": {"dtype": "F32", "data_offsets": [0, 4]}})),
            "a list of sizes",
            broken("type", "header.a.shape", path=TENSORS),
        ),
        (
            "an embedding that no file holds",
            check(TENSORS, A_TENSOR, embedding="wpe.weight"),
            'there are "wte.weight"',
            broken("missing", "wpe.weight", path="."),
        ),
    ),
]
