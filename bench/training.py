"""Training in a process of its own, with tokenmill or with tokenizers: time, memory and the merges."""

from __future__ import annotations

import gc
import resource
import time
from pathlib import Path
from typing import Any

import data
from made_files import byte_characters

DOCUMENT = 65_536


def learn(
    trainer: str,
    corpus: str,
    size: int,
    whole: bool,
    vocab_size: int,
    threads: int,
    merges: str,
    model: str = "bpe",
) -> dict[str, Any]:
    """Learn a byte-level vocabulary with the GPT-2 split, or a WordPiece vocabulary as BERT has it.

    Both read the same strings from memory, and settle ties by the smaller pair of ids as tokenizers has
    them. The merges are written to a file; of WordPiece the tokens, sorted: ``wordpiece`` goes by
    frequency, ``likelihood`` by the other score, which only we have.
    """
    content = data.text(corpus, size)
    texts = [content.decode()] if whole else _documents(content)
    if trainer == "tokenmill":
        import tokenmill  # noqa: F401  # the clock below is for training alone
    else:
        import tokenizers  # noqa: F401
    before = resource.getrusage(resource.RUSAGE_SELF)
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    if trainer == "tokenmill":
        result = _tokenmill(texts, vocab_size, threads, model)
    else:
        result = _tokenizers(texts, vocab_size, model)
    seconds = time.perf_counter() - start
    gc.enable()
    after = resource.getrusage(resource.RUSAGE_SELF)
    if model == "bpe":
        learned = _merges(trainer, result)
        lines = [f"{left.hex()} {right.hex()}\n" for left, right in learned]
    else:
        lines = sorted(f"{token.encode().hex()}\n" for token in _tokens(trainer, result))
    Path(merges).write_text("".join(lines), encoding="ascii")
    return {
        "bytes": len(content),
        "wall": seconds,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_mb": after.ru_maxrss / 1024,
        "text_mb": before.ru_maxrss / 1024,
        "merges": len(lines),
    }


def learn_whole(corpus: str, size: int, vocab_size: int) -> dict[str, Any]:
    """Learn from a text as a whole, with its ids: time, memory, and whether they are those of ``encode``."""
    import numpy as np
    import tokenmill

    content = data.text(corpus, size)
    text = content.decode()
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    tok, ids = tokenmill.train(
        texts=[text], vocab_size=vocab_size, split="none", num_threads=1, return_ids=True
    )
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    report = tok.training_report
    assert report is not None
    return {
        "bytes": len(content),
        "wall": seconds,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_mb": after.ru_maxrss / 1024,
        "text_mb": before.ru_maxrss / 1024,
        "ids": len(ids),
        "vocab_size": tok.vocab_size,
        "stopped_early": report.stopped_early,
        "phases": report.phases,
        "is_encode": np.array_equal(ids, tok.encode_to_numpy(text, dtype=np.uint16)),
    }


def _documents(content: bytes) -> list[str]:
    """Whole lines, about 64 kB together."""
    documents = []
    start = 0
    while start < len(content):
        end = content.find(b"\n", start + DOCUMENT) + 1 or len(content)
        documents.append(content[start:end].decode())
        start = end
    return documents


def _tokenmill(texts: list[str], vocab_size: int, threads: int, model: str) -> Any:
    import tokenmill

    if model != "bpe":
        return tokenmill.train(
            texts=texts,
            model="wordpiece",
            score="likelihood" if model == "likelihood" else "frequency",
            vocab_size=vocab_size,
            unk_token="[UNK]",
            min_frequency=1,
            num_threads=threads,
        )
    return tokenmill.train(
        texts=texts, vocab_size=vocab_size, split="gpt2", tie_break="huggingface", num_threads=threads
    )


def _tokenizers(texts: list[str], vocab_size: int, model: str) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    if model != "bpe":
        words = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        words.normalizer = normalizers.BertNormalizer()
        words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        pieces = trainers.WordPieceTrainer(
            vocab_size=vocab_size, special_tokens=["[UNK]"], show_progress=False
        )
        words.train_from_iterator(texts, pieces)
        return words
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _merges(trainer: str, result: Any) -> list[tuple[bytes, bytes]]:
    import json

    if trainer == "tokenmill":
        return list(result.merges)
    byte_of = {character: byte for byte, character in byte_characters().items()}

    def spelled(token: str) -> bytes:
        return bytes(byte_of[character] for character in token)

    merges = json.loads(result.to_str())["model"]["merges"]
    return [(spelled(left), spelled(right)) for left, right in merges]


def _tokens(trainer: str, result: Any) -> list[str]:
    if trainer == "tokenmill":
        return [result.id_to_token(number) for number in range(result.vocab_size)]
    return list(result.get_vocab())
