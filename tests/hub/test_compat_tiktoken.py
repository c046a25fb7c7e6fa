"""`tokenmill.compat.tiktoken`: a file that is nowhere is downloaded, and kept where tiktoken keeps it."""

from __future__ import annotations

import hashlib
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenmill import ManifestError, MissingExtraError
from tokenmill.compat import tiktoken
from tokenmill.compat.tiktoken import load, registry
from tokenmill.hub.encodings import FILES

from .conftest import RANKS, Answer, Server

Publish = Callable[..., None]
FILE = "cl100k_base.tiktoken"
TABLE = {b"a": 0, b"b": 1, b"ab": 2}


@pytest.fixture(autouse=True)
def _nothing_made_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(registry, "ENCODINGS", {})
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    yield
    tiktoken.set_folder(None)


def ranks() -> dict[bytes, int]:
    """As `get_encoding` reads them."""
    file = FILES[FILE]
    return load.load_tiktoken_bpe(file.url, file.sha256)


def their_name() -> str:
    return hashlib.sha1(FILES[FILE].url.encode(), usedforsecurity=False).hexdigest()


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_by_default_the_cache_is_that_of_load(publish: Publish, server: Server, cache: Path) -> None:
    publish(FILE)
    assert ranks() == ranks() == TABLE
    assert files(cache) == [FILE]
    assert len(server.requests) == 1


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_a_cache_that_a_variable_names_is_filled_as_tiktoken_does(
    publish: Publish, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    import tiktoken.load as theirs

    publish(FILE)
    named = tmp_path / "named"
    monkeypatch.setenv(variable, str(named))
    assert ranks() == TABLE
    assert files(tmp_path) == [f"named/{their_name()}"]
    assert theirs.load_tiktoken_bpe(FILES[FILE].url, FILES[FILE].sha256) == TABLE
    (named / their_name()).write_bytes(b"bad")
    assert ranks() == TABLE
    assert (named / their_name()).read_bytes() == RANKS
    assert len(server.requests) == 2


def test_an_empty_variable_keeps_nothing(
    publish: Publish, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(FILE)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert ranks() == ranks() == TABLE
    assert len(server.requests) == 2
    assert files(tmp_path) == []


def test_a_file_without_a_hash_goes_by_its_address_too(server: Server, cache: Path) -> None:
    for name in ["one/x.tiktoken", "two/x.tiktoken"]:
        server.answers[f"/{name}"] = Answer(RANKS)
        assert load.load_tiktoken_bpe(f"{server.url}/{name}") == TABLE
    assert len(files(cache)) == 2
    assert all(name.endswith("-x.tiktoken") for name in files(cache))
    assert load.read_file(f"{server.url}/one/x.tiktoken") == RANKS
    assert len(server.requests) == 3


def test_set_folder_comes_first_and_is_never_written(
    publish: Publish, server: Server, cache: Path, tmp_path: Path
) -> None:
    publish(FILE)
    (tmp_path / "mine").mkdir()
    tiktoken.set_folder(tmp_path / "mine")
    assert ranks() == TABLE
    assert files(tmp_path / "mine") == []
    (tmp_path / "mine" / FILE).write_bytes(RANKS)
    (cache / FILE).unlink()
    assert ranks() == TABLE
    assert len(server.requests) == 1


@pytest.mark.usefixtures("no_network")
def test_offline_every_place_is_named(publish: Publish, cache: Path, tmp_path: Path) -> None:
    publish(FILE)
    (tmp_path / "mine").mkdir()
    tiktoken.set_folder(tmp_path / "mine", offline=True)
    with pytest.raises(FileNotFoundError, match="offline") as raised:
        ranks()
    assert raised.value.filename == FILES[FILE].url
    for place in [tmp_path / "mine" / FILE, tmp_path / "temporary", cache / FILE]:
        assert str(place) in str(raised.value)
    with pytest.raises(FileNotFoundError, match="offline"):
        load.read_file(FILES[FILE].url)
    assert not cache.exists()


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("name", [FILE, None])
def test_offline_a_file_with_another_hash_is_an_error_with_both(
    publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    publish(FILE)
    bad = tmp_path / (name or their_name())
    bad.write_bytes(b"bad")
    if name is None:
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    tiktoken.set_folder(tmp_path if name else None, offline=True)
    with pytest.raises(ManifestError) as raised:
        ranks()
    assert str(raised.value).startswith(f"{bad}: is not the file that was published")
    assert hashlib.sha256(RANKS).hexdigest() in raised.value.expected
    assert raised.value.found == f"sha256 {hashlib.sha256(b'bad').hexdigest()}"


@pytest.mark.parametrize("variable", [None, "TIKTOKEN_CACHE_DIR"])
def test_a_failed_download_names_the_copies_that_are_not_used(
    publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    publish(FILE, answer=Answer(status=503))
    (tmp_path / FILE).write_bytes(b"bad")
    tiktoken.set_folder(tmp_path)
    copies = [tmp_path / FILE]
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "theirs"))
        copies.append(tmp_path / "theirs" / their_name())
        copies[-1].parent.mkdir()
        copies[-1].write_bytes(b"worse")
    with pytest.raises(ConnectionError) as raised:
        ranks()
    for copy in copies:
        assert str(raised.value).count(f"the copy at {copy} is not used") == 1
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError) as missing:
        ranks()
    for copy in copies:
        assert str(missing.value).count(f"the copy at {copy} is not used") == 1


def test_errors_of_the_network_are_those_of_python_here_and_of_requests_in_tiktoken(server: Server) -> None:
    import requests
    import tiktoken.load as theirs

    server.answers["/busy"] = Answer(status=503)
    cases: list[tuple[str, type[OSError], type[OSError]]] = [
        ("http://127.0.0.1:9/x", ConnectionError, requests.exceptions.ConnectionError),
        (f"{server.url}/busy", ConnectionError, requests.exceptions.HTTPError),
        (f"{server.url}/none", FileNotFoundError, requests.exceptions.HTTPError),
    ]
    for url, ours, of_requests in cases:
        with pytest.raises(ours):
            load.read_file(url)
        with pytest.raises(of_requests) as raised:
            theirs.read_file(url)
        assert isinstance(raised.value, OSError)
        assert not isinstance(raised.value, ours)


def test_what_is_no_folder_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    tiktoken.set_folder(tmp_path)
    for name, error in [("file", NotADirectoryError), ("nope", FileNotFoundError)]:
        with pytest.raises(error, match="no folder") as raised:
            tiktoken.set_folder(tmp_path / name)
        assert raised.value.filename == str(tmp_path / name)
    assert load.get_folder() == (str(tmp_path), False)


def test_a_pickle_of_a_folder_that_is_not_here_finds_the_file_elsewhere(
    publish: Publish, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    made: dict[str, Any] = {
        "pat_str": "a",
        "mergeable_ranks": {bytes([i]): i for i in range(256)},
        "special_tokens": {},
    }
    registry.ENCODINGS["own"] = tiktoken.Encoding("own", **made)
    tiktoken.set_folder(tmp_path / "mine")
    sent = pickle.dumps(registry.ENCODINGS["own"])
    tiktoken.set_folder(None)
    (tmp_path / "mine").rmdir()
    assert pickle.loads(sent).encode("aa") == [97, 97]
    assert load.get_folder() == (str(tmp_path / "mine"), False)


def test_offline_goes_along_with_a_pickle(tmp_path: Path) -> None:
    registry.ENCODINGS["own"] = enc = tiktoken.Encoding(
        "own", pat_str="a", mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={}
    )
    tiktoken.set_folder(tmp_path, offline=True)
    sent = pickle.dumps(enc)
    tiktoken.set_folder(None)
    pickle.loads(sent)
    assert load.get_folder() == (str(tmp_path), True)


def test_another_file_is_refused_with_both_hashes(publish: Publish, tmp_path: Path) -> None:
    publish(FILE, answer=Answer(b"bad"))
    with pytest.raises(ManifestError, match=hashlib.sha256(b"bad").hexdigest()) as raised:
        ranks()
    assert isinstance(raised.value, ValueError)  # as tiktoken has it
    assert hashlib.sha256(RANKS).hexdigest() in str(raised.value)
    assert files(tmp_path) == []


def test_where_nothing_can_be_kept_it_is_downloaded_each_time(
    publish: Publish, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(FILE)
    cache.write_bytes(b"no folder")
    assert ranks() == ranks() == TABLE
    assert len(server.requests) == 2
    # But a folder that somebody has named must hold it.
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
    with pytest.raises(OSError, match=str(cache)):
        ranks()


def test_a_server_that_has_it_not_is_an_error(publish: Publish, tmp_path: Path) -> None:
    publish(FILE, answer=Answer(status=404))
    with pytest.raises(FileNotFoundError, match="404"):
        ranks()
    assert files(tmp_path) == []


def test_without_pooch_nothing_is_made(
    publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(FILE)
    monkeypatch.setitem(sys.modules, "pooch", None)
    for variable in [None, "TOKENMILL_CACHE"]:
        if variable:
            monkeypatch.delenv(variable)
        with pytest.raises(MissingExtraError, match=r"tokenmill\[hub\].*set_folder"):
            ranks()
    assert list(tmp_path.rglob("*")) == [tmp_path / "temporary"]


@pytest.mark.parametrize("name", ["gpt2", "p50k_edit"])
def test_an_encoding_is_made_from_what_is_downloaded(
    data: Path, publish: Publish, cache: Path, name: str
) -> None:
    sources = {"encoder.json": "gpt2/vocab.json", "vocab.bpe": "gpt2/merges.txt"}
    sources["p50k_base.tiktoken"] = "p50k_base/p50k_base.tiktoken"
    for file, source in sources.items():
        publish(file, (data / "vocab" / source).read_bytes())
    enc: Any = tiktoken.get_encoding(name)
    assert enc.encode("Hello world") == [15496, 995]
    kept = ["gpt2/merges.txt", "gpt2/vocab.json"] if name == "gpt2" else ["p50k_base.tiktoken"]
    assert files(cache) == kept
