"""The cache of `datasets`: what was mapped with a tokenizer is found again by its meaning.

That library names a result by the hash of the function and of all that the function uses; a hash that
differed from process to process would map everything anew, in silence.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("datasets", reason="the cache of datasets is not there to be found")

# Loads the tokenizer that it is given and maps texts by a closure, a lambda and the tokenizer's own method;
# says where each result is kept, and how often the function ran.
PROGRAM = """
import json, sys
import datasets
import tokenmill

path, cache, ran, calls, processes = sys.argv[1:]
datasets.disable_progress_bars()
tok = tokenmill.load(path)
for number in range(int(calls)):
    tok.encode("low lower %d" % number)

def closure(tok, length):
    def encode(batch):
        with open(ran, "a") as file:
            file.write("x")
        return {"ids": [ids[:length] for ids in tok.encode_batch(batch["text"]).to_lists()]}
    return encode

texts = datasets.load_dataset("text", data_files=cache + "/texts.txt", cache_dir=cache, split="train")
many = {"num_proc": int(processes)} if int(processes) > 1 else {}
found = texts.map(closure(tok, 5), batched=True, batch_size=10, **many)
lengths = texts.map(lambda row: {"length": tok.count(row["text"])}, **many)
print(json.dumps({
    "files": [file["filename"] for file in found.cache_files + lengths.cache_files],
    "ids": found["ids"][:],
    "lengths": lengths["length"][:],
    "hash": datasets.fingerprint.Hasher.hash(tok),
}))
"""


@pytest.fixture(scope="module")
def files(native: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One tokenizer in three layouts, and another."""
    folder = tmp_path_factory.mktemp("tokenizers")
    tok = native.train(texts=["low lower lowest newest"] * 3, num_merges=12, special_tokens=["<s>"])
    tok.save(folder / "a.json")
    parts = json.loads((folder / "a.json").read_text(encoding="utf-8"))
    parts["model"]["merges"] = [" ".join(pair) for pair in parts["model"]["merges"]]
    turned = {key: parts[key] for key in reversed(parts)}
    (folder / "b.json").write_text(json.dumps(turned, indent=3), encoding="utf-8")
    tok.save(folder / "c")
    native.train(texts=["low lower lowest newest"] * 3, num_merges=11, special_tokens=["<s>"]).save(
        folder / "other.json"
    )
    return {name: folder / name for name in ("a.json", "b.json", "c", "other.json")}


def run(path: Path, cache: Path, calls: int = 0, processes: int = 1) -> tuple[dict[str, Any], int]:
    """What the program says in a process of its own, and how often its function ran."""
    cache.mkdir(exist_ok=True)
    (cache / "texts.txt").write_text("\n".join(f"low lower {i}" for i in range(40)), encoding="utf-8")
    os.utime(cache / "texts.txt", (0, 0))
    ran = cache.with_suffix(".ran")
    ran.write_text("")
    environment = {**os.environ, "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "HF_HOME": str(cache)}
    command = [sys.executable, "-c", PROGRAM, str(path), str(cache), str(ran), str(calls), str(processes)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=120)
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said, len(ran.read_text())


def test_a_second_process_finds_what_the_first_has_mapped(files: dict[str, Path], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first, ran = run(files["a.json"], cache)
    assert ran == 4
    assert run(files["a.json"], cache) == (first, 0)
    # Ten thousand calls leave no trace, nor does the layout of the file.
    assert run(files["a.json"], cache, calls=10_000) == (first, 0)
    assert run(files["b.json"], cache) == (first, 0)
    assert run(files["c"], cache) == (first, 0)
    # Another tokenizer is another function.
    other, ran = run(files["other.json"], cache)
    assert ran == 4
    assert other["hash"] != first["hash"]
    assert not set(other["files"]) & set(first["files"])


def test_processes_of_one_map_give_the_same_and_find_it_again(files: dict[str, Path], tmp_path: Path) -> None:
    alone, _ = run(files["a.json"], tmp_path / "alone")
    cache = tmp_path / "cache"
    first, ran = run(files["a.json"], cache, processes=2)
    assert ran == 4
    assert (first["ids"], first["lengths"]) == (alone["ids"], alone["lengths"])
    assert run(files["b.json"], cache, processes=2) == (first, 0)


def test_dill_writes_a_tokenizer_as_pickle_does(files: dict[str, Path], native: Any) -> None:
    dill: Any = pytest.importorskip("dill")
    one, two = native.load(files["a.json"]), native.load(files["b.json"])
    one.encode_batch(["low lower"] * 1000)
    assert dill.dumps(one) == dill.dumps(two)
    assert dill.loads(dill.dumps(one)) == one

    def uses(text: str) -> Any:
        return one.encode(text)

    before = dill.dumps(uses)
    for number in range(1000):
        uses(f"low lower {number}")
    assert dill.dumps(uses) == before
