"""Results as Markdown, and where they stand in docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cells import BEFORE, CELLS, PLAN
from exactness import Verdict
from report import Row, Spread, columns, goodness, grouped, marks, short, why

START = "<!-- results: written by bench/compare.py --write-docs -->"
END = "<!-- end of results -->"
MOST_DIFFERENCES = 12
"""Of one peer and vocabulary, written out."""


def filled(page: str, results: Sequence[str]) -> str:
    """The page with other results between its marks."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"bench: the page has no block {START} ... {END}")
    return "\n".join([before + START, "", *results, "", END + after])


def results(
    table: Sequence[Row], verdicts: Sequence[Verdict], record: Mapping[str, Any], ours: str, plot: str | None
) -> list[str]:
    """All that a run has found."""
    lines = [*_facts(record, ours), "", "### In short", "", *_summary(table), ""]
    if plot is not None:
        lines += [f"![Ratios to the best exact other library]({plot})", ""]
    lines += ["### Where we lose", "", *_losses(table), "", "### Not exact", "", *_differences(verdicts), ""]
    lines += ["### All figures", ""]
    lines += [
        "Medians of the rounds. **Bold** is the best exact one; ! is not exact and never the best; ~ says"
        " that something else ran beside a sample, † that a peer was four times behind and got no further"
        " sample. The last column is tokenmill's ratio to the best exact other: the median of the ratios"
        " inside rounds (lowest to highest), above 1 where tokenmill is better.",
    ]
    for (vocabulary, cell), own in grouped(table).items():
        lines += ["", f"#### {CELLS[cell].title} ({vocabulary})", "", *_table(own, ours)]
    return lines


def _facts(record: Mapping[str, Any], ours: str) -> list[str]:
    machine, settings = record["machine"], record["settings"]
    few = " Fewer than three rounds: nothing is claimed from these." if settings["rounds"] < 3 else ""
    versions = [
        f"{name} {number}" for name, number in machine["versions"].items() if name not in (ours, BEFORE)
    ]
    level = settings.get("level")
    forced = f" {ours} uses instructions of {level} alone, the others what they choose." if level else ""
    return [
        f"Machine: {machine['cpus']} CPUs ({machine['cpu']}), {machine['system']}, {machine['python']}.",
        f"{ours} {machine['versions'].get(ours, '')} against {', '.join(versions)}.{forced}",
        f"Rounds: {settings['rounds']}. {_sizes(settings['sizes'])} Date: {record['date']}.{few}",
    ]


def _sizes(sizes: Mapping[str, int]) -> str:
    """Which cells had how much text."""
    cells: dict[int, list[str]] = {}
    for cell, size in sizes.items():
        cells.setdefault(size, []).append(f"`{cell}`")
    parts = [f"{size / 1e6:g} MB in {', '.join(names)}" for size, names in sorted(cells.items())]
    return f"Text: {'; '.join(parts)}."


def _summary(table: Sequence[Row]) -> list[str]:
    lines = ["| cell | vocabulary | figures | ratio: median | lowest | highest | best others |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: | --- |")
    for (vocabulary, cell), own in grouped(table).items():
        compared = [row for row in own if row.ratio is not None]
        if not compared:
            continue
        spread = Spread.of([row.ratio.median for row in compared if row.ratio is not None])
        best = ", ".join(dict.fromkeys(row.best for row in compared))
        lines.append(
            f"| {CELLS[cell].title} | {vocabulary} | {len(compared)}"
            f" | {spread.median:.2f} | {spread.lowest:.2f} | {spread.highest:.2f} | {best} |"
        )
    return lines


def _losses(table: Sequence[Row]) -> list[str]:
    lost = [row for row in table if row.ratio is not None and row.ratio.median < 1]
    if not lost:
        return ["In none of these figures."]
    lost.sort(key=lambda row: row.ratio.median if row.ratio is not None else 0)
    lines = ["| cell | vocabulary | text | figure | best other | ratio |"]
    lines.append("| --- | --- | --- | --- | --- | ---: |")
    for row in lost:
        place = f"{CELLS[row.cell].title} | {row.vocabulary} | {row.text} | {row.what}"
        lines.append(f"| {place} | {row.best} | {_ratio(row.ratio)} |")
    return lines


def _differences(verdicts: Sequence[Verdict]) -> list[str]:
    wrong = [verdict for verdict in verdicts if verdict.difference and verdict.peer != BEFORE]
    if not wrong:
        return ["Every library is exact in every text and form that was timed."]
    lines = []
    for peer, vocabulary in dict.fromkeys((verdict.peer, verdict.vocabulary) for verdict in wrong):
        own = [verdict for verdict in wrong if (verdict.peer, verdict.vocabulary) == (peer, vocabulary)]
        of_all = sum((verdict.peer, verdict.vocabulary) == (peer, vocabulary) for verdict in verdicts)
        lines.append(f"- {peer}, {vocabulary}: {len(own)} of {of_all}, against {own[0].reference}")
        lines += [f"  - {verdict.cell}, {verdict.text}: {why(verdict)}" for verdict in own[:MOST_DIFFERENCES]]
        if len(own) > MOST_DIFFERENCES:
            lines.append(f"  - and {len(own) - MOST_DIFFERENCES} more")
    return lines


def _table(own: Sequence[Row], ours: str) -> list[str]:
    peers = [peer for peer in columns(own, ours) if peer != BEFORE]
    lines = [
        f"| text | figure | {' | '.join(peers)} | ratio |",
        f"| --- | --- |{' ---: |' * len(peers)} --- |",
    ]
    most = max((spread.rounds for row in own for spread in row.reached.values()), default=1)
    for row in own:
        exact = [peer for peer in row.reached if peer not in row.not_exact and peer != BEFORE]
        best = max(exact, key=lambda peer: goodness(row.reached[peer].median, row.unit), default="")
        cells = []
        for peer in peers:
            spread = row.reached.get(peer)
            if spread is None:
                cells.append("error" if peer in row.errors else "–")
                continue
            figure = short(spread.median) + marks(row, peer) + ("†" if spread.rounds < most else "")
            cells.append(f"**{figure}**" if peer == best else figure)
        ratios = [f"{_ratio(row.ratio)} {row.best}"] if row.ratio is not None else []
        ratios += [f"{_ratio(spread)} own `{name}`" for name, spread in row.against.items()]
        lines.append(f"| {row.text} | {row.what}, {row.unit} | {' | '.join(cells)} | {'; '.join(ratios)} |")
    return lines


def _ratio(spread: Spread | None) -> str:
    if spread is None:
        return ""
    if spread.rounds == 1:
        return f"{spread.median:.2f}"
    return f"{spread.median:.2f} ({spread.lowest:.2f} to {spread.highest:.2f})"


def order(rows: Sequence[Row]) -> list[Row]:
    """By vocabulary and cell as the plan has them, whatever runs they come from."""
    vocabularies, cells = list(PLAN), list(CELLS)

    def key(row: Row) -> tuple[int, int]:
        known = row.vocabulary in vocabularies
        return (vocabularies.index(row.vocabulary) if known else len(vocabularies), cells.index(row.cell))

    return sorted(rows, key=key)
