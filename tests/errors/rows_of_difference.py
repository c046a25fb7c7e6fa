"""Rows: what `diff` cannot use."""

from __future__ import annotations

from typing import Any

from errors.making import Row, Run, rows, with_tok


def compare(b: Any = None, **options: Any) -> Run:
    """Compare a tokenizer with itself, or with something else."""

    def run(tok: Any, _: object) -> object:
        import tokenmill

        return tokenmill.diff(tok, tok if b is None else b, **options)

    return with_tok(run)


DIFFERENCE: list[Row] = [
    *rows(
        TypeError,
        ("a path to compare with", compare("tok.json"), "b must be a Tokenizer, not str"),
        ("bytes to search", compare(texts=b"low"), "texts must be a str or an iterable of str, not bytes"),
        ("a number to search", compare(texts=5), "texts must be a str or an iterable of str, not int"),
        ("a number among texts to search", compare(texts=["a", 5]), "texts[1] must be str, not int"),
    ),
]
