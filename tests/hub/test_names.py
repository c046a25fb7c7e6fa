"""`tokenmill.load` by name: what a name means, and that it means what its publisher says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill import hub
from tokenmill.hub.encodings import FILES

from .conftest import RANKS, Server

Publish = Callable[..., None]
SOURCES = {
    "r50k_base.tiktoken": "r50k_base/r50k_base.tiktoken",
    "p50k_base.tiktoken": "p50k_base/p50k_base.tiktoken",
    "cl100k_base.tiktoken": "cl100k_base/cl100k_base.tiktoken",
    "o200k_base.tiktoken": "o200k_base/o200k_base.tiktoken",
    "vocab.bpe": "gpt2/merges.txt",
    "encoder.json": "gpt2/vocab.json",
}
TEXT = (
    "Hello wörld, 你好 12345 they'll\n\n  <|endoftext|><|fim_prefix|><|start|><|reserved_200001|> \U0001f98a"
)


@pytest.fixture
def published(data: Path, publish: Publish) -> None:
    """The server has the real files, which are those of the table."""
    for name, source in SOURCES.items():
        before = FILES[name]
        publish(name, (data / "vocab" / source).read_bytes())
        assert (FILES[name].sha256, FILES[name].size) == (before.sha256, before.size)


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("name", list(hub.ENCODINGS))
def test_a_name_gives_the_ids_of_its_publisher(name: str) -> None:
    from tokenmill.compat import tiktoken

    tok = tokenmill.load(name)
    registry = tiktoken.registry
    theirs = tiktoken.Encoding(**registry.ENCODING_CONSTRUCTORS[name]())
    assert tok.encode(TEXT) == theirs.encode(TEXT, disallowed_special=())
    assert tok.encode(TEXT, special="parse") == theirs.encode(TEXT, allowed_special="all")
    assert tok.max_id == theirs.max_token_value
    special = {**theirs._special_tokens}
    special.pop("<|reserved_200018|>", None)  # the second name of an id
    assert tok.special_tokens == special


@pytest.mark.usefixtures("published")
def test_more_special_tokens_may_come_along() -> None:
    edit = tokenmill.load("p50k_edit", special_tokens={"<|mine|>": 60_000})
    assert edit.special_tokens["<|mine|>"] == 60_000
    assert edit.special_tokens["<|fim_suffix|>"] == 50_283
    base = tokenmill.load("p50k_base", special_tokens=["<|mine|>"])
    assert base.special_tokens["<|mine|>"] == 50_281


def test_split_and_special_tokens_go_with_a_name(publish: Publish) -> None:
    publish("cl100k_base.tiktoken")
    tok = tokenmill.load("cl100k_base", split="none", special_tokens=["<s>"])
    assert tok.encode("abb") == [2, 1]
    assert tok.special_tokens == {"<s>": 3}


def test_a_path_that_exists_always_wins(
    publish: Publish, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish("cl100k_base.tiktoken")
    monkeypatch.chdir(tmp_path)
    tok = tokenmill.train(texts=["ab ab"], num_merges=1)
    for name in ["cl100k_base", "owner/name"]:
        tok.save(name)
        assert hub.kind_of(name) == "path"
        assert tokenmill.load(name) == tok
        with pytest.raises(ValueError, match="path here"):
            tokenmill.load(name, revision="main")
    (tmp_path / "gpt2").symlink_to(tmp_path / "gone")
    with pytest.raises(FileNotFoundError):
        tokenmill.load("gpt2")
    assert server.requests == []


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("cl100k", r"did you mean cl100k_base\?"),
        ("nothing", r"no file or folder here, none of the encodings gpt2, .*owner/name"),
        ("bert-base-uncased", "owner/name"),
        ("CL100K_BASE", r"did you mean cl100k_base\?"),
        ("cl100k-base", r"did you mean cl100k_base\?"),
        ("cl10k_base", r"did you mean cl100k_base\?"),
        ("GPT2", r"did you mean gpt2\?"),
        ("gpt4o", r"did you mean the model gpt-4o\? Its encoding is o200k_base"),
        ("GPT-4o", r"did you mean the model gpt-4o\? Its encoding is o200k_base"),
        ("gpt-40", r"did you mean the model gpt-4o\?"),
        ("gpt4o-mini", r"did you mean the model gpt-4o-mini\? Its encoding is o200k_base"),
        ("text-davinci-03", "o200k_harmony, and no id"),
        ("gpt4all", "o200k_harmony, and no id"),
        ("gpt-4.0", "o200k_harmony, and no id"),
        ("gpt-4o", r"the name of a model; its encoding is o200k_base: load\('o200k_base'\)"),
        ("gpt-4o-mini-2024-07-18", "its encoding is o200k_base"),
        ("gpt-3.5-turbo", "its encoding is cl100k_base"),
        ("text-davinci-003", "its encoding is p50k_base"),
        ("missing.json", "No such file"),
        ("out/tokenizer.json", "No such file"),
        ("out/cl100k_base.tiktoken", "No such file"),
        ("a/b/c", "No such file"),
        ("./owner/name", "No such file"),
        ("/owner", "No such file"),
        ("owner/name/", "No such file"),
        ("owner/na--me", "No such file"),
        ("../name", "No such file"),
        ("", "No such file"),
    ],
)
def test_what_is_neither_a_path_nor_a_name_is_not_looked_for_elsewhere(name: str, says: str) -> None:
    assert hub.kind_of(name) == "path"
    with pytest.raises(FileNotFoundError, match=says) as raised:
        tokenmill.load(name)
    assert raised.value.filename == name


@pytest.mark.usefixtures("no_network")
def test_only_a_str_is_a_name() -> None:
    for name in [Path("cl100k_base"), Path("owner/name")]:
        assert hub.kind_of(name) == "path"
        with pytest.raises(FileNotFoundError):
            tokenmill.load(name)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize(
    ("name", "says"), [("gpt2", "a published encoding"), ("nothing", "no such id"), (".", "a path here")]
)
def test_only_a_repository_has_revisions(name: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        tokenmill.load(name, revision="main")


def test_importing_and_loading_a_path_imports_nothing_of_the_extra(tmp_path: Path) -> None:
    path = tmp_path / "own.tiktoken"
    path.write_bytes(RANKS)
    code = (
        "import sys, tokenmill, tokenmill.hub\n"
        f"tokenmill.load({str(path)!r}, split='none', offline=True)\n"
        "print(*{'pooch', 'requests', 'huggingface_hub', 'tqdm', 'socket'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_every_exported_name_is_there() -> None:
    missing: list[Any] = [name for name in hub.__all__ if not hasattr(hub, name)]
    assert missing == []


def test_every_model_has_an_encoding_that_can_be_loaded() -> None:
    from tokenmill.hub.models import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING, encoding_of

    assert {*MODEL_TO_ENCODING.values(), *MODEL_PREFIX_TO_ENCODING.values()} <= {*hub.ENCODINGS}
    # Of the prefixes of a name the longest counts: gpt-4o- and not gpt-4-.
    assert (encoding_of("gpt-4o-x"), encoding_of("gpt-4-x"), encoding_of("x")) == (
        "o200k_base",
        "cl100k_base",
        None,
    )
