"""``ModelInputs``: from ``tok(...)``, ``tok.pad_batch`` and the collator; ``Ragged.pad``, masks."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
import tokenmill
from tokenmill import ModelInputs, Ragged, causal_mask, collator

TEXTS = ["lower", "low", "", "lowest low"]


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.train(texts=["low lower lowest"] * 3, vocab_size=262, special_tokens=["<s>", "<p>"])


def twin(rows: Sequence[Sequence[float]], length: int, pad: float, side: str) -> list[list[float]]:
    """Padded rows, the plain way."""
    gaps = [[pad] * (length - len(row)) for row in rows]
    return [[*gap, *row] if side == "left" else [*row, *gap] for gap, row in zip(gaps, rows, strict=True)]


# ---- the mapping --------------------------------------------------------------------------------


def test_columns_are_items_and_attributes() -> None:
    ids = np.array([[1, 2]])
    batch = ModelInputs(input_ids=ids)
    assert isinstance(batch, Mapping)
    assert batch["input_ids"] is batch.input_ids is ids
    assert [*batch] == [*batch.keys()] == ["input_ids"]
    assert (batch.get("labels"), "labels" in batch, len(batch)) == (None, False, 1)
    assert {**batch}["input_ids"] is ids
    assert "input_ids" in dir(batch)
    with pytest.raises(AttributeError, match="no 'labels'; it has input_ids"):
        _ = batch.labels
    batch["labels"] = ids.copy()
    assert batch.labels.tolist() == [[1, 2]]
    assert repr(batch) == "ModelInputs(input_ids: 1 x 2 int64, labels: 1 x 2 int64)"


def test_equal_arrays_make_equal_inputs() -> None:
    one, other = (ModelInputs(input_ids=np.array([[1, 2]])) for _ in range(2))
    assert one == other
    assert one == {"input_ids": [[1, 2]]}
    other["input_ids"][0, 0] = 9
    assert one != other
    assert one != ModelInputs(one, labels=np.zeros(2))
    assert one != 5
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_copies_and_pickles_are_model_inputs() -> None:
    batch = ModelInputs(input_ids=np.array([[1, 2]]))
    for again in (pickle.loads(pickle.dumps(batch)), copy.copy(batch), copy.deepcopy(batch), batch.copy()):
        assert type(again) is ModelInputs
        assert again == batch


def test_tensors_move_and_arrays_stay() -> None:
    class Tensor:
        def to(self, device: str) -> str:
            return f"on {device}"

    ids = np.array([[1]])
    moved = ModelInputs(input_ids=Tensor(), labels=ids).to("cpu")
    assert moved["input_ids"] == "on cpu"
    assert moved["labels"] is ids


# ---- tok(..., return_tensors=) --------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint16", "uint32", "uint64"])
def test_a_call_writes_what_encodings_say(tok: Any, side: str, dtype: str) -> None:
    how = {"padding": True, "pad_id": 1, "padding_side": side, "pad_to_multiple_of": 4}
    asked = {"return_token_type_ids": True, "return_special_tokens_mask": True, "return_length": True}
    for offsets in (False, True):
        batch = tok(
            TEXTS,
            TEXTS[::-1],
            **how,
            **asked,
            dtype=dtype,
            return_tensors="np",
            return_offsets_mapping=offsets,
        )
        rows = tok(TEXTS, TEXTS[::-1], **how)
        assert batch["input_ids"].tolist() == [row.ids for row in rows]
        assert batch["attention_mask"].tolist() == [row.attention_mask for row in rows]
        assert batch["token_type_ids"].tolist() == [row.type_ids for row in rows]
        assert batch["special_tokens_mask"].tolist() == [row.special_tokens_mask for row in rows]
        assert batch["length"].tolist() == [len(row) for row in rows]
        for name in ("input_ids", "attention_mask", "token_type_ids", "special_tokens_mask"):
            assert batch[name].dtype == np.dtype(dtype)
        if offsets:
            assert batch["offset_mapping"].tolist() == [[list(span) for span in row.offsets] for row in rows]
            assert batch["offset_mapping"].dtype == np.int64


def test_one_text_is_a_batch_of_one_and_no_text_one_of_none(tok: Any) -> None:
    assert tok("lower", return_tensors="np")["input_ids"].tolist() == [tok.encode("lower")]
    empty = tok([], return_tensors="np", return_offsets_mapping=True)
    assert (empty["input_ids"].shape, empty["offset_mapping"].shape) == ((0, 0), (0, 0, 2))
    assert tok("", return_tensors="np")["attention_mask"].shape == (1, 0)


def test_windows_are_rows(tok: Any) -> None:
    limits = {"max_length": 4, "stride": 1, "truncation": True, "padding": True, "pad_id": 1}
    texts = ["low lower lowest low", "low"]
    batch = tok(texts, **limits, return_tensors="np", return_overflowing_tokens=True)
    rows = [row for first in tok(texts, **limits) for row in (first, *first.overflowing)]
    assert batch["input_ids"].tolist() == [row.ids for row in rows]
    assert batch["overflow_to_sample_mapping"].tolist() == [0] * (len(rows) - 1) + [1]
    first = tok(texts, **limits, return_tensors="np")
    assert first["input_ids"].tolist() == [row.ids for row in tok(texts, **limits)]


def test_threads_change_nothing(tok: Any) -> None:
    """A megabyte, so that there are several."""
    texts = [" ".join(["low", "lowest"] * (at % 90)) for at in range(2000)]
    how: dict[str, Any] = {"padding": True, "pad_id": 1, "return_tensors": "np", "return_position_ids": True}
    expected = tok(texts, **how)
    assert expected["input_ids"].nbytes > 4 * 256 << 10
    for threads in (2, 3, None):
        assert tok(texts, **how, num_threads=threads) == expected
        ragged = tok.encode_batch(texts)
        again = tok.pad_batch(ragged, pad_id=1, return_position_ids=True, num_threads=threads)
        assert again == expected


def test_out_is_filled_from_the_front_and_views_come_back(tok: Any) -> None:
    how = {"padding": True, "pad_id": 1, "return_tensors": "np"}
    plain = tok(TEXTS, **how)
    rows, length = plain["input_ids"].shape
    ids, mask = np.full((rows + 1, length + 2), 7), np.full((rows, length), 7)
    filled = tok(TEXTS, **how, out={"input_ids": ids, "attention_mask": mask})
    assert filled == plain
    assert np.shares_memory(filled["input_ids"], ids)
    assert np.shares_memory(filled["attention_mask"], mask)
    assert (ids[rows:] == 7).all()
    assert (ids[:, length:] == 7).all()
    assert tok(TEXTS, **how, out=ids[::2][:1].repeat(rows, 0)) == plain
    again = tok.pad_batch(tok.encode_batch(TEXTS), pad_id=1, out=ids)
    assert again == plain
    assert np.shares_memory(again["input_ids"], ids)


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (
            np.zeros((4, 1), np.int64),
            ValueError,
            r"out\['input_ids'\] has room for 4 x 1 ids, 4 x 5 are needed",
        ),
        (np.zeros((9, 9), np.int32), ValueError, "is an array of int32, but dtype is int64"),
        (np.zeros(40, np.int64), TypeError, "of two dimensions, not ndarray of shape"),
        ([[0]], TypeError, "numpy array of two dimensions, not list$"),
        ({"labels": np.zeros((9, 9))}, ValueError, "out has arrays for 'labels'.*it returns input_ids"),
        (np.zeros((9, 18), np.int64)[:, ::2], ValueError, "lie apart; give an array in C order"),
        (np.broadcast_to(np.zeros(9, np.int64), (9, 9)), ValueError, "read-only"),
    ],
)
def test_an_out_that_does_not_fit_is_refused(tok: Any, out: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        tok(TEXTS, padding=True, pad_id=1, return_tensors="np", out=out)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "row 0 has 3 ids, row 1 has 1; pass padding=True, or leave return_tensors out"),
        (
            {"padding": "max_length", "max_length": 2, "pad_id": 1},
            ValueError,
            "some are longer than padding makes them: pass truncation=True",
        ),
        ({"padding": True}, ValueError, "padding needs a padding token.*pass pad_id="),
        ({"padding": True, "pad_id": 999}, tokenmill.VocabularyError, "id 999: does not exist"),
        ({"padding": True, "pad_id": -1}, tokenmill.VocabularyError, "is not an id"),
        ({"return_tensors": "tf"}, ValueError, 'return_tensors=\'tf\' is neither "np" nor "pt"'),
        ({"dtype": "float32"}, ValueError, "dtype float32 does not hold ids"),
    ],
)
def test_what_makes_no_arrays_is_refused(tok: Any, arguments: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        tok(["lower", "low"], **{"return_tensors": "np", **arguments})


@pytest.mark.parametrize(
    "argument",
    [
        *({name: True} for name in ("return_token_type_ids", "return_attention_mask", "return_length")),
        *({name: True} for name in ("return_overflowing_tokens", "return_special_tokens_mask")),
        *({name: True} for name in ("return_offsets_mapping", "return_position_ids")),
        {"dtype": "int32"},
        {"out": np.zeros((9, 9))},
    ],
)
def test_what_is_for_arrays_is_refused_without_them(tok: Any, argument: Any) -> None:
    (name,) = argument
    with pytest.raises(ValueError, match=f"^{name} is for arrays: pass return_tensors="):
        tok(TEXTS, **argument)


# ---- tensors --------------------------------------------------------------------------------------


def test_arrays_are_shared_by_dlpack(tok: Any) -> None:
    batch = tok(TEXTS, padding=True, pad_id=1, return_tensors="np", return_offsets_mapping=True)
    for array in batch.values():
        again = np.from_dlpack(array)
        assert np.shares_memory(again, array)
        again[...] = 3
        assert (array == 3).all()


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is used of torch, done by numpy."""

    class Tensor(np.ndarray[Any, Any]):
        pass

    Tensor.__module__ = "torch"
    module = types.ModuleType("torch")
    module.from_dlpack = lambda array: np.from_dlpack(array).view(Tensor)  # type: ignore[attr-defined]
    module.Tensor = Tensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_tensors_are_made_by_dlpack_and_share_memory(tok: Any, torch: Any) -> None:
    out = np.zeros((4, 6), np.int64)
    batch = tok(TEXTS, padding=True, pad_id=1, return_tensors="pt", out=out)
    assert all(isinstance(value, torch.Tensor) for value in batch.values())
    assert np.shares_memory(batch["input_ids"], out)
    padded = tok.pad_batch([[5, 6], [7]], pad_id=1, return_tensors="pt")
    assert isinstance(padded["attention_mask"], torch.Tensor)
    assert isinstance(causal_mask(padded), torch.Tensor)
    assert not isinstance(causal_mask(np.asarray(padded["attention_mask"])), torch.Tensor)
    made = collator(tok, pad_id=1, make_labels=True)(["low", "lower"])
    assert isinstance(made["labels"], torch.Tensor)


