"""On a real JVM with Spark: the same rows and the same counts, whatever fails."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tokenmill.errors import HookError, TrainingError

from engines import hooks
from engines.documents import documents, expected, table, trained
from engines.find_java import java
from engines.vocabularies import (
    HUGE,
    LARGE,
    MODELS,
    corpus,
    large_corpus,
    train_from_counts,
    train_from_texts,
)

pytestmark = pytest.mark.engines

pa = pytest.importorskip("pyarrow")

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1500",
    "spark.driver.memory": "2g",
}

TESTS = str(Path(__file__).parents[1])


def session(master: str, **settings: str) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    for name, value in (SETTINGS | settings).items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    if java() is None:
        pytest.skip("Spark needs Java 17 or newer")
    # A task may fail three times.
    made = session("local[2,4]")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return trained(native)


def frame(spark: Any, texts: list[str | None], partitions: int) -> Any:
    return spark.createDataFrame(table(texts)).repartition(partitions)


def check(df: Any, texts: list[str | None], ids: list[list[int] | None]) -> None:
    found = df.toArrow().sort_by("id")
    assert found["ids"].to_pylist() == ids
    assert found["n_tokens"].to_pylist() == [None if row is None else len(row) for row in ids]
    for name in ("id", "text", "score", "tags"):
        assert found[name].to_pylist() == table(texts)[name].to_pylist()


def test_rows(spark: Any, native: Any, tok: Any) -> None:
    texts = documents(20_000, 10 << 20)
    found = native.spark.encode(frame(spark, texts, 5), tok)
    assert found.schema["ids"].dataType.simpleString() == "array<int>"
    assert found.schema["n_tokens"].dataType.simpleString() == "bigint"
    check(found, texts, expected(tok, texts))


def test_options(spark: Any, native: Any, tok: Any) -> None:
    texts = documents(300, 1000)
    df = frame(spark, texts, 2)
    found = native.spark.encode(df, tok, special={"<s>"}, offsets=True)
    check(found, texts, expected(tok, texts, special={"<s>"}))
    for row in found.select("text", "starts", "ends").collect():
        if row.text is not None:
            offsets = tok.encode_with_offsets(row.text, special={"<s>"}).offsets
            assert list(zip(row.starts, row.ends, strict=True)) == offsets
    counted = native.spark.encode(df, tok, ids_column=None, count_column="n")
    assert counted.columns == [*df.columns, "n"]


def test_functions_of_columns_and_in_sql(spark: Any, native: Any, tok: Any) -> None:
    texts = documents(500, 1000)
    frame(spark, texts, 2).createOrReplaceTempView("docs")
    spark.udf.register("token_ids", native.spark.udf(tok))
    spark.udf.register("token_count", native.spark.udf(tok, "count", special="parse"))
    spark.udf.register("first_tokens", native.spark.udf(tok, "truncate", max_tokens=5))
    query = "select id, token_ids(text) a, token_count(text) b, first_tokens(text) c from docs order by id"
    rows = spark.sql(query).collect()
    assert [row.a for row in rows] == expected(tok, texts)
    assert [row.b for row in rows] == [None if t is None else tok.count(t, special="parse") for t in texts]
    assert [row.c for row in rows] == [None if t is None else tok.truncate(t, 5).text for t in texts]
    with pytest.raises(ValueError, match="none of"):
        native.spark.udf(tok, "cut")
    with pytest.raises(ValueError, match="max_tokens"):
        native.spark.udf(tok, "truncate")


def test_what_is_wrong_is_said_before_the_job(spark: Any, native: Any, tok: Any) -> None:
    df = frame(spark, ["a"], 1)
    with pytest.raises(ValueError, match='no column "body"; it has "id", "text"'):
        native.spark.encode(df, tok, "body")
    with pytest.raises(TypeError, match='column "id" of df is of type bigint'):
        native.spark.encode(df, tok, "id")
    with pytest.raises(ValueError, match='already has a column "tags"'):
        native.spark.encode(df, tok, ids_column="tags")
    for column, kind in (("body", ValueError), ("*", ValueError), ("id", TypeError)):
        with pytest.raises(kind, match="column"):
            native.spark.count_pretokens(df, column)
    with pytest.raises(native.PatternError):
        native.spark.count_pretokens(df, split="(")
    with pytest.raises(ValueError, match="n=-1 is no length"):
        native.spark.udf(tok, "truncate", max_tokens=-1)
    with pytest.raises(ValueError, match='"ids" is the column "IDS" to Spark'):
        native.spark.encode(df.withColumnRenamed("id", "IDS"), tok)
    assert native.spark.encode(df, tok, "TEXT").columns == [*df.columns, "ids", "n_tokens"]
    with pytest.raises(HookError, match="pass init="):
        native.spark.encode(df, tok.with_normalizer(str.upper, name="upper"))


def test_an_error_in_a_row_is_told(spark: Any, native: Any, tok: Any) -> None:
    from pyspark.errors import PythonException

    df = spark.createDataFrame(table(["a", "b", "c<s>"])).coalesce(1)
    told = r'row 2 of column "text": special token "<s>" at character 1.*"parse"'
    with pytest.raises(PythonException, match=told):
        native.spark.encode(df, tok, special="raise").collect()


def test_a_function_under_an_old_name_is_the_new_one(spark: Any, native: Any, tok: Any) -> None:
    df = spark.createDataFrame(table(["Ab"] * 4))
    for function, text in ((str.upper, "AB"), (str.lower, "ab"), (str.upper, "AB")):
        hooked = tok.with_normalizer(function, name="case")
        init = partial(native.register_hook, "case", function)
        assert native.spark.encode(df, hooked, init=init).first().ids == tok.encode(text)


def test_a_task_that_fails_twice_changes_nothing(spark: Any, native: Any, tok: Any, tmp_path: Path) -> None:
    texts = [*documents(500, 1000), hooks.FATAL, *documents(500, 1000)]
    fragile = tok.with_normalizer(str, name="fragile")
    init = partial(hooks.register, str(tmp_path), "task")
    check(native.spark.encode(frame(spark, texts, 3), fragile, init=init), texts, expected(tok, texts))
    assert (tmp_path / "1").exists(), "nothing has failed"


KILLED = """
import sys
from functools import partial
from engines import hooks, test_spark
from engines.documents import documents, expected, trained
import tokenmill

