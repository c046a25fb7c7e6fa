"""Safe forks: a child finds no lock that a thread of its parent held, and no import that one had begun.

A child has one thread, a copy of the one that forked. What another thread of the parent held at that moment
is never released in the child. Python handles its own locks, but neither those of modules nor imports.
"""

from __future__ import annotations

import os
from _thread import RLock

__all__ = ["OwnLock", "waited_for"]

waited_for = RLock()
"""Held while something is imported or used for the first time, so that a fork waits until that is done.

Hold it only for what is quick and does not wait for other threads."""


class OwnLock:
    """A lock that a forked child has as a new one, which nobody holds. ``with lock.held:`` holds it.

    What it guards must be consistent at any time, since a child may be forked while the lock is held.
    """

    __slots__ = ("_lock", "_process")

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        # In this order: a thread that sees the new number sees the new lock too.
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


def _renew_in_child() -> None:
    global _process
    _process += 1
    waited_for._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library does with its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=waited_for.acquire, after_in_parent=waited_for.release, after_in_child=_renew_in_child
    )
