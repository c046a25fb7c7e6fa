"""Tokenizers that are made: from tables, from one another, with each kind of split."""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from tokenmill import errors

TEXTS = ["low lower lowest", " newer wider", "你好 🦊"] * 2
CORPUS_MERGES = 12


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.train(texts=TEXTS, num_merges=CORPUS_MERGES, special_tokens=["<s>", "</s>"])


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


def test_ranks_are_ids_with_or_without_holes(native: Any) -> None:
    dense = native.Tokenizer.from_ranks({b"b": 1, b"a": 0, b"ab": 2})
    assert dense == native.Tokenizer.from_tokens([b"a", b"b", b"ab"])
    holes = native.Tokenizer.from_ranks({b"a": 5, b"b": 7, b"ab": 90})
    assert holes.encode("aab") == [5, 90]
    with pytest.raises(errors.FormatError) as caught:
        native.Tokenizer.from_ranks({b"a": 1, b"b": 1})
    assert caught.value.kind == "duplicate"


def test_a_pretoken_that_is_a_token_is_taken_whole_unless_merging_was_asked_for(native: Any) -> None:
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"abc": 3}
    assert native.Tokenizer.from_ranks(ranks).encode("abc") == [3]
    assert native.Tokenizer.from_ranks(ranks, whole_pretokens=False).encode("abc") == [0, 1, 2]


def test_what_a_split_does_not_match_is_kept_or_dropped(native: Any) -> None:
    ranks = {b"a": 0, b"b": 1, b" ": 2}
    assert native.Tokenizer.from_ranks(ranks, split=r"\w+").encode("a b") == [0, 2, 1]
    dropping = native.Tokenizer.from_ranks(ranks, split=r"\w+", unmatched="drop")
    assert dropping.encode("a b") == [0, 1]
    assert dropping.encode_with_offsets("a b").offsets == [(0, 1), (2, 3)]
    with pytest.raises(ValueError, match="none of"):
        native.Tokenizer.from_ranks(ranks, unmatched="removed")


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


def test_a_split_keeps_the_name_that_was_asked_for_where_two_have_one_pattern(
    native: Any, tmp_path: Path
) -> None:
    bytes_ = [bytes([byte]) for byte in range(256)]
    ranks = {token: rank for rank, token in enumerate(bytes_)}
    file = tmp_path / "own.tiktoken"
    for name in ["llama3", "cl100k"]:
        made = [
            native.train(texts=["low low"], num_merges=1, split=name),
            native.Tokenizer.from_pairs([(97, 98)], split=name),
            native.Tokenizer.from_tokens(bytes_, split=name),
            native.Tokenizer.from_ranks(ranks, split=name),
            native.Tokenizer.from_merges(ranks, [], split=name),
        ]
        made[2].save(file, lossy=True)
        made.append(native.load(file, split=name))
        for tok in made:
            assert tok.split == name
            assert f"split={name!r}".replace("'", '"') in repr(tok)
            assert tok.with_special_tokens(["<s>"]).split == name
            assert tok.with_splitter(None).split == "none"
            again = pickle.loads(pickle.dumps(tok))
            assert (again.split, again) == (name, tok)
        assert made[1].with_vocab_size(256).split == name
        # A file holds the pattern alone, and of the names for it the first is taken.
        made[1].save(tmp_path / "t.json")
        assert native.load(tmp_path / "t.json").split == "cl100k"


def test_a_pattern_is_its_own_name(native: Any) -> None:
    assert native.Tokenizer.from_pairs([], split=r"\w+|\s").split == r"\w+|\s"
    assert native.Tokenizer.from_pairs([], split="llama3") == native.Tokenizer.from_pairs([], split="cl100k")


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


def test_a_list_of_every_way_to_merge_can_be_made_smaller(native: Any, tmp_path: Path) -> None:
    """Published files list parts that are made later, as that of Llama 3.1."""
    vocab = {token: i for i, token in enumerate(["a", "b", "c", "bc", "abc", "ab"])}
    merges = [["b", "c"], ["ab", "c"], ["a", "bc"], ["a", "b"]]
    path = tmp_path / "t.json"
    path.write_text(
        json.dumps({"model": {"type": "BPE", "vocab": vocab, "merges": merges}}), encoding="utf-8"
    )
    small = native.load(path).with_vocab_size(5)
    assert small.vocab == {token: i for token, i in vocab.items() if token != "ab"}
    assert small.merges == [(b"b", b"c"), (b"a", b"bc")]
    assert small.encode("abcab") == [4, 0, 1]


def test_shadowed_special_tokens_are_found_before_anything_is_compiled(native: Any, tmp_path: Path) -> None:
    path = tmp_path / "bytes.tiktoken"
    lines = [base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256)]
    path.write_bytes(b"".join(lines))
    with pytest.raises(native.FormatError, match=r'"a" is 5 as a special token, and 97 as text') as refused:
        native.load(path, split="gpt2", strict=True, special_tokens={"a": 5})
    assert (refused.value.kind, refused.value.field) == ("duplicate", "special_tokens")
    with pytest.raises(native.SpecialTokenError, match="the id 5 is taken"):
        native.load(path, split="gpt2", special_tokens={"a": 5})
