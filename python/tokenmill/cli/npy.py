"""Ids in a numpy file (.npy), which may be damaged, forged or something else.

Nothing is unpickled, and no memory is taken for what the file does not hold: the header is compared with
the size of the file before the array is made.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from .usage import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["MAGIC", "parse_npy"]

MAGIC = b"\x93NUMPY"


def parse_npy(name: str, content: bytes) -> npt.NDArray[Any]:
    """The ids of a file, in the machine's byte order. ``name`` is what errors call the file."""
    import numpy as np

    shape, dtype, start = _header(name, content)
    if dtype.kind not in "iu" or len(shape) != 1:
        raise UsageError(
            f"{name}: an array of ids has one dimension and whole numbers; not {dtype} of shape {shape}",
            hint="numpy.save writes such an array, for instance of tokenizer.encode_to_numpy(text)",
        )
    held, said = len(content) - start, shape[0] * dtype.itemsize
    if held != said:
        raise UsageError(
            f"{name}: damaged: its header says {shape[0]:,} ids of {dtype.itemsize} bytes, and after it "
            f"are {held:,} bytes",
            hint="copy or make the file again",
        )
    array = np.frombuffer(content, dtype, offset=start)
    return np.require(array, dtype.newbyteorder("="), ["ALIGNED"])


def _header(name: str, content: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape and type as the header says them, and where the numbers begin."""
    from numpy.lib import format

    npy: Any = format  # which has no types

    file = io.BytesIO(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are for the author of the file
            version = npy.read_magic(file)
            if version == (1, 0):
                shape, _, dtype = npy.read_array_header_1_0(file)
            elif version in ((2, 0), (3, 0)):  # 3.0 differs in the encoding of field names
                shape, _, dtype = npy.read_array_header_2_0(file)
            else:
                raise ValueError(f"version {version[0]}.{version[1]} of the format is not known")
    # The errors of Python's and numpy's parsers for a damaged header have no common class: ValueError,
    # SyntaxError, TypeError, MemoryError, RecursionError, tokenize.TokenError and others.
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise UsageError(
            f"{name}: not a numpy array, or damaged: {reason[:200]}", hint="copy or make the file again"
        ) from error
    if any(type(length) is not int or length < 0 for length in shape):
        raise UsageError(
            f"{name}: damaged: its header has the shape {shape}", hint="copy or make the file again"
        )
    return shape, dtype, file.tell()
