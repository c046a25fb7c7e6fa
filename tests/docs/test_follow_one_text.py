"""docs/follow-one-text.md: its functions exist, and they are called on the way that it describes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

PAGE = ROOT / "docs" / "follow-one-text.md"
TABLES = {"encode": "One text", "load": "One file"}
STOP = re.compile(r"\[`[^`]+`\]\(\.\./(crates/[^)]+\.rs)\) `(\w+)`")

PROGRAM = """
import sys, tokenmill
path, text = sys.argv[1], "It's a text, with a word that hardly anybodyknowsofyet. "
tokenmill.train(texts=[text * 3], num_merges=40, split="gpt2", special_tokens=["<s>"]).save(path)
tokenmill.load(path).encode(text)
"""

# What callgrind begins and ends to record at.
WITHIN = {"encode": "*__pymethod_encode__", "load": "_core::load::load_file"}


def stops(table: str) -> list[tuple[str, str]]:
    """The files and functions of one of the tables, in order."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(f"## {TABLES[table]}:")
    section = rest.partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| [")]
    found = [stop for line in rows for stop in STOP.findall(line)]
    assert len(rows) > 10
    assert len(found) >= len(rows)
    return found


@pytest.mark.parametrize("table", TABLES)
def test_every_function_is_where_the_page_says(table: str) -> None:
    missing = [
        (file, function)
        for file, function in stops(table)
        if not re.search(rf"\bfn {function}\b", (ROOT / file).read_text(encoding="utf-8"))
    ]
    assert missing == []


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with an extension in which no function is inlined."""
    if shutil.which("valgrind") is None or shutil.which("cargo") is None:
        pytest.skip("needs valgrind and cargo")
    target = ROOT / "target" / "trace"
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(target),
        "CARGO_PROFILE_DEV_OPT_LEVEL": "0",
        "PYO3_PYTHON": sys.executable,
    }
    command = ["cargo", "build", "--locked", "-p", "tokenmill-python", "--features", "pyo3/extension-module"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    package = tmp_path_factory.mktemp("traced") / "tokenmill"
    shutil.copytree(ROOT / "python" / "tokenmill", package, ignore=shutil.ignore_patterns("_core*.so"))
    shutil.copy(target / "debug" / "lib_core.so", package / "_core.so")
    return package.parent


def called(package: Path, within: str, folder: Path) -> set[tuple[str, str]]:
    """The functions that ran, with their files."""
    record = folder / "callgrind.out"
    command = [
        "valgrind",
        "--tool=callgrind",
        f"--callgrind-out-file={record}",
        "--collect-atstart=no",
        f"--toggle-collect={within}",
        sys.executable,
        "-c",
        PROGRAM,
        str(folder / "tokenizer.json"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, env=environment, check=True, capture_output=True)
    files: dict[str, str] = {}
    names: dict[str, str] = {}
    found, file = set(), ""
    for line in record.read_text(encoding="utf-8", errors="replace").splitlines():
        kind, _, rest = line.partition("=")
        # A name is written out once, and then goes by its number.
        if (entry := re.fullmatch(r"\((\d+)\)(?: (.*))?", rest)) is None:
            continue
        table = names if kind in ("fn", "cfn") else files
        if entry[2]:
            table[entry[1]] = entry[2]
        if kind == "fl":
            file = files[entry[1]]
        elif kind == "fn":
            function = re.sub(r"'\d+$", "", names[entry[1]])
            function = re.sub(r"(::\{\{closure\}\}|<[^<>]*>)+$", "", function)
            found.add((file, function.rpartition("::")[2]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_every_function_is_called_on_the_way(traced: Path, tmp_path: Path, table: str) -> None:
    found = called(traced, WITHIN[table], tmp_path)
    passed = {(file, function) for file, function in found if "/crates/" in file}
    assert len(passed) > 100
    missing = [
        (file, function)
        for file, function in stops(table)
        if not any(path.endswith(f"/{file}") and name == function for path, name in passed)
    ]
    assert missing == []
