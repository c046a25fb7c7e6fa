"""Manifests: what a folder says of its tokenizer, and whether that is still so.

``tok.save("out/")`` writes ``tokenmill.json`` beside the files: their hashes, the fingerprint, the ids that a
model depends on, and golden vectors, which are texts with the ids, offsets and text that the tokenizer makes
of them. ``load`` checks the hashes of the files that it reads. ``verify`` checks all of it:

>>> import tokenmill
>>> from tokenmill import manifest
>>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
>>> tok.save("low/", manifest={"padding_side_train": "right"})
>>> manifest.manifest_of("low/")["padding_side_train"]
'right'
>>> manifest.verify("low/").findings
[]
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _core
from ._core import Tokenizer
from .errors import ManifestError

__all__ = ["Verification", "manifest_of", "verify", "write"]

_MOST_SHOWN = 200
"""The most characters of a value that a message shows."""


@dataclass(frozen=True)
class Verification:
    """What ``verify`` compared, and what differs."""

    manifest_version: int
    """The version of the manifest. Version 1 has hashes, the size and the special tokens alone."""
    files: int
    """Files whose hashes were compared."""
    vectors: int
    """Golden vectors that were tried."""
    findings: list[ManifestError] = field(default_factory=list, hash=False)
    """What differs, with ``field``, ``expected`` and ``found``: files first, then facts, then vectors."""

    @property
    def ok(self) -> bool:
        """Whether everything is as the manifest says."""
        return not self.findings

    def check(self) -> None:
        """Raise the first of the findings, a ``ManifestError``, if there is one."""
        if self.findings:
            raise self.findings[0]


def manifest_of(
    source: Tokenizer | str | os.PathLike[str],
    manifest: Mapping[str, object] | None = None,
    *,
    split: str | None = None,
    special_tokens: Sequence[str] | Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """The manifest of a tokenizer, or of a folder as it is now.

    For a ``Tokenizer`` it is what ``save`` writes into a new folder. For a folder it is made of the files
    that ``load`` reads there, whether the folder has a manifest or not; what its own manifest says of
    ``think_end_id``, ``padding_side_train``, ``padding_side_generate``, ``corpus`` and ``training`` is kept.
    Nothing is written.

    ``manifest`` has values for the first four of these, as in ``Tokenizer.save``. ``split`` and
    ``special_tokens`` are those of ``load``, for files that hold neither.

    The fields are described in the page "keeping" of the documentation and in docs/manifest.schema.json.

    Raises ``ManifestError`` for a key or value that cannot be given, and for files that are not what the
    manifest of the folder says; errors of ``load``.
    """
    if isinstance(source, Tokenizer):
        if split is not None or special_tokens is not None:
            raise TypeError("split and special_tokens are for folders; a Tokenizer has both")
        text = source._manifest(manifest)
    else:
        text = _core.manifest_of_folder(
            source, split=split, additions={"special_tokens": special_tokens}, manifest=manifest
        )
    made: dict[str, Any] = json.loads(text)
    return made


def write(
    folder: str | os.PathLike[str],
    manifest: Mapping[str, object] | None = None,
    *,
    split: str | None = None,
    special_tokens: Sequence[str] | Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Write the manifest of a folder into it, and return it. The arguments are those of ``manifest_of``.

    The other files stay as they are. The file appears as a whole or not at all, and the same folder gives the
    same bytes. ``load`` refuses files that are changed later.
    """
    text = _core.manifest_of_folder(
        folder, split=split, additions={"special_tokens": special_tokens}, manifest=manifest, writes=True
    )
    made: dict[str, Any] = json.loads(text)
    return made


def verify(
    folder: str | os.PathLike[str],
    *,
    split: str | None = None,
    special_tokens: Sequence[str] | Mapping[str, int] | None = None,
) -> Verification:
    """Compare a folder with its manifest: hashes, then what it says of the tokenizer, then golden vectors.

    Files that have changed are read as they are, so that the vectors say whether the change matters.
    ``split`` and ``special_tokens`` are those of ``load``, for files that hold neither.

    Raises ``FormatError`` for a folder without a manifest (``kind`` is ``"missing"``) and for one that is
    damaged; errors of ``load``, unless a file has changed: then that is a finding.
    """
    version, files, vectors, rows = _core.verify_folder(
        folder, split=split, additions={"special_tokens": special_tokens}
    )
    findings = [_finding(folder, *row) for row in rows]
    return Verification(version, files, vectors, findings)


def _finding(folder: str | os.PathLike[str], field: str, expected: str, found: str) -> ManifestError:
    said = f"{os.fspath(folder)}: {field}: the manifest says {_shown(expected)}, found {_shown(found)}"
    return ManifestError(said, field=field, expected=expected, found=found)


def _shown(value: str) -> str:
    return value if len(value) <= _MOST_SHOWN else f"{value[:_MOST_SHOWN]}…"
