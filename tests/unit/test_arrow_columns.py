"""Arrow arrays of strings, taken as batches without Python strings."""

from __future__ import annotations

import gc
import pickle
from random import Random
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

TYPES = ["string", "large_string", "string_view"]


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.train(texts=["low lower lowest", "你好 🦊"], num_merges=9, special_tokens=["<s>", "</s>"])


def texts(random: Random, rows: int) -> list[str | None]:
    """Short and long, some of them null."""
    some: list[str | None] = [None]
    for _ in range(50):
        some.append(random.choice(["lo", "é", "你", "🦊 "]) * random.choice([0, 1, 3, 6, 7, 30]))
    return [random.choice(some[:: random.choice([1, 5])]) for _ in range(rows)]


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 300])
def test_a_column_is_the_batch_of_its_strings(tok: Any, type: str, rows: int) -> None:
    given = texts(Random(rows), rows)
    column = pa.array(given, type=getattr(pa, type)())
    for part in (slice(None), slice(1, None), slice(3, 8), slice(rows, None)):
        expected = [text or "" for text in given[part]]
        batch = tok.encode_batch(column[part])
        assert batch.to_lists() == tok.encode_batch(expected).to_lists()
        assert tok.count_batch(column[part]).tolist() == [len(row) for row in batch]
        ids = [None if text is None else tok.encode(text) for text in given[part]]
        assert batch.to_arrow().to_pylist() == ids
        assert tok.encode_batch(column[part], num_threads=2) == batch


@pytest.mark.parametrize("type", TYPES)
def test_a_null_has_nothing_around_it(tok: Any, type: str) -> None:
    given = ["low", None, ""]
    column = pa.array(given, type=getattr(pa, type)())
    batch = tok.encode_batch(column, add_special_tokens=True)
    assert [len(row) for row in batch][1] == 0
    assert batch[0].tolist() == tok.encode("low", add_special_tokens=True)
    assert tok.count_batch(column, add_special_tokens=True).tolist() == [len(row) for row in batch]


def test_nulls_are_kept_by_slices_copies_and_comparison(tok: Any) -> None:
    batch = tok.encode_batch(pa.array(["low", None, "", "lower", None]))
    empty = tok.encode_batch(["low", "", "", "lower", ""])
    assert batch != empty
    assert batch.to_lists() == empty.to_lists()
    whole = batch.to_arrow().to_pylist()
    assert [row is None for row in whole] == [False, True, False, False, True]
    for part in (slice(1, 4), slice(-2, None), slice(None, None, -1), slice(1, None, 3), slice(4, 2)):
        assert batch[part].to_arrow().to_pylist() == whole[part]
    assert pickle.loads(pickle.dumps(batch)) == batch
    # A column without nulls is as any other batch.
    assert tok.encode_batch(pa.array(["low", ""])) == empty[:2]


def test_special_tokens_and_errors_are_those_of_texts(tok: Any, native: Any) -> None:
    column = pa.array([None, "low<s>"])
    assert tok.encode_batch(column, special="parse").to_lists() == [[], tok.encode("low<s>", special="parse")]
    with pytest.raises(native.SpecialTokenError, match=r"texts\[1\]"):
        tok.encode_batch(column, special="raise")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2]),
        pa.array([["low"]]),
        pa.array([1, 2]).dictionary_encode(),
        pa.record_batch({"text": ["low"]}),
        pa.table({"text": ["low"]}),
        pa.array([b"low"], type=pa.binary(3)),
    ],
)
def test_other_columns_are_refused(tok: Any, column: Any) -> None:
    for use in (tok.encode_batch, tok.count_batch):
        with pytest.raises(TypeError, match="string, large_string or string_view"):
            use(column)


@pytest.mark.parametrize("type", ["binary", "large_binary", "binary_view"])
def test_bytes_are_those_of_texts(tok: Any, type: str) -> None:
    given = [b"low", None, b"", "你好 🦊 and more than twelve bytes".encode(), b"\xff\xfe"]
    column = pa.array(given, type=getattr(pa, type)())
    assert tok.encode_batch(column).to_lists() == tok.encode_batch([text or b"" for text in given]).to_lists()


@pytest.mark.parametrize("index", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("type", [*TYPES, "binary"])
def test_a_dictionary_is_its_strings(tok: Any, index: str, type: str) -> None:
    words = pa.array(["low", None, "lower and a few more bytes", ""]).cast(getattr(pa, type)())
    indices = pa.array([2, 0, None, 1, 3, 2], type=getattr(pa, index)())
    column = pa.DictionaryArray.from_arrays(indices, words)
    texts = ["lower and a few more bytes", "low", "", "", "", "lower and a few more bytes"]
    for part in (slice(None), slice(1, 4), slice(6, None)):
        batch = tok.encode_batch(column[part])
        assert batch.to_lists() == tok.encode_batch(texts[part]).to_lists()
        nulls = [False, False, True, True, False, False][part]
        assert [row is None for row in batch.to_arrow().to_pylist()] == nulls


@pytest.mark.parametrize("chunks", [[], [[]], [["low"], [], ["lower", None], ["low"] * 9]])
def test_a_chunked_column_is_taken_as_it_is(tok: Any, chunks: list[list[str | None]]) -> None:
    column = pa.chunked_array(chunks, type=pa.string())
    given = [text or "" for chunk in chunks for text in chunk]
    batch = tok.encode_batch(column)
    assert batch.to_lists() == tok.encode_batch(given).to_lists()
    assert batch.to_arrow().to_pylist() == [
        None if text is None else tok.encode(text) for text in column.to_pylist()
    ]
    assert tok.count_batch(column).tolist() == [len(row) for row in batch]
    assert tok.encode_batch(column, offsets=True).to_lists() == batch.to_lists()
    with pytest.raises(tok_errors(), match=r"texts\[1\]"):
        tok.encode_batch(pa.chunked_array([["low"], ["low<s>"]]), special="raise")


def tok_errors() -> Any:
    from tokenmill.errors import SpecialTokenError

    return SpecialTokenError


class Once:
    """Hands the same capsules over again, which the interface forbids."""

    def __init__(self, column: Any) -> None:
        self.capsules = column.__arrow_c_array__()

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.capsules


def test_a_column_is_taken_once_and_given_back(tok: Any) -> None:
    gc.collect()
    before = pa.total_allocated_bytes()
    column = pa.array(["low " * 1000] * 10)
    once = Once(column)
    assert len(tok.encode_batch(once)) == 10
    with pytest.raises(ValueError, match="released"):
        tok.encode_batch(once)
    del column, once
    gc.collect()
    assert pa.total_allocated_bytes() == before


class Wrong:
    """Not what the interface asks for."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.result


def test_what_is_no_pair_of_capsules_is_refused(tok: Any) -> None:
    schema, array = pa.array(["low"]).__arrow_c_array__()
    for result in (None, (schema,), (array, schema)):
        with pytest.raises((TypeError, ValueError)):
            tok.encode_batch(Wrong(result))
