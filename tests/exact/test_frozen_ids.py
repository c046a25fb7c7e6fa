"""No release changes an id unseen: what 500 texts become with each tokenizer is kept as hashes.

For each tokenizer ``frozen_ids.txt`` has four lines, and in each a hash for each group of texts:

``ids``      ``encode(text)``
``special``  ids with ``special="parse", add_special_tokens=True``
``offsets``  those of the latter, in characters and in bytes
``text``     ``decode`` of the former

Where a text cannot be encoded, the name of the error takes its place. Those that are trained here show
changes of training as well. The published ones are slow, and need the shared folder.

    TOKENMILL_RENEW=1 python -m pytest tests/exact/test_frozen_ids.py --slow

writes the lines of all tokenizers that it runs anew, and leaves the others. Look at what changed: whoever
has trained a model with such a tokenizer gets other ids, so each change needs its reason in CHANGELOG.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from .frozen_texts import GROUPS, PER_GROUP
from .frozen_tokenizers import OWN, PUBLISHED, SLOW, made, published

FILE = Path(__file__).parent / "frozen_ids.txt"
KINDS = ("ids", "special", "offsets", "text")
TEXTS = "069b2de1be169ea780df29baeb5d8d4cd4ebd1cd1a57e5faa12d006b61c9e53c"
"""The hash of the texts themselves."""
DIGITS = 10
"""Hexadecimal digits of a hash: by chance two are alike once in 10^12."""
HEAD = f"""\
# What {PER_GROUP * len(GROUPS)} texts become, as hashes: a release that changes an id changes a line here.
# test_frozen_ids.py says what is hashed. What is changed here needs its reason in CHANGELOG.md. Written by
#     TOKENMILL_RENEW=1 python -m pytest tests/exact/test_frozen_ids.py --slow
# tokenizer, kind, number of texts; then a hash for each {PER_GROUP} texts:
# {" ".join(GROUPS)}
"""

Lines = dict[tuple[str, str], list[str]]


@cache
def frozen() -> Lines:
    lines: Lines = {}
    for line in FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []:
        if not line.startswith("#"):
            name, kind, *values = line.split()
            lines[name, kind] = values
    return lines


def renew(name: str, found: dict[str, list[str]]) -> None:
    """The lines of a tokenizer as they are now, and those of the others as they stand in the file."""
    frozen.cache_clear()
    lines = {key: values for key, values in frozen().items() if key[0] in {*OWN, *PUBLISHED}}
    lines |= {(name, kind): values for kind, values in found.items()}
    order = sorted(lines, key=lambda key: (key[0], KINDS.index(key[1])))
    FILE.write_text(HEAD + "".join(f"{' '.join([*key, *lines[key]])}\n" for key in order), encoding="utf-8")
    frozen.cache_clear()


def hash_of(values: list[Any]) -> str:
    return sha256(json.dumps(values, separators=(",", ":")).encode()).hexdigest()[:DIGITS]


def encoded(tok: Any, text: str, errors: tuple[type[Exception], ...]) -> tuple[Any, Any, Any, Any]:
    """What a text becomes: a value of each kind."""
    try:
        ids = tok.encode(text)
        encoding = tok.encode_with_offsets(text, special="parse", add_special_tokens=True)
    except errors as error:
        return (type(error).__name__,) * 4
    return ids, encoding.ids, [encoding.offsets, encoding.byte_offsets], tok.decode(ids)


def hashes_of(native: Any, tok: Any) -> dict[str, list[str]]:
    """The number of texts, and a hash for each group, by kind."""
    found = {kind: [str(PER_GROUP * len(GROUPS))] for kind in KINDS}
    for texts in GROUPS.values():
        columns = zip(*(encoded(tok, text, (native.UnknownTokenError,)) for text in texts), strict=True)
        for kind, values in zip(KINDS, columns, strict=True):
            found[kind].append(hash_of(list(values)))
    return found


def check(native: Any, name: str, tok: Any) -> None:
    found = hashes_of(native, tok)
    if os.environ.get("TOKENMILL_RENEW"):
        renew(name, found)
    changed = [
        f"{kind} of {group}"
        for kind in KINDS
        for group, old, new in zip(
            ["number of texts", *GROUPS], frozen().get((name, kind), [""] * 11), found[kind], strict=True
        )
        if old != new
    ]
    assert not changed, f"{name}: another {', '.join(changed)}"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in OWN]
)
def test_no_id_of_a_small_tokenizer_changes(name: str, native: Any, tmp_path: Path) -> None:
    check(native, name, made(native, tmp_path, name))


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_no_id_of_a_published_tokenizer_changes(name: str, native: Any, data: Path) -> None:
    check(native, name, published(native, data, name))


def test_the_file_has_every_tokenizer_and_no_other() -> None:
    assert len(OWN) + len(PUBLISHED) >= 40
    assert {*frozen()} == {(name, kind) for name in (*OWN, *PUBLISHED) for kind in KINDS}
    assert FILE.read_text(encoding="utf-8").startswith(HEAD)


def test_there_are_500_texts_that_never_change() -> None:
    texts = [text for group in GROUPS.values() for text in group]
    assert len(texts) == 500
    # The same text as two differ in nothing: a draw that does not draw.
    assert len({*texts}) > 480
    assert sha256("\0\0".join(texts).encode()).hexdigest() == TEXTS


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("ids", lambda tok: tok.with_normalizer(str.upper)),
        ("special", lambda tok: tok.with_special_tokens(["low"])),
    ],
)
def test_a_change_is_found(
    kind: str, change: Callable[[Any], Any], native: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOKENMILL_RENEW", raising=False)
    with pytest.raises(AssertionError, match=rf"bpe-gpt2: another .*{kind} of words"):
        check(native, "bpe-gpt2", change(made(native, tmp_path, "bpe-gpt2")))
