"""Every two members of every class at once, on fresh objects, and in a child that is forked meanwhile.

A script: `pairs.py quick`, `pairs.py CLASS THREADS`, `pairs.py first NAME` and `pairs.py held NAME`. It ends
with 1 where a call fails, and where one hangs, after the stacks of all threads were printed.
`unit/test_locks.py` runs it, and sees that no class and no method is left out.

Properties and the usual special methods need no entry here; a method that takes arguments does.
"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import faulthandler
import inspect
import itertools
import os
import pickle
import pkgutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Call = Callable[[Any], object]

HANGS = 60
"""Seconds after which a call that takes milliseconds hangs."""

TEXT = "low lower lowest don't 1234 naïve\n" * 200
"""Long enough that it is encoded without the interpreter lock."""


# ---- what the calls work on -------------------------------------------------------------------


@cache
def ranks() -> dict[bytes, int]:
    """50,000 tokens: bytes, and bytes in pairs."""
    pairs = (bytes([left, right]) for left in range(32, 227) for right in range(256))
    tokens = [*(bytes([byte]) for byte in range(256)), *pairs]
    return {token: rank for rank, token in enumerate(tokens[:50_000])}


@cache
def small() -> Any:
    return import_module("tokenmill").train(texts=["low lower lowest"] * 3, vocab_size=260)


@cache
def checkpoint() -> str:
    """The config.json of a model."""
    path = Path(tempfile.mkdtemp()) / "config.json"
    path.write_text('{"vocab_size": 50304}', encoding="utf-8")
    return str(path)


def finding() -> Any:
    return import_module("tokenmill.findings").Finding("gaps", "pass", "file", "no gap", {"ids": 0})


@cache
def arrow() -> Any:
    return import_module("pyarrow")


@cache
def arrow_batch() -> Any:
    return arrow().record_batch({"text": [TEXT, None, "low"]})


@cache
def arrow_table() -> Any:
    return arrow().Table.from_batches([arrow_batch()] * 3)


@cache
def state() -> bytes:
    import tokenmill

    tok = tokenmill.Tokenizer.from_ranks(ranks(), split="cl100k", special_tokens={"<s>": 50_000})
    assert tok.vocab_size > 50_000
    return pickle.dumps(tok)


@cache
def base() -> Any:
    """A tokenizer of which others are made; nothing compares it, so that nothing of it is made before."""
    return pickle.loads(state())


@cache
def folder() -> Path:
    # The script's own, which it leaves to the system where it hangs.
    path = Path(tempfile.mkdtemp(prefix="tokenmill-pairs-"))
    base().save(path / "tokenizer.json")
    (path / "corpus.txt").write_text(TEXT, encoding="utf-8")
    # The empty line is tolerated.
    (path / "vocab.txt").write_text("[UNK]\n\n" + "".join(f"w{n}\n" for n in range(50_000)))
    return path


def clean() -> None:
    if folder.cache_info().currsize:
        for path in sorted(folder().rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        folder().rmdir()


_numbers = itertools.count()


def new_path(suffix: str) -> Path:
    return folder() / f"{os.getpid()}-{next(_numbers)}{suffix}"


def refuses(call: Call) -> Call:
    """A call that has to be refused."""

    def refused(subject: Any) -> None:
        try:
            call(subject)
        except ValueError:
            return
        raise AssertionError("it was not refused")

    return refused


def saved_and_loaded(counts: Any) -> object:
    path = new_path(".counts")
    counts.save(path)
    return counts.load(path)


class Functions:
    """What the package has beside classes."""


def fresh() -> dict[str, Callable[[], Any]]:
    """How an object of each class is made."""
    import tokenmill
    from tokenmill.compat import tiktoken

    def encoding_of_tiktoken() -> Any:
        return tiktoken.Encoding(
            "mine", pat_str=r"\S+|\s+", mergeable_ranks=ranks(), special_tokens={"<|endoftext|>": 50_000}
        )

    def backend() -> Any:
        from tokenmill.compat.transformers import _backend

        return _backend._restore((folder() / "tokenizer.json").read_bytes(), False, 1)

    def encoding_of_transformers() -> Any:
        from tokenmill.compat.transformers._encoding import Encoding

        return Encoding(base().encode_with_offsets(TEXT))

    def ngrams() -> Any:
        from tokenmill.placeholder import NGramModel

        return NGramModel.train(base(), texts=[TEXT])

    def counted() -> Any:
        return tokenmill.count_pretokens(texts=[TEXT])

    def verification() -> Any:
        path = new_path("")
        base().save(path)
        return import_module("tokenmill.manifest").verify(path)

    def vocab_sizes() -> Any:
        return import_module("tokenmill").compare_vocab_sizes(base(), TEXT, [1000, 2000])

    def difference() -> Any:
        return import_module("tokenmill").diff(base(), base().with_special_tokens(["<|s|>"]), texts="<|s|>")

    def converted() -> Any:
        small = tokenmill.train(texts=["low lower lowest"] * 2, num_merges=3, split="gpt2")
        return import_module("tokenmill").convert(small, folder() / "t.gguf")

    def report() -> Any:
        return import_module("tokenmill").report(base(), "low lower", words=["low"])

    def functions() -> Functions:
        from tokenmill.compat.tiktoken import registry

        registry.ENCODINGS.clear()
        registry.ENCODING_CONSTRUCTORS["mine"] = lambda: {
            "name": "mine",
            "pat_str": r"\S+|\s+",
            "mergeable_ranks": ranks(),
            "special_tokens": {},
        }
        folder()
        return Functions()

    return {
        "tokenmill.Tokenizer": lambda: pickle.loads(state()),
        "tokenmill.Encoding": lambda: base().encode_with_offsets(TEXT),
        "tokenmill.Appender": lambda: base().appender(),
        "tokenmill.DecodeStream": lambda: base().decode_stream(),
        "tokenmill.IntervalCounter": lambda: base().interval_counter(TEXT),
        "tokenmill.Prepender": lambda: base().prepender(),
        "tokenmill.placeholder.NGramModel": ngrams,
        "tokenmill.Snapshot": lambda: base().appender().snapshot(),
        "tokenmill.LoadReport": lambda: load(folder() / "vocab.txt").load_report,
        "tokenmill.LoadFinding": lambda: load(folder() / "vocab.txt").load_report.tolerated[0],
        "tokenmill.TrainingReport": lambda: tokenmill.train(texts=[TEXT], num_merges=5).training_report,
        "tokenmill._core.PretokenTable": lambda: counted()._table,
        "tokenmill.pretoken_counts.PretokenCounts": counted,
        "tokenmill._core.ReadyIds": lambda: base().encode_batch([TEXT])._ready_ids,
        "tokenmill._core.ArrowBatch": lambda: base().encode_arrow(arrow_batch()),
        "tokenmill._core.ArrowStream": lambda: base().encode_arrow(arrow_table()),
        "tokenmill._core.EncodedRows": lambda: base().encode_batch([TEXT], offsets=True)._encodings,
        "tokenmill.model_inputs.Collator": lambda: import_module("tokenmill").collator(base(), **ARRAYS),
        "tokenmill.model_inputs.ModelInputs": lambda: base()([TEXT, "low"], padding=True, **ARRAYS),
        "tokenmill.chunks.Chunks": lambda: base().chunk(TEXT, 100),
        "tokenmill.packing.Packed": lambda: import_module("tokenmill").pack([IDS, IDS[:50]], 1000),
        "tokenmill.ragged.Ragged": lambda: base().encode_batch([TEXT, "", TEXT]),
        "tokenmill.ragged.RaggedEncodings": lambda: base().encode_batch([TEXT, "", TEXT], offsets=True),
        "tokenmill.stages.Plan": lambda: base().plan(),
        "tokenmill.stages.Audit": lambda: base().audit(seconds=0.01, max_bytes=4096),
        "tokenmill.embedding_plan.EmbeddingPlan": lambda: base().embedding_plan(49_990),
        "tokenmill.difference.Difference": difference,
        "tokenmill.difference.Witness": lambda: difference().witness,
        "tokenmill.conversion.Conversion": converted,
        "tokenmill.surgery.Surgery": lambda: base().trim(texts=[TEXT]),
        "tokenmill.findings.Diagnosis": lambda: import_module("tokenmill.findings").Diagnosis((finding(),)),
        "tokenmill.findings.Finding": finding,
        "tokenmill.findings.Findings": lambda: import_module("tokenmill.findings").Findings((finding(),)),
        "tokenmill.manifest.Verification": verification,
        "tokenmill.reports.Report": report,
        "tokenmill.vocab_sizes.VocabSizes": vocab_sizes,
        "tokenmill.vocab_sizes.VocabSizeRow": lambda: vocab_sizes().rows[0],
        "tokenmill.explain.Explanation": lambda: base().explain(TEXT[:200]),
        "tokenmill.chat.encoding.ChatEncoding": chat_encoding,
        "tokenmill.chat.rendered.RenderedChat": rendered,
        "tokenmill.chat.rendered.Segment": lambda: rendered().segments[0],
        "tokenmill.compat.tiktoken.core.Encoding": encoding_of_tiktoken,
        "tokenmill.compat.transformers._backend.Backend": backend,
        "tokenmill.compat.transformers._encoding.Encoding": encoding_of_transformers,
        "functions": functions,
    }


# ---- classes and their members ----------------------------------------------------------------

INTERNAL = {
    "tokenmill._counts.counting.PartialCounts": "of one worker of an engine, which has one thread",
    "tokenmill._counts.facts.CountedFacts": "a plain record",
    "tokenmill._forks.OwnLock": "a lock itself, tested by name",
    "tokenmill._counts.sums.PretokenSum": "what one call adds up",
    "tokenmill._remote.Remote": "of one reader, as what is in sources",
    "tokenmill.chat.encoding.Known": "what an encoding that was pickled is made of",
    "tokenmill.compat.langchain.TextSplitter": "a class of LangChain that calls Tokenizer.chunk",
    "tokenmill._doctor.examined.Examined": "what one call of the doctor looks at",
    "tokenmill._kept.kept": "a property itself, tested by name",
}

# What a rendering of a chat makes and keeps for itself; what it gives is in this module.
RENDERING = "tokenmill.chat."
RENDERED = ("tokenmill.chat.rendered.", "tokenmill.chat.encoding.")

SPECIAL: dict[str, Call] = {
    "__copy__": copy.copy,
    "__deepcopy__": copy.deepcopy,
    "__eq__": lambda o: o == other_of(o),
    "__getstate__": pickle.dumps,
    "__hash__": hash,
    "__iter__": list,
    "__len__": len,
    "__reduce__": pickle.dumps,
    "__repr__": repr,
    "__str__": str,
}
WITH_ARGUMENTS = {"__call__", "__getitem__"}

_others: dict[int, Any] = {}


def other_of(subject: Any) -> Any:
    """A second object of the same kind, as fresh."""
    return _others.get(id(subject), subject)


def modules() -> Iterator[Any]:
    import tokenmill

    yield tokenmill
    for found in pkgutil.walk_packages(tokenmill.__path__, "tokenmill."):
        # The command line is a process of its own, the definition plain functions; LlamaIndex is not there.
        left_out = (
            "tokenmill.cli",
            "tokenmill.__main__",
            "tokenmill.reference",
            "tokenmill.compat.llama_index",
        )
        if not found.name.startswith(left_out):
            yield import_module(found.name)


def classes() -> dict[str, type]:
    """The public classes by their full names, but those of errors and plain records."""
    found: dict[str, type] = {}
    for module in modules():
        for name, value in vars(module).items():
            if not inspect.isclass(value) or name.startswith("_") or value.__name__.startswith("_"):
                continue
            full = f"{value.__module__}.{value.__name__}"
            is_ours = value.__module__.split(".")[0] == "tokenmill"
            is_record = dataclasses.is_dataclass(value) and not methods(value)
            # A file that is open is read by the thread that opened it.
            if full.startswith("tokenmill.sources."):
                continue
            # A task's function is called by one thread of its worker.
            if full.startswith("tokenmill._engines."):
                continue
            if full.startswith(RENDERING) and not full.startswith(RENDERED):
                continue
            if is_ours and not issubclass(value, BaseException) and not is_record and full not in INTERNAL:
                found[full] = value
    return found


def members(of: type) -> list[str]:
    """Public attributes, and the special methods that are the class's own."""
    public = {name for name in dir(of) if not name.startswith("_")}
    if dataclasses.is_dataclass(of):
        public -= {field.name for field in dataclasses.fields(of)}
    known = {*SPECIAL, *WITH_ARGUMENTS}
    special = {name for each in of.__mro__[:-1] for name in vars(each) if name in known}
    return sorted(public | {name for name in special if getattr(of, name) is not None})


