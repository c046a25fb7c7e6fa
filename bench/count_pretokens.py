"""Counting in several processes and learning from the counts: its CPU beside that of training from the files.

    python bench/count_pretokens.py                     40 MB, half English, two processes, 32,000 ids
    python bench/count_pretokens.py --quick             1 MB, 2,000 ids, one round
    python bench/count_pretokens.py --model unigram --parts 7 --store parquet

CPU is that of whole processes, one thread each, with reading and writing files. Starting Python is in it,
too, once for training and once for each process that counts; the last figure is without that, which is
timed on a text of one word. What training learns is compared, outside the clock: exit code 1 if a tokenizer
differs. Figures are medians.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import data

STEPS = ("train", "count", "learn")
START = "start"
PLAIN = ".counts"


def main() -> int:
    """Count, train, compare, print."""
    args = _arguments()
    corpora = data.corpora() if len(data.corpora()) == 1 else ("english", "multilingual")
    identical = True
    with tempfile.TemporaryDirectory(dir=data.scratch()) as folder:
        parts = _parts(Path(folder), corpora, int(args.megabytes * data.MB), args.parts)
        size = sum(part.stat().st_size for part in parts)
        counts = [part.with_suffix(args.store) for part in parts]
        rounds: dict[str, list[tuple[float, float]]] = {step: [] for step in (*STEPS, START)}
        for _ in range(args.rounds):
            whole, from_counts = Path(folder, "whole.json"), Path(folder, "from_counts.json")
            rounds["train"].append(_run(args, "train", parts, whole))
            counted = [_run(args, "count", [part], out) for part, out in zip(parts, counts, strict=True)]
            # The processes would run at the same time: the CPU adds up, the longest one is waited for.
            added, longest = sum(used for used, _ in counted), max(waited for _, waited in counted)
            rounds["count"].append((added, longest))
            rounds["learn"].append(_run(args, "learn", counts, from_counts))
            rounds[START].append(_run(args, START, [], Path(folder, f"start{args.store}")))
            identical = identical and whole.read_bytes() == from_counts.read_bytes()
        stored = sum(out.stat().st_size for out in counts)
    print(f"{' and '.join(corpora)}, {size / data.MB:.1f} MB, {args.model}, {args.vocab_size:,} ids")
    cpu = {step: statistics.median(used for used, _ in rounds[step]) for step in (*STEPS, START)}
    wall = {step: statistics.median(waited for _, waited in rounds[step]) for step in STEPS}
    print(f"  from the files            {cpu['train']:7.2f} s of CPU {wall['train']:7.2f} s")
    print(f"  counting in {args.parts} processes {cpu['count']:9.2f} s of CPU {wall['count']:7.2f} s")
    print(f"  learning from the counts  {cpu['learn']:7.2f} s of CPU {wall['learn']:7.2f} s")
    apart, start = cpu["count"] + cpu["learn"], cpu[START]
    without = (apart - (args.parts + 1) * start) / (cpu["train"] - start)
    print(
        f"  {apart / cpu['train']:.3f} of the CPU, {without:.3f} without starting Python ({start:.2f} s each)"
    )
    print(f"  counts of {stored / data.MB:.1f} MB")
    print(f"tokenizers: {'identical' if identical else 'DIFFERENT'}")
    if args.json:
        record = {"arguments": vars(args), "bytes": size, "stored": stored, "rounds": rounds}
        Path(args.json).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0 if identical else 1


def _parts(folder: Path, corpora: tuple[str, ...], size: int, number: int) -> list[Path]:
    """Files of whole lines, each with some of every corpus."""
    parts = [folder / f"part{i}.txt" for i in range(number)]
    for corpus in corpora:
        lines = data.text(corpus, size // len(corpora)).splitlines(keepends=True)
        step = -(-len(lines) // number)
        for i, part in enumerate(parts):
            with part.open("ab") as file:
                file.writelines(lines[i * step : (i + 1) * step])
    return parts


def _run(args: argparse.Namespace, step: str, files: list[Path], out: Path) -> tuple[float, float]:
    """The CPU and the time that one process takes, which imports nothing but what it needs."""
    names = [str(file) for file in files]
    unk = "[UNK]" if args.model == "wordpiece" else None
    options = {"model": args.model, "unk_token": unk, "num_threads": 1}
    if step in (START, "count"):
        source = {"texts": ["low"]} if step == START else {"files": names}
        call = f"tokenmill.count_pretokens(**{source | options!r}).save({str(out)!r})"
    else:
        source = {"files" if step == "train" else "counts": names}
        options["vocab_size"] = args.vocab_size
        call = f"tokenmill.train(**{source | options!r}).save({str(out)!r}, lossy=True)"
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import tokenmill; {call}"], check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--megabytes", type=float, default=40)
    parser.add_argument("--model", choices=("bpe", "wordpiece", "unigram"), default="bpe")
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--parts", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--store", choices=(PLAIN, ".parquet"), default=PLAIN)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", metavar="OUT", help="record figures in this file")
    args = parser.parse_args()
    if args.quick:
        args.megabytes, args.vocab_size, args.rounds = 1, 2_000, 1
    return args


if __name__ == "__main__":
    sys.exit(main())
