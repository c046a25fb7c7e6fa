"""Encoding, counting, decoding, loading, against other libraries that are installed: ids first, then time.

    python bench/compare.py --out results.json         all cells: some hours
    python bench/compare.py --quick                    the short form, about three minutes
    python bench/compare.py --cells list,short --corpora english --peers tiktoken,gigatoken
    python bench/compare.py --python ENV/bin/python    peers that are installed elsewhere
    python bench/compare.py --before ENV/bin/python --peers before     against an earlier build alone
    python bench/compare.py --level avx2               as on a machine that has no more than AVX2
    python bench/compare.py --from results.json --write-docs

A peer whose results differ from the reference (the library that the vocabulary's file comes from) is *not
exact* there and is never the best. Each sample has a process of its own, bound to its CPUs and warmed up on
other text; it gives two figures: *fresh*, the first pass over text that the process never saw, and
*repeated*, the median of later passes, which says how well a library remembers. Peers take turns inside a
round; ratios are taken inside rounds, and the median of them is the result. Exit code 1 if tokenmill is not
exact.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import data
import page
import plot
import runner
import vocabularies
from cells import BEFORE, CELLS, Task, far_behind, tasks
from exactness import Verdict, compare
from peers import LEVEL, PEERS, TOKENIZER_JSON, installed
from report import before_lines, exactness_lines, figure_lines, rows

OURS = "tokenmill"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


def main() -> int:
    """Measure or read what was measured; print, draw, record."""
    args = _arguments()
    if args.recorded:
        record = merged([json.loads(file.read_text(encoding="utf-8")) for file in args.recorded])
    else:
        measured = _measure(args)
        if measured is None:
            return 2
        record = measured
    verdicts = [Verdict(**verdict) for verdict in record["verdicts"]]
    table = page.order(rows(record["samples"], verdicts, OURS))
    if args.table:
        print("\n".join(page.results(table, verdicts, record, OURS, None)))
    else:
        lines = exactness_lines(verdicts) if args.recorded else []  # else they were told before the clocks
        print("\n".join([*lines, *figure_lines(table, OURS), *before_lines(table)]))
    if args.plot:
        plot.draw(table, args.plot)
    if args.write_docs:
        picture = PAGE.with_suffix(".svg")
        plot.draw(table, picture)
        written = page.results(table, verdicts, record, OURS, picture.name)
        PAGE.write_text(page.filled(PAGE.read_text(encoding="utf-8"), written), encoding="utf-8")
    return 1 if any(verdict.peer == OURS and verdict.difference for verdict in verdicts) else 0


def merged(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One record of several: what a later one has measured takes the place of the same in an earlier one."""

    result = records[0]
    for later in records[1:]:
        versions = result["machine"]["versions"] | later["machine"]["versions"]
        sizes = result["settings"]["sizes"] | later["settings"]["sizes"]
        result = {
            **later,
            "machine": {**later["machine"], "versions": versions},
            "settings": {**later["settings"], "sizes": sizes},
            "verdicts": _replaced(result["verdicts"], later["verdicts"]),
            "samples": _replaced(result["samples"], later["samples"]),
        }
    return result


def _replaced(earlier: list[dict[str, Any]], later: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def task(entry: Mapping[str, Any]) -> tuple[str, str, str]:
        return (entry["vocabulary"], entry["cell"], entry["text"])

    again = set(map(task, later))
    return [entry for entry in earlier if task(entry) not in again] + later


def _arguments() -> argparse.Namespace:
    def names(text: str) -> list[str]:
        return [name for name in text.split(",") if name]

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--quick", action="store_true", help="1 MB, fewer cells, corpora and hostile texts")
    parser.add_argument("--check-only", action="store_true", help="compare ids and time nothing")
    parser.add_argument("--cells", type=names, help=f"of {','.join(CELLS)}")
    parser.add_argument("--vocabs", type=names, help=f"of {','.join(vocabularies.NAMES)}")
    parser.add_argument("--corpora", type=names, help=f"of {','.join(data.corpora())}")
    parser.add_argument("--hostile", type=names, help="kinds, and names of adversarial files")
    parser.add_argument("--peers", type=names, help=f"of {','.join(PEERS)}; tokenmill always")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="[PEER=]PATH",
        help="an interpreter that has a peer, or all that this one has not",
    )
    parser.add_argument(
        "--before", metavar="PATH", help="an interpreter that has an earlier build of tokenmill"
    )
    parser.add_argument(
        "--size", type=int, metavar="BYTES", help="no text is longer (default: 10 MB or more)"
    )
    parser.add_argument("--hostile-size", type=int, metavar="BYTES", help="of each (default: 1 MB)")
    parser.add_argument("--rounds", type=int, help="processes for each sample (default: 3; quick: 2)")
    parser.add_argument("--passes", type=int, help="passes in a process, the first is fresh (default: 4)")
    parser.add_argument(
        "--level",
        choices=("portable", "neon", "avx2", "avx512"),
        help="instructions that tokenmill may use (default: all)",
    )
    parser.add_argument("--out", type=Path, help="record samples and machine in this file, while they come")
    parser.add_argument(
        "--from",
        dest="recorded",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="show records, measure nothing",
    )
    parser.add_argument("--table", action="store_true", help="print Markdown")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the ratios")
    parser.add_argument(
        "--write-docs", action="store_true", help="fill docs/benchmarks.md with table and plot"
    )
    args = parser.parse_args()
    args.rounds = args.rounds or (2 if args.quick else 3)
    args.passes = args.passes or (2 if args.quick else 4)
    for given, known in (
        (args.cells, list(CELLS)),
        (args.vocabs, vocabularies.NAMES),
        (args.corpora, data.corpora()),
        (args.hostile, data.hostile_texts()),
        (args.peers, list(PEERS)),
    ):
        for name in given or ():
            if name not in known:
                parser.error(f"{name!r} is none of {', '.join(known)}")
    return args


