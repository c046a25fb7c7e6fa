"""The texts that are measured: the shared corpora, or Python's own source without them; hostile texts."""

from __future__ import annotations

import base64
import functools
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

MB = 1_000_000
CORPORA = ("english", "code", "multilingual", "cjk")
HOSTILE = ("a", "spaces", "newlines", "letters", "base64", "punctuation", "digits", "hanzi", "words")
STDLIB = "stdlib"
WARM_UP = 256_000


def scratch() -> Path:
    """A folder for what is derived once and kept between runs."""
    folder = Path(tempfile.gettempdir(), f"tokenmill-bench-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@functools.cache
def shared() -> Path | None:
    """The unpacked shared data (``corpus/``, ``vocab/``); None where there is none.

    ``TOKENMILL_SHARED`` names the folder that holds ``data/unpack``; else it is ``shared`` beside the
    repository.
    """
    repository = Path(__file__).resolve().parent.parent
    folder = Path(os.environ.get("TOKENMILL_SHARED") or repository.parent / "shared")
    unpack = folder / "data" / "unpack"
    if not unpack.is_file():
        return None
    printed = subprocess.run(
        [sys.executable, str(unpack), "--quick"], check=True, capture_output=True, text=True
    )
    return Path(printed.stdout.splitlines()[-1])


def corpora() -> tuple[str, ...]:
    """The corpora that are here."""
    return CORPORA if shared() is not None else (STDLIB,)


def hostile_texts() -> tuple[str, ...]:
    """The hostile kinds, and the adversarial files of the shared data (their names end in ``.txt``)."""
    folder = shared()
    if folder is None:
        return HOSTILE
    return (*HOSTILE, *sorted(path.name for path in (folder / "adversarial").glob("*.txt")))


def text(name: str, size: int) -> bytes:
    """About ``size`` bytes of a corpus, a hostile kind or an adversarial file: whole lines, valid UTF-8."""
    if name in HOSTILE:
        return hostile(name, size)
    folder = shared()
    if folder is not None and name.endswith(".txt"):
        return _whole_lines(folder / "adversarial" / name, size)
    if name == STDLIB:
        return _library(0, size)
    if folder is None:
        raise SystemExit(f"bench: no shared data for the corpus {name}; without it there is {STDLIB}")
    return _whole_lines(folder / "corpus" / f"{name}.txt", size)


def warm_up_text() -> bytes:
    """Text of another kind than any corpus: French sentences, or other source files than ``stdlib`` has."""
    folder = shared()
    if folder is None:
        return _library(1, WARM_UP)
    return _whole_lines(folder / "corpus" / "fra.txt", WARM_UP)


def _whole_lines(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        content = file.read(size)
    end = content.rfind(b"\n") + 1
    return content[:end] if end > size // 2 else content.decode("utf-8", "ignore").encode()


def library_files(part: int | None = None) -> list[Path]:
    """Sources of the standard library, sorted; of every eight, ``part`` 1 is one and ``part`` 0 the rest."""
    root = Path(sysconfig.get_path("stdlib"))
    files = [path for path in root.rglob("*.py") if "site-packages" not in path.parts]
    files.sort(key=lambda path: path.relative_to(root).parts)
    if part is None:
        return files
    return [path for number, path in enumerate(files) if (number % 8 == 7) == bool(part)]


def _library(part: int, size: int) -> bytes:
    taken: list[bytes] = []
    left = size
    for path in library_files(part):
        content = path.read_bytes()
        try:
            content.decode()
        except UnicodeDecodeError:
            continue
        taken.append(content)
        left -= len(content)
        if left <= 0:
            break
    return b"".join(taken)[:size].decode("utf-8", "ignore").encode()


def documents(content: bytes, size: int) -> list[str]:
    """Consecutive pieces of about ``size`` bytes, as new ``str``; no character is cut."""
    pieces = []
    start = 0
    while start < len(content):
        end = min(start + size, len(content))
        while end < len(content) and content[end] & 0xC0 == 0x80:
            end += 1
        pieces.append(content[start:end].decode())
        start = end
    return pieces


@dataclass(frozen=True)
class Turns:
    """Texts of turns, as a chat template writes them, and the ranges of each that are no template's."""

    texts: list[str]
    untrusted: list[list[tuple[int, int]]]


TURNS = 20
"""In each text."""


def turns(content: bytes, size: int, marker: str) -> Turns:
    """Texts of about ``size`` bytes of content, in turns that begin with the marker of a template."""
    texts, untrusted = [], []
    for document in documents(content, size):
        step = -(-len(document) // TURNS)
        said = [document[at : at + step] for at in range(0, len(document), step)]
        starts = [number * (len(marker) + step) + len(marker) for number in range(len(said))]
        texts.append("".join(marker + turn for turn in said))
        untrusted.append([(start, start + len(turn)) for start, turn in zip(starts, said, strict=True)])
    return Turns(texts, untrusted)


def hostile(kind: str, size: int) -> bytes:
    """Text that is hard on an encoder: few pretokens and long ones, or none that was seen before."""
    chance = random.Random(20_240_229)
    if kind == "a":
        made = b"a" * size
    elif kind == "spaces":
        made = b" " * size
    elif kind == "newlines":
        made = b"\n" * size
    elif kind == "letters":
        made = bytes(chance.choices(range(ord("a"), ord("z") + 1), k=size))
    elif kind == "base64":
        made = base64.b64encode(chance.randbytes(size))[:size]
    elif kind == "punctuation":
        made = bytes(chance.choices(b"!#$%&()*+,-./:;<=>?@[]^_{|}~", k=size))
    elif kind == "digits":
        made = bytes(chance.choices(b"0123456789", k=size))
    elif kind == "hanzi":
        made = "".join(map(chr, chance.choices(range(0x4E00, 0x9FA5), k=size // 3))).encode()
    elif kind == "words":
        letters = range(ord("a"), ord("z") + 1)
        words = (bytes(chance.choices(letters, k=chance.randint(3, 10))) for _ in range(size // 4 + 1))
        made = b" ".join(words)[:size]
    else:
        raise SystemExit(f"bench: no hostile text {kind!r}; there are {', '.join(HOSTILE)}")
    return made
