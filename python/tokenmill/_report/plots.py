"""Plots as SVG that stands inside the page and takes its colours from it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib import import_module
from io import StringIO
from typing import Any

from .._forks import waited_for
from .._table import shown
from ..errors import MissingExtraError

__all__ = ["MARKERS", "dots", "lines", "stacked"]

MARKERS = ("●", "■", "▲", "◆", "▼", "✚", "✖", "★")
"""What stands for a tokenizer in legends, beside its colour; in plots the same forms stand."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Colours that stand for variables of the page until the SVG is written.
_SERIES = tuple(f"#0101{number + 1:02x}" for number in range(8))
_KINDS = tuple(f"#0102{number + 1:02x}" for number in range(12))
_INK, _FAINT = "#010301", "#010302"
_VARIABLES = {
    **{colour: f"var(--series-{number})" for number, colour in enumerate(_SERIES)},
    **{colour: f"var(--kind-{number})" for number, colour in enumerate(_KINDS)},
    _INK: "currentColor",
    _FAINT: "var(--grid)",
}
_WIDE = 3.9
"""Inches, of 100 pixels each, about, as they are shown."""
_SPREAD = 0.6
"""Of the height of a row, over which its marks stand."""
_LABEL = 22
"""Characters of a label."""

Draw = Callable[[Any], None]


def dots(
    label: str,
    names: Sequence[str],
    series: Sequence[Sequence[float | None]],
    across: str,
    line: float | None,
) -> str:
    """A row for each name with a mark for each tokenizer, and a line at a value to compare with."""

    def draw(axes: Any) -> None:
        places = range(len(names))
        for number, values in enumerate(series):
            # A little below one another: of equal values all marks are seen.
            shift = _SPREAD * ((number + 0.5) / len(series) - 0.5)
            known = [(value, place) for place, value in zip(places, values, strict=True) if value is not None]
            axes.plot(
                [value for value, _ in known],
                [place + shift for _, place in known],
                _MARKERS[number],
                color=_SERIES[number],
                markersize=5,
                markeredgewidth=0,
                # At 0 a mark is seen whole.
                clip_on=False,
                zorder=3,
            )
        if line is not None:
            axes.axvline(line, color=_INK, linewidth=1, linestyle=(0, (3, 2)))
        axes.set_yticks(list(places), [shown(name, _LABEL) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel(across)
        axes.grid(visible=True, axis="both", color=_FAINT, linewidth=0.8)
        axes.tick_params(axis="y", length=0, pad=6)
        if line is None:
            axes.set_xlim(left=0)

    return _svg(label, (_WIDE, max(1.2, 0.62 + 0.19 * len(names))), draw)


def lines(
    label: str, series: Sequence[Sequence[tuple[float, float]]], across: str, up: str, *, sizes: bool
) -> str:
    """A line for each tokenizer; ``sizes`` are on a logarithmic scale."""

    def draw(axes: Any) -> None:
        for number, points in enumerate(series):
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=_SERIES[number],
                marker=_MARKERS[number],
                markersize=4.5,
                markeredgewidth=0,
                linewidth=1.6,
                clip_on=False,
            )
        if sizes:
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(_power)
        else:
            axes.set_xticks(range(0, 17, 4))
        axes.set_ylim(bottom=0)
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        axes.grid(visible=True, color=_FAINT, linewidth=0.8)

    return _svg(label, (_WIDE, 2.6), draw)


def _power(value: float, _: object) -> str:
    return f"{value / 1024:g}k" if value >= 1024 else f"{value:g}"


def stacked(
    label: str, names: Sequence[str], shares: Sequence[Mapping[str, float]], kinds: Sequence[str]
) -> str:
    """A bar for each tokenizer, made of the shares of each kind."""

    def draw(axes: Any) -> None:
        starts = [0.0] * len(names)
        for number, kind in enumerate(kinds):
            widths = [100 * own.get(kind, 0.0) for own in shares]
            axes.barh(
                range(len(names)), widths, left=starts, color=_KINDS[number % len(_KINDS)], height=0.62,
                edgecolor=_FAINT, linewidth=0.6,
            )  # fmt: skip
            starts = [start + wide for start, wide in zip(starts, widths, strict=True)]
        axes.set_yticks(range(len(names)), [shown(name, _LABEL) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the vocabulary")
        axes.tick_params(axis="y", length=0)

    return _svg(label, (_WIDE, 0.75 + 0.36 * len(names)), draw)


def _svg(label: str, size: tuple[float, float], draw: Draw) -> str:
    """What ``draw`` draws, as an element of HTML with a label for those who do not see it."""
    try:
        with waited_for:
            matplotlib: Any = import_module("matplotlib")
            figures: Any = import_module("matplotlib.figure")
            import_module("matplotlib.backends.backend_svg")
    except ImportError as missing:
        raise MissingExtraError(
            'the page of a report needs matplotlib: pip install "tokenmill[report]"', extra="report"
        ) from missing
    # Settings and warnings are those of the process, and matplotlib imports while it draws: so one plot is
    # drawn at a time, and a fork waits for it.
    with waited_for, warnings.catch_warnings(), matplotlib.rc_context():
        # Of characters that its own font has not: the reader's browser chooses the font.
        warnings.simplefilter("ignore")
        # The settings of this user would give another page.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_settings(label))
        figure = figures.Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        for side in ("top", "right", "left", "bottom"):
            axes.spines[side].set_visible(False)
        draw(axes)
        written = StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _inlined(written.getvalue(), label)


def _settings(label: str) -> dict[str, object]:
    return {
        "svg.fonttype": "none",
        # Ids of elements are made of it: two plots of one page have different ones, equal plots the same.
        "svg.hashsalt": label,
        "text.parse_math": False,
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "axes.edgecolor": _INK,
        "xtick.color": _INK,
        "ytick.color": _INK,
        "font.size": 9.0,
        "axes.facecolor": "none",
    }


def _inlined(svg: str, label: str) -> str:
    """Without what a file has and an element has not: its head, metadata, names of formats, sizes."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    head, rest = body.split(">", 1)
    box = re.search(r'viewBox="([^"]*)"', head)
    shape = "" if box is None else f' viewBox="{box[1]}"'
    for colour, variable in _VARIABLES.items():
        rest = rest.replace(colour, variable)
    rest = rest.replace("xlink:href", "href")
    # Numbered ids such as axes_1 are those of every plot, and nothing refers to them.
    rest = re.sub(r' id="[a-zA-Z0-9.]+_[0-9]+(?:_[0-9]+)*"', "", rest)
    rest = re.sub(r"font: ?([0-9.]+px) [^;\"]*", r"font-size: \1", rest)
    rest = re.sub(r"\s*<!--.*?-->", "", rest, flags=re.DOTALL)
    return f'<svg role="img" aria-label="{escape(label)}"{shape}>{rest.strip()}'
