"""The cells, what each is measured on, and what a sample says in figures.

A cell is a kind of use: a form of result, a kind of input and a number of threads. A task is a cell with a
vocabulary and a text; each sample of a task has a process of its own (``worker.py``).
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import data
import vocabularies

DOCUMENT = 4_096
KILOBYTE = 1_000
DECODING = ("ids", "id-array")
HIGHER_IS_BETTER = ("MB/s",)
BEFORE = "before"
"""The peer that is an earlier build of our own: compared with ours alone, never the best of the others."""


@dataclass(frozen=True)
class Cell:
    """One kind of use."""

    title: str
    forms: tuple[str, ...]
    """Of ``peers.FORMS``; a peer is called by the first that it has."""
    inputs: Literal["text", "batch", "turns", "strings", "ids", "id-array", "load"]
    """One text; its pieces in one call; pieces in turns; a call for each piece; ids to decode; a file."""
    texts: Literal["corpora", "hostile", "prose"] = "corpora"
    unit: str = "MB/s"
    piece: int = 0
    """Bytes of each piece."""
    size: int | None = None
    """Bytes of text where it is not what ``--size`` says."""
    threads: int = 1
    once: bool = False
    """Only a first pass is measured, after "Hello world" alone."""
    against: tuple[str, ...] = ()
    """Cells of our own that ours is compared with, besides the other libraries."""


def _slices(tokens: int) -> Cell:
    piece = tokens * 9 // 2  # bytes of English to a token of o200k, nearly
    title = f"no split, slices of about {tokens:,} tokens to a list"
    return Cell(title, ("list",), "strings", "prose", unit="µs a call", piece=piece, size=data.MB)


def _strings(piece: int) -> Cell:
    title = f"strings of {piece} bytes to a list, a call for each"
    return Cell(title, ("list",), "strings", unit="µs a call", piece=piece, size=2 * data.MB)


CELLS = {
    "array": Cell("one text to an array", ("array",), "text"),
    "list": Cell("one text to a list", ("list",), "text"),
    "documents-array": Cell("documents of 4 kB to an array", ("batch-array",), "batch", piece=DOCUMENT),
    "documents-list": Cell("documents of 4 kB to lists", ("batch-lists",), "batch", piece=DOCUMENT),
    "documents-offsets": Cell(
        "documents of 4 kB to ids with offsets",
        ("batch-offsets",),
        "batch",
        piece=DOCUMENT,
        against=("documents-array",),
    ),
    "short-20": _strings(20),
    "short": _strings(200),
    "short-500": _strings(500),
    "count": Cell("count", ("count",), "text", against=("list", "array")),
    "hostile": Cell(
        "hostile texts, once, to an array or else a list",
        ("array", "list"),
        "text",
        "hostile",
        once=True,
    ),
    "long": Cell("one long text to an array", ("array",), "text", "prose", size=40 * data.MB),
    "long-2": Cell(
        "one long text to an array, two threads",
        ("array",),
        "text",
        "prose",
        size=40 * data.MB,
        threads=2,
        against=("long",),
    ),
    "documents-array-2": Cell(
        "documents of 4 kB to an array, two threads",
        ("batch-array",),
        "batch",
        "prose",
        piece=DOCUMENT,
        threads=2,
        against=("documents-array",),
    ),
    "documents-list-2": Cell(
        "documents of 4 kB to lists, two threads",
        ("batch-lists",),
        "batch",
        "prose",
        piece=DOCUMENT,
        threads=2,
        against=("documents-list",),
    ),
    "decode": Cell("decode ids of a list to str", ("decode",), "ids", "prose", "ms a million ids"),
    "decode-bytes": Cell(
        "decode ids of an array to bytes", ("decode-bytes",), "id-array", "prose", "ms a million ids"
    ),
    "decode-array": Cell(
        "decode ids of an array to str", ("decode-array",), "id-array", "prose", "ms a million ids"
    ),
    "load": Cell("load a file, to first ids", ("list",), "load", "prose"),
    "padded": Cell("texts of 1 kB to padded arrays, int64", ("padded",), "batch", piece=KILOBYTE),
    "turns": Cell("texts of 1 kB in 20 turns to an array", ("batch-parsed",), "turns", piece=KILOBYTE),
    "untrusted": Cell(
        "the same, with each turn an untrusted range",
        ("batch-untrusted",),
        "turns",
        piece=KILOBYTE,
        against=("turns",),
    ),
    "slices-10": _slices(10),
    "slices-100": _slices(100),
    "slices-1000": _slices(1_000),
    "slices-10000": _slices(10_000),
}

_OF_INPUTS = ("padded", "turns", "untrusted")
_WITH_OFFSETS = ("documents-offsets",)
_OF_A_TEXT = tuple(
    name for name in CELLS if not name.startswith("slices") and name not in (*_OF_INPUTS, *_WITH_OFFSETS)
)
_SLICES = tuple(name for name in CELLS if name.startswith("slices"))
_ELSEWHERE = (("array", "list", "load"), ("english", "multilingual"))
_AS_INPUT = ((*_ELSEWHERE[0], *_OF_INPUTS, *_WITH_OFFSETS), _ELSEWHERE[1])
_OTHERS = (
    (
        *("array", "list", "documents-array", "documents-list", "documents-offsets"),
        *("short-20", "short", "short-500", "count", "load"),
    ),
    data.CORPORA,
)
_PLAIN = (("array", "list", "documents-array", "documents-list"), data.CORPORA)
_FROM_MODEL = (("list", "documents-list"), data.CORPORA)
Plan = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
PLAN: Plan = {
    "cl100k": (_OF_A_TEXT, data.CORPORA),
    "o200k": _ELSEWHERE,
    "llama3": _AS_INPUT,
    "qwen2.5": _AS_INPUT,
    "gpt2": _ELSEWHERE,
    "o200k-unsplit": (_SLICES, ("english",)),
    **dict.fromkeys(("deepseek-v3", "llama2", "bert"), _OTHERS),
    **dict.fromkeys(("mistral-nemo", "gpt-oss", "starcoder-like", "falcon-like"), _PLAIN),
    **dict.fromkeys(("phi-3", "gemma-like", "bert-chinese", "albert-like", "xlnet-like"), _PLAIN),
    **dict.fromkeys(("llama2-model", "mistral-model", "t5-model"), _FROM_MODEL),
    # Its offsets of clusters that its map replaces differ on purpose (docs/differences.md).
    "t5": (tuple(name for name in _OTHERS[0] if name not in _WITH_OFFSETS), _OTHERS[1]),
    **dict.fromkeys(vocabularies.REGEXES, (("array", "list", "documents-array"), data.CORPORA)),
}
"""The whole measurement: each vocabulary's cells and corpora."""

