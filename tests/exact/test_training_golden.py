"""The golden table of training: small corpora whose merges were recounted by hand.

Each row runs with the executable definition and with the engine. Weighted types are given as
repeated texts; a text is one pretoken. In the rows, `␣` is a space and the number is the count.
"""

from __future__ import annotations

import re

import pytest
from tokenmill import reference
from tokenmill.reference import TieBreak, byte_symbols, char_symbols, pair_counts
from witness import Learn, mark

STRINGS = ["I work", "I work", "I worked", "he works", "he worked"]
EATING = ["he eats", "he eats", "I eat", "you eat"]
TOY = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3
HUGS = ["hug"] * 10 + ["pug"] * 5 + ["pun"] * 12 + ["bun"] * 4 + ["hugs"] * 5


def words(texts: list[str]) -> list[str]:
    return [word for text in texts for word in text.split()]


def rows(table: str) -> list[str]:
    return table.split(", ")


def counted(texts: list[str]) -> dict[str, int]:
    """Every pair with its count, written `ab`."""
    corpus = reference.count_pretokens(texts, byte_symbols)
    return {mark(left + right): count for (left, right), count in pair_counts(corpus).items()}


# ---- 1: five strings about work ---------------------------------------------------------------


def test_row_1a_the_space_before_w_occurs_five_times() -> None:
    assert counted(STRINGS) == {
        "I␣": 3, "␣w": 5, "wo": 5, "or": 5, "rk": 5, "ke": 2, "ed": 2, "he": 2, "e␣": 2, "ks": 1
    }  # fmt: skip


def test_row_1d_counts_of_the_words_alone() -> None:
    assert counted(words(STRINGS)) == {
        "wo": 5, "or": 5, "rk": 5, "ke": 2, "ed": 2, "he": 2, "ks": 1
    }  # fmt: skip


SPACE_FIRST = "␣+w 5, ␣w+o 5, ␣wo+r 5, ␣wor+k 5, I+␣work 3"


@pytest.mark.parametrize(
    ("row", "texts", "tie_break", "expected"),
    [
        ("1b", STRINGS, "lexicographic", f"{SPACE_FIRST}, e+␣work 2, e+d 2, h+e␣work 2"),
        ("1c", STRINGS, "first-seen", f"{SPACE_FIRST}, e+d 2, h+e 2, he+␣work 2"),
        (
            "1e",
            words(STRINGS),
            "lexicographic",
            "o+r 5, or+k 5, w+ork 5, e+d 2, h+e 2, work+ed 2, work+s 1",
        ),
        (
            "1f",
            words(STRINGS),
            "first-seen",
            "w+o 5, wo+r 5, wor+k 5, work+e 2, worke+d 2, h+e 2, work+s 1",
        ),
        (
            "1f",
            words(STRINGS),
            "lexicographic-largest",
            "w+o 5, wo+r 5, wor+k 5, work+e 2, worke+d 2, h+e 2, work+s 1",
        ),
    ],
)
def test_row_1_merges(learn: Learn, row: str, texts: list[str], tie_break: TieBreak, expected: str) -> None:
    want = rows(expected)
    learned = learn(texts, num_merges=len(want), tie_break=tie_break, min_frequency=1)
    assert learned.rows == want, row


# ---- 2: a string that overlaps itself ---------------------------------------------------------


def test_row_2a_overlapping_pairs_count_and_half_of_them_are_replaced() -> None:
    assert counted(["aaabdaaabace"]) == {
        "aa": 4, "ab": 2, "bd": 1, "da": 1, "ba": 1, "ac": 1, "ce": 1
    }  # fmt: skip
    merged = reference.merge(char_symbols("aaabdaaabace"), ("a", "a"))
    assert merged.count("aa") == 2


@pytest.mark.parametrize(
    ("tie_break", "expected"),
    [
        ("lexicographic", "a+a 4, a+b 2, aa+ab 2"),
        ("first-seen", "a+a 4, aa+a 2, aaa+b 2"),
    ],
    ids=["row_2b", "row_2c"],
)
def test_row_2_the_same_ids_from_other_merges(learn: Learn, tie_break: TieBreak, expected: str) -> None:
    learned = learn(["aaabdaaabace"], num_merges=3, alphabet="chars", tie_break=tie_break)
    assert learned.rows == rows(expected)
    assert learned.encode("aaabdaaabace") == [7, 3, 7, 0, 2, 4]


