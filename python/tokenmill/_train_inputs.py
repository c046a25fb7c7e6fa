"""What is given to ``tokenmill.train``: sources, counts, and patterns for tokens."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from ._core import Tokenizer
from ._forks import waited_for
from .errors import FormatError, TrainingError
from .sources import expand

__all__ = ["SupportsArrow", "check_rows", "expand", "merge_filter", "misuse", "settings_of", "weights"]

_HOW_READ = ("documents", "column", "num_threads", "return_ids")
"""Options that say how texts reach the training, and not what is learned of them."""


class _Array(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None, /) -> tuple[object, object]: ...


class _Stream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None, /) -> object: ...


SupportsArrow = _Array | _Stream
"""What exports Arrow's C data or stream interface: arrays, tables and readers of any library."""


def check_rows(files: object, texts: object, field: str | None, column: str | None) -> None:
    """Refuse a field and a column of what has none."""
    if files is None and field is not None:
        raise misuse("field= is for files of JSONL")
    is_arrow = hasattr(texts, "__arrow_c_array__") or hasattr(texts, "__arrow_c_stream__")
    if files is None and column is not None and not is_arrow:
        raise misuse("column= is for Parquet and Arrow files, and for tables as texts=")


def settings_of(options: Mapping[str, object]) -> str:
    """What a manifest says of the settings of a training, as JSON: those that were given, and main defaults.

    How texts were read is no part of it, so that the same texts give the same manifest.
    """
    with waited_for:
        import json

    def is_given(value: object) -> bool:
        return value is not None and not (isinstance(value, Sequence) and len(value) == 0)

    settings = {name: value for name, value in options.items() if is_given(value) and name not in _HOW_READ}
    if isinstance(base := settings.pop("base", None), Tokenizer):
        # Without a fingerprint it has functions, and training refuses it.
        with contextlib.suppress(FormatError):
            settings["base"] = base.fingerprint
    if settings["model"] == "bpe":
        settings.setdefault("tie_break", "lexicographic")
    if settings["model"] != "unigram":
        settings.setdefault("min_frequency", 2)
    return json.dumps(settings, sort_keys=True, default=_plain)


def _plain(value: object) -> object:
    """Something that JSON has no form for: a number of another library, or a function by its name."""
    if hasattr(value, "__index__"):
        return operator.index(value)
    if isinstance(value, Iterable):
        return list(value)
    return getattr(value, "__name__", type(value).__name__)


def merge_filter(pattern: str) -> Callable[[bytes], bool]:
    """Whether the text of a token matches a pattern as a whole. The parts of a character do."""
    with waited_for:
        import re

    try:
        matches = re.compile(pattern).fullmatch
        is_part = re.compile(rb"[\xc2-\xf4][\x80-\xbf]{0,2}|[\x80-\xbf]{1,3}").fullmatch
    except re.error as error:
        raise misuse(f"allowed_merges={pattern!r} is no pattern: {error}") from None

    def allows(token: bytes) -> bool:
        try:
            return matches(token.decode()) is not None
        except UnicodeDecodeError:
            return is_part(token) is not None

    return allows


def weights(texts: Mapping[str, int]) -> list[int]:
    """How often each text counts."""
    counts = []
    for text, weight in texts.items():
        count = (
            None if isinstance(weight, bool) or not hasattr(weight, "__index__") else operator.index(weight)
        )
        if count is None or not 1 <= count < 2**64:
            shown = text if not isinstance(text, str) or len(text) <= 40 else f"{text[:40]}..."
            raise misuse(f"texts[{shown!r}] is {weight!r}; a count is a whole number from 1 to 2**64 - 1")
        counts.append(count)
    return counts


def misuse(message: str) -> TrainingError:
    """The error for arguments that cannot be used."""
    return TrainingError(message, path=None, byte=None, row=None)
