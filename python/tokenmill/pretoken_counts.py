"""Counted pretokens: what training learns from, counted apart from it, in parts, on any number of machines.

``count_pretokens`` makes them, ``train(counts=...)`` learns from them.
"""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, final

from ._core import PretokenTable
from ._counts.facts import CountedFacts, check_total, read_facts
from ._counts.files import as_plain, check_parts, from_plain, load_counts, save_counts
from ._counts.sums import PretokenSum
from ._counts.tables import as_arrow, from_arrow
from ._reading import common_facts
from ._train_inputs import misuse

__all__ = ["PretokenCounts", "merge_counts"]

_AT_ONCE = 1024
"""Pretokens that ``items`` makes at once."""


@final
class PretokenCounts:
    """The distinct pretokens of a corpus, sorted by their bytes, with how often each occurs (64 bits, exact).

    ``count_pretokens`` makes them, ``load`` and ``from_arrow`` read them, ``merge_counts`` puts several
    together. ``train(counts=...)`` learns from them what it would learn from the texts. They never change,
    and can be pickled. They know how the texts were read (``facts``), so that counts that do not fit
    together are refused.

    >>> counts = tokenmill.count_pretokens(texts=["low lower", "low"], split="gpt2")
    >>> list(counts.items())
    [(b' lower', 1), (b'low', 2)]
    >>> counts
    PretokenCounts(distinct=2, pretokens=3, documents=2, split='gpt2')
    """

    __slots__ = ("_facts", "_table")

    _facts: CountedFacts
    _table: PretokenTable

    def __init__(self) -> None:
        raise TypeError(
            "PretokenCounts are made by count_pretokens and merge_counts, and read by PretokenCounts.load "
            "and PretokenCounts.from_arrow"
        )

    @classmethod
    def _of(cls, table: PretokenTable, facts: CountedFacts) -> PretokenCounts:
        counts = cls.__new__(cls)
        counts._table, counts._facts = table, facts
        return counts

    # ---- what they are of ----------------------------------------------------------------------

    @property
    def facts(self) -> dict[str, Any]:
        """All that is known beside the counts, as a new dict that JSON can hold.

        How texts were read (``normalizer`` and ``split`` with their options, ``special_tokens``, ...),
        under the names of the options; ``min_count``; what was read (``documents``, ``bytes``, ``skipped``,
        ``replaced``, ``pretokens``); ``format`` and ``version``.
        """
        facts: dict[str, Any] = json.loads(self._facts.as_json())
        return facts

    @property
    def documents(self) -> int:
        """Documents counted."""
        return self._facts.figures[0]

    @property
    def bytes(self) -> int:
        """Bytes of these documents, special tokens included."""
        return self._facts.figures[1]

    @property
    def skipped(self) -> int:
        """Documents left out because they are not UTF-8 (``errors="skip"``)."""
        return self._facts.figures[2]

    @property
    def replaced(self) -> int:
        """Documents in which U+FFFD replaces invalid UTF-8 (``errors="replace"``)."""
        return self._facts.figures[3]

    @property
    def pretokens(self) -> int:
        """Pretokens counted, each as often as it occurs, with those that ``min_count`` dropped.

        Of this and the figures above, what would pass 2**64 - 1 stays there.
        """
        return self._facts.figures[4]

    @property
    def total(self) -> int:
        """The sum of all counts; it may be larger than 64 bits."""
        return self._table.total

    @property
    def min_count(self) -> int | None:
        """What occurred less often was dropped; None where nothing was."""
        return self._facts.min_count

    @property
    def normalizer(self) -> str:
        """The normalizer that texts went through."""
        return str(self._facts.reading["normalizer"])

    @property
    def split(self) -> str | None:
        """What cut the texts; None for what SentencePiece cuts at."""
        split: str | None = self._facts.reading.get("split")
        return split

    @property
    def special_tokens(self) -> list[str]:
        """The special tokens that were cut out, also roles and reserved ones, in the order of their ids."""
        return list(self._facts.reading["special_tokens"])

    @property
    def errors(self) -> str:
        """What happened to documents that are not UTF-8."""
        return str(self._facts.reading["errors"])

    # ---- the counts ----------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._table)

    def items(self) -> Iterator[tuple[builtins.bytes, int]]:
        """Each pretoken with its count, in the order of their bytes. They are made as they are asked for."""
        for start in range(0, len(self._table), _AT_ONCE):
            yield from self._table.items(start, start + _AT_ONCE)

    def __eq__(self, other: object, /) -> bool:
        if not isinstance(other, PretokenCounts):
            return NotImplemented
        return self._facts == other._facts and self._table == other._table

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        cut = f"split={self.split!r}" if self._facts.reading["dialect"] is None else "dialect='sentencepiece'"
        rare = "" if self.min_count is None else f", min_count={self.min_count}"
        figures = f"distinct={len(self)}, pretokens={self.pretokens}, documents={self.documents}"
        return f"PretokenCounts({figures}, {cut}{rare})"

    def __reduce__(self) -> tuple[object, ...]:
        return (_restored, (b"".join(as_plain(self._table, self._facts)),))

    # ---- stores --------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a local file or one at a URL (extra ``remote``), completely or not at all.

        A name that ends in .parquet makes a Parquet file (extra ``arrow``), and so does one without an ending
        where pyarrow is installed; any other the plain format, which docs/counts.md describes. The same
        counts give the same bytes in the plain format.
        """
        save_counts(path, self._table, self._facts)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> PretokenCounts:
        """Counts that ``save`` wrote, or a folder of parts, which are summed.

        A folder holds files of counts; names that begin with ``_`` or a full stop are no parts. Parquet
        files of others (columns ``pretoken`` and ``count``) need the facts of all parts beside them:
        ``_facts.json`` holds what ``facts`` gives, with the figures of the whole.

        Raises ``FormatError`` for a damaged file or part, and where pretokens are missing;
        ``TrainingError`` for parts that contradict each other, and for a sum above 64 bits.
        """
        return PretokenCounts._of(*load_counts(path))

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table`` with the columns pretoken (large_binary) and count (uint64).

        The facts are in the metadata of its schema, as JSON. Needs the extra ``arrow``.
        """
        return as_arrow(self._table, self._facts)

    @staticmethod
    def from_arrow(data: Any, *, facts: Mapping[str, Any] | None = None) -> PretokenCounts:
        """Counts from what speaks Arrow: a table, batch, reader or frame with the columns pretoken and count.

        Rows need not be sorted; the counts of equal pretokens are summed. ``pretoken`` is binary or a string,
        ``count`` an integer or a decimal. ``facts``, as the property of this name gives them, are needed
        where the schema has none. Needs the extra ``arrow``.

        Raises ``TrainingError`` for what is no table of counts, and for a sum above 64 bits;
        ``FormatError`` for facts that are none, or that tell of more pretokens.
        """
        table, found = from_arrow(data)
        given = None if facts is None else read_facts(facts)
        if found is not None and given is not None:
            common_facts([found.reading, given.reading], ["the metadata", "facts="])
        known = given or found
        if known is None:
            raise misuse(
                "the schema's metadata says nothing of texts; pass facts=, what PretokenCounts.facts gives"
            )
        check_total(known, table)
        return PretokenCounts._of(table, known)


