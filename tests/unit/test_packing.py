"""``pack``: windows of documents, and what is left out only where it was told."""

from __future__ import annotations

import pickle
import random
from itertools import chain
from typing import Any

import numpy as np
import pytest
from tokenmill import ModelInputs, Packed, Ragged, causal_mask, collator, pack

ROWS = [[5, 6, 7], [8, 9, 10, 11], [12], [], list(range(100, 111))]


def lists(windows: Any, name: str = "input_ids") -> list[list[Any]]:
    return [window[name].tolist() for window in windows]


def test_best_fit_fills_windows_with_whole_documents() -> None:
    windows = pack(ROWS, 4)
    assert lists(windows) == [
        [5, 6, 7],
        [8, 9, 10, 11],
        [12, 108, 109, 110],
        [100, 101, 102, 103],
        [104, 105, 106, 107],
    ]
    assert lists(windows, "document_ids")[2] == [2, 4, 4, 4]
    assert lists(windows, "position_ids")[2] == [0, 0, 1, 2]
    assert lists(windows, "cu_seqlens")[2] == [0, 1, 4]
    assert windows[2]["cu_seqlens"].dtype == np.int32
    assert windows.fill == 19 / 20
    assert (windows.dropped_rows.tolist(), windows.dropped_tokens) == ([], 0)


def test_concat_joins_documents_and_cuts_at_the_ends_of_windows() -> None:
    windows = pack(ROWS[:3], 3, method="concat")
    assert lists(windows) == [[5, 6, 7], [8, 9, 10], [11, 12]]
    assert lists(windows, "document_ids") == [[0, 0, 0], [1, 1, 1], [1, 2]]
    # A part in another window does not see the part before it: its positions start anew.
    assert lists(windows, "position_ids") == [[0, 1, 2], [0, 1, 2], [0, 0]]
    last = pack(ROWS[:3], 3, method="concat", drop="last")
    assert lists(last) == [[5, 6, 7], [8, 9, 10]]
    assert (last.dropped_rows.tolist(), last.dropped_tokens) == ([1, 2], 2)
    full = pack(ROWS[:3], 4, method="concat", drop="last")
    assert (len(full), full.dropped_tokens) == (2, 0)


@pytest.mark.parametrize("method", ["best-fit", "concat"])
def test_long_rows_are_cut_as_told(method: Any) -> None:
    rows = [[1, 2], [3, 4, 5, 6, 7]]
    whole = pack(rows, 3, method=method)
    assert sorted(chain(*lists(whole))) == [1, 2, 3, 4, 5, 6, 7]
    cut = pack(rows, 3, method=method, long="truncate")
    assert sorted(chain(*lists(cut))) == [1, 2, 3, 4, 5]
    assert (cut.dropped_rows.tolist(), cut.dropped_tokens) == ([1], 2)
    gone = pack(rows, 3, method=method, long="drop")
    assert lists(gone) == [[1, 2]]
    assert (gone.dropped_rows.tolist(), gone.dropped_tokens) == ([1], 5)
    with pytest.raises(ValueError, match='row 1 has 5 tokens, more than a window of 3; pass long="split"'):
        pack(rows, 3, method=method, long="error")


@pytest.mark.parametrize("method", ["best-fit", "concat"])
def test_rows_that_are_split_are_told(method: Any) -> None:
    rows = [[1, 2, 3], [4, 5, 6, 7, 8, 9, 10], [], [11], [12, 13, 14, 15]]
    windows = pack(rows, 3, method=method)
    assert windows.split_rows.tolist() == [1, 4]
    with pytest.raises(ValueError, match="read-only"):
        windows.split_rows[0] = 1
    assert pickle.loads(pickle.dumps(windows)).split_rows.tolist() == [1, 4]
    for long in ("truncate", "drop"):
        whole = pack(rows, 3, method="best-fit", long=long)
        assert (whole.split_rows.tolist(), whole.dropped_rows.tolist()) == ([], [1, 4])
    # With concat, short rows are cut where a window ends.
    assert pack([[1, 2], [3, 4]], 3, method=method).split_rows.tolist() == ([1] if method == "concat" else [])
    assert pack([], 3, method=method).split_rows.tolist() == []


