"""``tokenmill.diff``: the verdict, and witnesses that are true and as short as they can be."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill import Difference, Tokenizer, diff
from true_witness import check

pytestmark = pytest.mark.usefixtures("native")

BYTES = [bytes([byte]) for byte in range(256)]


def listed(*merges: tuple[bytes, bytes], tokens: tuple[bytes, ...] = (), **options: Any) -> Tokenizer:
    """Merges over the bytes; ``tokens`` have ids whether a merge makes them or not."""
    products = tokens or tuple(left + right for left, right in merges)
    vocab = {token: id for id, token in enumerate([*BYTES, *dict.fromkeys(products)])}
    return Tokenizer.from_merges(vocab, list(merges), **options)


def saved(tok: Tokenizer, folder: Path, **changes: Any) -> Tokenizer:
    """The same with other fields of its tokenizer.json."""
    path = folder / "tokenizer.json"
    tok.save(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    for name, value in changes.items():
        data[name] = value
    path.write_text(json.dumps(data), encoding="utf-8")
    return tokenmill.load(path)


def both_ways(a: Tokenizer, b: Tokenizer, **options: Any) -> Difference:
    """The comparison, which says the same with the sides swapped."""
    found, swapped = diff(a, b, **options), diff(b, a, **options)
    assert (swapped.verdict, swapped.proof) == (found.verdict, found.proof)
    assert swapped.tokens_only_in_a == found.tokens_only_in_b
    assert swapped.merges_only_in_a == found.merges_only_in_b
    assert [(row.name, row.b, row.a) for row in swapped.stages] == [
        (row.name, row.a, row.b) for row in found.stages
    ]
    if found.verdict == "different" and found.witness is not None and found.witness.kind != "settings":
        check(found, a, b)
        check(swapped, b, a)
    return found


# ---- the same ---------------------------------------------------------------------------------


def test_a_tokenizer_is_the_same_as_itself_loaded_again(tmp_path: Path) -> None:
    tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=262, special_tokens=["<s>"])
    found = both_ways(tok, saved(tok, tmp_path))
    assert (found.verdict, found.proof, found.witness) == ("same", "descriptions", None)
    assert not any((found.stages, found.settings, found.special_tokens, found.templates, found.moved_ids))
    assert found.tried == ()


def test_merges_of_neighbouring_rank_that_do_not_meet_are_the_same() -> None:
    tokens = (b"ab", b"cd", b"abcd")
    a = listed((b"a", b"b"), (b"c", b"d"), (b"ab", b"cd"), tokens=tokens)
    b = listed((b"c", b"d"), (b"a", b"b"), (b"ab", b"cd"), tokens=tokens)
    found = both_ways(a, b)
    assert (found.verdict, found.proof) == ("same", "merges")
    assert [set(row[:2]) for row in found.moved_merges] in ([{b"a", b"b"}], [{b"c", b"d"}])
    assert a.fingerprint != b.fingerprint


def test_two_ways_to_the_same_token_are_the_same() -> None:
    # The first merge of `abc` differs, and what it comes to does not.
    tokens = (b"ab", b"bc", b"abc")
    rest = ((b"ab", b"c"), (b"a", b"bc"))
    a = listed((b"a", b"b"), (b"b", b"c"), *rest, tokens=tokens)
    b = listed((b"b", b"c"), (b"a", b"b"), *rest, tokens=tokens)
    assert (both_ways(a, b).verdict, both_ways(a, b).proof) == ("same", "merges")
    # So it is where `ab` is also taken by something else, unless that comes first.
    longer, taken = (*tokens, b"xab"), (b"x", b"ab")
    for more, verdict in (((*rest, taken), "same"), ((taken, *rest), "different")):
        a = listed((b"a", b"b"), (b"b", b"c"), *more, tokens=longer)
        b = listed((b"b", b"c"), (b"a", b"b"), *more, tokens=longer)
        assert both_ways(a, b).verdict == verdict


# ---- different --------------------------------------------------------------------------------


def test_digits_by_three_and_by_two() -> None:
    tokens = [*BYTES, b"12", b"123"]
    a = Tokenizer.from_tokens(tokens, split=r"\p{N}{1,3}|\P{N}+")
    b = Tokenizer.from_tokens(tokens, split=r"\p{N}{1,2}|\P{N}+")
    found = both_ways(a, b)
    assert found.witness is not None
    assert [stage.name for stage in found.stages] == ["pre_tokenizer"]
    assert found.witness.text == "123"


def test_digits_whose_ids_are_the_same_have_other_pretokens() -> None:
    a = Tokenizer.from_tokens(BYTES, split=r"\p{N}{1,3}|\P{N}+")
    b = Tokenizer.from_tokens(BYTES, split=r"\p{N}{1,2}|\P{N}+")
    found = both_ways(a, b)
    assert found.witness is not None
    assert "offsets" in found.witness.call
    assert found.witness.text is not None
    assert len(found.witness.text) == 3


def test_two_merges_that_meet_inside_longer_tokens() -> None:
    tokens = (b"ab", b"bc", b"xab", b"bcy")
    rest = ((b"x", b"ab"), (b"bc", b"y"))
    a = listed((b"a", b"b"), (b"b", b"c"), *rest, tokens=tokens)
    b = listed((b"b", b"c"), (b"a", b"b"), *rest, tokens=tokens)
    found = both_ways(a, b)
    assert found.witness is not None
    assert (found.witness.text, found.witness.a, found.witness.b) == ("abc", (256, 99), (97, 257))


def test_a_token_of_other_parts() -> None:
    tokens = (b"ab", b"bc", b"abc")
    a = listed((b"a", b"b"), (b"ab", b"c"), (b"b", b"c"), tokens=tokens)
    b = listed((b"b", b"c"), (b"a", b"bc"), (b"a", b"b"), tokens=tokens)
    both_ways(a, b)


def test_merges_inside_characters() -> None:
    # The three bytes of 你 and 好; a text has to be completed to be one.
    first, second = "你".encode(), "好".encode()
    parts = (first[:2], first[2:] + second[:1])
    a = listed((first[:1], first[1:2]), (first[2:], second[:1]), tokens=parts)
    b = listed((first[:1], first[1:2]), tokens=parts)
    found = both_ways(a, b)
    assert found.witness is not None
    assert found.witness.text is not None
    assert len(found.witness.text) == 2


@pytest.mark.parametrize(
    "normalizer",
    [
        {"type": "Lowercase"},
        {"type": "NFC"},
        {"type": "NFKC"},
        {"type": "Strip", "strip_left": False, "strip_right": True},
        {"type": "StripAccents"},
        {"type": "Replace", "pattern": {"String": "qz"}, "content": ""},
        {"type": "Prepend", "prepend": "x"},
    ],
    ids=lambda step: step["type"],
)
def test_a_normalizer(tmp_path: Path, normalizer: dict[str, Any]) -> None:
    tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
    found = both_ways(tok, saved(tok, tmp_path, normalizer=normalizer))
    assert [stage.name for stage in found.stages] == ["normalizer"]


def test_added_tokens_and_their_flags() -> None:
    tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
    more = tok.with_special_tokens(["<|end|>"])
    found = both_ways(tok, more)
    assert found.witness is not None
    assert found.witness.text == "<|end|>"
    assert [(row.name, row.a) for row in found.special_tokens] == [("<|end|>", None)]
    assert found.tokens_only_in_b == (("<|end|>", 260),)
    other = tok.with_special_tokens(["<|eot|>", "<|end|>"])
    assert both_ways(more, other).moved_ids == (("<|end|>", 260, 261),)


@pytest.mark.parametrize("flag", ["lstrip", "rstrip", "single_word"])
def test_flags_of_an_added_token(tmp_path: Path, flag: str) -> None:
    tok = tokenmill.train(texts=["low"] * 3, vocab_size=258, special_tokens=["<|end|>"])
    tok.save(tmp_path / "tokenizer.json")
    added = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))["added_tokens"]
    changed = [{**token, flag: not token[flag]} for token in added]
    found = both_ways(tok, saved(tok, tmp_path, added_tokens=changed))
    assert [row.name for row in found.special_tokens] == ["<|end|>"]


def test_a_decoder(tmp_path: Path) -> None:
    tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
    a = saved(tok, tmp_path)
    decoder = {
        "type": "Sequence",
        "decoders": [{"type": "ByteLevel"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}],
    }
    b = saved(tok, tmp_path, decoder=decoder)
    found = both_ways(a, b)
    assert found.witness is not None
    assert found.witness.kind == "ids"
    assert [stage.name for stage in found.stages] == ["decoder"]


def test_a_post_processor(tmp_path: Path) -> None:
    tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260, special_tokens=["<s>"])
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
    }
    found = both_ways(tok, saved(tok, tmp_path, post_processor=template))
    assert found.witness is not None
    assert (found.witness.text, found.witness.a, found.witness.b) == ("", (), (0,))


def test_the_parts_of_a_pair_in_another_order(tmp_path: Path) -> None:
    tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)

    def paired(*names: str) -> Any:
        pair = [{"Sequence": {"id": name, "type_id": 0}} for name in names]
        single = [{"Sequence": {"id": "A", "type_id": 0}}]
        template = {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": {}}
        return saved(tok, tmp_path, post_processor=template)

    found = both_ways(paired("A", "B"), paired("B", "A"))
    assert found.verdict == "different"
    assert found.witness is not None
    assert len(found.witness.text or "") == 1
    # The same ids of another text of the pair: where the two texts differ, so do the ids.
    assert [row[2] for row in found.witness.a] == [0, 1]
    assert [row[2] for row in found.witness.b] == [1, 0]


@pytest.mark.parametrize("model", ["wordpiece", "unigram"])
def test_other_models(model: str) -> None:
    texts = ["low lower lowest newer wider newest widest lowly newly"] * 3
    unk, sizes = ({"unk_token": "[UNK]"}, (24, 28)) if model == "wordpiece" else ({}, (18, 22))
    a, b = (tokenmill.train(texts=texts, model=model, vocab_size=size, **unk) for size in sizes)  # type: ignore[call-overload]
    assert both_ways(a, a).proof == "descriptions"
    assert len(a) != len(b)
    assert both_ways(a, b).verdict == "different"


# ---- chat templates and settings --------------------------------------------------------------


def test_a_chat_template() -> None:
    pytest.importorskip("jinja2")
    tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
    a = tok.with_chat_template("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    b = tok.with_chat_template("{% for m in messages %}{{ m.role }}: {{ m.content | trim }}\n{% endfor %}")
    found = both_ways(a, b)
    assert found.witness is not None
    assert found.witness.kind == "messages"
    (message,) = found.witness.messages or ()
    assert len(message["content"]) == 1
    assert [row.name for row in found.templates] == ["default"]
    assert both_ways(tok, a).witness is not None


def test_templates_that_are_spelled_otherwise_are_unknown() -> None:
    pytest.importorskip("jinja2")
    tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
    a = tok.with_chat_template("{{ messages[0].content }}")
    b = tok.with_chat_template("{{messages[0].content}}")
    found = both_ways(a, b)
    assert (found.verdict, found.proof, found.witness) == ("unknown", None, None)
    assert dict(found.tried)["conversations"] > 100
    assert "conversations" in str(found)


def test_settings_alone(tmp_path: Path) -> None:
    tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
    limit = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    found = both_ways(tok, saved(tok, tmp_path, truncation=limit))
    assert found.verdict == "different"
    assert found.witness is not None
    assert (found.witness.kind, found.witness.call) == ("settings", "truncation")
    assert found.witness.a == {"truncation": None}
    assert [row.name for row in found.settings] == ["truncation"]


# ---- what is said -----------------------------------------------------------------------------


def test_texts_of_the_caller_are_searched_first() -> None:
    a = listed((b"q", b"z"), tokens=(b"qz",))
    b = listed(tokens=(b"qz",))
    found = both_ways(a, b, texts=["nothing", "a qz b\ud800"])
    assert found.tried == (("texts that were given", 2),)
    assert found.witness is not None
    assert found.witness.text == "qz"


def test_what_differs_is_listed() -> None:
    a = listed((b"a", b"b"), (b"c", b"d"), (b"e", b"f"))
    b = listed((b"a", b"b"), (b"e", b"f"), (b"x", b"y"))
    found = both_ways(a, b)
    assert found.tokens_only_in_a == (("cd", 257),)
    assert found.tokens_only_in_b == (("xy", 258),)
    assert found.moved_ids == (("ef", 258, 257),)
    assert found.merges_only_in_a == ((1, b"c", b"d"),)
    assert found.merges_only_in_b == ((2, b"x", b"y"),)
    assert found.moved_merges == ()
    data = json.loads(json.dumps(found.to_dict()))
    assert data["merges_only_in_a"] == [[1, "c", "d"]]
    assert data["witness"]["kind"] == "text"
    for word in ("verdict", "different", "only in A", "cd (257)", "merge only in B", "x + y (rank 2)"):
        assert word in str(found)
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert hash(again) == hash(found)


def test_merges_that_cannot_be_made_are_named_too() -> None:
    tokens = (b"ab", b"abc")
    found = both_ways(listed((b"a", b"b"), (b"ab", b"c"), tokens=tokens), listed((b"a", b"b"), tokens=tokens))
    assert found.witness is not None
    assert (found.witness.text, found.witness.a, found.witness.b) == ("abc", (257,), (256, 99))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"texts": b"a"}, "texts must be a str or an iterable of str, not bytes"),
        ({"texts": 5}, "texts must be a str or an iterable of str, not int"),
        ({"texts": ["a", 5]}, r"texts\[1\] must be str, not int"),
    ],
)
def test_wrong_arguments(given: dict[str, Any], said: str) -> None:
    tok = Tokenizer.from_tokens(BYTES)
    with pytest.raises(TypeError, match=said):
        diff(tok, tok, **given)
    with pytest.raises(TypeError, match="b must be a Tokenizer, not str"):
        diff(tok, "cl100k_base")  # type: ignore[arg-type]