def methods(of: type) -> list[str]:
    """Members that need an entry."""
    named = (name for name in members(of) if name not in SPECIAL)
    return [name for name in named if name in WITH_ARGUMENTS or callable(getattr(of, name))]


IDS = list(range(256)) * 20

ARRAYS: dict[str, Any] = {"return_tensors": "np", "pad_id": 0}

CHAT = [{"role": "user", "content": TEXT}]

TEMPLATE = "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}{% endfor %}"

#: Of lists of findings.
FINDINGS: dict[str, Call] = {
    "__getitem__": lambda o: (o[0], o[-1]),
    "count": lambda o: o.count(None),
    "index": lambda o: o.index(o[0]),
    "ok": lambda o: o.ok(strict=True),
    "to_dict": lambda o: o.to_dict(),
}

#: Of mappings with `input_ids`.
MAPPING: dict[str, Call] = {
    "__getitem__": lambda o: o.get("input_ids"),
    "clear": lambda o: o.copy().clear(),
    "copy": lambda o: o.copy(),
    "fromkeys": lambda o: dict.fromkeys(["a"]),
    "get": lambda o: o.get("input_ids"),
    "items": lambda o: list(o.items()),
    "keys": lambda o: list(o.keys()),
    "pop": lambda o: o.pop("labels", None),
    "popitem": lambda o: o.copy().popitem(),
    "setdefault": lambda o: o.setdefault("input_ids", None),
    "update": lambda o: o.update(labels=o["input_ids"]),
    "values": lambda o: list(o.values()),
}

