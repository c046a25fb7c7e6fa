"""The docstrings in the stub are those of the compiled module, and their examples are true."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ruff", reason="the stub is formatted with ruff: extra lint")

from stub_docs import STUB, documented


def stub() -> str:
    return STUB.read_text(encoding="utf-8")


def test_the_stub_has_the_docstrings_of_the_module(native: Any) -> None:
    assert documented(stub(), native._core) == stub()


def test_docstrings_that_are_old_or_lost_are_written_anew(native: Any) -> None:
    text = stub()
    assert documented(text.replace('"""The ids."""', '"""The old ids."""'), native._core) == text
    without = text.replace(
        '    def ids(self) -> list[int]:\n        """The ids."""\n', "    def ids(self) -> list[int]: ...\n"
    )
    assert without != text
    assert documented(without, native._core) == text


def test_every_public_thing_of_the_stub_has_a_docstring() -> None:
    missing = []
    for node in ast.parse(stub()).body:
        members = node.body if isinstance(node, ast.ClassDef) else []
        public = not getattr(node, "name", "_").startswith("_")
        seen: set[str] = set()
        for inner in [node, *members] if public else []:
            if not isinstance(inner, ast.ClassDef | ast.FunctionDef):
                continue
            if not inner.name.startswith("_") and inner.name not in seen and ast.get_docstring(inner) is None:
                missing.append(inner.name)
            seen.add(inner.name)
    assert missing == []


def docstrings(native: Any) -> Iterator[doctest.DocTest]:
    """The docstrings with examples, of Python and of Rust; each sees the names of its module."""
    package = Path(native.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if ">>>" not in path.read_text(encoding="utf-8"):
            continue
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        with suppress(ImportError, native.errors.MissingExtraError):
            module = importlib.import_module(name)
            yield from doctest.DocTestFinder().find(module, name, extraglobs={"tokenmill": native})
    # The finder does not see the properties of compiled classes.
    for name, value in vars(native.Tokenizer).items():
        if inspect.isgetsetdescriptor(value):
            names = {"tokenmill": native, "train": native.train}
            place = f"tokenmill.Tokenizer.{name}"
            yield doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", names, place, None, 0)


def test_examples_in_docstrings_are_true(native: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(verbose=False)
    ran = set()
    for test in docstrings(native):
        if test.examples:
            runner.run(test)
            ran.add(test.name)
    assert runner.failures == 0
    assert {f"tokenmill.Tokenizer.{name}" for name in with_examples(native.Tokenizer)} <= ran
    of_modules = ("surgery.join", "findings.Diagnosis", "checkpoint.check_checkpoint", "reports.report")
    assert {"tokenmill", "tokenmill.manifest", *(f"tokenmill.{name}" for name in of_modules)} <= ran


def with_examples(of: type) -> set[str]:
    return {name for name, value in vars(of).items() if ">>>" in (inspect.getdoc(value) or "")}
