"""What is said to a person who typed something wrong: what it was, what was meant, what to write."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import tokenmill
from tokenmill.cli import app, parsing, usage

from .conftest import END, Run
from .test_main import COMMANDS


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_80_columns(run: Run, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = run(*filter(None, [command]), "--help").out.decode()
    assert [line for line in page.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    ("arguments", "says", "hint"),
    [
        ("tarin x", "no command is called 'tarin'; did you mean train?", "tokenmill --help"),
        (
            "mill",
            "there are train, count-pretokens, encode, decode, count, chunk, chat, inspect, info, vocab, "
            "doctor, manifest, verify, lorem, convert, curve, diff, report, demo",
            "tokenmill --help",
        ),
        ("", "no command is given; there are train", "tokenmill --help"),
        ("--versoin", "did you mean --version?", "tokenmill --help"),
        (
            "train x --vocabsize 300",
            "no option --vocabsize; did you mean --vocab-size?",
            "tokenmill train --help",
        ),
        ("train x --vocab_size=300", "no option --vocab_size; did you mean --vocab-size?", "train --help"),
        ("train x --min-freq 3", "did you mean --min-frequency?", "tokenmill train --help"),
        ("train x --eos </s>", "no option --eos; did you mean --eos-token?", "tokenmill train --help"),
        ("train x --special </s>", "did you mean --special-token or --special-ids?", "train --help"),
        ("encode -t x --eos -o z.bin", "no option -o; did you mean --out?", "tokenmill encode --help"),
        ("enc -t x", "did you mean encode?", "tokenmill --help"),
        ("count --spezial parse", "did you mean --special?", "tokenmill count --help"),
        ("count -tokenizer x", "did you mean --tokenizer?", "tokenmill count --help"),
        ("decode --frobnicate", "tokenmill decode has no option --frobnicate", "tokenmill decode --help"),
        ("train x --num-merges 1 --special-token --x-- --out m", "no option --x--", "--special-token=--x--"),
        ("inspect -t x --hello", "no option --hello", "goes after --"),
        ("inspect -t x -help-me", "no option -help-me", "goes after --"),
        ("train x --num-merges 1 --tie-break tokenid", "did you mean token-id?", "tokenmill train --help"),
        ("encode", "missing: -t/--tokenizer", "tokenmill encode --help"),
        ("count -t a -t b", "-t/--tokenizer is given twice, and takes one value", "tokenmill count --help"),
        ("count -ta --tokenizer=a", "-t/--tokenizer is given twice", "tokenmill count --help"),
        ("encode -t a --eos --eos x", "--eos is given twice", "tokenmill encode --help"),
        ("inspect -t a --color never --colour auto", "--color/--colour is given twice", "inspect --help"),
        ("inspect -t a --text b --text c", "--text is given twice", "tokenmill inspect --help"),
        ("train x --vocab-size 300 --vocab-size 400", "--vocab-size is given twice", "train --help"),
        ("decode -t x --out a --out b 65", "--out is given twice", "tokenmill decode --help"),
        ("demo now", "more words than tokenmill demo takes: now", "tokenmill demo --help"),
        ("inspect -t x some words here", "takes: words here", 'quote the text: "some words here"'),
        ("inspect -t x cost: 5$", "takes: 5$", "quote the text: 'cost: 5$'"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(run: Run, arguments: str, says: str, hint: str) -> None:
    result = run(*arguments.split())
    assert (result.code, result.out) == (2, b"")
    error, advice = result.err.splitlines()
    assert error.startswith("tokenmill: error: ")
    assert says in error
    assert advice.startswith("hint: ")
    assert hint in advice


@pytest.mark.parametrize("command", COMMANDS)
def test_no_option_of_one_value_is_taken_twice(command: str) -> None:
    parser = app._parsers()[1][command]
    for action in parser._actions:
        if action.option_strings and action.nargs != 0:
            value = (next(iter(action.choices)) if action.choices else "1",)
            words = [action.option_strings[-1], *value] * 2
            repeatable = isinstance(action.default, list)
            if repeatable:
                assert "may be given again" in str(action.help)
                continue
            with pytest.raises(usage.UsageError, match="is given twice"):
                app._parsers()[1][command].parse_args(words)


def test_help_is_a_word_too(run: Run) -> None:
    assert run("help").out == run("--help").out
    assert run("help", "count").out == run("count", "--help").out


def test_no_name_is_an_error(run: Run, folder: Path, text_file: Path) -> None:
    for result in (
        run("train", text_file, "--num-merges", 1, "--out", ""),
        run("encode", "-t", folder, "--out", "", text_file),
        run("encode", "-t", folder, ""),
        run("encode", "-t", "", text_file),
        run("train", "", "--num-merges", 1, "--out", "m"),
        run("demo", "--out", ""),
        run("demo", "--out", text_file),
    ):
        assert (result.code, result.out) == (2, b"")
        assert len(result.err) > len("tokenmill: error: : ") + 10
        assert "training on" not in result.err


def test_what_stands_behind_two_dashes_is_text(run: Run, folder: Path) -> None:
    assert run("inspect", "-t", folder, "--json", "--", "--vocabsize").json["tokens"][0]["token"] == "-"
    assert run("inspect", f"-t{folder}", "-1").code == 0


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("300", 300),
        ("32_000", 32_000),
        ("32,000", 32_000),
        ("32k", 32_000),
        ("32K", 32_000),
        ("1m", 1_000_000),
    ],
)
def test_numbers_are_read_as_people_write_them(written: str, number: int) -> None:
    assert parsing.whole_number(0)(written) == number


@pytest.mark.parametrize("written", ["32x", "1,5", "1.5k", "-5", "", "k", "1_0", "9" * 5000])
def test_other_numbers_are_answered_with_how_to_write_them(run: Run, written: str) -> None:
    result = run("train", "-", "--vocab-size", written, "--out", "x")
    assert result.code == 2
    assert result.err.startswith("tokenmill: error: --vocab-size: ")
    assert "write 32000, 32_000 or 32k\n" in result.err
    assert len(result.err) < 200


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--vocab-size 100", "--vocab-size: 100 is too small for 0 special tokens"),
        ("--vocab-size 5G", "--vocab-size: '5G' is not"),
        ("--vocab-size 5000m", "--vocab-size: 5000000000 is above"),
        ("--num-merges 1 --min-frequency 0", "--min-frequency: '0' is not a whole number from 1 on"),
        ("--num-merges 1 --num-threads 0", "--num-threads: '0' is not a whole number from 1 on"),
        (
            "--num-merges 1 --special-token a --special-token a",
            '--special-token: special token "a" is listed',
        ),
        ("--num-merges 1 --add-eos-token", "--add-eos-token needs the token; give --eos-token too"),
        ("--num-merges 1 --split gtp2", "hint: did you mean gpt2?"),
        ("--num-merges 1 --split (", "hint: --split takes gpt2"),
    ],
)
def test_training_speaks_of_options(
    run: Run, text_file: Path, tmp_path: Path, options: str, says: str
) -> None:
    result = run("train", text_file, *options.split(), "--out", tmp_path / "m")
    assert (result.code, result.out) == (2, b"")
    assert says in result.err
    assert "_" not in result.err.replace(str(tmp_path), "").replace("32_000", "")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("library", "command_line"),
    [
        ('pass special="text" to read it', "give --special text to read it"),
        ('pass undefined="skip" or "replace" to', "give --undefined skip or replace to"),
        ("leave split= out", "leave --split out"),
        ("pass lossy=True and give", "give --lossy and give"),
        ("named in special_tokens=", "named in --special-token"),
        ("min_frequency: must be", "--min-frequency: must be"),
        ("special_tokens[3]: must", "--special-token: must"),
        ("num_merges=-1 is negative", "--num-merges -1 is negative"),
        ('train with end_of_word_form="suffix"', "train with --end-of-word-form suffix"),
        ("model.end_of_word_suffix: no", "model.end_of_word_suffix: no"),
        ('the token "split=" is', 'the token "split=" is'),
        ("the split and the errors", "the split and the errors"),
    ],
)
def test_the_librarys_words_become_options(library: str, command_line: str) -> None:
    error = tokenmill.FormatError(library, path=None, field="x", kind="x", reason="x", limit=None)
    assert usage.explain(error)[0] == command_line


def test_the_name_of_a_file_is_no_option() -> None:
    error = tokenmill.TrainingError("vocab_size=3.txt: leave split= out", path="vocab_size=3.txt", byte=None)
    assert usage.explain(error)[0] == "vocab_size=3.txt: leave --split out"


def test_a_file_that_is_not_utf8_brings_the_option(run: Run, folder: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"ab\xff")
    for name, content in ((bad, b""), ("-", b"ab\xff")):
        result = run("train", name, "--num-merges", 1, "--out", tmp_path / "m", stdin=content)
        shown = "standard input" if name == "-" else bad
        assert result.err.splitlines()[0] == f"tokenmill: error: {shown}: at byte 2: not UTF-8"
        assert result.err.splitlines()[1].startswith("hint: --errors replace|skip: ")
    result = run("inspect", "-t", folder, "--file", bad)
    assert result.err.splitlines()[1] == "hint: `tokenmill encode` takes any bytes; here a text is needed"


def test_a_folder_brings_the_glob_where_folders_are_not_read(run: Run, folder: Path, text_file: Path) -> None:
    result = run("decode", "-t", folder, text_file.parent)
    assert result.code == 2
    assert f"hint: '{text_file.parent}/*' in quotes takes the files in it" in result.err


def test_the_glob_of_the_hint_works(run: Run, folder: Path, text_file: Path, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.txt").write_text("fox")
    target = tmp_path / "m"
    assert run("train", f"{tmp_path}/*", "--num-merges", 1, "--out", target, "--json").json["documents"] == 1
    assert len(run("count", "-t", folder, f"{tmp_path}/*.txt", "--json").json["texts"]) == 1
    assert len(run("count", "-t", folder, f"{tmp_path}/**/*.txt", "--json").json["texts"]) == 2
    result = run("count", "-t", folder, f"{tmp_path}/*.csv")
    assert (result.code, "no file matches" in result.err) == (2, True)
    array = run("encode", "-t", folder, f"{tmp_path}/**/*.txt", "--format", "npy", "--out", tmp_path / "x")
    assert (array.code, "one text" in array.err) == (2, True)
    assert "names one file" in run("inspect", "-t", folder, "--file", tmp_path).err


@pytest.mark.parametrize("words", [["some", "words"], ["some words."], ["many " * 1000]])
def test_words_that_are_no_ids_bring_encode(run: Run, folder: Path, words: list[str]) -> None:
    assert "a text becomes ids with `tokenmill encode`" in run("decode", "-t", folder, *words).err


def test_a_missing_tokenizer_brings_what_can_be_named(run: Run) -> None:
    result = run("count", "-t", "cl100k", stdin=b"fox")
    assert result.code == 2
    first, second = result.err.splitlines()
    assert first.startswith("tokenmill: error: cl100k: no file or folder here, none of the encodings gpt2, ")
    assert "did you mean cl100k_base?" in first
    assert second.startswith("hint: a tokenizer is a file, a folder, an encoding or a repository")
    assert "No such file" in run("count", "-t", "none/tokenizer.json", stdin=b"fox").err


def test_special_tokens_of_a_rank_file_come_with_their_ids(run: Run, text_file: Path, tmp_path: Path) -> None:
    ranks = tmp_path / "own.tiktoken"
    run("train", text_file, "--num-merges", 4, "--out", ranks, "--lossy")
    assert "--special-token LITERAL=ID" in run("encode", "-t", ranks, text_file).err
    text = f"fox{END}<x=1>".encode()
    own = ("-t", ranks, "--split", "cl100k", "--special-token", f"{END}=300", "--special-token", "<x=1>=261")
    ids = run("encode", *own, "--special", "parse", stdin=text).out
    assert ids.split()[-2:] == [b"300", b"261"]
    assert run("decode", *own, stdin=ids).out == text
    assert run("inspect", *own, "--special", "parse", "--json", END).json["tokens"][0]["id"] == 300
    assert run("count", *own, "--special", "parse", stdin=END.encode()).out == b"1\n"


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        (["a=300", "b"], "some --special-token have an id and some have none"),
        (["a=300", "a=301"], "--special-token a is given with two ids"),
        (["a=3"], "the id 3 is taken"),
        (["a=99999999999"], "is not an id"),
    ],
)
def test_ids_that_cannot_be_are_named(
    run: Run, text_file: Path, tmp_path: Path, tokens: list[str], says: str
) -> None:
    ranks = tmp_path / "own.tiktoken"
    run("train", text_file, "--num-merges", 4, "--out", ranks, "--lossy")
    options = [part for token in tokens for part in ("--special-token", token)]
    result = run("count", "-t", ranks, "--split", "gpt2", *options, stdin=b"fox")
    assert (result.code, result.out) == (2, b"")
    assert says in result.err


def test_training_gives_the_ids_and_says_so(run: Run, text_file: Path, tmp_path: Path) -> None:
    options = ("--num-merges", 1, "--special-token", "<s>=7", "--out", tmp_path / "m")
    result = run("train", text_file, *options)
    assert "training gives the ids" in result.err
    assert tokenmill.load(tmp_path / "m").special_tokens == {"<s>=7": 0}


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are text there")
def test_an_argument_that_is_no_text_is_an_error_in_words(run: Run, folder: Path) -> None:
    result = run("count", "-t", folder, "--special-token", os.fsdecode(b"\xff"), stdin=b"fox")
    assert (result.code, result.out) == (2, b"")
    assert "not UTF-8" in result.err
