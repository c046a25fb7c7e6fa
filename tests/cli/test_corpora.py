"""What commands read: compressed text, JSONL, tables, folders and URLs; and tables that they write."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenmill
from sources_made import COMPRESSED, ROWS, TEXTS, arrow, json_lines, parquet, table, text_files

from .conftest import Pipe, Run

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402
from pyarrow import feather  # noqa: E402

SIZE = sum(len(text.encode()) for text in TEXTS)


def ids_of(folder: Path) -> list[list[int]]:
    tok = tokenmill.load(folder)
    return [tok.encode(text) for text in TEXTS]


@pytest.fixture(params=ROWS)
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of rows, with nulls among them."""
    name, make = ROWS[request.param]
    path = tmp_path / name
    path.write_bytes(make([None, *TEXTS, None]))
    return path


def test_encode_and_count_take_each_row_for_a_text(
    run: Run, folder: Path, rows: Path, tmp_path: Path
) -> None:
    expected = ids_of(folder)
    printed = run("encode", "-t", folder, rows)
    assert (printed.code, printed.err) == (0, "")
    assert [list(map(int, line.split())) for line in printed.out.decode().splitlines()] == expected
    shown = run("encode", "-t", folder, rows, "--json").json["texts"]
    assert [(row["file"], row["count"], row["ids"]) for row in shown] == [
        (str(rows), len(ids), ids) for ids in expected
    ]
    if rows.name != "a.ndjson":  # which has empty lines
        assert [row["row"] for row in shown] == [2, 3, 4, 5, 6]
    assert run("encode", "-t", folder, rows, "--out", tmp_path / "ids.bin").code == 0
    assert np.fromfile(tmp_path / "ids.bin", "uint16").tolist() == [id for ids in expected for id in ids]
    (counted,) = run("count", "-t", folder, rows, "--json").json["texts"]
    assert (counted["count"], counted["documents"], counted["bytes"]) == (sum(map(len, expected)), 5, SIZE)


def test_lines_of_rows_and_an_array_of_them_are_refused(
    run: Run, folder: Path, rows: Path, tmp_path: Path
) -> None:
    result = run("encode", "-t", folder, rows, "--documents", "lines")
    assert (result.code, result.out) == (2, b"")
    assert result.err.startswith(f"tokenmill: error: {rows}: each row of this file is a document\nhint: ")
    result = run("encode", "-t", folder, rows, "--out", tmp_path / "ids.npy")
    assert (result.code, "an array holds the ids of one text" in result.err) == (2, True)
    assert not (tmp_path / "ids.npy").exists()


@pytest.mark.parametrize("kind", COMPRESSED)
def test_compressed_text_is_text(run: Run, folder: Path, tmp_path: Path, pipe: Pipe, kind: str) -> None:
    paths = text_files(tmp_path / "packed", TEXTS, kind)
    plain = text_files(tmp_path / "plain", TEXTS)
    for words in (("encode",), ("encode", "--documents", "lines")):
        expected = run(*words, "-t", folder, *plain).out
        assert run(*words, "-t", folder, *paths).out == expected
        assert run(*words, "-t", folder, tmp_path / "packed").out == expected
        one = run(*words, "-t", folder, plain[0]).out
        assert run(*words, "-t", folder, stdin=paths[0].read_bytes()).out == one
        assert run(*words, "-t", folder, pipe(paths[0].read_bytes())).out == one
    counted = [run("count", "-t", folder, *files, "--json").json["total"] for files in (paths, plain)]
    assert counted[0] == counted[1] == sum(map(len, ids_of(folder)))
    chunks = [
        [
            {name: value for name, value in json.loads(line).items() if name != "file"}
            for line in run("chunk", "-t", folder, "--max-tokens", 9, *files, "--json").out.splitlines()
        ]
        for files in (paths, plain)
    ]
    assert chunks[0] == chunks[1] != []


