"""``collator`` and ``max_length``: columns are no texts, and nothing is longer than was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tokenmill import Ragged, collator

ROWS = [[5, 6, 7], [8], [9, 10]]
LABELS = [[-100, 6, 7], [8], [-100, 10]]


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.train(texts=["low lower"] * 2, num_merges=2, pad_token="<pad>")


def ragged(rows: list[list[int]]) -> Ragged:
    ends = np.cumsum([0, *map(len, rows)])
    return Ragged(np.concatenate(rows), ends)


def test_a_mapping_of_columns_is_a_batch_and_its_names_are_no_texts(tok: Any) -> None:
    collate = collator(tok, return_tensors="np")
    rows = [
        {"input_ids": ids, "labels": labels, "score": 0.5} for ids, labels in zip(ROWS, LABELS, strict=True)
    ]
    expected = collate(rows)
    assert expected["labels"].tolist()[1] == [8, -100, -100]
    for make in (list, ragged):
        columns = {"input_ids": make(ROWS), "labels": make(LABELS), "score": [0.5] * 3}
        assert collate(columns) == tok.pad_batch(columns) == expected
    assert collate(ragged(ROWS)) == collate(ROWS) == tok.pad_batch(ROWS)
    with pytest.raises(ValueError, match="a mapping of columns needs input_ids; this one has text"):
        collate({"text": ["low"]})


@pytest.mark.parametrize("text", ["low", b"low"])
def test_one_text_is_no_list_of_texts(tok: Any, text: Any) -> None:
    with pytest.raises(TypeError, match="rows must be a list of texts or of rows of ids, not"):
        collator(tok, return_tensors="np")(text)


@pytest.mark.parametrize("padding", [True, "longest", "max_length"])
def test_rows_longer_than_max_length_are_refused_whatever_the_padding(tok: Any, padding: Any) -> None:
    columns = {"input_ids": ROWS, "labels": LABELS}
    for rows in (ROWS, ragged(ROWS), columns, [{"input_ids": ids} for ids in ROWS]):
        with pytest.raises(ValueError, match="input_ids of row 0 has 3 values, more than"):
            tok.pad_batch(rows, padding=padding, max_length=2)
        for truncation in (None, True):  # which is for texts
            collate = collator(tok, padding=padding, max_length=2, truncation=truncation, return_tensors="np")
            with pytest.raises(ValueError, match="input_ids of row 0 has 3 values, more than"):
                collate(rows)
        width = {True: 3, "longest": 3, "max_length": 4}[padding]
        assert tok.pad_batch(rows, padding=padding, max_length=4)["input_ids"].shape == (3, width)
    # A length is rounded up to a multiple, as in transformers.
    made = tok.pad_batch(ROWS, padding=padding, max_length=2, pad_to_multiple_of=3)
    assert made["input_ids"].shape == (3, 3)


def test_rows_of_equal_length_may_be_too_long_without_padding(tok: Any) -> None:
    assert tok.pad_batch([[5, 6]], padding=False, max_length=2)["input_ids"].tolist() == [[5, 6]]
    with pytest.raises(ValueError, match="more than max_length=1; ids are not cut here: cut the rows first"):
        tok.pad_batch([[5, 6]], padding=False, max_length=1)


@pytest.mark.parametrize("padding", [True, "max_length"])
def test_texts_longer_than_max_length_are_cut_or_refused(tok: Any, padding: Any) -> None:
    texts = ["low lower lowest"]
    count = len(tok(texts[0]))
    options: dict[str, Any] = {"padding": padding, "return_tensors": "np", "max_length": count - 1}
    assert collator(tok, truncation=True, **options)(texts)["input_ids"].shape == (1, count - 1)
    with pytest.raises(
        ValueError, match=f"a text has {count} ids, more than max_length={count - 1}; pass trunc"
    ):
        collator(tok, **options)(texts)
    options["max_length"] = count
    assert collator(tok, **options)(texts)["input_ids"].shape == (1, count)
