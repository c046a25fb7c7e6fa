"""Counted pretokens in stores: plain files, Parquet, folders of parts, tables of Arrow; also damaged ones."""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill import FormatError, PretokenCounts, TrainingError, count_pretokens

TEXTS = ["low lower lowest", "e\u0301t été мир", "low 漢字 漢字 <s>", ""] * 2
KEY = b"tokenmill.pretoken_counts"


def made(**options: Any) -> PretokenCounts:
    return count_pretokens(texts=TEXTS, **{"split": "gpt2", "special_tokens": ["<s>", "é"], **options})


COUNTS = made()
MANY = [
    COUNTS,
    made(min_count=2),
    made(model="wordpiece", unk_token="[UNK]", split=None),
    made(model="unigram", split=None, user_defined_symbols=["low"]),
    count_pretokens(texts=[]),
    count_pretokens(texts={"a b": 2**63, "b": 2**32}),
]


@pytest.fixture(scope="module")
def pa() -> Any:
    return pytest.importorskip("pyarrow")


@pytest.mark.parametrize("counts", MANY)
@pytest.mark.parametrize("name", ["a.parquet", "a", "a.counts", "a.bin"])
def test_what_is_saved_is_loaded(counts: PretokenCounts, name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(b"before")
    counts.save(path)
    assert PretokenCounts.load(path) == counts
    assert PretokenCounts.load(os.fspath(path)) == counts
    start = path.read_bytes()[:8]
    assert (start[:4] == b"PAR1") == (name in ("a.parquet", "a")), "the name says the format"
    assert (start == b"tmcounts") == (name in ("a.counts", "a.bin"))
    assert [file.name for file in tmp_path.iterdir()] == [name], "nothing else is left behind"
    if counts.split is not None and counts.total < 2**60:
        assert tokenmill.train(counts=path, num_merges=1) == tokenmill.train(counts=counts, num_merges=1)


@pytest.mark.parametrize("counts", MANY)
def test_a_table_of_arrow_has_all(counts: PretokenCounts, pa: Any) -> None:
    table = counts.to_arrow()
    assert table.schema.types == [pa.large_binary(), pa.uint64()]
    assert table.schema.names == ["pretoken", "count"]
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == list(counts.items())
    assert json.loads(table.schema.metadata[KEY]) == counts.facts
    table.validate(full=True)
    for data in (table, table.to_batches()[0] if len(table) else table, table.to_reader()):
        assert PretokenCounts.from_arrow(data) == counts


def test_rows_of_arrow_need_not_be_sorted_or_distinct(pa: Any) -> None:
    items = list(COUNTS.items())
    rows = [(pretoken, part) for pretoken, count in items for part in _parts(count)]
    random.Random(3).shuffle(rows)
    assert len(rows) > len(items)
    schema = COUNTS.to_arrow().schema
    for size in (1, 2, len(rows)):
        batches = [
            pa.record_batch(
                [
                    pa.array([pretoken for pretoken, _ in rows[i : i + size]], pa.large_binary()),
                    pa.array([count for _, count in rows[i : i + size]], pa.uint64()),
                ],
                schema=schema,
            )
            for i in range(0, len(rows), size)
        ]
        assert PretokenCounts.from_arrow(pa.Table.from_batches(batches)) == COUNTS
    # Parts of arrays begin behind the start of their buffers.
    table = pa.table(
        {"pretoken": [b"zz", *(p for p, _ in rows), b"zz"], "count": [9, *(c for _, c in rows), 9]}
    )
    assert PretokenCounts.from_arrow(table.slice(1, len(rows)), facts=COUNTS.facts) == COUNTS


def _parts(count: int) -> list[int]:
    return [1] * count if count < 4 else [count - 3, 3]


def test_columns_of_many_types_are_taken(pa: Any) -> None:
    pretokens = [pretoken for pretoken, _ in COUNTS.items()]
    numbers = [count for _, count in COUNTS.items()]
    texts = [pretoken.decode() for pretoken in pretokens]
    strings = [
        *(pa.array(pretokens, kind) for kind in (pa.binary(), pa.large_binary())),
        *(pa.array(texts, kind) for kind in (pa.string(), pa.large_string())),
        pa.array(texts).dictionary_encode(),
        *(
            [pa.array(texts, pa.string_view()), pa.array(pretokens, pa.binary_view())]
            if hasattr(pa, "string_view")
            else []
        ),
    ]
    kinds = (pa.uint64(), pa.int64(), pa.int32(), pa.uint8(), pa.decimal128(38, 0))
    for column in strings:
        table = pa.table({"count": pa.array(numbers), "other": numbers, "pretoken": column})
        assert PretokenCounts.from_arrow(table, facts=COUNTS.facts) == COUNTS, column.type
    for kind in kinds:
        values = [Decimal(n) for n in numbers] if pa.types.is_decimal(kind) else numbers
        table = pa.table({"pretoken": pretokens, "count": pa.array(values, kind)})
        assert PretokenCounts.from_arrow(table, facts=COUNTS.facts) == COUNTS, kind


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"pretoken": [b"a"]}, "columns pretoken and count, each once; here are pretoken"),
        ({"token": [b"a"], "count": [1]}, "here are token, count"),
        ({"pretoken": [1], "count": [1]}, "pretoken is int64, but has to be binary or a string"),
        ({"pretoken": [b"a"], "count": ["1"]}, "count is string, but has to be an integer or a decimal"),
        ({"pretoken": [b"a"], "count": [1.5]}, "count is double, but"),
        ({"pretoken": [b"a", None], "count": [1, 1]}, "pretoken[1] is null"),
        ({"pretoken": [b"a", b"b"], "count": [None, 1]}, "count[0] is null"),
        ({"pretoken": [b"a", b""], "count": [1, 1]}, "pretoken[1]: is empty"),
        ({"pretoken": [b"a\xff"], "count": [1]}, "pretoken[0]: is not UTF-8"),
        ({"pretoken": [b"a"], "count": [0]}, "pretoken[0]: has a count of 0"),
        ({"pretoken": [b"a", b"b"], "count": [1, -2]}, "the pretoken 'b' has the count -2"),
        ({"pretoken": [b"a"], "count": [Decimal("1.5")]}, "the pretoken 'a' has the count 1.5"),
        (
            {"pretoken": [b"a"], "count": [Decimal(2**64)]},
            "the pretoken 'a' occurs 18,446,744,073,709,551,616 times",
        ),
        (
            {"pretoken": [b"a", b"b", b"a"], "count": [Decimal(2**63)] * 3},
            'the pretoken "a" occurs more than 2^64',
        ),
    ],
)
def test_what_is_no_table_of_counts_is_refused(columns: dict[str, list[Any]], says: str, pa: Any) -> None:
    with pytest.raises(TrainingError) as caught:
        PretokenCounts.from_arrow(pa.table(columns), facts=COUNTS.facts)
    assert says in str(caught.value)


