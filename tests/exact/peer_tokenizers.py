"""The library tokenizers, asked in our words: train like ours, and compare ids piece by piece."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tokenmill import reference

# Possessive quantifiers and look-ahead.
USER_REGEX = r"\p{N}{1,2}+|(?:\p{L}\p{M}*+)++(?=\s|\p{P}|$)|\p{L}+|[^\s\p{L}\p{N}]++|\s+(?!\S)|\s"
CORPORA = ["english", "code", "multilingual", "cjk", "json"]


def peer_training(
    texts: Iterable[str],
    *,
    vocab_size: int,
    pre_tokenizer: Any = None,
    bytes_first: bool = True,
    **options: Any,
) -> dict[str, Any]:
    """Train BPE with tokenizers; the tokenizer.json that it makes.

    `bytes_first` gives it the 256 bytes as its first symbols; without, it takes the characters that occur.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(**{key: value for key, value in options.items() if key == "unk_token"}))
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    options.pop("unk_token", None)
    options.setdefault("min_frequency", 2)
    alphabet = pre_tokenizers.ByteLevel.alphabet() if bytes_first else []
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, initial_alphabet=alphabet, show_progress=False, **options
    )
    tokenizer.train_from_iterator(texts, trainer)
    trained: dict[str, Any] = json.loads(tokenizer.to_str())
    return trained


def merges_of(trained: dict[str, Any]) -> list[tuple[str, str]]:
    """The merges of a tokenizer.json, as written there."""
    return [(left, right) for left, right in trained["model"]["merges"]]


def written_merges(ours: Any) -> list[tuple[str, str]]:
    """Our merges in the byte alphabet."""
    characters = reference.byte_to_unicode()

    def written(token: bytes) -> str:
        return "".join([characters[byte] for byte in token])

    return [(written(left), written(right)) for left, right in ours.merges]


def byte_level(regex: str | None) -> Any:
    """Split at a regex (None: not at all), then bytes."""
    from tokenizers import Regex, pre_tokenizers

    bytes_alone = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    if regex is None:
        return bytes_alone
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(regex), "isolated"), bytes_alone])


def saved(tokenizer: Any, folder: Path, **options: Any) -> Path:
    """Where the tokenizer.json of one of ours is."""
    path = folder / "tokenizer.json"
    tokenizer.save(path, **options)
    return path


GPT2_REGEX = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def saved_regex(split: str, native: Any, folder: Path) -> str | None:
    """The regex that a tokenizer.json of ours has for a split; None where there is no split.

    GPT-2's has no text there, since ByteLevel knows it; it is what a Split is given here.
    """
    tok = native.Tokenizer.from_tokens([bytes([value]) for value in range(256)], split=split)
    pre_tokenizer = json.loads(saved(tok, folder).read_text(encoding="utf-8"))["pre_tokenizer"]
    if pre_tokenizer["type"] == "ByteLevel":
        if not pre_tokenizer["use_regex"]:
            return None
        return GPT2_REGEX
    regex: str = pre_tokenizer["pretokenizers"][0]["pattern"]["Regex"]
    return regex


def boundary(text: bytes, at: int) -> int:
    """The next character boundary."""
    while at < len(text) and text[at] & 0xC0 == 0x80:
        at += 1
    return at


def cut(text: bytes, piece: int, limit: int | None = None) -> Iterator[str]:
    """The first `limit` bytes in pieces of about `piece` bytes, cut at character boundaries."""
    end = boundary(text, min(limit if limit is not None else len(text), len(text)))
    for start in range(0, end, piece):
        yield text[boundary(text, start) : min(boundary(text, start + piece), end)].decode("utf-8")


def samples(data: Path, piece: int, limit: int, adversarial: int) -> list[str]:
    """Pieces of each corpus up to `limit`, and the first `adversarial` bytes of each adversarial text."""
    texts = [
        text for name in CORPORA for text in cut(head(data / "corpus" / f"{name}.txt", limit), piece, limit)
    ]
    for path in sorted((data / "adversarial").glob("*.txt")):
        texts += cut(head(path, adversarial), adversarial, adversarial)
    return [text for text in texts if text]


def head(path: Path, limit: int) -> bytes:
    """The first bytes of a file, with those of the character in which the limit falls."""
    with path.open("rb") as file:
        return file.read(limit + 4)


def prefix(path: Path, limit: int) -> str:
    """The first bytes of a file as text, cut at a character boundary."""
    text = head(path, limit)
    return text[: boundary(text, min(limit, len(text)))].decode("utf-8")


def same_lists(what: str, texts: Sequence[str], theirs: Iterable[Any], ours: Iterable[Any]) -> int:
    """Fail at the first difference; how many were compared."""
    compared = 0
    for text, want, got in zip(texts, theirs, ours, strict=True):
        if want != got:
            pairs = enumerate(zip(want, got, strict=False))
            at = next((i for i, (a, b) in pairs if a != b), min(len(want), len(got)))
            there, here = want[at : at + 5], got[at : at + 5]
            pytest.fail(f"{what}: differ at {at}: theirs {there}, ours {here} in {text!r:.300}")
        compared += 1
    return compared


def same_ids(what: str, texts: Sequence[str], theirs: Any, ours: Any, *, special: Any = "parse") -> int:
    """Compare ids with a `tokenizers.Tokenizer`, which always parses special tokens."""
    encodings = theirs.encode_batch_fast(texts, add_special_tokens=False)
    found = ours.encode_batch(texts, special=special).to_lists()
    return same_lists(what, texts, [encoding.ids for encoding in encodings], found)
