"""Sources of documents: every kind of file trains the same tokenizer as its texts do."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from sources_made import (
    CHECKED_FRAME,
    CHECKED_TEXT,
    COMPRESSED,
    ROWS,
    TEXTS,
    arrow,
    frame,
    json_lines,
    parquet,
    table,
    text_files,
)
from tokenmill.sources import decompressed

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def expected() -> tokenmill.Tokenizer:
    return tokenmill.train(texts=TEXTS, num_merges=60)


def check(expected: tokenmill.Tokenizer, files: Any = None, **options: Any) -> None:
    """These sources have the texts, and nothing else."""
    tok = tokenmill.train(files, num_merges=60, **options)
    assert tok == expected
    assert tok.training_report is not None
    report = tok.training_report
    size = sum(len(text.encode()) for text in TEXTS)
    assert (report.documents, report.bytes, report.skipped, report.replaced) == (len(TEXTS), size, 0, 0)


# ---- every kind -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [None, *COMPRESSED])
def test_texts_are_read_whether_compressed_or_not(
    expected: tokenmill.Tokenizer, tmp_path: Path, kind: str | None
) -> None:
    paths = text_files(tmp_path / "texts", TEXTS, kind)
    check(expected, paths)
    check(expected, tmp_path / "texts" / "*")
    check(expected, tmp_path / "texts")
    for path in paths:  # the first bytes tell, not the name
        path.rename(path.with_name(path.stem.partition(".")[0]))
    check(expected, tmp_path / "texts" / "*")


@pytest.mark.parametrize("kind", ROWS)
def test_rows_are_documents_and_nulls_are_none(
    expected: tokenmill.Tokenizer, tmp_path: Path, kind: str
) -> None:
    name, make = ROWS[kind]
    (tmp_path / name).write_bytes(make([None, *TEXTS, None]))
    check(expected, tmp_path / name)
    if "." in name and name not in ("b.txt", "a.arrows.gz"):
        check(expected, tmp_path)
    with pytest.raises(tokenmill.TrainingError, match="each row of this file is a document") as caught:
        tokenmill.train(tmp_path / name, num_merges=1, documents="lines")
    assert caught.value.path == str(tmp_path / name)


@pytest.mark.parametrize("kind", [None, *COMPRESSED])
def test_lines_of_compressed_text_are_documents(tmp_path: Path, kind: str | None) -> None:
    (path,) = text_files(tmp_path / "texts", ["low\r\nlower\n\nlowest"], kind)
    tok = tokenmill.train(path, num_merges=3, documents="lines")
    assert tok == tokenmill.train(texts=["low", "lower", "", "lowest"], num_merges=3)


def test_kinds_may_be_mixed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    files = {"1.txt": b"low", "2.txt.gz": gzip.compress(b"lower"), "3.jsonl": b'{"text":"lowest"}\n'}
    files |= {"4.parquet": parquet(["slow"]), "5.md": b"slower", "a/6.txt.zst": frame(b"slowest")}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    texts = ["low", "lower", "lowest", "slow", "slower", "slowest"]
    assert tokenmill.train(tmp_path, num_merges=9) == tokenmill.train(texts=texts, num_merges=9)


def test_a_frame_with_a_checksum_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(CHECKED_FRAME)
    assert tokenmill.train(tmp_path / "a", num_merges=9) == tokenmill.train(
        texts=[CHECKED_TEXT], num_merges=9
    )


@pytest.mark.parametrize(
    "type", ["string", "large_string", "string_view", "binary", "large_binary", "binary_view", "dictionary"]
)
def test_columns_of_every_type_of_text_are_read(
    expected: tokenmill.Tokenizer, tmp_path: Path, type: str
) -> None:
    from pyarrow import ipc, parquet

    column = pa.array([None, *TEXTS])
    column = column.dictionary_encode() if type == "dictionary" else column.cast(getattr(pa, type)())
    assert column.type == (
        pa.dictionary(pa.int32(), pa.string()) if type == "dictionary" else getattr(pa, type)()
    )
    held = pa.table({"n": [1.0] * len(column), "words": column})
    for name, new in (("a.arrow", ipc.new_file), ("b.arrow", ipc.new_stream)):
        with new(tmp_path / name, held.schema) as writer:
            writer.write_table(held)
        check(expected, tmp_path / name, column="words")
    parquet.write_table(held, tmp_path / "c")
    check(expected, tmp_path / "c", column="words")
    # The same as texts: an array, one in parts, a table, a reader.
    check(expected, texts=column)
    check(expected, texts=pa.chunked_array([column[:3], column[3:]]))
    check(expected, texts=held, column="words")
    check(expected, texts=held.rename_columns(["n", "text"]).to_reader(max_chunksize=2))
    check(expected, texts=held.to_batches()[0], column="words")


# ---- JSONL ------------------------------------------------------------------------------------


def test_the_field_may_be_nested_and_makes_any_file_one_of_rows(
    expected: tokenmill.Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_bytes(json_lines(TEXTS))
    check(expected, tmp_path / "a.json", field="text")
    check(expected, tmp_path / "a.json", field="meta.body")
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(json_lines(TEXTS)))
    check(expected, tmp_path / "a.json.gz", field="meta.body")
    # A table is told by its first bytes, and has its own option.
    (tmp_path / "b.parquet").write_bytes(parquet(["low"]))
    tok = tokenmill.train([tmp_path / "a.json", tmp_path / "b.parquet"], num_merges=60, field="text")
    assert tok == tokenmill.train(texts=[*TEXTS, "low"], num_merges=60)


def test_texts_are_what_pythons_json_reads(tmp_path: Path) -> None:
    lines = [
        r'{"text": "\ud83e\udd8a\u00e9\"\\\/\b\f\n\r\t"}',
        '{"text": 1, "text": "last"}',
        '{"text": "\x7f é 🦊", "x": [NaN, -Infinity, {"y": {}}]}',
        '  {"te\\u0078t" : "spaces" }  ',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    texts = [json.loads(line)["text"] for line in lines]
    assert tokenmill.train(tmp_path / "a.jsonl", num_merges=30, min_frequency=1) == tokenmill.train(
        texts=texts, num_merges=30, min_frequency=1
    )


def test_a_line_may_be_longer_than_what_is_read_at_once(tmp_path: Path) -> None:
    long = "low lower " * 500_000
    (tmp_path / "a.jsonl").write_text(json.dumps({"x": long, "text": long}) + '\n{"text":"lowest"}')
    tok = tokenmill.train(tmp_path / "a.jsonl", num_merges=9)
    assert tok == tokenmill.train(texts=[long, "lowest"], num_merges=9)


def test_halves_of_pairs_and_what_is_not_utf8_follow_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'{"text":"low"}\n{"text":"a\\ud83eb"}\n{"text":"c\xff","x":"\xff"}\n{"x":"\xff","text":"d"}\n'
    )
    with pytest.raises(tokenmill.TrainingError) as caught:
        tokenmill.train(path, num_merges=1)
    assert (caught.value.path, caught.value.row, caught.value.byte) == (str(path), 2, 25)
    replaced = tokenmill.train(path, num_merges=9, errors="replace", min_frequency=1)
    assert replaced == tokenmill.train(
        texts=["low", "a\ufffdb", "c\ufffd", "d"], num_merges=9, min_frequency=1
    )
    assert replaced.training_report is not None
    assert (replaced.training_report.replaced, replaced.training_report.skipped) == (2, 0)
    skipped = tokenmill.train(path, num_merges=9, errors="skip")
    assert skipped == tokenmill.train(texts=["low", "d"], num_merges=9)
    assert skipped.training_report is not None
    assert (skipped.training_report.replaced, skipped.training_report.skipped) == (0, 2)


def test_columns_of_bytes_follow_errors(tmp_path: Path) -> None:
    column = pa.array([b"low", None, b"c\xff", b"lower"])
    pa.parquet = pytest.importorskip("pyarrow.parquet")
    pa.parquet.write_table(pa.table({"text": column}), tmp_path / "a.parquet")
    for source in ({"files": tmp_path / "a.parquet"}, {"texts": column}):
        with pytest.raises(tokenmill.TrainingError, match="row 3, at byte 1: not UTF-8") as caught:
            tokenmill.train(**source, num_merges=1)
        assert caught.value.row == 3
        skipped = tokenmill.train(**source, num_merges=3, errors="skip")
        assert skipped == tokenmill.train(texts=["low", "lower"], num_merges=3)
        assert skipped.training_report.skipped == 1


# ---- which files ------------------------------------------------------------------------------


def test_a_folder_is_all_files_in_it_with_a_known_ending(tmp_path: Path) -> None:
    names = ["b.txt", "a/c.MD", "a/d/e.jsonl", "a.txt.gz"]
    others = [
        ".hidden.txt",
        "_SUCCESS",
        "_part.txt",
        ".git/x.txt",
        "_temporary/0/x.txt",
        "p.png",
        "x.csv",
        "y.json",
    ]
    folder = tmp_path / "folder"
    for name in names + others:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f"text of {name} "
        content = json.dumps({"text": text}) if name.endswith("jsonl") else text
        path.write_bytes(gzip.compress(content.encode()) if name.endswith("gz") else content.encode())
    expected = tokenmill.train(texts=[f"text of {name} " for name in sorted(names)], num_merges=30)
    assert tokenmill.train(folder, num_merges=30) == expected
    assert tokenmill.train(f"{folder}/", num_merges=30) == expected
    assert tokenmill.train(str(tmp_path / "fold*"), num_merges=30) == expected
    report = expected.training_report
    assert report is not None
    assert report.documents == 4


def test_a_folder_without_such_files_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "x.csv").touch()
    with pytest.raises(FileNotFoundError, match=r"ends in \.txt, .*; a pattern such as FOLDER/\*") as caught:
        tokenmill.train(tmp_path, num_merges=1)
    assert caught.value.filename == str(tmp_path)


@pytest.fixture
def memory() -> Iterator[Any]:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def test_urls_are_read_like_paths(expected: tokenmill.Tokenizer, memory: Any, tmp_path: Path) -> None:
    for number, text in enumerate(TEXTS):
        memory.pipe(f"/texts/{number}.txt", text.encode())
        memory.pipe(f"/packed/sub/{number}.txt.gz", gzip.compress(text.encode()))
    for name, make in [("a.jsonl.zst", ROWS["jsonl.zst"][1]), ("a.parquet", parquet), ("a.arrow", arrow)]:
        memory.pipe(f"/rows/{name}", make([*TEXTS, None]))
    memory.pipe("/packed/_SUCCESS", b"")
    memory.pipe("/packed/.hidden/x.txt", b"no")
    check(expected, "memory://texts/*.txt")
    check(expected, [f"memory://texts/{number}.txt" for number in range(len(TEXTS))])
    check(expected, "memory://packed")
    for name in ("a.jsonl.zst", "a.parquet", "a.arrow"):
        check(expected, f"memory://rows/{name}")
    (tmp_path / "a.parquet").write_bytes(parquet(TEXTS))
    check(expected, f"file://{tmp_path}/a.parquet")


def test_urls_that_lead_nowhere_are_told(memory: Any) -> None:
    for url in ("memory://none.txt", "memory://none/*.txt"):
        with pytest.raises(FileNotFoundError) as caught:
            tokenmill.train(url, num_merges=1)
        assert caught.value.filename == url
    memory.pipe("/folder/x.csv", b"")
    with pytest.raises(FileNotFoundError, match="no file in this folder"):
        tokenmill.train("memory://folder", num_merges=1)
    with pytest.raises(tokenmill.TrainingError, match=r"nothing://x: cannot be opened: Protocol not known"):
        tokenmill.train("nothing://x", num_merges=1)


# ---- what is missing --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "extra", "gone"),
    [
        ("a.parquet", lambda: parquet(TEXTS), "arrow", "pyarrow"),
        ("a.arrow", lambda: arrow(TEXTS), "arrow", "pyarrow"),
        ("s.arrow", lambda: arrow(TEXTS, "stream"), "arrow", "pyarrow"),
        ("a.txt.zst", lambda: CHECKED_FRAME, "arrow", "pyarrow"),
        ("memory://a.txt", None, "remote", "fsspec.core"),
    ],
)
def test_a_missing_library_is_named_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: Any, extra: str, gone: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content())
        name = str(tmp_path / name)
    monkeypatch.setitem(sys.modules, gone, None)
    if extra == "arrow":
        monkeypatch.setitem(sys.modules, "compression.zstd", None)
    with pytest.raises(tokenmill.MissingExtraError, match=rf"pip install \"tokenmill\[{extra}\]\"") as caught:
        tokenmill.train(name, num_merges=1)
    assert caught.value.extra == extra
    assert str(caught.value).startswith(name)


def test_a_protocol_whose_library_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(tokenmill.MissingExtraError, match="s3://bucket/a: Install s3fs"):
        tokenmill.train("s3://bucket/a", num_merges=1)


def test_the_standard_library_reads_frames_where_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From Python 3.14 on it does. Its decompressors have one interface, so another one stands in for it."""
    standard = types.ModuleType("compression.zstd")
    standard.ZstdDecompressor = bz2.BZ2Decompressor  # type: ignore[attr-defined]
    standard.ZstdError = OSError  # type: ignore[attr-defined]
    compression = types.ModuleType("compression")
    compression.zstd = standard  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "compression", compression)
    monkeypatch.setitem(sys.modules, "compression.zstd", standard)
    text = os.urandom(300_000).hex().encode()
    packed = bz2.compress(text[:7]) + bz2.compress(text[7:])

    def read(content: bytes, size: int) -> bytes:
        stream = decompressed.zstd(decompressed.Stored(io.BytesIO(content)), "a.zst")
        assert type(stream).__name__ == "_Frames"
        parts = []
        while part := stream.read(size):
            assert len(part) <= size
            parts.append(part)
        return b"".join(parts)

    assert read(packed, 1 << 20) == read(packed, 999) == text
    for broken in (packed[:-3], packed + b"garbage", packed[:1000] + bytes(9) + packed[1009:]):
        with pytest.raises(tokenmill.TrainingError, match=r"a.zst: at byte \d+: is damaged or cut off \(Zst"):
            read(broken, 1 << 20)


