"""``diff`` on the random edits of the laws: each that changes behaviour has a witness, true and minimal."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill import Tokenizer
from true_witness import check

from property.behaviour import Edited, edits, loaded
from property.changes import MAKERS, Parts


def has_no_effect(edited: Edited, original: Parts, native: Any, folder: Path) -> bool:
    """Whether an edit provably changes nothing, though ``diff`` itself has no proof of it."""
    if edited.kind == "model_fuse_unk":
        return all_bytes_are_tokens(original)
    if edited.kind in ("swap_merges", "move_merge_to_end"):
        return same_tokens_stay_apart(original, edited.parts, native, folder)
    if edited.kind == "normalized_of_added":
        # Composition neither makes controls nor takes them.
        literal = edited.what.partition(": ")[2]
        return literal.isspace() and original["normalizer"]["normalizers"] == [{"type": "NFC"}]
    if edited.kind == "add_pre_tokenizer":
        # BERT's own step isolates all punctuation and removes all white space anyway.
        first, *rest = edited.parts["pre_tokenizer"]["pretokenizers"]
        return rest == [{"type": "BertPreTokenizer"}] and first["type"] in ("Punctuation", "WhitespaceSplit")
    return edited.kind == "split_behavior" and splits_at_what_is_never_there(edited.parts)


def all_bytes_are_tokens(parts: Parts) -> bool:
    """No character is unknown then, so that it does not matter whether unknown ones are fused."""
    vocab = parts["model"]["vocab"]
    if parts["model"].get("byte_fallback"):
        return all(f"<0x{byte:02X}>" in vocab for byte in range(256))
    letters = Tokenizer.from_tokens([bytes([byte]) for byte in range(256)]).vocab
    return "'ByteLevel'" in str(parts["pre_tokenizer"]) and letters.keys() <= vocab.keys()


def same_tokens_stay_apart(a: Parts, b: Parts, native: Any, folder: Path) -> bool:
    """Whether each two tokens that are kept apart by one order of merges are by the other.

    Then both give the same ids (docs/merging.md, "Two lists of merges"). Bytes take no part in merges here.
    """
    bare = {"normalizer": None, "pre_tokenizer": None, "post_processor": None}
    plain = [loaded(native, folder, json.dumps({**parts, **bare})) for parts in (a, b)]
    special = {entry["content"] for entry in a["added_tokens"]}
    tokens = [token for token in a["model"]["vocab"] if not token.startswith("<0x") and token not in special]
    apart = [
        {pair for pair in product(tokens, repeat=2) if tok.encode("".join(pair)) == ids_of(tok, pair)}
        for tok in plain
    ]
    return all(plain[0].encode(token) == plain[1].encode(token) for token in tokens) and apart[0] == apart[1]


def ids_of(tok: Any, pair: tuple[str, str]) -> list[int]:
    return [tok.token_to_id(token) for token in pair]


def splits_at_what_is_never_there(parts: Parts) -> bool:
    """The first split is at a text that the last step of the normalizer replaces by another."""
    pattern = parts["pre_tokenizer"]["pretokenizers"][0]["pattern"]
    last = parts["normalizer"]["normalizers"][-1]
    is_same: bool = last["pattern"] == pattern
    return last["type"] == "Replace" and is_same and last["content"] != pattern["String"]


def check_edits(
    kind: str, native: Any, folder: Path, count: int, seed: int, with_others: bool = True
) -> Counter[str]:
    """``count`` edits that change behaviour, and the others among them, as ``diff`` sees them."""
    kinds: Counter[str] = Counter()
    original = MAKERS[kind](native)
    for edited in edits(native, folder, original, seed):
        if not (edited.changes_behaviour or with_others):
            continue
        found = tokenmill.diff(edited.before, edited.after)
        if found.witness is not None and found.witness.kind != "settings":
            check(found, edited.before, edited.after)
        elif found.verdict == "unknown":
            assert has_no_effect(edited, original, native, folder), edited.what
        # What a text or an id told apart has a witness; where there is a witness, nothing need have told.
        if edited.changes_behaviour:
            assert found.verdict == "different", edited.what
            kinds[edited.kind] += 1
            if kinds.total() == count:
                break
    return kinds


@pytest.mark.parametrize("kind", MAKERS)
def test_edits_that_change_behaviour_have_witnesses(kind: str, native: Any, tmp_path: Path) -> None:
    assert len(check_edits(kind, native, tmp_path, count=5, seed=5, with_others=False)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_two_hundred_edits_that_change_behaviour_have_witnesses(
    kind: str, native: Any, tmp_path: Path
) -> None:
    kinds = check_edits(kind, native, tmp_path, count=200, seed=4)
    assert len(kinds) > 8, kinds