METHODS: dict[str, dict[str, Call]] = {
    "tokenmill.Tokenizer": {
        "__call__": lambda o: o(TEXT),
        "appender": lambda o: o.appender(),
        "apply_chat_template": lambda o: o.apply_chat_template(CHAT, template=TEMPLATE).offsets,
        "audit": lambda o: o.audit(seconds=0.001, max_bytes=4096),
        "cache_key": lambda o: o.cache_key(TEXT),
        "chunk": lambda o: o.chunk(TEXT, 100),
        "chunk_batch": lambda o: o.chunk_batch([TEXT, "low"], 100, num_threads=2),
        "chunk_file": lambda o: list(o.chunk_file(folder() / "vocab.txt", 100)),
        "count": lambda o: o.count(TEXT),
        "count_batch": lambda o: o.count_batch([TEXT, "low"]),
        "count_chat": lambda o: o.count_chat(CHAT, template=TEMPLATE),
        "count_till_limit": lambda o: o.count_till_limit(TEXT, 100),
        "decode": lambda o: o.decode(IDS),
        "decode_batch": lambda o: o.decode_batch([IDS, IDS]),
        "decode_bytes": lambda o: o.decode_bytes(IDS),
        "decode_stream": lambda o: o.decode_stream().extend(IDS),
        "edit": lambda o: o.edit(TEXT, o.encode_with_offsets(TEXT), 5, 9, "low").encoding,
        "embedding_plan": lambda o: o.embedding_plan(49_990),
        "encode": lambda o: o.encode(TEXT, special="parse"),
        "encode_arrow": lambda o: o.encode_arrow(arrow_batch(), offsets=True),
        "encode_batch": lambda o: o.encode_batch([TEXT, "low"], num_threads=2),
        "encode_nbest": refuses(lambda o: o.encode_nbest("low", 2)),
        "encode_to_numpy": lambda o: o.encode_to_numpy(TEXT),
        "encode_with_offsets": lambda o: o.encode_with_offsets(TEXT).offsets,
        "explain": lambda o: o.explain(TEXT[:100]),
        "extend": lambda o: o.extend(["lowlow"]),
        "extend_chat": lambda o: o.extend_chat(
            o.encode("low"), CHAT, CHAT, template="{{ messages[0].content }}"
        ),
        "find_added": lambda o: o.find_added(TEXT + "<s>", untrusted=[(0, 9)], protected=["<s>"]),
        "first_drift": lambda o: o.first_drift(IDS),
        "fit_chat": lambda o: o.fit_chat(CHAT, 10_000, template=TEMPLATE),
        "from_merges": lambda o: o.from_merges({"a": 0, "b": 1, "ab": 2}, [("a", "b")]),
        "from_pairs": lambda o: o.from_pairs([(101, 32)]),
        "from_ranks": lambda o: o.from_ranks({b"a": 0, b"b": 1}),
        "from_tokens": lambda o: o.from_tokens([b"a", b"b"]),
        "id_to_token": lambda o: o.id_to_token(40_000),
        "interval_counter": lambda o: o.interval_counter(TEXT).count(3, 50),
        "is_canonical": lambda o: o.is_canonical(IDS),
        "log_probability": refuses(lambda o: o.log_probability("low")),
        "memory_usage": lambda o: o.memory_usage(),
        "pad_batch": lambda o: o.pad_batch([IDS, IDS[:9]], pad_id=0, num_threads=2),
        "plan": lambda o: o.plan(),
        "prepender": lambda o: o.prepender(),
        "remap": lambda o: o.remap({}),
        "rename_special": lambda o: o.rename_special("<s>", "<begin>"),
        "render_chat": lambda o: o.render_chat(CHAT, template=TEMPLATE).segments,
        "sample": lambda o: o.sample(TEXT, seed=1, dropout=0.1),
        "save": lambda o: o.save(new_path(".json")),
        "token_bytes": lambda o: o.token_bytes(40_000),
        "token_lengths": lambda o: o.token_lengths(IDS),
        "token_to_id": lambda o: o.token_to_id("low"),
        "trim": lambda o: o.trim(texts=[TEXT]),
        "truncate": lambda o: o.truncate(TEXT, 100, at="word"),
        "with_call_defaults": lambda o: o.with_call_defaults(padding_side="left"),
        "with_chat_template": lambda o: o.with_chat_template("chatml").encode(TEXT),
        "with_normalizer": lambda o: o.with_normalizer(str.lower, name="lower").encode(TEXT),
        "with_special_tokens": lambda o: o.with_special_tokens(["<x>"]),
        "with_splitter": lambda o: o.with_splitter(str.split, name="split"),
        "with_vocab_size": lambda o: o.with_vocab_size(1000),
    },
    "tokenmill.Encoding": {
        "char_to_token": lambda o: o.char_to_token(50),
        "token_to_chars": lambda o: o.token_to_chars(50),
        "token_to_word": lambda o: o.token_to_word(50),
        "word_to_tokens": lambda o: o.word_to_tokens(5),
    },
    "tokenmill.Appender": {
        "ids": lambda o: o.ids(),
        "push": lambda o: o.push(TEXT),
        "restore": lambda o: o.restore(o.snapshot()),
        "snapshot": lambda o: o.snapshot(),
        "truncate": lambda o: o.truncate(0),
    },
    "tokenmill.IntervalCounter": {
        "count": lambda o: o.count(3, 50),
        "count_many": lambda o: o.count_many([(0, 9), (3, 50)], num_threads=2),
        "fits": lambda o: o.fits(3, 20),
    },
    "tokenmill.Prepender": {
        "ids": lambda o: o.ids(),
        "push": lambda o: o.push(TEXT),
        "restore": lambda o: o.restore(o.snapshot()),
        "snapshot": lambda o: o.snapshot(),
        "truncate": lambda o: o.truncate(0),
    },
    "tokenmill.placeholder.NGramModel": {
        "generate": lambda o: o.generate(words=50, seed=1),
        "generate_ids": lambda o: o.generate_ids(5_000),
        "load": lambda o: [o.save(path := new_path(".ngrams")), o.load(path)],
        "save": lambda o: o.save(new_path(".ngrams")),
        "successors": lambda o: o.successors([100]),
        "train": lambda o: o.train(base(), texts=[TEXT]),
        "verify": lambda o: o.verify(),
    },
    "tokenmill.Snapshot": {},
    "tokenmill.DecodeStream": {
        "extend": lambda o: o.extend(IDS),
        "finish": lambda o: o.finish(),
        "reset": lambda o: o.reset(),
        "step": lambda o: o.step(100),
    },
    "tokenmill.LoadReport": {},
    "tokenmill.LoadFinding": {},
    "tokenmill.TrainingReport": {},
    "tokenmill._core.ReadyIds": {"rows": lambda o: o.rows(*two_arrays())},
    "tokenmill.model_inputs.Collator": {"__call__": lambda o: o([TEXT, "low"])},
    "tokenmill.conversion.Conversion": {"to_dict": lambda o: o.to_dict()},
    "tokenmill.embedding_plan.EmbeddingPlan": {
        "moved": lambda o: o.moved([[0.0]] * o.rows),
        "to_dict": lambda o: o.to_dict(),
    },
    "tokenmill.surgery.Surgery": {"save": lambda o: o.save(new_path(""))},
    "tokenmill.findings.Diagnosis": FINDINGS,
    "tokenmill.findings.Finding": {"to_dict": lambda o: o.to_dict()},
    "tokenmill.findings.Findings": FINDINGS,
    "tokenmill.model_inputs.ModelInputs": dict(sorted({**MAPPING, "to": lambda o: o.to("cpu")}.items())),
    "tokenmill.chunks.Chunks": {
        "__getitem__": lambda o: (o[0], o[::2]),
        "count": lambda o: o.count(o[0]),
        "index": lambda o: o.index(o[0]),
        "texts": lambda o: o.texts(),
    },
    "tokenmill._core.PretokenTable": {
        "at_least": lambda o: o.at_least(2),
        "columns": lambda o: o.columns(),
        "from_columns": lambda o: o.from_columns(*o.columns()),
        "items": lambda o: o.items(0, 5),
        "merged": lambda o: o.merged(other_of(o)),
        "shares": lambda o: o.shares(3),
    },
    "tokenmill.pretoken_counts.PretokenCounts": {
        "from_arrow": lambda o: o.from_arrow(o.to_arrow()),
        "items": lambda o: list(o.items()),
        "load": saved_and_loaded,
        "save": lambda o: o.save(new_path(".counts")),
        "to_arrow": lambda o: o.to_arrow(),
    },
    "tokenmill.packing.Packed": {
        "__getitem__": lambda o: (o[0], o[::2]),
        "count": lambda o: o.count(o[0]),
        "index": lambda o: o.index(o[0]),
        "pad": lambda o: o.pad(0),
    },
    "tokenmill.ragged.Ragged": {
        "__getitem__": lambda o: (o[0], o[::2], o[[2, 0]]),
        "pad": lambda o: o.pad(0, num_threads=2),
        "to_arrow": lambda o: o.to_arrow(),
        "to_lists": lambda o: o.to_lists(),
    },
    "tokenmill._core.ArrowBatch": {},
    "tokenmill._core.ArrowStream": {},
    "tokenmill._core.EncodedRows": {
        "byte_offsets": lambda o: o.byte_offsets(0, 1, 1),
        "encodings": lambda o: o.encodings(),
        "part": lambda o: o.part(0, 1, 1),
        "take": lambda o: o.take([0, 0]),
    },
    "tokenmill.ragged.RaggedEncodings": {
        "__getitem__": lambda o: (o[0], o[::2], o[[2, 0]]),
        "pad": lambda o: o.pad(0),
        "to_arrow": lambda o: o.to_arrow(),
        "to_encodings": lambda o: [one.offsets for one in o.to_encodings()],
        "to_lists": lambda o: o.to_lists(),
    },
    "tokenmill.stages.Plan": {
        "__getitem__": lambda o: o["model"],
        "to_dict": lambda o: o.to_dict(),
    },
    "tokenmill.stages.Audit": {
        "__getitem__": lambda o: o["model"],
        "to_dict": lambda o: o.to_dict(),
    },
    "tokenmill.reports.Report": {
        "save": lambda o: o.save(new_path(".html")) if find_spec("matplotlib") else None,
        "to_dict": lambda o: o.to_dict(),
    },
    "tokenmill.vocab_sizes.VocabSizes": {
        "__getitem__": lambda o: o["texts", 1000],
        "cells": lambda o: o.cells(),
        "notes": lambda o: list(o.notes()),
        "table": lambda o: o.table(markdown=True),
        "to_dict": lambda o: o.to_dict(),
        "to_svg": lambda o: o.to_svg(),
    },
    "tokenmill.difference.Difference": {"to_dict": lambda o: o.to_dict()},
    "tokenmill.difference.Witness": {"to_dict": lambda o: o.to_dict()},
    "tokenmill.vocab_sizes.VocabSizeRow": {"to_dict": lambda o: o.to_dict()},
    "tokenmill.explain.Explanation": {"to_dict": lambda o: o.to_dict()},
    "tokenmill.chat.encoding.ChatEncoding": MAPPING,
    "tokenmill.chat.rendered.RenderedChat": {},
    "tokenmill.chat.rendered.Segment": {
        "__getitem__": lambda o: (o[0], o[1:]),
        "count": lambda o: o.count(0),
        "index": lambda o: o.index(o.start),
    },
    "tokenmill.compat.tiktoken.core.Encoding": {
        "decode": lambda o: o.decode(IDS),
        "decode_batch": lambda o: o.decode_batch([IDS]),
        "decode_bytes": lambda o: o.decode_bytes(IDS),
        "decode_bytes_batch": lambda o: o.decode_bytes_batch([IDS]),
        "decode_single_token_bytes": lambda o: o.decode_single_token_bytes(40_000),
        "decode_tokens_bytes": lambda o: o.decode_tokens_bytes(IDS),
        "decode_with_offsets": lambda o: o.decode_with_offsets([108, 111]),
        "encode": lambda o: o.encode(TEXT),
        "encode_batch": lambda o: o.encode_batch([TEXT, "low"]),
        "encode_ordinary": lambda o: o.encode_ordinary(TEXT),
        "encode_ordinary_batch": lambda o: o.encode_ordinary_batch([TEXT]),
        "encode_single_token": lambda o: o.encode_single_token("lo"),
        "encode_to_numpy": lambda o: o.encode_to_numpy(TEXT),
        "encode_with_unstable": lambda o: o.encode_with_unstable("low l"),
        "is_special_token": lambda o: o.is_special_token(50_000),
        "token_byte_values": lambda o: o.token_byte_values(),
    },
    "tokenmill.compat.transformers._backend.Backend": {
        "add_special_tokens": lambda o: o.add_special_tokens(["<y>"]),
        "add_tokens": lambda o: o.add_tokens(["lowest"]),
        "async_decode_batch": lambda o: asyncio.run(awaited(o.async_decode_batch, [IDS])),
        "async_encode": lambda o: asyncio.run(awaited(o.async_encode, "low")),
        "async_encode_batch": lambda o: asyncio.run(awaited(o.async_encode_batch, ["low"])),
        "async_encode_batch_fast": lambda o: asyncio.run(awaited(o.async_encode_batch_fast, ["low"])),
        "decode": lambda o: o.decode(IDS),
        "decode_batch": lambda o: o.decode_batch([IDS]),
        "encode": lambda o: o.encode(TEXT),
        "encode_batch": lambda o: o.encode_batch([TEXT, "low"]),
        "encode_batch_fast": lambda o: o.encode_batch_fast([TEXT, "low"]),
        "post_process": lambda o: o.post_process(
            fresh()["tokenmill.compat.transformers._encoding.Encoding"]()
        ),
        "to_tokenizers": lambda o: o.to_tokenizers(),
        "train": lambda o: o.train([str(folder() / "corpus.txt")], small_trainer()),
        "train_from_iterator": lambda o: o.train_from_iterator(["low lower"], small_trainer()),
    },
    "tokenmill.compat.transformers._encoding.Encoding": {
        "char_to_token": lambda o: o.char_to_token(50),
        "char_to_word": lambda o: o.char_to_word(50),
        "merge": lambda o: o.merge([o]),
        "pad": lambda o: o.pad(9000),
        "set_sequence_id": lambda o: o.set_sequence_id(0),
        "to_tokenizers": lambda o: o.to_tokenizers(),
        "token_to_chars": lambda o: o.token_to_chars(5),
        "token_to_sequence": lambda o: o.token_to_sequence(5),
        "token_to_word": lambda o: o.token_to_word(5),
        "truncate": lambda o: o.truncate(100),
        "word_to_chars": lambda o: o.word_to_chars(1),
        "word_to_tokens": lambda o: o.word_to_tokens(1),
    },
    "tokenmill.manifest.Verification": {"check": lambda o: o.check()},
    "functions": {
        "algorithms": lambda o: [
            getattr(import_module("tokenmill").algorithms, name)(base(), TEXT) for name in ("heap", "table")
        ],
        "align_labels": lambda o: import_module("tokenmill").align_labels([(0, 3)], [(0, 3, "X")]),
        "causal_mask": lambda o: import_module("tokenmill").causal_mask([[0, 1, 1]]),
        "compare_vocab_sizes": lambda o: import_module("tokenmill").compare_vocab_sizes(base(), TEXT, [999]),
        "convert": lambda o: import_module("tokenmill").convert(
            import_module("tokenmill").train(texts=["low lower"] * 2, num_merges=3), folder() / "t.tiktoken"
        ),
        "check_checkpoint": lambda o: import_module("tokenmill").check_checkpoint(base(), checkpoint()),
        "count_pretokens": lambda o: import_module("tokenmill").count_pretokens(texts=[TEXT]),
        "doctor": lambda o: import_module("tokenmill").doctor(small()),
        "get_encoding": lambda o: registry().get_encoding("mine"),
        "mask_from_spans": lambda o: import_module("tokenmill").mask_from_spans([(0, 3)], [(1, 2)]),
        "report": lambda o: import_module("tokenmill").report(base(), "low lower", words=["low"]),
        "pack": lambda o: import_module("tokenmill").pack([IDS, IDS[:9]], 100),
        "list_encoding_names": lambda o: registry().list_encoding_names(),
        "load": lambda o: load(folder() / "tokenizer.json"),
        "join": lambda o: import_module("tokenmill").join(base(), base()),
        "manifest_of": lambda o: import_module("tokenmill").manifest.manifest_of(base()),
        "merge_counts": lambda o: import_module("tokenmill").merge_counts(
            [import_module("tokenmill").count_pretokens(texts=[TEXT])] * 2
        ),
        "load and compare": lambda o: load(folder() / "tokenizer.json") == base(),
        "render a chat": lambda o: rendered().segments,
        "register_hook": lambda o: import_module("tokenmill").register_hook("lower", str.lower),
        "train": lambda o: import_module("tokenmill").train(texts=[TEXT], num_merges=20),
    },
}

