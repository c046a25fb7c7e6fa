"""Every decoder, alone and in chains: the text of tokenizers 0.23.3."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exact.files import both, file_of, special

TOKENS = [
    *["<unk>", "a", "b", " ", "▁", "▁the", "▁▁a▁", "é", "中", "do", " not", "n't", " n't", "'", " '", "s"],
    *[".", " .", " ,", "##a", "##", "#", "</w>", "lo</w>", "</w>lo</w>", "</w", "|", "<pad>", "_", "__"],
    *["_a_", " a ", "Ġ", "Ġa", "Ã", "©", "ÃĠ", "äŃ", "<é>", "<0x41>", "<0xC3>", "<0xa9>", "<0xE4>"],
    *["<0xB8>", "<0xAD>", "<0xFF>", "<0x+1>", "<0xzz>", "<0x4", "\u2581\u0301", "aba", "abab", "\U0001f600"],
]


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "decoders": list(steps)}


def replace(content: str, **pattern: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def strip(content: str, start: int, stop: int) -> dict[str, Any]:
    return {"type": "Strip", "content": content, "start": start, "stop": stop}


def metaspace(scheme: str) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True}


def ctc(pad: str, delimiter: str, *, cleanup: bool) -> dict[str, Any]:
    return {"type": "CTC", "pad_token": pad, "word_delimiter_token": delimiter, "cleanup": cleanup}


def word_piece(prefix: str, *, cleanup: bool) -> dict[str, Any]:
    return {"type": "WordPiece", "prefix": prefix, "cleanup": cleanup}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
FUSE = {"type": "Fuse"}
BYTE_FALLBACK = {"type": "ByteFallback"}
LLAMA = sequence(replace(" ", String="▁"), BYTE_FALLBACK, FUSE, strip(" ", 1, 0))

SINGLE = [
    BYTE_LEVEL,
    FUSE,
    BYTE_FALLBACK,
    metaspace("always"),
    metaspace("first"),
    metaspace("never"),
    word_piece("##", cleanup=True),
    word_piece("##", cleanup=False),
    word_piece("", cleanup=True),
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "BPEDecoder", "suffix": ""},
    ctc("<pad>", "|", cleanup=True),
    ctc("_", "a", cleanup=False),
    ctc("", "", cleanup=True),
    replace(" ", String="▁"),
    replace("-", String=""),
    replace("", String="aba"),
    replace("<>", Regex="a+|▁"),
    replace("-", Regex="b*"),
    replace("-", Regex="(?=a)"),
    replace("-", Regex="^a|a$"),
]
# Strip makes the peer panic on short strings: its place is behind Fuse, with other text around.
CHAINS = [
    LLAMA,
    sequence(BYTE_FALLBACK, metaspace("always")),
    sequence(FUSE, replace("-", Regex="[▁ ]+")),
    sequence(FUSE, replace("xx", String="a▁a"), word_piece("##", cleanup=True)),
    sequence(FUSE, {"type": "BPEDecoder", "suffix": "</w>"}, metaspace("first")),
    sequence(BYTE_LEVEL, replace("-", String=" a"), ctc("a", "-", cleanup=True)),
    sequence(word_piece("##", cleanup=True), BYTE_LEVEL, FUSE),
    sequence({"type": "BPEDecoder", "suffix": "</w>"}, {"type": "BPEDecoder", "suffix": "a"}),
    sequence(ctc("<pad>", "|", cleanup=True), metaspace("always"), FUSE, replace("", String=" ")),
    sequence(replace("<0x41>", String="a"), BYTE_FALLBACK, {"type": "BPEDecoder", "suffix": "A"}),
    sequence(FUSE, BYTE_FALLBACK, metaspace("never")),
    sequence(),
    None,
]


def name(step: dict[str, Any] | None) -> str:
    return "none" if step is None else json.dumps(step, ensure_ascii=True)[:70]


@pytest.fixture(scope="module", params=[*SINGLE, *CHAINS], ids=name)
def pair(request: pytest.FixtureRequest, native: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Ours and theirs with one decoder."""
    file = file_of(TOKENS, decoder=request.param, added_tokens=[special(0, "<unk>")])
    return both(native, tmp_path_factory.mktemp("decoder"), file)


