"""``train``: what it saves and says."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest
import tokenmill

from .conftest import END, TEXT, Run


def test_it_saves_what_the_library_would(run: Run, text_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "made"
    target.mkdir()
    options = ("--vocab-size", 300, "--split", "gpt2", "--special-token", END, "--tie-break", "huggingface")
    result = run("train", text_file, *options, "--out", target)
    assert result.code == 0
    expected = tokenmill.train(
        text_file, vocab_size=300, split="gpt2", special_tokens=[END], tie_break="huggingface"
    )
    saved = tokenmill.load(target)
    assert saved.vocab == expected.vocab
    assert saved.merges == expected.merges
    assert saved.encode(TEXT) == expected.encode(TEXT)


def test_the_summary_says_what_was_read_and_learned(run: Run, text_file: Path, tmp_path: Path) -> None:
    result = run("train", text_file, "--num-merges", 5, "--out", tmp_path / "tokenizer.json")
    page = dict(line.split(maxsplit=1) for line in result.out.decode().splitlines())
    assert page["saved"] == str(tmp_path / "tokenizer.json")
    assert page["bytes"] == f"{len(TEXT.encode()):,}"
    assert page["vocabulary"].startswith("261 tokens, 5 ")


def test_json_has_the_report(run: Run, text_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "tokenizer.json"
    report = run("train", text_file, "--num-merges", 5, "--out", target, "--json").json
    assert report["saved"] == str(target)
    assert (report["vocab_size"], report["merges"], report["documents"]) == (261, 5, 1)
    assert report["bytes"] == len(TEXT.encode())
    assert report["stopped_early"] is None
    assert {"skipped", "replaced", "pretokens", "distinct_pretokens", "seconds", "phases"} <= set(report)


def test_roles_are_saved_in_a_folder(run: Run, text_file: Path, tmp_path: Path) -> None:
    roles = ("--bos-token", "<s>", "--pad-token", "<pad>", "--add-bos-token")
    target = tmp_path / "made"
    report = run("train", text_file, "--num-merges", 5, *roles, "--out", target, "--json").json
    assert report["roles"] == {"bos": 0, "pad": 1}
    saved = tokenmill.load(target)
    assert (saved.bos_token_id, saved.pad_token_id) == (0, 1)
    assert saved.encode("a", add_special_tokens=True)[0] == 0
    page = run("train", text_file, "--num-merges", 5, *roles, "--out", target).out.decode()
    assert "bos 0, pad 1" in page
    refused = run("train", text_file, "--num-merges", 5, *roles, "--out", tmp_path / "t.json")
    assert refused.code == 2
    assert "which tokens are bos, pad" in refused.err
    assert not (tmp_path / "t.json").exists()


def test_it_says_that_it_stopped_early(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "tokenizer.json"
    result = run("train", "-", "--num-merges", 1000, "--out", target, stdin=b"ab ab")
    assert result.code == 0
    assert "were asked for: no pair" in result.out.decode()


def test_standard_input_is_one_document(run: Run, text_file: Path, tmp_path: Path) -> None:
    piped, named = tmp_path / "piped.json", tmp_path / "named.json"
    run("train", "-", "--num-merges", 20, "--out", piped, stdin=TEXT.encode())
    run("train", text_file, "--num-merges", 20, "--out", named)
    assert piped.read_bytes() == named.read_bytes()


def test_trace_shows_every_step(run: Run) -> None:
    arguments = ("train", "-", "--num-merges", 3, "--documents", "lines", "--split", "none", "--trace")
    words = b"I\nI\nI\nhe\nhe\nwork\nwork\nworked\nworked\nworks\n"
    page = run(*arguments, stdin=words).out.decode()
    assert [line for line in page.splitlines() if line.startswith("step ")] == [
        "step 1: o + r, count 5",
        "step 2: or + k, count 5",
        "step 3: w + ork, count 5",
    ]


@pytest.mark.parametrize("split", ["gpt2", "cl100k", "whitespace"])
def test_trace_learns_the_merges_of_the_trainer(run: Run, tmp_path: Path, split: str) -> None:
    target = tmp_path / "tokenizer.json"
    arguments = ("train", "-", "--num-merges", 12, "--split", split, "--out", target)
    page = run(*arguments, "--trace", stdin=TEXT.encode()).out.decode()
    steps = [line.partition(": ")[2] for line in page.splitlines() if line.startswith("step ")]
    assert len(steps) == 12
    for step, (left, right) in zip(steps, tokenmill.load(target).merges, strict=True):
        shown = [part.decode("utf-8", "backslashreplace").replace(" ", "␣") for part in (left, right)]
        assert step.startswith(f"{shown[0]} + {shown[1]}, count ")


def test_trace_is_for_small_texts(run: Run) -> None:
    result = run("train", "-", "--num-merges", 3, "--trace", stdin=b"ab " * 10_000)
    assert (result.code, result.out) == (2, b"")
    assert "hint: " in result.err


def test_bytes_that_are_not_utf8_stop_it_unless_asked(run: Run, tmp_path: Path) -> None:
    bad, target = tmp_path / "bad.txt", tmp_path / "out.json"
    bad.write_bytes(b"fine fine \xff")
    result = run("train", bad, "--num-merges", 1, "--out", target)
    assert result.code == 2
    assert str(bad) in result.err
    assert "10" in result.err
    assert "--errors" in result.err
    assert not target.exists()
    assert (
        run("train", bad, "--num-merges", 1, "--errors", "replace", "--out", target, "--json").json[
            "replaced"
        ]
        == 1
    )


def test_nothing_to_learn_from_is_said_and_what_stood_there_is_replaced(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    arguments = ("train", tmp_path / "empty.txt", "--vocab-size", 300, "--out", tmp_path / "m")
    first, second = run(*arguments), run(*arguments)
    assert first.code == second.code == 0
    assert "no text to learn from" in first.err
    assert first.out.decode().startswith("saved ")
    assert second.out.decode().startswith("replaced ")
    assert "a vocabulary of 300 was asked for: no pair of tokens is left" in second.out.decode()


def test_the_trace_cuts_the_unknown_token_out_as_training_does(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("ab<unk>ab ab<unk>", encoding="utf-8")
    options = ("--num-merges", 2, "--alphabet", "chars", "--unk-token", "<unk>", "--split", "none", "--trace")
    result = run("train", tmp_path / "t.txt", *options)
    assert result.code == 0
    assert b"<" not in result.out


def test_trace_takes_globs_and_every_way_with_what_is_not_utf8(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"ab ab ab\r\nfoo\xff\nab")
    (tmp_path / "b.txt").write_bytes(b"ab\n")
    arguments = ("train", f"{tmp_path}/*.txt", "--num-merges", 9, "--split", "whitespace", "--trace")
    assert "--errors replace|skip" in run(*arguments).err
    lines = run(*arguments, "--errors", "skip", "--documents", "lines").out.decode()
    assert "step 1: a + b, count 5\n" in lines
    assert "f o o" not in lines
    assert "left out: 1 not UTF-8\n" in lines
    mended = run(*arguments, "--errors", "replace").out.decode()
    assert "f o o \\xef \\xbf \\xbd\n" in mended
    assert "mended: 1 with U+FFFD" in mended
    skipped = run(*arguments, "--errors", "skip").out.decode()
    assert "no pair to merge\n" in skipped
    assert "stopped after 0 merges; 9 merges were asked for: no pair is left that occurs 2 times" in skipped


def test_trace_says_that_it_stopped_early_and_what_was_saved(run: Run, tmp_path: Path) -> None:
    arguments = ("train", "-", "--num-merges", 9, "--split", "none", "--trace")
    result = run(*arguments, stdin=b"abab")
    stopped = "stopped after 1 merge; 9 merges were asked for: no pair is left that occurs 2 times"
    assert result.out.decode().endswith(f"\n{stopped} (--min-frequency)\n")
    assert result.err == "nothing is saved: --out FOLDER/ saves the tokenizer\n"
    result = run(*arguments, "--out", tmp_path / "m", stdin=b"abab")
    assert result.err == ""
    assert f"\n\nsaved         {tmp_path / 'm'}\n" in result.out.decode()


def test_a_long_trace_is_cut_and_says_how_to_see_all(run: Run, text_file: Path) -> None:
    arguments = ("train", text_file, "--num-merges", 30)
    cut = run(*arguments, "--trace").out.decode()
    whole = run(*arguments, "--trace-all").out.decode()
    assert cut.count("\nstep ") == 20
    assert whole.count("\nstep ") == 30
    assert "\n10 more steps: --trace-all shows everything\n" in cut
    assert " more\n" not in whole
    blocks = [block.split("\n") for block in cut.split("\nstep ")]
    assert max(map(len, blocks)) < 40
    for block in blocks[1:]:  # the winner is never cut
        assert sum(line.endswith(" *") for line in block) == 1
    few = run("train", text_file, "--num-merges", 3, "--trace").out.decode()
    assert few.endswith("\nsome lists are cut: --trace-all shows everything\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_trace_reads_a_pipe_once(run: Run, text_file: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(TEXT.encode(),))
    writer.start()
    result = run("train", pipe, "--num-merges", 3, "--trace")
    writer.join()
    assert result.code == 0
    assert result.out == run("train", text_file, "--num-merges", 3, "--trace").out


def test_ids_of_one_text_are_saved_too(run: Run, text_file: Path, tmp_path: Path) -> None:
    target, ids_file = tmp_path / "made", tmp_path / "ids.npy"
    options = ("--num-merges", 20, "--split", "none", "--special-token", END, "--out", target)
    for source, content in ((text_file, b""), ("-", TEXT.encode())):
        report = run("train", source, *options, "--ids-out", ids_file, "--json", stdin=content).json
        ids = np.load(ids_file)
        saved = tokenmill.load(target)
        assert ids.dtype == np.uint16
        assert ids.tolist() == saved.encode(TEXT, special="parse")
        assert (report["ids_saved"], report["ids"], report["dtype"]) == (str(ids_file), len(ids), "uint16")
        assert run("decode", "-t", target, ids_file).out == TEXT.encode()
    page = run("train", text_file, *options, "--ids-out", ids_file).out.decode()
    assert f"{len(ids):,} as uint16, saved {ids_file}" in page
    assert "ids" not in run("train", text_file, *options, "--json").json


@pytest.mark.parametrize(
    ("options", "says", "hint"),
    [
        ((), "for a text that is not cut", "--split none"),
        (("--split", "none", "--documents", "lines"), "for one document", "tokenmill encode"),
        (("--model", "unigram"), "not for --model unigram", "tokenmill encode"),
        (("--split", "none", "--ids-out", "ids.bin"), "ids.bin: the ids are a numpy array", "NAME.npy"),
        (("--split", "none", "--ids-out", ""), "the ids are a numpy array", "NAME.npy"),
        (("--split", "none", "--ids-out", "missing/ids.npy"), "missing", ""),
        (("--split", "none", "--ids-out", "https://a.test/ids.npy"), "cannot write to a web server", ""),
    ],
)
def test_what_has_no_ids_is_refused_before_training(
    run: Run, text_file: Path, tmp_path: Path, options: tuple[str, ...], says: str, hint: str
) -> None:
    target = tmp_path / "made"
    ids_out = () if "--ids-out" in options else ("--ids-out", "ids.npy")
    result = run("train", text_file, "--vocab-size", 300, *options, *ids_out, "--out", target)
    assert (result.code, result.out) == (2, b"")
    assert says in result.err
    assert hint in result.err
    assert not target.exists()


def test_ids_go_with_a_tokenizer_and_one_file(run: Run, text_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(TEXT)
    options = ("--num-merges", 2, "--split", "none", "--ids-out", "ids.npy")
    assert "--ids-out goes with --out" in run("train", text_file, *options, "--trace").err
    assert "for one document" in run("train", text_file, other, *options, "--out", tmp_path / "made").err


def test_it_goes_on_from_a_tokenizer(run: Run, text_file: Path, tmp_path: Path) -> None:
    options = ("--split", "gpt2", "--special-token", END)
    assert run("train", text_file, *options, "--num-merges", 9, "--out", tmp_path / "first").code == 0
    assert run("train", text_file, *options, "--num-merges", 20, "--out", tmp_path / "whole").code == 0
    more = ("--base", tmp_path / "first", "--num-merges", 11, "--out", tmp_path / "more")
    assert run("train", text_file, *more).code == 0
    assert tokenmill.load(tmp_path / "more") == tokenmill.load(tmp_path / "whole")
    assert run("count-pretokens", text_file, *options, "--out", tmp_path / "counts").code == 0
    assert run("train", "--counts", tmp_path / "counts", *more).code == 0
    assert tokenmill.load(tmp_path / "more") == tokenmill.load(tmp_path / "whole")


def test_what_does_not_go_with_base(run: Run, text_file: Path, tmp_path: Path) -> None:
    run("train", text_file, "--num-merges", 2, "--out", tmp_path / "first")
    base = ("train", text_file, "--base", tmp_path / "first", "--num-merges", 2)
    for options, said in [
        (("--split", "gpt2", "--out", tmp_path / "more"), "split does not go with base"),
        (("--special-token", END, "--out", tmp_path / "more"), "--special-token does not go with base"),
        (("--trace",), "--trace shows training from the start"),
        (("--revision", "main", "--out", tmp_path / "more"), "--revision is for repositories of the hub"),
    ]:
        refused = run(*base, *options)
        assert refused.code == 2
        assert said in refused.err
    for name in ("nobody/here", "r50k_base"):
        refused = run(*base[:3], name, *base[4:], "--offline", "--out", tmp_path / "more")
        assert (refused.code, name in refused.err) == (2, True)
    alone = run(*base[:2], *base[4:], "--revision", "main", "--out", tmp_path / "more")
    assert (alone.code, "--revision is for --base" in alone.err) == (2, True)
    missing = run(*base[:3], tmp_path / "nothing", *base[4:], "--out", tmp_path / "more")
    assert (missing.code, "nothing" in missing.err) == (2, True)