def test_train_takes_fields_columns_folders_and_standard_input(run: Run, tmp_path: Path) -> None:
    expected = tokenmill.train(texts=TEXTS, num_merges=20)
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a.jsonl").write_bytes(json_lines(TEXTS))
    (tmp_path / "b.parquet").write_bytes(parquet(TEXTS))
    target = tmp_path / "m"
    for words, stdin in [
        ((tmp_path / "rows",), b""),
        ((tmp_path / "rows" / "a.jsonl", "--field", "meta.body"), b""),
        ((tmp_path / "b.parquet", "--column", "text"), b""),
        (("-", "--field", "text"), json_lines(TEXTS)),
        (("-", "--field", "text"), gzip.compress(json_lines(TEXTS))),
        (("-",), parquet(TEXTS)),
    ]:
        result = run("train", *words, "--num-merges", 20, "--out", target, "--json", stdin=stdin)
        assert (result.code, result.json["documents"]) == (0, 5)
        assert tokenmill.load(target).merges == expected.merges
    result = run(
        "train", "-", "--field", "texts", "--num-merges", 20, "--out", target, stdin=json_lines(["a"])
    )
    assert 'standard input: row 1: has no field "texts": it has "id", "meta", "text"' in result.err
    assert "name another one with --field" in result.err


def test_pretokens_of_rows_are_counted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(json_lines(TEXTS)))
    words = ("--field", "meta.body", "--out", tmp_path / "counts", "--json")
    assert run("count-pretokens", tmp_path / "a.jsonl.gz", *words).json["documents"] == 5
    tok = tokenmill.train(counts=tmp_path / "counts", num_merges=20)
    assert tok == tokenmill.train(texts=TEXTS, num_merges=20)


