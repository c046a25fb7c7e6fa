"""`embedding_plan`: what a model's matrix needs for a tokenizer."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tokenmill


@pytest.fixture(scope="module")
def tok() -> tokenmill.Tokenizer:
    return tokenmill.train(texts=["low lower"] * 3, num_merges=4, special_tokens=["<s>"])


def test_a_matrix_that_is_large_enough_needs_nothing(tok: tokenmill.Tokenizer) -> None:
    plan = tok.embedding_plan(320)
    assert plan.fits
    assert plan.new == ()
    assert plan.out_of_range == ()
    assert (plan.rows, plan.needed, plan.new_rows) == (320, 261, 320)
    assert plan.padding == (261, 320)
    assert plan.unused == ()


def test_new_rows_begin_as_the_mean_of_what_their_text_was(tok: tokenmill.Tokenizer) -> None:
    more = tok.with_special_tokens(["lower<|end|>"])
    plan = more.embedding_plan(len(tok))
    (row,) = plan.new
    assert (row.id, row.token) == (261, "lower<|end|>")
    assert list(row.mean_of) == tok.encode("lower<|end|>")
    assert plan.out_of_range == (261,)
    assert not plan.fits
    assert plan.new_rows == 320


def test_ordinary_tokens_begin_as_the_longest_tokens_that_have_a_row(tok: tokenmill.Tokenizer) -> None:
    for rows in (200, 258, 259, 260):
        plan = tok.embedding_plan(rows)
        assert [row.id for row in plan.new] == list(range(rows, 261))
        for row in plan.new:
            parts = b"".join(tok.token_bytes(part) for part in row.mean_of)
            # A byte that has no row itself is made of nothing.
            assert parts == (tok.token_bytes(row.id) if row.mean_of else b"")
            assert all(part < rows for part in row.mean_of)
    last = tok.embedding_plan(260).new[0]
    assert tok.token_bytes(last.id) == b" lower"[: len(tok.token_bytes(last.id))]
    assert len(last.mean_of) == 2


def test_multiples_and_rows_that_are_never_taken_away(tok: tokenmill.Tokenizer) -> None:
    assert tok.embedding_plan(1_000, multiple_of=1).new_rows == 1_000
    assert tok.embedding_plan(1_000).new_rows == 1_024
    assert tok.embedding_plan(0, multiple_of=1).new_rows == 261


def test_ids_with_gaps() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    tok = tokenmill.Tokenizer.from_ranks(ranks, split="none", special_tokens={"<s>": 300})
    plan = tok.embedding_plan(300)
    assert plan.unused == ((256, 300),)
    assert plan.needed == 301
    assert plan.out_of_range == (300,)
    assert list(plan.new[0].mean_of) == list(b"<s>")


def test_a_table_and_data(tok: tokenmill.Tokenizer) -> None:
    plan = tok.with_special_tokens([f"<{number}>" for number in range(30)]).embedding_plan(261, tied=True)
    shown = str(plan)
    assert "30 ids have no row" in shown
    assert "a multiple of 64" in shown
    assert "and 10 more" in shown
    assert "<0>" in shown
    assert "the output matrix too" in shown
    data: dict[str, Any] = json.loads(json.dumps(plan.to_dict()))
    assert data["new_rows"] == 320
    assert data["new"][0]["mean_of"] == list(plan.new[0].mean_of)
    assert plan._repr_html_().startswith("<table")


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"rows": -1}, ValueError, "rows=-1 is below 0"),
        ({"rows": 1.0}, TypeError, "rows must be an integer, not float"),
        ({"rows": True}, TypeError, "rows must be an integer, not bool"),
        ({"rows": 1, "multiple_of": 0}, ValueError, "multiple_of=0 is below 1"),
    ],
)
def test_wrong_numbers(tok: tokenmill.Tokenizer, options: Any, error: type, match: str) -> None:
    with pytest.raises(error, match=match):
        tok.embedding_plan(**options)
