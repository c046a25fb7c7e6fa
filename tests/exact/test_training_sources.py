"""One vocabulary from every kind of source, and from the texts: byte for byte."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from sources_made import bgzip, frames, members

pa = pytest.importorskip("pyarrow")


def documents(text: str, size: int) -> list[str]:
    """The first bytes of a corpus, cut into documents of many lengths at line ends."""
    lines = text.encode()[:size].decode("utf-8", "ignore").splitlines(keepends=True)
    steps = [1, 2, 3, 5, 8, 13, 21, 34]
    found: list[str] = []
    at = 0
    while at < len(lines):
        step = steps[len(found) % len(steps)]
        found.append("".join(lines[at : at + step]))
        at += step
    return found


def written(folder: Path, texts: list[str]) -> dict[str, dict[str, Any]]:
    """The arguments of ``train`` for each kind of source."""
    from pyarrow import ipc, parquet

    def many(name: str, ending: str, pack: Callable[[bytes], bytes]) -> str:
        place = folder / name
        place.mkdir()
        for number, text in enumerate(texts):
            (place / f"{number:06}{ending}").write_bytes(pack(text.encode()))
        return str(place)

    table = pa.table({"id": pa.array(range(len(texts))), "text": texts})
    parquet.write_table(table, folder / "a.parquet", row_group_size=997)
    parquet.write_table(table, folder / "zstd.parquet", compression="zstd", use_dictionary=False)
    with ipc.new_file(folder / "a.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=500)
    file = io.BytesIO()
    with ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=500)
    (folder / "s.arrow").write_bytes(file.getvalue())
    rows = "".join(
        json.dumps({"id": i, "meta": {"body": text}}) + "\n" for i, text in enumerate(texts)
    ).encode()
    plain = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts).encode()
    for name, content in {
        "a.jsonl": plain,
        "rows.jsonl.gz": members(rows),
        "rows.jsonl.zst": frames(rows),
        "bgzip.jsonl.gz": bgzip(plain, 60_000),
    }.items():
        (folder / name).write_bytes(content)
    return {
        "texts": {"texts": texts},
        "files": {"files": many("plain", ".txt", bytes) + "/*"},
        "a folder": {"files": folder / "plain"},
        ".gz": {"files": many("gz", ".txt.gz", lambda content: gzip.compress(content, 1))},
        ".zst": {"files": many("zst", ".txt.zst", frames)},
        "JSONL": {"files": folder / "a.jsonl"},
        "JSONL.gz": {"files": folder / "rows.jsonl.gz", "field": "meta.body"},
        "JSONL.zst": {"files": folder / "rows.jsonl.zst", "field": "meta.body"},
        "bgzip": {"files": folder / "bgzip.jsonl.gz"},
        "Parquet": {"files": folder / "a.parquet"},
        "Parquet, zstd": {"files": folder / "zstd.parquet", "column": "text"},
        "Arrow": {"files": folder / "a.arrow"},
        "an Arrow stream": {"files": folder / "s.arrow"},
        "a column": {"texts": table["text"]},
        "a reader": {"texts": table},
    }


def check(sources: dict[str, dict[str, Any]], **options: Any) -> None:
    found: dict[str, set[str]] = {}
    for kind, source in sources.items():
        if kind == "a reader":  # which is read once
            source = {"texts": source["texts"].to_reader(max_chunksize=100)}
        tok = tokenmill.train(**source, **options)
        report = tok.training_report
        assert report is not None
        figures = (tok.fingerprint, report.documents, report.bytes, report.pretokens)
        found.setdefault(str(figures), set()).add(kind)
    assert len(found) == 1, found


@pytest.fixture(scope="module")
def sources(english: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """A megabyte of English."""
    return written(tmp_path_factory.mktemp("sources"), documents(english, 1_000_000))


@pytest.mark.parametrize(
    "options",
    [
        {"vocab_size": 2000},
        pytest.param(
            {"vocab_size": 2000, "num_threads": 1, "tie_break": "first-seen"}, marks=pytest.mark.slow
        ),
        pytest.param({"vocab_size": 1500, "model": "unigram"}, marks=pytest.mark.slow),
        pytest.param(
            {"vocab_size": 1500, "model": "wordpiece", "unk_token": "[UNK]"}, marks=pytest.mark.slow
        ),
    ],
    ids=["bpe", "first-seen", "unigram", "wordpiece"],
)
def test_a_megabyte_of_english_from_every_source(
    sources: dict[str, dict[str, Any]], options: dict[str, Any]
) -> None:
    check(sources, **options)


def test_counts_of_every_source_are_those_of_the_texts(sources: dict[str, dict[str, Any]]) -> None:
    expected = tokenmill.count_pretokens(**sources["texts"])
    for kind, source in sources.items():
        given = {"texts": source["texts"].to_reader()} if kind == "a reader" else source
        assert tokenmill.count_pretokens(**given) == expected, kind


@pytest.fixture(scope="module")
def large_sources(
    english: str, multilingual: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """English and many languages, 80 MB."""
    texts = documents(english, len(english.encode())) + documents(multilingual, len(multilingual.encode()))
    # As many files as there are documents would be half a million.
    joined = ["".join(texts[start : start + 40]) for start in range(0, len(texts), 40)]
    return written(tmp_path_factory.mktemp("sources"), joined)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"model": "unigram"}, {"model": "wordpiece", "unk_token": "[UNK]"}],
    ids=["bpe", "unigram", "wordpiece"],
)
def test_english_and_multilingual_from_every_source(
    large_sources: dict[str, dict[str, Any]], options: dict[str, Any]
) -> None:
    check(large_sources, vocab_size=32_000, **options)
