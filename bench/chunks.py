"""Chunks against our own encoding of the same text, and against other splitters.

    python bench/chunks.py                       40 MB of English, and 2 MB for the others: some minutes
    python bench/chunks.py --megabytes 4 --rounds 1
    python bench/chunks.py --vocabulary o200k_base --corpora cjk,code
    python bench/chunks.py --file-megabytes 2000 only the peak of memory of chunk_file, on a file of that size

Every sample has a process of its own with one thread, and takes turns with the others inside a round; ratios
are taken inside rounds, on text that the process never saw. Of the others, semchunk counts with
tiktoken, as does LangChain's RecursiveCharacterTextSplitter; they are left out where they are not installed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import data

BORDERS = ("character", "grapheme", "word", "sentence", "line")
PEERS = {"semchunk": "semchunk", "langchain": "langchain_text_splitters"}
SIZE = 512


def main() -> int:
    """Measure and print."""
    args = _arguments()
    if args.sample:
        print(json.dumps(_sample(args)))
        return 0
    if args.file_megabytes:
        print(f"chunk_file of {args.file_megabytes} MB: {_run(args, 'file', 'english', 0)}")
        return 0
    peers = [name for name, module in PEERS.items() if importlib.util.find_spec(module) is not None]
    for corpus in args.corpora.split(","):
        ratios: dict[str, list[float]] = {}
        for number in range(args.rounds):
            base = _run(args, "encode", corpus, number)["MB/s"]
            for name in [*BORDERS, "overlap", *peers]:
                ratios.setdefault(name, []).append(base / _run(args, name, corpus, number)["MB/s"])
            limit = _run(args, "limit", corpus, number)["ms"]
            ratios.setdefault("count_till_limit(10 MB, 1,000), ms", []).append(limit)
        print(f"{args.vocabulary}, {corpus}: encode {base:.0f} MB/s; times as long as encode:")
        for name, values in ratios.items():
            print(f"  {name:<36} {statistics.median(values):8.2f}   ({min(values):.2f} to {max(values):.2f})")
    return 0


def _run(args: argparse.Namespace, sample: str, corpus: str, number: int) -> dict[str, Any]:
    given = [f"--vocabulary={args.vocabulary}", f"--corpora={corpus}", f"--megabytes={args.megabytes}"]
    given += [f"--file-megabytes={args.file_megabytes}", f"--sample={sample}", f"--number={number}"]
    done = subprocess.run([sys.executable, __file__, *given], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _sample(args: argparse.Namespace) -> dict[str, Any]:
    import tokenmill

    tok: Any = tokenmill.load(_shared() / "vocab" / args.vocabulary)
    text = _text(args.corpora, args.megabytes << 20)
    tok.encode("warm up")
    if args.sample == "file":
        return _file(tok, args.file_megabytes)
    if args.sample == "limit":
        text = text[: 10 << 20]
        start = time.perf_counter()
        assert tok.count_till_limit(text, 1_000) is None
        return {"ms": 1e3 * (time.perf_counter() - start)}
    calls: dict[str, Callable[[str], object]] = {
        "encode": tok.encode_to_numpy,
        "overlap": lambda text: tok.chunk(text, SIZE, overlap=64),
        **{at: partial(tok.chunk, n=SIZE, at=at) for at in BORDERS},
    }
    if args.sample in PEERS:
        text = text[: 2 << 20]
        calls[args.sample] = _peer(args.sample)
    size = len(text.encode()) / 1e6
    start = time.perf_counter()
    calls[args.sample](text)
    return {"MB/s": size / (time.perf_counter() - start)}


def _peer(name: str) -> Callable[[str], object]:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    path = _shared() / "vocab" / "cl100k_base" / "cl100k_base.tiktoken"
    pattern = (
        r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"""
        r"""|\s*[\r\n]|\s+(?!\S)|\s"""
    )
    encoding = tiktoken.Encoding(
        "cl100k", pat_str=pattern, mergeable_ranks=load_tiktoken_bpe(str(path)), special_tokens={}
    )
    if name == "semchunk":
        semchunk: Any = importlib.import_module("semchunk")

        chunker = semchunk.chunkerify(lambda text: len(encoding.encode_ordinary(text)), SIZE)
        return lambda text: chunker(text)
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=SIZE, chunk_overlap=0, length_function=lambda text: len(encoding.encode_ordinary(text))
    )
    return splitter.split_text


def _file(tok: Any, megabytes: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.txt")
        block = _text("english", 8 << 20).encode()
        with path.open("wb") as file:
            for _ in range(megabytes * 1_000_000 // len(block) + 1):
                file.write(block)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start, count = time.perf_counter(), 0
        for _ in tok.chunk_file(path, SIZE):
            count += 1
        seconds = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {"chunks": count, "seconds": seconds, "MB above": (after - before) / 1024}


def _text(corpus: str, size: int) -> str:
    return data.text(corpus, size).decode(errors="ignore")


def _shared() -> Path:
    folder = data.shared()
    if folder is None:
        raise SystemExit("no shared data, and so no vocabularies: nothing is measured")
    return folder


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vocabulary", default="cl100k_base")
    parser.add_argument("--corpora", default="english")
    parser.add_argument("--megabytes", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--file-megabytes", type=int, default=0)
    parser.add_argument("--sample", help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