def test_without_torch_it_says_what_to_install(tok: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    calls: list[Callable[[], Any]] = [
        lambda: tok(TEXTS, return_tensors="pt"),
        lambda: tok.pad_batch([[1]], pad_id=1, return_tensors="pt"),
        lambda: collator(tok, pad_id=1)([[1]]),
    ]
    for call in calls:
        with pytest.raises(tokenmill.MissingExtraError, match="pip install torch") as caught:
            call()
        assert caught.value.extra == "torch"


# ---- tok.pad_batch --------------------------------------------------------------------------------

ROWS = [[5, 6, 7], [], [8]]


class Row(Mapping[str, Any]):
    """A mapping that is no dict."""

    def __init__(self, **columns: Any) -> None:
        self.columns = columns

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        [tuple(row) for row in ROWS],
        [np.array(row, np.uint16) for row in ROWS],
        [np.array(row, np.int64) for row in ROWS],
        Ragged([5, 6, 7, 8], [0, 3, 3, 4]),
        Ragged(np.array([0, 5, 6, 7, 8], np.uint8), [0, 1, 4, 4, 5])[1:],
        [{"input_ids": row} for row in ROWS],
        [Row(input_ids=row) for row in ROWS],
        {"input_ids": ROWS},
        {"input_ids": Ragged([5, 6, 7, 8], [0, 3, 3, 4])},
        ModelInputs(input_ids=ROWS),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_rows_of_every_kind_are_padded(tok: Any, rows: Any, side: str) -> None:
    batch = tok.pad_batch(rows, pad_id=1, padding_side=side)
    assert batch["input_ids"].tolist() == twin(ROWS, 3, 1, side)
    assert batch["attention_mask"].tolist() == twin([[1] * len(row) for row in ROWS], 3, 0, side)
    assert batch["input_ids"].dtype == np.int64


def test_encodings_and_rows_of_them_are_padded(tok: Any) -> None:
    expected = tok(
        TEXTS,
        padding=True,
        pad_id=1,
        return_tensors="np",
        return_token_type_ids=True,
        return_special_tokens_mask=True,
        return_offsets_mapping=True,
    )
    asked = {
        "return_token_type_ids": True,
        "return_special_tokens_mask": True,
        "return_offsets_mapping": True,
    }
    for rows in (tok(TEXTS), tok.encode_batch(TEXTS, offsets=True), tok(TEXTS, padding=True, pad_id=1)):
        assert tok.pad_batch(rows, pad_id=1, **asked) == expected
    assert [*tok.pad_batch(tok(TEXTS), pad_id=1)] == ["input_ids", "attention_mask"]
    with pytest.raises(ValueError, match="these rows have no offset_mapping: it comes from Encodings"):
        tok.pad_batch(tok.encode_batch(TEXTS), pad_id=1, return_offsets_mapping=True)


def test_an_array_is_a_batch(tok: Any) -> None:
    rows = np.arange(6).reshape(2, 3)
    assert tok.pad_batch(rows, padding=False)["input_ids"].tolist() == rows.tolist()
    assert tok.pad_batch(rows, pad_id=1, pad_to_multiple_of=4)["input_ids"].shape == (2, 4)
    assert tok.pad_batch(rows[:, ::2], pad_id=1)["input_ids"].tolist() == [[0, 2], [3, 5]]
    assert tok.pad_batch([], pad_id=1)["input_ids"].shape == (0, 0)


@pytest.mark.parametrize("side", ["left", "right"])
def test_columns_are_padded_by_their_names(tok: Any, side: str) -> None:
    rows = [
        {
            "input_ids": [5, 6, 7],
            "labels": [-100, 6, 7],
            "loss_mask": [0, 1, 1],
            "special_tokens_mask": [1, 0, 0],
            "weights": [0.5, 1.0, 2.0],
            "kept": [True, True, False],
            "document_ids": [0, 0, 1],
            "score": 0.25,
            "label": 3,
        },
        {
            "input_ids": [8],
            "labels": [8],
            "loss_mask": [1],
            "special_tokens_mask": [0],
            "weights": [1.5],
            "kept": [True],
            "document_ids": [2],
            "score": 0.75,
            "label": 4,
        },
    ]
    batch = tok.pad_batch(rows, pad_id=1, padding_side=side, pad_values={"weights": 0.0, "kept": False})
    pads = {
        "input_ids": 1,
        "labels": -100,
        "loss_mask": 0,
        "special_tokens_mask": 1,
        "weights": 0.0,
        "kept": False,
        "document_ids": -1,
    }
    for name, pad in pads.items():
        assert batch[name].tolist() == twin([row[name] for row in rows], 3, pad, side), name  # type: ignore[misc]
    assert (batch["score"].tolist(), batch["label"].tolist()) == ([0.25, 0.75], [3, 4])
    assert batch["weights"].dtype == np.float64
    assert batch["kept"].dtype == bool
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    assert tok.pad_batch(columns, pad_id=1, padding_side=side, pad_values={"weights": 0, "kept": 0}) == batch


def test_columns_may_have_a_length_of_their_own_where_named(tok: Any) -> None:
    rows = [{"input_ids": [5, 6, 7], "labels": [1]}, {"input_ids": [8], "labels": [1, 2]}]
    with pytest.raises(
        ValueError, match=r"labels of row 0 has 1 values, input_ids 3;.*own_length=\('labels',\)"
    ):
        tok.pad_batch(rows, pad_id=1)
    batch = tok.pad_batch(rows, pad_id=1, own_length=["labels"])
    assert batch["labels"].tolist() == [[1, -100], [1, 2]]
    assert batch["input_ids"].shape == (2, 3)


def test_a_mask_of_the_rows_is_kept_and_counts_for_positions(tok: Any) -> None:
    rows = [{"input_ids": [0, 5, 6], "attention_mask": [0, 1, 1]}, {"input_ids": [8], "attention_mask": [1]}]
    batch = tok.pad_batch(rows, pad_id=1, return_position_ids=True, position_offset=[10, 20])
    assert batch["attention_mask"].tolist() == [[0, 1, 1], [1, 0, 0]]
    assert batch["position_ids"].tolist() == [[10, 10, 11], [20, 20, 20]]


@pytest.mark.parametrize("side", ["left", "right"])
def test_positions_go_on_after_a_prefill(tok: Any, side: str) -> None:
    how = {"pad_id": 1, "padding_side": side, "return_position_ids": True}
    plain = tok.pad_batch(ROWS, **how)["position_ids"]
    assert (tok.pad_batch(ROWS, **how, position_offset=7)["position_ids"] == plain + 7).all()
    each = np.array([3, 0, 9])
    assert (tok.pad_batch(ROWS, **how, position_offset=each)["position_ids"] == plain + each[:, None]).all()
    with pytest.raises(ValueError, match=r"one for each of 3 rows; it has the shape \(2,\)"):
        tok.pad_batch(ROWS, **how, position_offset=[1, 2])
    with pytest.raises(ValueError, match="position_offset is for return_position_ids=True"):
        tok.pad_batch(ROWS, pad_id=1, position_offset=3)


def test_padding_is_as_the_tokenizer_says(native: Any, tok: Any) -> None:
    own = native.train(texts=["low"], num_merges=1, pad_token="<pad>")
    assert own.pad_batch([[5], [6, 7]])["input_ids"].tolist() == [[5, own.pad_token_id], [6, 7]]
    assert own.pad_batch([[5]], padding="max_length", max_length=3)["input_ids"].shape == (1, 3)
    assert own.pad_batch([[5]], pad_to_multiple_of=4, return_length=True)["length"].tolist() == [4]
    with pytest.raises(ValueError, match="padding needs a padding token"):
        tok.pad_batch([[5]])


@pytest.mark.parametrize(
    ("rows", "options", "error", "message"),
    [
        ("text", {}, TypeError, "rows must be a sequence of rows of ids, not str"),
        (["text"], {}, TypeError, "rows must be ids, not texts"),
        (5, {}, TypeError, "rows must be a sequence of rows of ids, not int"),
        ([5, 6], {}, TypeError, "for a single row give a list of one"),
        ({"input_ids": [5, 6]}, {}, TypeError, "for a single row give a list of one"),
        ([[5], 6], {}, ValueError, "input_ids has a list in some rows, but one value in row 1"),
        ([[0.5]], {}, TypeError, "ids are integers, not float64"),
        ([[[5]], [[6]]], {}, TypeError, "input_ids must be a list of ids in each row"),
        ([["a"]], {}, TypeError, "input_ids of row 0 holds str, no numbers"),
        ([[5], None], {}, TypeError, "input_ids of row 1 holds NoneType, no numbers"),
        ([[[5], [6, 7]]], {}, TypeError, "list of lists of unequal length"),
        ([{"labels": [5]}], {}, ValueError, "a row needs input_ids; row 0 has labels"),
        ({"labels": [[5]]}, {}, ValueError, "a mapping of columns needs input_ids; this one has labels"),
        ([{"input_ids": [5]}, [6]], {}, TypeError, "row 1 is list, row 0 a mapping"),
        (
            [{"input_ids": [5]}, {"input_ids": [5], "labels": [5]}],
            {},
            ValueError,
            "row 1 has 'labels', row 0 has not",
        ),
        (
            [{"input_ids": [5], "labels": [5]}, {"input_ids": [5]}],
            {},
            ValueError,
            "row 0 has 'labels', row 1 has not",
        ),
        ({"input_ids": [[5]], "labels": [[5], [6]]}, {}, ValueError, "labels has 2 rows, input_ids 1"),
        (
            [{"input_ids": [5], "text": "low"}],
            {},
            TypeError,
            "text of row 0 holds str, no numbers: leave this",
        ),
        (
            [{"input_ids": [5], "extra": [1]}, {"input_ids": [5, 6], "extra": [1, 2]}],
            {},
            ValueError,
            r"nothing says what padding is in extra: pass pad_values=\{'extra': 0\}",
        ),
        (
            [{"input_ids": [5], "extra": [1]}, {"input_ids": [5, 6], "extra": [1, 2]}],
            {"pad_values": {"extra": 0.5}},
            TypeError,
            r"extra has integers, so pad_values\['extra'\] must be one, not 0.5",
        ),
        (
            [[5], [6, 7]],
            {"padding": False},
            ValueError,
            "of row 0 has 1 values, of row 1 2; pass padding=True",
        ),
        (
            [[5], [6, 7, 8]],
            {"padding": "max_length", "max_length": 2},
            ValueError,
            "input_ids of row 1 has 3 values, more than the 2 that rows are padded to",
        ),
        (
            [[5], [70_000]],
            {"dtype": "uint16"},
            ValueError,
            "dtype uint16 cannot hold 70000, a value of input_ids",
        ),
        (
            [{"input_ids": [5], "labels": [-100]}],
            {"dtype": "uint32"},
            ValueError,
            "dtype uint32 cannot hold -100, a value of labels; use int64",
        ),
        ([np.array([2**63], np.uint64)], {}, ValueError, "cannot hold 9223372036854775808"),
    ],
)
def test_rows_that_make_no_batch_are_refused(
    tok: Any, rows: Any, options: Any, error: type, message: str
) -> None:
    with pytest.raises(error, match=message):
        tok.pad_batch(rows, **{"pad_id": 1, **options})


# ---- the compiled loops and their plain twin ------------------------------------------------------


def test_padded_rows_are_those_of_the_plain_way(tok: Any) -> None:
    """Rows around every border of threads, in every type, on both sides."""
    rng = random.Random(1)
    for _ in range(60):
        rows = [
            [rng.randrange(250) for _ in range(rng.choice([0, 1, 2, 7, 40]))] for _ in range(rng.randrange(9))
        ]
        side = rng.choice(["left", "right"])
        multiple, first = rng.choice([1, 3, 8]), rng.randrange(100)
        longest = max(map(len, rows), default=0)
        length = -(-longest // multiple) * multiple
        source = rng.choice([list, Ragged])
        given: Any = rows
        if source is Ragged:
            flat = np.array([id for row in rows for id in row], rng.choice(["u1", "u4", "i4", "i8", "u8"]))
            given = Ragged(flat, np.cumsum([0, *map(len, rows)]))
        batch = tok.pad_batch(
            given,
            pad_id=1,
            padding_side=side,
            pad_to_multiple_of=multiple,
            return_position_ids=True,
            position_offset=first,
            dtype=rng.choice(["int64", "int32", "uint16", "uint32", "uint64"]),
            num_threads=rng.choice([1, 3]),
        )
        mask = twin([[1] * len(row) for row in rows], length, 0, side)
        assert batch["input_ids"].tolist() == twin(rows, length, 1, side)
        assert batch["attention_mask"].tolist() == mask
        counted = np.maximum(np.cumsum(np.reshape(mask, (len(rows), length)), axis=1) - 1, 0) + first
        assert batch["position_ids"].tolist() == counted.astype(int).tolist()


def test_arrays_that_do_not_fit_are_refused_below() -> None:
    """Each of the compiled loops looks for itself."""
    from tokenmill import _core

    values, out = np.arange(4), np.zeros((2, 2), np.int64)
    for bounds, message in [
        ([0, 2, 5], "do not fit the values"),
        ([0, 3, 2], "do not fit the values"),
        ([-1, 2, 4], "do not fit the values"),
        ([0, 1, 4], "2 rows of 2 cells, but there are 2 rows of up to 3"),
        ([0, 2], "2 rows of 2 cells, but there are 1 rows"),
    ]:
        offsets = np.array(bounds)
        with pytest.raises(ValueError, match=message):
            _core.pad_rows(values, offsets, out, 0, False, 1)
        with pytest.raises(ValueError, match=message):
            _core.pad_rows(values.astype(np.uint32), offsets, out, 0, False, 1)
        if "values" not in message:
            with pytest.raises(ValueError, match=message):
                _core.mask_rows(offsets, out, True, 1)
            with pytest.raises(ValueError, match=message):
                _core.position_rows(offsets, np.zeros(len(bounds) - 1, np.int64), out, True, 1)
    with pytest.raises(ValueError, match="first has a position for each row"):
        _core.position_rows(np.array([0, 1, 2]), np.zeros(1, np.int64), out, True, 1)
    assert _core.flat_rows([[1, True]]) is None
    assert _core.flat_rows([[2**70]]) is None


# ---- Ragged.pad -----------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
def test_ragged_rows_are_padded_without_a_tokenizer(side: Any) -> None:
    ragged = Ragged([5, 6, 7, 8], [0, 3, 3, 4])
    ids, mask = ragged.pad(9, padding_side=side, pad_to_multiple_of=2, dtype="uint16")
    assert ids.tolist() == twin(ROWS, 4, 9, side)
    assert mask.tolist() == twin([[1] * len(row) for row in ROWS], 4, 0, side)
    assert ids.dtype == mask.dtype == np.uint16
    assert ragged.pad(-1, length=5)[0].shape == (3, 5)
    with pytest.raises(ValueError, match="row 0 has 3 values, more than the 2"):
        ragged.pad(0, length=2)
    with pytest.raises(ValueError, match="neither"):
        ragged.pad(0, padding_side="up")  # type: ignore[arg-type]


# ---- causal_mask ----------------------------------------------------------------------------------


def test_a_token_sees_those_before_it_in_its_document() -> None:
    batch = {"attention_mask": [[0, 1, 1, 1, 1]], "document_ids": [[-1, 0, 0, 1, 1]]}
    seen = [[0, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 1, 1]]
    assert causal_mask(batch).astype(int).tolist() == [seen]
    assert causal_mask({name: rows[0] for name, rows in batch.items()}).astype(int).tolist() == seen
    assert causal_mask({"input_ids": [[5, 6]]}).tolist() == [[[True, False], [True, True]]]
    assert causal_mask([[1, 1]], dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="attention_mask or input_ids"):
        causal_mask({"labels": [[1]]})
    with pytest.raises(ValueError, match="one dimension or two, not 3"):
        causal_mask([[[1]]])
    with pytest.raises(ValueError, match=r"document_ids have the shape \(1, 1\), attention_mask \(1, 2\)"):
        causal_mask({"attention_mask": [[1, 1]], "document_ids": [[0]]})


# ---- the collator ---------------------------------------------------------------------------------


def test_a_collator_takes_texts_ids_and_rows(tok: Any) -> None:
    collate = collator(tok, pad_id=1, return_tensors="np", pad_to_multiple_of=4)
    expected = tok(TEXTS, padding=True, pad_id=1, return_tensors="np", pad_to_multiple_of=4)
    assert collate(TEXTS) == expected
    assert collate(tok.encode_batch(TEXTS).to_lists()) == expected
    assert collate([{"input_ids": ids} for ids in tok.encode_batch(TEXTS)]) == expected
    cut = collator(tok, pad_id=1, return_tensors="np", truncation=True, max_length=2)
    assert cut(TEXTS)["input_ids"].shape == (4, 2)


def test_labels_are_made_of_ids_where_there_are_none(tok: Any) -> None:
    """By the mask: the padding token of a text is a target."""
    collate = collator(tok, pad_id=1, return_tensors="np", make_labels=True, plain=True)
    batch = collate([[5, 1], [6, 7, 8]])
    assert type(batch) is dict
    assert batch["labels"].tolist() == [[5, 1, -100], [6, 7, 8]]
    given = collate([{"input_ids": [5], "labels": [-100]}])
    assert given["labels"].tolist() == [[-100]]


def test_made_labels_are_refused_where_ids_have_no_sign(tok: Any) -> None:
    """-100 would be 65436, which a loss takes for an id."""
    for dtype in ("uint16", "uint32", "uint64"):
        collate = collator(tok, pad_id=1, return_tensors="np", make_labels=True, dtype=dtype)
        with pytest.raises(ValueError, match=f"dtype {dtype} cannot hold -100, a value of labels"):
            collate(TEXTS)
    collate = collator(tok, pad_id=1, return_tensors="np", make_labels=True, dtype="int32")
    assert collate(TEXTS)["labels"].dtype == np.int32


def test_a_collator_works_in_another_process(tok: Any) -> None:
    collate = collator(tok, pad_id=1, return_tensors="np", pad_values={"extra": 0}, own_length=["labels"])
    again = pickle.loads(pickle.dumps(collate))
    assert again(TEXTS) == collate(TEXTS)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for batch in pool.map(collate, [TEXTS, TEXTS[:2]]):
            assert type(batch) is ModelInputs
        assert batch == collate(TEXTS[:2])


# ---- what it costs --------------------------------------------------------------------------------


def test_import_does_not_wait_for_it() -> None:
    code = (
        "import sys, tokenmill; tokenmill.train(texts=['low'], num_merges=0)('low');"
        "assert not {'numpy', 'tokenmill.model_inputs', 'tokenmill._pad_batch', 'tokenmill.packing',"
        "'tokenmill.spans'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("offset", "dtype", "error", "match"),
    [
        (-3, "uint32", ValueError, "dtype uint32 cannot hold the position -3"),
        (2**63 - 2, "int64", ValueError, "cannot hold the position"),
        (2**31 - 2, "int32", ValueError, "cannot hold the position"),
        (1.7, "int64", TypeError, "position_offset is an integer, or one for each row"),
        ([1, 2.5], "int64", TypeError, "position_offset is an integer"),
    ],
)
def test_position_offsets_that_do_not_fit(offset: Any, dtype: str, error: type, match: str) -> None:
    tok = tokenmill.train(texts=["low"], num_merges=1)
    with pytest.raises(error, match=match):
        tok.pad_batch(
            [[1, 2], [3, 4]], pad_id=0, return_position_ids=True, position_offset=offset, dtype=dtype
        )
    made = tok.pad_batch([[1, 2]], pad_id=0, return_position_ids=True, position_offset=-3)
    assert made["position_ids"].tolist() == [[-3, -2]]


def test_two_columns_have_two_arrays() -> None:
    tok = tokenmill.train(texts=["low"], num_merges=1)
    room = np.zeros((1, 4), dtype=np.int64)
    with pytest.raises(ValueError, match=r"out\['attention_mask'\] and out\['input_ids'\] share memory"):
        tok.pad_batch([[5, 6]], pad_id=0, out={"input_ids": room[:, :2], "attention_mask": room[:, 1:3]})
    halves = np.zeros((2, 1, 2), dtype=np.int64)
    tok.pad_batch([[5, 6]], pad_id=0, out={"input_ids": halves[0], "attention_mask": halves[1]})
    assert halves.tolist() == [[[5, 6]], [[1, 1]]]
