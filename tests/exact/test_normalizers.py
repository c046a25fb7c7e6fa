"""Every normalizer beside tokenizers 0.23.3: text and offsets of every character in six contexts.

The model spells bytes, so that the ids are the normalized text. Where the offsets differ, ours hold
theirs and more: what a character of the normalized text was made of, where the reference names the
first or the last character of it only (docs/differences.md). The fast run takes a sample of the
characters, the slow one all that are assigned, and a sample of ranges where nothing is or all is private.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .characters import EVERY, apart, contexts, scalars, shared_contexts
from .texts import batches

BATCH = 4096

BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
STEPS: dict[str, dict[str, object]] = {
    "nfc": {"type": "NFC"},
    "nfd": {"type": "NFD"},
    "nfkc": {"type": "NFKC"},
    "nfkd": {"type": "NFKD"},
    "lowercase": {"type": "Lowercase"},
    "strip": {"type": "Strip", "strip_left": True, "strip_right": True},
    "strip-left": {"type": "Strip", "strip_left": True, "strip_right": False},
    "strip-accents": {"type": "StripAccents"},
    "replace": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    "replace-longer": {"type": "Replace", "pattern": {"String": "a"}, "content": "▁é"},
    "insert": {"type": "Replace", "pattern": {"Regex": "(?<=[a ])"}, "content": "-"},
    "replace-regex": {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "},
    "remove-regex": {"type": "Replace", "pattern": {"Regex": "[\\p{L}1]"}, "content": ""},
    "prepend": {"type": "Prepend", "prepend": "▁x"},
    "byte-level": {"type": "ByteLevel"},
    "nmt": {"type": "Nmt"},
    "bert-uncased": {**BERT, "strip_accents": None, "lowercase": True},
    "bert-cased": {**BERT, "strip_accents": None, "lowercase": False},
    "bert-accents": {**BERT, "strip_accents": False, "lowercase": True},
    "sequence": {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFKD"},
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            {"type": "StripAccents"},
            {"type": "Lowercase"},
        ],
    },
}
# Nothing is made of several characters, or changes places.
SAME_OFFSETS = set(STEPS) - {"nfc", "nfd", "nfkc", "nfkd", "replace-regex", "sequence"} - {"bert-uncased"}

Pair = tuple[str, Any, Any]


def pair_of(name: str, normalizer: object, native: Any, folder: Path) -> Pair:
    """Ours and theirs of one file: a normalizer, and a vocabulary of the 256 bytes."""
    from tokenizers import Tokenizer

    written = _alphabet()
    file = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": normalizer,
        "pre_tokenizer": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": False,
            "use_regex": False,
        },
        "post_processor": None,
        "decoder": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": False,
            "use_regex": False,
        },
        "model": {"type": "BPE", "vocab": {c: i for i, c in enumerate(written)}, "merges": []},
    }
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    return name, native.load(path), Tokenizer.from_file(str(path))


def _alphabet() -> list[str]:
    """The characters that stand for the 256 bytes."""
    themselves = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in themselves else chr(next(others)) for byte in range(256)]


@pytest.fixture(scope="module", params=STEPS)
def pair(request: pytest.FixtureRequest, native: Any, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Name, our tokenizer, theirs."""
    return pair_of(request.param, STEPS[request.param], native, tmp_path_factory.mktemp("normalizer"))


def compare(pair: Pair, texts: Iterable[str], comparable: Callable[[str], bool] = lambda _: True) -> None:
    """Same ids, and offsets that are the same or hold theirs."""
    name, ours, theirs = pair
    for batch in batches(texts, BATCH):
        for text, wanted in zip(batch, theirs.encode_batch(batch, add_special_tokens=False), strict=True):
            got = ours.encode_with_offsets(text)
            assert list(got.ids) == wanted.ids, (name, text)
            offsets = got.offsets
            if offsets == wanted.offsets:
                continue
            assert name not in SAME_OFFSETS, (name, text, offsets, wanted.offsets)
            assert offsets == sorted(offsets), (name, text)
            assert all(end <= len(text) for _, end in offsets), (name, text)
            if comparable(text):
                both = zip(offsets, wanted.offsets, strict=True)
                held = all(start <= a and b <= end for (start, end), (a, b) in both)
                assert held, (name, text, offsets, wanted.offsets)


def compare_shared(
    pair: Pair, codes: Iterable[int], comparable: Callable[[str], bool] = lambda _: True
) -> None:
    """Each character in six contexts; where a text that many share differs, every part of it by itself."""
    _, ours, theirs = pair
    for batch in batches(shared_contexts(codes), BATCH):
        wanted = theirs.encode_batch(batch, add_special_tokens=False)
        for text, want, got in zip(batch, wanted, map(ours.encode_with_offsets, batch), strict=True):
            if got.ids != want.ids or got.offsets != want.offsets:
                compare(pair, apart(text), comparable)
                assert got.ids == want.ids, (pair[0], text)


def test_a_sample_of_all_characters_in_six_contexts(pair: Pair) -> None:
    first = sorted(STEPS).index(pair[0])
    compare(pair, contexts(scalars(range(first, sys.maxunicode + 1, 191))))
    compare(pair, ["", "a", " ", "1", *contexts(range(0x250))])


@pytest.mark.slow
def test_all_characters_in_six_contexts(pair: Pair) -> None:
    compare_shared(pair, EVERY)


