"""Files behind URLs, by fsspec: found, read, and written whole."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from ._files import write_file
from ._forks import waited_for
from .errors import MissingExtraError, TokenmillError, TrainingError

__all__ = [
    "Remote",
    "check_writable",
    "is_url",
    "new_remote_folder",
    "remote",
    "urls",
    "write_remote",
    "write_to",
]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# Also behind names such as simplecache::, which are refused.
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]+::)*[A-Za-z][A-Za-z0-9+.-]+://")
_WEB = ("http://", "https://")
_LOCAL = {"file", "local"}
_WHOLE = {"abfs", "abfss", "az", "gcs", "gs", "s3", "s3a"}
"""Stores whose uploads appear when they are complete, in place of what was there, and are nothing before."""
_SHOWN = 300
"""The most characters that are shown of what a store says."""


def is_url(name: str) -> bool:
    """Whether a name is a URL, and no path."""
    return _URL.match(name) is not None


# ---- reading ----------------------------------------------------------------------------------


class Remote:
    """A file behind a URL."""

    def __init__(self, files: Any, path: str, url: str, size: int) -> None:
        self._files = files
        self._path = path
        self._url = url
        self.size = size
        """Its bytes as it is stored; 0 if they are not known."""

    def open(self) -> BinaryIO:
        """The file, opened."""
        with _reading(self._url):
            return cast("BinaryIO", self._files.open(self._path, "rb"))


def remote(url: str) -> Remote:
    """The file behind a URL; ``FileNotFoundError`` where there is none."""
    with _reading(url):
        files, path = _files(url)
        facts = files.info(path)
    return Remote(files, path, url, int(facts.get("size") or 0))


def urls(url: str) -> tuple[list[str], bool]:
    """The files that a URL stands for, sorted, and whether they are all those in a folder.

    It may be a file, a folder or a pattern. In the URL of a web page ``?`` begins a query, and brackets are
    its own.
    """
    magic = "*" if url.startswith(_WEB) else "*?["
    with _reading(url):
        files, path = _files(url)
        if any(sign in path for sign in magic) and not files.exists(path):
            found = files.glob(path, detail=True)
            return sorted(
                _name(files, each, url) for each, facts in found.items() if facts["type"] != "directory"
            ), False
        if url.startswith(_WEB) or files.info(path)["type"] != "directory":
            return [url], False
        return sorted(_name(files, each, url) for each in files.find(path)), True


def _name(files: Any, path: str, url: str) -> str:
    """The URL of a file that was found; of chained URLs the rest stays."""
    _, chain, rest = url.partition("::")
    return str(files.unstrip_protocol(path)) + chain + rest


# ---- writing ----------------------------------------------------------------------------------


def check_writable(url: str) -> None:
    """Raise what ``write_remote`` would raise before it asks for the first piece."""
    _to_write(url)


def new_remote_folder(url: str) -> None:
    """Make a folder; ``FileExistsError`` where there is one that holds something."""
    files, path, protocols = _to_write(url.rstrip("/"))
    with _writing(url):
        files.invalidate_cache()
        if files.exists(path) and files.ls(path, detail=False):
            raise FileExistsError(errno.EEXIST, "the folder holds files already; a new one is needed", url)
        if not protocols & _WHOLE:  # a store of objects has no folders
            files.makedirs(path, exist_ok=True)


def write_to(out: str, pieces: Iterable[bytes]) -> None:
    """Write ``pieces`` to a path or a URL, as ``write_file`` and ``write_remote`` do. Raises ``OSError``."""
    if is_url(out):
        write_remote(out, pieces)
    else:
        write_file(out, pieces)


def write_remote(url: str, pieces: Iterable[bytes]) -> None:
    """Write the file behind a URL whole or not at all. What is sent is on this machine's disk first.

    In a store that cannot put one file in the place of another, there is none under this name for a moment.
    Raises ``OSError``.
    """
    files, path, protocols = _to_write(url)
    if protocols & _LOCAL:
        try:
            write_file(path, pieces)
        except OSError as error:
            if error.filename != path:
                raise
            raise OSError(error.errno, error.strerror, url) from error
        return
    with waited_for:
        import tempfile
    with tempfile.TemporaryDirectory() as scratch:
        local = Path(scratch, "written")
        with local.open("wb") as file:
            for piece in pieces:
                with _on_disk(scratch):
                    file.write(piece)
            with _on_disk(scratch):
                file.flush()
        with _writing(url):
            if protocols & _WHOLE:
                files.put_file(str(local), path)
            else:
                _put(files, local, path, url)


@contextmanager
def _on_disk(scratch: str) -> Iterator[None]:
    """An error of this machine's disk names the folder of temporary files."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(Path(scratch).parent)) from error


