"""Tokenizers that we train normalize by the tables of today's Unicode: its own test file, line by line.

The file NormalizationTest.txt is part of the Unicode data (Debian: package unicode-data, which compresses
it). It is looked for in /usr/share/unicode and in the folder that TOKENMILL_UNICODE_DATA names.
"""

from __future__ import annotations

import bz2
import os
import unicodedata
from pathlib import Path
from typing import Any, Literal

import pytest

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: list[Form] = ["NFC", "NFD", "NFKC", "NFKD"]
# Columns of the file: a text, and what it is in the four forms.
COLUMN = {"NFC": 1, "NFD": 2, "NFKC": 3, "NFKD": 4}


def lines() -> list[list[str]]:
    """The five texts of every line; the test is skipped where the file is not there."""
    folders = [os.environ.get("TOKENMILL_UNICODE_DATA"), "/usr/share/unicode"]
    names = ["NormalizationTest.txt", "NormalizationTest.txt.bz2"]
    paths = [Path(folder) / name for folder in folders if folder for name in names]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        pytest.skip(f"{names[0]} is neither in /usr/share/unicode nor in TOKENMILL_UNICODE_DATA")
    content = path.read_bytes()
    text = (bz2.decompress(content) if path.suffix == ".bz2" else content).decode()
    rows = [line.split("#")[0].split(";")[:5] for line in text.splitlines()]
    return [
        ["".join(chr(int(code, 16)) for code in text.split()) for text in row]
        for row in rows
        if len(row) == 5 and not row[0].startswith("@")
    ]


def normalize(tokenizer: Any, text: str) -> str:
    """The normalized text, which the bytes of the ids spell."""
    return str(tokenizer.decode(tokenizer.encode(text)))


@pytest.mark.parametrize("form", FORMS)
def test_every_line_of_the_unicode_test_file(native: Any, form: Form) -> None:
    tokenizer = native.train(texts=["a"], num_merges=0, normalizer=form)
    rows = lines()
    assert len(rows) > 18_000
    # What each column is in this form: the canonical forms tell the compatible columns apart.
    canonical = form in ("NFC", "NFD")
    other = COLUMN["NFKC" if form == "NFC" else "NFKD"]
    for row in rows:
        for column, text in enumerate(row):
            want = row[other if canonical and column >= 3 else COLUMN[form]]
            assert normalize(tokenizer, text) == want, (form, row)


@pytest.mark.parametrize("form", FORMS)
def test_a_character_older_than_pythons_tables_is_normalized_as_python_does(native: Any, form: Form) -> None:
    tokenizer = native.train(texts=["a"], num_merges=0, normalizer=form)
    for code in range(0x110000):
        # Unassigned characters may have been assigned since.
        c = chr(code)
        if unicodedata.category(c) not in ("Cn", "Cs"):
            assert normalize(tokenizer, c) == unicodedata.normalize(form, c), hex(code)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("num_threads", [1, 3])
def test_training_normalizes_what_stands_between_special_tokens(
    native: Any, form: Form, num_threads: int
) -> None:
    words = ["Ångström", "e\u0301te\u0301", "été", "ﬁn", "한국어", "\u1112\u1161\u11ab"]
    text = " ".join(words * 3)
    # A literal that only the normal form makes is text, and marks do not reach across a literal.
    texts = [text, f"e<s>\u0301{text}", "x <s> " + text * 9000]
    options: dict[str, Any] = {"num_merges": 40, "min_frequency": 1, "num_threads": num_threads}
    tokenizer = native.train(texts=texts, normalizer=form, special_tokens=["<s>"], **options)
    segments = [segment for text in texts for segment in text.split("<s>")]
    plain = native.train(texts=[unicodedata.normalize(form, segment) for segment in segments], **options)
    assert tokenizer.merges == plain.merges
    assert tokenizer.decode(tokenizer.encode("e<s>\u0301", special="parse")) == "e<s>\u0301"
    assert tokenizer.training_report.bytes == sum(len(text.encode()) for text in texts)


def test_a_saved_tokenizer_keeps_its_tables(native: Any, tmp_path: Path) -> None:
    tokenizer = native.train(texts=["a"], num_merges=0, normalizer="NFKC")
    tokenizer.save(tmp_path / "tokenizer.json")
    again = native.load(tmp_path / "tokenizer.json")
    assert again == tokenizer
    # Younger than the tables of the reference.
    assert normalize(again, "\u32ff") == "令和"


def test_a_literal_that_normalizing_makes_is_no_special_token(native: Any) -> None:
    tokenizer = native.train(
        texts=["＜s＞＜s＞"], num_merges=2, min_frequency=1, normalizer="NFKC", special_tokens=["<s>"]
    )
    assert (b"<", b"s") in tokenizer.merges
    assert 0 not in tokenizer.encode("＜s＞", special="parse")
