"""Tokenizers with another vocabulary, the map from old ids to new ones, and what is promised of texts.

``Tokenizer.trim``, ``extend``, ``remap``, ``rename_special`` and ``tokenmill.join`` give a ``Surgery``. A
tokenizer is part of a model's weights, so none of them gives a tokenizer alone: ``id_map`` says where
each row of an embedding goes, and ``promise`` which texts mean the same to the model as before.
"""

from __future__ import annotations

import errno
import io
import operator
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, final

from ._core import Tokenizer
from ._forks import waited_for
from ._texts import each_text
from .errors import VocabularyError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Promise", "Surgery", "join"]

_Made = tuple[
    Tokenizer, "npt.NDArray[np.int64]", tuple[str, bool, int | None, tuple[bytes, ...], tuple[int, ...]]
]


@final
@dataclass(frozen=True, slots=True)
class Promise:
    """For which texts the new tokenizer gives the old ids, mapped. ``str(promise)`` says it in a sentence."""

    words: str
    """The sentence."""
    ids_kept: bool
    """Whether the old ids of a text must all be kept, with no unknown token among them."""
    longest: int | None
    """The longest pretoken in characters for which that is enough. None: any length."""
    absent: tuple[bytes, ...]
    """Bytes that a text must not hold: neither as it is written nor in a pretoken as the model sees it."""
    also_kept: tuple[int, ...]
    """Old ids that were kept although nobody asked for them, because kept tokens are made of them or they
    always stay."""

    def __str__(self) -> str:
        return self.words


@final
@dataclass(frozen=True, slots=True, eq=False)
class Surgery:
    """A changed tokenizer, with the map of its ids and the promise about its texts."""

    tokenizer: Tokenizer
    """The new tokenizer."""
    id_map: npt.NDArray[np.int64]
    """The new id of every old one, -1 for one that is gone or never was. Of ``join`` the old ids are
    those of the second tokenizer: those of the first do not change. It cannot be written to."""
    promise: Promise
    """The texts whose ids are the old ones, mapped."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a folder with the tokenizer and ``id_map.npy``, both or none.

        The folder must be a new one, or empty: a ``FileExistsError`` else. Raises what ``Tokenizer.save``
        raises.
        """
        target = Path(path)
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            reason = "there is something already; give a new folder"
            raise FileExistsError(errno.EEXIST, reason, str(target))
        with waited_for:
            import numpy as np

        content = io.BytesIO()
        np.save(content, self.id_map, allow_pickle=False)
        # A folder beside it, which gets the name when it is whole.
        beside = target.parent / f".tokenmill-{os.urandom(8).hex()}"
        try:
            self.tokenizer.save(beside)
            beside.joinpath("id_map.npy").write_bytes(content.getvalue())
            if target.exists():
                target.rmdir()
            beside.rename(target)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise

    def __repr__(self) -> str:
        kept = int((self.id_map >= 0).sum())
        return f"Surgery({self.tokenizer!r}, {kept} of {len(self.id_map)} ids kept)"


def _made(made: _Made) -> Surgery:
    tokenizer, id_map, promise = made
    id_map.flags.writeable = False
    return Surgery(tokenizer, id_map, Promise(*promise))


