"""``encode_arrow``: a column of ids beside the columns that are there."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from tokenmill.errors import SpecialTokenError

pa = pytest.importorskip("pyarrow")

TEXTS = ["low", None, "", "lower 你好 🦊", "<s>", "lowest " * 300, "\0 \u200d é", None]


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    special = ["<s>", "</s>"]
    return native.train(texts=["low lower lowest", "你好 🦊"], num_merges=9, special_tokens=special)


def batch(texts: list[str | None], type: Any = None) -> Any:
    """A batch with columns of many kinds around the texts."""
    rows = len(texts)
    strings = pa.array([str(i) for i in range(rows)])
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False, metadata={"is": "a key"}),
            pa.field("nested", pa.list_(pa.struct([pa.field("x", pa.int8())]))),
            pa.field("text", pa.string() if type is None else type),
            pa.field("tag", pa.dictionary(pa.int8(), pa.string())),
            pa.field("all_null", pa.null()),
            pa.field("one", pa.bool_()),
        ],
        metadata={"made": "here", "empty": ""},
    )
    columns = [
        pa.array(range(rows), pa.int64()),
        pa.array(
            [[{"x": i % 100}, None] if i % 2 else None for i in range(rows)], schema.field("nested").type
        ),
        pa.array(texts, schema.field("text").type),
        strings.dictionary_encode().cast(schema.field("tag").type) if rows < 100 else None,
        pa.nulls(rows),
        pa.array([i % 3 == 0 for i in range(rows)]),
    ]
    if columns[3] is None:
        columns[3] = pa.array(["a", "b"] * rows)[:rows].dictionary_encode().cast(schema.field("tag").type)
    return pa.record_batch(columns, schema=schema)


def addresses(column: Any) -> list[int | None]:
    return [None if buffer is None else buffer.address for buffer in column.buffers()]


@pytest.mark.parametrize("type", ["string", "large_string", "string_view", "binary", "large_binary"])
def test_ids_are_those_of_the_batch_and_the_rest_is_shared(tok: Any, type: str) -> None:
    texts = [text.encode() if text is not None and "binary" in type else text for text in TEXTS]
    whole = batch(texts, getattr(pa, type)())  # type: ignore[arg-type]
    for data in (whole, whole.slice(1, 5), whole.slice(3), whole.slice(8), whole.slice(2, 0)):
        given = data.column("text").to_pylist()
        out = pa.record_batch(tok.encode_arrow(data))
        if data.num_rows:  # pyarrow refuses its own string_view without rows
            out.validate(full=True)
        assert out.schema.names == [*data.schema.names, "ids", "n_tokens"]
        assert out.schema.metadata == data.schema.metadata
        assert [out.schema.field(name) for name in data.schema.names] == list(data.schema)
        assert out.schema.field("id").metadata == {b"is": b"a key"}
        assert out.schema.field("ids").type == pa.large_list(pa.uint32())
        assert out.schema.field("n_tokens").type == pa.int64()
        assert out.column("ids").to_pylist() == [None if text is None else tok.encode(text) for text in given]
        counts = [None if text is None else tok.count(text) for text in given]
        assert out.column("n_tokens").to_pylist() == counts
        for name in data.schema.names:
            assert out.column(name).equals(data.column(name))
            if data.num_rows:
                assert addresses(out.column(name)) == addresses(data.column(name))


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "int32", "int64", "uint64", np.int32])
def test_ids_have_the_type_that_is_asked_for(tok: Any, dtype: Any) -> None:
    out = pa.record_batch(tok.encode_arrow(batch(TEXTS), dtype=dtype))
    out.validate(full=True)
    assert str(out.column("ids").type.value_type) == np.dtype(dtype).name
    assert out.column("ids").to_pylist() == [None if text is None else tok.encode(text) for text in TEXTS]


def test_an_option_is_what_it_is_elsewhere(tok: Any) -> None:
    data = batch(TEXTS)
    for options in (
        {"special": "parse"},
        {"special": {"<s>"}},
        {"num_threads": 2},
        {"add_special_tokens": True},
    ):
        rows = tok.encode_batch(data.column("text"), **options).to_arrow()
        assert pa.record_batch(tok.encode_arrow(data, **options)).column("ids").equals(rows)
    renamed = data.rename_columns(["id", "nested", "ids", "tag", "all_null", "one"])
    out = pa.record_batch(tok.encode_arrow(renamed, "ids", ids_column="n", count_column="ids_n"))
    assert out.schema.names[-2:] == ["n", "ids_n"]
    only_ids = pa.record_batch(tok.encode_arrow(data, count_column=None))
    assert only_ids.schema.names == [*data.schema.names, "ids"]
    only_counts = pa.record_batch(tok.encode_arrow(data, ids_column=None))
    assert only_counts.schema.names == [*data.schema.names, "n_tokens"]
    assert only_counts.column("n_tokens").equals(pa.record_batch(tok.encode_arrow(data)).column("n_tokens"))


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("file", [None, "bert"])
def test_offsets_are_characters(tok: Any, native: Any, adds: bool, file: str | None) -> None:
    if file:
        words = ["[UNK]", "[CLS]", "[SEP]", "low", "##er", "你", "好", "e"]
        tok = native.train(
            texts=words[3:] * 3, model="wordpiece", vocab_size=30, unk_token="[UNK]", cls_token="[CLS]",
            sep_token="[SEP]", post_processor="BertProcessing",
        )  # fmt: skip
    out = pa.record_batch(tok.encode_arrow(batch(TEXTS), offsets=True, add_special_tokens=adds))
    out.validate(full=True)
    for row, text in zip(out.to_pylist(), TEXTS, strict=True):
        if text is None:
            assert row["starts"] is None
            assert row["ends"] is None
            continue
        encoding = tok.encode_with_offsets(text, add_special_tokens=adds)
        assert row["ids"] == encoding.ids
        assert list(zip(row["starts"], row["ends"], strict=True)) == encoding.offsets


def streams(data: Any) -> Iterator[Any]:
    yield pa.RecordBatchReader.from_batches(data.schema, data.to_batches())
    yield data


def test_a_stream_is_encoded_batch_by_batch(tok: Any) -> None:
    parts = [batch(TEXTS), batch([]), batch(TEXTS[::-1]).slice(2, 3), batch(["low"] * 200)]
    data = pa.Table.from_batches(parts)
    for source in streams(data):
        stream = tok.encode_arrow(source)
        reader = pa.RecordBatchReader.from_stream(stream)
        assert reader.schema.metadata == data.schema.metadata
        out = list(reader)
        assert [one.num_rows for one in out] == [8, 0, 3, 200]
        for one, part in zip(out, parts, strict=True):
            one.validate(full=True)
            assert one.equals(pa.record_batch(tok.encode_arrow(part)))
    # A table is asked again.
    stream = tok.encode_arrow(data)
    assert pa.table(stream).equals(pa.table(stream))
    assert pa.schema(stream) == pa.table(stream).schema


def test_a_stream_is_lazy(tok: Any) -> None:
    made = []

    def batches() -> Iterator[Any]:
        for i in range(5):
            made.append(i)
            yield batch([f"low {i}"])

    reader = pa.RecordBatchReader.from_batches(batch([]).schema, batches())
    out = pa.RecordBatchReader.from_stream(tok.encode_arrow(reader))
    assert made == []
    out.read_next_batch()
    assert made == [0]
    del out, reader
    gc.collect()
    assert made == [0]


def test_an_error_in_a_stream_names_its_row(tok: Any) -> None:
    data = pa.Table.from_batches([batch(["low"] * 5), batch(["low", "low<s>"])])
    with pytest.raises(pa.ArrowInvalid, match=r'row 6 of column "text": .*"<s>" at character 3'):
        pa.table(tok.encode_arrow(data, special="raise"))
    with pytest.raises(SpecialTokenError, match=r'row 1 of column "text"') as caught:
        tok.encode_arrow(batch(["low", "é<s>"]), special="raise")
    assert caught.value.position == 1
    binary = pa.record_batch({"text": [b"\xc3\xa9<s>"]})
    with pytest.raises(SpecialTokenError, match=r"at byte 2"):
        tok.encode_arrow(binary, special="raise")


def test_the_error_of_a_source_reaches_the_consumer(tok: Any) -> None:
    def batches() -> Iterator[Any]:
        yield batch(["low"])
        raise RuntimeError("the store is gone")

    reader = pa.RecordBatchReader.from_batches(batch([]).schema, batches())
    out = pa.RecordBatchReader.from_stream(tok.encode_arrow(reader))
    assert out.read_next_batch().num_rows == 1
    with pytest.raises(OSError, match="the store is gone"):
        out.read_next_batch()


@pytest.mark.parametrize(
    ("options", "kind", "says"),
    [
        ({"column": "body"}, ValueError, r'no column "body"; it has "id", "nested", "text", "tag"'),
        (
            {"column": "id"},
            TypeError,
            r'column "id" of data is an Arrow array of int64, .*; cast',
        ),
        (
            {"column": "tag", "ids_column": "one"},
            ValueError,
            r'already has a column "one"; choose another name with ids_column=',
        ),
        (
            {"count_column": "text"},
            ValueError,
            r'already has a column "text"; choose another name with count_column=',
        ),
        ({"count_column": "ids"}, ValueError, r'count_column would add a second column "ids"'),
        ({"ids_column": "i\0d"}, ValueError, "^ids_column: a name with a zero character"),
        ({"count_column": "c\0t"}, ValueError, "^count_column: a name with a zero character"),
        (
            {"ids_column": "starts", "offsets": True},
            ValueError,
            r'offsets=True would add a second column "starts"',
        ),
        ({"ids_column": None, "count_column": None}, ValueError, "nothing would be added"),
        ({"ids_column": None, "offsets": True}, ValueError, "needs ids_column"),
        ({"ids_column": 3}, TypeError, "ids_column must be str, not int"),
        ({"dtype": "uint8"}, ValueError, "dtype uint8 does not hold ids"),
        ({"special": {"<x>"}}, SpecialTokenError, "<x>"),
        ({"num_threads": 0}, ValueError, "num_threads"),
    ],
)
def test_what_cannot_be_is_said_before_the_first_batch(
    tok: Any, options: dict[str, Any], kind: type[Exception], says: str
) -> None:
    asked = []

    def batches() -> Iterator[Any]:
        asked.append(1)
        yield batch(TEXTS)

    for data in (batch(TEXTS), pa.RecordBatchReader.from_batches(batch([]).schema, batches())):
        with pytest.raises(kind, match=says):
            tok.encode_arrow(data, **options)
    assert not asked


def test_an_id_beyond_the_type_is_refused_before_the_first_batch(native: Any) -> None:
    large = native.Tokenizer.from_tokens([bytes([i]) for i in range(256)], special_tokens={"<s>": 70_000})
    with pytest.raises(ValueError, match="uint16 cannot hold the largest id, 70000; use uint32"):
        large.encode_arrow(batch(TEXTS), dtype="uint16")


def test_what_has_no_columns_is_refused(tok: Any) -> None:
    for data in (["low"], None, "low", {"text": ["low"]}):
        with pytest.raises(TypeError, match="data must be an Arrow batch, table or stream"):
            tok.encode_arrow(data)
    for data in (pa.array(["low"]), pa.chunked_array([["low"]])):
        with pytest.raises(TypeError, match=r"array of string, which .* encode_batch"):
            tok.encode_arrow(data)
    twice = pa.record_batch([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    with pytest.raises(ValueError, match='more than one column "text"'):
        tok.encode_arrow(twice)
    with pytest.raises(ValueError, match="it has no columns"):
        tok.encode_arrow(pa.record_batch([], names=[]))


def test_names_that_are_no_identifiers(tok: Any) -> None:
    data = pa.record_batch({"": ["low"], "a b\n": [1], "текст": ["lower"]})
    out = pa.record_batch(tok.encode_arrow(data, "текст", ids_column="ид"))
    assert out.schema.names == ["", "a b\n", "текст", "ид", "n_tokens"]
    assert pa.record_batch(tok.encode_arrow(data, "")).column("ids").to_pylist() == [tok.encode("low")]


def test_a_column_without_any_value_is_null(tok: Any) -> None:
    data = pa.record_batch({"text": pa.nulls(9), "dictionary": pa.nulls(9).dictionary_encode()})
    for part in (data, data.slice(3, 4), data.slice(9)):
        out = pa.record_batch(tok.encode_arrow(part))
        assert out["ids"].to_pylist() == out["n_tokens"].to_pylist() == [None] * part.num_rows
    assert tok.encode_batch(pa.nulls(3)).to_arrow().to_pylist() == [None] * 3
    assert tok.count_batch(pa.chunked_array([pa.nulls(2), pa.nulls(1)])).tolist() == [0] * 3


def test_data_that_is_read_once_is_not_read_twice(tok: Any) -> None:
    data = pa.table({"text": ["low"] * 10})
    stream = tok.encode_arrow(data.to_reader())
    assert pa.table(stream).num_rows == 10
    with pytest.raises(ValueError, match="read once"):
        pa.table(stream)
    inner = tok.encode_arrow(tok.encode_arrow(data.to_reader()), ids_column="a", count_column="b")
    assert pa.table(inner).num_rows == 10
    with pytest.raises(ValueError, match="read once"):
        pa.table(inner)


def test_a_column_of_a_table_is_not_taken_for_the_table(tok: Any) -> None:
    data = pa.table({"text": [{"a": 1}]})
    with pytest.raises(
        TypeError, match=r'column "text" of data is an Arrow array of struct, .*; cast it to string'
    ):
        tok.encode_arrow(data)


def test_rows_that_are_null_as_a_whole(tok: Any) -> None:
    rows = pa.array([{"text": "low"}, None, {"text": None}, {"text": "lower"}] * 3)
    for data in (rows, rows.slice(1, 9), rows.slice(3)):
        out = pa.array(tok.encode_arrow(data))
        out.validate(full=True)
        texts = [None if row is None else row["text"] for row in data.to_pylist()]
        assert [row is None for row in out.to_pylist()] == [row is None for row in data.to_pylist()]
        ids = [None if row is None else row["ids"] for row in out.to_pylist()]
        assert ids == [None if text is None else tok.encode(text) for text in texts]


def test_a_batch_is_given_to_many_and_memory_is_given_back(tok: Any) -> None:
    gc.collect()
    before = pa.total_allocated_bytes()
    data = batch(["low lower " * 1000] * 20)
    result = tok.encode_arrow(data)
    del data
    first = pa.record_batch(result)
    second = pa.record_batch(result)
    assert first.equals(second)
    del result, first
    column = second.column("id")
    del second
    gc.collect()
    assert column.to_pylist() == list(range(20))
    del column
    stream = tok.encode_arrow(pa.Table.from_batches([batch(["low " * 1000] * 20)] * 3))
    reader = pa.RecordBatchReader.from_stream(stream)
    reader.read_next_batch()
    del reader, stream
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_random_batches_equal_the_plain_way(tok: Any) -> None:
    random = Random(5)
    pieces = ["low", "er", " ", "é", "你", "🦊", "<s>", "\n"]
    for _ in range(30):
        texts = [
            None if random.random() < 0.2 else "".join(random.choices(pieces, k=random.choice([0, 1, 5, 40])))
            for _ in range(random.choice([0, 1, 7, 8, 9, 65]))
        ]
        data = batch(texts).slice(random.randrange(3))
        out = pa.record_batch(tok.encode_arrow(data, special="parse"))
        out.validate(full=True)
        plain = [
            None if t is None else tok.encode(t, special="parse") for t in texts[len(texts) - data.num_rows :]
        ]
        assert out.column("ids").to_pylist() == plain
        assert out.column("n_tokens").to_pylist() == [None if row is None else len(row) for row in plain]


def test_a_stream_may_be_read_by_another_thread(tok: Any) -> None:
    stream = tok.encode_arrow(pa.Table.from_batches([batch(TEXTS)] * 20))
    found: list[Any] = []
    readers = [threading.Thread(target=lambda: found.append(pa.table(stream).num_rows)) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert found == [160] * 4


ENDLESS = """
import pyarrow as pa, tokenmill
tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
batch = pa.record_batch({"text": ["the mill stands by the river " * 2000] * 200})
def batches():
    while True:
        print("reading", flush=True)
        yield batch
reader = pa.RecordBatchReader.from_batches(batch.schema, batches())
pa.table(tok.encode_arrow(reader, ids_column=None))
"""


def test_ctrl_c_ends_a_consumer_that_holds_no_lock(native: Any) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for _ in range(3):
        assert process.stdout.readline() == "reading\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors or "stopped" in errors
