"""``encode_batch(texts, offsets=True)``: flat ids and offsets, and the encodings they are of."""

from __future__ import annotations

import doctest
import pickle
import re
from typing import Any

import numpy as np
import pytest
from tokenmill import Ragged, RaggedEncodings, ragged

TEXTS = ["low é lower", "", "<s>low", "🦊 \ud83e\udd8a \ud83e", "lowest"]


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.train(texts=["low lower lowest"] * 3, vocab_size=262, special_tokens=["<s>"])


@pytest.fixture(scope="module")
def batch(tok: Any) -> RaggedEncodings:
    return tok.encode_batch(TEXTS, offsets=True)  # type: ignore[no-any-return]


def test_it_is_the_ragged_of_the_same_texts_with_offsets(tok: Any, batch: RaggedEncodings) -> None:
    plain = tok.encode_batch(TEXTS)
    assert type(batch) is RaggedEncodings
    assert isinstance(batch, Ragged)
    assert type(plain) is Ragged
    assert batch.ids.dtype == np.uint32
    assert (batch.ids == plain.ids).all()
    assert (batch.row_offsets == plain.row_offsets).all()
    assert batch.to_lists() == plain.to_lists()
    assert batch.offsets.dtype == np.int64
    assert batch.offsets.shape == (len(plain.ids), 2)
    assert batch.offsets.flags.c_contiguous
    expected = [tok.encode_with_offsets(text) for text in TEXTS]
    assert batch.offsets.tolist() == [list(span) for one in expected for span in one.offsets]
    assert batch.byte_offsets.tolist() == [list(span) for one in expected for span in one.byte_offsets]
    assert batch.to_encodings() == expected
    assert [one.byte_offsets for one in batch.to_encodings()] == [one.byte_offsets for one in expected]
    assert repr(batch) == f"RaggedEncodings(5 rows, {len(plain.ids)} ids, uint32)"


@pytest.mark.parametrize("dtype", ["uint16", "int32", "int64", "uint64"])
def test_ids_have_the_type_that_is_asked_for(tok: Any, dtype: str) -> None:
    made = tok.encode_batch(TEXTS, offsets=True, dtype=dtype)
    assert (made.ids.dtype, made.offsets.dtype) == (np.dtype(dtype), np.dtype(np.int64))
    assert made.to_lists() == tok.encode_batch(TEXTS).to_lists()


PARTS: list[Any] = [
    slice(None),
    slice(1, 3),
    slice(3, 1),
    slice(-2, None),
    slice(None, None, -1),
    slice(0, 9, 2),
]
PARTS += [slice(4, 0, -2), [4, 0, 0, -2], [], np.array([3, 1])]


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_parts_have_their_offsets_and_encodings(batch: RaggedEncodings, part: Any) -> None:
    taken = batch[part]
    assert type(taken) is RaggedEncodings
    every = batch.to_encodings()
    expected = every[part] if isinstance(part, slice) else [every[row] for row in part]
    assert taken.to_encodings() == expected
    assert taken.to_lists() == [one.ids for one in expected]
    assert taken.offsets.tolist() == [list(span) for one in expected for span in one.offsets]
    byte_offsets = [list(span) for one in expected for span in one.byte_offsets]
    assert taken.byte_offsets.tolist() == byte_offsets
    # Slices of slices, too.
    assert taken[1:].to_encodings() == expected[1:]
    assert taken[::-1].to_encodings() == expected[::-1]
    backwards = range(len(taken) - 1, -1, -1)
    assert taken[backwards] == taken[::-1]
    assert taken[::-1][backwards].to_encodings() == expected
    assert taken[::-1][::-1].byte_offsets.tolist() == byte_offsets
    again = pickle.loads(pickle.dumps(taken))
    assert type(again) is RaggedEncodings
    assert again == taken
    assert again.byte_offsets.tolist() == byte_offsets
    assert again.to_encodings() == expected
    assert again.to_lists() == taken.to_lists()


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_encodings_are_made_when_they_are_asked_for(tok: Any, batch: RaggedEncodings, part: Any) -> None:
    expected = batch[part]
    texts = list(TEXTS)
    made = [tok.encode_batch(texts, offsets=True)[part] for _ in range(4)]
    # They are those of the texts that were given, whatever the list holds now.
    texts[:] = ["other"] * len(texts)
    assert made[0].to_encodings() == expected.to_encodings()
    assert made[1].byte_offsets.tolist() == expected.byte_offsets.tolist()
    assert made[2][::-1].to_encodings() == expected[::-1].to_encodings()
    again = pickle.loads(pickle.dumps(made[3]))
    assert (again, again.to_encodings()) == (expected, expected.to_encodings())


