"""Everything between text and the ids that a language model sees.

>>> import tokenmill
>>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
>>> tok.decode(tok.encode("lower"))
'lower'

``train`` learns a tokenizer, ``load`` reads one, a ``Tokenizer`` encodes, counts and decodes.
Errors are in ``tokenmill.errors``; the naive algorithms, to read and to compare with, in
``tokenmill.reference``.
"""

from __future__ import annotations

from ._core import (
    DecodeStream,
    Encoding,
    LoadFinding,
    LoadReport,
    Tokenizer,
    TrainingReport,
    __version__,
    register_hook,
)
from ._load import load
from ._train import train
from .errors import (
    FormatError,
    HookError,
    InternalError,
    ManifestError,
    MissingExtraError,
    PatternError,
    SpecialTokenError,
    TokenmillError,
    TrainingError,
    UnknownTokenError,
    VocabularyError,
)
from .explain import Explanation
from .ragged import Ragged
from .stages import Audit, Plan

__all__ = [
    "Audit",
    "DecodeStream",
    "Encoding",
    "Explanation",
    "FormatError",
    "HookError",
    "InternalError",
    "LoadFinding",
    "LoadReport",
    "ManifestError",
    "MissingExtraError",
    "PatternError",
    "Plan",
    "Ragged",
    "SpecialTokenError",
    "Tokenizer",
    "TokenmillError",
    "TrainingError",
    "TrainingReport",
    "UnknownTokenError",
    "VocabularyError",
    "__version__",
    "load",
    "register_hook",
    "train",
]
