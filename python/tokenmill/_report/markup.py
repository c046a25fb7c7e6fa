"""Parts of HTML that sections share. What is not escaped yet comes as ``text`` or ``name``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from .._table import visible
from .plots import MARKERS

__all__ = ["bdi", "cells", "folded", "key", "legend", "section", "table", "token"]


def bdi(text: str) -> str:
    """A text of others: escaped, what is not seen made visible, without effect on what is around it."""
    return f"<bdi>{escape(visible(text))}</bdi>"


def token(shown: str) -> str:
    """A token in a table; its spaces stay."""
    # Of spaces alone nothing would be seen, or read aloud.
    seen = visible(shown) if shown.strip() else visible(shown).replace(" ", "␣")
    return f'<bdi class="token">{escape(seen)}</bdi>'


def section(id: str, title: str, body: str) -> str:
    """A section that links can lead to."""
    return f'<section id="{id}" aria-labelledby="{id}-title"><h2 id="{id}-title">{title}</h2>{body}</section>'


def folded(title: str, body: str) -> str:
    """What is not seen at first. Without scripts it is open: the script closes it."""
    return f'<details open class="folded"><summary>{title}</summary>{body}</details>'


def table(
    label: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)
) -> str:
    """A table that scrolls by itself on a narrow screen; cells are HTML, columns ``left`` are words."""

    def classed(column: int) -> str:
        return "" if column in left else ' class="n"'

    heads = "".join(f'<th scope="col"{classed(column)}>{cell}</th>' for column, cell in enumerate(head))
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(f"<td{classed(column)}>{cell}</td>" for column, cell in enumerate(row[1:], start=1))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(label)}, table">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def key(number: int) -> str:
    """The mark of a tokenizer in plots."""
    return (
        f'<span class="key" style="color:var(--series-{number})" aria-hidden="true">{MARKERS[number]}</span> '
    )


def legend(names: Sequence[str]) -> str:
    """Which mark stands for which tokenizer."""
    listed = "".join(f"<li>{key(number)}{bdi(name)}</li>" for number, name in enumerate(names))
    return f'<ul class="legend" aria-label="Tokenizers">{listed}</ul>'


def cells(lengths: Mapping[str, int]) -> str:
    """Shortest, median and longest."""
    return f"{lengths['shortest']:,} · {lengths['median']:,} · {lengths['longest']:,}"
