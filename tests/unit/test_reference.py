"""The executable definition itself: what every other test leans on."""

from __future__ import annotations

import doctest
from collections import Counter
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenmill import reference
from tokenmill.reference import (
    BYTES,
    TieBreak,
    alphabet_of,
    apply_merges_in_order,
    byte_symbols,
    byte_to_unicode,
    char_symbols,
    count_pretokens,
    cut_special,
    decode,
    decode_bytes,
    encode,
    encode_by_id,
    format_trace,
    merge,
    merge_corpus,
    pair_counts,
    show,
    token_list,
    tokens_from_pairs,
    trace_training,
    train,
    unicode_to_byte,
    written,
)

TIE_BREAKS: tuple[TieBreak, ...] = get_args(TieBreak)

# Few letters make many ties, and runs of one letter make pairs overlap.
words = st.text("ab", max_size=8) | st.text("abc", max_size=12)
corpora = st.dictionaries(words.filter(len).map(tuple), st.integers(1, 5), min_size=1, max_size=6)
tie_breaks = st.sampled_from(TIE_BREAKS)


def plain(merges: list[tuple[str, str, int]]) -> list[str]:
    return [f"{left}+{right} {count}" for left, right, count in merges]


def test_its_examples_hold() -> None:
    assert doctest.testmod(reference).failed == 0


# ---- symbols ----------------------------------------------------------------------------------


def test_a_text_becomes_its_utf8_bytes() -> None:
    assert byte_symbols("añ") == (b"a", b"\xc3", b"\xb1")
    assert byte_symbols(b"\xff") == (b"\xff",)
    assert byte_symbols("") == ()


def test_a_word_may_end_with_a_symbol_of_its_own_or_with_a_suffix() -> None:
    assert char_symbols("low") == ("l", "o", "w")
    assert char_symbols("low", "</w>") == ("l", "o", "w", "</w>")
    assert char_symbols("low", "</w>", "suffix") == ("l", "o", "w</w>")
    assert char_symbols("", "</w>") == ()


def test_marks_of_the_end_of_a_word_come_last_in_the_alphabet() -> None:
    assert alphabet_of([char_symbols("zé", "</w>")], "</w>") == ["z", "é", "</w>"]
    assert alphabet_of([char_symbols("éz", "_", "suffix")], "_") == ["é", "z_"]
    assert alphabet_of([char_symbols("zé</w>")]) == ["/", "<", ">", "w", "z", "é"]


def test_every_byte_has_a_character_of_its_own() -> None:
    characters = byte_to_unicode()
    assert list(characters) == list(range(256))
    assert len(set(characters.values())) == 256
    assert all(c.isprintable() and not c.isspace() for c in characters.values())
    assert {c: b for b, c in characters.items()} == unicode_to_byte()


def test_printable_bytes_stand_for_themselves_and_the_others_follow_from_256() -> None:
    characters = byte_to_unicode()
    moved = {byte: char for byte, char in characters.items() if char != chr(byte)}
    assert len(moved) == 68
    assert [ord(char) for char in moved.values()] == list(range(256, 324))
    assert (characters[0x20], characters[0x0A], characters[0xAD]) == ("Ġ", "Ċ", "Ń")
    assert written(" é".encode()) == "ĠÃ©"


# ---- corpus -----------------------------------------------------------------------------------


def test_special_tokens_are_cut_leftmost_and_longest() -> None:
    assert cut_special("x<a><a>>y", ["<a>", "<a>>"]) == [
        ("x", False),
        ("<a>", True),
        ("<a>>", True),
        ("y", False),
    ]
    assert cut_special("a|b", []) == [("a|b", False)]
    assert cut_special("", ["<a>"]) == []


def test_special_tokens_are_neither_counted_nor_merged_across() -> None:
    corpus = count_pretokens(["ab<s>ab", "<s>"], byte_symbols, special_tokens=["<s>"])
    assert corpus == {(b"a", b"b"): 2}


