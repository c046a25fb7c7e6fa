"""`.ci/shrink_wheel.py`: the same contents in fewer bytes, or the wheel as it was."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

SCRIPT = ROOT / ".ci" / "shrink_wheel.py"


def shrink(wheel: Path) -> subprocess.CompletedProcess[str]:
    """Runs the script on one wheel."""
    command = [sys.executable, str(SCRIPT), str(wheel)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def contents(wheel: Path) -> list[tuple[object, ...]]:
    """Each entry: its name, what it is, and its bytes, whose checksum is compared as they are read."""
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        return [
            (entry.filename, entry.date_time, entry.external_attr, entry.create_system, archive.read(entry))
            for entry in archive.infolist()
        ]


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """Source, a name beyond ASCII, a program, bytes that nothing makes smaller, and an empty file."""
    path = tmp_path / "a-1-py3-none-any.whl"
    source = "".join(f"def f{number}():\n    return {number * number}\n" for number in range(3_000))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("a/__init__.py", source)
        archive.writestr("a/größe.txt", "x" * 70_000)
        program = zipfile.ZipInfo("a/run", date_time=(2026, 12, 31, 23, 59, 58))
        program.external_attr = 0o755 << 16
        archive.writestr(program, "#!/bin/sh\n")
        archive.writestr("a/noise", bytes(number * number * 7 % 256 for number in range(50)))
        archive.writestr("a/empty", b"")
    return path


def test_a_wheel_has_the_same_contents_in_fewer_bytes(wheel: Path) -> None:
    before, bytes_before = contents(wheel), wheel.stat().st_size
    done = shrink(wheel)
    assert done.returncode == 0, done.stderr
    assert contents(wheel) == before
    assert wheel.stat().st_size < 0.99 * bytes_before
    assert [path.name for path in wheel.parent.iterdir()] == [wheel.name]


def test_local_headers_say_what_the_directory_says(wheel: Path) -> None:
    # A reader that streams a wheel sees the local headers alone.
    shrink(wheel)
    data = wheel.read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            header = data[entry.header_offset :][:30]
            numbers = [int.from_bytes(header[at : at + 4], "little") for at in (14, 18, 22)]
            assert header[:4] == b"PK\3\4"
            assert int.from_bytes(header[8:10], "little") == entry.compress_type
            assert numbers == [entry.CRC, entry.compress_size, entry.file_size]


def test_a_damaged_wheel_is_left_as_it_is(wheel: Path) -> None:
    data = bytearray(wheel.read_bytes())
    data[100] ^= 0xFF
    wheel.write_bytes(data)
    done = shrink(wheel)
    assert (done.returncode, "zipfile." in done.stderr or "zlib.error" in done.stderr) == (1, True)
    assert wheel.read_bytes() == data
    assert [path.name for path in wheel.parent.iterdir()] == [wheel.name]
