"""Ids before time: every form of every peer against the library that the vocabulary's file comes from."""

from __future__ import annotations

import functools
import hashlib
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import data
from cells import CELLS, DECODING, Cell, Task
from measure import ids_to_decode, pieces, turns
from peers import PEERS, Peer, flat
from vocabularies import Vocabulary, find

Run = Callable[..., dict[str, Any]]


@dataclass
class Verdict:
    """Whether a peer gives in a cell what the reference gives."""

    peer: str
    vocabulary: str
    text: str
    cell: str
    reference: str
    difference: str = ""
    """Empty where there is none."""
    place: dict[str, Any] = field(default_factory=dict)


def answer(
    peer_name: str,
    vocabulary: str,
    threads: int,
    asked: Sequence[tuple[str, str, int]],
    as_reference: bool,
    folder: Path,
) -> dict[str, Any]:
    """Run by a worker: for each (cell, text, size) a digest of the result, the ids themselves in a file.

    For a count the result is the number, for decoded ids the text. As the reference a peer also says what the
    result should be (``truth``), by its plainest forms.
    """
    import numpy as np

    files = find(vocabulary)
    peer = PEERS[peer_name](files, threads)
    results: list[dict[str, str]] = []
    known: dict[tuple[Any, ...], dict[str, str]] = {}
    for name, text, size in asked:
        cell = CELLS[name]
        content = data.text(text, size)
        form = next((form for form in cell.forms if form in peer.forms), None)
        wanted = [("truth", _plainest(cell))] if as_reference else []
        wanted += [("own", form)] if form is not None else []
        wanted = wanted if _is_for(cell, files) else []
        result: dict[str, str] = {}
        for kind, way in wanted:
            if way not in peer.forms:
                continue
            # Cells that differ in their clock alone share their results.
            as_number = kind == "truth" and cell.forms == ("count",)
            inputs = "text" if cell.inputs == "load" else cell.inputs
            is_to_pad = kind == "truth" and cell.forms == ("padded",)
            key = (way, as_number, is_to_pad, inputs, cell.piece, text, size)
            if key not in known:
                value = (_padded if is_to_pad else _result)(cell, peer, way, content, files)
                value = len(value) if as_number else value
                known[key] = {"": _digest(value)}
                if isinstance(value, np.ndarray):
                    path = folder / f"{known[key][''].split()[-1]}.npy"
                    np.save(path, value)
                    known[key]["_ids"] = str(path)
            result |= {kind + what: value for what, value in known[key].items()}
        results.append(result)
    return {"results": results}


def _plainest(cell: Cell) -> str:
    """The form of the reference that says what is right."""
    if cell.forms == ("batch-offsets",):
        return cell.forms[0]
    return "decode" if cell.inputs in DECODING else "list"


def _is_for(cell: Cell, vocabulary: Vocabulary) -> bool:
    """Whether the vocabulary has the added tokens that the cell needs."""
    if cell.inputs == "turns":
        return bool(vocabulary.chat_tokens)
    return cell.forms != ("padded",) or vocabulary.pad_token is not None


def _padded(cell: Cell, peer: Peer, name: str, content: bytes, vocabulary: Vocabulary) -> Any:
    """What lists make when they are padded the plain way."""
    import numpy as np

    form = peer.forms[name]
    rows = [form(piece) for piece in pieces(cell, content)]
    (pad_id,) = form(vocabulary.pad_token)
    ids = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)
    mask = np.zeros_like(ids)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = row
        mask[at, : len(row)] = 1
    return flat({"input_ids": ids, "attention_mask": mask})


def _result(cell: Cell, peer: Peer, name: str, content: bytes, vocabulary: Vocabulary) -> Any:
    import numpy as np

    form = peer.forms[name]
    if cell.inputs == "turns":
        given = turns(cell, content, vocabulary)
        return flat(form(given) if name.startswith("batch") else [form(text) for text in given.texts])
    if cell.inputs in DECODING:
        ids = ids_to_decode(peer, content)
        decoded = form(ids if name == "decode" else np.asarray(ids, dtype=np.uint32))
        return decoded.decode() if isinstance(decoded, bytes) else decoded
    if name.startswith(("batch", "padded")):
        return flat(form(pieces(cell, content)))
    if cell.piece:
        return flat([form(piece) for piece in pieces(cell, content)])
    result = form(content.decode())
    return int(result) if name == "count" else flat(result)


