"""One tokenizer for many threads, processes and forks; long work that can be stopped."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

TEXTS = ["low lower lowest don't 1234", "你好，世界 🦊", " \n\t ", "def f(x):\n    return x"] * 3

posix = pytest.mark.skipif(os.name != "posix", reason="signals and forks are those of POSIX")


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.train(texts=TEXTS * 3, num_merges=60, special_tokens=["<s>"])


# ---- threads ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("threads", "calls"), [(16, 200), pytest.param(64, 1_000, marks=pytest.mark.slow)])
def test_threads_on_one_tokenizer_give_the_same_ids(threads: int, calls: int, tok: Any) -> None:
    expected = [tok.encode(text) for text in TEXTS]
    joined = "<s>".join(TEXTS) * 40
    parsed = tok.encode(joined, special="parse")

    def call(number: int) -> bool:
        for turn in range(calls):
            at = (number + turn) % len(TEXTS)
            if tok.encode(TEXTS[at]) != expected[at] or tok.decode(expected[at]) != TEXTS[at]:
                return False
            if turn % 20 == 0 and tok.encode(joined, special="parse", num_threads=2) != parsed:
                return False
            if turn % 20 == 1 and tok.encode_batch(TEXTS).to_lists() != expected:
                return False
        return True

    with ThreadPoolExecutor(threads) as pool:
        assert all(pool.map(call, range(threads)))


def test_threads_may_train_at_the_same_time(native: Any) -> None:
    def train(number: int) -> Any:
        return native.train(texts=TEXTS * (number + 1), num_merges=20 + number)

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(train, range(8)))
    assert together == [train(number) for number in range(8)]


# ---- processes --------------------------------------------------------------------------------


def fork_and(work: Callable[[], bool]) -> int:
    """Run `work` in a fork; its exit status, 0 where it returned true."""
    with warnings.catch_warnings():
        # CPython 3.12 and later warn of any fork while threads exist; that they are no danger to
        # the child is what is tested here.
        warnings.filterwarnings("ignore", message=r".*multi-threaded.*fork", category=DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(60)
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@posix
@pytest.mark.parametrize("count", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_forks_encode_after_the_parent_used_threads(count: int, tok: Any) -> None:
    text = " ".join(TEXTS) * 6000
    assert len(text) > 800_000
    expected = tok.encode(text, num_threads=4)
    short = tok.encode(text[:1000])
    tok.encode_batch([text] * 2, num_threads=2)

    def work() -> bool:
        return bool(tok.encode(text[:1000]) == short and tok.decode(short) == text[:1000])

    def work_on_threads() -> bool:
        return bool(tok.encode(text, num_threads=2) == expected)

    statuses = [fork_and(work_on_threads if number % 25 == 0 else work) for number in range(count)]
    assert statuses == [0] * count


@posix
def test_forks_while_other_threads_encode_do_not_hang(tok: Any) -> None:
    """A worker that another thread holds at the moment of the fork is lost to the child, no more."""
    text = " ".join(TEXTS) * 50
    expected = tok.encode(text)
    done: list[bool] = []

    def keep_on() -> bool:
        while not done:
            tok.encode(text)
        return True

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(keep_on) for _ in range(4)]
        try:
            statuses = [fork_and(lambda: bool(tok.encode(text) == expected)) for _ in range(30)]
        finally:
            done.append(True)
        assert all(future.result() for future in running)
    assert statuses == [0] * 30


def _encode(job: tuple[Any, str]) -> tuple[list[int], Any]:
    tok, text = job
    return tok.encode(text), tok


def test_tokenizers_travel_to_spawned_workers_and_back(tok: Any) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        results = pool.map(_encode, [(tok, text) for text in TEXTS])
    assert [ids for ids, _ in results] == [tok.encode(text) for text in TEXTS]
    assert all(back == tok and hash(back) == hash(tok) for _, back in results)


def test_results_can_be_pickled(native: Any, tok: Any) -> None:
    ragged = tok.encode_batch(TEXTS)
    assert pickle.loads(pickle.dumps(ragged)) == ragged


# ---- stopping ---------------------------------------------------------------------------------

WAIT = """
    import sys, tokenmill
    path, save = sys.argv[1:]
