"""What is measured: a cell is a form, a kind of input and, for each round, a process of its own.

Run inside that process (see ``worker.py``): ``measure`` times one cell, ``check`` collects ids to compare.
"""

from __future__ import annotations

import gc
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import data
from peers import PEERS, Form, Peer
from vocabularies import find

DOCUMENT = 4_096
SHORT = 200


@dataclass(frozen=True)
class Cell:
    """One kind of use."""

    form: str
    inputs: str
    """``text``, ``documents``, ``strings`` (a call for each) or ``ids``."""
    hostile: bool = False


CELLS = {
    "array": Cell("array", "text"),
    "list": Cell("list", "text"),
    "documents": Cell("batch-lists", "documents"),
    "documents-array": Cell("batch-array", "documents"),
    "short": Cell("list", "strings"),
    "count": Cell("count", "text"),
    "decode": Cell("decode", "ids"),
    "hostile": Cell("list", "text", hostile=True),
}


def measure(
    peer_name: str, vocabulary: str, cell_name: str, corpus: str, size: int, passes: int
) -> dict[str, Any]:
    """Seconds of the first pass over a text that this process never saw, and of each later pass.

    Each pass gets objects that no call has touched: CPython keeps the UTF-8 form of a ``str`` once made.
    """
    cell = CELLS[cell_name]
    peer = PEERS[peer_name](find(vocabulary))
    form = peer.forms.get(cell.form)
    if form is None:
        return {"absent": True}
    call = _looped(form) if cell.inputs == "strings" else form
    content = data.text(corpus, size)
    make = _maker(cell, peer, content)
    call(_maker(cell, peer, data.warm_up_text())())
    walls, cpus = [], []
    for _ in range(passes):
        wall, cpu = _timed(call, make())
        walls.append(wall)
        cpus.append(cpu)
    return {"bytes": len(content), "wall": walls, "cpu": cpus}


def _maker(cell: Cell, peer: Peer, content: bytes) -> Callable[[], Any]:
    """What builds the input of one pass, new each time."""
    if cell.inputs == "text":
        return content.decode
    if cell.inputs == "ids":
        ids = peer.forms["list"](content.decode())
        return lambda: list(ids)
    size = DOCUMENT if cell.inputs == "documents" else SHORT
    return lambda: data.documents(content, size)


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


def check(peer_name: str, vocabulary: str, corpus: str, size: int, folder: Path) -> dict[str, Any]:
    """The ids of a whole text and of its documents, kept in files; every other form against these.

    ``inconsistent`` names the forms whose result is not what ``list`` gives.
    """
    import numpy as np

    peer = PEERS[peer_name](find(vocabulary))
    content = data.text(corpus, size)
    encode = peer.forms["list"]
    whole = np.asarray(encode(content.decode()), dtype=np.uint32)
    pieces = [np.asarray(encode(piece), dtype=np.uint32) for piece in data.documents(content, DOCUMENT)]
    joined = np.concatenate(pieces)
    texts = data.documents(content, DOCUMENT)

    def flat(lists: list[list[int]]) -> Any:
        return np.concatenate([np.asarray(row, dtype=np.uint32) for row in lists])

    agrees: dict[str, Callable[[Form], bool]] = {
        "array": lambda form: np.array_equal(np.asarray(form(content.decode())), whole),
        "batch-lists": lambda form: np.array_equal(flat(form(texts)), joined),
        "batch-array": lambda form: np.array_equal(np.asarray(form(texts)), joined),
        "count": lambda form: form(content.decode()) == len(whole),
        "decode": lambda form: form(whole.tolist()) == content.decode(),
    }
    kept = {}
    for name, ids in (("whole", whole), ("documents", joined)):
        path = folder / f"{peer_name}.{corpus}.{name}.npy"
        np.save(path, ids)
        kept[name] = str(path)
    return {
        "ids": len(whole),
        "digest": hashlib.sha256(whole.tobytes()).hexdigest()[:16],
        "kept": kept,
        "inconsistent": [
            name for name, test in agrees.items() if name in peer.forms and not test(peer.forms[name])
        ],
    }
