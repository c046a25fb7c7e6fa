"""What `encode` takes and gives in each of its forms, and what `decode` makes of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

TEXTS = ["low lower lowest", " newer wider", "你好 🦊"] * 2
CORPUS_MERGES = 12


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.train(texts=TEXTS, num_merges=CORPUS_MERGES, special_tokens=["<s>", "</s>"])


# ---- input ------------------------------------------------------------------------------------


def test_text_may_be_bytes_of_any_kind(tok: Any) -> None:
    import numpy as np

    text = "low 你好 🦊"
    expected = tok.encode(text)
    data = text.encode()
    for given in (
        data,
        bytearray(data),
        memoryview(data),
        memoryview(bytearray(data)),
        np.frombuffer(data, np.uint8),
    ):
        assert tok.encode(given) == expected
    assert tok.encode(memoryview(data[::-1])[::-1]) == expected


class Text(str):
    """A str that is more than one."""

    __slots__ = ()


def test_a_subclass_of_str_is_a_text(tok: Any) -> None:
    for text in ("", "low", "l\xf6w", "l\u014dw", "l\U0001f98aw"):
        plain = tok.encode(text)
        assert plain == tok.encode(text.encode())
        assert tok.encode(Text(text)) == tok.encode_batch([Text(text)]).to_lists()[0] == plain


def test_surrogates_are_joined_or_replaced_or_refused(tok: Any) -> None:
    assert tok.encode("\ud83e\udd8a") == tok.encode("🦊")
    assert tok.encode("a\ud800b") == tok.encode("a\ufffdb")
    assert tok.encode("\udd8a\ud83e") == tok.encode("\ufffd\ufffd")
    for use in (tok.encode, tok.count, tok.encode_to_numpy, tok.encode_with_offsets):
        assert use("🦊", surrogates="error") is not None
        with pytest.raises(UnicodeEncodeError):
            use("a\ud800", surrogates="error")
    for use in (tok.encode_batch, tok.count_batch):
        with pytest.raises(UnicodeEncodeError):
            use(["a", "a\ud800"], surrogates="error")


@pytest.mark.parametrize("text", ["", "a", "mañana", "🦊", "\x00\x01", "\ufeffa", "\r\n\r\n", " " * 999])
def test_small_texts_come_back(tok: Any, text: str) -> None:
    assert tok.decode(tok.encode(text)) == text


# ---- arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "int32", "int64", "uint64"])
def test_arrays_of_every_type(tok: Any, dtype: str) -> None:
    import numpy as np

    expected = tok.encode("low lower 🦊")
    for given in (dtype, np.dtype(dtype), getattr(np, dtype)):
        array = tok.encode_to_numpy("low lower 🦊", dtype=given)
        assert (array.dtype, array.ndim, array.tolist()) == (np.dtype(dtype), 1, expected)
    room = np.zeros(100, dtype=dtype)
    view = tok.encode_to_numpy("low lower 🦊", out=room)
    assert view.tolist() == expected
    assert np.shares_memory(view, room)
    assert (view.dtype, len(view)) == (np.dtype(dtype), len(expected))
    assert tok.decode(array) == "low lower 🦊"
    batch = tok.encode_batch(["low lower 🦊"], dtype=dtype)
    assert (batch.ids.dtype, batch.ids.tolist()) == (np.dtype(dtype), expected)


def test_an_array_without_a_type_is_uint32(tok: Any) -> None:
    assert tok.encode_to_numpy("low").dtype == "uint32"
    assert tok.encode_to_numpy("").dtype == "uint32"
    assert tok.encode_batch([]).ids.dtype == "uint32"
    assert tok.count_batch(["low", ""]).dtype == "int64"


def test_out_may_be_exactly_full_strided_or_empty(tok: Any) -> None:
    import numpy as np

    ids = tok.encode("low lower")
    assert tok.encode_to_numpy("low lower", out=np.zeros(len(ids), np.uint32)).tolist() == ids
    strided = np.zeros(2 * len(ids) + 4, np.int64)[::2]
    assert tok.encode_to_numpy("low lower", out=strided).tolist() == ids
    assert strided[: len(ids)].tolist() == ids
    backward = np.zeros(len(ids), np.int64)[::-1]
    assert tok.encode_to_numpy("low lower", out=backward).tolist() == ids
    assert tok.encode_to_numpy("", out=np.zeros(0, np.uint32)).tolist() == []


def test_filling_an_array_leaves_nothing_behind(tok: Any) -> None:
    """The number of ids was never freed where it is not one of those that Python keeps."""
    import numpy as np

    text = "low " * 1000
    out = np.zeros(len(tok.encode(text)), np.uint32)
    held = []
    # The first calls leave what Python and numpy keep for later ones.
    for _ in range(2):
        for _ in range(3000):
            tok.encode_to_numpy(text, out=out)
        held.append(sys.getallocatedblocks())
    assert held[1] - held[0] < 1000


def test_out_that_cannot_be_used_is_refused_and_untouched(tok: Any) -> None:
    import numpy as np

    small = np.full(2, 9, np.uint32)
    needed = len(tok.encode("x" * 50))
    with pytest.raises(ValueError, match=f"{needed} are needed"):
        tok.encode_to_numpy("x" * 50, out=small)
    assert small.tolist() == [9, 9]
    fixed = np.zeros(9, np.uint32)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="written"):
        tok.encode_to_numpy("low", out=fixed)
    with pytest.raises((TypeError, ValueError)):
        tok.encode_to_numpy("low", out=np.zeros((9, 9), np.uint32))
    swapped = np.zeros(9, np.dtype(np.uint32).newbyteorder())
    with pytest.raises((TypeError, ValueError)):
        tok.encode_to_numpy("low", out=swapped)
    with pytest.raises(ValueError, match="dtype"):
        tok.encode_to_numpy("low", dtype=np.dtype(np.uint32).newbyteorder())


# ---- batches ----------------------------------------------------------------------------------


def test_a_batch_is_rows_of_views(tok: Any) -> None:
    import numpy as np

    texts = ["low", "", "lower 🦊", "x"]
    rows = tok.encode_batch(texts)
    expected = [tok.encode(text) for text in texts]
    assert len(rows) == 4
    assert rows.to_lists() == expected
    assert [row.tolist() for row in rows] == expected
    assert rows[-1].tolist() == expected[-1]
    assert rows[1:3].to_lists() == expected[1:3]
    assert rows[::-1].to_lists() == expected[::-1]
    assert rows[5:].to_lists() == []
    assert np.shares_memory(rows[0], rows.ids)
    assert rows.row_offsets.tolist() == [0, *np.cumsum([len(row) for row in expected]).tolist()]
    with pytest.raises(IndexError):
        rows[4]
    with pytest.raises(ValueError, match="read-only"):
        rows.ids[0] = 1


@pytest.mark.parametrize(
    "texts",
    [[], [""], ["low"], ("low", b"low", bytearray(b"low")), iter(["low", "x"]), {"low": 1}, ["low"] * 500],
    ids=["nothing", "an empty text", "one", "kinds", "an iterator", "keys", "many"],
)
def test_batches_of_every_shape(tok: Any, texts: Any) -> None:
    texts = list(texts)
    expected = [tok.encode(text) for text in texts]
    assert tok.encode_batch(iter(texts)).to_lists() == expected
    assert tok.count_batch(texts).tolist() == [len(row) for row in expected]
    assert tok.decode_batch(expected) == [tok.decode(row) for row in expected]


def test_a_batch_as_an_arrow_array(tok: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows = tok.encode_batch(["low", "", "lower"])
    arrow = rows.to_arrow()
    assert isinstance(arrow, pyarrow.LargeListArray)
    assert arrow.to_pylist() == rows.to_lists()
    assert arrow.type.value_type == pyarrow.uint32()


# ---- offsets ----------------------------------------------------------------------------------


def test_offsets_count_characters_and_bytes(native: Any) -> None:
    tok = native.Tokenizer.from_tokens(
        [b"a", b"b", b"ab", *(bytes([b]) for b in "é🦊".encode())], special_tokens=["<s>"]
    )
    encoding = tok.encode_with_offsets("ab🦊é<s>b", special="parse")
    assert encoding.byte_offsets == [
        (0, 2),
        *((at, at + 1) for at in range(2, 8)),
        (8, 11),
        (11, 12),
    ]
    assert encoding.offsets == [(0, 2), *[(2, 3)] * 4, *[(3, 4)] * 2, (4, 7), (7, 8)]
    assert encoding.tokens[-2:] == ["<s>", "b"]
    assert (len(encoding), encoding == tok.encode_with_offsets("ab🦊é<s>b", special="parse")) == (9, True)
    assert encoding != tok.encode_with_offsets("ab")


def test_a_joined_pair_of_surrogates_is_two_characters(tok: Any) -> None:
    encoding = tok.encode_with_offsets("a\ud83e\udd8ab")
    assert encoding.offsets[0] == (0, 1)
    assert encoding.offsets[1] == (1, 3)
    assert encoding.offsets[-1] == (3, 4)


# ---- decoding ---------------------------------------------------------------------------------


def test_what_undefined_ids_become(tok: Any) -> None:
    low = tok.encode("low")
    ids = [*low, 9999, *low]
    assert tok.decode(ids, undefined="skip") == "lowlow"
    assert tok.decode(ids, undefined="replace") == "low\ufffdlow"
    assert tok.decode_bytes(ids, undefined="replace") == b"low\xef\xbf\xbdlow"
    assert tok.decode_batch([ids, low], undefined="skip") == ["lowlow", "low"]


def test_special_tokens_can_be_left_out(tok: Any) -> None:
    ids = tok.encode("<s>low</s>", special="parse")
    assert tok.decode(ids) == "<s>low</s>"
    assert tok.decode(ids, skip_special_tokens=True) == "low"
    assert tok.decode_bytes(ids, skip_special_tokens=True) == b"low"
    assert tok.decode_batch([ids], skip_special_tokens=True) == ["low"]


def test_bytes_that_are_not_utf8_follow_the_policy(tok: Any) -> None:
    ids = tok.encode(b"low\xff\xe4\xbd")
    raw = b"low\xff\xe4\xbd"
    assert tok.decode_bytes(ids) == raw
    for policy in ("replace", "ignore"):
        assert tok.decode(ids, errors=policy) == raw.decode(errors=policy)
    with pytest.raises(UnicodeDecodeError):
        tok.decode(ids, errors="strict")
    with pytest.raises(UnicodeDecodeError):
        tok.decode_batch([[], ids], errors="strict")


def test_ids_may_come_in_any_sequence(tok: Any) -> None:
    import array

    import numpy as np

    ids = tok.encode("low lower")
    for given in (
        tuple(ids),
        iter(ids),
        (number for number in ids),
        np.array(ids),
        np.array(ids, dtype=np.int16),
        np.array(ids, dtype=">u4"),
        np.array(ids * 2, dtype=np.uint32)[: len(ids)],
        np.repeat(np.array(ids, dtype=np.int64), 2)[::2],
        array.array("I", ids),
        [np.int64(number) for number in ids],
        dict.fromkeys(ids) if len(set(ids)) == len(ids) else ids,
    ):
        assert tok.decode(given) == "low lower"
    assert tok.decode([]) == tok.decode(np.zeros(0, np.uint32)) == ""


def test_a_sequence_that_is_a_number_as_well_is_a_sequence(tok: Any) -> None:
    """A tensor of torch with one id is."""

    class Tensor:
        def __init__(self, values: list[int]) -> None:
            self.values = values

        def __len__(self) -> int:
            return len(self.values)

        def __iter__(self) -> Iterator[int]:
            return iter(self.values)

        def __index__(self) -> int:
            (value,) = self.values
            return value

    (one,) = tok.encode("low")
    assert tok.decode(Tensor([one])) == "low"
    assert tok.decode_bytes(Tensor([one])) == b"low"
    assert tok.decode_batch([Tensor([one]), Tensor([one, one])]) == ["low", "lowlow"]


@pytest.mark.parametrize("name", ["encode_batch", "count_batch", "__call__"])
def test_a_dict_is_no_batch_of_texts(native: Any, name: str) -> None:
    tok = native.train(texts=["low lower lowest"] * 2, num_merges=4)
    with pytest.raises(TypeError, match="not dict, whose keys would be taken"):
        getattr(tok, name)({"text": ["low", "lower"]})