if __name__ == "__main__":
    tok = trained(tokenmill)
    spark = test_spark.session("local-cluster[2,1,1024]", **{"spark.executor.memory": "1g"})
    texts = [*documents(500, 1000), hooks.FATAL, *documents(500, 1000)]
    fragile = tok.with_normalizer(str, name="fragile")
    init = partial(hooks.register, sys.argv[1], "executor")
    found = tokenmill.spark.encode(test_spark.frame(spark, texts, 6), fragile, init=init)
    test_spark.check(found, texts, expected(tok, texts))
    spark.stop()
    print("the same rows")
"""


def test_a_killed_executor_changes_nothing(spark: Any, tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    marks = tmp_path / "marks"
    marks.mkdir()
    environment = {**os.environ, "PYTHONPATH": TESTS}
    command = [sys.executable, str(script), str(marks)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "the same rows" in done.stdout
    assert (marks / "0").exists(), "nothing was killed"


CONNECTED = """
import os, sys
from engines import test_spark
from engines.documents import documents, expected, trained
from pyspark.sql import SparkSession
import tokenmill

if __name__ == "__main__":
    tok = trained(tokenmill)
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    assert "connect" in type(spark).__module__
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    texts = documents(500, 1000)
    df = test_spark.frame(spark, texts, 3)
    test_spark.check(tokenmill.spark.encode(df, tok), texts, expected(tok, texts))
    counted = df.select("id", tokenmill.spark.udf(tok, "count")("text").alias("n")).orderBy("id").toArrow()
    assert counted["n"].to_pylist() == [None if text is None else tok.count(text) for text in texts]
    known = tokenmill.count_pretokens(texts=[text for text in texts if text is not None])
    assert tokenmill.spark.count_pretokens(df) == known
    tokenmill.spark.count_pretokens(df, out=sys.argv[1])
    assert tokenmill.PretokenCounts.load(sys.argv[1]) == known
    spark.stop()
    print("the same rows")