def test_pretokens_are_cut_by_the_given_split_and_never_cross_documents() -> None:
    corpus = count_pretokens(["a b", "a"], char_symbols, split=str.split)
    assert list(corpus.items()) == [(("a",), 2), (("b",), 1)]


# ---- counting and merging ---------------------------------------------------------------------


def test_overlapping_occurrences_count() -> None:
    assert pair_counts({tuple("aaa"): 1}) == {("a", "a"): 2}
    assert pair_counts({tuple("aaaa"): 10}) == {("a", "a"): 30}


def test_pairs_are_listed_in_the_order_of_first_occurrence() -> None:
    assert list(pair_counts({tuple("ba"): 1, tuple("aba"): 9})) == [("b", "a"), ("a", "b")]


def test_a_merge_goes_from_left_to_right_without_overlap() -> None:
    assert merge(tuple("aaa"), ("a", "a")) == ("aa", "a")
    assert merge(tuple("aaaa"), ("a", "a")) == ("aa", "aa")
    assert merge(tuple("abab"), ("a", "b")) == ("ab", "ab")
    assert merge(("a",), ("a", "a")) == ("a",)
    assert merge((), ("a", "a")) == ()


@given(corpora, st.sampled_from("abc"), st.sampled_from("abc"))
def test_seed_000_theorem_a_merge_shortens_the_corpus_by_the_occurrences_replaced(
    corpus: dict[tuple[str, ...], int], left: str, right: str
) -> None:
    after = merge_corpus(corpus, (left, right))

    def length(sequences: dict[tuple[str, ...], int] | Counter[tuple[str, ...]]) -> int:
        return sum(len(symbols) * weight for symbols, weight in sequences.items())

    replaced = sum(symbols.count(left + right) * weight for symbols, weight in after.items())
    assert length(corpus) - length(after) == replaced
    overlapping = pair_counts(corpus).get((left, right), 0)
    assert replaced == overlapping if left != right else replaced <= overlapping


def neighbours_changed(
    before: tuple[str, ...], pair: tuple[str, str], weight: int, counts: Counter[tuple[str, str]]
) -> tuple[str, ...]:
    """Merge one sequence and tell `counts` only what changed around each occurrence."""
    made = pair[0] + pair[1]
    done: list[str] = []
    rest = list(before)
    while rest:
        if tuple(rest[:2]) != pair:
            done.append(rest.pop(0))
            continue
        counts[pair] -= weight
        del rest[:2]
        if done:
            counts[done[-1], pair[0]] -= weight
            counts[done[-1], made] += weight
        if rest:
            counts[pair[1], rest[0]] -= weight
            counts[made, rest[0]] += weight
        done.append(made)
    return tuple(done)


@given(corpora, tie_breaks)
def test_seed_000_invariant_tracked_pair_counts_equal_a_recount_after_every_merge(
    corpus: dict[tuple[str, ...], int], tie_break: TieBreak
) -> None:
    tracked = Counter(pair_counts(corpus))
    for step in trace_training(corpus, num_merges=20, tie_break=tie_break, min_frequency=1):
        for symbols, weight in step.before.items():
            neighbours_changed(symbols, step.winner, weight, tracked)
        assert {pair: n for pair, n in tracked.items() if n} == pair_counts(step.after)


# ---- training ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tie_break", "first"),
    [
        ("lexicographic", "a+d 2"),
        ("lexicographic-largest", "c+b 2"),
        ("first-seen", "c+b 2"),
        ("token-id", "a+d 2"),
        ("huggingface", "a+d 2"),
    ],
)
def test_ties_between_letters(tie_break: TieBreak, first: str) -> None:
    corpus = {tuple("cb"): 2, tuple("ad"): 2}
    assert plain(train(corpus, num_merges=1, tie_break=tie_break)) == [first]


def test_ties_compare_the_left_symbol_first_and_a_prefix_before_what_it_begins() -> None:
    corpus = {("aa", "b"): 2, ("a", "c"): 2, ("a", "bb"): 2}
    assert plain(train(corpus, num_merges=3)) == ["a+bb 2", "a+c 2", "aa+b 2"]


