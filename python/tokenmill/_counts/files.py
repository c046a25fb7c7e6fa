"""Files of counted pretokens, and folders of parts: the plain format, and which file is read how.

The plain format is described in docs/counts.md.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from .. import _core
from .._core import PretokenTable
from .._forks import waited_for
from .._reading import common_facts
from .._remote import is_url, remote, urls, write_to
from .._train_inputs import misuse
from ..errors import FormatError, TrainingError
from .facts import CountedFacts, check_total, damaged, read_facts
from .sums import PretokenSum, sum_of_figures
from .tables import as_parquet, from_parquet, is_there

__all__ = ["FACTS", "as_plain", "check_parts", "from_plain", "load_counts", "save_counts"]

FACTS = "_facts.json"
"""The facts of a folder whose parts have none of their own."""

_MAGIC = b"tmcounts"
_VERSION = 1
_HEADER = struct.Struct("<8sIIQQ")
_DIGEST = 32


def as_plain(table: PretokenTable, facts: CountedFacts) -> Iterator[bytes]:
    """The plain format, in pieces."""
    with waited_for:
        import hashlib
    data, offsets, counts = table.columns()
    text = facts.as_json()
    text += b" " * (-len(text) % 8)
    digest = hashlib.sha256()
    header = _HEADER.pack(_MAGIC, _VERSION, len(text), len(table), len(data))
    for piece in (header, text, offsets, counts, data):
        digest.update(piece)
        yield piece
    yield digest.digest()


def from_plain(content: bytes, path: str | None = None) -> tuple[PretokenTable, CountedFacts]:
    """What ``as_plain`` wrote. Raises ``FormatError``."""
    with waited_for:
        import hashlib
    if len(content) < _HEADER.size + _DIGEST:
        raise damaged(path, "", f"has {len(content)} bytes, fewer than any file of counts", "truncated")
    magic, version, text, number, size = _HEADER.unpack_from(content)
    if magic != _MAGIC:
        raise damaged(path, "", "is no file of counts: it does not begin with tmcounts")
    if version != _VERSION:
        reason = f"is {version}; this version of tokenmill reads {_VERSION}"
        raise damaged(path, "version", reason, "unsupported")
    whole = _HEADER.size + text + 8 * (2 * number + 1) + size + _DIGEST
    if len(content) != whole:
        kind = "truncated" if len(content) < whole else "damaged"
        raise damaged(path, "", f"has {len(content):,} bytes, and its header says {whole:,}", kind)
    if hashlib.sha256(memoryview(content)[:-_DIGEST]).digest() != content[-_DIGEST:]:
        raise damaged(path, "", "is damaged: the checksum does not match", "checksum")
    at = _HEADER.size + text
    facts = read_facts(content[_HEADER.size : at], path)
    body = memoryview(content)[at:-_DIGEST]
    # One after the other: where each pretoken begins and the last one ends, the counts, the pretokens.
    first, second = 8 * (number + 1), 8 * (2 * number + 1)
    offsets, counts, data = body[:first], body[first:second], body[second:]
    try:
        table = _core.PretokenTable.from_columns(data, offsets, counts, are_sorted=True)
    except TrainingError as error:
        raise damaged(path, "", str(error)) from error
    check_total(facts, table, path)
    return table, facts


def save_counts(path: str | os.PathLike[str], table: PretokenTable, facts: CountedFacts) -> None:
    """Write a local file or one at a URL, atomically, in the format that its name implies."""
    name = os.fspath(path)
    ending = Path(name).suffix
    if ending == ".parquet" or (not ending and is_there()):
        write_to(name, [as_parquet(table, facts)])
    else:
        write_to(name, as_plain(table, facts))


def load_counts(path: str | os.PathLike[str]) -> tuple[PretokenTable, CountedFacts]:
    """A file of counts, or a folder of parts; at a URL, too. Raises ``FormatError`` and ``OSError``."""
    name = os.fspath(path)
    if is_url(name):
        return _from_url(name)
    if Path(name).is_dir():
        return _from_folder(name)
    table, facts = _from_file(name)
    if facts is None:
        raise damaged(
            name, "facts", f"are missing; they are in the schema's metadata, or beside it in {FACTS}"
        )
    check_total(facts, table, name)
    return table, facts


def _from_file(name: str) -> tuple[PretokenTable, CountedFacts | None]:
    with Path(name).open("rb") as file:
        start = file.read(len(_MAGIC))
        if start[:4] != b"PAR1":
            content = start + file.read()
            return from_plain(content, name)
    return from_parquet(name)


def _from_folder(folder: str) -> tuple[PretokenTable, CountedFacts]:
    """The sum of all parts. Names that begin with _ or a full stop are no parts."""
    beside = Path(folder, FACTS)
    given = read_facts(_content(beside), str(beside)) if beside.exists() else None
    total = PretokenSum()
    found: list[tuple[str, CountedFacts]] = [] if given is None else [(str(beside), given)]
    parts = sorted(path for path in Path(folder).iterdir() if not path.name.startswith(("_", ".")))
    if not parts and given is None:
        raise damaged(folder, "", "holds no counts", "missing")
    for part in parts:
        if part.is_dir():
            raise damaged(str(part), "", "is a folder; a folder of counts holds parts alone", "unsupported")
        table, facts = _from_file(str(part))
        if facts is not None:
            found.append((str(part), facts))
        elif given is None:
            reason = f"are missing: the folder has no {FACTS}, which belongs to its parts"
            raise damaged(str(part), "facts", reason, "missing")
        total.add(table)
    if given is None:
        facts = check_parts([facts for _, facts in found], [name for name, _ in found])
    else:
        common_facts([facts.reading for _, facts in found], [name for name, _ in found])
        facts = given
    result = total.result()
    check_total(facts, result, folder)
    return result, facts


def _from_url(url: str) -> tuple[PretokenTable, CountedFacts]:
    """As a file or folder of this machine, where its files are for so long."""
    with waited_for:
        import shutil
        import tempfile
    names, is_folder = urls(url)
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            # Of a folder the names below it; Spark's facts are a folder in it.
            parts = _path_in(name)
            copy = Path(scratch, *(parts[len(_path_in(url)) :] if is_folder else parts[-1:]))
            copy.parent.mkdir(parents=True, exist_ok=True)
            with remote(name).open() as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target)
        try:
            return load_counts(scratch if is_folder else copy)
        except FormatError as error:
            here = scratch if is_folder else str(copy)
            shown = str(error).replace(here, url.rstrip("/"))
            path = error.path and error.path.replace(here, url.rstrip("/"))
            raise FormatError(
                shown, path=path, field=error.field, kind=error.kind, reason=error.reason, limit=error.limit
            ) from None


def _path_in(url: str) -> list[str]:
    """The names in the path of a URL. Some stores write it with one slash more."""
    return [name for name in url.partition("::")[0].partition("://")[2].split("/") if name]


def _content(file: Path) -> bytes:
    """What a file holds, or a folder that Spark wrote in its place."""
    if not file.is_dir():
        return file.read_bytes()
    parts = sorted(part for part in file.iterdir() if not part.name.startswith(("_", ".")))
    return b"".join(part.read_bytes() for part in parts)


def check_parts(parts: list[CountedFacts], names: list[str]) -> CountedFacts:
    """The facts of a sum. Raises ``TrainingError`` for parts that cannot be summed."""
    if not parts:
        raise misuse("there are no counts to put together")
    reading = common_facts([facts.reading for facts in parts], names)
    if len(parts) == 1:
        return parts[0]
    for facts, name in zip(parts, names, strict=True):
        if facts.min_count is not None:
            raise misuse(
                f"{name} has lost what occurs less than {facts.min_count:,} times (min_count), so that its "
                "sum with others would be wrong; put counts together first, and drop what is rare then"
            )
    return CountedFacts(reading, None, sum_of_figures(facts.figures for facts in parts))
