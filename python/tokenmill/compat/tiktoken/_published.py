"""The published encodings: patterns, special tokens, and which files they are made of.

Source: tiktoken 0.14.0, ``tiktoken_ext/openai_public.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...hub.encodings import FILES, HARMONY, P50K_EDIT
from .load import data_gym_to_mergeable_bpe_ranks, load_tiktoken_bpe

__all__ = ["CONSTRUCTORS", "COVERING"]

_R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_SUFFIX}"
    rf"|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_SUFFIX}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# The older forms of the same, as in many a program and model folder.
_GPT2_OLD = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_OLD_TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_CL100K_OLD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _OLD_TAIL
_QWEN_OLD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _OLD_TAIL

COVERING = frozenset(
    [
        *(_R50K, _CL100K, _O200K, _GPT2_OLD, _CL100K_OLD, _QWEN_OLD),
        _GPT2_OLD.replace(r"\p{L}+", r"[\p{L}]+", 1).replace(r"\p{N}+", r"[\p{N}]+", 1),
    ]
)
"""Patterns that match every character of every text: letters, digits, white space, and all else."""


def _special(**ids: int) -> dict[str, int]:
    return {f"<|{name}|>": number for name, number in ids.items()}


def _gpt2() -> dict[bytes, int]:
    merges, table = FILES["vocab.bpe"], FILES["encoder.json"]
    return data_gym_to_mergeable_bpe_ranks(merges.url, table.url, merges.sha256, table.sha256)


def _ranks(name: str) -> dict[bytes, int]:
    file = FILES[f"{name}.tiktoken"]
    return load_tiktoken_bpe(file.url, file.sha256)


def _arguments(
    name: str, ranks: Callable[[], dict[bytes, int]], pattern: str, special_tokens: dict[str, int]
) -> dict[str, Any]:
    return {
        "name": name,
        "pat_str": pattern,
        "mergeable_ranks": ranks(),
        "special_tokens": dict(special_tokens),
    }


_END = _special(endoftext=50_256)
_CL100K_SPECIAL = _special(
    endoftext=100_257, fim_prefix=100_258, fim_middle=100_259, fim_suffix=100_260, endofprompt=100_276
)
# 200018 has two names, and the older one comes first.
_HARMONY = {**HARMONY, "<|reserved_200018|>": 200_018}

_ROWS: list[tuple[str, Callable[[], dict[bytes, int]], str, dict[str, int]]] = [
    ("gpt2", _gpt2, _R50K, _END),
    ("r50k_base", partial(_ranks, "r50k_base"), _R50K, _END),
    ("p50k_base", partial(_ranks, "p50k_base"), _R50K, _END),
    ("p50k_edit", partial(_ranks, "p50k_base"), _R50K, {**_END, **P50K_EDIT}),
    ("cl100k_base", partial(_ranks, "cl100k_base"), _CL100K, _CL100K_SPECIAL),
    (
        "o200k_base",
        partial(_ranks, "o200k_base"),
        _O200K,
        _special(endoftext=199_999, endofprompt=200_018),
    ),
    ("o200k_harmony", partial(_ranks, "o200k_base"), _O200K, _HARMONY),
]

CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] = {row[0]: partial(_arguments, *row) for row in _ROWS}
"""The arguments of ``Encoding`` by name; calling one reads its file."""
