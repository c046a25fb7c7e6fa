"""``tokenmill.count_pretokens``: texts into ``PretokenCounts``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from .. import _core
from .._progress import follower
from .._reading import BERT, SENTENCEPIECE, check_literals, facts_of, resolved
from .._train_inputs import SupportsArrow, check_rows, expand, misuse, weights
from ..pretoken_counts import PretokenCounts, check_min_count, without_rare
from .facts import CountedFacts
from .sums import NOTHING, PretokenSum, sum_of_figures

__all__ = ["PartialCounts", "count_pretokens", "reading_options"]


def count_pretokens(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    texts: Iterable[str] | Mapping[str, int] | SupportsArrow | None = None,
    field: str | None = None,
    column: str | None = None,
    model: Literal["bpe", "wordpiece", "unigram"] = "bpe",
    dialect: Literal["sentencepiece", "tokenizers"] | None = None,
    normalizer: Literal["NFC", "NFD", "NFKC", "NFKD", "BertNormalizer", "none"]
    | Literal["identity", "nfkc", "nfkc_cf", "nmt_nfkc", "nmt_nfkc_cf"]
    | None = None,
    lowercase: bool | None = None,
    strip_accents: bool | None = None,
    clean_text: bool | None = None,
    handle_chinese_chars: bool | None = None,
    split: str | None = None,
    split_by_unicode_script: bool | None = None,
    split_digits: bool | None = None,
    add_dummy_prefix: bool | None = None,
    remove_extra_whitespaces: bool | None = None,
    special_tokens: Sequence[str] | None = None,
    bos_token: str | None = None,
    eos_token: str | None = None,
    unk_token: str | None = None,
    sep_token: str | None = None,
    pad_token: str | None = None,
    cls_token: str | None = None,
    mask_token: str | None = None,
    user_defined_symbols: Sequence[str] | None = None,
    reserved_tokens: int = 0,
    documents: Literal["file", "lines"] = "file",
    errors: Literal["strict", "replace", "skip"] = "strict",
    min_count: int | None = None,
    num_threads: int | None = None,
    progress: bool | Callable[[str, int, int], object] | None = None,
) -> PretokenCounts:
    """Count the pretokens of texts, to train on the counts later: the first half of ``train``.

    ``train(counts=...)`` gives byte for byte the vocabulary that ``train`` gives from the texts, for every
    model. So a corpus can be counted in parts, on several machines, and for several vocabularies at once.

    All options are those of ``train``, with the same defaults: ``model`` and ``dialect`` choose these, and
    are no facts themselves (but for the SentencePiece dialect, which cuts texts in a way of its own):
    counts for byte-pair encoding serve WordPiece, if normalizer, split and special tokens are the same.
    Special tokens are cut out of the texts, so that all of them have to be known here.

    ``min_count`` drops pretokens that occur less often, when all are counted. What is learned then is no
    longer exact, and such counts cannot be summed with others. ``num_threads=None`` takes every core.

    Raises what ``train`` raises; ``TrainingError`` for a pretoken that occurs more than 2**64 - 1 times.

    >>> counts = tokenmill.count_pretokens(texts=["low lower lowest"] * 2)
    >>> tok = tokenmill.train(counts=counts, num_merges=2)
    >>> tok == tokenmill.train(texts=["low lower lowest"] * 2, num_merges=2)
    True
    """
    if (files is None) == (texts is None):
        raise misuse(f"give exactly one of files and texts, not {'both' if texts is not None else 'neither'}")
    if isinstance(texts, str | bytes):
        raise misuse("texts is a single string, whose characters would be the documents: pass a list")
    if texts is not None and documents == "lines":
        raise misuse('documents="lines" is for files; each of the texts is a document')
    check_rows(files, texts, field, column)
    check_min_count(min_count)
    options = reading_options(
        model=model,
        dialect=dialect,
        normalizer=normalizer,
        lowercase=lowercase,
        strip_accents=strip_accents,
        clean_text=clean_text,
        handle_chinese_chars=handle_chinese_chars,
        split=split,
        split_by_unicode_script=split_by_unicode_script,
        split_digits=split_digits,
        add_dummy_prefix=add_dummy_prefix,
        remove_extra_whitespaces=remove_extra_whitespaces,
        special_tokens=special_tokens,
        bos_token=bos_token,
        eos_token=eos_token,
        unk_token=unk_token,
        sep_token=sep_token,
        pad_token=pad_token,
        cls_token=cls_token,
        mask_token=mask_token,
        user_defined_symbols=user_defined_symbols,
        reserved_tokens=reserved_tokens,
        documents=documents,
        errors=errors,
        num_threads=num_threads,
    )
    facts = facts_of(options)
    options["column"] = column
    with follower(progress) as follow:
        if isinstance(texts, Mapping):
            table, figures = _core.count_texts(list(texts), options, follow, weights(texts))
        elif texts is not None:
            table, figures = _core.count_texts(texts, options, follow)
        else:
            assert files is not None
            table, figures = _core.count_files(expand(files, field=field, column=column), options, follow)
    return PretokenCounts._of(*without_rare(table, CountedFacts(facts, None, figures), min_count))


def reading_options(**reading: Any) -> dict[str, Any]:
    """What the core needs to count: the options of ``count_pretokens`` about how texts are read.

    It can be pickled. Options that are not given are as there. Raises ``TrainingError`` for those that
    contradict each other.
    """
    options: dict[str, Any] = dict(count_pretokens.__kwdefaults__ or {})
    for name in ("texts", "field", "column", "min_count", "progress"):
        del options[name]
    if unknown := [name for name in reading if name not in options]:
        raise TypeError(f"{', '.join(unknown)}: not among the options that say how texts are read")
    options |= reading
    check_literals(options["special_tokens"])
    model = options["model"]
    given = {**options, "counts_only": True}
    own = ("dialect", "user_defined_symbols", "normalizer", "split", "unk_token")
    given |= resolved(model, {name: options[name] for name in (*own, *BERT, *SENTENCEPIECE)})
    for name in ("special_tokens", "user_defined_symbols"):
        given[name] = None if given[name] is None else list(given[name])
    # The least that each model needs beside what is about reading.
    given |= {"special_ids": "first", "score": "frequency", "continuing_subword_prefix": "##"}
    return given


class PartialCounts:
    """Counts of a part of a corpus, batch by batch, in a worker of an engine that sums the parts.

    ``options`` are those of ``reading_options``.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = dict(options)
        self._sum = PretokenSum()
        self._figures = [NOTHING]

    def feed(self, texts: Iterable[str]) -> None:
        """Counts a batch, each text a document. Batches of megabytes cost little beside their text."""
        table, figures = _core.count_texts(texts, self._options)
        self._sum.add(table)
        self._figures = [sum_of_figures([*self._figures, figures])]

    def result(self) -> PretokenCounts:
        """The counts so far."""
        facts = CountedFacts(facts_of(self._options), None, self._figures[0])
        return PretokenCounts._of(self._sum.result(), facts)
