"""The page of a report: one document of HTML with its style, script and plots in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import plots
from .markup import bdi, cells, folded, key, legend, section, table
from .summary import HEADER, figure, findings, percent, summary_rows
from .tokens_page import merges_section, samples_section, used_section
from .vocabulary_page import curve_section, vocabulary_section

__all__ = ["page"]

_HERE = Path(__file__).parent
_SECTIONS = (
    ("summary", "Summary"),
    ("texts", "Texts"),
    ("vocabulary", "Vocabulary"),
    ("sizes", "Sizes"),
    ("used", "Used tokens"),
    ("samples", "Samples"),
    ("merges", "Merges"),
    ("terms", "Terms"),
)
_WORD = 20
"""Characters of a word, on average, above which texts have no white space between words."""
_HELP = {
    "bytes per token": "more is shorter text",
    "tokens per word": "fertility; less is shorter text",
    "byte tokens": "share of tokens that are part of a character",
    "median premium": "tokens over those of the reference",
    "Rényi efficiency": "how evenly the vocabulary is used",
    "never used": "share of the vocabulary",
}


def page(numbers: Mapping[str, Any]) -> str:
    """All of the page. Nothing in it is asked for from elsewhere, and nothing of a token is markup."""
    style = (_HERE / "style.css").read_text(encoding="utf-8")
    script = (_HERE / "script.js").read_text(encoding="utf-8")
    names = [own["name"] for own in numbers["tokenizers"]]
    links = "".join(f'<li><a href="#{id}">{title}</a></li>' for id, title in _SECTIONS)
    main = [
        _summary(numbers),
        _texts(numbers),
        vocabulary_section(numbers),
        curve_section(numbers),
        used_section(numbers),
        samples_section(numbers),
        merges_section(numbers),
        _terms(),
    ]
    title = "Tokenizer report"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # Nothing is fetched, even if something in the page asked for it.
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">",
            '<meta name="color-scheme" content="light dark">',
            '<link rel="icon" href="data:,">',
            f"<title>{title}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            '<a class="skip" href="#main">Skip to the report</a>',
            f"<header><h1>{title}</h1><p>{_head(numbers, names)}</p></header>",
            f'<nav aria-label="Sections"><ul>{links}</ul></nav>',
            f'<main id="main" tabindex="-1">{"".join(main)}</main>',
            f"<script>\n{script}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _head(numbers: Mapping[str, Any], names: list[str]) -> str:
    compared = f"{len(names)} tokenizers side by side" if len(names) > 1 else f"The tokenizer {bdi(names[0])}"
    total = numbers["tokenizers"][0]["total"]
    return (
        f"{compared}, on {numbers['texts']['source']}: "
        f"{total['bytes']:,} bytes, {total['characters']:,} characters, {total['texts']:,} texts."
    )


# ---- summary ----------------------------------------------------------------------------------


def _summary(numbers: Mapping[str, Any]) -> str:
    said = "".join(f"<li>{bdi(sentence)}</li>" for sentence in findings(numbers))
    rows = summary_rows(numbers)
    best = _best(numbers)
    body = []
    for place, row in enumerate(rows):
        first = f"{key(place)}{bdi(row[0])}"
        marked = [
            f'<strong title="the best">{cell}</strong>' if best.get(column) == place else cell
            for column, cell in enumerate(row)
        ]
        body.append([first, *marked[1:]])
    head = [_headed(name) for name in HEADER]
    marks = "<p class=note>Bold: the best of a column.</p>" if best else ""
    return section(
        "summary",
        "Summary",
        f'<ul class="findings">{said}</ul>' * bool(said) + table("Summary", head, body) + marks,
    )


def _headed(name: str) -> str:
    title = name[0].upper() + name[1:]
    return f"{title}<small>{_HELP[name]}</small>" if name in _HELP else title


def _best(numbers: Mapping[str, Any]) -> dict[int, int]:
    """The row that is best by column; none where there is only one, or where the best are equal."""
    made = numbers["tokenizers"]
    if len(made) < 2:
        return {}
    values: dict[int, list[float | None]] = {
        2: [own["total"]["bytes_per_token"] for own in made],
        3: [_negative(own["total"]["tokens_per_word"]) for own in made],
        4: [_negative(own["total"]["byte_token_rate"]) for own in made],
        5: [_negative(own["parity"] and own["parity"]["median_premium"]) for own in made],
        6: [own["renyi_efficiency"] for own in made],
    }
    best = {}
    for column, own in values.items():
        known = [value for value in own if value is not None]
        if len(known) == len(own) and known.count(max(known)) == 1:
            best[column] = own.index(max(known))
    return best


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


# ---- texts ------------------------------------------------------------------------------------


def _texts(numbers: Mapping[str, Any]) -> str:
    made = numbers["tokenizers"]
    parallel = numbers["texts"]["parallel"]
    others = [name for name in numbers["texts"]["names"] if name not in parallel]
    parts = [legend([own["name"] for own in made])]
    if parallel:
        parts.append(_plots(numbers, parallel, "by language" if len(parallel) > 12 else "by name"))
        parts.append(_parity(numbers))
    if others:
        title = "Domains" if parallel else "By name"
        parts.append(f"<h3>{title}</h3>")
        parts.append(_plots(numbers, others, "of domains" if parallel else "by name"))
    parts.append(folded("All figures as tables", "".join(_tables(numbers))))
    return section("texts", "Languages and domains" if parallel else "Texts", "".join(parts))


def _plots(numbers: Mapping[str, Any], names: list[str], said: str) -> str:
    """The same rows several times, each time by another measure."""
    made = numbers["tokenizers"]
    measures = [
        ("premium", "Premium", f"tokens over those of {numbers['texts']['reference']}", 1.0),
        ("bytes_per_token", "Bytes per token", "bytes per token", None),
        ("tokens_per_word", "Fertility", "tokens per word", None),
        ("tokens_per_character", "Tokens per character", "tokens per character", None),
        ("byte_token_rate", "Byte tokens", "% of tokens", None),
    ]
    # In words that are whole sentences all other figures would be lost.
    unspaced = {row["name"] for row in made[0]["rows"] if row["characters"] > _WORD * row["words"]}
    drawn = []
    for measure, title, across, line in measures:
        by_name = [{row["name"]: row[measure] for row in own["rows"]} for own in made]
        scale = 100.0 if measure == "byte_token_rate" else 1.0
        plotted = [None if measure == "tokens_per_word" and name in unspaced else name for name in names]
        series = [[None if name is None else _times(own[name], scale) for name in plotted] for own in by_name]
        if all(value is None for own in series for value in own):
            continue
        svg = plots.dots(f"{title} {said}, the same figures as in the tables", names, series, across, line)
        drawn.append(f"<figure><figcaption>{title}</figcaption>{svg}</figure>")
    left_out = [name for name in names if name in unspaced]
    note = (
        "<p class=note>A word is a run of characters between white space. Where texts have none between "
        "words, there is no mark for fertility: "
        f"{', '.join(map(bdi, left_out))}. All figures are in the tables.</p>"
    )
    return f'<div class="plots">{"".join(drawn)}</div>' + note * bool(left_out)


def _times(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _parity(numbers: Mapping[str, Any]) -> str:
    head = [
        "Tokenizer",
        "Gini coefficient",
        "Most over fewest tokens",
        "Most tokens",
        "Fewest tokens",
        "Highest premium",
    ]
    rows = [
        [
            bdi(own["name"]),
            figure(own["parity"]["gini"], 3),
            figure(own["parity"]["largest_over_smallest"]),
            bdi(own["parity"]["most_tokens"]),
            bdi(own["parity"]["least_tokens"]),
            figure(own["parity"]["highest_premium"]),
        ]
        for own in numbers["tokenizers"]
        if own["parity"]
    ]
    if not rows:
        return ""
    note = "<p class=note>Of texts that say the same. A Gini coefficient of 0 means equally many tokens.</p>"
    return (
        "<h3>Parity between languages</h3>"
        + table("Parity between languages", head, rows, left=(0, 3, 4))
        + note
    )


def _tables(numbers: Mapping[str, Any]) -> Iterator[str]:
    made = numbers["tokenizers"]
    names = numbers["texts"]["names"]
    head = ["Texts", *(bdi(own["name"]) for own in made)]
    for title, measure, show in (
        ("Tokens", "tokens", lambda value: f"{value:,}"),
        ("Premium over the reference", "premium", figure),
        ("Bytes per token", "bytes_per_token", figure),
        ("Fertility: tokens per word", "tokens_per_word", figure),
        ("Fertility: tokens per character", "tokens_per_character", lambda value: figure(value, 3)),
        ("Byte tokens", "byte_token_rate", percent),
    ):
        if any(row[measure] is not None for own in made for row in own["rows"]):
            rows = [
                [bdi(name), *(show(own["rows"][place][measure]) for own in made)]
                for place, name in enumerate(names)
            ]
            yield f"<h3>{title}</h3>" + table(title, head, rows)
    lengths = [
        [bdi(name), *(cells(own["rows"][place]["text_lengths"]) for own in made)]
        for place, name in enumerate(names)
    ]
    yield "<h3>Tokens of a text: shortest, median, longest</h3>" + table("Tokens of a text", head, lengths)


# ---- terms ------------------------------------------------------------------------------------

_TERMS = (
    ("Bytes per token", "Bytes of the texts in UTF-8, divided by the number of tokens."),
    (
        "Fertility",
        "Tokens divided by words, or by characters. A word is a run of characters between white space.",
    ),
    (
        "Byte tokens",
        "Tokens that are no text alone, since they begin or end inside a character. A language with many of "
        "them is hardly known to the vocabulary.",
    ),
    (
        "Premium",
        "Tokens of a text, divided by the tokens of the same text in the reference language "
        "(Petrov et al., 2023). 2 means twice the cost, and half the context.",
    ),
    (
        "Gini coefficient",
        "Of the numbers of tokens that the languages take for the same content: 0 where all are equal.",
    ),
    (
        "Rényi efficiency",
        "The Rényi entropy of the tokens, of order 2.5, divided by the logarithm of the vocabulary's size "
        "(Zouhar et al., 2023). 1 would be a vocabulary of which every token is used equally often.",
    ),
    (
        "Never used",
        "Entries of the vocabulary that are in none of these texts, special tokens left out. Small texts use "
        "few tokens: compare tokenizers, and do not read it as waste.",
    ),
)


def _terms() -> str:
    listed = "".join(f"<dt>{term}</dt><dd>{meaning}</dd>" for term, meaning in _TERMS)
    return section("terms", "What the terms mean", f"<dl>{listed}</dl>")
