"""Law 11: time grows with the text, whatever the text.

Counted in instructions, which do not depend on what else a machine does. Under callgrind a process loads a
tokenizer and forks a child for each text, which encodes it or does other work with it, and one for none: what
a child ran in all, less what the one before it did, is what the text took.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import string
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from conftest import missing

PROGRAM = """
import json
import os
import sys

import tokenmill
from tokenmill import _core

vocabulary, level, work, split, folder, *names = sys.argv[1:]
_core.force_cpu(level)
tok = tokenmill.load(vocabulary, split=split or None)
assert tok.encode("Hello world") == [9906, 1917]


def grow(grown, pieces):
    for piece in pieces:
        grown.push(piece)
        assert grown.token_count > 0
    return grown.token_count


def ranges(text):
    counter = tok.interval_counter(text)
    return counter.count(len(text) // 3, len(text) - 1) + counter.fits(1, len(text) // 20)


WORK = {
    "encode": lambda text: len(tok.encode(text)),
    "append": lambda text: grow(tok.appender(), text),
    "prepend": lambda text: grow(tok.prepender(), reversed(text)),
    "ranges": ranges,
    "chunk": lambda text: len(tok.chunk(text, 64, overlap=8)),
    "edit": lambda text: tok.edit(text, tok.encode_with_offsets(text), len(text) // 2, len(text), "x").start,
}

# Tables that the first call makes.
WORK[work]("Hello world, " * 40)


def child(text):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if text is None or WORK[work](text) > 0 else 1)
    assert os.waitpid(pid, 0) == (pid, 0)
    return pid


children = {}
for name in names:
    with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
        text = file.read()
    children[name] = child(None), child(text)
print(json.dumps(children))
"""
SMALL, LARGE = 100_000, 1_000_000
LIMIT = 11.5


def letters(size: int) -> str:
    draw = random.Random(0)
    return "".join(draw.choices(string.ascii_letters, k=size))


TEXTS: dict[str, Callable[[int], str]] = {
    "one letter": lambda size: "a" * size,
    "spaces": lambda size: " " * size,
    "random letters": letters,
    "random letters and words": lambda size: letters(size - size // 5) + " some words" * (size // 55),
}


def hostile_texts(data: Path) -> dict[str, bytes]:
    """A megabyte of each kind of the benchmark and of each adversarial file."""
    from data import HOSTILE, hostile

    texts = {kind: hostile(kind, LARGE) for kind in HOSTILE}
    return texts | {path.name: path.read_bytes() for path in sorted((data / "adversarial").glob("*.txt"))}


def total(counted: Path) -> int:
    found = re.search(r"^(?:summary|totals): (\d+)", counted.read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def instructions(
    vocabulary: Path, level: str, texts: dict[str, str], folder: Path, work: str = "encode", split: str = ""
) -> dict[str, int]:
    """What encoding each of these texts takes after "Hello world", by the name of its file."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        missing("valgrind is not installed: instructions cannot be counted")
    counts = folder / "counts"
    counts.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    command = [
        valgrind,
        "--tool=callgrind",
        f"--callgrind-out-file={counts}/%p",
        sys.executable,
        "-c",
        PROGRAM,
    ]
    done = subprocess.run(
        [*command, str(vocabulary), level, work, split, str(folder), *texts],
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]

    return {
        name: total(counts / str(with_text)) - total(counts / str(without))
        for name, (without, with_text) in json.loads(done.stdout).items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("level", ["portable", "avx2"])
def test_ten_times_the_text_takes_about_ten_times_the_instructions(
    level: str, native: Any, data: Path, tmp_path: Path
) -> None:
    try:
        native._core.force_cpu(level)
    except ValueError:
        pytest.skip(f"this machine has no {level}")
    finally:
        native._core.force_cpu(None)
    megabytes = hostile_texts(data)
    assert len(megabytes) == 9 + 34
    texts = {
        f"{name} {size}": text[:size].decode("utf-8", errors="ignore")
        for name, text in megabytes.items()
        for size in (SMALL, LARGE)
    }
    vocabulary = data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken"
    counts = instructions(vocabulary, level, texts, tmp_path)
    ratios = {}
    for name in megabytes:
        small, large = counts[f"{name} {SMALL}"], counts[f"{name} {LARGE}"]
        assert small > SMALL
        ratios[name] = large / small
        print(
            f"{level}, {name}: {small / SMALL:.1f} instructions a byte at {SMALL} bytes, "
            f"{large / LARGE:.1f} at {LARGE}; ratio {ratios[name]:.2f}, limit {LIMIT}"
        )
    assert {name: ratio for name, ratio in ratios.items() if ratio > LIMIT} == {}


@pytest.mark.slow
@pytest.mark.parametrize("split", ["", "none"], ids=["split", "unsplit"])
@pytest.mark.parametrize("work", ["append", "prepend", "ranges", "chunk", "edit"])
def test_budgets_take_instructions_as_the_text_does(
    work: str, split: str, native: Any, data: Path, tmp_path: Path
) -> None:
    """The same for texts that grow by characters, ranges, chunks and changes."""
    # Enough for many chunks.
    small = 10_000 if work == "chunk" else 2_000
    large = 10 * small
    texts = {f"{name} {size}": make(size) for name, make in TEXTS.items() for size in (small, large)}
    vocabulary = data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken"
    counts = instructions(vocabulary, "portable", texts, tmp_path, work, split)
    ratios = {name: counts[f"{name} {large}"] / counts[f"{name} {small}"] for name in TEXTS}
    print(f"{work} {split}: {ratios}, limit {LIMIT}")
    assert {name: ratio for name, ratio in ratios.items() if ratio > LIMIT} == {}


def test_every_adversarial_text_encodes_and_decodes_to_itself(native: Any, data: Path) -> None:
    paths = sorted((data / "adversarial").glob("*.txt"))
    assert len(paths) == 34
    tok = native.load(data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken")
    for path in paths:
        raw = path.read_bytes()
        ids = tok.encode(raw)
        assert tok.decode_bytes(ids) == raw, path.stem
        assert tok.decode(ids) == raw.decode("utf-8"), path.stem
        assert tok.count(raw) == len(ids), path.stem
    print(f"{len(paths)} adversarial texts, each decoded to itself")


@pytest.mark.parametrize("name", TEXTS)
def test_one_megabyte_of_one_kind_decodes_to_itself(name: str, native: Any, data: Path) -> None:
    text = TEXTS[name](1_000_000)
    for encoding in ["r50k_base", "p50k_base", "cl100k_base", "o200k_base"]:
        tok = native.load(data / "vocab" / encoding / f"{encoding}.tiktoken")
        assert tok.decode(tok.encode(text)) == text, encoding


UNTRUSTED = """
import json
import os
import sys

import numpy as np
import tokenmill
from tokenmill import _core

path, *sizes = sys.argv[1:]
with open(path, "rb") as file:
    tok = _core.from_tokenizer_json(file.read())


def child(size, step):
    text = "a" * size
    starts = np.arange(0, size, step)
    ranges = np.stack([starts, np.minimum(starts + max(1, step // 2), size)], axis=1)
    pid = os.fork()
    if pid == 0:
        found = tok.find_added(text, untrusted=ranges)
        # Only every 300th character leaves room for the shorter literals.
        os._exit(0 if step == 300 or not found else 1)
    assert os.waitpid(pid, 0) == (pid, 0)
    return pid


print(json.dumps([[(child(0, step), child(int(size), step)) for size in sizes] for step in (2, 300, 10**7)]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [range(2, 201), [200], [4_999, 5_000]], ids=["nested", "one", "long"])
def test_literals_that_are_dropped_take_as_long_as_the_text(
    lengths: Iterable[int], native: Any, tmp_path: Path
) -> None:
    """The literals are `aaa...`, and each holds an untrusted character, wherever it begins."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        missing("valgrind is not installed: instructions cannot be counted")
    saved = tmp_path / "tokenizer.json"
    native.train(texts=["low"] * 2, num_merges=1, special_tokens=["a" * length for length in lengths]).save(
        saved
    )
    description = json.loads(saved.read_text(encoding="utf-8"))
    # One that is not guarded, so that no part of the text can be passed over.
    added = description["added_tokens"]
    added.append({**added[0], "id": 10_000, "content": "b", "special": False})
    saved.write_text(json.dumps(description), encoding="utf-8")
    counts = tmp_path / "counts"
    counts.mkdir()
    # Long literals are searched for in blocks of 64 kB.
    sizes = [SMALL, LARGE] if max(lengths) > 256 else [SMALL // 5, LARGE // 5]
    command = [
        valgrind,
        "--tool=callgrind",
        f"--callgrind-out-file={counts}/%p",
        sys.executable,
        "-c",
        UNTRUSTED,
    ]
    done = subprocess.run(
        [*command, str(saved), *map(str, sizes)],
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    for pids in json.loads(done.stdout):
        small, large = (total(counts / str(pid)) - total(counts / str(without)) for without, pid in pids)
        assert small > sizes[0]
        print(
            f"{lengths}: {large / sizes[1]:.0f} instructions a byte, ratio {large / small:.2f}, limit {LIMIT}"
        )
        assert large / small < LIMIT


KEYS = """
import json
import os
import sys

import tokenmill


def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    assert os.waitpid(pid, 0) == (pid, 0)
    return pid


tok, fresh = tokenmill.load(sys.argv[1]), tokenmill.load(sys.argv[1])
tok.cache_key("low")
work = [lambda: None, lambda: fresh.fingerprint, lambda: tok.cache_key("lower")]
print(json.dumps([child(each) for each in work]))
"""


@pytest.mark.slow
def test_a_second_key_does_not_read_the_vocabulary_again(data: Path, tmp_path: Path) -> None:
    """Also in a child of the process that made the first."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        missing("valgrind is not installed: instructions cannot be counted")
    vocabulary = data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken"
    command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={tmp_path}/%p", sys.executable, "-c"]
    done = subprocess.run(
        [*command, KEYS, str(vocabulary)],
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    nothing, first, second = (total(tmp_path / str(pid)) for pid in json.loads(done.stdout))
    print(f"{first - nothing:,} instructions for the first, {second - nothing:,} for the second")
    assert (second - nothing) * 100 < first - nothing
