"""Counted pretokens: what they know, how they add up, and that one learns from them as from the texts."""

from __future__ import annotations

import copy
import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenmill
from tokenmill import PretokenCounts, TrainingError, count_pretokens, merge_counts, train
from tokenmill._counts.counting import PartialCounts, reading_options

WORDS = ["low", "lower", "lowest", "new", "newer", "newest", "wide", "wider", "widest", "мир", "мира", "漢字"]
WORDS += ["e\u0301t", "été", "123", "4567", "don't", "(a)", "_x_"]


def documents(count: int = 130) -> list[str]:
    """Texts of words, some of which hold special tokens, are empty or are there twice."""
    chance = random.Random(7)
    texts = [" ".join(chance.choices(WORDS, k=chance.randrange(0, 30))) for _ in range(count - 4)]
    return [*texts, "", "<s>", f"<s>{texts[0]}</s> longest words</s>", texts[1]]


TEXTS = documents()

MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # How texts are read, and what is learned.
    "bytes": ({"special_tokens": ["<s>", "</s>"]}, {"num_merges": 60}),
    "chars": (
        {"split": "gpt2", "normalizer": "NFC", "special_tokens": ["<s>"], "unk_token": "<unk>"},
        {"num_merges": 60, "alphabet": "chars", "end_of_word": "</w>", "end_of_word_form": "suffix"},
    ),
    "frequency": (
        {"model": "wordpiece", "unk_token": "[UNK]", "cls_token": "[C]", "reserved_tokens": 2},
        {"vocab_size": 90},
    ),
    "likelihood": (
        {"model": "wordpiece", "unk_token": "[UNK]", "lowercase": False, "strip_accents": True},
        {"vocab_size": 90, "score": "likelihood"},
    ),
    "sentencepiece": (
        {"model": "unigram", "special_tokens": ["<s>"], "split_digits": True, "user_defined_symbols": ["st"]},
        {"vocab_size": 60, "pad_vocab_to_multiple_of": 16},
    ),
    "tokenizers": (
        {"model": "unigram", "dialect": "tokenizers", "normalizer": "NFKC", "user_defined_symbols": ["</s>"]},
        {"vocab_size": 70},
    ),
}

ROLES = ("unk_token", "cls_token")


def learned(reading: dict[str, Any]) -> dict[str, Any]:
    """What has to be said again when counts are learned from: the model and the roles."""
    return {name: value for name, value in reading.items() if name in ("model", *ROLES)}


@pytest.mark.parametrize("parts", [1, 2, 7, 64])
@pytest.mark.parametrize("name", MODELS)
def test_learning_from_counts_in_any_order_is_learning_from_the_texts(name: str, parts: int) -> None:
    reading, learning = MODELS[name]
    whole = train(texts=TEXTS, **reading, **learning)
    counted = [count_pretokens(texts=TEXTS[i::parts], **reading) for i in range(parts)]
    random.Random(parts).shuffle(counted)
    tok = train(counts=counted, **learned(reading), **learning)
    assert tok == whole
    assert tok.vocab == whole.vocab
    report, expected = tok.training_report, whole.training_report
    assert report is not None
    assert expected is not None
    for figure in ("documents", "bytes", "pretokens", "distinct_pretokens", "merges", "stopped_early"):
        assert getattr(report, figure) == getattr(expected, figure), figure
    assert "count" not in report.phases
    assert "count" in expected.phases
    # Options that say what the counts say are no contradiction.
    assert train(counts=counted, **reading, **learning) == whole


def test_counts_are_those_of_a_counter() -> None:
    counts = count_pretokens(texts=TEXTS, split="whitespace", special_tokens=["<s>"])
    expected: dict[bytes, int] = {}
    explained = train(texts=["a"], num_merges=0, split="whitespace", special_tokens=["<s>"])
    for text in TEXTS:
        for segment in explained.explain(text, special="parse").segments:
            for pretoken in getattr(segment, "pretokens", ()):  # a special token has none
                key = pretoken.text.encode()
                expected[key] = expected.get(key, 0) + 1
    assert dict(counts.items()) == expected
    assert [pretoken for pretoken, _ in counts.items()] == sorted(expected)
    assert len(counts) == len(expected)
    assert counts.total == counts.pretokens == sum(expected.values())


