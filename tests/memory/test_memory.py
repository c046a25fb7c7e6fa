"""Memory that cannot be had is a ``MemoryError``: the process lives, and so does the tokenizer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MIB = 1 << 20
LIMITS = Path(__file__).with_name("limits.py")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limit on addresses is one of Linux")


def names(*, slow: bool) -> list[str]:
    try:
        from .cases import CASES
    except ImportError:
        # The package is not built.
        return []
    return [name for name, case in CASES.items() if slow or not case.is_slow]


def outcomes(size: int, headrooms: list[int], cases: list[str]) -> dict[str, dict[str, str]]:
    command = [sys.executable, str(LIMITS), str(size), ",".join(map(str, headrooms)), *cases]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


def test_every_method_has_a_row(native: Any) -> None:
    from .cases import CASES, WITHOUT, public_names

    public = set(public_names())
    rows = {name.split(":")[0] for name in CASES}
    assert public == rows | WITHOUT
    assert not rows & WITHOUT


def check(size: int, headrooms: list[int], name: str) -> None:
    from .cases import CASES

    found = outcomes(size, headrooms, [name])[name]
    assert set(found.values()) <= {"ok", "MemoryError"}, found
    if CASES[name].needs_memory:
        assert found[str(headrooms[0])] == "MemoryError", found


@pytest.mark.parametrize("name", names(slow=False))
def test_a_call_is_made_or_is_a_memory_error(native: Any, name: str) -> None:
    check(96 * MIB, [8, 128], name)


@pytest.mark.slow
@pytest.mark.parametrize("name", names(slow=True))
def test_under_many_limits_too(native: Any, name: str) -> None:
    check(160 * MIB, [8, 32, 64, 128, 256, 512], name)
