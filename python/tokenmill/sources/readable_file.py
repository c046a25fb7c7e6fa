"""What pyarrow asks of a Python file that it reads from the start to the end."""

from __future__ import annotations

__all__ = ["ReadableFile"]


class ReadableFile:
    """A file that is read once, without seeking. A subclass adds ``read`` and advances ``position``."""

    def __init__(self) -> None:
        self.position = 0
        self.closed = False

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def writable(self) -> bool:
        """Whether it can be written."""
        return False

    def seekable(self) -> bool:
        """Whether it can be read from another place."""
        return False

    def tell(self) -> int:
        """The number of bytes read so far."""
        return self.position

    def close(self) -> None:
        """Only mark it as closed: whoever opened the file below closes that."""
        self.closed = True
