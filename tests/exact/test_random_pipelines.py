"""Random files of every component beside tokenizers 0.23.3: ids, offsets, text, and what is saved.

The files are legal and odd: what no published tokenizer has together. What docs/differences.md lists is
left out file by file, by what the file is made of. The plain run takes a few hundred files, the slow one
thousands; a seed is a file, so that a difference can be looked at again.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from .files import both as pair_of
from .files import file_of, special
from .random_files import Drawn, Json, random_file, random_texts

TEXTS = 6
STRIPS = {"strip_left": True, "strip_right": True}
# What is made of several characters, or changes places, has other offsets here.
REWRITING = {"NFC", "NFD", "NFKC", "NFKD", "BertNormalizer", "Replace"}


def components(part: Json | None) -> list[Json]:
    """The components of a part, those in sequences one by one."""
    if part is None:
        return []
    for name in ("normalizers", "pretokenizers", "processors", "decoders"):
        if name in part:
            return [component for step in part[name] for component in components(step)]
    return [part]


def kinds(part: Json | None) -> set[str]:
    return {component["type"] for component in components(part)}


def has_same_ids(file: Json, findings: set[tuple[str, str]]) -> bool:
    """False where ids differ for a reason that is listed, or are left to chance by the peer."""
    first = any(step.get("prepend_scheme") == "first" for step in components(file["pre_tokenizer"]))
    moved = first and "Replace" in kinds(file["normalizer"])
    # Two normalized tokens that are alike, or two with one id; a special one with that of another token.
    has_special = any(token["special"] for token in file["added_tokens"])
    doubtful = any(
        field.startswith("added_tokens") and (kind == "duplicate" or (kind == "inconsistent" and has_special))
        for kind, field in findings
    )
    return not moved and not doubtful


def has_same_offsets(file: Json) -> bool:
    trims = any(step.get("trim_offsets") for step in components(file["post_processor"]))
    model = file["model"]
    marks = model.get("continuing_subword_prefix") or model.get("end_of_word_suffix")
    return (
        not trims and not kinds(file["normalizer"]) & REWRITING and not (model.get("byte_fallback") and marks)
    )


def has_same_text(file: Json, peer: Any, findings: set[tuple[str, str]]) -> bool:
    normalized = [token["content"] for token in file["added_tokens"] if token["normalized"]]
    is_kept = peer.normalizer is None or all(
        peer.normalizer.normalize_str(content) == content for content in normalized
    )
    return is_kept and ("duplicate", "model.vocab") not in findings


def is_refused(error: Any) -> bool:
    """Files that the peer loads, to panic later or to cut every text into its characters."""
    place = error.field.split("[")[0]
    return error.kind == "unsupported" and place in ("added_tokens", "post_processor")


def both(native: Any, path: Path, file: Json) -> tuple[Any, Any] | None:
    """None for a file that one of them does not load."""
    from tokenizers import Tokenizer

    path.write_text(json.dumps(file), encoding="utf-8")
    try:
        peer = Tokenizer.from_file(str(path))
    except BaseException:  # its panics are no exceptions
        return None
    try:
        return native.load(path), peer
    except native.FormatError as error:
        if not is_refused(error):
            raise
        return None


def compare(native: Any, seed: int, path: Path, counts: Counter[str]) -> None:
    drawn = Drawn(seed)
    file = random_file(drawn)
    texts = random_texts(drawn, file, TEXTS)
    pair = both(native, path, file)
    if pair is None:
        counts["refused"] += 1
        return
    tok, peer = pair
    findings = {(finding.kind, finding.field) for finding in tok.load_report.tolerated}
    same_ids, same_offsets = has_same_ids(file, findings), has_same_offsets(file)
    same_text = has_same_text(file, peer, findings)
    again, there = resaved(native, tok, path)
    for text in texts:
        ours = tok.encode_with_offsets(text, special="parse", add_special_tokens=True)
        ids = [int(number) for number in ours.ids]
        where = f"seed {seed}, {text!r}"
        assert again.encode(text, special="parse", add_special_tokens=True) == ids, where
        if not same_ids:
            counts["listed"] += 1
            continue
        try:
            theirs = peer.encode(text)
        except BaseException:  # a panic: see docs/differences.md
            counts["panics"] += 1
            continue
        assert ids == theirs.ids, where
        assert there.encode(text).ids == ids, where
        counts["ids"] += 1
        if same_offsets:
            assert [(int(start), int(end)) for start, end in ours.offsets] == theirs.offsets, where
            counts["offsets"] += 1
        if not same_text:
            continue
        for skips in (False, True):
            try:
                decoded = peer.decode(ids, skip_special_tokens=skips)
            except BaseException:  # a panic of its Strip
                counts["panics"] += 1
                continue
            assert tok.decode(ids, skip_special_tokens=skips) == decoded, where
            counts["decoded"] += 1


def resaved(native: Any, tok: Any, path: Path) -> tuple[Any, Any]:
    """What we save, loaded here and there; it is saved again to the same bytes."""
    from tokenizers import Tokenizer

    saved = path.with_name("saved.json")
    tok.save(saved)
    again = native.load(saved)
    assert again == tok
    assert again.fingerprint == tok.fingerprint
    again.save(path.with_name("again.json"))
    assert path.with_name("again.json").read_bytes() == saved.read_bytes()
    return again, Tokenizer.from_file(str(saved))


def run(native: Any, folder: Path, seeds: range) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in seeds:
        compare(native, seed, folder / "tokenizer.json", counts)
    print(dict(counts))
    return counts


def test_random_files_mean_the_same(native: Any, tmp_path: Path) -> None:
    counts = run(native, tmp_path, range(250))
    assert counts["ids"] > 1200
    assert counts["offsets"] > 300
    assert counts["decoded"] > 1000


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 9000, 1000))
def test_thousands_of_random_files_mean_the_same(native: Any, tmp_path: Path, start: int) -> None:
    assert run(native, tmp_path, range(start, start + 1000))["ids"] > 4000


# ---- what differs on purpose ----------------------------------------------------------------------


def test_a_normalized_token_decodes_to_its_content_here(native: Any, tmp_path: Path) -> None:
    """The peer gives the form that it looks for, which is no token of its own, and does not skip it."""
    tokens = [special(2, "Hello", normalized=True), special(3, "<S>", normalized=False)]
    file = file_of(["u", "a"], added_tokens=tokens, normalizer={"type": "Lowercase"})
    tok, peer = pair_of(native, tmp_path, file)
    ids = [2, 3, 1]
    assert tok.encode("HELLO<S>A", special="parse") == peer.encode("HELLO<S>A").ids == ids
    assert peer.decode(ids, skip_special_tokens=False) == "hello <S> a"
    assert tok.decode(ids) == "Hello <S> a"
    assert peer.token_to_id(peer.id_to_token(2)) is None
    assert tok.token_to_id(tok.id_to_token(2)) == 2
    assert peer.decode(ids, skip_special_tokens=True) == "hello a"
    assert tok.decode(ids, skip_special_tokens=True) == "a"


def test_a_text_whose_start_was_rewritten_still_starts_here(native: Any, tmp_path: Path) -> None:
    """Metaspace asks the offset of the first character, which in the peer is that of the last backtick."""
    vocab = ["u", '▁"a', '"a', "▁xa", "xa"]
    quote = {"type": "Replace", "pattern": {"String": "``"}, "content": '"'}
    single = {"type": "Replace", "pattern": {"String": "`"}, "content": "x"}
    scheme = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    normalizer = {"type": "Sequence", "normalizers": [quote, single]}
    file = file_of(vocab, normalizer=normalizer, pre_tokenizer=scheme)
    tok, peer = pair_of(native, tmp_path, file)
    assert tok.encode("`a") == peer.encode("`a").ids == [3]
    assert peer.encode("``a").ids == [2]
    assert tok.encode("``a") == [1]


def test_an_added_token_that_normalizes_to_nothing_is_refused(native: Any, tmp_path: Path) -> None:
    """In the peer it is found between all characters, and takes texts apart."""
    from tokenizers import Tokenizer

    token = special(3, " ", special=False, normalized=True)
    file = file_of(["u", "ab", "a"], added_tokens=[token], normalizer={"type": "Strip", **STRIPS})
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    assert Tokenizer.from_file(str(path)).encode("ab").ids == [2, 0]
    with pytest.raises(native.FormatError, match="is empty when it is normalized"):
        native.load(path)


def test_a_template_behind_one_that_leaves_several_encodings_is_refused(native: Any, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    sequence = {"Sequence": {"id": "A", "type_id": 0}}
    mark = {"SpecialToken": {"id": "u", "type_id": 0}}
    template = {
        "type": "TemplateProcessing",
        "single": [mark, sequence, mark],
        "pair": [sequence, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"u": {"id": "u", "ids": [0], "tokens": ["u"]}},
    }
    file = file_of(["u"], post_processor={"type": "Sequence", "processors": [template, template]})
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    peer = Tokenizer.from_file(str(path))
    with pytest.raises(BaseException, match="not yet implemented"):
        peer.encode("u")
    with pytest.raises(native.FormatError, match="a template takes 1 or 2"):
        native.load(path)


def test_the_last_id_of_all_is_refused(native: Any, tmp_path: Path) -> None:
    model = {"type": "WordLevel", "vocab": {"u": 0, "a": 2**32 - 1}, "unk_token": "u"}
    file = file_of([""], model=model)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    from tokenizers import Tokenizer

    assert Tokenizer.from_file(str(path)).encode("a").ids == [2**32 - 1]
    with pytest.raises(native.FormatError, match="too large"):
        native.load(path)