"""
# Work that a fast machine ends within the delay is done again and again; that such a call itself listens
# is shown by test_signals_are_heard_within_one_call.
STOPPED = {
    "training on files": """
        print("started", flush=True)
        tokenmill.train([path] * 8, vocab_size=32_000, split="gpt2", num_threads=2).save(save)
    """,
    "training on files on one thread": """
        print("started", flush=True)
        tokenmill.train([path] * 8, vocab_size=32_000, split="cl100k", num_threads=1).save(save)
    """,
    "training on lines": """
        print("started", flush=True)
        tokenmill.train([path] * 8, vocab_size=32_000, documents="lines", num_threads=2).save(save)
    """,
    "merging": """
        text = open(path, encoding="utf-8").read(4_000_000)
        def follow(phase, done, total):
            if phase == "merge" and not told:
                told.append(True)
                print("started", flush=True)
        told = []
        tokenmill.train(texts=[text[::-1], text], vocab_size=4_000_000, split="none", min_frequency=1,
                        progress=follow).save(save)
    """,
    "encoding": """
        tok = tokenmill.Tokenizer.from_pairs([(101, 32), (116, 104)], split="cl100k")
        text = open(path, encoding="utf-8").read()
        print("started", flush=True)
        while True:
            tok.count(text)
    """,
    "encoding to a list": """
        tok = tokenmill.Tokenizer.from_pairs([(101, 32), (116, 104)], split="cl100k")
        text = open(path, encoding="utf-8").read()
        print("started", flush=True)
        while True:
            tok.encode_to_numpy(text)
    """,
    "encoding one pretoken": """
        tok = tokenmill.Tokenizer.from_pairs([(101, 32), (116, 104), (257, 256)])
        text = open(path, encoding="utf-8").read()
        print("started", flush=True)
        while True:
            tok.count(text)
    """,
    "encoding on threads": """
        tok = tokenmill.Tokenizer.from_pairs([(101, 32), (116, 104)], split="cl100k")
        text = open(path, encoding="utf-8").read() * 2
        print("started", flush=True)
        while True:
            tok.count(text, num_threads=2)
    """,
    "encoding a batch": """
        tok = tokenmill.Tokenizer.from_pairs([(101, 32), (116, 104)], split="cl100k")
        text = open(path, encoding="utf-8").read()
        rows = [text[at : at + 100_000] for at in range(0, len(text), 100_000)] * 2
        print("started", flush=True)
        while True:
            tok.encode_batch(rows, num_threads=2)
    """,
    "encoding many short texts": """
        tok = tokenmill.Tokenizer.from_pairs([(101, 32), (116, 104)], split="cl100k")
        rows = ["low lower"] * 4_000_000
        print("started", flush=True)
        while True:
            tok.count_batch(rows)
    """,
    "encoding with offsets": """
        tok = tokenmill.Tokenizer.from_pairs([(101, 32), (116, 104)], split="cl100k")
        text = open(path, encoding="utf-8").read(20_000_000)
        print("started", flush=True)
        while True:
            tok.encode_with_offsets(text)
    """,
    "making the lists of an encoding": """
        tok = tokenmill.Tokenizer.from_pairs([(101, 32), (116, 104)], split="cl100k")
        encoding = tok.encode_with_offsets(open(path, encoding="utf-8").read(4_000_000))
        print("started", flush=True)
        while True:
            encoding.offsets, encoding.byte_offsets, encoding.tokens, encoding.ids
    """,
    "decoding a list": """
        tok = tokenmill.Tokenizer.from_pairs([(101, 32)])
        ids = [101, 32, 256] * 10_000_000
        print("started", flush=True)
        while True:
            tok.decode(ids)
    """,
    "decoding a batch": """
        tok = tokenmill.Tokenizer.from_pairs([(101, 32)])
        rows = [[101, 32, 256]] * 3_000_000
        print("started", flush=True)
        while True:
            tok.decode_batch(rows)
    """,
    "an audit": """
        tok = tokenmill.train(texts=["low lower lowest"], num_merges=5, special_tokens=["<s>"])
        print("started", flush=True)
        audit = tok.audit(seconds=100, max_bytes=2**24)
        open(save, "w").write(str(audit))
    """,
}


def interrupt(script: str, path: Path, save: Path, delay: float) -> tuple[int, str]:
    """Send SIGINT `delay` seconds after the script says "started": the status, and stderr."""
    command = [sys.executable, "-c", textwrap.dedent(WAIT) + textwrap.dedent(script), str(path), str(save)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n", process.communicate()[1]
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=300)
        return process.returncode, words


@posix
@pytest.mark.parametrize(
    ("what", "delay"),
    [*((what, 0.15) for what in STOPPED), ("training on files", 0.05), ("training on files", 0.3)],
)
def test_ctrl_c_stops_long_work_and_leaves_no_file(
    data: Path, tmp_path: Path, what: str, delay: float
) -> None:
    status, words = interrupt(STOPPED[what], data / "corpus" / "english.txt", tmp_path / "out.json", delay)
    assert words.rstrip().endswith("KeyboardInterrupt") or "KeyboardInterrupt: " in words, words
    assert status in (-signal.SIGINT, 130, 1)
    assert list(tmp_path.iterdir()) == []


# Calls of a tenth of a second and more: what they need, and the call.
PAIRS = 'tok = tokenmill.Tokenizer.from_pairs([(101, 32), (116, 104)], split="cl100k")'
TEXT = "text = 'the quick brown fox ' * 12_000_000"
HEARD = {
    "from_tokens": (
        "tokens = [b'%d' % number for number in range(600_000)]",
        "Tokenizer.from_tokens(tokens)",
    ),
    "from_ranks": (
        "ranks = {b'%d' % number: number for number in range(600_000)}",
        "Tokenizer.from_ranks(ranks)",
    ),
    "count": (f"{PAIRS}; {TEXT}", "tok.count(text)"),
    "count on threads": (f"{PAIRS}; {TEXT} * 2", "tok.count(text, num_threads=2)"),
    "count one pretoken": (
        f"tok = tokenmill.Tokenizer.from_pairs([(101, 32), (116, 104)]); {TEXT}",
        "tok.count(text)",
    ),
    "count_batch": (f"{PAIRS}; rows = ['low lower'] * 4_000_000", "tok.count_batch(rows)"),
    "encode_batch": (f"{PAIRS}; {TEXT}; rows = [text[:60_000_000]]", "tok.encode_batch(rows, num_threads=2)"),
    "decode_batch": (f"{PAIRS}; rows = [[101, 32, 256]] * 10_000_000", "tok.decode_batch(rows)"),
}


@posix
@pytest.mark.parametrize("what", HEARD)
def test_signals_are_heard_within_one_call(native: Any, what: str) -> None:
    # A handler that only counts: of signals that come while nobody listens it hears one.
    made, call = HEARD[what]
    script = f"""
        import os, signal, sys, threading, time
        import tokenmill
        from tokenmill import Tokenizer
        heard = []
        signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
        done = threading.Event()
        def send():
            while not done.wait(0.005):
                os.kill(os.getpid(), signal.SIGINT)
        {made}
        threading.Thread(target=send, daemon=True).start()
        heard.clear()
        result = {call}
        count = len(heard)
        done.set()
        print(count)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    # How many depends on how long it takes; where nobody listens it is one, heard as the call ends.
    assert int(done.stdout) > 1, done.stdout


