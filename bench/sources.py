"""How fast training reads its sources, of each kind: text in MB/s, and where the time goes.

    python bench/sources.py                        40 MB of English on one thread, three rounds
    python bench/sources.py --corpus code --size 10 --kinds text .gz parquet

Each kind has the same documents, of about 2 kB: a file of text has them one behind the other as one document
(`text`), or as lines (`lines`), the others as rows. `count` is the time in which pretokens are counted, as
the report of training says; `opened` is what reading the bytes, decompressing and decoding take alone, in
Python and its libraries; what is left is ours: lines, JSON, UTF-8, copies. The files are in the system's
cache. That each kind gives the same merges is checked first, outside the clock.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import data
import runner
import tokenmill
from peers import installed
from tokenmill import sources

_DOCUMENT = 2000
"""Bytes of a document, about."""


def main() -> int:
    """Make the files, compare, measure, print, record."""
    args = _arguments()
    texts = _documents(args.corpus, args.size * data.MB)
    size = sum(len(text.encode()) for text in texts)
    samples: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="tokenmill-bench-") as folder:
        files = {kind: _made(Path(folder), kind, texts) for kind in args.kinds}
        merges = {
            kind: tokenmill.train(path, num_merges=300, documents=_documents_of(kind)).merges
            for kind, path in files.items()
            if kind not in ("text", "text.gz", "text.zst")  # one document: its pretokens may cross the others
        }
        if len({tuple(found) for found in merges.values()}) > 1:
            print("the kinds do NOT give the same merges", file=sys.stderr)
            return 1
        for number in range(args.rounds):
            for kind, path in files.items():
                samples.append(
                    {"round": number, "kind": kind, "stored": path.stat().st_size, **_timed(kind, path)}
                )
    print(f"{args.corpus}, {size / data.MB:.0f} MB of text in {len(texts):,} documents, one thread, medians")
    print(f"{'kind':<16}{'file':>8}{'text':>11}{'all':>9}{'count':>9}{'opened':>9}{'ours':>9}")
    for kind in args.kinds:
        own = [sample for sample in samples if sample["kind"] == kind]
        wall, count, opened = (
            statistics.median(sample[name] for sample in own) for name in ("wall", "count", "opened")
        )
        print(
            f"{kind:<16}{own[0]['stored'] / data.MB:>5.1f} MB{size / data.MB / wall:>6.0f} MB/s"
            f"{wall:>7.3f} s{count:>7.3f} s{opened:>7.3f} s{max(wall - count - opened, 0):>7.3f} s"
        )
    if args.json:
        settings = {"corpus": args.corpus, "size": args.size, "rounds": args.rounds}
        record = {"machine": runner.machine(installed()), "settings": settings, "samples": samples}
        Path(args.json).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


def _documents(corpus: str, size: int) -> list[str]:
    """Lines of the corpus, joined to documents without a line end."""
    documents: list[str] = []
    held: list[str] = []
    length = 0
    for line in data.text(corpus, size).decode().splitlines():
        held.append(line)
        length += len(line)
        if length >= _DOCUMENT:
            documents.append(" ".join(held))
            held, length = [], 0
    return [*documents, " ".join(held)] if held else documents


def _documents_of(kind: str) -> Any:
    return "lines" if kind.startswith("lines") else "file"


def _text(texts: list[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def _json(texts: list[str]) -> bytes:
    """With other fields around, as data sets have them."""
    rows = (
        {"id": f"{i:012}", "url": f"https://example.org/{i}", "text": text} for i, text in enumerate(texts)
    )
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _zst(content: bytes) -> bytes:
    return subprocess.run(["zstd", "-q", "-3", "-c"], input=content, capture_output=True, check=True).stdout


def _table(texts: list[str], to: Callable[[Any, Any], object]) -> bytes:
    import io

    import pyarrow

    file = io.BytesIO()
    to(pyarrow.table({"id": list(range(len(texts))), "text": texts}), file)
    return file.getvalue()


def _to_arrow(table: Any, file: Any) -> None:
    import pyarrow.ipc

    with pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=4096)


def _parquet(texts: list[str], **options: Any) -> bytes:
    import pyarrow.parquet

    return _table(texts, lambda table, file: pyarrow.parquet.write_table(table, file, **options))


KINDS: dict[str, tuple[str, Callable[[list[str]], bytes]]] = {
    "text": ("text.txt", _text),
    "text.gz": ("text.txt.gz", lambda texts: gzip.compress(_text(texts), 6)),
    "text.zst": ("text.txt.zst", lambda texts: _zst(_text(texts))),
    "lines": ("lines.txt", _text),
    "lines.gz": ("lines.txt.gz", lambda texts: gzip.compress(_text(texts), 6)),
    "lines.zst": ("lines.txt.zst", lambda texts: _zst(_text(texts))),
    "jsonl": ("rows.jsonl", _json),
    "jsonl.gz": ("rows.jsonl.gz", lambda texts: gzip.compress(_json(texts), 6)),
    "jsonl.zst": ("rows.jsonl.zst", lambda texts: _zst(_json(texts))),
    "parquet": ("rows.parquet", _parquet),
    "parquet zstd": ("zstd.parquet", lambda texts: _parquet(texts, compression="zstd")),
    "arrow": ("rows.arrow", lambda texts: _table(texts, _to_arrow)),
}


def _made(folder: Path, kind: str, texts: list[str]) -> Path:
    name, make = KINDS[kind]
    path = folder / name
    path.write_bytes(make(texts))
    return path


def _timed(kind: str, path: Path) -> dict[str, float]:
    """Seconds for all, for counting, and for opening and decoding alone."""
    start = time.perf_counter()
    tok = tokenmill.train(path, num_merges=0, documents=_documents_of(kind), num_threads=1)
    wall = time.perf_counter() - start
    assert tok.training_report is not None
    phases = tok.training_report.phases
    return {
        "wall": wall - sum(seconds for name, seconds in phases.items() if name != "count"),
        "count": phases["count"],
        "opened": _opened(path),
    }


def _opened(path: Path) -> float:
    start = time.perf_counter()
    opened = sources.opener(str(path)).open()
    for _ in opened.batches() if opened.form == "rows" else opened.blocks():
        pass
    opened.close()
    return time.perf_counter() - start


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--corpus", choices=data.corpora(), default=data.corpora()[0])
    parser.add_argument("--size", type=int, default=40, metavar="MB", help="of text (default: 40)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    parser.add_argument("--json", metavar="PATH", help="record the samples there")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
