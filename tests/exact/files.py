"""tokenizer.json files made up for a test, given to both libraries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def file_of(tokens: list[str], **parts: Any) -> dict[str, Any]:
    """A file whose model is the tokens, in order of ids, and whose other parts are those given."""
    vocab = {token: i for i, token in enumerate(tokens)}
    model = {"type": "WordLevel", "vocab": vocab, "unk_token": tokens[0]}
    empty = ["truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"]
    return {"version": "1.0", "added_tokens": [], "model": model, **dict.fromkeys(empty), **parts}


def special(id: int, content: str, **flags: bool) -> dict[str, Any]:
    """An entry of `added_tokens`."""
    plain = dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)
    return {"id": id, "content": content, "special": True, **plain, **flags}


def both(native: Any, folder: Path, file: dict[str, Any]) -> tuple[Any, Any]:
    """The same file in tokenmill and in tokenizers."""
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    return native.load(path), Tokenizer.from_file(str(path))
