"""Nothing hangs: neither threads that share a tokenizer nor a child that is forked meanwhile."""

from __future__ import annotations

import ast
import codecs
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pairs
import pytest

PACKAGE = Path(__file__).resolve().parent.parent.parent / "python" / "tokenmill"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are those of POSIX")


def run(*arguments: str, seconds: float) -> None:
    """Run `pairs.py`, which prints the stacks of what hangs.

    Without backtraces of Rust: where a library that we compare with panics, it holds a lock for as long as it
    takes to print one, and in a child that is forked then the next panic waits for it without end.
    """
    command = [sys.executable, "-W", "error", str(Path(pairs.__file__)), *arguments]
    environment = {**os.environ, "RUST_BACKTRACE": "0"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment)
    last = "".join(done.stdout.splitlines(keepends=True)[-3:])
    print(last)
    assert done.returncode == 0, f"{last}{done.stderr}"


# ---- every two members at once ----------------------------------------------------------------


def test_no_class_is_left_out(native: Any) -> None:
    names = {*pairs.fresh()}
    assert {*pairs.METHODS} == names
    assert names - {"functions"} == {*pairs.classes()}


def test_no_method_is_left_out(native: Any) -> None:
    for name, of in pairs.classes().items():
        assert [*pairs.METHODS[name]] == pairs.methods(of), f"give {name} its calls in pairs.py"


@pytest.mark.parametrize("name", pairs.METHODS)
def test_what_may_have_a_hash_has_one(native: Any, name: str) -> None:
    made = pairs.fresh()[name]()
    assert type(made).__hash__ is None or isinstance(hash(made), int)


def test_members_that_tell_tokenizers_apart_in_pairs(native: Any) -> None:
    assert {*pairs.QUICK} <= {*pairs.members(native.Tokenizer)}
    run("quick", seconds=300)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 16])
@pytest.mark.parametrize("name", pairs.METHODS)
def test_all_members_in_pairs(native: Any, name: str, threads: int) -> None:
    run(name, str(threads), seconds=3600)


# ---- what is made once ------------------------------------------------------------------------


@pytest.mark.parametrize("name", pairs.FIRST)
def test_a_fork_waits_for_what_is_used_first(native: Any, name: str) -> None:
    run("first", name, seconds=300)


@pytest.mark.parametrize("name", pairs.HELD)
def test_a_child_does_not_find_held_what_a_thread_holds(native: Any, name: str) -> None:
    run("held", name, seconds=300)


def python_files() -> list[Path]:
    # The command line is a process of its own.
    return [path for path in sorted(PACKAGE.rglob("*.py")) if "cli" not in path.parts]


BUILT_IN = {"utf-8", "utf-16", "utf-32", "ascii", "latin-1"}
"""Encodings for which Python imports no codec."""


def is_import(node: ast.AST) -> bool:
    is_call = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module")
    return is_call or imports_codec(node) or isinstance(node, ast.Import | ast.ImportFrom)


def imports_codec(node: ast.AST) -> bool:
    """Whether it encodes or decodes with a codec that Python imports when it is first used."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    first = node.args[:1] if node.func.attr in ("encode", "decode") else []
    named = [keyword.value for keyword in node.keywords if keyword.arg == "encoding"]
    names = [name.value for name in first + named if isinstance(name, ast.Constant)]
    return any(isinstance(name, str) and is_codec(name) for name in names)


def is_codec(name: str) -> bool:
    """Whether it is the name of an encoding for which a codec is imported."""
    try:
        return codecs.lookup(name).name not in {codecs.lookup(known).name for known in BUILT_IN}
    except LookupError:  # a text that a tokenizer encodes
        return False


@pytest.mark.parametrize("path", python_files(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_fork_waits_for_imports_that_come_late(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    late = {node for function in functions for node in ast.walk(function) if is_import(node)}
    waited = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.With) and "waited_for" in ast.unparse(block.items[0])
        for node in ast.walk(block)
    }
    # That of a module which every start of Python imports.
    loaded = {"from importlib import import_module"}
    assert {ast.unparse(node) for node in late - waited} <= loaded


def test_codecs_that_are_imported_late_are_found() -> None:
    for call in ('b.decode("utf-8-sig")', 's.encode("utf-16-le", "replace")', 'p.open(encoding="cp1252")'):
        assert imports_codec(ast.parse(call).body[0].value), call  # type: ignore[attr-defined]
    for call in ('b.decode("utf-8")', "b.decode()", 'tok.encode("low new")', 'p.read_text(encoding="ascii")'):
        assert not imports_codec(ast.parse(call).body[0].value), call  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", python_files(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_locks_have_one_home(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = re.search(r"\b(threading|_thread|cached_property|multiprocessing)\b", text)
    assert found is None or path.name in {"_forks.py", "_kept.py"}


# ---- functions of other libraries -------------------------------------------------------------

RELEASE = """
    import ctypes, faulthandler, subprocess, sys, threading, time
    import tokenmill

    faulthandler.dump_traceback_later(60, exit=True)

    class Schema(ctypes.Structure):
        _fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                    ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
                    ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("data", ctypes.c_void_p)]

    class Array(ctypes.Structure):
        _fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                    ("buffers", ctypes.c_void_p), ("children", ctypes.c_void_p),
                    ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("data", ctypes.c_void_p)]

    # Waits for a process to end; another thread ends it, and needs the interpreter for that.
    wait = ctypes.cast(ctypes.CDLL(None).wait, ctypes.c_void_p)
    buffers = (ctypes.c_void_p * 3)()
    schema = Schema(format=b"u", release=wait)
    array = Array(n_buffers=3, buffers=ctypes.addressof(buffers), release=wait)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

    class Column:
        def __arrow_c_array__(self, requested_schema=None):
            return (new(ctypes.addressof(schema), b"arrow_schema", None),
                    new(ctypes.addressof(array), b"arrow_array", None))

    tok = tokenmill.Tokenizer.from_tokens([b"a"])
    tok.encode_batch(["a"])
    waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    process = subprocess.Popen(waits, stdin=subprocess.PIPE)
    begin = threading.Event()

    def end_it():
        begin.wait()
        time.sleep(0.3)
        process.stdin.close()

    thread = threading.Thread(target=end_it)
    thread.start()
    begin.set()
    assert len(tok.encode_batch(Column())) == 0
    assert array.release is None
    thread.join()
    process.wait()
"""


def test_a_column_is_given_back_without_the_interpreter_lock(native: Any) -> None:
    command = [sys.executable, "-c", textwrap.dedent(RELEASE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
