"""How long `diff` and `report` take: `python bench/diff.py VOCAB`, a folder of published vocabularies.

Each `diff` is of a published tokenizer and an edit of it, or of two forms of one; it ends with a witness or a
proof. The report is that of three vocabularies and one trained here. Processor seconds, the fastest of three;
the bounds are 60 s for `diff` and 30 s for the report.
"""

from __future__ import annotations

import argparse
import copy
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tokenmill
from doctor import fastest

Pair = tuple[str, tokenmill.Tokenizer, tokenmill.Tokenizer]
Edit = Callable[[dict[str, Any]], None]

MOST_FOR_DIFF, MOST_FOR_REPORT = 60.0, 30.0
"""Seconds."""


def digits_by_two(file: dict[str, Any]) -> None:
    """`\\p{N}{1,3}` becomes `\\p{N}{1,2}`."""
    step = next(step for step in file["pre_tokenizer"]["pretokenizers"] if step["type"] == "Split")
    step["pattern"]["Regex"] = step["pattern"]["Regex"].replace(r"\p{N}{1,3}", r"\p{N}{1,2}")


def neighbours_swapped(file: dict[str, Any]) -> None:
    """Two merges of neighbouring rank that share nothing: a proof."""
    merges = file["model"]["merges"]
    merges[-2], merges[-1] = merges[-1], merges[-2]


def moved_merge(file: dict[str, Any]) -> None:
    """An early merge goes far down."""
    merges = file["model"]["merges"]
    merges.insert(2_000, merges.pop(5))


def lowercased(file: dict[str, Any]) -> None:
    """A normalizer comes before all others."""
    steps = [step for step in [file["normalizer"]] if step is not None]
    file["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, *steps]}


def stripped(file: dict[str, Any]) -> None:
    """The decoder takes a space at the end away."""
    strip = {"type": "Strip", "content": " ", "start": 0, "stop": 1}
    file["decoder"] = {"type": "Sequence", "decoders": [file["decoder"], strip]}


def without_template(file: dict[str, Any]) -> None:
    """Nothing is put around a text."""
    file["post_processor"] = None


EDITS: dict[str, tuple[str, Edit]] = {
    "digits by two": ("llama3.1", digits_by_two),
    "neighbouring merges": ("llama3.1", neighbours_swapped),
    "moved merge": ("llama3.1", moved_merge),
    "normalizer": ("gpt2", lowercased),
    "decoder": ("llama3.1", stripped),
    "template": ("llama3.1", without_template),
}


def edited(
    place: Path, edit: Callable[[dict[str, Any]], None], folder: Path
) -> tuple[tokenmill.Tokenizer, ...]:
    """A tokenizer and the edited one."""
    file = json.loads((place / "tokenizer.json").read_text(encoding="utf-8"))
    other = copy.deepcopy(file)
    edit(other)
    paths = (folder / "a.json", folder / "b.json")
    for path, content in zip(paths, (file, other), strict=True):
        path.write_text(json.dumps(content), encoding="utf-8")
    return tuple(tokenmill.load(path) for path in paths)


def pairs(vocab: Path, folder: Path) -> Iterator[Pair]:
    """What is compared: a name and two tokenizers."""
    for name, (place, edit) in EDITS.items():
        a, b = edited(vocab / place, edit, folder)
        yield f"{place}, {name}", a, b
    yield "gpt2, folder and ranks", tokenmill.load(vocab / "gpt2"), tokenmill.load(vocab / "r50k_base")


def report_of(vocab: Path) -> Callable[[], object]:
    """The report of three vocabularies and one trained on their names."""
    toks = {name: tokenmill.load(vocab / name) for name in ("cl100k_base", "o200k_base", "llama3.1")}
    toks["small"] = tokenmill.train(texts=[" ".join(toks)] * 9, vocab_size=300)
    return lambda: tokenmill.report(toks).html


def main() -> int:
    """Print a line for each; 1 where a bound is exceeded."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vocab", type=Path, metavar="VOCAB")
    vocab = parser.parse_args().vocab
    is_over = False
    with tempfile.TemporaryDirectory() as folder:
        for name, a, b in pairs(vocab, Path(folder)):
            verdict = tokenmill.diff(a, b).verdict
            taken = fastest(lambda a=a, b=b: tokenmill.diff(a, b), time.process_time)  # type: ignore[misc]
            is_over |= taken > MOST_FOR_DIFF
            print(f"diff of {name}: {verdict}, {taken:.2f} s", flush=True)
    taken = fastest(report_of(vocab), time.process_time)
    print(f"report of four: {taken:.2f} s")
    return int(is_over or taken > MOST_FOR_REPORT)


if __name__ == "__main__":
    raise SystemExit(main())
