"""Law 11: time grows with the text, whatever the text.

Counted in instructions, which do not depend on what else a machine does: callgrind runs the same
program on a text of n bytes, of 10n bytes and on an empty one, whose count is subtracted.
"""

from __future__ import annotations

import functools
import os
import random
import re
import shutil
import string
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import missing

PROGRAM = """
import sys
import tokenmill

tok = tokenmill.load(sys.argv[1])
with open(sys.argv[2], "rb") as file:
    text = file.read().decode()
print(len(tok.encode(text)))
"""
SIZE = 100_000
LIMIT = 12.5


def letters(size: int) -> str:
    draw = random.Random(0)
    return "".join(draw.choices(string.ascii_letters, k=size))


TEXTS: dict[str, Callable[[int], str]] = {
    "one letter": lambda size: "a" * size,
    "spaces": lambda size: " " * size,
    "random letters": letters,
}


def instructions(vocabulary: Path, text: str, folder: Path) -> int:
    """What encoding this text takes, start-up and loading included."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        missing("valgrind is not installed: instructions cannot be counted")
    source, out = folder / "text", folder / "callgrind"
    source.write_text(text, encoding="utf-8", newline="")
    command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        [*command, str(vocabulary), str(source)],
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert (int(done.stdout) > 0) == (text != "")
    found = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


@pytest.fixture(scope="module")
def count(native: Any, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], int]:
    """Instructions for a text with cl100k; the empty text is measured once."""
    folder = tmp_path_factory.mktemp("callgrind")
    vocabulary = data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken"
    run = functools.cache(functools.partial(instructions, vocabulary, folder=folder))
    return lambda text: run(text) - run("")


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_ten_times_the_text_takes_about_ten_times_the_instructions(
    name: str, count: Callable[[str], int]
) -> None:
    small, large = count(TEXTS[name](SIZE)), count(TEXTS[name](10 * SIZE))
    ratio = large / small
    print(
        f"{name}: {small / SIZE:.0f} instructions a byte at {SIZE} bytes, "
        f"{large / SIZE / 10:.0f} at {10 * SIZE}; ratio {ratio:.2f}, limit {LIMIT}"
    )
    assert ratio <= LIMIT


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
