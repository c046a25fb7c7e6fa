"""The files that ``train`` reads: copies take the place of standard input and of what is read twice."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .corpora import stored
from .files import STDIN, is_pipe, source
from .streams import naming
from .usage import UsageError

__all__ = ["spooled"]


@contextmanager
def spooled(names: list[str], *, limit: int | None = None, again: bool = False) -> Iterator[list[str]]:
    """The files to read: those of ``names``, with a copy in the place of standard input.

    With ``again`` there are copies of pipes too, so that all may be read more than once. With a ``limit`` all
    of them are copies; more than ``limit`` bytes in total are a ``UsageError``. Errors of training name the
    original, not the copy.
    """
    once = {name for name in names if name == STDIN or (again and is_pipe(name))}
    if limit is None and not once:
        yield names
        return
    import tempfile

    from tokenmill import TrainingError

    with tempfile.TemporaryDirectory(prefix="tokenmill-") as folder:
        copies: dict[str, str] = {}
        files = []
        left = limit
        for number, name in enumerate(names):
            if limit is None and name not in once:
                files.append(name)
                continue
            # The name, or its ending, may tell what the file is.
            copy = Path(folder, str(number), Path(name).name if name != STDIN else "stdin")
            copy.parent.mkdir()
            with naming(str(copy)), copy.open("xb") as file:
                _copy(name, file, left)
                if left is not None and limit is not None:
                    left -= file.tell()
                    _check_size(left, limit)
            copies[str(copy)] = source(name)
            files.append(str(copy))
        try:
            yield files
        except TrainingError as error:
            if error.path not in copies:
                raise
            name = copies[error.path]
            said = str(error).replace(error.path, name, 1)
            raise TrainingError(said, path=name, byte=error.byte, row=error.row) from error


def _copy(name: str, file: IO[bytes], left: int | None) -> None:
    """Copy a source, but at most one byte more than ``left``, which is enough to find it too long."""
    with stored(name) as opened:
        shutil.copyfileobj(opened if left is None else io.BytesIO(opened.read(left + 1)), file)


def _check_size(left: int, limit: int) -> None:
    if left < 0:
        raise UsageError(
            f"more than {limit:,} bytes are too many to trace",
            hint="trace a sample of the text: the steps are the same in kind",
        )
