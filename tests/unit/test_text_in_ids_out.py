"""The way between Python's objects and the engine: strings of every width in and out, lists and arrays."""

from __future__ import annotations

import gc
import re
import sys
from random import Random
from typing import Any

import numpy as np
import pytest

# One of each length in UTF-8, at the ends of their ranges, and surrogates.
CHARACTERS = ["\x00", "a", "\x7f", "\x80", "é", "\xff", "Ā", "\u07ff", "\u0800", "語", "\ud7ff", "\ue000"]
CHARACTERS += ["\uffff", "\U00010000", "🦊", "\U0010ffff"]
SURROGATES = ["\ud800", "\udbff", "\udc00", "\udfff"]
SIZES = [0, 1, 2, 3, 15, 16, 17, 31, 33, 511, 512, 513, 1023, 1024, 1025, 5000]


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.Tokenizer.from_pairs([(104, 101), (108, 108)], special_tokens=["<s>"])


def mixed(random: Random, size: int, characters: list[str]) -> str:
    """Runs of one character, so that whole groups are alike and others are not."""
    text = ""
    while len(text) < size:
        text += random.choice(characters) * random.choice([1, 1, 2, 7, 16, 40])
    return text[:size]


def without_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@pytest.mark.parametrize("width", [1, 3, 6, 13, 16])
def test_strings_of_every_width_are_read_as_their_utf8(tok: Any, width: int) -> None:
    random = Random(width)
    for size in SIZES:
        text = mixed(random, size, CHARACTERS[: max(width, 2)])
        expected = tok.encode(text.encode())
        assert tok.encode(text) == expected
        assert tok.encode(text, surrogates="error") == expected


def test_surrogates_anywhere_become_what_utf16_makes_of_them(tok: Any) -> None:
    random = Random(1)
    for size in SIZES:
        text = mixed(random, size, [*CHARACTERS, *SURROGATES, "".join(SURROGATES)])
        assert tok.encode(text) == tok.encode(without_surrogates(text).encode())


def test_the_first_surrogate_is_named_wherever_it_is(tok: Any) -> None:
    for at in [0, 1, 15, 16, 17, 511, 512, 513, 2000]:
        for filler in ("a", "é", "語", "🦊"):
            with pytest.raises(UnicodeEncodeError) as refused:
                tok.encode(filler * at + "\udc00" + filler, surrogates="error")
            assert (refused.value.start, refused.value.end) == (at, at + 1)


def test_offsets_know_of_every_joined_pair(tok: Any) -> None:
    text = "aé" * 300 + "\ud83e\udd8a語" * 20 + "\ud83e\udd8a"
    offsets = tok.encode_with_offsets(text).offsets
    assert offsets[-1] == (len(text) - 2, len(text))
    assert {end - start for start, end in offsets} == {1, 2}


LONG = 140_000
WORDS = [
    "the",
    " the",
    "  ",
    "\n\n",
    " it's",
    "1234",
    "é",
    " é",
    "語言",
    "🦊",
    "...",
    "\r\n",
    "\u3000",
    "'S",
    "A",
]


