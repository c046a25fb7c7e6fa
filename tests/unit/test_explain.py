"""`Tokenizer.explain`: ids and spans are those of encoding, and the merges lead to the tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from property.strategies import Recipe, any_text, attempt, byte_strings, recipes, whole, with_surrogates
from tokenmill import errors
from tokenmill.explain import Added, Explanation, Ordinary, Pretoken

PUBLISHED = [
    "bert-base-uncased",
    "clip",
    "gpt2",
    "llama2",
    "llama3",
    "mistral-7b-v0.3",
    "roberta-base",
    "t5-small",
]
TEXTS = [
    "",
    "Hello, wörld! It's  2024.\n",
    " <s>a</s> [MASK]<|endoftext|><unk> <pad>x",
    "ﬁancé E\u0301 你好世界 \u0130stanbul 🙂👩‍👩‍👧 \u3000\t",
    "\u200b\x00\ufffd\u0e33 antidisestablishmentarianism" * 3,
]


def pretokens(explanation: Explanation) -> Iterator[Pretoken]:
    for segment in explanation.segments:
        if isinstance(segment, Ordinary):
            yield from segment.pretokens


def merged(pretoken: Pretoken) -> list[str]:
    """What is left of the symbols when the merges are made one after the other."""
    row = list(pretoken.symbols or ())
    for merge in pretoken.merges or ():
        assert row[merge.at : merge.at + 2] == [merge.left, merge.right]
        row[merge.at : merge.at + 2] = [merge.result]
    return row


def check(tok: Any, text: str | bytes, special: str, *, by_score: bool = False) -> None:
    """Everything that an explanation promises."""
    explanation = tok.explain(text, special=special)
    encoding = tok.encode_with_offsets(text, special=special)
    assert explanation.ids == tok.encode(text, special=special) == encoding.ids
    tokens = explanation.tokens
    assert [token.offsets for token in tokens] == encoding.offsets
    assert [token.byte_offsets for token in tokens] == encoding.byte_offsets
    assert [token.token for token in tokens] == encoding.tokens
    words = [
        len(segment.pretokens) if isinstance(segment, Ordinary) else 1 for segment in explanation.segments
    ]
    assert max(encoding.word_ids, default=-1) < sum(words)
    for pretoken in pretokens(explanation):
        assert (pretoken.symbols is None) == (pretoken.merges is None) == (pretoken.how != "merges")
        if pretoken.how != "merges":
            continue
        row = merged(pretoken)
        # Where merges go by score, what is left may be unknown and become bytes.
        if by_score and any(token.token.startswith("<") for token in pretoken.tokens):
            assert "".join(row) == pretoken.text
        else:
            assert row == [token.token for token in pretoken.tokens]
    # JSON joins surrogates that are a pair.
    again = json.loads(json.dumps(explanation.to_dict()))
    assert {**again, "text": explanation.text} == explanation.to_dict()
    assert explanation.to_dict()["ids"] == explanation.ids
    lines = str(explanation).splitlines()
    assert lines[0].split() == ["stage", "what", "number", "characters", "bytes"]
    assert sum(f"id {token.id} " in line for line in lines for token in tokens[:1]) >= min(1, len(tokens))


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_tokenizers_are_explained_as_they_encode(native: Any, data: Path, name: str) -> None:
    tok = native.load(data / "vocab" / name / "tokenizer.json")
    for text in TEXTS:
        for special in ("text", "parse"):
            check(tok, text, special)


@pytest.mark.parametrize(
    "name", ["llama2/tokenizer", "mistral-7b-v0.1/tokenizer", "sentencepiece-test/test_model"]
)
def test_sentencepiece_models_are_explained_as_they_encode(native: Any, data: Path, name: str) -> None:
    tok = native.load(data / "vocab" / f"{name}.model")
    for text in TEXTS:
        check(tok, text, "text", by_score=True)


@given(recipe=recipes(), text=any_text)
@example(Recipe("train", {"texts": ["low lower"] * 3, "num_merges": 9, "split": "none"}), "low" * 400)
def test_made_up_tokenizers_are_explained_as_they_encode(native: Any, recipe: Recipe, text: str) -> None:
    tok = recipe.make(native)
    for special in ("text", "parse"):
        _, error = attempt(errors.UnknownTokenError, partial(tok.encode, text, special=special))
        if error is None:
            check(tok, text, special)
        else:
            with pytest.raises(errors.UnknownTokenError) as raised:
                tok.explain(text, special=special)
            assert str(raised.value) == str(error)


@given(data=byte_strings)
def test_bytes_that_are_no_text_are_explained(native: Any, data: bytes) -> None:
    tok = native.train(texts=["low lower <s>"] * 3, num_merges=9, special_tokens=["<s>"])
    check(tok, data, "parse")
    check(tok, data, "text")
    assert tok.explain(data).text == data.decode("utf-8", "backslashreplace")


@given(text=with_surrogates)
def test_lone_surrogates_are_what_encode_makes_of_them(native: Any, text: str) -> None:
    tok = native.train(texts=["low lower"] * 3, num_merges=9)
    check(tok, text, "text")
    explanation = tok.explain(text)
    assert explanation.text == text
    assert "".join(segment.text for segment in explanation.segments) == whole(text)


def test_a_surrogate_may_be_an_error(native: Any) -> None:
    tok = native.train(texts=["low"], num_merges=1)
    with pytest.raises(UnicodeEncodeError):
        tok.explain("\ud800", surrogates="error")
    with pytest.raises(TypeError):
        tok.explain(5)


def test_special_tokens_follow_the_policy(native: Any) -> None:
    tok = native.train(texts=["low lower"] * 3, num_merges=4, special_tokens=["<s>"])
    segments = tok.explain("é<s>low", special="parse").segments
    assert [type(segment) for segment in segments] == [Ordinary, Added, Ordinary]
    assert (segments[1].offsets, segments[1].byte_offsets) == ((1, 4), (2, 5))
    assert segments[1].token.id == tok.special_tokens["<s>"]
    assert [segment.text for segment in segments] == ["é", "<s>", "low"]
    assert len(tok.explain("é<s>low").segments) == 1
    with pytest.raises(errors.SpecialTokenError):
        tok.explain("<s>", special="raise")


def test_many_symbols_have_no_merges(native: Any) -> None:
    tok = native.train(texts=["low lower"] * 3, num_merges=4, split="none")
    for count, how in [(1000, "merges"), (1001, "long")]:
        [pretoken] = pretokens(tok.explain("x" * count))
        assert pretoken.how == how
        assert (pretoken.merges is None) == (how == "long")
    assert "too many symbols" in str(tok.explain("x" * 1001))


def made(native: Any, folder: Path, **parts: Any) -> Any:
    """A tokenizer.json with these parts."""
    path = folder / "tokenizer.json"
    content: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
    }
    path.write_text(json.dumps({**content, **parts}), encoding="utf-8")
    return native.load(path)


def test_each_step_that_changes_the_text_is_shown(native: Any, tmp_path: Path) -> None:
    vocab = {"[UNK]": 0, "é": 1, "▁é": 2, "b": 3}
    steps = [
        {"type": "NFC"},
        {"type": "Lowercase"},
        {"type": "Strip", "strip_left": True, "strip_right": True},
    ]
    token = {
        "id": 4,
        "content": "Q",
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": True,
        "special": False,
    }
    tok = made(
        native,
        tmp_path,
        added_tokens=[token],
        normalizer={"type": "Sequence", "normalizers": steps},
        pre_tokenizer={
            "type": "Metaspace",
            "replacement": "▁",
            "prepend_scheme": "always",
            "split": True,
        },
        model={"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"},
    )
    explanation = tok.explain("E\u0301Qb ")
    assert explanation.ids == tok.encode("E\u0301Qb ")
    [segment] = explanation.segments
    assert [(step.name, step.text) for step in segment.normalized] == [
        ("NFC", "ÉQb "),
        ("Lowercase", "éqb "),
        ("Strip", "éqb"),
    ]
    first, found, last = segment.pretokens
    assert (first.text, first.how, first.offsets) == ("▁é", "wordlevel", (0, 2))
    assert (found.how, found.tokens[0].id, found.offsets) == ("added", 4, (2, 3))
    assert (last.text, last.offsets, last.byte_offsets) == ("▁b", (3, 4), (4, 5))
    assert tok.explain("b").segments[0].normalized == ()


def test_a_pretoken_that_stays_whole_needs_no_merges(native: Any, tmp_path: Path) -> None:
    vocab = {"a": 0, "b": 1, "c": 2, "ab": 3, "bab": 4}
    model = {"type": "BPE", "vocab": vocab, "merges": [["a", "b"]], "ignore_merges": True}
    tok = made(native, tmp_path, model=model)
    [pretoken] = pretokens(tok.explain("bab"))
    assert (pretoken.how, pretoken.symbols, [token.id for token in pretoken.tokens]) == ("whole", None, [4])
    [pretoken] = pretokens(tok.explain("cab"))
    assert [
        (merge.left, merge.right, merge.result, merge.rank, merge.at) for merge in pretoken.merges or ()
    ] == [("a", "b", "ab", 0, 1)]
    assert "is a token as it stands" in str(tok.explain("bab"))


def test_the_rendering_shows_every_stage_in_columns(native: Any) -> None:
    tok = native.train(texts=["low lower lowest"] * 3, vocab_size=260, special_tokens=["<s>"])
    assert str(tok.explain("<s>lo\n", special="parse")).splitlines() == [
        "stage     what         number  characters  bytes",
        "added     <s>          id 0    0-3         0-3",
        'text      "lo\\n"               3-6         3-6',
        'pretoken  "lo"                 3-5         3-5',
        "symbols   l o",
        "merge     l + o -> lo  rank 0",
        "token     lo           id 257  3-5         3-5",
        'pretoken  "\\n"                 5-6         5-6',
        'token     Ċ  "\\n"      id 11   5-6         5-6',
    ]


def test_an_explanation_is_a_value(native: Any) -> None:
    tok = native.train(texts=["low"], num_merges=1)
    assert tok.explain("low") == tok.explain("low") != tok.explain("lo")
    with pytest.raises(AttributeError):
        tok.explain("low").text = ""
