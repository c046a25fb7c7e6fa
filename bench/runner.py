"""Runs samples: one process each, one at a time on this machine, on CPUs that are set before it starts."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import data

TIME_LIMIT = 600
DISTURBED = 1.1
"""Wall time over CPU time from which on something else ran, or more threads did than were meant."""


def run(task: str, *, on_threads: int = 1, python: str = sys.executable, **order: Any) -> dict[str, Any]:
    """What the worker printed, or ``{"error": ...}``."""
    cpus = available()[-on_threads:]
    environment = {
        **os.environ,
        "TOKENIZERS_PARALLELISM": "true" if on_threads > 1 else "false",
        "RAYON_NUM_THREADS": str(on_threads),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }
    message = json.dumps({"task": task, "cpus": cpus, **order})
    worker = Path(__file__).with_name("worker.py")
    with _alone():
        try:
            done = subprocess.run(
                [python, str(worker), message],
                env=environment,
                capture_output=True,
                text=True,
                timeout=TIME_LIMIT,
            )
        except subprocess.TimeoutExpired:
            return {"error": f"stopped after {TIME_LIMIT} s"}
    if done.returncode != 0:
        return {"error": _reason(done.stderr) or f"exit {done.returncode}"}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _reason(stderr: str) -> str:
    """The exception at the end of a traceback, else the last line."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Exit)\b", line)]
    return (named or lines or [""])[-1][:300]


def available() -> list[int]:
    """The CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


@contextmanager
def _alone() -> Iterator[None]:
    """A lock that all benchmarks of this user share, held for the length of one sample."""
    import fcntl

    with (data.scratch() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def disturbed(wall: float, cpu: float, threads: int = 1) -> bool:
    """Whether a sample was not alone on its CPUs, or used more than were meant for it."""
    return wall > 0.005 and not 1 / (DISTURBED * threads) <= wall / max(cpu, 1e-9) <= DISTURBED


def machine(versions: dict[str, str]) -> dict[str, Any]:
    """The facts that a figure depends on; nothing that names the machine or its user."""
    return {
        "cpu": _cpu_name(),
        "cpus": len(available()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "versions": versions,
    }


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
