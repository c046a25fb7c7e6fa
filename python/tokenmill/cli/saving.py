"""What ``train --out`` can be, found out before training and not after it."""

from __future__ import annotations

import argparse
import contextlib
import errno
from pathlib import Path
from typing import Literal

from .options import ROLES
from .usage import UsageError

__all__ = ["check_folder", "check_out", "is_replaced"]

_Form = Literal["folder", "tokenizer.json", ".tiktoken", "vocab.json with merges.txt"]


def check_out(args: argparse.Namespace) -> None:
    """Refuse what cannot be saved: a name without a format, a place that is not there, a format too poor."""
    _check_name(args.out)
    path = Path(args.out)
    form = _form(path)
    if form == "folder":
        check_folder(args.out)
    elif not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(path.parent))
    if form in ("folder", "tokenizer.json"):
        if args.end_of_word is not None and args.end_of_word_form == "separate":
            raise UsageError(
                "tokenizer.json cannot hold a separate end-of-word symbol", hint="--end-of-word-form suffix"
            )
        named = [role for role in ROLES if getattr(args, f"{role}_token") is not None]
        if form == "tokenizer.json" and named and not args.lossy and not _is_of_model(named, args):
            raise UsageError(
                f"a tokenizer.json alone cannot hold which tokens are {', '.join(named)}",
                hint="--out FOLDER/",
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


def _is_of_model(roles: list[str], args: argparse.Namespace) -> bool:
    """Whether the model itself says what the roles are: the unknown token of characters."""
    return roles == ["unk"] and args.alphabet == "chars"


def check_folder(out: str) -> None:
    """Refuse what is no folder, and cannot become one."""
    _check_name(out)
    path = Path(out)
    if path.exists() and not path.is_dir() and not (path.is_fifo() or path.is_char_device()):
        raise UsageError(f"{out}: is a file, and names no format", hint="--out FOLDER/")
    if path.is_symlink() and not path.exists():
        raise FileNotFoundError(errno.ENOENT, "is a link to what does not exist", out)


def _check_name(out: str) -> None:
    """Refuse what cannot be the name of a file, and what cannot be looked at, such as a loop of links."""
    if not out:
        raise UsageError("--out is empty", hint="--out FOLDER/")
    with contextlib.suppress(FileNotFoundError):
        Path(out).stat()


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
    if any(character in "0123456789" for character in path.suffix):
        return "folder"  # a version: qwen2.5
    raise UsageError(
        f"{path}: no format goes by the ending {path.suffix}",
        hint="--out FOLDER/, or a name that ends in .json or .tiktoken",
    )
