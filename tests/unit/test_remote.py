"""Files behind URLs: written whole or not at all, whatever the store does; and what is said if it fails."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill import PretokenCounts, TrainingError
from tokenmill._remote import is_url, write_remote

fsspec = pytest.importorskip("fsspec")

OLD, NEW = b"old", b"new" * 40_000
COUNTS = tokenmill.count_pretokens(texts=["low lower lowest", "low"])


@pytest.fixture
def memory() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def stored(memory: Any) -> dict[str, bytes]:
    """What is in the store."""
    return {name: memory.cat(name) for name in memory.find("/")}


@pytest.mark.parametrize("name", ["a.counts", "a.parquet"])
def test_counts_are_saved_and_replaced(memory: Any, name: str) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    url = f"memory://saved/{name}"
    tokenmill.count_pretokens(texts=["new"]).save(url)
    COUNTS.save(url)
    assert PretokenCounts.load(url) == COUNTS
    assert list(stored(memory)) == [f"/saved/{name}"]


def fail(memory: Any, call: str, nth: int, half: bool) -> Callable[..., Any]:
    """The method, which fails at its nth call, when half of its work is done."""
    method, calls = getattr(memory, call), 0

    def failing(first: str, second: str, **options: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == nth:
            if half:
                memory.pipe(second, b"half")
            raise KeyboardInterrupt
        method(first, second, **options)

    return failing


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(("call", "nth"), [("put_file", 1), ("mv", 1), ("mv", 2)])
@pytest.mark.parametrize("before", [None, OLD])
def test_what_fails_leaves_what_was_there(
    memory: Any, monkeypatch: pytest.MonkeyPatch, call: str, nth: int, half: bool, before: bytes | None
) -> None:
    if before is None and nth == 2:
        pytest.skip("nothing is moved away")
    if before is not None:
        memory.pipe("/a/x.bin", before)
    monkeypatch.setattr(memory, call, fail(memory, call, nth, half))
    with pytest.raises(KeyboardInterrupt):
        write_remote("memory://a/x.bin", [NEW])
    monkeypatch.undo()
    left = {name: content for name, content in stored(memory).items() if content != b"half"}
    assert left == ({} if before is None else {"/a/x.bin": before})
    write_remote("memory://a/x.bin", [NEW])
    assert stored(memory)["/a/x.bin"] == NEW


def test_what_was_there_is_kept_if_it_cannot_be_put_back(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe("/a/x.bin", OLD)
    move, calls = memory.mv, 0

    def lost(first: str, second: str, **options: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise ConnectionError(errno.ECONNRESET, "connection reset")
        move(first, second, **options)

    monkeypatch.setattr(memory, "mv", lost)
    with pytest.raises(ConnectionError) as caught:
        write_remote("memory://a/x.bin", [NEW])
    assert caught.value.filename == "memory://a/x.bin"
    [(name, content)] = stored(memory).items()
    assert (name.startswith("/a/.tokenmill-"), content) == (True, OLD)


def test_a_store_that_does_not_rename_and_does_not_say_so(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    move = memory.mv

    def moved(first: str, second: str, **options: Any) -> None:
        if not memory.exists(second):
            move(first, second, **options)

    monkeypatch.setattr(memory, "mv", moved)
    write_remote("memory://a/x.bin", [OLD])
    write_remote("memory://a/x.bin", [NEW])
    assert stored(memory) == {"/a/x.bin": NEW}
    monkeypatch.setattr(memory, "mv", lambda first, second, **options: None)
    with pytest.raises(OSError, match="only 0 of 120000 bytes were stored") as caught:
        write_remote("memory://b/x.bin", [NEW])
    assert caught.value.filename == "memory://b/x.bin"
    assert stored(memory) == {"/a/x.bin": NEW}


def test_a_file_of_this_machine_is_written_as_by_its_path(tmp_path: Path) -> None:
    target = tmp_path / "a file.bin"
    target.write_bytes(OLD)
    target.chmod(0o640)
    write_remote(f"file://{target}", [NEW])
    assert target.read_bytes() == NEW
    if os.name == "posix":
        assert target.stat().st_mode & 0o777 == 0o640

    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("the rest is not there")

    with pytest.raises(RuntimeError, match="the rest"):
        write_remote(f"file://{target}", pieces())
    assert target.read_bytes() == NEW
    assert [path.name for path in tmp_path.iterdir()] == ["a file.bin"]
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        write_remote(f"file://{tmp_path}/folder", [NEW])
    assert caught.value.filename == f"file://{tmp_path}/folder"
    with pytest.raises(FileNotFoundError, match="the folder does not exist"):
        write_remote(f"file://{tmp_path}/none/x.bin", [NEW])


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        ("http://a.test/x.bin", errno.EROFS, "cannot write to a web server"),
        ("https://a.test/x.bin", errno.EROFS, "cannot write to a web server"),
        ("memory://a/", errno.EISDIR, "is the name of a folder"),
        ("memory://full", errno.EISDIR, "is a folder"),
        ("nothing://x", errno.EIO, "cannot be written: Protocol not known"),
        ("simplecache::memory://x", errno.EIO, "simplecache:: is not supported; give the URL without it"),
        ("data://x", errno.EIO, "cannot be written"),
    ],
)
def test_urls_that_take_no_file_are_told(memory: Any, url: str, code: int, said: str) -> None:
    memory.pipe("/full/x", OLD)
    with pytest.raises(OSError, match=said) as caught:
        COUNTS.save(url)
    assert (caught.value.errno, caught.value.filename) == (code, url)
    assert stored(memory) == {"/full/x": OLD}


class StrangeError(Exception):
    """What no library of files should raise."""


@pytest.mark.parametrize(
    ("raised", "kind", "said"),
    [
        (StrangeError("530 Login incorrect"), OSError, "cannot be written: 530 Login incorrect"),
        (StrangeError("x" * 9000), OSError, "x{300}\\.\\.\\."),
        (OSError("no errno"), OSError, "no errno"),
        (OSError(errno.ENOSPC, "No space left"), OSError, "No space left"),
        (FileNotFoundError("a/b"), FileNotFoundError, "the folder does not exist"),
        (PermissionError(errno.EACCES, "denied", "b"), PermissionError, "denied"),
    ],
)
def test_whatever_a_store_raises_names_the_url(
    memory: Any, monkeypatch: pytest.MonkeyPatch, raised: Exception, kind: type[OSError], said: str
) -> None:
    def fails(local: str, path: str) -> None:
        raise raised

    monkeypatch.setattr(memory, "put_file", fails)
    with pytest.raises(kind, match=said) as caught:
        write_remote("memory://a/x.bin", [NEW])
    assert caught.value.filename == "memory://a/x.bin"
    assert stored(memory) == {}


def test_whatever_a_store_raises_while_it_is_read_names_the_url(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: str, **options: Any) -> None:
        raise StrangeError("530 Login incorrect")

    monkeypatch.setattr(memory, "info", fails)
    with pytest.raises(TrainingError, match=r"memory://a/x\.txt: cannot be opened: 530 Login") as caught:
        tokenmill.train("memory://a/x.txt", num_merges=1)
    assert caught.value.path == "memory://a/x.txt"
    with pytest.raises(TrainingError, match="simplecache:: is not supported"):
        tokenmill.train("simplecache::memory://a/x.txt", num_merges=1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_of_this_machine_is_told_as_such(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open
    monkeypatch.setattr(
        Path, "open", lambda path, *mode: opened(Path("/dev/full") if path.name == "upload" else path, *mode)
    )
    with pytest.raises(OSError, match="No space left") as caught:
        write_remote("memory://a/x.bin", [NEW])
    assert Path(caught.value.filename).is_dir()
    assert stored(memory) == {}


def test_what_is_a_url() -> None:
    for name in ("s3://a", "memory://a/b", "zip://a::s3://b", "simplecache::s3://a", "abfs+x.y-z://a"):
        assert is_url(name)
    for name in ("a", "c://models", "./s3://a", "/a://b", "://a", "9p://x", "C:\\a"):
        assert not is_url(name)