def test_arrow_without_facts_needs_them(pa: Any) -> None:
    bare = COUNTS.to_arrow().replace_schema_metadata(None)
    with pytest.raises(TrainingError, match="pass facts="):
        PretokenCounts.from_arrow(bare)
    assert PretokenCounts.from_arrow(bare, facts=COUNTS.facts) == COUNTS
    with pytest.raises(TrainingError, match=r"split \(the metadata: 'gpt2', facts=: 'cl100k'\)"):
        PretokenCounts.from_arrow(COUNTS.to_arrow(), facts={**COUNTS.facts, "split": "cl100k"})
    left = COUNTS.total - next(COUNTS.items())[1]
    with pytest.raises(
        FormatError, match=f"counts: add up to {left} pretokens, but {COUNTS.total} were counted"
    ):
        PretokenCounts.from_arrow(bare.slice(1), facts=COUNTS.facts)
    with pytest.raises(TypeError, match="from_arrow\\(\\) takes a table, a batch or a stream of Arrow"):
        PretokenCounts.from_arrow([1])
    large = pa.table({"pretoken": [b"a", b"a"], "count": pa.array([2**63, 2**63 - 1], pa.uint64())})
    facts = {**COUNTS.facts, "pretokens": 2**64 - 1}
    assert list(PretokenCounts.from_arrow(large, facts=facts).items()) == [(b"a", 2**64 - 1)]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": "other"}, "facts.format: is not"),
        ({"version": 2}, "facts.version: is 2; this version of tokenmill reads 1"),
        ({"version": None}, "facts.version: is None"),
        ({"later": 1}, "facts.later: is not known here"),
        ({"split": None}, "facts.split: is None"),
        ({"documents": -1}, "facts.documents: is -1"),
        ({"documents": True}, "facts.documents: is True"),
        ({"pretokens": 2**64}, "facts.pretokens: is 18446744073709551616"),
        ({"special_tokens": [""]}, "facts.special_tokens: is ['']"),
        ({"special_tokens": "<s>"}, "facts.special_tokens: is '<s>'"),
        ({"errors": "ignore"}, "facts.errors: is 'ignore'"),
        ({"dialect": "sentencepiece"}, "facts."),
        ({"normalizer": "BertNormalizer"}, "is missing"),
    ],
)
def test_facts_that_are_none_are_refused(changes: dict[str, Any], says: str, pa: Any) -> None:
    bare = COUNTS.to_arrow().replace_schema_metadata(None)
    with pytest.raises(FormatError) as caught:
        PretokenCounts.from_arrow(bare, facts={**COUNTS.facts, **changes})
    assert says in str(caught.value)
    assert caught.value.field.startswith("facts.")
    lost = {name: value for name, value in COUNTS.facts.items() if name != "min_count"}
    with pytest.raises(FormatError, match=r"facts\.min_count: is missing"):
        PretokenCounts.from_arrow(bare, facts=lost)


