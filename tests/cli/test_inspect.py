"""``inspect``: the table, the coloured line, JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenmill
from tokenmill.cli import terminal

from .conftest import END, Run

SAMPLE = "The fox 🦊 käse"


def test_the_table_has_a_row_for_each_token(run: Run, folder: Path) -> None:
    encoding = tokenmill.load(folder).encode_with_offsets(SAMPLE)
    lines = run("inspect", "-t", folder, SAMPLE).out.decode().splitlines()
    assert lines[0].split() == ["#", "id", "text", "token", "bytes", "characters", "byte", "offsets"]
    assert len(lines) == 1 + len(encoding)
    for line, number, (start, end) in zip(lines[1:], encoding.ids, encoding.byte_offsets, strict=True):
        assert line.split()[1] == str(number)
        assert line.endswith(f"{start}-{end}")


def test_json_has_ids_bytes_and_both_offsets(run: Run, folder: Path) -> None:
    tokenizer = tokenmill.load(folder)
    encoding = tokenizer.encode_with_offsets(SAMPLE)
    result = run("inspect", "-t", folder, SAMPLE, "--json").json
    assert result["count"] == len(encoding)
    assert [token["id"] for token in result["tokens"]] == encoding.ids
    assert [token["token"] for token in result["tokens"]] == encoding.tokens
    assert [tuple(token["offsets"]) for token in result["tokens"]] == encoding.offsets
    assert [tuple(token["byte_offsets"]) for token in result["tokens"]] == encoding.byte_offsets
    assert bytes.fromhex("".join(token["bytes"] for token in result["tokens"])) == SAMPLE.encode()


def test_the_text_comes_from_the_argument_a_file_or_a_pipe(run: Run, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "sample"
    path.write_text(SAMPLE, encoding="utf-8")
    expected = run("inspect", "-t", folder, SAMPLE).out
    assert run("inspect", "-t", folder, "--file", path).out == expected
    assert run("inspect", "-t", folder, stdin=SAMPLE.encode() + b"\n").out == expected
    assert run("inspect", "-t", folder, "--text", SAMPLE).out == expected
    assert run("inspect", "-t", folder, SAMPLE, "--file", path).code == 2
    assert run("inspect", "-t", folder, "--text", SAMPLE, "--file", path).code == 2


def test_colour_comes_when_asked_for_or_on_a_terminal(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert b"\x1b[" not in run("inspect", "-t", folder, SAMPLE).out
    always = run("inspect", "-t", folder, "--color", "always", SAMPLE).out
    assert b"\x1b[" in always
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("inspect", "-t", folder, "--color", "always", SAMPLE).out == always


def test_the_coloured_line_is_the_text(run: Run, folder: Path) -> None:
    import re

    page = run("inspect", "-t", folder, "--color", "always", "The fox").out.decode()
    assert re.sub("\x1b\\[[0-9;]*m", "", page).splitlines()[0] == "The fox"


def test_text_that_is_not_utf8_is_an_error_with_its_place(run: Run, folder: Path) -> None:
    result = run("inspect", "-t", folder, stdin=b"ab\xff")
    assert (result.code, result.out) == (2, b"")
    assert "standard input: byte 2" in result.err


def test_the_text_column_is_what_people_read(run: Run, folder: Path) -> None:
    page = run("inspect", "-t", folder, "The fox Ã").out.decode()
    assert '"T' in page
    assert '"Ã"' in page or "\\xc3" in page


def test_long_cells_are_short(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "tokenizer.json"
    run("train", "-", "--num-merges", 60, "--split", "none", "--out", target, stdin=(b" " * 55 + b"\n") * 9)
    page = run("inspect", "-t", target, " " * 55).out.decode()
    assert "20 ×" in page
    assert '" " ×' in page
    assert max(map(len, page.splitlines())) < 110
    assert terminal.shortened(["ab"] * 10 + ["c"] * 9, " ") == "ab ab ab ab ab ab ab ab…"
    assert terminal.quoted(b"a\xe6") == "a\\xe6"
    assert terminal.quoted("ör".encode()) == '"ör"'


def test_no_text_has_no_tokens(run: Run, folder: Path) -> None:
    result = run("inspect", "-t", folder, "")
    assert (result.code, result.out, result.err) == (0, b"", "no tokens\n")
    assert run("inspect", "-t", folder, "", "--json").json == {"count": 0, "tokens": []}


def test_a_table_has_a_limit_and_json_has_none(run: Run, folder: Path) -> None:
    text = b"many words " * 10_000
    result = run("inspect", "-t", folder, stdin=text)
    assert (result.code, result.out) == (2, b"")
    assert "hint: --json" in result.err
    whole = run("inspect", "-t", folder, "--json", stdin=text).json
    assert bytes.fromhex("".join(token["bytes"] for token in whole["tokens"])) == text
    assert whole["count"] == len(whole["tokens"])


def test_the_name_of_a_file_brings_a_hint(run: Run, folder: Path, text_file: Path) -> None:
    result = run("inspect", "-t", folder, text_file)
    assert result.code == 0
    assert f"--file {text_file}" in result.err


def test_stages_show_what_explain_says(run: Run, folder: Path) -> None:
    explanation = tokenmill.load(folder).explain(SAMPLE + END, special="parse")
    arguments = ("inspect", "-t", folder, "--stages", SAMPLE + END, "--special", "parse")
    assert run(*arguments).out.decode() == f"{explanation}\n"
    assert run(*arguments, "--json").json == explanation.to_dict()
    assert run(*arguments[:-2], "--special", "raise").code != 0
    assert run("inspect", "-t", folder, "--stages", "").err == "no tokens\n"


def test_offsets_are_written_as_the_stages_write_them(run: Run, folder: Path) -> None:
    table, stages = (run("inspect", "-t", folder, *more, SAMPLE).out.decode() for more in ((), ("--stages",)))
    encoding = tokenmill.load(folder).encode_with_offsets(SAMPLE)
    for start, end in encoding.offsets:
        assert f"{start}-{end}" in table
        assert f"{start}-{end}" in stages


def test_the_plan_and_the_audit_of_a_tokenizer_need_no_text(run: Run, folder: Path) -> None:
    plan = tokenmill.load(folder).plan()
    assert run("inspect", "-t", folder, "--plan").out.decode() == f"{plan}\n"
    assert run("inspect", "-t", folder, "--plan", "--json").json == plan.to_dict()
    audit = run("inspect", "-t", folder, "--audit", "--json").json
    stages = [stage.name for stage in plan if stage.name != "appending"]
    assert [stage["name"] for stage in audit["stages"]] == stages
    page = run("inspect", "-t", folder, "--audit").out.decode().splitlines()
    assert page[0].split() == ["stage", "guarantee", "slope", "ns/byte", "worst", "text", "found"]
    assert page[len(stages) + 2].startswith("added tokens: ")


@pytest.mark.parametrize("option", ["--plan", "--audit"])
def test_what_needs_no_text_takes_none(run: Run, folder: Path, option: str) -> None:
    for text in (["low"], ["--text", "low"], ["--file", "-"]):
        result = run("inspect", "-t", folder, option, *text)
        assert (result.code, result.out) == (2, b"")
        assert f"{option} takes no text" in result.err
    assert run("inspect", "-t", folder, option, "--stages").code == 2
