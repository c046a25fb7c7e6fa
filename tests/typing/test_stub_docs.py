"""The docstrings in the stub are those of the compiled module, and their examples are true."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("ruff", reason="the stub is formatted with ruff: extra lint")

from stub_docs import STUB, documented

MODULES = ["_train", "_load", "explain", "stages", "errors", "hub", "difference"]


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


def docstrings(native: Any) -> Iterator[tuple[str, str]]:
    """Names and docstrings of what is public, in Rust and in Python."""
    for name, value in inspect.getmembers(native._core):
        if inspect.isclass(value):
            for inner in vars(value).values():
                doc = getattr(getattr(inner, "__func__", inner), "__doc__", None)
                if isinstance(doc, str):
                    yield f"{name}.{getattr(inner, '__name__', '?')}", doc
        if isinstance(getattr(value, "__doc__", None), str):
            yield name, value.__doc__
    yield "tokenmill", native.__doc__ or ""
    for name in MODULES:
        module = importlib.import_module(f"tokenmill.{name}")
        for test in doctest.DocTestFinder().find(module):
            yield test.name, test.docstring or ""


def test_examples_in_docstrings_are_true(native: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(verbose=False)
    ran = set()
    for name, doc in docstrings(native):
        if ">>>" in doc:
            globals_ = {"tokenmill": native, "train": native.train}
            test = doctest.DocTestParser().get_doctest(doc, globals_, name, None, 0)
            runner.run(test)
            ran.add(name)
    assert runner.failures == 0
    assert {
        "tokenmill",
        "Tokenizer.with_special_tokens",
        "Tokenizer.encode",
        "Tokenizer.decode_stream",
    } <= ran
