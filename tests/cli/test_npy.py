"""Arrays of ids that are damaged, forged or not meant for us: refused, and nothing is unpickled."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenmill
from tokenmill.cli.npy import parse_npy
from tokenmill.cli.usage import UsageError

from .conftest import Run

IDS = [72, 101, 108, 108, 111]


def _npy(array: Any, version: tuple[int, int] | None = None, *, pickled: bool = False) -> bytes:
    file = io.BytesIO()
    npy: Any = np.lib.format  # which has no types
    npy.write_array(file, np.asarray(array), version, allow_pickle=pickled)
    return file.getvalue()


def _forged(header: str, data: bytes = b"", *, version: int = 1, said: int | None = None) -> bytes:
    text = header.encode("latin1")
    size = len(text) if said is None else said
    return (
        b"\x93NUMPY" + bytes([version, 0]) + size.to_bytes(2 if version == 1 else 4, "little") + text + data
    )


def _header(shape: str, descr: str = "'<u4'") -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"


GOOD = np.array(IDS, np.uint32)
HOLE = b"\0" * 20


@pytest.mark.parametrize(
    "dtype", ["u1", "i1", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8"]
)
def test_whole_numbers_of_every_kind_are_ids(run: Run, folder: Path, tmp_path: Path, dtype: str) -> None:
    (tmp_path / "ids.npy").write_bytes(_npy(np.array(IDS, dtype)))
    result = run("decode", "-t", folder, tmp_path / "ids.npy")
    assert (result.code, result.out, result.err) == (0, tokenmill.load(folder).decode_bytes(IDS), "")


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_format_is_read(version: tuple[int, int]) -> None:
    content = (
        _npy(GOOD) if version == (1, 0) else _forged(_header("(5,)"), GOOD.tobytes(), version=version[0])
    )
    assert parse_npy("a.npy", content).tolist() == IDS


def test_what_does_not_begin_at_an_even_place_is_read() -> None:
    content = _forged(_header("(5,)") + " " * 3 + "\n", GOOD.tobytes())
    array = parse_npy("a.npy", content)
    assert array.flags.aligned
    assert array.tolist() == IDS


def test_no_ids_are_no_text(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "ids.npy").write_bytes(_npy(np.array([], np.uint32)))
    assert run("decode", "-t", folder, tmp_path / "ids.npy").out == b""


class Pickled:
    """Says when it is unpickled."""

    def __reduce__(self) -> Any:
        return (pytest.fail, ("unpickled",))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (_npy(GOOD.reshape(1, 5)), "not uint32 of shape (1, 5)"),
        (_npy(np.asfortranarray(np.ones((2, 3), np.uint32))), "not uint32 of shape (2, 3)"),
        (_npy(np.uint32(7)), "not uint32 of shape ()"),
        (_npy(GOOD.astype(float)), "not float64"),
        (_npy(GOOD.astype(bool)), "not bool"),
        (_npy(np.array(["a", "b"])), "not <U1"),
        (_npy(np.zeros(3, [("a", "<u4")])), "not [('a', '<u4')]"),
        (_npy(np.array([Pickled()]), pickled=True), "not object"),
        (_npy(GOOD)[:-1], "says 5 ids of 4 bytes, and after it are 19 bytes"),
        (_npy(GOOD) + b"x", "after it are 21 bytes"),
        (_forged(_header("(1000000000000,)")), "1,000,000,000,000 ids"),
        (_forged(_header("(0x7fffffffffffffff,)"), HOLE), "damaged"),
        (_forged(_header("(123456789012345678901234567890,)"), HOLE), "damaged"),
        (_forged(_header("(-5,)"), HOLE), "damaged"),
        (_forged(_header("(True,)"), b"\0" * 4), "damaged"),
        (_forged(_header("(5.0,)"), HOLE), "damaged"),
        (_forged(_header("5"), HOLE), "damaged"),
        (_forged(_header("(5,)", "(, "), HOLE), "damaged"),
        (_forged(_header("(5,)", "'no type'"), HOLE), "damaged"),
        (_forged(_header("(5,)", "'<u4', 'descr': {[]: 1}"), HOLE), "damaged"),
        (_forged(_header("(5,)", "{}"), HOLE), "of shape (5,)"),
        (_forged(_header("(5,)", "__import__('os').abort()"), HOLE), "damaged"),
        (_forged("(" * 5000 + ")" * 4000), "damaged"),
        (_forged("-" * 9000 + "1"), "damaged"),
        (_forged(" " * 20_000 + _header("(5,)"), HOLE), "damaged"),
        (_forged(_header("(5,)"), said=60_000), "damaged"),
        (_forged(_header("(5,)"), version=2, said=0xFFFFFFFF), "damaged"),
        (_forged(_header("(5,)"), version=9), "version 9.0"),
        (_forged("\xff\xfe{'descr'"), "damaged"),
        (_forged("if x:\n 1\n  2\n"), "damaged"),
        (b"\x93NUMPY", "damaged"),
    ],
)
def test_what_is_no_array_of_ids_is_refused(
    run: Run, folder: Path, tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "ids.npy"
    path.write_bytes(content)
    result = run("decode", "-t", folder, path)
    assert (result.code, result.out) == (2, b"")
    message, hint = result.err.splitlines()
    assert message.startswith(f"tokenmill: error: {path}: ")
    assert words in message
    assert hint.startswith("hint: ")


def test_a_file_that_is_cut_anywhere_is_refused() -> None:
    content = _npy(GOOD)
    for size in range(6, len(content)):
        with pytest.raises(UsageError):
            parse_npy("a.npy", content[:size])


def _check_damaged(values: Any) -> None:
    """Whatever one byte of the header becomes, the result is an array of what is there, or a UsageError."""
    content = _npy(GOOD)
    read = 0
    for place in range(6, len(content) - GOOD.nbytes):
        for value in values:
            damaged = bytearray(content)
            damaged[place] = value
            try:
                array = parse_npy("a.npy", bytes(damaged))
            except UsageError:
                continue
            assert (array.ndim, array.nbytes) == (1, GOOD.nbytes)
            assert array.dtype.kind in "iu"
            read += 1
    assert read  # spaces at the end of a header mean nothing


def test_one_damaged_byte_of_a_header_is_refused_or_means_nothing() -> None:
    _check_damaged(b"\x00 '(9\xff")


@pytest.mark.slow
def test_every_value_of_every_byte_of_a_header_is_refused_or_means_nothing() -> None:
    _check_damaged(range(256))
