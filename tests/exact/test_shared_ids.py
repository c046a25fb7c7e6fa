"""Files that give one id to several tokens, or one token to several ids, load as in tokenizers 0.23.3."""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from .files import file_of, special

BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
IN_BYTES: dict[str, Any] = {"pre_tokenizer": BYTES, "decoder": BYTES}
SHARED_BPE = {
    "type": "BPE",
    "vocab": {"a": 0, "b": 1, "c": 1, "ab": 2, "bc": 2, "cc": 5, "abc": 6, "ac": 7},
    "merges": [["a", "b"], ["b", "c"], ["ab", "c"], ["a", "c"]],
}
WORD_PIECE = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
    "vocab": {"[UNK]": 0, "a": 1, "##b": 2, "##c": 2},
}


def as_file(model: dict[str, Any], added: Sequence[dict[str, Any]] = (), **parts: Any) -> dict[str, Any]:
    return file_of([""], model=model, added_tokens=list(added), **parts)


def words(vocab: dict[str, int]) -> dict[str, Any]:
    return {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, **vocab}}


def pieces(*vocab: tuple[str, float]) -> dict[str, Any]:
    return {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], *vocab]}


def token(content: str) -> dict[str, Any]:
    return special(0, content, special=False)


# name: file, what is tolerated as (kind, field) in order of appearance, each once.
FILES: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "merges": (as_file(SHARED_BPE), [("duplicate", "model.vocab"), ("duplicate", "model.merges[3]")]),
    "merges of bytes": (
        as_file(SHARED_BPE, **IN_BYTES),
        [("duplicate", "model.vocab"), ("duplicate", "model.merges[3]")],
    ),
    "word pieces": (as_file(WORD_PIECE), [("duplicate", "model.vocab")]),
    "words": (as_file(words({"a": 1, "b": 2, "c": 2})), [("duplicate", "model.vocab")]),
    # What was first has no say, neither for the path nor for what is unknown.
    "a better piece first": (
        as_file(pieces(("a", -1), ("b", -5), ("a", -2), ("ab", -6.5))),
        [("duplicate", "model.vocab[3]")],
    ),
    "a worse piece first": (
        as_file(pieces(("a", -20), ("b", -5), ("a", -1), ("ab", -6.5), ("bc", -24)), [token("x")]),
        [("duplicate", "model.vocab[3]")],
    ),
    "an added token at an id that is taken": (
        as_file(words({"a": 1, "b": 5}), [token("x"), token("y"), token("z"), token("c")]),
        [("inconsistent", "added_tokens[2]")],
    ),
    "two added tokens that share an id": (
        as_file(words({"a": 1, "b": 2, "c": 2}), [token("b"), token("c")]),
        [("duplicate", "added_tokens[0]"), ("duplicate", "model.vocab")],
    ),
    "one of them special": (
        as_file(words({"a": 1, "b": 2, "c": 2}), [special(0, "b"), token("c")]),
        [("duplicate", "added_tokens[0]"), ("duplicate", "model.vocab")],
    ),
    "an added token of the vocabulary at an id that is taken": (
        as_file(words({"a": 1, "<b>": 4}), [token("<b>"), token("x"), token("y")]),
        [("duplicate", "added_tokens[0]"), ("inconsistent", "added_tokens[2]")],
    ),
    "an unknown token that merges": (
        as_file(
            {
                "type": "BPE",
                "unk_token": "<u>",
                "vocab": {"<u>": 0, "b": 1, "<u>b": 2, "b<u>": 3, "b<u>b": 4},
                "merges": [["<u>", "b"], ["b", "<u>b"], ["b", "<u>"]],
            },
            [special(0, "<u>")],
        ),
        [],
    ),
    "an unknown token that merges with a prefix": (
        as_file(
            {
                "type": "BPE",
                "unk_token": "<u>",
                "continuing_subword_prefix": "##",
                "vocab": {"<u>": 0, "b": 1, "##b": 2, "<u>b": 3, "b>": 4},
                "merges": [["<u>", "##b"], ["b", "<u>"]],
            },
            [special(0, "<u>")],
        ),
        [],
    ),
}
TEXTS = ["".join(chars) for length in range(5) for chars in itertools.product("abcxz", repeat=length)]


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    return FILES[request.param]


def peer_of(path: Path) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(path))


