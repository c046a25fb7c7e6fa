"""Saves over what is there, and what is to be read afterwards: run as a program by the tests of this folder.

python cases.py fail FOLDER     each call of each case fails, and is killed, in its turn; failing_calls.c
                                must be loaded
python cases.py kill FOLDER N   N saves are killed, each after a random time
python cases.py beside FOLDER WRITERS READS SAVES
                                so many writers save so often at least, while others load as often
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenmill

KILL = 0
HOW = (errno.ENOSPC, errno.EIO, KILL)

FOREIGN = "notes.txt"
"""A file that no save may touch."""


def made(word: str, **options: Any) -> tokenmill.Tokenizer:
    tok: tokenmill.Tokenizer
    tok = tokenmill.train(texts=[f"{word} {word}"], num_merges=2, split="none", **options)
    return tok


OLD, NEW, NEXT = made("low"), made("new"), made("six")
SPECIAL = made("put", special_tokens=["<s>"]).with_special_tokens(["<t>"])
CHATTY = OLD.with_chat_template("{{ 1 }}").with_chat_template("{{ 2 }}", "a")
OTHER = NEW.with_chat_template("{{ 3 }}", "a").with_chat_template("{{ 4 }}", "b")


@dataclass(frozen=True)
class Case:
    """``old`` is saved, then ``new`` over it, then ``next``. Each is given the folder to work in."""

    name: str
    old: Callable[[Path], object]
    new: Callable[[Path], object]
    load: Callable[[Path], tokenmill.Tokenizer]
    next: Callable[[Path], object]
    before: tokenmill.Tokenizer | None = OLD
    after: tokenmill.Tokenizer = NEW


def folder(tokenizer: tokenmill.Tokenizer, **options: Any) -> Callable[[Path], object]:
    return lambda path: tokenizer.save(path / "k", **options)


def file(tokenizer: tokenmill.Tokenizer, name: str, **options: Any) -> Callable[[Path], object]:
    def save(path: Path) -> None:
        (path / "k").mkdir(exist_ok=True)
        tokenizer.save(path / "k" / name, lossy=True, **options)

    return save


def linked(path: Path) -> None:
    """A file that is a link to one in another folder."""
    (path / "k").mkdir()
    (path / "elsewhere").mkdir()
    OLD.save(path / "elsewhere" / "real.json")
    (path / "k" / "t.json").symlink_to(Path("..", "elsewhere", "real.json"))


def nothing(path: Path) -> None:
    (path / "k").mkdir()


def loaded(name: str = "", **options: Any) -> Callable[[Path], tokenmill.Tokenizer]:
    return lambda path: tokenmill.load(path / "k" / name, **options)


PAIR = {"format": "vocab+merges", "lossy": True}
CASES = [
    Case("folder", folder(OLD), folder(NEW), loaded(), folder(NEXT)),
    Case("first folder", nothing, folder(NEW), loaded(), folder(NEXT), before=None),
    Case("folder, other files", folder(OLD), folder(NEW, **PAIR), loaded(split="none"), folder(NEXT, **PAIR)),
    Case("folder, more tokens", folder(SPECIAL), folder(NEW), loaded(), folder(NEXT), before=SPECIAL),
    Case("templates", folder(CHATTY), folder(OTHER), loaded(), folder(NEXT), before=CHATTY, after=OTHER),
    Case("templates go", folder(CHATTY), folder(NEW), loaded(), folder(NEXT), before=CHATTY),
    Case("templates come", folder(OLD), folder(OTHER), loaded(), folder(NEXT), after=OTHER),
    Case(
        "pair",
        file(OLD, "vocab.json"),
        file(NEW, "merges.txt"),
        loaded("vocab.json", split="none"),
        file(NEXT, "vocab.json"),
    ),
    Case("file", file(OLD, "t.json"), file(NEW, "t.json"), loaded("t.json"), file(NEXT, "t.json")),
    Case(
        "file of a folder", folder(OLD), file(NEW, "tokenizer.json"), loaded(), file(NEXT, "tokenizer.json")
    ),
    Case("link", linked, file(NEW, "t.json"), loaded("t.json"), file(NEXT, "t.json")),
]


def same(tokenizer: tokenmill.Tokenizer, other: tokenmill.Tokenizer | None) -> bool:
    def parts(tok: tokenmill.Tokenizer) -> tuple[object, ...]:
        return tok.vocab, tok.merges, tok.chat_templates

    return other is not None and parts(tokenizer) == parts(other)


def what_is_there(case: Case, path: Path) -> str:
    """``old``, ``new``, ``nothing``, or what else is read."""
    try:
        tokenizer = case.load(path)
    except FileNotFoundError:
        return "old" if case.before is None else "nothing"
    except tokenmill.FormatError as error:
        return "old" if case.before is None and error.kind == "missing" else repr(error)
    except Exception as error:
        return repr(error)
    return (
        "old" if same(tokenizer, case.before) else "new" if same(tokenizer, case.after) else repr(tokenizer)
    )


def left_over(path: Path) -> list[str]:
    return sorted(str(entry.relative_to(path)) for entry in path.rglob("*") if entry.name.startswith("."))


def start(case: Case, path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    case.old(path)
    (path / "k" / FOREIGN).write_text("mine", encoding="utf-8")


def in_child(work: Callable[[], int]) -> int:
    """The exit status of a child that does this; a signal as a negative number."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = work()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def faults(case: Case, path: Path, status: int) -> Iterator[str]:
    """What is wrong after a save that ended so."""
    there = what_is_there(case, path)
    allowed = {0: ("new",), 3: ("old", "new"), -signal.SIGKILL: ("old", "new")}.get(status, ())
    if there not in allowed:
        yield f"exit {status}: {there}"
    # An empty folder stays where its removal failed.
    if status == 0 and any((path / name).is_file() for name in left_over(path)):
        yield f"left by a save that went well: {left_over(path)}"
    # Readers write nothing, and do not need to.
    before = sorted((str(entry), entry.lstat().st_mtime_ns) for entry in path.rglob("*"))
    what_is_there(case, path)
    if before != sorted((str(entry), entry.lstat().st_mtime_ns) for entry in path.rglob("*")):
        yield "loading has changed the folder"
    case.next(path)
    if not same(case.load(path), NEXT):
        yield "the next save is not what is read after it"
    if left_over(path):
        yield f"left after the next save: {left_over(path)}"
    if (path / "k" / FOREIGN).read_text(encoding="utf-8") != "mine":
        yield "another file has changed"


