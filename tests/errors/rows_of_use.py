"""Rows: texts, ids and arguments that a tokenizer cannot use."""

from __future__ import annotations

import platform

from tokenmill import errors

from errors.making import (
    NO_ID,
    Run,
    array,
    forcing,
    longer_than,
    rows,
    with_chars,
    with_letters,
    with_tok,
    zeros,
)


def refusing(text: str) -> Run:
    return with_tok(lambda tok, _: tok.encode(text, special="raise"))


def auditing(**options: object) -> Run:
    return with_tok(lambda tok, _: tok.audit(**options))


FOREIGN = "avx2" if platform.machine() in {"aarch64", "arm64"} else "neon"
"""Instructions of other machines."""

TEXTS = [
    *rows(
        errors.SpecialTokenError,
        (
            "a special token is refused",
            with_tok(lambda tok, _: tok.encode("low<s>", special="raise")),
            '"<s>"',
            {"token": "<s>", "position": 3},
        ),
        *(
            (
                f"a special token behind {text[:-3]!r}",
                refusing(text),
                f"character {len(text) - 3}",
                {"token": "<s>", "position": len(text) - 3},
            )
            for text in ("é<s>", "🦊狐<s>", "\ud83e\udd8a<s>", "\ud800<s>")
        ),
        (
            "the end-of-word symbol as a special token",
            lambda native, folder: native.train(
                texts=["low"], num_merges=1, alphabet="chars", end_of_word="</w>"
            ).with_special_tokens(["</w>"]),
            "is the end-of-word symbol",
            {"token": "</w>", "position": None},
        ),
        (
            "a special token in bytes",
            with_tok(lambda tok, _: tok.encode("é<s>".encode(), special="raise")),
            "byte 2",
            {"token": "<s>", "position": 2},
        ),
        (
            "a special token in a batch",
            with_tok(lambda tok, _: tok.encode_batch(["low", "é<s>"], special="raise")),
            "texts[1]",
            {"token": "<s>", "position": 1},
        ),
        (
            "a special token in a count",
            with_tok(lambda tok, _: tok.count("é<s>", special="raise")),
            '"<s>"',
            {"token": "<s>", "position": 1},
        ),
        (
            "a special token in a count of a batch",
            with_tok(lambda tok, _: tok.count_batch(["é<s>"], special="raise")),
            "texts[0]",
            {"token": "<s>", "position": 1},
        ),
        (
            "a special token in offsets",
            with_tok(lambda tok, _: tok.encode_with_offsets("é<s>", special="raise")),
            '"<s>"',
            {"token": "<s>", "position": 1},
        ),
        (
            "an unknown literal is asked for",
            with_tok(lambda tok, _: tok.encode("low", special={"<s>", "<x>"})),
            '"<x>"',
            {"token": "<x>", "position": None},
        ),
        (
            "an unknown literal is asked for, in a batch",
            with_tok(lambda tok, _: tok.encode_batch(["low"], special={"<x>"})),
            'special token "<x>": this tokenizer has no such special token',
            {"token": "<x>", "position": None},
        ),
        (
            "an unknown literal is asked for, in a batch without texts",
            with_tok(lambda tok, _: tok.count_batch([], special={"<x>"})),
            '"<x>"',
            {"token": "<x>", "position": None},
        ),
        (
            "what is protected is no token",
            with_tok(lambda tok, _: tok.encode("low", protected=["<s>", "low"])),
            'special token "low": only added tokens of this tokenizer can be protected',
            {"token": "low", "position": None},
        ),
        (
            "what is protected in a row is no token",
            with_tok(lambda tok, _: tok.encode_batch(["low"], untrusted=[None], protected=[["<x>"]])),
            '"<x>"',
            {"token": "<x>", "position": None},
        ),
        (
            "an empty literal is added",
            with_tok(lambda tok, _: tok.with_special_tokens([""])),
            "empty",
            {"token": "", "position": None},
        ),
        (
            "a literal is added twice",
            with_tok(lambda tok, _: tok.with_special_tokens(["<x>", "<x>"])),
            "twice",
            {"token": "<x>"},
        ),
        (
            "an id is taken",
            with_tok(lambda tok, _: tok.with_special_tokens({"<x>": 5})),
            "5 is taken",
            {"token": "<x>"},
        ),
        (
            "a literal has another id",
            with_tok(lambda tok, _: tok.with_special_tokens({"<s>": 999})),
            "id 0",
            {"token": "<s>"},
        ),
    ),
    *rows(
        errors.UnknownTokenError,
        (
            "an unknown character",
            with_chars(lambda tok, _: tok.encode("low x")),
            '"x"',
            {"char": "x", "position": 4},
        ),
        (
            "an unknown character of four bytes",
            with_chars(lambda tok, _: tok.encode("low 🦊狐")),
            "character 4",
            {"char": "🦊", "position": 4},
        ),
        (
            "an unknown character behind others of several bytes",
            lambda native, _: native.train(texts=["é狐🦊"], num_merges=0, alphabet="chars").encode("é狐🦊x"),
            "character 3",
            {"char": "x", "position": 3},
        ),
        # Made from tables, where no unk_token= could be given.
        (
            "a character without a byte token",
            lambda native, _: native.Tokenizer.from_merges({"a": 0, "b": 1}, []).encode("bac"),
            '"c" (character 2 of the text) and has no unknown token; use one that holds it',
            {"char": "c", "position": 2},
        ),
        (
            "a byte within a character without a token",
            lambda native, _: native.Tokenizer.from_ranks({b"a": 0, b"\xc3": 1}).encode("aé"),
            '"0xA9"',
            {"char": "0xA9", "position": 1},
        ),
        (
            "an unknown character in a batch",
            lambda native, _: native.train(texts=["é"], num_merges=0, alphabet="chars").encode_batch(
                ["é", "éx"]
            ),
            "texts[1]",
            {"char": "x", "position": 1},
        ),
        (
            "the end-of-word symbol as text",
            with_chars(lambda tok, _: tok.encode("lo_w"), end_of_word="_"),
            '"_"',
            {"char": "_", "position": 2},
        ),
        (
            "a character whose bytes have no tokens",
            lambda native, _: native.Tokenizer.from_tokens([b"a"]).encode("aé"),
            '"é"',
            {"char": "é", "position": 1},
        ),
        (
            "an unknown byte that is a character",
            lambda native, _: native.Tokenizer.from_tokens([b"a"]).encode("a\x0b"),
            "spell U+000B (character 1 of the text)",
            {"char": "\x0b", "position": 1},
        ),
        (
            "an unknown character that the model sees as letters of bytes",
            with_letters(lambda tok, _: tok.encode("aé\x0b")),
            "spell U+000B (character 2 of the text)",
            {"char": "\x0b", "position": 2},
        ),
        (
            "an unknown character of several such letters",
            with_letters(lambda tok, _: tok.encode("aa狐")),
            'spell "狐" (character 2 of the text)',
            {"char": "狐", "position": 2},
        ),
        (
            "an unknown byte of bytes",
            lambda native, _: native.Tokenizer.from_tokens([b"\xff"]).encode(b"\xff\xfe"),
            "0xFE",
            {"char": "0xFE", "position": 1},
        ),
    ),
    *rows(
        UnicodeEncodeError,
        (
            "a surrogate is refused",
            with_tok(lambda tok, _: tok.encode("aé\ud800", surrogates="error")),
            "surrogates",
            {"start": 2, "end": 3},
        ),
        (
            "a surrogate in a batch",
            with_tok(lambda tok, _: tok.encode_batch(["a", "b", "aé\ud800"], surrogates="error")),
            "texts[2]",
            {"start": 2, "end": 3},
        ),
        (
            "a surrogate in a batch to count",
            with_tok(lambda tok, _: tok.count_batch(["a", "\ud800"], surrogates="error")),
            "texts[1]",
            {"start": 0, "end": 1},
        ),
    ),
]