def gathered(
    counts: PretokenCounts | str | os.PathLike[str] | Iterable[PretokenCounts | str | os.PathLike[str]],
) -> tuple[PretokenTable, CountedFacts]:
    """What ``train(counts=...)`` is given, as one table, and its facts."""
    if isinstance(counts, PretokenCounts):
        return counts._table, counts._facts
    if isinstance(counts, str | os.PathLike):
        return load_counts(counts)
    if isinstance(counts, bytes | Mapping) or not isinstance(counts, Iterable):
        raise TypeError(
            f"counts must be PretokenCounts, a path or a list of these, not {type(counts).__name__}"
        )
    return gathered(merge_counts(counts))


def _restored(plain: bytes) -> PretokenCounts:
    return PretokenCounts._of(*from_plain(plain))


def merge_counts(
    many: Iterable[PretokenCounts | str | os.PathLike[str]], *, min_count: int | None = None
) -> PretokenCounts:
    """The sum of counts, or of files and folders of them; the same in any order.

    ``many`` may be a generator: no more is held than the sum and a few of its parts. ``min_count`` drops,
    of the whole sum, what occurs less often; such counts cannot be summed again.

    Raises ``TrainingError`` for counts that were not read in the same way (the message has the difference),
    and for a sum above 64 bits, naming the pretoken.

    >>> parts = [tokenmill.count_pretokens(texts=[text]) for text in ["low lower", "low"]]
    >>> list(tokenmill.merge_counts(parts, min_count=2).items())
    [(b'low', 2)]
    """
    if isinstance(many, str | bytes | os.PathLike | PretokenCounts):
        raise TypeError(f"many must be an iterable of counts, not {type(many).__name__}")
    check_min_count(min_count)
    total = PretokenSum()
    facts: list[CountedFacts] = []
    names: list[str] = []
    for number, one in enumerate(many):
        if isinstance(one, str | os.PathLike):
            name, counts = os.fspath(one), PretokenCounts.load(one)
        elif isinstance(one, PretokenCounts):
            name, counts = f"counts {number}", one
        else:
            raise TypeError(f"many[{number}] must be PretokenCounts or a path, not {type(one).__name__}")
        facts.append(counts._facts)
        names.append(name)
        if number:
            check_parts(facts, names)  # before the work
        total.add(counts._table)
    table, merged = total.result(), check_parts(facts, names)
    return PretokenCounts._of(*without_rare(table, merged, min_count))


def check_min_count(min_count: object) -> None:
    """A number from 1 on, or None."""
    if min_count is None:
        return
    if isinstance(min_count, bool) or not isinstance(min_count, int):
        raise TypeError(f"min_count must be int or None, not {type(min_count).__name__}")
    if not 1 <= min_count < 2**64:
        raise misuse(f"min_count={min_count} is not between 1 and 2**64 - 1")


def without_rare(
    table: PretokenTable, facts: CountedFacts, min_count: int | None
) -> tuple[PretokenTable, CountedFacts]:
    """The same without what occurs less often."""
    if min_count is None or min_count <= (facts.min_count or 1):
        return table, facts
    return table.at_least(min_count), facts._replace(min_count=min_count)
