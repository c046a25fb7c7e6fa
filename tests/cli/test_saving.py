"""``train --out``: what cannot be saved is refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenmill

from .conftest import TEXT, Run

MARK = ("--alphabet", "chars", "--end-of-word", "</w>")


@pytest.mark.parametrize(
    ("out", "options", "words"),
    [
        ("x.xyz", (), ["x.xyz: no format", "hint: --out FOLDER/"]),
        ("x.tiktoken", (), ["a .tiktoken file holds neither the split nor the special tokens"]),
        ("x.tiktoken", (), ["hint: --lossy saves it anyway; give --split NAME when you load it"]),
        ("vocab.json", (), ["neither the split", "--lossy"]),
        ("merges.txt", (), ["neither the split", "--lossy"]),
        ("x.tiktoken", ("--alphabet", "chars", "--lossy"), ["bytes, not characters"]),
        ("x.json", MARK, ["tokenizer.json cannot hold a separate end-of-word symbol"]),
        ("x", MARK, ["hint: --end-of-word-form suffix"]),
        ("missing/x.json", (), ["missing: the folder does not exist"]),
        ("missing/x.tiktoken", ("--lossy",), ["missing: the folder does not exist"]),
        ("s3://bucket/x.json", (), ["s3://bucket/x.json: is a URL", "hint: --out FOLDER/, then copy"]),
        ("memory://x/", (), ["memory://x/: is a URL"]),
        ("./a://b/x.json", (), ["a:/b: the folder does not exist"]),
    ],
)
def test_it_is_refused_before_a_byte_is_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, options: tuple[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("train", "no-such-file", "--num-merges", 5, "--out", out, *options)
    assert (result.code, result.out) == (2, b"")
    assert "no-such-file" not in result.err
    for word in words:
        assert word in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_version_in_a_name_is_part_of_it(run: Run, text_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "my-model-v1.5"
    assert run("train", text_file, "--num-merges", 5, "--out", target).code == 0
    assert (target / "tokenizer.json").is_file()


def test_a_file_without_ending_is_no_folder(run: Run, text_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "notes"
    target.write_text("mine")
    result = run("train", text_file, "--num-merges", 5, "--out", target)
    assert (result.code, result.out) == (2, b"")
    assert target.read_text() == "mine"


@pytest.mark.parametrize("name", ["ranks.tiktoken", "vocab.json", "merges.txt"])
def test_lossy_saves_the_tokens_alone(run: Run, text_file: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    assert run("train", text_file, "--num-merges", 5, "--out", target, "--lossy").code == 0
    expected = tokenmill.train(text_file, num_merges=5)
    assert tokenmill.load(target, split="cl100k").encode(TEXT) == expected.encode(TEXT)


def test_the_suffix_form_can_be_saved(run: Run, text_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "deep" / "folder"
    options = (*MARK, "--end-of-word-form", "suffix")
    assert run("train", text_file, "--num-merges", 5, "--out", target, *options).code == 0
    assert (target / "tokenizer.json").is_file()


@pytest.mark.parametrize(
    "name",
    ["my.model", "a.json", "a.tiktoken", "vocab.json", "merges.txt", "a.gguf", "a.tokenmill", "a.xyz", "m"],
)
@pytest.mark.parametrize("exists", [False, True])
def test_a_slash_means_a_folder(run: Run, text_file: Path, tmp_path: Path, name: str, exists: bool) -> None:
    target = tmp_path / name
    if exists:
        target.mkdir()
    options = ("--num-merges", 5, "--bos-token", "<s>")
    result = run("train", text_file, *options, "--out", f"{target}/")
    assert (result.code, result.err) == (0, "")
    assert result.out.decode().startswith(f"saved         {target}/\n")
    assert {"tokenizer.json", "tokenizer_config.json"} < {path.name for path in target.iterdir()}
    assert tokenmill.load(target).bos_token_id == 0
    again = run("train", text_file, *options, "--out", f"{target}/")
    assert again.out.decode().startswith(f"replaced      {target}/\n")


@pytest.mark.parametrize("name", ["my.model", "a.gguf", "a.tokenmill", "a.txt"])
def test_an_ending_alone_makes_no_folder_and_the_hint_works(
    run: Run, text_file: Path, tmp_path: Path, name: str
) -> None:
    target = tmp_path / name
    arguments = ("train", text_file, "--num-merges", 5, "--out")
    result = run(*arguments, target)
    assert (result.code, result.out) == (2, b"")
    assert "hint: --out FOLDER/" in result.err
    assert not target.exists()
    assert run(*arguments, f"{target}/").code == 0


def test_a_file_is_no_folder_whatever_stands_behind_it(run: Run, folder: Path, text_file: Path) -> None:
    content = text_file.read_bytes()
    for words in (
        ("train", text_file, "--num-merges", 5, "--out"),
        ("encode", "-t", folder, text_file, "--out"),
        ("info", "-t", folder, "--out"),
    ):
        result = run(*words, f"{text_file}/")
        assert (result.code, result.out) == (2, b"")
        assert result.err.startswith(f"tokenmill: error: {text_file}/: is ")
        assert "hint: --out " in result.err
    assert text_file.read_bytes() == content


def test_what_goes_to_a_file_goes_to_none_that_is_named_as_a_folder(
    run: Run, folder: Path, text_file: Path, tmp_path: Path
) -> None:
    for name in ("ids", "ids.bin", "ids.npy"):
        result = run("encode", "-t", folder, text_file, "--out", f"{tmp_path / name}/")
        assert result.err.splitlines() == [
            f"tokenmill: error: {tmp_path / name}/: is the name of a folder",
            f"hint: --out {tmp_path / name}/NAME",
        ]
        assert not (tmp_path / name).exists()


ROLES = ("--bos-token", "<s>", "--eos-token", "</s>")


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("only.json", ["which tokens are bos, eos"]),
        ("only.tiktoken", ["the split", "special tokens", "which tokens are bos, eos"]),
        ("vocab.json", ["the split", "special tokens", "which tokens are bos, eos"]),
    ],
)
def test_what_lossy_leaves_out_is_said_and_not_called_saved(
    run: Run, text_file: Path, tmp_path: Path, name: str, left_out: list[str]
) -> None:
    target = tmp_path / name
    words = ("train", text_file, "--num-merges", 5, *ROLES, "--lossy", "--out", target)
    page = run(*words).out.decode()
    assert f"\nnot saved     {', '.join(left_out)}\n" in page
    assert "\nroles " not in page
    report = run(*words, "--json").json
    split = () if name.endswith("y.json") else ("--split", "cl100k")
    loaded = run("info", "-t", target, *split, "--json").json
    assert report["left_out"] == left_out
    assert report["roles"] == {role: id for role, id in loaded["roles"].items() if id is not None} == {}
    assert report["special_tokens"] == loaded["special_tokens"]


def test_what_a_format_holds_is_not_left_out(run: Run, text_file: Path, tmp_path: Path) -> None:
    chars = ("--alphabet", "chars", "--unk-token", "<unk>")
    for name, options, roles in (
        ("made/", ROLES, {"bos": 0, "eos": 1}),
        ("only.json", chars, {"unk": 0}),
        ("plain.json", (), {}),
    ):
        target = tmp_path / name
        words = ("train", text_file, "--num-merges", 5, *options, "--lossy", "--out", f"{tmp_path}/{name}")
        report = run(*words, "--json").json
        assert (report["left_out"], report["roles"]) == ([], roles)
        assert "not saved" not in run(*words).out.decode()
        loaded = tokenmill.load(target)
        assert {role: getattr(loaded, f"{role}_token_id") for role in roles} == roles


def test_the_help_of_lossy_names_the_roles(run: Run) -> None:
    page = " ".join(run("train", "--help").out.decode().split())
    assert "cannot hold the split, special tokens, or which of them are bos, eos" in page