"""


def test_spark_connect(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    script = tmp_path / "connected.py"
    script.write_text(CONNECTED)
    environment = {**os.environ, "PYTHONPATH": TESTS}
    command = [sys.executable, str(script), str(tmp_path / "counts")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "the same rows" in done.stdout


def test_a_function_that_runs_twice_gives_the_same_rows(native: Any, tok: Any) -> None:
    from tokenmill._engines.sent import SentTokenizer
    from tokenmill._engines.spark_tasks import BatchEncoder
    from tokenmill._engines.tables import encode_options

    options = encode_options("ids", "n_tokens", "int32", False, False, "text", 1)
    task = BatchEncoder(SentTokenizer(tok, None), "text", options)
    batches = table(documents(300, 1000)).to_batches(max_chunksize=50)
    first, second = (pa.Table.from_batches(task(iter(batches))) for _ in range(2))
    assert first.equals(second)
    assert list(task(iter([]))) == []


def test_a_batch_is_cut_before_its_offsets_overflow(tok: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenmill._engines import spark_tasks

    data = table(documents(300, 1000)).combine_chunks().to_batches()[0]
    wide = pa.record_batch(tok.encode_arrow(data, dtype="int32"))
    assert len(list(spark_tasks.narrow(wide))) == 1
    monkeypatch.setattr(spark_tasks, "MAX_IDS", 2000)
    parts = list(spark_tasks.narrow(wide))
    assert len(parts) > 3
    for part in parts:
        assert part.num_rows == 1 or len(part["ids"].flatten()) <= 2000
    assert pa.Table.from_batches(parts)["ids"].to_pylist() == wide["ids"].to_pylist()


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_a_large_vocabulary(spark: Any, native: Any, model: str, data: Path, tmp_path: Path) -> None:
    texts = large_corpus(data)
    reading, _ = MODELS[model]
    whole = train_from_texts(native, model, texts, vocab_size=LARGE)
    assert len(whole) == LARGE
    for partitions in (2, 9):
        df = spark.createDataFrame(pa.table({"text": texts})).repartition(partitions)
        counts = native.spark.count_pretokens(df, **reading)
        found = train_from_counts(native, model, counts, vocab_size=LARGE)
        assert found.fingerprint == whole.fingerprint
    native.spark.count_pretokens(df, out=str(tmp_path / "counts"), **reading)
    assert train_from_counts(native, model, tmp_path / "counts", vocab_size=LARGE) == whole


@pytest.mark.parametrize("model", MODELS)
def test_vocabularies(spark: Any, native: Any, model: str, tmp_path: Path) -> None:
    texts = corpus()
    reading, _ = MODELS[model]
    whole = train_from_texts(native, model, texts)
    known = native.count_pretokens(texts=[text for text in texts if text is not None], **reading)
    for partitions in (1, 7):
        Random(partitions).shuffle(texts)
        counts = native.spark.count_pretokens(frame(spark, texts, partitions), **reading)
        assert counts == known
        assert train_from_counts(native, model, counts) == whole
    out = tmp_path / "counts"
    assert native.spark.count_pretokens(frame(spark, texts, 4), out=str(out), **reading) is None
    assert native.PretokenCounts.load(out) == known
    assert train_from_counts(native, model, out) == whole
    with pytest.raises(FileExistsError, match="new folder"):
        native.spark.count_pretokens(frame(spark, texts, 1), out=out, **reading)


def test_rare_pretokens_are_dropped_after_the_sum(spark: Any, native: Any, tmp_path: Path) -> None:
    texts: list[str | None] = ["low low", "low lower", None, "lower"] * 3
    whole = native.count_pretokens(texts=[t for t in texts if t is not None], min_count=4)
    df = frame(spark, texts, 5)
    assert native.spark.count_pretokens(df, min_count=4) == whole
    native.spark.count_pretokens(df, min_count=4, out=str(tmp_path / "counts"))
    assert native.PretokenCounts.load(tmp_path / "counts") == whole


def test_large_counts_are_exact_and_larger_ones_an_error(spark: Any, native: Any, tmp_path: Path) -> None:
    from tokenmill._counts.counting import reading_options
    from tokenmill._engines import spark_counts, spark_tasks

    options = reading_options()

    def sums(weights: list[int]) -> Any:
        # What tasks with that many texts would give.
        rows: list[Any] = [(None, bytearray(b"low"), Decimal(weight)) for weight in weights]
        rows += [("pretokens", None, Decimal(weight)) for weight in weights]
        partial_counts = spark.createDataFrame(rows, spark_tasks.PARTIAL).repartition(3)
        keyed = partial_counts.groupBy(*spark_tasks.COUNTED).agg({"count": "sum"})
        return keyed.withColumnRenamed("sum(count)", "count")

    for total in HUGE:
        found = spark_counts.collected(sums([total - 5, 2, 3]), options, None)
        assert list(found.items()) == [(b"low", total)]
        out = tmp_path / str(total)
        spark_counts.written(sums([total - 5, 2, 3]), options, None, str(out))
        assert list(native.PretokenCounts.load(out).items()) == [(b"low", total)]
    with pytest.raises(TrainingError, match=r"'low'.*2\^64"):
        spark_counts.collected(sums([2**64 - 1, 1]), options, None)
    with pytest.raises(TrainingError, match=r"'low'.*2\^64"):
        spark_counts.written(sums([2**64 - 1, 1]), options, None, str(tmp_path / "over"))
    assert not (tmp_path / "over").exists()
