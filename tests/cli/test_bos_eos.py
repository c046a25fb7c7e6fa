"""``--bos`` and ``--eos``: which token is meant, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tokenmill

from .conftest import END, TEXT, Run


def test_without_a_token_it_is_the_role(run: Run, named: Path, tmp_path: Path) -> None:
    tokenizer = tokenmill.load(named)
    bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
    assert (bos, eos) == (0, 1)
    target = tmp_path / "ids.bin"
    assert run("encode", "-t", named, "--bos", "--eos", "--out", target, stdin=b"fox").code == 0
    assert np.fromfile(target, "<u2").tolist() == [bos, *tokenizer.encode("fox"), eos]


@pytest.mark.parametrize(
    ("given", "id"),
    [
        (END, 0),  # a special token's literal
        ("100", 100),  # an id, although there is a token of these digits
        ("Ġ", 33),  # the written form of a token
    ],
)
def test_a_token_is_a_literal_an_id_or_a_written_form(run: Run, tmp_path: Path, given: str, id: int) -> None:
    path = tmp_path / "t"
    tokenizer = tokenmill.train(texts=["100 " * 9], num_merges=3, special_tokens=[END])
    tokenizer.save(path)
    assert tokenizer.token_to_id("100") is not None
    for option, place in (("--bos", 0), ("--eos", -1)):
        ids = list(map(int, run("encode", "-t", path, option, given, stdin=b"fox").out.split()))
        assert ids.pop(place) == id
        assert ids == tokenizer.encode("fox")


def test_a_special_literal_of_digits_is_the_token(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t"
    tokenmill.train(texts=[TEXT], num_merges=1, special_tokens=[END, "200"]).save(path)
    assert run("encode", "-t", path, "--eos", "200").out == b"1\n"


def test_bos_and_eos_are_in_every_form(run: Run, folder: Path, text_file: Path, tmp_path: Path) -> None:
    ids = [7, *tokenmill.load(folder).encode(TEXT), 9]
    words = ("encode", "-t", folder, text_file, "--bos", 7, "--eos", 9)
    assert list(map(int, run(*words).out.split())) == ids
    rows = run(*words, "--json").json["texts"]
    assert rows == [{"file": str(text_file), "count": len(ids), "ids": ids}]
    run(*words, "--out", tmp_path / "ids.npy")
    assert np.load(tmp_path / "ids.npy").tolist() == ids
    large = tmp_path / "large"
    large.write_bytes(TEXT.encode() * 8000)
    ids = [7, *tokenmill.load(folder).encode(large.read_bytes()), 9]
    for files, options in (([large], ()), ([large, text_file], ("--documents", "lines"))):
        result = run("encode", "-t", folder, *files, *options, "--bos", 7, "--eos", 9)
        lines = [list(map(int, line.split())) for line in result.out.splitlines()]
        assert all((line[0], line[-1]) == (7, 9) for line in lines)
        assert len(lines) == (1 if not options else 8 * 8001)
        if not options:
            assert lines == [ids]


@pytest.mark.parametrize(("option", "does"), [("--bos", "begins"), ("--eos", "ends")])
def test_no_role_is_an_error_that_says_what_to_give(
    run: Run, folder: Path, tmp_path: Path, option: str, does: str
) -> None:
    result = run("encode", "-t", folder, option, "--out", tmp_path / "ids.bin", stdin=b"fox")
    assert (result.code, result.out) == (2, b"")
    assert result.err.splitlines() == [
        f"tokenmill: error: {option}: the tokenizer does not say which token {does} a text",
        f"hint: {option} TOKEN, its literal or id; special tokens: {END}",
    ]
    assert list(tmp_path.iterdir()) == []


def test_no_role_and_no_special_token(run: Run, tmp_path: Path) -> None:
    for name, tokens, shown in (
        ("none", [], "none"),
        ("many", [f"<{n}>" for n in range(9)], "<0>, <1>, <2>, <3>, <4>, ..."),
    ):
        tokenmill.train(texts=[TEXT], num_merges=1, special_tokens=tokens).save(tmp_path / name)
        result = run("encode", "-t", tmp_path / name, "--eos")
        assert result.err.endswith(f"; special tokens: {shown}\n")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("<|edn|>", f"no token and no id of the vocabulary; did you mean {END}?"),
        (
            "no such thing",
            'hint: if it is the text, do not put it right after --eos: --text "no such thing" --eos',
        ),
        ("hello", "if it is the text, do not put it right after --eos"),
        ("word " * 200, '--text "some words" --eos'),
        ("", "no token and no id of the vocabulary"),
        ("9999", "the vocabulary has no such id"),
        ("4294967296", "the vocabulary has no such id"),
        ("9" * 5000, "the vocabulary has no such id"),
        ("text.txt", "hint: if it is a file, put --eos after it: text.txt --eos"),
    ],
)
def test_what_is_no_token_is_an_error_before_anything_is_written(
    run: Run, folder: Path, text_file: Path, monkeypatch: pytest.MonkeyPatch, given: str, says: str
) -> None:
    monkeypatch.chdir(text_file.parent)
    result = run("encode", "-t", folder, "--eos", given, "--out", "ids.bin", stdin=b"fox")
    assert (result.code, result.out) == (2, b"")
    assert says in result.err
    assert len(result.err.splitlines()) == 2
    assert len(result.err) < 300
    assert not Path("ids.bin").exists()


def test_a_token_is_not_put_twice(run: Run, named: Path) -> None:
    result = run("encode", "-t", named, "--bos", "--add-special-tokens", stdin=b"a")
    assert (result.code, result.out) == (2, b"")
    assert "--bos and --add-special-tokens would both put <s> there" in result.err
    # What the tokenizer does not put there itself can be added.
    assert run("encode", "-t", named, "--eos", "--add-special-tokens", stdin=b"a").out == b"0 67 1\n"
    assert run("encode", "-t", named, "--eos", 0, "--add-special-tokens", stdin=b"a").out == b"0 67 0\n"
    assert run("encode", "-t", named, "--bos", 67, "--add-special-tokens", stdin=b"a").out == b"67 0 67\n"


def test_the_tokens_are_looked_for_in_text_as_before(run: Run, folder: Path) -> None:
    """A literal in the text is no mark, and a mark is no text."""
    ids = run("encode", "-t", folder, "--eos", END, stdin=END.encode()).out.split()
    assert ids.count(b"0") == 1
    assert ids[-1] == b"0"
