"""Vocabularies that are in use, and folders for files."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def cl100k(native: Any, data: Path) -> Any:
    return native.load(data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken")


@pytest.fixture(scope="session")
def gpt2(native: Any, data: Path) -> Any:
    return native.load(data / "vocab" / "gpt2" / "vocab.json")


@pytest.fixture(scope="session", params=["cl100k", "gpt2"])
def published(request: pytest.FixtureRequest) -> Any:
    """A vocabulary that is in use."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """New folders, one at a call: an example must not see the files of another."""
    base = tmp_path_factory.mktemp("laws")
    numbers = count()

    def new() -> Path:
        folder = base / str(next(numbers))
        folder.mkdir()
        return folder

    return new


@pytest.fixture(scope="session")
def uncut(native: Any, data: Path) -> Any:
    """cl100k without its split, and the ids of its tokens: the definition has no such split."""
    tok = native.load(data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken", split="none")
    special = set(tok.special_tokens.values())
    ids = {tok.token_bytes(number): number for number in tok.vocab.values() if number not in special}
    return tok, ids