@pytest.mark.parametrize("split", ["gpt2", "cl100k", "o200k", "whitespace", "none"])
def test_long_strings_are_read_in_blocks_with_the_same_ids(native: Any, split: str) -> None:
    tok = native.train(texts=WORDS, num_merges=20, split=split, special_tokens=["<s>"])
    random = Random(split)
    for wide in ("é", "語", "🦊"):
        text = "".join(random.choice(WORDS) for _ in range(LONG // 3))
        # A part without a cut, in which blocks are collected.
        text += wide + "x" * 70_000 + text + "<s>"
        expected = tok.encode(text.encode())
        assert tok.encode(text) == expected
        assert tok.encode_to_numpy(text).tolist() == expected
        assert tok.encode(text, num_threads=2) == expected
        assert tok.count(text) == len(expected)
        parsed = tok.encode(text, special="parse")
        assert parsed == tok.encode(text.encode(), special="parse")
        assert parsed[-1] == tok.special_tokens["<s>"]


def test_surrogates_of_long_strings(tok: Any) -> None:
    text = "he語" * LONG
    for at in (5, LONG, 2 * LONG + 1):
        broken = text[:at] + "\ud83e\udd8a\ud83e" + text[at:]
        assert tok.encode(broken) == tok.encode(without_surrogates(broken).encode())
        for use in (tok.encode, tok.count):
            with pytest.raises(UnicodeEncodeError) as refused:
                use(broken, surrogates="error")
            assert refused.value.start == at
    # Where parts of it meet, every time by another character.
    random = Random(2)
    broken = "".join(random.choice(["\ud83e\udd8a", "he", "\udd8a"]) for _ in range(LONG))
    assert tok.encode(broken) == tok.encode(without_surrogates(broken).encode())


def test_literals_of_special_tokens_may_come_from_an_iterator(tok: Any) -> None:
    for text in ("he", "h" * LONG, "語" * LONG):
        for threads in (1, 2):
            parsed = tok.encode(text + "<s>", special=iter(["<s>"]), num_threads=threads)
            assert parsed == [*tok.encode(text), tok.special_tokens["<s>"]]
            assert tok.count(text + "<s>", special=iter(["<s>"]), num_threads=threads) == len(parsed)


@pytest.mark.parametrize("wide", ["é", "語", "🦊", "\ud83e\udd8a", "\udd8a"])
def test_threads_share_long_strings(native: Any, wide: str) -> None:
    tok = native.train(texts=WORDS, num_merges=20, split="gpt2")
    random = Random(len(wide.encode("utf-8", "surrogatepass")))
    text = "".join(random.choice([*WORDS[:-4], wide]) for _ in range(LONG * 2))
    # A part in which nobody may begin.
    text += wide + "x" * 200_000 + text
    expected = tok.encode(without_surrogates(text).encode())
    for threads in (2, 3):
        assert tok.encode(text, num_threads=threads) == expected
        assert tok.count(text, num_threads=threads) == len(expected)


def test_rows_of_every_width_are_read_as_alone(tok: Any) -> None:
    random = Random(3)
    kinds = [CHARACTERS[:width] for width in (2, 3, 6, 13, 16)] + [[*CHARACTERS, *SURROGATES]]
    rows = [mixed(random, random.randrange(300), random.choice(kinds)) for _ in range(3000)]
    expected = [tok.encode(row) for row in rows]
    assert sum(len(row.encode("utf-8", "surrogatepass")) for row in rows) > 2 * 256 << 10
    for threads in (1, 2):
        assert tok.encode_batch(rows, num_threads=threads).to_lists() == expected
        assert tok.count_batch(rows, num_threads=threads).tolist() == [len(ids) for ids in expected]


def test_errors_in_rows_have_their_place(native: Any) -> None:
    spelled = [bytes([byte]) for byte in sorted(set(" ab語\N{FOX FACE}".encode()))]
    tok = native.Tokenizer.from_tokens(spelled, split="gpt2")
    rows = [" ab", "語", "a語b\ud83e\udd8abz"]
    for use in (tok.encode_batch, tok.count_batch):
        with pytest.raises(native.UnknownTokenError, match=re.escape("texts[2]")) as unknown:
            use(rows)
        assert unknown.value.position == len(rows[2]) - 1


def test_errors_in_long_strings_have_their_place(native: Any) -> None:
    spelled = [bytes([byte]) for byte in sorted(set(" ab語".encode()))]
    tok = native.Tokenizer.from_tokens(spelled, split="gpt2")
    text = " ab語" * LONG + "z"
    for use in (tok.encode, tok.count, tok.encode_to_numpy):
        with pytest.raises(native.UnknownTokenError) as unknown:
            use(text)
        assert unknown.value.position == len(text) - 1


@pytest.mark.parametrize("width", [3, 6, 13, 16])
def test_decoded_strings_are_those_that_python_makes(tok: Any, width: int) -> None:
    random = Random(width)
    for size in SIZES:
        text = mixed(random, size, CHARACTERS[:width])
        ids = tok.encode(text)
        for given in (ids, np.array(ids, np.uint32)):
            decoded = tok.decode(given)
            twin = text.encode().decode()
            assert decoded == twin
            # As narrow, and found under the same hash.
            assert sys.getsizeof(decoded) == sys.getsizeof(twin)
            assert hash(decoded) == hash(twin)
        assert tok.decode_bytes(ids) == text.encode()


def test_tokens_of_every_length_are_decoded(native: Any) -> None:
    tokens = [bytes([at]) for at in range(256)] + [b"x" * length for length in range(2, 70)]
    tokens += [b"y" * 255, b"y" * 256, "é".encode() * 40]
    tok = native.Tokenizer.from_tokens(tokens)
    random = Random(0)
    for _ in range(50):
        ids = [random.randrange(len(tokens)) for _ in range(random.randrange(40))]
        joined = b"".join(tokens[id] for id in ids)
        assert tok.decode_bytes(ids) == joined
        assert tok.decode(ids) == joined.decode("utf-8", "replace")
        # Nothing but ASCII.
        ids = [id for id in ids if id < 128 or 256 <= id < 326]
        assert tok.decode(ids) == b"".join(tokens[id] for id in ids).decode("ascii")


def test_ids_in_lists_are_shared_and_given_back(native: Any) -> None:
    tok = native.Tokenizer.from_pairs(
        [(at, at) for at in range(97, 123)] + [(at, 32) for at in range(97, 123)]
    )
    ids = tok.encode("z " * 1000)
    (shared,) = set(ids)
    assert shared > 256  # Python itself shares those up to it
    assert all(id is shared for id in ids)
    assert gc.is_tracked(ids)
    once = tok.encode("z ")
    assert once[0] is shared
    rows = tok.encode_batch(["z ", "", "z z "]).to_lists()
    assert rows == [[shared], [], [shared, shared]]
    assert rows[2][1] is shared
    held = sys.getrefcount(shared)
    del ids
    assert sys.getrefcount(shared) == held - 1000
    del once, rows
    assert sys.getrefcount(shared) == held - 1004
    # The last ones are the tokenizer's own and ours.
    alone = sys.getrefcount(shared)
    del tok
    gc.collect()
    assert sys.getrefcount(shared) == alone - 1


def test_ids_far_above_the_others_are_listed_too(native: Any) -> None:
    tok = native.Tokenizer.from_pairs([], special_tokens={"<far>": 4_000_000_000})
    assert tok.encode("a<far>", special="parse") == [97, 4_000_000_000]
    assert tok.encode_batch(["<far>"], special="parse").to_lists() == [[4_000_000_000]]
    assert tok.decode([97, 4_000_000_000]) == "a<far>"


def test_rows_as_lists_are_what_numpy_makes(tok: Any) -> None:
    texts = ["hello", "", "he" * 1000, "語"]
    for dtype in ("uint16", "uint32", "int32", "int64", "uint64"):
        batch = tok.encode_batch(texts, dtype=dtype)
        for rows in (batch, batch[1:], batch[::2], batch[4:]):
            assert rows.to_lists() == [row.tolist() for row in rows]
            assert all(type(id) is int for row in rows.to_lists() for id in row)


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", ">i8", ">u2"])
def test_arrays_of_every_integer_type_are_decoded(tok: Any, dtype: str) -> None:
    ids = np.array([104, 105, 0, 127] * 50).astype(dtype)
    text = "hi\x00\x7f" * 50
    assert tok.decode(ids) == text
    assert tok.decode(ids[::-1]) == text[::-1]
    assert tok.decode_batch([ids, ids[:0]]) == [text, ""]


class Odd:
    """An integer that changes the list that it is in."""

    def __init__(self, ids: list[Any], then: list[Any]) -> None:
        self.ids, self.then = ids, then

    def __index__(self) -> int:
        self.ids[:] = self.then
        return 104


@pytest.mark.parametrize("at", [0, 2, 32_767, 32_768, 65_535, 131_071, 131_072])
def test_a_list_may_change_while_it_is_read(tok: Any, at: int) -> None:
    for size in (0, 1, at, at + 1, at + 2, 2 * at + 5000):
        ids: list[Any] = [104] * at
        ids += [Odd(ids, [105] * size), 105]
        assert tok.decode(ids) == "h" * (at + 1) + "i" * max(0, size - at - 1)


def test_items_that_are_not_plain_ints(tok: Any) -> None:
    class Int(int):
        def __index__(self) -> int:
            return 105

    assert tok.decode([True, np.int64(104), np.uint8(105), Int(104)]) == "\x01hii"
    assert tok.decode([104] * 3 + [np.uint32(105)] * 3) == "hhhiii"


def test_token_lengths_are_those_of_token_bytes(tok: Any, native: Any) -> None:
    ids = [*range(tok.vocab_size), 5, 5]
    lengths = tok.token_lengths(ids)
    assert lengths.dtype == np.int64
    assert lengths.tolist() == [len(tok.token_bytes(number)) for number in ids]
    assert tok.token_lengths([]).tolist() == []
    with pytest.raises(native.VocabularyError, match="does not exist") as caught:
        tok.token_lengths([0, tok.max_id + 1])
    assert (caught.value.id, caught.value.position) == (tok.max_id + 1, 1)
