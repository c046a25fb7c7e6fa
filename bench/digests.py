"""A digest of ids for each vocabulary and CPU level: builds that print the same lines give the same ids.

    python bench/digests.py DATA [--bytes N]

DATA is the folder that ``data/unpack`` prints. Every text of ``corpus`` and ``adversarial`` is cut into
documents of 4 kB, and each file of ``vocab`` that loads encodes them: as a batch to arrays, and every eighth
with offsets, alone and as a batch.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import tokenmill
from tokenmill import _core

DOCUMENT = 4096
LEVELS: tuple[Literal["portable"], Literal["avx2"], Literal["avx512"]] = ("portable", "avx2", "avx512")


def documents(folder: Path, limit: int) -> Iterator[str]:
    """Pieces of every text, at most ``limit`` bytes of each."""
    for path in sorted(path for kind in ("corpus", "adversarial") for path in (folder / kind).rglob("*.txt")):
        text = path.read_bytes()[:limit].decode("utf-8", "replace")
        for start in range(0, len(text), DOCUMENT):
            yield text[start : start + DOCUMENT]


def vocabularies(folder: Path) -> Iterator[tuple[str, tokenmill.Tokenizer]]:
    """Every file that is a tokenizer."""
    for path in sorted((folder / "vocab").rglob("*")):
        if not path.is_file() or path.suffix in (".md", ".py"):
            continue
        try:
            tok = tokenmill.load(path)
        except tokenmill.FormatError:
            continue
        yield path.relative_to(folder / "vocab").as_posix(), tok


def digest(tok: tokenmill.Tokenizer, texts: list[str]) -> str:
    """A hash of ids and offsets, or the error of the first text that has one."""
    made = hashlib.sha256()
    for start in range(0, len(texts), 256):
        part = texts[start : start + 256]
        try:
            rows = tok.encode_batch(part)
            made.update(rows.ids.tobytes())
            made.update(rows.row_offsets.tobytes())
            flat = tok.encode_batch(part[::8], offsets=True)
            made.update(flat.ids.tobytes())
            made.update(flat.offsets.tobytes())
            for text in part[::8]:
                encoding = tok.encode_with_offsets(text)
                made.update(repr((encoding.ids, encoding.offsets)).encode())
        except tokenmill.TokenmillError as error:
            made.update(f"{type(error).__name__}: {error}".encode())
    return made.hexdigest()[:32]


def main() -> None:
    """Prints a line for each vocabulary and level."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--bytes", type=int, default=1 << 18, help="of each text")
    args = parser.parse_args()
    texts = list(documents(args.data, args.bytes))
    for name, tok in vocabularies(args.data):
        for level in LEVELS:
            try:
                _core.force_cpu(level)
            except ValueError:
                continue
            print(f"{name} {level} {digest(tok, texts)}", flush=True)


if __name__ == "__main__":
    main()
