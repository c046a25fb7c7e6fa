"""torch itself, where it is installed: tensors that share memory, loaders with workers, steps of training.

What is used of torch is tested without it in `test_model_inputs.py`.
"""

from __future__ import annotations

import copy
import pickle
from multiprocessing import get_all_start_methods
from typing import Any

import numpy as np
import pytest
import tokenmill
from tokenmill import ModelInputs, Ragged, causal_mask, collator

pytestmark = pytest.mark.slow

TEXTS = ["lower", "low", "", "lowest low"]
EVERY = {
    "return_token_type_ids": True,
    "return_special_tokens_mask": True,
    "return_offsets_mapping": True,
    "return_length": True,
    "return_position_ids": True,
}


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed: pip install torch")


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.train(texts=["low lower lowest"] * 3, vocab_size=262, special_tokens=["<s>", "<p>"])


def assert_same(tensors: Any, arrays: Any) -> None:
    """The same names, types and values, on the CPU."""
    assert [*tensors] == [*arrays]
    for name, tensor in tensors.items():
        assert type(tensor).__name__ == "Tensor"
        assert tensor.device.type == "cpu"
        assert str(tensor.dtype) == f"torch.{arrays[name].dtype}", name
        assert np.array_equal(tensor.numpy(), arrays[name]), name


# ---- tensors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint16", "uint32", "uint64"])
def test_tensors_are_the_arrays(tok: Any, torch: Any, dtype: str) -> None:
    for texts in (TEXTS, []):
        how: dict[str, Any] = {"padding": True, "pad_id": 1, "dtype": dtype, **EVERY}
        assert_same(tok(texts, **how, return_tensors="pt"), tok(texts, **how, return_tensors="np"))


def test_a_tensor_shows_what_is_written_to_its_array(tok: Any, torch: Any) -> None:
    room = np.zeros((6, 9), np.int64)
    ids = tok(TEXTS, padding=True, pad_id=1, return_tensors="pt", out=room)["input_ids"]
    assert ids.shape == (4, 5)
    assert ids.stride() == (9, 1)
    room[0, 0] = 77
    assert ids[0, 0] == 77
    ids[1] = 5
    assert room[1].tolist() == [5] * 5 + [0] * 4
    # The other way round: a tensor is filled.
    held = torch.zeros((4, 5), dtype=torch.int32)
    batch = tok(TEXTS, padding=True, pad_id=1, return_tensors="pt", dtype="int32", out=held.numpy())
    assert batch["input_ids"].data_ptr() == held.data_ptr()
    assert held.tolist() == tok(TEXTS, padding=True, pad_id=1, return_tensors="np")["input_ids"].tolist()
    with pytest.raises(TypeError, match=r"not Tensor of shape \(4, 5\); tensor.numpy\(\) is one"):
        tok(TEXTS, padding=True, pad_id=1, return_tensors="pt", out=held)


def test_tensors_outlive_the_batch(tok: Any, torch: Any) -> None:
    """The memory is numpy's, and the tensor holds it."""
    texts = ["low lowest " * 50] * 200
    expected = tok(texts, padding=True, pad_id=1, return_tensors="np")["input_ids"]
    kept = [tok(texts, padding=True, pad_id=1, return_tensors="pt")["input_ids"] for _ in range(20)]
    assert all(np.array_equal(ids.numpy(), expected) for ids in kept)


def test_a_batch_of_tensors_is_compared_copied_and_moved(tok: Any, torch: Any) -> None:
    batch = tok(TEXTS, padding=True, pad_id=1, return_tensors="pt")
    assert batch == tok(TEXTS, padding=True, pad_id=1, return_tensors="np")
    for again in (pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch), batch.to("cpu")):
        assert type(again) is ModelInputs
        assert again == batch
    assert repr(batch) == "ModelInputs(input_ids: 4 x 5 int64, attention_mask: 4 x 5 int64)"
    moved = batch.to("meta", non_blocking=True)
    assert {value.device.type for value in moved.values()} == {"meta"}
    assert batch.to(torch.int32)["input_ids"].dtype == torch.int32


def test_tensors_are_taken_where_arrays_are(tok: Any, torch: Any) -> None:
    rows = [torch.tensor([5, 6, 7]), torch.tensor([8])]
    expected = tok.pad_batch([[5, 6, 7], [8]], pad_id=1)
    assert tok.pad_batch(rows, pad_id=1) == expected
    named = [{"input_ids": row, "labels": row, "score": torch.tensor(0.5)} for row in rows]
    batch = tok.pad_batch(named, pad_id=1, return_tensors="pt")
    assert batch["labels"].tolist() == [[5, 6, 7], [8, -100, -100]]
    assert batch["score"].dtype == torch.float32
    assert tok.pad_batch(batch, pad_id=1, pad_to_multiple_of=4)["input_ids"].shape == (2, 4)
    assert Ragged(torch.tensor([5, 6, 7, 8]), torch.tensor([0, 3, 4])).to_lists() == [[5, 6, 7], [8]]
    assert tok.decode(torch.tensor(tok.encode("lower"))) == "lower"
    one = torch.tensor(tok.encode("low"))
    assert (tok.decode(one), tok.decode_batch(torch.stack([one, one]))) == ("low", ["low", "low"])


