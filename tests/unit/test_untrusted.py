"""Untrusted parts of a text: what `untrusted=` and `protected=` take, and that all ways to encode agree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

END = "<|end|>"
CALL = "<call>"


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    """`<|end|>` is special, `<call>` is an added token that is not."""
    import json

    trained = native.train(texts=["low lower lowest"] * 3, num_merges=5, special_tokens=[END])
    description = json.loads(saved(trained))
    tokens = description["added_tokens"]
    tokens.append({**tokens[0], "id": 262, "content": CALL, "special": False})
    return native._core.from_tokenizer_json(json.dumps(description).encode())


def saved(tok: Any) -> str:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tok.save(path)
        return path.read_text(encoding="utf-8")


def test_an_untrusted_literal_is_plain_text(tok: Any) -> None:
    text = f"low{END}low{END}"
    plain = tok.encode(END)
    assert tok.encode(text, special="parse", untrusted=[(3, 10)]) == [
        *tok.encode("low"),
        *plain,
        *tok.encode(f"low{END}", special="parse"),
    ]
    # One character is enough, on either side; what is beside the literal is not.
    for touched in ((3, 4), (9, 10), (0, 4), (9, 12), (5, 6)):
        assert tok.find_added(text, untrusted=[touched]) == [(13, 20, 0)]
    for beside in ((0, 3), (10, 13), (4, 4), (20, 20)):
        assert tok.find_added(text, untrusted=[beside]) == [(3, 10, 0), (13, 20, 0)]
    # None is completed across a border.
    assert tok.find_added(text, untrusted=[(0, 6), (16, 20)]) == []


def test_ids_beside_a_dropped_literal_are_those_of_the_joined_text(tok: Any) -> None:
    # `low` merges across the border.
    assert (
        tok.encode("lower", untrusted=[(2, 5)])
        == tok.encode("lower", untrusted=[(0, 5)])
        == tok.encode("lower")
    )


def test_tokens_that_are_not_special_must_be_protected(tok: Any) -> None:
    text = f"a{CALL}{END}"
    whole = [(0, len(text))]
    assert tok.find_added(text, untrusted=whole) == [(1, 7, 262)]
    for protected in ([CALL], {262}, (END, CALL), [0, 262], {CALL: 262}):
        assert tok.find_added(text, untrusted=whole, protected=protected) == []
    assert tok.find_added(text, untrusted=[(7, 14)], protected=[CALL]) == [(1, 7, 262)]
    # Where nothing is untrusted, nothing is protected.
    for untrusted in (None, [], [(3, 3)]):
        assert tok.find_added(text, untrusted=untrusted, protected=[CALL, END]) == [(1, 7, 262), (7, 14, 0)]
        assert tok.encode(text, untrusted=untrusted, protected=[CALL]) == tok.encode(text)


def test_the_policies_for_special_tokens_are_those_of_trusted_text(tok: Any, native: Any) -> None:
    text = f"{END}{END}"
    second = [(7, 14)]
    assert tok.encode(text, untrusted=second) == tok.encode(text)
    assert tok.encode(text, special={END}, untrusted=second) == [0, *tok.encode(END)]
    assert tok.find_added(text, special="text", untrusted=second) == []
    # `raise` says what is there, whoever wrote it.
    with pytest.raises(native.SpecialTokenError) as caught:
        tok.encode(f"é{END}", special="raise", untrusted=[(1, 8)])
    assert (caught.value.token, caught.value.position) == (END, 1)


def test_ranges_come_in_every_form_and_order(tok: Any) -> None:
    import numpy as np

    text = f"é{END}🦊{END}é{END}"
    want = tok.encode(text, special="parse", untrusted=[(1, 3), (12, 13)])
    assert want.count(0) == 1
    pairs = [(12, 13), (2, 3), (1, 3), (5, 5), (1, 2)]
    for untrusted in (
        pairs,
        tuple(pairs),
        [list(pair) for pair in pairs],
        *(np.array(pairs, dtype) for dtype in ("int64", "int32", "uint64", "uint32", "int8", ">i8")),
        np.array([*pairs, (0, 0)])[:-1],
        np.array(pairs).T.copy().T,
        list(np.array(pairs)),
    ):
        assert tok.encode(text, special="parse", untrusted=untrusted) == want
    assert tok.encode(text, special="parse", untrusted=np.zeros((0, 2), int)).count(0) == 3
    assert tok.encode(text, special="parse", untrusted=np.array([])).count(0) == 3


def test_ranges_of_bytes_are_in_bytes(tok: Any) -> None:
    data = f"é{END}é{END}".encode()
    for text in (data, bytearray(data), memoryview(data)):
        assert tok.find_added(text) == [(2, 9, 0), (11, 18, 0)]
        assert tok.find_added(text, untrusted=[(0, 2), (10, 12)]) == [(2, 9, 0)]
    # Bytes that are no text, too.
    assert tok.find_added(b"\xff\xa9" + data[2:], untrusted=[(1, 3)]) == [(11, 18, 0)]


def test_characters_are_those_of_the_string_with_its_surrogates(tok: Any) -> None:
    # A pair that is joined is two characters; half of it stands for all of it.
    text = f"\ud83e\udd8a{END}\ud800\ud83e\udd8a{END}"
    assert tok.find_added(text) == [(2, 9, 0), (12, 19, 0)]
    assert tok.find_added(text, untrusted=[(0, 2)]) == [(2, 9, 0), (12, 19, 0)]
    assert tok.find_added(text, untrusted=[(0, 3)]) == [(12, 19, 0)]
    assert tok.find_added(text, untrusted=[(9, 12)]) == [(2, 9, 0), (12, 19, 0)]
    assert tok.find_added(text, untrusted=[(8, 10), (18, 19)]) == []
    assert tok.find_added(text, untrusted=[(11, 13)]) == [(2, 9, 0)]
    with pytest.raises(ValueError, match="it has 19 characters"):
        tok.encode(text, untrusted=[(0, 20)])
    # In a batch, where strings are read when their turn comes; one has no pair, and as many characters.
    lone = f"\ud83e{END}\ud800\ud83e{END}"
    for ranges in ([(0, 2)], [(0, 3)], [(9, 12)], [(8, 10), (16, 17)], [(11, 13)], [(1, 1)]):
        texts = [text, lone, text]
        marked: list[Any] = [ranges, ranges, None]
        want = [
            tok.encode(one, special="parse", untrusted=of_it)
            for one, of_it in zip(texts, marked, strict=True)
        ]
        for threads in (1, 2):
            found = tok.encode_batch(texts, special="parse", untrusted=marked, num_threads=threads)
            assert found.to_lists() == want
            counts = tok.count_batch(texts, special="parse", untrusted=marked, num_threads=threads)
            assert counts.tolist() == [len(ids) for ids in want]


def test_rows_have_ranges_of_their_own(tok: Any, native: Any) -> None:
    texts = [f"low{END}", END, f"é{CALL}{END}", "", f"🦊{END}".encode()]
    untrusted = [None, [(0, 1)], [(0, 4)], [], [(4, 5)]]
    each: list[Any] = [[CALL], None, [262], set(), (END,)]
    for protected in (None, [CALL, END], each, tuple(each)):
        of_row = each if protected is each or protected == tuple(each) else [protected] * len(texts)
        want = [
            tok.encode(text, special="parse", untrusted=ranges, protected=of_this)
            for text, ranges, of_this in zip(texts, untrusted, of_row, strict=True)
        ]
        for threads in (1, 2):
            options: dict[str, Any] = {
                "special": "parse",
                "untrusted": untrusted,
                "protected": protected,
                "num_threads": threads,
            }
            assert tok.encode_batch(texts, **options).to_lists() == want
            assert tok.encode_batch(texts, offsets=True, **options).to_lists() == want
            assert tok.count_batch(texts, **options).tolist() == [len(row) for row in want]
    assert tok.encode_batch([], untrusted=[], protected=[]).to_lists() == []
    # Many rows, on threads.
    rows = 3_000
    batch = tok.encode_batch(
        [f"low {END} " * 30] * rows, special="parse", untrusted=[[(0, 11)]] * rows, num_threads=2
    )
    first = tok.encode(f"low {END} " * 30, special="parse", untrusted=[(0, 11)])
    assert first.count(0) == 29
    assert batch.to_lists() == [first] * rows


def test_an_arrow_string_has_characters(tok: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    column = pa.array([f"é{END}", None, f"🦊{END}"])
    untrusted = [[(0, 1)], None, [(0, 2)]]
    want = [tok.encode(f"é{END}", special="parse"), [], tok.encode(f"🦊{END}")]
    for offsets in (False, True):
        batch = tok.encode_batch(column, special="parse", offsets=offsets, untrusted=untrusted)
        assert batch.to_lists() == want
    counts = tok.count_batch(column, special="parse", untrusted=untrusted)
    assert counts.tolist() == [len(row) for row in want]
    with pytest.raises(ValueError, match=r"untrusted\[1\]\[0\] is \(0, 1\).*0 characters"):
        tok.encode_batch(column, untrusted=[None, [(0, 1)], None])


PIECES = [END, CALL, "<|", "end|>", "<ca", "ll>", "low", " ", "é", "🦊", "\ud83e\udd8a", "\ud800", "x"]


@given(data=st.data())
def test_what_is_found_is_what_the_rule_says(tok: Any, data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(PIECES), max_size=8)))
    place = st.integers(0, len(text))
    untrusted = [tuple(sorted(pair)) for pair in data.draw(st.lists(st.tuples(place, place), max_size=4))]
    protected = data.draw(st.sampled_from([[], [CALL], [END], [END, CALL]]))
    marked = {at for start, stop in untrusted for at in range(start, stop)}
    want, at = [], 0
    while at < len(text):
        # No literal begins with another.
        for literal, id, guarded in ((END, 0, True), (CALL, 262, CALL in protected)):
            stop = at + len(literal)
            if text.startswith(literal, at) and not (guarded and marked.intersection(range(at, stop))):
                want.append((at, stop, id))
                at = stop - 1
                break
        at += 1
    options: dict[str, Any] = {"untrusted": untrusted, "protected": protected}
    assert tok.find_added(text, **options) == want
    encoding = tok.encode_with_offsets(text, special="parse", **options)
    added = [
        (*offsets, id) for id, offsets in zip(encoding.ids, encoding.offsets, strict=True) if id in (0, 262)
    ]
    assert added == want
    ids = tok.encode(text, special="parse", **options)
    assert ids == encoding.ids == tok.encode_to_numpy(text, special="parse", **options).tolist()
    assert tok.count(text, special="parse", **options) == len(ids)
    assert tok.decode(ids) == tok.decode(tok.encode(text))
