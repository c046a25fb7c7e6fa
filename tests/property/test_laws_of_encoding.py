"""Laws 1 and 2: what is encoded comes back, and is what the definition says.

On random tokenizers, texts and files; 100 examples of each, or 2,000 with TOKENMILL_SLOW=1.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tokenmill import errors, reference

from property.strategies import (
    Recipe,
    any_text,
    attempt,
    byte_complete,
    byte_strings,
    cut,
    merge_tables,
    pair_lists,
    recipes,
    texts,
    token_lists,
    trained,
    whole,
    with_surrogates,
    words,
)

SIMPLE = ("none", "whitespace")


# ---- law 1: round trip ------------------------------------------------------------------------


@given(recipe=byte_complete(), text=any_text)
def test_law_1_text_comes_back(native: Any, recipe: Recipe, text: str) -> None:
    tok = recipe.make(native)
    for special in ("text", "parse"):
        assert tok.decode(tok.encode(text, special=special)) == text


@given(recipe=byte_complete(), data=byte_strings)
def test_law_1_bytes_come_back(native: Any, recipe: Recipe, data: bytes) -> None:
    tok = recipe.make(native)
    for special in ("text", "parse"):
        assert tok.decode_bytes(tok.encode(data, special=special)) == data


@given(text=any_text, data=byte_strings)
def test_law_1_holds_for_published_vocabularies(published: Any, text: str, data: bytes) -> None:
    assert published.decode(published.encode(text)) == text
    assert published.decode(published.encode(text, special="parse")) == text
    assert published.decode_bytes(published.encode(data)) == data


@given(recipe=byte_complete(), text=with_surrogates)
def test_law_1_surrogates_come_back_as_what_they_mean(native: Any, recipe: Recipe, text: str) -> None:
    tok = recipe.make(native)
    assert tok.decode(tok.encode(text)) == whole(text)
    assert tok.encode(text) == tok.encode(whole(text))


@given(recipe=recipes(), text=any_text)
@example(Recipe("train", {"texts": ["ab"], "num_merges": 1, "alphabet": "chars", "end_of_word": "_"}), "a_b")
@example(
    Recipe("train", {"texts": ["ab"], "num_merges": 1, "alphabet": "chars", "end_of_word": "</w>"}), "ab</w>"
)
def test_law_1_what_a_vocabulary_can_spell_comes_back(native: Any, recipe: Recipe, text: str) -> None:
    """Also with an end-of-word symbol, which decodes to nothing, and with holes in the alphabet."""
    tok = recipe.make(native)
    assume(tok.unk_token_id is None)
    ids, error = attempt(errors.UnknownTokenError, lambda: tok.encode(text))
    if error is None:
        assert tok.decode(ids) == text
    else:
        assert error.char in text or error.char.startswith("0x")


# ---- law 2: the definition --------------------------------------------------------------------


def by_definition(recipe: Recipe, tok: Any, text: str) -> list[int] | None:
    """The ids that the executable definition gives; None where it cannot spell the text."""
    arguments = recipe.arguments
    literals = dict(tok.special_tokens)
    ids: list[int] = []
    for part, is_special in reference.cut_special(text, literals):
        if is_special:
            ids.append(literals[part])
            continue
        for pretoken in cut(part, arguments["split"]):
            found = symbols_of(recipe, tok, pretoken)
            if found is None:
                return None
            ids += found
    return ids


def symbols_of(recipe: Recipe, tok: Any, pretoken: str) -> list[int] | None:
    arguments = recipe.arguments
    if recipe.how == "train":
        return by_training(arguments, pretoken)
    if recipe.how == "from_tokens":
        numbers = {token: number for number, token in enumerate(arguments["tokens"])}
        merged = reference.encode_by_id(reference.byte_symbols(pretoken), numbers)
    elif recipe.how == "from_pairs":
        tokens = reference.tokens_from_pairs(arguments["pairs"])
        numbers = {token: number for number, token in enumerate(tokens)}
        spelled = [(tokens[left], tokens[right]) for left, right in arguments["pairs"]]
        ranks = {pair: rank for rank, pair in enumerate(spelled)}
        merged = reference.encode(reference.byte_symbols(pretoken), ranks)
    else:
        numbers = arguments["vocab"]
        ranks = {pair: rank for rank, pair in enumerate(arguments["merges"])}
        merged = reference.encode(reference.byte_symbols(pretoken), ranks)
    known = all(symbol in numbers for symbol in reference.byte_symbols(pretoken))
    return [numbers[symbol] for symbol in merged] if known else None


def by_training(arguments: dict[str, Any], pretoken: str) -> list[int] | None:
    """Train and encode with the definition alone."""
    is_bytes = arguments["alphabet"] == "bytes"
    mark = arguments.get("end_of_word")
    to_symbols: Any = reference.byte_symbols
    if not is_bytes:
        form = arguments.get("end_of_word_form", "separate")
        to_symbols = partial(reference.char_symbols, end_of_word=mark, end_of_word_form=form)
    unk = arguments.get("unk_token")
    literals = [*arguments["special_tokens"], *([unk] if unk is not None else [])]
    corpus = reference.count_pretokens(
        arguments["texts"],
        to_symbols,
        split=partial(cut, split=arguments["split"]),
        special_tokens=literals,
    )
    alphabet: list[Any] = list(reference.BYTES) if is_bytes else reference.alphabet_of(corpus, mark)
    if not is_bytes and mark and arguments.get("end_of_word_form") == "separate" and mark not in alphabet:
        alphabet.append(mark)
    options = {key: arguments[key] for key in ("num_merges", "tie_break", "min_frequency")}
    longest = arguments["max_token_length"]
    merges = reference.train(corpus, alphabet=alphabet, max_token_length=longest, end_of_word=mark, **options)
    pairs = [(left, right) for left, right, _ in merges]
    ids: dict[Any, int] = {}
    first = len(dict.fromkeys(literals)) if arguments["special_ids"] == "first" else 0
    for number, symbol in enumerate([*alphabet, *(left + right for left, right in pairs)], first):
        ids.setdefault(symbol, number)
    start = to_symbols(pretoken)
    if any(symbol not in alphabet for symbol in start):
        return None
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    return [ids[symbol] for symbol in reference.encode(start, ranks)]


@given(recipe=trained(SIMPLE), text=any_text)
def test_law_2_training_and_encoding_are_the_definitions(native: Any, recipe: Recipe, text: str) -> None:
    check_law_2(native, recipe, text)


@given(
    recipe=token_lists(SIMPLE) | pair_lists(SIMPLE) | merge_tables(SIMPLE),
    text=words | st.text("abc", max_size=24) | any_text,
)
def test_law_2_encoding_is_the_definitions(native: Any, recipe: Recipe, text: str) -> None:
    check_law_2(native, recipe, text)


def check_law_2(native: Any, recipe: Recipe, text: str) -> None:
    tok = recipe.make(native)
    assume(tok.unk_token_id is None)
    expected = by_definition(recipe, tok, text)
    if expected is None:
        with pytest.raises(errors.UnknownTokenError):
            tok.encode(text, special="parse")
    else:
        assert tok.encode(text, special="parse") == expected


@given(text=texts | words)
def test_law_2_holds_for_a_published_vocabulary(uncut: Any, text: str) -> None:
    tok, ids = uncut
    merged = reference.encode_by_id(reference.byte_symbols(text), ids)
    assert tok.encode(text) == [ids[symbol] for symbol in merged]
