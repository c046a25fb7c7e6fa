"""The ratios of a run as a picture: one line for each cell and vocabulary, one dot for each figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cells import CELLS
from report import Row, grouped


def draw(table: Sequence[Row], file: Path) -> None:
    """Write an SVG that is the same for the same rows. Needs matplotlib (the extra ``bench``)."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update({"svg.hashsalt": "tokenmill", "svg.fonttype": "none", "font.size": 9})
    compared = {
        key: [row for row in own if row.ratio is not None]
        for key, own in grouped(table).items()
        if any(row.ratio is not None for row in own)
    }
    if not compared:
        raise SystemExit("bench: no ratio to draw: no exact other library was measured")
    figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.28 * len(compared)), layout="constrained")
    for at, own in enumerate(compared.values()):
        for fresh, colour, offset in ((True, "#1f6f8b", -0.13), (False, "#d98324", 0.13)):
            ratios = [row.ratio.median for row in own if row.ratio is not None and _first_sight(row) == fresh]
            axes.plot(ratios, [at + offset] * len(ratios), "o", color=colour, alpha=0.75, markersize=5)
    axes.plot([], [], "o", color="#1f6f8b", label="first sight (fresh, once, load)")
    axes.plot([], [], "o", color="#d98324", label="repeated")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("times as good as the best exact other library")
    axes.set_yticks(range(len(compared)), [f"{CELLS[cell].title} ({name})" for name, cell in compared])
    axes.invert_yaxis()
    axes.grid(axis="x", linewidth=0.4, alpha=0.6)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def _first_sight(row: Row) -> bool:
    return row.what != "repeated"
