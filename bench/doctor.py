"""How long a tokenizer takes to be examined and verified: `python bench/doctor.py FOLDER...`.

For each folder the seconds of `load`, of `doctor` without a text and of `verify`, each the fastest of three,
and the processor times of the last two, which other programs disturb less. A folder without a manifest is
saved with one for `verify`. The bounds are 5 s for `doctor` with 128,000 tokens and 0.5 s for `verify`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import tokenmill
from tokenmill.manifest import verify

TIMES = 3
BOUNDS = {"doctor": 5.0, "verify": 0.5}
"""Seconds."""


def fastest(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """The least seconds that a call took."""
    taken = []
    for _ in range(TIMES):
        start = clock()
        call()
        taken.append(clock() - start)
    return min(taken)


def seconds_of(folder: Path) -> dict[str, float]:
    """The seconds of each job on a folder."""
    found = {
        "load": fastest(lambda: tokenmill.load(folder)),
        "doctor": fastest(lambda: tokenmill.doctor(folder)),
        "doctor (processor)": fastest(lambda: tokenmill.doctor(folder), time.process_time),
    }
    with tempfile.TemporaryDirectory() as place:
        kept = folder
        if not (folder / "tokenmill.json").is_file():
            kept = Path(place, "kept")
            tokenmill.load(folder).save(kept)
        verify(kept).check()
        found["verify"] = fastest(lambda: verify(kept))
        found["verify (processor)"] = fastest(lambda: verify(kept), time.process_time)
    return found


def main() -> int:
    """Print a line for each folder; 1 where a bound is exceeded."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    is_over = False
    for folder in parser.parse_args().folders:
        found = seconds_of(folder)
        size = len(tokenmill.load(folder))
        cells = [f"{name} {taken:.2f} s" for name, taken in found.items()]
        cells += [f"{name} at {found[name] / bound:.2f} of its bound" for name, bound in BOUNDS.items()]
        is_over |= any(found[name] > bound for name, bound in BOUNDS.items())
        print(f"{folder.name}: {size:,} tokens: {', '.join(cells)}")
    return int(is_over)


if __name__ == "__main__":
    raise SystemExit(main())