def test_items_come_one_after_the_other_however_many_there_are() -> None:
    texts = [f"{i:05}" for i in range(3_000)]
    counts = count_pretokens(texts=texts, split="none")
    items = counts.items()
    assert next(items) == (b"00000", 1)
    assert [pretoken.decode() for pretoken, _ in items] == texts[1:]


def test_they_know_what_they_are_of(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"low\xff low\nlower\n")
    counts = count_pretokens(
        tmp_path / "a.txt", documents="lines", errors="replace", normalizer="NFC", special_tokens=["<s>"]
    )
    assert (counts.documents, counts.bytes, counts.pretokens) == (2, 15, 4)
    assert (counts.skipped, counts.replaced, counts.errors) == (0, 1, "replace")
    assert (counts.normalizer, counts.split, counts.special_tokens) == ("NFC", "cl100k", ["<s>"])
    assert counts.min_count is None
    facts = counts.facts
    assert json.loads(json.dumps(facts)) == facts
    assert (facts["format"], facts["version"], facts["documents"]) == ("tokenmill.pretoken_counts", 1, 2)
    facts["special_tokens"].append("<t>")
    assert counts.special_tokens == ["<s>"], "facts are a copy"
    assert count_pretokens(texts=["a"], model="unigram").split is None
    report = train(counts=counts, num_merges=1).training_report
    assert report is not None
    assert report.replaced == 1
    skipping = count_pretokens(texts=["a\ud800", "b"], errors="skip")
    assert (skipping.skipped, skipping.documents, list(skipping.items())) == (1, 1, [(b"b", 1)])


def test_they_are_values() -> None:
    counts = count_pretokens(texts=TEXTS)
    for same in (
        pickle.loads(pickle.dumps(counts)),
        copy.deepcopy(counts),
        count_pretokens(texts=TEXTS[::-1]),
    ):
        assert same == counts
    others: list[object] = [
        count_pretokens(texts=TEXTS[1:]),
        count_pretokens(texts=TEXTS, special_tokens=["never there"]),
        count_pretokens(texts=[*TEXTS, ""]),
        {},
    ]
    assert all(counts != other for other in others)
    assert repr(count_pretokens(texts=["a b", "b"], split="gpt2", min_count=1)) == (
        "PretokenCounts(distinct=3, pretokens=3, documents=2, split='gpt2')"
    )
    assert "dialect='sentencepiece', min_count=2" in repr(
        count_pretokens(texts=["a b", "b"], model="unigram", min_count=2)
    )
    with pytest.raises(TypeError, match="count_pretokens and merge_counts"):
        PretokenCounts()
    with pytest.raises(TypeError, match="unhashable"):
        hash(counts)


def test_a_sum_does_not_depend_on_order_or_grouping() -> None:
    parts = [count_pretokens(texts=TEXTS[i::5]) for i in range(5)]
    whole = count_pretokens(texts=TEXTS)
    assert merge_counts(iter(parts)) == whole
    assert merge_counts([merge_counts(parts[3:]), *parts[2::-1]]) == whole
    assert merge_counts([whole]) == whole
    # What is written in two ways comes out in one.
    named, spelled = [
        count_pretokens(texts=["a"], special_tokens=tokens, split=split)
        for tokens, split in ((["<s>", "<t>"], "llama3"), (["<t>", "<s>"], "cl100k"))
    ]
    assert merge_counts([named, spelled]) == merge_counts([spelled, named])


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        ({"split": "gpt2"}, {}, "split (counts 0: 'gpt2', counts 1: 'cl100k')"),
        ({"normalizer": "NFC"}, {}, "normalizer (counts 0: 'NFC', counts 1: 'none')"),
        ({"special_tokens": ["<s>"]}, {}, "special_tokens (only counts 0: '<s>')"),
        ({"errors": "skip"}, {}, "errors (counts 0: 'skip', counts 1: 'strict')"),
        ({"model": "unigram"}, {}, "dialect (counts 0: 'sentencepiece', counts 1: None)"),
        (
            {"model": "unigram", "split_digits": True},
            {"model": "unigram", "add_dummy_prefix": False},
            "split_digits (counts 0: True, counts 1: False); "
            "add_dummy_prefix (counts 0: True, counts 1: False)",
        ),
        (
            {"normalizer": "BertNormalizer", "lowercase": False},
            {"normalizer": "BertNormalizer"},
            "lowercase (counts 0: False, counts 1: True); strip_accents (counts 0: False, counts 1: True)",
        ),
    ],
)
def test_counts_that_were_read_in_another_way_show_the_difference(
    one: dict[str, Any], other: dict[str, Any], says: str
) -> None:
    counted = [count_pretokens(texts=["a"], **options) for options in (one, other)]
    for use in (merge_counts, lambda counts: train(counts=counts, num_merges=1)):
        with pytest.raises(TrainingError) as caught:
            use(counted)
        assert says in str(caught.value)


