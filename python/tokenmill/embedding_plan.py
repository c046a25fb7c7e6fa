"""What an embedding matrix needs for a tokenizer: new, unused and padding rows, and values for new ones.

A model whose matrix has fewer rows than a tokenizer has ids fails at the first id beyond it; one whose new
rows are left as they were made is slow to learn them. Nothing here touches a model: the plan is data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, final

from ._forks import waited_for
from ._table import html_table, pretty, shown, table

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._core import Tokenizer
    from ._table import Printer

__all__ = ["EmbeddingPlan", "NewRow"]

_LISTED = 20
"""New rows that a table shows."""


@final
@dataclass(frozen=True, slots=True)
class NewRow:
    """A row that the matrix does not have yet."""

    id: int
    token: str
    """The written form."""
    mean_of: tuple[int, ...]
    """The ids with a row that its text would have without this token: the mean of their rows is a good
    initial value. Empty where there are none; then take the mean of all rows. With ``id_map`` these are
    new ids too."""


@final
@dataclass(frozen=True, slots=True)
class EmbeddingPlan:
    """What ``Tokenizer.embedding_plan`` gives."""

    rows: int
    """The rows that the matrix has."""
    needed: int
    """The rows that the ids need: one more than the largest id."""
    new_rows: int
    """The rows to resize to: ``rows`` or ``needed``, whichever is more, rounded up to ``multiple_of``;
    with ``id_map`` as many as are ``needed``."""
    multiple_of: int
    tied: bool
    """Whether the output matrix is the same one. If not, it is resized alike."""
    new: tuple[NewRow, ...]
    """Tokens whose id has no row yet."""
    unused: tuple[tuple[int, int], ...]
    """Ranges ``(start, stop)`` of rows below ``needed`` that no token has."""
    padding: tuple[int, int]
    """The rows from ``needed`` on, which no id reaches: ``(start, stop)``."""
    sources: tuple[int, ...] | None = None
    """With ``id_map``: for each row from 0 to ``needed`` the row of the old matrix that it has, -1 for
    none. Without it each row stays where it is."""

    @property
    def fits(self) -> bool:
        """Whether every id has a row already."""
        return not self.new and self.needed <= self.rows

    @property
    def out_of_range(self) -> tuple[int, ...]:
        """The ids that fail without resizing."""
        return tuple([row.id for row in self.new])

    def moved(self, matrix: npt.ArrayLike) -> npt.NDArray[Any]:
        """The matrix for this tokenizer: ``new_rows`` rows, from a ``matrix`` of ``rows`` rows.

        The row of each token is where its id is now, bit for bit. A new row is the mean of the rows that
        ``new`` names for it, or of all rows where it names none. Rows that no token has are as in
        ``matrix``, or 0 where there is none; with ``sources`` all of them are 0. Raises ``ValueError``
        for another number of rows.
        """
        with waited_for:
            import numpy as np

        old = np.asarray(matrix)
        if old.ndim == 0 or old.shape[0] != self.rows:
            found = old.shape[0] if old.ndim else 0
            raise ValueError(f"the matrix has {found} rows, but the plan is for {self.rows}")
        moved = np.zeros((self.new_rows, *old.shape[1:]), old.dtype)
        if self.sources is None:
            moved[: self.rows] = old
        else:
            sources = np.asarray(self.sources, np.int64)
            (kept,) = np.nonzero(sources >= 0)
            moved[kept] = old[sources[kept]]
        for row in self.new:
            if row.mean_of:
                moved[row.id] = moved[list(row.mean_of)].mean(0)
            elif self.rows:
                moved[row.id] = old.mean(0)
        return moved

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists and numbers."""
        facts = asdict(self)
        facts["sources"] = None if self.sources is None else list(self.sources)
        facts["new"] = [{**row, "mean_of": list(row["mean_of"])} for row in facts["new"]]
        facts["unused"] = [list(span) for span in self.unused]
        facts["padding"] = list(self.padding)
        return facts

    def __str__(self) -> str:
        return table(self._table())

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        pretty(self, printer, cycle)

    def _repr_html_(self) -> str:
        return html_table(self._table())

    def _table(self) -> list[tuple[str, str, str]]:
        verdict = "every id has a row" if self.fits else f"{len(self.new)} ids have no row"
        unused = sum(stop - start for start, stop in self.unused)
        start, stop = self.padding
        matrices = (
            "the input matrix, which is the output matrix too"
            if self.tied
            else "the input and the output matrix"
        )
        rows = [
            ("rows", "number", "what"),
            ("now", f"{self.rows:,}", verdict),
            ("needed", f"{self.needed:,}", "one more than the largest id"),
            ("resize to", f"{self.new_rows:,}", f"a multiple of {self.multiple_of}; {matrices}"),
            ("unused", f"{unused:,}", _spans(self.unused)),
            ("padding", f"{stop - start:,}", _spans((self.padding,) if stop > start else ())),
        ]
        for row in self.new[:_LISTED]:
            means = ", ".join(map(str, row.mean_of)) or "all rows"
            rows.append(("new", f"{row.id:,}", f"{shown(row.token)}: the mean of {means}"))
        if len(self.new) > _LISTED:
            rows.append(("new", "…", f"and {len(self.new) - _LISTED:,} more"))
        return rows