# ---- 3: four words, every pair twice ----------------------------------------------------------


@pytest.mark.parametrize(
    ("tie_break", "expected", "ids"),
    [
        (
            "first-seen",
            "l+o 2, lo+w 2, e+r 2, h+a 2, ha+r 2, har+d 2",
            [[9], [9, 10], [13], [13, 10]],
        ),
        (
            "lexicographic",
            "a+r 2, ar+d 2, e+r 2, h+ard 2, l+o 2, lo+w 2",
            [[13], [13, 10], [11], [11, 10]],
        ),
    ],
    ids=["row_3a", "row_3b"],
)
def test_row_3(learn: Learn, tie_break: TieBreak, expected: str, ids: list[list[int]]) -> None:
    texts = ["low", "lower", "hard", "harder"]
    learned = learn(texts, num_merges=6, alphabet="chars", tie_break=tie_break)
    assert learned.rows == rows(expected)
    assert [learned.encode(text) for text in texts] == ids


# ---- 4: low, lower, newest, widest ------------------------------------------------------------


@pytest.mark.parametrize(
    ("tie_break", "expected"),
    [
        (
            "first-seen",
            "e+s 9, es+t 9, l+o 7, lo+w 7, n+e 6, ne+w 6, new+est 6, w+i 3, wi+d 3, wid+est 3",
        ),
        (
            "lexicographic",
            "e+s 9, es+t 9, l+o 7, lo+w 7, e+w 6, ew+est 6, n+ewest 6, d+est 3, i+dest 3, w+idest 3",
        ),
        (
            "lexicographic-largest",
            "s+t 9, e+st 9, o+w 7, l+ow 7, w+est 6, n+e 6, ne+west 6, w+i 3, wi+d 3, wid+est 3",
        ),
    ],
    ids=["row_4a", "row_4b", "row_4c"],
)
def test_row_4_without_an_end_of_word(learn: Learn, tie_break: TieBreak, expected: str) -> None:
    learned = learn(TOY, num_merges=10, alphabet="chars", tie_break=tie_break)
    assert learned.rows == rows(expected)


def test_row_4d_the_end_of_word_as_a_symbol(learn: Learn) -> None:
    learned = learn(TOY, num_merges=10, alphabet="chars", tie_break="first-seen", end_of_word="</w>")
    assert learned.rows == rows(
        "e+s 9, es+t 9, est+</w> 9, l+o 7, lo+w 7, n+e 6, ne+w 6, new+est</w> 6, low+</w> 5, w+i 3"
    )


def test_row_4e_the_end_of_word_glued_to_the_last_character(learn: Learn) -> None:
    learned = learn(
        TOY,
        num_merges=10,
        alphabet="chars",
        tie_break="first-seen",
        end_of_word="</w>",
        end_of_word_form="suffix",
    )
    assert learned.rows == rows(
        "e+s 9, es+t</w> 9, l+o 7, n+e 6, ne+w 6, new+est</w> 6, lo+w</w> 5, w+i 3, wi+d 3, wid+est</w> 3"
    )


# ---- 5: hugs and puns -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tie_break", "expected"),
    [
        ("first-seen", "u+g 3, h+ug 2, ␣+p 2, u+n 2, un+␣ 2"),
        ("lexicographic", "u+g 3, ␣+p 2, h+ug 2, n+␣ 2, u+n␣ 2"),
        ("lexicographic-largest", "u+g 3, ug+␣ 2, ug␣+p 2, u+n 2, un+␣ 2"),
    ],
    ids=["row_5a", "row_5b_small", "row_5b_large"],
)
def test_row_5_one_sequence_then_nothing_is_left(learn: Learn, tie_break: TieBreak, expected: str) -> None:
    learned = learn(["hug pug pun bun hugs"], num_merges=50, tie_break=tie_break)
    assert learned.rows == rows(expected)


def test_row_5c_weighted_words(learn: Learn) -> None:
    learned = learn(HUGS, num_merges=5, tie_break="first-seen")
    assert learned.rows == rows("u+g 20, u+n 16, h+ug 15, p+un 12, p+ug 5")


