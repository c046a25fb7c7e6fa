"""Files behind URLs, by fsspec: read, and written whole."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from .._forks import waited_for
from ..errors import MissingExtraError
from .faults import unusable

__all__ = ["Remote", "is_url", "remote", "urls", "write_remote"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_WEB = ("http://", "https://")
_GROWING = {"arrow_hdfs", "ftp", "hdfs", "sftp", "smb", "ssh", "webhdfs"}
"""Stores in which a file is seen while it grows. In a store of objects it is there when all of it is."""


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


def write_remote(url: str, pieces: Iterable[bytes]) -> None:
    """Write the file behind a URL whole or not at all. The pieces go to this machine's disk first."""
    if url.startswith(_WEB):
        raise OSError(errno.EROFS, "a web server takes no files; write to a store or to this machine", url)
    files, path = _files(url)
    with waited_for:
        import tempfile
    with tempfile.TemporaryDirectory() as scratch:
        local = Path(scratch, "written")
        with local.open("wb") as file:
            file.writelines(pieces)
        protocols = {files.protocol} if isinstance(files.protocol, str) else set(files.protocol)
        with _asking(url):
            if not protocols & _GROWING:
                files.put_file(str(local), path)
                return
            folder, _, name = path.rpartition("/")
            draft = f"{folder}/.{name[:80]}-{os.urandom(8).hex()}"
            try:
                files.put_file(str(local), draft)
                files.mv(draft, path)
            except BaseException:
                if files.exists(draft):
                    files.rm_file(draft)
                raise


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
