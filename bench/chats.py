"""Conversations to ids and labels, against transformers: ids and masks are compared first, then the time.

    python bench/chats.py                  1,000 conversations of 1 kB, five rounds: some minutes
    python bench/chats.py --quick          200 conversations, two rounds
    python bench/chats.py --length 4096    longer conversations
    python bench/chats.py --templates chatml,qwen3 --corpora english

tokenmill renders, encodes and labels with ``apply_chat_template(conversations, return_labels=True)``,
transformers with ``apply_chat_template(..., return_assistant_tokens_mask=True)``; both have the same template
with ``{% generation %}`` blocks, and the same tokenizer. Each sample has a process of its own with one
thread; the libraries take turns. The collector of garbage runs as Python has it. *Fresh* is the first pass
over texts that the process never saw, *repeated* the median of the later ones. Ratios are taken inside
rounds, above 1 tokenmill is faster. A template whose ids or masks differ is not timed: exit code 1.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import data
import runner
from chatting import CHATS, LIBRARIES, Chat
from peers import installed
from report import Spread

OURS, THEIRS = LIBRARIES


def main(given: Sequence[str] | None = None) -> int:
    """Compare, measure, print, record."""
    args = _arguments(given)
    if data.shared() is None:
        _say("no shared data, and so no templates and no tokenizers: nothing is measured")
        return 2
    versions = {name: version for name, version in installed().items() if name in LIBRARIES}
    if len(versions) < len(LIBRARIES):
        _say(f"both of {', '.join(LIBRARIES)} are needed; here is {', '.join(versions)}")
        return 2
    chats = [CHATS[name] for name in args.templates]
    try:
        verdicts = {chat.name: _compared(args, chat) for chat in chats}
        same = [chat for chat in chats if not verdicts[chat.name].startswith("DIFFER")]
        samples = [sample for number in range(args.rounds) for sample in _round(args, number, same)]
    except _FailedError as error:
        _say(str(error))
        return 2
    print("\n".join(lines(samples)))
    if args.json:
        record = {
            "date": time.strftime("%Y-%m-%d"),
            "machine": runner.machine(versions),
            "settings": {
                "conversations": args.conversations,
                "length": args.length,
                "corpora": args.corpora,
                "rounds": args.rounds,
                "passes": args.passes,
            },
            "verdicts": verdicts,
            "samples": samples,
        }
        args.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 1 if any(verdict.startswith("DIFFER") for verdict in verdicts.values()) else 0


class _FailedError(Exception):
    """A process did, and why."""


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    def names(text: str) -> list[str]:
        return [name for name in text.split(",") if name]

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--quick", action="store_true", help="200 conversations, two rounds of two passes")
    parser.add_argument("--templates", type=names, default=list(CHATS), help=f"of {','.join(CHATS)}")
    parser.add_argument(
        "--corpora", type=names, default=list(data.corpora()), help=f"of {','.join(data.corpora())}"
    )
    parser.add_argument("--conversations", type=int, metavar="N", help="as many (default: 1000)")
    parser.add_argument(
        "--length", type=int, default=1_024, metavar="BYTES", help="of text in each, at least (default: 1024)"
    )
    parser.add_argument("--rounds", type=int, help="processes of each library (default: 5)")
    parser.add_argument("--passes", type=int, help="passes in a process, the first is fresh (default: 4)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="record figures and machine facts here")
    args = parser.parse_args(given)
    args.conversations = args.conversations or (200 if args.quick else 1_000)
    args.rounds = args.rounds or (2 if args.quick else 5)
    args.passes = args.passes or (2 if args.quick else 4)
    for asked, known in ((args.templates, list(CHATS)), (args.corpora, data.corpora())):
        for name in asked:
            if name not in known:
                parser.error(f"{name!r} is none of {', '.join(known)}")
    return args


def _run(args: argparse.Namespace, chat: Chat, library: str, answers: Path | None = None) -> dict[str, Any]:
    found = runner.run(
        "chats",
        library=library,
        name=chat.name,
        corpora=args.corpora,
        count=args.conversations,
        length=args.length,
        passes=args.passes,
        answers=None if answers is None else str(answers),
    )
    if "error" in found:
        raise _FailedError(f"{chat.name}, {library}: {found['error']}")
    return found


def _compared(args: argparse.Namespace, chat: Chat) -> str:
    """What is said of the ids and masks of both."""
    with tempfile.TemporaryDirectory(dir=data.scratch()) as folder:
        answers = {}
        for library in LIBRARIES:
            file = Path(folder, library)
            _run(args, chat, library, file)
            answers[library] = json.loads(file.read_text(encoding="ascii"))
    found = verdict(answers[OURS], answers[THEIRS])
    print(f"{chat.name}: {found}", flush=True)
    return found


def verdict(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Whether ids and masks are the same, but for the gaps of ``char_to_token`` (``chatting._ends``)."""
    if len(ours["ids"]) != len(theirs["ids"]):
        return f"DIFFER in number: {len(ours['ids'])} where transformers has {len(theirs['ids'])}"
    gaps = 0
    for number, (own, other) in enumerate(zip(ours["ids"], theirs["ids"], strict=True)):
        if own != other:
            return f"DIFFER in the ids of conversation {number}"
        ends = set(theirs["ends"][number])
        masks = zip(ours["masks"][number], theirs["masks"][number], strict=True)
        for at, (marked, expected) in enumerate(masks):
            if marked == expected:
                continue
            if marked < expected or at not in ends:
                return f"DIFFER in the mask of conversation {number} at id {at}: {marked}, not {expected}"
            gaps += 1
    count, trained = sum(map(len, ours["ids"])), sum(map(sum, ours["masks"]))
    same = f"identical, {count:,} ids of {len(ours['ids']):,} conversations, {trained:,} of them trained"
    return f"{same}; {gaps:,} of these are gaps of char_to_token in transformers' mask" if gaps else same