@pytest.mark.parametrize(
    ("counted", "asked", "says"),
    [
        ({}, {"split": "gpt2"}, "split (the counts: 'cl100k', asked for: 'gpt2')"),
        ({}, {"normalizer": "NFC"}, "normalizer (the counts: 'none', asked for: 'NFC')"),
        ({"special_tokens": ["<s>"]}, {"special_tokens": []}, "special_tokens (only the counts: '<s>')"),
        ({}, {"eos_token": "</s>"}, "special_tokens (only asked for: '</s>')"),
        ({}, {"reserved_tokens": 1}, "special_tokens (only asked for: '<|reserved_0|>')"),
        ({}, {"errors": "skip"}, "errors (the counts: 'strict', asked for: 'skip')"),
        ({"errors": "skip"}, {"errors": "replace"}, "errors (the counts: 'skip', asked for: 'replace')"),
        (
            {},
            {"model": "unigram", "dialect": "sentencepiece", "vocab_size": 30, "num_merges": None},
            "dialect (the counts: 'split cl100k', asked for: 'sentencepiece')",
        ),
        ({"model": "unigram"}, {}, "dialect (the counts: 'sentencepiece', asked for: 'bpe')"),
        (
            {"model": "unigram"},
            {"model": "unigram", "dialect": "tokenizers", "vocab_size": 30, "num_merges": None},
            "dialect (the counts: 'sentencepiece', asked for: 'tokenizers')",
        ),
        (
            {"model": "unigram"},
            {"model": "unigram", "split_digits": True, "vocab_size": 30, "num_merges": None},
            "split_digits (the counts: False, asked for: True)",
        ),
        (
            {"normalizer": "BertNormalizer"},
            {"lowercase": False},
            "lowercase (the counts: True, asked for: False)",
        ),
        ({}, {"tie_break": "first-seen"}, "first-seen needs the texts"),
        ({"split": "none"}, {"return_ids": True}, "return_ids: needs the text"),
        ({}, {"documents": "lines"}, 'documents="lines" is for files'),
        ({}, {"texts": ["a"]}, "give exactly one of files, texts and counts, not texts and counts"),
        ({}, {"files": "a"}, "not files and counts"),
    ],
)
def test_options_that_contradict_the_counts_are_refused(
    counted: dict[str, Any], asked: dict[str, Any], says: str
) -> None:
    counts = count_pretokens(texts=["a b"], **counted)
    with pytest.raises(TrainingError) as caught:
        train(counts=counts, **{"num_merges": 1, **asked})
    assert says in str(caught.value)


