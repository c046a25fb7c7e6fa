"""The models of placeholder text that come with the package, made from their sources.

    python tests/lorem_models.py FIN1.txt PRIDE_AND_PREJUDICE.txt

``python/tokenmill/data/SOURCES.md`` says where these two files are; their sha256 is checked. A model is the
same, byte by byte, wherever it is made.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

import tokenmill
from tokenmill.placeholder import NGramModel

DATA = Path(__file__).resolve().parents[1] / "python" / "tokenmill" / "data"
LATIN = "0033e273ed792f28cdb631af20b8fea28c72956af4d81cab951a5d44eefe8fb9"
ENGLISH = "598a662b54193fed9ddc1065861f4a3ae206b22d449443e8c3ae6a6bf6b88e7b"
SECTIONS = range(29, 46)
"""Of the Latin book. Lorem Ipsum was made of 32 and 33."""
CHAPTERS = range(1, 4)
"""Of the English one."""
MERGES = 1000


def read(path: str, sha256: str) -> str:
    content = Path(path).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise SystemExit(f"{path} is another file: its sha256 is {found}, not {sha256}")
    return content.decode()


def latin(text: str) -> str:
    """The sections, without their numbers; sentences begin with capitals."""
    parts = re.split(r"\[ (\d+) \]", text)
    sections = dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))
    prose = plain(" ".join(sections[number] for number in SECTIONS))
    return re.sub(r"([.!?] )([a-z])", lambda found: found[1] + found[2].upper(), prose)


def english(text: str) -> str:
    """The chapters, without their titles."""
    parts = re.split(r"^Chapter (\d+)$", text, flags=re.MULTILINE)
    chapters = dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))
    return plain(" ".join(chapters[number] for number in CHAPTERS))


def plain(text: str) -> str:
    """Without quotes, which would not be closed, and with single spaces."""
    text = re.sub(r"[\"_“”‘*\[\]<>]|(?<!\w)'|'(?!\w)", "", text.replace("--", "—"))
    return " ".join(text.split()) + " "


def write(name: str, text: str) -> None:
    tokenizer = tokenmill.train(texts=[text], num_merges=MERGES)
    model = NGramModel.train(tokenizer, texts=[text], order=3)
    model.save(DATA / f"lorem-{name}.ngrams")


def main() -> None:
    sources = sys.argv[1:]
    if len(sources) != 2:
        raise SystemExit(__doc__)
    DATA.mkdir(exist_ok=True)
    write("la", latin(read(sources[0], LATIN)))
    write("en", english(read(sources[1], ENGLISH)))


if __name__ == "__main__":
    main()
