"""The same rows, whichever library asks for them: those that run in this process."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenmill.errors import HookError, MissingExtraError, SpecialTokenError

from engines.documents import documents, expected, table, trained

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
datasets = pytest.importorskip("datasets")

ENGINES = ("datasets", "duckdb", "polars", "ray", "spark")


@pytest.fixture(
    scope="module", params=[(2_000, 1 << 20), pytest.param((20_000, 10 << 20), marks=pytest.mark.slow)]
)
def texts(request: pytest.FixtureRequest) -> list[str | None]:
    return documents(*request.param)


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return trained(native)


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets.disable_progress_bars()


def check(found: Any, texts: list[str | None], ids: list[list[int] | None]) -> None:
    """Are these the rows?"""
    data = table(texts)
    assert found.num_rows == len(texts)
    for name in data.column_names:
        assert found[name].to_pylist() == data[name].to_pylist(), name
    assert found["ids"].to_pylist() == ids
    assert found["n_tokens"].to_pylist() == [None if row is None else len(row) for row in ids]


@pytest.mark.parametrize("special", ["text", "parse"])
def test_arrow_by_batch_and_by_stream(tok: Any, texts: list[str | None], special: str) -> None:
    ids = expected(tok, texts, special=special)
    data = table(texts)
    check(pa.table(tok.encode_arrow(data, special=special)), texts, ids)
    small = pa.RecordBatchReader.from_batches(data.schema, data.to_batches(max_chunksize=123))
    check(pa.table(tok.encode_arrow(small, special=special, num_threads=2)), texts, ids)
    batches = [
        pa.record_batch(tok.encode_arrow(b, special=special)) for b in data.to_batches(max_chunksize=777)
    ]
    check(pa.Table.from_batches(batches), texts, ids)
    for one, own in zip(batches, data.to_batches(max_chunksize=777), strict=True):
        for name in data.column_names:
            assert [b and b.address for b in one[name].buffers()] == [
                b and b.address for b in own[name].buffers()
            ]


def test_datasets_in_two_processes(tok: Any, texts: list[str | None], native: Any, tmp_path: Path) -> None:
    ids = expected(tok, texts)
    table_of_texts = table(texts)
    ds = datasets.Dataset(table_of_texts)
    found = native.datasets.encode(ds, tok, num_proc=2)
    check(found.with_format("arrow")[:], texts, ids)
    assert found.format == datasets.Dataset(table_of_texts).format | {"columns": found.column_names}
    # Without a second process, and as a stream.
    check(native.datasets.encode(ds, tok).with_format("arrow")[:], texts, ids)
    stream = native.datasets.encode(ds.to_iterable_dataset(), tok, batch_size=333)
    rows = list(stream)
    assert [row["ids"] for row in rows] == ids
    assert [row["id"] for row in rows] == list(range(len(texts)))


def test_polars_lazily(tok: Any, texts: list[str | None], native: Any) -> None:
    frame = pl.DataFrame(table(texts))
    for lazy in (frame.lazy(), pl.concat([frame[:10], frame[10:11], frame[11:]], rechunk=False).lazy()):
        found = lazy.with_columns(
            native.polars.encode("text", tok).alias("ids"),
            native.polars.count(pl.col("text"), tok).alias("n_tokens"),
        )
        assert found.collect_schema()["ids"] == pl.List(pl.UInt32)
        for engine in ("in-memory", "streaming"):
            check(found.collect(engine=engine).to_arrow(), texts, expected(tok, texts))
    check(pl.DataFrame(tok.encode_arrow(frame)).to_arrow(), texts, expected(tok, texts))


def test_duckdb(tok: Any, texts: list[str | None], native: Any) -> None:
    with duckdb.connect() as con:
        native.duckdb.register(con, tok)
        con.register("docs", table(texts))
        query = "select *, token_ids(text) as ids, token_count(text) as n_tokens from docs order by id"
        check(con.sql(query).to_arrow_table(), texts, expected(tok, texts))
        relation = con.sql("select * from docs order by id")
        check(pa.table(tok.encode_arrow(relation)), texts, expected(tok, texts))


def test_options_reach_the_tokenizer(tok: Any, native: Any) -> None:
    texts = ["a<s>", None, "<s>"]
    parsed = expected(tok, texts, special="parse")
    frame = pl.DataFrame({"text": texts})
    got = frame.select(native.polars.encode("text", tok, special="parse", dtype="int64"))["text"]
    assert got.dtype == pl.List(pl.Int64)
    assert got.to_list() == parsed
    with duckdb.connect() as con:
        native.duckdb.register(con, tok, "p_", special={"<s>"})
        native.duckdb.register(con, tok)
        assert con.sql("select p_token_ids('a<s>'), token_count('a<s>')").fetchall() == [(parsed[0], 4)]
    ds = datasets.Dataset.from_dict({"body": texts})
    got = native.datasets.encode(
        ds, tok, "body", ids_column="x", count_column=None, special="parse", dtype="uint16"
    )
    assert got.column_names == ["body", "x"]
    assert got["x"][:] == parsed
    assert native.datasets.encode(ds, tok, "body", offsets=True)[0]["ends"] == [1, 2, 3, 4]


def test_what_is_wrong_is_said_before_the_work(tok: Any, native: Any) -> None:
    ds = datasets.Dataset.from_dict({"text": ["a<s>"], "ids": [1]})
    with pytest.raises(ValueError, match='no column "body"; it has "text", "ids"'):
        native.datasets.encode(ds, tok, "body")
    with pytest.raises(ValueError, match='already has a column "ids"'):
        native.datasets.encode(ds, tok)
    with pytest.raises(SpecialTokenError, match="<x>"):
        native.polars.encode("text", tok, special={"<x>"})
    with duckdb.connect() as con, pytest.raises(SpecialTokenError, match="<x>"):
        native.duckdb.register(con, tok, special={"<x>"})
    for options in ({"drop_last_batch": True}, {"features": None}, {"remove_columns": ["text"]}):
        with pytest.raises(TypeError, match="is no option here"):
            native.datasets.encode(ds, tok, ids_column="x", **options)
    no_tokenizer = "tok must be a Tokenizer, not str"
    with pytest.raises(TypeError, match=no_tokenizer):
        native.datasets.encode(ds, "tok", ids_column="x")
    with pytest.raises(TypeError, match=no_tokenizer):
        native.polars.count("text", "tok")
    with pytest.raises(TypeError, match=no_tokenizer):
        native.duckdb.register(None, "tok")
    with pytest.raises(TypeError, match="a column or an expression, not Series"):
        native.polars.encode(pl.Series(["a"]), tok)
    with pytest.raises(TypeError, match="init must be a function"):
        native.datasets.encode(ds, tok, ids_column="x", init=5)
    with pytest.raises(TypeError, match="a data set of datasets, not list"):
        native.datasets.encode([], tok)
    with pytest.raises(TypeError, match="neither num_proc"):
        native.datasets.encode(ds.to_iterable_dataset(), tok, ids_column="x", num_proc=2)


def test_an_error_in_a_row_names_it(tok: Any, native: Any) -> None:
    texts = ["a", "b", "c<s>"]
    with pytest.raises(
        pl.exceptions.ComputeError, match=r'row \d of column "text": special token "<s>" at character 1'
    ):
        pl.LazyFrame({"text": texts}).select(native.polars.encode("text", tok, special="raise")).collect()
    with duckdb.connect() as con:
        native.duckdb.register(con, tok, special="raise")
        with pytest.raises(duckdb.Error, match='row 0 of column "text": special token "<s>" at character 1'):
            con.sql("select token_ids('c<s>')").fetchall()
    ds = datasets.Dataset.from_dict({"text": texts})
    with pytest.raises(ValueError, match='row 2 of column "text": special token "<s>" at character 1'):
        native.datasets.encode(ds, tok, special="raise", ids_column="x")


def test_every_data_set_of_a_dict(tok: Any, native: Any) -> None:
    parts = {name: datasets.Dataset.from_dict({"text": [name, None]}) for name in ("train", "test")}
    found = native.datasets.encode(datasets.DatasetDict(parts), tok, num_proc=2)
    assert {name: part["ids"][:] for name, part in found.items()} == {
        name: [tok.encode(name), None] for name in parts
    }
    streams = datasets.IterableDatasetDict({name: part.to_iterable_dataset() for name, part in parts.items()})
    assert [row["n_tokens"] for row in native.datasets.encode(streams, tok)["test"]] == [
        tok.count("test"),
        None,
    ]


@pytest.mark.parametrize("form", [None, "numpy", "arrow", "pandas"])
def test_the_format_of_a_data_set_stays(tok: Any, native: Any, form: str | None) -> None:
    ds = datasets.Dataset.from_dict({"text": ["a", "b"], "x": [1, 2]}).with_format(form)
    found = native.datasets.encode(ds, tok)
    assert found.format["type"] == form
    assert ds.format["type"] == form
    assert found.column_names == ["text", "x", "ids", "n_tokens"]
    chosen = native.datasets.encode(ds.with_format(form, columns=["x"], output_all_columns=False), tok)
    assert chosen.format["columns"] == ["x", "ids", "n_tokens"]
    stream = native.datasets.encode(ds.to_iterable_dataset().with_format(form), tok)
    assert (stream._formatting.format_type if stream._formatting else None) == form


def test_splits_without_rows_and_without_values(tok: Any, native: Any) -> None:
    for texts in ([], [None, None]):
        ds = datasets.Dataset.from_dict({"text": texts})
        found = native.datasets.encode(ds, tok)
        assert found.column_names == ["text", "ids", "n_tokens"]
        assert found["ids"][:] == texts
    typed = datasets.Dataset.from_dict(
        {"text": []}, features=datasets.Features({"text": datasets.Value("string")})
    )
    assert native.datasets.encode(typed, tok).features["n_tokens"] == datasets.Value("int64")
    assert pl.DataFrame({"text": [None]}).select(native.polars.count("text", tok))["text"].to_list() == [None]


def test_a_stream_of_python_rows(tok: Any, native: Any) -> None:
    texts = ["a", None, "b", None, None, "c"]
    ds = datasets.Dataset.from_dict({"text": texts, "other": [None, 1, 2, None, None, 5]})
    known = ds.to_iterable_dataset()
    for stream in (known.map(lambda row: {"text": row["text"]}), known.filter(lambda row: True), known):
        rows = list(native.datasets.encode(stream, tok, batch_size=2))
        assert [row["ids"] for row in rows] == [None if t is None else tok.encode(t) for t in texts]
        assert [row["other"] for row in rows] == ds["other"][:]
    encoded = native.datasets.encode(known, tok)
    assert list(encoded.features) == ["text", "other", "ids", "n_tokens"]
    with pytest.raises(ValueError, match='no column "body"'):
        native.datasets.encode(known, tok, "body")
    with pytest.raises(ValueError, match='"other" is a column already'):
        list(native.datasets.encode(known.map(lambda row: row), tok, ids_column="other"))


def test_a_function_under_an_old_name_is_the_new_one(tok: Any, native: Any) -> None:
    ds = datasets.Dataset.from_dict({"text": ["Ab"]})
    upper, lower = tok.with_normalizer(str.upper, name="case"), tok.with_normalizer(str.lower, name="case")
    first = native.datasets.encode(ds, upper, init=lambda: native.register_hook("case", str.upper))
    second = native.datasets.encode(ds, lower, init=lambda: native.register_hook("case", str.lower))
    assert (first["ids"][0], second["ids"][0]) == (tok.encode("AB"), tok.encode("ab"))


@pytest.mark.parametrize("dtype", ["uint16", np.uint16, np.dtype("uint16"), "u2"])
def test_a_type_is_read_as_numpy_reads_it(tok: Any, native: Any, dtype: Any) -> None:
    ds = datasets.Dataset.from_dict({"text": ["a"]})
    assert native.datasets.encode(ds, tok, dtype=dtype).features["ids"].feature == datasets.Value("uint16")
    got = pl.DataFrame({"text": ["a"]}).select(native.polars.encode("text", tok, dtype=dtype))
    assert got["text"].dtype == pl.List(pl.UInt16)
    default = native.datasets.encode(ds, tok, dtype=None)
    assert default.features["ids"].feature == datasets.Value("uint32")


def test_a_name_that_is_taken_registers_nothing(tok: Any, native: Any) -> None:
    with duckdb.connect() as con:
        con.create_function("token_ids", lambda text: text, ["VARCHAR"], "VARCHAR")
        with pytest.raises(duckdb.Error, match="token_ids"):
            native.duckdb.register(con, tok)
        con.remove_function("token_ids")
        native.duckdb.register(con, tok)


CACHED = """
import sys, datasets, tokenmill
from tokenmill import datasets as ours
datasets.disable_progress_bars()
tok = tokenmill.load(sys.argv[1])
ds = datasets.load_dataset("json", data_files=sys.argv[2], split="train", cache_dir=sys.argv[3])
options = eval(sys.argv[4])
print([entry["filename"] for entry in ours.encode(ds, tok, **options).cache_files])
"""


def test_the_cache_is_found_by_another_process(tok: Any, tmp_path: Path) -> None:
    tok.save(tmp_path / "tokenizer.json")
    (tmp_path / "docs.jsonl").write_text('{"text": "the mill"}\n{"text": null}\n' * 10)
    environment = {**os.environ, "HF_HOME": str(tmp_path / "home"), "PYTHONHASHSEED": "random"}

    def run(**options: Any) -> str:
        given = [
            str(tmp_path / "tokenizer.json"),
            str(tmp_path / "docs.jsonl"),
            str(tmp_path / "cache"),
            repr(options),
        ]
        command = [sys.executable, "-c", CACHED, *given]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    first = run()
    assert run(num_threads=2, batch_size=3) == first
    assert run(special="parse") != first
    assert run(dtype="int64") != first
    assert run(special={"<s>", "</s>"}) == run(special={"</s>", "<s>"}) != first


def test_a_hook_is_refused_where_a_worker_has_none(tok: Any, native: Any) -> None:
    hooked = tok.with_normalizer(str.upper, name="upper")
    ds = datasets.Dataset.from_dict({"text": ["a", None, "b"]})
    with pytest.raises(HookError, match=r"'upper'.*pass init=") as caught:
        native.datasets.encode(ds, hooked, num_proc=2)
    assert caught.value.hook == "upper"
    found = native.datasets.encode(ds, hooked, num_proc=2, init=register_upper)
    assert found["ids"][:] == [tok.encode("A"), None, tok.encode("B")]


def register_upper() -> None:
    import tokenmill

    tokenmill.register_hook("upper", str.upper)


@pytest.mark.parametrize("name", ENGINES)
def test_a_module_is_found_without_an_import_and_not_listed(name: str) -> None:
    program = f"""
