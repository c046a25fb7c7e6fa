"""Hooks that fail as machines do, each once or twice in all, whichever process it is in."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import tokenmill

FATAL = "a text at which something dies"


def first_time(folder: str, times: int = 1) -> bool:
    """Whether this is among the first calls, of all processes."""
    for number in range(times):
        try:
            os.close(os.open(Path(folder) / str(number), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        return True
    return False


def fragile(text: str, *, folder: str, how: str) -> str:
    """The text as it is; at the fatal one something dies first."""
    if FATAL in text:
        if how == "process" and first_time(folder):
            os._exit(1)
        if how == "task" and first_time(folder, 2):
            raise RuntimeError("the machine is on fire")
        if how == "executor" and first_time(folder):
            # The parent of a worker is the process that forks workers, whose parent is the executor.
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
            os.kill(int(daemon.rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
    return text


def register(folder: str, how: str) -> None:
    """For ``init=``."""
    tokenmill.register_hook("fragile", partial(fragile, folder=folder, how=how))
