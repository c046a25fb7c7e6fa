"""How well vocabularies of several sizes spell texts in several languages: ``compare_vocab_sizes``.

A larger vocabulary makes texts shorter and the matrices of a model larger; the curve of bytes a token over
sizes shows where more tokens stop paying, and for which language.

>>> import tokenmill
>>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=262)
>>> sizes = tokenmill.compare_vocab_sizes(tok, {"en": "low lower", "eo": "malalta"}, [257, 262])
>>> print(sizes)
bytes per token   257   262
en               1.29  4.50
eo               1.00  1.00
>>> sizes["en", 262].fertility
1.0
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, final

from ._core import Tokenizer
from ._line_plot import Line, line_plot
from ._progress import follower
from ._table import html_table, pretty, shown, table
from ._texts import each_text
from ._train_inputs import misuse
from .errors import FormatError, VocabularyError

if TYPE_CHECKING:
    from ._table import Printer

__all__ = ["Measure", "VocabSizeRow", "VocabSizes", "compare_vocab_sizes"]

Measure = Literal["bytes_per_token", "fertility", "tokens_per_character", "tokens"]
"""``fertility`` is tokens a word. Where a script has no spaces between words, look at characters instead."""

_TITLES: dict[str, str] = {
    "bytes_per_token": "bytes per token",
    "fertility": "tokens per word",
    "tokens_per_character": "tokens per character",
    "tokens": "tokens",
}
_PLACES = {"bytes_per_token": 2, "fertility": 2, "tokens_per_character": 3, "tokens": 0}
"""Decimal places of each measure."""
_NAME = "texts"
"""What texts are called that have no name."""


@final
@dataclass(frozen=True, slots=True)
class VocabSizeRow:
    """The texts of one name, encoded with the vocabulary of one size."""

    size: int
    """The size that was asked for."""
    vocab_size: int
    """The ids that the vocabulary has: fewer where training stopped early."""
    name: str
    bytes: int
    characters: int
    words: int
    """Runs of characters between white space."""
    tokens: int
    unknown: int
    """How many of the tokens are the unknown token, which hides any number of bytes."""

    @property
    def bytes_per_token(self) -> float | None:
        """None where there are no tokens."""
        return self.bytes / self.tokens if self.tokens else None

    @property
    def fertility(self) -> float | None:
        """Tokens a word; None where there are no words."""
        return self.tokens / self.words if self.words else None

    @property
    def tokens_per_character(self) -> float:
        """Fertility by characters."""
        return self.tokens / self.characters

    def to_dict(self) -> dict[str, Any]:
        """The same as numbers and a string by name, the ratios among them."""
        return {
            "name": self.name,
            "size": self.size,
            "vocab_size": self.vocab_size,
            "bytes": self.bytes,
            "characters": self.characters,
            "words": self.words,
            "tokens": self.tokens,
            "unknown": self.unknown,
            "bytes_per_token": self.bytes_per_token,
            "fertility": self.fertility,
            "tokens_per_character": self.tokens_per_character,
        }


@final
@dataclass(frozen=True, slots=True)
class VocabSizes:
    """What ``compare_vocab_sizes`` gives: a row for each name and size, by name and then by size.

    ``sizes["en", 4000]`` is one of them. Printed, or shown by a notebook, it is the table of bytes a token.
    """

    rows: tuple[VocabSizeRow, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the texts, in the order given."""
        return tuple(dict.fromkeys([row.name for row in self.rows]))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes, ascending."""
        return tuple(dict.fromkeys([row.size for row in self.rows]))

    def __iter__(self) -> Iterator[VocabSizeRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: tuple[str, int]) -> VocabSizeRow:
        for row in self.rows:
            if (row.name, row.size) == key:
                return row
        raise KeyError(key)

    def table(self, measure: Measure = "bytes_per_token", *, markdown: bool = False) -> str:
        """A line for each name and a column for each size, as plain text or as Markdown."""
        cells = self.cells(measure)
        if markdown:
            head, *body = [[cell.replace("|", "\\|") for cell in row] for row in cells]
            rules = ["---", *["---:"] * len(self.sizes)]
            lines = [f"| {' | '.join(row)} |" for row in (head, rules, *body)]
        else:
            lines = [table(cells, right=range(1, len(cells[0])))]
        notes = list(self.notes())
        return "\n".join([*lines, *[""] * bool(notes), *notes])

    def cells(self, measure: Measure = "bytes_per_token") -> list[list[str]]:
        """What the table has in its cells, the head first."""
        _check_measure(measure)
        sizes = self.sizes
        head = [_TITLES[measure], *(f"{size:,}" for size in sizes)]
        return [head, *([shown(name), *(self._cell(name, n, measure) for n in sizes)] for name in self.names)]

    def _cell(self, name: str, size: int, measure: Measure) -> str:
        value = getattr(self[name, size], measure)
        return "-" if value is None else f"{value:,.{_PLACES[measure]}f}"

    def notes(self) -> Iterator[str]:
        """Remarks on the table: sizes at which training stopped early, and how many tokens are unknown."""
        short = {row.size: row.vocab_size for row in self.rows if row.vocab_size != row.size}
        for size, found in short.items():
            yield f"{size:,} were asked for, and the vocabulary has {found:,}."
        for name in self.names:
            shares = [row.unknown / row.tokens for row in self.rows if row.name == name and row.unknown]
            if shares:
                yield f"{shown(name)}: up to {100 * max(shares):.1f} % of the tokens are the unknown token."

    def to_svg(self, measure: Measure = "bytes_per_token") -> str:
        """The table as a plot: a line for each name, over the sizes on a logarithmic scale."""
        _check_measure(measure)
        sizes = self.sizes
        lines = [Line(name, [getattr(self[name, n], measure) for n in sizes]) for name in self.names]
        title = _TITLES[measure]
        return line_plot(title[0].upper() + title[1:], "vocabulary size", sizes, lines)

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, strings and numbers."""
        return {
            "sizes": list(self.sizes),
            "names": list(self.names),
            "rows": [row.to_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        return self.table()

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        pretty(self, printer, cycle)

    def _repr_html_(self) -> str:
        cells = self.cells()
        notes = "".join(f"\n<p>{html}</p>" for html in map(escape, self.notes()))
        return html_table(cells, right=range(1, len(cells[0]))) + notes


def compare_vocab_sizes(
    tokenizer: Tokenizer | None,
    texts: str | Iterable[str] | Mapping[str, str | Iterable[str]],
    sizes: Iterable[SupportsIndex],
    *,
    train: Callable[[int], Tokenizer] | None = None,
    num_threads: int | None = None,
    progress: bool | Callable[[str, int, int], object] | None = None,
) -> VocabSizes:
    """Encode texts with vocabularies of several sizes: bytes a token, tokens a word, by size and language.

    ``texts`` maps names, such as those of languages, to a text or to several; texts alone have one name.
    They should be others than those that were trained on. ``sizes`` count all ids, special tokens too.

    The first merges of a byte-pair encoding are what training to a smaller size gives, so that
    ``tokenizer`` is trained once, to the largest size, and cut to the others
    (``Tokenizer.with_vocab_size``). What has no such merges is trained anew for each size: WordPiece,
    Unigram, merges by score, training in several stages. Pass a function from a size to a tokenizer as
    ``train``; it then makes every size, and ``tokenizer`` is not looked at and may be None.

    ``num_threads=None`` takes every core that this process may use, to encode. ``progress`` is as for
    ``tokenmill.train``.

    Raises ``VocabularyError`` for a size that the tokenizer cannot be cut to, ``TrainingError`` where there
    are no texts or no sizes, or where ``train`` is needed.

    >>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=262)
    >>> print(compare_vocab_sizes(tok, "lower low", [256, 262]).table("fertility", markdown=True))
    | tokens per word | 256 | 262 |
    | --- | ---: | ---: |
    | texts | 4.50 | 2.00 |
    """
    if train is not None and not callable(train):
        raise TypeError(f"train must be a function from a size to a Tokenizer, not {type(train).__name__}")
    named = _named(texts)
    listed = _sizes(sizes)
    make = train if train is not None else _cutting(tokenizer, listed)
    facts = {name: _facts(own) for name, own in named.items()}
    order = sorted(set(listed))
    found: dict[tuple[str, int], VocabSizeRow] = {}
    with follower(progress) as follow:
        for done, size in enumerate(order):
            if follow is not None:
                follow("sizes", done, len(order))
            tok = make(size)
            if not isinstance(tok, Tokenizer):
                raise TypeError(f"train({size}) must return a Tokenizer, not {type(tok).__name__}")
            for name, own in named.items():
                counts = _counts(tok, own, num_threads)
                found[name, size] = VocabSizeRow(size, tok.vocab_size, name, *facts[name], *counts)
        if follow is not None:
            follow("sizes", len(order), len(order))
    return VocabSizes(tuple([found[name, size] for name in named for size in order]))


def _named(texts: str | Iterable[str] | Mapping[str, str | Iterable[str]]) -> dict[str, list[str]]:
    """The texts by name."""
    if not isinstance(texts, Mapping):
        texts = {_NAME: texts}
        place = "texts"
    else:
        place = None
    named = {}
    for name, own in texts.items():
        if not isinstance(name, str):
            raise TypeError(f"each key of texts must be str, not {type(name).__name__}")
        where = place or f"texts[{shown(name)!r}]"
        named[name] = list(each_text(own, where))
        if not any(named[name]):
            raise misuse(f"{where} has no text to measure: give a text, or leave the name out")
    if not named:
        raise misuse('texts is empty: give texts by name, such as {"en": "..."}')
    return named


def _sizes(sizes: Iterable[SupportsIndex]) -> list[int]:
    if isinstance(sizes, str | bytes) or not isinstance(sizes, Iterable):
        hint = "; for one size write [1000]" if hasattr(sizes, "__index__") else ""
        raise TypeError(f"sizes must be an iterable of integers, not {type(sizes).__name__}{hint}")
    listed = []
    for index, size in enumerate(sizes):
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            raise TypeError(f"sizes[{index}] must be an integer, not {type(size).__name__}")
        listed.append(operator.index(size))
        if listed[-1] < 1:
            raise VocabularyError(
                f"sizes[{index}] is {listed[-1]}; a vocabulary has at least one id", id=None, position=None
            )
    if not listed:
        raise misuse("sizes is empty: give at least one, such as [1000, 2000, 4000]")
    return listed


def _cutting(tokenizer: Tokenizer | None, sizes: list[int]) -> Callable[[int], Tokenizer]:
    """What cuts the tokenizer to a size. That it can be cut to the outermost sizes is seen at once."""
    if tokenizer is None:
        raise misuse("there is no tokenizer: pass one, or a function that trains one of a size as train=")
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(f"tokenizer must be a Tokenizer or None, not {type(tokenizer).__name__}")
    for size in {min(sizes), max(sizes)}:
        try:
            tokenizer.with_vocab_size(size)
        except FormatError as error:
            raise misuse(
                f"this tokenizer cannot be cut to another size: {error.reason}; pass a function that trains "
                "a tokenizer of a size as train="
            ) from error
        except VocabularyError as error:
            raise VocabularyError(
                f"sizes[{sizes.index(size)}]: {error}; leave it out, or pass a function that trains a "
                "tokenizer of a size as train=",
                id=None,
                position=None,
            ) from error
    return tokenizer.with_vocab_size


def _facts(texts: list[str]) -> tuple[int, int, int]:
    """Bytes, characters and words."""
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return size, sum(map(len, texts)), sum(len(text.split()) for text in texts)


def _counts(tok: Tokenizer, texts: list[str], num_threads: int | None) -> tuple[int, int]:
    """Tokens, and how many of them are the unknown token."""
    if tok.unk_token_id is None:
        return int(tok.count_batch(texts, num_threads=num_threads).sum()), 0
    ids = tok.encode_batch(texts, num_threads=num_threads).ids
    return len(ids), int((ids == tok.unk_token_id).sum())


def _check_measure(measure: str) -> None:
    if measure not in _TITLES:
        raise ValueError(f"measure={measure!r} is none of {', '.join(_TITLES)}")
