"""Texts in files of every kind that is read, made here so that no test needs a program for it."""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

TEXTS = [
    "The quick brown fox\njumps over the lazy dog. é🦊 " * 5,
    "",
    "low lower lowest " * 12,
    '日本語 "quoted" \\ \t\u2028\r\n' * 7,
    "a",
]

#: A frame of Zstandard with a checksum, as the program zstd makes it.
CHECKED_FRAME = base64.b85decode(
    "D77#BWcvcu3joGdDhkjyNl8TM0FCe#CIBV?CIG}3-;<uqz>kmg$Ea0Ob1YyJE66$5fjZ*+HJO$RSiEBLDB1`o1C@!n"
    "(qqL*h)?LJbHx3^h~`(Z5P-W2(0jRN4u=Eg*qq9%=>r^nfgvEEg+u&CT5fCRwrXTn|EET<dhIxrAGwp^-vFt`%w_x`"
    "ali1!*m4B#wly=yR2?i}_X6yUvAIDQ0c+9VH(Ubz%nw0{2t8(~@fCE4q@XZG$uI{Xgb;-4_7D&$jn~pBC?GGPtCrVv"
    "9S*JbVxYAHMVi2mt{qJ6>5A>YeoPK^jf)^#4DJ+@OL5j&eu+G)B&JGnRb7&01cm(KfDl~`gbA49(ujHEd3osCAJByQ"
    "@(o^$A(-tjQ_9~hWu&G_L_Y<(aI2?9Z%+m<?-`c2@l)I5Z1n5a<uG?n3MNycMHfQr<mRhk`8z}}JWh+YIiR__$nYaX"
    "o?NIJ#SNAHa@xu7GKdGh)VMY27yv5&H=s-ve0xYZ"
)
#: The text in it.
CHECKED_TEXT = " ".join(
    (draw := random.Random(3)).choices(
        ["".join(draw.choices("abcdefghij", k=draw.randrange(2, 7))) for _ in range(60)], k=200
    )
)


def halves(content: bytes) -> tuple[bytes, bytes]:
    return content[: len(content) // 2], content[len(content) // 2 :]


# ---- compressed -------------------------------------------------------------------------------


def members(content: bytes) -> bytes:
    """Several gzip members, one of them empty, padded with zeros."""
    one, other = halves(content)
    return gzip.compress(one) + gzip.compress(b"") + gzip.compress(other) + bytes(512)


def bgzip(content: bytes, block: int = 100) -> bytes:
    """Blocks that say how long they are, as bgzip makes them, with its empty last one."""
    made = b""
    for start in [*range(0, len(content), block), len(content)]:
        part = content[start : start + block]
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = packer.compress(part) + packer.flush()
        head = (
            b"\x1f\x8b\x08\x04"
            + bytes(4)
            + b"\x00\xff"
            + struct.pack("<H2sHH", 6, b"BC", 2, len(packed) + 25)
        )
        made += head + packed + struct.pack("<II", zlib.crc32(part), len(part))
    return made


def pigz(content: bytes) -> bytes:
    """One member of many blocks that end on a byte, with a name in its header."""
    file = io.BytesIO()
    with gzip.GzipFile("a name.txt", "wb", fileobj=file, mtime=1) as packed:
        for start in range(0, len(content), 64):
            packed.write(content[start : start + 64])
            packed.flush(zlib.Z_FULL_FLUSH)
    return file.getvalue()


def frame(content: bytes) -> bytes:
    """One frame of Zstandard."""
    import pyarrow

    return bytes(pyarrow.Codec("zstd").compress(content))


def skippable(content: bytes, number: int = 0) -> bytes:
    """A frame that readers pass over."""
    return struct.pack("<II", 0x184D2A50 + number, len(content)) + content


def frames(content: bytes) -> bytes:
    """Frames, and skippable ones before, between and behind them, as of pzstd and the seekable format."""
    one, other = halves(content)
    size = struct.pack("<I", len(one))
    return skippable(size) + frame(one) + skippable(b"") + frame(other) + skippable(b"x" * 30, 14)


COMPRESSED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": (".gz", gzip.compress),
    "members": (".gz", members),
    "bgzip": (".gz", bgzip),
    "pigz": (".gz", pigz),
    "zstd": (".zst", frame),
    "frames": (".zst", frames),
}


# ---- rows -------------------------------------------------------------------------------------


def json_lines(texts: Sequence[str | None]) -> bytes:
    """A line for each, with other keys around and with what is no ASCII escaped in every second line."""
    rows: list[dict[str, Any]] = [
        {
            "id": i,
            "meta": {"body": text, "tags": ["text", {"text": 1}]},
            "text": text,
            "n": 1.5e3,
            "text_": None,
        }
        for i, text in enumerate(texts)
    ]
    return "".join(json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(rows)).encode()


def table(texts: Sequence[str | None], type: Any = None) -> Any:
    """A table of pyarrow with a column of texts."""
    import pyarrow

    column = pyarrow.array(texts, type or pyarrow.string())
    return pyarrow.table({"id": list(range(len(texts))), "text": column})


def parquet(texts: Sequence[str | None], **options: Any) -> bytes:
    import pyarrow.parquet

    file = io.BytesIO()
    pyarrow.parquet.write_table(table(texts), file, **{"row_group_size": 2, **options})
    return file.getvalue()


def arrow(texts: Sequence[str | None], kind: str = "file", **options: Any) -> bytes:
    import pyarrow.ipc

    file, held = io.BytesIO(), table(texts)
    make = pyarrow.ipc.new_file if kind == "file" else pyarrow.ipc.new_stream
    with make(file, held.schema, options=pyarrow.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(held, max_chunksize=2)
    return file.getvalue()


ROWS: dict[str, tuple[str, Callable[[Sequence[str | None]], bytes]]] = {
    "jsonl": ("a.jsonl", json_lines),
    "ndjson": ("a.ndjson", lambda texts: b"\xef\xbb\xbf" + json_lines(texts).replace(b"\n", b"\r\n\n")),
    "jsonl without an end": ("a.jsonl", lambda texts: json_lines(texts).rstrip()),
    "jsonl.gz": ("a.JSONL.gz", lambda texts: members(json_lines(texts))),
    "jsonl.zst": ("a.jsonl.zst", lambda texts: frames(json_lines(texts))),
    "parquet": ("a.parquet", parquet),
    "parquet zstd": ("a", lambda texts: parquet(texts, compression="zstd", use_dictionary=False)),
    "parquet in one": ("b.txt", lambda texts: parquet(texts, row_group_size=1000)),
    "arrow": ("a.arrow", arrow),
    "feather": ("a", lambda texts: arrow(texts, compression="zstd")),
    "arrow stream": ("a.arrow", lambda texts: arrow(texts, "stream")),
    "arrow stream.gz": (
        "a.arrows.gz",
        lambda texts: gzip.compress(arrow(texts, "stream", compression="lz4")),
    ),
}


def text_files(folder: Path, texts: Sequence[str], kind: str | None = None) -> list[Path]:
    """A file of text for each, compressed or not."""
    ending, pack = COMPRESSED[kind] if kind is not None else ("", bytes)
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{number:03}.txt{ending}" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(pack(text.encode()))
    return paths
