"""The doctor on published tokenizers: their known facts are found, and no round trip is a false alarm."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenmill
from tokenmill._doctor import diagnose

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
