"""Arrow arrays that are not what the C data interface asks for: an error names what is wrong with them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

Change = Callable[["Schema", "Array"], None]


class Schema(ctypes.Structure):
    _fields_ = [
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_char_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


class Array(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


POINTER_OF = ctypes.pythonapi.PyCapsule_GetPointer
POINTER_OF.restype, POINTER_OF.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
NEW_CAPSULE = ctypes.pythonapi.PyCapsule_New
NEW_CAPSULE.restype, NEW_CAPSULE.argtypes = (
    ctypes.py_object,
    [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
)


class Changed:
    """A column, changed in what it hands over."""

    def __init__(self, column: Any, change: Change) -> None:
        self.capsules = column.__arrow_c_array__()
        schema, array = self.capsules
        self.schema = Schema.from_address(POINTER_OF(schema, b"arrow_schema"))
        self.array = Array.from_address(POINTER_OF(array, b"arrow_array"))
        change(self.schema, self.array)

    def without_children(self) -> None:
        """Who made the structures gives back as many as they say."""
        self.schema.n_children = self.array.n_children = 0

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.capsules


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.train(texts=["low lower lowest"], num_merges=3)


def setting(**fields: int) -> Change:
    """Changes numbers of the array."""

    def change(_: Schema, array: Array) -> None:
        for name, value in fields.items():
            setattr(array, name, value)

    return change


def without_buffer(number: int) -> Change:
    def change(_: Schema, array: Array) -> None:
        array.buffers[number] = None

    return change


def writing(buffer: int, at: int, kind: Any, value: int) -> Change:
    """Changes an item of a buffer."""

    def change(_: Schema, array: Array) -> None:
        kind.from_address(array.buffers[buffer] + at).value = value

    return change


def schema_children(schema: Schema, _: Array) -> None:
    schema.n_children = 1


LONG = ["a string of more than twelve bytes", "low", "lower"]
MOST = (1 << 63) - 1

CASES: list[tuple[str, Change, str]] = [
    *(
        case
        for type in ("string", "large_string", "string_view")
        for case in [
            (type, setting(length=MOST), "length 9223372036854775807 and offset 0"),
            (type, setting(length=1 << 62, offset=1 << 62), "length 4611686018427387904 and offset 46116"),
            (type, setting(length=1, offset=MOST), "offset 9223372036854775807"),
            (type, setting(length=1 << 61), "more rows than memory"),
            (type, setting(length=-1), "its length is -1"),
            (type, setting(offset=-1), "its offset is -1"),
            (type, setting(null_count=-2), "it has -2 nulls among 3 rows"),
            (type, setting(null_count=4), "it has 4 nulls among 3 rows"),
            (type, setting(null_count=MOST), "it has 9223372036854775807 nulls"),
            (type, setting(null_count=1), "it has 1 nulls, but no buffer"),
            (type, setting(n_buffers=-1), "the number of its buffers is -1"),
            (type, setting(n_buffers=0), "it has 0 buffers"),
            (type, setting(n_buffers=2), "it has 2 buffers"),
            (type, setting(n_children=1), "it has 1 children"),
            (type, setting(n_children=-1), "the number of its children is -1"),
            (type, schema_children, "all its children are missing"),
            (type, without_buffer(1), "buffer 1 is missing"),
        ]
    ),
    ("string", setting(n_buffers=4), "it has 4 buffers"),
    ("string_view", setting(n_buffers=MOST), "it has 9223372036854775807 buffers"),
    ("string", without_buffer(2), "buffer 2 is missing"),
    ("string", writing(1, 0, ctypes.c_int32, -5), "an offset is -5"),
    ("string", writing(1, 12, ctypes.c_int32, -5), "its last offset is -5"),
    ("string", writing(1, 4, ctypes.c_int32, 1000), r"its offset 1000 is above the last one, 42"),
    ("string", writing(1, 4, ctypes.c_int32, 0), ""),
    ("string", writing(1, 8, ctypes.c_int32, 3), "its offsets fall from 34 to 3"),
    ("large_string", writing(1, 8, ctypes.c_int64, 1 << 62), "its offset 4611686018427387904 is above"),
    ("large_string", writing(1, 24, ctypes.c_int64, MOST), "more than memory can hold"),
    ("string_view", writing(1, 0, ctypes.c_int32, -5), "the length of a view is -5"),
    (
        "string_view",
        writing(1, 0, ctypes.c_int32, (1 << 31) - 1),
        "its view ends at byte 2147483647 of a buffer of",
    ),
    ("string_view", writing(1, 8, ctypes.c_int32, 9), "its view points to buffer 9 of 1"),
    ("string_view", writing(1, 8, ctypes.c_int32, -9), "the buffer of a view is -9"),
    ("string_view", writing(1, 12, ctypes.c_int32, 1000), "its view ends at byte 1034 of a buffer of"),
    ("string_view", writing(1, 12, ctypes.c_int32, -1), "the start of a view is -1"),
    ("string_view", writing(3, 0, ctypes.c_int64, -1), "the length of a buffer is -1"),
    ("string_view", writing(3, 0, ctypes.c_int64, 5), "its view ends at byte 34 of a buffer of 5"),
    ("string_view", without_buffer(2), "buffer 0 of its views, or their lengths"),
    ("string_view", without_buffer(3), "buffer 0 of its views, or their lengths"),
]


@pytest.mark.parametrize(("type", "change", "says"), CASES)
def test_what_is_wrong_is_named(tok: Any, type: str, change: Change, says: str) -> None:
    column = pa.array(LONG, type=getattr(pa, type)())
    if not says:
        # Odd, and yet every string is one.
        assert len(tok.encode_batch(Changed(column, change))) == 3
        return
    for use in (tok.encode_batch, tok.count_batch):
        # Bytes that others share are not written to.
        changed = Changed(pa.array(LONG, type=getattr(pa, type)()), change)
        with pytest.raises(ValueError, match=f"no sound Arrow array: .*{says}"):
            use(changed)
        changed.without_children()


@pytest.mark.parametrize("type", ["string", "large_string", "string_view"])
@pytest.mark.parametrize("number", [-2, MOST])
def test_without_rows_nothing_is_read(tok: Any, type: str, number: int) -> None:
    column = pa.array([], type=getattr(pa, type)())

    def change(_: Schema, array: Array) -> None:
        for buffer in range(array.n_buffers):
            array.buffers[buffer] = None

    assert len(tok.encode_batch(Changed(column, change))) == 0
    with pytest.raises(ValueError, match="no sound Arrow array"):
        tok.encode_batch(Changed(column, setting(null_count=number)))


def test_rows_that_no_memory_can_hold_are_a_memory_error(tok: Any) -> None:
    # Nobody says how long buffers are; before any is read there is room for a note on each row.
    # An array of views has no last offset, which would be read where nothing is.
    column = pa.array(LONG, type=pa.string_view())
    with pytest.raises(MemoryError):
        tok.encode_batch(Changed(column, setting(length=1 << 56)))


class Misaligned:
    """The same structures one byte further on."""

    def __init__(self, column: Any) -> None:
        self.kept = column.__arrow_c_array__()
        self.copies = []
        capsules = []
        for capsule, kind, name in zip(
            self.kept, (Schema, Array), (b"arrow_schema", b"arrow_array"), strict=True
        ):
            size = ctypes.sizeof(kind)
            copy = ctypes.create_string_buffer(size + 16)
            odd = ctypes.addressof(copy) // 8 * 8 + 9
            ctypes.memmove(odd, POINTER_OF(capsule, name), size)
            capsules.append(NEW_CAPSULE(odd, name, None))
            self.copies.append((copy, name))
        self.capsules = tuple(capsules)

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.capsules


def test_structures_that_are_not_aligned_are_refused(tok: Any) -> None:
    misaligned = Misaligned(pa.array(LONG))
    with pytest.raises(ValueError, match="not aligned"):
        tok.encode_batch(misaligned)


def test_buffers_need_not_be_aligned(tok: Any) -> None:
    column = pa.array(LONG)
    buffers = column.buffers()
    moved = pa.allocate_buffer(buffers[1].size + 1)
    memory = (ctypes.c_char * moved.size).from_address(moved.address)
    memory[1:] = buffers[1].to_pybytes()

    def change(_: Schema, array: Array) -> None:
        array.buffers[1] = moved.address + 1

    assert tok.encode_batch(Changed(column, change)) == tok.encode_batch(LONG)
