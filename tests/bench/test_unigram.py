"""The benchmark of Unigram trainers, and its two figures against all spellings."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from pathlib import Path

import pytest


def test_figures_are_those_of_all_spellings(native: object) -> None:
    from unigram import quality

    scores = {"\u2581a": -1.0, "\u2581": -2.5, "a": -1.5, "b": -2.0, "ab": -2.2, "\u2581ab": -3.9}
    total = math.log(sum(map(math.exp, scores.values())))
    words = ["\u2581ab", "\u2581a", "\u2581abab"]
    tokens, log = 0, 0.0
    for word in words:
        ways = []
        for cuts in itertools.product([False, True], repeat=len(word) - 1):
            parts = [""]
            for char, is_cut in zip(word, [False, *cuts], strict=True):
                parts = [*parts, char] if is_cut else [*parts[:-1], parts[-1] + char]
            if all(part in scores for part in parts):
                ways.append((sum(scores[part] - total for part in parts), len(parts)))
        tokens += max(ways)[1]
        log += math.log(sum(math.exp(score) for score, _ in ways))
    got = quality(scores, ["ab a abab"])
    assert got == pytest.approx((9 / tokens, log / 9))


def test_every_trainer_that_is_there_is_measured(native: object) -> None:
    script = Path(__file__).parents[2] / "bench" / "unigram.py"
    done = subprocess.run([sys.executable, script, "--quick"], check=True, stdout=subprocess.PIPE, text=True)
    lines = [line for line in done.stdout.splitlines() if "bytes a token" in line]
    assert len(lines) >= 4
    assert {line.split("  ")[1] for line in lines} >= {"tokenmill", "tokenmill, tokenizers", "sentencepiece"}