# ---- damage ------------------------------------------------------------------------------------


def refused(path: Path, content: bytes) -> FormatError:
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        PretokenCounts.load(path)
    assert caught.value.path == str(path)
    assert str(caught.value).startswith(f"{path}: ")
    return caught.value


def test_every_cut_and_every_flip_of_a_plain_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.counts"
    COUNTS.save(path)
    whole = path.read_bytes()
    chance = random.Random(1)
    for end in range(len(whole)):
        assert refused(path, whole[:end]).kind in ("truncated", "damaged")
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << chance.randrange(8)
        refused(path, bytes(changed))
    refused(path, whole + b"\0")
    assert refused(path, whole[:-1] + bytes([whole[-1] ^ 1])).kind == "checksum"
    path.write_bytes(whole)
    assert PretokenCounts.load(path) == COUNTS


def plain(
    pretokens: list[bytes], counts: list[int], facts: dict[str, Any], *, offsets: list[int] | None = None
) -> bytes:
    """A plain file, with a checksum that fits."""
    text = json.dumps(facts).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(pretokens)
    if offsets is None:
        offsets = [sum(map(len, pretokens[:i])) for i in range(len(pretokens) + 1)]
    body = struct.pack("<8sIIQQ", b"tmcounts", 1, len(text), len(counts), len(data)) + text
    body += struct.pack(f"<{len(offsets)}Q", *offsets) + struct.pack(f"<{len(counts)}Q", *counts) + data
    return body + sha256(body).digest()


def test_the_plain_format_is_as_documented(tmp_path: Path) -> None:
    COUNTS.save(tmp_path / "a.counts")
    pretokens, counts = zip(*COUNTS.items(), strict=True)
    assert (tmp_path / "a.counts").read_bytes() == plain(list(pretokens), list(counts), COUNTS.facts)


def test_a_plain_file_whose_checksum_fits_is_checked_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.counts"
    facts = {**COUNTS.facts, "pretokens": 5}
    path.write_bytes(plain([b"a", b"b"], [2, 3], facts))
    assert list(PretokenCounts.load(path).items()) == [(b"a", 2), (b"b", 3)]
    for content, says in (
        (plain([b"b", b"a"], [2, 3], facts), "not in order"),
        (plain([b"a", b"a"], [2, 3], facts), "not in order"),
        (plain([b"a", b""], [2, 3], facts), "pretoken[1]: is empty"),
        (plain([b"a", b"\xff"], [2, 3], facts), "pretoken[1]: is not UTF-8"),
        (plain([b"a", b"b"], [5, 0], facts), "has a count of 0"),
        (plain([b"a", b"b"], [2, 4], facts), "add up to 6 pretokens, but 5 were counted"),
        (
            plain([b"a", b"b"], [2, 4], {**facts, "min_count": 2}),
            "add up to 6 pretokens, but only 5 were counted",
        ),
        (plain([b"a", b"b"], [2, 3], facts, offsets=[0, 2, 1]), "do not fit"),
        (plain([b"a", b"b"], [2, 3], facts, offsets=[0, 5, 2]), "pretoken[0]"),
        (plain([b"a", b"b"], [2, 3], {}), "facts.format"),
        (plain([b"a"], [5], {**facts, "version": 9}), "facts.version: is 9"),
        (b"tmcounts" + bytes(100), "version: is 0"),
        (b"low lower lowest\n" * 9, "is no file of counts"),
        (b"", "has 0 bytes"),
    ):
        assert says in str(refused(path, content))
    with pytest.raises(FileNotFoundError):
        PretokenCounts.load(tmp_path / "missing.counts")


