"""Errors of use, and what every error looks like on the command line: one line, and a hint."""

from __future__ import annotations

from tokenmill import (
    FormatError,
    SpecialTokenError,
    TrainingError,
    UnknownTokenError,
    VocabularyError,
)

__all__ = ["UsageError", "explain"]


class UsageError(Exception):
    """Arguments or input that a command cannot work with."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def explain(error: Exception) -> tuple[str, str | None]:
    """The message of an error as one line, and what to do about it where that is known."""
    if isinstance(error, OSError) and error.strerror:
        name = error.filename
        message = f"{name}: {error.strerror}" if name is not None else error.strerror
    else:
        message = str(error)
    return " ".join(message.split("\n")), _hint(error)


def _hint(error: Exception) -> str | None:
    if isinstance(error, UsageError):
        return error.hint
    if isinstance(error, FormatError) and getattr(error, "field", None) == "split":
        return "--split NAME says how the text is cut (gpt2, cl100k, o200k, ... or a pattern)"
    if isinstance(error, TrainingError) and getattr(error, "byte", None) is not None:
        return "--errors replace, or --errors skip, goes on without it"
    if isinstance(error, SpecialTokenError) and getattr(error, "position", None) is not None:
        return "--special text takes it as plain text, --special parse as the token"
    if isinstance(error, VocabularyError) and getattr(error, "position", None) is not None:
        return "is this the tokenizer that made the ids? --undefined skip leaves such ids out"
    if isinstance(error, UnknownTokenError):
        return "train with --unk-token, or with the alphabet of bytes, which spells everything"
    return None
