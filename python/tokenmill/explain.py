"""What every stage of a tokenizer makes of a text: what ``Tokenizer.explain`` gives.

An ``Explanation`` has segments in the order of the text: added tokens, and the text between them.
Such a text has been normalized step by step and cut into pretokens; each pretoken became tokens.
``offsets`` count characters of the text that was given, ``byte_offsets`` bytes of its UTF-8; both
are half-open. Printed, or shown by a notebook, it is a table for people; ``to_dict()`` is for programs.

>>> import tokenmill
>>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
>>> print(tok.explain("low"))
stage     what           number  characters  bytes
text      "low"                  0-3         0-3
pretoken  "low"                  0-3         0-3
symbols   l o w
merge     l + o -> lo    rank 0
merge     lo + w -> low  rank 1
token     low            id 257  0-3         0-3
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, final

from ._table import html_table, pretty, quoted, shortened, shown, table, visible

if TYPE_CHECKING:
    from ._table import Printer

__all__ = ["Added", "Explanation", "How", "Merge", "Ordinary", "Pretoken", "Step", "Token"]

How = Literal["merges", "whole", "long", "wordpiece", "wordlevel", "unigram", "added"]
"""How a pretoken became its tokens.

``merges``: by these merges; ``whole``: byte-pair encoding in which a pretoken that is a token stays
whole, whatever merging would give; ``long``: by merges that are not listed, as there are more than
1,000 symbols; ``wordpiece``: the longest token first; ``wordlevel``: as a whole; ``unigram``: the most
probable row of tokens; ``added``: it is an added token that was found in normalized text.
"""

_HEADER = ("stage", "what", "number", "characters", "bytes")

_Span = tuple[int, int]
_Row = tuple[str, str, str, str, str]


@final
@dataclass(frozen=True, slots=True)
class Token:
    """A token in the written form of its format (``Ġworld``), and what it stands for."""

    id: int
    token: str
    offsets: _Span
    byte_offsets: _Span


@final
@dataclass(frozen=True, slots=True)
class Merge:
    """Two neighbours in the row of symbols, ``at`` and ``at + 1`` as it was then, that became one.

    Of all pairs the one with the lowest ``rank`` merges first, of equal ones the leftmost.
    """

    left: str
    right: str
    result: str
    rank: int
    at: int


@final
@dataclass(frozen=True, slots=True)
class Pretoken:
    """A part of a text as the model has seen it; ``text`` may hold what stages before have written.

    ``symbols`` is what merging began with and ``merges`` what it did, in order; both are None unless
    ``how`` is ``"merges"``.
    """

    text: str
    offsets: _Span
    byte_offsets: _Span
    how: How
    symbols: tuple[str, ...] | None
    merges: tuple[Merge, ...] | None
    tokens: tuple[Token, ...]


@final
@dataclass(frozen=True, slots=True)
class Step:
    """A step of normalization that changed the text, and what it left."""

    name: str
    text: str


@final
@dataclass(frozen=True, slots=True)
class Added:
    """A segment that is an added token."""

    text: str
    offsets: _Span
    byte_offsets: _Span
    token: Token


@final
@dataclass(frozen=True, slots=True)
class Ordinary:
    """A segment that is ordinary text."""

    text: str
    offsets: _Span
    byte_offsets: _Span
    normalized: tuple[Step, ...]
    pretokens: tuple[Pretoken, ...]


@final
@dataclass(frozen=True, slots=True)
class Explanation:
    """What every stage made of ``text``. Bytes that are no text stand as escapes in what is ``str``."""

    text: str
    segments: tuple[Added | Ordinary, ...]

    @classmethod
    def _of(cls, text: str, segments: list[tuple[Any, ...]]) -> Explanation:
        """From the plain tuples of the compiled part."""
        return cls(text, tuple(map(_segment, segments)))

    @property
    def tokens(self) -> list[Token]:
        """The tokens of all segments, in order."""
        return [token for segment in self.segments for token in _tokens(segment)]

    @property
    def ids(self) -> list[int]:
        """The ids, as ``encode`` gives them."""
        return [token.id for token in self.tokens]

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, strings and numbers; ``kind`` of a segment is added or text."""
        return {"text": self.text, "ids": self.ids, "segments": [_dict(segment) for segment in self.segments]}

    def __str__(self) -> str:
        return table(self._table())

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        """What IPython shows."""
        pretty(self, printer, cycle)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return html_table(self._table())

    def _table(self) -> list[_Row]:
        return [_HEADER, *(row for segment in self.segments for row in _rows(segment, self.text))]


