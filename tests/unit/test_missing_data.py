"""What a run says that has no shared data: one line, however many tests need them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(5))
def test_needs_the_folder(shared, number):
    raise AssertionError

def test_needs_data(data):
    raise AssertionError

def test_needs_a_text(english):
    raise AssertionError

def test_needs_something_else():
    pytest.skip("no such processor")

def test_needs_nothing():
    pass
"""


def run(folder: Path, *options: str, **variables: str) -> str:
    (folder / "test_some.py").write_text(TESTS, encoding="utf-8")
    (folder / "test_more.py").write_text(TESTS, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -ra\n", encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_ADDOPTS")}
    # A machine that has the data at the usual place has none at this one.
    given = {"TOKENMILL_SHARED": str(folder / "none"), "PYTHONPATH": _path(), **variables}
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", *options]
    done = subprocess.run(
        command, cwd=folder, env=kept | given, capture_output=True, text=True, encoding="utf-8", check=False
    )
    return done.stdout


def _path() -> str:
    return os.pathsep.join([str(ROOT / "tests"), *sys.path])


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "two"])
def test_skips_for_want_of_data_are_one_line(tmp_path: Path, options: tuple[str, ...]) -> None:
    out = run(tmp_path, *options)
    assert "2 passed, 16 skipped" in out
    skips = [line for line in out.splitlines() if line.startswith("SKIPPED")]
    ours = [line for line in skips if "shared" in line]
    assert len(ours) == 1, out
    assert ours[0].startswith("SKIPPED [14] ")
    for said in [str(tmp_path / "none"), "TOKENMILL_SHARED", "CONTRIBUTING.md"]:
        assert said in ours[0]
    assert len(skips) == 3, "other reasons keep their places"


def test_they_fail_where_nothing_may_be_left_out(tmp_path: Path) -> None:
    assert "14 errors" in run(tmp_path, CI="1")
    assert "16 skipped" in run(tmp_path, CI="1", TOKENMILL_WITHOUT_DATA="1")