import sys, tokenmill
assert {name!r} not in dir(tokenmill) and {name!r} not in tokenmill.__all__
before = set(sys.modules)
module = tokenmill.{name}
assert module.__name__ == "tokenmill.{name}"
names = {{one.split(".")[0] for one in set(sys.modules) - before}}
assert not names & {{"datasets", "duckdb", "polars", "ray", "pyspark", "pyarrow", "numpy"}}, names
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


CALLS: dict[str, Callable[[Any, Any], object]] = {
    "datasets": lambda module, tok: module.encode(None, tok),
    "duckdb": lambda module, tok: module.register(None, tok),
    "polars": lambda module, tok: module.count("text", tok),
    "ray": lambda module, tok: module.encode(None, tok),
    "spark": lambda module, tok: module.udf(tok),
}


@pytest.mark.parametrize("name", ENGINES)
def test_a_missing_engine_says_what_to_install(
    tok: Any, native: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: types.ModuleType = getattr(native, name)
    for library in ("datasets", "duckdb", "polars", "ray", "ray.data", "pyspark", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf'pip install "tokenmill\[{name}\]"') as caught:
        CALLS[name](module, tok)
    assert caught.value.extra == name


def test_a_module_is_short() -> None:
    folder = Path(__file__).parents[2] / "python" / "tokenmill"
    for name in ENGINES:
        assert len((folder / f"{name}.py").read_text("utf-8").splitlines()) < 150, name


def test_a_worker_makes_a_tokenizer_once(tok: Any, native: Any) -> None:
    import pickle

    from tokenmill._engines import sent as _workers

    sent = [pickle.loads(pickle.dumps(_workers.SentTokenizer(tok, None))) for _ in range(3)]
    first = sent[0]()
    assert first == tok
    assert all(one() is first for one in sent)
    others = [tok.with_vocab_size(size) for size in range(400, 410)]
    for other in others:
        assert _workers.SentTokenizer(other, None)() == other
    assert len(_workers._made) == _workers._KEPT
    assert np.array_equal(sent[0]().encode_to_numpy("the mill"), tok.encode_to_numpy("the mill"))
