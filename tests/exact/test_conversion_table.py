"""The table of docs/converting.md: each tokenizer of the shared folder into each format.

TOKENMILL_RENEW=1 python -m pytest tests/exact/test_conversion_table.py      writes it anew
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "converting.md"
START, END = "<!-- made by tests/exact/test_conversion_table.py -->\n", "<!-- end -->\n"
SOURCES = [
    *(f"{name}/tokenizer.json" for name in ("gpt2", "roberta-base", "qwen2.5", "llama3", "deepseek-v3")),
    *(f"{name}/tokenizer.json" for name in ("gpt-oss", "whisper-tiny", "clip", "mistral-nemo")),
    *(f"{name}/tokenizer.json" for name in ("bert-base-uncased", "t5-small", "llama2", "phi-3-mini")),
    *("mistral-nemo/tekken.json", "cl100k_base/cl100k_base.tiktoken", "bert-base-chinese/vocab.txt"),
    *("llama2/tokenizer.model", "mistral-7b-v0.1/tokenizer.model", "mistral-7b-v0.3/tokenizer.model.v3"),
    *("sentencepiece-test/test_model.model", "gguf/ggml-vocab-gpt-2.gguf", "gguf/ggml-vocab-phi-3.gguf"),
]


def cell(native: Any, tok: Any, target: Path, form: str) -> str:
    try:
        done = native.convert(tok, target, to=form)
    except native.FormatError as error:
        refused = error
    else:
        assert (done.written, done.differing) == (True, 0), (target, done)
        if done.split is not None:
            return "again"
        return "same" if done.is_same else "ids"
    assert refused.kind in ("cannot-hold", "limit"), refused
    return str(refused.field.split(".")[0].split("[")[0])


def made(native: Any, data: Path, folder: Path) -> str:
    from tokenmill.conversion import FORMATS

    # An image holds every tokenizer: tests/exact/test_images.py.
    formats = [form for form in FORMATS if form != "image"]
    lines = [f"| from | {' | '.join(formats)} |", f"| --- |{' --- |' * len(formats)}"]
    for place, source in enumerate(SOURCES):
        tok = native.load(data / "vocab" / source)
        cells = []
        for form in formats:
            # A folder holds the roles and templates that a tokenizer.json alone does not.
            cells.append(cell(native, tok, folder / f"{place}-{form.replace('.', '-')}" / "out", form))
        lines.append(f"| {source} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_the_table_of_the_page_is_what_happens(native: Any, data: Path, tmp_path: Path) -> None:
    for place in range(len(SOURCES)):
        for form in (
            "tokenizer-json",
            "tiktoken",
            "vocab+merges",
            "vocab-txt",
            "sentencepiece",
            "gguf",
            "tekken",
        ):
            (tmp_path / f"{place}-{form}").mkdir()
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(START)
    own, after = rest.split(END)
    table = made(native, data, tmp_path)
    if os.environ.get("TOKENMILL_RENEW"):
        PAGE.write_text(f"{before}{START}{table}{END}{after}", encoding="utf-8")
        own = table
    assert own == table
