"""``tokenmill diff``: exit codes, the table and JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenmill

from .conftest import Run

pytestmark = pytest.mark.usefixtures("native")


@pytest.fixture
def other(folder: Path, tmp_path: Path) -> Path:
    """The tokenizer of ``folder`` with one special token more."""
    path = tmp_path / "other.json"
    tokenmill.load(folder).with_special_tokens(["<|eot|>"]).save(path)
    return path


def test_the_same_ends_with_0(run: Run, folder: Path) -> None:
    done = run("diff", folder, folder)
    assert (done.code, done.err) == (0, "")
    assert "their descriptions mean the same" in done.out.decode()


def test_a_difference_ends_with_1_and_is_that_of_the_library(run: Run, folder: Path, other: Path) -> None:
    found = tokenmill.diff(tokenmill.load(folder), tokenmill.load(other))
    done = run("diff", folder, other)
    assert (done.code, done.out.decode()) == (1, f"{found}\n")
    done = run("diff", folder, other, "--json")
    assert (done.code, done.json) == (1, found.to_dict())
    assert done.json["verdict"] == "different"
    assert done.json["witness"]["text"] == "<|eot|>"


def test_what_is_not_known_ends_with_1(run: Run, folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    tok = tokenmill.load(folder)
    for name, source in (("a", "{{ messages[0].content }}"), ("b", "{{messages[0].content}}")):
        tok.with_chat_template(source).save(tmp_path / name)
    done = run("diff", tmp_path / "a", tmp_path / "b", "--json")
    assert (done.code, done.json["verdict"]) == (1, "unknown")


def test_text_is_searched_first(run: Run, folder: Path, other: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing here, and <|eot|> there", encoding="utf-8")
    done = run("diff", folder, other, "--text", tmp_path / "notes.txt", "--json")
    assert done.json["tried"] == {"texts that were given": 1}
    assert done.json["witness"]["text"] == "<|eot|>"


def test_a_missing_tokenizer_ends_with_2(run: Run, folder: Path, tmp_path: Path) -> None:
    done = run("diff", folder, tmp_path / "none.json")
    assert done.code == 2
    assert "none.json" in done.err
