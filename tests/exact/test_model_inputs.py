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
                # Where special tokens leave no room for an id there is nothing that windows could share.
                assert np.all(np.equal(got.get("special_tokens_mask", 1), 1)), what
                return "a stride where no id fits: an error there"
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