@posix
def test_a_handler_of_the_caller_decides_what_a_signal_does(data: Path, tmp_path: Path) -> None:
    script = """
        import signal
        class Enough(Exception): pass
        def stop(number, frame): raise Enough("by the handler")
        signal.signal(signal.SIGINT, stop)
        print("started", flush=True)
        try:
            tokenmill.train([path] * 8, vocab_size=32_000, num_threads=2)
        except Enough:
            tok = tokenmill.train(texts=["ab ab"], num_merges=1)
            assert tok.decode(tok.encode("ab")) == "ab"
            sys.exit(7)
    """
    status, words = interrupt(script, data / "corpus" / "english.txt", tmp_path / "out", 0.1)
    assert status == 7, words


class EnoughError(Exception):
    """What the callback raises."""


@pytest.mark.parametrize("phase", ["count", "merge"])
def test_a_progress_callback_that_raises_stops_training(native: Any, data: Path, phase: str) -> None:
    calls: list[tuple[str, int, int]] = []

    def follow(name: str, done: int, total: int) -> None:
        calls.append((name, done, total))
        if name == phase:
            raise EnoughError(name)

    with pytest.raises(EnoughError, match=phase):
        native.train(data / "corpus" / "fra.txt", vocab_size=2000, progress=follow)
    assert calls[-1][0] == phase
    assert [name for name, _, _ in calls].count(phase) == 1


