"""Tokenizers side by side on one page: ``tokenmill.report``.

>>> import tokenmill
>>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=262)
>>> texts = {"en": ["low", "lower"], "eo": ["malalta", "pli malalta"]}
>>> report = tokenmill.report({"mine": tok}, texts, parallel=True)
>>> report.to_dict()["tokenizers"][0]["parity"]["median_premium"]
4.5
>>> report.save("report.html")  # doctest: +SKIP
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, final

from ._core import Tokenizer
from ._progress import follower
from ._remote import write_to
from ._report.curve import curve, merge_count
from ._report.measures import measured, tokens_of
from ._report.page import page
from ._report.samples import WORDS, merge_steps, sample_texts, sampled
from ._report.summary import HEADER, summary_rows
from ._report.texts import Texts, given_texts, own_texts
from ._report.vocabulary import made_of
from ._table import shown, table, visible
from ._train_inputs import misuse

__all__ = ["Report", "report"]

_MOST_TOKENIZERS = 8
_MOST_WORDS = 50


@final
class Report:
    """What ``tokenmill.report`` measured: numbers, and a page that shows them.

    ``to_dict()`` has the numbers, ``html`` the page, ``save`` writes the page. Printed, it is the summary.
    """

    __slots__ = ("_html", "_numbers")

    def __init__(self, numbers: dict[str, Any]) -> None:
        self._numbers = numbers
        self._html: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The numbers as dicts, lists, strings and numbers, which are the caller's own.

        ``tokenizers`` has an object for each tokenizer: ``rows`` are the measures of each group of texts,
        ``total`` those of all texts together, ``vocabulary`` counts tokens by what they are made of.
        ``texts`` says what was measured; docs/report.md describes every field.
        """
        return copy.deepcopy(self._numbers)

    @property
    def html(self) -> str:
        """The page: one document that asks nobody for anything. Equal numbers give equal pages.

        Needs the extra ``report``: a ``MissingExtraError`` says so where matplotlib is not installed.
        """
        if self._html is None:
            self._html = page(self._numbers)
        return self._html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file or URL, all at once. Raises what ``html`` raises, and ``OSError``."""
        write_to(os.fspath(path), [self.html.encode()])

    def __str__(self) -> str:
        return table([HEADER, *summary_rows(self._numbers)], right=range(1, len(HEADER)))

    def __repr__(self) -> str:
        names = ", ".join(shown(own["name"]) for own in self._numbers["tokenizers"])
        return f"Report({names})"


def report(
    tokenizers: Tokenizer | Iterable[Tokenizer] | Mapping[str, Tokenizer],
    texts: str | Iterable[str] | Mapping[str, str | Iterable[str]] | None = None,
    *,
    parallel: bool = False,
    reference: str | None = None,
    words: Iterable[str] | None = None,
    num_threads: int | None = None,
    progress: bool | Callable[[str, int, int], object] | None = None,
) -> Report:
    """Measure up to 8 tokenizers on the same texts: a ``Report``, with a page to look at.

    ``tokenizers`` is one, several, or a mapping from names to them. ``texts`` maps names, such as those of
    languages and domains, to a text or to several. ``parallel=True`` says that the texts of all names are
    equally many and say the same, one by one; then the page shows the premium of each name over
    ``reference``: its tokens divided by those of the reference. That is by default the name ``English`` or
    ``en``, else the first. Without ``texts`` the Universal Declaration of Human Rights in 30 languages is
    measured, which is parallel, and some code, JSON and numbers.

    ``words`` are those whose merges are shown step by step, at most 50. ``num_threads=None`` takes every core
    that this process may use, to encode. ``progress`` is as for ``tokenmill.train``.

    Raises ``TrainingError`` where there are no tokenizers, more than 8, and for texts that cannot be compared
    as asked; ``TypeError`` for what is no tokenizer and no text.

    >>> import tokenmill
    >>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=262)
    >>> made = tokenmill.report([tok], {"en": "low lower"})
    >>> made.to_dict()["tokenizers"][0]["rows"][0]["bytes_per_token"]
    4.5
    """
    named = _named(tokenizers)
    if texts is None:
        if parallel:
            raise misuse("parallel=True is for texts of your own: those of the package are parallel anyway")
        chosen = own_texts(reference)
    else:
        chosen = given_texts(texts, reference, parallel)
    shown_words = _words(words)
    samples = sample_texts(chosen)
    made = []
    with follower(progress) as follow:
        for done, (name, tok) in enumerate(named.items()):
            if follow is not None:
                follow("tokenizers", done, len(named))
            made.append(_of_tokenizer(name, tok, chosen, shown_words, num_threads))
        if follow is not None:
            follow("tokenizers", len(named), len(named))
    return Report(
        {
            "tokenizers": made,
            "texts": {
                "source": chosen.source,
                "names": list(chosen.groups),
                "parallel": list(chosen.parallel),
                "reference": chosen.reference,
            },
            "words": shown_words,
            "samples": sampled(named.values(), samples),
        }
    )


def _of_tokenizer(
    name: str, tok: Tokenizer, texts: Texts, words: list[str], num_threads: int | None
) -> dict[str, Any]:
    tokens, merges = tokens_of(tok), merge_count(tok)
    return {
        "name": name,
        "fingerprint": tok.fingerprint,
        "vocab_size": tok.vocab_size,
        "merges": merges,
        "split": None if tok.split is None else visible(tok.split),
        **measured(tok, tokens, texts, num_threads),
        "vocabulary": made_of(tokens),
        "curve": curve(tok, merges, texts, num_threads),
        "words": [merge_steps(tok, word) for word in words],
    }


def _named(tokenizers: Tokenizer | Iterable[Tokenizer] | Mapping[str, Tokenizer]) -> dict[str, Tokenizer]:
    """The tokenizers by name; those without one are numbered."""
    if isinstance(tokenizers, Tokenizer):
        tokenizers = {"tokenizer": tokenizers}
    elif not isinstance(tokenizers, Mapping):
        tokenizers = {f"tokenizer {number}": tok for number, tok in enumerate(tokenizers, start=1)}
    if not tokenizers:
        raise misuse("there are no tokenizers: give at least one")
    if len(tokenizers) > _MOST_TOKENIZERS:
        raise misuse(f"{len(tokenizers)} tokenizers do not fit side by side: give at most {_MOST_TOKENIZERS}")
    for name, tok in tokenizers.items():
        if not isinstance(name, str):
            raise TypeError(f"each key of tokenizers must be str, not {type(name).__name__}")
        if not isinstance(tok, Tokenizer):
            raise TypeError(f"tokenizers[{name!r}] must be a Tokenizer, not {type(tok).__name__}")
    return dict(tokenizers)


def _words(words: Iterable[str] | None) -> list[str]:
    if isinstance(words, str):
        raise TypeError("words must be an iterable of str, not one str: write [word]")
    listed = list(WORDS if words is None else words)
    for number, word in enumerate(listed):
        if not isinstance(word, str):
            raise TypeError(f"words[{number}] must be str, not {type(word).__name__}")
        if not word:
            raise misuse(f"words[{number}] is empty: give a word, or leave it out")
    if len(listed) > _MOST_WORDS:
        raise misuse(f"{len(listed)} words are too many for one page: give at most {_MOST_WORDS}")
    return listed
