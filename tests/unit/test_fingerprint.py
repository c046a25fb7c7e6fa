"""A fingerprint says what a tokenizer means, not how it is written down."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TEXTS = ["low lower lowest", "newest widest", "low low low"]


@pytest.fixture(scope="module")
def written(native: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A tokenizer.json with something in every stage."""
    tok = native.train(texts=TEXTS, vocab_size=262, split="gpt2", special_tokens=["<s>", "</s>"])
    path = tmp_path_factory.mktemp("fingerprint") / "t.json"
    tok.save(path)
    parts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    sequence = [{"Sequence": {"id": "A", "type_id": 0}}]
    parts["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}
    parts["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, *sequence],
        "pair": sequence,
        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
    }
    return parts


def load(native: Any, folder: Path, text: str) -> Any:
    path = folder / "x.json"
    path.write_text(text, encoding="utf-8")
    return native.load(path)


def reordered(parts: Any) -> Any:
    if isinstance(parts, dict):
        return {key: reordered(parts[key]) for key in reversed(parts)}
    return [reordered(part) for part in parts] if isinstance(parts, list) else parts


def spaced_merges(parts: dict[str, Any]) -> dict[str, Any]:
    parts["model"]["merges"] = [" ".join(pair) for pair in parts["model"]["merges"]]
    return parts


def nested(parts: dict[str, Any]) -> dict[str, Any]:
    parts["normalizer"] = {
        "type": "Sequence",
        "normalizers": [{"type": "Sequence", "normalizers": []}, parts["normalizer"]],
    }
    return parts


def without_type(parts: dict[str, Any]) -> dict[str, Any]:
    del parts["model"]["type"]
    parts["model"]["fuse_unk"] = None
    return parts


def with_idle_steps(parts: dict[str, Any]) -> dict[str, Any]:
    parts["normalizer"]["normalizers"].append({"type": "Strip", "strip_left": False, "strip_right": False})
    idle = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    parts["post_processor"] = {"type": "Sequence", "processors": [idle, parts["post_processor"]]}
    return parts


SPELLINGS: list[Callable[[Any], Any]] = [reordered, spaced_merges, nested, without_type, with_idle_steps]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_other_spellings_have_the_same_fingerprint(
    spelling: Callable[[Any], Any], written: dict[str, Any], native: Any, tmp_path: Path
) -> None:
    first = load(native, tmp_path, json.dumps(written))
    again = load(native, tmp_path, json.dumps(spelling(json.loads(json.dumps(written))), indent=3))
    assert again.digests == first.digests
    assert again.fingerprint == first.fingerprint
    assert again.fingerprint.startswith("tm1-")
    assert len(again.fingerprint) == 4 + 64


def edits(parts: dict[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Files that mean something else, by name, with the digest that must tell."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}

    def edit(name: str, digest: str, change: Callable[[dict[str, Any]], object]) -> None:
        copy = json.loads(json.dumps(parts))
        change(copy)
        found[name] = digest, copy

    edit("order of normalizers", "encode", lambda p: p["normalizer"]["normalizers"].reverse())
    edit("no normalizer", "encode", lambda p: p.update(normalizer=None))
    edit("another split", "encode", lambda p: p["pre_tokenizer"].update(use_regex=False))
    edit("a prefix space", "encode", lambda p: p["pre_tokenizer"].update(add_prefix_space=True))
    edit("whole pretokens", "encode", lambda p: p["model"].update(ignore_merges=True, merges=[]))
    edit("no decoder", "decode", lambda p: p.update(decoder=None))
    edit("no template", "template", lambda p: p.update(post_processor=None))
    edit(
        "another type id",
        "template",
        lambda p: p["post_processor"]["single"][1]["Sequence"].update(type_id=1),
    )
    truncation = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    edit("truncation", "template", lambda p: p.update(truncation=truncation))
    for flag in ("single_word", "lstrip", "rstrip", "normalized", "special"):

        def flip(p: dict[str, Any], flag: str = flag) -> None:
            token = p["added_tokens"][1]
            token[flag] = not token[flag]

        edit(f"{flag} of an added token", "encode", flip)
    for i in range(len(parts["model"]["merges"]) - 1):

        def go_last(p: dict[str, Any], i: int = i) -> None:
            merges = p["model"]["merges"]
            merges.append(merges.pop(i))

        edit(f"merge {i} goes last", "encode", go_last)
    names = list(parts["model"]["vocab"])
    for i in range(80):
        a, b = names[i], names[i + 100]

        def swap(p: dict[str, Any], a: str = a, b: str = b) -> None:
            vocab = p["model"]["vocab"]
            vocab[a], vocab[b] = vocab[b], vocab[a]

        edit(f"ids of {a} and {b}", "encode", swap)
    return found


def test_a_hundred_edits_have_a_hundred_fingerprints(
    written: dict[str, Any], native: Any, tmp_path: Path
) -> None:
    first = load(native, tmp_path, json.dumps(written))
    seen = {first.fingerprint}
    changed = edits(written)
    assert len(changed) >= 95
    for name, (digest, parts) in changed.items():
        other = load(native, tmp_path, json.dumps(parts))
        assert other.digests[digest] != first.digests[digest], name
        seen.add(other.fingerprint)
    assert len(seen) == len(changed) + 1


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("order of normalizers", {"encode"}),
        ("another split", {"encode"}),
        ("lstrip of an added token", {"encode"}),
        ("merge 0 goes last", {"encode"}),
        ("no decoder", {"decode"}),
        ("special of an added token", {"encode", "decode"}),
        ("no template", {"template"}),
        ("truncation", {"template"}),
    ],
)
def test_a_digest_changes_with_what_it_is_of_and_with_nothing_else(
    name: str, changed: set[str], written: dict[str, Any], native: Any, tmp_path: Path
) -> None:
    first = load(native, tmp_path, json.dumps(written))
    other = load(native, tmp_path, json.dumps(edits(written)[name][1]))
    assert {part for part in first.digests if first.digests[part] != other.digests[part]} == changed


def test_tokens_that_are_written_alike_and_read_otherwise_have_two_digests(
    native: Any, tmp_path: Path
) -> None:
    """`Ġ` is a space over bytes, and itself over characters."""
    decoder = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    alphabet = [chr(c) for c in [*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324)]]
    bpe = {"type": "BPE", "vocab": {token: id for id, token in enumerate(alphabet)}, "merges": []}
    common: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "post_processor": None,
        "model": bpe,
    }
    over_bytes = {**common, "pre_tokenizer": decoder | {"add_prefix_space": False}, "decoder": decoder}
    over_characters = {**common, "pre_tokenizer": None, "decoder": {"type": "Fuse"}}
    first = load(native, tmp_path, json.dumps(over_bytes))
    other = load(native, tmp_path, json.dumps(over_characters))
    space = alphabet.index("Ġ")
    assert (first.decode([space]), other.decode([space])) == (" ", "Ġ")
    assert first.digests["decode"] != other.digests["decode"]


def test_fingerprint_and_pickle_are_the_same_in_every_process(native: Any, tmp_path: Path) -> None:
    tok = native.train(texts=TEXTS, vocab_size=262, special_tokens=["<s>"])
    before = pickle.dumps(tok), tok.fingerprint
    tok.encode("low lower " * 1000)
    assert (pickle.dumps(tok), tok.fingerprint) == before
    tok.save(tmp_path / "t.json")
    code = (
        "import pickle, sys, tokenmill; tok = tokenmill.load(sys.argv[1]);"
        "sys.stdout.buffer.write(tok.fingerprint.encode() + pickle.dumps(tok))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "t.json")]
    first, second = (subprocess.run(command, check=True, capture_output=True).stdout for _ in range(2))
    assert first == second
    assert first.startswith(tok.fingerprint.encode())
