"""``tokenmill.train``: which sources and sizes it takes, and which files a glob means."""

from __future__ import annotations

import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenmill

TEXT = "The quick brown fox jumps over the lazy dog.\n" * 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"num_merges": 1}, "files, texts and counts, not none"),
        ({"files": "x", "texts": ["x"], "num_merges": 1}, "not files and texts"),
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


def test_counts_of_texts_are_so_many_copies() -> None:
    counts = {"low": 5, "lower": 2, "newest widest": 3}
    copies = [text for text, count in counts.items() for _ in range(count)]
    for tie_break in ("lexicographic", "first-seen", "huggingface"):
        weighted = tokenmill.train(texts=counts, num_merges=12, tie_break=tie_break)
        copied = tokenmill.train(texts=copies, num_merges=12, tie_break=tie_break)
        assert weighted == copied
        (one, other) = (weighted.training_report, copied.training_report)
        assert one is not None
        assert other is not None
        assert (one.documents, one.bytes, one.merges) == (other.documents, other.bytes, other.merges)


def test_counts_may_be_as_large_as_a_count_gets() -> None:
    tok = tokenmill.train(texts={"ab": 2**62, "cd": np.int64(3)}, num_merges=2)
    assert tok.merges == [(b"a", b"b"), (b"c", b"d")]
    with pytest.raises(tokenmill.TrainingError, match="a count passes 2\\^64 - 1"):
        tokenmill.train(texts={"ab ab": 2**63}, num_merges=2)


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", None, True, 2**64])
def test_a_count_that_is_none_names_its_text(count: Any) -> None:
    with pytest.raises(tokenmill.TrainingError, match=re.escape(f"texts['lower'] is {count!r}; a count is")):
        tokenmill.train(texts={"low": 1, "lower": count}, num_merges=1)


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


# ---- what can be read once --------------------------------------------------------------------

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")


def _pipe(path: Path, content: bytes) -> threading.Thread:
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(content,), daemon=True)
    writer.start()
    return writer


@needs_pipes
@pytest.mark.parametrize("documents", ["file", "lines"])
def test_a_pipe_is_read_like_a_file(tmp_path: Path, documents: Any) -> None:
    content = TEXT.encode() * 5000
    (tmp_path / "file").write_bytes(content)
    (tmp_path / "more").write_text(TEXT)
    expected = tokenmill.train(
        [tmp_path / "file", tmp_path / "more"], num_merges=20, documents=documents, errors="skip"
    )
    writer = _pipe(tmp_path / "pipe", content)
    tok = tokenmill.train(
        [tmp_path / "pipe", tmp_path / "more"], num_merges=20, documents=documents, errors="skip"
    )
    writer.join(60)
    assert tok == expected
    assert tok.training_report is not None
    assert expected.training_report is not None
    assert tok.training_report.bytes == expected.training_report.bytes
    assert tok.training_report.documents == expected.training_report.documents


@needs_pipes
def test_a_pipe_alone_and_one_that_a_glob_finds_are_read(tmp_path: Path) -> None:
    expected = tokenmill.train(texts=[TEXT], num_merges=20)
    for number, given in enumerate([str(tmp_path / "pipe0"), str(tmp_path / "pip*1")]):
        writer = _pipe(tmp_path / f"pipe{number}", TEXT.encode())
        assert tokenmill.train(given, num_merges=20) == expected
        writer.join(60)


@needs_pipes
def test_a_pipe_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)  # nobody writes: to open it would be to wait for ever
    (tmp_path / "link").symlink_to("pipe")
    for again in (path, tmp_path / "link", str(tmp_path / "p*e")):
        with pytest.raises(tokenmill.TrainingError, match="given twice") as caught:
            tokenmill.train([path, again], num_merges=20)
        assert caught.value.path in (str(path), str(tmp_path / "link"))


@needs_pipes
def test_ctrl_c_is_heard_while_a_pipe_has_no_writer(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    interrupt = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        tokenmill.train(path, num_merges=1)
    # Nobody is left behind at the pipe: the next reader gets all there is.
    writer = threading.Thread(target=path.write_text, args=(TEXT,), daemon=True)
    writer.start()
    assert tokenmill.train(path, num_merges=20) == tokenmill.train(texts=[TEXT], num_merges=20)
    writer.join(60)


@pytest.mark.parametrize("files", ["low lower lowest", ["low lower lowest"], "low " * 2000])
def test_a_text_in_place_of_a_file_is_told_where_it_belongs(native: Any, files: Any) -> None:
    with pytest.raises(FileNotFoundError, match="texts go into texts="):
        native.train(files, num_merges=1)
