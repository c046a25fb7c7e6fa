"""Special tokens, pairs, truncation, padding and trimmed offsets: what tokenizers 0.23.3 gives.

What differs, and why, is in docs/differences.md; the tests of those differences are at the end.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exact.files import both, file_of, special

WORDS = ["a", "b", "c", "d", "e"]
TOKENS = ["<unk>", *WORDS, "[CLS]", "[SEP]", "[PAD]"]
ADDED = [special(0, "<unk>"), special(6, "[CLS]"), special(7, "[SEP]"), special(8, "[PAD]")]


def piece(name: str, type_id: int) -> dict[str, Any]:
    kind = "Sequence" if name in "AB" else "SpecialToken"
    return {kind: {"id": name, "type_id": type_id}}


def template(single: str, pair: str) -> dict[str, Any]:
    """From `[CLS]:0 A:0 [SEP]:0`."""

    def pieces(text: str) -> list[dict[str, Any]]:
        return [piece(name, int(type_id)) for name, type_id in (part.split(":") for part in text.split())]

    return {
        "type": "TemplateProcessing",
        "single": pieces(single),
        "pair": pieces(pair),
        "special_tokens": {
            "[CLS]": {"id": "[CLS]", "ids": [6], "tokens": ["[CLS]"]},
            "[SEP]": {"id": "[SEP]", "ids": [7, 7], "tokens": ["[SEP]", "[SEP]"]},
        },
    }


BERT = {"type": "BertProcessing", "sep": ["[SEP]", 7], "cls": ["[CLS]", 6]}
ROBERTA = {**BERT, "type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": False}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
TEMPLATE = template("[CLS]:0 A:0 [SEP]:0", "[CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1")
PROCESSORS = {
    "none": None,
    "bert": BERT,
    "roberta": ROBERTA,
    "byte-level": BYTE_LEVEL,
    "template": TEMPLATE,
    "template, odd types": template("[SEP]:4 A:3", "B:1 [SEP]:9 A:2"),
    "template, A twice": template("A:0 [CLS]:1 A:2", "A:0 B:1 A:2"),
    "template, no B": template("A:0", "A:0 [SEP]:0"),
    "sequence": {"type": "Sequence", "processors": [BYTE_LEVEL, TEMPLATE]},
    "sequence, bert twice": {"type": "Sequence", "processors": [BERT, BERT]},
}


@pytest.fixture(scope="module", params=PROCESSORS)
def pair_of(request: pytest.FixtureRequest, native: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The name of a post-processor, ours and theirs."""
    file = file_of(
        TOKENS,
        post_processor=PROCESSORS[request.param],
        pre_tokenizer={"type": "WhitespaceSplit"},
        added_tokens=ADDED,
    )
    return (request.param, *both(native, tmp_path_factory.mktemp("processor"), file))


def fields(encoding: Any, *, types: bool = True) -> dict[str, Any]:
    names = ["ids", "tokens", "offsets", "attention_mask", "special_tokens_mask", "word_ids"]
    return {name: getattr(encoding, name) for name in [*names, *(["type_ids"] if types else [])]}


def same(name: str, ours: Any, theirs: Any) -> None:
    """An encoding and its overflow."""
    # Bert twice: the peer forgets the mask of what the first one added.
    assert fields(ours, types=True) == fields(theirs) or name == "sequence, bert twice"
    assert ours.ids == theirs.ids
    # In what overflows, the peer keeps the types from before the post-processor: in docs/differences.md.
    types = name in ("none", "bert", "byte-level")
    assert len(ours.overflowing) == len(theirs.overflowing)
    for window, expected in zip(ours.overflowing, theirs.overflowing, strict=True):
        assert window.ids == expected.ids
        if name != "sequence, bert twice":
            assert fields(window, types=types) == fields(expected, types=types)


texts = st.lists(st.sampled_from([*WORDS, "x"]), max_size=12).map(" ".join)
flags = st.booleans()


