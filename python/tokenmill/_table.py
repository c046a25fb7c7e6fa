"""Tables of plain text, for people."""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Sequence

__all__ = ["quoted", "shortened", "shown", "table", "visible", "width"]

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