def test_other_columns_stay_beside_their_ids() -> None:
    rows = [
        {"input_ids": [5, 6, 7], "labels": [-100, 6, 7], "weights": [0.5, 1.0, 2.0]},
        {"input_ids": [8, 9], "labels": [8, 9], "weights": [3.0, 4.0]},
    ]
    for method in ("best-fit", "concat"):
        windows = pack(rows, 4, method=method)
        tokens = zip(*(np.concatenate(lists(windows, name)) for name in rows[0]), strict=True)
        assert set(tokens) == {(5, -100, 0.5), (6, 6, 1), (7, 7, 2), (8, 8, 3), (9, 9, 4)}


def test_a_separator_ends_each_document() -> None:
    rows = [
        {"input_ids": [5, 6], "labels": [-100, 6], "loss_mask": [0, 1], "kind": [3, 3]},
        {"input_ids": [], "labels": [], "loss_mask": [], "kind": []},
        {"input_ids": [8], "labels": [8], "loss_mask": [1], "kind": [4]},
    ]
    (window,) = pack(rows, 9, separator=99, separator_values={"kind": 0})
    assert {name: values.tolist() for name, values in window.items()} == {
        "input_ids": [5, 6, 99, 99, 8, 99],
        "labels": [-100, 6, 99, 99, 8, 99],
        "loss_mask": [0, 1, 1, 1, 1, 1],
        "kind": [3, 3, 0, 0, 4, 0],
        "position_ids": [0, 1, 2, 0, 0, 1],
        "document_ids": [0, 0, 0, 1, 2, 2],
        "cu_seqlens": [0, 3, 4, 6],
    }
    with pytest.raises(
        ValueError, match=r"what a separator has in kind: pass separator_values=\{'kind': 0\}"
    ):
        pack(rows, 9, separator=99)


def test_the_first_label_of_a_document_may_be_left_out() -> None:
    windows = pack([[5, 6], [7, 8, 9]], 5, mask_first_label=True)
    assert lists(windows, "labels") == [[-100, 6, -100, 8, 9]]
    given = pack([{"input_ids": [5, 6], "labels": [-100, 6]}], 5)
    assert lists(given, "labels") == [[-100, 6]]
    assert "labels" not in pack([[5, 6]], 5)[0]


@pytest.mark.parametrize("side", ["left", "right"])
def test_windows_become_a_batch(side: Any) -> None:
    windows = pack(ROWS, 4)
    batch = windows.pad(0, padding_side=side)
    assert type(batch) is ModelInputs
    short = [[0], [5, 6, 7]] if side == "left" else [[5, 6, 7], [0]]
    assert batch["input_ids"][0].tolist() == [*chain(*short)]
    assert batch["attention_mask"].sum() == 19
    assert (batch["document_ids"] == -1).tolist() == (batch["attention_mask"] == 0).tolist()
    edges = [0, 1, 4] if side == "left" else [0, 3, 4]
    assert batch["cu_seqlens"].tolist() == [*edges, 8, 9, 12, 16, 20]
    # What varlen attention sees in the flat cells is what the mask says of each window.
    mask = causal_mask(batch)
    starts = np.repeat(batch["cu_seqlens"][:-1], np.diff(batch["cu_seqlens"])).reshape(5, 4)
    same = starts[:, :, None] == starts[:, None, :]
    seen = same & np.tri(4, dtype=bool) & (batch["attention_mask"] != 0)[:, None, :]
    assert (mask == seen).all()
    with pytest.raises(ValueError, match="neither"):
        windows.pad(0, padding_side="up")  # type: ignore[arg-type]


def test_some_windows_are_padded_by_a_tokenizer(native: Any) -> None:
    tok = native.train(texts=["low"], num_merges=0)
    windows = pack(ROWS, 4)
    made = collator(tok, pad_id=0, return_tensors="np", padding="max_length", max_length=4)(windows[:])
    assert made == windows.pad(0)
    assert tok.pad_batch(windows[:2], pad_id=0)["cu_seqlens"].tolist() == [0, 3, 4, 8]


