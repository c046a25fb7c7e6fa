"""Every field of a BPE model in a tokenizer.json means what it means to tokenizers 0.23.3."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

CHARS = ["a", "b", "é", "漢", "😀", "#"]
Ids = list[int]
Offsets = list[tuple[int, int]]


def file_of(model: dict[str, Any], added: list[str] | None = None) -> str:
    """A tokenizer.json with nothing around the model."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    vocab = model["vocab"]
    return json.dumps(
        {
            "version": "1.0",
            "added_tokens": [{"id": vocab[content], "content": content, **flags} for content in added or []],
            "normalizer": None,
            "pre_tokenizer": None,
            "post_processor": None,
            "decoder": None,
            "model": {"type": "BPE", **model},
        }
    )


@st.composite
def files(draw: st.DrawFn) -> str:
    """A small vocabulary with any of the fields, and merges of any of its tokens."""
    prefix = draw(st.sampled_from([None, "##", "é"]))
    suffix = draw(st.sampled_from([None, "</w>", "漢"]))
    unk = draw(st.sampled_from([None, "<unk>"]))
    byte_fallback = draw(st.booleans())
    drawn = draw(st.randoms(use_true_random=False))
    tokens = dict.fromkeys([unk] if unk else [])
    for char in CHARS:
        for form in sorted(
            {before + char + after for before in ("", prefix or "") for after in ("", suffix or "")}
        ):
            if drawn.random() < 0.6:
                tokens[form] = None
    if byte_fallback:
        share = drawn.choice([0.7, 1])
        for byte in sorted(set("".join([*CHARS, "z", prefix or "", suffix or ""]).encode())):
            if drawn.random() < share:
                tokens[f"<0x{byte:02X}>"] = None
    merges: list[tuple[str, str]] = []
    for _ in range(drawn.randrange(14)):
        left, right = drawn.choices(list(tokens) or [""], k=2)
        # The peer cuts as many bytes as the prefix has, whatever they are, and `<unk>` is a token too.
        follows = right.startswith(prefix or "") or (right == unk and prefix == "##")
        if left and right and follows:
            tokens[left + right[len(prefix or "") :]] = None
            merges.append((left, right))
    is_added = unk is not None and not any(unk in merge for merge in merges) and drawn.random() < 0.5
    model = {
        "vocab": {token: number for number, token in enumerate(tokens)},
        "merges": merges,
        "unk_token": unk,
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix,
        "fuse_unk": draw(st.booleans()),
        "byte_fallback": byte_fallback,
        "ignore_merges": draw(st.booleans()),
    }
    return file_of(model, ["<unk>"] if is_added else [])


