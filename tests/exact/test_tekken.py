"""tekken.json: ids and text of mistral-common 1.13.1."""

from __future__ import annotations

import base64
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from .texts import compare_all

# The others differ from the last in what says nothing about ids.
FILES = [
    pytest.param("mistral-nemo/tekken.json", marks=pytest.mark.slow),
    pytest.param("tekken_240718.json", marks=pytest.mark.slow),
    "tekken_240911.json",
]


@pytest.fixture(scope="module", params=FILES)
def path(request: pytest.FixtureRequest, data: Path) -> Path:
    if "/" in request.param:
        return data / "vocab" / str(request.param)
    import mistral_common

    return Path(str(mistral_common.__file__)).parent / "data" / str(request.param)


def compare(ours: Any, theirs: Any, texts: list[str]) -> None:
    rows = [theirs.encode(text, bos=False, eos=False) for text in texts]
    assert ours.encode_batch(texts).to_lists() == rows
    assert ours.decode_batch(rows) == [theirs.decode(row) for row in rows]


def run(native: Any, path: Path, data: Path, slow: bool) -> str:
    from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    ours, theirs = native.load(path), Tekkenizer.from_file(path)
    assert len(ours) == theirs.n_words
    policy = SpecialTokenPolicy.KEEP
    ids = range(theirs.n_words)
    assert [ours.token_bytes(i) for i in ids] == [theirs.id_to_byte_piece(i, policy) for i in ids]
    assert set(ours.special_tokens.values()) == theirs.special_ids
    assert (ours.bos_token_id, ours.eos_token_id, ours.pad_token_id) == (
        theirs.bos_id,
        theirs.eos_id,
        theirs.pad_id,
    )
    assert ours.decode([1, 5000, 2], skip_special_tokens=True) == theirs.decode([1, 5000, 2])
    tokens = [theirs.id_to_piece(i) for i in ids]
    return compare_all(path.name, tokens, data, slow, partial(compare, ours, theirs))


def test_tekken_files_are_those_of_mistral_common(native: Any, path: Path, data: Path) -> None:
    print(run(native, path, data, slow=False))


@pytest.mark.slow
def test_tekken_files_are_those_of_mistral_common_on_all_texts(native: Any, path: Path, data: Path) -> None:
    row = run(native, path, data, slow=True)
    print(row)


def test_a_text_begins_with_bos_where_that_is_asked_for(native: Any, data: Path) -> None:
    tok = native.load(data / "vocab/mistral-nemo/tekken.json")
    assert tok.encode("a", add_special_tokens=True) == [1, *tok.encode("a")]


def test_a_tekken_file_is_known_by_its_content_and_saved_in_a_folder(
    native: Any, data: Path, tmp_path: Path
) -> None:
    source = data / "vocab/mistral-nemo/tekken.json"
    (tmp_path / "tokenizer.json").write_bytes(source.read_bytes())
    tok = native.load(tmp_path)
    tok.save(tmp_path / "saved/")
    again = native.load(tmp_path / "saved")
    for text in ("Hello  World's 1234\n\n x", "[INST] é 你好"):
        assert again.encode(text) == tok.encode(text)


def test_special_tokens_in_another_order_have_their_ranks_here(native: Any, tmp_path: Path) -> None:
    """mistral-common finds them by rank, and decodes by the place in the list."""
    from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    vocab = [
        {"rank": byte, "token_bytes": base64.b64encode(bytes([byte])).decode(), "token_str": None}
        for byte in range(256)
    ]
    names = ["<s>", "<unk>", "</s>", "<pad>"]
    special = [
        {"rank": rank, "token_str": name, "is_control": True}
        for rank, name in zip([1, 0, 2, 3], names, strict=True)
    ]
    config = {
        "pattern": r"\s|\S+",
        "default_vocab_size": 260,
        "default_num_special_tokens": 4,
        "version": "v3",
    }
    file = {"config": {**config, "num_vocab_tokens": 256}, "vocab": vocab, "special_tokens": special}
    (tmp_path / "tekken.json").write_text(json.dumps(file), encoding="utf-8")
    ours, theirs = native.load(tmp_path), Tekkenizer.from_file(tmp_path / "tekken.json")
    assert ours.bos_token_id == theirs.bos_id == 1
    assert ours.decode([1]) == "<s>"
    assert theirs.decode([1], special_token_policy=SpecialTokenPolicy.KEEP) == "<unk>"
