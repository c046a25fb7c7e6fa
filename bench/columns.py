"""Columns of text to columns of ids: from memory, from Parquet to Parquet, on Ray, on Spark, and by datasets.

    python bench/columns.py                              400 MB of English, code and many languages, Llama 3.1
    python bench/columns.py --megabytes 100 --only memory parquet
    python bench/columns.py --megabytes 2000 --rounds 3 --only arrow ray ray-ready

Each job has a process of its own. What a job costs is the CPU time of all its processes, those of Ray and
the JVM among them: this process adopts what they leave behind, and waits for all. Ray and Spark spend more
on moving rows than we do on encoding them. So each runs twice: with our function, and with one that returns
ready ids of the same lengths; the difference is what encoding costs there, beside what `encode_arrow` costs
for the same batches in one process. The CPU time of a Ray job varies by about a second between runs, so
that the difference means little below 2,000 MB. Needs `pip install "tokenmill[engines]"` for Ray and Spark,
and Java 17 or newer.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import data
from tokenmill._engines.sent import SentTokenizer

MB = 1_000_000
FILE = 50
"""Approximate megabytes of text per file; Ray makes each file a block."""
BATCH = 2000
"""Rows of a batch: about 4 MB."""


# ---- what is encoded ----------------------------------------------------------------------------


def prepare(folder: Path, megabytes: int) -> None:
    """Documents of 500 to 4,000 characters as Parquet files, with the number of ids of each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [
        data.text(name, 10 * MB).decode("utf-8", "replace") for name in ("english", "code", "multilingual")
    ]
    at, turn = [0, 0, 0], 0
    lengths = (500, 1000, 2000, 4000)
    tok = tokenizer()
    for number in range(-(-megabytes // FILE)):
        documents: list[str] = []
        left = min(FILE, megabytes - number * FILE) * MB
        while left > 0:
            which = turn % len(texts)
            text, start = texts[which], at[which]
            document = text[start : start + lengths[turn // 3 % 4]]
            at[which] = start + len(document) if start + len(document) < len(text) else turn % 499
            documents.append(document)
            left -= len(document.encode())
            turn += 1
        column = pa.array(documents, pa.string())
        table = pa.table({"id": range(len(documents)), "text": column, "n": tok.count_batch(column)})
        pq.write_table(table, folder / f"docs-{number:03}.parquet", row_group_size=BATCH)


def tokenizer() -> Any:
    import tokenmill

    return tokenmill.load(tokenizer_json())


def tokenizer_json() -> Path:
    folder = data.shared()
    if folder is None:
        sys.exit("needs the shared corpora and vocabularies (TOKENMILL_SHARED)")
    return folder / "vocab" / "llama3.1" / "tokenizer.json"


def batches(folder: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    for path in sorted(Path(folder).glob("docs-*.parquet")):
        yield from pq.ParquetFile(path).iter_batches(BATCH)


def text_bytes(all_batches: list[Any]) -> int:
    return sum(batch["text"].nbytes for batch in all_batches)


# ---- jobs, each in a process of its own -----------------------------------------------------------


def memory(folder: str) -> dict[str, Any]:
    """`encode_arrow` beside `encode_batch` over the same batches, in turns."""
    tok, all_batches = tokenizer(), list(batches(folder))
    ways: dict[str, Callable[[Any], object]] = {
        "encode_batch": lambda batch: tok.encode_batch(batch["text"]),
        "encode_arrow": tok.encode_arrow,
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(6):
        for name in list(ways)[:: 1 if turn % 2 else -1]:
            before = time.process_time()
            for batch in all_batches:
                ways[name](batch)
            found[name].append(time.process_time() - before)
    ratio = statistics.median(
        a / b for a, b in zip(found["encode_batch"], found["encode_arrow"], strict=True)
    )
    rate = text_bytes(all_batches) / MB / statistics.median(found["encode_arrow"])
    return {"ratio": ratio, "mb_s": rate}


def arrow(folder: str) -> dict[str, Any]:
    """One pass of `encode_arrow` over the batches as Spark has them, and over whole files as Ray has them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tok = tokenizer()
    paths = sorted(Path(folder).glob("docs-*.parquet"))
    ways: dict[str, Iterator[Any]] = {
        "cpu_of_batches": batches(folder),
        "cpu_of_files": map(pq.read_table, paths),
    }
    found = dict.fromkeys(ways, 0.0)
    size = 0
    for name, several in ways.items():
        for one in several:
            before = time.process_time()
            pa.table(tok.encode_arrow(one))
            found[name] += time.process_time() - before
            size += one["text"].nbytes if name == "cpu_of_batches" else 0
    return {"mb_s": size / MB / found["cpu_of_batches"], **found}


def parquet(folder: str) -> dict[str, Any]:
    """Parquet to Parquet in one process, and how the time divides."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tok = tokenizer()
    spent = {"read": 0.0, "ours": 0.0, "write": 0.0}
    size = 0
    writer = None
    source = batches(folder)
    start = time.process_time()
    while True:
        t0 = time.process_time()
        batch = next(source, None)
        t1 = time.process_time()
        spent["read"] += t1 - t0
        if batch is None:
            break
        out = pa.record_batch(tok.encode_arrow(batch))
        t2 = time.process_time()
        size += batch["text"].nbytes
        writer = writer or pq.ParquetWriter(f"{folder}/ids.parquet", out.schema)
        writer.write_batch(out)
        spent["ours"] += t2 - t1
        spent["write"] += time.process_time() - t2
    assert writer is not None
    writer.close()
    return {"mb_s": size / MB / (time.process_time() - start), **spent}


def peak(folder: str, share: int) -> dict[str, Any]:
    """Peak memory of the process while a stream encodes every ``share``-th file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tok = tokenizer()
    paths = sorted(Path(folder).glob("docs-*.parquet"))[::share]

    def source() -> Iterator[Any]:
        for path in paths:
            yield from pq.ParquetFile(path).iter_batches(BATCH)

    schema = pq.ParquetFile(paths[0]).schema_arrow
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    reader = pa.RecordBatchReader.from_batches(schema, source())
    rows = 0
    for batch in pa.RecordBatchReader.from_stream(tok.encode_arrow(reader)):
        rows += batch.num_rows
    status = Path("/proc/self/status").read_text("ascii")
    return {"peak_mb": int(status.split("VmHWM:")[1].split()[0]) / 1024, "rows": rows}


def ready(table: Any) -> Any:
    """Ready ids of the same lengths."""
    import numpy as np
    import pyarrow as pa

    lengths = table["n"].to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids = pa.LargeListArray.from_arrays(offsets, np.zeros(offsets[-1], np.uint32))
    table = pa.table(table)
    return table.append_column("ids", ids).append_column("n_tokens", pa.array(lengths))


def ready_for_spark(found: Iterator[Any], sent: SentTokenizer) -> Iterator[Any]:
    import pyarrow as pa

    sent()
    for batch in found:
        table = ready(pa.Table.from_batches([batch])).combine_chunks()
        ids = table["ids"].cast(pa.list_(pa.int32()))
        yield from table.set_column(table.schema.get_field_index("ids"), "ids", ids).to_batches()


def on_ray(folder: str, ours: bool) -> dict[str, Any]:
    import ray
    import tokenmill

    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    here = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(Path(__file__).parent)]))
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": here}},
    )  # fmt: skip
    ray.data.DataContext.get_current().enable_progress_bars = False
    ds = ray.data.read_parquet(folder + "/docs")
    # Reading has to have a core, too; and with one actor both jobs start as many processes.
    pool = ray.data.ActorPoolStrategy(size=1)
    start = time.monotonic()
    if ours:
        ds = tokenmill.ray.encode(ds, tokenizer(), compute=pool)
    else:
        sent = SentTokenizer(tokenizer(), None)
        ds = ds.map_batches(
            Ready, fn_constructor_args=(sent,), batch_format="pyarrow", batch_size=None, compute=pool
        )
    rows = sum(bundle.num_rows() or 0 for bundle in ds.iter_internal_ref_bundles())
    wall = time.monotonic() - start
    ray.shutdown()
    return {"rows": rows, "wall": wall}


class Ready:
    """`ready` in an actor, which has the tokenizer, too."""

    def __init__(self, sent: SentTokenizer) -> None:
        self.tok = sent()

    def __call__(self, table: Any) -> Any:
        return ready(table)


def on_spark(folder: str, ours: bool) -> dict[str, Any]:
    import tokenmill
    from pyspark.sql import SparkSession
    from pyspark.sql.types import ArrayType, IntegerType, LongType, StructType

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.driver.memory", "4g")
    spark = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", str(BATCH)).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    df = spark.read.parquet(folder + "/docs")
    start = time.monotonic()
    if ours:
        df = tokenmill.spark.encode(df, tokenizer())
    else:
        schema = (
            StructType(list(df.schema.fields))
            .add("ids", ArrayType(IntegerType()))
            .add("n_tokens", LongType())
        )
        sent = SentTokenizer(tokenizer(), None, spark.sparkContext.broadcast)
        df = df.mapInArrow(lambda found: ready_for_spark(found, sent), schema)
    df.write.format("noop").mode("overwrite").save()
    wall = time.monotonic() - start
    spark.stop()
    return {"wall": wall}


def by_datasets(folder: str, library: str) -> dict[str, Any]:
    import datasets
    import pyarrow as pa
    import tokenmill

    datasets.disable_progress_bars()
    ds = datasets.Dataset(pa.Table.from_batches(list(batches(folder))))
    size = ds.data.table["text"].nbytes
    before = time.process_time()
    if library == "tokenmill":
        tokenmill.datasets.encode(ds, tokenizer(), load_from_cache_file=False)
    else:
        peer = import_module("fastokens._native").Tokenizer.from_file(str(tokenizer_json()))

        def encode(rows: Any) -> Any:
            return {"ids": [one.ids for one in peer.encode_batch(rows["text"])]}

        ds.map(encode, batched=True, load_from_cache_file=False)
    return {"mb_s": size / MB / (time.process_time() - before)}


JOBS: dict[str, Callable[[str], dict[str, Any]]] = {
    "memory": memory,
    "arrow": arrow,
    "parquet": parquet,
    "peak-quarter": lambda folder: peak(folder, 4),
    "peak": lambda folder: peak(folder, 1),
    "ray": lambda folder: on_ray(folder, ours=True),
    "ray-ready": lambda folder: on_ray(folder, ours=False),
    "spark": lambda folder: on_spark(folder, ours=True),
    "spark-ready": lambda folder: on_spark(folder, ours=False),
    "datasets": lambda folder: by_datasets(folder, "tokenmill"),
    "datasets-fastokens": lambda folder: by_datasets(folder, "fastokens"),
}


# ---- running them -----------------------------------------------------------------------------------


def adopt() -> None:
    """What a job leaves behind becomes a child of this process, whose CPU time is known when it has ended."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def run(job: str, folder: str) -> dict[str, Any]:
    """The result of a job, with the CPU seconds of all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-W", "ignore", __file__, "--job", job, "--folder", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    while True:  # those that were adopted
        try:
            os.wait()
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"error": (done.stderr or "no result")[-2000:]}
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(lines[-1]), "all_cpu": cpu}


def main() -> int:
    """Run the jobs, print what they cost."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=list(JOBS), default=list(JOBS))
    parser.add_argument("--job", choices=list(JOBS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        print(json.dumps(JOBS[args.job](args.folder)))
        return 0
    adopt()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), args.megabytes)
        # Engines read a folder that holds nothing else.
        (Path(folder) / "docs").mkdir()
        for path in Path(folder).glob("docs-*.parquet"):
            (Path(folder) / "docs" / path.name).symlink_to(path)
        failed = False
        samples: dict[str, list[dict[str, Any]]] = {}
        for _ in range(args.rounds):
            for job in args.only:
                found = run(job, folder)
                failed |= "error" in found
                samples.setdefault(job, []).append(found)
                print(job, json.dumps(found), flush=True)
    for engine, alone in (("ray", "cpu_of_files"), ("spark", "cpu_of_batches")):
        if {engine, f"{engine}-ready", "arrow"} <= set(samples) and not failed:
            both = zip(samples[engine], samples[f"{engine}-ready"], samples["arrow"], strict=True)
            ratios = [(ours["all_cpu"] - own["all_cpu"]) / one[alone] for ours, own, one in both]
            print(f"{engine}: encoding costs {statistics.median(ratios):.2f} of encode_arrow in one process")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
