"""`-t NAME` on the command line: what is downloaded is said on stderr, and only there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tokenmill.cli import main

from .conftest import RANKS, Server

Publish = Callable[..., None]
FILE = "cl100k_base.tiktoken"
COUNT = ["count", "-t", "cl100k_base", "--split", "none"]


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "text"
    path.write_text("abab", encoding="utf-8")
    return str(path)


def test_a_download_is_said_once(
    publish: Publish, server: Server, cache: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(FILE)
    assert main([*COUNT, text]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].split() == ["2", "4", "4", "2.00", text]
    assert err == f"downloading cl100k_base to {cache}, once\n"
    for more in ([], ["--offline"]):
        assert main([*COUNT, text, *more]) == 0
        assert capsys.readouterr() == (out, "")
    assert len(server.requests) == 1


@pytest.mark.usefixtures("no_network")
def test_offline_says_what_is_missing_and_where(
    cache: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COUNT, text, "--offline"]) == 2
    assert capsys.readouterr() == (
        "",
        f"tokenmill: error: {cache / FILE}: {FILE} is not in the cache, and offline nothing is downloaded; "
        "the variable TOKENMILL_CACHE names a folder that has it\n"
        "hint: without --offline it is downloaded\n",
    )


@pytest.mark.usefixtures("no_network")
def test_a_model_brings_the_name_for_the_option(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", "-t", "gpt-4o", text]) == 2
    err = capsys.readouterr().err.splitlines()
    assert err[0].endswith("but the name of a model; its encoding is o200k_base: -t o200k_base")


def test_a_server_that_is_down_brings_the_switch(
    publish: Publish, server: Server, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from .conftest import Answer

    publish(FILE, answer=Answer(status=503))
    assert main([*COUNT, text]) == 2
    err = capsys.readouterr().err.splitlines()
    assert err[0].startswith("downloading")
    assert err[1].startswith(f"tokenmill: error: {server.url}/{FILE}: the server refuses with status 503")
    assert err[2] == "hint: --offline takes what was downloaded before"


def test_a_wrong_file_is_shown_with_both_hashes(
    publish: Publish, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from .conftest import Answer

    publish(FILE, answer=Answer(b"bad"))
    assert main([*COUNT, text]) == 2
    assert capsys.readouterr().err.count("sha256 ") == 2


def test_a_repository_and_a_revision_may_be_named(
    text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub itself is imitated in test_repositories.py."""
    from tokenmill.hub import names

    def fetched(repository: str, revision: str | None, *, offline: bool, cache_dir: None) -> Path:
        assert (repository, revision, cache_dir) == ("owner/name", "v1", None)
        (tmp_path / "own.tiktoken").write_bytes(RANKS)
        return tmp_path

    monkeypatch.setattr(names, "fetch_repository", fetched)
    here = ["count", "-t", "owner/name", "--revision", "v1", "--split", "none", text]
    assert main(here) == 0
    assert capsys.readouterr().err == "owner/name is no path here; asking the Hugging Face hub for it\n"
    assert main([*here, "--offline"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("no_network")
def test_a_revision_of_what_has_none_is_bad_use(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", "-t", "gpt2", "--offline", "--revision", "main", text]) == 2
    assert "--revision is for repositories" in capsys.readouterr().err
