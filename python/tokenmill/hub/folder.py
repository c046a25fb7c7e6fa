"""Where the files of encodings are kept, and the error where a library for downloads is missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .._forks import waited_for
from ..errors import MissingExtraError

__all__ = ["VARIABLE", "cache_folder", "import_pooch", "missing_extra"]

VARIABLE = "TOKENMILL_CACHE"
"""The environment variable that names the folder. It changes where files are, never what they mean."""


def cache_folder(cache_dir: str | os.PathLike[str] | None = None) -> Path:
    """The folder: ``cache_dir``, else ``TOKENMILL_CACHE``, else the platform's place for caches.

    It need not exist yet.
    """
    named = cache_dir if cache_dir is not None else os.environ.get(VARIABLE)
    if named:
        return Path(named).absolute()
    return Path(import_pooch("the folder of its cache").os_cache("tokenmill"))


def import_pooch(what: str) -> Any:
    """The library pooch, which is only imported when there is something to download."""
    try:
        with waited_for:
            import pooch
    except ImportError as error:
        raise missing_extra(what, "pooch") from error
    return pooch


def missing_extra(what: str, library: str) -> MissingExtraError:
    """The error for ``what``, which needs a ``library`` that is not installed."""
    return MissingExtraError(
        f'{what} needs the library {library}, which is not installed: pip install "tokenmill[hub]"',
        extra="hub",
    )
