"""The published encodings: their files, and what they mean beyond what is in the files.

Source: tiktoken 0.14.0, ``tiktoken_ext/openai_public.py``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .caches import tiktoken_cache_paths
from .download import File, copy_of, ensure, is_whole
from .folder import cache_folder

__all__ = ["ENCODINGS", "FILES", "HARMONY", "P50K_EDIT", "PublishedEncoding", "fetch_encoding", "is_cached"]

_HOST = "https://openaipublic.blob.core.windows.net"

FILES: dict[str, File] = {
    file.url.rsplit("/", 1)[-1]: file
    for file in [
        File(
            "r50k_base.tiktoken",
            f"{_HOST}/encodings/r50k_base.tiktoken",
            "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
            835_554,
        ),
        File(
            "p50k_base.tiktoken",
            f"{_HOST}/encodings/p50k_base.tiktoken",
            "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
            836_186,
        ),
        File(
            "cl100k_base.tiktoken",
            f"{_HOST}/encodings/cl100k_base.tiktoken",
            "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
            1_681_126,
        ),
        File(
            "o200k_base.tiktoken",
            f"{_HOST}/encodings/o200k_base.tiktoken",
            "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            3_613_922,
        ),
        # A pair, under the names by which `load` finds the one beside the other.
        File(
            "gpt2/vocab.json",
            f"{_HOST}/gpt-2/encodings/main/encoder.json",
            "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
            1_042_301,
        ),
        File(
            "gpt2/merges.txt",
            f"{_HOST}/gpt-2/encodings/main/vocab.bpe",
            "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
            456_318,
        ),
    ]
}
"""Every file, by its publisher's name for it."""

P50K_EDIT = {"<|fim_prefix|>": 50_281, "<|fim_middle|>": 50_282, "<|fim_suffix|>": 50_283}
"""What p50k_edit has beyond p50k_base."""

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
    "endofprompt": 200_018,
}
HARMONY = {f"<|{name}|>": number for name, number in _HARMONY_NAMES.items()} | {
    f"<|reserved_{number}|>": number
    for number in range(200_000, 201_088)
    if number not in _HARMONY_NAMES.values()
}
"""The special tokens of o200k_harmony, one name for each id: 200018 is ``<|endofprompt|>``."""


@dataclass(frozen=True)
class PublishedEncoding:
    """The files of one encoding, and the special tokens that they do not bring along."""

    files: tuple[str, ...]
    """Their publisher's names. The first is the one that ``load`` is given."""
    special_tokens: Mapping[str, int] = field(default_factory=dict)


ENCODINGS: dict[str, PublishedEncoding] = {
    "gpt2": PublishedEncoding(("encoder.json", "vocab.bpe")),
    "r50k_base": PublishedEncoding(("r50k_base.tiktoken",)),
    "p50k_base": PublishedEncoding(("p50k_base.tiktoken",)),
    "p50k_edit": PublishedEncoding(("p50k_base.tiktoken",), P50K_EDIT),
    "cl100k_base": PublishedEncoding(("cl100k_base.tiktoken",)),
    "o200k_base": PublishedEncoding(("o200k_base.tiktoken",)),
    "o200k_harmony": PublishedEncoding(("o200k_base.tiktoken",), HARMONY),
}
"""All that go by a name."""


def fetch_encoding(
    name: str, *, offline: bool = False, cache_dir: str | os.PathLike[str] | None = None
) -> Path:
    """The file of an encoding on disk; what is not in the cache is downloaded.

    For ``gpt2`` this is vocab.json, and merges.txt lies in the same folder. Without ``cache_dir``, a file in
    tiktoken's cache is copied instead of downloaded.

    Raises ``ValueError`` for a name that is not known, ``FileNotFoundError`` for a file that is missing
    offline or on the server, ``ConnectionError`` where the server cannot be reached, ``ManifestError`` with
    both hashes where a file is not what was published, ``MissingExtraError`` without the extra ``hub``.
    """
    folder = cache_folder(cache_dir)
    first, *_ = [
        ensure(file, folder / file.name, offline=offline, copies=_copies(file, cache_dir))
        for file in _files(name)
    ]
    return first


def is_cached(name: str, *, cache_dir: str | os.PathLike[str] | None = None) -> bool:
    """Whether all files of an encoding are here, each with its own hash, so that nothing is downloaded."""
    folder = cache_folder(cache_dir)
    return all(
        is_whole(file, folder / file.name) or copy_of(file, _copies(file, cache_dir)) is not None
        for file in _files(name)
    )


def _copies(file: File, cache_dir: str | os.PathLike[str] | None) -> list[Path]:
    """Paths in other caches where the file may be; none if the caller names a cache."""
    return tiktoken_cache_paths(file.url) if cache_dir is None else []


def _files(name: str) -> list[File]:
    encoding = ENCODINGS.get(name)
    if encoding is None:
        raise ValueError(f"no published encoding is called {name!r}; known are {', '.join(ENCODINGS)}")
    return [FILES[file] for file in encoding.files]