@given(text=texts, pair=st.none() | texts, adds=flags)
def test_special_tokens_stand_where_the_peer_puts_them(
    pair_of: Any, text: str, pair: str | None, adds: bool
) -> None:
    name, ours, theirs = pair_of
    theirs.no_truncation()
    theirs.no_padding()
    expected = theirs.encode(text, pair, add_special_tokens=adds)
    encoding = ours.encode_with_offsets(text, pair, add_special_tokens=adds)
    same(name, encoding, expected)
    assert ours(text, pair, add_special_tokens=adds) == encoding
    # Without a processor, or for a sequence that is there twice, the peer knows one place or none.
    if name != "none" and "twice" not in name:
        assert encoding.sequence_ids == expected.sequence_ids
    if pair is None:
        assert ours.encode(text, add_special_tokens=adds) == expected.ids
        assert ours.count(text, add_special_tokens=adds) == len(expected.ids)
        assert ours.encode_to_numpy(text, add_special_tokens=adds).tolist() == expected.ids
        rows = ours.encode_batch([text, "", text], add_special_tokens=adds).to_lists()
        assert rows == [expected.ids, ours.encode("", add_special_tokens=adds), expected.ids]
        assert ours.count_batch([text, ""], add_special_tokens=adds).tolist() == [len(rows[0]), len(rows[1])]


@given(text=texts, pair=st.none() | texts)
def test_what_stands_where_is_found_as_in_the_peer(pair_of: Any, text: str, pair: str | None) -> None:
    name, ours, theirs = pair_of
    theirs.no_truncation()
    theirs.no_padding()
    if "twice" in name or name == "none":
        return  # the peer knows one place of a sequence
    expected = theirs.encode(text, pair)
    found = ours(text, pair)
    for sequence in range(1 if pair is None or "no B" in name else 2):
        for at in range(12):
            assert found.char_to_token(at, sequence) == expected.char_to_token(at, sequence)
            assert found.word_to_tokens(at, sequence) == expected.word_to_tokens(at, sequence)
    for token in range(len(found) + 2):
        assert found.token_to_chars(token) == expected.token_to_chars(token)
        assert found.token_to_word(token) == expected.token_to_word(token)


@given(
    text=texts,
    pair=st.none() | texts,
    adds=flags,
    max_length=st.integers(0, 14),
    stride=st.integers(0, 3),
    strategy=st.sampled_from(["longest_first", "only_first", "only_second"]),
    side=st.sampled_from(["left", "right"]),
)
def test_windows_are_those_of_the_peer(
    pair_of: Any,
    text: str,
    pair: str | None,
    adds: bool,
    max_length: int,
    stride: int,
    strategy: str,
    side: str,
) -> None:
    name, ours, theirs = pair_of
    theirs.no_padding()
    options = {"max_length": max_length, "stride": stride}
    try:
        theirs.enable_truncation(strategy=strategy, direction=side, **options)
    except ValueError:  # no room for a stride beside special tokens, asked for or not
        theirs.no_truncation()
        return
    try:
        expected = theirs.encode(text, pair, add_special_tokens=adds)
    except BaseException:  # its panics are no exceptions
        expected = None
    finally:
        theirs.no_truncation()
    more = {"truncation": strategy, "truncation_side": side, **options}
    added = len(ours("", None if pair is None else "", add_special_tokens=adds))
    room = max_length - added
    # Refused here whatever the text is: the peer looks at lengths first, or not at all.
    if expected is None or room < 0 or 0 < room <= stride:
        with pytest.raises(ValueError, match=r"max_length|stride|pair"):
            ours(text, pair, add_special_tokens=adds, **more)
    else:
        same(name, ours(text, pair, add_special_tokens=adds, **more), expected)


@given(
    rows=st.lists(texts, min_size=1, max_size=4),
    side=st.sampled_from(["left", "right"]),
    length=st.none() | st.integers(0, 12),
    multiple=st.none() | st.integers(1, 5),
    max_length=st.none() | st.integers(6, 9),
)
def test_padding_is_that_of_the_peer(
    native: Any,
    tmp_path_factory: pytest.TempPathFactory,
    pair_of: Any,
    rows: list[str],
    side: str,
    length: int | None,
    multiple: int | None,
    max_length: int | None,
) -> None:
    name, _, theirs = pair_of
    theirs.no_truncation()
    if max_length is not None:
        theirs.enable_truncation(max_length=max_length)
    theirs.enable_padding(
        direction=side, pad_id=8, pad_type_id=0, pad_token="[PAD]", length=length, pad_to_multiple_of=multiple
    )
    expected = theirs.encode_batch(rows)
    file = json.loads(theirs.to_str())
    theirs.no_truncation()
    theirs.no_padding()
    again, _ = both(native, tmp_path_factory.mktemp("padding"), file)
    found = again(rows, padding=True, truncation=max_length is not None)
    for window, wanted in zip(found, expected, strict=True):
        same(name, window, wanted)
    if length is None and max_length is None:
        options = {"padding_side": side, "pad_to_multiple_of": multiple}
        assert again(rows, padding="longest", **options) == found