def test_first_seen_means_first_in_the_corpus_as_it_now_stands() -> None:
    corpus = {tuple("aaabdaaabace"): 1}
    learned = train(corpus, num_merges=3, tie_break="first-seen")
    assert plain(learned) == ["a+a 4", "aa+a 2", "aaa+b 2"]


def test_ties_of_ids_prefer_what_was_there_earlier() -> None:
    corpus = {byte_symbols("aa"): 3, byte_symbols("aaaab"): 5}
    by_id = train(corpus, num_merges=2, tie_break="token-id")
    by_bytes = train(corpus, num_merges=2, tie_break="lexicographic")
    assert by_id[1] == (b"aa", b"b", 5)
    assert by_bytes[1] == (b"aa", b"aa", 5)


def test_huggingface_numbers_the_space_behind_the_letters() -> None:
    corpus = {byte_symbols(" a"): 2, byte_symbols("zb"): 2}
    assert train(corpus, num_merges=1, tie_break="token-id") == [(b" ", b"a", 2)]
    assert train(corpus, num_merges=1, tie_break="huggingface") == [(b"z", b"b", 2)]


def test_characters_compare_as_their_utf8_bytes() -> None:
    corpus = {("\uffff", "a"): 2, ("\U00010000", "a"): 2}
    assert train(corpus, num_merges=1)[0][0] == "\uffff"


def test_an_unknown_tie_break_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown tie_break 'random'"):
        train({tuple("aa"): 2}, num_merges=1, tie_break="random")  # type: ignore[arg-type]


def test_a_count_equal_to_min_frequency_still_merges() -> None:
    corpus = {tuple("ab"): 3, tuple("cd"): 2}
    assert plain(train(corpus, num_merges=9, min_frequency=3)) == ["a+b 3"]
    assert plain(train(corpus, num_merges=9)) == ["a+b 3", "c+d 2"]


def test_max_token_length_is_inclusive() -> None:
    corpus = {tuple("abcd"): 2}
    assert plain(train(corpus, num_merges=9, max_token_length=2)) == ["a+b 2", "c+d 2"]
    assert plain(train(corpus, num_merges=9, max_token_length=3)) == ["a+b 2", "ab+c 2"]
    assert train(corpus, num_merges=9, max_token_length=1) == []


def test_the_end_of_a_word_adds_nothing_to_the_length_of_a_token() -> None:
    for form, merges in (("separate", ["a+b 2", "ab+</w> 2"]), ("suffix", ["a+b</w> 2"])):
        corpus = {char_symbols("ab", "</w>", form): 2}  # type: ignore[arg-type]
        learned = train(corpus, num_merges=9, max_token_length=2, end_of_word="</w>")
        assert plain(learned) == merges


def test_no_merge_spells_the_end_of_a_word_inside_a_word() -> None:
    corpus = {char_symbols("x</w>y", "</w>"): 2}
    learned = train(corpus, num_merges=99, end_of_word="</w>")
    made = [left + right for left, right, _ in learned]
    assert made == ["/w", "/w>", "/w>y", "/w>y</w>", "x<"]


def test_training_on_nothing_learns_nothing() -> None:
    assert train({tuple("a"): 9}, num_merges=3) == []
    assert train(list[tuple[str, ...]](), num_merges=3) == []


def test_pretokens_may_come_one_by_one_or_counted() -> None:
    one_by_one = [tuple("ab"), tuple("bc"), tuple("bc")]
    assert train(one_by_one, num_merges=2) == train(Counter(one_by_one), num_merges=2)


@given(corpora, tie_breaks)
def test_no_merge_is_more_frequent_than_the_one_before_and_none_spells_a_token_twice(
    corpus: dict[tuple[str, ...], int], tie_break: TieBreak
) -> None:
    merges = train(corpus, num_merges=20, tie_break=tie_break)
    counts = [count for _, _, count in merges]
    assert counts == sorted(counts, reverse=True)
    made = [left + right for left, right, _ in merges]
    assert len(set(made)) == len(made)


