"""Training on one text as a whole, with its ids: how time and memory grow with the text.

    python bench/train_whole.py                          1, 10 and 40 MB of English to 65,536 ids, one thread
    python bench/train_whole.py --corpus code --sizes 1 10 --rounds 5

The ids are compared with those of `encode`, outside the clock; exit code 1 if they differ. Each run has a
process of its own, and reading the text is outside the clock. Times are the medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import data
import runner
from peers import installed


def main() -> int:
    """Train on each size, compare, print, record."""
    args = _arguments()
    samples: list[dict[str, Any]] = []
    for number in range(args.rounds):
        for size in args.sizes:
            found = runner.run("whole", corpus=args.corpus, size=size * data.MB, vocab_size=args.vocab_size)
            if "error" in found:
                print(f"{size} MB: {found['error']}", file=sys.stderr)
                return 2
            samples.append({"round": number, "size": size, **found})
    before = None
    for size in args.sizes:
        own = [sample for sample in samples if sample["size"] == size]
        wall = statistics.median(sample["wall"] for sample in own)
        cpu = statistics.median(sample["cpu"] for sample in own)
        extra = statistics.median(sample["peak_mb"] - sample["text_mb"] for sample in own)
        grown = "" if before is None else f"  {wall / before:.1f} times as long"
        print(
            f"{size:>4} MB{wall:8.2f} s  CPU {cpu:.2f} s"
            f"  {extra * (1 << 20) / own[0]['bytes']:.1f} bytes a byte  {own[0]['vocab_size']:,} tokens, "
            f"{own[0]['ids']:,} ids{grown}"
        )
        before = wall
    identical = all(sample["is_encode"] for sample in samples)
    print(f"ids: {'those of encode' if identical else 'DIFFER from encode'}")
    if args.json:
        settings = {"corpus": args.corpus, "vocab_size": args.vocab_size, "rounds": args.rounds}
        record = {"machine": runner.machine(installed()), "settings": settings, "samples": samples}
        Path(args.json).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0 if identical else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 10, 40], metavar="MB")
    parser.add_argument("--corpus", choices=data.corpora(), default=data.corpora()[0])
    parser.add_argument("--vocab-size", type=int, default=65_536)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", metavar="OUT", help="record figures and machine facts in this file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
