"""Run the fuzz targets one after the other, and say what each did.

    python fuzz/run.py [--minutes N] [--sanitizer address|none] [TARGET ...]

Needs a nightly compiler and cargo-fuzz. Each target has the same part of the time, starts from the seeds of
`seeds.py` and from what it found before (`fuzz/corpus/`), and stops at its first finding, whose input is
kept in `fuzz/artifacts/`. The exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Bytes of an input, where a target needs more of them than others: a seed is to fit.
LENGTHS = {"gguf": 16_384, "tekken": 20_000, "encode": 4096, "decode": 4096, "stream": 4096, "split": 2048}
LENGTH = 8192
# Seconds for one input: far more than it may take, because the machine may be busy. What may be
# taken is limited in units of work (`src/patience.rs`).
TIMEOUT = 20
# Megabytes of the process, of which the sanitizer holds back 256 that were freed; and of one allocation.
MEMORY = 1024
ALLOCATION = 512


def targets() -> list[str]:
    """All targets, in the order of their names."""
    return sorted(path.stem for path in (HERE / "targets").glob("*.rs"))


def cargo(*arguments: str) -> list[str]:
    """A call of cargo-fuzz."""
    return ["cargo", "+nightly", "fuzz", *arguments]


def run(target: str, seconds: int, sanitizer: str) -> tuple[int, str]:
    """The exit code of a target, and a row that says what it did."""
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={LENGTHS.get(target, LENGTH)}",
        "-len_control=0",
        f"-timeout={TIMEOUT}",
        f"-rss_limit_mb={MEMORY}",
        f"-malloc_limit_mb={ALLOCATION}",
        "-print_final_stats=1",
    ]
    call = cargo("run", "--fuzz-dir", str(HERE), "-s", sanitizer, target, "--", *options)
    done = subprocess.run(call, capture_output=True, text=True, errors="replace", check=False)
    executions = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    coverage = re.findall(r"cov: (\d+) ft: (\d+)", done.stderr)
    edges, features = coverage[-1] if coverage else ("-", "-")
    row = f"{target:16} {executions[1] if executions else '-':>12} {seconds:>8} {edges:>8} {features:>9}"
    if done.returncode == 0:
        return 0, row + "  -"
    said = re.search(r"panicked at .*\n.*|ERROR: .*", done.stderr)
    return done.returncode, f"{row}  {said[0] if said else done.stderr[-500:]}"


def main() -> int:
    """Run them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(targets()))
    parser.add_argument("--minutes", type=float, default=15, help="for all targets together")
    parser.add_argument("--sanitizer", default="address", choices=["address", "none"])
    options = parser.parse_args()
    chosen = options.targets or targets()
    build = cargo("build", "--fuzz-dir", str(HERE), "-s", options.sanitizer)
    subprocess.run(build, check=True)
    seconds = max(1, round(60 * options.minutes / len(chosen)))
    print(f"{'target':16} {'executions':>12} {'seconds':>8} {'edges':>8} {'features':>9}  finding")
    found = 0
    for target in chosen:
        code, row = run(target, seconds, options.sanitizer)
        found += code != 0
        print(row, flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
