"""Chat templates that come with tokenmill, by name.

Each is in a file of its name and writes what the published template of its models writes for conversations
of texts by system, user and assistant. What the assistant says, with the token that ends its turn, is marked
with ``{% generation %}``.
"""

from __future__ import annotations

import pkgutil

__all__ = ["NAMES", "source_of"]

NAMES = ("chatml", "gemma", "llama2", "llama3", "mistral")


def source_of(name: str) -> str:
    """The source of a template.

    Raises ``ValueError`` for a name that is not one of ``NAMES``.
    """
    if name not in NAMES:
        known = ", ".join(NAMES)
        is_path = "/" in name or "\\" in name or "." in name
        hint = "; a file is not read here, pass its text" if is_path else ""
        raise ValueError(f"{name!r} is neither a chat template, which has a {{, nor one of {known}{hint}")
    source = pkgutil.get_data(__name__, f"{name}.jinja")
    assert source is not None  # a loader without data
    return source.decode()
