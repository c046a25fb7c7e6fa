"""Counts on their way between workers: as bytes, in shares, and as parts of a folder."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import TrainingError
from ..pretoken_counts import PretokenCounts

__all__ = [
    "FIGURES",
    "counts_of_bytes",
    "counts_to_bytes",
    "facts_with",
    "nothing_counted",
    "shares",
    "too_many",
    "write_part",
]

#: The facts that are sums.
FIGURES = ("documents", "bytes", "skipped", "replaced", "pretokens")

_MOST = 2**64 - 1


def nothing_counted(reading: Mapping[str, Any]) -> PretokenCounts:
    """Counts of no text, which have the facts of reading."""
    from .._count_pretokens import PartialCounts

    return PartialCounts(reading).result()


def facts_with(facts: Mapping[str, Any], figures: Mapping[str, int]) -> dict[str, Any]:
    """The facts with these figures. As in other sums of them, what would pass 64 bits stays there."""
    return {**facts, **{name: min(figures.get(name, 0), _MOST) for name in FIGURES}}


def too_many(pretoken: bytes) -> TrainingError:
    """The error for a sum above 64 bits."""
    shown = pretoken[:40]
    return TrainingError(
        f"the pretoken {shown!r} occurs more than 2**64 - 1 times in all counts; count less text",
        path=None,
        byte=None,
    )


def counts_to_bytes(counts: PretokenCounts) -> bytes:
    """The counts in the plain format."""
    restore, (data,) = counts.__reduce__()
    del restore
    assert isinstance(data, bytes)
    return data


def counts_of_bytes(data: Any) -> PretokenCounts:
    """Counts in the plain format."""
    from ..pretoken_counts import _restored

    return _restored(bytes(data))


def shares(counts: PretokenCounts, parts: int) -> Iterable[PretokenCounts]:
    """So many counts that have each pretoken in the share that its bytes say, and together are these.

    The first share has the figures of the texts.
    """
    found: list[PretokenCounts] = counts._shares(parts)
    return found


def write_part(counts: PretokenCounts, out: str, number: int) -> None:
    """Write one part of a folder, which may be a URL that pyarrow or fsspec knows: whole or not at all.

    Tasks that are run twice write the same bytes under the same name.
    """
    import pyarrow.parquet as pq

    store, folder = _store(out)
    store.create_dir(folder, recursive=True)
    name = f"{folder.rstrip('/')}/part-{number:05}.parquet"
    # A name with a full stop first is no part of the folder. A store of objects has no half-written ones.
    draft = f"{folder.rstrip('/')}/.{uuid.uuid4().hex}" if store.type_name == "local" else name
    with store.open_output_stream(draft) as file:
        pq.write_table(counts.to_arrow(), file)
    if draft != name:
        store.move(draft, name)


def _store(out: str) -> tuple[Any, str]:
    from pyarrow import fs

    if "://" not in out:
        return fs.LocalFileSystem(), os.path.abspath(out)  # noqa: PTH100  # as a string, with forward slashes
    try:
        store, path = fs.FileSystem.from_uri(out)
    except (ValueError, OSError):
        import fsspec

        opened, path = fsspec.core.url_to_fs(out)
        store = fs.PyFileSystem(fs.FSSpecHandler(opened))
    return store, path
