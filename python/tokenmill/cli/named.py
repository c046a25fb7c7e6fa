"""Files under the names of what is in them: languages, domains."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from .corpora import names_of
from .files import STDIN, source
from .usage import UsageError

__all__ = ["named_files", "stem"]


def named_files(words: list[str]) -> dict[str, list[str]]:
    """The files of each name."""
    pairs: list[tuple[str | None, str]] = []
    for word in words or [STDIN]:
        name, equals, path = word.partition("=")
        if not equals or os.path.lexists(word):
            pairs += [(None, path) for path in names_of([word])]
        elif not name or not path:
            raise UsageError(f"{word}: a name and a file are needed, as in English=en.txt")
        else:
            pairs += [(name, path) for path in names_of([path])]
    # Files of one name in several folders are told apart by their paths.
    stems = Counter(stem(path) for given, path in pairs if given is None)
    named: dict[str, list[str]] = {}
    for given, path in pairs:
        short = stem(path)
        own = source(path) if path == STDIN else short if stems[short] == 1 else path
        named.setdefault(own if given is None else given, []).append(path)
    return named


def stem(path: str) -> str:
    """The name of a file without its endings."""
    name = Path(path).name
    return Path(name.removesuffix(".gz").removesuffix(".zst")).stem
