"""What counted pretokens are of, as it stands beside them in every store: one object of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from .._core import PretokenTable
from .._reading import BERT, SENTENCEPIECE
from ..errors import FormatError
from .sums import MOST, Figures

__all__ = ["FORMAT", "VERSION", "CountedFacts", "check_total", "damaged", "read_facts"]

FORMAT = "tokenmill.pretoken_counts"
VERSION = 1

_FIGURES = ("documents", "bytes", "skipped", "replaced", "pretokens")
_POLICIES = ("strict", "replace", "skip")
_FLAGS = (*BERT, *SENTENCEPIECE)


class CountedFacts(NamedTuple):
    """The facts of counts."""

    reading: dict[str, Any]
    """How texts were read, by the names of options."""
    min_count: int | None
    """Pretokens that occurred less often were dropped."""
    figures: Figures

    def as_dict(self) -> dict[str, Any]:
        """One flat dict, for JSON."""
        start = {"format": FORMAT, "version": VERSION, **self.reading, "min_count": self.min_count}
        return start | dict(zip(_FIGURES, self.figures, strict=True))

    def as_json(self) -> bytes:
        """In ASCII, the same for the same facts."""
        return json.dumps(self.as_dict()).encode()


def damaged(path: str | None, field: str, reason: str, kind: str = "damaged") -> FormatError:
    """The error for what cannot be read."""
    message = ": ".join(filter(None, (path, field, reason)))
    return FormatError(message, path=path, field=field, kind=kind, reason=reason, limit=None)


def read_facts(found: bytes | str | Mapping[str, Any], path: str | None = None) -> CountedFacts:
    """The facts in JSON, or in a dict as ``PretokenCounts.facts`` has them. Raises ``FormatError``."""
    if isinstance(found, bytes | str):
        try:
            facts = json.loads(found)
        except ValueError as error:
            raise damaged(path, "facts", f"are no JSON: {error}") from None
    else:
        facts = dict(found)
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise damaged(path, "facts.format", f"is not {FORMAT!r}")
    if facts.get("version") != VERSION:
        reason = f"is {facts.get('version')!r}; this version of tokenmill reads {VERSION}"
        raise damaged(path, "facts.version", reason, "unsupported")
    names = ["format", "version", "dialect", "normalizer"]
    names += BERT if facts.get("normalizer") == "BertNormalizer" else ()
    names += SENTENCEPIECE if facts.get("dialect") == "sentencepiece" else ("split",)
    names += ["special_tokens", "user_defined_symbols", "errors", "min_count", *_FIGURES]
    for name in {*names, *facts}:
        if name not in facts:
            raise damaged(path, f"facts.{name}", "is missing", "missing")
        if name not in names:
            raise damaged(path, f"facts.{name}", "is not known here", "unsupported")
    for name in names[2:]:
        if not _is_fact(name, facts[name]):
            raise damaged(path, f"facts.{name}", f"is {facts[name]!r}, which it cannot be")
    reading = {name: facts[name] for name in names[2:] if name != "min_count" and name not in _FIGURES}
    figures: Any = tuple(facts[name] for name in _FIGURES)
    return CountedFacts(reading, facts["min_count"], figures)


def _is_fact(name: str, value: object) -> bool:
    if name in _FLAGS:
        return isinstance(value, bool) or (name == "strip_accents" and value is None)
    if name in _FIGURES or name == "min_count":
        is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
        return is_number or (name == "min_count" and value is None)
    if name in ("special_tokens", "user_defined_symbols"):
        return isinstance(value, list) and all(isinstance(item, str) and item for item in value)
    if name == "dialect":
        return value in (None, "sentencepiece")
    if name == "errors":
        return value in _POLICIES
    return isinstance(value, str)


def check_total(facts: CountedFacts, table: PretokenTable, path: str | None = None) -> None:
    """Raises ``FormatError`` where there are not as many pretokens as were counted."""
    total, counted = table.total, facts.figures[-1]
    if facts.min_count is None and min(total, MOST) != counted:
        reason = (
            f"add up to {total:,} pretokens, but {counted:,} were counted: some are missing or present twice"
        )
        raise damaged(path, "counts", reason)
    if total > counted and counted != MOST:
        raise damaged(path, "counts", f"add up to {total:,} pretokens, but only {counted:,} were counted")
