"""The page on many machines, its blocks for Ray and Spark among the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_pages import ROOT, python_blocks, run

from engines.find_java import java

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("default")]

PAGE = ROOT / "docs" / "many-machines.md"


@pytest.mark.parametrize(("engine", "count"), [("ray", 2), ("spark", 3)])
def test_the_page_runs(
    engine: str, count: int, native: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "spark" and java() is None:
        pytest.skip("Spark needs Java 17 or newer")
    blocks = python_blocks(PAGE.read_text("utf-8"))
    assert sum(block.needs == engine for block in blocks) == count
    monkeypatch.chdir(tmp_path)
    run(PAGE, [block for block in blocks if block.needs in ("", engine)])
