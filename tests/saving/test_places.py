"""What may stand where a tokenizer is saved: links, pipes, devices, a folder that is locked or shared."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

fcntl = pytest.importorskip("fcntl", reason="locks and special files of Unix are needed")


@pytest.fixture
def tok(native: Any) -> Any:
    return native.train(texts=["ab ab"], num_merges=1, split="none")


@pytest.fixture
def other(native: Any) -> Any:
    return native.train(texts=["cd cd"], num_merges=1, split="none")


def kind(path: Path) -> str:
    return stat.filemode(path.lstat().st_mode)[0]


def test_a_pipe_that_nobody_reads_is_an_error_and_stays_a_pipe(tok: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(OSError, match=r"pipe\.json: nobody reads from this pipe") as caught:
        tok.save(tmp_path / "pipe.json")
    assert not isinstance(caught.value, BrokenPipeError)
    assert kind(tmp_path / "pipe.json") == "p"


@pytest.mark.parametrize("name", ["pipe.json", "pipe"])
def test_a_pipe_that_is_read_takes_the_file(native: Any, tok: Any, tmp_path: Path, name: str) -> None:
    """More than a pipe holds at once, read late."""
    large = native.train(texts=["ab ab"], num_merges=1, special_tokens=[f"<{i}>" for i in range(5000)])
    os.mkfifo(tmp_path / name)
    parts: list[bytes] = []

    def read() -> None:
        with (tmp_path / name).open("rb") as pipe:
            ready.set()
            time.sleep(0.05)
            parts.append(pipe.read())

    ready = threading.Event()
    reader = threading.Thread(target=read)
    reader.start()
    while not ready.is_set():
        try:
            large.save(tmp_path / name)
            break
        except OSError:  # the reader is not there yet
            time.sleep(0.001)
    else:
        large.save(tmp_path / name)
    reader.join()
    large.save(tmp_path / "file.json")
    assert parts == [(tmp_path / "file.json").read_bytes()]
    assert kind(tmp_path / name) == "p"


def test_a_device_is_written_to(tok: Any, tmp_path: Path) -> None:
    """A terminal of our own stands for all of them; it shows line ends in its own way."""
    ours, terminal = os.openpty()
    name = Path(os.ttyname(terminal))
    assert kind(name) == "c"
    parts = []
    reader = threading.Thread(target=lambda: parts.append(os.read(ours, 20)))
    reader.start()
    (tmp_path / "t.tiktoken").symlink_to(name)
    tok.save(tmp_path / "t.tiktoken", lossy=True)
    reader.join()
    assert parts[0].startswith(b"AA== 0\r\n")
    assert kind(name) == "c"
    assert kind(tmp_path / "t.tiktoken") == "l"
    os.close(ours)
    os.close(terminal)


def test_a_socket_is_refused(tok: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)  # the path of a socket is short
        server.bind("s.json")
        with pytest.raises(OSError, match=r"s\.json: is no regular file"):
            tok.save("s.json")
        assert kind(Path("s.json")) == "s"


def test_where_several_files_are_saved_none_of_them_may_be_a_pipe(tok: Any, tmp_path: Path) -> None:
    (tmp_path / "k").mkdir()
    os.mkfifo(tmp_path / "k" / "tokenmill.json")
    with pytest.raises(OSError, match=r"tokenmill\.json: is a pipe or a device"):
        tok.save(tmp_path / "k")
    assert [path.name for path in (tmp_path / "k").iterdir()] == ["tokenmill.json"]
    assert kind(tmp_path / "k" / "tokenmill.json") == "p"


def test_a_link_stays_and_what_it_leads_to_is_replaced(
    native: Any, tok: Any, other: Any, tmp_path: Path
) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "real.json").symlink_to("real too.json")  # which is not there yet
    (tmp_path / "t.json").symlink_to(Path("far", "real.json"))
    for each in (tok, other):
        each.save(tmp_path / "t.json")
        assert native.load(tmp_path / "far" / "real too.json") == each
        assert native.load(tmp_path / "t.json") == each
    assert kind(tmp_path / "t.json") == kind(tmp_path / "far" / "real.json") == "l"
    names = sorted(path.name for path in tmp_path.rglob("*"))
    assert names == ["far", "real too.json", "real.json", "t.json"]


def test_links_in_a_circle_are_an_error_and_stay(tok: Any, tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to("b.json")
    (tmp_path / "b.json").symlink_to("a.json")
    with pytest.raises(OSError, match=r"a\.json"):
        tok.save(tmp_path / "a.json")
    assert kind(tmp_path / "a.json") == "l"


def test_what_a_save_left_is_read_from_a_folder_that_cannot_be_written_to(
    native: Any, tok: Any, other: Any, tmp_path: Path
) -> None:
    tok.save(tmp_path / "k")
    other.save(tmp_path / "new")
    (tmp_path / "k" / ".tokenmill-staging").mkdir()  # of a save that never counted
    (tmp_path / "k" / ".tokenmill-staging" / "tokenizer.json").write_text("half", encoding="utf-8")
    (tmp_path / "new").rename(tmp_path / "k" / ".tokenmill-pending")
    (tmp_path / "k").chmod(0o500)
    try:
        assert native.load(tmp_path / "k") == other
        assert native.load(tmp_path / "k" / "tokenizer.json") == other
    finally:
        (tmp_path / "k").chmod(0o700)
    tok.save(tmp_path / "k" / "tokenizer.json")
    assert native.load(tmp_path / "k") == tok
    assert sorted(path.name for path in (tmp_path / "k").iterdir()) == ["tokenizer.json", "tokenmill.json"]


def test_in_a_folder_of_everybody_nothing_of_another_user_stands_for_a_file(
    native: Any, tok: Any, other: Any, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files to another user")
    folder = tmp_path / "all"
    folder.mkdir()
    folder.chmod(0o1777)
    tok.save(folder / "t.json")
    (folder / ".tokenmill-pending").mkdir()
    other.save(folder / ".tokenmill-pending" / "t.json")
    for path in (folder / ".tokenmill-pending", folder / ".tokenmill-pending" / "t.json"):
        os.chown(path, 12345, 12345)
    assert native.load(folder / "t.json") == tok
    tok.save(folder / "t.json")
    assert native.load(folder / "t.json") == tok
    os.chown(folder / "t.json", 12345, 12345)
    assert native.load(folder / "t.json") == other


def test_a_bare_name_is_a_file_of_the_folder_that_one_is_in(
    native: Any, tok: Any, other: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for each in (tok, other):
        each.save("t.json")
        each.save("vocab.json", lossy=True)
        each.save(".")
        assert native.load("t.json") == native.load("vocab.json", split="none") == native.load(".") == each
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["merges.txt", "t.json", "tokenizer.json", "tokenmill.json", "vocab.json"]


def test_links_in_the_place_of_what_a_save_leaves_lead_nowhere(
    native: Any, tok: Any, other: Any, tmp_path: Path
) -> None:
    """A folder from elsewhere may hold them: nothing outside of it is removed or written."""
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "precious").write_text("mine", encoding="utf-8")
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / ".tokenmill-staging").symlink_to(Path("..", "far"))
    tok.save(tmp_path / "k")
    tok.save(tmp_path / "k" / "t.json")
    (tmp_path / "k" / ".tokenmill-pending").mkdir()
    (tmp_path / "k" / ".tokenmill-pending" / "x").write_text("theirs", encoding="utf-8")
    (tmp_path / "k" / "x").symlink_to(Path("..", "far", "precious"))
    other.save(tmp_path / "k")
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["precious"]
    assert (tmp_path / "far" / "precious").read_text(encoding="utf-8") == "mine"
    assert native.load(tmp_path / "k") == other


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_names_that_are_not_utf_8_stay_as_they_are(native: Any, tok: Any, other: Any, tmp_path: Path) -> None:
    names = [os.fsencode(tmp_path) + b"/\xff.json", os.fsencode(tmp_path) + b"/\xfe.json"]
    for name, each in zip(names, [tok, other], strict=True):
        each.save(os.fsdecode(name))
    assert [native.load(os.fsdecode(name)) for name in names] == [tok, other]
    assert sorted(os.fsencode(path) for path in tmp_path.iterdir()) == sorted(names)


def test_what_is_pending_can_be_read_by_whoever_reads_the_folder(
    native: Any, tok: Any, tmp_path: Path
) -> None:
    """Looked at beside saves, for the moment in which it is there."""
    (tmp_path / "k").mkdir(mode=0o755)
    (tmp_path / "k").chmod(0o755)
    before = os.umask(0o077)
    try:
        with subprocess.Popen(
            [sys.executable, "-c", WATCHER, str(tmp_path / "k")], stdout=subprocess.PIPE, text=True
        ) as watcher:
            assert watcher.stdout
            watcher.stdout.readline()
            modes: set[str] = set()
            while watcher.poll() is None:
                tok.save(tmp_path / "k")
            modes.update(watcher.stdout.read().split())
    finally:
        os.umask(before)
    assert modes == {"755"}


WATCHER = """
import os, sys
print("ready", flush=True)
seen = []
while len(seen) < 20:
    try:
        seen.append(f"{os.stat(sys.argv[1] + '/.tokenmill-pending').st_mode & 0o777:o}")
    except FileNotFoundError:
        pass
