"""The pieces of ``format % values``: which part of the result came from what."""

from __future__ import annotations

import re
from typing import Any

from .sources import COMPUTED, source_of

__all__ = ["origin_of", "percent_pieces", "percent_widths"]

#: One conversion of a format: key, flags, width, precision, length, letter.
_CONVERSION = re.compile(
    r"%(?:\((?P<key>[^()]*)\))?[-#0 +]*(?P<width>\*|\d*)(?:\.(?P<precision>\*|\d*))?[hlL]?(.)", re.S
)


def origin_of(value: Any) -> Any:
    """What a formatted value came from: itself where it is a string, else its source."""
    if isinstance(value, str):
        return value
    if type(value) in (int, float, bool, type(None)):
        return COMPUTED
    return source_of(value)


def percent_pieces(form: Any, values: Any) -> list[tuple[str, Any]] | None:
    """Pairs of a piece and the string or source it came from; None for what is too unusual to follow.

    The caller compares the joined pieces with the text that ``%`` itself made.
    """
    plain = str.__str__(form)
    pieces: list[tuple[str, Any]] = []
    at = number = 0
    try:
        for found in _CONVERSION.finditer(plain):
            if found.start() > at:
                pieces.append((plain[at : found.start()], form[at : found.start()]))
            at = found.end()
            if found[4] == "%":
                pieces.append(("%", form[at - 1 : at]))
                continue
            if "*" in (found["width"], found["precision"]):
                return None
            if found["key"] is not None:
                value = values[found["key"]]
                spec = plain[found.start() : found.end()].replace(f"({found['key']})", "", 1)
            else:
                value = values[number] if isinstance(values, tuple) else values
                spec, number = plain[found.start() : found.end()], number + 1
            piece = spec % (value,)
            pieces.append((piece, origin_of(value)))
    except (TypeError, ValueError, LookupError):
        return None
    if at < len(plain):
        pieces.append((plain[at:], form[at:]))
    return pieces


def percent_widths(form: str, values: Any) -> int:
    """An upper bound of the characters that widths and precisions of a format ask for."""
    total = 0
    for found in _CONVERSION.finditer(form):
        for part in (found["width"], found["precision"]):
            if part == "*":
                given = values if isinstance(values, tuple) else (values,)
                total += max((abs(int(v)) for v in given if isinstance(v, int)), default=0)
            elif part:
                total += int(part[:20])
    return total
