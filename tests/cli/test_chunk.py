"""``chunk``: the library's chunks, in lines."""

from __future__ import annotations

import json
from pathlib import Path

import tokenmill

from .conftest import TEXT, Run


def test_json_has_the_chunks_of_each_file(run: Run, folder: Path, text_file: Path) -> None:
    tok = tokenmill.load(folder)
    options = ["--max-tokens", "9", "--overlap", "3", "--at", "word", "--ids"]
    result = run("chunk", "-t", folder, *options, "--json", text_file, text_file)
    assert (result.code, result.err) == (0, "")
    rows = [json.loads(line) for line in result.out.splitlines()]
    want = [
        {
            "file": str(text_file),
            "chunk": number,
            "start": chunk.start,
            "end": chunk.end,
            "byte_start": chunk.byte_start,
            "byte_end": chunk.byte_end,
            "count": chunk.count,
            "text": chunk.text,
            "ids": chunk.ids,
        }
        for number, chunk in enumerate(tok.chunk(TEXT, 9, overlap=3, at="word"))
    ]
    assert len(want) > 1
    assert rows == want * 2


def test_a_page_and_a_file_and_standard_input(
    run: Run, folder: Path, text_file: Path, tmp_path: Path
) -> None:
    tok = tokenmill.load(folder)
    first = tok.chunk(TEXT, 9)[0]
    page = run("chunk", "-t", folder, "--max-tokens", "9", text_file).out.decode()
    assert page.startswith(
        f"== {text_file}, chunk 0: characters 0 to {first.end}, {first.count} tokens\n{first.text}"
    )
    out = tmp_path / "chunks.jsonl"
    assert run("chunk", "-t", folder, "--max-tokens", "9", "--out", out, stdin=TEXT.encode()).code == 0
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert "".join(row["text"] for row in rows) == TEXT
    assert {row["file"] for row in rows} == {"standard input"}


def test_what_cannot_be_cut(run: Run, folder: Path, text_file: Path, tmp_path: Path) -> None:
    result = run("chunk", "-t", folder, text_file)
    assert (result.code, "--max-tokens" in result.err) == (2, True)
    result = run("chunk", "-t", folder, "--max-tokens", "4", "--overlap", "4", text_file)
    assert (result.code, "must be less" in result.err) == (2, True)
    result = run("chunk", "-t", folder, "--max-tokens", "4", "--ids", text_file)
    assert (result.code, "--ids is for --json" in result.err) == (2, True)
    bad, out = tmp_path / "bad.txt", tmp_path / "out.jsonl"
    bad.write_bytes(b"abc\xff")
    result = run("chunk", "-t", folder, "--max-tokens", "4", "--out", out, bad)
    assert (result.code, "not UTF-8 (byte 3)" in result.err) == (2, True)
    assert not out.exists()
