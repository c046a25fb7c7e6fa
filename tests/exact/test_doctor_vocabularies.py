"""The doctor on published tokenizers: their known facts are found, and no round trip is a false alarm."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill._doctor import diagnose

from .planted_faults import change_split, of_json, set_stage, swap_merges, truncate

KNOWN: dict[str, dict[str, str]] = {
    "gpt2": {"model_type": "model.type is missing"},
    "bert-base-uncased": {"model_type": "model.type is missing"},
    "t5-small": {
        "model_type": "model.type is missing",
        "unreachable": '2 tokens that no text becomes: "▁Its"',
    },
    "roberta-base": {"model_type": "model.type is missing", "unreachable": "4 tokens that no text becomes"},
    "cl100k_base/cl100k_base.tiktoken": {"gaps": "100256, 100261-100275"},
    "o200k_base/o200k_base.tiktoken": {"gaps": "199998, 200000-200017"},
    "qwen2.5": {"split_against_merges": "1,661 of"},
    "phi-3-mini": {"pad_eos": "padding is the eos token"},
    "whisper-tiny": {"pad_eos": "padding is the eos token"},
    "gguf/ggml-vocab-deepseek-llm.gguf": {"duplicates": "11 tokens have several ids"},
    "llama2": {},
    "llama3": {},
    "llama3.1": {},
    "mistral-nemo": {},
    "mistral-7b-v0.1": {},
    "mistral-7b-v0.3": {},
    "deepseek-v3": {},
    "clip": {},
    "gpt-oss": {},
    "qwen3": {},
    "qwen": {},
    "p50k_base": {},
    "r50k_base": {},
    "bert-base-chinese": {},
    "sentencepiece-test/test_model.model": {},
    "sentencepiece-test/test_ja_model.model": {},
    "whisper-tiktoken/multilingual.tiktoken": {},
}
"""By folder or file: the checks that warn of a known fact, and part of what they say."""


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_known_facts_are_found_and_nothing_fails(
    name: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnose, "AUDIT_SECONDS", 0.02)
    diagnosis = tokenmill.doctor(data / "vocab" / name)
    assert not diagnosis.failed, diagnosis
    assert diagnosis["round_trip"].status == "pass"
    for check, said in KNOWN[name].items():
        assert diagnosis[check].status == "warn"
        assert said in diagnosis[check].message


# ---- planted faults -----------------------------------------------------------------------------

Edit = Callable[[Path, Path], object]
"""What changes a folder; the second argument is where all vocabularies are."""


def in_file(change: Callable[[Any], None]) -> Edit:
    """A change of tokenizer.json."""
    return lambda folder, _: of_json("tokenizer.json", change)(folder)


def without_fallback(folder: Path, _: Path) -> None:
    """In tokenizer.json alone: a folder whose configuration names LlamaTokenizer has it from there."""
    (folder / "tokenizer_config.json").unlink()
    of_json("tokenizer.json", lambda value: value["model"].update(byte_fallback=False))(folder)


def without_bytes(value: Any) -> None:
    for byte in range(0x80, 0xC0):
        del value["model"]["vocab"][f"<0x{byte:02X}>"]


def taken_from(other: str, name: str) -> Edit:
    """A file of another model in place of the folder's own."""
    return lambda folder, vocabularies: shutil.copy(vocabularies / other, folder / name)


PLANTED: tuple[tuple[str, str, str, str, Edit], ...] = (
    ("byte fallback off", "llama2", "missing_bytes", "byte_fallback is off", without_fallback),
    ("byte tokens missing", "llama2", "missing_bytes", "64 of the 256 byte tokens", in_file(without_bytes)),
    (
        "another tokenizer.model",
        "llama2",
        "agreement",
        "tokenizer.model",
        taken_from("sentencepiece-test/test_model.model", "tokenizer.model"),
    ),
    (
        "another vocab.txt",
        "bert-base-uncased",
        "agreement",
        "vocab.txt",
        taken_from("bert-base-chinese/vocab.txt", "vocab.txt"),
    ),
    ("cut off", "qwen2.5", "fertility", "Arabic", in_file(partial(truncate, kept=2000))),
    (
        "numbers by two digits",
        "llama3.1",
        "split_against_merges",
        "in none of the texts tried",
        in_file(change_split("{1,3}", "{1,2}")),
    ),
    ("merges swapped", "gpt2", "merge_order", "1 of 50,000 merges", in_file(swap_merges)),
    (
        "lower-casing added",
        "llama3.1",
        "normalizer",
        "Lowercase",
        in_file(set_stage("normalizer", {"type": "Lowercase"})),
    ),
)
"""Name, folder, the check that must name it, part of what it says, and the change."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "check", "said", "edit"), [row[1:] for row in PLANTED], ids=[row[0] for row in PLANTED]
)
def test_faults_planted_into_vocabularies_are_found(
    folder: str,
    check: str,
    said: str,
    edit: Edit,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(diagnose, "AUDIT_SECONDS", 0.02)
    kept = tmp_path / folder
    shutil.copytree(data / "vocab" / folder, kept)
    assert tokenmill.doctor(kept)[check].status == "pass"
    edit(kept, data / "vocab")
    finding = tokenmill.doctor(kept)[check]
    assert finding.status in ("warn", "fail")
    assert said in finding.message
    assert finding.way_out