print(*seen)
"""


def test_what_cannot_be_cleared_does_not_stop_a_save(native: Any, tok: Any, tmp_path: Path) -> None:
    (tmp_path / ".tokenmill-staging" / "somebody's").mkdir(parents=True)
    tok.save(tmp_path / "t.json")
    tok.save(tmp_path)
    assert native.load(tmp_path) == native.load(tmp_path / "t.json") == tok
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [".tokenmill-staging", "t.json", "tokenizer.json", "tokenmill.json"]


HOLDER = """
import fcntl, os, sys
held = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(held, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_save_waits_for_another_and_the_wait_ends_with_that_process(
    native: Any, tok: Any, tmp_path: Path
) -> None:
    (tmp_path / "k").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "k")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        holder.stdout.readline()
        saver = threading.Thread(target=lambda: tok.save(tmp_path / "k"))
        saver.start()
        saver.join(0.1)
        assert saver.is_alive()
        assert list((tmp_path / "k").iterdir()) == []
        holder.kill()
        saver.join()
    assert native.load(tmp_path / "k") == tok


def test_a_save_that_waits_hears_ctrl_c(tok: Any, tmp_path: Path) -> None:
    (tmp_path / "k").mkdir()
    held = os.open(tmp_path / "k", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            tok.save(tmp_path / "k")
    finally:
        timer.join()
        os.close(held)
    assert list((tmp_path / "k").iterdir()) == []
