"""``tokenmill report``: tokenizers side by side on one page."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenmill

from .conftest import Run

pytestmark = pytest.mark.usefixtures("native")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    (tmp_path / "en.txt").write_text("the lazy dog\n\njumps over\n", encoding="utf-8")
    (tmp_path / "de.txt").write_text("der faule Hund\nspringt\n", encoding="utf-8")
    return tmp_path


def test_json_is_that_of_the_library(run: Run, folder: Path, texts: Path) -> None:
    tok = tokenmill.load(folder)
    lines = {"English": ["the lazy dog", "jumps over"], "de": ["der faule Hund", "springt"]}
    found = tokenmill.report({"a": tok, folder.name: tok}, lines, parallel=True, words=["lazy"])
    given = [f"a={folder}", folder, "--text", f"English={texts / 'en.txt'}", texts / "de.txt"]
    done = run("report", *given, "--parallel", "--word", "lazy", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json == found.to_dict()


def test_files_are_texts_as_a_whole(run: Run, folder: Path, texts: Path) -> None:
    done = run("report", folder, "--text", texts / "en.txt", "--json")
    (row,) = done.json["tokenizers"][0]["rows"]
    assert (row["name"], row["texts"], row["bytes"]) == ("en", 1, 25)


def test_the_page_is_written(run: Run, folder: Path, texts: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install matplotlib")
    out = texts / "report.html"
    done = run("report", f"a={folder}", "--text", texts / "en.txt", "--word", "lazy", "--out", out)
    assert (done.code, done.out, done.err) == (0, b"", "")
    found = tokenmill.report(
        {"a": tokenmill.load(folder)}, {"en": [(texts / "en.txt").read_text()]}, words=["lazy"]
    )
    assert out.read_text(encoding="utf-8") == found.html


def test_a_place_that_cannot_be_is_refused_before_the_work(run: Run, folder: Path, texts: Path) -> None:
    for out, says in ((texts / "no" / "r.html", "the folder does not exist"), (texts, "is a folder")):
        done = run("report", "no-tokenizer-of-this-name", "--offline", "--out", out)
        assert (done.code, says in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["{folder}", "{folder}"], "two tokenizers are called"),
        (["={folder}"], "a name and a tokenizer are needed"),
        (["{folder}", "--parallel"], "--parallel is for --text"),
        (["{folder}", "--text", "{texts}/nothing.txt"], "nothing.txt"),
        (["{folder}", "--text", "{texts}/empty.txt"], "empty.txt: there is no text to measure"),
        (["{folder}", "--text", "{texts}/en.txt", "--reference", "en"], "--reference compares"),
        (
            ["{folder}", "--text", "{texts}/en.txt", "--parallel", "--reference", "fr"],
            "--reference fr is none",
        ),
    ],
)
def test_bad_use(run: Run, folder: Path, texts: Path, words: list[str], says: str) -> None:
    (texts / "empty.txt").touch()
    done = run("report", *(word.format(folder=folder, texts=texts) for word in words), "--json")
    assert done.code == 2
    assert says in done.err
