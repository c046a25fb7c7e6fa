"""The algorithms of ``tokenmill.algorithms`` beside other libraries, by the length of the text.

    python bench/algorithms.py            tables for docs/algorithms.md, as Markdown: about five minutes
    python bench/algorithms.py --quick    one round, short slices

Every figure is the median over rounds; in a round each library has a process of its own with one thread. A
slice begins at a random place of an English text and is given once. Without a split, o200k's tokens are
merged over the whole slice. Letters without a space are texts that no split divides.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import data
from peers import PEERS
from vocabularies import find

ALGORITHMS = ("backtracking", "table", "heap", "greedy", "minimal")
TABLES = {
    "unsplit": ("o200k-unsplit", ("tokenmill", *ALGORITHMS, "rs-bpe", "tokenizers")),
    "split": ("o200k", ("tokenmill", "rs-bpe", "tiktoken", "tokenizers")),
    "worst": ("o200k", ("tokenmill", "rs-bpe", "tiktoken", "tokenizers")),
    "ranges": ("o200k-unsplit", ("interval", "count")),
    "appended": ("o200k-unsplit", ("appender", "tokenmill")),
}
TITLES = {
    "unsplit": "microseconds for a slice without a split, o200k",
    "split": "microseconds for a slice with o200k's split",
    "worst": "microseconds for letters that no split divides, o200k",
    "ranges": "microseconds to count a slice of a text of 20,000 tokens without a split, o200k",
    "appended": "microseconds for a slice that grows byte by byte, with its count after each, o200k",
}
LENGTHS = (10, 100, 1_000, 10_000)
"""Of a slice, in tokens; of letters, in characters."""


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print."""
    args = _arguments(given)
    if args.who:
        print(json.dumps(_sample(args)))
        return 0
    lengths = LENGTHS[:3] if args.quick else LENGTHS
    for table, (vocabulary, names) in TABLES.items():
        names = tuple(name for name in names if name not in PEERS or find_spec(PEERS[name].module))
        print(f"\n{TITLES[table]}\n")
        print(f"| length | {' | '.join(names)} |\n| ---: |{' ---: |' * len(names)}")
        found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
        for number in range(1 if args.quick else args.rounds):
            for name in names:
                found[name].append(_run(table, vocabulary, name, number, lengths))
        for length in lengths:
            row = [statistics.median(times[str(length)] for times in found[name]) for name in names]
            print(f"| {length:,} | {' | '.join(_shown(value) for value in row)} |", flush=True)
    return 0


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _run(table: str, vocabulary: str, who: str, number: int, lengths: Sequence[int]) -> dict[str, float]:
    given = [f"--table={table}", f"--vocabulary={vocabulary}", f"--who={who}", f"--number={number}"]
    given += [f"--lengths={','.join(map(str, lengths))}"]
    done = subprocess.run([sys.executable, __file__, *given], check=True, capture_output=True, text=True)
    times: dict[str, float] = json.loads(done.stdout)
    return times


def _sample(args: argparse.Namespace) -> dict[str, float]:
    """Microseconds by length."""
    import tokenmill

    vocabulary = find(args.vocabulary)
    split: Any = {"split": "none"} if vocabulary.split == "none" else {}
    tok: Any = tokenmill.load(vocabulary.rank_file or vocabulary.file, **split)
    rng = random.Random(args.number)
    text = data.text("english", 2 << 20).decode(errors="ignore")
    found = {}
    for length in map(int, args.lengths.split(",")):
        calls = max(5, min(400, 100_000 // length))
        if args.table == "ranges":
            found[str(length)] = _ranges(tok, args.who, text, length, calls, rng)
            continue
        call = _call(tok, args.who, vocabulary)
        slices = [_slice(tok, text, args.table, length, rng) for _ in range(calls + 3)]
        for part in slices[:3]:
            call(part)
        start = time.perf_counter()
        for part in slices[3:]:
            call(part)
        found[str(length)] = 1e6 * (time.perf_counter() - start) / calls
    return found


def _slice(tok: Any, text: str, table: str, length: int, rng: random.Random) -> str:
    if table == "worst":
        return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=length))
    start = rng.randrange(len(text) - 8 * length)
    cut: str = tok.truncate(text[start : start + 8 * length], length).text
    return cut


def _call(tok: Any, who: str, vocabulary: Any) -> Callable[[str], object]:
    from tokenmill import algorithms

    if who in ALGORITHMS:
        algorithm = getattr(algorithms, who)
        return lambda text: algorithm(tok, text)
    if who == "appender":

        def append(text: str) -> None:
            appender = tok.appender()
            for byte in text.encode():
                appender.push(bytes([byte]))
                assert appender.token_count

        return append
    form: Callable[[str], object] = PEERS[who](vocabulary, 1).forms["list"]
    return form


def _ranges(tok: Any, who: str, text: str, length: int, calls: int, rng: random.Random) -> float:
    """Ranges of a text of 20,000 tokens."""
    whole = _slice(tok, text, "ranges", 20_000, rng)
    size = length * len(whole) // 20_000
    starts = [rng.randrange(len(whole) - size) for _ in range(calls)]
    if who == "count":
        parts = [whole[start : start + size] for start in starts]
        begun = time.perf_counter()
        for part in parts:
            tok.count(part)
        return 1e6 * (time.perf_counter() - begun) / calls
    import numpy as np

    counter = tok.interval_counter(whole)
    ranges = np.array([(start, start + size) for start in starts] * (1 + 20_000 // calls))
    counter.count_many(ranges[:100])
    begun = time.perf_counter()
    counter.count_many(ranges)
    return 1e6 * (time.perf_counter() - begun) / len(ranges)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--quick", action="store_true", help="one round, short slices")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each library (default: 3)")
    parser.add_argument("--table", choices=TABLES, help=argparse.SUPPRESS)
    parser.add_argument("--vocabulary", default="o200k", help=argparse.SUPPRESS)
    parser.add_argument("--who", help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--lengths", default="", help=argparse.SUPPRESS)
    return parser.parse_args(given)


if __name__ == "__main__":
    raise SystemExit(main())
