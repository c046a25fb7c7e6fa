"""``train(return_ids=True)``: the ids of one text, which are there when training ends."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenmill
from hypothesis import given
from hypothesis import strategies as st

TEXT = "the miller mills the meal<s>meal and mill<s><s>the mill"


def test_ids_are_those_of_encode_and_special_tokens_stand_in_them() -> None:
    for special_ids in ("first", "last"):
        tok, ids = tokenmill.train(
            texts=[TEXT],
            num_merges=8,
            split="none",
            special_tokens=["<s>"],
            special_ids=special_ids,
            return_ids=True,
        )
        assert ids.tolist() == tok.encode(TEXT, special="parse")
        assert tok.decode(ids) == TEXT
        assert np.count_nonzero(ids == tok.special_tokens["<s>"]) == 3
        options: Any = {"special_tokens": ["<s>"], "special_ids": special_ids}
        assert tok == tokenmill.train(texts=[TEXT], num_merges=8, split="none", **options)


@given(
    text=st.text("ab c", max_size=60),
    tie_break=st.sampled_from(
        ["lexicographic", "lexicographic-largest", "first-seen", "token-id", "huggingface"]
    ),
    min_frequency=st.integers(1, 3),
    alphabet=st.sampled_from(["bytes", "chars"]),
    normalizer=st.sampled_from([None, "NFKD", "BertNormalizer"]),
    max_token_length=st.none() | st.integers(1, 5),
)
def test_ids_are_those_of_encode_whatever_the_options(text: str, **options: Any) -> None:
    tok, ids = tokenmill.train(texts=[text], num_merges=12, split="none", return_ids=True, **options)
    assert ids.tolist() == tok.encode(text)


def test_the_vocabulary_decides_the_type_of_the_array() -> None:
    text = "".join(map(chr, range(0x10000, 0x20000 - 1)))
    options: Any = {"split": "none", "alphabet": "chars", "min_frequency": 1}
    for merges, dtype in ((0, "uint16"), (1, "uint16"), (2, "uint32")):
        tok, ids = tokenmill.train(texts=[text], num_merges=merges, return_ids=True, **options)
        assert (tok.vocab_size, ids.dtype.name) == (2**16 - 1 + merges, dtype)
        assert ids.tolist() == tok.encode(text)


@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_a_file_is_one_document(tmp_path: Path, errors: Any) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode() * 9 + b"\xff" * (errors == "replace"))
    tok, ids = tokenmill.train(path, num_merges=8, split="none", errors=errors, return_ids=True)
    assert ids.tolist() == tok.encode(path.read_text(encoding="utf-8", errors="replace"))


def test_training_stops_where_every_pair_is_unique() -> None:
    draw = random.Random(3)
    text = "".join(draw.choices("abcdefgh ", k=50_000))
    tok, ids = tokenmill.train(texts=[text], vocab_size=65_536, split="none", return_ids=True)
    report = tok.training_report
    assert report is not None
    assert report.stopped_early == "min-frequency"
    pairs = list(zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True))
    # Of a run of three equal tokens both pairs overlap, so that one replacement is all there is.
    assert len(set(pairs)) == len(pairs)
    assert "ids" in report.phases


def test_a_mapping_with_one_text_that_counts_once() -> None:
    tok, ids = tokenmill.train(texts={"abab": 1}, num_merges=1, split="none", return_ids=True)
    assert ids.tolist() == tok.encode("abab") == [256, 256]


def test_an_empty_text_has_no_ids() -> None:
    _, ids = tokenmill.train(texts=[""], num_merges=1, split="none", return_ids=True)
    assert (ids.tolist(), ids.dtype.name) == ([], "uint16")


PROGRAM = """
import pathlib, random
import tokenmill

def kilobytes(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])

draw = random.Random(1)
words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 9))) for _ in range(100_000)]
text = " ".join(draw.choices(words, k=500_000))
del words
before = kilobytes("VmRSS")
tokenmill.train(texts=[text], num_merges=20_000, split="none", return_ids=True)
print((kilobytes("VmHWM") - before) * 1024 / len(text))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read as Linux tells it")
def test_memory_is_what_was_estimated() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert 12 < float(done.stdout) < 28


REFUSED = """
import pathlib, resource
import tokenmill

text = "low lower " * 5_000_000
pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + (1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    tokenmill.train(texts=[text], num_merges=1, split="none", return_ids=True)
except MemoryError as error:
    print(error)
assert tokenmill.train(texts=[text[:1000]], num_merges=1, split="none", return_ids=True)[1].size == 800
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on addresses is one of Linux")
def test_what_does_not_fit_is_refused_with_the_estimate() -> None:
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, check=True)
    assert "a text of 50000000 bytes is too long to learn from as a whole" in done.stdout
    assert "about 1400 MB of memory" in done.stdout
