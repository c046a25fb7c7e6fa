"""What the benchmark makes of its samples: the tasks, the figures, the ratios, and the page."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cells import CELLS, PLAN, QUICK, Task, far_behind, figures, tasks, times_as_good
from data import TURNS, documents, turns
from exactness import Verdict, place
from page import END, START, filled, results
from report import Row, before_lines, figure_lines, rows

RECORD: dict[str, Any] = {
    "date": "2026-01-01",
    "machine": {
        "cpu": "one",
        "cpus": 2,
        "system": "Linux x86_64",
        "python": "CPython 3.11.7",
        "versions": {"ours": "1", "quick": "2", "slow": "3"},
    },
    "settings": {"rounds": 3, "sizes": {"array": 10_000_000, "list": 10_000_000, "short": 2_000_000}},
}


def sample(peer: str, number: int, walls: list[float], cell: str = "array", **more: Any) -> dict[str, Any]:
    place = {"vocabulary": "cl100k", "cell": cell, "text": "english", "round": number, "peer": peer}
    return {**place, "bytes": 10_000_000, "items": 1, "wall": walls, "cpu": walls, **more}


def verdict(peer: str, cell: str = "array", difference: str = "") -> Verdict:
    return Verdict(peer, "cl100k", "english", cell, "reference", difference)


def row(table: list[Row], what: str, cell: str = "array") -> Row:
    (found,) = [row for row in table if (row.what, row.cell) == (what, cell)]
    return found


# ---- tasks ------------------------------------------------------------------------------------


def test_the_plan_names_only_cells_that_there_are() -> None:
    for plan in (PLAN, QUICK):
        for named, _ in plan.values():
            assert set(named) <= set(CELLS)
    assert {name for named, _ in PLAN.values() for name in named} == set(CELLS)


def test_a_hostile_text_is_a_task_of_its_own() -> None:
    found = tasks(quick=False, shared=True, cells=["hostile"], hostile=["a", "letters"])
    assert found == [Task("cl100k", "hostile", text, 1_000_000) for text in ("a", "letters")]


def test_prose_is_english_whatever_corpora_are_asked_for() -> None:
    found = tasks(quick=False, shared=True, cells=["array", "long"], corpora=["cjk"])
    assert Task("cl100k", "array", "cjk", 10_000_000) in found
    assert [task for task in found if task.cell == "long"] == [Task("cl100k", "long", "english", 40_000_000)]


def test_a_size_bounds_every_text() -> None:
    found = tasks(quick=False, shared=True, size=1_000, hostile_size=500)
    assert max(task.size for task in found if task.cell != "hostile") == 1_000
    assert {task.size for task in found if task.cell == "hostile"} == {500}


def test_a_cell_that_the_plan_has_nowhere_is_measured_all_the_same() -> None:
    found = tasks(quick=True, shared=True, cells=["array", "decode-bytes"], corpora=["english"])
    assert [(task.vocabulary, task.cell) for task in found] == [
        ("cl100k", "array"),
        ("cl100k", "decode-bytes"),
    ]
    asked = tasks(quick=False, shared=True, vocabularies_asked=["gpt2"], cells=["short"])
    assert {(task.vocabulary, task.cell) for task in asked} == {("gpt2", "short")}


def test_without_shared_data_there_is_one_vocabulary_and_one_corpus() -> None:
    found = tasks(quick=False, shared=False)
    assert {task.vocabulary for task in found} == {"stdlib-8k"}
    assert {task.text for task in found if CELLS[task.cell].texts != "hostile"} == {"stdlib"}


# ---- figures ----------------------------------------------------------------------------------


def test_the_first_pass_is_fresh_and_the_median_of_the_others_is_repeated() -> None:
    found = figures(sample("any", 0, [2.0, 1.0, 0.5, 0.25]))
    assert found == {("fresh", "MB/s"): 5.0, ("repeated", "MB/s"): 20.0}


def test_a_cell_has_its_own_unit() -> None:
    decode = sample("any", 0, [0.5], "decode") | {"items": 500_000}
    assert figures(decode) == {("fresh", "ms a million ids"): 1_000.0}
    short = sample("any", 0, [0.5], "short") | {"items": 1_000}
    assert figures(short)["fresh", "µs a call"] == pytest.approx(500.0)
    assert figures(sample("any", 0, [0.5], "hostile")) == {("once", "MB/s"): 20.0}


def test_a_sample_that_failed_has_no_figures() -> None:
    assert figures({"cell": "array", "error": "stopped"}) == {}


@pytest.mark.parametrize(("unit", "expected"), [("MB/s", 2.0), ("ms", 0.5), ("µs a call", 0.5), ("MB", 0.5)])
def test_a_ratio_above_one_is_better(unit: str, expected: float) -> None:
    assert times_as_good(20.0, 10.0, unit) == expected


def test_a_peer_far_behind_the_best_exact_other_needs_no_more() -> None:
    samples = [
        sample("ours", 0, [0.01, 0.01]),
        sample("quick", 0, [1.0, 1.0]),
        sample("slow", 0, [4.0, 4.0]),
        sample("half", 0, [4.0, 2.0]),
    ]
    assert far_behind(samples, ["ours", "quick", "slow"], "ours") == {"slow"}
    assert far_behind(samples, ["ours", "slow"], "ours") == set(), "what is not exact is no measure"


# ---- rows -------------------------------------------------------------------------------------


def test_ratios_are_taken_inside_rounds() -> None:
    walls = {"ours": [1.0, 2.0, 10.0], "quick": [2.0, 6.0, 10.0]}
    samples = [sample(peer, number, [wall]) for peer, own in walls.items() for number, wall in enumerate(own)]
    found = row(rows(samples, [verdict("ours"), verdict("quick")], "ours"), "fresh")
    assert found.best == "quick"
    assert found.ratio is not None
    assert (found.ratio.median, found.ratio.lowest, found.ratio.highest) == (2.0, 1.0, 3.0)


def test_what_is_not_exact_is_never_the_best() -> None:
    samples = [sample("ours", 0, [4.0]), sample("quick", 0, [1.0]), sample("slow", 0, [8.0])]
    verdicts = [verdict("ours"), verdict("quick", difference="3 where reference has 4"), verdict("slow")]
    found = row(rows(samples, verdicts, "ours"), "fresh")
    assert (found.best, found.not_exact) == ("slow", {"quick"})
    assert found.ratio is not None
    assert found.ratio.median == 2.0


def test_we_have_no_ratio_where_we_are_not_exact() -> None:
    samples = [sample("ours", 0, [1.0]), sample("quick", 0, [2.0])]
    found = row(rows(samples, [verdict("ours", difference="one"), verdict("quick")], "ours"), "fresh")
    assert found.ratio is None


def test_a_form_that_differs_costs_a_peer_that_cell_alone() -> None:
    samples = [sample(peer, 0, [1.0], cell) for peer in ("ours", "quick") for cell in ("array", "list")]
    verdicts = [verdict(peer, cell) for peer in ("ours", "quick") for cell in ("array", "list")]
    verdicts[2].difference = "one more id"
    table = rows(samples, verdicts, "ours")
    assert row(table, "fresh", "array").ratio is None
    assert row(table, "fresh", "list").best == "quick"


def test_a_count_is_compared_with_our_own_list_and_array() -> None:
    samples = [sample("ours", 0, [1.0], "count"), sample("ours", 0, [3.0], "list")]
    found = row(rows(samples, [], "ours"), "fresh", "count")
    assert {name: spread.median for name, spread in found.against.items()} == {"list": 3.0}


def test_a_table_for_a_terminal_has_marks_and_ratios() -> None:
    samples = [
        sample("ours", 0, [1.0]),
        sample("quick", 0, [2.0], disturbed=True),
        sample("slow", 0, [0.5]),
    ]
    lines = figure_lines(rows(samples, [verdict("ours"), verdict("quick")], "ours"), "ours")
    (line,) = [line for line in lines if "english" in line]
    assert line.split() == ["english,", "fresh,", "MB/s", "10.0", "5.00~", "20.0!", "2.00", "x", "quick"]


# ---- exactness --------------------------------------------------------------------------------


def test_turns_and_their_ranges_are_the_content() -> None:
    content = ("ab\u00e9" * 333 + "\n").encode() * 2
    made = turns(content, 1_000, "<turn>")
    said = [
        [text[start:stop] for start, stop in ranges]
        for text, ranges in zip(made.texts, made.untrusted, strict=True)
    ]
    assert ["".join(parts) for parts in said] == documents(content, 1_000)
    assert [len(parts) for parts in said[:-1]] == [TURNS] * (len(said) - 1)
    joined = ["".join(f"<turn>{part}" for part in parts) for parts in said]
    assert made.texts == joined


def test_padded_arrays_are_compared_with_lists_that_are_padded_the_plain_way(
    native: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Wherever the padding or its mask are others, a peer is not exact."""
    import data
    import exactness

    def lists(text: str) -> list[int]:
        return [0] if text == "<pad>" else [ord(character) for character in text]

    def padded(texts: list[str], pad_id: int = 0, masked: int = 0) -> dict[str, Any]:
        tok = native.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)], split="none")
        batch = tok.pad_batch([lists(text) for text in texts], pad_id=pad_id)
        batch["attention_mask"][batch["attention_mask"] == 0] = masked
        return dict(batch)

    made: dict[str, Any] = {
        "tokenizers": {"list": lists},
        "transformers": {"padded": padded},
        "gigatoken": {"padded": lambda texts: padded(texts, pad_id=1)},
        "tokenmill": {"padded": lambda texts: padded(texts, masked=1)},
    }

    def peer(name: str) -> Any:
        def make(vocabulary: object, threads: int) -> Any:
            return SimpleNamespace(forms=made[name])

        make.has = lambda vocabulary: True  # type: ignore[attr-defined]
        make.has_lists = name != "transformers"  # type: ignore[attr-defined]
        return make

    known = SimpleNamespace(pad_token="<pad>", chat_tokens=(), reference="tokenizers")
    monkeypatch.setattr(exactness, "PEERS", {name: peer(name) for name in made})
    monkeypatch.setattr(exactness, "find", lambda name: known)
    monkeypatch.setattr(data, "text", lambda name, size: b"words in a row, " * 90)
    monkeypatch.setattr(data, "scratch", lambda: tmp_path)

    def run(task: str, *, on_threads: int, **order: Any) -> dict[str, Any]:
        return exactness.answer(**{**order, "folder": Path(order["folder"])})

    work = [Task("made", "padded", "english", 2_000)]
    verdicts = exactness.compare(list(made), work, run, lambda words: None, "tokenmill")
    assert {verdict.peer: bool(verdict.difference) for verdict in verdicts} == {
        "transformers": False,
        "gigatoken": True,
        "tokenmill": True,
    }
    # Without its reference, ours is one before a library that has no lists.
    made["tokenmill"] = made["tokenizers"] | {"padded": padded}
    others = ["transformers", "tokenmill"]
    verdicts = exactness.compare(others, work, run, lambda words: None, "tokenmill")
    assert {(verdict.peer, verdict.reference, verdict.difference) for verdict in verdicts} == {
        ("transformers", "tokenmill", ""),
        ("tokenmill", "tokenmill", ""),
    }
    # A vocabulary without such tokens has no such cells.
    known.pad_token = None
    verdicts = exactness.compare(
        list(made), [*work, Task("made", "turns", "english", 2_000)], run, lambda words: None, "tokenmill"
    )
    assert verdicts == []


