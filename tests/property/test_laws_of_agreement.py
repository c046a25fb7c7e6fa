"""Laws 4 and 6: offsets tile the text, and all ways agree.

On random tokenizers, texts and files; 100 examples of each, or 2,000 with TOKENMILL_SLOW=1.
"""

from __future__ import annotations

import random
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from conftest import at_each_level
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenmill import errors

from property.strategies import (
    EXAMPLES,
    LITERALS,
    PIECES,
    THREADED,
    Recipe,
    any_text,
    byte_complete,
    recipes,
    trained,
    whole,
    with_surrogates,
)

few = settings(max_examples=max(10, EXAMPLES // 10))
"""For examples that are a hundred times as large as the others."""


# ---- laws 4 and 6: offsets tile, all ways agree -----------------------------------------------


def check_ways(tok: Any, text: str, special: Any) -> None:
    """Every method, for one text."""
    import numpy as np

    expected = tok.encode(text, special=special)
    one = {"special": special}
    assert tok.count(text, **one) == len(expected)
    assert tok.encode(text.encode(), **one) == expected
    assert tok.encode(bytearray(text.encode()), **one) == expected
    assert tok.encode(memoryview(text.encode()), **one) == expected
    array = tok.encode_to_numpy(text, **one)
    assert (array.dtype, array.tolist()) == (np.dtype("uint32"), expected)
    room = np.full(len(expected) + 3, 7, dtype=np.uint64)
    filled = tok.encode_to_numpy(text, out=room, **one)
    assert filled.tolist() == expected
    assert room[len(expected) :].tolist() == [7] * 3
    batch = tok.encode_batch([text, b"", text.encode(), "", text], **one)
    assert batch.to_lists() == [expected, [], expected, [], expected]
    assert tok.count_batch([text, "", text], **one).tolist() == [len(expected), 0, len(expected)]
    encoding = tok.encode_with_offsets(text, **one)
    assert encoding.ids == expected
    assert [tok.token_to_id(token) for token in encoding.tokens] == expected or len(tok.vocab) < len(tok)
    assert tok.decode_batch(batch) == [
        tok.decode(expected),
        "",
        tok.decode(expected),
        "",
        tok.decode(expected),
    ]
    assert tok.decode(array) == tok.decode(expected)


@given(recipe=recipes(), text=any_text)
def test_law_6_ways_agree(native: Any, recipe: Recipe, text: str) -> None:
    tok = recipe.make(native)
    try:
        tok.encode(text)
        tok.encode(text, special="parse")
    except errors.UnknownTokenError:
        for use in (tok.count, tok.encode_with_offsets, tok.encode_to_numpy):
            with pytest.raises(errors.UnknownTokenError):
                use(text)
        with pytest.raises(errors.UnknownTokenError):
            tok.encode_batch(["", text])
        return
    check_ways(tok, text, "text")
    check_ways(tok, text, "parse")
    check_ways(tok, text, set(tok.special_tokens))
    assert tok.encode(text, special=set()) == tok.encode(text)


@given(text=any_text)
def test_law_6_ways_agree_for_published_vocabularies(published: Any, text: str) -> None:
    check_ways(published, text, "text")
    check_ways(published, text, "parse")


@given(text=any_text, count=st.integers(1, 40))
def test_law_6_instructions_change_nothing(published: Any, text: str, count: int) -> None:
    """Longer texts too, as a few dozen bytes are not worth wide instructions."""
    expected = [published.encode(text), published.encode(text * count)]

    def check(level: str) -> None:
        assert [published.encode(text), published.encode(text * count)] == expected, level
        assert published.count(text * count) == len(expected[1]), level

    at_each_level(check)


@given(text=with_surrogates)
def test_law_6_surrogates_are_read_alike_everywhere(published: Any, text: str) -> None:
    expected = published.encode(text)
    assert published.count(text) == len(expected)
    assert published.encode_to_numpy(text).tolist() == expected
    assert published.encode_batch([text]).to_lists() == [expected]
    encoding = published.encode_with_offsets(text)
    assert encoding.ids == expected
    # A joined pair is two characters of the text that was given.
    starts = [start for start, _ in encoding.offsets]
    assert starts == sorted(starts)
    assert all(0 <= start < end <= len(text) for start, end in encoding.offsets)
    for token, (start, end) in zip(expected, encoding.offsets, strict=True):
        assert published.token_bytes(token) in whole(text[start:end]).encode()


@given(
    recipe=recipes(),
    rows=st.lists(any_text | with_surrogates, max_size=4),
    special=st.sampled_from(["text", "parse"]),
    surrogates=st.sampled_from(["replace", "error"]),
)
def test_law_6_a_batch_with_offsets_is_each_text_alone(
    native: Any, recipe: Recipe, rows: list[str], special: str, surrogates: str
) -> None:
    check_offsets_of_batch(recipe.make(native), rows, special=special, surrogates=surrogates)


@given(
    rows=st.lists(any_text | with_surrogates, max_size=4),
    special=st.sampled_from(["text", "parse"]),
    adds=st.booleans(),
)
def test_law_6_holds_for_batches_of_published_vocabularies(
    published: Any, rows: list[str], special: str, adds: bool
) -> None:
    check_offsets_of_batch(published, rows, special=special, add_special_tokens=adds)


def check_offsets_of_batch(tok: Any, rows: list[str], **options: Any) -> None:
    try:
        alone = [tok.encode_with_offsets(row, **options) for row in rows]
    except (errors.UnknownTokenError, UnicodeEncodeError):
        # A batch is read before it is encoded: where several rows are refused, another one may be named.
        with pytest.raises((errors.UnknownTokenError, UnicodeEncodeError)):
            tok.encode_batch(rows, offsets=True, **options)
        return
    batch = tok.encode_batch(rows, offsets=True, **options)
    assert batch.to_encodings() == alone
    assert batch.to_lists() == [one.ids for one in alone] == tok.encode_batch(rows, **options).to_lists()
    assert batch.offsets.tolist() == [[*span] for one in alone for span in one.offsets]
    assert batch.byte_offsets.tolist() == [[*span] for one in alone for span in one.byte_offsets]
    for made, one in zip(batch.to_encodings(), alone, strict=True):
        for name in ("tokens", "byte_offsets", "word_ids", "type_ids", "special_tokens_mask", "sequence_ids"):
            assert getattr(made, name) == getattr(one, name)


@given(recipe=recipes(), text=any_text)
def test_law_6_slices_of_a_batch_decode_to_the_texts(native: Any, recipe: Recipe, text: str) -> None:
    tok = recipe.make(native)
    with suppress(errors.UnknownTokenError):
        batch = tok.encode_batch([text[:3], text, text[3:]])
        assert tok.decode_batch(batch[1:]) == [tok.decode(row) for row in batch.to_lists()[1:]]


@few
@given(
    recipe=trained(THREADED, "bytes"),
    some=st.lists(st.sampled_from(PIECES + LITERALS), min_size=1, max_size=12),
    seed=st.integers(0, 2**32),
)
def test_law_6_threads_change_nothing(native: Any, recipe: Recipe, some: list[str], seed: int) -> None:
    """Texts of 600 kB to 1.2 MB, which two to four threads share."""
    tok = recipe.make(native)
    source = random.Random(seed)
    size = source.choice([600_000, 1_200_000])
    pieces = some * 2 + [" "]
    parts = source.choices(
        pieces, k=size // (sum(len(piece.encode()) for piece in pieces) // len(pieces) + 1)
    )
    text = "".join(parts)
    for special in ("text", "parse"):
        expected = tok.encode_to_numpy(text, special=special)
        for threads in (2, 3, 4, None):
            got = tok.encode_to_numpy(text, special=special, num_threads=threads)
            assert (got == expected).all()
            assert tok.count(text, special=special, num_threads=threads) == len(expected)
    rows = ["".join(parts[at : at + 5000]) for at in range(0, len(parts), 5000)]
    alone = tok.encode_batch(rows)
    for threads in (2, 4, None):
        assert tok.encode_batch(rows, num_threads=threads) == alone
        assert tok.count_batch(rows, num_threads=threads).tolist() == [len(row) for row in alone]
        assert tok.decode_batch(alone, num_threads=threads) == rows


@given(recipe=byte_complete(), text=any_text, special=st.sampled_from(["text", "parse"]))
def test_law_4_byte_offsets_tile_the_text(native: Any, recipe: Recipe, text: str, special: str) -> None:
    check_offsets(recipe.make(native), text, special)


@given(text=any_text)
def test_law_4_holds_for_published_vocabularies(published: Any, text: str) -> None:
    check_offsets(published, text, "parse")


def check_offsets(tok: Any, text: str, special: str) -> None:
    encoding = tok.encode_with_offsets(text, special=special)
    data = text.encode()
    spans = encoding.byte_offsets
    assert [0, *(end for _, end in spans)] == [*(start for start, _ in spans), len(data)]
    assert [data[start:end] for start, end in spans] == [tok.token_bytes(number) for number in encoding.ids]
    # Characters: the smallest range that holds all bytes of the token.
    character = [at for at, char in enumerate(text) for _ in char.encode()]
    assert encoding.offsets == [(character[start], character[end - 1] + 1) for start, end in spans]


@given(recipe=recipes(), text=any_text)
def test_law_4_offsets_never_fall_and_stay_within_the_text(native: Any, recipe: Recipe, text: str) -> None:
    tok = recipe.make(native)
    with suppress(errors.UnknownTokenError):
        encoding = tok.encode_with_offsets(text, special="parse")
        for spans, size in ((encoding.offsets, len(text)), (encoding.byte_offsets, len(text.encode()))):
            assert len(spans) == len(encoding)
            assert all(0 <= start <= end <= size for start, end in spans)
            assert all(before <= after for before, after in pairwise(spans))
