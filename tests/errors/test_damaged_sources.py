"""Sources that are empty or not UTF-8, where there is a result: what it is, and what is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("source", ["no texts", "an empty text", "an empty file"])
@pytest.mark.parametrize("alphabet", ["bytes", "chars"])
def test_an_empty_source_gives_the_bare_alphabet_and_says_so(
    native: Any, tmp_path: Path, source: str, alphabet: str
) -> None:
    options = {"alphabet": alphabet, "vocab_size": 300}
    if source == "an empty file":
        (tmp_path / "empty.txt").write_bytes(b"")
        tok = native.train(tmp_path / "empty.txt", **options)
    else:
        tok = native.train(texts=[] if source == "no texts" else [""], **options)
    assert tok.vocab_size == (256 if alphabet == "bytes" else 0)
    assert tok.training_report.stopped_early == "no-pair-left"
    assert (tok.encode(""), tok.decode([])) == ([], "")


BAD = {"good.txt": b"low low", "bad.txt": b"l\xffow \xe2\x82", "good too.txt": "löw".encode()}


@pytest.mark.parametrize(
    ("policy", "documents", "replaced", "skipped", "size"),
    [("replace", 3, 1, 0, 7 + 10 + 4), ("skip", 2, 0, 1, 7 + 4)],
)
def test_what_is_not_utf8_is_replaced_or_skipped_and_counted(
    native: Any, tmp_path: Path, policy: str, documents: int, replaced: int, skipped: int, size: int
) -> None:
    for name, content in BAD.items():
        (tmp_path / name).write_bytes(content)
    tok = native.train([tmp_path / name for name in BAD], num_merges=3, errors=policy)
    report = tok.training_report
    assert (report.documents, report.replaced, report.skipped) == (documents, replaced, skipped)
    assert report.bytes == size
    kept = [
        content
        for content in BAD.values()
        if policy == "replace" or content.isascii() or b"\xff" not in content
    ]
    same = native.train(texts=[content.decode(errors="replace") for content in kept], num_merges=3)
    assert same == tok


@pytest.mark.parametrize(("policy", "replaced", "skipped"), [("replace", 1, 0), ("skip", 0, 1)])
def test_lines_that_are_not_utf8_are_counted_one_by_one(
    native: Any, tmp_path: Path, policy: str, replaced: int, skipped: int
) -> None:
    (tmp_path / "lines.txt").write_bytes(b"low\nl\xffow\nlow\n")
    options = {"documents": "lines", "errors": policy}
    report = native.train(tmp_path / "lines.txt", num_merges=3, **options).training_report
    assert (report.documents, report.replaced, report.skipped) == (3 - skipped, replaced, skipped)


def test_surrogates_in_texts_are_replaced_or_skipped_and_counted(native: Any) -> None:
    texts = ["low", "l\ud800w", "low"]
    replaced = native.train(texts=texts, num_merges=2, errors="replace").training_report
    assert (replaced.documents, replaced.replaced, replaced.skipped) == (3, 1, 0)
    skipped = native.train(texts=texts, num_merges=2, errors="skip").training_report
    assert (skipped.documents, skipped.replaced, skipped.skipped) == (2, 0, 1)