def test_the_trace_takes_rows(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(json_lines(["ab ab", None, "ab"]))
    (tmp_path / "a.txt").write_text("ab ab")
    (tmp_path / "b.txt").write_text("ab")
    words = ("--num-merges", 1, "--split", "whitespace", "--trace")
    page = run("train", tmp_path / "a.jsonl", *words).out.decode()
    assert "step 1: a + b, count 3\n" in page
    assert page == run("train", tmp_path / "a.txt", tmp_path / "b.txt", *words).out.decode()


def test_curve_and_lorem_take_rows(run: Run, tmp_path: Path) -> None:
    (tmp_path / "en.jsonl.gz").write_bytes(gzip.compress(json_lines(TEXTS)))
    (tmp_path / "en.txt").write_text("".join(TEXTS))
    words = ("--sizes", "260,270", "--json")
    found = run("curve", "--train", tmp_path / "en.txt", *words, tmp_path / "en.jsonl.gz").json
    assert found["names"] == ["en"]
    assert found["rows"][0]["bytes"] == SIZE
    assert run("lorem", "--from", tmp_path / "en.jsonl.gz", "--words", 3, "--seed", 1).code == 0


def test_a_limit_holds_for_each_row(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(json_lines(TEXTS))
    most = max(map(len, ids_of(folder)))
    assert run("count", "-t", folder, tmp_path / "a.jsonl", "--limit", most).code == 0
    result = run("count", "-t", folder, tmp_path / "a.jsonl", "--limit", most - 1)
    assert result.code == 1
    assert f">{most - 1}" in result.out.decode()


def test_what_is_damaged_is_said_and_nothing_is_written(run: Run, folder: Path, tmp_path: Path) -> None:
    packed = gzip.compress(json_lines(TEXTS))
    (tmp_path / "a.jsonl.gz").write_bytes(packed[:-5])
    target = tmp_path / "ids.bin"
    for words in (("encode", "--out", target), ("count",), ("chunk", "--max-tokens", "5")):
        result = run(*words, "-t", folder, tmp_path / "a.jsonl.gz")
        assert result.code == 2
        assert result.err == (
            f"tokenmill: error: {tmp_path / 'a.jsonl.gz'}: at byte {len(packed) - 5}: is damaged or cut off "
            "(gzip): the file ends before its data does; fetch or write the file again\n"
        )
        assert not target.exists()
    (tmp_path / "b.jsonl").write_text('{"text":"low"}\n{"text":"low"\n')
    result = run("encode", "-t", folder, tmp_path / "b.jsonl")
    assert f"{tmp_path / 'b.jsonl'}: row 2, at byte 28: is no JSON" in result.err
    assert result.out == b""


def test_urls_are_read(run: Run, folder: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/cli/a.jsonl", json_lines(TEXTS))
    memory.pipe("/cli/b.txt", b"low")
    tok = tokenmill.load(folder)
    total = sum(map(len, ids_of(folder))) + tok.count("low")
    for words in (["memory://cli/*"], ["memory://cli"], ["memory://cli/a.jsonl", "memory://cli/b.txt"]):
        assert run("count", "-t", folder, *words, "--json").json["total"] == total
    assert "memory://cli/none: no such file" in run("count", "-t", folder, "memory://cli/none").err


def test_ids_and_counts_are_written_behind_urls(run: Run, folder: Path, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    (tmp_path / "a.txt").write_bytes(b"low lower")
    tok = tokenmill.load(folder)
    assert run("encode", "-t", folder, tmp_path / "a.txt", "--out", "memory://out/ids.bin").code == 0
    assert np.frombuffer(memory.cat("/out/ids.bin"), np.uint16).tolist() == tok.encode("low lower")
    (tmp_path / "a.parquet").write_bytes(parquet(TEXTS))
    assert run("encode", "-t", folder, tmp_path / "a.parquet", "--out", "memory://out/a.parquet").code == 0
    assert pq.read_table(memory.open("/out/a.parquet"))["ids"].to_pylist() == ids_of(folder)
    assert run("count-pretokens", tmp_path / "a.txt", "--out", "memory://out/a.counts").code == 0
    assert tokenmill.PretokenCounts.load("memory://out/a.counts").pretokens == 2
    refused = run("encode", "-t", folder, tmp_path / "a.txt", "--out", "https://a.test/ids.bin")
    assert "https://a.test/ids.bin: cannot write to a web server" in refused.err


# ---- tables out -------------------------------------------------------------------------------


def test_tables_come_back_with_their_ids(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet([*TEXTS, None]))
    (tmp_path / "b.arrow").write_bytes(arrow(TEXTS))
    target = tmp_path / "ids.parquet"
    result = run("encode", "-t", folder, tmp_path / "a.parquet", tmp_path / "b.arrow", "--out", target)
    expected = ids_of(folder)
    tokens = 2 * sum(map(len, expected))
    assert result.code == 0
    assert result.err == f"saved {target}: 10 documents, {2 * SIZE:,} bytes, {tokens:,} tokens as uint32\n"
    found = pq.read_table(target)
    assert found.schema.names == ["id", "text", "ids", "n_tokens"]
    assert found.schema.field("ids").type == pa.large_list(pa.uint32())
    assert found["id"].to_pylist() == [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4]
    assert found["text"].to_pylist() == [*TEXTS, None, *TEXTS]
    assert found["ids"].to_pylist() == [*expected, None, *expected]
    assert found["n_tokens"].to_pylist() == [*map(len, expected), None, *map(len, expected)]


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("ids.arrow", lambda path: pa.ipc.open_file(path).read_all()),
        ("ids.feather", feather.read_table),
        ("ids.arrows", lambda path: pa.ipc.open_stream(path).read_all()),
    ],
)
def test_tables_come_back_as_arrow_files_and_streams(
    run: Run, folder: Path, tmp_path: Path, name: str, read: Callable[[Path], Any]
) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet([*TEXTS, None]))
    (tmp_path / "b.parquet").write_bytes(parquet([]))
    for source, texts in (("a.parquet", [*TEXTS, None]), ("b.parquet", [])):
        assert run("encode", "-t", folder, tmp_path / source, "--out", tmp_path / name).code == 0
        found = read(tmp_path / name)
        assert found.schema.names == ["id", "text", "ids", "n_tokens"]
        assert found["text"].to_pylist() == texts
        assert found["ids"].to_pylist() == [*ids_of(folder), None][: len(texts)]
        # We read it again, too.
        total = run("count", "-t", folder, tmp_path / name, "--json").json["total"]
        assert total == (sum(map(len, ids_of(folder))) if texts else 0)


def test_an_arrow_stream_goes_to_standard_output(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet(TEXTS))
    result = run("encode", "-t", folder, tmp_path / "a.parquet", "--format", "arrows")
    assert pa.ipc.open_stream(result.out).read_all()["ids"].to_pylist() == ids_of(folder)


def test_columns_of_tables_have_the_names_that_are_asked_for(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet(["low été", None]))
    target = tmp_path / "ids.parquet"

    def columns(*words: str) -> dict[str, Any]:
        result = run("encode", "-t", folder, tmp_path / "a.parquet", "--out", target, *words)
        assert (result.code, "1 document, " in result.err) == (0, True), result.err
        assert f" {len(ids)} tokens" in result.err
        return {name: column for name, column in pq.read_table(target).to_pydict().items() if name != "id"}

    tok = tokenmill.load(folder)
    encoding = tok.encode_with_offsets("low été")
    ids = encoding.ids
    both = {"text": ["low été", None], "t": [ids, None]}
    assert columns("--ids-column", "t", "--count-column", "n") == {**both, "n": [len(ids), None]}
    assert columns("--ids-column", "t", "--count-column", "") == both
    assert columns("--ids-column", "") == {"text": both["text"], "n_tokens": [len(ids), None]}
    with_offsets = columns("--offsets")
    assert list(with_offsets) == ["text", "ids", "n_tokens", "starts", "ends"]
    assert with_offsets["starts"] == [[start for start, _ in encoding.offsets], None]
    assert with_offsets["ends"] == [[end for _, end in encoding.offsets], None]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ids-column", "id"), 'already has a column "id"; choose another name with --ids-column'),
        (("--ids-column", "starts", "--offsets"), '--offsets would add a second column "starts"'),
        (("--count-column", "text"), 'already has a column "text"; choose another name with --count-column'),
        (("--ids-column", "", "--count-column", ""), "are both empty"),
        (("--ids-column", "", "--offsets"), "--offsets needs the column of ids"),
        (("--format", "ids", "--offsets"), "--offsets is for tables with ids"),
        (("--format", "bin", "--count-column", "n"), "--count-column is for tables with ids"),
    ],
)
def test_names_of_columns_that_cannot_be_are_refused(
    run: Run, folder: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet(["a"]))
    target = tmp_path / "ids.parquet"
    result = run("encode", "-t", folder, tmp_path / "a.parquet", "--out", target, *words)
    assert (result.code, said in result.err) == (2, True), result.err
    assert not target.exists()


