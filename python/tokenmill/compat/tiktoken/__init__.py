"""The public names of tiktoken 0.14.0 over tokenmill.

``from tokenmill.compat import tiktoken`` is enough to replace ``import tiktoken``; for a program that imports
it elsewhere, ``sys.modules["tiktoken"] = tokenmill.compat.tiktoken`` does, with its modules. Rank files are
read from a folder named with ``set_folder``, or from tiktoken's own cache, or downloaded. What differs is
listed in docs/differences.md.
"""

from __future__ import annotations

from ._alias import find_modules_by_alias
from .core import Encoding
from .load import set_folder
from .model import encoding_for_model, encoding_name_for_model
from .registry import get_encoding, list_encoding_names

__all__ = [
    "Encoding",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
    "set_folder",
]

__version__ = "0.14.0"
"""The version of tiktoken that this behaves as."""

find_modules_by_alias()
