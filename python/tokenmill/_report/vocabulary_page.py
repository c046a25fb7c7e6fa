"""The sections on what a vocabulary is made of, and on its size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from . import plots
from .markup import bdi, folded, legend, section, table
from .measures import LONGEST
from .summary import figure, percent

__all__ = ["curve_section", "vocabulary_section"]

_KINDS = 12
"""Kinds that have a colour; the last one is all others."""


def vocabulary_section(numbers: Mapping[str, Any]) -> str:
    """What tokens are made of and how long they are."""
    made = numbers["tokenizers"]
    names = [own["name"] for own in made]
    shares = [_shares(own["vocabulary"]) for own in made]
    weight: Counter[str] = Counter()
    for own in shares:
        weight.update(own)
    ordered = [kind for kind, _ in sorted(weight.items(), key=lambda item: (-item[1], item[0]))]
    kinds, rest = ordered[: _KINDS - 1], ordered[_KINDS - 1 :]
    label = "What the vocabularies are made of, the same figures as in the table"
    drawn = [{**own, "others": sum(own.get(kind, 0.0) for kind in rest)} for own in shares]
    svg = plots.stacked(label, names, drawn, [*kinds, "others"])
    swatches = "".join(
        f'<li><span class="swatch" style="background:var(--kind-{number})"></span> {bdi(kind)}</li>'
        for number, kind in enumerate([*kinds, "others"] if rest else kinds)
    )
    both = list(zip(made, shares, strict=True))
    rows = [
        [bdi(kind), *(_count(own["vocabulary"].get(kind, 0), part.get(kind, 0.0)) for own, part in both)]
        for kind in ordered
    ]
    head = ["Made of", *map(bdi, names)]
    body = (
        '<div class="plots"><figure><figcaption>What tokens are made of</figcaption>'
        f'{svg}<ul class="legend kinds" aria-label="Kinds of tokens">{swatches}</ul></figure>'
        f"{_lengths(made)}</div>"
        + folded("What tokens are made of, as a table", table("What tokens are made of", head, rows))
        + folded("Lengths of tokens, as a table", _lengths_table(made))
    )
    return section("vocabulary", "What the vocabularies are made of", body)


def _shares(counts: Mapping[str, int]) -> dict[str, float]:
    total = sum(counts.values()) or 1
    return {kind: count / total for kind, count in counts.items()}


def _count(count: int, share: float) -> str:
    return f"{count:,} <small>{percent(share)}</small>" if count else "–"


def _in_percent(counts: list[int]) -> list[float]:
    total = sum(counts) or 1
    return [100 * count / total for count in counts]


def _lengths(made: list[Mapping[str, Any]]) -> str:
    drawn = []
    for key, title in (
        ("vocabulary", "Lengths of tokens in the vocabulary"),
        ("texts", "Lengths of tokens in the texts"),
    ):
        series = [list(enumerate(_in_percent(own["lengths"][key]), start=1)) for own in made]
        across = f"bytes of a token ({LONGEST} or more at the end)"
        svg = plots.lines(
            f"{title}, the same figures as in the table", series, across, "% of tokens", sizes=False
        )
        drawn.append(f"<figure><figcaption>{title}</figcaption>{svg}</figure>")
    return "".join(drawn)


def _lengths_table(made: list[Mapping[str, Any]]) -> str:
    head = ["Bytes"]
    for own in made:
        head += [f"{bdi(own['name'])}<small>vocabulary</small>", f"{bdi(own['name'])}<small>texts</small>"]
    rows = []
    for place in range(LONGEST):
        row = [f"{place + 1}" + " or more" * (place + 1 == LONGEST)]
        for own in made:
            row += [f"{own['lengths'][key][place]:,}" for key in ("vocabulary", "texts")]
        rows.append(row)
    return table("Lengths of tokens", head, rows)


def curve_section(numbers: Mapping[str, Any]) -> str:
    """Bytes a token by the size of the vocabulary."""
    made = numbers["tokenizers"]
    series = [own["curve"]["points"] for own in made]
    reasons = "".join(
        f"<li>{bdi(own['name'])}: {bdi(own['curve']['reason'])}</li>"
        for own in made
        if own["curve"]["reason"]
    )
    body = (
        "<p>The first merges of a byte-pair encoding are the tokenizer of a smaller size: where the curve is "
        "flat, more tokens shorten texts no longer.</p>"
    )
    if any(series):
        svg = plots.lines(
            "Bytes per token by the size of the vocabulary, the same figures as in the table",
            series, "size of the vocabulary", "bytes per token", sizes=True,
        )  # fmt: skip
        sizes = sorted({size for points in series for size, _ in points})
        cut = [own for own in made if own["curve"]["points"]]
        by_size = [dict(own["curve"]["points"]) for own in cut]
        rows = [[f"{size:,}", *(figure(own.get(size)) for own in by_size)] for size in sizes]
        head = ["Size", *(bdi(own["name"]) for own in cut)]
        body += legend([own["name"] for own in made])
        figures = table("Bytes per token by size", head, rows)
        body += (
            f'<div class="plots"><figure><figcaption>Bytes per token</figcaption>{svg}</figure>'
            f"<div>{figures}</div></div>"
        )
    if reasons:
        body += f"<p>These cannot be cut to a smaller size:</p><ul>{reasons}</ul>"
    return section("sizes", "Bytes per token by size of the vocabulary", body)