IDS = rows(
    errors.VocabularyError,
    (
        "an undefined id",
        with_tok(lambda tok, _: tok.decode([1, 2, 999])),
        "id 999 at position 2",
        {"id": 999, "position": 2},
    ),
    (
        "an id that is protected is no added token",
        with_tok(lambda tok, _: tok.count("low", untrusted=[], protected=[0, 5])),
        "id 5: only added tokens of this tokenizer can be protected",
        {"id": 5, "position": None},
    ),
    (
        "a number that is protected is no id",
        with_tok(lambda tok, _: tok.find_added("low", protected=[-1])),
        "id -1: is not an id",
        {"id": -1, "position": None},
    ),
    (
        "an undefined id far behind",
        with_tok(lambda tok, _: tok.decode([1] * 20_000 + [999])),
        "999",
        {"id": 999, "position": 20_000},
    ),
    (
        "an undefined id in an array",
        with_tok(lambda tok, _: tok.decode_bytes(array([1, 999]))),
        "999",
        {"id": 999, "position": 1},
    ),
    (
        "an undefined id in a batch",
        with_tok(lambda tok, _: tok.decode_batch([[1], [2, 999]])),
        "batch[1]: id 999",
        {"id": 999, "position": 1},
    ),
    (
        "a negative number in a batch",
        with_tok(lambda tok, _: tok.decode_batch([[1], [2, -1]])),
        "batch[1]: id -1 at position 1",
        {"id": -1, "position": 1},
    ),
    (
        "a negative number in an array of a batch",
        with_tok(lambda tok, _: tok.decode_batch([[1], array([2, -1])])),
        "batch[1]: id -1 at position 1",
        {"id": -1, "position": 1},
    ),
    (
        "labels as ids",
        with_tok(lambda tok, _: tok.decode([1, -100])),
        "labels hold -100 where nothing is trained: leave these positions out",
        {"id": -100, "position": 1},
    ),
    (
        "a negative number as an id",
        with_tok(lambda tok, _: tok.decode([1, -1])),
        "-1",
        {"id": -1, "position": 1},
    ),
    (
        "a negative id in an array",
        with_tok(lambda tok, _: tok.decode(array([1, -5]))),
        "-5",
        {"id": -5, "position": 1},
    ),
    (
        "the id 2^32 - 1",
        with_tok(lambda tok, _: tok.decode([NO_ID])),
        str(NO_ID),
        {"id": NO_ID, "position": 0},
    ),
    ("the id 2^32", with_tok(lambda tok, _: tok.decode([2**32])), "4294967296", {"id": 2**32, "position": 0}),
    ("the id 2^64", with_tok(lambda tok, _: tok.decode([2**64])), str(2**64), {"id": 2**64, "position": 0}),
    (
        "the id 10^30",
        with_tok(lambda tok, _: tok.decode([10**30])),
        str(10**30),
        {"id": 10**30, "position": 0},
    ),
    (
        "a hole",
        lambda native, _: native.Tokenizer.from_merges({"a": 0, "b": 5}, []).decode([3]),
        "3",
        {"id": 3},
    ),
    (
        "the bytes of no id",
        with_tok(lambda tok, _: tok.token_bytes(999)),
        "999",
        {"id": 999, "position": None},
    ),
    ("the bytes of a negative id", with_tok(lambda tok, _: tok.token_bytes(-1)), "-1", {"id": -1}),
    ("the token of a negative id", with_tok(lambda tok, _: tok.id_to_token(-1)), "-1", {"id": -1}),
    ("a size below the alphabet", with_tok(lambda tok, _: tok.with_vocab_size(256)), "257", {"id": None}),
    ("a size above all", with_tok(lambda tok, _: tok.with_vocab_size(1000)), "261", {"id": None}),
    ("a negative size", with_tok(lambda tok, _: tok.with_vocab_size(-1)), "-1", {"id": None}),
    (
        "a pair of what is not there yet",
        lambda native, _: native.Tokenizer.from_pairs([(97, 98), (97, 257)]),
        "pair 1",
        {"id": 257, "position": 1},
    ),
    (
        "a pair of a negative id",
        lambda native, _: native.Tokenizer.from_pairs([(97, -1)]),
        "-1",
        {"id": -1, "position": 0},
    ),
    ("the largest id of none", lambda native, _: native.Tokenizer.from_tokens([]).max_id, "no largest", {}),
)

