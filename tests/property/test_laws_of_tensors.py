"""Padding changes no column that is real, and packing loses nothing.

On random rows; 100 examples of each, or 2,000 with TOKENMILL_SLOW=1.
"""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

rows = st.lists(st.lists(st.integers(0, 255), max_size=20), max_size=12)
multiples = st.sampled_from([None, 1, 3, 8])
methods = st.sampled_from(["best-fit", "concat"])


def labelled(ids: list[list[int]]) -> list[dict[str, list[int]]]:
    """With a label that tells where each token comes from."""
    return [
        {"input_ids": row, "labels": [number * 100 + at for at in range(len(row))]}
        for number, row in enumerate(ids)
    ]


def pad(native: Any, given: Any, **options: Any) -> Any:
    return native.train(texts=["low"], num_merges=0).pad_batch(
        given, pad_id=7, return_position_ids=True, **options
    )


@given(rows, multiples)
def test_either_side_has_the_same_real_columns(
    native: Any, ids: list[list[int]], multiple: int | None
) -> None:
    given = labelled(ids) if ids else ids
    left, right = (
        pad(native, given, padding_side=side, pad_to_multiple_of=multiple) for side in ("left", "right")
    )
    assert [*left] == [*right]
    for name in left:
        assert left[name].shape == right[name].shape
        for number, row in enumerate(ids):
            length, real = left[name].shape[1], len(row)
            assert (left[name][number, length - real :] == right[name][number, :real]).all()
    for number, row in enumerate(ids):
        assert right["input_ids"][number, : len(row)].tolist() == row
        assert right["attention_mask"][number].sum() == len(row)
        assert right["position_ids"][number, : len(row)].tolist() == [*range(len(row))]


@given(rows, st.integers(1, 12), methods, st.booleans())
def test_packing_loses_nothing_and_never_crosses_documents(
    native: Any, ids: list[list[int]], length: int, method: str, separates: bool
) -> None:
    separator = 256 if separates else None
    windows = native.pack(labelled(ids) if ids else ids, length, method=method, separator=separator)
    ended = [[*row, *([256] if separates else [])] for row in ids]
    assert all(0 < len(window["input_ids"]) <= length for window in windows)
    assert windows.dropped_tokens == 0
    parts: dict[int, list[list[int]]] = {}
    for window in windows:
        documents, positions = window["document_ids"], window["position_ids"]
        starts = window["cu_seqlens"]
        assert (starts[0], starts[-1]) == (0, len(documents))
        for start, stop in pairwise(starts):
            # One document, whose positions count from 0.
            (document,) = set(documents[start:stop].tolist())
            assert positions[start:stop].tolist() == [*range(stop - start)]
            parts.setdefault(document, []).append(window["input_ids"][start:stop].tolist())
        seen = native.causal_mask(window)
        crossing = documents[:, None] != documents[None, :]
        assert not seen[crossing].any()
    for number, row in enumerate(ended):
        found = parts.pop(number, [])
        # Parts come in the order of the document in "concat"; best fit puts the rest where it fits.
        if method == "concat":
            assert [*chain(*found)] == row
        else:
            assert sorted(map(len, found)) == sorted(
                min(length, len(row) - at) for at in range(0, len(row), length)
            )
            assert sorted(found) == sorted(row[at : at + length] for at in range(0, len(row), length))
    assert parts == {}
    if method == "concat":
        assert all(len(window["input_ids"]) == length for window in windows[:-1])


@given(rows, st.integers(1, 12), methods)
def test_labels_stay_beside_their_ids_in_windows(
    native: Any, ids: list[list[int]], length: int, method: str
) -> None:
    if not ids:
        return
    given = labelled(ids)
    windows = native.pack(given, length, method=method)
    pairs = sorted(pair for row in given for pair in zip(row["labels"], row["input_ids"], strict=True))
    found = sorted(
        pair
        for window in windows
        for pair in zip(window["labels"].tolist(), window["input_ids"].tolist(), strict=True)
    )
    assert found == pairs
    again = native.pack(given, length, method=method)
    assert windows == again
    assert np.array_equal(windows.dropped_rows, again.dropped_rows)


spans = st.lists(st.integers(1, 6), min_size=1, max_size=20)
labels = st.sampled_from(["PER", "LOC", "ORG"])


@given(spans, st.data(), st.sampled_from(["IOB2", "BILOU"]))
def test_spans_of_whole_tokens_come_back(
    native: Any, widths: list[int], data: st.DataObject, scheme: str
) -> None:
    ends = np.cumsum(widths).tolist()
    offsets = [(end - width, end) for end, width in zip(ends, widths, strict=True)]
    chosen = []
    at = 0
    while at < len(offsets):
        until = data.draw(st.integers(at, len(offsets)))
        if until > at:
            chosen.append((offsets[at][0], offsets[until - 1][1], data.draw(labels)))
        at = until + 1 if until > at else at + 1
    aligned = native.align_labels(offsets, chosen, scheme)
    assert native.spans_from_labels(offsets, aligned, scheme) == chosen
    inside = native.mask_from_spans(offsets, [span[:2] for span in chosen])
    assert inside.tolist() == [label != "O" for label in aligned]
