"""A tokenizer in another format, put in place only after both were compared.

The file is saved in a folder of its own, loaded again, and held against the original: ids of real and of
generated texts, and what they decode to. A format of ranks or merges alone is loaded as its users load it,
with the split and the special tokens given again.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

from ._core import Tokenizer
from ._load import load
from ._table import html_table, pretty, shown, table
from .errors import FormatError, TokenmillError

if TYPE_CHECKING:
    from ._table import Printer

__all__ = ["FORMATS", "Conversion", "convert"]

_Ids = list[int] | None
Format = Literal[
    "tokenizer.json", "tiktoken", "vocab+merges", "vocab.txt", "sentencepiece", "gguf", "tekken", "image"
]
Special = Literal["text", "parse"]

FORMATS: tuple[Format, ...] = (
    *("tokenizer.json", "tiktoken", "vocab+merges", "vocab.txt"),
    *("sentencepiece", "gguf", "tekken", "image"),
)
"""The formats by their names in ``to=``."""
_BARE = ("tiktoken", "vocab+merges")
"""Formats of ids alone: the split and the special tokens are given again at each load."""
_NAMES = {
    **{"tokenizer.json": "tokenizer.json", "tiktoken": "tokenizer.tiktoken", "vocab+merges": "vocab.json"},
    **{"vocab.txt": "vocab.txt", "sentencepiece": "tokenizer.model", "gguf": "tokenizer.gguf"},
    **{"tekken": "tekken.json", "image": "tokenizer.tokenmill"},
}
"""What a file of each format is called where only its folder is chosen here."""
_ENDINGS: dict[str, Format] = {
    **{".json": "tokenizer.json", ".tiktoken": "tiktoken", ".model": "sentencepiece", ".gguf": "gguf"},
    ".tokenmill": "image",
}
_PIECE = 4096
"""The most characters of a text that is compared: real texts are cut at line ends."""
_BLOCK = 1 << 20
"""The characters that are compared at a time."""
_GENERATED = 1500
_SAMPLE = "aé中한ا\u0939かРͰ\u0e01🙂👩\u200d👩\u200d👧🇩🇪ﬁ½Ⅷ²٣১\u0301\u200d\u202e"
_SPACES = ("", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "   \n ", "\x85")


@final
@dataclass(frozen=True, slots=True)
class Conversion:
    """What ``convert`` gives: what was compared, and what differs."""

    target: str
    """The path that was asked for."""
    format: str
    written: bool
    """Whether the target was put in place."""
    is_same: bool
    """Whether the fingerprints are equal: proved to mean the same, beyond the texts that were compared."""
    texts: int
    """The texts that were compared, real and generated."""
    characters: int
    tokens: int
    """The ids that the original has for them."""
    differing: int
    """The texts whose ids, or what they decode to, differ."""
    first: tuple[str, list[int] | None, list[int] | None] | None = field(hash=False)
    """The shortest text that differs, with its ids before and after, where ``None`` is an error."""
    split: str | None
    """The split that this format does not hold: ``load`` needs it again."""
    special_tokens: Mapping[str, int] = field(hash=False)
    """The special tokens that this format does not hold, by literal: ``load`` needs them again."""

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists and numbers."""
        facts = asdict(self)
        facts["special_tokens"] = dict(self.special_tokens)
        facts["first"] = None if self.first is None else list(self.first)
        return facts

    def __str__(self) -> str:
        return table(self._table())

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        pretty(self, printer, cycle)

    def _repr_html_(self) -> str:
        return html_table(self._table())

    def _table(self) -> list[tuple[str, str]]:
        rows = [
            ("", self.target),
            ("format", self.format),
            ("compared", f"{self.texts:,} texts, {self.characters:,} characters, {self.tokens:,} tokens"),
            ("differing", f"{self.differing:,} texts" if self.differing else "none"),
            ("fingerprint", "the same" if self.is_same else "another: the ids above are what was compared"),
        ]
        if self.first is not None:
            text, before, after = self.first
            rows.append(("first", f"{shown(text)}: {_ids(before)} before, {_ids(after)} after"))
        if self.split is not None:
            rows.append(("load with", f"split={self.split!r}"))
        if self.special_tokens:
            rows.append(("load with", f"special_tokens= of {len(self.special_tokens):,}"))
        if not self.written:
            rows.append(("written", "no: it would be another tokenizer"))
        return rows


def _ids(ids: list[int] | None) -> str:
    if ids is None:
        return "an error"
    return f"{ids[:12]}".replace("]", ", ...]") if len(ids) > 12 else f"{ids}"


