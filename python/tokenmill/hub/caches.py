"""Where tiktoken keeps its files: a place to look in, since every file is checked by its hash.

The folder is the one that ``TIKTOKEN_CACHE_DIR`` names, else ``DATA_GYM_CACHE_DIR``, else ``data-gym-cache``
among the temporary files. An empty variable means that tiktoken keeps nothing.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

__all__ = ["name_in_cache", "named_cache", "of_tiktoken"]


def named_cache() -> str | None:
    """The cache that tiktoken's variables name; an empty one is none."""
    return os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))


def name_in_cache(url: str) -> str:
    """What tiktoken calls the file of a URL."""
    return hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()


def of_tiktoken(url: str) -> list[Path]:
    """Where tiktoken would have the file of a URL; nowhere, where it keeps nothing."""
    named = named_cache()
    if named is None:
        return [Path(tempfile.gettempdir(), "data-gym-cache", name_in_cache(url))]
    return [Path(named, name_in_cache(url))] if named else []
