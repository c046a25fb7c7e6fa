"""What seed 000 says of padding, positions, masks and spans, each test named after it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

BOS, USER, ASSISTANT, ANSWER, EOS, PAD = 0, 1, 2, 3, 4, 5
IGNORED = -100


def pad_batch(native: Any, rows: Any, **options: Any) -> Any:
    """By a tokenizer of bytes: each id above is one."""
    return native.train(texts=["low"], num_merges=0).pad_batch(rows, pad_id=PAD, **options)


def test_seed_000_right_padding_for_training(native: Any) -> None:
    """ids, mask and labels of the first diagram."""
    row = {
        "input_ids": [BOS, USER, ASSISTANT, ANSWER, EOS],
        "labels": [IGNORED, IGNORED, IGNORED, ANSWER, EOS],
    }
    other = {"input_ids": [BOS] * 7, "labels": [IGNORED] * 7}
    batch = pad_batch(native, [row, other], padding_side="right")
    assert batch["input_ids"][0].tolist() == [BOS, USER, ASSISTANT, ANSWER, EOS, PAD, PAD]
    assert batch["attention_mask"][0].tolist() == [1, 1, 1, 1, 1, 0, 0]
    assert batch["labels"][0].tolist() == [IGNORED, IGNORED, IGNORED, ANSWER, EOS, IGNORED, IGNORED]


def test_seed_000_left_padding_for_generation(native: Any) -> None:
    """The second diagram: the last token that is no padding is in the last column, `next` is read there."""
    rows = [[BOS, USER, ASSISTANT], [BOS, USER, USER, USER, ASSISTANT]]
    batch = pad_batch(native, rows, padding_side="left")
    assert batch["input_ids"][0].tolist() == [PAD, PAD, BOS, USER, ASSISTANT]
    assert batch["attention_mask"][0].tolist() == [0, 0, 1, 1, 1]
    assert batch["input_ids"][:, -1].tolist() == [ASSISTANT, ASSISTANT]


def test_seed_000_padding_with_eos_masks_no_eos_of_the_text(native: Any) -> None:
    """`pad_token=eos_token` can be used if padding is not learned as the end of a text."""
    tok = native.train(texts=["low"], num_merges=0)
    rows = [{"input_ids": [BOS, EOS], "labels": [BOS, EOS]}, {"input_ids": [BOS] * 4, "labels": [BOS] * 4}]
    batch = tok.pad_batch(rows, pad_id=EOS)
    assert batch["input_ids"][0].tolist() == [BOS, EOS, EOS, EOS]
    assert batch["attention_mask"][0].tolist() == [1, 1, 0, 0]
    assert batch["labels"][0].tolist() == [BOS, EOS, IGNORED, IGNORED]


lengths = st.lists(st.integers(0, 9), min_size=1, max_size=5)
sides = st.sampled_from(["left", "right"])


@given(lengths, sides)
def test_seed_000_position_ids_follow_its_formula(native: Any, lengths: list[int], side: str) -> None:
    batch = pad_batch(
        native, [[BOS] * length for length in lengths], padding_side=side, return_position_ids=True
    )
    for mask, positions in zip(batch["attention_mask"], batch["position_ids"], strict=True):
        assert positions.tolist() == [max(0, int(mask[: t + 1].sum()) - 1) for t in range(len(mask))]


@given(lengths, sides)
def test_seed_000_the_mask_m_of_attention(native: Any, lengths: list[int], side: str) -> None:
    batch = pad_batch(native, [[BOS] * length for length in lengths], padding_side=side)
    mask = native.causal_mask(batch)
    is_pad = batch["attention_mask"] == 0
    rows, length = is_pad.shape
    assert mask.shape == (rows, length, length)
    for b in range(rows):
        for i in range(length):
            for j in range(length):
                assert mask[b, i, j] == (j <= i and not is_pad[b, j])


def overlap(token_span: tuple[int, int], target_span: tuple[int, int]) -> bool:
    """As the seed has it."""
    left, right = token_span
    start, end = target_span
    return max(left, start) < min(right, end)


def mask_from_spans(offsets: Any, spans: Any) -> list[bool]:
    """As the seed has it."""
    out = []
    for offset in offsets:
        train = any(overlap(offset, span) for span in spans)
        out.append(train)
    return out


spans = st.tuples(st.integers(0, 30), st.integers(0, 8)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(spans, max_size=20), st.lists(spans, max_size=6))
def test_seed_000_a_mask_from_spans_follows_the_overlap_rule(
    native: Any, offsets: list[tuple[int, int]], targets: list[tuple[int, int]]
) -> None:
    assert native.mask_from_spans(offsets, targets).tolist() == mask_from_spans(offsets, targets)
    rows = native.mask_from_spans(np.array([offsets, offsets]).reshape(2, -1, 2), [targets, []])
    assert rows.tolist() == [mask_from_spans(offsets, targets), [False] * len(offsets)]


def test_seed_000_labels_of_an_answer_in_a_rendered_chat(native: Any) -> None:
    """`build_chat_example` of the seed: tokens that overlap the answer are trained."""
    text = (
        "<|system|>\nYou are concise.\n<|user|>\nExplain BPE.\n<|assistant|>\n"
        "BPE repeatedly merges frequent adjacent symbols.<|end|>"
    )
    special = ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
    tok = native.train(texts=[text] * 2, num_merges=60, split="cl100k", special_tokens=special)
    encoding = tok.encode_with_offsets(text, special="parse")
    start = text.index("BPE repeatedly")
    mask = native.mask_from_spans(encoding, [(start, len(text))])
    labels = np.where(mask, encoding.ids, IGNORED).tolist()
    trained = [id for id in labels if id != IGNORED]
    assert tok.decode(trained) == text[start:]
    assert trained[-1] == tok.special_tokens["<|end|>"]
    assert labels == [
        id if any(overlap(offset, span) for span in [(start, len(text))]) else IGNORED
        for id, offset in zip(encoding.ids, encoding.offsets, strict=True)
    ]
