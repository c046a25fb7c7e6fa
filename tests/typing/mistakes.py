"""Read by mypy, never run: each line is a mistake that a type checker must find, and of which kind."""

from __future__ import annotations

import tokenmill
from tokenmill import Ragged, Tokenizer


def mistakes(tok: Tokenizer, batch: Ragged) -> None:
    tok.encode(3)  # type: ignore[arg-type]
    tok.encode("a", special="drop")  # type: ignore[arg-type]
    tok.encode("a", True)  # type: ignore[call-arg]
    tok.encode("a", surrogates="drop")  # type: ignore[arg-type]
    tok(["a"], num_threads="2")  # type: ignore[call-overload]
    tok(["a"], "b", is_pretokenized=3)  # type: ignore[call-overload]
    tok("a", is_pretokenized=True).ids.append("b")  # type: ignore[arg-type]
    tok("a", return_tensors="tf")  # type: ignore[call-overload]
    tok.pad_batch([[1]], padding_side="up")  # type: ignore[arg-type]
    tokenmill.pack([[1]], 8, method="first-fit")  # type: ignore[arg-type]
    tok.decode("low")  # type: ignore[arg-type]
    tok.decode([1], errors="surrogateescape")  # type: ignore[arg-type]
    tok.decode([1], undefined="drop")  # type: ignore[arg-type]
    tok.token_bytes("a")  # type: ignore[arg-type]
    tok.save("x", format="csv")  # type: ignore[arg-type]
    tok.vocab = {}  # type: ignore[misc]
    tok.with_vocab_size("3")  # type: ignore[arg-type]
    tokenmill.compare_vocab_sizes(tok, "a", ["3"])  # type: ignore[list-item]
    tokenmill.compare_vocab_sizes(tok, "a", [300]).table("words")  # type: ignore[arg-type]
    batch["a"]  # type: ignore[index]
    tokenmill.train(texts=["a"], vocab_size="300")  # type: ignore[call-overload]
    tokenmill.train(texts=["a"], num_merges=3, tie_break="dice")  # type: ignore[call-overload]
    tokenmill.train(texts=[b"a"], num_merges=3)  # type: ignore[list-item]
    tokenmill.train(texts=["a"], num_merges=3, return_ids=True)  # type: ignore[call-overload]
    tokenmill.load(3)  # type: ignore[arg-type]
    Tokenizer.from_tokens(["a"])  # type: ignore[list-item]
    Tokenizer.from_pairs([(1, 2, 3)])  # type: ignore[list-item]