# ---- while it is read -------------------------------------------------------------------------


def test_progress_is_told_in_bytes_of_the_files(tmp_path: Path) -> None:
    texts = [f"{number} low lower lowest " * 400_000 for number in range(3)]
    paths = text_files(tmp_path / "texts", texts, "gzip")
    (tmp_path / "rows.jsonl").write_bytes(json_lines(texts))
    for files in (paths, tmp_path / "rows.jsonl"):
        listed = files if isinstance(files, list) else [files]
        total = sum(path.stat().st_size for path in listed)
        calls: list[tuple[str, int, int]] = []
        tokenmill.train(files, num_merges=3, progress=lambda *call, to=calls: to.append(call))
        counted = [call for call in calls if call[0] == "count"]
        assert {call[2] for call in counted} == {total}
        done = [call[1] for call in counted]
        assert done == sorted(done)
        assert done[-1] == total


def test_the_bar_shows_bytes_and_their_rate(capfd: pytest.CaptureFixture[str]) -> None:
    from tokenmill._progress import _figures, follower

    assert _figures(12_500_000, 40_000_000, 0.5) == "12.5/40.0 MB, 25.0 MB/s"
    assert _figures(12_500_000, 0, 0) == "12.5 MB"
    pytest.importorskip("rich")
    with follower(True) as follow:
        assert follow is not None
        follow("count", 1_000_000, 2_000_000)
        follow("merge", 1, 2)
    assert capfd.readouterr().out == ""


