"""``encode`` to raw numbers: what is in the file, and what is said of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenmill
from tokenmill.cli import documents, encode

from .conftest import END, TEXT, Run


@pytest.fixture
def corpus(tmp_path: Path) -> list[Path]:
    """Files in the order of their names, one of them empty, one that is no UTF-8."""
    contents = [TEXT.encode(), b"", b"fox\xff\x00dog", b"one\n\ntwo\r\nthree"]
    paths = [tmp_path / f"{number}.txt" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A tokenizer whose largest id is one that uint16 does not hold."""
    tokens = [bytes([byte]) for byte in range(256)]
    path = tmp_path / "wide.json"
    tokenmill.Tokenizer.from_tokens(tokens, special_tokens={END: 65_536}).save(path)
    return path


def test_each_document_is_followed_by_eos(run: Run, folder: Path, corpus: list[Path], tmp_path: Path) -> None:
    tokenizer = tokenmill.load(folder)
    end = tokenizer.special_tokens[END]
    expected = [number for path in corpus for number in [*tokenizer.encode(path.read_bytes()), end]]
    target = tmp_path / "train.bin"
    result = run("encode", "-t", folder, *corpus, "--eos", END, "--out", target)
    assert (result.code, result.out) == (0, b"")
    assert np.fromfile(target, "<u2").tolist() == expected
    size = sum(path.stat().st_size for path in corpus)
    assert result.err == f"saved {target}: 4 documents, {size:,} bytes, {len(expected):,} tokens as uint16\n"


@pytest.mark.parametrize("bos", [[], [0]])
@pytest.mark.parametrize("eos", [[], [5]])
@pytest.mark.parametrize("batch", [1, 20, 1 << 24])
def test_documents_keep_their_order_whatever_a_batch_holds(
    run: Run,
    folder: Path,
    corpus: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bos: list[int],
    eos: list[int],
    batch: int,
) -> None:
    for size in ("_BATCH", "_ALONE"):
        monkeypatch.setattr(documents, size, batch)
    monkeypatch.setattr(documents, "_ENTRY", 0)
    monkeypatch.setattr(documents, "_BLOCK", min(batch, 7))
    tokenizer = tokenmill.load(folder)
    target = tmp_path / "ids.bin"
    marks = [word for option, ids in (("--bos", bos), ("--eos", eos)) for id in ids for word in (option, id)]
    for given, texts in (
        ((), [path.read_bytes() for path in corpus]),
        (("--documents", "lines"), [line for path in corpus for line in _lines(path.read_bytes())]),
    ):
        result = run("encode", "-t", folder, *corpus, *marks, *given, "--out", target, "--dtype", "uint32")
        assert result.code == 0
        expected = [number for text in texts for number in [*bos, *tokenizer.encode(text), *eos]]
        assert np.fromfile(target, "<u4").tolist() == expected
        assert f" {len(texts)} documents, " in result.err


def _lines(content: bytes) -> list[bytes]:
    """The lines without their line ends; a final line end does not begin another line."""
    lines = content.decode("latin1").replace("\r\n", "\n").split("\n")
    return [line.encode("latin1") for line in (lines if lines[-1] else lines[:-1])]


