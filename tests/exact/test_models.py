"""WordPiece, WordLevel and Unigram: ids and offsets of tokenizers 0.23.3 and of sentencepiece 0.2.3.

Made-up vocabularies over few characters, so that nearly every text is full of equal scores, of unknown
characters and of dead ends.
"""

from __future__ import annotations

import json
import math
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenmill.errors import FormatError, UnknownTokenError

ALPHABET = "abé中"
TEXTS = st.text(alphabet=ALPHABET + "x<#", max_size=12)
# Eighths add up exactly, tenths do not.
SCORES = st.one_of(
    st.integers(-40, 8).map(lambda n: n / 8), st.integers(-40, 8).map(lambda n: n / 10), st.just(0.0)
)
PIECES = st.dictionaries(st.text(alphabet=ALPHABET, min_size=1, max_size=4), SCORES, max_size=14)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def loaded(native: Any, theirs: Any) -> Any:
    """Our tokenizer for their file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        theirs.save(str(path))
        return native.load(path)


def check(ours: Any, theirs: Any, text: str) -> None:
    want = theirs.encode(text, add_special_tokens=False)
    got = ours.encode_with_offsets(text)
    assert (got.ids, got.offsets) == (want.ids, want.offsets), text
    assert ours.encode(text) == want.ids
    assert ours.count(text) == len(want.ids)


# ---- Unigram ----------------------------------------------------------------------------------


@given(
    pieces=PIECES,
    texts=st.lists(TEXTS, min_size=1, max_size=8),
    fallback=st.sampled_from(["none", "all", "some"]),
    unk_score=SCORES,
    unk=st.sampled_from(["<unk>", "é", "ab"]),
)
def test_unigram(
    native: Any, pieces: dict[str, float], texts: list[str], fallback: str, unk_score: float, unk: str
) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import Unigram

    vocab = [(unk, unk_score), *((piece, score) for piece, score in pieces.items() if piece != unk)]
    if fallback != "none":
        vocab += [(name, -5.0) for name in BYTES if fallback == "all" or name != "<0x78>"]
    theirs = Tokenizer(Unigram(vocab, 0, fallback != "none"))
    ours = loaded(native, theirs)
    for text in texts:
        check(ours, theirs, text)
        check(ours, theirs, text.replace("x", unk))


def test_unigram_without_an_unknown_token_needs_none_unless_it_does(native: Any) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import Unigram

    theirs = Tokenizer(Unigram([("ab", -1.0), ("b", -2.0)], None, False))
    ours = loaded(native, theirs)
    # There an unknown character that another token covers is an error, too.
    with pytest.raises(Exception, match="unk_id"):
        theirs.encode("ab")
    assert ours.encode("abb") == [0, 1]
    with pytest.raises(UnknownTokenError) as raised:
        ours.encode("bébé")
    assert (raised.value.char, raised.value.position) == ("é", 1)


@pytest.fixture(scope="module")
def t5(native: Any, data: Path) -> tuple[Any, Any]:
    """The vocabulary of T5 over pretokens of marked words, without its normalizer."""
    from tokenizers import Tokenizer

    file = json.loads((data / "vocab" / "t5-small" / "tokenizer.json").read_text(encoding="utf-8"))
    file["normalizer"] = file["post_processor"] = None
    theirs = Tokenizer.from_str(json.dumps(file))
    return loaded(native, theirs), theirs


def corpus(data: Path, count: int) -> list[str]:
    chosen = random.Random(5)
    texts: list[str] = []
    for path in sorted((data / "corpus").rglob("*.txt"))[:40]:
        content = path.read_bytes()[: 1 << 20].decode("utf-8", errors="ignore")
        for _ in range(count):
            start = chosen.randrange(max(1, len(content) - 300))
            texts.append(content[start : start + chosen.choice([20, 300])])
    return texts


def test_unigram_of_t5(t5: tuple[Any, Any], data: Path) -> None:
    ours, theirs = t5
    texts = corpus(data, 60)
    assert texts
    for text in texts:
        want = theirs.encode(text, add_special_tokens=False)
        got = ours.encode_with_offsets(text, special="parse")
        assert got.ids == want.ids, text
        assert got.offsets == want.offsets, text


COLLAPSE = {"type": "Replace", "pattern": {"Regex": " {2,}"}}
QUOTES = [{"type": "Replace", "pattern": {"String": quote}, "content": '"'} for quote in ["``", "''"]]
MARK = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
BEFORE_METASPACE: dict[str, tuple[list[Any], list[Any]]] = {
    "xlnet": ([*QUOTES, {"type": "NFKD"}, {"type": "StripAccents"}], [{**COLLAPSE, "content": " "}]),
    "albert": (
        [*QUOTES, {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}],
        [{**COLLAPSE, "content": " "}],
    ),
    "xlm-roberta": (
        [],
        [{"type": "Strip", "strip_left": False, "strip_right": True}, {**COLLAPSE, "content": "▁"}],
    ),
}


@pytest.mark.parametrize("stages", BEFORE_METASPACE)
def test_unigram_of_t5_in_the_stages_of_others(native: Any, data: Path, stages: str) -> None:
    """Words are looked up before the normalizers, which end with one space for several."""
    from tokenizers import Tokenizer

    file = json.loads((data / "vocab" / "t5-small" / "tokenizer.json").read_text(encoding="utf-8"))
    before, after = BEFORE_METASPACE[stages]
    file["normalizer"] = {"type": "Sequence", "normalizers": [*before, file["normalizer"], *after]}
    file["pre_tokenizer"], file["post_processor"] = MARK, None
    theirs = Tokenizer.from_str(json.dumps(file))
    ours = loaded(native, theirs)
    assert "words before normalization" in ours.plan()["lookup of pretokens"].path
    chosen = random.Random(7)
    white = [
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "\u3000",
        "\u200b",
        "\u2028",
        "\xa0 ",
        " ▁",
        "▁ ",
        " \xb4",
        "\u3000 ",
        " ``",
        "'' ",
    ]
    texts = corpus(data, 20)
    for text in texts:
        words = text.split(" ")
        spaced = "".join(word + (chosen.choice(white) if chosen.random() < 0.3 else " ") for word in words)
        for each in [text, spaced]:
            want = theirs.encode(each, add_special_tokens=False).ids
            assert ours.encode(each, special="parse") == want, each
            assert ours.encode_with_offsets(each, special="parse").ids == want, each


def test_nbest_probability_and_samples_of_t5(t5: tuple[Any, Any]) -> None:
    ours, _ = t5
    text = "unbelievably good"
    ways = ours.encode_nbest(text, 200)
    assert ways[0][0] == ours.encode(text)
    assert len({tuple(ids) for ids, _ in ways}) == 200
    scores = [score for _, score in ways]
    assert scores == sorted(scores, reverse=True)
    assert {ours.decode(ids) for ids, _ in ways} == {ours.decode(ours.encode(text))}
    probability = ours.log_probability(text)
    assert math.log(sum(map(math.exp, scores))) <= probability < scores[0] + 1
    drawn = Counter(tuple(ours.sample(text, alpha=1.0, seed=seed)) for seed in range(2000))
    for ids, score in ways[:3]:
        assert abs(drawn[tuple(ids)] / 2000 - math.exp(score - probability)) < 0.05
    assert ours.sample(text, alpha=0.1, seed=3) == ours.sample(text, alpha=0.1, seed=3)
    assert ours.sample(text, alpha=0.1, seed=3, nbest_size=1) == ways[0][0]
    assert tuple(ours.sample(text, alpha=0.1, seed=3, nbest_size=5)) in {tuple(ids) for ids, _ in ways[:5]}
    with pytest.raises(ValueError, match="from 1 to 1024"):
        ours.encode_nbest(text, 0)
    with pytest.raises(ValueError, match="finite"):
        ours.sample(text, alpha=math.inf, seed=0)
    with pytest.raises(ValueError, match="seed"):
        ours.sample(text, alpha=1.0, seed=-1)


def test_only_unigram_models_have_probabilities(native: Any) -> None:
    ours = native.Tokenizer.from_tokens([b"a", b"b", b"ab"])
    for method, arguments in (
        (ours.encode_nbest, {"n": 2}),
        (ours.log_probability, {}),
        (ours.sample, {"alpha": 1.0, "seed": 0}),
    ):
        with pytest.raises(FormatError) as raised:
            method("ab", **arguments)
        assert (raised.value.field, raised.value.kind) == ("model.type", "unsupported")


# ---- WordPiece and WordLevel ------------------------------------------------------------------


@given(
    pieces=st.sets(st.from_regex(r"(##|#|)[abé中]{1,4}", fullmatch=True), max_size=14),
    texts=st.lists(TEXTS, min_size=1, max_size=8),
    prefix=st.sampled_from(["##", "#", "", "中"]),
    max_chars=st.integers(3, 12),
)
def test_wordpiece(native: Any, pieces: set[str], texts: list[str], prefix: str, max_chars: int) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece

    vocab = {piece: id for id, piece in enumerate([*sorted(pieces), "[UNK]"])}
    theirs = Tokenizer(
        WordPiece(
            vocab, unk_token="[UNK]", max_input_chars_per_word=max_chars, continuing_subword_prefix=prefix
        )
    )
    ours = loaded(native, theirs)
    for text in texts:
        check(ours, theirs, text)


def test_wordpiece_of_bert(native: Any, data: Path) -> None:
    from tokenizers import Tokenizer

    file = json.loads((data / "vocab" / "bert-base-uncased" / "tokenizer.json").read_text(encoding="utf-8"))
    file["normalizer"] = file["post_processor"] = None
    theirs = Tokenizer.from_str(json.dumps(file))
    ours = loaded(native, theirs)
    for text in corpus(data, 60):
        want = theirs.encode(text, add_special_tokens=False)
        got = ours.encode_with_offsets(text, special="parse")
        assert (got.ids, got.offsets) == (want.ids, want.offsets), text


@given(words=st.sets(st.text(alphabet="abé ", min_size=1, max_size=3), max_size=14), text=TEXTS)
def test_wordlevel(native: Any, words: set[str], text: str) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split

    vocab = {word: id for id, word in enumerate([*sorted(words), "[UNK]"])}
    theirs = Tokenizer(WordLevel(vocab, unk_token="[UNK]"))
    theirs.pre_tokenizer = Split("x", "isolated")
    ours = loaded(native, theirs)
    check(ours, theirs, text)


def test_a_word_that_is_no_token_is_an_error_without_an_unknown_token(native: Any) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel, WordPiece

    for model in (WordLevel({"ab": 0}, unk_token="[UNK]"), WordPiece({"ab": 0}, unk_token="[UNK]")):
        ours = loaded(native, Tokenizer(model))
        assert ours.encode("ab") == [0]
        with pytest.raises(UnknownTokenError):
            ours.encode("abc")
