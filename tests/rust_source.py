"""Rust read as text, for tests of how the code is laid out."""

from __future__ import annotations

import re


def code(text: str) -> str:
    """Rust without comments and without string literals."""
    text = re.sub(r'r(#+)".*?"\1', '""', text, flags=re.DOTALL)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', text, flags=re.DOTALL)


def without_tests(text: str) -> str:
    """What is built without `cfg(test)`: test modules stand at the end of their file."""
    return re.split(r"#\[cfg\(test\)\]\s*mod tests\s*(?:\{|;)", text, maxsplit=1)[0]
