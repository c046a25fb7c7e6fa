"""Files behind URLs, by fsspec."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from .._forks import waited_for
from ..errors import MissingExtraError
from .faults import unusable

__all__ = ["Remote", "is_url", "remote", "urls"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_WEB = ("http://", "https://")


def is_url(name: str) -> bool:
    """Whether a name is a URL, and no path."""
    return _URL.match(name) is not None


class Remote:
    """A file behind a URL."""

    def __init__(self, files: Any, path: str, size: int) -> None:
        self._files = files
        self._path = path
        self.size = size
        """Its bytes as it is stored; 0 if they are not known."""

    def open(self) -> BinaryIO:
        """The file, opened."""
        return cast("BinaryIO", self._files.open(self._path, "rb"))


def remote(url: str) -> Remote:
    """The file behind a URL; ``FileNotFoundError`` where there is none."""
    files, path = _files(url)
    with _asking(url):
        facts = files.info(path)
    return Remote(files, path, int(facts.get("size") or 0))


def urls(url: str) -> tuple[list[str], bool]:
    """The files that a URL stands for, sorted, and whether they are all those in a folder.

    It may be a file, a folder or a pattern. In the URL of a web page ``?`` begins a query, and brackets are
    its own.
    """
    files, path = _files(url)
    magic = "*" if url.startswith(_WEB) else "*?["
    with _asking(url):
        if any(sign in path for sign in magic) and not files.exists(path):
            found = files.glob(path, detail=True)
            return sorted(
                _name(files, each, url) for each, facts in found.items() if facts["type"] != "directory"
            ), False
        if url.startswith(_WEB) or files.info(path)["type"] != "directory":
            return [url], False
        return sorted(_name(files, each, url) for each in files.find(path)), True


def _files(url: str) -> tuple[Any, str]:
    try:
        with waited_for:
            import fsspec.core
    except ImportError as missing:
        raise MissingExtraError(
            f'{url}: a URL needs fsspec: pip install "tokenmill[remote]"', extra="remote"
        ) from missing
    try:
        files, path = fsspec.core.url_to_fs(url)
    except ImportError as missing:
        raise MissingExtraError(f"{url}: {missing}", extra="remote") from missing
    except ValueError as error:
        raise unusable(url, f"cannot be opened: {error}") from error
    return files, path


def _name(files: Any, path: str, url: str) -> str:
    """The URL of a file that was found; of chained URLs the rest stays."""
    _, chain, rest = url.partition("::")
    return str(files.unstrip_protocol(path)) + chain + rest


@contextmanager
def _asking(url: str) -> Iterator[None]:
    """An error that does not say which file is missing gets the URL."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(2, "no such file", url) from error