def convert(
    source: str | os.PathLike[str] | Tokenizer,
    target: str | os.PathLike[str],
    *,
    to: Format | None = None,
    verify: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    lossy: bool = False,
    split: str | None = None,
    special_tokens: Sequence[str] | Mapping[str, int] | None = None,
) -> Conversion:
    """Save a tokenizer in another format, if it is the same tokenizer there.

    ``source`` is what ``load`` takes, or a tokenizer; ``split`` and ``special_tokens`` are for a source that
    holds neither. ``to`` is one of ``FORMATS``; without it the name of the target decides, as in
    ``Tokenizer.save``. ``tiktoken`` and ``vocab+merges`` hold neither split nor special tokens: whoever loads
    the result gives them again, and ``Conversion`` has both. Such a format knows special tokens alone, so
    texts are compared with every added token recognised. ``image`` is the compiled tokenizer, which holds
    all.

    The result is saved aside, loaded and compared: over the texts of the files ``verify`` (UTF-8), and over
    generated ones (tokens put together, scripts, digits, white space, literals of special tokens). Only if no
    id and no decoded text differs is the target written, all or nothing. The same input gives the same
    comparison.

    With ``lossy=True`` a format that cannot hold everything is written without it, and also where texts
    differ.

    Raises ``FormatError`` that names what the target cannot say, and what ``load`` and ``Tokenizer.save``
    raise.
    """
    if isinstance(source, Tokenizer):
        if split is not None or special_tokens is not None:
            raise ValueError("split= and special_tokens= are for a source that is loaded")
        tokenizer = source
    else:
        tokenizer = load(source, split=split, special_tokens=special_tokens)
    path = Path(target)
    form = _form(path, os.fspath(target), to)
    again_with: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="tokenmill-") as folder:
        # A tokenizer.json alone holds less than a folder, so what is compared is saved as the target will be.
        beside = Path(folder) / "tokenizer" if _is_folder(path, target) else Path(folder) / _NAMES[form]
        if path.is_dir() or os.fspath(target).endswith(("/", os.sep)):
            beside.mkdir()
        try:
            if form in _BARE:
                again_with = _given_again(tokenizer, beside, form, split, lossy)
            tokenizer.save(beside, format=form, lossy=lossy or form in _BARE)
        except FormatError as error:
            raise _of_target(error, os.fspath(target)) from None
        saved = beside / _NAMES[form] if form in _BARE and beside.is_dir() else beside
        again = load(saved, **again_with)
    ways: list[tuple[Special, bool]]
    ways = [("parse", False)] if form in _BARE else [("text", False), ("parse", False), ("text", True)]
    found = _Comparison()
    for block in _blocks(chain(_real(verify), _generated(tokenizer))):
        found.add(tokenizer, again, block, ways)
    written = lossy or not found.differing
    if written:
        tokenizer.save(target, format=form, lossy=lossy or form in _BARE)
    return Conversion(
        target=os.fspath(target),
        format=form,
        written=written,
        is_same=again.fingerprint == tokenizer.fingerprint,
        texts=found.texts,
        characters=found.characters,
        tokens=found.tokens,
        differing=found.differing,
        first=found.first,
        split=again_with.get("split"),
        special_tokens=again_with.get("special_tokens") or {},
    )


def _form(path: Path, name: str, to: Format | None) -> Format:
    if to is not None:
        if to not in FORMATS:
            raise ValueError(f"to={to!r} is none of {', '.join(map(repr, FORMATS))}")
        return to
    for form, own in _NAMES.items():
        if path.name == own or (form == "vocab+merges" and path.name == "merges.txt"):
            return form  # type: ignore[return-value]
    if path.suffix in _ENDINGS and not _is_folder(path, name):
        return _ENDINGS[path.suffix]
    if _is_folder(path, name):
        return "tokenizer.json"
    raise ValueError(f"{name}: no format goes by this name; say which with to=")


def _is_folder(path: Path, name: str | os.PathLike[str]) -> bool:
    """Whether ``save`` makes a folder of it, as far as the name says."""
    ends_so = os.fspath(name).endswith(("/", os.sep))
    return path.is_dir() or ends_so or not path.suffix or any(c.isdigit() for c in path.suffix)


def _given_again(
    tokenizer: Tokenizer, path: Path, form: Format, split: str | None, lossy: bool
) -> dict[str, Any]:
    """What ``load`` needs for a format of ids alone; refuses what it could not be given."""
    if not lossy:
        # The error of `save` names all that is lost; a normalizer, which comes first, cannot be given again.
        try:
            tokenizer.save(path, format=form)
        except FormatError as error:
            if error.field not in ("split", "added_tokens"):
                raise
        if tokenizer.split is None and split is None:
            said = "the split of this tokenizer is no single pattern, which load() could be given again"
            raise _cannot(f"{form} cannot hold the split, and {said}; convert to tokenizer.json", "split")
    return {
        "split": split or tokenizer.split or "none",
        "special_tokens": dict(tokenizer.added_tokens) or None,
    }


def _of_target(error: FormatError, target: str) -> FormatError:
    """The same refusal, of the target that was asked for instead of the file beside it."""
    if error.path is None:
        return error
    said = str(error).replace(error.path, target, 1)
    return FormatError(said, **{**error.__dict__, "path": target})


def _cannot(reason: str, field: str) -> FormatError:
    error = FormatError(f"{field}: {reason}")
    error.path, error.field, error.kind, error.reason, error.limit = None, field, "cannot-hold", reason, None
    return error