def test_a_parquet_file_that_is_damaged_is_named(tmp_path: Path, pa: Any) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    counts = count_pretokens(texts=[f"word{i}" for i in range(3_000)], split="none")
    counts.save(path)
    whole = path.read_bytes()
    for end in (4, 50, len(whole) // 2, len(whole) - 1):
        refused(path, whole[:end])
    for place in (len(whole) // 4, len(whole) // 2):  # in a page
        refused(path, whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
    bare = counts.to_arrow().replace_schema_metadata(None)
    pq.write_table(bare, path)
    assert "are missing" in str(refused(path, path.read_bytes()))
    pq.write_table(pa.table({"text": ["a"]}), path)
    assert "here are text" in str(refused(path, path.read_bytes()))
    pq.write_table(counts.to_arrow().slice(1), path)
    assert "2,999 pretokens, but 3,000 were counted" in str(refused(path, path.read_bytes()))


# ---- folders -----------------------------------------------------------------------------------

PARTS = [count_pretokens(texts=TEXTS[i::3], split="gpt2") for i in range(3)]
WHOLE = count_pretokens(texts=TEXTS, split="gpt2")


def test_a_folder_is_the_sum_of_its_parts(tmp_path: Path, pa: Any) -> None:
    for part, name in zip(PARTS, ("a.parquet", "b.counts", "c"), strict=True):
        part.save(tmp_path / name)
    (tmp_path / "_SUCCESS").write_bytes(b"")
    (tmp_path / ".a.parquet.crc").write_bytes(b"\0")
    (tmp_path / "_temporary").mkdir()
    assert PretokenCounts.load(tmp_path) == WHOLE
    assert tokenmill.merge_counts([tmp_path]) == WHOLE
    assert tokenmill.train(counts=tmp_path, num_merges=9) == tokenmill.train(
        texts=TEXTS, split="gpt2", num_merges=9
    )
    assert tokenmill.train(counts=[str(tmp_path), PARTS[0]], num_merges=9).training_report is not None
    assert len(pa.table(WHOLE.to_arrow())) == len(WHOLE)


def test_parts_of_engines_take_their_facts_from_beside_them(tmp_path: Path, pa: Any) -> None:
    import pyarrow.parquet as pq

    # As Spark writes: each pretoken in one part, in any order, the count signed or a decimal.
    items = list(WHOLE.items())
    for number, kind in enumerate((pa.int64(), pa.decimal128(38, 0))):
        own = items[number::2][::-1]
        counts = pa.array([Decimal(count) for _, count in own], pa.decimal128(38, 0)).cast(kind)
        pq.write_table(
            pa.table({"pretoken": [p for p, _ in own], "count": counts}), tmp_path / f"part-{number}.parquet"
        )
    with pytest.raises(
        FormatError, match=r"part-0.parquet: facts: are missing: the folder has no _facts.json"
    ):
        PretokenCounts.load(tmp_path)
    (tmp_path / "_facts.json").write_text(json.dumps(WHOLE.facts), encoding="utf-8")
    assert PretokenCounts.load(tmp_path) == WHOLE
    # A part that is lost, or there twice, is missed.
    lost = (tmp_path / "part-1.parquet").rename(tmp_path / "_part")
    with pytest.raises(FormatError, match="some are missing or present twice"):
        PretokenCounts.load(tmp_path)
    for name in ("part-1.parquet", "part-2.parquet"):
        (tmp_path / name).write_bytes(lost.read_bytes())
    with pytest.raises(FormatError, match="some are missing or present twice"):
        PretokenCounts.load(tmp_path)
    (tmp_path / "part-2.parquet").unlink()
    (tmp_path / "_facts.json").write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match=r"_facts.json: facts: are no JSON"):
        PretokenCounts.load(tmp_path)


def test_parts_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    PARTS[0].save(tmp_path / "a.counts")
    count_pretokens(texts=["a"], split="cl100k").save(tmp_path / "b.counts")
    with pytest.raises(TrainingError, match=r"split \(.*a.counts: 'gpt2', .*b.counts: 'cl100k'\)"):
        PretokenCounts.load(tmp_path)
    (tmp_path / "_facts.json").write_text(json.dumps(WHOLE.facts), encoding="utf-8")
    with pytest.raises(TrainingError, match=r"split \(.*_facts.json: 'gpt2', .*b.counts: 'cl100k'\)"):
        PretokenCounts.load(tmp_path)
    (tmp_path / "_facts.json").unlink()
    tokenmill.merge_counts(PARTS, min_count=2).save(tmp_path / "b.counts")
    with pytest.raises(TrainingError, match=r"b\.counts has lost what occurs less than 2 times"):
        PretokenCounts.load(tmp_path)
    (tmp_path / "b.counts").unlink()
    (tmp_path / "deep").mkdir()
    with pytest.raises(FormatError, match="deep: is a folder"):
        PretokenCounts.load(tmp_path)
    empty = tmp_path / "deep"
    with pytest.raises(FormatError, match="holds no counts"):
        PretokenCounts.load(empty)


# ---- without pyarrow ---------------------------------------------------------------------------


def test_without_pyarrow_there_is_the_plain_format(tmp_path: Path) -> None:
    program = """
import sys
sys.modules["pyarrow"] = None
import tokenmill
from tokenmill import MissingExtraError, PretokenCounts

counts = tokenmill.count_pretokens(texts=["low lower"])
counts.save("a")
assert open("a", "rb").read(8) == b"tmcounts"
assert PretokenCounts.load("a") == counts
open("b.parquet", "wb").write(b"PAR1" + bytes(20))
for call in (
    lambda: counts.save("a.parquet"),
    lambda: PretokenCounts.load("b.parquet"),
    lambda: counts.to_arrow(),
    lambda: PretokenCounts.from_arrow([]),
):
    try:
        call()
    except MissingExtraError as error:
        assert error.extra == "arrow" and "tokenmill[arrow]" in str(error), error
    else:
        raise AssertionError
assert "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b.parquet"]


def test_a_save_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.counts"
    COUNTS.save(path)
    before = path.read_bytes()

    def fails(handle: int) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="no space left"):
        PARTS[0].save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.counts"]
    with pytest.raises(IsADirectoryError):
        COUNTS.save(tmp_path)


def test_a_folder_behind_a_url(native: Any) -> None:
    fsspec = pytest.importorskip("fsspec")
    pytest.importorskip("pyarrow")
    from tokenmill._engines import counted

    counts = native.count_pretokens(texts=["low lower lowest", "你好"] * 3)
    shares = counted.shares(counts, 3)
    for number, share in enumerate(shares):
        counted.write_part(share, "memory://counts/all", number)
    counted.write_facts([share._facts for share in shares], "memory://counts/all")
    for url in ("memory://counts/all", "memory://counts/all/"):
        assert native.PretokenCounts.load(url) == counts
    assert native.train(counts="memory://counts/all", num_merges=2).merges[0] == (b"l", b"o")
    # A part says nothing of the others, so that it cannot be read without what belongs to all.
    facts = fsspec.filesystem("memory").cat("/counts/all/_facts.json")
    fsspec.filesystem("memory").rm("/counts/all/_facts.json")
    with pytest.raises(native.FormatError, match=r"facts: are missing: the folder has no _facts\.json"):
        native.PretokenCounts.load("memory://counts/all")
    fsspec.filesystem("memory").pipe("/counts/all/_facts.json", facts)
    one = fsspec.filesystem("memory").cat("/counts/all/part-00001.parquet")
    fsspec.filesystem("memory").pipe("/counts/cut/part-00001.parquet", one[: len(one) // 2])
    with pytest.raises(native.FormatError, match="memory://counts/cut") as caught:
        native.PretokenCounts.load("memory://counts/cut")
    assert caught.value.path.startswith("memory://counts/cut")


def test_changed_facts_of_a_parquet_file_are_found(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    COUNTS.save(path)
    table = pq.read_table(path)
    facts, digest = table.schema.metadata[KEY], table.schema.metadata[KEY + b".sha256"]
    assert digest == sha256(facts).hexdigest().encode()
    said = f'"documents": {COUNTS.documents}'.encode()
    assert facts.count(said) == 1
    changed = {KEY: facts.replace(said, b'"documents": 7'), KEY + b".sha256": digest}
    pq.write_table(table.replace_schema_metadata(changed), path)
    with pytest.raises(FormatError, match="facts: are damaged: the checksum does not") as caught:
        PretokenCounts.load(path)
    assert (caught.value.kind, caught.value.path) == ("checksum", str(path))


def test_parquet_files_without_a_checksum_of_their_facts_are_read(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(COUNTS.to_arrow(), tmp_path / "a.parquet")
    assert PretokenCounts.load(tmp_path / "a.parquet") == COUNTS
