"""Published encodings: one download, checked, and then the cache."""

from __future__ import annotations

import errno
import hashlib
import multiprocessing
import pickle
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenmill import ManifestError, MissingExtraError, hub
from tokenmill.hub import download
from tokenmill.hub.encodings import FILES

from .conftest import RANKS, Answer, Server

Publish = Callable[..., None]
NAME = "cl100k_base"
FILE = "cl100k_base.tiktoken"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def content_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_is_downloaded_once_under_a_readable_name(
    publish: Publish, server: Server, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    publish(FILE)
    assert not hub.is_cached(NAME)
    path = hub.fetch_encoding(NAME)
    assert path == cache / FILE
    assert content_of(cache) == {FILE: RANKS}
    assert hub.is_cached(NAME)
    assert hub.fetch_encoding(NAME) == path
    assert server.requests == [("GET", f"/{FILE}")]
    assert capfd.readouterr() == ("", "")


def test_a_cached_file_has_the_rights_of_any_other(publish: Publish, cache: Path) -> None:
    publish(FILE)
    hub.fetch_encoding(NAME)
    (cache / "other").touch()
    assert (cache / FILE).stat().st_mode == (cache / "other").stat().st_mode


@pytest.mark.usefixtures("no_network")
def test_the_cache_answers_without_a_connection_whether_offline_or_not(
    publish: Publish, server: Server, cache: Path
) -> None:
    publish(FILE)
    cache.mkdir()
    (cache / FILE).write_bytes(RANKS)
    for offline in (True, False):
        assert hub.fetch_encoding(NAME, offline=offline) == cache / FILE
    assert server.requests == []


@pytest.mark.usefixtures("no_network")
def test_offline_a_missing_file_is_named_with_its_place(cache: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"cl100k_base\.tiktoken .*offline") as raised:
        hub.fetch_encoding(NAME, offline=True)
    assert raised.value.filename == str(cache / FILE)
    assert "cache_dir= or the variable TOKENMILL_CACHE" in str(raised.value)
    assert not cache.exists()


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", None])
def test_what_tiktoken_has_in_its_cache_is_copied_from_there(
    publish: Publish, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    publish(FILE)
    theirs = tmp_path / "data-gym-cache"
    if variable:
        monkeypatch.setenv(variable, str(theirs))
    theirs.mkdir()
    copy = theirs / hashlib.sha1(FILES[FILE].url.encode()).hexdigest()
    copy.write_bytes(b"bad")
    assert not hub.is_cached(NAME)
    with pytest.raises(FileNotFoundError):
        hub.fetch_encoding(NAME, offline=True)
    copy.write_bytes(RANKS)
    with pytest.raises(FileNotFoundError):  # a cache that the caller names is the only one
        hub.fetch_encoding(NAME, offline=True, cache_dir=tmp_path / "mine")
    assert hub.is_cached(NAME)
    assert hub.fetch_encoding(NAME, offline=True) == cache / FILE
    assert content_of(cache) == {FILE: RANKS}


def test_the_cache_may_be_named(publish: Publish, tmp_path: Path, cache: Path) -> None:
    publish(FILE)
    assert hub.fetch_encoding(NAME, cache_dir=tmp_path / "mine") == tmp_path / "mine" / FILE
    assert not cache.exists()


def test_without_a_name_the_cache_is_where_the_platform_has_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    import pooch

    monkeypatch.setenv("TOKENMILL_CACHE", "")
    assert hub.cache_folder() == Path(pooch.os_cache("tokenmill"))


def test_two_files_make_gpt2(publish: Publish, cache: Path) -> None:
    publish("encoder.json", b"{}")
    publish("vocab.bpe", b"#version: 0.2\n")
    assert hub.fetch_encoding("gpt2") == cache / "gpt2" / "vocab.json"
    assert content_of(cache / "gpt2") == {"vocab.json": b"{}", "merges.txt": b"#version: 0.2\n"}


def test_encodings_that_share_a_file_share_its_download(publish: Publish, server: Server) -> None:
    publish("o200k_base.tiktoken")
    assert hub.fetch_encoding("o200k_base") == hub.fetch_encoding("o200k_harmony")
    assert len(server.requests) == 1


def test_a_name_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValueError, match=r"'cl100k'; known are gpt2, .*cl100k_base"):
        hub.fetch_encoding("cl100k")


# ---- wrong hashes -----------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [b"", RANKS[:-1], RANKS + b"x", b"YQ== 0\nYg== 1\nYWI= 3\n"])
def test_a_cached_file_with_another_hash_is_replaced(
    publish: Publish, server: Server, cache: Path, bad: bytes
) -> None:
    publish(FILE)
    cache.mkdir()
    (cache / FILE).write_bytes(bad)
    assert not hub.is_cached(NAME)
    assert hub.fetch_encoding(NAME).read_bytes() == RANKS
    assert content_of(cache) == {FILE: RANKS}
    assert len(server.requests) == 1


@pytest.mark.usefixtures("no_network")
def test_offline_a_cached_file_with_another_hash_is_an_error_with_both(publish: Publish, cache: Path) -> None:
    publish(FILE)
    cache.mkdir()
    (cache / FILE).write_bytes(b"bad")
    with pytest.raises(ManifestError) as raised:
        hub.fetch_encoding(NAME, offline=True)
    error = raised.value
    assert (error.field, error.found) == (FILE, f"sha256 {sha256(b'bad')}")
    assert sha256(RANKS) in error.expected
    assert str(cache / FILE) in str(error)
    assert error.expected in str(error)
    assert error.found in str(error)


@pytest.mark.parametrize("bad", [b"<html>please log in</html>"[: len(RANKS)], RANKS[:-1], b""])
def test_a_server_with_another_file_is_asked_twice(
    publish: Publish, server: Server, cache: Path, bad: bytes
) -> None:
    publish(FILE, answer=Answer(bad))
    with pytest.raises(ManifestError) as raised:
        hub.fetch_encoding(NAME)
    assert raised.value.found == f"sha256 {sha256(bad)}"
    assert sha256(RANKS) in raised.value.expected
    assert f"{server.url}/{FILE}" in str(raised.value)
    assert len(server.requests) == 2
    assert content_of(cache) == {}


def test_what_is_longer_than_the_file_is_not_read_to_its_end(publish: Publish, cache: Path) -> None:
    publish(FILE, answer=Answer(bytes(10_000_000)))
    with pytest.raises(ManifestError, match="more than 21 bytes"):
        hub.fetch_encoding(NAME)
    assert content_of(cache) == {}


def test_a_second_try_may_mend_it(publish: Publish, server: Server, cache: Path) -> None:
    publish(FILE, answer=[Answer(b"bad"), Answer(RANKS)])
    assert hub.fetch_encoding(NAME).read_bytes() == RANKS
    assert len(server.requests) == 2
    assert content_of(cache) == {FILE: RANKS}


# ---- failures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [0, 1, 10, len(RANKS) - 1])
@pytest.mark.parametrize("promised", [len(RANKS), -1])
def test_a_body_that_ends_early_is_never_kept(
    publish: Publish, server: Server, cache: Path, sent: int, promised: int
) -> None:
    cut = Answer(RANKS[:sent], promised=promised)
    publish(FILE, answer=[cut, Answer(RANKS)])
    assert hub.fetch_encoding(NAME).read_bytes() == RANKS
    (cache / FILE).unlink()
    publish(FILE, answer=cut)
    # Where the server has not said how long the file is, its hash tells.
    with pytest.raises(ConnectionError if promised > 0 else ManifestError):
        hub.fetch_encoding(NAME)
    assert len(server.requests) == 4
    assert content_of(cache) == {}


@pytest.mark.parametrize(
    ("status", "error", "asked"),
    [
        (404, FileNotFoundError, 1),
        (410, FileNotFoundError, 1),
        (403, ConnectionError, 1),
        (429, ConnectionError, 1),
        (500, ConnectionError, 2),
        (503, ConnectionError, 2),
    ],
)
def test_a_server_that_refuses_is_named_with_its_status(
    publish: Publish, server: Server, cache: Path, status: int, error: type[OSError], asked: int
) -> None:
    publish(FILE, answer=Answer(b"no", status=status))
    with pytest.raises(error, match=str(status)) as raised:
        hub.fetch_encoding(NAME)
    assert raised.value.filename == f"{server.url}/{FILE}"
    assert error is FileNotFoundError or "Errno" not in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (type(again), str(again)) == (type(raised.value), str(raised.value))
    assert len(server.requests) == asked
    assert content_of(cache) == {}


def test_a_server_that_is_down_is_an_error_with_the_place_for_a_copy(
    publish: Publish, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    publish(FILE)
    down = f"http://127.0.0.1:{port}/{FILE}"
    monkeypatch.setitem(FILES, FILE, download.File(FILE, down, FILES[FILE].sha256))
    with pytest.raises(ConnectionError, match=r"refused.*may be put at") as raised:
        hub.fetch_encoding(NAME)
    assert raised.value.filename == down
    assert str(cache / FILE) in str(raised.value)
    assert "Errno" not in str(raised.value)


def test_a_failed_download_leaves_the_old_file_which_is_still_not_used(publish: Publish, cache: Path) -> None:
    publish(FILE, answer=Answer(b"", status=503))
    cache.mkdir()
    (cache / FILE).write_bytes(b"bad")
    for _ in range(2):
        with pytest.raises(ConnectionError) as raised:
            hub.fetch_encoding(NAME)
        assert f"the copy at {cache / FILE} is not used: expected sha256 {sha256(RANKS)}" in str(raised.value)
        assert f"found {sha256(b'bad')}" in str(raised.value)
        assert "may be put" not in str(raised.value)
    assert content_of(cache) == {FILE: b"bad"}


@pytest.mark.parametrize("failing", ["os.fsync", "tokenmill.hub.download._Sink.write"])
def test_a_full_disk_leaves_nothing_behind(
    publish: Publish, cache: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    publish(FILE)
    monkeypatch.setattr(failing, full)
    with pytest.raises(OSError, match="No space left") as raised:
        hub.fetch_encoding(NAME)
    assert not isinstance(raised.value, ConnectionError)
    assert content_of(cache) == {}


def test_an_interrupt_leaves_nothing_behind(
    publish: Publish, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    publish(FILE)
    monkeypatch.setattr(download._Sink, "write", stop)
    with pytest.raises(KeyboardInterrupt):
        hub.fetch_encoding(NAME)
    assert content_of(cache) == {}


@pytest.mark.parametrize("at", ["download._Sink.write = write", "os.fsync = fsync"])
def test_a_killed_process_leaves_nothing_under_the_name(publish: Publish, cache: Path, at: str) -> None:
    publish(FILE)
    file = FILES[FILE]
    code = (
        "import os\n"
        "from pathlib import Path\n"
        "from tokenmill.hub import download\n"
        "def write(self, piece):\n"
        "    self.to.write(piece[:10])\n"
        "    self.to.flush()\n"
        "    os._exit(9)\n"
        "def fsync(_):\n"
        "    os._exit(9)\n"
        f"{at}\n"
        f"download.ensure(download.File{(file.name, file.url, file.sha256, file.size)!r}, "
        f"Path({str(cache / FILE)!r}))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    (part,) = content_of(cache)
    assert part.startswith(f".{FILE}.")
    assert hub.fetch_encoding(NAME).read_bytes() == RANKS


def test_a_cache_that_is_no_folder_is_an_error_of_the_file_system(publish: Publish, cache: Path) -> None:
    publish(FILE)
    cache.write_bytes(b"")
    with pytest.raises(OSError, match=str(cache)) as raised:
        hub.fetch_encoding(NAME)
    assert isinstance(raised.value, FileExistsError | NotADirectoryError)


def test_without_pooch_the_error_says_what_to_install(
    publish: Publish, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(FILE)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"tokenmill\[hub\]") as raised:
        hub.fetch_encoding(NAME)
    assert raised.value.extra == "hub"
    assert not cache.exists()
    cache.mkdir()
    (cache / FILE).write_bytes(b"bad")
    with pytest.raises(MissingExtraError, match=r"tokenmill\[hub\].*the copy at .* is not used"):
        hub.fetch_encoding(NAME)
    # What is there needs no library.
    (cache / FILE).write_bytes(RANKS)
    assert hub.fetch_encoding(NAME) == cache / FILE
    monkeypatch.delenv("TOKENMILL_CACHE")
    with pytest.raises(MissingExtraError, match="cache"):
        hub.fetch_encoding(NAME)


# ---- at once ----------------------------------------------------------------------------------


def _race(file: download.File, place: Path, start: Any, done: Any) -> None:
    start.wait()
    done.put(sha256(download.ensure(file, place).read_bytes()))


@pytest.mark.parametrize("existing", [None, b"bad"])
def test_processes_that_race_all_find_a_whole_file(
    publish: Publish, server: Server, cache: Path, existing: bytes | None
) -> None:
    content = RANKS * 1000
    publish(FILE, content)
    if existing is not None:
        cache.mkdir()
        (cache / FILE).write_bytes(existing)
    context = multiprocessing.get_context("spawn")
    start, done = context.Event(), context.Queue()
    arguments = (FILES[FILE], cache / FILE, start, done)
    racers = [context.Process(target=_race, args=arguments) for _ in range(3)]
    for racer in racers:
        racer.start()
    start.set()
    assert {done.get(timeout=60) for _ in racers} == {sha256(content)}
    for racer in racers:
        racer.join()
    assert 1 <= len(server.requests) <= len(racers)
    assert content_of(cache) == {FILE: content}
