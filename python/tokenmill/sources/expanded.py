"""Which files are meant: by paths, patterns, folders and URLs."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from .._forks import waited_for
from .._remote import is_url, remote, urls
from .faults import unusable
from .kinds import (
    COMPRESSED,
    JSON_LINES,
    START,
    TABLES,
    compression,
    kind_of,
    other_than_its_name,
)
from .opened import Source

__all__ = ["ENDINGS", "expand", "in_folder", "names_of", "opener", "source_of"]

_Path = str | os.PathLike[str]
_Given = str | tuple[str, str] | Source
"""A file of text by its path; one of JSONL, with the field; or one that is opened here."""

_TEXT = (".txt", ".text", ".md")
_PLAIN = (*_TEXT, *JSON_LINES)
ENDINGS = (*_PLAIN, *TABLES)
"""The names of files in a folder that are read; those of text and JSONL also with an ending of COMPRESSED."""


def expand(
    files: _Path | Sequence[_Path], *, field: str | None = None, column: str | None = None
) -> list[_Given]:
    """Every file that is meant, in the order given: what of it is read by whom.

    ``field`` is for JSONL and ``column`` for tables; each is an error where no file can be of that kind.
    """
    if field is not None and not isinstance(field, str):
        raise TypeError(f"field must be str or None, not {type(field).__name__}")
    if column is not None and not isinstance(column, str):
        raise TypeError(f"column must be str or None, not {type(column).__name__}")
    kinds: set[str] = set()
    found = [source_of(name, field=field, column=column, kinds=kinds) for name in _listed(files)]
    if not kinds & {"table", "remote"} and column is not None:
        raise unusable(None, f"column={column!r} is for Parquet and Arrow files, and none of these is one")
    if kinds == {"table"} and field is not None:
        raise unusable(
            None, f"field={field!r} is for JSONL, and none of these files is that; a table has column="
        )
    return found


def source_of(
    name: str, *, field: str | None = None, column: str | None = None, kinds: set[str] | None = None
) -> _Given:
    """A file, as it is read; ``kinds`` gets what it may be: text, table or remote."""
    kinds = set() if kinds is None else kinds
    if is_url(name) and not _is_there(name):
        kinds.add("remote")
        return opener(name, field=field, column=column)
    start = _start(name)
    if (reason := other_than_its_name(start, name)) and Path(name).is_file():
        raise unusable(name, reason)
    kind = kind_of(start, name, field, column)
    if compression(start) is None and kind in ("text", "jsonl"):
        kinds.add("text")
        return (name, "text" if field is None else field) if kind == "jsonl" else name
    # What is in a compressed file is seen when it is opened; an Arrow stream may be.
    kinds.update(("text", "table") if kind in ("text", "jsonl") else ("table",))
    return opener(name, field=field, column=column)


def opener(name: str, *, field: str | None = None, column: str | None = None) -> Source:
    """A file that is opened here, whatever it is."""
    if is_url(name) and not _is_there(name):
        found = remote(name)
        return Source(name, found.size, found.open, field=field, column=column)

    def opened() -> BinaryIO:
        return Path(name).open("rb", buffering=0)

    return Source(name, Path(name).stat().st_size, opened, field=field, column=column)


def _start(name: str) -> bytes:
    """The first bytes of a file; none of what can be read once, or not at all."""
    try:
        path = Path(name)
        if not stat.S_ISREG(path.stat().st_mode):
            return b""
        with path.open("rb", buffering=0) as file:
            return file.read(START)
    except (OSError, ValueError):
        return b""


def _listed(files: _Path | Sequence[_Path]) -> list[str]:
    """The names of the files, patterns and folders expanded."""
    if isinstance(files, str | os.PathLike):
        return names_of(os.fspath(files))
    if not isinstance(files, Iterable) or isinstance(files, Mapping):
        hint = "; texts go into texts=" if isinstance(files, Mapping) else ""
        raise TypeError(f"files must be a path or a sequence of paths, not {type(files).__name__}{hint}")
    sources = list(files)
    if not sources:
        raise unusable(None, "the list of files is empty")
    for index, source in enumerate(sources):
        if not isinstance(source, str | os.PathLike):
            raise TypeError(f"files[{index}] must be str or os.PathLike, not {type(source).__name__}")
    return [name for source in sources for name in names_of(os.fspath(source))]


def names_of(source: str) -> list[str]:
    """The files that a path, a pattern, a folder or a URL stands for.

    What exists is never read as a pattern. Folders among the matches of a pattern are left out, unless there
    is nothing else.
    """
    with waited_for:
        import glob

    if _is_there(source):
        return in_folder(source) if Path(source).is_dir() else [source]
    if is_url(source):
        return _remote_names(source)
    if any(map(str.isspace, source)) and not glob.has_magic(source):
        raise FileNotFoundError(errno.ENOENT, "no such file; texts go into texts=", source)
    if not glob.has_magic(source):
        return [source]
    found = sorted(glob.glob(source, recursive=True))  # noqa: PTH207  # Path.glob takes no absolute pattern
    files = [path for path in found if not Path(path).is_dir()]
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file matches", source)
    return files or [path for folder in found for path in in_folder(folder)]


def _is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def in_folder(folder: str) -> list[str]:
    """The files of a folder, and of those in it, whose names end as those of documents do, in sorted order.

    What begins with a dot or an underscore is left out, as in other readers of folders. Links to folders are
    not followed.
    """
    found = sorted(_walk(folder))
    if not found:
        raise _nothing_in(folder)
    return found


def _walk(folder: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise error

    for where, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        yield from (str(Path(where, name)) for name in files if _is_wanted(name))


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _is_wanted(name: str) -> bool:
    lower = name.lower()
    for ending in COMPRESSED:
        if lower.endswith(ending):
            return not _is_hidden(name) and lower.removesuffix(ending).endswith(_PLAIN)
    return not _is_hidden(name) and lower.endswith(ENDINGS)


def _nothing_in(folder: str) -> FileNotFoundError:
    said = (
        f"no file in this folder has a name that ends in {', '.join(_PLAIN)} (or one of these with .gz or "
        f".zst) or {', '.join(TABLES)}; a pattern such as FOLDER/* takes files of any name"
    )
    return FileNotFoundError(errno.ENOENT, said, folder)


def _remote_names(url: str) -> list[str]:
    found, is_folder = urls(url)
    if is_folder:
        # Only what is below the folder tells whether a file is hidden.
        before = url.partition("::")[0].rstrip("/") + "/"
        parts = {name: name.partition("::")[0].removeprefix(before).split("/") for name in found}
        found = [
            name
            for name, (*outer, last) in parts.items()
            if _is_wanted(last) and not any(map(_is_hidden, outer))
        ]
    if not found:
        raise _nothing_in(url) if is_folder else FileNotFoundError(errno.ENOENT, "no file matches", url)
    return found
