"""What a tokenizer is: the type of all it returns, its tables, equality, copies."""

from __future__ import annotations

import copy
import pickle
import signal
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
    ("tokens as the text has them", lambda t: t.encode_with_offsets("low").surface_tokens, [str]),
    ("number of texts", lambda t: t.encode_with_offsets("low", "er").n_sequences, int),
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
    assert type(tok.encode_batch(["low"], offsets=True)) is native.RaggedEncodings
    assert [type(one) for one in tok.encode_batch(["low"], offsets=True).to_encodings()] == [native.Encoding]
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


def test_numbers_in_lists_are_read_whatever_their_size(native: Any) -> None:
    import numpy as np

    ids = sorted(
        {edge + d for bits in (0, 8, 15, 16, 29, 30, 31, 32) for edge in [1 << bits] for d in (-1, 0, 1)}
    )
    ids = [id for id in ids if id < 2**32 - 1]
    tok = native.Tokenizer.from_merges({chr(97 + n).encode(): id for n, id in enumerate(ids)}, [])
    text = "".join(chr(97 + n) for n in range(len(ids)))
    assert tok.encode(text) == ids
    assert tok.decode(ids * 1_000) == text * 1_000
    for odd in (-1, -256, 5, 1 << 33, (1 << 60) + 1, -(1 << 30), -(1 << 60), 10**30):
        with pytest.raises(errors.VocabularyError) as caught:
            tok.decode([*ids * 2_000, odd])
        assert str(odd) in str(caught.value)
        assert caught.value.position == 2_000 * len(ids)
    assert tok.decode([*ids[:2], True, ids[0]]) == text[:2] + text[1] + text[0]
    assert tok.decode([np.int64(id) for id in ids]) == text


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that send signals")
def test_signals_are_heard_while_numbers_of_other_types_are_read(native: Any) -> None:
    import numpy as np

    tok = native.Tokenizer.from_merges({b"a": 1}, [])
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: heard.append(number))
    try:
        for one in (np.int64(1), True):
            heard.clear()
            signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
            text = tok.decode([one] * 3_000_000)
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert len(text) == 3_000_000
            # Once would be after the call.
            assert len(heard) > 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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
