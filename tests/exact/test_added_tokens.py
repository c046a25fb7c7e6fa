"""Added tokens of a tokenizer.json have the ids that tokenizers 0.23.3 gives them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def byte_level(vocab: dict[str, int], added: list[str], merges: list[list[str]]) -> str:
    """A byte-level file without a split; the ids of its added tokens are wrong on purpose."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    stage = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return json.dumps(
        {
            "version": "1.0",
            "added_tokens": [{"id": 900 + i, "content": content, **flags} for i, content in enumerate(added)],
            "pre_tokenizer": stage,
            "decoder": stage,
            "model": {"type": "BPE", "vocab": vocab, "merges": merges},
        }
    )


@pytest.mark.parametrize(
    ("vocab", "added"),
    [
        ({"a": 0, "b": 1, "ab": 2, "<s>": 100}, ["<s>", "</s>", "<u>"]),
        ({"a": 0, "b": 1, "<s>": 2}, ["<s>", "</s>", "<u>"]),
        ({"a": 0, "b": 1, "<s>": 3}, ["<s>"]),
        ({"a": 0, "b": 1}, ["<x>", "<y>"]),
    ],
)
def test_ids_of_added_tokens_are_those_of_the_peer(
    vocab: dict[str, int], added: list[str], native: Any, tmp_path: Path
) -> None:
    from tokenizers import Tokenizer

    text = byte_level(vocab, added, [])
    (tmp_path / "t.json").write_text(text, encoding="utf-8")
    peer = Tokenizer.from_str(text)
    ours = native.load(tmp_path / "t.json").special_tokens
    assert ours == {content: peer.token_to_id(content) for content in added}


def test_a_number_that_is_taken_is_that_of_both_tokens(native: Any, tmp_path: Path) -> None:
    """As in the peer; text becomes the special one by its literal alone, and `ab` stays two tokens."""
    from tokenizers import Tokenizer

    text = byte_level({"a": 0, "b": 1, "ab": 3}, ["<s>"], [["a", "b"]])
    (tmp_path / "t.json").write_text(text, encoding="utf-8")
    ours, peer = native.load(tmp_path / "t.json"), Tokenizer.from_str(text)
    assert ours.encode("a<s>", special="parse") == peer.encode("a<s>").ids == [0, 3]
    assert ours.vocab == peer.get_vocab()
    assert ours.id_to_token(3) == peer.id_to_token(3) == "<s>"
    assert ours.encode("ab") == [0, 1]
    assert peer.encode("ab").ids == [3]


def test_an_added_token_that_merges_build_from_other_text_is_found_by_its_literal(
    native: Any, tmp_path: Path
) -> None:
    """` a` is written `Ġa` in the vocabulary, and the token's own literal is `Ġa`: one id with two meanings.

    The peer gives that id for both. A special token never comes out of other text here (law 9).
    """
    from tokenizers import Tokenizer

    vocab = {"Ġ": 0, "a": 1, "Ġa": 2, "Ä": 3, "ł": 4}
    text = byte_level(vocab, ["Ġa"], [["Ġ", "a"]])
    (tmp_path / "t.json").write_text(text, encoding="utf-8")
    ours, peer = native.load(tmp_path / "t.json"), Tokenizer.from_str(text)
    assert ours.encode("aĠaa", special="parse") == peer.encode("aĠaa").ids == [1, 2, 1]
    assert peer.encode(" a").ids == [2]
    assert ours.encode(" a", special="parse") == ours.encode(" a") == [0, 1]
