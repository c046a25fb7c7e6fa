"""Run every Python block of README.md and docs/, in order, each file in one namespace.

A block runs if its fence says `python`; other fences (`text`, `console`, `toml` ...) are shown, not
run. What a block needs besides stands behind: `python torch` runs in the slow tests, where torch is
installed, `python ray` and `python spark` in those of `make test-engines`. Files run in an empty
directory. A failure points at the line of the page.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from doc_pages import PAGES, ROOT, Block, python_blocks, run


def needs_the_extension(code: str) -> bool:
    """Whether a block imports more of the package than its executable definition."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import) and any(n.name.split(".")[0] == "tokenmill" for n in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tokenmill":
            names = [alias.name for alias in node.names]
            if node.module != "tokenmill.reference" and (node.module, names) != ("tokenmill", ["reference"]):
                return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_python_block_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    blocks = python_blocks(page.read_text(encoding="utf-8"))
    if any(needs_the_extension(block.code) for block in blocks):
        request.getfixturevalue("native")
    monkeypatch.chdir(tmp_path)
    run(page, [block for block in blocks if not block.needs])


@pytest.mark.slow
# Python 3.12 warns of every fork beside a thread, and torch has some.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("page", ["docs/tensors.md"])
def test_blocks_that_need_torch_run_where_it_is_installed(
    page: str, native: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = python_blocks((ROOT / page).read_text(encoding="utf-8"))
    assert {block.needs for block in blocks} == {"", "torch"}
    pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    monkeypatch.chdir(tmp_path)
    run(ROOT / page, blocks)


def test_no_other_page_needs_more_than_the_package() -> None:
    needing = [
        page.name for page in PAGES if any(block.needs for block in python_blocks(page.read_text("utf-8")))
    ]
    assert needing == ["many-machines.md", "tensors.md"]


def test_the_drills_are_among_the_pages() -> None:
    drills = ROOT / "docs" / "drills.md"
    assert drills in PAGES
    assert len(python_blocks(drills.read_text(encoding="utf-8"))) > 10


def test_every_decision_is_short() -> None:
    """At most 40 lines from one heading to the next, of at most 120 characters outside of tables."""
    page = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    entries = re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]
    assert len(entries) > 60
    assert [entry.splitlines()[0] for entry in entries if len(entry.splitlines()) > 40] == []
    assert [line for line in page.splitlines() if len(line) > 120 and not line.startswith("|")] == []


def test_only_blocks_fenced_as_python_are_taken() -> None:
    page = """\
```python
a = 1
```

```text
not code
```

- item

  ```python torch
  if a:

      b = 2
  ```
"""
    assert python_blocks(page) == [Block(2, "a = 1\n"), Block(12, "if a:\n\n    b = 2\n", "torch")]


def test_a_block_that_is_never_closed_is_an_error() -> None:
    with pytest.raises(ValueError, match="line 2 is not closed"):
        python_blocks("```python\na = 1\n")


@pytest.mark.parametrize(
    ("code", "needed"),
    [
        ("import tokenmill", True),
        ("from tokenmill import load", True),
        ("from tokenmill import reference", False),
        ("from tokenmill.reference import encode", False),
        ("import json", False),
    ],
)
def test_a_block_needs_the_extension_if_it_imports_the_package(code: str, needed: bool) -> None:
    assert needs_the_extension(code) is needed