# ---- texts -------------------------------------------------------------------------------------


def _real(files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Iterator[str]:
    """The texts of files, cut at line ends."""
    for path in [files] if isinstance(files, str | os.PathLike) else files:
        text = Path(path).read_bytes().decode("utf-8")
        start = 0
        while start < len(text):
            end = min(start + _PIECE, len(text))
            line = text.rfind("\n", start, end) + 1
            end = line if end < len(text) and line > start else end
            yield text[start:end]
            start = end


def _generated(tokenizer: Tokenizer) -> Iterator[str]:
    """Texts made from the vocabulary and beside it; the same ones for the same vocabulary."""
    rng = random.Random(0)
    added = tokenizer.added_tokens
    ordinary = sorted(set(tokenizer.vocab.values()) - set(added.values())) or sorted(added.values())
    literals = list(added)
    yield from ("", " ", "\n", "a", "\ufeffa", "\0", " a  b ", "e\u0301", "ｱ", "I'LL don't", "12345678901")
    yield from literals[:50]
    for turn in range(_GENERATED):
        count = rng.randint(1, 12)
        if turn % 3 == 0:
            yield tokenizer.decode(rng.choices(ordinary, k=count))
        elif turn % 3 == 1:
            scalars = [_scalar(rng) for _ in range(count)]
            yield "".join(rng.choice((scalar, rng.choice(_SAMPLE))) for scalar in scalars)
        else:
            words = [tokenizer.decode([rng.choice(ordinary)]) for _ in range(count)]
            words += [
                rng.choice(_SPACES),
                str(rng.randrange(10**6)),
                *rng.sample(literals, min(1, len(literals))),
            ]
            rng.shuffle(words)
            yield rng.choice(_SPACES).join(words)


def _scalar(rng: random.Random) -> str:
    """A character of any script, more often one of a lower code point."""
    while True:
        point = rng.randrange(rng.choice((0x80, 0x800, 0x3000, 0x10000, 0x110000)))
        if not 0xD800 <= point < 0xE000:
            return chr(point)


# ---- comparing ---------------------------------------------------------------------------------


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts, about ``_BLOCK`` characters at a time: the ids of a whole corpus would fill the memory."""
    block: list[str] = []
    left = _BLOCK
    for text in texts:
        block.append(text)
        left -= len(text)
        if left <= 0:
            yield block
            block, left = [], _BLOCK
    if block:
        yield block


def _encoded(tokenizer: Tokenizer, texts: Sequence[str], special: Special, around: bool) -> list[_Ids]:
    """The ids of each text, ``None`` for one that the vocabulary cannot spell."""
    try:
        return list(tokenizer.encode_batch(texts, special=special, add_special_tokens=around).to_lists())
    except TokenmillError:
        rows: list[_Ids] = []
        for text in texts:
            try:
                rows.append(tokenizer.encode(text, special=special, add_special_tokens=around))
            except TokenmillError:
                rows.append(None)
        return rows


@dataclass(slots=True)
class _Comparison:
    """What was compared so far, and what differs."""

    texts: int = 0
    characters: int = 0
    tokens: int = 0
    differing: int = 0
    first: tuple[str, _Ids, _Ids] | None = None

    def add(
        self, before: Tokenizer, after: Tokenizer, texts: Sequence[str], ways: Sequence[tuple[Special, bool]]
    ) -> None:
        """Compare these texts in each of the ways: of special tokens in a text, and around it."""
        differing: dict[int, tuple[_Ids, _Ids]] = {}
        plain: list[_Ids] = []
        for way in ways:
            own, other = _encoded(before, texts, *way), _encoded(after, texts, *way)
            for place, (ids, theirs) in enumerate(zip(own, other, strict=True)):
                if ids != theirs:
                    differing.setdefault(place, (ids, theirs))
            # Equal ids of another way were decoded before.
            new = [i for i, ids in enumerate(own) if ids is not None and (not plain or ids != plain[i])]
            for place in _decoded_apart(before, after, own, [i for i in new if i not in differing]):
                differing.setdefault(place, (own[place], other[place]))
            plain = plain or own
        self.texts += len(texts)
        self.characters += sum(map(len, texts))
        self.tokens += sum(len(ids or ()) for ids in plain)
        self.differing += len(differing)
        rows = [(texts[place], *ids) for place, ids in differing.items()]
        rows += [] if self.first is None else [self.first]
        self.first = min(rows, key=lambda row: (len(row[0]), row[0]), default=None)


def _decoded_apart(
    before: Tokenizer, after: Tokenizer, rows: Sequence[_Ids], places: Sequence[int]
) -> Iterator[int]:
    """The places of ids that the two decode to different texts."""
    ids = [rows[place] or [] for place in places]
    own, other = before.decode_batch(ids), after.decode_batch(ids, undefined="replace")
    for place, text, theirs in zip(places, own, other, strict=True):
        if text != theirs:
            yield place
