"""What each method of a tokenizer returns, and what it does at the edges."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenmill import errors

TEXTS = ["low lower lowest", " newer wider", "你好 🦊"] * 2
CORPUS_MERGES = 12


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.train(texts=TEXTS, num_merges=CORPUS_MERGES, special_tokens=["<s>", "</s>"])


@pytest.fixture(scope="module")
def holes(native: Any) -> Any:
    """Ids with holes, the last of them huge."""
    vocab = {b"a": 3, b"b": 7, b"ab": 4_000_000_000}
    return native.Tokenizer.from_merges(vocab, [(b"a", b"b")], special_tokens={"<s>": 5})


# ---- return types, held to the stubs by a test of each -----------------------------------------

TYPES: list[tuple[str, Callable[[Any], Any], Any]] = [
    ("encode", lambda t: t.encode("low"), [int]),
    ("encode of nothing", lambda t: t.encode(""), [int]),
    ("count", lambda t: t.count("low"), int),
    ("decode", lambda t: t.decode([260]), str),
    ("decode_bytes", lambda t: t.decode_bytes([260]), bytes),
    ("decode_batch", lambda t: t.decode_batch([[260], []]), [str]),
    ("token_to_id", lambda t: t.token_to_id("<s>"), int),
    ("token_to_id of none", lambda t: t.token_to_id("nothing"), type(None)),
    ("id_to_token", lambda t: t.id_to_token(2), str),
    ("id_to_token of none", lambda t: t.id_to_token(10_000), type(None)),
    ("token_bytes", lambda t: t.token_bytes(2), bytes),
    ("vocab", lambda t: t.vocab, {str: int}),
    ("merges", lambda t: t.merges, [(bytes, bytes)]),
    ("vocab_size", lambda t: t.vocab_size, int),
    ("len", len, int),
    ("max_id", lambda t: t.max_id, int),
    ("special_tokens", lambda t: t.special_tokens, {str: int}),
    ("split", lambda t: t.split, str),
    ("bos_token_id", lambda t: t.bos_token_id, type(None)),
    ("eos_token_id", lambda t: t.eos_token_id, type(None)),
    ("pad_token_id", lambda t: t.pad_token_id, type(None)),
    ("unk_token_id", lambda t: t.unk_token_id, type(None)),
    ("repr", repr, str),
    ("hash", hash, int),
    ("equal", lambda t: t == t, bool),
    ("different", lambda t: t != 3, bool),
    ("ids of an encoding", lambda t: t.encode_with_offsets("low").ids, [int]),
    ("tokens of an encoding", lambda t: t.encode_with_offsets("low").tokens, [str]),
    ("offsets", lambda t: t.encode_with_offsets("low").offsets, [(int, int)]),
    ("byte_offsets", lambda t: t.encode_with_offsets("low").byte_offsets, [(int, int)]),
    ("len of an encoding", lambda t: len(t.encode_with_offsets("low")), int),
    ("documents", lambda t: t.training_report.documents, int),
    ("skipped", lambda t: t.training_report.skipped, int),
    ("replaced", lambda t: t.training_report.replaced, int),
    ("bytes", lambda t: t.training_report.bytes, int),
    ("pretokens", lambda t: t.training_report.pretokens, int),
    ("distinct_pretokens", lambda t: t.training_report.distinct_pretokens, int),
    ("merges of the report", lambda t: t.training_report.merges, [(bytes, bytes, int)]),
    ("stopped_early", lambda t: t.training_report.stopped_early, type(None)),
    ("phases", lambda t: t.training_report.phases, {str: float}),
    ("rows of a batch", lambda t: t.encode_batch(["low", ""]).to_lists(), [[int]]),
]


def has_type(value: Any, shape: Any) -> bool:
    """`[int]` is a list of them, `{str: int}` a dict, `(int, int)` a pair; never a subclass."""
    if isinstance(shape, list):
        return type(value) is list and all(has_type(item, shape[0]) for item in value)
    if isinstance(shape, dict):
        ((key, item),) = shape.items()
        return type(value) is dict and all(has_type(k, key) and has_type(v, item) for k, v in value.items())
    if isinstance(shape, tuple):
        return type(value) is tuple and len(value) == len(shape) and all(map(has_type, value, shape))
    return type(value) is shape


@pytest.mark.parametrize(("use", "shape"), [row[1:] for row in TYPES], ids=[row[0] for row in TYPES])
def test_methods_return_what_the_stubs_say(tok: Any, use: Callable[[Any], Any], shape: Any) -> None:
    assert has_type(use(tok), shape)


def test_methods_that_return_objects_of_ours(native: Any, tok: Any, tmp_path: Path) -> None:
    assert type(tok.encode_with_offsets("low")) is native.Encoding
    assert type(tok.encode_batch(["low"])) is native.Ragged
    assert type(tok.training_report) is native.TrainingReport
    assert tok.save(tmp_path / "m") is None
    assert native.load(tmp_path / "m").training_report is None
    for made in (
        tok.with_special_tokens(["<x>"]),
        tok.with_vocab_size(260),
        native.Tokenizer.from_tokens([b"a"]),
        native.Tokenizer.from_merges({"a": 0}, []),
        native.Tokenizer.from_pairs([]),
        native.load(tmp_path / "m"),
    ):
        assert type(made) is native.Tokenizer


# ---- accessors --------------------------------------------------------------------------------


def test_accessors_agree(tok: Any) -> None:
    assert tok.vocab_size == len(tok) == len(tok.vocab) == 2 + 256 + CORPUS_MERGES
    assert tok.max_id == len(tok) - 1
    for token, number in tok.vocab.items():
        assert tok.token_to_id(token) == number
        assert tok.id_to_token(number) == token
        assert tok.decode_bytes([number]) == tok.token_bytes(number)
    assert list(tok.vocab.values()) == sorted(tok.vocab.values())


def test_merges_are_in_rank_order_and_make_the_later_tokens(tok: Any) -> None:
    first = tok.vocab_size - len(tok.merges)
    assert [left + right for left, right in tok.merges] == [
        tok.token_bytes(number) for number in range(first, tok.vocab_size)
    ]
    assert [(left, right) for left, right, _ in tok.training_report.merges] == tok.merges


def test_the_written_form_is_the_byte_alphabet(native: Any) -> None:
    tok = native.Tokenizer.from_tokens([b" low", b"\xc3\xa9", b"\n"], special_tokens=["<é>"])
    assert tok.vocab == {"Ġlow": 0, "Ã©": 1, "Ċ": 2, "<é>": 3}
    assert (tok.token_to_id("Ġlow"), tok.token_to_id(" low"), tok.token_to_id("é")) == (0, None, None)
    assert (tok.token_bytes(1), tok.token_bytes(3)) == (b"\xc3\xa9", "<é>".encode())


def test_what_accessors_return_is_a_copy(tok: Any) -> None:
    tok.vocab.clear()
    tok.merges.clear()
    tok.special_tokens.clear()
    assert len(tok.vocab) == len(tok)
    assert len(tok.merges) == CORPUS_MERGES
    assert tok.special_tokens == {"<s>": 0, "</s>": 1}


@pytest.mark.parametrize("name", ["vocab", "split", "special_tokens", "anything"])
def test_a_tokenizer_never_changes(tok: Any, name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(tok, name, {})
    with pytest.raises(TypeError):
        type(tok)()


def test_holes_between_ids_are_no_ids(holes: Any) -> None:
    assert (len(holes), holes.max_id) == (4, 4_000_000_000)
    assert holes.vocab == {"a": 3, "<s>": 5, "b": 7, "ab": 4_000_000_000}
    assert holes.encode("abba<s>", special="parse") == [4_000_000_000, 7, 3, 5]
    assert holes.decode([4_000_000_000, 7, 5]) == "abb<s>"
    for hole in (0, 4, 6, 8, 3_999_999_999, 4_000_000_001, 2**32 - 2):
        assert holes.id_to_token(hole) is None
        with pytest.raises(errors.VocabularyError):
            holes.decode([hole])
    assert holes.encode_to_numpy("ab").tolist() == [4_000_000_000]
    with pytest.raises(ValueError, match="int32"):
        holes.encode_to_numpy("ab", dtype="int32")


def test_the_largest_id_there_can_be(native: Any) -> None:
    tok = native.Tokenizer.from_merges({b"a": 2**32 - 2}, [])
    assert tok.encode("aa") == [2**32 - 2] * 2
    assert tok.decode([2**32 - 2]) == "a"
    assert pickle.loads(pickle.dumps(tok)) == tok
    with pytest.raises(errors.TokenmillError):
        tok.with_special_tokens(["<s>"])  # there is no id behind it
    with pytest.raises(errors.TokenmillError):
        native.Tokenizer.from_merges({b"a": 2**32 - 1}, [])


# ---- special tokens ---------------------------------------------------------------------------


def test_more_special_tokens_take_the_next_ids(tok: Any) -> None:
    more = tok.with_special_tokens(["<x>", "<s>", "<y>"])
    size = len(tok)
    assert more.special_tokens == {"<s>": 0, "</s>": 1, "<x>": size, "<y>": size + 1}
    assert len(more) == size + 2
    assert more.encode("low<y><s>", special="parse") == [*tok.encode("low"), size + 1, 0]
    assert tok.special_tokens == {"<s>": 0, "</s>": 1}
    assert more.merges == tok.merges


def test_special_tokens_with_ids_of_their_own(tok: Any) -> None:
    more = tok.with_special_tokens({"<x>": 1000, "<y>": 999, "<s>": 0})
    assert list(more.special_tokens.items()) == [("<s>", 0), ("</s>", 1), ("<y>", 999), ("<x>", 1000)]
    assert (len(more), more.max_id) == (len(tok) + 2, 1000)


def test_no_more_special_tokens_is_the_same_tokenizer(tok: Any) -> None:
    assert tok.with_special_tokens([]) == tok
    assert tok.with_special_tokens({}) == tok
    assert tok.with_special_tokens(["<s>"]) == tok


def test_the_policies_of_special_tokens(tok: Any) -> None:
    text = "low<s>low</s>"
    low = tok.encode("low")
    assert tok.encode(text, special="parse") == [*low, 0, *low, 1]
    assert tok.encode(text, special={"<s>"}) == [*low, 0, *low, *tok.encode("</s>")]
    assert tok.encode(text, special=frozenset({"<s>", "</s>"})) == [*low, 0, *low, 1]
    assert tok.encode(text) == tok.encode(text, special="text") == tok.encode(text, special=set())
    assert tok.decode(tok.encode(text)) == text
    assert tok.encode("low", special="raise") == low


def test_the_longest_literal_at_the_leftmost_place_wins(native: Any) -> None:
    tok = native.Tokenizer.from_pairs([], special_tokens=["<a>", "<a>b", "b<", "a>"])
    assert tok.encode("<a>bb<a>", special="parse") == [257, 258, 259]
    assert tok.encode("<a>bb<a>", special={"<a>"}) == [256, 98, 98, 256]


# ---- smaller vocabularies ---------------------------------------------------------------------


@pytest.mark.parametrize("special_ids", ["first", "last"])
def test_a_smaller_vocabulary_is_what_training_to_that_size_gives(native: Any, special_ids: str) -> None:
    options = {"texts": TEXTS, "special_tokens": ["<s>"], "special_ids": special_ids}
    large = native.train(vocab_size=269, **options)
    for size in (257, 258, 263, 269):
        small = large.with_vocab_size(size)
        trained = native.train(vocab_size=size, **options)
        assert (len(small), small.merges) == (size, trained.merges)
        for text in TEXTS:
            assert small.decode(small.encode(text)) == text
            assert [small.token_bytes(n) for n in small.encode(text)] == [
                trained.token_bytes(n) for n in trained.encode(text)
            ]
        if special_ids == "first":
            assert small == trained
        else:  # Ids that remain are the same, so that the special token stays where it was.
            assert small.special_tokens == large.special_tokens


def test_a_list_of_tokens_can_be_made_smaller(native: Any) -> None:
    tok = native.Tokenizer.from_tokens([b"a", b"b", b"c", b"ab", b"bc", b"abc"])
    small = tok.with_vocab_size(4)
    assert small == native.Tokenizer.from_tokens([b"a", b"b", b"c", b"ab"])
    assert small.encode("abc") == [3, 2]


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
    assert tok.encode(Text("low")) == tok.encode("low")


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


# ---- equality and copies ----------------------------------------------------------------------


def test_equal_is_what_means_the_same(native: Any, tok: Any) -> None:
    same = native.train(texts=TEXTS, num_merges=CORPUS_MERGES, special_tokens=["<s>", "</s>"])
    assert same == tok
    assert hash(same) == hash(tok)
    assert len({same, tok}) == 1
    assert tok != native.train(texts=TEXTS, num_merges=CORPUS_MERGES - 1, special_tokens=["<s>", "</s>"])
    assert tok != native.train(texts=TEXTS, num_merges=CORPUS_MERGES, special_tokens=["</s>", "<s>"])
    assert tok != native.train(
        texts=TEXTS, num_merges=CORPUS_MERGES, special_tokens=["<s>", "</s>"], split="o200k"
    )
    assert tok != "tok"
    assert (tok == None) is False  # noqa: E711


def test_a_list_of_tokens_and_the_merges_it_means_are_equal(native: Any) -> None:
    by_list = native.Tokenizer.from_tokens([b"a", b"b", b"ab", b"abab"])
    vocab = {"a": 0, "b": 1, "ab": 2, "abab": 3}
    by_merges = native.Tokenizer.from_merges(vocab, [("a", "b"), ("ab", "ab")])
    assert by_list == by_merges
    assert hash(by_list) == hash(by_merges)


def test_a_copy_is_the_same_and_a_pickle_an_equal_one(tok: Any) -> None:
    assert copy.copy(tok) is tok
    assert copy.deepcopy({"t": tok})["t"] is tok
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(tok, protocol))
        assert again == tok
        assert again.encode("low<s>", special="parse") == tok.encode("low<s>", special="parse")


def test_repr_says_what_it_is(native: Any, tok: Any) -> None:
    assert repr(tok) == f'Tokenizer(vocab_size={len(tok)}, split="cl100k", special_tokens=2)'
    assert repr(tok.encode_with_offsets("low")).startswith("Encoding(")
    assert repr(tok.training_report).startswith("TrainingReport(documents=6")


# ---- splits -----------------------------------------------------------------------------------


def pretokens(native: Any, split: str, text: str) -> list[str]:
    """The pretokens of a text: what is left when everything is merged that may be."""
    tok = native.train(texts=[text], num_merges=1000, split=split, min_frequency=1)
    return [tok.decode([number]) for number in tok.encode(text)]


@pytest.mark.parametrize(
    ("split", "text", "expected"),
    [
        ("none", "a b  c", ["a b  c"]),
        ("whitespace", "a b  c\n d", ["a", " b", "  ", "c", "\n ", "d"]),
        ("gpt2", "I'll pay 1234 now!!", ["I", "'ll", " pay", " 1234", " now", "!!"]),
        ("gpt2", "I'LL", ["I", "'", "LL"]),
        ("cl100k", "I'LL pay 12345", ["I", "'LL", " pay", " ", "123", "45"]),
        ("cl100k", "a'ſ b", ["a", "'ſ", " b"]),
        ("o200k", "HelloWorld's", ["Hello", "World's"]),
        ("qwen2", "12 3", ["1", "2", " ", "3"]),
        (r"\d+", "ab12cd", ["ab", "12", "cd"]),
        ("(?=b)", "abab", ["a", "ba", "b"]),
        (r"\w++", "ab cd", ["ab", " ", "cd"]),
    ],
)
def test_splits_by_name_and_by_pattern(native: Any, split: str, text: str, expected: list[str]) -> None:
    assert pretokens(native, split, text) == expected


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "qwen2", "whitespace", "none"])
def test_a_split_is_known_by_its_name(native: Any, tmp_path: Path, name: str) -> None:
    tok = native.Tokenizer.from_pairs([(97, 98)], split=name)
    assert tok.split == name
    assert native.Tokenizer.from_pairs([(97, 98)], split=tok.split) == tok
    tok.save(tmp_path / "t.json")
    assert native.load(tmp_path / "t.json").split == name


def test_a_pattern_is_its_own_name(native: Any) -> None:
    assert native.Tokenizer.from_pairs([], split=r"\w+|\s").split == r"\w+|\s"
    assert native.Tokenizer.from_pairs([], split="llama3") == native.Tokenizer.from_pairs([], split="cl100k")


# ---- constructors -----------------------------------------------------------------------------


def test_an_ordered_list_merges_lowest_id_first(native: Any) -> None:
    tok = native.Tokenizer.from_tokens([b"a", b"b", b"c", b"ab", b"cb", b"ac", b"bb", b"cbb", b"acbb"])
    assert [tok.token_bytes(n) for n in tok.encode("abacb")] == [b"ab", b"a", b"cb"]
    assert [tok.token_bytes(n) for n in tok.encode("abacbb")] == [b"ab", b"acbb"]


def test_a_token_that_no_merge_can_build_has_no_place_in_a_list_of_merges(native: Any) -> None:
    """`aa` of a list without `a`: not even the bytes are there."""
    for tokens in ([b"aa"], [b"a", b"ab"], [b"b", b"ab"], [b"a", b"b", b"c", b"abc"]):
        tok = native.Tokenizer.from_tokens(tokens)
        with pytest.raises(errors.FormatError) as caught:
            _ = tok.merges
        assert caught.value.kind == "cannot-hold"


def test_merges_rank_by_their_place_not_by_their_ids(native: Any) -> None:
    vocab = {"a": 9, "b": 8, "c": 7, "ab": 6, "bc": 5}
    first = native.Tokenizer.from_merges(vocab, [("b", "c"), ("a", "b")])
    second = native.Tokenizer.from_merges(vocab, [("a", "b"), ("b", "c")])
    assert (first.encode("abc"), second.encode("abc")) == ([9, 5], [6, 7])
    assert first.merges == [(b"b", b"c"), (b"a", b"b")]
    assert first != second


def test_merges_may_be_written_or_bytes(native: Any) -> None:
    written = native.Tokenizer.from_merges({"Ġ": 0, "a": 1, "Ġa": 2}, [("Ġ", "a")])
    plain = native.Tokenizer.from_merges({b" ": 0, b"a": 1, b" a": 2}, [(b" ", b"a")])
    assert written == plain
    assert plain.encode(" a") == [2]


def test_pairs_number_from_256(native: Any) -> None:
    tok = native.Tokenizer.from_pairs([(97, 98), (256, 99), (256, 257)])
    assert tok.merges == [(b"a", b"b"), (b"ab", b"c"), (b"ab", b"abc")]
    assert tok.encode("ababcab") == [258, 256]
    assert (len(tok), tok.max_id) == (259, 258)


def test_empty_tables_are_tokenizers(native: Any) -> None:
    for tok in (native.Tokenizer.from_tokens([]), native.Tokenizer.from_merges({}, [])):
        assert (len(tok), tok.vocab, tok.merges, tok.encode(""), tok.decode([])) == (0, {}, [], [], "")
        with pytest.raises(errors.UnknownTokenError):
            tok.encode("a")
        assert pickle.loads(pickle.dumps(tok)) == tok


def test_special_tokens_of_a_constructor(native: Any) -> None:
    listed = native.Tokenizer.from_tokens([b"a", b"b"], special_tokens=["<s>", "<x>"])
    mapped = native.Tokenizer.from_tokens([b"a", b"b"], special_tokens={"<x>": 3, "<s>": 2})
    assert listed.special_tokens == {"<s>": 2, "<x>": 3}
    assert listed == mapped
    none = native.Tokenizer.from_tokens([b"a", b"b"], special_tokens=None)
    assert none == native.Tokenizer.from_tokens([b"a", b"b"])


def test_characters_with_an_unknown_token(native: Any) -> None:
    tok = native.train(texts=["low lower"] * 2, num_merges=3, alphabet="chars", unk_token="<unk>")
    assert tok.unk_token_id == 0
    assert tok.encode("lox🦊") == [*tok.encode("lo"), 0, 0]
    assert tok.decode(tok.encode("lox")) == "lo<unk>"
    assert tok.encode_with_offsets("é🦊l").offsets == [(0, 1), (1, 2), (2, 3)]
    assert tok.encode_with_offsets("é🦊l").byte_offsets == [(0, 2), (2, 6), (6, 7)]