def written(folder: Path, content: dict[str, Any]) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def encoded(native: Any, tok: Any, text: str) -> list[int] | None:
    """None where a character cannot be spelled: the peer drops it."""
    try:
        ids: list[int] = tok.encode(text, special="parse")
    except native.UnknownTokenError:
        return None
    return ids


def test_ids_are_those_of_the_peer(
    native: Any, tmp_path: Path, file: tuple[dict[str, Any], list[tuple[str, str]]]
) -> None:
    content, tolerated = file
    path = written(tmp_path, content)
    tok, peer = native.load(path), peer_of(path)
    spelled = 0
    for text in [*TEXTS, "<u>b", "b<b>"]:
        ids = encoded(native, tok, text)
        if ids is not None:
            assert ids == peer.encode(text).ids, text
            spelled += 1
    assert spelled > 30
    assert tok.vocab == peer.get_vocab()
    assert {name: tok.token_to_id(name) for name in tok.vocab} == tok.vocab
    found = dict.fromkeys((finding.kind, finding.field) for finding in tok.load_report.tolerated)
    # That ids of added tokens are not those of the file is reported, too, and tested elsewhere.
    assert [place for place in found if place[0] != "ignored"] == tolerated


def test_an_id_decodes_to_one_of_its_tokens_always_the_same(
    native: Any, tmp_path: Path, file: tuple[dict[str, Any], list[tuple[str, str]]]
) -> None:
    """The peer takes one by chance, from load to load."""
    content, _ = file
    path = written(tmp_path, content)
    tok = native.load(path)
    vocab = content["model"]["vocab"]
    turned = dict(reversed(vocab.items())) if isinstance(vocab, dict) else vocab
    again = native.load(written(tmp_path, {**content, "model": {**content["model"], "vocab": turned}}))
    peers = [peer_of(path) for _ in range(24)]
    for number in range(8):
        names = {peer.id_to_token(number) for peer in peers}
        assert tok.id_to_token(number) in names
        assert tok.id_to_token(number) == again.id_to_token(number)
    assert tok.fingerprint == again.fingerprint


def test_saving_keeps_all_tokens(
    native: Any, tmp_path: Path, file: tuple[dict[str, Any], list[tuple[str, str]]]
) -> None:
    content, _ = file
    path = written(tmp_path, content)
    tok, peer = native.load(path), peer_of(path)
    saved = tmp_path / "saved.json"
    tok.save(saved)
    again = native.load(saved)
    assert again == tok
    assert again.fingerprint == tok.fingerprint
    assert pickle.loads(pickle.dumps(tok)) == tok
    again.save(tmp_path / "again.json")
    assert saved.read_bytes() == (tmp_path / "again.json").read_bytes()
    there = peer_of(saved)
    assert there.get_vocab() == peer.get_vocab()
    for text in TEXTS:
        if encoded(native, tok, text) is not None:
            assert there.encode(text).ids == peer.encode(text).ids


def test_strict_loading_refuses_them(
    native: Any, tmp_path: Path, file: tuple[dict[str, Any], list[tuple[str, str]]]
) -> None:
    content, tolerated = file
    path = written(tmp_path, content)
    if not tolerated:
        assert native.load(path, strict=True).load_report.tolerated == []
        return
    with pytest.raises(native.FormatError) as raised:
        native.load(path, strict=True)
    assert (raised.value.kind, raised.value.field) in [*tolerated, ("ignored", "added_tokens[0].id")]


def test_text_never_becomes_a_special_token_that_shares_the_id_of_another(
    native: Any, tmp_path: Path
) -> None:
    """In the peer `b` is the id of `<s>`."""
    merging = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 3}, "merges": [["a", "b"]]}
    path = written(tmp_path, as_file(merging, [special(0, "<s>")]))
    tok, peer = native.load(path), peer_of(path)
    assert peer.encode("<s>").ids == tok.encode("<s>", special="parse") == [3]
    assert peer.encode("ab").ids == [3]
    assert tok.encode("ab") == tok.encode("ab", special="parse") == [0, 1]
    for model in (words({"a": 1, "b": 3}), {**WORD_PIECE, "vocab": {"[UNK]": 0, "a": 1, "b": 3}}):
        path = written(tmp_path, as_file(model, [special(0, "<s>")]))
        tok, peer = native.load(path), peer_of(path)
        assert peer.encode("b").ids == peer.encode("<s>").ids == [3]
        assert tok.encode("b") == [0]
        assert tok.decode([3]) == "<s>"
    path = written(tmp_path, as_file(words({"a": 1, "b": 2, "c": 2}), [token("c"), special(0, "b")]))
    tok, peer = native.load(path), peer_of(path)
    assert peer.encode("c").ids == [2]
    assert (tok.encode("c"), tok.encode("b"), tok.encode("b", special="parse")) == ([0], [0], [2])


