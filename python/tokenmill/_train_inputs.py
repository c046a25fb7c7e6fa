"""What is given to ``tokenmill.train``: files, counts, and patterns for tokens."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ._forks import waited_for
from .errors import TrainingError

__all__ = ["expand", "merge_filter", "misuse", "weights"]

_Path = str | os.PathLike[str]


def merge_filter(pattern: str) -> Callable[[bytes], bool]:
    """Whether the text of a token matches a pattern as a whole. The parts of a character do."""
    with waited_for:
        import re

    try:
        matches = re.compile(pattern).fullmatch
        is_part = re.compile(rb"[\xc2-\xf4][\x80-\xbf]{0,2}|[\x80-\xbf]{1,3}").fullmatch
    except re.error as error:
        raise misuse(f"allowed_merges={pattern!r} is no pattern: {error}") from None

    def allows(token: bytes) -> bool:
        try:
            return matches(token.decode()) is not None
        except UnicodeDecodeError:
            return is_part(token) is not None

    return allows


def weights(texts: Mapping[str, int]) -> list[int]:
    """How often each text counts."""
    counts = []
    for text, weight in texts.items():
        count = (
            None if isinstance(weight, bool) or not hasattr(weight, "__index__") else operator.index(weight)
        )
        if count is None or not 1 <= count < 2**64:
            shown = text if not isinstance(text, str) or len(text) <= 40 else f"{text[:40]}..."
            raise misuse(f"texts[{shown!r}] is {weight!r}; a count is a whole number from 1 to 2**64 - 1")
        counts.append(count)
    return counts


def misuse(message: str) -> TrainingError:
    """The error for arguments that cannot be used."""
    return TrainingError(message, path=None, byte=None)


def expand(files: _Path | Sequence[_Path]) -> list[str]:
    """Every file that is meant, in the order given."""
    if isinstance(files, str | os.PathLike):
        return _matches(os.fspath(files))
    if not isinstance(files, Iterable) or isinstance(files, Mapping):
        hint = "; texts go into texts=" if isinstance(files, Mapping) else ""
        raise TypeError(f"files must be a path or a sequence of paths, not {type(files).__name__}{hint}")
    sources = list(files)
    if not sources:
        raise misuse("the list of files is empty")
    for index, source in enumerate(sources):
        if not isinstance(source, str | os.PathLike):
            raise TypeError(f"files[{index}] must be str or os.PathLike, not {type(source).__name__}")
    return [path for source in sources for path in _matches(os.fspath(source))]


def _matches(source: str) -> list[str]:
    """The files that one path or glob stands for. A path that exists is never read as a pattern."""
    with waited_for:
        import glob

    try:
        is_there = Path(source).exists()
    except OSError:  # a name that no file can have
        is_there = False
    if is_there:
        return [source]
    if any(map(str.isspace, source)) and not glob.has_magic(source):
        raise FileNotFoundError(2, "no such file; texts go into texts=", source)
    if not glob.has_magic(source):
        return [source]
    found = glob.glob(source, recursive=True)  # noqa: PTH207  # Path.glob takes no absolute pattern
    found = sorted(path for path in found if not Path(path).is_dir())
    if not found:
        raise FileNotFoundError(2, "no file matches", source)
    return found
