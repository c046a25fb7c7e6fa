"""``Ragged``: rows in two flat arrays."""

from __future__ import annotations

import gc
import pickle
import sys
from typing import Any

import numpy as np
import pytest
import tokenmill
from tokenmill import Ragged

ROWS = [[5, 6], [], [7], [8, 9, 10]]


@pytest.fixture
def ragged() -> Ragged:
    return Ragged(np.array([5, 6, 7, 8, 9, 10], dtype=np.uint16), np.array([0, 2, 2, 3, 6]))


def test_it_is_a_sequence_of_rows(ragged: Ragged) -> None:
    assert len(ragged) == 4
    assert ragged.to_lists() == ROWS
    assert [row.tolist() for row in ragged] == ROWS
    assert [ragged[at].tolist() for at in range(4)] == ROWS
    assert ragged[-1].tolist() == ROWS[-1]
    for outside in (4, -5):
        with pytest.raises(IndexError):
            ragged[outside]


@pytest.mark.parametrize(
    "part", [slice(None), slice(1, 3), slice(2, 1), slice(-2, None), slice(None, None, -1), slice(0, 9, 2)]
)
def test_slices_are_ragged_too(ragged: Ragged, part: slice) -> None:
    taken = ragged[part]
    assert isinstance(taken, Ragged)
    assert taken.to_lists() == ROWS[part]
    assert taken.ids.dtype == np.uint16
    assert taken.row_offsets[0] == 0