ONE_AT_A_TIME = {
    "tokenmill.Appender",
    "tokenmill.DecodeStream",
    "tokenmill.Prepender",
    "tokenmill.compat.transformers._backend.Backend",
    "tokenmill.compat.transformers._encoding.Encoding",
}
"""Classes that say so: a call beside one that changes the object may fail, but not hang."""

QUICK = ["__eq__", "__hash__", "__reduce__", "encode", "encode_batch", "fingerprint", "merges"]
QUICK += ["token_to_id", "vocab"]


async def awaited(call: Callable[..., Any], *arguments: Any) -> Any:
    return await call(*arguments)


def load(path: Path) -> Any:
    return import_module("tokenmill").load(path)


def registry() -> Any:
    return import_module("tokenmill.compat.tiktoken")


def rendered() -> Any:
    """A chat whose template is compiled anew, and whose segments nobody has asked for."""
    chat = import_module("tokenmill").chat
    source = f"{{% for m in messages %}}{{{{ m.content }}}}{{% endfor %}}{next(_numbers)}"
    return chat.render(source, [{"role": "user", "content": TEXT}] * 3, special_tokens={})


def chat_encoding() -> Any:
    """With literals that nobody has asked for."""
    return base().apply_chat_template([{"role": "user", "content": TEXT + "<s>"}], template=TEMPLATE)