def test_progress_is_told_in_order_and_to_the_end(native: Any, data: Path) -> None:
    calls: list[tuple[str, int, int]] = []

    def follow(phase: str, done: int, total: int) -> None:
        calls.append((phase, done, total))

    tok = native.train(data / "corpus" / "fra.txt", vocab_size=2000, progress=follow)
    phases = list(dict.fromkeys(name for name, _, _ in calls))
    assert phases[-1] == "merge"
    for phase in phases:
        done = [now for name, now, _ in calls if name == phase]
        assert done == sorted(done)
        assert all(now <= total or total == 0 for name, now, total in calls if name == phase)
    assert calls[-1][1:] == (len(tok.merges), len(tok.merges))


def test_texts_that_raise_stop_training(native: Any) -> None:
    def texts() -> Any:
        yield "low"
        raise EnoughError("no more")

    with pytest.raises(EnoughError, match="no more"):
        native.train(texts=texts(), num_merges=1)


# ---- importing --------------------------------------------------------------------------------


def loaded_after(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(*sorted(name.split('.')[0] for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import tokenmill",
        "import tokenmill.cli",
        "import tokenmill; t = tokenmill.train(texts=['ab ab'], num_merges=1); t.decode(t.encode('ab'))",
    ],
)
def test_numpy_and_rich_wait_until_they_are_used(native: Any, statement: str) -> None:
    assert {"numpy", "rich", "pyarrow"} & loaded_after(statement) == set()


def test_numpy_comes_with_the_first_array(native: Any) -> None:
    statement = "import tokenmill; tokenmill.Tokenizer.from_tokens([b'a']).encode_to_numpy('a')"
    assert "numpy" in loaded_after(statement)


def test_importing_brings_little_else(native: Any) -> None:
    late = {"dataclasses", "importlib.metadata", "inspect", "pathlib", "re", "typing", "urllib"}
    assert late & (loaded_after("import tokenmill") - loaded_after("pass")) == set()
    hints = "import typing, tokenmill; [typing.get_type_hints(f) for f in (tokenmill.load, tokenmill.train)]"
    assert "tokenmill" in loaded_after(hints)


def test_what_decodes_waits_for_nothing(native: Any) -> None:
    made = "import tokenmill; t = tokenmill.Tokenizer.from_tokens([b'a'])"
    decoded = f"{made}; t.encode('a'); t.decode([0]); t.decode_batch(((0,), [0]))"
    assert loaded_after(decoded) == loaded_after(made)


def test_names_that_wait_are_all_there(native: Any) -> None:
    script = """
        import tokenmill
        assert {*tokenmill.__all__} <= {*dir(tokenmill)}
        assert tokenmill.stages.Plan is tokenmill.Plan and tokenmill.train is tokenmill.train
        from tokenmill import *
        print(Audit.__module__, Explanation.__module__, Ragged.__module__, train.__name__)
        try:
            tokenmill.trian
        except AttributeError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names, error = done.stdout.splitlines()
    assert names == "tokenmill.stages tokenmill.explain tokenmill.ragged train"
    assert error == "module 'tokenmill' has no attribute 'trian'"


def test_nothing_is_printed(native: Any, tmp_path: Path) -> None:
    script = """
        import sys, tokenmill
        tok = tokenmill.train(texts=["low lower"] * 3, num_merges=9)
        tok.save(sys.argv[1])
        tokenmill.load(sys.argv[1]).encode_batch(["low"])
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "m")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
