"""Reading and writing files at URLs, by fsspec."""

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
# With prefixes such as simplecache::, which are recognized in order to be refused.
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]+::)*[A-Za-z][A-Za-z0-9+.-]+://")
_WEB = ("http://", "https://")
_LOCAL = {"file", "local"}
_ATOMIC_UPLOAD = {"abfs", "abfss", "az", "gcs", "gs", "s3", "s3a"}
"""Protocols of object stores: an upload becomes visible, and replaces the old object, once it is complete."""
_SHOWN = 300
"""Maximum length of a store's error message in ours, in characters."""


def is_url(name: str) -> bool:
    """Whether a name is a URL rather than a path."""
    return _URL.match(name) is not None


# ---- reading ----------------------------------------------------------------------------------


class Remote:
    """A file at a URL."""

    def __init__(self, files: Any, path: str, url: str, size: int) -> None:
        self._files = files
        self._path = path
        self._url = url
        self.size = size
        """Its size as stored, in bytes; 0 if unknown."""

    def open(self) -> BinaryIO:
        """Open the file for reading."""
        with _reading(self._url):
            return cast("BinaryIO", self._files.open(self._path, "rb"))


def remote(url: str) -> Remote:
    """The file at a URL. Raises ``FileNotFoundError`` if there is none."""
    with _reading(url):
        files, path = _files(url)
        facts = files.info(path)
    return Remote(files, path, url, int(facts.get("size") or 0))


def urls(url: str) -> tuple[list[str], bool]:
    """The sorted URLs of the files that a file, a folder or a glob refers to, and whether it is a folder.

    In http(s) URLs only ``*`` is a wildcard: there ``?`` starts a query, and brackets are plain characters.
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
    """The URL of a file that was found. The rest of a chained URL (``zip://a::s3://b``) is kept."""
    _, chain, rest = url.partition("::")
    return str(files.unstrip_protocol(path)) + chain + rest


# ---- writing ----------------------------------------------------------------------------------


def check_writable(url: str) -> None:
    """Raise the errors that ``write_remote`` would raise before it takes the first piece."""
    _writable(url)


def new_remote_folder(url: str) -> None:
    """Create a folder. Raises ``FileExistsError`` if it exists and is not empty."""
    files, path, protocols = _writable(url.rstrip("/"))
    with _writing(url):
        files.invalidate_cache()
        if files.exists(path) and files.ls(path, detail=False):
            raise FileExistsError(errno.EEXIST, "the folder is not empty; choose a new one", url)
        if not protocols & _ATOMIC_UPLOAD:  # object stores have no folders
            files.makedirs(path, exist_ok=True)


def write_to(out: str, pieces: Iterable[bytes]) -> None:
    """Write ``pieces`` to a path or a URL, as ``write_file`` and ``write_remote`` do. Raises ``OSError``."""
    if is_url(out):
        write_remote(out, pieces)
    else:
        write_file(out, pieces)


def write_remote(url: str, pieces: Iterable[bytes]) -> None:
    """Write the file at a URL completely or not at all. The pieces are collected in a local temporary file.

    An existing file is replaced. Outside object stores the name is missing for a moment while that happens.
    Raises ``OSError``.
    """
    files, path, protocols = _writable(url)
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
        local = Path(scratch, "upload")
        with local.open("wb") as file:
            for piece in pieces:
                with _naming_temporary_folder(scratch):
                    file.write(piece)
            with _naming_temporary_folder(scratch):
                file.flush()
        with _writing(url):
            if protocols & _ATOMIC_UPLOAD:
                files.put_file(str(local), path)
            else:
                _replace(files, local, path, url)


@contextmanager
def _naming_temporary_folder(scratch: str) -> Iterator[None]:
    """Make errors of the local disk name the folder for temporary files, where they occurred."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(Path(scratch).parent)) from error


def _writable(url: str) -> tuple[Any, str, set[str]]:
    """The file system of a URL, the path in it, and the names of its protocol. Raises ``OSError``."""
    if url.startswith(_WEB):
        raise OSError(errno.EROFS, "cannot write to a web server; write to a store or a local file", url)
    if url.endswith("/"):
        raise IsADirectoryError(errno.EISDIR, "is the name of a folder", url)
    with _writing(url):
        files, path = _files(url)
        protocols = {files.protocol} if isinstance(files.protocol, str) else set(files.protocol)
    return files, path, protocols


def _replace(files: Any, local: Path, path: str, url: str) -> None:
    """Upload a file under a temporary name and rename it once the upload is complete.

    Many stores cannot rename onto an existing file, and some fail to report that. So the old file is renamed
    to a backup first, and restored if anything fails.
    """
    files.invalidate_cache()
    if files.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "is a folder", url)
    folder = path.rpartition("/")[0]
    upload, backup = (f"{folder}/.tokenmill-{os.urandom(8).hex()}" for _ in range(2))
    existed, backed_up = files.exists(path), False
    try:
        files.put_file(str(local), upload)
        if existed:
            files.mv(path, backup)
            backed_up = True
        files.mv(upload, path)
        files.invalidate_cache()
        size, stored = local.stat().st_size, files.size(path) if files.exists(path) else 0
        if stored != size:
            raise OSError(errno.EIO, f"only {stored} of {size} bytes were stored", url)
    except BaseException:
        with suppress(Exception):
            files.invalidate_cache()
        with suppress(Exception):
            _remove(files, upload)
        with suppress(Exception):
            # A store that moves by copying may leave an incomplete file at the target of a failed move.
            if backed_up or (existed and not files.exists(path)):
                _remove(files, path)
                files.mv(backup, path)
            else:
                _remove(files, backup if existed else path)
        raise
    if existed:
        with suppress(Exception):
            _remove(files, backup)


def _remove(files: Any, path: str) -> None:
    if not files.exists(path):
        return
    try:
        files.rm_file(path)
    except NotImplementedError:
        files.rm(path)


# ---- file systems and errors ------------------------------------------------------------------


def _files(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    if not _SCHEME.match(url):
        raise ValueError(f"{url.partition('::')[0]}:: is not supported; give the URL without it")
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
    """Turn whatever a store raises into an error that names the URL."""
    try:
        yield
    except (TokenmillError, MemoryError):
        raise
    except OSError as error:
        raise _os_error(error, url, "no such file") from error
    except Exception as error:
        reason = f"cannot be opened: {_message_of(error)}"
        raise TrainingError(f"{url}: {reason}", path=url, byte=None, row=None) from error


@contextmanager
def _writing(url: str) -> Iterator[None]:
    """As ``_reading``, for writing: always an ``OSError``."""
    try:
        yield
    except (TokenmillError, MemoryError):
        raise
    except OSError as error:
        raise _os_error(error, url, "the folder does not exist") from error
    except Exception as error:
        raise OSError(errno.EIO, f"cannot be written: {_message_of(error)}", url) from error


def _os_error(error: OSError, url: str, missing: str) -> OSError:
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(errno.ENOENT, missing, url)
    if error.errno is None or not error.strerror:
        return OSError(errno.EIO, _message_of(error), url)
    return OSError(error.errno, error.strerror, url)


def _message_of(error: Exception) -> str:
    """The message of an error on one line, shortened."""
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) <= _SHOWN else f"{said[:_SHOWN]}..."
