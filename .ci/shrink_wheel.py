"""Packs wheels again with zopfli: the same files, dates and permissions, about 3 % smaller.

A wheel is a zip file, and pip reads no method of compression but deflate. zopfli searches longer for a
shorter deflate stream than zlib does; ``zipfile`` cannot write one that is there already, so the archive is
written here, as APPNOTE.TXT 6.3 of the format has it (no zip64: a wheel that needs it is refused).

    python .ci/shrink_wheel.py dist/*.whl
"""

from __future__ import annotations

import struct
import sys
import zipfile
from pathlib import Path

import zopfli.zlib

# Fields up to the name: of an entry before its data, of the same entry in the directory, and of its end.
LOCAL = struct.Struct("<4s5H3I2H")
CENTRAL = struct.Struct("<4s6H3I5H2I")
END = struct.Struct("<4s4H2IH")
VERSION, UTF_8 = 20, 0x800


def deflate(data: bytes) -> tuple[int, bytes]:
    """The method that takes fewer bytes, and what it makes of the data."""
    # Around the deflate stream, zlib's form has two bytes of header and four of checksum.
    packed: bytes = zopfli.zlib.compress(data)[2:-4]
    return (zipfile.ZIP_DEFLATED, packed) if len(packed) < len(data) else (zipfile.ZIP_STORED, data)


def pack(archive: zipfile.ZipFile) -> bytes:
    """The archive with every entry compressed again, in the same order."""
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
    """What has to stay as it is; reading an entry checks its checksum."""
    return [
        (entry.filename, archive.read(entry), entry.external_attr, entry.date_time)
        for entry in archive.infolist()
    ]


def shrink(wheel: Path) -> None:
    """Replaces a wheel by one with the same contents, if that is smaller."""
    packed = wheel.with_name(f"{wheel.name}.part")
    try:
        with zipfile.ZipFile(wheel) as archive:
            packed.write_bytes(pack(archive))
            with zipfile.ZipFile(packed) as smaller:
                if contents(smaller) != contents(archive):
                    raise SystemExit(f"{wheel}: packed again, it has other contents")
        before, after = wheel.stat().st_size, packed.stat().st_size
        if after < before:
            packed.replace(wheel)
        print(f"{wheel.name}: {before:,} -> {min(before, after):,} bytes")
    finally:
        packed.unlink(missing_ok=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        shrink(Path(name))
