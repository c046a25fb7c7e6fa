"""Lines over sizes as an SVG, written as text: no library is needed, and equal lines give equal files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ._table import shown, width

__all__ = ["Line", "line_plot"]

_COLOURS = ("#0b6e99", "#c2570c", "#2a7f3f", "#8e3b8c", "#a8201a", "#5b5ea6", "#7a5c00", "#3d3d3d")
"""Dark enough for text on white."""
_DASHES = ("", "6 3", "2 3")
"""What tells lines apart once the colours begin again."""
_FONT = 12
_CHARACTER = 7.0
"""Pixels that a character takes, about: the fonts of readers differ."""
_SPACING = 15.0
"""Pixels between two labels at least."""
_HEIGHT, _AREA = 300.0, 460.0
_TOP, _LEFT, _BOTTOM = 40.0, 56.0, 48.0
_LABEL = 24
"""Characters of a label, about."""
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Line:
    """A line: what it is called, and its value at each size; None where it has none."""

    name: str
    values: Sequence[float | None]


def line_plot(title: str, across: str, sizes: Sequence[int], lines: Sequence[Line]) -> str:
    """An SVG with ``sizes`` from left to right, on a logarithmic scale. Each line is labelled at its end."""
    known = [value for line in lines for value in line.values if value is not None]
    ticks = _ticks(min(known, default=0.0), max(known, default=1.0))
    height = max(_HEIGHT, _SPACING * len(lines))
    names = [shown(line.name, _LABEL) for line in lines]
    right = 30 + _CHARACTER * max(map(width, names), default=0)
    total_width, total_height = _LEFT + _AREA + right, _TOP + height + _BOTTOM

    def x(size: int) -> float:
        first, last = math.log(sizes[0]), math.log(sizes[-1])
        share = (math.log(size) - first) / (last - first) if last > first else 0.5
        return _LEFT + 12 + share * (_AREA - 24)

    def y(value: float) -> float:
        return _TOP + height - (value - ticks[0]) / (ticks[-1] - ticks[0]) * height

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_width:.0f}" height="{total_height:.0f}" '
        f'viewBox="0 0 {total_width:.0f} {total_height:.0f}" font-family="sans-serif" font-size="{_FONT}" '
        'role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        _text(_LEFT, 22, title, extra=' font-size="14"'),
        *_grid(ticks, [y(tick) for tick in ticks]),
        *_axis(across, [(x(size), f"{size:,}") for size in sizes], _TOP + height),
    ]
    ends = []
    for number, line in enumerate(lines):
        colour = _COLOURS[number % len(_COLOURS)]
        dash = _DASHES[number // len(_COLOURS) % len(_DASHES)]
        points = [(x(n), y(v)) for n, v in zip(sizes, line.values, strict=True) if v is not None]
        parts += _drawn(points, colour, dash)
        if points:
            ends.append((points[-1], names[number], colour))
    parts += _labels(ends, _TOP + height)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _ticks(lowest: float, highest: float) -> list[float]:
    """About six round numbers that have all values between the first and the last."""
    span = (highest - lowest) or abs(highest) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 6))
    step = next(step for factor in _STEPS if (step := factor * power) >= span / 6)
    first, last = math.floor(lowest / step), math.ceil(highest / step)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def _text(x: float, y: float, text: str, *, anchor: str = "start", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(text)}</text>'


def _grid(ticks: Sequence[float], heights: Sequence[float]) -> list[str]:
    parts = []
    for tick, at in zip(ticks, heights, strict=True):
        parts.append(f'<path d="M{_LEFT:.1f} {at:.1f}h{_AREA:.1f}" stroke="#ddd"/>')
        parts.append(_text(_LEFT - 8, at + 4, f"{round(tick, 9):,g}", anchor="end", extra=' fill="#444"'))
    return parts


def _axis(across: str, places: Sequence[tuple[float, str]], bottom: float) -> list[str]:
    """The sizes below the lines; those that would touch the one before are left out."""
    parts = [f'<path d="M{_LEFT:.1f} {bottom:.1f}h{_AREA:.1f}" stroke="#444"/>']
    end = 0.0
    for at, label in places:
        parts.append(f'<path d="M{at:.1f} {bottom:.1f}v4" stroke="#444"/>')
        half = _CHARACTER * len(label) / 2
        if at - half > end:
            parts.append(_text(at, bottom + 18, label, anchor="middle", extra=' fill="#444"'))
            end = at + half + 4
    parts.append(_text(_LEFT + _AREA / 2, bottom + 38, across, anchor="middle"))
    return parts


def _drawn(points: Sequence[tuple[float, float]], colour: str, dash: str) -> list[str]:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    line = f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dashed}/>'
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.8" fill="{colour}"/>' for x, y in points]
    return [line, *dots] if points else []


def _labels(ends: Sequence[tuple[tuple[float, float], str, str]], bottom: float) -> list[str]:
    """The names beside the ends of their lines, moved up or down where they would lie on one another."""
    ordered = sorted(ends, key=lambda end: end[0][1])
    places = _apart([y for (_, y), *_ in ordered], bottom)
    parts = []
    for place, ((x, y), name, colour) in zip(places, ordered, strict=True):
        start = _LEFT + _AREA + 14
        faint = f'stroke="{colour}" stroke-width="0.8" opacity="0.6"'
        parts.append(f'<path d="M{x + 4:.1f} {y:.1f}L{start - 3:.1f} {place:.1f}" {faint}/>')
        parts.append(_text(start, place + 4, name, extra=f' fill="{colour}"'))
    return parts


def _apart(wanted: Sequence[float], bottom: float) -> list[float]:
    """Places that are ``_SPACING`` apart, and as near as they can be to those wanted, which ascend."""
    # Labels that would touch become a group, whose middle stays where the middle of the wanted places is.
    groups: list[list[float]] = []
    tops: list[float] = []
    for place in wanted:
        groups.append([place])
        tops.append(place)
        while len(groups) > 1 and tops[-2] + _SPACING * len(groups[-2]) > tops[-1]:
            groups[-2:] = [groups[-2] + groups[-1]]
            half = _SPACING * (len(groups[-1]) - 1) / 2
            tops[-2:] = [sum(groups[-1]) / len(groups[-1]) - half]
    places = [
        top + _SPACING * at for top, group in zip(tops, groups, strict=True) for at in range(len(group))
    ]
    # Into the plot: it is high enough for all of them.
    for number, place in enumerate(places):
        places[number] = max(place, _TOP + _SPACING * number)
    for number, place in enumerate(reversed(places), start=1):
        places[-number] = min(place, bottom - _SPACING * (number - 1))
    return places