def small_trainer() -> Any:
    return import_module("tokenizers").trainers.BpeTrainer(vocab_size=300, show_progress=False)


def two_arrays() -> tuple[Any, Any]:
    import numpy as np

    return np.arange(5000, dtype=np.uint32), np.array([0, 10, 5000])


def calls(name: str) -> dict[str, Call]:
    """What is called, by member."""
    entries = METHODS[name]
    if name == "functions":
        return entries

    def one(member: str) -> Call:
        return entries.get(member) or SPECIAL.get(member) or (lambda o: getattr(o, member))

    return {member: one(member) for member in members(classes()[name])}


# ---- running them -----------------------------------------------------------------------------


def fork_and(work: Callable[[], object]) -> int:
    """Fork; the status of a child that does `work`, and prints its stacks where it hangs."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    status = 1
    try:
        signal.alarm(HANGS)
        work()
        status = 0
    except BaseException as error:
        print(f"in the child: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(status)


def run(name: str, first: str, second: str, threads: int, number: int) -> list[str]:
    """Run two members on as many threads, half of them each, and in a child; what went wrong."""
    make, both = fresh()[name], (calls(name)[first], calls(name)[second])
    subject = make()
    _others.clear()
    if "__eq__" in (first, second):
        _others[id(subject)] = make()
    start, wrong = threading.Barrier(threads + 1), []
    tolerated = BaseException if name in ONE_AT_A_TIME else ()

    def one(call: Call, where: str) -> None:
        try:
            call(subject)
        except tolerated:
            pass
        except BaseException as error:
            wrong.append(f"{name}: {first} and {second} {where}: {error!r}")

    def work(call: Call) -> None:
        start.wait()
        one(call, f"on {threads} threads")

    running = [threading.Thread(target=work, args=(both[at % 2],)) for at in range(threads)]
    for thread in running:
        thread.start()
    start.wait()
    # At its beginning, or somewhat later.
    time.sleep([0.0, 0.001, 0.003, 0.006, 0.012][number % 5])

    def in_child() -> None:
        for call in both:
            one(call, "in a child")
        assert wrong == [], wrong

    status = fork_and(in_child)
    for thread in running:
        thread.join()
    return wrong if status == 0 else [*wrong, f"{name}: {first} and {second}: the child ended with {status}"]


def run_all(name: str, threads: int, chosen: list[str]) -> list[str]:
    wrong, count = [], 0
    # Python's own tempfile has a lock that a child may find held, and so has an import that the calls' own
    # arguments begin; that the library's imports are waited for is shown by FIRST.
    folder()
    with suppress(ImportError):
        arrow_table()
    pairs = itertools.combinations_with_replacement(enumerate(chosen), 2)
    for (at, first), (other, second) in pairs:
        # With many threads each member meets itself and a third of the others, which tell what holds up many.
        if threads > 2 and at != other and (at + other) % 3:
            continue
        print(name, first, second, threads, flush=True)
        faulthandler.dump_traceback_later(2 * HANGS, exit=True)
        wrong += run(name, first, second, threads, count)
        count += 1
    faulthandler.cancel_dump_traceback_later()
    print(f"{count} pairs of {name} on {threads} threads", flush=True)
    return wrong


FIRST: dict[str, Callable[[], object]] = {
    "an array": lambda: base().encode_to_numpy("low"),
    "a batch": lambda: base().encode_batch(["low"]).to_lists(),
    "a plan": lambda: base().plan(),
    "an explanation": lambda: base().explain("low"),
    "rows": lambda: import_module("tokenmill").Ragged([1, 2], [0, 2]),
    "an Arrow array": lambda: import_module("tokenmill").Ragged([1, 2], [0, 2]).to_arrow(),
}
"""What brings modules when it is used first."""


def run_first(name: str) -> list[str]:
    """Use something first in a thread, and in children that are forked meanwhile."""
    use = FIRST[name]
    base()
    assert not {"numpy", "pyarrow", "tokenmill.stages", "tokenmill.explain"} & {*sys.modules}
    faulthandler.dump_traceback_later(2 * HANGS, exit=True)
    thread = threading.Thread(target=use)
    thread.start()
    statuses: list[int] = []
    while thread.is_alive() and len(statuses) < 8:
        time.sleep(0.004)
        statuses.append(fork_and(use))
    thread.join()
    faulthandler.cancel_dump_traceback_later()
    print(f"{len(statuses)} children", flush=True)
    return [f"{name}: children ended with {statuses}"] if any(statuses) else []


def hold_lock() -> tuple[Callable[[], object], Callable[[], object]]:
    from tokenmill._forks import OwnLock

    lock = OwnLock()

    def hold() -> None:
        with lock.held:
            time.sleep(0.5)

    return hold, hold


def hold_kept() -> tuple[Callable[[], object], Callable[[], object]]:
    from tokenmill._kept import kept

    class Slow:
        @kept
        def value(self) -> int:
            time.sleep(0.5)
            return 7

    slow = Slow()

    def ask() -> None:
        assert slow.value == 7

    return ask, ask


def hold_encoding() -> tuple[Callable[[], object], Callable[[], object]]:
    from tokenmill.compat.tiktoken import registry

    def slow() -> dict[str, Any]:
        time.sleep(0.5)
        return {"name": "mine", "pat_str": ".", "mergeable_ranks": ranks(), "special_tokens": {}}

    registry.ENCODING_CONSTRUCTORS["mine"] = slow
    return lambda: registry.get_encoding("mine"), registry.list_encoding_names


HELD = {"a lock": hold_lock, "a property": hold_kept, "the encodings": hold_encoding}
"""What a thread of the parent holds, and what a child does then."""


def run_held(name: str) -> list[str]:
    hold, use = HELD[name]()
    faulthandler.dump_traceback_later(2 * HANGS, exit=True)
    thread = threading.Thread(target=hold)
    thread.start()
    time.sleep(0.1)
    status = fork_and(use)
    thread.join()
    use()
    faulthandler.cancel_dump_traceback_later()
    return [f"{name}: the child ended with {status}"] if status else []


def main(arguments: list[str]) -> int:
    faulthandler.enable()
    faulthandler.register(signal.SIGALRM, all_threads=True, chain=True)
    # From Python 3.12 on; that a fork does no harm is what is tested.
    warnings.filterwarnings("ignore", message=r".*multi-threaded.*fork", category=DeprecationWarning)
    # Threads take turns as often as they can.
    sys.setswitchinterval(1e-4)
    if arguments[0] == "quick":
        wrong = run_all("tokenmill.Tokenizer", 2, QUICK)
    elif arguments[0] == "first":
        wrong = run_first(arguments[1])
    elif arguments[0] == "held":
        wrong = run_held(arguments[1])
    else:
        name, threads = arguments[0], int(arguments[1])
        wrong = run_all(name, threads, [*calls(name)])
    clean()
    print(*wrong, sep="\n", file=sys.stderr, flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