def _round(args: argparse.Namespace, number: int, chats: Sequence[Chat]) -> list[dict[str, Any]]:
    samples = []
    for chat in chats:
        for library in LIBRARIES if number % 2 == 0 else reversed(LIBRARIES):
            _say(f"round {number + 1} of {args.rounds}: {chat.name}, {library}")
            found = _run(args, chat, library)
            pairs = zip(found["wall"], found["cpu"], strict=True)
            disturbed = any(runner.disturbed(wall, cpu) for wall, cpu in pairs)
            place = {"round": number, "template": chat.name, "library": library}
            samples.append({**place, "disturbed": disturbed, **found})
    return samples


# ---- the table ----------------------------------------------------------------------------------


def fresh(passes: Sequence[float]) -> float:
    """Of the passes of a sample."""
    return passes[0]


def repeated(passes: Sequence[float]) -> float:
    """Of the passes of a sample: the only one, where there is no other."""
    return statistics.median(passes[1:] or passes)


def lines(samples: Sequence[dict[str, Any]]) -> list[str]:
    """The times of both, and the ratios of CPU and wall time, for each template."""
    found = ["", f"{'':24}{OURS:<26}{THEIRS:<26}{'CPU time: ratio':<26}{'wall time: ratio':<26}bar"]
    for name in dict.fromkeys(sample["template"] for sample in samples):
        own = [sample for sample in samples if sample["template"] == name]
        mark = "~" if any(sample["disturbed"] for sample in own) else ""
        for figure in (fresh, repeated):
            cpus: dict[str, list[float]] = {library: [] for library in LIBRARIES}
            walls: dict[str, list[float]] = {library: [] for library in LIBRARIES}
            for sample in sorted(own, key=lambda sample: int(sample["round"])):
                cpus[sample["library"]].append(figure(sample["cpu"]))
                walls[sample["library"]].append(figure(sample["wall"]))
            cells = [
                _milliseconds(cpus[OURS]),
                _milliseconds(cpus[THEIRS]),
                _ratio(cpus),
                _ratio(walls) + mark,
            ]
            texts = "".join(f"{cell:<26}" for cell in cells)
            found.append(f"  {name:<12}{figure.__name__:<10}{texts}{CHATS[name].bar:g} x")
    return [
        *found,
        "",
        "Milliseconds of CPU time: medians of rounds (lowest to highest); ratios are taken inside rounds.",
        "~ something else ran beside some sample: its CPU time says more than its wall time.",
    ]


def _milliseconds(seconds: Sequence[float]) -> str:
    spread = Spread.of([1e3 * value for value in seconds])
    return f"{spread.median:.1f} ({spread.lowest:.1f} to {spread.highest:.1f})"


def _ratio(times: dict[str, list[float]]) -> str:
    spread = Spread.of([theirs / ours for ours, theirs in zip(times[OURS], times[THEIRS], strict=True)])
    return f"{spread.median:.2f} ({spread.lowest:.2f} to {spread.highest:.2f})"


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
