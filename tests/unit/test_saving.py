"""Where saved files go, and what stands there afterwards."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def tok(native: Any) -> Any:
    return native.train(texts=["low lower lowest"] * 2, num_merges=4)


def test_a_single_file_saved_into_a_saved_folder_is_what_the_folder_loads(
    native: Any, tok: Any, tmp_path: Path
) -> None:
    tok.save(tmp_path / "m")
    other = tok.with_special_tokens(["<z>"])
    other.save(tmp_path / "m" / "tokenizer.json")
    assert native.load(tmp_path / "m") == native.load(tmp_path / "m" / "tokenizer.json") == other


def test_a_folder_loads_what_was_saved_there_last(native: Any, tok: Any, tmp_path: Path) -> None:
    tok.with_special_tokens(["<z>"]).save(tmp_path / "m")
    tok.save(tmp_path / "m", format="vocab+merges", lossy=True)
    assert native.load(tmp_path / "m", split="cl100k") == tok


def test_a_slash_at_the_end_means_a_folder(native: Any, tok: Any, tmp_path: Path) -> None:
    tok.save(f"{tmp_path}/model-1.0/")
    assert native.load(tmp_path / "model-1.0") == tok


@pytest.mark.parametrize("name", ["qwen2.5", "my-model-v1.5", "llama-3.1-8b", "tok.v2", ".hidden"])
def test_a_version_in_a_name_is_part_of_it(native: Any, tok: Any, tmp_path: Path, name: str) -> None:
    tok.save(tmp_path / name)
    assert (tmp_path / name / "tokenizer.json").is_file()
    assert native.load(tmp_path / name) == tok


@pytest.mark.parametrize("ending", ["jsn", "txt", "csv", "tokenmil", "bin"])
def test_an_ending_of_letters_is_that_of_a_file(native: Any, tok: Any, tmp_path: Path, ending: str) -> None:
    with pytest.raises(native.FormatError, match="use a folder \\(with a slash at its end\\)"):
        tok.save(tmp_path / f"m.{ending}")
    assert not list(tmp_path.iterdir())


def test_an_empty_path_is_no_place(tok: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError):
        tok.save("")
    assert not list(tmp_path.iterdir())


def test_links_stay_links_and_modes_stay(native: Any, tok: Any, tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    tok.save(real)
    real.chmod(0o600)
    link.symlink_to(real)
    other = tok.with_special_tokens(["<z>"])
    other.save(link)
    assert link.is_symlink()
    assert native.load(real) == other
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_doubling_pairs_are_refused_before_memory_is_taken(native: Any) -> None:
    pairs = [(97, 97), *((256 + i, 256 + i) for i in range(60))]
    with pytest.raises(native.FormatError) as raised:
        native.Tokenizer.from_pairs(pairs)
    assert (raised.value.kind, raised.value.field) == ("limit", "pairs[29]")


def test_a_pattern_beyond_its_limit_is_refused_and_not_repeated(native: Any) -> None:
    pattern = "|".join(f"a{i}b" for i in range(20_000))
    with pytest.raises(native.PatternError, match="over the limit") as raised:
        native.train(texts=["x"], num_merges=1, split=pattern)
    assert raised.value.pattern == pattern
    assert len(str(raised.value)) < 1000
