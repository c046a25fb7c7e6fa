"""What a tokenizer says of its stages: what ``Tokenizer.plan`` and ``Tokenizer.audit`` give.

Both hold a part for each stage, in the order in which a text meets them: iterate over them, or ask
for one by its name. Printed, or shown by a notebook, they are tables for people; ``to_dict()`` is for
programs.

>>> import tokenmill
>>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
>>> tok.plan()["model"].path
'BPE over bytes, side by side'
>>> tok.audit(seconds=0.1)["decoding"].guarantee
'linear'
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal, TypeVar, final

from ._table import html_table, pretty, quoted, shown, table

if TYPE_CHECKING:
    from ._table import Printer

__all__ = ["Audit", "Guarantee", "Plan", "Stage", "StageAudit", "Worst"]

Guarantee = Literal["linear", "n log n", "quadratic", "bounded", "none"]
"""How the time of a stage grows with the length of a text, at worst.

``bounded``: up to a limit, beyond which the text is an error; ``none``: nothing is promised, as a
function of yours does it.
"""

_SAMPLE = 30
"""Characters of a text that are shown."""

_NUMBERS = (2, 3)
"""The columns of an audit that hold numbers."""

_Named = TypeVar("_Named", "Stage", "StageAudit")


@final
@dataclass(frozen=True, slots=True)
class Stage:
    """A stage, which way it goes (``path``), and what about the tokenizer decides that (``reason``)."""

    name: str
    path: str
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """Which way each stage goes from text to ids and back, and why."""

    stages: tuple[Stage, ...]

    @classmethod
    def _of(cls, rows: list[tuple[str, str, str]]) -> Plan:
        """From the plain tuples of the compiled part."""
        return cls(tuple(Stage(*row) for row in rows))

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def __len__(self) -> int:
        return len(self.stages)

    def __getitem__(self, name: str) -> Stage:
        return _named(self.stages, name)

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists and strings."""
        return {"stages": [asdict(stage) for stage in self.stages]}

    def __str__(self) -> str:
        return table(self._table())

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        """What IPython shows."""
        pretty(self, printer, cycle)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return html_table(self._table())

    def _table(self) -> list[tuple[str, str, str]]:
        rows = [(stage.name, stage.path, stage.reason) for stage in self.stages]
        return [("stage", "path", "reason"), *rows]


@final
@dataclass(frozen=True, slots=True)
class Worst:
    """The text with the steepest growth, of those that were tried on a stage.

    ``slope`` is d log cost / d log length over the last two doublings: 1 where twice the text costs
    twice as much, 2 where it costs four times as much; None where the stage failed before growth could
    be seen. ``measure`` says what the cost was: ``"work"``, which the stage counts itself and which is
    the same in every run, or ``"time"``, where that grew clearly faster. ``error`` is what the stage
    said of the text, if it was an error.
    """

    kind: str
    text: str = field(repr=False)
    slope: float | None
    measure: Literal["work", "time"] | None
    nanoseconds_per_byte: float | None
    error: str | None


@final
@dataclass(frozen=True, slots=True)
class StageAudit:
    """What is promised of a stage (``guarantee``, ``reason``), and the worst of the texts tried on it.

    ``texts`` is how many kinds there were: none, and no ``worst``, where a stage has nothing to do.
    """

    name: str
    path: str
    guarantee: Guarantee
    reason: str
    texts: int
    worst: Worst | None


@final
@dataclass(frozen=True, slots=True)
class Audit:
    """How the time of each stage grows with the length of a text: promised, and measured."""

    stages: tuple[StageAudit, ...]

    @classmethod
    def _of(cls, rows: list[tuple[Any, ...]]) -> Audit:
        """From the plain tuples of the compiled part."""
        return cls(tuple(map(_audited, rows)))

    def __iter__(self) -> Iterator[StageAudit]:
        return iter(self.stages)

    def __len__(self) -> int:
        return len(self.stages)

    def __getitem__(self, name: str) -> StageAudit:
        return _named(self.stages, name)

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, strings and numbers."""
        return {"stages": [asdict(stage) for stage in self.stages]}

    def __str__(self) -> str:
        return "\n".join([table(self._table(), right=_NUMBERS), "", *self._reasons()])

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        """What IPython shows."""
        pretty(self, printer, cycle)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        reasons = "<br>\n".join(map(escape, self._reasons()))
        return f"{html_table(self._table(), right=_NUMBERS)}\n<p>{reasons}</p>"

    def _table(self) -> list[tuple[str, str, str, str, str]]:
        return [("stage", "guarantee", "slope", "ns/byte", "worst text found"), *map(_row, self.stages)]

    def _reasons(self) -> Iterator[str]:
        for stage in self.stages:
            yield f"{stage.name}: {stage.reason}."
            if stage.worst is not None and stage.worst.error is not None:
                yield f"  The text above: {shown(stage.worst.error, 200)}"


def _named(stages: tuple[_Named, ...], name: str) -> _Named:
    for stage in stages:
        if stage.name == name:
            return stage
    raise KeyError(name)


def _audited(row: tuple[Any, ...]) -> StageAudit:
    name, path, guarantee, reason, texts, worst = row
    return StageAudit(name, path, guarantee, reason, texts, worst and Worst(*worst))


def _row(stage: StageAudit) -> tuple[str, str, str, str, str]:
    if (worst := stage.worst) is None:
        return (stage.name, stage.guarantee, "", "", "nothing to do")
    slope = "error" if worst.slope is None else f"{worst.slope:.2f}"
    if worst.measure == "time":
        slope += " (time)"
    cost = "" if worst.nanoseconds_per_byte is None else f"{worst.nanoseconds_per_byte:.1f}"
    return (stage.name, stage.guarantee, slope, cost, f"{worst.kind}: {quoted(worst.text, _SAMPLE)}")
