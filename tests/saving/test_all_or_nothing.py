"""A save is there or it is not, whatever ends it, and whoever reads or saves beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import missing

HERE = Path(__file__).resolve().parent

Run = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def preload(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variable with which the library that makes calls fail is loaded."""
    if sys.platform != "linux":
        missing("calls to the system are made to fail on Linux alone")
    library = tmp_path_factory.mktemp("failing") / "failing_calls.so"
    compiler = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "failing_calls.c"), "-ldl"]
    try:
        subprocess.run(compiler, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        missing(f"a C compiler is needed to make calls fail: {error}")
    return {"LD_PRELOAD": str(library)}


@pytest.fixture
def run(native: Any, tmp_path: Path) -> Run:
    """Runs cases.py and gives what it found."""
    assert native

    def cases(what: str, *arguments: object, env: dict[str, str] | None = None) -> dict[str, Any]:
        if not hasattr(os, "fork"):
            missing("processes must fork here")
        command = [sys.executable, str(HERE / "cases.py"), what, str(tmp_path / "s"), *map(str, arguments)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, **(env or {})},
            timeout=1200,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return cases


def test_a_call_that_fails_or_never_returns_leaves_the_old_or_the_new(
    run: Run, preload: dict[str, str]
) -> None:
    found = run("fail", "folder", env=preload)
    assert found["calls"]["folder"] > 10
    assert found["bad"] == []


@pytest.mark.slow
def test_so_it_is_with_every_call_of_every_kind_of_save(run: Run, preload: dict[str, str]) -> None:
    found = run("fail", env=preload)
    print(f"calls that failed in three ways each: {found['calls']}")
    assert min(found["calls"].values()) > 5
    assert found["bad"] == []


def test_a_save_that_is_killed_leaves_the_old_or_the_new(run: Run) -> None:
    assert run("kill", 16) == {"killed": 16, "bad": []}


@pytest.mark.slow
def test_two_hundred_kills(run: Run) -> None:
    assert run("kill", 200) == {"killed": 200, "bad": []}


@pytest.mark.parametrize("writers", [1, 2])
def test_who_reads_beside_a_save_gets_one_of_the_two(run: Run, writers: int) -> None:
    found = run("beside", writers, 200, 20)
    assert found["reads"] >= 200
    assert found["bad"] == []


@pytest.mark.slow
@pytest.mark.parametrize("writers", [1, 2])
def test_five_thousand_reads_beside_a_thousand_saves(run: Run, writers: int) -> None:
    found = run("beside", writers, 5000, 1000)
    assert found["reads"] >= 5000
    assert found["saves"] >= 1000
    assert found["bad"] == []
