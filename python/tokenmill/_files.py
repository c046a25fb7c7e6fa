"""Files other than tokenizers: detecting what is not text, and writing atomically."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from ._core import not_text

__all__ = ["decode", "not_text", "write_file"]

#: How a new file is opened: on Windows as bytes, and by no child process.
_NEW = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def decode(content: bytes) -> str:
    """The text of UTF-8 bytes, without a byte-order mark.

    The codec ``utf-8-sig`` does the same, but Python imports it on first use, and a forked child waits for
    ever for an import that a thread of its parent had begun.
    """
    return content.removeprefix(codecs.BOM_UTF8).decode()


def write_file(out: str, pieces: Iterable[bytes]) -> None:
    """Write ``pieces`` to ``out``: a file is replaced at once, through links, and keeps its permissions.

    A pipe or a device is written to and stays what it is. Raises ``OSError``.
    """
    try:
        kind = stat.S_IFMT(Path(out).stat().st_mode)
    except FileNotFoundError:  # a new file, or what a link names
        kind = stat.S_IFREG
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), out)
    if kind != stat.S_IFREG:  # a pipe or a device
        with Path(out).open("wb") as file:
            file.writelines(pieces)
        return
    target = Path(os.path.realpath(out))  # Path.resolve raises what is no OSError for a loop of links
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(Path(out).parent))
    _replace(target, pieces)


def _replace(target: Path, pieces: Iterable[bytes]) -> None:
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    # The target's name with a prefix could be too long, so it is not used.
    temporary = target.parent / f".tokenmill-{os.urandom(8).hex()}"
    try:
        # Of the permissions of a new file the system takes away what the process does not give to others.
        handle = os.open(temporary, _NEW | os.O_EXCL, 0o666 if mode is None else mode)
    except OSError as error:  # it names the temporary file
        raise OSError(error.errno, error.strerror, str(target)) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
