"""The progress of long work: a bar on stderr, or a call of the caller's function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from ._forks import waited_for
from .errors import MissingExtraError

__all__ = ["Progress", "follower"]

Progress = Callable[[str, int, int], object]
"""Called with the name of the phase, how much is done, and the total; 0 is a total that is not known."""

_IN_BYTES = "count"
"""The phase whose units are bytes: of the files as they are stored, or of texts."""


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
    """One bar on stderr for each phase, shown while it runs; with bytes and a rate where some are read."""
    try:
        with waited_for:
            from rich.console import Console
            from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bars
    except ImportError as missing:
        raise MissingExtraError(
            'progress=True needs rich: pip install "tokenmill[cli]"', extra="cli"
        ) from missing
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}
        began: dict[str, float] = {}

        def follow(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                for task in tasks.values():
                    bar.update(task, visible=False)
                tasks[phase] = bar.add_task(phase, total=None, figures="")
                began[phase] = monotonic()
            figures = _figures(done, total, monotonic() - began[phase]) if phase == _IN_BYTES else ""
            bar.update(tasks[phase], completed=done, total=total or None, figures=figures)

        yield follow


def _figures(done: int, total: int, seconds: float) -> str:
    """Megabytes read, the total if it is known, and the rate: `12.5/40.0 MB, 85.3 MB/s`."""
    of = f"/{total / 1e6:,.1f}" if total else ""
    rate = f", {done / seconds / 1e6:,.1f} MB/s" if seconds > 0.1 else ""
    return f"{done / 1e6:,.1f}{of} MB{rate}"