def test_what_means_the_same_is_no_contradiction() -> None:
    counts = count_pretokens(texts=TEXTS, split="llama3", special_tokens=["<s>", "</s>"])
    assert train(counts=counts, num_merges=5).split == "llama3"
    tok = train(counts=counts, num_merges=5, split="cl100k", special_tokens=["</s>"], bos_token="<s>")
    assert tok == train(texts=TEXTS, num_merges=5, special_tokens=["</s>"], bos_token="<s>")
    # Another model may read in the same way.
    bert: dict[str, Any] = {
        "normalizer": "BertNormalizer",
        "split": "BertPreTokenizer",
        "special_tokens": ["[UNK]"],
    }
    counts = count_pretokens(texts=TEXTS, **bert)
    options: dict[str, Any] = {"model": "wordpiece", "unk_token": "[UNK]", "num_merges": 9}
    assert train(counts=counts, strip_accents=True, **options).vocab == train(texts=TEXTS, **options).vocab
    assert train(counts=counts, **options) == train(texts=TEXTS, **options)
    # Symbols that stand by themselves are cut out as special tokens are.
    counts = count_pretokens(texts=TEXTS, special_tokens=["<s>", "</s>"], split="Metaspace")
    unigram: dict[str, Any] = {"model": "unigram", "dialect": "tokenizers", "vocab_size": 60}
    symbols: dict[str, Any] = {"special_tokens": ["<s>"], "user_defined_symbols": ["</s>"]}
    assert train(counts=counts, **symbols, **unigram) == train(texts=TEXTS, **symbols, **unigram)


def test_rare_pretokens_are_dropped_from_the_whole_sum_alone() -> None:
    whole = count_pretokens(texts=TEXTS)
    frequent = count_pretokens(texts=TEXTS, min_count=20)
    expected = [(pretoken, count) for pretoken, count in whole.items() if count >= 20]
    assert 0 < len(expected) < len(whole)
    assert list(frequent.items()) == expected
    assert (frequent.min_count, frequent.pretokens, frequent.documents) == (20, whole.pretokens, len(TEXTS))
    assert frequent.total == sum(count for _, count in expected) < frequent.pretokens
    parts = [count_pretokens(texts=TEXTS[i::3]) for i in range(3)]
    assert merge_counts(parts, min_count=20) == frequent
    assert merge_counts([frequent], min_count=5) == frequent
    assert merge_counts([frequent], min_count=30) == merge_counts(parts, min_count=30)
    for many in ([frequent, parts[0]], [parts[0], frequent]):
        with pytest.raises(TrainingError, match=r"has lost what occurs less than 20 times \(min_count\)"):
            merge_counts(many)
    report = train(counts=frequent, num_merges=5).training_report
    assert report is not None
    assert (report.pretokens, report.distinct_pretokens) == (whole.pretokens, len(expected))


@pytest.mark.parametrize(
    ("min_count", "error"),
    [(0, TrainingError), (-1, TrainingError), (2**64, TrainingError), (True, TypeError), ("2", TypeError)],
)
def test_a_min_count_that_is_none_is_refused(min_count: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="min_count"):
        count_pretokens(texts=["a"], min_count=min_count)
    with pytest.raises(error, match="min_count"):
        merge_counts([count_pretokens(texts=["a"])], min_count=min_count)


def test_counts_are_exact_up_to_64_bits_and_an_error_beyond() -> None:
    large: dict[str, Any] = {"ab": 2**32 + 1, "cd": 2**63 + 5, "ef": np.uint64(3)}
    counts = count_pretokens(texts=large, split="none")
    assert list(counts.items()) == [(b"ab", 2**32 + 1), (b"cd", 2**63 + 5), (b"ef", 3)]
    assert counts.total == counts.documents == counts.pretokens == 2**63 + 2**32 + 9
    other = count_pretokens(texts={"cd": 2**63 - 6}, split="none")
    both = merge_counts([counts, other])
    assert dict(both.items())[b"cd"] == 2**64 - 1
    assert both.total == 2**64 + 2**32 + 3
    assert both.pretokens == 2**64 - 1, "a figure stays at the largest number"
    for many in ([both, other], [other, both], [other, counts, other]):
        with pytest.raises(TrainingError, match=r"the pretoken \"cd\" occurs more than 2\^64 - 1 times"):
            merge_counts(many)
    with pytest.raises(TrainingError, match=r"the pretoken \"ab\" occurs more than 2\^64 - 1 times"):
        count_pretokens(texts={"ab1ab": 2**63})
    # Learning counts pairs exactly, too, and says where it cannot.
    small = count_pretokens(texts={"ab": 2**62, "cd": 2**32 + 1}, split="none")
    report = train(counts=small, num_merges=2).training_report
    assert report is not None
    assert report.merges == [(b"a", b"b", 2**62), (b"c", b"d", 2**32 + 1)]
    with pytest.raises(TrainingError, match=r"a count passes 2\^64 - 1"):
        train(counts=counts, num_merges=2)


