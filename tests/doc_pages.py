"""The Python blocks of README.md and docs/, and how they are run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [page for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))] if page.exists()]
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>```+|~~~+) *(?P<language>[\w+-]*) *(?P<needs>\w*)")


@dataclass(frozen=True)
class Block:
    """The text of one block and the number of its first line, counted from 1."""

    line: int
    code: str
    needs: str = ""
    """A module besides the package."""


def python_blocks(text: str) -> list[Block]:
    """Find the blocks fenced as Python. A block that is never closed is an error."""
    blocks: list[Block] = []
    opened: re.Match[str] | None = None
    body: list[str] = []
    start = 0
    for number, line in enumerate(text.splitlines(), start=1):
        if opened is None:
            opened = FENCE.match(line)
            body, start = [], number + 1
        elif line.strip() == opened["ticks"]:
            if opened["language"] in ("python", "py"):
                blocks.append(Block(start, "\n".join(body) + "\n", opened["needs"]))
            opened = None
        else:
            indent = opened["indent"]
            body.append(line.removeprefix(indent) if line.strip() else "")
    if opened is not None:
        raise ValueError(f"the block that starts at line {start} is not closed")
    return blocks


def run(page: Path, blocks: list[Block]) -> None:
    """One after the other, in one namespace."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        # Empty lines in front make the line numbers of a traceback those of the page.
        padded = "\n" * (block.line - 1) + block.code
        exec(compile(padded, str(page), "exec", dont_inherit=True), namespace)