ARGUMENTS = [
    *rows(
        ValueError,
        ("an unknown special=", with_tok(lambda tok, _: tok.encode("a", special="drop")), 'special="drop"'),
        (
            "an unknown surrogates=",
            with_tok(lambda tok, _: tok.encode("a", surrogates="x")),
            'surrogates="x"',
        ),
        (
            "an untrusted range behind the text",
            with_tok(lambda tok, _: tok.encode("low é", untrusted=[(0, 2), (3, 6)])),
            "untrusted[1] is (3, 6), which is not in the text: it has 5 characters",
        ),
        (
            "an untrusted range before the text",
            with_tok(lambda tok, _: tok.encode_to_numpy("low", untrusted=[(-1, 2)])),
            "untrusted[0] is (-1, 2), which is not in the text",
        ),
        (
            "an untrusted range of bytes behind the text",
            with_tok(lambda tok, _: tok.encode_with_offsets("é".encode(), untrusted=[[0, 3]])),
            "untrusted[0] is (0, 3), which is not in the text: it has 2 bytes",
        ),
        (
            "an untrusted range the wrong way round",
            with_tok(lambda tok, _: tok.find_added("low", untrusted=[(2, 1)])),
            "untrusted[0] is (2, 1): it starts after it stops",
        ),
        (
            "an untrusted range of a row",
            with_tok(lambda tok, _: tok.encode_batch(["low", "a"], untrusted=[None, [(0, 1), (0, 2)]])),
            "untrusted[1][1] is (0, 2), which is not in the text: it has 1 characters",
        ),
        (
            "an untrusted range of a row with offsets",
            with_tok(lambda tok, _: tok.encode_batch(["é"], offsets=True, untrusted=[[(0, 2)]])),
            "untrusted[0][0] is (0, 2)",
        ),
        (
            "untrusted ranges for other rows",
            with_tok(lambda tok, _: tok.count_batch(["low", "a"], untrusted=[None])),
            "untrusted has 1 rows for 2 texts",
        ),
        (
            "protected tokens for other rows",
            with_tok(lambda tok, _: tok.encode_batch(["low"], protected=[["<s>"], ["<s>"]])),
            "protected has 2 rows for 1 texts",
        ),
        (
            "three numbers as an untrusted range",
            with_tok(lambda tok, _: tok.encode("low", untrusted=[(0, 1, 2)])),
            "untrusted[0] must be a pair (start, stop), but has 3 items",
        ),
        (
            "an array of three columns as untrusted ranges",
            with_tok(lambda tok, _: tok.encode("low", untrusted=array([[0, 0, 1]]))),
            "untrusted must have the shape (n, 2), but has [1, 3]",
        ),
        (
            "untrusted ranges of words",
            with_tok(
                lambda tok, _: tok.encode_with_offsets(["low"], is_pretokenized=True, untrusted=[(0, 1)])
            ),
            "untrusted marks one text, not a pair or words",
        ),
        ("an unknown undefined=", with_tok(lambda tok, _: tok.decode([1], undefined="x")), 'undefined="x"'),
        ("an unknown errors=", with_tok(lambda tok, _: tok.decode([1], errors="x")), 'errors="x"'),
        ("an unknown format=", with_tok(lambda tok, f: tok.save(f / "t", format="x")), 'format="x"'),
        ("an unknown level", forcing("AVX2"), 'level is "AVX2", which is none of portable, neon'),
        ("a level of other machines", forcing(FOREIGN), f"this machine has no {FOREIGN}, only portable"),
        ("encode on no threads", with_tok(lambda tok, _: tok.encode("a", num_threads=0)), "num_threads=0"),
        (
            "encode on negative threads",
            with_tok(lambda tok, _: tok.encode("a", num_threads=-1)),
            "num_threads=-1",
        ),
        (
            "encode on 2^70 threads",
            with_tok(lambda tok, _: tok.encode("a", num_threads=2**70)),
            "num_threads",
        ),
        ("an audit of no time", auditing(seconds=0), "seconds is 0; it must be a number above 0"),
        ("an audit of negative time", auditing(seconds=-1.5), "seconds is -1.5"),
        ("an audit of no number of seconds", auditing(seconds=float("nan")), "seconds is NaN"),
        ("an audit for ever", auditing(seconds=float("inf")), "seconds is inf"),
        ("an audit of short texts", auditing(max_bytes=100), "max_bytes is 100; it must be from 4096 to"),
        ("an audit of endless texts", auditing(max_bytes=2**40), "max_bytes is 1099511627776"),
        ("an audit of negative texts", auditing(max_bytes=-1), "max_bytes"),
        (
            "a small dtype",
            lambda native, _: longer_than(native, "uint16"),
            "cannot hold the largest id, 70000",
        ),
        ("a dtype for floats", with_tok(lambda tok, _: tok.encode_to_numpy("a", dtype="float32")), "float32"),
        (
            "an out that is too small",
            with_tok(lambda tok, _: tok.encode_to_numpy("xyz", out=zeros(1))),
            "room for 1 ids, 3 are needed",
        ),
        (
            "an out of another dtype",
            with_tok(lambda tok, _: tok.encode_to_numpy("a", dtype="uint32", out=zeros(3, "int64"))),
            "an array of int64, but dtype=uint32",
        ),
        (
            "an out of floats",
            with_tok(lambda tok, _: tok.encode_to_numpy("a", out=zeros(3, "float64"))),
            "float64",
        ),
        (
            "bytes that are not UTF-8 for characters",
            with_chars(lambda tok, _: tok.encode(b"low\xff")),
            "not UTF-8 (byte 3)",
        ),
    ),
    *rows(
        UnicodeDecodeError,
        ("half a character", with_tok(lambda t, _: t.decode([0xC4], errors="strict")), "utf-8"),
        (
            "half a character in a batch",
            with_tok(lambda t, _: t.decode_batch([[], [0xC4]], errors="strict")),
            "(batch[1])",
        ),
    ),
]
