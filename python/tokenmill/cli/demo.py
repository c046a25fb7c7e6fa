"""Train 8,000 tokens on the source of Python's standard library, and prove it.

It is byte-level BPE. One file in twenty is held out of training. The tokenizer
is saved to --out, loaded again, and encodes the files that were held out;
decoding must give them back byte for byte (exit code 1 if it does not).
"""

from __future__ import annotations

import argparse
import os
import shlex
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .files import as_json, write_summary
from .sample import command, parted, sample
from .saving import check_folder
from .streams import say
from .terminal import bar_wanted, colour_wanted, painted
from .usage import UsageError

if TYPE_CHECKING:
    from tokenmill import Tokenizer

__all__ = ["add_arguments", "run"]

_VOCAB_SIZE = 8_000
_END_OF_TEXT = "<|endoftext|>"
_MOST_BYTES = 30_000_000
_HELD_OUT_EACH = 20
_NEXT = '"def mill(grain): return flour"'
_NOT_LIBRARY = {"site-packages", "dist-packages", "__pycache__"}


class Figures(NamedTuple):
    """What the demo found; the fields are the keys of ``--json``."""

    files: list[str]
    vocab_size: int
    trained_files: int
    trained_bytes: int
    train_seconds: float
    held_out_files: int
    held_out_bytes: int
    bytes_per_token: float
    encode_mb_per_second: float
    lossless: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``demo`` takes."""
    parser.add_argument(
        "--out", metavar="DIR", default="tokenmill-demo", help="folder to save to (default: ./tokenmill-demo)"
    )
    parser.add_argument("--json", action="store_true", help="the figures as one JSON object, for programs")
    parser.add_argument(
        "--color", "--colour", dest="colour", choices=("always", "never", "auto"), default="auto"
    )


def run(args: argparse.Namespace) -> int:
    """Train, save, load, encode, decode, compare, report."""
    import tokenmill

    check_folder(args.out)
    train_files, texts = _choose(_library_files())
    say(f"training on {len(train_files):,} files of the standard library, {len(texts):,} held out")
    start = time.perf_counter()
    trained = tokenmill.train(
        train_files,
        vocab_size=_VOCAB_SIZE,
        split="cl100k",
        special_tokens=[_END_OF_TEXT],
        progress=bar_wanted(),
    )
    train_seconds = time.perf_counter() - start
    Path(args.out).mkdir(parents=True, exist_ok=True)
    trained.save(args.out)
    tokenizer = tokenmill.load(args.out)

    start = time.perf_counter()
    encoded = [tokenizer.encode(text) for text in texts]
    encode_seconds = time.perf_counter() - start
    lossless = all(tokenizer.decode(ids) == text for text, ids in zip(texts, encoded, strict=True))

    report = trained.training_report
    assert report is not None
    size = sum(len(text.encode()) for text in texts)
    figures = Figures(
        files=sorted(str(path) for path in Path(args.out).iterdir()),
        vocab_size=tokenizer.vocab_size,
        trained_files=report.documents,
        trained_bytes=report.bytes,
        train_seconds=round(train_seconds, 3),
        held_out_files=len(texts),
        held_out_bytes=size,
        bytes_per_token=round(size / sum(map(len, encoded)), 3),
        encode_mb_per_second=round(size / encode_seconds / 1e6, 1),
        lossless=lossless,
    )
    page = as_json(figures._asdict()) if args.json else _page(tokenizer, figures, texts, args).encode()
    write_summary(args.out, page)
    if not lossless:
        say("tokenmill: decoding did not give the text back; please report it")
    return 0 if lossless else 1


def _library_files() -> list[Path]:
    """Python sources of the standard library, in an order that is the same everywhere."""
    library = Path(sysconfig.get_path("stdlib"))
    found = []
    for folder, inner, names in os.walk(library):
        inner[:] = [name for name in inner if name not in _NOT_LIBRARY]
        found += [Path(folder, name) for name in names if name.endswith(".py")]
    found.sort(key=lambda path: path.relative_to(library).parts)
    return found


def _choose(files: list[Path]) -> tuple[list[Path], list[str]]:
    """Files to train on, and the texts of others, which are held out: about 30 MB. Some files are no text."""
    total = 0
    chosen: list[Path] = []
    held_out: list[str] = []
    for path in files:
        total += path.stat().st_size
        if total > _MOST_BYTES:
            break
        text = _read(path)
        if not text:
            continue
        if (len(chosen) + len(held_out) + 1) % _HELD_OUT_EACH == 0:
            held_out.append(text)
        else:
            chosen.append(path)
    if not held_out:
        raise UsageError(
            f"only {len(chosen)} source files of the standard library are on this machine",
            hint="tokenmill train FILE... learns from any text",
        )
    return chosen, held_out


def _read(path: Path) -> str:
    """The text of a file, with the line ends it has; nothing where it is not UTF-8."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return ""


def _page(tokenizer: Tokenizer, figures: Figures, texts: list[str], args: argparse.Namespace) -> str:
    lines = [
        ("saved", ", ".join(figures.files)),
        ("vocabulary", f"{figures.vocab_size:,} tokens"),
        ("training", f"{figures.trained_bytes:,} bytes in {figures.train_seconds:.2f} s"),
        ("held out", f"{figures.held_out_bytes:,} bytes in {figures.held_out_files:,} files"),
        ("round trip", "lossless" if figures.lossless else "NOT LOSSLESS"),
        ("compression", f"{figures.bytes_per_token:.2f} bytes per token"),
        ("encoding", f"{figures.encode_mb_per_second:.1f} MB/s on one thread, each text for the first time"),
    ]
    page = "".join(f"{name:<14}{value}\n" for name, value in lines)
    pieces = [tokenizer.token_bytes(number) for number in tokenizer.encode(sample(texts))]
    shown = painted(pieces) if colour_wanted(args.colour) else parted(pieces)
    following = command("inspect", "-t", shlex.quote(args.out), _NEXT)
    return f"{page}\nof what was held out, token by token:\n\n{shown}\n\nnext: {following}\n"
