"""Training time against the trainers of tokenizers: the merges are compared first, one by one.

    python bench/train.py                  10 MB of English, 32,000 tokens, GPT-2 split, one thread
    python bench/train.py --size 40 --threads 2
    python bench/train.py --whole          the text as a single string
    python bench/train.py --model wordpiece --vocab-size 16000
    python bench/train.py --model likelihood --vocab-size 16000

Each run has a process of its own; imports and reading the text are outside the clock. Both learn from the
same documents in memory, 64 kB of whole lines each: tokenizers works on several at once, but on a single
string with one thread and, for its size, slower. Exit code 1 if the merges differ. The tokens of its
WordPieceTrainer depend on chance, so there it is said how many differ.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import data
import runner
from peers import installed

TRAINERS = ("tokenmill", "tokenizers")


def main() -> int:
    """Train with both, compare, print, record."""
    args = _arguments()
    versions = {name: version for name, version in installed().items() if name in TRAINERS}
    if len(versions) < len(TRAINERS):
        print(f"both of {', '.join(TRAINERS)} are needed; here is {', '.join(versions)}", file=sys.stderr)
        return 2
    if args.corpus == data.STDLIB:
        print("no shared data: the text is Python's own source", file=sys.stderr)
    samples: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=data.scratch()) as folder:
        merges = {name: Path(folder, name) for name in TRAINERS}
        for number in range(args.rounds):
            for name in TRAINERS if number % 2 == 0 else reversed(TRAINERS):
                found = _train(args, name, merges[name])
                if "error" in found:
                    print(f"{name}: {found['error']}", file=sys.stderr)
                    return 2
                samples.append({"round": number, "trainer": name, **found})
            if number == 0:
                compare = _compare if args.model == "bpe" else _count_differences
                verdict = compare(*(merges[name].read_text().splitlines() for name in TRAINERS))
                print(f"{'merges' if args.model == 'bpe' else 'tokens'}: {verdict}", flush=True)
    _print(samples)
    if args.json:
        record = {
            "machine": runner.machine(versions),
            "settings": {
                "corpus": args.corpus,
                "whole": args.whole,
                "vocab_size": args.vocab_size,
                "threads": args.threads,
                "rounds": args.rounds,
                "model": args.model,
                "split": "gpt2" if args.model == "bpe" else "BertPreTokenizer",
            },
            "merges": verdict,
            "samples": samples,
        }
        Path(args.json).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0 if args.model != "bpe" or verdict.startswith("identical") else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--size", type=int, default=10, metavar="MB", help="of the text (default: 10)")
    parser.add_argument("--model", choices=("bpe", "wordpiece", "likelihood"), default="bpe")
    parser.add_argument("--whole", action="store_true", help="one string instead of documents of 64 kB")
    parser.add_argument("--corpus", choices=data.corpora(), default=data.corpora()[0])
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", metavar="OUT", help="record figures and machine facts in this file")
    return parser.parse_args()


def _train(args: argparse.Namespace, trainer: str, merges: Path) -> dict[str, Any]:
    return runner.run(
        "train",
        on_threads=args.threads,
        trainer=trainer,
        corpus=args.corpus,
        size=args.size * data.MB,
        whole=args.whole,
        vocab_size=args.vocab_size,
        threads=args.threads,
        merges=str(merges),
        model=args.model,
    )


def _compare(ours: list[str], theirs: list[str]) -> str:
    for number, (own, other) in enumerate(zip(ours, theirs, strict=False)):
        if own != other:
            return f"DIFFER at merge {number}: tokenmill {_shown(own)}, tokenizers {_shown(other)}"
    if len(ours) != len(theirs):
        return f"DIFFER in number: tokenmill {len(ours):,}, tokenizers {len(theirs):,}"
    return f"identical, {len(ours):,} of {len(theirs):,}"


def _count_differences(ours: list[str], theirs: list[str]) -> str:
    return f"{len(set(ours) & set(theirs)):,} of {len(ours):,} and {len(theirs):,} are the same"


def _shown(merge: str) -> str:
    return " + ".join(repr(bytes.fromhex(part).decode("utf-8", "backslashreplace")) for part in merge.split())


def _print(samples: list[dict[str, Any]]) -> None:
    walls: dict[str, list[float]] = {}
    for name in TRAINERS:
        own = [sample for sample in samples if sample["trainer"] == name]
        walls[name] = [sample["wall"] for sample in own]
        extra = statistics.median(sample["peak_mb"] - sample["text_mb"] for sample in own)
        cpu = statistics.median(sample["cpu"] for sample in own)
        print(
            f"{name:<12}{statistics.median(walls[name]):8.2f} s"
            f"  [{min(walls[name]):.2f} to {max(walls[name]):.2f}]"
            f"  CPU {cpu:.2f} s, {extra:.0f} MB more than the text"
        )
    ratios = [theirs / ours for ours, theirs in zip(*walls.values(), strict=True)]
    print(
        f"tokenmill takes 1/{statistics.median(ratios):.2f} of the time"
        f"  [{min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} rounds]"
    )


if __name__ == "__main__":
    sys.exit(main())