def test_untrusted_ranges_are_compared_with_the_same_texts_without_them() -> None:
    samples = [sample("ours", number, [1.0], "turns") for number in range(3)]
    samples += [sample("ours", number, [1.05], "untrusted") for number in range(3)]
    found = row(rows(samples, [], "ours"), "fresh", "untrusted")
    assert found.against["turns"].median == pytest.approx(1 / 1.05)


def test_a_difference_says_where_it_is(tmp_path: Path) -> None:
    import numpy as np

    for name, ids in (("own", [1, 2, 3]), ("right", [1, 2, 4, 5]), ("longer", [1, 2, 3, 6])):
        np.save(tmp_path / f"{name}.npy", np.asarray(ids, dtype=np.uint32))
    own, right, longer = (str(tmp_path / f"{name}.npy") for name in ("own", "right", "longer"))
    assert place(own=own, expected=right) == {"at": 2, "expected": [4, 5], "found": [3]}
    assert place(own=own, expected=longer) == {"at": 3, "expected": [6], "found": []}


# ---- page -------------------------------------------------------------------------------------


def test_only_the_block_of_the_page_is_written() -> None:
    page = f"before\n{START}\nold\n{END}\nafter\n"
    once = filled(page, ["new"])
    assert once == f"before\n{START}\n\nnew\n\n{END}\nafter\n"
    assert filled(once, ["new"]) == once


