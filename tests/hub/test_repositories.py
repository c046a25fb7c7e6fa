"""Repositories: huggingface_hub itself, talking to a small imitation of the hub on 127.0.0.1."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill import FormatError, ManifestError, MissingExtraError, hub

from .conftest import Answer, Server

ID = "owner/mill"
COMMIT = "c" * 40
OTHER = "d" * 40


def git_hash(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class Imitation:
    """What the hub says of one repository: its branches, the list of its files, each file."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.api = f"/api/models/{ID}"

    def put(self, commit: str, files: dict[str, bytes], *, large: tuple[str, ...] = ()) -> None:
        """A commit with these files; those named in `large` go by their sha256."""
        rows: list[dict[str, Any]] = []
        for path, content in files.items():
            digest = hashlib.sha256(content).hexdigest()
            row: dict[str, Any] = {
                "type": "file",
                "path": path,
                "size": len(content),
                "oid": git_hash(content),
            }
            if path in large:
                row["lfs"] = {"oid": digest, "size": len(content), "pointerSize": 1}
            rows.append(row)
            headers = {"X-Repo-Commit": commit, "ETag": f'"{digest if path in large else git_hash(content)}"'}
            self.server.answers[f"/{ID}/resolve/{commit}/{path}"] = Answer(content, headers=headers)
        self.server.answers[f"{self.api}/tree/{commit}"] = self.json(rows)
        self.server.answers[f"{self.api}/revision/{commit}"] = self.json({"id": ID, "sha": commit})

    def point(self, branch: str, commit: str) -> None:
        """A branch that is at this commit."""
        self.server.answers[f"{self.api}/revision/{branch}"] = self.json({"id": ID, "sha": commit})

    def refuse(self, path: str, status: int, code: str) -> None:
        """An error in the hub's way."""
        headers = {"X-Error-Code": code, "X-Error-Message": code}
        self.server.answers[path] = Answer(b"{}", status=status, headers=headers)

    @staticmethod
    def json(value: object) -> Answer:
        return Answer(json.dumps(value).encode(), headers={"Content-Type": "application/json"})

    def downloads(self) -> list[str]:
        """The files whose bytes were sent."""
        found = [path for method, path in self.server.requests if method == "GET" and "/resolve/" in path]
        return sorted(path.rpartition("/")[2] for path in found)


