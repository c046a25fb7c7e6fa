"""``tokenmill.load``: any tokenizer file into a ``Tokenizer``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from . import _core
from ._core import Tokenizer

__all__ = ["load"]


def load(
    path: str | os.PathLike[str],
    *,
    split: str | None = None,
    special_tokens: Sequence[str] | Mapping[str, int] | None = None,
) -> Tokenizer:
    """Read a tokenizer from disk. What a file is, its content says, not its name.

    ``path`` is one of

    - a ``tokenizer.json``;
    - a ``.tiktoken`` file of ranks (a line holds a token in base64 and its rank);
    - a ``vocab.json`` with its ``merges.txt`` beside it (either of the two may be named);
    - a folder that holds one of them.

    ``split`` (a name such as ``"cl100k"``, or a pattern) and ``special_tokens`` (literals, which take the
    ids behind the last one, or a mapping of literals to ids) are for formats that hold neither. Published
    ``.tiktoken`` files are known by their hash and need no ``split``.

    Raises ``FormatError`` with file, field and reason for what is broken or cannot be told apart, and
    ``OSError`` for a file that is missing or cannot be read.
    """
    return _core.load_file(path, split=split, special_tokens=special_tokens)
