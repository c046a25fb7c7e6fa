"""Rust read as text, for tests of how the code is laid out."""

from __future__ import annotations

import re
from collections.abc import Iterator


def code(text: str) -> str:
    """Rust without comments and without string literals."""
    text = re.sub(r'r(#+)".*?"\1', '""', text, flags=re.DOTALL)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', text, flags=re.DOTALL)


def without_tests(text: str) -> str:
    """What is built without `cfg(test)`: test modules stand at the end of their file."""
    return re.split(r"#\[cfg\(test\)\]\s*mod tests\s*(?:\{|;)", text, maxsplit=1)[0]


#: The segments of a path.
Segments = tuple[str, ...]

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
ITEM = re.compile(
    rf"(?:^|[;{{}}\]\)]|\bpub(?:\([^)]*\))?|\bunsafe|\basync|\bextern|\bconst)\s*"
    rf"(?:fn|struct|enum|union|trait|type|const|static|macro_rules!)\s+(?:mut\s+)?({NAME})",
    re.MULTILINE,
)
USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")


def leaves(tree: str, before: Segments = ()) -> Iterator[tuple[str, Segments]]:
    """The names that a `use` tree brings, each with its path."""
    tree = tree.strip()
    if (group := re.match(r"^(.*?)\{(.*)\}$", tree, re.DOTALL)) is not None:
        head = tuple(part.strip() for part in group[1].split("::") if part.strip())
        for part in split_outside(group[2]):
            yield from leaves(part, before + head)
        return
    path, _, other = tree.partition(" as ")
    segments = before + tuple(part.strip() for part in path.split("::") if part.strip())
    if segments and segments[-1] == "self" and len(segments) > 1:
        segments = segments[:-1]
    if segments:
        yield (other.strip() or segments[-1]), segments


def split_outside(group: str) -> Iterator[str]:
    """Parts between commas that are in no braces."""
    depth, start = 0, 0
    for at, character in enumerate(group):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            yield group[start:at]
            start = at + 1
    if group[start:].strip():
        yield group[start:]
