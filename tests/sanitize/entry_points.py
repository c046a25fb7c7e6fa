"""Every public member once, at one CPU level: ``python entry_points.py LEVEL``, as `run.py` runs it.

The calls are those of `tests/pairs.py`, which leaves no class and no method out, and of
`tests/memory/cases.py`, where each kind of text and ids has its own; then the command line.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pairs
from memory.cases import CASES, Inputs
from tokenmill import _core
from tokenmill.cli import main as command_line

SIZE = 1 << 14
"""Bytes of an input: enough that work is done without the interpreter lock, and in batches."""


def call_members() -> int:
    """Calls each member of each class on an object of its own."""
    count = 0
    for name, make in pairs.fresh().items():
        for member, call in pairs.calls(name).items():
            try:
                call(make())
            except Exception as error:
                raise AssertionError(f"{name}.{member}") from error
            count += 1
    return count


def call_cases() -> int:
    """Makes the calls for each kind of input."""
    with Inputs(SIZE) as inputs:
        for name, case in CASES.items():
            try:
                case.prepare(inputs)()
            except Exception as error:
                raise AssertionError(name) from error
    return len(CASES)


def call_commands(folder: Path) -> int:
    """Runs the commands on files."""
    text, tok, ids = folder / "text.txt", folder / "tok", folder / "ids.npy"
    text.write_text("The quick brown fox; Käse 你好 🦊\n" * 20, encoding="utf-8")
    commands = [
        ["train", text, "--vocab-size", 300, "--out", tok],
        ["encode", "-t", tok, text, "--format", "npy", "--out", ids],
        ["decode", "-t", tok, ids],
        ["count", "-t", tok, text],
        ["inspect", "-t", tok, "--file", text],
    ]
    for command in commands:
        before, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        try:
            code = command_line([str(word) for word in command])
        finally:
            sys.stdout = before
        assert code == 0, f"{command} ended with {code}"
    return len(commands)


def main(level: str) -> None:
    """All of them, and how many there were."""
    assert _core.force_cpu(level) == level  # type: ignore[arg-type]
    try:
        members = call_members()
    finally:
        pairs.clean()
    cases = call_cases()
    with tempfile.TemporaryDirectory() as folder:
        commands = call_commands(Path(folder))
    print(f"{members} members, {cases} kinds of input and {commands} commands at level {level}")


if __name__ == "__main__":
    main(sys.argv[1])
