"""What IPython and notebooks show of an explanation, a plan and an audit."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest

SHOWN: dict[str, Callable[[Any], Any]] = {
    "Explanation": lambda tok: tok.explain("<b>&amp; low  <s>", special="parse"),
    "Plan": lambda tok: tok.plan(),
    "Audit": lambda tok: tok.audit(seconds=0.01, max_bytes=4096),
}


@pytest.fixture(params=SHOWN)
def shown(request: pytest.FixtureRequest, native: Any) -> Any:
    tok = native.train(texts=["low lower lowest"] * 3, vocab_size=262, special_tokens=["<s>"])
    made = SHOWN[request.param](tok)
    assert type(made).__name__ == request.param
    return made


class Printer:
    """As much of IPython's as is used."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def text(self, text: str) -> None:
        self.written.append(text)


class Cells(HTMLParser):
    """The rows of a table, and whether every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "br":
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def test_ipython_shows_what_print_shows(shown: Any) -> None:
    printer = Printer()
    shown._repr_pretty_(printer, False)
    assert printer.written == [str(shown)]
    shown._repr_pretty_(printer, True)
    assert printer.written[1:] == [f"{type(shown).__name__}(...)"]


def test_ipython_itself_shows_it(shown: Any) -> None:
    pretty = pytest.importorskip("IPython.lib.pretty")
    assert pretty.pretty(shown) == str(shown)


def test_a_notebook_shows_a_table_of_the_same_cells(shown: Any) -> None:
    cells = Cells()
    cells.feed(shown._repr_html_())
    assert cells.open == []
    head, *body = cells.rows
    lines = str(shown).splitlines()
    assert lines[0].split() == " ".join(head).split()
    for row, line in zip(body, lines[1:], strict=False):
        assert line.split() == " ".join(row).split()
    assert len(body) == (str(shown).split("\n\n")[0]).count("\n")


def test_nothing_in_a_text_is_taken_for_html(native: Any) -> None:
    tok = native.train(texts=["low"], num_merges=1, special_tokens=["<s>"])
    html = tok.explain("<script>&amp;<s>", special="parse")._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;&amp;amp;" in html
    cells = Cells()
    cells.feed(html)
    assert cells.rows[1][1] == '"<script>&amp;"'


def test_the_reasons_of_an_audit_stand_below_its_table(native: Any) -> None:
    tok = native.train(texts=["low"], num_merges=1)
    audit = tok.audit(seconds=0.01, max_bytes=4096)
    below = audit._repr_html_().partition("</table>")[2]
    for stage in audit:
        assert f"{stage.name}: " in below
