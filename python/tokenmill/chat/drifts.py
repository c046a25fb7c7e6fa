"""The first id that ``encode`` would not give for the text: where a model chose other tokens.

In: ids. Out: the index of the first one that differs when their text is encoded again. That text is not known
for certain, since decoding drops some spaces and adds others: ids are canonical where one of the texts that
they may stand for encodes to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from .given import checked_ids

if TYPE_CHECKING:
    from .._core import Tokenizer

__all__ = ["first_drift"]

#: A character that no vocabulary has, in place of the text that became an unknown token.
_UNKNOWN = "\U000f1234"

Part = tuple[str, bool]
"""Text, and whether it is the literal of an added token."""


class _Run(NamedTuple):
    """Ids between added tokens, or one added token."""

    start: int
    ids: list[int]
    is_added: bool


def first_drift(tok: Tokenizer, ids: Sequence[int]) -> int | None:
    """See ``Tokenizer.first_drift``."""
    given = checked_ids(ids)
    reader = _Reader(tok)
    runs = reader.runs(given)
    readings = [reader.readings(run) for run in runs]
    #: For each run the reading that encodes to its ids; and how many of its first ids the best reading gives.
    chosen: list[int | None] = [None] * len(runs)
    best = [0] * len(runs)
    for number in range(max(map(len, readings), default=0)):
        tried = [
            reading[number % len(reading)] if choice is None else reading[choice]
            for reading, choice in zip(readings, chosen, strict=True)
        ]
        again = reader.encoded(tried)
        if again == given:
            return None
        for index, found in enumerate(reader.aligned(runs, again)):
            if found == runs[index].ids:
                if chosen[index] is None:
                    chosen[index] = number % len(readings[index])
            elif tok.decode(found) == tok.decode(runs[index].ids):
                best[index] = max(best[index], _shared(found, runs[index].ids))
    settled = reader.encoded([reading[choice or 0] for reading, choice in zip(readings, chosen, strict=True)])
    if settled == given:
        return None
    drifted = next((index for index, choice in enumerate(chosen) if choice is None), None)
    if drifted is None:
        return _shared(settled, given)
    return runs[drifted].start + best[drifted]


class _Reader:
    """Finds the texts that ids may stand for."""

    def __init__(self, tok: Tokenizer) -> None:
        self.tok = tok
        self.literals = {number: literal for literal, number in tok.added_tokens.items()}
        self.added = frozenset(self.literals)
        unknown = tok.unk_token
        number = None if unknown is None else tok.token_to_id(unknown)
        # Where text may become the unknown token, that token is part of a run and does not end one.
        gives = number is not None and number in tok.encode(_UNKNOWN)
        self.unknown = number if gives else None
        self.bounds = self.added - {self.unknown}

    def runs(self, ids: list[int]) -> list[_Run]:
        """The ids, divided at added tokens."""
        runs: list[_Run] = []
        for is_added, group in groupby(range(len(ids)), lambda at: ids[at] in self.bounds):
            places = list(group)
            if is_added:
                runs.extend([_Run(at, [ids[at]], True) for at in places])
            else:
                runs.append(_Run(places[0], [ids[at] for at in places], False))
        return runs

    def readings(self, run: _Run) -> list[list[Part]]:
        """The texts that a run may stand for, the likeliest first."""
        if run.is_added:
            return [[(self.literals[run.ids[0]], True)]]
        texts = [self.tok.decode(run.ids), self._as_written(run.ids)]
        if self.unknown in run.ids:
            literal = self.tok.decode([self.unknown])
            texts = [text.replace(literal, _UNKNOWN) for text in texts]
        found = [[(text, False)] for text in dict.fromkeys(way for text in texts for way in _spaced(text))]
        if self.unknown in run.ids and self.unknown in self.added:
            found.extend(self._with_literals(run.ids))
        return found

    def _as_written(self, ids: list[int]) -> str:
        """The decoded text, with all spaces of the tokens: some decoders drop one before a full stop."""
        text = self.tok.decode(ids)
        tokens = [self.tok.id_to_token(number) or "" for number in ids]
        written = "".join(tokens).replace("▁", " ")
        return written if written.replace(" ", "") == text.replace(" ", "") else text

    def _with_literals(self, ids: list[int]) -> Iterator[list[Part]]:
        parts = [
            (self.tok.decode(list(group)), is_unknown)
            for is_unknown, group in groupby(ids, lambda number: number == self.unknown)
        ]
        for spaces in range(3):
            yield [(text if literal else _spaced(text, True)[spaces], literal) for text, literal in parts]

    def encoded(self, readings: Sequence[Sequence[Part]]) -> list[int]:
        """The ids that these readings of all runs encode to."""
        text: list[str] = []
        untrusted: list[tuple[int, int]] = []
        at = 0
        for part, is_literal in (part for reading in readings for part in reading):
            if part and not is_literal:
                untrusted.append((at, at + len(part)))
            text.append(part)
            at += len(part)
        return self.tok.encode("".join(text), special="parse", untrusted=untrusted, protected=self.added)

    def aligned(self, runs: Sequence[_Run], again: list[int]) -> list[list[int]]:
        """For each run the ids in its place after encoding again: the added tokens between runs tell it."""
        found: list[list[int]] = []
        anew = self.runs(again)
        at = 0
        for run in runs:
            same = at < len(anew) and anew[at].is_added == run.is_added
            found.append(anew[at].ids if same else [])
            at += same
        return found


def _spaced(text: str, every: bool = False) -> list[str]:
    """The text; the text with a leading space, which decoding may drop; and without one, which it may add."""
    ways = [text, " " + text, text.removeprefix(" ")]
    return ways if every else list(dict.fromkeys(ways))


def _shared(one: Sequence[Any], other: Sequence[Any]) -> int:
    """The length of the beginning that both have in common."""
    differs = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    return min(len(one), len(other)) if differs is None else differs
