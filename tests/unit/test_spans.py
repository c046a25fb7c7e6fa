"""``mask_from_spans`` and ``align_labels``: from characters to tokens, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tokenmill import align_labels, mask_from_spans, spans_from_labels

OFFSETS = [(0, 0), (0, 3), (3, 5), (5, 9), (9, 10), (0, 0)]


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.train(texts=["low lower lowest"] * 3, vocab_size=262, bos_token="<s>", add_bos_token=True)


def test_a_token_is_masked_if_it_overlaps_a_span() -> None:
    assert mask_from_spans(OFFSETS, [(4, 6)]).tolist() == [False, False, True, True, False, False]
    assert mask_from_spans(OFFSETS, [(0, 99)]).tolist() == [False, True, True, True, True, False]
    assert mask_from_spans(np.array(OFFSETS, np.int32), np.array([[9, 10], [0, 1]])).tolist() == [
        *(False, True, False, False, True, False)
    ]
    for nothing in ([], [(4, 4)], [(20, 30)]):
        assert not mask_from_spans(OFFSETS, nothing).any()
    assert mask_from_spans([], [(0, 1)]).shape == (0,)


def test_offsets_come_from_encodings_and_batches_too(tok: Any) -> None:
    encoding = tok("lower lowest")
    assert (
        mask_from_spans(encoding, [(0, 5)]).tolist() == mask_from_spans(encoding.offsets, [(0, 5)]).tolist()
    )
    texts = ["lower lowest", "low"]
    how = {"padding": True, "pad_id": 0, "return_tensors": "np", "return_offsets_mapping": True}
    for side in ("left", "right"):
        batch = tok(texts, **how, padding_side=side)
        mask = mask_from_spans(batch["offset_mapping"], [[(6, 12)], [(0, 3)]])
        assert mask.shape == batch["input_ids"].shape
        assert tok.decode(batch["input_ids"][0][mask[0]]).strip() == "lowest"
        assert tok.decode(batch["input_ids"][1][mask[1]]) == "low"
        assert not mask[batch["attention_mask"] == 0].any()


@pytest.mark.parametrize(
    ("offsets", "spans", "message"),
    [
        (OFFSETS, [(0, 3), (6, 5)], r"span 1 ends before it starts: \(6, 5\)"),
        ([(0, 1, 2)], [], "offsets are pairs of integers"),
        ([(0.5, 1.5)], [], "offsets are pairs of integers"),
        (OFFSETS, [1, 2], "spans are pairs of integers"),
        (np.zeros((2, 3, 2), np.int64), [[]], "2 rows of offsets, but 1 lists of spans"),
    ],
)
def test_what_is_no_span_is_refused(offsets: Any, spans: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mask_from_spans(offsets, spans)


# ---- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheme", "labels"),
    [
        ("IOB2", [None, "B-A", "I-A", "I-A", "B-B", None]),
        ("BILOU", [None, "B-A", "I-A", "L-A", "U-B", None]),
        ("IO", [None, "I-A", "I-A", "I-A", "I-B", None]),
    ],
)
def test_spans_become_labels_and_back(scheme: Any, labels: list[str | None]) -> None:
    spans = [(0, 9, "A"), (9, 10, "B")]
    assert align_labels(OFFSETS, spans, scheme) == labels
    assert spans_from_labels(OFFSETS, labels, scheme) == spans
    names = sorted({label for label in labels if label} | {"O"})
    ids = {name: at for at, name in enumerate(names)}
    numbers = align_labels(OFFSETS, spans[::-1], scheme, label_ids=ids)
    assert numbers.tolist() == [-100 if label is None else ids[label] for label in labels]
    assert numbers.dtype == np.int64
    assert spans_from_labels(OFFSETS, numbers, scheme, label_ids=ids) == spans


def test_a_token_of_two_spans_has_the_label_of_the_larger_part() -> None:
    offsets = [(0, 4), (4, 10), (10, 12)]
    assert align_labels(offsets, [(0, 5, "A"), (5, 12, "B")]) == ["B-A", "B-B", "I-B"]
    assert align_labels(offsets, [(0, 7, "A"), (7, 12, "B")]) == ["B-A", "I-A", "B-B"]
    many = [(at, at + 1, str(at)) for at in range(4, 10)]
    assert align_labels(offsets, many, lost="ignore") == ["O", "B-4", "O"]


def test_a_span_without_a_token_is_said_so() -> None:
    offsets = [(0, 4), (5, 9)]
    for spans in ([(4, 5, "A")], [(2, 2, "A")], [(0, 3, "B"), (3, 4, "A")]):
        with pytest.raises(ValueError, match=r"span \(\d, \d, 'A'\) has no token of its own"):
            align_labels(offsets, spans)
    assert align_labels(offsets, [(4, 5, "A")], lost="ignore") == ["O", "O"]


def test_encodings_know_what_was_added_and_which_text_a_token_is_of(tok: Any) -> None:
    text = "low lower"
    encoding = tok(text, text)
    first = align_labels(encoding, [(4, 9, "X")])
    second = align_labels(encoding, [(4, 9, "X")], sequence=1)
    of = encoding.sequence_ids
    assert next(label for label in first if label not in (None, "O")) == "B-X"
    assert [label is None for label in first] == [number != 0 for number in of]
    assert [label is None for label in second] == [number != 1 for number in of]
    assert spans_from_labels(encoding, first, text=text) == [(4, 9, "X")]
    assert spans_from_labels(encoding, second, sequence=1, text=text) == [(4, 9, "X")]
    with pytest.raises(ValueError, match="sequence=2 of an encoding of 2 texts"):
        align_labels(encoding, [], sequence=2)


def test_white_space_of_a_token_is_no_part_of_a_span(tok: Any) -> None:
    text = "low  lower"
    encoding = tok(text)
    labels = align_labels(encoding, [(5, 10, "X")])
    assert spans_from_labels(encoding, labels, text=text) == [(5, 10, "X")]
    spaces = [(0, 2)]
    assert spans_from_labels(spaces, ["B-X"], text="  ") == [(0, 2, "X")]


def test_words_have_no_characters_of_a_text(tok: Any) -> None:
    words = tok(["lower", "low"], is_pretokenized=True)
    with pytest.raises(ValueError, match="offsets of this encoding go back: it is of a list of words"):
        align_labels(words, [(0, 3, "X")])


@pytest.mark.parametrize(
    ("labels", "scheme", "spans"),
    [
        (["I-A", "I-A"], "IOB2", [(0, 5, "A")]),
        (["B-A", "I-B"], "IOB2", [(0, 3, "A"), (3, 5, "B")]),
        (["B-A", "B-A"], "IOB2", [(0, 3, "A"), (3, 5, "A")]),
        (["L-A", "L-A"], "BILOU", [(0, 3, "A"), (3, 5, "A")]),
        (["U-A", "I-A"], "BILOU", [(0, 3, "A"), (3, 5, "A")]),
        (["I-A", None], "IO", [(0, 3, "A")]),
    ],
)
def test_labels_as_a_model_predicts_them_have_spans(labels: Any, scheme: Any, spans: Any) -> None:
    assert spans_from_labels([(0, 3), (3, 5)], labels, scheme) == spans


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: align_labels(OFFSETS, [], "BIO"), "scheme='BIO' is none of 'IOB2', 'BILOU', 'IO'"),  # type: ignore[call-overload]
        (lambda: align_labels(OFFSETS, [], lost="drop"), "lost='drop' is neither"),  # type: ignore[call-overload]
        (lambda: align_labels(OFFSETS, [(0, 4, "A"), (3, 5, "B")]), "spans overlap: one ends at 4"),
        (lambda: align_labels(OFFSETS, [(0, 4, "A")], label_ids={"O": 0}), "label_ids has no id for 'B-A'"),
        (lambda: spans_from_labels(OFFSETS, ["O"]), "1 labels for 6 tokens"),
        (lambda: spans_from_labels([(0, 1)], ["L-A"]), "'L-A' is no label of IOB2"),
        (lambda: spans_from_labels([(0, 1)], ["A"], "IO"), "'A' is no label of IO"),
    ],
)
def test_labels_that_mean_nothing_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
