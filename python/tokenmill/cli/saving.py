"""Checks of ``train --out``, which are made before training and not after it."""

from __future__ import annotations

import argparse
import contextlib
import errno
from pathlib import Path
from typing import Literal

from .files import check_remote, is_remote, is_slashed
from .options import ROLES
from .usage import UsageError

__all__ = ["Form", "check_folder", "check_ids_out", "check_out", "form_of", "is_replaced", "kept_roles"]

Form = Literal["folder", "tokenizer.json", ".model", ".tiktoken", "vocab.json with merges.txt", "vocab.txt"]


def check_out(args: argparse.Namespace) -> None:
    """Refuse what cannot be saved: an unknown format, a missing folder, a format that cannot hold it all."""
    _check_name(args.out)
    path = Path(args.out)
    form = form_of(args.out)
    if form == "folder":
        check_folder(args.out)
    elif not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(path.parent))
    if (
        form == "tokenizer.json"
        and args.model == "unigram"
        and args.dialect != "tokenizers"
        and not args.lossy
    ):
        raise UsageError(
            "a tokenizer.json cannot hold a tokenizer of SentencePiece as it is", hint="--dialect tokenizers"
        )
    if form in ("folder", "tokenizer.json"):
        if args.end_of_word is not None and args.end_of_word_form != "suffix":
            raise UsageError(
                "tokenizer.json cannot hold a separate end-of-word symbol", hint="--end-of-word-form suffix"
            )
        named = [role for role in ROLES if getattr(args, f"{role}_token") is not None]
        lost = [role for role in named if role not in kept_roles(form, args)]
        if lost and not args.lossy:
            raise UsageError(
                f"a tokenizer.json alone cannot hold which tokens are {', '.join(named)}",
                hint="--out FOLDER/",
            )
        return
    models = {"vocab.txt": "wordpiece", ".model": "unigram"}
    if models.get(form, "bpe") != args.model:
        raise UsageError(f"{form} is not for {args.model}", hint="--out FOLDER/")
    if form == ".model" and args.dialect == "tokenizers" and not args.lossy:
        raise UsageError("a .model is for --dialect sentencepiece", hint="--out FOLDER/")
    if form in models:
        return
    shown = "a .tiktoken file holds" if form == ".tiktoken" else f"{form} hold"
    if args.alphabet == "chars":
        raise UsageError(f"{shown} tokens over bytes, not characters", hint="--out tokenizer.json")
    if not args.lossy:
        raise UsageError(
            f"{shown} neither the split nor the special tokens",
            hint="--lossy saves it anyway; give --split NAME when you load it",
        )


def check_ids_out(args: argparse.Namespace, *, documents: int) -> None:
    """Refuse what has no ids, and a name that they cannot be saved under."""
    if args.out is None:
        raise UsageError(
            "--ids-out goes with --out: ids mean nothing without the tokenizer", hint="--out FOLDER/"
        )
    if args.model != "bpe":
        raise UsageError(f"--ids-out is not for --model {args.model}", hint="tokenmill encode gives the ids")
    if args.split != "none":
        raise UsageError(
            "--ids-out is for a text that is not cut",
            hint="--split none; or tokenmill encode, which gives the ids",
        )
    if documents > 1 or args.documents == "lines":
        raise UsageError("--ids-out is for one document", hint="tokenmill encode gives the ids of many")
    path = Path(args.ids_out)
    if path.suffix != ".npy":
        raise UsageError(
            f"{args.ids_out or '--ids-out'}: the ids are a numpy array", hint="--ids-out NAME.npy"
        )
    check_remote(args.ids_out)
    if not is_remote(args.ids_out) and not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(path.parent))


def kept_roles(form: Form, args: argparse.Namespace) -> list[str]:
    """The roles that this form can hold."""
    if form == ".model" or (form == "folder" and args.model == "unigram" and args.dialect != "tokenizers"):
        return ["bos", "eos", "pad", "unk"]
    if form == "folder":
        return list(ROLES)
    if form == "vocab.txt":
        # Told by their names.
        return [role for role in ROLES if getattr(args, f"{role}_token") == f"[{role.upper()}]"]
    # The model itself says which token stands for unknown characters.
    has_unk = args.model != "bpe" or args.alphabet == "chars"
    return ["unk"] if form == "tokenizer.json" and has_unk else []


def check_folder(out: str) -> None:
    """Refuse a path that is not a folder and cannot become one."""
    _check_name(out)
    path = Path(out)
    if path.exists() and not path.is_dir() and is_slashed(out):
        raise UsageError(f"{out}: is a file, and no folder", hint="--out FOLDER/, under another name")
    if path.exists() and not path.is_dir() and not _is_stream(path):
        raise UsageError(f"{out}: is a file, and names no format", hint="--out FOLDER/")
    if path.is_symlink() and not path.exists():
        raise FileNotFoundError(errno.ENOENT, "is a link to what does not exist", out)


def _check_name(out: str) -> None:
    """Refuse what cannot be the name of a file, and what the system refuses, such as a loop of links."""
    if not out:
        raise UsageError("--out is empty", hint="--out FOLDER/")
    if is_remote(out):
        raise UsageError(
            f"{out}: is a URL; tokenizers are saved to local folders",
            hint="--out FOLDER/, then copy the folder to the store",
        )
    with contextlib.suppress(FileNotFoundError):
        Path(out).stat()


def is_replaced(out: str) -> bool:
    """Whether saving there writes over a tokenizer."""
    path = Path(out)
    if form_of(out) == "folder":
        return (path / "tokenizer.json").exists()
    return path.is_file()


def _is_version(ending: str) -> bool:
    """Whether an ending belongs to the name itself, as in ``qwen2.5``."""
    return any(character in "0123456789" for character in ending)


def _is_stream(path: Path) -> bool:
    """Whether it is a pipe or a device, to which one file can be written."""
    return path.is_fifo() or path.is_char_device()


def form_of(out: str) -> Form:
    """The form that the library saves in under this name. A slash at its end always means a folder."""
    path = Path(out)
    if path.is_dir() or is_slashed(out):
        return "folder"
    if _is_stream(path) and (not path.suffix or _is_version(path.suffix)):
        return "tokenizer.json"
    if path.name in ("vocab.json", "merges.txt"):
        return "vocab.json with merges.txt"
    if path.name == "vocab.txt":
        return "vocab.txt"
    match path.suffix:
        case "":
            return "folder"
        case ".json":
            return "tokenizer.json"
        case ".model":
            return ".model"
        case ".tiktoken":
            return ".tiktoken"
    if _is_version(path.suffix):
        return "folder"
    raise UsageError(
        f"{path}: no format goes by the ending {path.suffix}",
        hint="--out FOLDER/, or a name that ends in .json, .model or .tiktoken",
    )