# What acts on its neighbours: marks of several classes, jamo, what composes in Indic scripts,
# ideographs, controls, blanks.
ACTIVE = [
    *"aeAEİißΣ 1-\t\r\né\x00\x01\x7f\x85\xa0Å½ﬁ①㌀中㐀\u200b\u200d\u2028\ufeff\ufffd▁ｶﾞ😀🇩🇪ไำか",
    *map(chr, [*range(0x300, 0x34F), *range(0x1100, 0x1113), *range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]),
    *"가각갛한\u093c\u0958\u09c7\u09be\u09cb\u09d7\u0b47\u0b3e\u0b56\u0dd9\u0dcf\u0dca\u0ddd\u1e69\u0f73\u0f71\u0f72",
    *"\U0001d15e\U0001d165\U00011131\U00011127\U000114b9\U000114b0\U0002b820\U0002b920\U000e0100\u3099\u3000",
]


@given(texts=st.lists(st.text(st.sampled_from(ACTIVE), max_size=9), min_size=20, max_size=60))
def test_characters_that_act_on_each_other(pair: Pair, texts: list[str]) -> None:
    compare(pair, texts)


@pytest.fixture(scope="module")
def precompiled(native: Any, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """The map of a published file."""
    path = data / "vocab" / "t5-small" / "tokenizer.json"
    step = json.loads(path.read_text(encoding="utf-8"))["normalizer"]
    while step["type"] == "Sequence":
        step = next(part for part in step["normalizers"] if part["type"] in ("Sequence", "Precompiled"))
    assert step["type"] == "Precompiled"
    return pair_of("precompiled", step, native, tmp_path_factory.mktemp("precompiled"))


def comparable_with_precompiled(pair: Pair) -> Callable[[str], bool]:
    """Behind a character that goes at the start of a text, or behind one that makes several, the
    reference is wrong about all that follows."""
    normalizer = pair[2].normalizer
    return lambda text: all(normalizer.normalize_str(c) for c in text)


def test_a_precompiled_map_on_a_sample_of_all_characters(precompiled: Pair) -> None:
    codes = scalars(range(0, sys.maxunicode + 1, 191))
    compare(precompiled, contexts(codes), comparable_with_precompiled(precompiled))
    rng = random.Random(1)
    texts = ["".join(rng.choices(ACTIVE, k=rng.randint(1, 9))) for _ in range(5000)]
    compare(precompiled, texts, comparable_with_precompiled(precompiled))


@pytest.mark.slow
def test_a_precompiled_map_on_all_characters(precompiled: Pair) -> None:
    compare_shared(precompiled, EVERY, comparable_with_precompiled(precompiled))


def offsets(tokenizer: Any, text: str) -> list[tuple[int, int]]:
    """Those of the characters of the normalized text."""
    encode = getattr(tokenizer, "encode_with_offsets", tokenizer.encode)
    encoding = encode(text)
    # A byte that continues a character has the offsets of the first.
    pairs = zip(encoding.ids, encoding.offsets, strict=True)
    return [(start, end) for byte, (start, end) in pairs if byte & 0xC0 != 0x80]


@pytest.mark.parametrize(
    ("normalizer", "text", "theirs", "ours"),
    [
        ({"type": "NFC"}, "e\u0301!", [(0, 1), (2, 3)], [(0, 2), (2, 3)]),
        ({"type": "NFC"}, "\u1112\u1161\u11ab", [(0, 1)], [(0, 3)]),
        ({"type": "NFD"}, "\u0301\u0323", [(0, 1), (1, 2)], [(0, 2), (0, 2)]),
        (
            {"type": "Replace", "pattern": {"String": "ab"}, "content": "X"},
            "1ab",
            [(0, 1), (2, 3)],
            [(0, 1), (1, 3)],
        ),
    ],
)
def test_a_character_stands_for_all_that_it_was_made_of_here(
    native: Any,
    tmp_path: Path,
    normalizer: object,
    text: str,
    theirs: list[tuple[int, int]],
    ours: list[tuple[int, int]],
) -> None:
    _, mine, peer = pair_of("differs", normalizer, native, tmp_path)
    assert offsets(peer, text) == theirs
    assert offsets(mine, text) == ours


def test_a_cluster_that_a_precompiled_map_replaces_is_all_of_what_stands_for_it(precompiled: Pair) -> None:
    _, mine, peer = precompiled
    assert offsets(peer, "①\u0301b") == [(0, 1), (2, 3)]
    assert offsets(mine, "①\u0301b") == [(0, 2), (2, 3)]


def test_what_a_precompiled_map_drops_at_the_start_shifts_all_offsets_of_the_peer(precompiled: Pair) -> None:
    _, mine, peer = precompiled
    assert offsets(peer, "\x01ab") == [(0, 1), (1, 2)]
    assert offsets(mine, "\x01ab") == [(1, 2), (2, 3)]


def test_a_match_of_nothing_at_the_start_panics_in_the_peer(native: Any, tmp_path: Path) -> None:
    steps = [{"type": "Replace", "pattern": {"Regex": "^"}, "content": "x"}, {"type": "Lowercase"}]
    normalizer = {"type": "Sequence", "normalizers": steps}
    _, mine, peer = pair_of("panics", normalizer, native, tmp_path)
    assert mine.decode(mine.encode("B")) == "xb"
    with pytest.raises(BaseException, match="index out of bounds"):
        peer.encode("B")