def test_it_is_a_sequence_that_never_changes() -> None:
    windows = pack(ROWS, 4)
    assert len(windows) == 5
    assert windows[-1] == windows[4]
    assert windows[1:3] == [windows[1], windows[2]]
    assert [*windows] == windows[:]
    for outside in (5, -6):
        with pytest.raises(IndexError, match=f"window {outside} of 5 windows"):
            windows[outside]
    with pytest.raises(ValueError, match="read-only"):
        windows[0]["input_ids"][0] = 1
    assert pickle.loads(pickle.dumps(windows)) == windows
    assert windows != pack(ROWS, 5)
    assert windows != 5
    assert repr(windows) == "Packed(5 windows of up to 4, 19 tokens)"
    with pytest.raises(TypeError, match=r"made by pack\(rows, length\)"):
        Packed()
    with pytest.raises(TypeError, match="unhashable"):
        hash(windows)


@pytest.mark.parametrize("rows", [[], [[]], Ragged([], [0]), Ragged([], [0, 0])])
@pytest.mark.parametrize("method", ["best-fit", "concat"])
def test_nothing_makes_no_windows(rows: Any, method: Any) -> None:
    windows = pack(rows, 4, method=method)
    assert (len(windows), windows.fill) == (0, 1.0)
    assert windows.pad(0)["input_ids"].shape == (0, 4)


def test_ids_keep_their_type() -> None:
    windows = pack(Ragged(np.array([5, 6, 7], np.uint16), [0, 1, 3]), 4, separator=9)
    assert windows[0]["input_ids"].dtype == np.uint16


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([[1]], {"length": 0}, "length=0 is no length of a window"),
        ([[1]], {"method": "first-fit"}, "method='first-fit' is none of 'best-fit', 'concat'"),
        ([[1]], {"long": "cut"}, "long='cut' is none of"),
        ([[1]], {"drop": "first"}, "drop='first' is none of"),
        ([[1]], {"drop": "last"}, 'drop="last" is for method="concat"'),
        ([{"input_ids": [1], "label": 3}], {}, "label has one value in each row, and a window has many rows"),
        ([{"input_ids": [1], "labels": [3, 4]}], {}, "labels of row 0 has 2 values, input_ids 1"),
        ([{"input_ids": [1, 0], "attention_mask": [1, 0]}], {}, "rows are padded"),
    ],
)
def test_what_cannot_be_packed_is_refused(rows: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pack(rows, **{"length": 4, **options})


def best_fit(lengths: list[int], window: int) -> list[int]:
    """The window of each piece, the plain way."""
    rooms: list[tuple[int, int]] = []  # room, and when it got that
    window_of: dict[int, int] = {}
    for turn, piece in enumerate(sorted(range(len(lengths)), key=lambda at: -lengths[at])):
        fits = [(room, -when, at) for at, (room, when) in enumerate(rooms) if room >= lengths[piece]]
        at = min(fits)[2] if fits else len(rooms)
        if not fits:
            rooms.append((window, turn))
        rooms[at] = (rooms[at][0] - lengths[piece], turn)
        window_of[piece] = at
    numbers: dict[int, int] = {}
    return [numbers.setdefault(window_of[piece], len(numbers)) for piece in range(len(lengths))]


def test_best_fit_is_that_of_the_plain_way() -> None:
    from tokenmill import _core

    rng = random.Random(1)
    for _ in range(100):
        window = rng.choice([1, 7, 64])
        lengths = [rng.randint(1, window) for _ in range(rng.randrange(60))]
        assert _core.best_fit_windows(np.array(lengths, np.int64), window).tolist() == best_fit(
            lengths, window
        )
    with pytest.raises(ValueError, match="a piece of 8 ids does not fit into a window of 7"):
        _core.best_fit_windows(np.array([8]), 7)
