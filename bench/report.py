"""From samples to rows, and from rows to lines: medians, and ratios taken inside rounds."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cells import BEFORE, CELLS, figures, times_as_good
from exactness import Verdict

Sample = Mapping[str, Any]


@dataclass(frozen=True)
class Spread:
    """The median of some rounds, with their ends."""

    median: float
    lowest: float
    highest: float
    rounds: int

    @classmethod
    def of(cls, values: Collection[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values), len(values))


@dataclass
class Row:
    """What the peers reach in one figure of a task."""

    vocabulary: str
    cell: str
    text: str
    what: str
    unit: str
    reached: dict[str, Spread] = field(default_factory=dict)
    not_exact: set[str] = field(default_factory=set)
    disturbed: set[str] = field(default_factory=set)
    errors: dict[str, str] = field(default_factory=dict)
    best: str = ""
    """The best exact one of the others."""
    ratio: Spread | None = None
    """How many times as good as the best we are, inside rounds."""
    before: Spread | None = None
    """How many times as good as the earlier build, inside rounds."""
    against: dict[str, Spread] = field(default_factory=dict)
    """How many times as good as in these other cells of our own."""


def rows(samples: Sequence[Sample], verdicts: Iterable[Verdict], ours: str) -> list[Row]:
    """One row for each task and figure, in the order of the samples."""
    exact = {
        (verdict.peer, verdict.vocabulary, verdict.text, verdict.cell)
        for verdict in verdicts
        if not verdict.difference
    }
    found: list[Row] = []
    tasks: dict[tuple[str, str, str], list[Sample]] = {}
    for sample in samples:
        tasks.setdefault((sample["vocabulary"], sample["cell"], sample["text"]), []).append(sample)
    for (vocabulary, cell, text), own in tasks.items():
        values = _by_figure(own)
        for (what, unit), by_peer in values.items():
            row = Row(vocabulary, cell, text, what, unit)
            row.reached = {peer: Spread.of(by_round.values()) for peer, by_round in by_peer.items()}
            row.not_exact = {peer for peer in by_peer if (peer, vocabulary, text, cell) not in exact}
            row.disturbed = {sample["peer"] for sample in own if sample.get("disturbed")}
            row.errors = {sample["peer"]: sample["error"] for sample in own if "error" in sample}
            rivals = [peer for peer in by_peer if peer not in (ours, BEFORE) and peer not in row.not_exact]
            row.before = _inside_rounds(by_peer.get(ours, {}), by_peer.get(BEFORE, {}), unit)
            if rivals and ours in by_peer and ours not in row.not_exact:
                row.best = max(rivals, key=lambda peer: goodness(row.reached[peer].median, unit))
                row.ratio = _inside_rounds(by_peer[ours], by_peer[row.best], unit)
            for other in CELLS[cell].against:
                theirs = _by_figure(tasks.get((vocabulary, other, text), [])).get((what, unit), {})
                spread = _inside_rounds(by_peer.get(ours, {}), theirs.get(ours, {}), unit)
                if spread is not None:
                    row.against[other] = spread
            found.append(row)
    return found


def _by_figure(samples: Iterable[Sample]) -> dict[tuple[str, str], dict[str, dict[int, float]]]:
    """(what, unit) to peer to round to figure."""
    found: dict[tuple[str, str], dict[str, dict[int, float]]] = {}
    for sample in samples:
        for key, value in figures(sample).items():
            found.setdefault(key, {}).setdefault(sample["peer"], {})[sample["round"]] = value
    return found


def goodness(value: float, unit: str) -> float:
    """More of it is better, whatever the unit."""
    return times_as_good(value, 1.0, unit)


def _inside_rounds(ours: Mapping[int, float], theirs: Mapping[int, float], unit: str) -> Spread | None:
    ratios = [times_as_good(ours[number], theirs[number], unit) for number in ours if number in theirs]
    return Spread.of(ratios) if ratios else None


def exactness_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """One line for each peer and vocabulary, and one for each place where it is not exact."""
    lines = ["", "ids"]
    for peer, vocabulary in dict.fromkeys((verdict.peer, verdict.vocabulary) for verdict in verdicts):
        own = [verdict for verdict in verdicts if (verdict.peer, verdict.vocabulary) == (peer, vocabulary)]
        wrong = [verdict for verdict in own if verdict.difference]
        state = f"NOT EXACT in {len(wrong)} of {len(own)}" if wrong else f"exact in {len(own)}"
        lines.append(f"  {peer:<14}{vocabulary:<15}{state} against {own[-1].reference}")
        lines += [f"    {verdict.cell}, {verdict.text}: {why(verdict)}" for verdict in wrong]
    return lines


def why(verdict: Verdict) -> str:
    """How a result differs."""
    if not verdict.place:
        return verdict.difference
    at, found, expected = (verdict.place[name] for name in ("at", "found", "expected"))
    return f"at id {at}: {found} where {verdict.reference} has {expected}"


def figure_lines(table: Sequence[Row], ours: str) -> list[str]:
    """Columns for a terminal: each cell's figures, and our ratio to the best exact one of the others."""
    lines: list[str] = []
    for (vocabulary, cell), own in grouped(table).items():
        here = columns(own, ours)
        names = [f"  {row.text}, {row.what}, {row.unit}  " for row in own]
        width = max(map(len, names))
        lines += ["", f"{cell} ({vocabulary}): {CELLS[cell].title}"]
        lines.append(" " * width + "".join(f"{peer:<22}" for peer in here) + "ratio to the best other")
        for row, name in zip(own, names, strict=True):
            cells = [f"{_figure(row, peer):<22}" for peer in here]
            lines.append(f"{name:<{width}}{''.join(cells)}{_ratio(row)}".rstrip())
    if lines:
        lines += [
            "",
            "Medians of the rounds (lowest to highest); ratios are taken inside rounds, above 1 is better.",
            "! not exact, never the best.  ~ something else ran beside some sample.",
        ]
    return lines