def _digest(value: Any) -> str:
    import numpy as np

    if isinstance(value, np.ndarray):
        return f"{len(value)} ids {hashlib.sha256(value.tobytes()).hexdigest()[:16]}"
    if isinstance(value, str):
        return f"text {hashlib.sha256(value.encode()).hexdigest()[:16]}"
    return str(value)


def compare(
    peers: Sequence[str], tasks: Iterable[Task], run: Run, say: Callable[[str], None], ours: str
) -> list[Verdict]:
    """A verdict for each peer and task that it has a form for. The reference is held to its own lists, too.

    Where the reference is not installed the next of ``peers`` takes its place, ourselves last.
    """
    groups: dict[tuple[str, int], list[Task]] = {}
    for task in tasks:
        groups.setdefault((task.vocabulary, task.threads), []).append(task)
    verdicts: list[Verdict] = []
    for (vocabulary, threads), group in groups.items():
        wanted = find(vocabulary).reference
        order = sorted(peers, key=lambda name: (name != wanted, not PEERS[name].has_lists, name == ours))
        truth: list[dict[str, str]] = []
        reference = wanted
        with tempfile.TemporaryDirectory(dir=data.scratch()) as folder:
            for peer in order:
                if not PEERS[peer].has(find(vocabulary)):
                    continue
                say(f"ids: {vocabulary}, {peer}")
                ask = functools.partial(
                    run,
                    "answer",
                    peer_name=peer,
                    on_threads=threads,
                    vocabulary=vocabulary,
                    threads=threads,
                    as_reference=not truth,
                    folder=folder,
                )
                answers = _answers(ask, group)
                # A library that cannot read the file says nothing about it.
                if not truth and any("truth" in answer for answer in answers):
                    truth, reference = answers, peer
                for task, own, expected in zip(group, answers, truth or [{}] * len(group), strict=True):
                    verdict = _verdict(task, peer, own, expected, reference)
                    if verdict is not None:
                        verdicts.append(verdict)
    return verdicts


def _answers(ask: Callable[..., dict[str, Any]], group: Sequence[Task]) -> list[dict[str, str]]:
    """All tasks asked of one process; of one each where that fails, to know which it was."""
    found = ask(asked=[(task.cell, task.text, task.size) for task in group])
    if "results" in found:
        answers: list[dict[str, str]] = found["results"]
        return answers
    if len(group) == 1:
        return [{"error": str(found["error"])}]
    return [answer for task in group for answer in _answers(ask, [task])]


def _verdict(
    task: Task, peer: str, own: Mapping[str, str], expected: Mapping[str, str], reference: str
) -> Verdict | None:
    verdict = Verdict(peer, task.vocabulary, task.text, task.cell, reference)
    if "error" in own:
        verdict.difference = own["error"]
    elif "own" not in own:
        return None
    elif own["own"] != expected.get("truth"):
        verdict.difference = f"{own['own']} where {reference} has {expected.get('truth', 'nothing')}"
        if "own_ids" in own and "truth_ids" in expected:
            verdict.place = place(own=own["own_ids"], expected=expected["truth_ids"])
    return verdict


def place(*, own: str, expected: str) -> dict[str, Any]:
    """Where the ids in two files part, and what stands there."""
    import numpy as np

    found, right = np.load(own), np.load(expected)
    shorter = min(len(right), len(found))
    unequal = np.flatnonzero(right[:shorter] != found[:shorter])
    at = int(unequal[0]) if len(unequal) else shorter
    return {"at": at, "expected": right[at : at + 4].tolist(), "found": found[at : at + 4].tolist()}