# ---- 6: eating --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "tie_break", "expected"),
    [
        (EATING, "first-seen", "␣+e 4, ␣e+a 4, ␣ea+t 4, h+e 2"),
        (EATING, "lexicographic", "␣+e 4, ␣e+a 4, ␣ea+t 4, ␣eat+s 2"),
        (EATING, "lexicographic-largest", "e+a 4, ea+t 4, ␣+eat 4, h+e 2"),
        (words(EATING), "first-seen", "e+a 4, ea+t 4, h+e 2, eat+s 2"),
        (words(EATING), "lexicographic-largest", "e+a 4, ea+t 4, h+e 2, eat+s 2"),
        (words(EATING), "lexicographic", "a+t 4, e+at 4, eat+s 2, h+e 2"),
        (
            [part for text in EATING for part in re.findall(r" ?\w+", text)],
            "first-seen",
            "␣+e 4, ␣e+a 4, ␣ea+t 4, h+e 2",
        ),
    ],
    ids=["6a", "6a_small", "6a_large", "6b_first", "6b_large", "6b_small", "6c"],
)
def test_row_6(learn: Learn, texts: list[str], tie_break: TieBreak, expected: str) -> None:
    assert learn(texts, num_merges=4, tie_break=tie_break).rows == rows(expected)


def test_row_6d_words_that_end_with_a_symbol(learn: Learn) -> None:
    learned = learn(words(EATING), num_merges=4, alphabet="chars", tie_break="first-seen", end_of_word="</w>")
    assert learned.rows == rows("e+a 4, ea+t 4, h+e 2, he+</w> 2")


# ---- 7: the English side of the sentence pairs ------------------------------------------------


@pytest.fixture(scope="module")
def fra_words(fra: str) -> list[str]:
    lines = fra.splitlines()
    english = [line.split("\t")[0].lower() for line in lines]
    found = [word for text in english for word in re.split(r"\s|\.|!|\?", text) if word]
    assert (len(lines), len(found), len(set(found))) == (167_130, 1_028_630, 16_625)
    return found


def test_row_7_seed_002_first_merges_of_the_sentence_pairs(learn: Learn, fra_words: list[str]) -> None:
    learned = learn(fra_words, num_merges=20, alphabet="chars", tie_break="first-seen")
    made = zip(learned.tokens, learned.merges, strict=True)
    assert [f"{token} {count}" for token, (_, _, count) in made] == rows(
        "th 99798, ou 85464, in 64009, to 63885, re 61302, you 58095, the 49852, an 44856, "
        "is 43614, at 42139, on 41809, he 39749, ve 37588, me 32412, ing 29905, ed 26445, "
        "as 26348, ll 25120, it 24372, or 22987"
    )


def test_row_7_none_of_its_twenty_steps_is_a_tie(fra_words: list[str]) -> None:
    corpus = reference.count_pretokens(fra_words, char_symbols)
    for step in reference.trace_training(corpus, num_merges=20):
        assert list(step.counts.values()).count(step.count) == 1


def test_row_7b_with_the_end_of_word_as_a_symbol(learn: Learn, fra_words: list[str]) -> None:
    learned = learn(fra_words, num_merges=20, alphabet="chars", tie_break="first-seen", end_of_word="</w>")
    made = zip(learned.tokens, learned.merges, strict=True)
    assert [f"{token} {count}" for token, (_, _, count) in made] == rows(
        "e</w> 201112, t</w> 127735, th 99798, s</w> 98620, ou 85464, d</w> 73537, in 64009, "
        "to 63885, y</w> 61951, you 58095, er 56561, i</w> 45971, an 44856, you</w> 42917, "
        "on 41809, to</w> 37623, m</w> 33914, the</w> 33299, g</w> 32734, is</w> 31955"
    )


# ---- 8: runs of one letter --------------------------------------------------------------------


def test_row_8_ties_of_ids_between_runs_of_one_letter(learn: Learn) -> None:
    learned = learn(["aa"] * 3 + ["aaaab"] * 5, num_merges=3, tie_break="token-id")
    assert learned.rows == rows("a+a 18, aa+b 5, aa+aab 5")
    assert learned.encode("aaaab") == [258]
