"""``encode``, ``decode`` and ``count``: the library's results, through files and pipes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import tokenmill

from .conftest import END, TEXT, Run


def test_encode_prints_a_line_of_ids_for_each_file(run: Run, folder: Path, text_file: Path) -> None:
    ids = tokenmill.load(folder).encode(TEXT)
    line = " ".join(map(str, ids)).encode() + b"\n"
    result = run("encode", "-t", folder, text_file, text_file)
    assert (result.code, result.out, result.err) == (0, line * 2, "")


def test_encode_reads_standard_input(run: Run, folder: Path) -> None:
    expected = tokenmill.load(folder).encode("The fox")
    for files in ([], ["-"]):
        result = run("encode", "-t", folder, *files, stdin=b"The fox")
        assert result.out.split() == [str(number).encode() for number in expected]


def test_encode_json_names_file_count_and_ids(run: Run, folder: Path, text_file: Path) -> None:
    ids = tokenmill.load(folder).encode(TEXT)
    result = run("encode", "-t", folder, text_file, "--json")
    assert result.json == {"texts": [{"file": str(text_file), "count": len(ids), "ids": ids}]}


def test_what_encode_writes_decode_reads_back_byte_for_byte(run: Run, folder: Path, tmp_path: Path) -> None:
    content = TEXT.encode() + b"\xff\x00 \r\n\xe4\xbd"
    source, ids, array, back = (tmp_path / name for name in ("source", "ids", "ids.npy", "back"))
    source.write_bytes(content)
    assert run("encode", "-t", folder, source, "--out", ids).code == 0
    assert run("encode", "-t", folder, source, "--format", "npy", "--out", array).code == 0
    for encoded in (ids, array):
        result = run("decode", "-t", folder, encoded, "--out", back)
        assert (result.code, result.out, result.err) == (0, b"", "")
        assert back.read_bytes() == content


def test_npy_is_an_array_of_the_ids(run: Run, folder: Path, text_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "ids.npy"
    run("encode", "-t", folder, text_file, "--format", "npy", "--out", target)
    array = np.load(target)
    assert array.dtype == np.uint32
    assert array.tolist() == tokenmill.load(folder).encode(TEXT)


@pytest.mark.parametrize("written", ["{}\n{}", "[{}, {}]", "{},{}", "  {}\t{}\r\n"])
def test_decode_takes_ids_however_they_are_separated(run: Run, folder: Path, written: str) -> None:
    first, second = tokenmill.load(folder).encode("q!")
    assert run("decode", "-t", folder, stdin=written.format(first, second).encode()).out == b"q!"


def test_decode_json_shows_half_a_character_as_replaced(run: Run, folder: Path) -> None:
    half = tokenmill.load(folder).encode(b"a\xe4")
    result = run("decode", "-t", folder, "--json", stdin=" ".join(map(str, half)).encode())
    assert result.json == {"texts": [{"file": "-", "text": "a\ufffd"}]}


def test_special_tokens_are_text_unless_asked_for(run: Run, folder: Path) -> None:
    tokenizer = tokenmill.load(folder)
    text = f"fox{END}".encode()
    end = str(tokenizer.special_tokens[END]).encode()
    assert end not in run("encode", "-t", folder, stdin=text).out.split()
    parsed = run("encode", "-t", folder, "--special", "parse", stdin=text).out
    assert parsed.split()[-1] == end
    assert run("decode", "-t", folder, stdin=parsed).out == text
    assert run("decode", "-t", folder, "--skip-special-tokens", stdin=parsed).out == b"fox"


def test_count_is_the_number_of_ids(run: Run, folder: Path, text_file: Path) -> None:
    count = len(tokenmill.load(folder).encode(TEXT))
    assert run("count", "-t", folder, stdin=TEXT.encode()).out == f"{count}\n".encode()
    assert run("count", "-t", folder, "--text", TEXT).out == f"{count}\n".encode()
    chars, size = len(TEXT), text_file.stat().st_size
    ratio = size / count
    lines = run("count", "-t", folder, text_file, text_file).out.decode().splitlines()
    assert [line.split() for line in lines] == [
        ["tokens", "characters", "bytes", "bytes/token"],
        [str(count), str(chars), str(size), f"{ratio:.2f}", str(text_file)],
        [str(count), str(chars), str(size), f"{ratio:.2f}", str(text_file)],
        [str(2 * count), str(2 * chars), str(2 * size), f"{ratio:.2f}", "total"],
    ]
    assert run("count", "-t", folder, text_file).out.decode().splitlines() == lines[:2]
    facts = {"count": count, "characters": chars, "bytes": size, "bytes_per_token": round(ratio, 3)}
    assert run("count", "-t", folder, text_file, "--json").json == {
        "texts": [{"file": str(text_file), **facts, "unknown": None}],
        "total": count,
        "totals": {**facts, "unknown": None},
    }


@pytest.mark.parametrize("part", [1, 2, 3, 7])
def test_characters_are_counted_in_parts(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.setattr("tokenmill.cli.count._PART", part)
    for content, characters in (
        (TEXT.encode(), len(TEXT)),
        (b"", 0),
        ("🦊".encode()[:-1], None),
        (b"\xff", None),
    ):
        assert (
            run("count", "-t", folder, "--json", stdin=content).json["texts"][0]["characters"] == characters
        )


def test_count_says_what_it_cannot(run: Run, folder: Path, tmp_path: Path) -> None:
    empty, latin = tmp_path / "empty", tmp_path / "latin"
    empty.touch()
    latin.write_bytes(b"K\xe4se")
    lines = run("count", "-t", folder, empty, latin).out.decode().splitlines()
    assert lines[1].split() == ["0", "0", "0", "-", str(empty)]
    assert [line.split()[1:3] for line in lines[2:]] == [["-", "4"], ["-", "4"]]
    rows = run("count", "-t", folder, empty, latin, "--json").json["texts"]
    assert [row["characters"] for row in rows] == [0, None]
    assert rows[0]["bytes_per_token"] is None
    lines = run("count", "-t", folder, "--text", "fox", "--text", "a\nb").out.decode().splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ['"fox"', '"a\\nb"', "total"]


def test_count_with_a_limit_says_which_texts_fit(run: Run, folder: Path, tmp_path: Path) -> None:
    short, long = tmp_path / "short", tmp_path / "long"
    short.write_bytes(b"The fox")
    long.write_bytes(b"The fox " * 100_000)
    count = tokenmill.load(folder).count("The fox")
    result = run("count", "-t", folder, "--limit", count, short)
    assert (result.code, result.out.decode().splitlines()[1].split()[0]) == (0, str(count))
    result = run("count", "-t", folder, "--limit", count, short, long)
    assert result.code == 1
    assert [line.split()[0] for line in result.out.decode().splitlines()[1:]] == [
        str(count),
        f">{count}",
        f">{count}",
    ]
    result = run("count", "-t", folder, "--limit", count, short, long, "--json")
    assert result.code == 1
    assert [(row["fits"], row["count"]) for row in result.json["texts"]] == [(True, count), (False, None)]
    assert (result.json["total"], result.json["totals"]["fits"]) == (None, False)
    result = run("count", "-t", folder, "--limit", 0, stdin=b"The fox")
    assert (result.code, result.out) == (1, b">0\n")


def test_count_takes_the_tokens_around_a_text_with_it(run: Run, tmp_path: Path) -> None:
    tokenmill.train(
        texts=["ab"], num_merges=0, bos_token="<s>", eos_token="</s>", add_bos_token=True, add_eos_token=True
    ).save(tmp_path / "around")
    words = ("count", "-t", tmp_path / "around")
    around = (*words, "--add-special-tokens")
    assert [run(*given, stdin=b"abc").out for given in (words, around)] == [b"3\n", b"5\n"]
    # A vocabulary with an unknown token is counted in another way.
    tokenmill.load(tmp_path / "around", unk_token="<unk>").save(tmp_path / "unk")
    assert run("count", "-t", tmp_path / "unk", "--add-special-tokens", stdin=b"abc").out == b"5\n"
    for limit, code in ((4, 1), (5, 0)):
        assert run(*around, "--limit", limit, stdin=b"abc").code == code
    assert run(*words, "--limit", 3, stdin=b"abc").code == 0


@pytest.mark.parametrize("times", [1, 200_000])
def test_count_says_how_many_tokens_are_unknown(run: Run, tmp_path: Path, times: int) -> None:
    path, known, strange = (tmp_path / name for name in ("t", "known", "strange"))
    tokenmill.train(texts=["a b ab"], num_merges=0, alphabet="chars", unk_token="?").save(path)
    known.write_text("ab a" * times)
    strange.write_text("abxay " * times)
    tokenizer = tokenmill.load(path)
    unknown = sum(number == tokenizer.unk_token_id for number in tokenizer.encode(strange.read_text()))
    assert unknown == 2 * times
    lines = run("count", "-t", path, known, strange).out.decode().splitlines()
    assert lines[0].split()[-1] == "unknown"
    assert [line.split()[4] for line in lines[1:]] == ["0", str(unknown), str(unknown)]
    assert "unknown" not in run("count", "-t", path, known).out.decode()
    found = run("count", "-t", path, known, strange, "--json").json
    assert [row["unknown"] for row in found["texts"]] == [0, unknown]
    assert found["totals"]["unknown"] == unknown
    assert [row["count"] for row in found["texts"]] == [
        tokenizer.count(content.read_bytes()) for content in (known, strange)
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [("y.ids", ""), ("y", ""), ("y.npy", " as uint32"), ("y.bin", " as uint16")],
)
def test_encode_says_what_it_saved(
    run: Run, folder: Path, text_file: Path, tmp_path: Path, name: str, said: str
) -> None:
    count = len(tokenmill.load(folder).encode(TEXT))
    size = text_file.stat().st_size
    facts = f": 1 document, {size:,} bytes, {count:,} tokens"
    for options in ((), ("--json",)) if not said else ((),):
        result = run("encode", "-t", folder, text_file, "--out", tmp_path / name, *options)
        assert (result.code, result.out) == (0, b"")
        assert result.err == f"saved {tmp_path / name}{facts}{said}\n"
    assert run("encode", "-t", folder, text_file).err == ""


def test_out_replaces_a_file_at_once_and_keeps_its_rights(run: Run, folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "count"
    target.write_text("old")
    target.chmod(0o600)
    run("count", "-t", folder, "--out", target, stdin=b"fox")
    assert target.read_text().strip().isdigit()
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["count"]


def test_a_new_file_has_the_rights_that_the_process_gives(run: Run, folder: Path, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        run("count", "-t", folder, "--out", tmp_path / "count", stdin=b"fox")
    finally:
        os.umask(before)
    assert (tmp_path / "count").stat().st_mode & 0o777 == 0o640


def test_a_command_that_fails_leaves_the_file_as_it_was(run: Run, folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "ids"
    target.write_text("old")
    result = run("encode", "-t", folder, "--out", target, tmp_path / "missing")
    assert result.code == 2
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["ids"]


def test_a_long_text_is_written_in_pieces_that_fit(run: Run, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"many words " * 100_000)
    ids = tokenmill.load(folder).encode(path.read_bytes())
    assert run("encode", "-t", folder, path).out == " ".join(map(str, ids)).encode() + b"\n"
    result = run("encode", "-t", folder, path, "--json").json
    assert result == {"texts": [{"file": str(path), "count": len(ids), "ids": ids}]}


def test_an_empty_text_is_an_empty_line(run: Run, folder: Path) -> None:
    assert run("encode", "-t", folder).out == b"\n"
    assert run("encode", "-t", folder, "--json").json == {"texts": [{"file": "-", "count": 0, "ids": []}]}


def test_out_that_is_a_folder_is_named(run: Run, folder: Path, tmp_path: Path) -> None:
    result = run("encode", "-t", folder, "--out", tmp_path, stdin=b"fox")
    assert result.code == 2
    assert f"{tmp_path}: is a folder" in result.err


def test_a_number_of_thousands_of_digits_is_no_id(run: Run, folder: Path) -> None:
    result = run("decode", "-t", folder, stdin=b"7" * 6000)
    assert result.code == 2
    assert "is not an id" in result.err


def test_decode_reads_what_encode_writes_as_json(run: Run, folder: Path, tmp_path: Path) -> None:
    first, second, ids = (tmp_path / name for name in ("first", "second", "ids.json"))
    first.write_bytes(TEXT.encode())
    second.write_bytes(b"fox\xff")
    run("encode", "-t", folder, first, second, "--json", "--out", ids)
    assert run("decode", "-t", folder, ids).out == TEXT.encode() + b"fox\xff"
    assert run("decode", "-t", folder, ids, "--json").json == {
        "texts": [{"file": str(first), "text": TEXT}, {"file": str(second), "text": "fox\ufffd"}]
    }


@pytest.mark.parametrize(
    "content",
    [
        '{"a": 1}',
        '{"texts"',
        '{"texts": [{"file": "a", "ids": ["1"]}]}',
        '{"texts": [{"file": "a", "ids": 1}]}',
    ],
)
def test_other_json_is_refused(run: Run, folder: Path, content: str) -> None:
    result = run("decode", "-t", folder, stdin=content.encode())
    assert (result.code, result.out) == (2, b"")
    assert result.err.startswith("tokenmill: error: standard input: ")


def test_decode_takes_ids_in_the_command(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ids = tokenmill.load(folder).encode("quick!")
    assert run("decode", "-t", folder, *ids).out == b"quick!"
    assert run("decode", "-t", folder, str(ids)).out == b"quick!"
    assert run("decode", "-t", folder, " ".join(map(str, ids * 100))).out == b"quick!" * 100
    Path(str(ids[0])).write_text(str(ids[-1]))  # a file of that name is a file
    assert run("decode", "-t", folder, ids[0]).out == b"!"


def test_decode_says_where_ids_come_from(run: Run, folder: Path) -> None:
    assert "'-5' is not an id" in run("decode", "-t", folder, "12", "-5").err
    for result in (run("decode", "-t", folder, "hello"), run("decode", "-t", folder, stdin=b"hello")):
        assert result.code == 2
        assert "`tokenmill encode`" in result.err
