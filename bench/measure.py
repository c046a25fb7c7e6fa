"""One sample, in the process that it has for itself (see ``worker.py``)."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import data
from cells import CELLS, DECODING, Cell
from peers import PEERS, Form, Peer
from vocabularies import Vocabulary, find

ENOUGH = 6.0
"""Seconds after which a process makes no more passes than it needs for its figures."""


def measure(peer_name: str, vocabulary: str, cell_name: str, text: str, size: int, passes: int) -> Any:
    """Seconds of the first pass over a text that this process never saw, and of each later pass.

    Each pass gets objects that no call has touched: CPython keeps the UTF-8 form of a ``str`` once made.
    """
    cell = CELLS[cell_name]
    if cell.inputs == "load":
        return _loading(peer_name, vocabulary, text, size)
    peer_class = PEERS[peer_name]
    if not peer_class.has(find(vocabulary)):
        return {"absent": True}
    peer = peer_class(find(vocabulary), cell.threads)
    form = next((peer.forms[name] for name in cell.forms if name in peer.forms), None)
    if form is None:
        return {"absent": True}
    call = _looped(form) if cell.inputs == "strings" else form
    content = data.text(text, size)
    make, items = _maker(cell, peer, content, find(vocabulary))
    before = b"Hello world" if cell.once else data.warm_up_text()
    started, _ = _timed(call, _maker(cell, peer, before, find(vocabulary))[0]())
    walls: list[float] = []
    cpus: list[float] = []
    for number in range(1 if cell.once else passes):
        if number > 1 and sum(walls) > ENOUGH:
            break
        wall, cpu = _timed(call, make())
        walls.append(wall)
        cpus.append(cpu)
    return {"bytes": len(content), "items": items, "wall": walls, "cpu": cpus, "warm_up": started}


def turns(cell: Cell, content: bytes, vocabulary: Vocabulary) -> data.Turns:
    """The content in new strings, with the added tokens of a chat between."""
    return data.turns(content, cell.piece, vocabulary.chat_tokens[0])


def pieces(cell: Cell, content: bytes) -> list[str]:
    """The content in new strings, as the cell gives them to a library."""
    return data.documents(content, cell.piece) if cell.piece else [content.decode()]


def ids_to_decode(peer: Peer, content: bytes) -> list[int]:
    """A million of them at most, by the peer itself."""
    ids: list[int] = peer.forms["list"](content.decode())
    return ids[: data.MB]


def _maker(cell: Cell, peer: Peer, content: bytes, vocabulary: Vocabulary) -> tuple[Callable[[], Any], int]:
    """What builds the input of one pass, new each time, and how many calls or ids that is."""
    if cell.inputs == "text":
        return content.decode, 1
    if cell.inputs in DECODING:
        ids = ids_to_decode(peer, content)
        if cell.inputs == "ids":
            return lambda: list(ids), len(ids)
        import numpy as np

        return lambda: np.asarray(ids, dtype=np.uint32), len(ids)
    if cell.inputs == "turns":
        return lambda: turns(cell, content, vocabulary), 1
    return lambda: pieces(cell, content), len(pieces(cell, content)) if cell.inputs == "strings" else 1


def _looped(form: Form) -> Form:
    def each(texts: list[str]) -> None:
        for text in texts:
            form(text)

    return each


def _timed(call: Form, argument: Any) -> tuple[float, float]:
    gc.collect()
    gc.disable()
    cpu = time.process_time()
    wall = time.perf_counter()
    result = call(argument)
    wall = time.perf_counter() - wall
    cpu = time.process_time() - cpu
    gc.enable()
    del result  # what was made is freed after the clock has stopped
    return wall, cpu


def _loading(peer_name: str, vocabulary: str, text: str, size: int) -> dict[str, Any]:
    """From a file to the first ids, and what stays in memory above the import."""
    peer_class, files = PEERS[peer_name], find(vocabulary)
    if not peer_class.has(files):
        return {"absent": True}
    start = time.perf_counter()
    import_module(peer_class.module)
    imported = time.perf_counter() - start
    before = resident()
    start = time.perf_counter()
    peer = peer_class(files)
    peer.forms["list"]("Hello world")
    loaded = time.perf_counter() - start
    after_load = resident()
    figures = [
        ("import", "ms", imported * 1e3),
        (f"{peer_class.reads(files)} to first ids", "ms", loaded * 1e3),
    ]
    if before is not None and after_load is not None:
        content = data.text(text, size).decode()
        held = resident() or 0.0
        peer.forms["list"](content)
        grown = (resident() or 0.0) - held
        figures += [
            ("resident above import", "MB", after_load - before),
            ("resident above import, after text", "MB", after_load - before + grown),
        ]
    return {"figures": figures}


def resident() -> float | None:
    """Megabytes of this process in memory; None where the system does not say."""
    return _status("VmRSS")


def peak() -> float | None:
    """The most that they were, since they were last forgotten."""
    return _status("VmHWM")


def forget_peak() -> None:
    """What is in memory now is the most that was."""
    forget = Path("/proc/self/clear_refs")
    if forget.exists():
        forget.write_text("5", encoding="ascii")


def _status(name: str) -> float | None:
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024 / data.MB
