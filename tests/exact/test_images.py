"""An image of a tokenizer gives what the tokenizer gives: the frozen ids, offsets and texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .frozen_tokenizers import OWN, PUBLISHED, SLOW, made, published
from .test_frozen_ids import KINDS, frozen, hashes_of


def check(native: Any, tok: Any, folder: Path, name: str) -> None:
    tok.save(folder / "a.tokenmill")
    image = native.load(folder / "a.tokenmill")
    assert image == tok
    assert hash(image) == hash(tok)
    assert (image.fingerprint, image.digests) == (tok.fingerprint, tok.digests)
    assert image.plan() == tok.plan()
    assert image.chat_templates == tok.chat_templates
    assert hashes_of(native, image) == {kind: frozen()[name, kind] for kind in KINDS}
    # What was mapped is written again as it was.
    image.save(folder / "b.tokenmill")
    assert (folder / "a.tokenmill").read_bytes() == (folder / "b.tokenmill").read_bytes()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in OWN]
)
def test_images_of_tokenizers_that_are_made_here(native: Any, tmp_path: Path, name: str) -> None:
    check(native, made(native, tmp_path, name), tmp_path, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_images_of_published_tokenizers(native: Any, data: Path, tmp_path: Path, name: str) -> None:
    check(native, published(native, data, name), tmp_path, name)


@pytest.mark.parametrize("name", ["llama3.1", "llama2", "bert-base-uncased", "t5-small"])
def test_images_of_some_published_tokenizers(
    native: Any, data: Path, tmp_path: Path, english: str, multilingual: str, name: str
) -> None:
    tok = published(native, data, name)
    tok.save(tmp_path / "a.tokenmill")
    image = native.load(tmp_path / "a.tokenmill")
    assert image == tok
    for text in (english[:100_000], multilingual[:50_000]):
        ids = tok.encode(text)
        assert image.encode(text) == ids
        assert image.count(text) == len(ids)
        assert image.decode(ids) == tok.decode(ids)
        assert image.encode_with_offsets(text[:9000]).offsets == tok.encode_with_offsets(text[:9000]).offsets
        batch = [text[at : at + 4000] for at in range(0, len(text), 4000)]
        assert image.encode_batch(batch).to_lists() == tok.encode_batch(batch).to_lists()
