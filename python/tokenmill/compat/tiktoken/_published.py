"""The published encodings: files with their hashes, patterns, special tokens.

Source: tiktoken 0.14.0, ``tiktoken_ext/openai_public.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .load import data_gym_to_mergeable_bpe_ranks, load_tiktoken_bpe

__all__ = ["CONSTRUCTORS", "COVERING"]

_HOST = "https://openaipublic.blob.core.windows.net"

_SHA256 = {
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "vocab.bpe": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
    "encoder.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
}

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


_HARMONY_NAMES = {
    "startoftext": 199_998,
    "endoftext": 199_999,
    "return": 200_002,
    "constrain": 200_003,
    "channel": 200_005,
    "start": 200_006,
    "end": 200_007,
    "message": 200_008,
    "call": 200_012,
}


def _harmony() -> dict[str, int]:
    """200018 has two names, and the older one comes first."""
    named = set(_HARMONY_NAMES.values())
    reserved = {f"reserved_{i}": i for i in range(200_000, 201_088) if i not in named}
    return _special(endofprompt=200_018, **_HARMONY_NAMES, **reserved)


def _gpt2() -> dict[bytes, int]:
    folder = f"{_HOST}/gpt-2/encodings/main"
    return data_gym_to_mergeable_bpe_ranks(
        f"{folder}/vocab.bpe", f"{folder}/encoder.json", _SHA256["vocab.bpe"], _SHA256["encoder.json"]
    )


def _ranks(file: str) -> dict[bytes, int]:
    return load_tiktoken_bpe(f"{_HOST}/encodings/{file}.tiktoken", _SHA256[file])


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
_FIM = _special(fim_prefix=50_281, fim_middle=50_282, fim_suffix=50_283)
_CL100K_SPECIAL = _special(
    endoftext=100_257, fim_prefix=100_258, fim_middle=100_259, fim_suffix=100_260, endofprompt=100_276
)

_ROWS: list[tuple[str, Callable[[], dict[bytes, int]], str, dict[str, int]]] = [
    ("gpt2", _gpt2, _R50K, _END),
    ("r50k_base", partial(_ranks, "r50k_base"), _R50K, _END),
    ("p50k_base", partial(_ranks, "p50k_base"), _R50K, _END),
    ("p50k_edit", partial(_ranks, "p50k_base"), _R50K, {**_END, **_FIM}),
    ("cl100k_base", partial(_ranks, "cl100k_base"), _CL100K, _CL100K_SPECIAL),
    (
        "o200k_base",
        partial(_ranks, "o200k_base"),
        _O200K,
        _special(endoftext=199_999, endofprompt=200_018),
    ),
    ("o200k_harmony", partial(_ranks, "o200k_base"), _O200K, _harmony()),
]

CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] = {row[0]: partial(_arguments, *row) for row in _ROWS}
"""The arguments of ``Encoding`` by name; calling one reads its file."""
