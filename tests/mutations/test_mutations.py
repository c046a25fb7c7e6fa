"""Every mutation of every format: load, encode, decode, save, load again, pickle.

What must come of each is in `outcomes_of_<format>.json`: by default, with `strict=True`, and what the
format's own library does. After a change that is meant, write these files anew and review the difference:

    TOKENMILL_RECORD=1 pytest tests/mutations -n 0
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .making import Format, Mutation, Source
from .mutations_of_gguf import GGUF
from .mutations_of_sentencepiece import SENTENCEPIECE
from .mutations_of_tekken import TEKKEN
from .mutations_of_tiktoken import TIKTOKEN
from .mutations_of_tokenizer_json import TOKENIZER_JSON
from .mutations_of_vocab_files import VOCAB_FILES
from .outcomes import Original, original, outcome, reference_code

FORMATS = [TOKENIZER_JSON, TIKTOKEN, SENTENCEPIECE, TEKKEN, GGUF, VOCAB_FILES]
KINDS = 25
RECORD = os.environ.get("TOKENMILL_RECORD") == "1"

Row = dict[str, str]


def row_name(mutation: Mutation, source: str) -> str:
    return f"{mutation.number:02} {mutation.name}: {source}"


def fixtures() -> list[Any]:
    return [
        pytest.param(
            format,
            mutation,
            source,
            id=f"{format.name} {row_name(mutation, source)}",
            marks=[pytest.mark.slow] if mutation.is_slow else [],
        )
        for format in FORMATS
        for mutation in format.mutations
        for source in mutation.sources
    ]


def rows_file(format: Format) -> Path:
    return Path(__file__).parent / f"outcomes_of_{format.name}.json"


def read_rows(format: Format) -> dict[str, Row]:
    path = rows_file(format)
    rows: dict[str, Row] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return rows


def write_rows(format: Format, rows: dict[str, Row]) -> None:
    """A line for each row, in the order of the table."""
    names = [row_name(mutation, source) for mutation in format.mutations for source in mutation.sources]
    lines = [
        f"{json.dumps(name)}: {json.dumps(rows[name], ensure_ascii=False)}" for name in names if name in rows
    ]
    rows_file(format).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


expected_rows = cache(read_rows)


@pytest.fixture(scope="session")
def originals(native: Any, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The source of a name, and what it means undamaged."""

    @cache
    def find(format: str, name: str) -> tuple[Source, Original]:
        table = next(one for one in FORMATS if one.name == format)
        source = table.source(data, name)
        return source, original(native, source, tmp_path_factory.mktemp("original"))

    return find


@pytest.mark.parametrize(("format", "mutation", "name"), fixtures())
def test_a_damaged_file(
    native: Any, originals: Any, tmp_path: Path, format: Format, mutation: Mutation, name: str
) -> None:
    source, before = originals(format.name, name)
    damaged = mutation.damage(source)
    assert (damaged.files, damaged.opens) != (source.files, source.opens), "nothing is damaged"
    path = damaged.write(tmp_path)
    found = {"default": outcome(native, damaged, path, False, before)}
    strict = outcome(native, damaged, path, True, before)
    if strict != found["default"]:
        found["strict"] = strict
    tok = None if found["default"].startswith("E:") else native.load(path, **damaged.options)
    if mutation.asks_reference:
        found["reference"] = reference_code(format.reference, damaged, path, tok, before.special_tokens)
    row = row_name(mutation, name)
    if RECORD:
        write_rows(format, {**read_rows(format), row: found})
    else:
        assert found == expected_rows(format)[row]
    assert is_alike(found) or mutation.name in format.differs, found
    # What is tolerated by default is what strict loading refuses, the first of it.
    code, _, tolerated = found["default"].split("; ")[0].partition(":")
    if code != "E" and tolerated:
        assert strict == "E:" + re.split(r", | \+\d", tolerated)[0]


def is_alike(found: Row) -> bool:
    """Where the reference has a meaning we have the same, and where it has none we have none."""
    meant = ("raises", "panics") if found["default"].startswith("E:") else ("same",)
    return found.get("reference", meant[0]) in meant


@pytest.mark.table
@pytest.mark.parametrize("format", FORMATS, ids=[format.name for format in FORMATS])
def test_the_table_is_whole(format: Format) -> None:
    rows = [row_name(mutation, source) for mutation in format.mutations for source in mutation.sources]
    assert len(rows) == len(set(rows))
    if RECORD:
        write_rows(format, read_rows(format))
    assert sorted(read_rows(format)) == sorted(rows)
    sources: dict[int, set[str]] = {}
    for mutation in format.mutations:
        sources.setdefault(mutation.number, set()).update(mutation.sources)
    assert sorted(sources) == list(range(1, KINDS + 1))
    assert all(len(names) >= 3 for names in sources.values()), sources
    differs = {
        mutation.name
        for mutation in format.mutations
        for source in mutation.sources
        if not is_alike(read_rows(format)[row_name(mutation, source)])
    }
    assert differs == set(format.differs)
    outcomes = Counter(row["default"][0] for row in read_rows(format).values())
    print(f"{format.name}: {len(rows)} fixtures, {dict(sorted(outcomes.items()))}")
