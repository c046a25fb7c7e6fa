"""SECURITY.md: what it names is there, and what it says of files that name functions."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT


def test_every_promise_is_held_by_tests_that_exist() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    defined = {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert set(re.findall(r"`(test_\w+)`", page)) - defined == set()
    promises = page.partition("| --- | --- |\n")[2].partition("\n\n")[0].splitlines()
    assert len(promises) > 8
    assert [row for row in promises if not re.search(r"`test_\w+`", row)] == []


def test_the_page_names_the_splits_that_have_names() -> None:
    from tokenmill.cli.usage import SPLITS

    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert ", ".join(f"`{name}`" for name in SPLITS) in page


@pytest.mark.parametrize("name", ["os.system", "evil", "evil.run", "evil:run", "__import__('evil')"])
def test_a_file_that_names_a_function_imports_and_calls_nothing(
    native: Any, tmp_path: Path, name: str
) -> None:
    """`evil` is a module beside the file, which leaves a mark when it is imported or called."""
    tok = native.train(texts=["low low"], num_merges=1).with_splitter(str.split, name="mark")
    tok.save(tmp_path / "tokenizer.json")
    path = tmp_path / "tokenizer.json"
    text = path.read_text(encoding="utf-8")
    assert '"mark"' in text
    path.write_text(text.replace('"mark"', json.dumps(name)), encoding="utf-8")
    (tmp_path / "evil.py").write_text(
        "open('mark', 'w').close()\ndef run(text): open('mark', 'w').close(); return [text]\n",
        encoding="utf-8",
    )
    script = """
        import tokenmill
        try:
            tokenmill.load("tokenizer.json").encode("low")
        except ValueError as error:
            print(type(error).__name__, error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "FormatError" in done.stdout
    assert name in done.stdout
    assert not (tmp_path / "mark").exists()
