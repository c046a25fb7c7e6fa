"""``diff`` on the random edits of the laws: each that changes behaviour has a witness, true and minimal."""

from __future__ import annotations

import json
import sys
import unicodedata
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
        # NFC neither creates nor removes white space.
        literal = edited.what.partition(": ")[2]
        composes = {"type": "Sequence", "normalizers": [{"type": "NFC"}]}
        return literal.isspace() and original["normalizer"] == composes
    if edited.kind == "change_decoder":
        return decoder_never_matches(edited.parts)
    if edited.kind == "add_normalizer":
        return normalizers_agree(original, edited.parts, native, folder)
    if edited.kind in ("add_pre_tokenizer", "change_split", "split_behavior"):
        return cuts_only_where_bert_does(edited.parts) or splits_at_what_is_never_there(edited.parts)
    return False


def cuts_only_where_bert_does(parts: Parts) -> bool:
    """The first step cuts only at punctuation or white space, where the BERT pre-tokenizer cuts anyway."""
    first, *rest = parts["pre_tokenizer"]["pretokenizers"]
    is_space = first["type"] == "Split" and first["pattern"] in ({"String": " "}, {"Regex": r" ?\S+|\s+"})
    return rest == [{"type": "BertPreTokenizer"}] and (
        is_space or first["type"] in ("Punctuation", "WhitespaceSplit")
    )


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


def decoder_never_matches(parts: Parts) -> bool:
    """The last decoder looks for a text that no token contains, or that no token ends with.

    A space counts as contained: the WordPiece decoder puts one before words.
    """
    step = parts["decoder"]["decoders"][-1]
    literals = [*parts["model"]["vocab"], *(entry["content"] for entry in parts["added_tokens"])]
    if step["type"] == "Strip" and not step["start"]:
        return not any(literal.endswith(step["content"]) for literal in literals)
    looked_for = step["content"] if step["type"] == "Strip" else step["pattern"]["String"]
    return looked_for != " " and not any(looked_for in literal for literal in literals)


def normalizers_agree(a: Parts, b: Parts, native: Any, folder: Path) -> bool:
    """Whether both normalizers agree on every assigned character: alone, with marks, and beside letters."""
    letters = (
        c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) not in ("Cn", "Co", "Cs")
    )
    text = "\n".join(f"{c} {c}\u0323\u0301 x{c}\u0301X{c}" for c in letters)
    vocab = {f"<0x{byte:02X}>": byte for byte in range(256)}
    bytes_alone: Parts = {
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "added_tokens": [],
        "model": {"type": "BPE", "byte_fallback": True, "vocab": vocab, "merges": []},
    }
    bare = [loaded(native, folder, json.dumps({**parts, **bytes_alone})) for parts in (a, b)]
    forms = [bytes(tok.encode(text)).decode() for tok in bare]
    if a["pre_tokenizer"] == {"type": "BertPreTokenizer"}:  # white space only separates words
        return forms[0].split() == forms[1].split()
    return forms[0] == forms[1]


def ids_of(tok: Any, pair: tuple[str, str]) -> list[int]:
    return [tok.token_to_id(token) for token in pair]


def splits_at_what_is_never_there(parts: Parts) -> bool:
    """The first split is at a text that the last step of the normalizer replaces by another."""
    split = parts["pre_tokenizer"]["pretokenizers"][0]
    last = (parts["normalizer"] or {}).get("normalizers", [{}])[-1]
    is_replaced: bool = last.get("type") == "Replace" and last["pattern"] == split.get("pattern")
    return is_replaced and last["content"] != split["pattern"]["String"]


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
