"""What a name means: a path, a published encoding, or a repository. A path that exists always wins."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .._forks import waited_for
from .encodings import ENCODINGS, fetch_encoding
from .models import MODEL_TO_ENCODING, encoding_of
from .repositories import fetch_repository

__all__ = ["Found", "find", "kind_of"]

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?"
_REPOSITORY = re.compile(f"{_PART}/{_PART}")
_SUFFIXES = frozenset(
    [
        *(".json", ".jsonl", ".tiktoken", ".txt", ".model", ".spm", ".vocab", ".bpe", ".gguf", ".bin"),
        *(".jinja", ".gz", ".zst", ".pkl", ".py", ".toml", ".yaml"),
    ]
)
"""Endings of files, which no repository has: a missing file is not looked for on the hub."""


@dataclass(frozen=True)
class Found:
    """Files on disk, and the special tokens that belong to them and are not in them."""

    path: Path | str
    special_tokens: Mapping[str, int] = field(default_factory=dict)


def kind_of(name: str | os.PathLike[str]) -> Literal["path", "encoding", "repository"]:
    """What ``load`` takes a name for; a path that exists is a path, whatever else its name says."""
    if not isinstance(name, str) or os.path.lexists(name):
        return "path"
    if name in ENCODINGS:
        return "encoding"
    looks_like_one = _REPOSITORY.fullmatch(name) and "--" not in name and ".." not in name
    return "repository" if looks_like_one and Path(name).suffix.lower() not in _SUFFIXES else "path"


def find(
    name: str | os.PathLike[str],
    *,
    revision: str | None = None,
    offline: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
) -> Found:
    """The files that a name stands for; they are downloaded unless they are in the cache.

    Raises ``FileNotFoundError`` for what is neither a path nor a name, ``ValueError`` for a ``revision`` of
    what has none, and what ``fetch_encoding`` and ``fetch_repository`` raise.
    """
    kind = kind_of(name)
    if kind == "repository":
        return Found(fetch_repository(str(name), revision, offline=offline, cache_dir=cache_dir))
    if revision is not None:
        here = "a path here" if os.path.lexists(name) else "no such id"
        what = "a published encoding" if kind == "encoding" else here
        raise ValueError(f"revision= is for repositories of the hub (owner/name); {name!r} is {what}")
    if kind == "encoding":
        path = fetch_encoding(str(name), offline=offline, cache_dir=cache_dir)
        return Found(path, ENCODINGS[str(name)].special_tokens)
    if isinstance(name, str) and _is_word(name):
        raise FileNotFoundError(errno.ENOENT, _tried(name), name)
    return Found(os.fspath(name))


def _is_word(name: str) -> bool:
    """Whether a name is no path, neither an existing one nor one by its form."""
    looks_like_a_path = os.path.dirname(name) or Path(name).suffix.lower() in _SUFFIXES  # noqa: PTH120
    return bool(name) and not looks_like_a_path and not os.path.lexists(name)


def _tried(name: str) -> str:
    encoding = encoding_of(name)
    if encoding is not None:
        return (
            f"no file or folder here, but the name of a model; its encoding is {encoding}: load({encoding!r})"
        )
    guess = _guess(name)
    meant = "" if guess is None else f" (did you mean {guess}?)"
    if guess is not None and guess not in ENCODINGS:
        meant = f" (did you mean the model {guess}? Its encoding is {encoding_of(guess)})"
    return (
        f"no file or folder here, none of the encodings {', '.join(ENCODINGS)}{meant}, "
        "and no id of a repository, which is owner/name"
    )


def _guess(name: str) -> str | None:
    """The known encoding or model most like a misspelt name, or None."""
    # Where both have one folded name, the encoding is meant.
    known = {_folded(each): each for each in (*MODEL_TO_ENCODING, *ENCODINGS)}
    folded = _folded(name)
    if folded in known:
        return known[folded]
    model = re.sub(r"^gpt-?(?=\d)", "gpt-", name.lower().replace("_", "-").replace(" ", "-"))
    if encoding_of(model) is not None:
        return model  # a variant, which only begins with a known name
    unlike = folded if "." in name else folded.replace("0", "o")
    alike = [each for each in known if each.replace("0", "o") == unlike]
    longer = [_folded(each) for each in ENCODINGS if _folded(each).startswith(folded) and len(folded) > 2]
    if alike or longer:
        return known[(alike or longer)[0]]
    with waited_for:
        import difflib

    close = difflib.get_close_matches(folded, map(_folded, ENCODINGS), n=1, cutoff=0.8)
    if not close:  # a model with other numbers is another model
        numbers = re.findall(r"\d+", folded)
        models = [each for each in known if re.findall(r"\d+", each) == numbers]
        close = difflib.get_close_matches(folded, models, n=1, cutoff=0.8)
    return known[close[0]] if close else None


def _folded(name: str) -> str:
    """A name in lower case without separators, to compare spellings."""
    return re.sub(r"[-_. ]", "", name.lower())
