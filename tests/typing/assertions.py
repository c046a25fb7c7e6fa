"""Read by mypy, never run: what a type checker must know of the public names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import tokenmill
from tokenmill import (
    Audit,
    DecodeStream,
    Encoding,
    Explanation,
    ModelInputs,
    Packed,
    Plan,
    Ragged,
    RaggedEncodings,
    Tokenizer,
    TrainingReport,
    align_labels,
    collator,
    mask_from_spans,
    pack,
    reference,
    spans_from_labels,
)
from tokenmill.stages import Guarantee, Stage, StageAudit, Worst
from typing_extensions import assert_type


def making(path: Path, texts: Iterator[str], ids: Mapping[str, int]) -> None:
    assert_type(tokenmill.train("corpus/*.txt", vocab_size=32_000), Tokenizer)
    assert_type(tokenmill.train([path, "b.txt"], num_merges=3, special_tokens=("<s>",)), Tokenizer)
    assert_type(tokenmill.train(texts=texts, num_merges=3, progress=print), Tokenizer)
    assert_type(tokenmill.train(path, num_merges=3, return_ids=False), Tokenizer)
    counts = tokenmill.count_pretokens(path, model="unigram", split_digits=True)
    assert_type(counts, tokenmill.PretokenCounts)
    assert_type(tokenmill.train(counts=counts, num_merges=3), Tokenizer)
    assert_type(tokenmill.train(counts=[counts, path, "counts/"], num_merges=3), Tokenizer)
    assert_type(tokenmill.merge_counts([counts, path], min_count=2), tokenmill.PretokenCounts)
    assert_type(list(counts.items()), list[tuple[bytes, int]])
    trained = tokenmill.train(texts=texts, num_merges=3, split="none", return_ids=True)
    assert_type(trained, tuple[Tokenizer, npt.NDArray[Any]])
    assert_type(tokenmill.load(path), Tokenizer)
    assert_type(tokenmill.load("x", split="gpt2", special_tokens=ids), Tokenizer)
    assert_type(tokenmill.load("x", hooks={"lower": str.lower, "words": str.split}), Tokenizer)
    assert_type(Tokenizer.from_tokens([b"a"], special_tokens=["<s>"]), Tokenizer)
    assert_type(Tokenizer.from_merges({"a": 0}, [("a", "a")]), Tokenizer)
    assert_type(Tokenizer.from_merges({b"a": 0}, [(b"a", b"a")]), Tokenizer)
    assert_type(Tokenizer.from_pairs([(97, 98)], split="none"), Tokenizer)
    assert_type(tokenmill.__version__, str)


def encoding(tok: Tokenizer, text: str, rows: Sequence[str], out: npt.NDArray[np.uint16]) -> None:
    assert_type(tok.encode(text), list[int])
    assert_type(tok.encode(b"low", special={"<s>"}, surrogates="error", num_threads=None), list[int])
    assert_type(tok.encode(memoryview(b"low"), special=frozenset(["<s>"])), list[int])
    assert_type(tok.encode_to_numpy(text, dtype=np.uint16), npt.NDArray[Any])
    assert_type(tok.encode_to_numpy(text, out=out), npt.NDArray[Any])
    assert_type(tok.encode_batch(rows, num_threads=2), Ragged)
    assert_type(tok.encode(text, untrusted=[(0, 3)], protected={"<s>", 5}), list[int])
    assert_type(tok.encode_batch(rows, untrusted=[[(0, 3)], None], protected=[["<s>"], None]), Ragged)
    assert_type(tok.find_added(text, untrusted=np.array([[0, 3]])), list[tuple[int, int, int]])
    assert_type(tok.count(text), int)
    assert_type(tok.count_batch(rows), npt.NDArray[np.int64])
    assert_type(tok.encode_nbest(text, 5), list[tuple[list[int], float]])
    assert_type(tok.log_probability(text), float)
    assert_type(tok.explain(text, special="parse"), Explanation)
    assert_type(tok.explain(b"low").ids, list[int])
    assert_type(tok.explain(text).to_dict(), dict[str, Any])
    assert_type(tok.plan(), Plan)
    assert_type(tok.plan()["model"], Stage)
    assert_type(tok.plan().to_dict(), dict[str, Any])
    assert_type(tok.audit(seconds=0.1, max_bytes=4096), Audit)
    assert_type(tok.audit()["model"], StageAudit)
    assert_type([stage.guarantee for stage in tok.audit()], list[Guarantee])
    assert_type(tok.audit()["model"].worst, Worst | None)
    assert_type(tok.sample(text, alpha=0.1, seed=0), list[int])
    encoding = tok.encode_with_offsets(text, special="parse")
    assert_type(encoding, Encoding)
    assert_type(encoding.ids, list[int])
    assert_type(encoding.tokens, list[str])
    assert_type(encoding.surface_tokens, list[str])
    assert_type(encoding.n_sequences, int)
    assert_type(encoding.offsets, list[tuple[int, int]])
    assert_type(encoding.byte_offsets, list[tuple[int, int]])
    assert_type(len(encoding), int)
    assert_type(encoding.type_ids, list[int])
    assert_type(encoding.attention_mask, list[int])
    assert_type(encoding.special_tokens_mask, list[int])
    assert_type(encoding.word_ids, list[int | None])
    assert_type(encoding.sequence_ids, list[int | None])
    assert_type(encoding.overflowing, list[Encoding])
    assert_type(encoding.char_to_token(3), int | None)
    assert_type(encoding.token_to_chars(0), tuple[int, int] | None)
    assert_type(encoding.token_to_word(0), int | None)
    assert_type(encoding.word_to_tokens(0, sequence=1), tuple[int, int] | None)
    assert_type(tok.encode_with_offsets(["a", "b"], is_pretokenized=True), Encoding)
    assert_type(tok(text, text, truncation=True, max_length=8), Encoding)
    assert_type(tok(["a", b"b"], padding="longest"), list[Encoding])
    assert_type(tok(["a", b"b"], ["c", "d"], num_threads=None), list[Encoding])
    assert_type(tok(["a", b"b"], is_pretokenized=True), Encoding)
    assert_type(tok(["a", "b"], ["c"], is_pretokenized=True, num_threads=2), Encoding)
    assert_type(tok([["a"], ["b", b"c"]], is_pretokenized=True), list[Encoding])
    assert_type(tok([["a"], ["b"]], [["c"], ["d"]], is_pretokenized=True, padding=True), list[Encoding])
    assert_type(tok("a", return_tensors="np"), ModelInputs)
    assert_type(tok(["a", b"b"], ["c", "d"], return_tensors="pt", padding=True, pad_id=3), ModelInputs)
    assert_type(tok([["a"], ["b"]], is_pretokenized=True, return_tensors="np", dtype="int32"), ModelInputs)
    assert_type(tok.encode_batch(rows, offsets=False), Ragged)
    with_offsets = tok.encode_batch(rows, offsets=True, add_special_tokens=True)
    assert_type(with_offsets, RaggedEncodings)
    assert_type(with_offsets.offsets, npt.NDArray[np.int64])
    assert_type(with_offsets.byte_offsets, npt.NDArray[np.int64])
    assert_type(with_offsets[1:], RaggedEncodings)
    assert_type(with_offsets[0], npt.NDArray[Any])
    assert_type(with_offsets.to_encodings(), list[Encoding])


def tensors(tok: Tokenizer, ids: list[list[int]], rows: Ragged, encoding: Encoding) -> None:
    assert_type(tok.pad_batch(ids, pad_id=0), ModelInputs)
    assert_type(tok.pad_batch(rows, return_position_ids=True, position_offset=[3]), ModelInputs)
    assert_type(tok.pad_batch({"input_ids": ids, "labels": ids}, own_length=["labels"]), ModelInputs)
    assert_type(rows.pad(0, length=8), tuple[npt.NDArray[Any], npt.NDArray[Any]])
    windows = pack(ids, 8, method="concat", drop="last")
    assert_type(windows, Packed)
    assert_type(windows[0], ModelInputs)
    assert_type(windows[:2], list[ModelInputs])
    assert_type(windows.pad(0), ModelInputs)
    assert_type(windows.dropped_rows, npt.NDArray[np.int64])
    assert_type(windows.split_rows, npt.NDArray[np.int64])
    assert_type(rows[[0]], Ragged)
    assert_type(rows[np.array([0])], Ragged)
    assert_type(mask_from_spans(encoding, [(0, 3)]), npt.NDArray[np.bool_])
    assert_type(align_labels(encoding, [(0, 3, "A")], "BILOU"), list[str | None])
    numbers = align_labels(encoding, [(0, 3, "A")], label_ids={"O": 0})
    assert_type(numbers, npt.NDArray[np.int64])
    assert_type(spans_from_labels(encoding, numbers, label_ids={"O": 0}), list[tuple[int, int, str]])
    assert_type(collator(tok, pad_id=0)(["a"]), ModelInputs | dict[str, Any])
    assert_type(ModelInputs(windows[0]).to("cpu"), ModelInputs)


def decoding(tok: Tokenizer, ids: list[int], array: npt.NDArray[np.uint32], rows: Ragged) -> None:
    assert_type(tok.decode(ids), str)
    assert_type(tok.decode(array, errors="strict", undefined="skip"), str)
    assert_type(tok.decode_bytes(tuple(ids), skip_special_tokens=True), bytes)
    assert_type(tok.decode_batch(rows), list[str])
    assert_type(tok.decode_batch([ids, array]), list[str])
    stream = tok.decode_stream(skip_special_tokens=True, errors="strict", undefined="skip")
    assert_type(stream, DecodeStream)
    assert_type(stream.step(3), str)
    assert_type(stream.extend(array), str)
    assert_type(stream.finish(), str)


def looking(tok: Tokenizer) -> None:
    assert_type(tok.vocab, dict[str, int])
    assert_type(tok.merges, list[tuple[bytes, bytes]])
    assert_type(tok.special_tokens, dict[str, int])
    assert_type(tok.token_to_id("a"), int | None)
    assert_type(tok.id_to_token(3), str | None)
    assert_type(tok.token_bytes(3), bytes)
    assert_type(tok.vocab_size, int)
    assert_type(len(tok), int)
    assert_type(tok.max_id, int)
    assert_type(tok.split, str | None)
    assert_type(tok.fingerprint, str)
    assert_type(tok.digests, dict[str, str])
    assert_type(tok.chat_templates, dict[str, str])
    assert_type(tok.with_chat_template("chatml"), Tokenizer)
    assert_type(tok.with_chat_template(None, "tool_use"), Tokenizer)
    assert_type(tok.eos_token_id, int | None)
    assert_type(tok.unk_token_id, int | None)
    assert_type(tok.with_special_tokens({"<s>": 3}), Tokenizer)
    assert_type(tok.with_special_tokens(["<s>"]), Tokenizer)
    assert_type(tok.with_vocab_size(300), Tokenizer)
    assert_type(tok.with_normalizer(str.lower, name="lower"), Tokenizer)
    assert_type(tok.with_normalizer(lambda text: [(text, 0, len(text))]), Tokenizer)
    assert_type(tok.with_splitter(str.split), Tokenizer)
    assert_type(tok.with_splitter(lambda text: [(0, len(text))]), Tokenizer)
    assert_type(tok.with_splitter(None), Tokenizer)
    tokenmill.register_hook("words", str.split)
    assert_type(tok.save("out", format="tiktoken", lossy=True), None)
    assert_type(tok == tok, bool)


def reports(tok: Tokenizer) -> None:
    report = tok.training_report
    assert_type(report, TrainingReport | None)
    assert report is not None
    assert_type(report.merges, list[tuple[bytes, bytes, int]])
    assert_type(report.stopped_early, str | None)
    assert_type(report.phases, dict[str, float])
    assert_type(report.documents, int)


def sizes(tok: Tokenizer) -> None:
    difference = tokenmill.diff(tok, tok, texts=["a"])
    assert_type(difference, tokenmill.Difference)
    assert_type(difference.verdict, Literal["same", "different", "unknown"])
    assert_type(tokenmill.report({"a": tok}, {"en": ["a"]}, parallel=True), tokenmill.Report)
    assert_type(tokenmill.report([tok]).to_dict(), dict[str, Any])
    found = tokenmill.compare_vocab_sizes(tok, {"en": "a", "de": ["b"]}, [300])
    assert_type(found, tokenmill.VocabSizes)
    assert_type(found["en", 300].fertility, float | None)
    assert_type(found.table("tokens", markdown=True), str)
    train = lambda size: tokenmill.train(texts=["a"], vocab_size=size)  # noqa: E731
    assert_type(tokenmill.compare_vocab_sizes(None, ["a"], [300], train=train), tokenmill.VocabSizes)


def rows(batch: Ragged) -> None:
    assert_type(batch[0], npt.NDArray[Any])
    assert_type(batch[1:], Ragged)
    assert_type(batch.ids, npt.NDArray[Any])
    assert_type(batch.row_offsets, npt.NDArray[np.int64])
    assert_type(batch.to_lists(), list[list[int]])
    for row in batch:
        assert_type(row, npt.NDArray[Any])


def definition(text: str) -> None:
    symbols = reference.byte_symbols(text)
    assert_type(symbols, tuple[bytes, ...])
    assert_type(reference.char_symbols(text), tuple[str, ...])
    assert_type(reference.train([symbols], num_merges=3), list[tuple[bytes, bytes, int]])


def failing(error: tokenmill.FormatError, unknown: tokenmill.UnknownTokenError) -> None:
    assert_type(error.path, str | None)
    assert_type(error.field, str)
    assert_type(error.limit, int | None)
    assert_type(unknown.position, int)
    root: tokenmill.TokenmillError = error
    value: ValueError = unknown
    assert_type((root, value), tuple[tokenmill.TokenmillError, ValueError])
