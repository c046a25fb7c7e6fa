"""Saving that fails leaves nothing behind, and nothing half of which is new."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tokenmill import errors


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.parametrize("name", ["t.tiktoken", "vocab.json", "t.txt"])
def test_a_refused_save_leaves_no_file(native: Any, tmp_path: Path, name: str) -> None:
    tok = native.train(texts=["ab ab"], num_merges=1, special_tokens=["<s>"])
    with pytest.raises(errors.FormatError):
        tok.save(tmp_path / name)
    assert names(tmp_path) == []


def test_a_refused_save_keeps_what_was_there(native: Any, tmp_path: Path) -> None:
    (tmp_path / "t.tiktoken").write_text("kept", encoding="utf-8")
    with pytest.raises(errors.FormatError):
        native.train(texts=["ab ab"], num_merges=1).save(tmp_path / "t.tiktoken")
    assert (tmp_path / "t.tiktoken").read_text(encoding="utf-8") == "kept"
    assert names(tmp_path) == ["t.tiktoken"]


@pytest.mark.parametrize("name", ["t.json", "folder", "vocab.json"])
def test_a_folder_that_cannot_be_written_to_is_an_os_error(native: Any, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "read only"
    folder.mkdir()
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):  # Permissions do not bind this user; the tables of the kernel do.
        folder = Path("/proc/self/task")
    before = names(folder)
    try:
        with pytest.raises(OSError, match=re.escape(str(folder))):
            native.train(texts=["ab ab"], num_merges=1).save(folder / name, lossy=True)
        assert names(folder) == before or folder != tmp_path / "read only"
    finally:
        (tmp_path / "read only").chmod(0o700)


@pytest.mark.parametrize("name", ["t.json", "folder", "vocab.json", "t.tiktoken"])
def test_a_full_disk_leaves_no_file(native: Any, tmp_path: Path, name: str) -> None:
    """A limit on the size of files stands for the disk that is full."""
    resource = pytest.importorskip("resource", reason="limits of processes are needed")
    script = """
        import resource, sys, tokenmill
        tok = tokenmill.train(texts=["ab ab"], num_merges=1)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            tok.save(sys.argv[1], lossy=True)
        except OSError as error:
            print(type(error).__name__, error.errno)
    """
    assert resource.RLIMIT_FSIZE is not None
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("OSError"), done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("blocked", "path", "options"),
    [
        ("merges.txt", "vocab.json", {"lossy": True}),
        ("out/merges.txt", "out", {"format": "vocab+merges", "lossy": True}),
        ("out/tokenmill.json", "out", {}),
    ],
)
def test_files_that_belong_together_appear_together_or_not_at_all(
    native: Any, tmp_path: Path, blocked: str, path: str, options: dict[str, Any]
) -> None:
    """Where the second file cannot be written (a folder has its name), the first is not left behind."""
    (tmp_path / blocked).mkdir(parents=True)
    before = names(tmp_path)
    with pytest.raises(OSError, match=Path(blocked).name):
        native.train(texts=["ab ab"], num_merges=1).save(tmp_path / path, **options)
    assert names(tmp_path) == before


def test_saving_another_format_into_a_folder_does_not_leave_the_old_tokenizer_to_be_loaded(
    native: Any, tmp_path: Path
) -> None:
    old = native.train(texts=["ab ab"], num_merges=1, split="none")
    new = native.train(texts=["cd cd"], num_merges=1, split="none")
    old.save(tmp_path / "m")
    new.save(tmp_path / "m", format="vocab+merges", lossy=True)
    assert native.load(tmp_path / "m", split="none") == new


def test_a_literal_that_is_spelled_like_a_token_is_not_written_twice_into_a_file(
    native: Any, tmp_path: Path
) -> None:
    """`a` is a byte and a special token: vocab.json has one place for both."""
    tok = native.train(texts=["bc bc"], num_merges=1, special_tokens=["a"])
    with suppress(errors.FormatError):
        tok.save(tmp_path / "vocab.json", lossy=True)
    if names(tmp_path):
        native.load(tmp_path / "vocab.json", split="none")
