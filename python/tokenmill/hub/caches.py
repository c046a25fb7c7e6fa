"""tiktoken's cache, which is searched for published files; each is checked by its hash.

The folder is the one that ``TIKTOKEN_CACHE_DIR`` names, else ``DATA_GYM_CACHE_DIR``, else ``data-gym-cache``
among the temporary files. An empty variable means that tiktoken keeps nothing.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

__all__ = ["name_in_cache", "named_cache", "tiktoken_cache_paths"]


def named_cache() -> str | None:
    """The folder that tiktoken's variables name; None if neither is set, empty if caching is off."""
    return os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))


def name_in_cache(url: str) -> str:
    """The name under which tiktoken caches a URL."""
    return hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()


def tiktoken_cache_paths(url: str) -> list[Path]:
    """The path where tiktoken would cache a URL, in a list that is empty if its caching is off."""
    named = named_cache()
    if named is None:
        return [Path(tempfile.gettempdir(), "data-gym-cache", name_in_cache(url))]
    return [Path(named, name_in_cache(url))] if named else []
