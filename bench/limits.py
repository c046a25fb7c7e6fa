"""What a tokenizer keeps to while it works: the bytes of its cache, how soon it hears a signal, audits.

    python bench/limits.py                 some minutes
    python bench/limits.py --megabytes 50  less text

The cache: 64 threads count the ids of words that never come twice, with cl100k (without the shared data, with
what is learned from Python's source). Printed is how much the memory of the process grew at most, beside what
the cache may take and a megabyte for each thread.

The signals: a timer sends one while a call is under way, some times over. Printed is how long the latest of
them waited for its handler.

The audits: printed is how long one took that was given a second, and the worst text of the split, with how
its time grows. A pattern that reads too far takes the square of the text, and the slope is 2.
"""

from __future__ import annotations

import argparse
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import data
import numpy as np
import tokenmill
from measure import forget_peak, peak, resident
from vocabularies import Vocabulary, find

THREADS = 64
WORD = 8
"""Bytes of a word: a space and seven letters."""
CHUNK = 2048
"""Words that are made at once: little memory beside what is measured."""
SIGNALS = 12
MIB = 1 << 20


def words(first: int, count: int) -> Iterator[bytes]:
    """As many words, in chunks: the numbers from the first on, in letters. There are 26^7 of them."""
    powers = 26 ** np.arange(WORD - 1, dtype=np.int64)
    for start in range(first, first + count, CHUNK):
        numbers = np.arange(start, min(start + CHUNK, first + count), dtype=np.int64)
        text = np.full((len(numbers), WORD), ord(" "), dtype=np.uint8)
        text[:, 1:] = numbers[:, None] // powers % 26 + ord("a")
        yield text.tobytes()


def _load(vocabulary: Vocabulary) -> tokenmill.Tokenizer:
    """With the split that a file which is no published one must be given."""
    return tokenmill.load(vocabulary.file, split=vocabulary.split_to_give)


def growth(megabytes: int) -> None:
    """Prints how much memory grows while many threads meet words that are all new."""
    tok = _load(find("cl100k"))
    tok.encode("Hello world")
    share = megabytes * data.MB // WORD // THREADS

    def count(number: int) -> None:
        for text in words(number * share, share):
            tok.count(text)

    count(THREADS)  # numpy and one worker have what they need
    forget_peak()
    before = resident()
    threads = [threading.Thread(target=count, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = peak()
    usage = tok.memory_usage()
    cache_bytes = usage["cache_bytes"] / MIB
    print(f"cache: {megabytes} MB of words that never come twice, {THREADS} threads")
    if before is None or after is None:
        print("  how much the memory grew is not known: this system does not say")
    else:
        print(f"  memory grew by {(after - before) * data.MB / MIB:.0f} MiB at most")
    print(
        f"  allowed are {cache_bytes + THREADS:.0f}: cache_bytes of {cache_bytes:.0f}, and 1 for each thread"
    )


class Rung(BaseException):
    """The timer did."""


def timed(call: Callable[[], Any]) -> float:
    """Seconds that it takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def latest(call: Callable[[], Any]) -> float:
    """The longest of some waits of a handler, in seconds, for a timer that ends during this call."""
    duration = min(timed(call) for _ in range(3))
    chance = random.Random(0)
    waits = []
    due = 0.0

    def ring(*_: object) -> None:
        waits.append(time.perf_counter() - due)
        raise Rung

    before = signal.signal(signal.SIGALRM, ring)
    try:
        while len(waits) < SIGNALS:
            delay = duration * chance.uniform(0.05, 0.9)
            try:
                due = time.perf_counter() + delay
                signal.setitimer(signal.ITIMER_REAL, delay)
                call()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Rung:
                continue
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return max(waits)


def waits() -> None:
    """Prints how long a signal waits in calls of several kinds."""
    vocabulary = find("cl100k")
    tok = _load(vocabulary)
    whole = tokenmill.load(vocabulary.file, split="none")
    text = data.text(data.corpora()[0], 40 * data.MB).decode()
    documents = data.documents(text.encode(), 4096)
    hostile = data.hostile("letters", data.MB).decode()
    hooked = tok.with_splitter(str.split)
    tokens = [b"%d" % number for number in range(600_000)]
    calls: dict[str, Callable[[], Any]] = {
        "40 MB to a list": lambda: tok.encode(text),
        "40 MB to an array": lambda: tok.encode_to_numpy(text),
        "40 MB to an array, two threads": lambda: tok.encode_to_numpy(text, num_threads=2),
        "40 MB in documents to an array": lambda: tok.encode_batch(documents),
        "40 MB in documents to lists": lambda: tok.encode_batch(documents).to_lists(),
        "1 MB of random letters to a list": lambda: tok.encode(hostile),
        "10 MB of random letters without a split": lambda: whole.encode(hostile * 10),
        "40 MB with offsets": lambda: tok.encode_with_offsets(text),
        "documents through a function in Python": lambda: hooked.encode_batch(documents[:2000]),
        "the same, two threads": lambda: hooked.encode_batch(documents[:2000], num_threads=2),
        "a tokenizer of 600,000 tokens": lambda: tokenmill.Tokenizer.from_tokens(tokens),
        "training on 10 MB": lambda: tokenmill.train(texts=documents[:2500], vocab_size=2000),
        "an audit of a second": lambda: tok.audit(seconds=1),
    }
    for name, call in calls.items():
        print(
            f"signals: {name}: heard after {latest(call) * 1e3:.1f} ms at the latest, of {SIGNALS}",
            flush=True,
        )


def audits() -> None:
    """Prints what audits find by the clock, and whether they keep to their time."""
    tokens = [bytes([byte]) for byte in range(256)]
    for split in ("gpt2", "a*b|a", r"(?:a|b)*+c"):
        tok = tokenmill.Tokenizer.from_tokens(tokens, split=split)
        start = time.perf_counter()
        stage = tok.audit(seconds=1)["pre-tokenization"]
        took = time.perf_counter() - start
        worst, found = stage.worst, "nothing"
        if worst is not None and worst.slope is not None:
            found = f"slope {worst.slope:.2f} of {worst.measure}, {worst.text[:20]!r}..."
        print(f"audit: {split}: {stage.guarantee}, {found}; {took:.1f} s of 1", flush=True)


def main() -> None:
    """One after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1_000, help="of words, for the cache (1000)")
    growth(parser.parse_args().megabytes)
    waits()
    audits()


if __name__ == "__main__":
    main()
