"""Encoding, counting and decoding against the other libraries that are installed: ids first, then time.

    python bench/compare.py                       all cells, 10 MB of each corpus, cl100k
    python bench/compare.py --quick               the short form, about three minutes
    python bench/compare.py --cells list,short --corpora english --peers tokenmill,tiktoken

A peer whose ids differ from the reference (tiktoken, where it is installed) is *not exact* there and is never
the best. Each sample has a process of its own, bound to one CPU and warmed up on other text; it gives two
figures: *fresh*, the first pass over text that the process never saw, and *repeated*, the median of later
passes, which says how well a library remembers. Peers take turns inside a round; ratios are taken inside
rounds, and the median of them is the result. Exit code 1 if tokenmill is not exact.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import data
import runner
import vocabularies
from cells import CELLS
from peers import installed
from report import exactness_lines, figure_lines

OURS = "tokenmill"
QUICK_CELLS = ("array", "list", "documents", "short", "count", "decode", "hostile")
QUICK_CORPORA = ("english", "multilingual", data.STDLIB)
QUICK_HOSTILE = ("a", "letters")


def main() -> int:
    """Compare, time, print, record."""
    args = _arguments()
    versions = {name: version for name, version in installed().items() if name in args.peers}
    vocabulary = vocabularies.find(args.vocab)
    _say(f"peers: {', '.join(f'{name} {version}' for name, version in versions.items())}")
    if data.shared() is None:
        _say(f"no shared data: the text is Python's own source, the vocabulary {vocabulary.name}")
    if OURS not in versions:
        _say("tokenmill is not installed")
        return 2
    if any(name in versions for name in ("tokenizers", "gigatoken", "fastokens")):
        vocabulary.tokenizer_json()  # derived once, outside every clock

    work = _work(args)
    exactness = _compare_ids(args, list(versions), sorted({corpus for _, corpus in work}))
    print("\n".join(exactness_lines(exactness)), flush=True)
    samples = [] if args.check_only else _time(args, list(versions), work)
    print("\n".join(figure_lines(samples, exactness, OURS)))
    if args.json:
        record = {
            "machine": runner.machine(versions),
            "settings": {
                "vocabulary": vocabulary.name,
                "bytes": args.size,
                "short_bytes": _size(args, "short", ""),
                "hostile_bytes": args.hostile_size,
                "rounds": args.rounds,
                "passes": args.passes,
                "threads": 1,
                "warm_up": f"{data.WARM_UP} bytes of other text through the same call",
            },
            "exactness": exactness,
            "samples": samples,
        }
        Path(args.json).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    ours = [row for row in exactness if row["peer"] == OURS]
    return 0 if all(row["exact"] for row in ours) else 1


def _arguments() -> argparse.Namespace:
    def names(text: str) -> list[str]:
        return [name for name in text.split(",") if name]

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--quick", action="store_true", help="1 MB, fewer cells, corpora and hostile texts")
    parser.add_argument("--check-only", action="store_true", help="compare ids and time nothing")
    parser.add_argument("--cells", type=names, help=f"of {','.join(CELLS)}")
    parser.add_argument("--corpora", type=names, help=f"of {','.join(data.corpora())}")
    parser.add_argument("--hostile", type=names, help=f"of {','.join(data.HOSTILE)}")
    parser.add_argument("--peers", type=names, help=f"of {','.join(installed())}; tokenmill always")
    parser.add_argument("--vocab", choices=vocabularies.NAMES, default="cl100k")
    parser.add_argument("--size", type=int, metavar="BYTES", help="of each corpus (default: 10 MB)")
    parser.add_argument("--hostile-size", type=int, metavar="BYTES", help="of each (default: 1 MB)")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each sample (default: 3)")
    parser.add_argument("--passes", type=int, help="passes in a process, the first is fresh (default: 4)")
    parser.add_argument("--json", metavar="OUT", help="record figures and machine facts in this file")
    args = parser.parse_args()
    quick = args.quick
    here = data.corpora()
    args.cells = args.cells or list(QUICK_CELLS if quick else CELLS)
    args.corpora = args.corpora or [name for name in here if not quick or name in QUICK_CORPORA]
    args.hostile = args.hostile or list(QUICK_HOSTILE if quick else data.HOSTILE)
    args.size = args.size or (data.MB if quick else 10 * data.MB)
    args.hostile_size = args.hostile_size or (data.MB // 4 if quick else data.MB)
    args.passes = args.passes or (2 if quick else 4)
    args.peers = {OURS, *(args.peers or installed())}
    for given, known in ((args.cells, CELLS), (args.corpora, here), (args.hostile, data.HOSTILE)):
        for name in given:
            if name not in known:
                parser.error(f"{name!r} is none of {', '.join(known)}")
    return args


def _work(args: argparse.Namespace) -> list[tuple[str, str]]:
    """Every (cell, text)."""
    return [
        (cell, corpus)
        for cell in args.cells
        for corpus in (args.hostile if CELLS[cell].hostile else args.corpora)
    ]


def _size(args: argparse.Namespace, cell: str, corpus: str) -> int:
    if corpus in data.HOSTILE:
        return int(args.hostile_size)
    return int(min(args.size, 2 * data.MB) if cell == "short" else args.size)


def _compare_ids(args: argparse.Namespace, peers: list[str], corpora: list[str]) -> list[dict[str, Any]]:
    """One row for each peer and text: exact, or how it differs from the reference."""
    import numpy as np

    reference = next(name for name in ("tiktoken", "tokenizers", OURS) if name in peers)
    order = sorted(peers, key=lambda name: name != reference)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=data.scratch()) as folder:
        for corpus in corpora:
            truth: dict[str, Any] = {}
            for peer in order:
                _say(f"ids: {peer}, {corpus}")
                size = _size(args, "list", corpus)
                found = runner.run(
                    "check", peer_name=peer, vocabulary=args.vocab, corpus=corpus, size=size, folder=folder
                )
                row: dict[str, Any] = {"peer": peer, "corpus": corpus, "reference": reference, "bytes": size}
                kept = {name: np.load(path) for name, path in found.pop("kept", {}).items()}
                truth = truth or kept
                row |= found
                row["differs"] = {
                    name: _difference(truth[name], ids)
                    for name, ids in kept.items()
                    if name in truth and not np.array_equal(truth[name], ids)
                }
                row["exact"] = not (row.get("error") or row["differs"] or row.get("inconsistent"))
                rows.append(row)
    return rows


def _difference(expected: Any, found: Any) -> dict[str, Any]:
    """Where two rows of ids part, and what stands there."""
    import numpy as np

    shorter = min(len(expected), len(found))
    unequal = np.flatnonzero(expected[:shorter] != found[:shorter])
    at = int(unequal[0]) if len(unequal) else shorter
    return {
        "at": at,
        "expected": expected[at : at + 4].tolist(),
        "found": found[at : at + 4].tolist(),
        "lengths": [len(expected), len(found)],
    }


def _time(args: argparse.Namespace, peers: list[str], work: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """All samples. In each round every peer has its turn at a cell before the next cell comes."""
    samples: list[dict[str, Any]] = []
    absent: set[tuple[str, str]] = set()
    for number in range(args.rounds):
        turn = peers[number % len(peers) :] + peers[: number % len(peers)]
        for cell, corpus in work:
            for peer in turn:
                if (peer, cell) in absent:
                    continue
                _say(f"round {number + 1} of {args.rounds}: {cell}, {corpus}, {peer}")
                found = _sample(args, peer, cell, corpus)
                if found.get("absent"):
                    absent.add((peer, cell))
                else:
                    samples.append({"round": number, "cell": cell, "corpus": corpus, "peer": peer, **found})
    return samples


def _sample(args: argparse.Namespace, peer: str, cell: str, corpus: str) -> dict[str, Any]:
    """One process; once more if something else ran beside it."""
    for _ in range(2):
        found = runner.run(
            "measure",
            peer_name=peer,
            vocabulary=args.vocab,
            cell_name=cell,
            corpus=corpus,
            size=_size(args, cell, corpus),
            passes=args.passes,
        )
        if "wall" not in found:
            return found
        found["disturbed"] = any(map(runner.disturbed, found["wall"], found["cpu"]))
        if not found["disturbed"]:
            break
    return found


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
