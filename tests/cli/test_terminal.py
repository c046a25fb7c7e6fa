"""What people see: tables, colours, characters that must not reach a terminal as they are."""

from __future__ import annotations

import re
from itertools import pairwise

from tokenmill.cli import terminal


def test_a_plain_table_is_aligned_by_what_a_terminal_shows() -> None:
    page = terminal.table(("n", "word"), [("1", "你好"), ("10", "ab")], right=(0,), rich=False)
    assert page == " n  word\n 1  你好\n10  ab\n"


def test_a_rich_table_holds_the_same_cells() -> None:
    page = terminal.table(("n", "word"), [("1", "[red]x")], right=(0,), rich=True)
    assert "[red]x" in page


def test_painted_tokens_lose_nothing_and_hide_no_control_character() -> None:
    page = terminal.painted([b"ab", b" c\n", "ä".encode()[:1], b"\x1b[2J"])
    assert re.sub("\x1b\\[[0-9;]*m", "", page) == "ab c\\n\n\\xc3\\x1b[2J"


def test_neighbours_differ_in_shade() -> None:
    shades = re.findall("\x1b\\[([0-9;]+m)a", terminal.painted([b"a"] * 9))
    assert all(left != right for left, right in pairwise(shades))
