"""Sums of counted pretokens, as they arrive."""

from __future__ import annotations

from collections.abc import Iterable

from .. import _core
from .._core import PretokenTable

__all__ = ["MOST", "NOTHING", "Figures", "PretokenSum", "sum_of_figures"]

Figures = tuple[int, int, int, int, int]
"""Documents, bytes, documents left out, documents mended, pretokens."""

NOTHING: Figures = (0, 0, 0, 0, 0)

MOST = 2**64 - 1
"""Where figures stay that would pass it. Counts never do: a larger one is an error."""


def sum_of_figures(parts: Iterable[Figures]) -> Figures:
    """What was read in all parts."""
    columns = list(zip(*parts, strict=True)) or [()] * len(NOTHING)
    documents, size, skipped, replaced, pretokens = (min(sum(column), MOST) for column in columns)
    return documents, size, skipped, replaced, pretokens


class PretokenSum:
    """Tables that are summed as they come.

    Each that waits is less than half as long as the one before, so that no pretoken is copied often.
    """

    def __init__(self) -> None:
        self._waiting: list[PretokenTable] = []

    def add(self, table: PretokenTable) -> None:
        """Raises ``TrainingError`` for a sum above 64 bits."""
        while self._waiting and len(self._waiting[-1]) < 2 * len(table):
            table = self._waiting.pop().merged(table)
        self._waiting.append(table)

    def result(self) -> PretokenTable:
        """The sum of all so far."""
        while len(self._waiting) > 1:
            last = self._waiting.pop()
            self._waiting.append(self._waiting.pop().merged(last))
        if not self._waiting:
            return _core.PretokenTable.from_columns(b"", bytes(8), b"")
        return self._waiting[0]