def test_a_page_without_a_block_is_refused() -> None:
    with pytest.raises(SystemExit, match="no block"):
        filled("nothing here", ["new"])


def test_the_page_says_where_we_lose() -> None:
    samples = [sample("ours", number, [2.0, 0.5]) for number in range(3)]
    samples += [sample("quick", number, [1.0, 1.0]) for number in range(3)]
    samples += [sample("slow", 0, [9.0, 9.0])]
    verdicts = [verdict("ours"), verdict("quick"), verdict("slow", difference="5 where reference has 6")]
    lines = results(rows(samples, verdicts, "ours"), verdicts, RECORD, "ours", "picture.svg")
    lost = lines[lines.index("### Where we lose") : lines.index("### Not exact")]
    (loss,) = [line for line in lost if line.startswith("| one text")]
    assert loss == "| one text to an array | cl100k | english | fresh | quick | 0.50 (0.50 to 0.50) |"
    assert "  - array, english: 5 where reference has 6" in lines
    assert "| english | fresh, MB/s | 5.00 | **10.0** | 1.11!† | 0.50 (0.50 to 0.50) quick |" in lines
    assert "ours 1 against quick 2, slow 3." in lines
    assert any("Text: 2 MB in `short`; 10 MB in `array`, `list`." in line for line in lines)
    assert any("picture.svg" in line for line in lines)
    limited = {**RECORD, "settings": {**RECORD["settings"], "level": "avx2"}}
    lines = results(rows(samples, verdicts, "ours"), verdicts, limited, "ours", "picture.svg")
    assert any("ours uses instructions of avx2 alone" in line for line in lines)