@pytest.mark.parametrize("kind", ["string_view", "binary_view", "dictionary", "large_binary"])
@pytest.mark.parametrize("name", ["ids.arrow", "ids.parquet"])
def test_text_of_every_type_is_counted(run: Run, folder: Path, tmp_path: Path, kind: str, name: str) -> None:
    texts = pa.array(["low été", None, "low été"])
    typed = texts.dictionary_encode() if kind == "dictionary" else texts.cast(getattr(pa, kind)())
    with pa.ipc.new_file(tmp_path / "a.arrow", pa.schema([("text", typed.type)])) as writer:
        writer.write_table(pa.table({"text": typed}))
    result = run("encode", "-t", folder, tmp_path / "a.arrow", "--out", tmp_path / name)
    assert (result.code, "2 documents, 18 bytes" in result.err) == (0, True), result.err


def test_columns_that_parquet_cannot_hold_are_told(run: Run, folder: Path, tmp_path: Path) -> None:
    made = pa.table({"text": ["low"], "span": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})
    with pa.ipc.new_file(tmp_path / "a.arrow", made.schema) as writer:
        writer.write_table(made)
    result = run("encode", "-t", folder, tmp_path / "a.arrow", "--out", tmp_path / "ids.parquet")
    assert "error: a Parquet file does not support these columns: " in result.err
    assert result.err.endswith("hint: --format arrow\n")
    assert not (tmp_path / "ids.parquet").exists()
    assert run("encode", "-t", folder, tmp_path / "a.arrow", "--out", tmp_path / "ids.arrow").code == 0


def test_an_arrow_stream_goes_through_pipes(run: Run, folder: Path, tmp_path: Path) -> None:
    stream = arrow(TEXTS, "stream")
    total = sum(map(len, ids_of(folder)))
    assert run("count", "-t", folder, "-", "--json", stdin=stream).json["total"] == total
    assert run("encode", "-t", folder, "-", "--out", tmp_path / "ids.arrow", stdin=stream).code == 0
    assert pa.ipc.open_file(tmp_path / "ids.arrow").read_all()["ids"].to_pylist() == ids_of(folder)
    (tmp_path / "rows.bin").write_bytes(stream)
    named = run("count", "-t", folder, tmp_path / "rows.bin", "--column", "text", "--json")
    assert named.json["total"] == total


