"""A few lines of code to show, out of many files, and the command that goes on from there."""

from __future__ import annotations

import ast
import shlex
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

from .terminal import visible

__all__ = ["command", "parted", "sample"]

_LINES = range(5, 10)
_WIDTH = 60


def sample(texts: Iterable[str]) -> str:
    """The first function that is short enough to show, else the first lines of the first text."""
    first = ""
    for text in texts:
        first = first or "\n".join(text.split("\n")[: _LINES.start])
        if found := _short_function(text):
            return found
    return first


def _short_function(text: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes, which some files of the library have
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = text.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not ast.get_docstring(node) and node.end_lineno is not None:
            code = textwrap.dedent("\n".join(lines[node.lineno - 1 : node.end_lineno]))
            rows = code.split("\n")
            if len(rows) in _LINES and max(map(len, rows)) <= _WIDTH and code.isascii() and "\r" not in code:
                return code
    return None


def parted(tokens: Sequence[bytes]) -> str:
    """The tokens with a bar between two of them; a line end is shown as an escape and then written."""
    shown = "│".join(
        "\n".join([*(visible(line) + "\\n" for line in lines), visible(last)])
        for *lines, last in (token.decode("utf-8", "backslashreplace").split("\n") for token in tokens)
    )
    return "\n".join(line.rstrip() for line in shown.split("\n"))


def command(*arguments: str) -> str:
    """A command line that works when it is copied, however this process was started."""
    started = sys.argv[0]
    on_path = shutil.which("tokenmill")
    if Path(started).name == "tokenmill":
        is_found = on_path and Path(started).exists() and Path(on_path).samefile(started)
        start = "tokenmill" if is_found else shlex.quote(started)
    else:
        start = f"{shlex.quote(sys.executable)} -m tokenmill"
    return " ".join([start, *arguments])
