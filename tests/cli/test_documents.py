"""What a document is: a file, a line, or a text in the command itself."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import tokenmill
from tokenmill.cli import documents
from tokenmill.cli.corpora import Rows
from tokenmill.cli.documents import Batch

from .conftest import TEXT, Run


def _ids(tokenizer: tokenmill.Tokenizer, *texts: str | bytes) -> bytes:
    return b"".join(" ".join(map(str, tokenizer.encode(text))).encode() + b"\n" for text in texts)


def test_a_text_in_quotes_is_a_text(run: Run, folder: Path) -> None:
    tokenizer = tokenmill.load(folder)
    for text in ("The quick fox", "two\nlines", "what is this?", "[a or b]", "das Käse Brötchen.", " x  y "):
        result = run("encode", "-t", folder, text)
        assert (result.code, result.out, result.err) == (0, _ids(tokenizer, text), "")
    assert run("encode", "-t", folder, "--json", "The fox").json == {
        "texts": [{"file": "the command", "count": 3, "ids": tokenizer.encode("The fox")}]
    }


def test_text_takes_any_text_and_several(run: Run, folder: Path) -> None:
    tokenizer = tokenmill.load(folder)
    result = run("encode", "-t", folder, "--text", "fox", "--text", "", "--text", "a/b.txt", "--text=--eos")
    assert (result.code, result.out, result.err) == (0, _ids(tokenizer, "fox", "", "a/b.txt", "--eos"), "")
    lines = run("encode", "-t", folder, "--text", "a\nb\r\n", "--text", "", "--documents", "lines")
    assert lines.out == _ids(tokenizer, "a", "b")


def test_a_text_that_names_a_file_is_the_text(
    run: Run, folder: Path, text_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(text_file.parent)
    Path("a file").write_text("fox")
    tokenizer = tokenmill.load(folder)
    assert run("encode", "-t", folder, "a file").out == _ids(tokenizer, "fox")
    result = run("encode", "-t", folder, "--text", "a file")
    assert result.out == _ids(tokenizer, "a file")
    assert result.err == "hint: without --text the file a file is read; this is its name\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["fox"], '"fox"'),
        (["some", "words"], '"some words"'),
        (["my corpus.txt"], '"my corpus.txt"'),
        (["my corpus/part"], '"my corpus/part"'),
        (["some words", "others"], '"some words others"'),
        (["fox "], '"fox "'),
        (["5$", "each"], "'5$ each'"),
        (["word"] * 50, '"some words"'),
    ],
)
@pytest.mark.parametrize("command", ["encode", "count"])
def test_a_file_that_is_missing_brings_the_option_for_a_text(
    run: Run, folder: Path, command: str, words: list[str], text: str
) -> None:
    result = run(command, "-t", folder, *words)
    assert (result.code, result.out) == (2, b"")
    assert result.err.splitlines() == [
        f"tokenmill: error: {words[0]}: No such file or directory",
        f"hint: a text itself goes after --text: --text {text}",
    ]


@pytest.mark.parametrize("options", [(), ("--format", "bin"), ("--documents", "lines"), ("--json",)])
@pytest.mark.parametrize("words", ["my corpus", "what is this?", "it costs 3.5"])
def test_what_is_saved_is_never_of_a_text_that_may_be_a_file(
    run: Run, folder: Path, tmp_path: Path, words: str, options: tuple[str, ...]
) -> None:
    result = run("encode", "-t", folder, words, *options, "--out", tmp_path / "ids")
    assert result.code == 2
    error, hint = result.err.splitlines()
    what = "no file matches" if "?" in words else "No such file or directory"
    assert error == f"tokenmill: error: {words}: {what}"
    assert hint == f'hint: a text itself goes after --text: --text "{words}"'
    assert run("count", "-t", folder, words, "--out", tmp_path / "count").code == 2
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_the_shell_are_no_place_for_a_guess(run: Run, folder: Path) -> None:
    result = run("encode", "-t", folder, "my corpus", "--format", "bin")
    assert (result.code, result.out) == (2, b"")


def test_a_hint_of_a_text_needs_that_no_file_was_meant(run: Run, folder: Path, text_file: Path) -> None:
    result = run("encode", "-t", folder, text_file, "fox")
    assert result.err == "tokenmill: error: fox: No such file or directory\n"


def test_a_glob_without_a_match_is_no_text(run: Run, folder: Path) -> None:
    result = run("encode", "-t", folder, "missing*")
    assert (result.code, "no file matches" in result.err) == (2, True)


@pytest.mark.parametrize("text", ["hello", "the fox", "a/b c.txt", "", "--eos", "missing*"])
def test_text_is_the_text_in_every_command(run: Run, folder: Path, text: str) -> None:
    ids = tokenmill.load(folder).encode(text)
    given = ("-t", folder, f"--text={text}")
    assert run("encode", *given).out.split() == [str(number).encode() for number in ids]
    assert run("count", *given).out == f"{len(ids)}\n".encode()
    tokens = run("inspect", *given, "--json").json["tokens"]
    assert [token["id"] for token in tokens] == ids


def test_words_in_quotes_are_a_text_where_they_are_printed(run: Run, folder: Path) -> None:
    for text in ("the fox", "it costs 3.5", "what is this?"):
        ids = tokenmill.load(folder).encode(text)
        assert run("encode", "-t", folder, text).out.split() == [str(number).encode() for number in ids]
        assert run("count", "-t", folder, text).out == f"{len(ids)}\n".encode()
        assert run("inspect", "-t", folder, text, "--json").json["count"] == len(ids)


def test_lines_are_documents_as_in_training(run: Run, folder: Path, tmp_path: Path) -> None:
    tokenizer = tokenmill.load(folder)
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"one\n\ntwo\r\nthree\r")
    second.write_bytes(b"four\n")
    expected = [b"one", b"", b"two", b"three\r", b"four", b"five"]
    words = ("encode", "-t", folder, first, second, "-", "--documents", "lines")
    assert run(*words, stdin=b"five").out == _ids(tokenizer, *expected)
    rows = run(*words, "--json", stdin=b"five").json["texts"]
    places = [(str(first), n) for n in (1, 2, 3, 4)] + [(str(second), 1), ("-", 1)]
    assert [(row["file"], row["line"]) for row in rows] == places
    assert [row["ids"] for row in rows] == [tokenizer.encode(text) for text in expected]
    trained = tokenmill.train([str(first), str(second)], num_merges=1, documents="lines").training_report
    assert trained is not None
    assert trained.documents == len(rows) - 1


def test_what_encode_writes_of_lines_decode_reads(run: Run, folder: Path, text_file: Path) -> None:
    rows = run("encode", "-t", folder, text_file, "--documents", "lines", "--json")
    assert run("decode", "-t", folder, stdin=rows.out).out == TEXT.replace("\n", "").encode()


@pytest.mark.parametrize("block", [1, 2, 3, 5, 100])
def test_lines_do_not_depend_on_how_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(documents, "_BLOCK", block)
    draw = random.Random(block)
    path = tmp_path / "text"
    for _ in range(60):
        content = bytes(draw.choices(b"ab\r\n", k=draw.randrange(30)))
        path.write_bytes(content)
        batches = list(documents.documents([str(path)], [], by_lines=True, rows=Rows()))
        *lines, last = content.split(b"\n")
        expected = [line.removesuffix(b"\r") for line in lines] + [last] * bool(last)
        assert [text for batch in batches for text in batch.texts] == expected
        assert [line for batch in batches for line in batch.lines] == list(range(1, len(expected) + 1))


def test_batches_are_bounded_and_long_documents_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in (("_BATCH", 100), ("_ALONE", 50), ("_ENTRY", 10)):
        monkeypatch.setattr(documents, name, size)
    sizes = [10, 20, 60, 5, 30, 30, 30, 200, 1]
    paths = [tmp_path / str(number) for number in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        path.write_bytes(b"x" * size)
    batches = list(documents.documents(list(map(str, paths)), [], by_lines=False, rows=Rows()))
    assert [[len(text) for text in batch.texts] for batch in batches] == [
        [10, 20],
        [60],
        [5, 30, 30],
        [30],
        [200],
        [1],
    ]
    assert [name for batch in batches for name in batch.names] == list(map(str, paths))


def test_a_document_has_a_place() -> None:
    batch = Batch([b"", b""], ["-", "a"], [None, 3])
    assert [batch.place(0), batch.place(1)] == ["standard input", "a: line 3"]