def test_texts_of_every_kind_give_the_same(tok: Any, batch: RaggedEncodings) -> None:
    class Text(str):
        pass

    kinds: list[Any] = [tuple(TEXTS), iter(TEXTS), [Text(text) for text in TEXTS]]
    for texts in kinds:
        made = tok.encode_batch(texts, offsets=True)
        assert made == batch
        assert made.to_encodings() == batch.to_encodings()
    changing = [bytearray(b"low"), bytearray(b"lower")]
    made = tok.encode_batch(changing, offsets=True)
    expected = [tok.encode_with_offsets(bytes(text)) for text in changing]
    changing[0][:] = b"other"
    assert made.to_encodings() == expected


def test_threads_and_special_tokens_give_the_same(native: Any) -> None:
    names = {"bos_token": "<s>", "eos_token": "</s>"}
    tok = native.train(
        texts=["low lower lowest"] * 3, vocab_size=262, **names, add_bos_token=True, add_eos_token=True
    )
    texts = [f"low{'é' * (n % 7)} lower<s> {n}" for n in range(20_000)]
    given: dict[str, Any] = {"offsets": True, "special": "parse", "add_special_tokens": True}
    one = tok.encode_batch(texts, **given)
    for threads in (2, 3):
        assert tok.encode_batch(texts, **given, num_threads=threads) == one
    for row in (0, 77, 19_999):
        expected = tok.encode_with_offsets(texts[row], special="parse", add_special_tokens=True)
        part = one[row : row + 1]
        assert part.ids.tolist() == expected.ids
        assert part.offsets.tolist() == [list(span) for span in expected.offsets]
        assert expected.ids[0] == tok.token_to_id("<s>")
        assert (part.offsets[0].tolist(), part.offsets[-1].tolist()) == ([0, 0], [0, 0])


def test_slices_of_neighbours_share_memory_and_nothing_can_be_changed(batch: RaggedEncodings) -> None:
    assert np.shares_memory(batch[1:4].offsets, batch.offsets)
    for array in (batch.offsets, batch[1:].offsets, batch[::2].offsets, batch.ids):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_equality(tok: Any, batch: RaggedEncodings) -> None:
    assert batch == tok.encode_batch(TEXTS, offsets=True)
    assert batch != batch[1:]
    plain = tok.encode_batch(TEXTS)
    assert (batch == plain, plain == batch) == (False, False)
    # The same ids of another text: the offsets differ.
    assert tok.encode_batch(["\ud83e\udd8a"], offsets=True) != tok.encode_batch(["🦊"], offsets=True)
    assert tok.encode_batch(["\ud83e\udd8a"]) == tok.encode_batch(["🦊"])
    assert batch != "batch"


def test_byte_offsets_are_made_once_and_cannot_be_changed(tok: Any) -> None:
    made = tok.encode_batch(TEXTS, offsets=True)
    assert made.byte_offsets is made.byte_offsets
    assert (made.byte_offsets.dtype, made.byte_offsets.flags.c_contiguous) == (np.dtype(np.int64), True)
    with pytest.raises(ValueError, match="read-only"):
        made.byte_offsets[0] = 1
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        made.byte_offsets.flags.writeable = True


def test_byte_offsets_count_the_bytes_of_the_text(tok: Any) -> None:
    text = "🦊 é low"
    made = tok.encode_batch([text, text.encode(), b"\xff\xfelow"], offsets=True)
    row = made.row_offsets.tolist()
    spans = made.byte_offsets.tolist()
    for text_bytes, start, end in zip([text.encode()] * 2, row[:2], row[1:3], strict=True):
        pieces = [text_bytes[first:last] for first, last in spans[start:end]]
        assert pieces == [tok.token_bytes(token) for token in made.ids[start:end].tolist()]
    assert spans[row[2] :][:2] == [[0, 1], [1, 2]]


def test_each_call_makes_encodings_of_its_own(batch: RaggedEncodings) -> None:
    first, second = batch.to_encodings(), batch.to_encodings()
    first[0].ids.clear()
    assert second[0].ids != []
    assert batch.to_encodings() == second


