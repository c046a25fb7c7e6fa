"""Every public method in a thread with a stack of 128 KiB: what needs more ends the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = r"""
import copy
import pathlib
import pickle
import sys
import threading

import pyarrow as pa
import tokenmill

path, folder = sys.argv[1], pathlib.Path(sys.argv[2])
text = "Hello w\u00f6rld, <s> 12345 " * 20 + "x" * 20_000 + " " * 1_000 + "\u65e5\u672c\u8a9e" * 200
pattern = r"(?:a|aa)+(?=x)|a*b|(?<=a)\w+|\p{L}+|."
every_byte = [bytes([byte]) for byte in range(256)]
missing = []


def small(name, work):
    # What is not for this vocabulary is an error; what needs a larger stack is the end.
    def run():
        try:
            results.append(work())
        except (ValueError, TypeError):
            missing.append(name)

    results = []
    print(name, flush=True)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[0] if results else None


def placeholders(tok, text):
    model = tokenmill.placeholder.NGramModel.train(tok, texts=[text], order=3)
    model.save(folder / "model.ngrams")
    model = tokenmill.placeholder.NGramModel.load(folder / "model.ngrams")
    model.verify()
    return model.generate(words=20, start="Hello", seed=1), model.generate(characters=9, exact=True)


threading.stack_size(128 << 10)
tok = small("load", lambda: tokenmill.load(path))
stream = tok.decode_stream()
ids = tok.encode(text)
chat = [{"role": "user", "content": text}, {"role": "assistant", "content": text}]
Tokenizer = tokenmill.Tokenizer
ranks = {token: rank for rank, token in enumerate([*every_byte, b"ab"])}
work = {
    "apply_chat_template": lambda: tok.apply_chat_template(chat, template="chatml", return_labels=True),
    "audit": lambda: tok.audit(seconds=0.5),
    "cache_key": lambda: tok.cache_key(text),
    "count": lambda: tok.count(text),
    "count_batch": lambda: tok.count_batch([text] * 3),
    "count_chat": lambda: tok.count_chat(chat, template="chatml"),
    "decode": lambda: tok.decode(ids),
    "decode_batch": lambda: tok.decode_batch([ids] * 3),
    "appender": lambda: [grown := tok.appender(), grown.push(text), grown.truncate(7), grown.ids()],
    "prepender": lambda: [grown := tok.prepender(), grown.push(text), grown.truncate(7), grown.ids()],
    "interval_counter": lambda: [ranges := tok.interval_counter(text), ranges.count(1, 9), ranges.fits(1, 9)],
    "edit": lambda: tok.edit(text, tok.encode_with_offsets(text), 5, 9, "x"),
    "chunk": lambda: tok.chunk(text[:1_000], 100, overlap=9, at="sentence"),
    "chunk_batch": lambda: tok.chunk_batch([text[:1_000]] * 3, 100),
    "chunk_file": lambda: list(tok.chunk_file(__file__, 100)),
    "truncate": lambda: [tok.truncate(text[:1_000], 9), tok.truncate(text[:1_000], 9, side="left")],
    "count_till_limit": lambda: tok.count_till_limit(text, 1 << 30),
    "decode_bytes": lambda: tok.decode_bytes(ids),
    "decode_stream": lambda: [tok.decode_stream()],
    "embedding_plan": lambda: tok.embedding_plan(100),
    "encode": lambda: [tok.encode(text, special=special) for special in ("text", "parse", set())],
    "encode_arrow": lambda: [
        pa.record_batch(tok.encode_arrow(pa.record_batch({"text": [text] * 20}), offsets=True)),
        pa.table(tok.encode_arrow(pa.table({"text": [text] * 20}), num_threads=2)),
    ],
    "encode_batch": lambda: tok.encode_batch([text] * 20, num_threads=2).to_lists(),
    "encode_nbest": lambda: tok.encode_nbest("hello", 3),
    "encode_to_numpy": lambda: tok.encode_to_numpy(text),
    "encode_with_offsets": lambda: tok.encode_with_offsets(text).offsets,
    "explain": lambda: str(tok.explain(text[:300])),
    "extend": lambda: tok.extend(["lowlow"]),
    "remap": lambda: tok.remap({}),
    "rename_special": lambda: tok.rename_special(tok.eos_token or "<other>", "<other>"),
    "trim": lambda: tok.trim(texts=[text]),
    "extend_chat": lambda: tok.extend_chat([], chat, chat, template="chatml"),
    "find_added": lambda: tok.find_added(text, untrusted=[(0, 100)]),
    "first_drift": lambda: tok.first_drift(ids),
    "fit_chat": lambda: tok.fit_chat(chat, 1 << 20, template="chatml"),
    "from_merges": lambda: Tokenizer.from_merges(ranks, [(b"a", b"b")], split=pattern),
    "from_pairs": lambda: Tokenizer.from_pairs([(97, 98)], split=pattern),
    "from_ranks": lambda: Tokenizer.from_ranks(ranks, split=pattern),
    "from_tokens": lambda: Tokenizer.from_tokens(list(ranks), split=pattern).encode("aaab"),
    "id_to_token": lambda: tok.id_to_token(5),
    "is_canonical": lambda: tok.is_canonical(ids),
    "log_probability": lambda: tok.log_probability("hello"),
    "memory_usage": lambda: tok.memory_usage(),
    "pad_batch": lambda: tok.pad_batch([ids, ids[:3]], pad_id=0),
    "plan": lambda: str(tok.plan()),
    "render_chat": lambda: tok.render_chat(chat, template="chatml"),
    "sample": lambda: tok.sample("hello", seed=1, alpha=0.5),
    "save": lambda: [tok.save(folder / "saved"), tok.save(folder / "t.json")],
    "token_bytes": lambda: tok.token_bytes(5),
    "token_lengths": lambda: tok.token_lengths(ids),
    "token_to_id": lambda: tok.token_to_id("a"),
    "with_call_defaults": lambda: tok.with_call_defaults(padding_side="left"),
    "with_chat_template": lambda: tok.with_chat_template("chatml"),
    "with_normalizer": lambda: tok.with_normalizer(str.lower).encode(text[:1_000]),
    "with_special_tokens": lambda: tok.with_special_tokens(["<new>", "x" * 5_000]).encode(text),
    "with_splitter": lambda: tok.with_splitter(lambda text: [text]).encode(text[:1_000]),
    "with_vocab_size": lambda: tok.with_vocab_size(len(tok) - 1),
}
attributes = {name for name in dir(Tokenizer) if not name.startswith("_")} - set(work)
assert not any(callable(getattr(Tokenizer, name)) for name in attributes), attributes
work |= {name: lambda name=name: getattr(tok, name) for name in attributes}
work |= {
    "sample by dropout": lambda: tok.sample("hello", seed=1, dropout=0.5),
    "call": lambda: tok([text[:100], text[:50]], padding=tok.pad_token_id is not None),
    "copy": lambda: copy.deepcopy(tok),
    "equal": lambda: tok == tokenmill.load(folder / "saved"),
    "hash": lambda: hash(tok),
    "pickle": lambda: pickle.loads(pickle.dumps(tok)),
    "train": lambda: tokenmill.train(texts=[text] * 3, vocab_size=400, split=pattern, num_threads=2),
    "train whole": lambda: tokenmill.train(texts=[text], vocab_size=400, split="none", return_ids=True),
    "train wordpiece": lambda: tokenmill.train(
        texts=[text] * 3, model="wordpiece", unk_token="[UNK]", num_merges=9, score="likelihood"
    ),
    "train unigram": lambda: tokenmill.train(
        texts=[text] * 3, model="unigram", vocab_size=300, byte_fallback=True, max_token_length=512
    ),
    "placeholder": lambda: placeholders(tok, text),
}
for name, method in work.items():
    small(name, method)
print("not for this vocabulary:", *missing)
"""

VOCABULARIES = [
    "gpt2/tokenizer.json",
    "cl100k_base/cl100k_base.tiktoken",
    "llama2/tokenizer.json",
    "llama2/tokenizer.model",
    "bert-base-uncased/tokenizer.json",
    "t5-small/tokenizer.json",
    "clip/tokenizer.json",
    "deepseek-v3/tokenizer.json",
]


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_no_method_needs_a_stack_of_more_than_128_kib(
    vocabulary: str, native: Any, data: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", PROGRAM, str(data / "vocab" / vocabulary), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    # The last line is the method that ended it.
    assert done.returncode == 0, (done.stdout.splitlines()[-1:], done.stderr)
    print(vocabulary, done.stdout.splitlines()[-1])
