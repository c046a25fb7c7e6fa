"""What ``train --out`` can be, found out before training and not after it."""

from __future__ import annotations

import argparse
import errno
from pathlib import Path
from typing import Literal

from .usage import UsageError

__all__ = ["check_out", "is_replaced"]

_Form = Literal["folder", "tokenizer.json", ".tiktoken", "vocab.json with merges.txt"]


def check_out(args: argparse.Namespace) -> None:
    """Refuse what cannot be saved: a name without a format, a place that is not there, a format too poor."""
    if not args.out:
        raise UsageError("--out is empty", hint="--out FOLDER/")
    path = Path(args.out)
    form = _form(path)
    if form == "folder":
        if path.exists() and not path.is_dir():
            raise UsageError(f"{args.out}: is a file, and names no format", hint="--out FOLDER/")
    elif not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(path.parent))
    if form in ("folder", "tokenizer.json"):
        if args.end_of_word is not None and args.end_of_word_form == "separate":
            raise UsageError(
                "tokenizer.json cannot hold a separate end-of-word symbol", hint="--end-of-word-form suffix"
            )
        return
    shown = "a .tiktoken file holds" if form == ".tiktoken" else f"{form} hold"
    if args.alphabet == "chars":
        raise UsageError(f"{shown} tokens over bytes, not characters", hint="--out tokenizer.json")
    if not args.lossy:
        raise UsageError(
            f"{shown} neither the split nor the special tokens",
            hint="--lossy saves it anyway; give --split NAME when you load it",
        )


def is_replaced(out: str) -> bool:
    """Whether saving there writes over a tokenizer."""
    path = Path(out)
    if _form(path) == "folder":
        return (path / "tokenizer.json").exists()
    return path.exists()


def _form(path: Path) -> _Form:
    """The form that the library saves in under this name."""
    if path.is_dir():
        return "folder"
    if path.name in ("vocab.json", "merges.txt"):
        return "vocab.json with merges.txt"
    match path.suffix:
        case "":
            return "folder"
        case ".json":
            return "tokenizer.json"
        case ".tiktoken":
            return ".tiktoken"
    raise UsageError(
        f"{path}: no format goes by the ending {path.suffix}",
        hint="--out FOLDER/, or a name that ends in .json or .tiktoken",
    )
