"""Tables of plain text and of HTML, for people."""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Sequence
from html import escape
from typing import TYPE_CHECKING, Protocol

__all__ = ["html_table", "pretty", "quoted", "shortened", "shown", "table", "visible", "width"]

if TYPE_CHECKING:

    class Printer(Protocol):
        """What IPython passes to ``_repr_pretty_``."""

        def text(self, text: str, /) -> object: ...


_CELL = 60
"""Characters of a cell, about: a text may be long."""


def table(rows: Sequence[Sequence[str]], *, right: Container[int] = ()) -> str:
    """The rows in columns that are as wide as what is in them, columns ``right`` set to the right."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for column, (cell, wide) in enumerate(zip(row, widths, strict=True)):
            fill = " " * (wide - width(cell))
            cells.append(fill + cell if column in right else cell + fill)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def html_table(rows: Sequence[Sequence[str]], *, right: Container[int] = ()) -> str:
    """The same as a table of HTML, for notebooks; the first row is the head. Spaces in a cell stay."""

    def line(row: Sequence[str], tag: str) -> str:
        sides = ("right" if column in right else "left" for column in range(len(row)))
        cells = (
            f'<{tag} style="text-align: {side}; white-space: pre-wrap">{escape(cell)}</{tag}>'
            for cell, side in zip(row, sides, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    head, *body = rows
    lines = [line(head, "th"), "</thead>", "<tbody>", *(line(row, "td") for row in body)]
    return "\n".join(["<table>", "<thead>", *lines, "</tbody>", "</table>"])


def pretty(shown: object, printer: Printer, cycle: bool) -> None:
    """Print ``shown`` as ``print`` does. It holds no objects that could hold it."""
    printer.text(f"{type(shown).__name__}(...)" if cycle else str(shown))


def visible(text: str) -> str:
    """``text`` with what would not be seen, or move the cursor, written as an escape."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def shown(text: str, longest: int = _CELL) -> str:
    """``text`` as far as it fits into a cell."""
    return shortened([visible(char) for char in text[: longest + 1]], "", longest)


def quoted(text: str, longest: int = _CELL) -> str:
    """The same in quotes."""
    return f'"{shown(text, longest)}"'


def shortened(parts: Sequence[str], between: str, longest: int = _CELL) -> str:
    """The parts in a row, as far as they fit into a cell."""
    whole = between.join(parts)
    if len(whole) <= longest:
        return whole
    kept = parts[0]
    for part in parts[1:]:
        if len(kept) + len(between) + len(part) >= longest:
            break
        kept += between + part
    return kept + between + "…"


def width(text: str) -> int:
    """Columns that ``text`` takes on a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) != 0 for char in text)
