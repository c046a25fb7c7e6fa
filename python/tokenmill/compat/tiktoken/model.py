"""Which encoding a model uses. The names are those that tiktoken 0.14.0 knows."""

from __future__ import annotations

from ...hub.models import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING, encoding_of
from .core import Encoding
from .registry import get_encoding

__all__ = ["MODEL_PREFIX_TO_ENCODING", "MODEL_TO_ENCODING", "encoding_for_model", "encoding_name_for_model"]


def encoding_name_for_model(model_name: str) -> str:
    """The name of the encoding that a model uses; a ``KeyError`` for a model that is not known."""
    encoding = encoding_of(model_name)
    if encoding is None:
        raise KeyError(f"no encoding is known for the model {model_name!r}: name one, get_encoding(...)")
    return encoding


def encoding_for_model(model_name: str) -> Encoding:
    """The encoding that a model uses; a ``KeyError`` for a model that is not known."""
    return get_encoding(encoding_name_for_model(model_name))
