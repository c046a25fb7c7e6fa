"""Streams of bytes: a file that counts what is read of it, and what gzip and Zstandard files hold.

Each has ``read(size)``, which gives fewer bytes only where fewer are ready and none at the end, and
``position``, the bytes of the file as it is stored that were read so far.
"""

from __future__ import annotations

import errno
import os
import zlib
from typing import Any, Protocol

from .._forks import waited_for
from .faults import damaged, missing_arrow
from .readable_file import ReadableFile

__all__ = ["Gzip", "Readable", "Stored", "Stream", "zstd"]

_STORED = 1 << 16
"""Compressed bytes that are read at once."""


class Readable(Protocol):
    """A binary file of any library."""

    def read(self, size: int, /) -> bytes:
        """Read up to ``size`` bytes; no bytes mean the end of the file."""


class Stream(Protocol):
    """What the compiled part reads from."""

    @property
    def position(self) -> int:
        """Bytes of the file as it is stored that were read."""

    def read(self, size: int, /) -> bytes:
        """Read up to ``size`` bytes; no bytes mean the end of the file."""


class Stored(ReadableFile):
    """A file as it is stored. ``start`` was read from it already."""

    def __init__(self, file: Readable, start: bytes = b"") -> None:
        super().__init__()
        self._file = file
        self._start = start

    def read(self, size: int = -1, /) -> bytes:
        """Read up to ``size`` bytes; no bytes mean the end of the file."""
        if self._start:
            given = self._start[:size] if size >= 0 else self._start + self._file.read(-1)
            self._start = self._start[size:] if size >= 0 else b""
        else:
            given = self._file.read(size)
            if given is None:  # a file that does not block has no data yet
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        self.position += len(given)
        return given


class Gzip:
    """The members of a gzip file, one after the other: those of pigz and bgzip too.

    Zeros after a member are padding, anything else is an error, as is a member that has no end or another
    checksum than it says.
    """

    def __init__(self, stored: Stored, name: str) -> None:
        self._stored = stored
        self._name = name
        self._left = b""
        self._member: Any = None

    @property
    def position(self) -> int:
        """Bytes of the compressed file that were read."""
        return self._stored.position

    def read(self, size: int, /) -> bytes:
        """Read up to ``size`` bytes of the text; no bytes mean its end."""
        while True:
            if self._member is None and not self._begin():
                return b""
            block = self._left or self._stored.read(_STORED)
            self._left = b""
            if not block:
                raise damaged(self._name, "gzip", "the file ends before its data does", byte=self.position)
            try:
                given: bytes = self._member.decompress(block, size)
            except zlib.error as error:
                byte = self.position - len(block)
                raise damaged(self._name, "gzip", str(error), byte=byte) from error
            if self._member.eof:
                self._left = self._member.unused_data
                self._member = None
            else:
                self._left = self._member.unconsumed_tail
            if given:
                return given

    def _begin(self) -> bool:
        """Go to the next member; false at the end of the file."""
        block = self._left or self._stored.read(_STORED)
        while block and not (left := block.lstrip(b"\0")):
            block = self._stored.read(_STORED)
        if not block:
            return False
        self._left = left
        if len(self._left) < 2:
            self._left += self._stored.read(_STORED)
        if not self._left.startswith(b"\x1f\x8b"):
            byte = self.position - len(self._left)
            raise damaged(self._name, "gzip", "there is something else after the compressed data", byte=byte)
        # 31: a gzip header and checksums, which are checked, and any window.
        self._member = zlib.decompressobj(31)
        return True


def zstd(stored: Stored, name: str) -> Stream:
    """The frames of a Zstandard file, one after the other; skippable ones, as of pzstd, are passed over."""
    with waited_for:
        try:
            from compression import zstd as standard  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            standard = None
        if standard is not None:
            return _Frames(stored, name, standard)
        try:
            import pyarrow
        except ImportError as missing:
            raise missing_arrow(name, "a Zstandard file") from missing
    return _ArrowFrames(stored, name, pyarrow)


class _Frames:
    """Frames by the standard library, from Python 3.14 on."""

    def __init__(self, stored: Stored, name: str, standard: Any) -> None:
        self._stored = stored
        self._name = name
        self._standard = standard
        self._left = b""
        self._frame: Any = None

    @property
    def position(self) -> int:
        """Bytes of the compressed file that were read."""
        return self._stored.position

    def read(self, size: int, /) -> bytes:
        """Read up to ``size`` bytes of the text; no bytes mean its end."""
        while True:
            if self._frame is None:
                self._left = self._left or self._stored.read(_STORED)
                if not self._left:
                    return b""
                self._frame = self._standard.ZstdDecompressor()
            block = b""
            if self._frame.needs_input:
                block = self._left or self._stored.read(_STORED)
                self._left = b""
                if not block:
                    raise damaged(
                        self._name, "Zstandard", "the file ends before its data does", byte=self.position
                    )
            try:
                given: bytes = self._frame.decompress(block, size)
            except self._standard.ZstdError as error:
                raise damaged(self._name, "Zstandard", str(error), byte=self.position - len(block)) from error
            if self._frame.eof:
                self._left = self._frame.unused_data
                self._frame = None
            if given:
                return given


class _ArrowFrames:
    """Frames by pyarrow's codec."""

    def __init__(self, stored: Stored, name: str, pyarrow: Any) -> None:
        self._stored = stored
        self._name = name
        self._frames = pyarrow.CompressedInputStream(pyarrow.PythonFile(stored, mode="r"), "zstd")

    @property
    def position(self) -> int:
        """Bytes of the compressed file that were read."""
        return self._stored.position

    def read(self, size: int, /) -> bytes:
        """Read up to ``size`` bytes of the text; no bytes mean its end."""
        try:
            given: bytes = self._frames.read(size)
        except OSError as error:
            if error.errno is not None:
                raise
            raise damaged(self._name, "Zstandard", str(error), byte=self.position) from error
        return given