def _ids(tok: Tokenizer, given: Iterable[int | str], name: str) -> list[int]:
    """The ids of tokens that are given by id or in written form."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be an iterable of ids or tokens, not {type(given).__name__}")
    ids = []
    for item in given:
        if isinstance(item, str):
            id = tok.token_to_id(item)
            if id is None:
                raise VocabularyError(
                    f"{name}: {item!r} is no token of this vocabulary", id=None, position=None
                )
        else:
            tok.token_bytes(item)  # raises for what is no id
            id = int(item)
        ids.append(id)
    return ids


def trimmed(
    tok: Tokenizer,
    *,
    keep: Iterable[int | str] | None = None,
    drop: Iterable[int | str] | None = None,
    texts: str | Iterable[str] | None = None,
) -> Surgery:
    """See ``Tokenizer.trim``."""
    if sum(given is not None for given in (keep, drop, texts)) != 1:
        raise TypeError("give exactly one of keep, drop and texts")
    if keep is not None:
        wanted = set(_ids(tok, keep, "keep"))
    elif drop is not None:
        wanted = set(tok.vocab.values()).difference(_ids(tok, drop, "drop"))
    else:
        wanted = set()
        given = each_text(texts)
        while block := list(islice(given, 1024)):
            wanted.update(*tok.encode_batch(block).to_lists())
    return _made(tok._trim(list(wanted)))


def extended(tok: Tokenizer, tokens: Iterable[str | bytes]) -> Surgery:
    """See ``Tokenizer.extend``."""
    if isinstance(tokens, str | bytes) or not isinstance(tokens, Iterable):
        raise TypeError(f"tokens must be an iterable of str or bytes, not {type(tokens).__name__}")
    new = []
    for position, token in enumerate(tokens):
        if not isinstance(token, str | bytes):
            raise TypeError(f"tokens[{position}] must be str or bytes, not {type(token).__name__}")
        new.append(token.encode() if isinstance(token, str) else token)
    return _made(tok._extend(new))


def remapped(tok: Tokenizer, ids: Mapping[int, int] | Iterable[int]) -> Surgery:
    """See ``Tokenizer.remap``."""
    if isinstance(ids, Mapping):
        return _made(tok._remap(list(ids), list(ids.values())))
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise TypeError(f"ids must be a mapping or an iterable of ids, not {type(ids).__name__}")
    order: list[int] = []
    places: dict[int, int] = {}
    for position, item in enumerate(ids):
        try:
            id = operator.index(item)
        except TypeError:
            reason = f"ids[{position}] must be an integer, not {type(item).__name__}"
            raise TypeError(reason) from None
        if id in places:
            raise VocabularyError(
                f"the order has the id {id} twice, at {places[id]} and {position}", id=id, position=position
            )
        places[id] = position
        order.append(id)
    left = sorted(set(tok.vocab.values()).difference(order))
    if left:
        raise VocabularyError(
            f"the order leaves out the id {left[0]}; it must have every id once", id=left[0], position=None
        )
    return _made(tok._remap(order, list(range(len(order)))))


def renamed(tok: Tokenizer, old: str, new: str) -> Surgery:
    """See ``Tokenizer.rename_special``."""
    for name, literal in (("old", old), ("new", new)):
        if not isinstance(literal, str):
            raise TypeError(f"{name} must be str, not {type(literal).__name__}")
    return _made(tok._rename_special(old, new))


def join(a: Tokenizer, b: Tokenizer) -> Surgery:
    """Tokenizer ``a`` with the tokens of ``b`` that it lacks after its own.

    Text is normalized and split as by ``a``, and ``a``'s merges come first, so that not every new token
    is made from its own bytes. The ids of ``a`` stay; ``id_map`` has the new id of each id of ``b``.
    Every text that holds none of the new tokens' bytes (``promise.absent``) has the ids of ``a``. Added
    tokens of ``b`` come too; if ``a`` has a normalizer they are searched for in the text as it is
    written.

    Raises ``FormatError`` for models of different kinds and for Unigram, whose scores do not compare, and
    ``SpecialTokenError`` for an added token of ``b`` that is an ordinary one of ``a``.

    >>> a = tokenmill.train(texts=["low"] * 2, num_merges=2)
    >>> b = tokenmill.train(texts=["new"] * 2, num_merges=2)
    >>> both = tokenmill.join(a, b)
    >>> both.promise.absent
    (b'ew', b'new')
    >>> both.tokenizer.encode("low new"), both.id_map[b.encode("new")].tolist()
    ([257, 32, 259], [259])
    """
    for name, tok in (("a", a), ("b", b)):
        if not isinstance(tok, Tokenizer):
            raise TypeError(f"{name} must be a Tokenizer, not {type(tok).__name__}")
    return _made(a._join(b))
