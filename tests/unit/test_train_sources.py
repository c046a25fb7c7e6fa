"""``tokenmill.train``: which sources and sizes it takes, and which files a glob means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tokenmill

TEXT = "The quick brown fox jumps over the lazy dog.\n" * 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"num_merges": 1}, "files and texts"),
        ({"files": "x", "texts": ["x"], "num_merges": 1}, "files and texts"),
        ({"texts": ["x"]}, "vocab_size and num_merges"),
        ({"texts": ["x"], "num_merges": 1, "vocab_size": 300}, "vocab_size and num_merges"),
        ({"texts": "one text", "num_merges": 1}, "pass a list"),
        ({"texts": ["x"], "num_merges": 1, "special_tokens": "<s>"}, "pass a list"),
        ({"texts": ["x"], "num_merges": 1, "num_threads": 0}, "num_threads"),
        ({"files": [], "num_merges": 1}, "empty"),
    ],
)
def test_contradictions_are_training_errors(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(tokenmill.TrainingError, match=words) as caught:
        tokenmill.train(**arguments)
    assert (caught.value.path, caught.value.byte) == (None, None)


def _documents(files: Any) -> int:
    report = tokenmill.train(files, num_merges=1).training_report
    assert report is not None
    return report.documents


def test_files_are_a_path_a_glob_or_a_list_of_them(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("a.txt", "b.txt", "c.md", "deep/d.txt"):
        (tmp_path / name).write_text(TEXT, encoding="utf-8")
    assert _documents(tmp_path / "a.txt") == 1
    assert _documents(str(tmp_path / "*.txt")) == 2
    assert _documents(str(tmp_path / "**" / "*.txt")) == 3
    assert _documents(tmp_path / "*") == 3  # a folder among the matches is no text
    assert _documents([tmp_path / "c.md", str(tmp_path / "*.txt")]) == 3


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    for name in ("[ab].txt", "a.txt", "b.txt"):
        (tmp_path / name).write_text(TEXT, encoding="utf-8")
    assert _documents(str(tmp_path / "[ab].txt")) == 1


def test_what_is_not_there_is_an_oserror(tmp_path: Path) -> None:
    for missing in ("missing.txt", "missing*.txt"):
        with pytest.raises(FileNotFoundError) as caught:
            tokenmill.train(tmp_path / missing, num_merges=1)
        assert missing in str(caught.value)
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        tokenmill.train(tmp_path, num_merges=1)


def test_progress_is_called_with_phase_done_and_total() -> None:
    calls: list[tuple[str, int, int]] = []
    tokenmill.train(texts=[TEXT] * 200, num_merges=50, progress=lambda *call: calls.append(call))
    assert calls
    for phase, done, total in calls:
        assert isinstance(phase, str)
        assert done <= total or total == 0


def test_a_bar_writes_to_stderr_alone(capfd: pytest.CaptureFixture[str]) -> None:
    tokenmill.train(texts=[TEXT], num_merges=5, progress=True)
    assert capfd.readouterr().out == ""


def test_a_bar_without_rich_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(tokenmill.MissingExtraError) as caught:
        tokenmill.train(texts=[TEXT], num_merges=5, progress=True)
    assert caught.value.extra == "cli"
