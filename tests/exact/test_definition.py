"""Law 2: the engine equals the executable definition, for every way to train that it has."""

from __future__ import annotations

from functools import partial
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st
from tokenmill import reference
from tokenmill.reference import BYTES, TieBreak, byte_symbols, char_symbols

# Few letters make many ties; the last alphabet can spell the end-of-word mark.
texts = st.sampled_from(["ab", "abc", "a é", "zñ世", "<w/>a"]).flatmap(
    lambda letters: st.lists(st.text(letters, min_size=1, max_size=12), min_size=1, max_size=6)
)
rules = st.fixed_dictionaries(
    {
        "num_merges": st.integers(0, 20),
        "tie_break": st.sampled_from(get_args(TieBreak)),
        "min_frequency": st.integers(1, 3),
        "max_token_length": st.none() | st.integers(1, 6),
    }
)
literals = st.sampled_from([[], ["aa"], ["<s>", "ab", "abc"]])
special_ids = st.sampled_from(["first", "last"])


def engine_merges(tok: Any) -> list[tuple[bytes, bytes, int]]:
    return [(left, right, count) for left, right, count in tok.training_report.merges]


def engine_tokens(tok: Any) -> list[bytes]:
    return [tok.token_bytes(number) for number in range(tok.vocab_size)]


@given(texts=texts, rules=rules, special=literals, place=special_ids)
def test_training_on_bytes(
    native: Any, texts: list[str], rules: dict[str, Any], special: list[str], place: Any
) -> None:
    tok = native.train(texts=texts, split="none", special_tokens=special, special_ids=place, **rules)
    corpus = reference.count_pretokens(texts, byte_symbols, special_tokens=special)
    expected = reference.train(corpus, alphabet=BYTES, **rules)
    assert engine_merges(tok) == expected
    merges = [(left, right) for left, right, _ in expected]
    assert engine_tokens(tok) == reference.token_list(
        BYTES, merges, special_tokens=special, special_ids=place
    )


@given(
    texts=texts,
    rules=rules,
    end_of_word=st.sampled_from([None, "</w>", "_"]),
    form=st.sampled_from(["separate", "suffix"]),
)
def test_training_on_characters_and_encoding_what_was_read(
    native: Any, texts: list[str], rules: dict[str, Any], end_of_word: str | None, form: Any
) -> None:
    tok = native.train(
        texts=texts,
        split="none",
        alphabet="chars",
        end_of_word=end_of_word,
        end_of_word_form=form,
        **rules,
    )
    to_symbols = partial(char_symbols, end_of_word=end_of_word, end_of_word_form=form)
    corpus = reference.count_pretokens(texts, to_symbols)
    expected = reference.train(corpus, end_of_word=end_of_word, **rules)
    assert engine_merges(tok) == [(left.encode(), right.encode(), count) for left, right, count in expected]

    merges = [(left, right) for left, right, _ in expected]
    symbols = reference.alphabet_of(corpus, end_of_word)
    tokens = reference.token_list(symbols, merges, end_of_word=end_of_word)
    assert engine_tokens(tok) == tokens

    ids = {symbol: number for number, symbol in enumerate([*symbols, *map("".join, merges)])}
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    for text in texts:
        encoded = [ids[symbol] for symbol in reference.encode(to_symbols(text), ranks)]
        assert tok.encode(text) == encoded
        assert tok.decode(encoded) == reference.decode(encoded, tokens) == text


@given(texts=texts, rules=rules, text=st.text("ab cé世", max_size=24))
def test_encoding_any_text_over_bytes(
    native: Any, texts: list[str], rules: dict[str, Any], text: str
) -> None:
    tok = native.train(texts=texts, split="none", **rules)
    ranks = {pair: rank for rank, pair in enumerate(tok.merges)}
    tokens = [tok.token_bytes(number) for number in tok.encode(text)]
    assert tokens == list(reference.encode(byte_symbols(text), ranks))
