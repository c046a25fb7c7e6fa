"""The texts that are measured: those given, or the declaration of human rights and a few domains."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .._train_inputs import misuse
from .declaration import declaration

__all__ = ["Texts", "given_texts", "own_texts"]

_REFERENCES = ("English", "english", "en", "eng")
"""Without a named reference, the first of these that is the name of a text is the reference."""


@dataclass(frozen=True)
class Texts:
    """Texts by name. Those of parallel names say the same, text by text."""

    groups: Mapping[str, list[str]]
    parallel: tuple[str, ...]
    """Names whose texts are parallel."""
    reference: str | None
    """The one of them that others are compared with."""
    source: str
    """What the texts are, in words."""


def own_texts(reference: str | None) -> Texts:
    """The declaration, as parallel text, and domains that differ from prose."""
    languages = declaration()
    named = "English" if reference is None else reference
    if named not in languages:
        raise misuse(f"reference={named!r} is none of the languages: {', '.join(languages)}")
    source = "the Universal Declaration of Human Rights in 30 languages, with code, JSON and numbers"
    return Texts({**languages, **_domains(languages)}, tuple(languages), named, source)


def _domains(languages: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Texts that are the same wherever the package is the same."""
    code = (Path(__file__).parent.parent / "reference.py").read_text(encoding="utf-8")
    rows = [
        {"id": 1000 + number, "tags": ["law", "un"], "text": text, "translated": True, "score": None}
        for number, text in enumerate(languages["English"])
    ]
    numbers = "\n".join(
        f"{n} {n * n} {n / 7:.4f} {n**5:,} 20{n % 100:02}-{n % 12 + 1:02}" for n in range(1, 200)
    )
    return {"Python code": [code], "JSON": [json.dumps(rows, indent=2)], "Numbers": [numbers]}


def given_texts(
    texts: str | Iterable[str] | Mapping[str, str | Iterable[str]], reference: str | None, parallel: bool
) -> Texts:
    """Texts of the caller, checked. Raises ``TypeError`` and ``TrainingError``."""
    if not isinstance(texts, Mapping):
        texts = {"texts": texts}
    groups: dict[str, list[str]] = {}
    for name, own in texts.items():
        if not isinstance(name, str):
            raise TypeError(f"each key of texts must be str, not {type(name).__name__}")
        groups[name] = listed = [own] if isinstance(own, str) else list(own)
        for number, text in enumerate(listed):
            if not isinstance(text, str):
                raise TypeError(f"texts[{name!r}][{number}] must be str, not {type(text).__name__}")
        if not any(listed):
            raise misuse(f"texts[{name!r}] has no text to measure: give some, or leave it out")
    if not groups:
        raise misuse("texts is empty: give texts by name, or None for those of the package")
    if reference is not None and reference not in groups:
        raise misuse(f"reference={reference!r} is none of the names of texts: {', '.join(groups)}")
    if not parallel:
        if reference is not None:
            raise misuse("reference= compares texts that say the same: pass parallel=True where they do")
        return Texts(groups, (), None, "texts that were given")
    lengths = {name: len(own) for name, own in groups.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name!r} has {count}" for name, count in lengths.items())
        raise misuse(f"parallel texts must be equally many: {said}")
    if reference is None:
        reference = next((name for name in _REFERENCES if name in groups), next(iter(groups)))
    return Texts(groups, tuple(groups), reference, "parallel texts that were given")
