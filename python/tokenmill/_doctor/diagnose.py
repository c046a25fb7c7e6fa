"""``tokenmill.doctor``: every check that there is evidence for, in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .._core import Tokenizer, from_tokenizer_json
from .._forks import waited_for
from .._load import load as by_default
from .._texts import each_text
from ..errors import FormatError, ManifestError, TokenmillError
from ..findings import Diagnosis, Finding
from . import behaviour, conversations, files, reach, reference, special, vocabulary
from .examined import Examined, found

if TYPE_CHECKING:
    from .._core import Tokenizer

__all__ = ["diagnose", "doctor"]

AUDIT_SECONDS = 0.5
"""How long the growth of the stages is measured."""


def doctor(
    tok_or_path: Tokenizer | str | os.PathLike[str],
    *,
    texts: str | Iterable[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    against: Tokenizer | str | os.PathLike[str] | None = None,
    load: Callable[[str | os.PathLike[str]], Tokenizer] | None = None,
) -> Diagnosis:
    """Every check of docs/doctor.md that there is evidence for: a ``Diagnosis``.

    ``tok_or_path`` is a tokenizer, or what ``load`` takes. A path is better evidence: the files of a
    folder are compared with one another and with its ``tokenmill.json``, and its ``config.json`` and
    tensors are checked where they are in the folder. A file that cannot be loaded is a finding
    (``loads``), not an error.

    ``texts`` are texts that the tokenizer is meant for: their round trip, and the tokens that none of them
    has. ``config`` is a folder with ``config.json``, ``generation_config.json`` and ``*.safetensors``, or
    one such JSON file, as for ``check_checkpoint``. ``against`` is a tokenizer, or a path of one, that
    this one should equal.

    ``load`` is called with the path in place of ``tokenmill.load``, for files that need a split or special
    tokens.

    Nothing is changed and nothing downloaded but by a name that ``load`` would download. Takes a few
    seconds for a vocabulary of 128,000 tokens, most of it for tokens that no text may reach and for
    measured growth.

    Raises ``TypeError`` for what is neither a tokenizer nor a path, ``FormatError`` for a reference or a
    configuration that cannot be read, and ``OSError`` for files that are missing or cannot be read.

    >>> import tokenmill
    >>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
    >>> tokenmill.doctor(tok)["missing_bytes"].message
    'all 256 bytes are tokens'
    """
    given = [] if texts is None else list(each_text(texts))
    other = by_default(against) if isinstance(against, str | os.PathLike) else against
    if other is not None and not isinstance(other, Tokenizer):
        raise TypeError(f"against must be a Tokenizer or a path, not {type(against).__name__}")
    if isinstance(tok_or_path, Tokenizer):
        return diagnose(tok_or_path, None, texts=given, config=config, against=other)
    if not isinstance(tok_or_path, str | os.PathLike):
        raise TypeError(f"a Tokenizer or a path is needed, not {type(tok_or_path).__name__}")
    place = tok_or_path
    loader = by_default if load is None else load
    return diagnose(lambda: loader(place), place, texts=given, config=config, against=other)


def diagnose(
    source: Tokenizer | Callable[[], Tokenizer],
    place: str | os.PathLike[str] | None,
    *,
    texts: list[str],
    config: str | os.PathLike[str] | None,
    against: Tokenizer | None,
) -> Diagnosis:
    """As ``doctor``, with a function that loads what is at ``place``."""
    path = None if place is None or not os.path.lexists(place) else Path(place)
    rows: list[Finding] = []
    skipped: dict[str, str] = {}
    folder = None if path is None else path if path.is_dir() else path.parent
    if folder is None:
        skipped["hashes"] = "a tokenizer in memory has no files"
    elif (checked := files.hashes(folder)) is None:
        skipped["hashes"] = "there is no tokenmill.json"
    else:
        rows.append(checked)
    tok, problem = _loaded(source, path)
    if problem is not None:
        rows.append(problem)
    if tok is None:
        return Diagnosis(tuple(rows), skipped)
    examined = Examined(tok, path, texts)
    examined.skipped.update(skipped)
    rows += _checks(examined, config, against)
    return Diagnosis(tuple(rows), examined.skipped)


def _checks(
    examined: Examined, config: str | os.PathLike[str] | None, against: Tokenizer | None
) -> Iterator[Finding]:
    if examined.path is None:
        for name in (
            "tolerated",
            "model_type",
            "added_ids",
            "file_limits",
            "padding_side",
            "agreement",
            "vectors",
        ):
            examined.skip(name, "a tokenizer in memory has no files")
    else:
        yield from files.checks(examined)
    yield from vocabulary.checks(examined)
    yield from reach.checks(examined)
    yield from special.checks(examined)
    yield from behaviour.checks(examined, AUDIT_SECONDS)
    yield from conversations.checks(examined)
    yield from _of_checkpoint(examined, config)
    if against is None:
        examined.skip("reference_ids", "no reference was given")
    else:
        yield from reference.checks(examined, against)


def _of_checkpoint(examined: Examined, config: str | os.PathLike[str] | None) -> Iterator[Finding]:
    with waited_for:
        from ..checkpoint import check_checkpoint, has_checkpoint

    if config is None:
        folder = examined.path if examined.path is not None and examined.path.is_dir() else None
        if folder is None or not has_checkpoint(folder):
            examined.skip("embedding_rows", "no configuration of a model was given")
            return
        config = folder
    checked = check_checkpoint(examined.tok, config)
    examined.skipped.update(checked.skipped)
    yield from checked


def _loaded(
    source: Tokenizer | Callable[[], Tokenizer], path: Path | None
) -> tuple[Tokenizer | None, Finding | None]:
    """The tokenizer, and what is wrong with its files if they do not load."""
    if not callable(source) or hasattr(source, "fingerprint"):
        return source, None  # type: ignore[return-value]
    try:
        return source(), found("loads", "file", "the files load")
    except ManifestError as error:
        # The hashes say so already; the file itself may still be examined.
        tok = None if path is None else _alone(path)
        return tok, found(
            "loads",
            "manifest",
            f"not loaded: {error}",
            status="fail",
            way_out="see `hashes`; what follows is of tokenizer.json alone" if tok else "see `hashes`",
        )
    except (FormatError, TokenmillError) as error:
        tok = None if path is None else _alone(path)
        return tok, found(
            "loads",
            "file",
            f"not loaded: {error}",
            status="fail",
            way_out="correct the field, or take the published file"
            + ("; what follows is of tokenizer.json alone" if tok else ""),
        )


def _alone(path: Path) -> Tokenizer | None:
    """The ``tokenizer.json`` by itself, whatever stands beside it; None where it does not load either."""
    try:
        return from_tokenizer_json((path / "tokenizer.json" if path.is_dir() else path).read_bytes())
    except (TokenmillError, OSError):
        return None
