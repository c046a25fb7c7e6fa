"""``count-pretokens`` and ``train --counts``: what they save and say."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenmill

from .conftest import END, TEXT, Run


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    lines = TEXT.splitlines(keepends=True)
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for number, file in enumerate(files):
        file.write_text("".join(lines[number::2]) + END, encoding="utf-8")
    return files


OPTIONS = ("--split", "gpt2", "--normalizer", "NFC", "--special-token", END)


def test_counts_of_parts_give_what_the_files_give(run: Run, parts: list[Path], tmp_path: Path) -> None:
    (tmp_path / "counts").mkdir()
    for part, name in zip(parts, ("a.parquet", "b.counts"), strict=True):
        result = run("count-pretokens", part, *OPTIONS, "--out", tmp_path / "counts" / name)
        assert (result.code, result.err) == (0, "")
    whole, counted = tmp_path / "whole", tmp_path / "counted"
    run("train", *parts, *OPTIONS, "--vocab-size", 300, "--out", whole)
    for given in ([tmp_path / "counts"], sorted((tmp_path / "counts").iterdir())):
        result = run("train", "--counts", *given, "--vocab-size", 300, "--out", counted, "--json")
        assert (result.code, result.err) == (0, "")
        assert tokenmill.load(counted) == tokenmill.load(whole)
        assert result.json["documents"] == 2
        assert result.json["bytes"] == sum(part.stat().st_size for part in parts)
        assert "count" not in result.json["phases"]


def test_the_report_says_what_was_counted(run: Run, parts: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "a.counts"
    page = dict(
        line.split(maxsplit=1)
        for line in run("count-pretokens", parts[0], "--out", out).out.decode().splitlines()
    )
    counts = tokenmill.PretokenCounts.load(out)
    assert page["saved"] == str(out)
    assert page["bytes"] == f"{parts[0].stat().st_size:,}"
    assert page["pretokens"] == f"{counts.pretokens:,}, {len(counts):,} distinct"
    report = run("count-pretokens", "-", "--out", out, "--min-count", 2, "--json", stdin=b"low low x").json
    assert (report["saved"], report["distinct_pretokens"], report["min_count"]) == (str(out), 0, 2)
    assert (report["documents"], report["pretokens"], report["split"]) == (1, 3, "cl100k")
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"a\xff")
    page_of_bad = run("count-pretokens", bad, "--errors", "replace", "--out", out).out.decode()
    assert "1 with U+FFFD" in page_of_bad


def test_every_option_of_reading_is_passed_on(run: Run, parts: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "a.counts"
    unigram = (
        "--model",
        "unigram",
        "--split-digits",
        "--no-add-dummy-prefix",
        "--user-defined-symbol",
        "fox",
    )
    run("count-pretokens", parts[0], *unigram, "--bos-token", "<s>", "--reserved-tokens", 2, "--out", out)
    facts = tokenmill.PretokenCounts.load(out).facts
    assert (facts["split_digits"], facts["add_dummy_prefix"], facts["split_by_unicode_script"]) == (
        True,
        False,
        True,
    )
    assert facts["special_tokens"] == ["<unk>", "<s>", "<|reserved_0|>", "<|reserved_1|>"]
    assert facts["user_defined_symbols"] == ["fox"]
    wordpiece = ("--model", "wordpiece", "--unk-token", "[UNK]", "--no-lowercase", "--documents", "lines")
    run("count-pretokens", parts[0], *wordpiece, "--errors", "skip", "--num-threads", 2, "--out", out)
    facts = tokenmill.PretokenCounts.load(out).facts
    assert (facts["normalizer"], facts["lowercase"], facts["errors"]) == ("BertNormalizer", False, "skip")
    assert facts["documents"] == len(parts[0].read_bytes().splitlines())


def test_what_cannot_be_used_is_said_in_one_line(run: Run, parts: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "a.counts"
    run("count-pretokens", parts[0], "--out", out)
    learn = ("--num-merges", 3, "--out", tmp_path / "t.json")
    for arguments, says in (
        (("train", parts[0], "--counts", out, *learn), "give FILE, or --counts PATH"),
        (("train", *learn), "give FILE, or --counts PATH"),
        (
            ("train", "--counts", out, "--split", "gpt2", *learn),
            "split (the counts: 'cl100k', asked for: 'gpt2')",
        ),
        (("train", "--counts", out, "--trace", *learn), "--trace needs the text"),
        (
            ("train", "--counts", out, "--ids-out", "a.npy", "--split", "none", *learn),
            "--ids-out needs the text",
        ),
        (("train", "--counts", out, "--tie-break", "first-seen", *learn), "first-seen needs the texts"),
        (("train", "--counts", parts[0], *learn), "is no file of counts"),
        (("train", "--counts", tmp_path / "missing", *learn), "No such file"),
        (("count-pretokens", parts[0], "--out", "-"), "--out is the name of a file"),
        (("count-pretokens", parts[0], "--out", f"{tmp_path}/"), "--out is the name of a file"),
        (("count-pretokens", parts[0]), "--out"),
        # Said before anything is read.
        (("count-pretokens", tmp_path / "none", "--out", "https://a.test/a"), "cannot write to a web server"),
        (("count-pretokens", parts[0], "--out", tmp_path / "no" / "a.counts"), "the folder does not exist"),
        (("count-pretokens", parts[0], "--vocab-size", 3, "--out", out), "no option --vocab-size"),
    ):
        result = run(*arguments)
        assert result.code == 2, arguments
        assert says in result.err
        assert result.out == b""
    assert not (tmp_path / "t.json").exists()
