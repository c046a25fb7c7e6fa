"""Files that are no text: compressed, but not by gzip or zstd, or UTF-16 and UTF-32 with their mark."""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile
from pathlib import Path

import numpy as np
import pytest
import tokenmill
from tokenmill import TrainingError

from .conftest import TEXT, Pipe, Run


def _zipped(content: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("text.txt", content)
    return made.getvalue()


COMPRESSED = {
    "xz": (lzma.compress(TEXT.encode()), "unxz"),
    "bzip2": (bz2.compress(TEXT.encode()), "bunzip2"),
    "zip": (_zipped(TEXT.encode()), "unzip -p"),
}
WIDE = {
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
    "utf-32-le": "UTF-32",
    "utf-32-be": "UTF-32",
}
CONTENTS = {name: content for name, (content, _) in COMPRESSED.items()} | {
    name: TEXT.encode(name) if name.count("-") == 1 else f"\ufeff{TEXT}".encode(name) for name in WIDE
}
SAYS = {
    name: f"is compressed ({name}), which is not decompressed here; decompress it with {command} first, "
    "or pass a pipe that does so"
    for name, (_, command) in COMPRESSED.items()
} | {
    name: f"is {encoding}, where text is UTF-8; convert it with iconv -f {encoding} -t UTF-8 first"
    for name, encoding in WIDE.items()
}
HINT = "hint: --binary takes the bytes as they are"


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize(
    "words",
    [("encode",), ("encode", "--documents", "lines"), ("encode", "--format", "bin"), ("count",)],
    ids=" ".join,
)
def test_what_is_no_text_is_refused_before_anything_is_written(
    run: Run, folder: Path, text_file: Path, tmp_path: Path, name: str, words: tuple[str, ...]
) -> None:
    path, target = tmp_path / "corpus", tmp_path / "out"
    path.write_bytes(CONTENTS[name])
    result = run(*words, "-t", folder, text_file, path, "--out", target)
    assert (result.code, result.out) == (2, b"")
    assert result.err.splitlines() == [f"tokenmill: error: {path}: {SAYS[name]}", HINT]
    assert not target.exists()
    result = run(*words, "-t", folder, "--out", target, stdin=CONTENTS[name])
    assert result.err.splitlines() == [f"tokenmill: error: standard input: {SAYS[name]}", HINT]
    assert not target.exists()


@pytest.mark.parametrize("name", ["xz", "utf-16"])
def test_a_pipe_is_looked_at_too(run: Run, folder: Path, pipe: Pipe, name: str) -> None:
    assert SAYS[name] in run("count", "-t", folder, pipe(CONTENTS[name])).err


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize(
    "words",
    [("doctor", "{t}", "--text"), ("diff", "{t}", "{t}", "--text"), ("inspect", "-t", "{t}", "--file")],
)
def test_commands_without_binary_do_not_name_it(
    run: Run, folder: Path, tmp_path: Path, name: str, words: tuple[str, ...]
) -> None:
    path = tmp_path / "corpus"
    path.write_bytes(CONTENTS[name])
    result = run(*(folder if word == "{t}" else word for word in words), path)
    assert (result.code, result.out) == (2, b"")
    assert result.err.splitlines() == [f"tokenmill: error: {path}: {SAYS[name]}"]


@pytest.mark.parametrize("name", CONTENTS)
def test_binary_takes_the_bytes(run: Run, folder: Path, tmp_path: Path, name: str) -> None:
    path, target = tmp_path / "corpus", tmp_path / "ids.npy"
    path.write_bytes(CONTENTS[name])
    ids = tokenmill.load(folder).encode(CONTENTS[name])
    assert run("encode", "-t", folder, path, "--binary", "--out", target).code == 0
    assert np.load(target).tolist() == ids
    rows = run("count", "-t", folder, path, "--binary", "--json").json["texts"]
    assert [row["count"] for row in rows] == [len(ids)]
    lines = run("encode", "-t", folder, "--binary", "--documents", "lines", stdin=CONTENTS[name]).out
    assert len(lines.splitlines()) == len(CONTENTS[name].split(b"\n")) - CONTENTS[name].endswith(b"\n")


@pytest.mark.parametrize(
    "content", [b"K\xe4se \xff\xfe", b"\xff", b"BZh9 is a name", b"PK", b"\xef\xbb\xbffox"]
)
def test_what_is_merely_not_utf8_stays_as_it_is(run: Run, folder: Path, content: bytes) -> None:
    result = run("encode", "-t", folder, stdin=content)
    assert (result.code, result.err) == (0, "")
    assert list(map(int, result.out.split())) == tokenmill.load(folder).encode(content)


@pytest.mark.parametrize("name", CONTENTS)
def test_inspect_says_the_same(run: Run, folder: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "corpus"
    path.write_bytes(CONTENTS[name])
    result = run("inspect", "-t", folder, "--file", path)
    assert (result.code, result.err) == (2, f"tokenmill: error: {path}: {SAYS[name]}\n")


@pytest.mark.parametrize("name", COMPRESSED)
def test_training_says_the_same(run: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / "corpus"
    path.write_bytes(CONTENTS[name])
    for errors in ("strict", "replace", "skip"):
        with pytest.raises(TrainingError) as caught:
            tokenmill.train(path, num_merges=1, errors=errors)
        assert str(caught.value) == f"{path}: {SAYS[name]}"


@pytest.mark.parametrize("name", WIDE)
def test_training_says_how_to_convert(run: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / "corpus"
    path.write_bytes(CONTENTS[name])
    result = run("train", path, "--num-merges", 1, "--out", tmp_path / "m")
    place = CONTENTS[name].find(0xFE if name.endswith("32-be") else CONTENTS[name][0])
    encoding = WIDE[name]
    assert result.err == (
        f"tokenmill: error: {path}: at byte {place}: not UTF-8, but {encoding}; "
        f"convert it with iconv -f {encoding} -t UTF-8 first\n"
    )
    skipped = run("train", path, "--num-merges", 1, "--errors", "skip", "--out", tmp_path / "m", "--json")
    assert skipped.json["skipped"] == 1