def test_no_texts_at_all(tok: Any) -> None:
    empty = tok.encode_batch([], offsets=True)
    assert (len(empty), empty.to_lists(), empty.to_encodings()) == (0, [], [])
    assert empty.offsets.shape == empty.byte_offsets.shape == (0, 2)
    assert pickle.loads(pickle.dumps(empty)) == empty


def test_decode_and_arrow_take_it_as_any_ragged(tok: Any, batch: RaggedEncodings) -> None:
    pytest.importorskip("pyarrow")
    assert tok.decode_batch(batch[:3]) == TEXTS[:3]
    assert batch.to_arrow().to_pylist() == batch.to_lists()


def test_a_null_has_no_ids_and_an_empty_encoding(tok: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        column = pa.array(["low é", None, "", "lower"], type=kind)
        made = tok.encode_batch(column, offsets=True)
        assert made.to_arrow().to_pylist() == tok.encode_batch(column).to_arrow().to_pylist()
        encodings = made.to_encodings()
        assert [one.n_sequences for one in encodings] == [1, 0, 1, 1]
        assert (len(encodings[1]), encodings[1].offsets, encodings[1].overflowing) == (0, [], [])
        assert encodings[0] == tok.encode_with_offsets("low é")
        assert made.byte_offsets.tolist() == [list(span) for one in encodings for span in one.byte_offsets]
        assert made.offsets[: made.row_offsets[1]].tolist() == [list(span) for span in encodings[0].offsets]
        again = pickle.loads(pickle.dumps(made))
        assert (again == made, again.to_encodings() == encodings) == (True, True)


def test_threads_change_nothing(tok: Any) -> None:
    rows = ["low é lower 🦊 " * (at % 60) for at in range(1500)]
    assert sum(len(row.encode()) for row in rows) > 2 * 256 << 10
    alone = tok.encode_batch(rows, offsets=True)
    for threads in (2, 3, None):
        shared = tok.encode_batch(iter(rows), offsets=True, num_threads=threads)
        assert shared == alone
        assert (shared.byte_offsets == alone.byte_offsets).all()
        assert shared.to_encodings() == alone.to_encodings()


def test_errors_name_the_row(native: Any, tok: Any) -> None:
    few = native.Tokenizer.from_tokens([b"a", b"b"])
    with pytest.raises(native.UnknownTokenError, match=re.escape("texts[1]")) as unknown:
        few.encode_batch(["ab", "abc"], offsets=True)
    assert (unknown.value.char, unknown.value.position) == ("c", 2)
    with pytest.raises(native.SpecialTokenError, match=re.escape("texts[1]")):
        tok.encode_batch(["low", "é<s>"], offsets=True, special="raise")
    with pytest.raises(UnicodeEncodeError, match=re.escape("texts[2]")):
        tok.encode_batch(["low", "", "\ud800"], offsets=True, surrogates="error")
    with pytest.raises(TypeError, match=re.escape("texts[1]")):
        tok.encode_batch(["low", 3], offsets=True)
    with pytest.raises(TypeError, match="wrap it in a list"):
        tok.encode_batch("low", offsets=True)
    with pytest.raises(ValueError, match="num_threads"):
        tok.encode_batch(["low"], offsets=True, num_threads=0)


def test_it_is_made_by_a_tokenizer_alone() -> None:
    with pytest.raises(TypeError, match="encode_batch"):
        RaggedEncodings()


def test_a_pickle_that_contradicts_itself_is_refused(batch: RaggedEncodings) -> None:
    restore, (ids, row_offsets, nulls, offsets, encodings) = batch.__reduce__()
    with pytest.raises(ValueError, match="encodings"):
        restore(ids, row_offsets, nulls, offsets, encodings.part(0, 1, 2))
    with pytest.raises(ValueError, match="shape"):
        restore(ids, row_offsets, nulls, offsets[1:], encodings)
    with pytest.raises(IndexError, match="5 rows"):
        encodings.part(4, 1, 2)
    with pytest.raises(IndexError, match="5 rows"):
        encodings.part(1, -1, 3)


def test_the_examples_in_the_documentation_run() -> None:
    done = doctest.testmod(ragged)
    assert (done.failed, done.attempted > 5) == (0, True)
