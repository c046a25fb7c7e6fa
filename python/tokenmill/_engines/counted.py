"""Counts on their way between workers: as bytes, in shares, and as parts of a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._counts.counting import PartialCounts
from .._counts.facts import CountedFacts
from .._counts.files import FACTS, as_plain, from_plain
from .._counts.sums import MOST, NOTHING, PretokenSum, sum_of_figures
from .._counts.tables import as_parquet
from .._remote import is_url, new_remote_folder, write_to
from ..errors import TrainingError
from ..pretoken_counts import PretokenCounts, without_rare

__all__ = [
    "FIGURES",
    "counts_of_bytes",
    "counts_to_bytes",
    "facts_with",
    "nothing_counted",
    "shares",
    "sum_of",
    "too_many",
    "write_facts",
    "write_part",
]

#: The facts that are sums.
FIGURES = ("documents", "bytes", "skipped", "replaced", "pretokens")


def nothing_counted(reading: Mapping[str, Any]) -> PretokenCounts:
    """Empty counts with these reading options. Raises an error if the options are invalid."""
    partial = PartialCounts(reading)
    partial.feed([])
    return partial.result()


def facts_with(facts: Mapping[str, Any], figures: Mapping[str, int]) -> dict[str, Any]:
    """The facts with these figures."""
    return {**facts, **{name: min(figures.get(name, 0), MOST) for name in FIGURES}}


def too_many(pretoken: bytes) -> TrainingError:
    """The error for a sum above 64 bits."""
    shown = pretoken[:40].decode("utf-8", "replace")
    return TrainingError(
        f"the pretoken {shown!r} occurs more often than 2^64 - 1 times, where counts end; count less text",
        path=None,
        byte=None,
    )


def counts_to_bytes(counts: PretokenCounts) -> bytes:
    """The counts in the plain format."""
    return b"".join(as_plain(counts._table, counts._facts))


def counts_of_bytes(data: bytes) -> PretokenCounts:
    """Counts in the plain format."""
    return PretokenCounts._of(*from_plain(data))


def shares(counts: PretokenCounts, parts: int) -> list[PretokenCounts]:
    """Several counts, which have each pretoken in the one that its bytes say, and together are these.

    The first has the figures of the texts.
    """
    found = []
    for number, table in enumerate(counts._table.shares(parts)):
        of_texts = NOTHING if number else counts._facts.figures
        facts = counts._facts._replace(figures=(*of_texts[:4], min(table.total, MOST)))
        found.append(PretokenCounts._of(table, facts))
    return found


def sum_of(many: Iterable[PretokenCounts], min_count: int | None = None) -> PretokenCounts:
    """The sum of counts that were read in one way, also of those without rare pretokens.

    Raises ``TrainingError`` for a sum above 64 bits.
    """
    total, facts = PretokenSum(), []
    for counts in many:
        total.add(counts._table)
        facts.append(counts._facts)
    figures = sum_of_figures([one.figures for one in facts])
    of_sum = CountedFacts(facts[0].reading, facts[0].min_count, figures)
    return PretokenCounts._of(*without_rare(total.result(), of_sum, min_count))


def new_folder(out: str | os.PathLike[str]) -> str:
    """The URL or the whole path of a folder that has to be new: parts of another sum would be added to these.

    Raises ``FileExistsError``.
    """
    name = os.fspath(out)
    if not isinstance(name, str):
        raise TypeError(f"out must be a path or a URL, not {type(name).__name__}")
    if is_url(name):
        new_remote_folder(name)
        return name.rstrip("/")
    folder = Path(name).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(17, "the folder is not empty; choose a new one", str(folder))
    return str(folder)


def write_part(counts: PretokenCounts, out: str, number: int) -> None:
    """Write one part of a folder. A task that runs twice writes the same bytes again.

    It has no facts, so that the folder cannot be read before `write_facts`, nor without one of the parts.
    """
    write_to(f"{out}/part-{number:05}.parquet", [as_parquet(counts._table, None)])


def write_facts(parts: Sequence[CountedFacts], out: str) -> None:
    """Write the facts of all parts beside them: when they are there, the folder is complete."""
    facts = parts[0]._replace(figures=sum_of_figures([one.figures for one in parts]))
    write_to(f"{out}/{FACTS}", [facts.as_json()])