def test_dictionaries_that_differ_go_to_a_stream_alone(run: Run, folder: Path, tmp_path: Path) -> None:
    for name, kinds in (("a", ["x", "y"]), ("b", ["z", "y"])):
        kind = pa.array(kinds).dictionary_encode()
        made = pa.table({"text": ["low", "lower"], "kind": kind})
        with pa.ipc.new_file(tmp_path / f"{name}.arrow", made.schema) as writer:
            writer.write_table(made)
    command = ("encode", "-t", folder, tmp_path / "a.arrow", tmp_path / "b.arrow", "--out")
    refused = run(*command, tmp_path / "ids.arrow")
    assert (refused.code, "holds one dictionary per column" in refused.err) == (2, True), refused.err
    assert not (tmp_path / "ids.arrow").exists()
    assert run(*command, tmp_path / "ids.arrows").code == 0
    found = pa.ipc.open_stream(tmp_path / "ids.arrows").read_all()
    assert found["kind"].to_pylist() == ["x", "y", "z", "y"]


def test_tables_have_options(run: Run, named: Path, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet(["fox", ""]))
    target = tmp_path / "ids"
    words = ("--format", "parquet", "--dtype", "uint16", "--add-special-tokens", "--out", target, "--json")
    facts = run("encode", "-t", named, tmp_path / "a.parquet", *words).json
    tok = tokenmill.load(named)
    expected = [tok.encode(text, add_special_tokens=True) for text in ("fox", "")]
    assert (facts["documents"], facts["bytes"], facts["tokens"]) == (2, 3, sum(map(len, expected)))
    found = pq.read_table(target)
    assert found["ids"].to_pylist() == expected
    assert found.schema.field("ids").type == pa.large_list(pa.uint16())


def test_a_table_without_rows_and_large_ones_keep_their_columns(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokenmill.cli import tables

    monkeypatch.setattr(tables, "_GROUP", 1 << 16)
    (tmp_path / "a.parquet").write_bytes(parquet([]))
    target = tmp_path / "ids.parquet"
    assert run("encode", "-t", folder, tmp_path / "a.parquet", "--out", target).code == 0
    assert pq.read_table(target).schema.names == ["id", "text", "ids", "n_tokens"]
    texts = [f"text {number} fox" * 10 for number in range(3000)]
    (tmp_path / "a.parquet").write_bytes(parquet(texts, row_group_size=1000))
    assert run("encode", "-t", folder, tmp_path / "a.parquet", "--out", target).code == 0
    found = pq.ParquetFile(target)
    assert found.metadata.num_row_groups > 1
    assert found.read()["ids"].to_pylist() == tokenmill.load(folder).encode_batch(texts).to_lists()


@pytest.mark.parametrize(
    ("make", "words", "said"),
    [
        (lambda: b"text", (), "is not a table; --format parquet adds columns to tables"),
        (lambda: json_lines(["a"]), ("--field", "text"), "--field does not apply to --format parquet"),
        (lambda: parquet(["a"]), ("--column", "words"), 'has no column "words": it has "id", "text"'),
        (lambda: parquet(["a"]), ("--column", "id"), 'column "id" is of int64, not of strings'),
        (lambda: parquet(["a"]), ("--eos", "0"), "--eos does not apply to --format parquet"),
        (
            lambda: parquet(["a"]),
            ("--documents", "lines"),
            "--documents lines does not apply to --format parquet",
        ),
        (lambda: parquet(["a"])[:-9], (), "is damaged or cut off (Parquet)"),
    ],
)
def test_what_gives_no_table_is_refused(
    run: Run, folder: Path, tmp_path: Path, make: Any, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "a").write_bytes(make())
    target = tmp_path / "ids.parquet"
    result = run("encode", "-t", folder, tmp_path / "a", *words, "--out", target)
    assert (result.code, said in result.err) == (2, True), result.err
    assert not target.exists()


def test_tables_of_other_columns_are_refused(run: Run, folder: Path, tmp_path: Path) -> None:
    pq.write_table(table(["a"]), tmp_path / "a.parquet")
    pq.write_table(table(["a"]).drop_columns("id"), tmp_path / "b.parquet")
    target = tmp_path / "ids.parquet"
    result = run("encode", "-t", folder, tmp_path / "a.parquet", tmp_path / "b.parquet", "--out", target)
    assert f"{tmp_path / 'b.parquet'}: has other columns than {tmp_path / 'a.parquet'}" in result.err
    assert not target.exists()


def test_tables_without_pyarrow_say_what_to_install(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet(["a"]))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for words in (("count",), ("encode", "--out", tmp_path / "ids.parquet")):
        result = run(*words, "-t", folder, tmp_path / "a.parquet")
        assert (result.code, 'pip install "tokenmill[arrow]"' in result.err) == (2, True)
