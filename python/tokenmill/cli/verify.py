"""Whether a folder is still what its manifest says.

The hashes of its files, then what the manifest says of the tokenizer (ids,
special tokens, fingerprint, chat template), then golden vectors: texts whose
ids, offsets and text are compared. Files that have changed are read as they are,
so that the vectors say whether the change matters.

Exit code 0: nothing differs; 1: something does, and it is listed, files first; 2:
the folder has no manifest (tokenmill manifest --write makes one), or one that
cannot be read.

  tokenmill verify tokenizer/
  tokenmill verify tokenizer/ --json
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .files import as_json, write_output
from .folders import add_folder, reading
from .options import add_output
from .terminal import visible

if TYPE_CHECKING:
    from tokenmill.manifest import Verification

__all__ = ["add_arguments", "run"]

_MOST_SHOWN = 20
"""The most differences that are listed for people."""
_WIDTH = 240
"""The most characters of a value that are shown to people."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``verify`` takes."""
    add_output(parser)
    add_folder(parser, "folder of a tokenizer with a manifest (tokenmill.json)")


def run(args: argparse.Namespace) -> int:
    """Compare the folder with its manifest, and say what differs."""
    from tokenmill import manifest

    verification = manifest.verify(args.tokenizer, **reading(args))
    write_output(
        args.out, as_json(_facts(args.tokenizer, verification)) if args.json else _page(verification)
    )
    return 0 if verification.ok else 1


def _facts(name: str, verification: Verification) -> dict[str, object]:
    return {
        "folder": name,
        "ok": verification.ok,
        "manifest_version": verification.manifest_version,
        "files": verification.files,
        "vectors": verification.vectors,
        "findings": [
            {"field": found.field, "expected": found.expected, "found": found.found}
            for found in verification.findings
        ],
    }


def _page(verification: Verification) -> bytes:
    files, vectors, findings = verification.files, verification.vectors, verification.findings
    compared = f"{files} file{'s' * (files != 1)} and {vectors} golden vectors compared"
    if not vectors and verification.manifest_version == 1:
        compared = (
            f"{files} file{'s' * (files != 1)} compared; a manifest of version 1 has no golden vectors: "
            "tokenmill manifest --write renews it"
        )
    lines = [f"{'ok' if verification.ok else 'DIFFERENT'}: {compared}"]
    for found in findings[:_MOST_SHOWN]:
        lines += [
            visible(found.field),
            f"  expected  {_shown(found.expected)}",
            f"  found     {_shown(found.found)}",
        ]
    if more := len(findings) - _MOST_SHOWN:
        lines += [f"and {more} more: --json lists them"] * (more > 0)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _shown(value: str) -> str:
    return visible(value if len(value) <= _WIDTH else f"{value[:_WIDTH]}…")
