"""On a real cluster of Ray with two workers: the same rows and the same counts, whatever dies."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tokenmill.errors import HookError

from engines import hooks
from engines.documents import documents, expected, table, trained
from engines.vocabularies import (
    HUGE,
    LARGE,
    MODELS,
    corpus,
    large_corpus,
    train_from_counts,
    train_from_texts,
)

pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("default"),  # of Ray itself
]

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": str(Path(__file__).parents[1])}},
    )
    importlib.import_module("ray.data")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return trained(native)


def blocks(ray: Any, texts: list[str | None], count: int) -> Any:
    data = table(texts)
    size = max(1, -(-data.num_rows // count))
    return ray.data.from_arrow([data.slice(at, size) for at in range(0, data.num_rows, size)])


def check(ds: Any, texts: list[str | None], ids: list[list[int] | None]) -> None:
    rows = sorted(ds.take_all(), key=lambda row: row["id"])
    assert [row["ids"] if row["ids"] is None else list(row["ids"]) for row in rows] == ids
    assert [row["n_tokens"] for row in rows] == [None if row is None else len(row) for row in ids]
    for name in ("id", "text", "score", "tags"):
        assert [row[name] for row in rows] == table(texts)[name].to_pylist()


@pytest.mark.parametrize("num_cpus", [1, 2])
def test_rows(ray: Any, native: Any, tok: Any, num_cpus: int) -> None:
    texts = documents(20_000, 10 << 20)
    found = native.ray.encode(blocks(ray, texts, 8), tok, num_cpus=num_cpus)
    check(found, texts, expected(tok, texts))


def test_options(ray: Any, native: Any, tok: Any) -> None:
    texts = documents(300, 1000)
    compute = ray.data.ActorPoolStrategy(size=2)
    options = {"special": {"<s>"}, "add_special_tokens": True, "dtype": "uint16"}
    found = native.ray.encode(
        blocks(ray, texts, 3),
        tok,
        compute=compute,
        batch_size=7,
        ray_remote_args={"memory": 1 << 20},
        **options,
    )
    check(found, texts, expected(tok, texts, special={"<s>"}, add_special_tokens=True))
    assert found.schema().base_schema.field("ids").type == pa.large_list(pa.uint16())


def test_what_is_wrong_is_said_before_the_job(ray: Any, native: Any, tok: Any) -> None:
    ds = blocks(ray, ["a", "b"], 1)
    with pytest.raises(ValueError, match='no column "body"'):
        native.ray.encode(ds, tok, "body")
    with pytest.raises(TypeError, match='column "id"'):
        native.ray.encode(ds, tok, "id")
    with pytest.raises(ValueError, match="uint8"):
        native.ray.encode(ds, tok, dtype="uint8")
    with pytest.raises(HookError, match="pass init="):
        native.ray.encode(ds, tok.with_normalizer(str.upper, name="upper"))


def test_an_error_in_a_row_is_told(ray: Any, native: Any, tok: Any) -> None:
    ds = blocks(ray, ["a", "b", "c<s>"], 1)
    with pytest.raises(ray.exceptions.RayError) as caught:
        native.ray.encode(ds, tok, special="raise").take_all()
    told = str(caught.value) + str(caught.value.__cause__)
    assert 'row 2 of column "text": special token "<s>" at character 1' in told
    assert 'special="parse"' in told


def test_an_actor_that_dies_in_a_batch_changes_nothing(
    ray: Any, native: Any, tok: Any, tmp_path: Path
) -> None:
    texts = [*documents(500, 1000), hooks.FATAL, *documents(500, 1000)]
    fragile = tok.with_normalizer(str, name="fragile")
    init = partial(hooks.register, str(tmp_path), "process")
    found = native.ray.encode(blocks(ray, texts, 4), fragile, init=init)
    check(found, texts, expected(tok, texts))
    assert (tmp_path / "0").exists(), "nothing has died"


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_a_large_vocabulary(ray: Any, native: Any, model: str, data: Path, tmp_path: Path) -> None:
    texts = large_corpus(data)
    reading, _ = MODELS[model]
    whole = train_from_texts(native, model, texts, vocab_size=LARGE)
    assert len(whole) == LARGE
    for parts in (2, 9):
        ds = ray.data.from_arrow(pa.table({"text": texts})).repartition(parts)
        counts = native.ray.count_pretokens(ds, parts=parts, **reading)
        found = train_from_counts(native, model, counts, vocab_size=LARGE)
        assert found.fingerprint == whole.fingerprint
    native.ray.count_pretokens(ds, out=str(tmp_path / "counts"), **reading)
    assert train_from_counts(native, model, tmp_path / "counts", vocab_size=LARGE) == whole


@pytest.mark.parametrize("model", MODELS)
def test_vocabularies(ray: Any, native: Any, model: str, tmp_path: Path) -> None:
    texts = corpus()
    reading, _ = MODELS[model]
    whole = train_from_texts(native, model, texts)
    for number, parts in ((1, 1), (7, 3)):
        Random(number).shuffle(texts)
        ds = blocks(ray, texts, number)
        counts = native.ray.count_pretokens(ds, parts=parts, **reading)
        assert counts == native.count_pretokens(texts=[t for t in texts if t is not None], **reading)
        assert train_from_counts(native, model, counts) == whole
    assert native.ray.count_pretokens(ds, out=str(tmp_path / "counts"), parts=3, **reading) is None
    assert len(list((tmp_path / "counts").glob("part-*.parquet"))) == 3
    assert train_from_counts(native, model, tmp_path / "counts") == whole


def test_rare_pretokens_are_dropped_after_the_sum(ray: Any, native: Any) -> None:
    texts: list[str | None] = ["low low", "low lower", None, "lower"] * 3
    whole = native.count_pretokens(texts=[t for t in texts if t is not None], min_count=4)
    assert native.ray.count_pretokens(blocks(ray, texts, 5), parts=2, min_count=4) == whole
    assert len(whole) < len(native.count_pretokens(texts=[t for t in texts if t is not None]))


def test_nothing_at_all(ray: Any, native: Any, tok: Any, tmp_path: Path) -> None:
    ds = blocks(ray, [None, None], 1)
    assert len(native.ray.count_pretokens(ds)) == 0
    assert len(native.ray.count_pretokens(ds.filter(lambda row: False))) == 0
    # Of three blocks one is empty.
    some = blocks(ray, ["a", "b", "c"], 3).filter(lambda row: row["text"] != "b")
    assert list(native.ray.count_pretokens(some, parts=2).items()) == [(b"a", 1), (b"c", 1)]
    native.ray.count_pretokens(ds, out=tmp_path / "counts", parts=2)
    assert len(native.PretokenCounts.load(tmp_path / "counts")) == 0
    with pytest.raises(FileExistsError, match="new one"):
        native.ray.count_pretokens(ds, out=tmp_path / "counts")
    nulls = ray.data.from_items([{"text": "a"}, {"text": None}])
    found = {row["text"]: row["ids"] for row in native.ray.encode(nulls, tok).take_all()}
    assert list(found["a"]) == tok.encode("a")
    assert found[None] is None


def test_what_is_wrong_with_counting_is_said_before_the_job(ray: Any, native: Any) -> None:
    ds = blocks(ray, ["a", "b"], 1)
    with pytest.raises(ValueError, match='no column "body"; it has "id", "text"'):
        native.ray.count_pretokens(ds, "body")
    with pytest.raises(TypeError, match='column "id" is of type int64'):
        native.ray.count_pretokens(ds, "id")
    with pytest.raises(native.PatternError):
        native.ray.count_pretokens(ds, split="(")


def test_large_counts_are_exact_and_larger_ones_an_error(ray: Any, native: Any, monkeypatch: Any) -> None:
    from tokenmill._engines import counted, ray_tasks

    # What blocks of that many texts would give.
    def shares_of(weights: list[int]) -> list[bytes]:
        parts = [native.count_pretokens(texts={"low": weight}) for weight in weights]
        return [counted.counts_to_bytes(part) for part in parts]

    def summed(weights: list[int]) -> Any:
        rows = pa.table(
            {"share": [0] * len(weights), "counts": pa.array(shares_of(weights), pa.large_binary())}
        )
        ds = ray.data.from_arrow(rows)
        sums = ds.groupby("share").map_groups(
            partial(ray_tasks.sum_share, min_count=None, out=None), batch_format="pyarrow"
        )
        return counted.counts_of_bytes(sums.take_all()[0]["counts"])

    for total in HUGE:
        assert list(summed([total - 5, 2, 3]).items()) == [(b"low", total)]
    with pytest.raises(ray.exceptions.RayError) as caught:
        summed([2**64 - 1, 1])
    assert "2^64" in str(caught.value) + str(caught.value.__cause__)