def _measure(args: argparse.Namespace) -> dict[str, Any] | None:
    if args.level:
        os.environ[LEVEL] = args.level
    versions, pythons = _installed(args)
    if OURS not in versions:
        _say("tokenmill is not installed")
        return None
    _say(f"peers: {', '.join(f'{name} {version}' for name, version in versions.items())}")
    for absent in args.peers or PEERS:
        if absent not in (*versions, BEFORE):
            _say(f"not installed, left out: {absent}")
    if data.shared() is None:
        _say(f"no shared data: the text is Python's own source, the vocabulary {vocabularies.LEARNED}")
    work = tasks(
        quick=args.quick,
        shared=data.shared() is not None,
        vocabularies_asked=args.vocabs,
        cells=args.cells,
        corpora=args.corpora,
        hostile=args.hostile,
        size=args.size,
        hostile_size=args.hostile_size,
    )
    for name in dict.fromkeys(task.vocabulary for task in work):
        vocabulary = vocabularies.find(name)
        readers = [PEERS[peer] for peer in versions if PEERS[peer].has(vocabulary)]
        if any(peer.reads(vocabulary) == TOKENIZER_JSON for peer in readers):
            vocabulary.tokenizer_json()  # made once, outside every clock
    run = _Run(pythons)
    verdicts = compare(list(versions), work, run, _say, OURS)
    print("\n".join(exactness_lines(verdicts)), file=sys.stderr if args.table else sys.stdout, flush=True)
    record: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": runner.machine(versions),
        "settings": {
            "rounds": args.rounds,
            "passes": args.passes,
            "sizes": {task.cell: task.size for task in work},
            "warm_up": f"{data.WARM_UP} bytes of other text through the same call",
            "level": args.level,
        },
        "verdicts": [asdict(verdict) for verdict in verdicts],
        "samples": [],
    }
    if not args.check_only:
        for number in range(args.rounds):
            _round(args, number, list(versions), work, record, run)
    _save(args, record)
    return record


def _save(args: argparse.Namespace, record: Mapping[str, Any]) -> None:
    if args.out:
        args.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _installed(args: argparse.Namespace) -> tuple[dict[str, str], dict[str, str]]:
    """Versions of the peers, and the interpreters of those that are elsewhere."""
    versions, pythons = installed(), {}
    for given in args.python:
        peer, named, path = given.rpartition("=")
        found = runner.run("versions", python=path)
        if "error" in found or (named and peer not in found):
            raise SystemExit(f"bench: --python {given}: {found.get('error', f'it has no {peer}')}")
        for name, version in found.items():
            if name == peer or (not named and name not in versions):
                versions[name], pythons[name] = version, path
    if args.before:
        found = runner.run("versions", python=args.before)
        if OURS not in found:
            raise SystemExit(f"bench: --before {args.before}: {found.get('error', 'it has no tokenmill')}")
        versions[BEFORE], pythons[BEFORE] = found[OURS], args.before
    order = [name for name in PEERS if name in versions and name in {OURS, BEFORE, *(args.peers or PEERS)}]
    return {name: versions[name] for name in order}, pythons


class _Run:
    """Runs a task of a peer with the interpreter that has it."""

    def __init__(self, pythons: Mapping[str, str]) -> None:
        self.pythons = pythons

    def __call__(self, task: str, *, peer_name: str, **order: Any) -> dict[str, Any]:
        python = self.pythons.get(peer_name, sys.executable)
        return runner.run(task, python=python, peer_name=peer_name, **order)


def _round(
    args: argparse.Namespace,
    number: int,
    peers: Sequence[str],
    work: Sequence[Task],
    record: dict[str, Any],
    run: _Run,
) -> None:
    """A sample of every task from every peer that is not known to be far behind; they take turns at each."""
    samples: list[dict[str, Any]] = record["samples"]
    turn = [*peers[number % len(peers) :], *peers[: number % len(peers)]]
    for task in work:
        here = {"vocabulary": task.vocabulary, "cell": task.cell, "text": task.text}
        so_far = [sample for sample in samples if sample.items() >= here.items()]
        verdicts = [verdict for verdict in record["verdicts"] if verdict.items() >= here.items()]
        exact = [verdict["peer"] for verdict in verdicts if not verdict["difference"]]
        wanted = {verdict["peer"] for verdict in verdicts} - far_behind(so_far, exact, OURS)
        for peer in [peer for peer in turn if peer in wanted]:
            _say(f"round {number + 1} of {args.rounds}: {task.vocabulary}, {task.cell}, {task.text}, {peer}")
            samples.append({"round": number, **here, "peer": peer, **_sample(args, peer, task, run)})
        _save(args, record)


def _sample(args: argparse.Namespace, peer: str, task: Task, run: _Run) -> dict[str, Any]:
    """One process; once more if something else ran beside it."""
    for _ in range(2):
        found = run(
            "measure",
            peer_name=peer,
            on_threads=task.threads,
            vocabulary=task.vocabulary,
            cell_name=task.cell,
            text=task.text,
            size=task.size,
            passes=args.passes,
        )
        if "wall" not in found:
            return found
        pairs = zip(found["wall"], found["cpu"], strict=True)
        found["disturbed"] = any(runner.disturbed(wall, cpu, task.threads) for wall, cpu in pairs)
        if not found["disturbed"]:
            break
    return found


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
