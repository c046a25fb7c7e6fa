"""One file from a URL to its place in a cache: whole and with the right hash, or not at all.

pooch carries the bytes (redirects, TLS, proxies, time limits). What happens to them is decided here:
they go to a temporary name beside the place, are counted and hashed on the way, and get their final name
by a rename. So several processes may fetch one file at once, and each finds a whole one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .._forks import waited_for
from ..errors import ManifestError, MissingExtraError
from .folder import VARIABLE, import_pooch

__all__ = ["DownloadError", "File", "copy_of", "ensure", "hash_mismatch", "is_whole", "not_used", "read"]

_ATTEMPTS = 2
_SECONDS = (10, 60)
"""How long a server may take to answer at all, and between two pieces."""
_PIECE = 1 << 16
_MOST = 1 << 30
"""The most bytes of a file whose size is not known."""


@dataclass(frozen=True)
class File:
    """A file as its publisher has it."""

    name: str
    """Its name in the cache."""
    url: str
    sha256: str | None
    size: int | None = None


class DownloadError(ConnectionError):
    """A server that cannot be reached or refuses. ``str`` leaves out ``errno``, which is always the same."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def ensure(file: File, place: Path, *, offline: bool = False, copies: Iterable[Path] = ()) -> Path:
    """Return ``place`` with the file in it: kept if its hash is right, else copied or downloaded.

    A file with another hash is never used. It is replaced when the right one has arrived, and not removed
    before, since another process may have replaced it by then. ``copies`` are paths in other programs'
    caches; a file is taken from there only if its hash is known and right.

    Raises ``FileNotFoundError``, ``ConnectionError`` or ``ManifestError``, which say what is missing where;
    other ``OSError``s for a folder that cannot be written.
    """
    found = _hash_at(place)
    if found is not None and file.sha256 in (None, found):
        return place
    copy = copy_of(file, copies)
    if copy is not None:
        _into_place(place, lambda opened: opened.write(copy))
        return place
    if offline:
        if found is not None:
            raise hash_mismatch(str(place), file, found, "it is not used, and offline no other is downloaded")
        said = (
            f"{file.name} is not in the cache, and offline nothing is downloaded; cache_dir= or the variable "
            f"{VARIABLE} names a folder that has it"
        )
        raise FileNotFoundError(errno.ENOENT, said, str(place))
    try:
        _retried(file, lambda: _into_place(place, lambda opened: _transfer(file, opened)))
    except ConnectionError as error:
        hint = not_used(place, file, found) if found else f"a copy that you have may be put at {place}"
        raise DownloadError(error.errno, f"{error.strerror}; {hint}", error.filename) from error
    except MissingExtraError as error:
        if found is None:
            raise
        raise MissingExtraError(f"{error}; {not_used(place, file, found)}", extra=error.extra) from error
    return place


def not_used(place: Path, file: File, found: str) -> str:
    """What a message says of a file at ``place`` whose hash is wrong."""
    return f"the copy at {place} is not used: expected sha256 {file.sha256}, found {found}"


def copy_of(file: File, places: Iterable[Path]) -> bytes | None:
    """The bytes of a file from the first of these paths where its hash is right; None if there is none."""
    for place in places:
        with contextlib.suppress(OSError):  # other programs' caches may be unreadable
            if file.sha256 is not None and place.is_file():
                content = place.read_bytes()
                if hashlib.sha256(content).hexdigest() == file.sha256:
                    return content
    return None


def read(file: File) -> bytes:
    """The bytes of a file, past every cache. Raises what ``ensure`` does."""
    content = io.BytesIO()

    def once() -> None:
        content.seek(0)
        content.truncate()
        _transfer(file, content)

    _retried(file, once)
    return content.getvalue()


def is_whole(file: File, place: Path) -> bool:
    """Whether the file is at ``place``, with the hash that it should have."""
    found = _hash_at(place)
    return found is not None and file.sha256 in (None, found)


def _hash_at(place: Path) -> str | None:
    """The sha256 of a file, if there is one."""
    digest = hashlib.sha256()
    try:
        with place.open("rb") as opened:
            while piece := opened.read(1 << 20):
                digest.update(piece)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


# ---- the transfer -----------------------------------------------------------------------------


class _InterruptedError(DownloadError):
    """A failure that may pass."""


class _TooLongError(Exception):
    """More bytes than the file has."""


def _retried(file: File, once: Callable[[], None]) -> None:
    import_pooch(f"downloading {file.name}")  # before a folder is made for it
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            once()
            return
        except ManifestError:
            if attempt == _ATTEMPTS:
                raise
        except _InterruptedError as error:
            if attempt == _ATTEMPTS:
                raise DownloadError(error.errno, error.strerror, file.url) from error.__cause__


def _into_place(place: Path, fill: Callable[[BinaryIO], object]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{place.name}.{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as opened:
            fill(opened)
            opened.flush()
            os.fsync(opened.fileno())
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


class _Sink:
    """Counts and hashes what is written through it."""

    def __init__(self, to: BinaryIO, limit: int) -> None:
        self.to, self.limit = to, limit
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > self.limit:
            raise _TooLongError
        self.digest.update(piece)
        self.to.write(piece)

    def flush(self) -> None:
        """Nothing: whoever opened the file flushes it at the end."""


def _transfer(file: File, to: BinaryIO) -> None:
    """Write all bytes of the file, in order, and check their hash at the end."""
    pooch = import_pooch(f"downloading {file.name}")
    with waited_for:
        import requests  # which pooch brings

    sink = _Sink(to, _MOST if file.size is None else file.size)
    responses: list[requests.Response] = []

    def keep(response: requests.Response, **_: object) -> None:
        responses.append(response)

    try:
        carry = pooch.HTTPDownloader(chunk_size=_PIECE, timeout=_SECONDS, hooks={"response": keep})
        carry(file.url, sink, None)
    except _TooLongError:
        found = f"more than {sink.limit:,} bytes"
        raise hash_mismatch(file.url, file, found, "it was downloaded twice and not kept") from None
    except requests.HTTPError as error:
        status = 0 if error.response is None else error.response.status_code
        if status in (404, 410):
            said = f"the server has no such file (status {status})"
            raise FileNotFoundError(errno.ENOENT, said, file.url) from error
        kind = _InterruptedError if status >= 500 else DownloadError
        raise kind(errno.ECONNABORTED, f"the server refuses with status {status}", file.url) from error
    except requests.RequestException as error:
        kind = DownloadError if isinstance(error, requests.ConnectTimeout) else _InterruptedError
        said = f"the download failed: {_cause(error)}"
        raise kind(errno.ECONNABORTED, said, file.url) from error
    finally:
        for response in responses:  # which stay open where they are not read to their end
            response.close()
    found = sink.digest.hexdigest()
    if file.sha256 not in (None, found):
        raise hash_mismatch(file.url, file, found, "it was downloaded twice and not kept")


def _cause(error: BaseException) -> str:
    """The innermost cause, which is the one that people understand."""
    bottom = error
    while bottom.__context__ is not None:
        bottom = bottom.__context__
    said = bottom.strerror if isinstance(bottom, OSError) else None
    return said or str(bottom) or type(bottom).__name__


def hash_mismatch(where: str, file: File, found: str, then: str) -> ManifestError:
    """The error for a file that is not the one that was published."""
    expected = f"sha256 {file.sha256}"
    if file.size is not None:
        expected += f", {file.size:,} bytes"
    if len(found) == 64:
        found = f"sha256 {found}"
    return ManifestError(
        f"{where}: is not the file that was published: expected {expected}, found {found}; {then}",
        field=file.name,
        expected=expected,
        found=found,
    )