_SLOW = """
import sys, time
import tokenmill
from tokenmill import sources

class Slow:
    def read(self, size):
        print("read", flush=True)
        for _ in range(100):
            time.sleep(0.05)
        return b""
    def close(self):
        print("closed", flush=True)
    def seekable(self):
        return False

real = sources.expanded.opener
sources.expanded.opener = lambda name, **options: sources.Source(name, 0, Slow, field=None, column=None)
sources.expanded.compression = lambda start: "gzip"
try:
    tokenmill.train(sys.argv[1], num_merges=1)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs signals")
def test_ctrl_c_stops_a_read_that_waits(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    command = [sys.executable, "-c", _SLOW, str(tmp_path / "a")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "read\n"
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().splitlines() == ["closed", "stopped"]
        assert time.monotonic() - start < 5


def test_a_pipe_may_have_rows(tmp_path: Path, expected: tokenmill.Tokenizer) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    for name, options in (("a.jsonl", {}), ("pipe", {"field": "meta.body"})):
        os.mkfifo(tmp_path / name)
        writer = threading.Thread(
            target=(tmp_path / name).write_bytes, args=(json_lines(TEXTS),), daemon=True
        )
        writer.start()
        check(expected, tmp_path / name, **options)
        writer.join(60)


def test_each_file_is_closed_also_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    real = Path.open

    def spy(self: Path, *arguments: Any, **options: Any) -> Any:
        opened.append(real(self, *arguments, **options))
        return opened[-1]

    monkeypatch.setattr(Path, "open", spy)
    for name, content in [
        ("a.gz", gzip.compress(b"low")),
        ("b.gz", gzip.compress(b"low")[:-3]),
        ("c", parquet(["a"])),
    ]:
        (tmp_path / name).write_bytes(content)
    tokenmill.train([tmp_path / "a.gz", tmp_path / "c"], num_merges=1)
    with pytest.raises(tokenmill.TrainingError):
        tokenmill.train(tmp_path / "b.gz", num_merges=1)
    assert len(opened) > 5
    assert all(file.closed for file in opened)


def test_texts_of_arrow_make_no_strings(
    monkeypatch: pytest.MonkeyPatch, expected: tokenmill.Tokenizer
) -> None:
    class Exports:
        """Neither an iterable nor a sequence."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table(TEXTS)["text"].__arrow_c_stream__()

    check(expected, texts=Exports())
    with pytest.raises(tokenmill.TrainingError, match='without one column "words": it has "id", "text"'):
        tokenmill.train(texts=table(TEXTS), column="words", num_merges=1)
    with pytest.raises(TypeError, match="texts is an Arrow array of int64"):
        tokenmill.train(texts=pa.array([1, 2]), num_merges=1)
    with pytest.raises(TypeError, match="texts is an Arrow array of int64"):
        tokenmill.train(texts=table(TEXTS), column="id", num_merges=1)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.txt.gz", "a.jsonl.zst", "a.feather"])
@pytest.mark.parametrize("content", [b"", b"\x1f", b"plain text\n"])
def test_a_file_that_is_not_what_its_name_says_is_no_text(
    native: Any, tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for files in (path, tmp_path):
        with pytest.raises(native.TrainingError, match="as its name says") as caught:
            native.train(files, num_merges=2)
        assert caught.value.path == str(path)
