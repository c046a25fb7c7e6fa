"""``demo``: trains on the standard library, proves the round trip, leaves a tokenizer."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import tokenmill

from .conftest import Run

CODE = (
    "def grind(grain):\n    flour = []\n    for corn in grain:\n        flour.append(corn)\n    return flour"
)


@pytest.fixture
def small_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A standard library of 60 files, one of them not UTF-8 and one empty."""
    library = tmp_path / "library"
    (library / "site-packages").mkdir(parents=True)
    (library / "site-packages" / "other.py").write_text("not part of it")
    for number in range(60):
        lines = [f"def f{number}_{line}(value):\n    return value + {line}\n" for line in range(50)]
        (library / f"module{number:02}.py").write_text("\n".join(lines))
    (library / "module19.py").write_bytes(b"# caf\xe9\n")
    (library / "module20.py").write_bytes(b"")
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(library))
    return library


def test_it_leaves_a_tokenizer_and_says_how_good_it_is(run: Run, small_library: Path, tmp_path: Path) -> None:
    target = tmp_path / "made"
    figures = run("demo", "--out", target, "--json").json
    assert figures["lossless"] is True
    assert figures["held_out_files"] == 2
    assert figures["trained_files"] == 56
    assert figures["bytes_per_token"] > 1
    for path in figures["files"]:
        assert Path(path).is_file()
    assert tokenmill.load(target).vocab_size == figures["vocab_size"]


def test_the_page_is_for_people(run: Run, small_library: Path, tmp_path: Path) -> None:
    result = run("demo", "--out", tmp_path / "made", "--color", "always")
    assert result.code == 0
    page = result.out.decode()
    assert "lossless" in page
    assert "MB/s" in page
    assert "\x1b[" in page
    # One is no text, and another one is empty.
    assert "training on 56 files of the standard library, 2 held out" in result.err
    assert "in 2 files" in page


def test_the_sample_is_code_and_the_next_command_works(
    run: Run, small_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (small_library / "module41.py").write_text(f'"""Words."""\n\n\n{CODE}\n')
    monkeypatch.chdir(tmp_path)
    page = run("demo", "--out", "made here").out.decode()
    *_, shown, following = page.rstrip("\n").split("\n\n")
    assert shown.replace("│", "").replace("\\n", "") == CODE
    assert shown.count("\\n\n") == CODE.count("\n")
    assert following.startswith("next: ")
    command = following.removeprefix("next: ")
    assert shlex.split(command)[-4:] == ["inspect", "-t", "made here", "def mill(grain): return flour"]
    done = subprocess.run(command, shell=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b'"def"' in done.stdout
    painted = run("demo", "--out", "made here", "--color", "always").out.decode().split("\n\n")[-2]
    assert re.sub("\x1b\\[[0-9;]*m", "", painted).replace("\\n", "") == CODE


def test_make_and_the_command_use_one_folder(run: Run) -> None:
    root = Path(__file__).resolve().parents[2]
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    assert "tokenmill demo\n" in makefile
    assert " tokenmill-demo " in makefile
    assert "/tokenmill-demo/" in (root / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert b"./tokenmill-demo" in run("demo", "--help").out


def test_without_a_library_it_says_so(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    result = run("demo", "--out", tmp_path / "made")
    assert (result.code, result.out) == (2, b"")
    assert not (tmp_path / "made").exists()


@pytest.mark.slow
def test_on_the_real_library(run: Run, tmp_path: Path) -> None:
    figures = run("demo", "--out", tmp_path / "made", "--json").json
    assert figures["lossless"] is True
    assert figures["vocab_size"] == 8_000
    assert figures["bytes_per_token"] > 3
