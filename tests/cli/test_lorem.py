"""``tokenmill lorem``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Run

pytestmark = pytest.mark.usefixtures("native")


def test_a_seed_gives_the_same_text(run: Run) -> None:
    first, second = (run("lorem", "--words", "80", "--seed", "7") for _ in range(2))
    assert (first.code, first.err, first.out) == (0, "", second.out)
    assert len(first.out.split()) >= 80
    assert run("lorem", "--seed", "7").out == first.out
    assert run("lorem", "--words", "80", "--seed", "7", "--language", "en").out != first.out


def test_exactly_so_many(run: Run) -> None:
    assert len(run("lorem", "--words", "9", "--exact").out.split()) == 9
    assert len(run("lorem", "--characters", "99", "--exact").out.decode()) == 100
    page = run("lorem", "--sentences", "2", "--json").json
    assert page["words"] == len(page["text"].split())
    again = run("lorem", "--sentences", "2", "--seed", page["seed"], "--json").json
    assert again == page


def test_text_of_ones_own(run: Run, tmp_path: Path) -> None:
    text = "One two three. Two one three, four. " * 9
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    made = run("lorem", "--from", tmp_path / "a.txt", "--words", "20", "--seed", "1")
    assert made.code == 0
    assert set(made.out.decode().split()) <= set(text.split())
    assert run("lorem", "--from", "-", "--words", "20", "--seed", "1", stdin=text.encode()).out == made.out
    assert run("lorem", "--from", tmp_path / "a.txt", "--start", "Two one").out.startswith(b"Two one")


def test_a_model_of_ones_own(run: Run, tmp_path: Path) -> None:
    from tokenmill import placeholder

    placeholder.bundled("en").save(tmp_path / "m.ngrams")
    own = run("lorem", "--model", tmp_path / "m.ngrams", "--seed", "3", "--out", tmp_path / "out.txt")
    assert (own.code, own.out) == (0, b"")
    assert (tmp_path / "out.txt").read_bytes() == run("lorem", "--language", "en", "--seed", "3").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--words", "0"], "--words"),
        (["--words", "3", "--tokens", "3"], "not allowed with"),
        (["--model", "none.ngrams"], "No such file"),
        (["--from", "-", "--model", "x"], "not allowed with"),
        (["--order", "2"], "--from"),
        (["--from", "-"], "no text"),
        (["--start", "zebra"], "zebra"),
        (["--language", "de"], "la, en"),
    ],
)
def test_bad_use_is_2_and_says_what(run: Run, arguments: Any, said: str) -> None:
    done = run("lorem", *arguments)
    assert (done.code, done.out) == (2, b"")
    assert said in done.err