rows = st.lists(st.integers(0, len(TOKENS) - 1), max_size=12)


@given(ids=rows, skip=st.booleans())
def test_a_decoder_gives_the_text_of_the_peer(pair: Any, ids: list[int], skip: bool) -> None:
    ours, theirs = pair
    expected = theirs.decode(ids, skip_special_tokens=skip)
    assert ours.decode(ids, skip_special_tokens=skip) == expected
    if ours.encode("") == [] and ours.decode_bytes(ids).isascii():
        assert ours.decode_bytes(ids, skip_special_tokens=skip).decode() == expected
    assert ours.decode_batch([ids, []], skip_special_tokens=skip) == [expected, ""]


@given(start=st.integers(0, 3), stop=st.integers(0, 3), ids=rows)
def test_strip_behind_fuse_gives_the_text_of_the_peer(
    native: Any, tmp_path_factory: pytest.TempPathFactory, start: int, stop: int, ids: list[int]
) -> None:
    strips = sequence(replace(" ", String="▁"), FUSE, strip(" ", start, stop))
    # With a letter somewhere the two ends cannot meet.
    file = file_of(TOKENS, decoder=strips)
    ours, theirs = both(native, tmp_path_factory.mktemp("strip"), file)
    assert ours.decode([*ids, 1, *reversed(ids)]) == theirs.decode([*ids, 1, *reversed(ids)])


@pytest.mark.parametrize("token", ["_", ""])
def test_strip_where_the_peer_panics_has_a_result(native: Any, tmp_path: Path, token: str) -> None:
    decoder = sequence(replace("", String="x"), strip("_", 1, 1))
    ours, theirs = both(native, tmp_path, file_of([token or "x"], decoder=decoder))
    assert ours.decode([0]) == ""
    with pytest.raises(BaseException, match=r"slice index|index out of bounds"):
        theirs.decode([0])


def test_undefined_ids_are_tokens_of_their_own_where_they_are_replaced(native: Any, tmp_path: Path) -> None:
    ours, _ = both(native, tmp_path, file_of(["a", "##b"], decoder=word_piece("##", cleanup=True)))
    assert ours.decode([0, 7, 1], undefined="replace") == "a \ufffdb"
    assert ours.decode([0, 7, 1], undefined="skip") == "ab"
    with pytest.raises(native.VocabularyError) as error:
        ours.decode([0, 7, 1])
    assert (error.value.id, error.value.position) == (7, 1)


def test_a_chain_that_explodes_is_refused(native: Any, tmp_path: Path) -> None:
    grows = sequence(*[replace("a" * 16, String="a") for _ in range(8)])
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file_of(["a"], decoder=grows)), encoding="utf-8")
    with pytest.raises(native.FormatError) as error:
        native.load(path)
    assert error.value.kind == "limit"
    assert error.value.field.startswith("decoder")


def test_an_added_token_that_is_a_byte_of_the_vocabulary_stands_for_that_byte(
    native: Any, tmp_path: Path
) -> None:
    """The model gives its id for a part of a character, which would come apart otherwise."""
    byte_level = {**BYTE_LEVEL, "add_prefix_space": False}
    vocab = {token: number for number, token in enumerate(["æ", "¼", "¢", "Ġ", "a"])}
    added = [special(2, "¢", special=False), special(3, "Ġ", special=False)]
    model = {"type": "BPE", "vocab": vocab, "merges": []}
    stages = {"pre_tokenizer": byte_level, "decoder": byte_level}
    ours, theirs = both(native, tmp_path, file_of([""], model=model, added_tokens=added, **stages))
    for text, decoded in {"漢 a": "漢 a", "¢": "\ufffd", "aĠa": "a a"}.items():
        ids = ours.encode(text)
        assert ids == theirs.encode(text).ids
        assert ours.decode(ids) == theirs.decode(ids) == decoded
        assert ours.decode(ids, skip_special_tokens=True) == decoded