def test_arguments_of_other_types_are_named() -> None:
    counts = count_pretokens(texts=["a"])
    with pytest.raises(TypeError, match=r"many\[1\] must be PretokenCounts or a path, not int"):
        merge_counts([counts, 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="many must be an iterable of counts"):
        merge_counts(counts)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="counts must be PretokenCounts, a path or a list of these, not dict"):
        train(counts={"a": 3}, num_merges=1)  # type: ignore[call-overload]
    with pytest.raises(TrainingError, match="there are no counts to put together"):
        merge_counts([])
    with pytest.raises(TrainingError, match="there are no counts to put together"):
        train(counts=[], num_merges=1)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "neither"),
        ({"files": "a", "texts": ["a"]}, "both"),
        ({"texts": "a"}, "pass a list"),
        ({"texts": ["a"], "documents": "lines"}, "is for files"),
        ({"texts": ["a"], "special_tokens": "<s>"}, "pass a list"),
        ({"texts": ["a"], "special_tokens": {"<s>": 1}}, "pass a list"),
        ({"texts": ["a"], "split_digits": True}, 'is for dialect="sentencepiece"'),
        ({"texts": ["a"], "dialect": "tokenizers"}, 'is for model="unigram"'),
        ({"texts": ["a"], "lowercase": True}, 'is for normalizer="BertNormalizer"'),
        ({"texts": ["a"], "model": "wordpiece"}, "needs an unknown token"),
        ({"texts": ["a"], "special_tokens": ["<s>", "<s>"]}, "twice"),
    ]
    for arguments, says in wrong:
        with pytest.raises(TrainingError, match=says):
            count_pretokens(**arguments)


def test_nothing_counted_is_nothing_learned() -> None:
    nothing = count_pretokens(texts=[])
    assert (len(nothing), nothing.total, list(nothing.items())) == (0, 0, [])
    assert merge_counts([nothing, count_pretokens(texts=TEXTS)]) == count_pretokens(texts=TEXTS)
    assert train(counts=nothing, num_merges=3) == train(texts=[], num_merges=3)


def test_a_worker_counts_its_part_batch_by_batch() -> None:
    options = pickle.loads(pickle.dumps(reading_options(special_tokens=["<s>"], split="gpt2")))
    worker = PartialCounts(options)
    assert worker.result() == count_pretokens(texts=[], special_tokens=["<s>"], split="gpt2")
    for start in range(0, len(TEXTS), 10):
        worker.feed(TEXTS[start : start + 10])
    assert worker.result() == count_pretokens(texts=TEXTS, special_tokens=["<s>"], split="gpt2")
    with pytest.raises(TypeError, match="tie_break"):
        reading_options(tie_break="huggingface")


def test_progress_and_threads() -> None:
    calls: list[tuple[str, int, int]] = []
    texts = TEXTS * 200
    counts = count_pretokens(texts=texts, num_threads=1, progress=lambda *call: calls.append(call))
    assert {phase for phase, _, _ in calls} == {"count"}
    assert counts == count_pretokens(texts=texts, num_threads=3)
    train(counts=counts, num_merges=5, progress=lambda *call: calls.append(call))
    assert "merge" in {phase for phase, _, _ in calls}


def test_the_names_are_in_the_package() -> None:
    assert {"PretokenCounts", "count_pretokens", "merge_counts"} <= set(tokenmill.__all__)
    assert tokenmill.pretoken_counts.merge_counts is merge_counts
