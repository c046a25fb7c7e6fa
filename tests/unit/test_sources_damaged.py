"""Files that are damaged or cut off: an error that names them, or the right text; never a crash or a hang."""

from __future__ import annotations

import gzip
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import tokenmill
from sources_made import (
    CHECKED_FRAME,
    CHECKED_TEXT,
    arrow,
    bgzip,
    frame,
    frames,
    json_lines,
    members,
    parquet,
    pigz,
)

pytest.importorskip("pyarrow")

TEXT = CHECKED_TEXT.encode()
TEXTS: list[str | None] = [CHECKED_TEXT[start : start + 100] for start in range(0, len(CHECKED_TEXT), 100)]

#: What each kind holds, and whether it has checksums, so that no other text can come out of it.
FILES = {
    "a.gz": (gzip.compress(TEXT, mtime=1), True),
    "members.gz": (members(TEXT)[:-512], True),
    "bgzip.gz": (bgzip(TEXT), True),
    "pigz.gz": (pigz(TEXT), True),
    "a.zst": (CHECKED_FRAME, True),
    "two.zst": (CHECKED_FRAME + CHECKED_FRAME, True),
    "plain.zst": (frame(TEXT), False),
    "frames.zst": (frames(TEXT), False),
    "a.jsonl.gz": (gzip.compress(json_lines(TEXTS), mtime=1), True),
    "a.parquet": (parquet(TEXTS, use_dictionary=False), False),
    "a.arrow": (arrow(TEXTS), False),
    "s.arrow": (arrow(TEXTS, "stream"), False),
    "a.jsonl": (json_lines(TEXTS), False),
}


@pytest.fixture(autouse=True)
def _in_time() -> Iterator[None]:
    """Whatever hangs is stopped."""
    if not hasattr(signal, "alarm"):
        yield
        return
    signal.alarm(120)
    yield
    signal.alarm(0)


def read(path: Path) -> tokenmill.Tokenizer | Exception:
    found = attempt(path)
    if isinstance(found, tokenmill.TrainingError):
        assert found.path == str(path)
        assert str(found).startswith(f"{path}: ")
    return found


def attempt(path: Path) -> tokenmill.Tokenizer | Exception:
    try:
        return tokenmill.train(path, num_merges=20)
    except (tokenmill.TrainingError, MemoryError) as error:
        return error


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_cut_off_is_told(tmp_path: Path, name: str) -> None:
    content, _ = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    whole = read(path)
    assert isinstance(whole, tokenmill.Tokenizer)
    draw = random.Random(name)
    # Between two members or frames, or two lines, a file may end.
    ends = {0, *(end for end in range(len(content)) if content[end : end + 2] == b"\x1f\x8b")}
    ends |= {end for end in range(len(content)) if content[end : end + 4] == b"\x28\xb5\x2f\xfd"}
    ends |= {end for end in range(len(content)) if content[end + 1 : end + 4] == b"\x2a\x4d\x18"}
    cuts = {1, 2, 3, 5, 9, 11, 17, len(content) - 1, len(content) - 4, len(content) // 2}
    cuts |= {draw.randrange(len(content)) for _ in range(15)}
    for cut in sorted(cuts - ends):
        path.write_bytes(content[:cut])
        found = read(path)
        if cut > 12 and name not in ("s.arrow", "a.jsonl"):
            assert isinstance(found, tokenmill.TrainingError), (cut, found)
            assert "damaged or cut off" in str(found) or "is no" in str(found), (cut, found)
            if name.endswith((".gz", ".zst")):
                assert found.byte is not None
                assert found.byte <= cut


@pytest.mark.parametrize("name", FILES)
def test_a_file_with_another_bit_is_told_or_read(tmp_path: Path, name: str) -> None:
    content, is_checked = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    whole = read(path)
    draw = random.Random(name)
    told = 0
    for _ in range(30):
        changed = bytearray(content)
        place = draw.randrange(4, len(content))
        changed[place] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        found = read(path)
        if isinstance(found, tokenmill.Tokenizer):
            assert found == whole or not is_checked, place
        else:
            told += 1
    assert told > (20 if is_checked else 0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b"low", mtime=1) + b"garbage", "there is something else after the compressed data"),
        (gzip.compress(b"low", mtime=1) + bytes(9) + b"\x1f", "there is something else after"),
        (gzip.compress(b"low", mtime=1)[:-8] + bytes(8), "incorrect data check"),
        (gzip.compress(b"low", mtime=1)[:-4] + bytes(4), "incorrect length check"),
        (b"\x1f\x8b\x07\x00" + bytes(20), "unknown compression method"),
        (CHECKED_FRAME + b"garbage", ""),
        (CHECKED_FRAME + CHECKED_FRAME[:3], ""),
        (CHECKED_FRAME[:-4] + bytes(4), "checksum"),
    ],
)
def test_what_is_wrong_with_a_compressed_file_is_said(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    for errors in ("strict", "replace", "skip"):
        with pytest.raises(
            tokenmill.TrainingError, match=rf"{said}.*; fetch or write the file again"
        ) as caught:
            tokenmill.train(path, num_merges=1, errors=errors)
        assert caught.value.byte is not None


def test_a_table_that_breaks_in_the_middle_names_the_row(tmp_path: Path) -> None:
    texts = [f"{number} " * 50 for number in range(40)]
    content = bytearray(parquet(texts, row_group_size=20, use_dictionary=False, compression="gzip"))
    (tmp_path / "a").write_bytes(content)
    place = content.rindex(b"\x1f\x8b", 0, len(content) // 2 + 400)
    content[place : place + 60] = bytes(60)
    (tmp_path / "b").write_bytes(content)
    assert isinstance(read(tmp_path / "a"), tokenmill.Tokenizer)
    found = read(tmp_path / "b")
    assert isinstance(found, tokenmill.TrainingError)
    assert found.row in (1, 21)
    assert f"row {found.row}: is damaged or cut off (Parquet)" in str(found)


def test_a_table_within_a_compressed_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(parquet(["low"])))
    with pytest.raises(
        tokenmill.TrainingError, match=r"is Parquet, compressed as a whole.*with gunzip first"
    ):
        tokenmill.train(tmp_path / "a.gz", num_merges=1)
    (tmp_path / "a.zst").write_bytes(frame(arrow(["low"])))
    with pytest.raises(
        tokenmill.TrainingError, match=r"is an Arrow file, compressed as a whole.*with unzstd first"
    ):
        tokenmill.train(tmp_path / "a.zst", num_merges=1)
    (tmp_path / "twice.gz").write_bytes(gzip.compress(gzip.compress(b"low")))
    with pytest.raises(tokenmill.TrainingError, match=r"is compressed \(gzip\)"):
        tokenmill.train(tmp_path / "twice.gz", num_merges=1)
