"""What comes of a damaged file, as a code.

``E:kind(field)``
    a `FormatError`; the name of the file stands before the field where it is not the one that was loaded.
    Other errors of the tree are named: ``E:PatternError()``.
``V``
    loads, means the same: equal fingerprint, equal ids.
``W:kind(field)``
    loads with the same ids, and the load report lists what was tolerated (and was not in the original).
``N``
    loads, and means something else: another fingerprint. ``N:kind(field)`` where something was tolerated.

``; encode:Name`` says that texts cannot be encoded, ``; save:kind(field)`` that it cannot be saved.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import golden
from .making import Encode, Source

Ids = list[int] | str
"""The ids of a text, or the name of the error that it is."""

LISTED = 2
"""Findings beyond this many are counted."""


@dataclass(frozen=True)
class Original:
    """What an undamaged file means."""

    fingerprint: str
    special_tokens: list[str]
    ids: list[Ids]
    decoded: list[str | None]
    tolerated: Counter[str]


def ids_of(native: Any, tok: Any, special_tokens: list[str]) -> list[Ids]:
    """The ids of the golden texts; counting and offsets agree with them."""
    found: list[Ids] = []
    for text, parse in golden.texts(special_tokens):
        special = "parse" if parse else "text"
        try:
            ids = tok.encode(text, special=special, add_special_tokens=parse)
        except native.TokenmillError as error:
            found.append(name_of(error))
        else:
            assert tok.encode_with_offsets(text, special=special, add_special_tokens=parse).ids == ids
            assert tok.count(text, special=special, add_special_tokens=parse) == len(ids)
            found.append(ids)
    return found


def name_of(error: Exception) -> str:
    name = type(error).__name__
    if name == "InternalError":
        raise error
    return name


def original(native: Any, source: Source, folder: Path) -> Original:
    """Load and use the undamaged files."""
    path = source.write(folder)
    tok = native.load(path, **source.options)
    assert native.load(path, strict=True, **source.options).fingerprint == tok.fingerprint
    # Longest first: what the golden texts are made of must not depend on the order of a table.
    special_tokens = sorted(tok.special_tokens, key=lambda token: (-len(token), token))
    ids = ids_of(native, tok, special_tokens)
    tolerated = Counter(findings(tok, path.name))
    return Original(tok.fingerprint, special_tokens, ids, decoded(tok, ids), tolerated)


def decoded(tok: Any, ids: list[Ids]) -> list[str | None]:
    return [None if isinstance(one, str) else tok.decode(one) for one in ids]


def findings(tok: Any, opened: str) -> list[str]:
    found = tok.load_report.tolerated
    return [f"{one.kind}({place(one.file, one.field, opened)})" for one in found]


def place(file: str, field: str, opened: str) -> str:
    """A field, with its file where that is not the one that was loaded."""
    return field if file == opened else f"{file}: {field}".removesuffix(": ")


def outcome(native: Any, source: Source, path: Path, strict: bool, expected: Original) -> str:
    """Load what stands at a path, use, save and pickle it."""
    try:
        tok = native.load(path, strict=strict, **source.options)
    except (native.TokenmillError, OSError) as error:
        return error_code(native, error, path)
    ids = ids_of(native, tok, expected.special_tokens)
    text = decoded(tok, ids)
    errors = sorted({one for one in ids if isinstance(one, str)})
    saying = "".join(f"; encode:{name}" for name in errors) + kept(native, tok, source, path.parent)
    # What cannot be encoded any more is said; the rest must be as it was.
    before = zip(expected.ids, expected.decoded, strict=True)
    pairs = zip(zip(ids, text, strict=True), before, strict=True)
    is_same = all(found == was for found, was in pairs if not isinstance(found[0], str))
    tolerated = listed(Counter(findings(tok, path.name)) - expected.tolerated)
    if tok.fingerprint == expected.fingerprint:
        assert is_same, "an equal fingerprint, and other ids or another text"
        return (f"W:{tolerated}" if tolerated else "V") + saying
    if tolerated and is_same:
        return f"W:{tolerated}{saying}"
    return (f"N:{tolerated}" if tolerated else "N") + saying


def listed(tolerated: Counter[str]) -> str:
    names = list(tolerated.elements())
    more = f" +{len(names) - LISTED}" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def error_code(native: Any, error: Exception, path: Path) -> str:
    """The code of an error, which must name a file and say something."""
    name = name_of(error)
    if not isinstance(error, native.FormatError):
        return f"E:{name}()"
    assert error.reason
    named = Path(error.path or "")
    assert named.parent == path.parent, f"{named} is not where the damaged file is"
    assert error.limit is None or error.kind == "limit"
    return f"E:{error.kind}({place(named.name, error.field, path.name)})"


def kept(native: Any, tok: Any, source: Source, folder: Path) -> str:
    """Pickle, save and load again: the same meaning. Else what `save` says.

    Saved are a folder and, in the format of the source where that is one to save in, what it can hold.
    """
    assert pickle.loads(pickle.dumps(tok)).fingerprint == tok.fingerprint
    said = saved(native, tok, folder / "saved" / "whole", {}, {})
    if source.saves_as is not None:
        file = folder / "saved" / source.opens
        said += saved(native, tok, file, {"format": source.saves_as, "lossy": True}, source.options)
    return said


def saved(native: Any, tok: Any, path: Path, how: dict[str, Any], options: Mapping[str, Any]) -> str:
    path.parent.mkdir(exist_ok=True)
    try:
        tok.save(path, **how)
    except native.FormatError as error:
        assert not path.exists()
        return f"; save{' as ' + how['format'] if how else ''}:{error.kind}({error.field})"
    again = native.load(path, **options)
    assert again.fingerprint == tok.fingerprint, "saving and loading changes the meaning"
    before = contents(path)
    again.save(path, **how)
    assert contents(path) == before, "the second save differs from the first"
    return ""


def contents(path: Path) -> dict[str, bytes]:
    """The bytes of a file, and of all beside it; of all files in a folder."""
    folder = path if path.is_dir() else path.parent
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def panic(error: BaseException) -> str:
    """A panic of the other library, which is no Exception; nothing else passes."""
    if type(error).__name__ != "PanicException":
        raise error
    return "panics"


def reference_code(
    load: Callable[[Source, Path], Encode],
    source: Source,
    path: Path,
    tok: Any,
    special_tokens: list[str],
) -> str:
    """What the format's own library does with a file: `raises`, `panics`, `loads`.

    Where both load, the ids are compared: `same` or `other`, over the texts that both can encode.
    """
    try:
        encode = load(source, path)
    except Exception:
        return "raises"
    except BaseException as error:
        return panic(error)
    if tok is None:
        return "loads"
    compared = 0
    for text, parse in golden.texts(special_tokens):
        try:
            theirs = encode(text, parse)
            ours = tok.encode(text, special="parse" if parse else "text", add_special_tokens=parse)
        except Exception:
            continue
        except BaseException as error:
            panic(error)
            continue
        if theirs != ours:
            return "other"
        compared += bool(ours)
    assert compared, "no text can be encoded by both"
    return "same"
