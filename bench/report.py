"""From samples to lines: medians, and ratios taken inside rounds."""

from __future__ import annotations

import statistics
from typing import Any

Rows = list[dict[str, Any]]


def exactness_lines(rows: Rows) -> list[str]:
    """One line for each peer, and one for each text in which it is not exact."""
    lines = ["", "ids"]
    for peer in dict.fromkeys(row["peer"] for row in rows):
        own = [row for row in rows if row["peer"] == peer]
        exact = [row["corpus"] for row in own if row["exact"]]
        verdict = "exact" if len(exact) == len(own) else "NOT EXACT"
        lines.append(f"  {peer:<12}{verdict} against {own[0]['reference']}: {', '.join(exact) or 'nowhere'}")
        lines += [f"    {row['corpus']}: {_why(row)}" for row in own if not row["exact"]]
    return lines


def _why(row: dict[str, Any]) -> str:
    if row.get("error"):
        return str(row["error"])
    reasons = [
        f"{name} differs at id {at['at']}: {at['found']} where {row['reference']} has {at['expected']}"
        for name, at in row["differs"].items()
    ]
    if row["inconsistent"]:
        reasons.append(f"not what its own list says: {', '.join(row['inconsistent'])}")
    return "; ".join(reasons)


def figure_lines(samples: Rows, exactness: Rows, ours: str) -> list[str]:
    """A table for each cell: MB/s of every peer, and our ratio to the best exact one of the others."""
    exact = {(row["peer"], row["corpus"]) for row in exactness if row["exact"]}
    peers = list(dict.fromkeys(row["peer"] for row in samples))
    peers.sort(key=lambda peer: peer != ours)
    lines: list[str] = []
    for cell in dict.fromkeys(row["cell"] for row in samples):
        rows = [row for row in samples if row["cell"] == cell]
        here = [peer for peer in peers if any(row["peer"] == peer for row in rows)]
        lines += ["", f"{cell:<26}" + "".join(f"{peer:<24}" for peer in here) + "ratio to the best other"]
        for corpus in dict.fromkeys(row["corpus"] for row in rows):
            for what in ("fresh", "repeated"):
                own = [row for row in rows if row["corpus"] == corpus]
                lines.append(_line(own, here, corpus, what, exact, ours))
    if lines:
        lines += [
            "",
            "MB/s, median of the rounds (lowest to highest); ratios are taken inside rounds.",
            "! not exact, never the best.  ~ something else ran beside some sample.",
        ]
    return lines


def _line(
    rows: Rows, peers: list[str], corpus: str, what: str, exact: set[tuple[str, str]], ours: str
) -> str:
    speeds: dict[str, dict[int, float]] = {}
    for row in rows:
        if "wall" in row and (what == "fresh" or len(row["wall"]) > 1):
            speeds.setdefault(row["peer"], {})[row["round"]] = speed(row, what)
    cells = []
    for peer in peers:
        shaky = any(row.get("disturbed") for row in rows if row["peer"] == peer)
        marks = ("" if (peer, corpus) in exact else "!") + ("~" if shaky else "")
        errors = [row["error"] for row in rows if row["peer"] == peer and "error" in row]
        cells.append(f"{_figure(speeds.get(peer), errors, marks):<24}")
    rivals = [peer for peer in speeds if peer != ours and (peer, corpus) in exact]
    ratio = ""
    if rivals and ours in speeds and (ours, corpus) in exact:
        best = max(rivals, key=lambda peer: statistics.median(speeds[peer].values()))
        ratio = _ratio(speeds[ours], speeds[best], best)
    return f"  {corpus + ', ' + what:<24}{''.join(cells)}{ratio}".rstrip()


def _figure(speeds: dict[int, float] | None, errors: list[str], marks: str) -> str:
    if errors:
        return errors[0][:22]
    if not speeds:
        return "-"
    figures = speeds.values()
    return f"{statistics.median(figures):.1f}{marks} ({min(figures):.1f} to {max(figures):.1f})"


def speed(row: dict[str, Any], what: str) -> float:
    """MB/s of a sample: its first pass, or the median of the later ones."""
    walls: list[float] = row["wall"]
    seconds = walls[0] if what == "fresh" else statistics.median(walls[1:])
    return float(row["bytes"]) / 1e6 / max(seconds, 1e-9)


def _ratio(ours: dict[int, float], theirs: dict[int, float], name: str) -> str:
    ratios = [ours[number] / theirs[number] for number in ours if number in theirs]
    if not ratios:
        return ""
    return f"{statistics.median(ratios):.2f} x {name} ({min(ratios):.2f} to {max(ratios):.2f})"