def test_a_later_record_takes_the_place_of_the_same_tasks() -> None:
    merged = importlib.import_module("compare").merged
    entry = {"vocabulary": "cl100k", "cell": "array", "text": "english"}
    other = entry | {"cell": "list"}
    first = {
        **RECORD,
        "verdicts": [{**entry, "peer": "ours"}, {**other, "peer": "ours"}],
        "samples": [{**entry, "peer": "ours"}, {**other, "peer": "ours"}],
    }
    versions = {"versions": {"ours": "2"}}
    again = {
        "date": "2026-01-02",
        "machine": versions,
        "settings": {"rounds": 1, "sizes": {"array": 1_000}},
        "verdicts": [{**entry, "peer": "quick"}],
        "samples": [{**entry, "peer": "quick"}],
    }
    found = merged([first, again])
    assert found["samples"] == [{**other, "peer": "ours"}, {**entry, "peer": "quick"}]
    assert found["verdicts"] == found["samples"]
    assert found["settings"]["sizes"]["array"] == 1_000
    assert found["settings"]["sizes"]["short"] == 2_000_000
    assert found["machine"]["versions"] == {"ours": "2", "quick": "2", "slow": "3"}


def test_an_earlier_build_is_compared_with_ours_alone() -> None:
    samples = [
        sample(peer, number, [wall * (1 + number / 100)])
        for number in range(3)
        for peer, wall in (("ours", 1.05), ("before", 1.0), ("quick", 2.0))
    ]
    verdicts = [verdict(peer) for peer in ("ours", "before", "quick")]
    table = rows(samples, verdicts, "ours")
    found = row(table, "fresh")
    assert found.best == "quick"
    assert found.before is not None
    assert found.before.median == pytest.approx(1 / 1.05)
    headline, line = before_lines(table)[1:]
    assert "wholly above 1.03 in 1" in headline
    assert line.split() == ["array,", "cl100k,", "english,", "fresh", "1.05", "(1.05", "to", "1.05)"]
    assert (
        far_behind([sample("before", 0, [9.0]), sample("quick", 0, [1.0])], ["quick", "before"], "ours")
        == set()
    )
    page = "\n".join(results(table, verdicts, RECORD, "ours", None))
    assert "before" not in page
    assert before_lines(rows([it for it in samples if it["peer"] != "before"], verdicts, "ours")) == []