@pytest.fixture(autouse=True)
def _hub_on_this_machine(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    import huggingface_hub
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.url + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
    # Other tests of this process may have asked for no network at all.
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    yield
    huggingface_hub.close_session()


@pytest.fixture
def repository(server: Server, tokenizer_files: dict[str, bytes]) -> Imitation:
    """A repository with a tokenizer among other things."""
    there = Imitation(server)
    others = {"model.safetensors": bytes(1000), "README.md": b"x", "onnx/tokenizer.json": b"{}", "a.py": b""}
    there.put(COMMIT, {**tokenizer_files, **others, "config.json": b"{}"}, large=("tokenizer.json",))
    there.point("main", COMMIT)
    return there


@pytest.fixture(scope="module")
def trained() -> tokenmill.Tokenizer:
    return tokenmill.train(texts=["the mill mills"], num_merges=5)


@pytest.fixture(scope="module")
def tokenizer_files(
    trained: tokenmill.Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("saved")
    trained.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


WANTED = ["config.json", "tokenizer.json", "tokenmill.json"]


def test_only_the_files_of_the_tokenizer_are_downloaded_and_once(
    repository: Imitation, trained: tokenmill.Tokenizer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert tokenmill.load(ID) == trained
    assert repository.downloads() == WANTED
    folder = hub.fetch_repository(ID)
    assert sorted(path.name for path in folder.iterdir()) == WANTED
    assert folder.is_relative_to(tmp_path / "hf")
    assert tokenmill.load(ID) == trained
    assert repository.downloads() == WANTED
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("offline", [True, False])
def test_a_commit_in_the_cache_needs_no_connection(
    repository: Imitation, trained: tokenmill.Tokenizer, monkeypatch: pytest.MonkeyPatch, offline: bool
) -> None:
    assert tokenmill.load(ID, revision=COMMIT) == trained
    asked = list(repository.server.requests)
    assert tokenmill.load(ID, revision=COMMIT, offline=offline) == trained
    assert repository.server.requests == asked


def test_offline_a_branch_is_what_it_was(repository: Imitation, trained: tokenmill.Tokenizer) -> None:
    tokenmill.load(ID)
    repository.point("main", OTHER)
    repository.server.requests.clear()
    assert tokenmill.load(ID, offline=True) == trained
    assert repository.server.requests == []


def test_a_branch_that_has_moved_is_followed(repository: Imitation, trained: tokenmill.Tokenizer) -> None:
    old = hub.fetch_repository(ID)
    other = tokenmill.train(texts=["other words"], num_merges=3)
    target = old.parent.parent / "new"
    other.save(target)
    repository.put(OTHER, {path.name: path.read_bytes() for path in target.iterdir()})
    repository.point("main", OTHER)
    repository.point("old", COMMIT)
    assert tokenmill.load(ID) == other
    assert tokenmill.load(ID, revision="old") == trained
    assert tokenmill.load(ID, revision=COMMIT) == trained


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("revision", [None, "main", COMMIT])
def test_offline_a_missing_repository_is_named_with_its_place(tmp_path: Path, revision: str | None) -> None:
    with pytest.raises(FileNotFoundError, match=r"owner/mill.*offline") as raised:
        tokenmill.load(ID, revision=revision, offline=True, cache_dir=tmp_path / "mine")
    assert raised.value.filename == str(tmp_path / "mine" / "models--owner--mill")
    assert not (tmp_path / "mine").exists()


@pytest.mark.usefixtures("no_network")
def test_the_switch_of_huggingface_hub_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(FileNotFoundError, match="offline"):
        tokenmill.load(ID)


def test_the_cache_may_be_named(repository: Imitation, trained: tokenmill.Tokenizer, tmp_path: Path) -> None:
    assert tokenmill.load(ID, cache_dir=tmp_path / "mine") == trained
    assert (tmp_path / "mine" / "models--owner--mill").is_dir()
    assert not (tmp_path / "hf").exists()


def test_where_the_hub_is_down_the_cache_answers(
    repository: Imitation, trained: tokenmill.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    tokenmill.load(ID)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert tokenmill.load(ID) == trained
    repository.server.answers.clear()


def test_a_hub_that_is_down_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    says = r"owner/mill: no file or folder here, so taken for .* \(owner/name\): the hub cannot be reached"
    with pytest.raises(ConnectionError, match=says) as raised:
        tokenmill.load(ID)
    assert not type(raised.value).__module__.startswith(("httpx", "huggingface_hub", "requests"))
    assert "Errno" not in str(raised.value)
    assert raised.value.filename == ID


@pytest.mark.parametrize(
    ("status", "code", "error", "says"),
    [
        (404, "RepoNotFound", FileNotFoundError, "no file or folder here, and no repository"),
        (401, "RepoNotFound", FileNotFoundError, "no repository"),
        (403, "GatedRepo", PermissionError, "terms"),
        (404, "RevisionNotFound", FileNotFoundError, "no revision nope"),
    ],
)
def test_what_the_hub_refuses_is_said(
    server: Server, status: int, code: str, error: type[OSError], says: str
) -> None:
    there = Imitation(server)
    there.refuse(f"{there.api}/revision/nope", status, code)
    with pytest.raises(error, match=says) as raised:
        tokenmill.load(ID, revision="nope")
    assert type(raised.value) is error
    assert raised.value.filename == ID


def test_a_misspelt_folder_is_said_to_be_missing_here_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tokenmill.cli import main

    with pytest.raises(FileNotFoundError) as raised:
        tokenmill.load("runs/tok", offline=True, cache_dir=tmp_path)
    said = (
        "no file or folder here, so taken for a repository of the hub (owner/name): "
        "runs/tok is not in the cache, and offline nothing is downloaded"
    )
    assert raised.value.strerror == said
    assert raised.value.filename == str(tmp_path / "models--runs--tok")
    assert main(["count", "-t", "runs/tok", "--offline", "--text", "low"]) == 2
    assert capsys.readouterr().err.startswith(f"tokenmill: error: runs/tok: {said}: ")


def test_a_repository_without_a_tokenizer_is_an_error(server: Server) -> None:
    there = Imitation(server)
    there.put(COMMIT, {"config.json": b"{}", "model.safetensors": b"x"})
    there.point("main", COMMIT)
    with pytest.raises(FormatError, match=r"owner/mill: the repository holds no tokenizer") as raised:
        tokenmill.load(ID)
    assert raised.value.path == ID
    # A program may have put the configuration into the cache alone.
    with pytest.raises(FileNotFoundError, match="tokenizer of owner/mill is not in the cache"):
        tokenmill.load(ID, offline=True)


def test_a_body_that_ends_early_is_never_kept(
    repository: Imitation, trained: tokenmill.Tokenizer, tmp_path: Path
) -> None:
    path = f"/{ID}/resolve/{COMMIT}/tokenizer.json"
    whole = repository.server.answers[path]
    assert isinstance(whole, Answer)
    cut = Answer(whole.body[:100], headers=whole.headers, promised=len(whole.body))
    repository.server.answers[path] = cut
    with pytest.raises(ConnectionError) as raised:
        tokenmill.load(ID)
    assert raised.value.filename == ID
    assert not [path for path in (tmp_path / "hf").rglob("tokenizer.json") if path.exists()]
    repository.server.answers[path] = whole
    assert tokenmill.load(ID) == trained


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json"])
def test_a_damaged_file_in_the_cache_is_replaced(
    repository: Imitation, trained: tokenmill.Tokenizer, name: str
) -> None:
    path = hub.fetch_repository(ID) / name
    good = path.read_bytes()
    path.resolve().write_bytes(good[:-1] + b" ")
    with pytest.raises(ManifestError) as raised:
        tokenmill.load(ID, offline=True)
    assert (raised.value.field, raised.value.expected) == (name, path.resolve().name)
    assert raised.value.found in str(raised.value)
    assert tokenmill.load(ID) == trained
    assert path.read_bytes() == good
    assert len(repository.downloads()) == len(WANTED) + 1


def test_a_hub_that_sends_another_file_is_an_error_with_both_hashes(repository: Imitation) -> None:
    answer = repository.server.answers[f"/{ID}/resolve/{COMMIT}/tokenizer.json"]
    assert isinstance(answer, Answer)
    answer.body = answer.body.replace(b"m", b"n")
    with pytest.raises(ManifestError) as raised:
        tokenmill.load(ID)
    assert raised.value.found == hashlib.sha256(answer.body).hexdigest()
    assert f'"{raised.value.expected}"' == answer.headers["ETag"]
    assert repository.downloads().count("tokenizer.json") == 2


def test_other_names_of_blobs_say_nothing(repository: Imitation, trained: tokenmill.Tokenizer) -> None:
    """Some mirrors name them after a plain sha1, others after something else."""
    for tag in ["sha1", '"abc-123"']:
        for path, answer in repository.server.answers.items():
            if isinstance(answer, Answer) and path.endswith("config.json"):
                plain = hashlib.sha1(answer.body, usedforsecurity=False).hexdigest()
                answer.headers["ETag"] = f'"{plain}"' if tag == "sha1" else tag
        folder = hub.fetch_repository(ID)
        assert (folder / "config.json").exists()
        shutil.rmtree(folder.parent.parent)


def test_without_huggingface_hub_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"owner/mill, which is no path.*tokenmill\[hub\]") as raised:
        tokenmill.load(ID)
    assert raised.value.extra == "hub"


def test_chat_templates_of_a_repository_are_downloaded(
    repository: Imitation, trained: tokenmill.Tokenizer, tokenizer_files: dict[str, bytes]
) -> None:
    files = {
        "tokenizer.json": tokenizer_files["tokenizer.json"],
        "chat_template.jinja": b"{{ 1 }}",
        "additional_chat_templates/tool_use.jinja": b"{{ 2 }}",
        "additional_chat_templates/notes.txt": b"x",
        "onnx/tokenizer.4.0.0.json": b"{}",
        "original/ranks.tiktoken": b"",
    }
    repository.put(COMMIT, files)
    tok = tokenmill.load(ID)
    assert tok.chat_templates == {"default": "{{ 1 }}", "tool_use": "{{ 2 }}"}
    assert repository.downloads() == ["chat_template.jinja", "tokenizer.json", "tool_use.jinja"]
    assert tokenmill.load(ID, offline=True) == tok
    assert tok.with_chat_template(None).with_chat_template(None, "tool_use") == trained