# ---- from the compiled part -------------------------------------------------------------------


def _segment(given: tuple[Any, ...]) -> Added | Ordinary:
    kind, text, offsets, byte_offsets, *rest = given
    if kind == "added":
        return Added(text, offsets, byte_offsets, Token(*rest[0]))
    normalized, pretokens = rest
    steps = tuple(Step(*step) for step in normalized)
    return Ordinary(text, offsets, byte_offsets, steps, tuple(map(_pretoken, pretokens)))


def _pretoken(given: tuple[Any, ...]) -> Pretoken:
    text, offsets, byte_offsets, how, steps, tokens = given
    symbols, merges = None, None
    if steps is not None:
        symbols, merges = tuple(steps[0]), tuple(Merge(*merge) for merge in steps[1])
    tokens = tuple(Token(*token) for token in tokens)
    return Pretoken(text, offsets, byte_offsets, how, symbols, merges, tokens)


def _tokens(segment: Added | Ordinary) -> Iterator[Token]:
    if isinstance(segment, Added):
        yield segment.token
        return
    for pretoken in segment.pretokens:
        yield from pretoken.tokens


def _dict(segment: Added | Ordinary) -> dict[str, Any]:
    kind = "added" if isinstance(segment, Added) else "text"
    return {"kind": kind, **asdict(segment, dict_factory=lambda items: {k: _plain(v) for k, v in items})}


def _plain(value: object) -> object:
    """Tuples as lists, as JSON has them."""
    return list(value) if isinstance(value, tuple) else value


# ---- for people -------------------------------------------------------------------------------


def _rows(segment: Added | Ordinary, text: str) -> Iterator[_Row]:
    if isinstance(segment, Added):
        token = segment.token
        yield ("added", shown(token.token), f"id {token.id}", *_places(segment))
        return
    yield ("text", quoted(segment.text), "", *_places(segment))
    for step in segment.normalized:
        # Normal forms look alike; their lengths tell them apart.
        yield (step.name, quoted(step.text), f"{len(step.text)} chars", "", "")
    for pretoken in segment.pretokens:
        yield from _pretoken_rows(pretoken, text)


def _pretoken_rows(pretoken: Pretoken, text: str) -> Iterator[_Row]:
    if pretoken.how == "added":
        for token in pretoken.tokens:
            yield ("added", shown(token.token), f"id {token.id}", *_places(token))
        return
    yield ("pretoken", quoted(pretoken.text), "", *_places(pretoken))
    if pretoken.how == "whole":
        yield ("whole", "is a token as it stands", "", "", "")
    elif pretoken.how == "long":
        yield ("long", "too many symbols to list the merges", "", "", "")
    if pretoken.symbols and pretoken.merges:
        yield ("symbols", shortened(list(map(visible, pretoken.symbols)), " "), "", "", "")
        for merge in pretoken.merges:
            what = f"{shown(merge.left)} + {shown(merge.right)} -> {shown(merge.result)}"
            yield ("merge", what, f"rank {merge.rank}", "", "")
    for token in pretoken.tokens:
        yield ("token", _written(token, text), f"id {token.id}", *_places(token))


def _written(token: Token, text: str) -> str:
    """A token in its written form, followed by its part of the text where the two differ."""
    form, meant = token.token, text[slice(*token.offsets)]
    if form == meant and not form.isspace():
        return shown(form)
    return f"{shown(form)}  {quoted(meant)}" if meant else shown(form)


def _places(part: Token | Pretoken | Added | Ordinary) -> tuple[str, str]:
    return ("{}-{}".format(*part.offsets), "{}-{}".format(*part.byte_offsets))
