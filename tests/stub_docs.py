"""Docstrings of the compiled module, written into its stub, where editors look for them.

    python tests/stub_docs.py            write them
    python tests/stub_docs.py --check    say whether they are those of the module

They come from the comments of the Rust code, by way of the module as it is built. Of several overloads the
first has the docstring: editors show it for all. Magic methods have none, but for the call of a tokenizer.
Needs ruff.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

STUB = Path(__file__).resolve().parents[1] / "python" / "tokenmill" / "_core.pyi"

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def documented(stub: str, module: Any) -> str:
    """The stub with the docstrings of the module in place of its own."""
    lines = stub.splitlines()
    tree = ast.parse(stub)
    # From the last to the first, so that the numbers of lines above stay what they are.
    for node, doc in reversed(list(_definitions(tree.body, module))):
        _replace(lines, node, doc)
    return _formatted("\n".join(lines) + "\n")


def _definitions(body: list[ast.stmt], owner: Any) -> list[tuple[ast.ClassDef | _Function, str | None]]:
    """Every class and function with its docstring, in order."""
    found: list[tuple[ast.ClassDef | _Function, str | None]] = []
    seen: set[str] = set()
    for node in body:
        if isinstance(node, ast.ClassDef):
            real = getattr(owner, node.name, None)  # a protocol is there for checkers alone
            found.append((node, None if real is None else inspect.getdoc(real)))
            found += _definitions(node.body, real)
        elif isinstance(node, _Function):
            is_magic = node.name.startswith("__") and node.name != "__call__"
            is_later = node.name in seen
            seen.add(node.name)
            real = None if owner is None else inspect.getattr_static(owner, node.name, None)
            found.append((node, None if is_magic or is_later or real is None else _doc(real)))
    return found


def _doc(real: Any) -> str | None:
    while isinstance(real, staticmethod | classmethod):
        real = real.__func__
    doc = getattr(real, "__doc__", None)
    return inspect.cleandoc(doc) if doc else None


def _replace(lines: list[str], node: ast.ClassDef | _Function, doc: str | None) -> None:
    """Give a definition this docstring, or none."""
    first = node.body[0]
    is_documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    is_documented = is_documented and first.value.value is not ...  # type: ignore[attr-defined]
    indent = " " * (node.col_offset + 4)
    quoted = [] if doc is None else _quoted(doc, indent)
    if is_documented:
        assert first.end_lineno is not None
        rest = [] if quoted or len(node.body) > 1 else [f"{indent}..."]
        lines[first.lineno - 1 : first.end_lineno] = quoted or rest
    elif isinstance(node, ast.ClassDef):
        lines[first.lineno - 1 - len(getattr(first, "decorator_list", [])) : first.lineno - 1] = [
            *quoted,
            *lines[first.lineno - 1 - len(getattr(first, "decorator_list", [])) : first.lineno - 1],
        ]
    elif quoted:
        line = lines[first.lineno - 1]
        head = line[: first.col_offset].rstrip()
        comment = line[first.end_col_offset :].strip()
        lines[first.lineno - 1 : first.lineno] = [*([f"{head}  {comment}".rstrip()] if head else []), *quoted]


def _quoted(doc: str, indent: str) -> list[str]:
    start = 'r"""' if "\\" in doc else '"""'
    assert '"""' not in doc
    first, *rest = doc.splitlines()
    text = [f"{indent}{start}{first}", *(f"{indent}{line}" if line else "" for line in rest)]
    if rest or doc.endswith('"'):
        return [*text, f'{indent}"""']
    return [f'{text[0]}"""']


def _formatted(stub: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"]
    return subprocess.run(
        command, input=stub, capture_output=True, text=True, check=True, cwd=STUB.parent
    ).stdout


def main() -> int:
    """Write the docstrings, or say which line differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the stub differs")
    args = parser.parse_args()
    from tokenmill import _core

    old = STUB.read_text(encoding="utf-8")
    new = documented(old, _core)
    if args.check and old != new:
        at = next(
            i
            for i, (a, b) in enumerate(zip([*old.splitlines(), ""], [*new.splitlines(), ""], strict=False))
            if a != b
        )
        print(f"{STUB.name}:{at + 1} is not as the module has it: python tests/stub_docs.py writes it anew")
        return 1
    if not args.check:
        STUB.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