@pytest.mark.parametrize("dtype", ["bool", "float32"])
def test_a_mask_of_tensors_is_a_tensor(tok: Any, torch: Any, dtype: str) -> None:
    windows = tokenmill.pack([[5, 6, 7], [8, 9], [10]], 5)
    batch = collator(tok, pad_id=1)(list(windows))
    mask = causal_mask(batch, dtype=dtype)
    assert str(mask.dtype) == f"torch.{dtype}"
    arrays = collator(tok, pad_id=1, return_tensors="np")(list(windows))
    assert np.array_equal(mask.numpy(), causal_mask(arrays, dtype=dtype))
    # What torch makes of it: a token sees no document but its own.
    values = torch.nn.functional.one_hot(batch["document_ids"].clamp(min=0), 3).float()[:, None]
    zeros = torch.zeros_like(values)
    given = causal_mask(batch)[:, None]
    seen = torch.nn.functional.scaled_dot_product_attention(zeros, zeros, values, attn_mask=given)
    real = batch["attention_mask"].bool()
    assert torch.equal(seen[:, 0][real], values[:, 0][real])


# ---- loaders --------------------------------------------------------------------------------------

ROWS = [{"input_ids": [5 + at] * (1 + at % 4), "labels": [-100, 5, 6, 7][: 1 + at % 4]} for at in range(32)]


# Python 3.12 warns of every fork beside a thread, and torch has some.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("start", [start for start in ("fork", "spawn") if start in get_all_start_methods()])
@pytest.mark.parametrize("given", [TEXTS * 8, ROWS], ids=["texts", "rows"])
def test_a_data_loader_with_two_workers(tok: Any, torch: Any, given: list[Any], start: str) -> None:
    # A fork finds workers and threads of its parent.
    tok(TEXTS * 5000, num_threads=2)
    how: dict[str, Any] = {"pad_id": 1, "make_labels": True, "return_position_ids": True}
    loader = torch.utils.data.DataLoader(
        given,
        batch_size=4,
        num_workers=2,
        collate_fn=collator(tok, **how),
        multiprocessing_context=start,
        pin_memory=False,
    )
    arrays = collator(tok, **how, return_tensors="np")
    expected = [arrays(given[at : at + 4]) for at in range(0, 32, 4)]
    for _ in range(2):
        batches = list(loader)
        assert len(batches) == len(expected)
        for tensors, its_arrays in zip(batches, expected, strict=True):
            assert type(tensors) is ModelInputs
            assert_same(tensors, its_arrays)
            padding = tensors["attention_mask"] == 0
            assert padding.any()
            assert (tensors["labels"][padding] == -100).all()


def test_a_loader_without_workers_and_one_of_plain_dicts(tok: Any, torch: Any) -> None:
    plain = collator(tok, pad_id=1, plain=True)
    (batch,) = torch.utils.data.DataLoader(TEXTS, batch_size=4, collate_fn=plain)
    assert type(batch) is dict
    assert_same(batch, tok(TEXTS, padding=True, pad_id=1, return_tensors="np"))


# ---- training -------------------------------------------------------------------------------------


def test_three_steps_of_training(tok: Any, torch: Any) -> None:
    """A bigram model: its loss is what numpy makes of the labels, and falls with each step."""
    collate = collator(tok, pad_id=1, make_labels=True)
    loader = torch.utils.data.DataLoader(
        ["low lower", "lowest", "low low low"], batch_size=3, collate_fn=collate
    )
    torch.manual_seed(0)
    model = torch.nn.Embedding(tok.vocab_size, tok.vocab_size)
    optimizer = torch.optim.SGD(model.parameters(), lr=5.0)
    losses = []
    for _ in range(3):
        for batch in loader:
            logits = model(batch["input_ids"])[:, :-1]
            targets = batch["labels"][:, 1:]
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
            scores = torch.log_softmax(logits, -1).detach().numpy()
            learned = targets.numpy() != -100
            assert learned.sum() == batch["attention_mask"][:, 1:].sum()
            assert not learned.all()
            picked = scores[learned][np.arange(learned.sum()), targets.numpy()[learned]]
            assert loss.item() == pytest.approx(-picked.mean(), rel=1e-5)
            optimizer.zero_grad()
            loss.backward()
            # The padding is no target, and nothing is learned from it.
            assert not model.weight.grad[1].any()
            optimizer.step()
            losses.append(loss.item())
    assert len(losses) == 3
    assert losses[0] > losses[1] > losses[2]