QUICK: Plan = {
    "cl100k": (
        ("array", "list", "documents-array", "documents-list", "short", "count", "hostile", "decode", "load"),
        ("english", "multilingual"),
    ),
    "llama3": (_OF_INPUTS, ("english",)),
}
_QUICK_HOSTILE = ("a", "letters")


@dataclass(frozen=True)
class Task:
    """What a sample is taken of."""

    vocabulary: str
    cell: str
    text: str
    size: int

    @property
    def threads(self) -> int:
        return CELLS[self.cell].threads


def tasks(
    *,
    quick: bool,
    shared: bool,
    vocabularies_asked: Sequence[str] | None = None,
    cells: Sequence[str] | None = None,
    corpora: Sequence[str] | None = None,
    hostile: Sequence[str] | None = None,
    size: int | None = None,
    hostile_size: int | None = None,
) -> list[Task]:
    """What is to be measured: the plan, or the part of it that was asked for, or what was asked besides."""
    plan = QUICK if quick else PLAN
    if not shared:
        plan = {vocabularies.LEARNED: (plan["cl100k"][0], (data.STDLIB,))}
    bound = size or (data.MB if quick else sys.maxsize)
    hostile_size = hostile_size or (data.MB // 4 if quick else data.MB)
    hostile = hostile or (_QUICK_HOSTILE if quick else data.hostile_texts())
    prose = data.CORPORA[0] if shared else data.STDLIB
    asked = {name: plan.get(name, _ELSEWHERE) for name in vocabularies_asked or plan}
    if cells and not vocabularies_asked:
        # What the plan has, and cells that it has nowhere for its first vocabulary.
        asked = {name: (_both(cells, planned), theirs) for name, (planned, theirs) in asked.items()}
        left = [name for name in cells if not any(name in planned for planned, _ in asked.values())]
        first = next(iter(asked))
        asked[first] = ((*asked[first][0], *left), asked[first][1])
    elif cells:
        asked = {name: (tuple(cells), theirs) for name, (_, theirs) in asked.items()}
    found: list[Task] = []
    for vocabulary, (chosen, their_corpora) in asked.items():
        for name in chosen:
            cell = CELLS[name]
            if cell.texts == "hostile":
                found += [Task(vocabulary, name, text, hostile_size) for text in hostile]
            else:
                length = min(cell.size or 10 * data.MB, bound)
                texts = (prose,) if cell.texts == "prose" else corpora or their_corpora
                found += [Task(vocabulary, name, text, length) for text in texts]
    return found


def _both(asked: Sequence[str], planned: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in planned if name in asked)


def figures(sample: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """What a sample says: (what, unit) to figure."""
    if "figures" in sample:  # of loading
        return {(what, unit): value for what, unit, value in sample["figures"]}
    if "wall" not in sample:
        return {}
    cell = CELLS[sample["cell"]]
    walls: list[float] = [max(seconds, 1e-9) for seconds in sample["wall"]]
    seconds = {"once" if cell.once else "fresh": walls[0]}
    if len(walls) > 1:
        seconds["repeated"] = statistics.median(walls[1:])

    def in_unit(wall: float) -> float:
        if cell.unit == "MB/s":
            return float(sample["bytes"]) / data.MB / wall
        if cell.inputs in DECODING:
            return wall * 1e3 * data.MB / int(sample["items"])
        return wall * 1e6 / int(sample["items"])

    return {(what, cell.unit): in_unit(wall) for what, wall in seconds.items()}


def times_as_good(ours: float, theirs: float, unit: str) -> float:
    """How many times as fast, or as small, ours is."""
    ours, theirs = max(ours, 1e-9), max(theirs, 1e-9)
    return ours / theirs if unit in HIGHER_IS_BETTER else theirs / ours


def far_behind(
    samples: Iterable[Mapping[str, Any]], exact: Iterable[str], ours: str, factor: float = 4.0
) -> set[str]:
    """The peers that need no further sample of a task: behind an exact other by ``factor`` in all figures.

    We are not the measure: were we far ahead, the best of the others would be dropped after one sample, and
    a claim needs several.
    """
    of_peer = {sample["peer"]: figures(sample) for sample in samples}
    rivals = [name for name in of_peer if name not in (ours, BEFORE) and name in set(exact)]
    behind = set()
    for peer, own in of_peer.items():
        others = [of_peer[name] for name in rivals if name != peer]
        if peer in (ours, BEFORE) or not own:
            continue
        if all(
            any(key in other and times_as_good(other[key], value, key[1]) >= factor for other in others)
            for key, value in own.items()
        ):
            behind.add(peer)
    return behind
