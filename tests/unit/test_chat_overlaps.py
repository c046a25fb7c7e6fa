"""Ranges of tokens by the lengths of tokens: those that offsets give, or none."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill.chat.overlaps import has_whole_offsets, ranges_of

TEXTS = [
    "",
    "low lower lowest",
    "é lower 語 🦊🦊 low",
    "\n low\t\tlower ",
    "e\u0301 low",
    "a\x00b",
    "lower" * 50,
]


@pytest.fixture(scope="module")
def tok() -> tokenmill.Tokenizer:
    return tokenmill.train(texts=["low lower lowest 語 é"] * 4, num_merges=20)


def spans_of(text: str, random: random.Random) -> list[tuple[int, int]]:
    cuts = sorted(random.sample(range(len(text) + 1), 2 * min(3, (len(text) + 1) // 2)))
    return list(zip(cuts[::2], cuts[1::2], strict=True))


def by_offsets(offsets: Any, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    ranges = []
    for start, stop in spans:
        inside = [at for at, (left, right) in enumerate(offsets) if max(left, start) < min(right, stop)]
        ranges.append((inside[0], inside[-1] + 1))
    return ranges


def test_ranges_are_those_of_the_offsets(tok: tokenmill.Tokenizer) -> None:
    chance = random.Random(3)
    compared = 0
    for _ in range(200):
        texts = chance.choices(TEXTS, k=4)
        spans = [spans_of(text, chance) for text in texts]
        found = ranges_of(tok, texts, tok.encode_batch(texts), spans)
        want = [
            by_offsets(tok.encode_with_offsets(text).offsets, of_text)
            for text, of_text in zip(texts, spans, strict=True)
        ]
        assert found == want
        compared += sum(map(len, want))
    assert compared > 1000


def test_one_long_batch_and_no_batch(tok: tokenmill.Tokenizer) -> None:
    assert ranges_of(tok, [], tok.encode_batch([]), []) == []
    assert ranges_of(tok, ["", ""], tok.encode_batch(["", ""]), [[], []]) == [[], []]


def test_tokens_that_are_not_the_text_have_no_ranges(tok: tokenmill.Tokenizer) -> None:
    others = tok.encode_batch(["low", "xyz"])
    assert ranges_of(tok, ["abc", "xy"], others, [[], []]) == [None, None]  # one is of the same length
    assert ranges_of(tok, ["low", "xyz"], others, [[], [(1, 2)]]) == [[], [(1, 2)]]
    assert ranges_of(tok, ["lo", "xy"], others, [[], []]) == [None, None]
    assert ranges_of(tok, ["low", "xyz"], others, [[], [(1, 2)]]) == [[], [(1, 2)]]


def test_only_the_text_that_a_normalizer_changed_has_no_ranges(tok: tokenmill.Tokenizer) -> None:
    """Whatever stands before and behind it, and however much longer or shorter its tokens are."""
    texts = ["low é", "e\u0301 low", "", "low", "é lower 語"]
    rows = tok.encode_batch(["low é", "é low", "", "low", "é lower 語"])
    spans: list[list[tuple[int, int]]] = [[(4, 5)], [(0, 2), (3, 6)], [], [(0, 3)], [(0, 1), (8, 9)]]
    alone = [
        ranges_of(tok, [text], tok.encode_batch([text]), [of_text])[0]
        for text, of_text in zip(texts, spans, strict=True)
    ]
    alone[1] = None
    assert ranges_of(tok, texts, rows, spans) == alone
    assert alone[4] is not None


def test_a_lone_surrogate_has_no_ranges(tok: tokenmill.Tokenizer) -> None:
    texts = ["low \ud800 low"]
    rows = tok.encode_batch(texts, surrogates="replace")
    assert ranges_of(tok, texts, rows, [[(0, 3)]]) == [None]


@pytest.mark.parametrize("trims", [False, True])
def test_labels_go_by_offsets_that_leave_out_white_space(
    tok: tokenmill.Tokenizer, tmp_path: Path, trims: bool
) -> None:
    saved = tmp_path / "tokenizer.json"
    tok.save(saved)
    facts = json.loads(saved.read_text())
    facts["post_processor"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": trims}
    saved.write_text(json.dumps(facts))
    trimming = tokenmill.load(saved)
    assert has_whole_offsets(trimming) != trims
    source = "{% for m in messages %}{{ m.role }}:{{ m.content }}low.{% endfor %}"
    chat = [{"role": "user", "content": "low"}, {"role": "assistant", "content": "low "}]
    encoding = trimming.with_chat_template(source).apply_chat_template(
        chat, return_labels=True, train_on="content"
    )
    at = encoding.text.index("low low")
    assert encoding["labels"].count(-100) == len(encoding["labels"]) - (1 if trims else 2)
    for (start, stop), label in zip(encoding.offsets.tolist(), encoding["labels"], strict=True):
        assert (label != -100) == (max(start, at) < min(stop, at + 4))