def test_rows_share_memory_and_cannot_be_changed(ragged: Ragged) -> None:
    assert np.shares_memory(ragged[0], ragged.ids)
    assert np.shares_memory(ragged[1:].ids, ragged.ids)
    for array in (ragged.ids, ragged.row_offsets, ragged[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        setattr(ragged, "ids", np.zeros(1))  # noqa: B010


def test_equal_rows_are_equal_whatever_their_type(ragged: Ragged) -> None:
    assert ragged == Ragged(ragged.ids.astype(np.int64), ragged.row_offsets)
    assert ragged != ragged[1:]
    assert ragged != ROWS
    assert pickle.loads(pickle.dumps(ragged)) == ragged


def test_no_rows_at_all() -> None:
    empty = Ragged([], [0])
    assert (len(empty), empty.to_lists(), empty[::2].to_lists()) == (0, [], [])
    assert empty.ids.dtype == np.uint32


@pytest.mark.parametrize(
    ("ids", "row_offsets"),
    [
        ([1, 2], [0, 1]),
        ([1, 2], [1, 2]),
        ([1, 2], []),
        ([1, 2], [0, 3, 2]),
        ([1, 2], [0, -1, 2]),
        ([1, 2], [[0, 2]]),
        ([1, 2], [0, 2**63, 2]),
        ([1, 2], [0, 2**70, 2]),
        ([[1]], [0, 1]),
        ([0.5], [0, 1]),
        ([True], [0, 1]),
    ],
)
def test_what_does_not_fit_is_refused(ids: list[int], row_offsets: list[int]) -> None:
    with pytest.raises(ValueError, match=r"ids|row_offsets"):
        Ragged(ids, row_offsets)


@pytest.mark.parametrize("row_offsets", [[0.0, 1.7, 2.0], np.array([0, 1, 2.0]), ["0", "2"], [False, 2.0]])
def test_row_offsets_are_never_rounded(row_offsets: Any) -> None:
    with pytest.raises(ValueError, match=r"row_offsets"):
        Ragged([1, 2], row_offsets)


def test_a_fall_is_named() -> None:
    with pytest.raises(ValueError, match=r"row_offsets\[2\]"):
        Ragged([1, 2], [0, 2, 1, 2])


def test_a_source_that_changes_does_not_change_the_rows() -> None:
    ids, row_offsets = np.array([1, 2, 3]), np.array([0, 1, 3])
    rows = Ragged(ids, row_offsets)
    ids[:] = 9
    row_offsets[1] = 2
    assert rows.to_lists() == [[1], [2, 3]]
    assert ids.flags.writeable
    for array in (rows.ids, rows.row_offsets, rows[1:].ids, rows[::2].ids):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_arrow(ragged: Ragged) -> None:
    pytest.importorskip("pyarrow")
    array = ragged.to_arrow()
    assert array.to_pylist() == ROWS
    assert str(array.type.value_type) == "uint16"


def test_arrow_that_is_not_installed_is_named(ragged: Ragged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(tokenmill.MissingExtraError) as caught:
        ragged.to_arrow()
    assert caught.value.extra == "arrow"


def test_lists_are_known_to_the_garbage_collector(native: Any) -> None:
    tok = native.Tokenizer.from_pairs([(104, 101)])
    lists = tok.encode_batch(["he", "", "hehe"] * 1000).to_lists()
    assert gc.is_tracked(lists)
    assert all(map(gc.is_tracked, lists))
    assert lists[:3] == [[256], [], [256, 256]]


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "int32", "int64", "uint64"])
def test_lists_of_ids_of_every_type(native: Any, dtype: str) -> None:
    tok = native.Tokenizer.from_pairs([(104, 101)])
    rows = tok.encode_batch(["he", "", "hehe", "abc"] * 5, dtype=dtype)
    want = [[256], [], [256, 256], [97, 98, 99]] * 5
    assert rows.to_lists() == want
    assert rows[2:].to_lists() == want[2:]
    assert rows[::3].to_lists() == want[::3]


def test_a_long_list_has_the_ids_of_the_array(native: Any) -> None:
    tok = native.Tokenizer.from_pairs([(104, 101)])
    for length in (16_383, 16_384, 16_385, 140_000):
        text = "he" * length + "x"
        assert tok.encode(text) == tok.encode_to_numpy(text).tolist() == [256] * length + [120]
        assert tok.decode(tok.encode(text)) == text
        assert tok.decode(tok.encode(text + "é\U0001f600")) == text + "é\U0001f600"


@pytest.mark.parametrize(
    "numbers",
    [
        [3, 1, 2],
        [0, 0, -1],
        [],
        range(3, 0, -1),
        np.array([2, 3]),
        np.array([1], np.uint64),
        np.array([-4], np.int8),
    ],
    ids=repr,
)
def test_rows_are_taken_by_their_numbers(ragged: Ragged, numbers: Any) -> None:
    taken = ragged[numbers]
    assert type(taken) is Ragged
    assert taken.to_lists() == [ROWS[int(number)] for number in numbers]
    assert taken.ids.dtype == np.uint16
    with pytest.raises(ValueError, match="WRITEABLE"):
        taken.ids.flags.writeable = True


def test_rows_are_taken_by_a_mask(ragged: Ragged) -> None:
    longer = np.diff(ragged.row_offsets) > 1
    assert ragged[longer].to_lists() == ragged[longer.tolist()].to_lists() == [[5, 6], [8, 9, 10]]


@pytest.mark.parametrize(
    ("numbers", "error", "message"),
    [
        ([0, 4], IndexError, "row 4 of 4 rows"),
        (np.array([-5]), IndexError, "row -5 of 4 rows"),
        ([[0]], IndexError, "numbers of one dimension, not 2"),
        ([True], IndexError, "one value for each of 4 rows, not 1"),
        ([0.0], TypeError, "rows are chosen by integers, not float64"),
        (["0"], TypeError, "rows are chosen by integers"),
        ([2**70], TypeError, "rows are chosen by integers"),
        ((0, 1), TypeError, "tuple"),
        ("0", TypeError, "str"),
    ],
)
def test_what_is_no_number_of_a_row_is_refused(
    ragged: Ragged, numbers: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ragged[numbers]


def test_an_epoch_in_another_order_is_a_line(ragged: Ragged) -> None:
    order = np.random.default_rng(0).permutation(len(ragged))
    assert sorted(ragged[order].to_lists()) == sorted(ROWS)
    assert ragged[order][np.argsort(order)] == ragged
