"""What is called under a limit on memory: a row for every public method that takes text, ids or files."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tokenmill
from tokenmill import algorithms
from tokenmill.placeholder import NGramModel

SMALL = "a small text, aa"


class Inputs:
    """Inputs of so many bytes, and what takes them, made when they are first asked for."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)

    def __enter__(self) -> Inputs:
        return self

    def __exit__(self, *_: object) -> None:
        self.folder.cleanup()

    def small_ids(self) -> list[int]:
        return self.tok.encode(SMALL)

    # ---- tokenizers --------------------------------------------------------------------------

    @cached_property
    def tok(self) -> tokenmill.Tokenizer:
        texts = ["low lower lowest  aa aa\n" * 3]
        return tokenmill.train(texts=texts, num_merges=9, special_tokens=["<s>"])

    def of_json(self, name: str, **fields: object) -> tokenmill.Tokenizer:
        path = self.path / f"{name}.json"
        path.write_text(json.dumps({"version": "1.0", "added_tokens": [], **fields}), encoding="utf-8")
        return tokenmill.load(path)

    @cached_property
    def unigram(self) -> tokenmill.Tokenizer:
        pieces = [["<unk>", 0.0], ["a", -2.0], ["aa", -3.5], [" ", -4.0]]
        return self.of_json("unigram", model={"type": "Unigram", "unk_id": 0, "vocab": pieces})

    @cached_property
    def words(self) -> tokenmill.Tokenizer:
        vocab = {"[UNK]": 0, "a": 1, "##a": 2, "##aa": 3}
        model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocab}
        normalizer = {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        }
        return self.of_json(
            "words",
            normalizer=normalizer,
            pre_tokenizer={"type": "BertPreTokenizer"},
            model={**model, "max_input_chars_per_word": 100},
            decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        )

    @cached_property
    def characters(self) -> tokenmill.Tokenizer:
        """Normalizes, has one pretoken, and steps that decode."""
        model = {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": False,
            "vocab": {"<unk>": 0, "a": 1, "▁": 2, "aa": 3},
            "merges": [["a", "a"]],
        }
        prepend = {"type": "Prepend", "prepend": "▁"}
        spaces = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
        back = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
        return self.of_json(
            "characters",
            normalizer={"type": "Sequence", "normalizers": [prepend, spaces]},
            model=model,
            decoder={"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}]},
        )

    # ---- what they are given -----------------------------------------------------------------

    @cached_property
    def spaces(self) -> str:
        return " " * self.size

    @cached_property
    def letters(self) -> str:
        return "a" * self.size

    @cached_property
    def short_words(self) -> str:
        return "Aa " * (self.size // 3)

    @cached_property
    def wide(self) -> str:
        """Two bytes of UTF-8 for each byte here, so that it is copied."""
        return "é " * (self.size // 2)

    @cached_property
    def buffer(self) -> bytearray:
        return bytearray(b" ") * self.size

    @cached_property
    def chat(self) -> list[dict[str, str]]:
        return [
            {"role": role, "content": self.short_words[: self.size // 8]} for role in ("user", "assistant")
        ]

    @cached_property
    def texts(self) -> list[str]:
        """Long ones."""
        return [self.spaces[: self.size // 8]] * 8

    @cached_property
    def many(self) -> list[str]:
        """Short ones, a pointer each."""
        return ["a"] * (self.size // 8)

    @cached_property
    def column(self) -> Any:
        import pyarrow as pa

        return pa.array(self.texts, type=pa.large_string())

    @cached_property
    def table(self) -> Any:
        import pyarrow as pa

        return pa.record_batch({"text": self.column})

    @cached_property
    def ids(self) -> list[int]:
        return [self.tok.encode("a")[0]] * (self.size // 8)

    @cached_property
    def array(self) -> Any:
        import numpy as np

        return np.full(self.size // 8, self.tok.encode("a")[0], dtype=np.int64)

    @cached_property
    def rows(self) -> list[list[int]]:
        return [self.ids[: len(self.ids) // 8]] * 8

    @cached_property
    def ragged(self) -> tokenmill.Ragged:
        return self.tok.encode_batch(["a" * (self.size // 32)] * 8)

    @cached_property
    def ragged_encodings(self) -> tokenmill.RaggedEncodings:
        return self.tok.encode_batch(["a " * (self.size // 256)] * 8, offsets=True)

    @cached_property
    def encoding(self) -> tokenmill.Encoding:
        return self.tok.encode_with_offsets("a " * (self.size // 64))

    @cached_property
    def grown(self) -> tokenmill.Appender:
        appender = self.tok.appender()
        appender.push(" " * (self.size // 64))
        return appender

    @cached_property
    def grown_in_front(self) -> tokenmill.Prepender:
        prepender = self.tok.prepender()
        prepender.push(" " * (self.size // 64))
        return prepender

    @cached_property
    def ranges(self) -> tokenmill.IntervalCounter:
        return self.tok.interval_counter("a " * (self.size // 256))

    @cached_property
    def stream(self) -> tokenmill.DecodeStream:
        return self.tok.decode_stream()

    @cached_property
    def file(self) -> Path:
        path = self.path / "text.txt"
        path.write_text("aa lower " * (self.size // 9), encoding="utf-8")
        return path

    @cached_property
    def large_file(self) -> Path:
        """Nothing but zeros, which take no room on a disk."""
        path = self.path / "large.json"
        with path.open("wb") as file:
            file.truncate(min(8 * self.size, (1 << 30) - 1))
        return path

    @cached_property
    def tokens(self) -> list[bytes]:
        return [bytes([byte]) for byte in range(256)]


@dataclass(frozen=True)
class Case:
    """A call, ready to be made with such inputs."""

    prepare: Callable[[Inputs], Callable[[], object]]
    #: Does it take memory that goes with the input? Then a little is not enough.
    needs_memory: bool = True
    #: Is it left to the slow tests?
    is_slow: bool = False


CASES: dict[str, Case] = {}


def case(
    name: str,
    prepare: Callable[[Inputs], Callable[[], object]],
    *,
    needs_memory: bool = True,
    is_slow: bool = False,
) -> None:
    """A row: the public name, and what is special about this call behind a colon."""
    assert name not in CASES
    CASES[name] = Case(prepare, needs_memory, is_slow)


def given(
    get: Callable[[Inputs], Any], call: Callable[[Inputs, Any], object]
) -> Callable[[Inputs], Callable[[], object]]:
    """The input is made beforehand."""

    def prepare(inputs: Inputs) -> Callable[[], object]:
        made, _ = get(inputs), inputs.tok
        return lambda: call(inputs, made)

    return prepare


def _wordpiece(score: Any) -> Callable[[Inputs, Any], object]:
    return lambda _, texts: tokenmill.train(
        texts=texts, model="wordpiece", unk_token="[UNK]", num_merges=2, score=score
    )


def _unigram(dialect: Any) -> Callable[[Inputs, Any], object]:
    return lambda _, texts: tokenmill.train(
        texts=texts, model="unigram", vocab_size=100, normalizer=None, dialect=dialect, unk_token="<unk>"
    )


# ---- text to ids ------------------------------------------------------------------------------

case("Tokenizer.encode", given(lambda i: i.spaces, lambda i, text: i.tok.encode(text)))
case("Tokenizer.encode: many pretokens", given(lambda i: i.short_words, lambda i, text: i.tok.encode(text)))
case(
    "Tokenizer.encode: threads",
    given(lambda i: i.short_words, lambda i, text: i.tok.encode(text, num_threads=3)),
)
case("Tokenizer.encode: a buffer", given(lambda i: i.buffer, lambda i, text: i.tok.encode(text)))
case(
    "Tokenizer.encode: a view", given(lambda i: memoryview(i.buffer)[::2], lambda i, text: i.tok.encode(text))
)
case("Tokenizer.encode: wide", given(lambda i: i.wide, lambda i, text: i.tok.encode(text)))
case(
    "Tokenizer.encode: wide, threads",
    given(lambda i: i.wide, lambda i, text: i.tok.encode(text, num_threads=2)),
)
case(
    "Tokenizer.encode: wide, copied",
    given(lambda i: i.wide, lambda i, text: i.tok.encode(text, special="parse")),
)
case(
    "Tokenizer.encode: literals",
    given(lambda i: "<s>" * (i.size // 3), lambda i, text: i.tok.encode(text, special="parse")),
)
case(
    "Tokenizer.encode: Unigram",
    given(lambda i: (i.unigram, i.letters), lambda _, given: given[0].encode(given[1])),
)
case(
    "Tokenizer.encode: WordPiece",
    given(lambda i: (i.words, i.short_words), lambda _, given: given[0].encode(given[1])),
)
case(
    "Tokenizer.encode: normalized",
    given(lambda i: (i.characters, i.short_words), lambda _, given: given[0].encode(given[1])),
)
case(
    "Tokenizer.encode: one pretoken",
    given(lambda i: (i.characters, i.letters), lambda _, given: given[0].encode(given[1])),
    is_slow=True,
)
case(
    "Tokenizer.encode: a hook that normalizes",
    given(
        lambda i: (i.tok.with_normalizer(lambda text: text.upper()), i.letters),
        lambda _, given: given[0].encode(given[1]),
    ),
)
case(
    "Tokenizer.encode: a hook that gives spans",
    given(
        lambda i: (i.tok.with_splitter(lambda text: [(at, at + 1) for at in range(len(text))]), i.letters),
        lambda _, given: given[0].encode(given[1]),
    ),
)
case(
    "Tokenizer.encode: a hook that gives pieces",
    given(
        lambda i: (i.tok.with_splitter(str.split), i.short_words),
        lambda _, given: given[0].encode(given[1]),
    ),
)
case("Tokenizer.encode_to_numpy", given(lambda i: i.spaces, lambda i, text: i.tok.encode_to_numpy(text)))
for dtype in ("uint16", "int32", "int64", "uint64"):
    case(
        f"Tokenizer.encode_to_numpy: {dtype}",
        given(lambda i: i.short_words, lambda i, text, dtype=dtype: i.tok.encode_to_numpy(text, dtype=dtype)),  # type: ignore[misc]
    )


def with_out(inputs: Inputs) -> Any:
    import numpy as np

    return inputs.spaces, np.zeros(inputs.size, dtype=np.uint16)


case(
    "Tokenizer.encode_to_numpy: out",
    given(with_out, lambda i, given: i.tok.encode_to_numpy(given[0], out=given[1])),
)
case("Tokenizer.encode_batch", given(lambda i: i.texts, lambda i, texts: i.tok.encode_batch(texts)))
case(
    "Tokenizer.encode_batch: threads",
    given(lambda i: i.texts, lambda i, texts: i.tok.encode_batch(texts, num_threads=2)),
)
case("Tokenizer.encode_batch: many", given(lambda i: i.many, lambda i, texts: i.tok.encode_batch(texts)))
case(
    "Tokenizer.encode_batch: an iterator",
    given(lambda i: i.many, lambda i, texts: i.tok.encode_batch(iter(texts))),
)
case(
    "Tokenizer.encode_batch: offsets",
    given(lambda i: i.texts, lambda i, texts: i.tok.encode_batch(texts, offsets=True)),
    is_slow=True,
)
case("Tokenizer.encode_batch: Arrow", given(lambda i: i.column, lambda i, texts: i.tok.encode_batch(texts)))
case(
    "Tokenizer.encode_arrow",
    given(lambda i: i.table, lambda i, table: i.tok.encode_arrow(table)),
)
case(
    "Tokenizer.encode_arrow: counts, threads",
    given(lambda i: i.table, lambda i, table: i.tok.encode_arrow(table, ids_column=None, num_threads=2)),
    needs_memory=False,
)
case(
    "Tokenizer.encode_arrow: offsets, int64",
    given(lambda i: i.table, lambda i, table: i.tok.encode_arrow(table, offsets=True, dtype="int64")),
    is_slow=True,
)
case(
    "Tokenizer.encode_batch: buffers",
    given(lambda i: [i.buffer] * 2, lambda i, texts: i.tok.encode_batch(texts)),
)
case(
    "Tokenizer.encode_batch: wide",
    given(lambda i: [i.wide] * 2, lambda i, texts: i.tok.encode_batch(texts)),
    is_slow=True,
)
case(
    "Tokenizer.encode_with_offsets",
    given(lambda i: i.short_words, lambda i, text: i.tok.encode_with_offsets(text)),
)
case(
    "Tokenizer.encode_with_offsets: words",
    given(lambda i: i.many, lambda i, words: i.tok.encode_with_offsets(words, is_pretokenized=True)),
    is_slow=True,
)
case(
    "Tokenizer.encode_with_offsets: unknown text",
    given(lambda i: (i.unigram, i.wide), lambda _, given: given[0].encode_with_offsets(given[1])),
    is_slow=True,
)
case("Tokenizer.__call__", given(lambda i: i.short_words, lambda i, text: i.tok(text)))
case("Tokenizer.__call__: a list", given(lambda i: i.texts, lambda i, texts: i.tok(texts)), is_slow=True)
case(
    "Tokenizer.__call__: arrays",
    given(lambda i: i.texts, lambda i, texts: i.tok(texts, return_tensors="np", padding=True, pad_id=0)),
)
case(
    "Tokenizer.__call__: arrays of many",
    given(lambda i: i.many, lambda i, texts: i.tok(texts, return_tensors="np", num_threads=2)),
    is_slow=True,
)
case(
    "Tokenizer.__call__: arrays with offsets",
    given(
        lambda i: i.texts,
        lambda i, texts: i.tok(texts, return_tensors="np", return_offsets_mapping=True),
    ),
    is_slow=True,
)
case("Tokenizer.count", given(lambda i: i.letters, lambda i, text: i.tok.count(text)), needs_memory=False)
case("Tokenizer.count: a buffer", given(lambda i: i.buffer, lambda i, text: i.tok.count(text)))
case(
    "Tokenizer.count: threads",
    given(lambda i: i.short_words, lambda i, text: i.tok.count(text, num_threads=2)),
    needs_memory=False,
)
case("Tokenizer.count_batch", given(lambda i: i.many, lambda i, texts: i.tok.count_batch(texts)))
case(
    "Tokenizer.count_batch: Arrow",
    given(lambda i: i.column, lambda i, texts: i.tok.count_batch(texts)),
    needs_memory=False,
)
case(
    "Tokenizer.render_chat",
    given(lambda i: i.chat, lambda i, chat: i.tok.render_chat(chat, template="chatml").segments),
    needs_memory=False,
)
case(
    "Tokenizer.apply_chat_template",
    given(
        lambda i: i.chat,
        lambda i, chat: i.tok.apply_chat_template(chat, template="chatml", return_labels=True),
    ),
)
case(
    "Tokenizer.count_chat",
    given(lambda i: i.chat, lambda i, chat: i.tok.count_chat(chat, template="chatml")),
    needs_memory=False,
)
case("Tokenizer.first_drift", given(lambda i: i.ids, lambda i, ids: i.tok.first_drift(ids)))
case(
    "Tokenizer.find_added",
    given(
        lambda i: (i.tok.with_special_tokens(["<s>"]), "<s>a" * (i.size // 64)),
        lambda _, given: given[0].find_added(given[1], untrusted=[(0, 3)]),
    ),
)
case("Tokenizer.explain", given(lambda i: i.spaces, lambda i, text: i.tok.explain(text)))
case(
    "Tokenizer.sample",
    given(lambda i: i.spaces, lambda i, text: i.tok.sample(text, seed=1, dropout=0.1)),
)
case(
    "Tokenizer.sample: Unigram",
    given(lambda i: (i.unigram, i.letters), lambda _, given: given[0].sample(given[1], seed=1, alpha=0.5)),
)
case(
    "Tokenizer.encode_nbest",
    given(lambda i: (i.unigram, i.letters), lambda _, given: given[0].encode_nbest(given[1], 2)),
)
case(
    "Tokenizer.log_probability",
    given(lambda i: (i.unigram, i.letters), lambda _, given: given[0].log_probability(given[1])),
)

# ---- ids to text ------------------------------------------------------------------------------

case("Tokenizer.decode", given(lambda i: i.ids, lambda i, ids: i.tok.decode(ids)))
case("Tokenizer.decode: an array", given(lambda i: i.array, lambda i, ids: i.tok.decode(ids)))
case("Tokenizer.decode: every second", given(lambda i: i.array[::2], lambda i, ids: i.tok.decode(ids)))
case("Tokenizer.decode: an iterator", given(lambda i: i.ids, lambda i, ids: i.tok.decode(iter(ids))))
case(
    "Tokenizer.decode: bytes that are no text",
    given(lambda i: [i.tok.encode(b"\xff")[0]] * (i.size // 8), lambda i, ids: i.tok.decode(ids)),
)
case(
    "Tokenizer.decode: by steps",
    given(lambda i: (i.characters, [3] * (i.size // 8)), lambda _, given: given[0].decode(given[1])),
)
case("Tokenizer.decode_bytes", given(lambda i: i.ids, lambda i, ids: i.tok.decode_bytes(ids)))
case("Tokenizer.token_lengths", given(lambda i: i.ids, lambda i, ids: i.tok.token_lengths(ids)))
case(
    "Tokenizer.decode_bytes: by steps",
    given(lambda i: (i.characters, [3] * (i.size // 8)), lambda _, given: given[0].decode_bytes(given[1])),
)
case("Tokenizer.decode_batch", given(lambda i: i.rows, lambda i, rows: i.tok.decode_batch(rows)))
case(
    "Tokenizer.decode_batch: threads",
    given(lambda i: i.rows, lambda i, rows: i.tok.decode_batch(rows, num_threads=2)),
)
case("Tokenizer.decode_batch: Ragged", given(lambda i: i.ragged, lambda i, rows: i.tok.decode_batch(rows)))
case(
    "Tokenizer.decode_batch: many",
    given(lambda i: [[i.ids[0]]] * (i.size // 8), lambda i, rows: i.tok.decode_batch(rows)),
    is_slow=True,
)


def _by(algorithm: Callable[..., list[int]]) -> Callable[[Inputs, str], list[int]]:
    return lambda inputs, text: algorithm(inputs.tok, text)


case(
    "Tokenizer.count_till_limit",
    given(lambda i: i.spaces, lambda i, text: i.tok.count_till_limit(text, 1 << 60)),
    needs_memory=False,
)
case("Tokenizer.chunk", given(lambda i: i.spaces, lambda i, text: i.tok.chunk(text, 1 << 10)))
case(
    "Tokenizer.chunk_batch",
    given(lambda i: i.texts, lambda i, texts: i.tok.chunk_batch(texts, 1 << 10, num_threads=2)),
)
case("Tokenizer.chunk_file", given(lambda i: i.file, lambda i, file: list(i.tok.chunk_file(file, 1 << 10))))
case("Tokenizer.truncate", given(lambda i: i.spaces, lambda i, text: i.tok.truncate(text, 1 << 30)))
case(
    "Appender.push",
    given(lambda i: (i.tok.appender(), i.spaces), lambda _, given: given[0].push(given[1])),
)
case("Appender.ids", given(lambda i: i.grown, lambda _, appender: appender.ids()))
case(
    "Appender.truncate",
    given(lambda i: i.grown, lambda _, appender: appender.truncate(len(appender) // 2)),
    needs_memory=False,
)
case(
    "Appender.restore",
    given(lambda i: i.grown, lambda _, appender: appender.restore(appender.snapshot())),
    needs_memory=False,
)
case(
    "Prepender.push",
    given(lambda i: (i.tok.prepender(), i.spaces), lambda _, given: given[0].push(given[1])),
)
case("Prepender.ids", given(lambda i: i.grown_in_front, lambda _, prepender: prepender.ids()))
case(
    "Prepender.truncate",
    given(lambda i: i.grown_in_front, lambda _, prepender: prepender.truncate(len(prepender) // 2)),
    needs_memory=False,
)
case(
    "Prepender.restore",
    given(lambda i: i.grown_in_front, lambda _, prepender: prepender.restore(prepender.snapshot())),
    needs_memory=False,
)
case(
    "Tokenizer.interval_counter",
    given(lambda i: i.spaces[: i.size // 16], lambda i, text: i.tok.interval_counter(text)),
)
case(
    "IntervalCounter.count_many",
    given(
        lambda i: (i.ranges, [[0, 2]] * (i.size // 64)),
        lambda _, given: given[0].count_many(given[1]),
    ),
)
case(
    "Tokenizer.edit",
    given(
        lambda i: ("a " * (i.size // 64), i.encoding),
        lambda i, given: i.tok.edit(given[0], given[1], 4, 5, "b"),
    ),
)
for algorithm in (algorithms.heap, algorithms.table, algorithms.backtracking):
    case(f"Tokenizer.encode: {algorithm.__name__}", given(lambda i: i.spaces, _by(algorithm)))
case(
    "DecodeStream.extend",
    given(lambda i: (i.tok.decode_stream(), i.ids), lambda _, given: given[0].extend(given[1])),
)
case(
    "DecodeStream.step",
    given(lambda i: (i.tok.decode_stream(), i.ids[0]), lambda _, given: given[0].step(given[1])),
    needs_memory=False,
)
case(
    "DecodeStream.finish",
    given(lambda i: i.tok.decode_stream(), lambda _, stream: stream.finish()),
    needs_memory=False,
)

# ---- ids to arrays ----------------------------------------------------------------------------


def labelled(inputs: Inputs) -> list[dict[str, list[int]]]:
    return [{"input_ids": row, "labels": row} for row in inputs.rows]


def offsets(inputs: Inputs) -> Any:
    import numpy as np

    ends = np.arange(inputs.size // 8, dtype=np.int64)
    return np.stack([ends, ends + 1], axis=1)


case("Tokenizer.pad_batch", given(lambda i: i.rows, lambda i, rows: i.tok.pad_batch(rows, pad_id=0)))
case(
    "Tokenizer.pad_batch: columns",
    given(labelled, lambda i, rows: i.tok.pad_batch(rows, pad_id=0, return_position_ids=True)),
    is_slow=True,
)
case(
    "Tokenizer.pad_batch: Ragged",
    given(lambda i: i.ragged, lambda i, rows: i.tok.pad_batch(rows, pad_id=0, num_threads=2)),
)
case("pack", given(lambda i: i.rows, lambda _, rows: tokenmill.pack(rows, 512)))
case(
    "pack: concat",
    given(lambda i: i.rows, lambda _, rows: tokenmill.pack(rows, 512, method="concat")),
    is_slow=True,
)
case(
    "compare_vocab_sizes",
    given(lambda i: i.short_words, lambda i, text: tokenmill.compare_vocab_sizes(i.tok, text, [len(i.tok)])),
)
case(
    "diff",
    given(lambda i: i.short_words, lambda i, text: tokenmill.diff(i.tok, _with_one_more(), texts=text)),
)
case(
    "report",
    given(lambda i: i.short_words, lambda i, text: tokenmill.report(i.tok, text, words=[])),
    is_slow=True,
)
case("Packed.pad", given(lambda i: tokenmill.pack(i.rows, 4096), lambda _, packed: packed.pad(0)))
case(
    "causal_mask",
    given(lambda i: [1] * int(i.size**0.5), lambda _, mask: tokenmill.causal_mask(mask, dtype="float64")),
)
case("mask_from_spans", given(offsets, lambda _, array: tokenmill.mask_from_spans(array, [(5, 9)])))
case("align_labels", given(offsets, lambda _, array: tokenmill.align_labels(array, [(5, 9, "X")])))
case(
    "spans_from_labels",
    given(
        lambda i: (offsets(i), ["O"] * (i.size // 8)),
        lambda _, given: tokenmill.spans_from_labels(*given),
    ),
)

# ---- what came of them ------------------------------------------------------------------------

for attribute in (
    "ids",
    "tokens",
    "surface_tokens",
    "offsets",
    "byte_offsets",
    "type_ids",
    "attention_mask",
    "special_tokens_mask",
    "word_ids",
    "sequence_ids",
):
    case(
        f"Encoding.{attribute}",
        given(lambda i: i.encoding, lambda _, encoding, name=attribute: getattr(encoding, name)),  # type: ignore[misc]
    )
case(
    "RaggedEncodings.to_encodings",
    given(lambda i: i.ragged_encodings, lambda _, ragged: [one.offsets for one in ragged.to_encodings()]),
)
case(
    "RaggedEncodings.byte_offsets",
    given(lambda i: i.ragged_encodings, lambda _, ragged: ragged[:].byte_offsets),
)
case(
    "RaggedEncodings.to_lists",
    given(lambda i: i.ragged_encodings, lambda _, ragged: ragged.to_lists()),
)
case(
    "RaggedEncodings.to_arrow",
    given(lambda i: i.ragged_encodings, lambda _, ragged: ragged.to_arrow()),
    needs_memory=False,
)
case("Ragged.pad", given(lambda i: i.ragged, lambda _, ragged: ragged.pad(0)))
case("RaggedEncodings.pad", given(lambda i: i.ragged_encodings, lambda _, ragged: ragged.pad(0)))
case("Ragged.to_lists", given(lambda i: i.ragged, lambda _, ragged: ragged.to_lists()))
case("Ragged.to_arrow", given(lambda i: i.ragged, lambda _, ragged: ragged.to_arrow()), needs_memory=False)

# ---- how tokenizers are made ------------------------------------------------------------------

case("train: a file", given(lambda i: i.file, lambda _, path: tokenmill.train(path, num_merges=2)))
case(
    "train: a long line",
    given(lambda i: i.file, lambda _, path: tokenmill.train(path, num_merges=2, documents="lines")),
)
case(
    "train: lines",
    given(lambda i: _with_lines(i), lambda _, path: tokenmill.train(path, num_merges=2, documents="lines")),
    needs_memory=False,
)
case(
    "train: one pretoken",
    given(lambda i: i.file, lambda _, path: tokenmill.train(path, num_merges=2, split="none", num_threads=1)),
    is_slow=True,
)
case(
    "train: a whole text",
    given(
        lambda i: [i.letters],
        lambda _, texts: tokenmill.train(texts=texts, num_merges=2, split="none", return_ids=True),
    ),
)
case(
    "train: a text",
    given(lambda i: [i.short_words], lambda _, texts: tokenmill.train(texts=texts, num_merges=2)),
)
case(
    "train: a text that is normalized",
    given(lambda i: [i.wide], lambda _, texts: tokenmill.train(texts=texts, num_merges=2, normalizer="NFD")),
    is_slow=True,
)
case(
    "train: different words",
    given(lambda i: _different(i), lambda _, texts: tokenmill.train(texts=texts, num_merges=2)),
    is_slow=True,
)
for score in ("frequency", "likelihood"):
    case(
        f"train: WordPiece by {score}",
        given(lambda i: [i.short_words], _wordpiece(score)),
        is_slow=score == "likelihood",
    )
for dialect in ("sentencepiece", "tokenizers"):
    case(
        f"train: Unigram for {dialect}",
        given(lambda i: [i.short_words], _unigram(dialect)),
        is_slow=dialect == "tokenizers",
    )
case(
    "count_pretokens",
    given(lambda i: _numbers(i), lambda _, texts: tokenmill.count_pretokens(texts=texts, split="whitespace")),
)
case("PretokenCounts.load", given(lambda i: _saved(i), lambda _, path: tokenmill.PretokenCounts.load(path)))
# Counting leaves memory behind that these may take.
for of_counts, use in {
    "train: counts": lambda _, counts: tokenmill.train(counts=counts, num_merges=2),
    "merge_counts": lambda _, counts: tokenmill.merge_counts([counts, counts]),
    "PretokenCounts.save": lambda i, counts: counts.save(i.path / "saved.counts"),
    "PretokenCounts.to_arrow": lambda _, counts: counts.to_arrow(),
    "PretokenCounts.from_arrow": lambda _, counts: counts.from_arrow(counts.to_arrow()),
    "PretokenCounts.items": lambda _, counts: sum(count for _, count in counts.items()),
}.items():
    case(of_counts, given(lambda i: _counted(i), use), needs_memory=False, is_slow=True)
case(
    "NGramModel.train",
    given(
        lambda i: np.arange(i.size // 32, dtype=np.uint32) % 9 + 100,
        lambda i, ids: NGramModel.train(i.tok, ids=ids, order=3),
    ),
)
case(
    "NGramModel.generate_ids",
    given(
        lambda i: NGramModel.train(i.tok, texts=[SMALL]),
        lambda i, model: model.generate_ids(i.size // 8, seed=1),
    ),
)
case(
    "NGramModel.generate",
    given(
        lambda i: NGramModel.train(i.tok, texts=["a low. "]),
        lambda i, model: model.generate(words=i.size // 32, seed=1),
    ),
)
case("load", given(lambda i: i.large_file, lambda _, path: _loaded(path)))
case(
    "Tokenizer.from_tokens",
    given(
        lambda i: _Longer(i.tokens, i.size // 8),
        lambda _, tokens: _refused(tokenmill.Tokenizer.from_tokens, tokens),
    ),
)
case(
    "Tokenizer.from_ranks",
    given(
        lambda i: i.tokens,
        lambda _, tokens: tokenmill.Tokenizer.from_ranks({t: n for n, t in enumerate(tokens)}),
    ),
    needs_memory=False,
)
case(
    "Tokenizer.from_merges",
    given(
        lambda i: _Longer([(b"a", b"b")], i.size // 8),
        lambda _, merges: _refused(tokenmill.Tokenizer.from_merges, {"a": 0, "b": 1, "ab": 2}, merges),
    ),
)
case(
    "Tokenizer.from_pairs",
    given(
        lambda i: _Longer([(97, 98)], i.size // 8),
        lambda _, pairs: _refused(tokenmill.Tokenizer.from_pairs, pairs),
    ),
)


class _Longer:
    """A sequence that repeats a few items and then ends in one that is wrong."""

    def __init__(self, items: list[Any], length: int) -> None:
        self.items, self.length = items, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, place: int) -> Any:
        if place >= self.length:
            raise IndexError(place)
        return self.items[place % len(self.items)] if place + 1 < self.length else None


def _refused(make: Callable[..., object], *args: object) -> None:
    """Makes what cannot be made, once all of it was read."""
    try:
        make(*args)
    except (TypeError, ValueError):
        return
    raise AssertionError("it should be refused")


def _loaded(path: Path) -> None:
    """Zeros are no tokenizer, which is said once they were read."""
    try:
        tokenmill.load(path)
    except tokenmill.FormatError:
        return
    raise AssertionError("it should be refused")


def _with_lines(inputs: Inputs) -> Path:
    path = inputs.path / "lines.txt"
    path.write_text("aa lower\n" * (inputs.size // 9), encoding="utf-8")
    return path


def _different(inputs: Inputs) -> list[str]:
    return [" ".join(map(str, range(inputs.size // 16)))]


def _numbers(inputs: Inputs) -> list[str]:
    return [" ".join(map(str, range(inputs.size // 64)))]


def _counted(inputs: Inputs) -> tokenmill.PretokenCounts:
    """Many pretokens; pyarrow is imported by then."""
    tokenmill.count_pretokens(texts=[SMALL]).to_arrow()
    return tokenmill.count_pretokens(texts=_numbers(inputs), split="whitespace")


def _saved(inputs: Inputs) -> Path:
    path = inputs.path / "many.counts"
    _counted(inputs).save(path)
    return path


def _with_one_more() -> tokenmill.Tokenizer:
    return tokenmill.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)])


#: Public names that take neither text nor ids nor files, or no more of these than a name.
WITHOUT = {
    "collator",
    "register_hook",
    "Audit.stages",
    "NGramModel.contexts",
    "NGramModel.load",
    "NGramModel.memory",
    "NGramModel.ngrams",
    "NGramModel.order",
    "NGramModel.save",
    "NGramModel.successors",
    "NGramModel.tokens",
    "NGramModel.verify",
    "Audit.to_dict",
    "Appender.snapshot",
    "Appender.stable_count",
    "Appender.stable_length",
    "Appender.token_count",
    "Chunk.byte_end",
    "Chunk.byte_start",
    "Chunk.count",
    "Chunk.end",
    "Chunk.ids",
    "Chunk.start",
    "Chunk.text",
    "Chunks.byte_ends",
    "Chunks.byte_starts",
    "Chunks.count",
    "Chunks.counts",
    "Chunks.ends",
    "Chunks.ids",
    "Chunks.index",
    "Chunks.starts",
    "Chunks.text",
    "Chunks.texts",
    "DecodeStream.reset",
    *(f"Edit.{name}" for name in ("encoding", "new_stop", "old_stop", "start", "text")),
    "IntervalCounter.count",
    "IntervalCounter.fits",
    "IntervalCounter.memory",
    *(f"Prepender.{name}" for name in ("snapshot", "stable_count", "stable_length", "token_count")),
    "Encoding.char_to_token",
    "Encoding.n_sequences",
    "Encoding.overflowing",
    "Encoding.token_to_chars",
    "Encoding.token_to_word",
    "Encoding.word_to_tokens",
    "Explanation.ids",
    "Explanation.segments",
    "Explanation.text",
    "Explanation.to_dict",
    "Explanation.tokens",
    "LoadFinding.field",
    "LoadFinding.file",
    *(
        f"EmbeddingPlan.{name}"
        for name in ("fits", "multiple_of", "needed", "new", "new_rows", "out_of_range", "padding", "rows")
    ),
    *(f"Difference.{name}" for name in tokenmill.Difference.__dataclass_fields__),
    "Difference.to_dict",
    "convert",
    *(
        f"Conversion.{name}"
        for name in (
            "characters",
            "differing",
            "first",
            "format",
            "is_same",
            "special_tokens",
            "split",
            "target",
        )
    ),
    *(f"Conversion.{name}" for name in ("texts", "to_dict", "tokens", "written")),
    *(f"EmbeddingPlan.{name}" for name in ("moved", "sources", "tied", "to_dict", "unused")),
    *(f"Surgery.{name}" for name in ("id_map", "promise", "save", "tokenizer")),
    *(
        f"Finding.{name}"
        for name in ("check", "details", "evidence", "message", "status", "to_dict", "way_out")
    ),
    *(
        f"{kind}.{name}"
        for kind in ("Diagnosis", "Findings")
        for name in ("count", "failed", "findings", "index", "ok", "skipped", "to_dict", "warned")
    ),
    "check_checkpoint",
    "doctor",
    *(
        f"VocabSizes.{name}"
        for name in ("cells", "names", "notes", "rows", "sizes", "table", "to_dict", "to_svg")
    ),
    # Of numbers whose amount does not grow with the texts.
    *(f"Report.{name}" for name in ("html", "save", "to_dict")),
    "LoadFinding.kind",
    "LoadFinding.reason",
    "LoadReport.files",
    *(f"ModelInputs.{name}" for name in {*dir(dict), "to"} if not name.startswith("_")),
    *(
        f"Packed.{name}"
        for name in ("count", "dropped_rows", "dropped_tokens", "fill", "index", "split_rows")
    ),
    *(
        f"PretokenCounts.{name}"
        for name in ("bytes", "documents", "errors", "facts", "min_count", "normalizer", "pretokens")
    ),
    *(f"PretokenCounts.{name}" for name in ("replaced", "skipped", "special_tokens", "split", "total")),
    "LoadReport.notes",
    "LoadReport.tolerated",
    "Plan.stages",
    "Plan.to_dict",
    "Ragged.ids",
    "Ragged.row_offsets",
    "RaggedEncodings.ids",
    "RaggedEncodings.offsets",
    "RaggedEncodings.row_offsets",
    "Tokenizer.added_tokens",
    "Tokenizer.audit",
    "Tokenizer.cache_key",
    "Tokenizer.chat_templates",
    "Tokenizer.appender",
    "Tokenizer.prepender",
    "Tokenizer.decode_stream",
    "Tokenizer.digests",
    "Tokenizer.embedding_plan",
    "Tokenizer.extend",
    "Tokenizer.extend_chat",
    "Tokenizer.remap",
    "Tokenizer.rename_special",
    "Tokenizer.trim",
    "join",
    "Tokenizer.fingerprint",
    "Tokenizer.fit_chat",
    "Tokenizer.id_to_token",
    "Tokenizer.is_canonical",
    "Tokenizer.load_report",
    "Tokenizer.max_id",
    "Tokenizer.memory_usage",
    "Tokenizer.merges",
    "Tokenizer.plan",
    "Tokenizer.save",
    "Tokenizer.special_tokens",
    "Tokenizer.split",
    "Tokenizer.token_bytes",
    "Tokenizer.token_to_id",
    "Tokenizer.training_report",
    "Tokenizer.vocab",
    "Tokenizer.vocab_size",
    "Tokenizer.with_call_defaults",
    "Tokenizer.with_chat_template",
    "Tokenizer.with_normalizer",
    "Tokenizer.with_special_tokens",
    "Tokenizer.with_splitter",
    "Tokenizer.with_vocab_size",
    *(
        f"Tokenizer.{role}_token{what}"
        for role in ("bos", "cls", "eos", "mask", "pad", "sep", "unk")
        for what in ("", "_id")
    ),
    *(f"Tokenizer.{name}" for name in ("model_max_length", "padding_side", "truncation_side")),
}


def public_names() -> Iterator[str]:
    """All that the package has for its users."""
    for name in tokenmill.__all__:
        value = getattr(tokenmill, name)
        if not isinstance(value, type):
            if callable(value):
                yield name
        elif not issubclass(value, BaseException) and value is not tokenmill.TrainingReport:
            for attribute in dir(value):
                if attribute == "__call__" or not attribute.startswith("_"):
                    yield f"{name}.{attribute}"
    yield from (f"NGramModel.{name}" for name in dir(NGramModel) if not name.startswith("_"))
