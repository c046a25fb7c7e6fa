"""Rows: what `compare_vocab_sizes` cannot use."""

from __future__ import annotations

from typing import Any

from tokenmill import errors

from errors.making import Row, Run, rows, with_tok

NO_PLACE: dict[str, object] = {"path": None, "byte": None}
NO_ID: dict[str, object] = {"id": None, "position": None}


def compare(texts: Any = "low", sizes: Any = (258,), **options: Any) -> Run:
    """Compare sizes of a tokenizer that has from 257 to 261 ids."""
    return with_tok(lambda tok, _: _native().compare_vocab_sizes(tok, texts, sizes, **options))


def _native() -> Any:
    import tokenmill

    return tokenmill


def without_merges(**options: Any) -> Run:
    """Compare sizes of a tokenizer of another model."""

    def run(native: Any, _: object) -> object:
        tok = native.train(texts=["low lower lowest"] * 2, **options)
        return native.compare_vocab_sizes(tok, "low", [20])

    return run


VOCAB_SIZES: list[Row] = [
    *rows(
        errors.TrainingError,
        ("no sizes", compare(sizes=[]), "sizes is empty: give at least one", NO_PLACE),
        ("no texts to compare", compare({}), "texts is empty: give texts by name", NO_PLACE),
        ("a list of no texts to compare", compare([]), "texts has no text to measure: give a text", NO_PLACE),
        ("a name without text", compare({"en": "low", "de": [""]}), "texts['de'] has no text", NO_PLACE),
        (
            "no tokenizer to compare",
            lambda native, _: native.compare_vocab_sizes(None, "low", [300]),
            "there is no tokenizer: pass one, or a function that trains one of a size as train=",
            NO_PLACE,
        ),
        (
            "sizes of Unigram",
            without_merges(model="unigram", vocab_size=20),
            "cannot be cut to another size: only byte-pair encoding has merges; pass a function",
            NO_PLACE,
        ),
        (
            "sizes of WordPiece",
            without_merges(model="wordpiece", unk_token="[UNK]", num_merges=3),
            "pass a function that trains a tokenizer of a size as train=",
            NO_PLACE,
        ),
    ),
    *rows(
        errors.VocabularyError,
        (
            "one of the sizes below the alphabet",
            compare(sizes=[258, 256]),
            "sizes[1]: vocab_size=256 is not between 257 (no merges) and 261 (all of them); leave it out",
            NO_ID,
        ),
        (
            "one of the sizes above all",
            compare(sizes=[258, 262, 261]),
            "sizes[1]: vocab_size=262 is not between 257 (no merges) and 261",
            NO_ID,
        ),
        ("a size of nothing", compare(sizes=[258, 0]), "sizes[1] is 0; a vocabulary has at least", NO_ID),
        ("a size below nothing", compare(sizes=[-258]), "sizes[0] is -258", NO_ID),
        ("a size beyond numbers", compare(sizes=[2**70]), "sizes[0]: vocab_size=1180591620717411", NO_ID),
    ),
    *rows(
        TypeError,
        (
            "one size",
            compare(sizes=258),
            "sizes must be an iterable of integers, not int; for one size write",
        ),
        ("text as sizes", compare(sizes="258"), "sizes must be an iterable of integers, not str"),
        ("text among the sizes", compare(sizes=[258, "259"]), "sizes[1] must be an integer, not str"),
        ("half a size", compare(sizes=[258.5]), "sizes[0] must be an integer, not float"),
        ("a truth as a size", compare(sizes=[True]), "sizes[0] must be an integer, not bool"),
        ("bytes to compare", compare(b"low"), "texts must be a str or an iterable of str, not bytes"),
        (
            "a number to compare",
            compare({"en": 5}),
            "texts['en'] must be a str or an iterable of str, not int",
        ),
        ("a number among texts to compare", compare({"en": ["a", 5]}), "texts['en'][1] must be str, not int"),
        ("a number as a name of texts", compare({5: "low"}), "each key of texts must be str, not int"),
        (
            "a path as a tokenizer to compare",
            lambda native, _: native.compare_vocab_sizes("tok.json", "low", [300]),
            "tokenizer must be a Tokenizer or None, not str",
        ),
        (
            "a tokenizer as train=",
            with_tok(lambda tok, _: _native().compare_vocab_sizes(None, "low", [300], train=[tok])),
            "train must be a function from a size to a Tokenizer, not list",
        ),
        (
            "nothing trained",
            compare(train=lambda size: None),
            "train(258) must return a Tokenizer, not NoneTy",
        ),
        (
            "a word as progress",
            compare(progress="yes"),
            "progress must be a bool, None or a callable, not str",
        ),
    ),
    *rows(
        ValueError,
        (
            "an unknown measure",
            with_tok(lambda tok, _: _native().compare_vocab_sizes(tok, "low", [258]).table("words")),
            "measure='words' is none of bytes_per_token, fertility, tokens_per_character, tokens",
        ),
    ),
]
