"""Calls under a limit on memory: ``python limits.py SIZE HEADROOMS CASE...`` says in JSON what came of them.

Inputs are made first. Then, for each case and each headroom in MiB, a child process may have so much more
memory than there is in use, makes the call, and encodes a small text behind it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from memory.cases import CASES, Case, Inputs

MIB = 1 << 20


def in_use() -> int:
    """Bytes of addresses, which the limit is about."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def under(case: Case, inputs: Inputs, headroom: int) -> str:
    """Makes the call in this process: "ok", or the exception."""
    call = case.prepare(inputs)
    expected = inputs.small_ids()
    limit = in_use() + headroom * MIB
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    outcome = "ok"
    try:
        result = call()
        del result
    except MemoryError:
        outcome = "MemoryError"
    except BaseException as error:
        outcome = f"{type(error).__name__}: {error}"[:200]
    return outcome if inputs.small_ids() == expected else f"{outcome}, and encodes no more"


def in_child(case: Case, inputs: Inputs, headroom: int) -> str:
    """The same in a child; one that is killed says by which signal."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            # What an abort says is no news here.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            outcome = under(case, inputs, headroom)
        except BaseException as error:
            outcome = f"behind the call {type(error).__name__}: {error}"
        os.write(write, outcome.encode("utf-8", "backslashreplace"))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        outcome = told.read().decode("utf-8")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return outcome or f"exit {os.WEXITSTATUS(status)}"


def main(size: int, headrooms: list[int], names: list[str]) -> None:
    outcomes: dict[str, dict[int, str]] = {}
    for name in names:
        with Inputs(size) as inputs:
            case = CASES[name]
            # Modules are imported, and what is made once is.
            with Inputs(1 << 10) as few:
                case.prepare(few)()
            case.prepare(inputs)
            outcomes[name] = {headroom: in_child(case, inputs, headroom) for headroom in headrooms}
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(headroom) for headroom in sys.argv[2].split(",")], sys.argv[3:])
