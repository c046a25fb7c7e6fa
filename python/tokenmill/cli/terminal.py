"""For people: aligned tables, coloured tokens. Programs get ``--json`` instead."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

from .streams import is_terminal

__all__ = ["bar_wanted", "colour_wanted", "columns_of", "painted", "quoted", "shortened", "table", "visible"]

_SHADES = ("48;5;24", "48;5;58", "48;5;53", "48;5;22", "48;5;88", "48;5;60")
_WHITE = "38;5;231"
_CELL = 24
"""The most characters of a cell, about, since a token may be very long."""


def bar_wanted() -> bool:
    """A progress bar is shown on a terminal, where rich is installed."""
    from importlib.util import find_spec

    return is_terminal(sys.stderr) and find_spec("rich") is not None


def colour_wanted(when: Literal["always", "never", "auto"], out: str | None = None) -> bool:
    """With ``auto``: on a terminal, unless ``NO_COLOR`` or ``TERM=dumb`` asks for plain text."""
    if when != "auto":
        return when == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return out is None and is_terminal(sys.stdout) and not plain


def visible(text: str) -> str:
    """``text`` with what would move the cursor, or not be seen, written as an escape."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def quoted(token: bytes) -> str:
    """A token as people read it: its text in quotes, or escapes where its bytes are no whole character."""
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return shortened([visible(char) for char in token.decode("utf-8", "backslashreplace")])
    return shortened([visible(char) for char in text], quote='"')


def shortened(parts: Sequence[str], between: str = "", *, quote: str = "") -> str:
    """The parts joined, if they fit into a cell; else equal ones as `20 ×55`, others cut off with `…`."""
    whole = between.join(parts)
    if len(whole) <= _CELL:
        return quote + whole + quote
    if len(set(parts)) == 1:
        return f"{quote}{parts[0]}{quote} ×{len(parts)}"
    kept, taken = "", 0
    while len(longer := kept + (between if taken else "") + parts[taken]) < _CELL:
        kept, taken = longer, taken + 1
    return f"{quote}{kept}…{quote}"


def painted(tokens: Iterable[bytes]) -> str:
    """The tokens one after the other, each in another shade than its neighbour.

    A line end is shown as an escape and then written, so that the text keeps its lines; bytes that are no
    whole character are escapes too.
    """
    parts = []
    for number, token in enumerate(tokens):
        shade = f"\x1b[{_WHITE};{_SHADES[number % len(_SHADES)]}m"
        lines = token.decode("utf-8", "backslashreplace").split("\n")
        shown = [visible(line) + "\\n" for line in lines[:-1]] + [visible(lines[-1])]
        parts.append("\n".join(f"{shade}{line}\x1b[0m" if line else "" for line in shown))
    return "".join(parts)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int], rich: bool) -> str:
    """A table as text, columns ``right`` set to the right.

    On a terminal (``rich``) it has rules and fits the window, where the library rich is installed.
    """
    if rich:
        try:
            return _rich_table(header, rows, right)
        except ImportError:
            pass
    widths = [max(map(columns_of, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, *rows):
        cells = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            fill = " " * (width - columns_of(cell))
            cells.append(fill + cell if column in right else cell + fill)
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def columns_of(text: str) -> int:
    """Columns that ``text`` takes on a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) != 0 for c in text)


def _rich_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column, name in enumerate(header):
        shown.add_column(Text(name), justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*map(Text, row))
    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(shown)
    return captured.get()
