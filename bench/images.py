"""Images against the files they are made of, and what processes share: `python bench/images.py TOKENIZER...`.

For each tokenizer a line: the milliseconds of `load` from its own file, from an image, and through a folder
of images (`image_dir=`), each the fastest of several; then for 16 processes that have each loaded it and
encoded a text to an array, the memory that each adds: its proportional set size (`Pss` of
`/proc/self/smaps_rollup`, where a page that N processes share counts an Nth), without and with an image. The
bounds are 10 ms for Llama 3.1's image and 5 ms for that of cl100k.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import tokenmill

PROCESSES = 16
TIMES = 15
TEXT = "The quick brown fox jumps over the lazy dog. " * 200

CHILD = """
import re, sys
import numpy
import tokenmill
def pss():
    return int(re.search(r"Pss:\\s+(\\d+) kB", open("/proc/self/smaps_rollup").read())[1])
tokenmill.train(texts=["low lower"], num_merges=1).encode_batch(["low"]).ids
before = pss()
tok = tokenmill.load(sys.argv[1])
tok.encode_batch([sys.argv[2]]).ids
print("ready", flush=True)
sys.stdin.readline()
print(pss() - before, flush=True)
sys.stdin.readline()
"""


def fastest(call: Callable[[], object], times: int = TIMES) -> float:
    """The least milliseconds that a call took."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return 1000 * min(taken)


def memory_of(path: Path) -> float:
    """The megabytes that each of many processes adds for this tokenizer."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, str(path), TEXT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    added = []
    for step in ("ready", "measured"):
        for child in children:
            assert child.stdout is not None
            line = child.stdout.readline()
            if step == "measured":
                added.append(int(line) / 1024)
        # All are measured while all are there.
        for child in children:
            assert child.stdin is not None
            print(file=child.stdin, flush=True)
    for child in children:
        child.wait()
    return sum(added) / len(added)


def facts_of(path: Path, folder: Path) -> dict[str, float]:
    """Milliseconds and megabytes of a tokenizer."""
    image, kept = folder / "t.tokenmill", folder / "images"
    tok = tokenmill.load(path)
    tok.save(image)
    assert tokenmill.load(path, image_dir=kept) == tok
    return {
        "file_ms": fastest(lambda: tokenmill.load(path), 5),
        "image_ms": fastest(lambda: tokenmill.load(image)),
        "image_dir_ms": fastest(lambda: tokenmill.load(path, image_dir=kept)),
        "image_mb": image.stat().st_size / 2**20,
        "file_pss_mb": memory_of(path),
        "image_pss_mb": memory_of(image),
    }


def main() -> None:
    """Print a line of JSON for each tokenizer."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tokenizers", nargs="+", type=Path, metavar="TOKENIZER")
    for path in parser.parse_args().tokenizers:
        with tempfile.TemporaryDirectory() as folder:
            facts = facts_of(path, Path(folder))
        print(json.dumps({"tokenizer": path.name, **{name: round(fact, 2) for name, fact in facts.items()}}))


if __name__ == "__main__":
    main()
