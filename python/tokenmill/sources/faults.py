"""Errors of sources: a damaged file, and a library that is not installed."""

from __future__ import annotations

from ..errors import MissingExtraError, TrainingError

__all__ = ["damaged", "missing_arrow", "unusable"]


def damaged(
    name: str, format: str, reason: str, *, byte: int | None = None, row: int | None = None
) -> TrainingError:
    """The error for a file that breaks its format; ``byte`` is a position in the file as it is stored."""
    places = [
        *([f"row {row}"] if row is not None else []),
        *([f"at byte {byte}"] if byte is not None else []),
    ]
    where = f"{', '.join(places)}: " if places else ""
    # What libraries say may have several lines.
    said = " ".join(str(reason).split()).rstrip(".")
    message = f"{name}: {where}is damaged or cut off ({format}): {said}; fetch or write the file again"
    return TrainingError(message, path=name, byte=byte, row=row)


def unusable(name: str | None, reason: str) -> TrainingError:
    """The error for a source that cannot be read as it is asked for."""
    return TrainingError(reason if name is None else f"{name}: {reason}", path=name, byte=None, row=None)


def missing_arrow(name: str, what: str) -> MissingExtraError:
    """The error for what pyarrow reads."""
    return MissingExtraError(f'{name}: {what} needs pyarrow: pip install "tokenmill[arrow]"', extra="arrow")
