"""The figures that come first: one row for each tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._table import shown

__all__ = ["HEADER", "figure", "findings", "percent", "summary_rows"]

HEADER = [
    "tokenizer",
    "vocab size",
    "bytes per token",
    "tokens per word",
    "byte tokens",
    "median premium",
    "Rényi efficiency",
    "never used",
]


def figure(value: float | None, places: int = 2) -> str:
    """A number for people; a dash where there is none."""
    return "–" if value is None else f"{value:,.{places}f}"


def percent(value: float | None) -> str:
    """A share for people."""
    return "–" if value is None else f"{100 * value:.1f} %"


def summary_rows(numbers: Mapping[str, Any]) -> list[list[str]]:
    """The cells below ``HEADER``."""
    rows = []
    for own in numbers["tokenizers"]:
        total, parity = own["total"], own["parity"]
        ordinary = own["ordinary_tokens"]
        rows.append(
            [
                shown(own["name"]),
                f"{own['vocab_size']:,}",
                figure(total["bytes_per_token"]),
                figure(total["tokens_per_word"]),
                percent(total["byte_token_rate"]),
                figure(parity and parity["median_premium"]),
                figure(own["renyi_efficiency"]),
                percent(own["never_used"] / ordinary if ordinary else None),
            ]
        )
    return rows


def findings(numbers: Mapping[str, Any]) -> list[str]:
    """What a reader would find first, in sentences; names in them are not yet escaped."""
    made = numbers["tokenizers"]
    said = []
    if len(made) > 1:
        ordered = sorted(made, key=lambda own: own["total"]["tokens"])
        best, worst = ordered[0], ordered[-1]
        if best["total"]["tokens"] < worst["total"]["tokens"]:
            less = 1 - best["total"]["tokens"] / worst["total"]["tokens"]
            said.append(
                f"{shown(best['name'])} spells all texts with the fewest tokens: {percent(less)} fewer than "
                f"{shown(worst['name'])}."
            )
        else:
            said.append("All tokenizers spell the texts with the same number of tokens.")
    with_parity = [own for own in made if own["parity"]]
    if with_parity:
        evenest = min(with_parity, key=lambda own: own["parity"]["gini"])
        if len(made) > 1:
            said.append(
                f"{shown(evenest['name'])} treats the languages most evenly: Gini coefficient "
                f"{figure(evenest['parity']['gini'])}."
            )
        for own in with_parity:
            parity = own["parity"]
            said.append(
                f"{shown(own['name'])}: {shown(parity['most_tokens'])} takes "
                f"{figure(parity['largest_over_smallest'], 1)} times the tokens of "
                f"{shown(parity['least_tokens'])} for the same content."
            )
    for own in made:
        unknown, tokens = own["total"]["unknown"], own["total"]["tokens"]
        if unknown:
            said.append(
                f"{shown(own['name'])} cannot spell everything: {percent(unknown / tokens)} of its tokens "
                "are the unknown token, so that its other figures look better than they are."
            )
    return said
