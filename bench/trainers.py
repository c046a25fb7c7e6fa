"""Ways to train on the English side of sentence pairs, from naive to fast; the merges are compared.

    python bench/trainers.py                     10,000 merges of every sentence: some minutes
    python bench/trainers.py --quick             200 merges of 4,000 sentences: some seconds
    python bench/trainers.py --trainers tokenizers,tokenmill --rounds 9

Sentences are in lower case and cut at white space and the ends of sentences; all learn from the same ones, in
memory, on one thread, in a process of their own. Naive Python is the definition (``tokenmill.reference``),
measured on 20 merges and scaled: an upper bound, as later merges find shorter words. Naive Rust is its twin,
an example that cargo builds first. Without the shared data the text is Python's own source. Exit code 1 if
merges differ.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import data
import runner
from peers import installed
from word_trainers import NAIVE_PYTHON, NAIVE_RUST, TRAINERS

ENDS = re.compile(r"[\s.!?]+")
STDLIB_BYTES = 5_000_000
QUICK = {"sentences": 4_000, "merges": 200, "rounds": 1}
FULL = {"sentences": 10_000_000, "merges": 10_000, "rounds": 3}


def main(argv: Sequence[str] | None = None) -> int:
    """Train with each, compare, print, record."""
    args = _arguments(argv)
    chosen = args.trainers.split(",")
    if unknown := [name for name in chosen if name not in TRAINERS]:
        print(f"{', '.join(unknown)}: none of {', '.join(TRAINERS)}", file=sys.stderr)
        return 2
    program = build_naive_rust() if NAIVE_RUST in chosen else None
    if NAIVE_RUST in chosen and program is None:
        print(f"{NAIVE_RUST} is left out: it needs cargo", file=sys.stderr)
        chosen.remove(NAIVE_RUST)
    samples: list[dict[str, Any]] = []
    learned: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(dir=data.scratch()) as folder:
        text, out = Path(folder, "sentences"), Path(folder, "merges")
        found = sentences(args.sentences)
        text.write_text("".join(f"{sentence}\n" for sentence in found), encoding="utf-8")
        words = [word for sentence in found for word in sentence.split()]
        print(f"{len(found):,} sentences, {len(words):,} words, {len(set(words)):,} of them distinct")
        order: dict[str, Any] = {"sentences": str(text), "out": str(out), "program": program or ""}
        for number in range(args.rounds):
            for name in chosen if number % 2 == 0 else reversed(chosen):
                if number and name in (NAIVE_PYTHON, NAIVE_RUST):
                    continue  # what takes minutes needs no second decimal
                sample = _measure(name, args, order)
                if "error" in sample:
                    print(f"{name}: {sample['error']}", file=sys.stderr)
                    return 2
                learned.setdefault(name, out.read_text().splitlines())
                samples.append({"round": number, "trainer": name, **sample})
    verdict = compare(learned)
    print(f"merges: {verdict}")
    print(*table(samples), sep="\n")
    if count := sum(runner.disturbed(sample["wall"], sample["cpu"]) for sample in samples):
        print(f"{count} of {len(samples)} samples were not alone on their CPU", file=sys.stderr)
    if args.json:
        versions = {name: version for name, version in installed().items() if name in chosen}
        settings = {"sentences": len(found), "merges": args.merges, "scaled_from": args.naive_merges}
        record = {
            "machine": runner.machine(versions),
            "settings": settings,
            "merges": verdict,
            "samples": samples,
        }
        Path(args.json).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0 if verdict.startswith("identical") else 1


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--quick", action="store_true", help="a small part of the text, one round")
    parser.add_argument("--sentences", type=int, metavar="N", help="at most so many (default: all)")
    parser.add_argument("--merges", type=int, metavar="N", help="default: 10,000")
    parser.add_argument("--rounds", type=int, metavar="N", help="default: 3; naive trainers have one")
    parser.add_argument("--naive-merges", type=int, default=20, metavar="N", help="of Python (default: 20)")
    parser.add_argument("--trainers", default=",".join(TRAINERS), metavar="NAME,...")
    parser.add_argument("--json", metavar="OUT", help="record figures and machine facts in this file")
    args = parser.parse_args(argv)
    for name, value in (QUICK if args.quick else FULL).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    return args


def sentences(most: int) -> list[str]:
    """English sentences, words between single spaces; where there are more, every so many of them."""
    folder = data.shared()
    if folder is None:
        lines = data.text(data.STDLIB, STDLIB_BYTES).decode().splitlines()
    else:
        pairs = (folder / "corpus" / "fra.txt").read_text(encoding="utf-8").splitlines()
        lines = [pair.split("\t")[0] for pair in pairs]
    lines = lines[:: -(-len(lines) // most)]
    return [" ".join(filter(None, ENDS.split(line.lower()))) for line in lines]


def build_naive_rust() -> str | None:
    """The program, built if it has to be; None without cargo or the sources."""
    root = Path(__file__).resolve().parent.parent
    cargo = shutil.which("cargo")
    if cargo is None or not (root / "crates" / "reference" / "examples").is_dir():
        return None
    command = [cargo, "build", "--quiet", "--release", "--locked", "--package", "tokenmill-reference"]
    command += ["--example", "train_words", "--message-format", "json"]
    built = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    messages = map(json.loads, built.stdout.splitlines())
    return next((message["executable"] for message in messages if message.get("executable")), None)


def _measure(name: str, args: argparse.Namespace, order: dict[str, Any]) -> dict[str, Any]:
    if name != NAIVE_PYTHON:
        return runner.run("words", trainer=name, num_merges=args.merges, **order)
    # Counting the words is not scaled.
    counting = runner.run("words", trainer=name, num_merges=0, **order)
    some = runner.run("words", trainer=name, num_merges=args.naive_merges, **order)
    if failed := next((sample for sample in (counting, some) if "error" in sample), None):
        return failed
    each = (some["wall"] - counting["wall"]) / args.naive_merges
    # The time of a CPU is scaled alike, so that it can be compared.
    wall = counting["wall"] + each * args.merges
    cpu = wall * some["cpu"] / some["wall"]
    return {"wall": wall, "cpu": cpu, "measured": some["wall"], "scaled": True}


def compare(learned: dict[str, list[str]]) -> str:
    """Whether all have the same merges, as far as they go."""
    longest = max(learned.values(), key=len)
    for name, merges in learned.items():
        for number, (own, other) in enumerate(zip(merges, longest, strict=False)):
            if own != other:
                return f"DIFFER at merge {number} of {name}"
        if name != NAIVE_PYTHON and len(merges) != len(longest):
            return f"DIFFER in number: {name} has {len(merges):,} of {len(longest):,}"
    return f"identical, {len(longest):,}"


def table(samples: Sequence[dict[str, Any]]) -> list[str]:
    """The lines of a table of Markdown: seconds, and how many times those of tokenmill they are."""
    walls: dict[str, list[float]] = {}
    for sample in samples:
        walls.setdefault(sample["trainer"], []).append(sample["wall"])
    scaled = {sample["trainer"] for sample in samples if sample.get("scaled")}
    own = statistics.median(walls["tokenmill"]) if "tokenmill" in walls else None
    lines = ["| trainer | seconds | times tokenmill |", "| --- | ---: | ---: |"]
    for name in filter(walls.__contains__, TRAINERS):
        wall = statistics.median(walls[name])
        bound = "up to " if name in scaled else ""
        times = f"{bound}{_rounded(wall / own)}" if own else "-"
        lines.append(f"| {name} | {bound}{_rounded(wall)} | {times} |")
    return lines


def _rounded(value: float) -> str:
    """Two figures, as more of them differ from run to run."""
    return f"{float(f'{value:.2g}'):,g}"


if __name__ == "__main__":
    sys.exit(main())
