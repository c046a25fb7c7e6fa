"""Tokenizers that are not on this machine yet: published encodings by name, repositories by id.

In: a name. Out: the path of files on disk that ``tokenmill.load`` reads. Every file is checked by its hash,
at each use, and appears in the cache whole or not at all. Nothing here runs unless ``load`` is given a name
that is no path; ``offline=True`` makes no connection. Needs the extra ``hub``.

Encodings are kept under readable names in ``cache_folder()``, repositories in the cache that huggingface_hub
shares with other libraries (``HF_HOME`` and ``HF_HUB_CACHE`` say where it is).
"""

from __future__ import annotations

from .encodings import ENCODINGS, fetch_encoding, is_cached
from .folder import cache_folder
from .names import Found, find, kind_of
from .repositories import fetch_repository

__all__ = [
    "ENCODINGS",
    "Found",
    "cache_folder",
    "fetch_encoding",
    "fetch_repository",
    "find",
    "is_cached",
    "kind_of",
]
