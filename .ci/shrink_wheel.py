"""Recompress wheels with zopfli: the same files, dates and permissions, about 3 % smaller.

A wheel is a zip file, and the only compression that pip reads is deflate. zopfli spends more time than zlib
and finds shorter deflate streams. ``zipfile`` cannot store data that is already compressed, so this script
writes the archive itself (APPNOTE.TXT 6.3, without zip64: larger wheels are refused).

    python .ci/shrink_wheel.py dist/*.whl
"""

from __future__ import annotations

import struct
import sys
import zipfile
from pathlib import Path

import zopfli.zlib

# The fixed fields of a local header, of a central directory header, and of the end of the directory.
LOCAL = struct.Struct("<4s5H3I2H")
CENTRAL = struct.Struct("<4s6H3I5H2I")
END = struct.Struct("<4s4H2IH")
VERSION, UTF_8 = 20, 0x800


def deflate(data: bytes) -> tuple[int, bytes]:
    """The compression method that gives fewer bytes, and the compressed data."""
    # The zlib format adds a header of two bytes and a checksum of four to the deflate stream.
    packed: bytes = zopfli.zlib.compress(data)[2:-4]
    return (zipfile.ZIP_DEFLATED, packed) if len(packed) < len(data) else (zipfile.ZIP_STORED, data)


def pack(archive: zipfile.ZipFile) -> bytes:
    """Write an archive with the same entries, recompressed, in the same order."""
    body, directory = bytearray(), bytearray()
    entries = archive.infolist()
    for entry in entries:
        method, packed = deflate(archive.read(entry))
        name = entry.filename.encode()
        flags = 0 if name.isascii() else UTF_8
        year, month, day, hour, minute, second = entry.date_time
        date, time = (year - 1980) << 9 | month << 5 | day, hour << 11 | minute << 5 | second // 2
        fields = (VERSION, flags, method, time, date, entry.CRC, len(packed), entry.file_size, len(name), 0)
        place = (0, 0, entry.internal_attr, entry.external_attr, len(body))
        made = entry.create_system << 8 | VERSION
        directory += CENTRAL.pack(b"PK\1\2", made, *fields, *place) + name
        body += LOCAL.pack(b"PK\3\4", *fields) + name + packed
    count = len(entries)
    end = END.pack(b"PK\5\6", 0, 0, count, count, len(directory), len(body), 0)
    return bytes(body + directory + end)


def contents(archive: zipfile.ZipFile) -> list[tuple[str, bytes, int, tuple[int, ...]]]:
    """What must not change. Reading an entry verifies its CRC."""
    return [
        (entry.filename, archive.read(entry), entry.external_attr, entry.date_time)
        for entry in archive.infolist()
    ]


def shrink(wheel: Path) -> None:
    """Replace a wheel by the recompressed one, if that is smaller."""
    packed = wheel.with_name(f"{wheel.name}.part")
    try:
        with zipfile.ZipFile(wheel) as archive:
            packed.write_bytes(pack(archive))
            with zipfile.ZipFile(packed) as smaller:
                if contents(smaller) != contents(archive):
                    raise SystemExit(f"{wheel}: the contents changed when it was recompressed")
        before, after = wheel.stat().st_size, packed.stat().st_size
        if after < before:
            packed.replace(wheel)
        print(f"{wheel.name}: {before:,} -> {min(before, after):,} bytes")
    finally:
        packed.unlink(missing_ok=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        shrink(Path(name))