@given(corpora, tie_breaks, st.integers(0, 10))
def test_fewer_merges_are_the_beginning_of_more(
    corpus: dict[tuple[str, ...], int], tie_break: TieBreak, size: int
) -> None:
    merges = train(corpus, num_merges=20, tie_break=tie_break)
    assert train(corpus, num_merges=size, tie_break=tie_break) == merges[:size]


@given(corpora, st.sampled_from([t for t in TIE_BREAKS if t != "first-seen"]), st.randoms())
def test_the_order_of_the_corpus_does_not_matter(
    corpus: dict[tuple[str, ...], int], tie_break: TieBreak, random: object
) -> None:
    shuffled = list(corpus.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    merges = train(corpus, num_merges=20, tie_break=tie_break)
    assert train(dict(shuffled), num_merges=20, tie_break=tie_break) == merges


# ---- encoding ---------------------------------------------------------------------------------


def test_the_lowest_rank_goes_first_and_of_equal_ranks_the_leftmost() -> None:
    ranks = {("b", "c"): 0, ("a", "b"): 1, ("a", "a"): 2}
    assert encode(tuple("abcab"), ranks) == ("a", "bc", "ab")
    assert encode(tuple("aaa"), ranks) == ("aa", "a")
    assert encode((), ranks) == ()


def test_a_bare_vocabulary_merges_any_two_that_spell_a_token() -> None:
    ids = {token: number for number, token in enumerate(["a", "b", "c", "bc", "ab", "abc"])}
    assert encode_by_id(tuple("abcab"), ids) == ("abc", "ab")


@given(corpora, tie_breaks, words)
def test_seed_001_merges_applied_in_order_equal_lowest_rank_leftmost(
    corpus: dict[tuple[str, ...], int], tie_break: TieBreak, text: str
) -> None:
    learned = train(corpus, num_merges=20, tie_break=tie_break, min_frequency=1)
    merges = [(left, right) for left, right, _ in learned]
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    for pretoken in (tuple(text), *corpus):
        assert encode(pretoken, ranks) == apply_merges_in_order(pretoken, merges)


@given(corpora, tie_breaks, words)
def test_a_trained_vocabulary_alone_encodes_as_its_merges_do(
    corpus: dict[tuple[str, ...], int], tie_break: TieBreak, text: str
) -> None:
    learned = train(corpus, num_merges=20, tie_break=tie_break)
    ranks = {(left, right): rank for rank, (left, right, _) in enumerate(learned)}
    ids = {left + right: rank for rank, (left, right, _) in enumerate(learned)}
    assert encode(tuple(text), ranks) == encode_by_id(tuple(text), ids)


@given(corpora, tie_breaks)
def test_encoding_the_corpus_gives_the_corpus_as_training_left_it(
    corpus: dict[tuple[str, ...], int], tie_break: TieBreak
) -> None:
    steps = list(trace_training(corpus, num_merges=20, tie_break=tie_break))
    ranks = {step.winner: rank for rank, step in enumerate(steps)}
    encoded = [encode(pretoken, ranks) for pretoken in corpus]
    assert encoded == list(steps[-1].after if steps else corpus)


@given(st.lists(st.text(max_size=20), max_size=4), st.text(max_size=20))
def test_bytes_encode_and_decode_any_text(texts: list[str], text: str) -> None:
    merges = [m[:2] for m in train(map(byte_symbols, texts), num_merges=20)]
    tokens = token_list(BYTES, merges)
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    ids = [tokens.index(symbol) for symbol in encode(byte_symbols(text), ranks)]
    assert decode(ids, tokens) == text
    assert decode_bytes(ids, tokens) == text.encode()


def test_ids_are_special_tokens_then_alphabet_then_merges() -> None:
    merges = [("a", "b")]
    assert token_list("ab", merges, special_tokens=["<s>"]) == [b"<s>", b"a", b"b", b"ab"]
    assert token_list("ab", merges, special_tokens=["<s>"], special_ids="last")[-1] == b"<s>"
    with_unknown = token_list("ab", merges, special_tokens=["<s>"], unk_token="<unk>")
    assert with_unknown[:3] == [b"<s>", b"<unk>", b"a"]
    assert token_list("ab", merges, special_tokens=["<s>"], unk_token="<s>")[:2] == [b"<s>", b"a"]


def test_a_token_may_end_inside_a_character() -> None:
    tokens = tokens_from_pairs([(0xC3, 0xB1)])
    assert tokens[256] == "ñ".encode()
    assert decode([0xC3, 0xB1, 256], tokens) == "ññ"
    assert decode([0xC3], tokens) == "\ufffd"


def test_the_end_of_a_word_decodes_to_nothing() -> None:
    merges = [("o", "w"), ("ow", "</w>")]
    tokens = token_list(["l", "o", "w", "</w>"], merges, end_of_word="</w>")
    assert tokens == [b"l", b"o", b"w", b"", b"ow", b"ow"]
    assert decode([0, 5, 3, 0, 4, 3], tokens) == "lowlow"


# ---- trace ------------------------------------------------------------------------------------


def test_each_step_holds_its_counts_its_winner_and_what_came_of_it() -> None:
    steps = list(trace_training([tuple("aaa"), tuple("ab")], num_merges=5, min_frequency=1))
    assert [(step.winner, step.count) for step in steps] == [
        (("a", "a"), 2),
        (("a", "b"), 1),
        (("aa", "a"), 1),
    ]
    first = steps[0]
    assert first.counts == {("a", "a"): 2, ("a", "b"): 1}
    assert first.before == {("a", "a", "a"): 1, ("a", "b"): 1}
    assert first.after == {("aa", "a"): 1, ("a", "b"): 1}
    assert first.vocabulary == ("a", "b", "aa")
    assert steps[2].vocabulary == ("a", "b", "aa", "ab", "aaa")


@given(corpora)
def test_counts_of_a_step_are_those_of_the_corpus_before_it(
    corpus: dict[tuple[str, ...], int],
) -> None:
    steps = list(trace_training(corpus, num_merges=20))
    for step, following in pairwise(steps):
        assert step.after == following.before
    for step in steps:
        assert step.counts == pair_counts(step.before)
        assert step.count == max(step.counts.values()) == step.counts[step.winner]


def test_a_trace_reads_as_it_would_on_paper() -> None:
    steps = trace_training(count_pretokens(["ab ab", "ac"], byte_symbols), num_merges=2, alphabet=BYTES)
    assert format_trace(steps) == (
        "start\n"
        "       1 x a b ␣ a b\n"
        "       1 x a c\n"
        "\n"
        "step 1: a + b, count 2\n"
        "       2  a b *\n"
        "       1  ␣ a\n"
        "       1  a c\n"
        "       1  b ␣\n"
        "  becomes\n"
        "       1 x ab ␣ ab\n"
        "       1 x a c\n"
        "  vocabulary: 256 symbols and ab\n"
    )
    assert format_trace(trace_training([tuple("ab")], num_merges=2)) == "no pair to merge\n"


def test_symbols_are_shown_so_that_they_can_be_told_apart() -> None:
    assert show(" w\n") == "␣w\\n"
    assert show("ñ".encode()) == "ñ"
    assert show(b"\xc3") == "\\xc3"


def test_texts_may_be_counted_and_plain_strings_are_no_pretokens() -> None:
    counted = count_pretokens({"low lower": 2, "low": 1}, byte_symbols, split=str.split)
    assert counted == {byte_symbols("low"): 3, byte_symbols("lower"): 2}
    for pretokens in (["low", "low"], {"low": 2}, [b"low"]):
        with pytest.raises(TypeError, match="a tuple of symbols"):
            train(pretokens, num_merges=2)  # type: ignore[arg-type]
