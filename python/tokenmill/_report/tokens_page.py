"""The sections that show tokens: used and unused ones, samples, merges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .._table import visible
from .markup import bdi, folded, key, section, table, token
from .summary import percent

__all__ = ["merges_section", "samples_section", "used_section"]

_COLOURS = 5
"""Of neighbouring tokens."""
_HOW = {
    "whole": "is a token as it stands",
    "long": "has too many symbols to list its merges",
    "wordpiece": "takes the longest token first, again and again",
    "wordlevel": "is looked up as a whole",
    "unigram": "takes the most probable row of tokens",
    "added": "is an added token",
}


# ---- used tokens ------------------------------------------------------------------------------


def used_section(numbers: Mapping[str, Any]) -> str:
    """The tokens that the texts use most, and the longest of those that they never use."""
    parts = []
    for number, own in enumerate(numbers["tokenizers"]):
        most = [
            [token(row["token"]), f"{row['id']}", f"{row['count']:,}", percent(row["share"])]
            for row in own["most_used"]
        ]
        never = [
            [token(row["token"]), f"{row['id']}", f"{row['bytes']}"] for row in own["never_used_longest"]
        ]
        name = visible(own["name"])
        ordinary = own["ordinary_tokens"]
        share = percent(own["never_used"] / ordinary if ordinary else None)
        said = f"<p>{own['never_used']:,} of {ordinary:,} tokens ({share}) are in none of the texts.</p>"
        body = '<div class="pair">'
        if most:
            body += "<div><h4>Most used</h4>"
            body += table(f"Most used tokens of {name}", ["Token", "Id", "Count", "Share"], most) + "</div>"
        if never:
            body += "<div><h4>Never used, the longest</h4>"
            body += table(f"Tokens of {name} that are never used", ["Token", "Id", "Bytes"], never) + "</div>"
        body += "</div>"
        parts.append(
            f"<article><h3>{key(number)}{bdi(own['name'])}</h3>{said}{folded('Tokens', body)}</article>"
        )
    return section("used", "Most used and never used tokens", f'<div class="side">{"".join(parts)}</div>')


# ---- samples ----------------------------------------------------------------------------------


def samples_section(numbers: Mapping[str, Any]) -> str:
    """Texts with their tokens in colour; the script says what the one is that is pointed at."""
    names = [own["name"] for own in numbers["tokenizers"]]
    help_text = (
        "<p>Each coloured part is a token; point at one for its id, or reach a text with Tab and go from "
        "token to token with the arrow keys. Parts of a character are shown as their bytes.</p>"
    )
    parts = [_sample(sample, names) for sample in numbers["samples"]]
    return section("samples", "Samples", help_text + "".join(parts))


def _sample(sample: Mapping[str, Any], names: Sequence[str]) -> str:
    title = bdi(sample["title"])
    direction = ' dir="rtl"' if sample["right_to_left"] else ""
    parts = []
    for number, (name, tokens) in enumerate(zip(names, sample["tokens"], strict=True)):
        spans = "".join(_token(at, own, sample["text"]) for at, own in enumerate(tokens))
        label = escape(f"{visible(sample['title'])} by {visible(name)}, {len(tokens)} tokens")
        ids = " ".join(str(own["id"]) for own in tokens)
        parts.append(
            f"<div class=one><h4>{key(number)}{bdi(name)} <small>{len(tokens):,} tokens</small></h4>"
            f'<div class="sample" tabindex="0" role="group" aria-label="{label}"{direction}>{spans}</div>'
            f'<p class="said" aria-live="polite"></p>'
            f"{folded('Ids', f'<p class=ids>{ids}</p>')}</div>"
        )
    return f'<article><h3>{title}</h3><div class="side">{"".join(parts)}</div></article>'


def _token(at: int, own: Mapping[str, Any], text: str) -> str:
    title = f"id {own['id']} · bytes {own['bytes']} · characters {own['start']}–{own['stop']}"
    # Bytes of a part of a character, or escapes, which are no letters of the text.
    kind = " x" * (own["shown"] != text[own["start"] : own["stop"]])
    ends_line = "<br>" * ("\n" in text[own["start"] : own["stop"]])
    return f'<bdi class="t t{at % _COLOURS}{kind}" title="{title}">{escape(own["shown"])}</bdi>{ends_line}'


# ---- merges -----------------------------------------------------------------------------------


def merges_section(numbers: Mapping[str, Any]) -> str:
    """Words merge by merge; the script shows the chosen one, up to a chosen step."""
    words = numbers["words"]
    if not words:
        return section("merges", "Merges step by step", "<p>No words were chosen.</p>")
    options = "".join(
        # At the ends of an option spaces are dropped.
        f'<option value="{place}">{escape(_ends_seen(visible(word)))}</option>'
        for place, word in enumerate(words)
    )
    chooser = (
        '<p class="chooser" hidden><label>Word <select id="word">' + options + "</select></label> "
        '<label>Steps shown <input id="step" type="range" min="0" value="0"></label> '
        '<output id="step-said" for="step"></output></p>'
    )
    made = numbers["tokenizers"]
    shown = "".join(
        f'<article class="word" data-word="{place}"><h3>{token(word)}</h3><div class="side">'
        + "".join(
            f"<div class=one><h4>{key(number)}{bdi(own['name'])}</h4>{_word(own['words'][place], word)}</div>"
            for number, own in enumerate(made)
        )
        + "</div></article>"
        for place, word in enumerate(words)
    )
    intro = (
        "<p>Byte-pair encoding begins with bytes or characters, and merges the pair with the lowest rank "
        "until no pair of neighbours is a merge.</p>"
    )
    return section("merges", "Merges step by step", intro + chooser + shown)


def _ends_seen(word: str) -> str:
    start = len(word) - len(word.lstrip(" "))
    stop = len(word.rstrip(" "))
    return "␣" * start + word[start:stop] + "␣" * (len(word) - max(start, stop))


def _word(pretokens: Sequence[Mapping[str, Any]], word: str) -> str:
    if not pretokens:
        return f"<p>{token(word)} has no pretokens.</p>"
    return "".join(map(_pretoken, pretokens))


def _pretoken(own: Mapping[str, Any]) -> str:
    parts = []
    if own["how"] in _HOW:
        parts.append(f"<p>{token(own['text'])} {_HOW[own['how']]}.</p>")
    if own["steps"]:
        rows = "".join(f"<li>{_step(step)}</li>" for step in own["steps"])
        parts.append(f'<ol class="steps" start="0">{rows}</ol>')
    chips = " ".join(
        f'<span class="chip">{token(part["shown"])} <small>{part["id"]}</small></span>'
        for part in own["tokens"]
    )
    return f'{"".join(parts)}<p class="result">Tokens: {chips}</p>'


def _step(step: Mapping[str, Any]) -> str:
    symbols = "".join(
        f'<bdi class="symbol{" merged" * (place == step["merged"])}">{escape(visible(symbol))}</bdi>'
        for place, symbol in enumerate(step["symbols"])
    )
    rank = "" if step["rank"] is None else f" <small>rank {step['rank']:,}</small>"
    return symbols + rank
