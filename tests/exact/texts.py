"""Texts that libraries are compared on: pieces of the corpora, adversarial texts, strings of own tokens."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

PIECE = 2048
CORPORA = ("english", "multilingual", "code", "cjk", "json", "fra")
BETWEEN = [
    "",
    "",
    "",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "'s",
    " .",
    " n't",
    "é",
    "e\u0301",
    "한",
    "你",
    "\u200d",
    "🙂",
    "1",
    "▁",
    "\0",
]


def pieces(path: Path, limit: int, step: int) -> Iterator[str]:
    """Every step-th piece of 2 kB of the first `limit` bytes, cut at character boundaries."""
    text = path.read_bytes()[:limit]
    for start in range(0, len(text), PIECE * step):
        yield text[start : start + PIECE].decode("utf-8", errors="ignore")


def batches(texts: Iterable[str], length: int = 512) -> Iterator[list[str]]:
    """These texts, so many at a time."""
    rest = iter(texts)
    while batch := list(islice(rest, length)):
        yield batch


def strings(seed: str, tokens: Sequence[str], count: int) -> Iterator[str]:
    """Texts made of these tokens, with `▁` as it is and as a space, and of what lies between."""
    rng = random.Random(seed)
    spaced = [token.replace("▁", " ") for token in tokens]
    sources = [tokens, spaced, spaced, BETWEEN]
    for _ in range(count):
        yield "".join(rng.choice(rng.choice(sources)) for _ in range(rng.randint(0, 12)))


def sources(seed: str, tokens: Sequence[str], data: Path, slow: bool) -> Iterator[tuple[str, Iterator[str]]]:
    """What is compared, by name."""
    for corpus in CORPORA:
        limit = 3_000_000 if slow else 1_500_000
        yield corpus, pieces(data / "corpus" / f"{corpus}.txt", limit, 1 if slow else 100)
    languages = sorted((data / "corpus" / "lang").glob("*.txt"))
    yield (
        "languages",
        (text for path in languages for text in pieces(path, 200_000, 1 if slow else 100)),
    )
    size = 20_000 if slow else 1_000
    yield (
        "adversarial",
        (
            path.read_bytes()[:size].decode("utf-8", errors="ignore")
            for path in sorted((data / "adversarial").glob("*.txt"))
        ),
    )
    yield "own tokens", strings(seed, tokens, 20_000 if slow else 200)


def compare_all(
    name: str,
    tokens: Sequence[str],
    data: Path,
    slow: bool,
    compare: Callable[[list[str]], None],
) -> str:
    """Give every text to `compare`, which fails at a difference; a row of the table of counts."""
    counts: dict[str, int] = {}
    for source, texts in sources(name, tokens, data, slow):
        counts[source] = 0
        for batch in batches(texts):
            compare(batch)
            counts[source] += len(batch)
    row = ", ".join(f"{source} {count}" for source, count in counts.items())
    return f"{name}: {sum(counts.values())} texts, 0 differences ({row})"