@pytest.mark.parametrize("is_special", [False, True])
def test_what_is_numbered_behind_a_lost_token_keeps_its_id_when_it_is_saved(
    native: Any, tmp_path: Path, is_special: bool
) -> None:
    """`z` and `b` are both 5, and `b` counts. A file that the peer saves has no `z`, and `w` becomes 5."""
    added = [special(0, content, special=is_special) for content in "xyzw"]
    path = written(tmp_path, as_file(words({"a": 1, "b": 5}), [*added, token("b")]))
    tok, peer = native.load(path), peer_of(path)
    ids = {"x": 3, "y": 4, "z": 0, "w": 6, "b": 5, "a": 1}
    saved, theirs = tmp_path / "saved.json", tmp_path / "theirs.json"
    tok.save(saved)
    peer.save(str(theirs))
    again = native.load(saved)
    assert again == tok
    assert again.fingerprint == tok.fingerprint
    for text, number in ids.items():
        assert peer.encode(text).ids == peer_of(saved).encode(text).ids == [number]
        assert tok.encode(text, special="parse") == again.encode(text, special="parse") == [number]
    assert peer_of(theirs).encode("w").ids == [5]
    # The name of the lost one is not kept.
    assert (peer.token_to_id("z"), tok.token_to_id("z")) == (5, None)
    assert sorted(again.vocab) == sorted(tok.vocab) == ["[UNK]", "a", "b", "w", "x", "y"]


def test_what_takes_a_number_has_a_name_of_its_own(native: Any, tmp_path: Path) -> None:
    model = words({"a": 1, "<number 5>": 2, "b": 5})
    tok = native.load(written(tmp_path, as_file(model, [token(content) for content in "yzwb"])))
    tok.save(tmp_path / "saved.json")
    contents = [
        entry["content"] for entry in json.loads((tmp_path / "saved.json").read_text())["added_tokens"]
    ]
    assert contents == ["y", "<number 5>>", "b", "w"]
    assert native.load(tmp_path / "saved.json") == tok


def test_a_pair_of_files_may_share_ids_too(native: Any, tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models

    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    vocab.write_text(json.dumps(SHARED_BPE["vocab"]), encoding="utf-8")
    lines = ["#version: 0.2", *[" ".join(merge) for merge in SHARED_BPE["merges"]]]
    merges.write_text("\n".join(lines) + "\n", encoding="utf-8")
    tok, peer = native.load(vocab, split="none"), Tokenizer(models.BPE.from_file(str(vocab), str(merges)))
    for text in ["".join(chars) for length in range(5) for chars in itertools.product("abc", repeat=length)]:
        assert tok.encode(text) == peer.encode(text).ids
    found = [(finding.kind, finding.field) for finding in tok.load_report.tolerated]
    assert found == [("duplicate", ""), ("duplicate", ""), ("missing", "id 3"), ("duplicate", "line 5")]
    with pytest.raises(native.FormatError, match="have the id 1"):
        native.load(vocab, split="none", strict=True)
    # What is saved holds all of them.
    saved = tmp_path / "saved"
    tok.save(saved, format="vocab+merges", lossy=True)
    assert native.load(saved / "vocab.json", split="none") == tok


def test_a_piece_that_no_text_becomes_may_become_special(native: Any, tmp_path: Path) -> None:
    """Its score goes with it, and its id stays."""
    tok = native.load(written(tmp_path, as_file(pieces(("a", -1), ("ab", -9), ("b", -2)))))
    assert tok.encode("ab") == [1, 3]
    more = tok.with_special_tokens(["ab"])
    assert more.special_tokens == {"ab": 2}
    assert more.encode("ab") == [1, 3]
    assert more.encode("ab", special="parse") == [2]