@given(words=st.lists(st.sampled_from([*WORDS, "a b", "", "x"]), max_size=6), adds=flags)
def test_words_that_are_given_are_those_of_the_peer(pair_of: Any, words: list[str], adds: bool) -> None:
    name, ours, theirs = pair_of
    theirs.no_truncation()
    theirs.no_padding()
    pair = ["b", "a b"]
    for second in (None, pair):
        expected = theirs.encode(words, second, is_pretokenized=True, add_special_tokens=adds)
        found = ours.encode_with_offsets(words, second, is_pretokenized=True, add_special_tokens=adds)
        same(name, found, expected)
    assert ours([words, pair], is_pretokenized=True)[0].ids == theirs.encode(words, is_pretokenized=True).ids


# ---- byte-level offsets -------------------------------------------------------------------------

ALPHABET = [*"abĠéÃ©<x>mĉĊł"]


def byte_level_file(*, prefix: bool, processor: dict[str, Any]) -> dict[str, Any]:
    from tokenizers import pre_tokenizers

    tokens = sorted({*pre_tokenizers.ByteLevel.alphabet()})
    tokens += ["ĠĠ", "Ġa", "aĠ", "ĠĠĠ", "ab"]
    merges = [["Ġ", "Ġ"], ["Ġ", "a"], ["a", "b"], ["ĠĠ", "Ġ"], ["a", "Ġ"]]
    model = {"type": "BPE", "vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges}
    added = [
        special(len(tokens), "<x>"),
        special(len(tokens) + 1, "<m>", lstrip=True, rstrip=True),
        special(len(tokens) + 2, " s "),
    ]
    pre_tokenizer = {**BYTE_LEVEL, "add_prefix_space": prefix, "trim_offsets": True}
    return {**file_of(["a"]), "model": model, "added_tokens": added, "pre_tokenizer": pre_tokenizer} | {
        "post_processor": processor
    }


byte_texts = st.text(st.sampled_from("ab é \u00a0\t<xms>"), max_size=14) | st.lists(
    st.sampled_from(["a", " ", "<x>", "<m>", " s ", "  ", "b"]), max_size=8
).map("".join)


@pytest.fixture(scope="module", params=["byte-level", "roberta"])
def trimming(request: pytest.FixtureRequest, native: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    processor = BYTE_LEVEL
    if request.param == "roberta":
        processor = {**ROBERTA, "sep": ["<x>", 261], "cls": ["<x>", 261]}
    file = byte_level_file(prefix=False, processor=processor)
    return both(native, tmp_path_factory.mktemp("trimming"), file)


@given(text=byte_texts, pair=st.none() | byte_texts, adds=flags)
def test_trimmed_offsets_are_those_of_the_peer(
    trimming: Any, text: str, pair: str | None, adds: bool
) -> None:
    ours, theirs = trimming
    expected = theirs.encode(text, pair, add_special_tokens=adds)
    found = ours.encode_with_offsets(text, pair, add_special_tokens=adds, special="parse")
    assert found.ids == expected.ids
    assert found.offsets == expected.offsets


# ---- differences --------------------------------------------------------------------------------


def test_a_space_of_the_text_is_left_out_and_one_that_was_put_there_is_no_part_of_it(
    native: Any, tmp_path: Path
) -> None:
    processor = {**BYTE_LEVEL, "add_prefix_space": True}
    ours, theirs = both(native, tmp_path, byte_level_file(prefix=True, processor=processor))

    def offsets(text: str) -> tuple[Any, Any]:
        found = ours.encode_with_offsets(text, special="parse")
        expected = theirs.encode(text)
        assert found.ids == expected.ids
        return found.offsets, expected.offsets

    assert offsets("a a") == ([(0, 1), (2, 3)], [(0, 1), (2, 3)])
    assert offsets(" a") == ([(1, 2)], [(0, 2)])
    assert offsets(" ") == ([(1, 1)], [(0, 0)])
    assert offsets("a<x>a") == ([(0, 1), (1, 4), (4, 5)], [(0, 1), (1, 4), (5, 5)])


def test_tokens_are_those_of_the_ids_here_and_text_in_the_peer(native: Any, data: Path) -> None:
    from tokenizers import Tokenizer

    for name, text, want in (("roberta-base", "a <mask>", " <mask>"), ("t5-small", "<", "<")):
        path = data / "vocab" / name / "tokenizer.json"
        expected = Tokenizer.from_file(str(path)).encode(text)
        found = native.load(path)(text, special="parse")
        assert (found.ids, found.offsets) == (expected.ids, expected.offsets)
        assert want in expected.tokens
        assert found.surface_tokens == expected.tokens
        ids = native.load(path).vocab
        assert [ids[token] for token in found.tokens] == found.ids


def test_windows_have_the_types_of_the_first_one_here(native: Any, tmp_path: Path) -> None:
    file = file_of(
        TOKENS,
        post_processor=template("A:3", "A:3 B:4"),
        pre_tokenizer={"type": "WhitespaceSplit"},
        added_tokens=ADDED,
    )
    ours, theirs = both(native, tmp_path, file)
    theirs.enable_truncation(2)
    expected = theirs.encode("a b c")
    assert (expected.type_ids, expected.overflowing[0].type_ids) == ([3, 3], [0])
    found = ours("a b c", truncation=True, max_length=2)
    assert (found.type_ids, found.overflowing[0].type_ids) == ([3, 3], [3])


def test_sequences_are_known_after_truncation_and_padding_here(native: Any, tmp_path: Path) -> None:
    file = file_of(TOKENS, pre_tokenizer={"type": "WhitespaceSplit"}, added_tokens=ADDED)
    ours, theirs = both(native, tmp_path, file)
    theirs.enable_truncation(4)
    theirs.enable_padding(pad_id=8, pad_token="[PAD]", length=5)
    assert theirs.encode("a", "b c d e").overflowing[0].sequence_ids == [0, None, None, None, None]
    file["padding"] = json.loads(theirs.to_str())["padding"]
    ours, _ = both(native, tmp_path, file)
    found = ours("a", "b c d e", truncation=True, max_length=4, padding=True)
    assert found.overflowing[0].sequence_ids == [0, 1, None, None, None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"truncation": True}, "needs max_length"),
        ({"truncation": "longest"}, "longest_first"),
        ({"max_length": 2}, "no room for the 3 special tokens"),
        ({"max_length": 5, "stride": 2}, "stride=2 is not below 2"),
        ({"truncation": "only_second", "max_length": 4}, "needs a pair"),
        ({"padding": "max_length"}, "needs max_length"),
        ({"padding": True}, "pad_token_id"),
        ({"padding": "shortest"}, "longest"),
        ({"truncation_side": "up", "max_length": 5}, "left"),
    ],
)
def test_limits_that_cannot_be_are_errors(native: Any, tmp_path: Path, options: Any, message: str) -> None:
    file = file_of(
        TOKENS, post_processor=TEMPLATE, pre_tokenizer={"type": "WhitespaceSplit"}, added_tokens=ADDED
    )
    file["added_tokens"] = [token for token in ADDED if token["content"] != "[PAD]"]
    ours, _ = both(native, tmp_path, file)
    with pytest.raises(ValueError, match=message):
        ours("a b c d e", **options)


def test_a_template_that_names_what_is_not_there_is_refused(native: Any, tmp_path: Path) -> None:
    for single, field in (("[MASK]:0 A:0", "single[0]"), ("A:0 B:0", "single[1]")):
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(file_of(TOKENS, post_processor=template(single, "A:0"))), encoding="utf-8")
        with pytest.raises(native.FormatError) as error:
            native.load(path)
        assert error.value.field.startswith("post_processor")
        assert error.value.field.endswith(field)
