"""What a file is: by its first bytes, and for JSONL by its name or because a field is asked for."""

from __future__ import annotations

import posixpath
from typing import Literal

__all__ = [
    "COMPRESSED",
    "JSON_LINES",
    "START",
    "TABLES",
    "Kind",
    "compression",
    "is_json_lines",
    "kind_of",
    "other_than_its_name",
    "stem",
]

Kind = Literal["text", "jsonl", "parquet", "arrow", "arrow-stream"]

START = 16
"""How many bytes tell what a file is."""
COMPRESSED = (".gz", ".bgz", ".zst", ".zstd")
JSON_LINES = (".jsonl", ".ndjson")
TABLES = (".parquet", ".arrow", ".arrows", ".feather", ".ipc")

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


def compression(start: bytes) -> Literal["gzip", "zstd"] | None:
    """How a file is compressed, as far as it can be read here."""
    if start.startswith(_GZIP):
        return "gzip"
    # A skippable frame, with which pzstd and the seekable format begin, has one of sixteen numbers.
    is_skippable = len(start) >= 4 and start[1:4] == b"\x2a\x4d\x18" and 0x50 <= start[0] <= 0x5F
    return "zstd" if start.startswith(_ZSTD) or is_skippable else None


def stem(name: str) -> str:
    """The last part of a name, in lower case, without the ending of a compressed file."""
    last = posixpath.basename(name.replace("\\", "/")).lower()
    for ending in COMPRESSED:
        if last.endswith(ending):
            return last.removesuffix(ending)
    return last


def is_json_lines(name: str, field: str | None) -> bool:
    """Whether text under this name is JSONL."""
    return field is not None or stem(name).endswith(JSON_LINES)


def kind_of(start: bytes, name: str, field: str | None, column: str | None = None) -> Kind:
    """What a file is that is not compressed, or is decompressed.

    With ``column`` rows are wanted, so that what begins as an Arrow stream is one, whatever its name.
    """
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"ARROW1"):
        return "arrow"
    # The mark before each message of a stream; it is no UTF-8, but could be anything else.
    if start.startswith(b"\xff\xff\xff\xff") and (column is not None or stem(name).endswith(TABLES)):
        return "arrow-stream"
    return "jsonl" if is_json_lines(name, field) else "text"


def other_than_its_name(start: bytes, name: str) -> str | None:
    """Why a file is not what its name says: it is empty, or begins with other bytes. None where it is.

    Read as text it would be one more document, of nothing or of rubbish.
    """
    last = posixpath.basename(name.replace("\\", "/")).lower()
    if last.endswith(COMPRESSED):
        what, is_it = "compressed file", compression(start) is not None
    elif last.endswith(TABLES):
        kind = kind_of(start, name, None)
        what = "Parquet file" if last.endswith(".parquet") else "Arrow file"
        is_it = (
            kind == "parquet" if last.endswith(".parquet") else kind in ("arrow", "arrow-stream", "parquet")
        )
    else:
        return None
    if is_it:
        return None
    return (
        f"is no {what}, as its name says: it is {'empty' if not start else 'damaged, or has another format'}"
    )
