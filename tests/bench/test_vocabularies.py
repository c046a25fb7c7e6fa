"""The vocabularies of the benchmarks: each file loads, also in the library that says what is right."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import vocabularies

MADE = [
    "starcoder-like",
    "falcon-like",
    "gemma-like",
    "bert-chinese",
    "albert-like",
    "xlnet-like",
    "t5-model",
]
TEXT = "Hello, world! It's 1,234 times  better\n\nthan before. 世界, déjà vu, Привет"


@pytest.mark.parametrize("name", MADE)
def test_a_file_that_is_made_of_others_has_the_ids_of_its_library(native: Any, data: Path, name: str) -> None:
    vocabulary = vocabularies.find(name)
    if vocabulary.reference == "sentencepiece":
        processor: Any = import_module("sentencepiece").SentencePieceProcessor(
            model_file=str(vocabulary.model_file)
        )
        want = processor.encode(TEXT)
    else:
        theirs: Any = import_module("tokenizers").Tokenizer.from_file(str(vocabulary.file))
        want = theirs.encode(TEXT, add_special_tokens=False).ids
    assert want
    assert native.load(vocabulary.file).encode(TEXT, special="parse") == want


def test_an_unknown_name_is_an_error_that_lists_the_names(data: Path) -> None:
    with pytest.raises(SystemExit, match="gemma-like"):
        vocabularies.find("gemma")
