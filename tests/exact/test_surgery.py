"""Surgery on published vocabularies: the promises on real texts, and embeddings that move with the ids.

The fast run takes some kilobytes of each text, the slow one megabytes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import tokenmill
from unit.test_surgery import mapped, unknown_of

PUBLISHED = [
    "gpt2/tokenizer.json",
    "llama3.1/tokenizer.json",
    "llama2/tokenizer.model",
    "sentencepiece-test/test_model.model",
    "bert-base-uncased/tokenizer.json",
]
# The plain run has these: one for each kind of model.
FAST = ["gpt2/tokenizer.json", "sentencepiece-test/test_model.model", "bert-base-uncased/tokenizer.json"]
NEW = ["quixotically", "zweihundert", "日本語版"]


def parameters() -> list[object]:
    return [
        pytest.param(name, marks=() if name in FAST else (pytest.mark.slow,), id=name.split("/")[0])
        for name in PUBLISHED
    ]


@pytest.fixture(scope="module")
def lines(corpus: Callable[[str], str], request: pytest.FixtureRequest) -> list[str]:
    """Lines of three corpora, in turn."""
    size = 400_000 if request.config.getoption("--slow") else 12_000
    texts = [
        corpus(name)[1_000_000 : 1_000_000 + size].splitlines()
        for name in ("english", "code", "multilingual")
    ]
    return [line for group in zip(*texts, strict=False) for line in group if line]


def load(data: Path, name: str) -> tokenmill.Tokenizer:
    return tokenmill.load(data / "vocab" / name)


def moved_rows(
    tok: tokenmill.Tokenizer, done: tokenmill.Surgery
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """An embedding and the same one moved: each token that is kept has its row, bit for bit."""
    matrix = np.random.default_rng(1).standard_normal((tok.max_id + 1, 4)).astype(np.float32)
    moved = done.tokenizer.embedding_plan(len(matrix), id_map=done.id_map).moved(matrix)
    assert len(moved) > done.tokenizer.max_id
    kept = np.flatnonzero(done.id_map >= 0)
    assert len(kept) > 0
    assert (moved[done.id_map[kept]] == matrix[kept]).all()
    for id in kept[:: max(1, len(kept) // 500)].tolist():
        assert done.tokenizer.token_bytes(int(done.id_map[id])) == tok.token_bytes(id)
    return matrix, moved


@pytest.mark.parametrize("name", parameters())
def test_trimmed_to_some_texts(data: Path, lines: list[str], name: str) -> None:
    tok = load(data, name)
    done = tok.trim(texts=lines[::2])
    assert len(done.tokenizer) < len(tok)
    unknown = unknown_of(tok)
    before = tok.encode_batch(lines).to_lists()
    after = done.tokenizer.encode_batch(lines).to_lists()
    held = 0
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        if unknown not in old and (done.id_map[old] >= 0).all():
            held += 1
            assert new == mapped(done.id_map, old), lines[number]
    # All texts that were given, unless some characters are unknown, and some others.
    assert held > len(lines) // 10
    if name.startswith("gpt2"):
        assert held > len(lines) // 2

    matrix, moved = moved_rows(tok, done)
    for old, new in zip(before[::2], after[::2], strict=True):
        if unknown not in old:
            assert (moved[new] == matrix[old]).all()


@pytest.mark.parametrize("name", parameters())
def test_extended_by_some_words(data: Path, lines: list[str], name: str) -> None:
    tok = load(data, name)
    if name.startswith("sentencepiece"):
        with pytest.raises(tokenmill.FormatError, match="competes by its score"):
            tok.extend(NEW)
        return
    new = [f"▁{word}" for word in NEW] if name.startswith("llama2") else NEW
    done = tok.extend(new)
    before = tok.encode_batch(lines).to_lists()
    after = done.tokenizer.encode_batch(lines).to_lists()
    spared = 0
    for line, old, ids in zip(lines, before, after, strict=True):
        seen = ("▁" + line.replace(" ", "▁")).encode()
        seen = seen.lower() if name.startswith("bert") else seen
        if not any(token in seen or token in line.encode() for token in done.promise.absent):
            spared += 1
            assert ids == old, line
    assert spared > len(lines) // 2
    moved_rows(tok, done)
    for word, token in zip(NEW, new, strict=True):
        if word == NEW[2] and name.startswith("bert"):
            continue  # its normalizer puts spaces around ideographs
        ids = done.tokenizer.encode(word)
        assert ids == [done.tokenizer.token_to_id(token) or done.tokenizer.max_id], word


@pytest.mark.parametrize("name", parameters())
def test_remapped_at_random(data: Path, lines: list[str], name: str) -> None:
    tok = load(data, name)
    ids = np.array(sorted(set(tok.vocab.values())))
    order = np.random.default_rng(2).permutation(ids).tolist()
    done = tok.remap(order)
    some = lines[:200]
    before = tok.encode_batch(some).to_lists()
    assert done.tokenizer.encode_batch(some).to_lists() == [mapped(done.id_map, old) for old in before]
    matrix, moved = moved_rows(tok, done)
    for old in before:
        assert (moved[done.id_map[old]] == matrix[old]).all()
    same = tok.remap({})
    assert same.tokenizer.fingerprint == tok.fingerprint


def test_joined_with_another_vocabulary(data: Path, lines: list[str]) -> None:
    first = load(data, "gpt2/tokenizer.json")
    second = tokenmill.train(texts=lines, vocab_size=1500, split="gpt2", special_tokens=["<|im_end|>"])
    done = tokenmill.join(first, second)
    both = done.tokenizer
    assert both.special_tokens == {"<|endoftext|>": 50256, "<|im_end|>": int(done.id_map[0])}
    ids = sorted(set(second.vocab.values()))
    assert [both.token_bytes(int(done.id_map[id])) for id in ids] == [second.token_bytes(id) for id in ids]
    before, after = first.encode_batch(lines).to_lists(), both.encode_batch(lines).to_lists()
    spared = 0
    for line, old, new in zip(lines, before, after, strict=True):
        if not any(token in line.encode() for token in done.promise.absent):
            spared += 1
            assert new == old, line
    assert 0 < spared < len(lines)