def _to_write(url: str) -> tuple[Any, str, set[str]]:
    """The file system of a URL, the path in it, and the names of its protocol."""
    if url.startswith(_WEB):
        raise OSError(errno.EROFS, "a web server takes no files; write to a store or to this machine", url)
    if url.endswith("/"):
        raise IsADirectoryError(errno.EISDIR, "is the name of a folder", url)
    with _writing(url):
        files, path = _files(url)
        protocols = {files.protocol} if isinstance(files.protocol, str) else set(files.protocol)
    return files, path, protocols


def _put(files: Any, local: Path, path: str, url: str) -> None:
    """Send a file under another name, which is changed when all of it is there."""
    files.invalidate_cache()
    if files.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "is a folder", url)
    folder = path.rpartition("/")[0]
    sent, before = (f"{folder}/.tokenmill-{os.urandom(8).hex()}" for _ in range(2))
    is_there, is_moved = files.exists(path), False
    try:
        files.put_file(str(local), sent)
        if is_there:  # many stores do not rename one file to another, and some do not say so
            files.mv(path, before)
            is_moved = True
        files.mv(sent, path)
        files.invalidate_cache()
        size, stored = local.stat().st_size, files.size(path) if files.exists(path) else 0
        if stored != size:
            raise OSError(errno.EIO, f"{stored} bytes are there, of {size} that were sent", url)
    except BaseException:
        with suppress(Exception):
            files.invalidate_cache()
        with suppress(Exception):
            _remove(files, sent)
        with suppress(Exception):
            # Where a store copies to move, the new name of what was moved may have a part of it.
            if is_moved or (is_there and not files.exists(path)):
                _remove(files, path)
                files.mv(before, path)
            else:
                _remove(files, before if is_there else path)
        raise
    if is_there:
        with suppress(Exception):
            _remove(files, before)


def _remove(files: Any, path: str) -> None:
    if not files.exists(path):
        return
    try:
        files.rm_file(path)
    except NotImplementedError:
        files.rm(path)


# ---- both -------------------------------------------------------------------------------------


def _files(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    if not _SCHEME.match(url):
        raise ValueError(f"{url.partition('::')[0]}:: is not supported; give the URL behind it")
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
    return files, path


@contextmanager
def _reading(url: str) -> Iterator[None]:
    """What a store raises, which may be anything, becomes an error that has the URL."""
    try:
        yield
    except (TokenmillError, MemoryError):
        raise
    except OSError as error:
        raise _os_error(error, url, "no such file") from error
    except Exception as error:
        reason = f"cannot be opened: {_said(error)}"
        raise TrainingError(f"{url}: {reason}", path=url, byte=None, row=None) from error


@contextmanager
def _writing(url: str) -> Iterator[None]:
    """The same for what is written."""
    try:
        yield
    except (TokenmillError, MemoryError):
        raise
    except OSError as error:
        raise _os_error(error, url, "the folder does not exist") from error
    except Exception as error:
        raise OSError(errno.EIO, f"cannot be written: {_said(error)}", url) from error


def _os_error(error: OSError, url: str, missing: str) -> OSError:
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(errno.ENOENT, missing, url)
    if error.errno is None or not error.strerror:
        return OSError(errno.EIO, _said(error), url)
    return OSError(error.errno, error.strerror, url)


def _said(error: Exception) -> str:
    """What an error says, on one line."""
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) <= _SHOWN else f"{said[:_SHOWN]}..."