def _spans(spans: tuple[tuple[int, int], ...]) -> str:
    listed = [str(start) if stop == start + 1 else f"{start}-{stop - 1}" for start, stop in spans[:5]]
    return ", ".join(listed) + (", …" if len(spans) > 5 else "")


def plan(
    tok: Tokenizer,
    rows: int,
    *,
    tied: bool = False,
    multiple_of: int = 64,
    id_map: Iterable[int] | None = None,
) -> EmbeddingPlan:
    """See ``Tokenizer.embedding_plan``."""
    for name, number, least in (("rows", rows, 0), ("multiple_of", multiple_of, 1)):
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"{name} must be an integer, not {type(number).__name__}")
        if number < least:
            raise ValueError(f"{name}={number} is below {least}")
    used = sorted(set(tok.vocab.values()))
    needed = used[-1] + 1 if used else 0
    unused = []
    for before, after in zip([-1, *used], used, strict=False):
        if after > before + 1:
            unused.append((before + 1, after))
    sources = None if id_map is None else _sources(id_map, rows, needed)
    without = [id for id in used if (id >= rows if sources is None else sources[id] < 0)]
    parts = _Parts(tok, without)
    new = tuple([NewRow(id, tok.id_to_token(id) or "", parts.of(id)) for id in without])
    size = max(needed, rows) if sources is None else needed
    new_rows = -(-size // multiple_of) * multiple_of
    padding = (needed, max(needed, new_rows))
    return EmbeddingPlan(rows, needed, new_rows, multiple_of, tied, new, tuple(unused), padding, sources)


def _sources(id_map: Iterable[int], rows: int, needed: int) -> tuple[int, ...]:
    """For each new row the old one."""
    sources = [-1] * needed
    for old, new in enumerate(id_map):
        if new < 0 or old >= rows:
            continue
        if new >= needed:
            raise ValueError(f"id_map[{old}] is {new}, which is no id of this tokenizer")
        if sources[new] < 0:  # of two old ids that are one token now the first counts
            sources[new] = old
    return tuple(sources)


class _Parts:
    """The ids that the text of a token would have without that token."""

    def __init__(self, tok: Tokenizer, without: list[int]) -> None:
        self._tok, self._without = tok, frozenset(without)
        self._added = frozenset(tok.added_tokens.values())
        # The ordinary tokens that have a row, by their bytes; nobody asks where all have one.
        ids = [id for id in tok.vocab.values() if id not in self._without and id not in self._added]
        ids = ids if without else []
        self._known = {tok.token_bytes(id): id for id in sorted(ids, reverse=True)}
        self._longest = max(map(len, self._known), default=0)

    def of(self, id: int) -> tuple[int, ...]:
        """The ids, all of which have a row; none where there are no such ids."""
        if id in self._added:
            text = self._tok.decode([id])
            ids = self._tok.encode(text, untrusted=[(0, len(text))], protected=[id]) if text else []
            # The unknown token says nothing of the text.
            ids = [other for other in ids if other != self._tok.unk_token_id]
            return () if self._without.intersection(ids) else tuple(ids)
        # Encoding would give the token itself. So, from the left: the longest tokens that have a row.
        rest, ids = self._tok.token_bytes(id), []
        while rest:
            lengths = range(min(self._longest, len(rest)), 0, -1)
            length = next((length for length in lengths if rest[:length] in self._known), 0)
            if not length:
                return ()
            ids.append(self._known[rest[:length]])
            rest = rest[length:]
        return tuple(ids)
