"""Vocabularies of several sizes compared: the figures are those of encoding, and of training to each size."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
import tokenmill
from tokenmill import VocabSizes, compare_vocab_sizes
from tokenmill._line_plot import _SPACING, _apart, _ticks

TRAINING = ["the miller mills the meal", "meal and mill", "the mill", "müde Müller mahlen Mehl"] * 5
TEXTS = {"en": ["the meal mill", "a  mealy\nmiller"], "de": "Müller mahlen müde", "zh": "磨坊主磨面粉"}
SIZES = [262, 258, 270]


@pytest.fixture(scope="module")
def tok(native: Any) -> tokenmill.Tokenizer:
    return tokenmill.train(texts=TRAINING, vocab_size=270)


@pytest.fixture(scope="module")
def sizes(tok: tokenmill.Tokenizer) -> VocabSizes:
    return compare_vocab_sizes(tok, TEXTS, SIZES)


def trained(size: int) -> tokenmill.Tokenizer:
    return tokenmill.train(texts=TRAINING, vocab_size=size)


# ---- figures ----------------------------------------------------------------------------------


def test_figures_are_those_of_a_tokenizer_of_that_size(sizes: VocabSizes) -> None:
    assert (sizes.names, sizes.sizes) == (("en", "de", "zh"), (258, 262, 270))
    assert [(row.name, row.size) for row in sizes] == [(n, s) for n in TEXTS for s in sorted(SIZES)]
    assert len(sizes) == 9
    for row in sizes:
        texts = TEXTS[row.name]
        texts = [texts] if isinstance(texts, str) else texts
        tok = trained(row.size)
        assert row.vocab_size == row.size == tok.vocab_size
        assert row.tokens == sum(len(tok.encode(text)) for text in texts)
        assert row.bytes == sum(len(text.encode()) for text in texts)
        assert row.characters == sum(len(text) for text in texts)
        assert row.words == sum(len(text.split()) for text in texts)
        assert row.bytes_per_token == row.bytes / row.tokens
        assert row.fertility == row.tokens / row.words
        assert row.tokens_per_character == row.tokens / row.characters
        assert sizes[row.name, row.size] is row
    with pytest.raises(KeyError):
        sizes["fr", 258]


def test_a_prefix_of_the_merges_is_what_training_gives(sizes: VocabSizes) -> None:
    assert compare_vocab_sizes(None, TEXTS, SIZES, train=trained) == sizes


def test_texts_are_a_mapping_a_list_a_text_or_an_iterator(tok: tokenmill.Tokenizer) -> None:
    texts = ["the mill", "", "meal"]
    want = compare_vocab_sizes(tok, {"texts": texts}, [260])
    assert want.names == ("texts",)
    assert compare_vocab_sizes(tok, texts, (260,)) == want
    assert compare_vocab_sizes(tok, iter(texts), iter([260, 260])) == want
    assert compare_vocab_sizes(tok, {"texts": (text for text in texts)}, [260]) == want
    assert compare_vocab_sizes(tok, "the mill", [260]).rows[0].words == 2


def test_numbers_of_numpy_are_sizes_too(tok: tokenmill.Tokenizer) -> None:
    import numpy as np

    found = compare_vocab_sizes(tok, "mill", np.array([260, 258]))
    assert found.sizes == (258, 260)
    assert json.loads(json.dumps(found.to_dict()))["sizes"] == [258, 260]


@pytest.mark.parametrize(
    ("options", "sizes"),
    [({"model": "unigram"}, [24, 26]), ({"model": "wordpiece", "unk_token": "[UNK]"}, [45, 47])],
    ids=["unigram", "wordpiece"],
)
def test_models_without_merges_are_trained_anew(native: Any, options: Any, sizes: list[int]) -> None:
    made: list[tokenmill.Tokenizer] = []

    def train(size: int) -> tokenmill.Tokenizer:
        made.append(tokenmill.train(texts=TRAINING, vocab_size=size, **options))
        return made[-1]

    found = compare_vocab_sizes(None, TEXTS, reversed(sizes), train=train)
    assert [tok.vocab_size for tok in made] == sizes
    for tok in made:
        row = found["zh", tok.vocab_size]
        ids = tok.encode(str(TEXTS["zh"]))
        assert (row.tokens, row.unknown) == (len(ids), ids.count(tok.unk_token_id or 0))
        assert row.unknown > 0
    share = max(row.unknown / row.tokens for row in found if row.name == "zh")
    assert f"\nzh: up to {100 * share:.1f} % of the tokens are the unknown token." in str(found)


def test_training_that_stops_early_is_told(native: Any) -> None:
    found = compare_vocab_sizes(None, "mill", [260, 9999], train=trained)
    size = found["texts", 9999].vocab_size
    assert 260 < size < 9999
    assert str(found).endswith(f"\n\n9,999 were asked for, and the vocabulary has {size}.")
    assert f"<p>9,999 were asked for, and the vocabulary has {size}.</p>" in found._repr_html_()


def test_text_of_nothing_but_space_has_no_words(tok: tokenmill.Tokenizer) -> None:
    (row,) = compare_vocab_sizes(tok, "  \n", [260])
    assert (row.words, row.fertility) == (0, None)
    found = compare_vocab_sizes(tok, {"en": "mill", "none": "  "}, [260])
    assert found.table("fertility").splitlines()[2].split() == ["none", "-"]
    assert ElementTree.fromstring(found.to_svg("fertility")).tag.endswith("svg")


def test_text_that_a_normalizer_leaves_nothing_of_has_no_tokens(native: Any) -> None:
    tok = tokenmill.train(texts=TRAINING, model="unigram", vocab_size=50)
    (row,) = compare_vocab_sizes(None, "  ", [50], train=lambda _: tok)
    assert (row.tokens, row.bytes_per_token) == (0, None)


def test_progress_is_told_by_size(tok: tokenmill.Tokenizer) -> None:
    told: list[tuple[str, int, int]] = []
    compare_vocab_sizes(tok, "mill", SIZES, progress=lambda *step: told.append(step))
    assert told == [("sizes", done, 3) for done in range(4)]


@pytest.mark.parametrize("threads", [1, 2, None])
def test_threads_change_nothing(tok: tokenmill.Tokenizer, sizes: VocabSizes, threads: int | None) -> None:
    assert compare_vocab_sizes(tok, TEXTS, SIZES, num_threads=threads) == sizes


# ---- what is shown ----------------------------------------------------------------------------


def test_tables(sizes: VocabSizes) -> None:
    lines = sizes.table().splitlines()
    assert str(sizes) == sizes.table("bytes_per_token")
    assert lines[0].split() == ["bytes", "per", "token", "258", "262", "270"]
    assert len({len(line) for line in lines}) == 1
    assert [line.split()[0] for line in lines[1:]] == ["en", "de", "zh"]
    assert lines[1].split()[1:] == [f"{sizes['en', size].bytes_per_token:.2f}" for size in sizes.sizes]
    assert sizes.table("tokens").splitlines()[3].split() == ["zh", "18", "18", "18"]
    markdown = sizes.table("tokens_per_character", markdown=True).splitlines()
    assert markdown[:2] == ["| tokens per character | 258 | 262 | 270 |", "| --- | ---: | ---: | ---: |"]
    assert markdown[4] == "| zh | 3.000 | 3.000 | 3.000 |"
    assert "<table>" in sizes._repr_html_()
    with pytest.raises(ValueError, match="none of bytes_per_token, fertility"):
        sizes.table("bytes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="measure='bytes'"):
        sizes.to_svg("bytes")  # type: ignore[arg-type]


def test_a_name_with_a_bar_or_a_line_end_keeps_the_table(tok: tokenmill.Tokenizer) -> None:
    found = compare_vocab_sizes(tok, {"a|b\nc": "mill"}, [260])
    assert len(found.table().splitlines()) == 2
    assert "a\\|b\\nc" in found.table(markdown=True)


def test_results_are_frozen_and_plain(sizes: VocabSizes) -> None:
    assert pickle.loads(pickle.dumps(sizes)) == sizes
    with pytest.raises(dataclasses.FrozenInstanceError):
        sizes.rows = ()  # type: ignore[misc]
    facts = json.loads(json.dumps(sizes.to_dict()))
    assert facts["names"] == ["en", "de", "zh"]
    assert facts["sizes"] == [258, 262, 270]
    assert facts["rows"][0] == sizes.rows[0].to_dict()
    assert facts["rows"][0]["bytes_per_token"] == sizes.rows[0].bytes_per_token


# ---- the plot ---------------------------------------------------------------------------------


def test_the_plot_has_a_line_for_each_name(sizes: VocabSizes) -> None:
    svg = sizes.to_svg()
    assert svg == sizes.to_svg("bytes_per_token")
    tree = ElementTree.fromstring(svg)
    space = {"s": "http://www.w3.org/2000/svg"}
    texts = [element.text for element in tree.iterfind("s:text", space)]
    assert texts[0] == "Bytes per token"
    assert {"vocabulary size", "258", "262", "270", *TEXTS} <= {*texts}
    assert len(tree.findall("s:circle", space)) == len(sizes)
    assert sizes.to_svg("fertility") != svg


def test_higher_values_are_drawn_higher(sizes: VocabSizes) -> None:
    circles = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', sizes.to_svg("fertility"))
    drawn = [(float(x), -float(y)) for x, y in circles]
    by_value = sorted(range(len(drawn)), key=lambda at: sizes.rows[at].fertility or 0)
    assert [drawn[at][1] for at in by_value] == sorted(y for _, y in drawn)
    assert [x for x, _ in drawn[:3]] == sorted(x for x, _ in drawn[:3])


def test_names_that_xml_cannot_hold_are_escaped(tok: tokenmill.Tokenizer) -> None:
    names = ["<b>&\"'", "\0\x1b", "\ud800", "x" * 500, "中文", ""]
    found = compare_vocab_sizes(tok, dict.fromkeys(names, "mill"), [260])
    svg = found.to_svg()
    ElementTree.fromstring(svg)
    svg.encode()
    assert max(map(len, svg.splitlines())) < 300


def test_as_many_lines_as_there_are_names(tok: tokenmill.Tokenizer) -> None:
    names = [f"name {number}" for number in range(120)]
    svg = compare_vocab_sizes(tok, dict.fromkeys(names, "the mill"), SIZES).to_svg()
    labels = [float(y) for y in re.findall(r'y="([\d.]+)"[^>]*>name', svg)]
    assert len(labels) == len(names)
    assert min(after - before for before, after in pairwise(labels)) >= _SPACING - 0.11
    height = float(re.findall(r'height="(\d+)"', svg)[0])
    assert 0 < min(labels) < max(labels) < height


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ([], []),
        ([100.0], [100.0]),
        ([100.0, 200.0], [100.0, 200.0]),
        ([100.0, 100.0], [92.5, 107.5]),
        ([100.0, 105.0, 200.0], [95.0, 110.0, 200.0]),
        ([100.0, 100.0, 115.0], [90.0, 105.0, 120.0]),
        ([0.0], [40.0]),
        ([400.0, 400.0], [285.0, 300.0]),
    ],
)
def test_labels_move_apart_as_little_as_they_can(wanted: list[float], places: list[float]) -> None:
    assert _apart(wanted, 300.0) == pytest.approx(places)


@pytest.mark.parametrize(
    ("lowest", "highest"),
    [(1.2, 4.4), (3.0, 3.0), (0.0, 0.0), (0.25, 0.2501), (10, 89_000), (0.0, 1e-9), (2.0, 2.5)],
)
def test_ticks_are_few_and_hold_all_values(lowest: float, highest: float) -> None:
    ticks = _ticks(lowest, highest)
    assert 2 <= len(ticks) <= 9
    assert ticks == sorted(set(ticks))
    assert ticks[0] <= lowest + 1e-12
    assert highest <= ticks[-1] + 1e-12