def before_lines(table: Sequence[Row], slower: float = 1.03) -> list[str]:
    """How the times of our build compare with those of the earlier one: worse is above 1, as in times."""
    own = [
        (row, Spread(1 / it.median, 1 / it.highest, 1 / it.lowest, it.rounds))
        for row in table
        if (it := row.before)
    ]
    if not own:
        return []
    worse = [(row, spread) for row, spread in own if spread.lowest > slower]
    all_ratios = Spread.of([spread.median for _, spread in own])
    lines = [
        "",
        f"time over that of the earlier build, {len(own)} figures: median {all_ratios.median:.2f}"
        f" ({all_ratios.lowest:.2f} to {all_ratios.highest:.2f});"
        f" wholly above {slower:.2f} in {len(worse)}",
    ]
    for row, spread in sorted(own, key=lambda pair: -pair[1].median)[: max(10, len(worse))]:
        place = f"{row.cell}, {row.vocabulary}, {row.text}, {row.what}"
        lines.append(f"  {place:<50} {spread.median:.2f} ({spread.lowest:.2f} to {spread.highest:.2f})")
    return lines


def grouped(table: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Rows by vocabulary and cell."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in table:
        found.setdefault((row.vocabulary, row.cell), []).append(row)
    return found


def columns(table: Sequence[Row], ours: str) -> list[str]:
    """The peers of some rows, ourselves first."""
    peers = dict.fromkeys(peer for row in table for peer in (*row.reached, *row.errors))
    return sorted(peers, key=lambda peer: peer != ours)


def short(value: float) -> str:
    """Three digits that count."""
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}"


def marks(row: Row, peer: str) -> str:
    """What a reader should know about a figure."""
    return ("!" if peer in row.not_exact else "") + ("~" if peer in row.disturbed else "")


def _figure(row: Row, peer: str) -> str:
    spread = row.reached.get(peer)
    if spread is None:
        return row.errors.get(peer, "-")[:20]
    figure = f"{short(spread.median)}{marks(row, peer)}"
    if spread.rounds == 1:
        return figure
    return f"{figure} ({short(spread.lowest)} to {short(spread.highest)})"


def _ratio(row: Row) -> str:
    parts = []
    others = [(row.best, row.ratio), (BEFORE, row.before)]
    for name, spread in [*others, *((f"own {name}", it) for name, it in row.against.items())]:
        if spread is not None:
            ends = f" ({spread.lowest:.2f} to {spread.highest:.2f})" if spread.rounds > 1 else ""
            parts.append(f"{spread.median:.2f} x {name}{ends}")
    return ", ".join(parts)
