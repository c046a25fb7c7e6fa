"""The cases of the five source texts, each test named after the one it comes from.

What can be asked of both is asked of both: of `tokenmill.reference`, the executable definition,
and of the compiled package. Training cases go through `learn`, which is each of them in turn;
the others have a half for each.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenmill import reference
from tokenmill.reference import BYTES, byte_symbols, char_symbols
from witness import Learn

EDGE_TEXTS = {
    "empty": "",
    "one character": "a",
    "two bytes in one character": "mañana",
    "four bytes in one character": "🦊",
    "control characters": "\x00\x01\t\r\n\x1b[0m\x7f\x85",
    "byte order mark": "\ufeffBOM",
}

SMOKE_TEXTS = [
    "hello world",
    "  indented code\n    x = 1",
    "中文和English混合",
    "emoji: 🧠🚀",
    "<|user|> hi </think>",
]


def encode_bytes(text: str, merges: list[tuple[bytes, bytes]]) -> list[bytes]:
    """A text by the definition, over the byte alphabet and without a split."""
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    return list(reference.encode(byte_symbols(text), ranks))


def tokens_of(tok: Any, text: str) -> list[bytes]:
    """A text by the engine, as the bytes of its tokens."""
    return [tok.token_bytes(number) for number in tok.encode(text)]


# ---- seed 000: classical and byte-level byte-pair encoding ------------------------------------

FOUR_MERGES = [(b"l", b"o"), (b"lo", b"w"), (b"e", b"r"), (b"low", b"er")]
TYPES = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3


def four_merges(native: Any) -> Any:
    tokens = reference.token_list(BYTES, FOUR_MERGES)
    vocab = {token: number for number, token in enumerate(tokens)}
    return native.Tokenizer.from_merges(vocab, FOUR_MERGES)


def test_seed_000_four_merges_make_one_token_of_lower_and_stop_inside_lowest() -> None:
    assert encode_bytes("lower", FOUR_MERGES) == [b"lower"]
    assert encode_bytes("lowest", FOUR_MERGES) == [b"low", b"e", b"s", b"t"]


def test_seed_000_four_merges_make_one_token_of_lower_natively(native: Any) -> None:
    tok = four_merges(native)
    assert tok.merges == FOUR_MERGES
    assert tokens_of(tok, "lower") == [b"lower"]
    assert tokens_of(tok, "lowest") == [b"low", b"e", b"s", b"t"]
    assert tok.encode("lower") == [259]


def test_seed_000_weighted_types_without_an_end_of_word(learn: Learn) -> None:
    learned = learn(TYPES, num_merges=3, alphabet="chars", tie_break="first-seen")
    assert learned.tokens == ["es", "est", "lo"]


def test_seed_000_weighted_types_with_the_end_of_word_as_a_symbol(learn: Learn) -> None:
    learned = learn(TYPES, num_merges=5, alphabet="chars", tie_break="first-seen", end_of_word="</w>")
    assert learned.tokens == ["es", "est", "est</w>", "lo", "low"]


def test_seed_000_aaa_counts_two_and_merges_once(learn: Learn) -> None:
    learned = learn(["aaa"], num_merges=1)
    assert learned.rows == ["a+a 2"]
    assert learned.split("aaa") == ["aa", "a"]
    assert learned.encode("aaa") == [256, 97]


def test_seed_000_a_space_belongs_to_the_word_behind_it() -> None:
    split = partial(re.findall, " ?[a-z]+")
    corpus = reference.count_pretokens(["hello world"], byte_symbols, split=split)
    assert [b"".join(pretoken) for pretoken in corpus] == [b"hello", b" world"]


def test_seed_000_a_space_belongs_to_the_word_behind_it_natively(native: Any) -> None:
    tok = native.train(texts=["hello world"] * 2, num_merges=100, split="gpt2")
    assert tokens_of(tok, "hello world") == [b"hello", b" world"]
    assert tokens_of(tok, "world") != [b" world"]


def test_seed_000_a_chinese_character_is_three_bytes() -> None:
    assert b"".join(byte_symbols("你")).hex(" ") == "e4 bd a0"
    assert len(byte_symbols("你")) == 3


def test_seed_000_a_chinese_character_is_three_bytes_natively(native: Any) -> None:
    tok = native.Tokenizer.from_tokens(list(BYTES))
    assert tok.encode("你") == [0xE4, 0xBD, 0xA0]
    assert tok.decode([0xE4, 0xBD, 0xA0]) == "你"


def test_seed_000_the_byte_map_is_one_to_one_and_prints() -> None:
    characters = reference.byte_to_unicode()
    assert (characters[0x21], characters[0x7E], characters[0xFF]) == ("!", "~", "ÿ")
    assert (characters[0x20], characters[0x0A], characters[0x00]) == ("Ġ", "Ċ", "Ā")
    assert len({*characters.values()}) == 256
    assert all(reference.unicode_to_byte()[characters[byte]] == byte for byte in range(256))


def test_seed_000_the_byte_map_is_how_tokens_are_written_natively(native: Any) -> None:
    tok = native.train(texts=["hello world"] * 2, num_merges=100, split="gpt2")
    characters = reference.byte_to_unicode()
    assert [tok.id_to_token(byte) for byte in range(256)] == list(characters.values())
    assert tok.id_to_token(tok.encode(" world")[0]) == "Ġworld"
    assert tok.token_to_id("Ġworld") == tok.encode(" world")[0]


TEXT_WITH_ADDED_TOKEN = "Was ist 🦊? <|assistant|> Ein Fuchs."


def test_seed_000_an_added_token_is_cut_whole() -> None:
    literal = "<|assistant|>"
    parts = reference.cut_special(TEXT_WITH_ADDED_TOKEN, [literal])
    assert [part for part, is_special in parts if is_special] == [literal]
    assert "".join(part for part, _ in parts) == TEXT_WITH_ADDED_TOKEN


def test_seed_000_an_added_token_is_one_id_where_its_literal_stands_natively(native: Any) -> None:
    literal = "<|assistant|>"
    tok = native.train(texts=["ein Fuchs ist ein Fuchs"], num_merges=9, special_tokens=[literal])
    number = tok.special_tokens[literal]
    encoding = tok.encode_with_offsets(TEXT_WITH_ADDED_TOKEN, special="parse")
    at = TEXT_WITH_ADDED_TOKEN.index(literal)
    found = [
        offsets
        for token_id, offsets in zip(encoding.ids, encoding.offsets, strict=True)
        if token_id == number
    ]
    assert [tuple(offsets) for offsets in found] == [(at, at + len(literal))]
    assert list(encoding.ids) == tok.encode(TEXT_WITH_ADDED_TOKEN, special="parse")
    assert number not in tok.encode(TEXT_WITH_ADDED_TOKEN)


@pytest.mark.parametrize("text", SMOKE_TEXTS)
def test_seed_000_smoke_texts_come_back(learn: Learn, text: str) -> None:
    learned = learn(SMOKE_TEXTS * 2, num_merges=40)
    assert b"".join(map(learned.token_bytes, learned.encode(text))) == text.encode()


@pytest.mark.parametrize("special", ["text", "parse"])
@pytest.mark.parametrize("text", SMOKE_TEXTS)
def test_seed_000_smoke_texts_come_back_natively(native: Any, text: str, special: str) -> None:
    tok = native.train(texts=SMOKE_TEXTS * 2, num_merges=40, special_tokens=["<|user|>", "</think>"])
    assert tok.decode(tok.encode(text, special=special)) == text
    assert tok.decode_bytes(tok.encode(text, special=special)) == text.encode()


small_texts = st.lists(st.text("ab c", min_size=1, max_size=12), min_size=1, max_size=6)
tie_breaks = st.sampled_from(
    ["lexicographic", "lexicographic-largest", "first-seen", "token-id", "huggingface"]
)


@given(texts=small_texts, tie_break=tie_breaks)
def test_seed_000_theorem_each_merge_shortens_the_corpus_by_what_it_replaced_natively(
    native: Any, texts: list[str], tie_break: reference.TieBreak
) -> None:
    tok = native.train(texts=texts, num_merges=12, split="none", tie_break=tie_break)
    corpus = reference.count_pretokens(texts, byte_symbols)
    for left, right in tok.merges:
        after = reference.merge_corpus(corpus, (left, right))
        replaced = sum(s.count(left + right) * n for s, n in after.items())
        before = sum(len(s) * n for s, n in corpus.items())
        assert before - sum(len(s) * n for s, n in after.items()) == replaced > 0
        corpus = after
    assert sum(len(tok.encode(text)) for text in texts) == sum(len(s) * n for s, n in corpus.items())


@given(texts=small_texts, tie_break=tie_breaks, min_frequency=st.integers(1, 4))
def test_seed_000_invariant_every_recorded_count_equals_a_recount_natively(
    native: Any, texts: list[str], tie_break: reference.TieBreak, min_frequency: int
) -> None:
    tok = native.train(
        texts=texts,
        num_merges=12,
        split="none",
        tie_break=tie_break,
        min_frequency=min_frequency,
    )
    expected = reference.train(
        reference.count_pretokens(texts, byte_symbols),
        num_merges=12,
        tie_break=tie_break,
        min_frequency=min_frequency,
        alphabet=BYTES,
    )
    assert [(left, right, n) for left, right, n in tok.training_report.merges] == expected


FERTILITY_TEXTS = {
    "Chinese": "中文和英文",
    "English": "hello world",
    "code": "  indented code\n    x = 1",
    "formula": "O(n log n) + e^{-x} ≤ 1",
}


def test_seed_000_fertility_is_tokens_over_words_or_characters_natively(native: Any) -> None:
    tok = native.train(texts=["hello world, hello code\n" * 4], vocab_size=270)
    found = native.compare_vocab_sizes(tok, FERTILITY_TEXTS, [256, 270])
    for row in found:
        text = FERTILITY_TEXTS[row.name]
        tokens = len(tok.with_vocab_size(row.size).encode(text))
        assert row.fertility == tokens / len(text.split())
        assert row.tokens_per_character == tokens / len(text)
    # Nothing was learned of Chinese: three bytes a character, and as many tokens.
    assert [found["Chinese", size].tokens_per_character for size in (256, 270)] == [3, 3]
    assert [found["English", size].fertility for size in (256, 270)] == [5.5, 1]


# ---- seed 001: the algorithm by hand ----------------------------------------------------------

STRINGS = ["I work", "I work", "I worked", "he works", "he worked"]
WORDS = [word for text in STRINGS for word in text.split()]
EATING = ["he eats", "he eats", "I eat", "you eat"]


def test_seed_001_the_words_alone(learn: Learn) -> None:
    assert learn(WORDS, num_merges=3).rows == ["o+r 5", "or+k 5", "w+ork 5"]


def test_seed_001_the_words_alone_step_by_step() -> None:
    corpus = reference.count_pretokens(WORDS, char_symbols)
    first, second, third = reference.trace_training(corpus, num_merges=3)
    assert {left + right: n for (left, right), n in first.counts.items()} == {
        "wo": 5, "or": 5, "rk": 5, "ke": 2, "ed": 2, "he": 2, "ks": 1
    }  # fmt: skip
    assert second.counts["w", "or"] == second.counts["or", "k"] == 5
    assert third.after == {
        ("I",): 3, ("work",): 2, ("work", "e", "d"): 2, ("h", "e"): 2, ("work", "s"): 1
    }  # fmt: skip


def test_seed_001_whole_strings_where_the_space_takes_part(learn: Learn) -> None:
    learned = learn(STRINGS, num_merges=4)
    assert learned.rows == ["␣+w 5", "␣w+o 5", "␣wo+r 5", "␣wor+k 5"]


def test_seed_001_special_tokens_come_first_and_bytes_follow() -> None:
    tokens = reference.token_list(BYTES, [(b"o", b"r")], special_tokens=["<|a|>", "<|b|>"])
    assert tokens[:2] == [b"<|a|>", b"<|b|>"]
    assert tokens[2:258] == list(BYTES)
    assert tokens[258:] == [b"or"]


def test_seed_001_special_tokens_come_first_and_bytes_follow_natively(native: Any) -> None:
    tok = native.train(texts=WORDS, num_merges=1, split="none", special_tokens=["<|a|>", "<|b|>"])
    assert tok.special_tokens == {"<|a|>": 0, "<|b|>": 1}
    assert tok.vocab_size == len(tok) == 259
    assert [tok.token_bytes(number) for number in range(259)] == reference.token_list(
        BYTES, tok.merges, special_tokens=["<|a|>", "<|b|>"]
    )


SPECIAL = "<|endoftext|>"
TEXTS_WITH_SPECIAL = [f"ab{SPECIAL}ba", f"ab{SPECIAL}ba", f"{SPECIAL}{SPECIAL}"]


def test_seed_001_special_tokens_are_never_counted_or_merged_across() -> None:
    corpus = reference.count_pretokens(TEXTS_WITH_SPECIAL, byte_symbols, special_tokens=[SPECIAL])
    assert corpus == {(b"a", b"b"): 2, (b"b", b"a"): 2}
    assert reference.train(corpus, num_merges=50) == [(b"a", b"b", 2), (b"b", b"a", 2)]


@pytest.mark.parametrize("split", ["none", "cl100k", "gpt2"])
def test_seed_001_special_tokens_are_never_counted_or_merged_across_natively(native: Any, split: str) -> None:
    tok = native.train(texts=TEXTS_WITH_SPECIAL, num_merges=50, split=split, special_tokens=[SPECIAL])
    assert tok.training_report.merges == [(b"a", b"b", 2), (b"b", b"a", 2)]
    a, b, ab, ba = (tok.encode(text)[0] for text in ("a", "b", "ab", "ba"))
    assert tok.encode(f"ab{SPECIAL}ba", special="parse") == [ab, 0, ba]
    assert tok.encode(f"a{SPECIAL}b", special="parse") == [a, 0, b]


@pytest.mark.parametrize("text", EDGE_TEXTS.values(), ids=EDGE_TEXTS.keys())
def test_seed_001_edge_texts_round_trip(learn: Learn, text: str) -> None:
    learned = learn(STRINGS, num_merges=20)
    ids = learned.encode(text)
    assert b"".join(map(learned.token_bytes, ids)) == text.encode()
    assert len(ids) == len(text.encode())


@pytest.mark.parametrize("split", ["none", "cl100k"])
@pytest.mark.parametrize("text", EDGE_TEXTS.values(), ids=EDGE_TEXTS.keys())
def test_seed_001_edge_texts_round_trip_natively(native: Any, text: str, split: str) -> None:
    tok = native.train(texts=STRINGS, num_merges=20, split=split)
    assert tok.decode(tok.encode(text)) == text


def test_seed_001_the_n_with_tilde_becomes_a_token_where_it_is_frequent(learn: Learn) -> None:
    learned = learn(["mañana", "año", "niño"], num_merges=1)
    assert learned.tokens == ["ñ"]
    assert learned.split("mañana") == ["m", "a", "ñ", "a", "n", "a"]


def test_seed_001_drill_1_eating(learn: Learn) -> None:
    learned = learn(EATING, num_merges=4)
    assert learned.tokens == ["␣e", "␣ea", "␣eat", "␣eats"]


@given(texts=small_texts, text=st.text("ab c", max_size=16), tie_break=tie_breaks)
def test_seed_001_merges_in_order_equal_lowest_rank_leftmost_natively(
    native: Any, texts: list[str], text: str, tie_break: reference.TieBreak
) -> None:
    tok = native.train(texts=texts, num_merges=12, split="none", tie_break=tie_break)
    in_order = reference.apply_merges_in_order(byte_symbols(text), tok.merges)
    assert tokens_of(tok, text) == list(in_order) == encode_bytes(text, tok.merges)


# ---- seed 002: training fast ------------------------------------------------------------------


def test_seed_002_the_string_that_overlaps_itself(learn: Learn) -> None:
    learned = learn(["aaabdaaabace"], num_merges=3, alphabet="chars")
    assert learned.tokens == ["aa", "ab", "aaab"]
    assert learned.rows == ["a+a 4", "a+b 2", "aa+ab 2"]
    assert learned.encode("aaabdaaabace") == [7, 3, 7, 0, 2, 4]


def test_seed_002_other_merges_may_give_the_same_ids(learn: Learn) -> None:
    learned = learn(["aaabdaaabace"], num_merges=3, alphabet="chars", tie_break="first-seen")
    assert learned.tokens == ["aa", "aaa", "aaab"]
    assert learned.encode("aaabdaaabace") == [7, 3, 7, 0, 2, 4]


def test_seed_002_four_words_and_their_parts(learn: Learn) -> None:
    words = ["low", "lower", "hard", "harder"]
    learned = learn(words, num_merges=6, alphabet="chars", tie_break="first-seen")
    assert learned.tokens == ["lo", "low", "er", "ha", "har", "hard"]
    assert [number for word in words for number in learned.encode(word)] == [9, 9, 10, 13, 13, 10]


# The merges of the sentence pairs are rows 7 and 7b of test_training_golden.py.


# ---- seed 003: decoding -----------------------------------------------------------------------

PAIRS = [
    (32, 101), (111, 114), (32, 97), (110, 105), (113, 117), (99, 111), (100, 111), (32, 262),
    (32, 261), (257, 101), (108, 97), (32, 117), (108, 105), (99, 105), (105, 115), (115, 101),
    (105, 112), (110, 271), (264, 273), (270, 32), (268, 260), (258, 276), (267, 116), (266, 98),
    (32, 279), (263, 108), (259, 109), (258, 100), (257, 32), (256, 120), (97, 116), (32, 109),
    (109, 111), (116, 101), (44, 32), (115, 105),
]  # fmt: skip

LOREM = [
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt "
    "ut labore et dolore magna aliqua.",
    "Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea "
    "commodo consequat.",
]
LOREM_TEXTS = [*LOREM, " ".join(LOREM), "\n".join(LOREM)]


def lorem_by_definition(text: str) -> list[int]:
    tokens = reference.tokens_from_pairs(PAIRS)
    ranks = {(tokens[left], tokens[right]): rank for rank, (left, right) in enumerate(PAIRS)}
    return [tokens.index(symbol) for symbol in reference.encode(byte_symbols(text), ranks)]


def test_seed_003_a_token_unfolds_into_its_parts() -> None:
    def unfold(number: int) -> bytes:
        if number < 256:
            return bytes([number])
        left, right = PAIRS[number - 256]
        return unfold(left) + unfold(right)

    tokens = reference.tokens_from_pairs(PAIRS)
    assert len(PAIRS) == 36
    assert tokens[274] == unfold(274) == b" conse"
    assert tokens == [unfold(number) for number in range(292)]


def test_seed_003_a_token_unfolds_into_its_parts_natively(native: Any) -> None:
    tok = native.Tokenizer.from_pairs(PAIRS)
    assert tok.vocab_size == 292
    assert tok.decode([274]) == " conse"
    expected = reference.tokens_from_pairs(PAIRS)
    assert [tok.token_bytes(number) for number in range(292)] == expected


@pytest.mark.parametrize("text", LOREM_TEXTS, ids=["first", "second", "space", "newline"])
def test_seed_003_placeholder_text_through_the_table(text: str) -> None:
    ids = lorem_by_definition(text)
    assert reference.decode(ids, reference.tokens_from_pairs(PAIRS)) == text
    assert len(ids) < len(text)
    assert ids.count(274) == text.count(" conse")


@pytest.mark.parametrize("text", LOREM_TEXTS, ids=["first", "second", "space", "newline"])
def test_seed_003_placeholder_text_through_the_table_natively(native: Any, text: str) -> None:
    tok = native.Tokenizer.from_pairs(PAIRS)
    assert tok.encode(text) == lorem_by_definition(text)
    assert tok.decode(tok.encode(text)) == text


def test_seed_003_hugs_until_every_pair_is_unique(learn: Learn) -> None:
    text = "hug pug pun bun hugs"
    learned = learn([text], num_merges=1000, tie_break="first-seen", min_frequency=2)
    assert learned.tokens == ["ug", "hug", "␣p", "un", "un␣"]
    assert learned.split(text) == ["hug", "␣p", "ug", "␣p", "un␣", "b", "un␣", "hug", "s"]


def test_seed_003_the_trained_text_has_the_ids_of_its_tokens(native: Any) -> None:
    text = "hug pug pun bun hugs"
    tok, ids = native.train(
        texts=[text], num_merges=1000, split="none", tie_break="first-seen", return_ids=True
    )
    assert tok.training_report.stopped_early == "min-frequency"
    a, b, c, d, e = range(256, 261)
    assert [tok.token_bytes(number) for number in (a, b, c, d, e)] == [b"ug", b"hug", b" p", b"un", b"un "]
    assert ids.dtype == np.uint16
    assert ids.tolist() == [b, c, a, c, e, ord("b"), e, b, ord("s")] == tok.encode(text)
    assert tok.decode(ids) == text


@pytest.mark.parametrize("text", LOREM_TEXTS, ids=["first", "second", "space", "newline"])
def test_seed_003_placeholder_text_is_trained_on_as_a_whole(native: Any, text: str) -> None:
    tok, ids = native.train(texts=[text], vocab_size=65_536, split="none", return_ids=True)
    symbols = byte_symbols(text)
    merges = reference.train([symbols], num_merges=65_536 - 256)
    assert tok.merges == [(left, right) for left, right, _ in merges]
    ranks = {(left, right): rank for rank, (left, right, _) in enumerate(merges)}
    assert [tok.token_bytes(number) for number in ids] == list(reference.encode(symbols, ranks))
    assert tok.decode(ids) == text


# ---- seed 004: an ordered list of tokens ------------------------------------------------------

ORDERED = ["a", "b", "c", "ab", "cb", "ac", "bb", "cbb", "acbb"]
PREFIXES = {
    "a": "a",
    "ab": "ab",
    "aba": "ab a",
    "abac": "ab ac",
    "abacb": "ab a cb",
    "abacbb": "ab acbb",
}


def ordered_by_definition() -> Callable[[str], list[bytes]]:
    ids = {token.encode(): number for number, token in enumerate(ORDERED)}
    return lambda text: list(reference.encode_by_id(byte_symbols(text), ids))


@pytest.mark.parametrize(("text", "expected"), PREFIXES.items())
def test_seed_004_one_more_character_may_change_every_token(text: str, expected: str) -> None:
    assert b" ".join(ordered_by_definition()(text)) == expected.encode()


@pytest.mark.parametrize(("text", "expected"), PREFIXES.items())
def test_seed_004_one_more_character_may_change_every_token_natively(
    native: Any, text: str, expected: str
) -> None:
    tok = native.Tokenizer.from_tokens([token.encode() for token in ORDERED])
    assert tok.encode(text) == [ORDERED.index(token) for token in expected.split()]
    assert tok.decode(tok.encode(text)) == text


@given(st.text("abc", max_size=24))
def test_seed_004_any_part_of_an_encoding_is_the_encoding_of_its_text(text: str) -> None:
    encode = ordered_by_definition()
    tokens = encode(text)
    for start in range(len(tokens)):
        for end in range(start, len(tokens) + 1):
            assert encode(b"".join(tokens[start:end]).decode()) == tokens[start:end]


@given(text=st.text("abc", max_size=24))
def test_seed_004_ordered_tokens_encode_as_defined_natively(native: Any, text: str) -> None:
    tok = native.Tokenizer.from_tokens([token.encode() for token in ORDERED])
    assert tokens_of(tok, text) == ordered_by_definition()(text)
