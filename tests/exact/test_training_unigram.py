"""Training Unigram: each dialect in its own library, SentencePiece's rules by name, options and mistakes.

The parts of the trainer are held to brute force and to a naive twin in Rust (`train/unigram/tests.rs`).
"""

from __future__ import annotations

import io
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill.errors import FormatError, TrainingError

RULES = ["nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf", "identity"]


def train(texts: Any, size: int, **options: Any) -> Any:
    return tokenmill.train(texts=texts, model="unigram", vocab_size=size, **options)


def names(tok: Any) -> list[str]:
    return [tok.id_to_token(id) for id in range(tok.vocab_size)]


def processor(tok: Any, path: Path) -> Any:
    import sentencepiece

    tok.save(path)
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


@pytest.mark.parametrize(
    "name",
    [
        "english",
        "multilingual",
        pytest.param("cjk", marks=pytest.mark.slow),
        pytest.param("code", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("rule", ["identity", "nmt_nfkc"])
def test_sentencepiece_gives_the_same_ids(corpus: Any, name: str, rule: Any, tmp_path: Path) -> None:
    text = corpus(name)
    size = 1_000_000 if "TOKENMILL_SLOW" in os.environ else 100_000
    lines = text[:size].split("\n")
    ids = 6_000 if "TOKENMILL_SLOW" in os.environ else 2_500
    tok = train(lines, ids, normalizer=rule, byte_fallback=rule == "identity", bos_token="<s>")
    assert tok.vocab_size == ids
    assert (tok.unk_token_id, tok.bos_token_id, tok.eos_token_id) == (0, 1, None)
    theirs = processor(tok, tmp_path / "tok.model")
    held_out = text[-size:].split("\n")
    ours = tok.encode_batch(held_out).to_lists()
    assert ours == theirs.encode(held_out)
    assert [tok.decode(row) for row in ours[:300]] == [theirs.decode(row) for row in ours[:300]]
    assert tokenmill.load(tmp_path / "tok.model") == tok


@pytest.mark.parametrize(
    "name",
    [
        "english",
        "multilingual",
        pytest.param("cjk", marks=pytest.mark.slow),
        pytest.param("code", marks=pytest.mark.slow),
    ],
)
def test_tokenizers_gives_the_same_ids(corpus: Any, name: str, tmp_path: Path) -> None:
    import transformers
    from tokenizers import Tokenizer

    text = corpus(name)
    size = 1_000_000 if "TOKENMILL_SLOW" in os.environ else 100_000
    tok = train(
        text[:size].split("\n"), 4_000, dialect="tokenizers", unk_token="<unk>", special_tokens=["<pad>"]
    )
    path = tmp_path / "tokenizer.json"
    tok.save(path)
    theirs = Tokenizer.from_file(str(path))
    held_out = text[-size:].split("\n")
    ours = tok.encode_batch(held_out).to_lists()
    assert ours == [encoding.ids for encoding in theirs.encode_batch(held_out)]
    library: Any = transformers
    fast = library.PreTrainedTokenizerFast(tokenizer_file=str(path))
    assert fast(held_out[:500])["input_ids"] == ours[:500]
    assert [tok.decode(ids) for ids in ours[:300]] == [
        theirs.decode(ids, skip_special_tokens=False) for ids in ours[:300]
    ]
    assert tokenmill.load(path) == tok


@pytest.mark.parametrize("rule", RULES)
def test_rules_are_those_of_sentencepiece(rule: Any, tmp_path: Path) -> None:
    """Its own normalizer on every character, on sequences that compose, and on random ones."""
    import sentencepiece

    texts = [f"ab{i} cd" for i in range(200)]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=30,
        normalization_rule_name=rule,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    ours = processor(train(texts, 30, normalizer=rule), tmp_path / "ours.model")
    alphabet = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    # Characters of Unicode 18 are in our tables and not in its own.
    different = {c for c in alphabet if theirs.normalize(f"x{c}x") != ours.normalize(f"x{c}x")}
    assert len(different) <= 80
    assert not [c for c in different if theirs.normalize(f"x{c}x") != f"\u2581x{c}x"]
    rng = random.Random(rule)
    marks = [chr(code) for code in [*range(0x300, 0x345), 0x3099, 0x309A]]
    korean = [chr(code) for code in [*range(0x1100, 0x1200), *range(0x3131, 0x318F), *range(0xFFA1, 0xFFDD)]]
    pools = [
        alphabet,
        [chr(code) for code in range(1, 0x300)] + marks,
        korean,
        ["か", "ｶ", "ﾞ", "ﾟ", "゙", *marks],
    ]
    for _ in range(20_000):
        text = "".join(rng.choices(rng.choice(pools), k=rng.randrange(1, 9)))
        if not different & set(text):
            assert theirs.normalize(text) == ours.normalize(text), text


def test_threads_order_and_form_of_the_text_change_nothing(corpus: Any, tmp_path: Path) -> None:
    texts = corpus("multilingual")[:1_500_000].split("\n")
    path = tmp_path / "text.txt"
    path.write_text("\n".join(texts), encoding="utf-8", newline="\n")
    for dialect in ("sentencepiece", "tokenizers"):
        one = train(texts, 4_000, dialect=dialect, num_threads=1)
        assert one == train(reversed(texts), 4_000, dialect=dialect, num_threads=3)
        from_file = tokenmill.train(
            path, documents="lines", model="unigram", vocab_size=4_000, dialect=dialect, num_threads=2
        )
        assert one == from_file
        assert (one.vocab_size, one.training_report.stopped_early) == (4_000, None)


def test_the_format_of_the_other_dialect_needs_lossy(corpus: Any, tmp_path: Path) -> None:
    lines = [line for line in corpus("multilingual")[:300_000].split("\n") if line]
    options: dict[str, Any] = {
        "byte_fallback": True,
        "user_defined_symbols": ["<sep>"],
        "special_tokens": ["<s>"],
    }
    held_out = [" ".join(line.split()) for line in lines[:1_000]] + ["a<sep>b"]
    for dialect, name in (("sentencepiece", "tok.json"), ("tokenizers", "tok.model")):
        tok = train(lines, 3_000, dialect=dialect, unk_token="<unk>", normalizer=None, **options)
        with pytest.raises(FormatError):
            tok.save(tmp_path / name)
        tok.save(tmp_path / name, lossy=True)
        other = tokenmill.load(tmp_path / name)
        assert names(other) == names(tok)
        pairs = zip(tok.encode_batch(held_out), other.encode_batch(held_out), strict=True)
        equal = sum(list(a) == list(b) for a, b in pairs)
        assert equal >= 0.99 * len(held_out), (dialect, equal, len(held_out))


def test_tokens_are_as_long_as_those_of_sentencepiece(corpus: Any) -> None:
    """With the same options; how much better they are on more text is in bench/train.py."""
    import sentencepiece

    lines = [line for line in corpus("english")[:600_000].split("\n") if line]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=4_000,
        normalization_rule_name="identity",
        character_coverage=1.0,
        minloglevel=2,
    )
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    ours = train(lines, 4_000, normalizer="identity", character_coverage=1.0)
    held_out = corpus("english")[-300_000:].split("\n")
    count = sum(map(len, theirs.encode(held_out)))
    assert ours.encode_batch(held_out).ids.size <= 1.01 * count
    common = set(names(ours)) & {theirs.id_to_piece(id) for id in range(4_000)}
    assert len(common) > 2_800


def test_options() -> None:
    texts = ["low lower lowest 1234 1299", "new newer newest\u00e9 12 34", "ｗide wider widest"] * 3
    tok = train(texts, 45)
    assert names(tok)[0] == "<unk>"
    assert tok.encode("ｌｏｗ") == tok.encode("low")
    assert tok.decode(tok.encode("  low   lower ")) == "low lower"
    kept = train(texts, 45, normalizer="identity", remove_extra_whitespaces=False, add_dummy_prefix=False)
    assert kept.decode(kept.encode("low  lower")) == "low  lower"
    digits = train(texts, 45, split_digits=True)
    assert not [name for name in names(digits) if len(name) > 1 and any(map(str.isdigit, name))]
    crossing = train(["a1 a1 a1b"] * 9, 12, split_by_unicode_script=False)
    assert "\u2581a1" in names(crossing)
    assert "\u2581a1" not in names(train(["a1 a1 a1b"] * 9, 12))
    short = train(texts, 45, max_token_length=2)
    assert max(len(name) for name in names(short)[1:]) == 2
    rare = train(texts, 30, character_coverage=0.9)
    assert rare.unk_token_id in rare.encode("\u00e9")
    assert rare.unk_token_id not in train(
        texts, 40, character_coverage=0.9, initial_alphabet="\u00e9x"
    ).encode("\u00e9x")
    for dialect in ("sentencepiece", "tokenizers"):
        spelled = train(texts, 310, dialect=dialect, unk_token="<unk>", byte_fallback=True)
        assert spelled.decode(spelled.encode("\u6f22 low")) == "\u6f22 low"
        symbols = train(texts, 60, dialect=dialect, user_defined_symbols=["<sep>", "owe"], unk_token="<unk>")
        assert "owe" in [symbols.id_to_token(id) for id in symbols.encode("lower")]
        assert not [name for name in names(symbols) if "owe" in name and name != "owe"]
    split = train(texts, 40, dialect="tokenizers", split="whitespace")
    assert not [name for name in names(split) if "\u2581" in name]
    assert split.decode(split.encode("lower")) == "lower"
    few = train(["ab ab"], 100)
    assert few.training_report.stopped_early == "no-piece-left"


@pytest.mark.parametrize("rule", ["identity", "nmt_nfkc"])
def test_what_sentencepiece_cannot_hold_is_not_learned(rule: Any, tmp_path: Path) -> None:
    """Its pieces have no zero character; a text without characters gives a model without ordinary pieces."""
    texts = ["a\0b a\0b", "▁x x", "  ab  \0"] * 3
    tok = train(texts, 15, normalizer=rule, character_coverage=1.0, initial_alphabet="\0y", bos_token="<s>")
    assert not [name for name in names(tok) if "\0" in name]
    theirs = processor(tok, tmp_path / "tok.model")
    for text in [*texts, "y\0", ""]:
        assert tok.encode(text) == theirs.encode(text)
    empty = train([""], 300, normalizer=rule, byte_fallback=True)
    assert empty.vocab_size == 257
    empty.save(tmp_path / "empty.model")
    assert tokenmill.load(tmp_path / "empty.model") == empty


def test_a_long_text_without_spaces_is_learned() -> None:
    rng = random.Random(5)
    text = "".join(rng.choices(["ab", "cde", "fgfg", "h"], k=60_000))
    tok = train([text], 60)
    assert tok.vocab_size == 60
    assert tok.decode(tok.encode(text)) == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": None, "num_merges": 5}, "num_merges"),
        ({"split": "gpt2"}, "split"),
        ({"dialect": "both"}, "dialect"),
        ({"dialect": "tokenizers", "split_digits": True}, "split_digits"),
        ({"model": "bpe", "dialect": "tokenizers"}, "dialect"),
        ({"model": "bpe", "byte_fallback": True}, "byte_fallback"),
        ({"min_frequency": 3}, "min_frequency"),
        ({"tie_break": "token-id"}, "tie_break"),
        ({"score": "frequency"}, "score"),
        ({"normalizer": "nfkd"}, "normalizer"),
        ({"normalizer": "NFC"}, "normalizer"),
        ({"dialect": "tokenizers", "normalizer": "nfkc"}, "normalizer"),
        ({"character_coverage": 1.5}, "character_coverage"),
        ({"character_coverage": 0.0}, "character_coverage"),
        ({"max_token_length": 0}, "max_token_length"),
        ({"max_token_length": 513}, "max_token_length"),
        ({"vocab_size": 3}, "vocab_size"),
        ({"byte_fallback": True, "vocab_size": 200}, "vocab_size"),
        ({"user_defined_symbols": ["a", ""]}, "user_defined_symbols"),
        ({"user_defined_symbols": ["a", "a"]}, "user_defined_symbols"),
        ({"user_defined_symbols": ["<unk>"]}, "user_defined_symbols"),
        ({"bos_token": "\u2581"}, "special"),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"model": "unigram", "vocab_size": 20} | options
    with pytest.raises(TrainingError, match=message):
        tokenmill.train(texts=["low lower"] * 2, **given)


def test_the_command_line(tmp_path: Path, corpus: Any) -> None:
    from tokenmill.cli.app import main

    text = tmp_path / "text.txt"
    text.write_text(corpus("english")[:50_000], encoding="utf-8")
    words = ["train", str(text), "--model", "unigram", "--vocab-size", "900", "--json"]
    assert (
        main([*words, "--out", str(tmp_path / "folder"), "--byte-fallback", "--user-defined-symbol", "<x>"])
        == 0
    )
    tok = tokenmill.load(tmp_path / "folder")
    assert (tok.vocab_size, names(tok)[:3]) == (900, ["<unk>", "<x>", "<0x00>"])
    assert main([*words, "--out", str(tmp_path / "tok.model"), "--character-coverage", "0.98"]) == 0
    json_words = [
        *words,
        "--dialect",
        "tokenizers",
        "--unk-token",
        "<unk>",
        "--out",
        str(tmp_path / "tok.json"),
    ]
    assert main(json_words) == 0
    assert json.loads((tmp_path / "tok.json").read_text(encoding="utf-8"))["model"]["type"] == "Unigram"