TEXTS = st.text(st.sampled_from([*CHARS, "z", "a", "b"]), max_size=12) | st.text(
    st.sampled_from(["a", "b"]), min_size=81, max_size=120
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fields") / "tokenizer.json"


def both(native: Any, place: Path, file: str) -> tuple[Any, Any]:
    from tokenizers import Tokenizer

    place.write_text(file, encoding="utf-8")
    return native.load(place), Tokenizer.from_str(file)


def ours_of(tok: Any, text: str) -> tuple[Ids, Offsets]:
    encoding = tok.encode_with_offsets(text)
    return [int(number) for number in encoding.ids], [(int(a), int(b)) for a, b in encoding.offsets]


@given(file=files(), texts=st.lists(TEXTS, min_size=8, max_size=8))
def test_ids_and_offsets_are_the_same(native: Any, place: Path, file: str, texts: list[str]) -> None:
    tok, peer = both(native, place, file)
    model = json.loads(file)["model"]
    has_marks = model["continuing_subword_prefix"] or model["end_of_word_suffix"]
    for text in texts:
        try:
            ids, offsets = ours_of(tok, text)
        except native.UnknownTokenError:
            # The peer drops the character.
            assert model["unk_token"] is None
            continue
        theirs = peer.encode(text)
        assert ids == theirs.ids
        if model["byte_fallback"] and has_marks:
            # Its offsets count the bytes of marks, too: see the test below.
            assert offsets == sorted(offsets)
            assert all(end <= len(text) for _, end in offsets)
        else:
            assert offsets == theirs.offsets


def test_bytes_of_marks_are_no_bytes_of_the_text(native: Any, place: Path) -> None:
    """Where a marked character becomes bytes, those of the marks are tokens in the peer, and counted."""
    tokens = ["a", "##b", *[f"<0x{byte:02X}>" for byte in sorted(set("##é/".encode()))]]
    model = {
        "vocab": {token: number for number, token in enumerate(tokens)},
        "merges": [],
        "continuing_subword_prefix": "##",
        "end_of_word_suffix": "/",
        "byte_fallback": True,
    }
    tok, peer = both(native, place, file_of(model))
    ids, offsets = ours_of(tok, "aé")
    theirs = peer.encode("aé")
    assert theirs.tokens == ["a", "<0x23>", "<0x23>", "<0xC3>", "<0xA9>", "<0x2F>"]
    assert ids == theirs.ids
    assert offsets == [(0, 1), (1, 1), (1, 1), (1, 2), (1, 2), (2, 2)]
    assert theirs.offsets[-1][1] > 2


def test_a_merge_that_is_listed_twice_counts_at_its_last_place(native: Any, place: Path) -> None:
    tokens = ["a", "b", "c", "ab", "bc"]
    merges = [("a", "b"), ("b", "c"), ("a", "b")]
    model = {"vocab": {token: number for number, token in enumerate(tokens)}, "merges": merges}
    tok, peer = both(native, place, file_of(model))
    assert tok.encode("abc") == peer.encode("abc").ids == [0, 4]


def test_text_never_becomes_a_special_token_by_merging(native: Any, place: Path) -> None:
    """The peer finds the literal before the model does; where it may not, merging makes it."""
    tokens = ["<", "s", ">", "<s", "<s>"]
    model = {
        "vocab": {token: number for number, token in enumerate(tokens)},
        "merges": [("<", "s"), ("<s", ">")],
        "ignore_merges": True,
    }
    tok, peer = both(native, place, file_of(model, ["<s>"]))
    assert tok.encode("<s>") == [3, 2]
    assert tok.encode("<s>", special="parse") == peer.encode("<s>").ids == [4]
    peer.encode_special_tokens = True
    assert peer.encode("<s>").ids == [4]


def test_dropout_in_a_file_changes_no_ordinary_call(native: Any, place: Path) -> None:
    tokens = ["a", "b", "ab", "abab"]
    model = {
        "vocab": {token: number for number, token in enumerate(tokens)},
        "merges": [("a", "b"), ("ab", "ab")],
        "dropout": 0.5,
    }
    tok, peer = both(native, place, file_of(model))
    assert {tuple(tok.encode("abab")) for _ in range(50)} == {(3,)}
    assert len({tuple(peer.encode("abab").ids) for _ in range(200)}) == 5


DROPOUT_TOKENS = ["a", "b", "c", "aa", "ab", "bc", "abc", "aab"]
DROPOUT_MERGES = [("a", "b"), ("b", "c"), ("ab", "c"), ("a", "a"), ("a", "bc"), ("a", "ab")]


@pytest.mark.slow
@pytest.mark.parametrize("dropout", [0.1, 0.5, 0.9])
def test_dropout_is_spread_as_in_the_peer(dropout: float, native: Any, place: Path) -> None:
    """Two samples of equal size are of one distribution, by chi-square."""
    vocab = {token: number for number, token in enumerate(DROPOUT_TOKENS)}
    tok, peer = both(native, place, file_of({"vocab": vocab, "merges": DROPOUT_MERGES, "dropout": dropout}))
    size = 100_000
    ours = Counter(tuple(tok.sample("aabcab", seed=seed)) for seed in range(size))
    theirs = Counter(tuple(each.ids) for each in peer.encode_batch(["aabcab"] * size))
    common = [ids for ids in ours | theirs if ours[ids] + theirs[ids] >= 40]
    assert len(common) > 3
    statistic = sum((ours[ids] - theirs[ids]) ** 2 / (ours[ids] + theirs[ids]) for ids in common)
    # Mean and variance of chi-square with so many classes are n and 2n; the peer draws without a seed.
    assert statistic < len(common) + 6 * (2 * len(common)) ** 0.5


def test_dropout_is_by_seed_and_from_the_file_unless_given(native: Any, place: Path) -> None:
    vocab = {token: number for number, token in enumerate(DROPOUT_TOKENS)}
    tok, _ = both(native, place, file_of({"vocab": vocab, "merges": DROPOUT_MERGES, "dropout": 0.5}))
    assert tok.sample("aabcab", seed=3) == tok.sample("aabcab", seed=3, dropout=0.5)
    assert tok.sample("aabcab", seed=3, dropout=0) == tok.encode("aabcab")
    assert tok.sample("abc", seed=3, dropout=1) == [0, 1, 2]
    assert len({tuple(tok.sample("aabcab", seed=seed)) for seed in range(50)}) > 5
    plain, _ = both(native, place, file_of({"vocab": vocab, "merges": DROPOUT_MERGES}))
    for arguments in ({}, {"dropout": 1.5}, {"dropout": 0.1, "alpha": 0.1}):
        with pytest.raises(ValueError, match="dropout"):
            plain.sample("abc", seed=3, **arguments)
    with pytest.raises(native.FormatError):
        plain.sample("abc", seed=3, alpha=0.1)


@pytest.mark.parametrize("name", ["llama2", "mistral-7b-v0.3", "phi-3-mini", "clip"])
def test_published_models_over_characters_are_the_same(
    name: str, native: Any, data: Path, corpus: Any, place: Path
) -> None:
    """The models alone: the pretokens are those that the peer makes."""
    from tokenizers import Tokenizer

    source = (data / "vocab" / name / "tokenizer.json").read_text(encoding="utf-8")
    whole = Tokenizer.from_str(source)
    bare = json.loads(source) | {
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
    }
    tok, peer = both(native, place, json.dumps(bare))
    peer.encode_special_tokens = True
    text = "".join([corpus(kind)[:20_000] for kind in ("english", "code", "multilingual", "cjk")])
    pretokens: dict[str, None] = {}
    for line in [*text.splitlines(), "\x00\x7f ﷽ 𒀀", " " * 40, "a" * 300]:
        normalized = whole.normalizer.normalize_str(line) if whole.normalizer else line
        pieces = (
            whole.pre_tokenizer.pre_tokenize_str(normalized) if whole.pre_tokenizer else [(normalized, ())]
        )
        pretokens.update(dict.fromkeys([piece for piece, _ in pieces]))
    for pretoken in pretokens:
        theirs = peer.encode(pretoken, add_special_tokens=False)
        assert ours_of(tok, pretoken) == (theirs.ids, theirs.offsets)
