"""``tok(..., return_tensors=)`` and ``tok.pad_batch`` beside transformers 5.23: random calls, every argument.

What is not the same is in docs/differences.md; it is counted here, and asserted by tests of its own.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .test_compat_transformers import SINGLE, WORDS, plain_tokenizer
from .test_folders import covers, texts

os.environ.update({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"})
# Its threads cost more than they bring with texts as short as these.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

FOLDERS = ["bert-base-uncased", "t5-small", "llama3.1", "qwen2.5", "gpt2"]


@pytest.fixture(scope="module", params=FOLDERS)
def pair(request: pytest.FixtureRequest, native: Any, data: Path) -> tuple[Any, Any]:
    """The tokenizer of transformers, and ours."""
    folder = data / "vocab" / request.param
    theirs = plain_tokenizer(folder)
    return theirs, native.load(folder)


def settings(rng: random.Random) -> dict[str, Any]:
    """Arguments of transformers."""
    choices: dict[str, list[Any]] = {
        "add_special_tokens": [True, False],
        "padding": [False, True, True, "longest", "max_length"],
        "truncation": [None, False, True, "longest_first", "only_first", "only_second"],
        "max_length": [None, 1, 2, 3, 6, 8, 9, 16, 20],
        "stride": [0, 0, 0, 0, 1, 2],
        "pad_to_multiple_of": [None, None, 8],
        "padding_side": [None, "left", "right"],
        "return_overflowing_tokens": [False, True],
        "return_token_type_ids": [None, True, False],
        "return_attention_mask": [None, True, False],
        "return_special_tokens_mask": [False, True],
        "return_offsets_mapping": [False, True],
        "return_length": [False, True],
    }
    return {name: rng.choice(values) for name, values in choices.items()}


def inputs(rng: random.Random, pool: list[str]) -> tuple[tuple[Any, ...], bool]:
    """Texts, perhaps pairs, and whether they are lists of words."""
    batch = [rng.choice(pool)[:200] for _ in range(rng.randint(1, 4))]
    others = [rng.choice(pool)[:200] for _ in batch]
    words = [rng.choice(WORDS) for _ in batch]
    kinds: list[tuple[tuple[Any, ...], bool]] = [
        ((batch[0],), False),
        ((batch,), False),
        ((batch,), False),
        # transformers takes an empty pair of a single text for none.
        ((batch[0], others[0] or "a"), False),
        ((batch, others), False),
        ((words[0],), True),
        ((words,), True),
        ((words[0], words[-1] or ["a"]), True),
        ((words, words[::-1]), True),
    ]
    return rng.choice(kinds)


def ours_of(chosen: dict[str, Any], theirs: Any, split: bool) -> dict[str, Any]:
    """The same arguments for us."""
    given = dict(chosen, special="parse", return_tensors="np", is_pretokenized=split)
    given["truncation_side"] = theirs.truncation_side
    if given["padding"]:
        given["pad_id"] = theirs.pad_token_id
    return given


class Count(Counter[str]):
    """How many calls were the same, and what each of the others is."""

    def compare(self, want: Any, got: Any, what: Any, normalizes: bool) -> None:
        kind = self.kind(want, got, what)
        self[kind] += 1
        if kind != "the same":
            return
        assert list(want) == list(got), what
        samples = want.get("overflow_to_sample_mapping", np.arange(len(want["input_ids"])))
        first = np.diff(samples, prepend=-1) != 0
        for name, theirs in want.items():
            ours = got[name]
            assert ours.dtype == np.int64, (what, name)
            if not theirs.size:
                # Of a row without ids numpy makes an array without a dimension for pairs.
                theirs = theirs.reshape(ours.shape)
            if name == "token_type_ids" and not first.all():
                # The types of other windows are not those of the template there.
                theirs, ours = theirs[first], ours[first]
            if name == "offset_mapping" and not np.array_equal(theirs, ours):
                assert normalizes, what
                pairs = (array.reshape(-1, 2).tolist() for array in (ours, theirs))
                assert covers(*pairs), what
                self["offsets explained"] += 1
                continue
            assert np.array_equal(theirs, ours), (what, name, theirs, ours)

    def kind(self, want: Any, got: Any, what: Any) -> str:
        message = ""
        if isinstance(got, BaseException):
            assert isinstance(got, ValueError), what
            message = str(got)
        if isinstance(want, BaseException):
            if not message and "effective max length" in str(want):
                # Where special tokens leave no room for an id there is nothing that windows could share;
                # and those that are not added are counted there all the same.
                is_added = what[0]["add_special_tokens"]
                assert not is_added or np.all(np.equal(got.get("special_tokens_mask", 1), 1)), what
                return "a stride where no id fits, or no special token is added: an error there"
            assert message, what
            return "errors in both"
        if any(value.dtype == object for value in want.values()):
            assert "unequal length" in message or self.is_limit(message), what
            return "ragged rows: an array of objects there, an error here"
        if not message:
            return "the same"
        assert self.is_limit(message), (what, got)
        return "limits that cannot be: nothing is cut there, an error here"

    @staticmethod
    def is_limit(message: str) -> bool:
        return any(part in message for part in ("no room", "stride", "needs max_length"))


def result(call: Callable[[], Any]) -> Any:
    """What a call returns, or its error."""
    try:
        return call()
    except BaseException as error:
        # A panic is no Exception.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            return error
        raise


# It warns of a length that counts for nothing.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("calls", [60, pytest.param(1000, marks=pytest.mark.slow)], ids=["sample", "all"])
def test_random_calls_give_the_arrays_of_transformers(calls: int, pair: tuple[Any, Any], data: Path) -> None:
    theirs, ours = pair
    rng = random.Random(len(theirs))
    pool = [*SINGLE, *texts(theirs, data, 100)]
    count = Count()
    normalizes = theirs.backend_tokenizer.normalizer is not None
    for _ in range(calls):
        chosen = settings(rng)
        theirs.truncation_side = rng.choice(["left", "right"])
        arguments, split = inputs(rng, pool)
        want = result(partial(theirs, *arguments, is_split_into_words=split, return_tensors="np", **chosen))
        got = result(partial(ours, *arguments, **ours_of(chosen, theirs, split)))
        count.compare(want, got, (chosen, arguments, theirs.truncation_side), normalizes)
    theirs.truncation_side = "right"
    print(f"\n{type(theirs).__name__}: {calls} calls, 0 differences but {dict(count)}")
    assert count["the same"] > calls // 4


# ---- tok.pad_batch --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("calls", [60, pytest.param(1000, marks=pytest.mark.slow)], ids=["sample", "all"])
def test_rows_are_padded_as_transformers_pads_them(calls: int, pair: tuple[Any, Any], data: Path) -> None:
    """`pad` there pads four columns; the others are in docs/differences.md."""
    theirs, ours = pair
    rng = random.Random(len(theirs) + 1)
    pool = [*SINGLE, *texts(theirs, data, 100)]
    refused = 0
    for _ in range(calls):
        batch = [rng.choice(pool)[:200] for _ in range(rng.randint(1, 4))]
        made = theirs(batch, return_token_type_ids=True, return_special_tokens_mask=True)
        names = ["input_ids", *(name for name in made if name != "input_ids" and rng.random() < 0.5)]
        rows = [{name: made[name][at] for name in names} for at in range(len(batch))]
        how: dict[str, Any] = {
            "padding": rng.choice([True, "longest", "max_length", False]),
            "max_length": rng.choice([None, None, 8, 300, 300]),
            "pad_to_multiple_of": rng.choice([None, 8]),
            "padding_side": rng.choice([None, "left", "right"]),
        }
        if how["padding"] == "max_length" and how["max_length"] is None:
            how["max_length"] = 300
        want = result(partial(theirs.pad, [dict(row) for row in rows], return_tensors="np", **how))
        pad_id = {} if how["padding"] is False else {"pad_id": theirs.pad_token_id}
        got = result(partial(ours.pad_batch, rows, **how, **pad_id))
        if isinstance(got, ValueError):
            # There rows stay as long as they are, in an array of objects if they are ragged.
            lengths = {len(row["input_ids"]) for row in rows}
            if "unequal length" in str(got):
                assert (how["padding"], len(lengths) > 1) == (False, True), how
            else:
                assert "values, more than" in str(got), how
                assert max(lengths) > how["max_length"], how
            refused += 1
            continue
        assert set(want) == set(got), how
        for name in want:
            assert np.array_equal(np.reshape(want[name], got[name].shape), got[name]), (how, name)
    print(f"\n{type(theirs).__name__}: {calls} batches, 0 differences, {refused} ragged")
    assert refused < calls // 2


# ---- what is not the same -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bert(native: Any, data: Path) -> tuple[Any, Any]:
    folder = data / "vocab" / "bert-base-uncased"
    return plain_tokenizer(folder), native.load(folder)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_ragged_rows_are_an_error_here_and_an_array_of_objects_there(bert: tuple[Any, Any]) -> None:
    theirs, ours = bert
    assert theirs(["low", "low low"], return_tensors="np")["input_ids"].dtype == object
    with pytest.raises(ValueError, match="pass padding=True"):
        ours(["low", "low low"], return_tensors="np")


def test_no_text_is_a_batch_of_none_here_and_an_error_there(bert: tuple[Any, Any]) -> None:
    theirs, ours = bert
    with pytest.raises(IndexError):
        theirs([])
    assert ours([], return_tensors="np")["input_ids"].shape == (0, 0)


def test_offsets_of_no_id_are_still_pairs_here(bert: tuple[Any, Any]) -> None:
    theirs, ours = bert
    how: dict[str, Any] = {
        "add_special_tokens": False,
        "return_tensors": "np",
        "return_offsets_mapping": True,
    }
    assert theirs("", **how)["offset_mapping"].shape == (1, 0)
    assert ours("", **how)["offset_mapping"].shape == (1, 0, 2)


def test_an_empty_pair_is_a_text_here_and_none_there(bert: tuple[Any, Any]) -> None:
    theirs, ours = bert
    assert theirs("low", "")["input_ids"] == theirs("low")["input_ids"]
    assert theirs(["low"], [""])["input_ids"] == [ours("low", "").ids]
    assert ours("low", "").ids != ours("low").ids


def test_a_stride_counts_only_where_an_id_fits_here(bert: tuple[Any, Any]) -> None:
    theirs, ours = bert
    how: dict[str, Any] = {"truncation": True, "max_length": 2, "stride": 1}
    with pytest.raises(ValueError, match="effective max length of 0"):
        theirs("low low", **how)
    assert ours("low low", **how).tokens == ["[CLS]", "[SEP]"]
    how = {"truncation": True, "max_length": 3, "stride": 2, "add_special_tokens": False}
    with pytest.raises(ValueError, match="effective max length of 1"):
        theirs("low low low low", **how)
    cut = ours("low low low low", **how)
    assert [len(cut), *map(len, cut.overflowing)] == [3, 3]


def test_a_length_that_nobody_sets_is_an_error_here_and_cuts_nothing_there(native: Any, data: Path) -> None:
    folder = data / "vocab" / "gpt2"
    theirs, ours = plain_tokenizer(folder), native.load(folder)
    assert len(theirs("low " * 50, truncation=True)["input_ids"]) > 50
    with pytest.raises(ValueError, match="truncation needs max_length"):
        ours("low " * 50, truncation=True)
    with pytest.raises(ValueError, match='padding="max_length" needs max_length'):
        ours("low", padding="max_length", pad_id=0)


def test_types_are_given_by_the_file_here_and_by_the_class_there(native: Any, tmp_path: Path) -> None:
    """DistilBERT has the files of BERT, and a model that takes no types."""
    from .folders_made import BERT, klass, make, words

    for name, listed in (("BertTokenizer", True), ("DistilBertTokenizer", False)):
        folder = make(tmp_path / name, words(BERT), tokenizer_config=klass(name, cls_token="[CLS]"))
        theirs, ours = plain_tokenizer(folder), native.load(folder)
        assert ("token_type_ids" in theirs("ab")) == listed
        assert "token_type_ids" in ours("ab", return_tensors="np")
        assert "token_type_ids" not in ours("ab", return_tensors="np", return_token_type_ids=False)


def test_labels_are_padded_here_and_not_there(bert: tuple[Any, Any]) -> None:
    theirs, ours = bert
    rows = [{"input_ids": [5, 6], "labels": [5, 6]}, {"input_ids": [7], "labels": [7]}]
    assert theirs.pad(rows, padding=True)["labels"] == [[5, 6], [7]]
    assert ours.pad_batch(rows, pad_id=0)["labels"].tolist() == [[5, 6], [7, -100]]
    long = [{"input_ids": [5, 6, 7]}, {"input_ids": [8]}]
    assert theirs.pad(long, padding="max_length", max_length=2)["input_ids"] == [[5, 6, 7], [8, 0]]
    with pytest.raises(ValueError, match="of row 0 has 3 values, more than the 2"):
        ours.pad_batch(long, pad_id=0, padding="max_length", max_length=2)
    with pytest.warns(UserWarning, match="`max_length` is ignored"):
        assert theirs.pad(long, padding=True, max_length=2)["input_ids"] == [[5, 6, 7], [8, 0, 0]]
    with pytest.raises(ValueError, match="of row 0 has 3 values, more than max_length=2"):
        ours.pad_batch(long, pad_id=0, padding=True, max_length=2)
