"""The Universal Declaration of Human Rights in 30 languages: parallel text that comes with the package."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

__all__ = ["declaration"]

_DATA = Path(__file__).parent.parent / "data"


def declaration() -> dict[str, list[str]]:
    """The 30 articles by the English name of the language; ``data/SOURCES.md`` says where they are from."""
    with gzip.open(_DATA / "declaration.json.gz") as file:
        languages = json.load(file)
    return {name: own["articles"] for name, own in languages.items()}
