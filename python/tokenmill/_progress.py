"""The progress of long work: a bar on stderr, or a call of the caller's function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ._forks import waited_for
from .errors import MissingExtraError

__all__ = ["Progress", "follower"]

Progress = Callable[[str, int, int], object]
"""Called with the name of the phase, how much is done, and the total; 0 is a total that is not known."""


@contextmanager
def follower(progress: bool | Progress | None) -> Iterator[Progress | None]:
    """What long work reports to: nothing, the caller's function, or a bar that disappears at the end."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with _bar() as follow:
            yield follow
    elif callable(progress):
        yield progress
    else:
        raise TypeError(f"progress must be a bool, None or a callable, not {type(progress).__name__}")


@contextmanager
def _bar() -> Iterator[Progress]:
    """One bar on stderr for each phase, shown while it runs."""
    try:
        with waited_for:
            from rich.console import Console
            from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bars
    except ImportError as missing:
        raise MissingExtraError(
            'progress=True needs rich: pip install "tokenmill[cli]"', extra="cli"
        ) from missing
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    with Bars(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def follow(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                for task in tasks.values():
                    bar.update(task, visible=False)
                tasks[phase] = bar.add_task(phase, total=None)
            bar.update(tasks[phase], completed=done, total=total or None)

        yield follow
