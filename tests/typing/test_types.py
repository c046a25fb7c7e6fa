"""What a type checker sees of the package: `assertions.py` holds, every line of `mistakes.py` is one."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import missing

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


@pytest.mark.parametrize("name", ["assertions.py", "mistakes.py"])
def test_types_are_as_stated(name: str, tmp_path: Path) -> None:
    """mypy --strict also reports an ignore that nothing needs, so that mistakes must be mistakes."""
    if importlib.util.find_spec("mypy") is None:
        missing('mypy is needed here: pip install -e ".[lint]"')
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    command += ["--cache-dir", str(tmp_path), str(HERE / name)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
