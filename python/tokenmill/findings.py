"""What ``tokenmill.doctor`` and ``tokenmill.check_checkpoint`` find.

A finding is one check: its name, which never changes between releases, whether it passed, what kind of
evidence it rests on, what was seen, and the way out. docs/doctor.md lists the names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, final, overload

from ._table import html_table, pretty, table, visible

if TYPE_CHECKING:
    from ._table import Printer

__all__ = ["Diagnosis", "Evidence", "Finding", "Findings", "Status"]

Status = Literal["pass", "warn", "fail"]
"""``fail``: results are wrong. ``warn``: they may be, or something is wasted; a person should look."""

Evidence = Literal["file", "manifest", "config", "text", "reference"]
"""What a check looked at: the files of the tokenizer and what it does with built-in texts (``file``), its
``tokenmill.json`` (``manifest``), the model's configuration and tensors (``config``), texts that were given
(``text``), another tokenizer that was given (``reference``)."""

_ORDER = {"fail": 0, "warn": 1, "pass": 2}


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One check."""

    check: str
    """Its name."""
    status: Status
    evidence: Evidence
    message: str
    """What was seen, in one sentence."""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The facts behind the message as dicts, lists, strings and numbers; long lists are cut."""
    way_out: str = ""
    """What to do; empty where there is nothing to do."""

    def to_dict(self) -> dict[str, Any]:
        """The same as a dict."""
        return {
            "check": self.check,
            "status": self.status,
            "evidence": self.evidence,
            "message": self.message,
            "details": dict(self.details),
            "way_out": self.way_out,
        }


@dataclass(frozen=True, slots=True)
class Findings(Sequence[Finding]):
    """Checks in the order in which they were made; ``findings["pad_eos"]`` is the one of that name."""

    findings: tuple[Finding, ...]
    skipped: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Checks that had nothing to look at, with the reason."""

    def ok(self, *, strict: bool = False) -> bool:
        """Whether nothing failed; with ``strict``, whether nothing warns either."""
        return all(found.status == "pass" or (found.status == "warn" and not strict) for found in self)

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The checks that failed."""
        return tuple([found for found in self.findings if found.status == "fail"])

    @property
    def warned(self) -> tuple[Finding, ...]:
        """The checks that warn."""
        return tuple([found for found in self.findings if found.status == "warn"])

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __contains__(self, item: object) -> bool:
        return any(found.check == item or found == item for found in self.findings)

    @overload
    def __getitem__(self, key: int | str, /) -> Finding: ...

    @overload
    def __getitem__(self, key: slice, /) -> tuple[Finding, ...]: ...

    def __getitem__(self, key: int | str | slice, /) -> Finding | tuple[Finding, ...]:
        if isinstance(key, str):
            for found in self.findings:
                if found.check == key:
                    return found
            raise KeyError(key)
        return self.findings[key]

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, strings and numbers."""
        return {
            "ok": self.ok(),
            "ok_strict": self.ok(strict=True),
            "findings": [found.to_dict() for found in self],
            "skipped": dict(self.skipped),
        }

    def __str__(self) -> str:
        """What failed first, then what warns, then what passed; under each finding the way out."""
        rows = [("", "check", "evidence", "finding")]
        ways: list[str] = []
        for found in sorted(self, key=lambda found: _ORDER[found.status]):
            rows.append((found.status, found.check, found.evidence, visible(found.message)))
            ways.append(found.way_out if found.status != "pass" else "")
        lines = table(rows).split("\n")
        shown = [lines[0]]
        for line, way in zip(lines[1:], ways, strict=True):
            shown.append(line)
            if way:
                shown.append(f"      {visible(way)}")
        return "\n".join([*shown, "", self._summary()])

    def _summary(self) -> str:
        failed, warned = len(self.failed), len(self.warned)
        return f"{len(self) - failed - warned} passed, {warned} warned, {failed} failed"

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        pretty(self, printer, cycle)

    def _repr_html_(self) -> str:
        rows = [("", "check", "evidence", "finding", "way out")]
        for found in sorted(self, key=lambda found: _ORDER[found.status]):
            way = found.way_out if found.status != "pass" else ""
            rows.append((found.status, found.check, found.evidence, visible(found.message), visible(way)))
        return html_table(rows)


@final
@dataclass(frozen=True, slots=True)
class Diagnosis(Findings):
    """What ``tokenmill.doctor`` gives.

    >>> import tokenmill
    >>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260, special_tokens=["<|end|>"])
    >>> diagnosis = tokenmill.doctor(tok)
    >>> diagnosis["round_trip"].status, diagnosis["missing_bytes"].status
    ('pass', 'pass')
    """