def test_an_empty_document_is_its_bos_and_eos_alone(run: Run, folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "ids.bin"
    assert run("encode", "-t", folder, "--bos", 7, "--eos", 9, "--out", target).code == 0
    assert np.fromfile(target, "<u2").tolist() == [7, 9]
    lines = ("--documents", "lines", "--eos", 9, "--out", target)
    result = run("encode", "-t", folder, *lines, stdin=b"\n\n")
    assert np.fromfile(target, "<u2").tolist() == [9, 9]
    assert result.err.endswith(": 2 documents, 0 bytes, 2 tokens as uint16\n")
    result = run("encode", "-t", folder, *lines)
    assert target.read_bytes() == b""
    assert result.err.endswith(": 0 documents, 0 bytes, 0 tokens as uint16\n")


def test_the_type_of_the_numbers_goes_by_the_vocabulary(run: Run, wide: Path, tmp_path: Path) -> None:
    target = tmp_path / "ids.bin"
    result = run("encode", "-t", wide, "--out", target, "--eos", END, stdin=b"ab")
    assert np.fromfile(target, "<u4").tolist() == [97, 98, 65_536]
    assert result.err == f"saved {target}: 1 document, 2 bytes, 3 tokens as uint32\n"


@pytest.mark.parametrize("ending", ["bin", "npy"])
def test_an_id_beyond_uint16_is_an_error_before_anything_is_read_or_written(
    run: Run, wide: Path, tmp_path: Path, ending: str
) -> None:
    before = sorted(tmp_path.iterdir())
    # No id of this text is too large: whether there is an error does not depend on the text.
    words = ("encode", "-t", wide, tmp_path / "missing", "--dtype", "uint16")
    for out in (("--out", tmp_path / f"ids.{ending}"), ("--format", ending)):
        result = run(*words, *out)
        assert (result.code, result.out) == (2, b"")
        assert result.err.splitlines() == [
            "tokenmill: error: --dtype uint16 holds ids up to 65,535, "
            "and this vocabulary has ids up to 65,536",
            "hint: --dtype uint32",
        ]
    assert sorted(tmp_path.iterdir()) == before


def test_the_largest_id_of_uint16_is_written(run: Run, tmp_path: Path) -> None:
    tokens = [bytes([byte]) for byte in range(256)]
    path, target = tmp_path / "t.json", tmp_path / "ids.bin"
    tokenmill.Tokenizer.from_tokens(tokens, special_tokens={END: 65_535}).save(path)
    run("encode", "-t", path, "--out", target, "--dtype", "uint16", "--eos", END, stdin=b"a")
    assert np.fromfile(target, "<u2").tolist() == [97, 65_535]


def test_standard_output_takes_raw_numbers(run: Run, folder: Path) -> None:
    ids = tokenmill.load(folder).encode("The fox")
    result = run("encode", "-t", folder, "--format", "bin", stdin=b"The fox")
    assert np.frombuffer(result.out, "<u2").tolist() == ids
    assert result.err == f"1 document, 7 bytes, {len(ids)} tokens as uint16\n"


def test_a_pipe_takes_raw_numbers(folder: Path) -> None:
    command = [sys.executable, "-m", "tokenmill.cli", "encode", "-t", str(folder), "--format", "bin"]
    command += ["--documents", "lines", "--eos", END]
    done = subprocess.run(command, input=TEXT.encode() * 1000, capture_output=True, timeout=60)
    assert done.returncode == 0
    tokenizer = tokenmill.load(folder)
    line = [number for text in TEXT.splitlines() for number in [*tokenizer.encode(text), 0]]
    assert np.frombuffer(done.stdout, "<u2").tolist() == line * 1000


def test_json_says_what_was_written(run: Run, folder: Path, corpus: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "ids.bin"
    result = run("encode", "-t", folder, *corpus, "--out", target, "--json")
    assert result.err == ""
    assert result.json == {
        "file": str(target),
        "dtype": "uint16",
        "documents": 4,
        "bytes": sum(path.stat().st_size for path in corpus),
        "tokens": target.stat().st_size // 2,
    }


def test_the_ending_of_out_says_the_form_and_format_overrules_it(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    ids = tokenmill.load(folder).encode("fox")
    for ending, options, read in (
        ("bin", (), lambda path: np.fromfile(path, "<u2")),
        ("npy", (), np.load),
        ("npy", ("--dtype", "uint16"), np.load),
        ("bin", ("--format", "npy"), np.load),
        ("npy", ("--format", "bin", "--dtype", "uint32"), lambda path: np.fromfile(path, "<u4")),
        ("bin", ("--format", "ids"), lambda path: np.array(path.read_text().split(), int)),
        ("txt", (), lambda path: np.array(path.read_text().split(), int)),
    ):
        path: Any = tmp_path / f"ids.{ending}"
        assert run("encode", "-t", folder, "--out", path, *options, stdin=b"fox").code == 0
        assert read(path).tolist() == ids


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_decode_reads_raw_numbers_back(
    run: Run, folder: Path, corpus: list[Path], tmp_path: Path, dtype: str
) -> None:
    target = tmp_path / "ids.bin"
    run("encode", "-t", folder, *corpus, "--out", target, "--dtype", dtype)
    result = run("decode", "-t", folder, "--dtype", dtype, target)
    assert result.out == b"".join(path.read_bytes() for path in corpus)
    result = run("decode", "-t", folder, "--dtype", dtype, stdin=target.read_bytes() + b"x")
    assert (result.code, result.out) == (2, b"")
    assert "standard input: " in result.err
    assert "no whole numbers of" in result.err
    result = run("decode", "-t", folder, target)
    assert (result.code, result.out) == (2, b"")
    assert "hint: raw numbers are read with --dtype uint16 or --dtype uint32" in result.err


def test_an_error_in_the_last_document_leaves_what_was_there(
    run: Run, folder: Path, corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_BATCH", 1)  # the first documents are written by then
    bad = tmp_path / "bad.txt"
    bad.write_text(f"a line\nfox {END}\n")
    target = tmp_path / "old.bin"
    target.write_bytes(b"old")
    before = sorted(tmp_path.iterdir())
    for options, place in (((), bad), (("--documents", "lines"), f"{bad}: line 2")):
        words = ("encode", "-t", folder, *corpus, bad, "--special", "raise", *options)
        for out in (("--out", target), ("--out", tmp_path / "new.bin"), ("--format", "bin"), ()):
            result = run(*words, *out)
            assert (result.code, result.out) == (2, b"")
            assert result.err.startswith(f"tokenmill: error: {place}: ")
            assert END in result.err
    assert sorted(tmp_path.iterdir()) == before
    assert target.read_bytes() == b"old"


def test_an_error_names_its_document_among_others(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("fox")
    (tmp_path / "bad.txt").write_text(f"fox {END}")
    words = ("encode", "-t", folder, tmp_path / "good.txt", tmp_path / "bad.txt", "--special", "raise")
    for form in ("bin", "ids"):
        result = run(*words, "--format", form)
        assert result.err.startswith(f"tokenmill: error: {tmp_path / 'bad.txt'}: ")
        assert "texts[" not in result.err


def test_add_special_tokens_is_the_librarys(
    run: Run, named: Path, corpus: list[Path], tmp_path: Path
) -> None:
    tokenizer = tokenmill.load(named)
    target = tmp_path / "ids.bin"
    texts = [path.read_bytes() for path in corpus]
    expected = [number for text in texts for number in tokenizer.encode(text, add_special_tokens=True)]
    assert expected[0] == tokenizer.bos_token_id
    assert run("encode", "-t", named, *corpus, "--add-special-tokens", "--out", target).code == 0
    assert np.fromfile(target, "<u2").tolist() == expected
    assert run("encode", "-t", named, "--add-special-tokens", stdin=b"a").out == b"0 67\n"


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_threads_are_given_to_the_library_and_change_nothing(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int | None
) -> None:
    long, short = tmp_path / "long", tmp_path / "short"
    long.write_bytes(TEXT.encode() * 8000)
    short.write_bytes(TEXT.encode())
    assert long.stat().st_size > encode._LONG
    tokenizer = tokenmill.load(folder)
    asked: list[int | None] = []

    class Spy:
        """The tokenizer; notes how many threads it is asked for."""

        def __getattr__(self, name: str) -> Any:
            real = getattr(tokenizer, name)
            if not name.startswith("encode"):
                return real

            def noting(*texts: Any, num_threads: int | None, **options: Any) -> Any:
                asked.append(num_threads)
                return real(*texts, num_threads=num_threads, **options)

            return noting

    monkeypatch.setattr(encode, "load_tokenizer", lambda _: Spy())
    options = () if threads is None else ("--num-threads", threads)
    target = tmp_path / "ids.bin"
    assert run("encode", "-t", folder, short, long, short, *options, "--out", target).code == 0
    once = tokenizer.encode(TEXT)
    ids = [*once, *tokenizer.encode(long.read_bytes()), *once]
    assert np.fromfile(target, "<u2").tolist() == ids
    printed = run("encode", "-t", folder, short, long, short, *options).out
    assert list(map(int, printed.split())) == ids
    assert set(asked) == {threads}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_corpus_larger_than_a_batch_is_not_held_in_memory(folder: Path, tmp_path: Path) -> None:
    """Five times the text takes about the same memory, as lines and as files."""
    program = (
        "import resource, sys\n"
        "from tokenmill.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
        "sys.exit(code)\n"
    )
    line = TEXT.replace("\n", " ").encode() + b"\n"
    texts = {"small": line * (20_000_000 // len(line)), "large": line * (100_000_000 // len(line))}
    peak: dict[str, int] = {}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
        words = [
            "encode",
            "-t",
            folder,
            tmp_path / name,
            "--documents",
            "lines",
            "--out",
            tmp_path / "ids.bin",
        ]
        command = [sys.executable, "-c", program, *map(str, words)]
        done = subprocess.run(command, capture_output=True, timeout=120, check=True, env=os.environ)
        peak[name] = int(done.stdout) * 1024
    assert peak["large"] < peak["small"] + 40_000_000