def each_call(path: Path, names: list[str]) -> dict[str, Any]:
    """Lets each call of each case fail in its turn."""
    shim = ctypes.CDLL(None)
    calls: dict[str, int] = {}
    bad: list[str] = []
    for case in CASES:
        if names and case.name not in names:
            continue
        for how in HOW:
            for nth in itertools.count(1):

                def save(case: Case = case, how: int = how, nth: int = nth) -> int:
                    shim.fail_at(ctypes.c_long(nth), how)
                    try:
                        case.new(path)
                    except OSError:
                        return 3
                    # 0: what failed was made good; 4: there are no more calls.
                    return 0 if shim.fail_count() >= nth else 4

                start(case, path)
                status = in_child(save)
                is_last = status == 4
                bad += [
                    f"{case.name}, call {nth}, {how}: {x}"
                    for x in faults(case, path, 0 if is_last else status)
                ]
                if is_last:
                    calls[case.name] = nth - 1
                    break
    return {"calls": calls, "bad": bad}


def random_kills(path: Path, times: int) -> dict[str, Any]:
    """Saves in a loop are killed after a random time."""
    bad: list[str] = []
    killed = 0
    chance = random.Random(7)
    while killed < times:
        case = CASES[killed % len(CASES)]
        start(case, path)
        child = os.fork()
        if child == 0:
            try:
                while True:
                    case.new(path)
            finally:
                os._exit(99)
        time.sleep(chance.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        bad += [f"{case.name}: {fault}" for fault in faults(case, path, status)]
        killed += 1
    return {"killed": killed, "bad": bad}


def beside(path: Path, writers: int, reads: int, saves: int) -> dict[str, Any]:
    """Writers save two tokenizers in turns while two readers load; every load gives one of the two, whole."""
    done = {"reads": 0, "saves": 0}
    bad: list[str] = []
    for case in (case for case in CASES if case.name in BESIDE):
        start(case, path)
        stop = path / "stop"

        def write(case: Case = case, stop: Path = stop) -> str:
            for count in itertools.count(1):
                (case.old if count % 2 else case.new)(path)
                if count * writers >= saves and stop.exists():
                    return json.dumps({"saves": count})
            raise AssertionError

        def read(case: Case = case) -> str:
            seen = [what_is_there(case, path) for _ in range(reads // 2)]
            return json.dumps({"reads": len(seen), "bad": sorted({*seen} - {"old", "new"})})

        readers = [_spoken(read) for _ in range(2)]
        others = [_spoken(write) for _ in range(writers)]
        said = [json.loads(reader()) for reader in readers]
        stop.touch()
        said += [json.loads(other()) for other in others]
        stop.unlink()
        for part in said:
            for key in done:
                done[key] += part.get(key, 0)
            bad += [f"{case.name}: {fault}" for fault in part.get("bad", [])]
        bad += [f"{case.name}: {fault}" for fault in faults(case, path, 3)]
    return {**done, "bad": bad}


BESIDE = ("folder", "folder, other files", "templates", "templates go", "pair", "file of a folder")


def _spoken(work: Callable[[], str]) -> Callable[[], str]:
    """Starts this in a child. What is returned waits for what it says."""
    end, start = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        status = 99
        try:
            os.write(start, work().encode())
            status = 0
        finally:
            os._exit(status)
    os.close(start)

    def wait() -> str:
        with os.fdopen(end, "rb") as said:
            text = said.read().decode()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return text if status == 0 else json.dumps({"bad": [f"a child ended with {status}"]})

    return wait


if __name__ == "__main__":
    what, where, *rest = sys.argv[1:]
    if what == "fail":
        result = each_call(Path(where), rest)
    elif what == "kill":
        result = random_kills(Path(where), int(rest[0]))
    else:
        result = beside(Path(where), *map(int, rest))
    print(json.dumps(result))
