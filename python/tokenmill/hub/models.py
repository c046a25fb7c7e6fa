"""Which published encoding a model uses. The names are those that tiktoken 0.14.0 knows."""

from __future__ import annotations

__all__ = ["MODEL_PREFIX_TO_ENCODING", "MODEL_TO_ENCODING", "encoding_of"]

_PREFIXES = {
    "o200k_base": "chatgpt-4o- gpt-4o- gpt-4.1- gpt-4.5- gpt-5 o1- o3- o4-mini- ft:gpt-4o",
    "cl100k_base": (
        "gpt-3.5-turbo- gpt-35-turbo- gpt-4- ft:babbage-002 ft:davinci-002 ft:gpt-3.5-turbo ft:gpt-4"
    ),
    "o200k_harmony": "gpt-oss-",
}

_MODELS = {
    "o200k_base": "gpt-4.1 gpt-4o gpt-5 o1 o3 o4-mini",
    "cl100k_base": (
        "babbage-002 davinci-002 gpt-3.5 gpt-3.5-turbo gpt-35-turbo gpt-4 "
        "text-embedding-3-large text-embedding-3-small text-embedding-ada-002"
    ),
    "p50k_base": (
        "code-cushman-001 code-cushman-002 code-davinci-001 code-davinci-002 cushman-codex davinci-codex "
        "text-davinci-002 text-davinci-003"
    ),
    "p50k_edit": "code-davinci-edit-001 text-davinci-edit-001",
    "r50k_base": (
        "ada babbage curie davinci "
        "code-search-ada-code-001 code-search-babbage-code-001 "
        "text-ada-001 text-babbage-001 text-curie-001 text-davinci-001 "
        "text-search-ada-doc-001 text-search-babbage-doc-001 "
        "text-search-curie-doc-001 text-search-davinci-doc-001 "
        "text-similarity-ada-001 text-similarity-babbage-001 "
        "text-similarity-curie-001 text-similarity-davinci-001"
    ),
    "gpt2": "gpt-2 gpt2",
}


def _by_name(groups: dict[str, str]) -> dict[str, str]:
    return {name: encoding for encoding, names in groups.items() for name in names.split()}


MODEL_PREFIX_TO_ENCODING = _by_name(_PREFIXES)
"""Encoding by what the name of a model begins with; of several the longest counts."""

MODEL_TO_ENCODING = _by_name(_MODELS)
"""Encoding by the whole name of a model."""


def encoding_of(model: str) -> str | None:
    """The name of the encoding that a model uses; ``None`` for a model that is not known."""
    if model in MODEL_TO_ENCODING:
        return MODEL_TO_ENCODING[model]
    prefixes = [prefix for prefix in MODEL_PREFIX_TO_ENCODING if model.startswith(prefix)]
    return MODEL_PREFIX_TO_ENCODING[max(prefixes, key=len)] if prefixes else None
