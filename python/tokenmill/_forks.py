"""What a forked child finds: no lock that a thread of its parent holds, no import that one has begun.

A child has one thread, a copy of the one that forked. What another thread of the parent held at that moment
is never released in the child. Python sees to its own locks, but not to those of modules, nor to imports.
"""

from __future__ import annotations

import os
from _thread import RLock

__all__ = ["OwnLock", "waited_for"]

waited_for = RLock()
"""Held while something is imported or used for the first time, so that a fork waits until that is done.

Only for what takes a moment and waits for nobody else."""


class OwnLock:
    """A lock that a forked child has anew. ``with lock.held:`` holds it.

    What it guards must be sound at any time: the child goes on from there.
    """

    __slots__ = ("_lock", "_process")

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        # In this order: who sees the number of this process sees its lock.
        self._lock = RLock()
        self._process = _process

    @property
    def held(self) -> RLock:
        """The lock of this process."""
        if self._process != _process:
            with waited_for:
                if self._process != _process:
                    self._renew()
        return self._lock


_process = 0
"""How many forks lie between the first process and this one."""


def _is_child() -> None:
    global _process
    _process += 1
    waited_for._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library does with its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=waited_for.acquire, after_in_parent=waited_for.release, after_in_child=_is_child
    )
