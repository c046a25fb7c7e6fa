"""Every error that tokenmill raises, one tree.

::

    TokenmillError                     (a ValueError, but for InternalError)
    ├── FormatError                    a file or table breaks its format, or cannot hold what is saved
    ├── PatternError                   a split pattern is invalid, or exceeds its limit on a text
    ├── SpecialTokenError              a special token where none is allowed, or an unusable one
    ├── UnknownTokenError              a character that the vocabulary cannot spell
    ├── VocabularyError                an id that does not exist, a table that contradicts itself
    ├── TrainingError                  sources or arguments that ``train`` cannot use
    ├── HookError                      a function of yours gave what a normalizer or splitter cannot give
    ├── TemplateError                  a chat template that is wrong, or cannot render what it is given
    ├── BudgetError                    a budget of ids that cannot be met, or that no algorithm can serve
    ├── ManifestError                  a manifest that does not fit the files beside it
    ├── MissingExtraError              an optional dependency is not installed
    └── InternalError                  a fault of ours; please report it

File-system errors stay ``OSError``. All messages say what happened, where, and what to do next;
the same facts are attributes, and survive pickling.
"""

from __future__ import annotations

__all__ = [
    "BudgetError",
    "FormatError",
    "HookError",
    "InternalError",
    "ManifestError",
    "MissingExtraError",
    "PatternError",
    "SpecialTokenError",
    "TemplateError",
    "TokenmillError",
    "TrainingError",
    "UnknownTokenError",
    "VocabularyError",
]


class TokenmillError(Exception):
    """The root of the tree: ``except tokenmill.TokenmillError`` catches all of it."""

    def __init__(self, message: str, /, **facts: object) -> None:
        super().__init__(message)
        self.__dict__.update(facts)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), str(self), dict(self.__dict__)))


def _rebuild(kind: type[TokenmillError], message: str, facts: dict[str, object]) -> TokenmillError:
    return kind(message, **facts)


class FormatError(TokenmillError, ValueError):
    """A file or table that breaks its format, or a format that cannot hold what is saved."""

    path: str | None
    """The file, where there is one."""
    field: str
    """The place in it: ``model.merges[17]``, ``line 3``."""
    kind: str
    """A stable word for the defect: ``truncated``, ``duplicate``, ``unsupported``, ..."""
    reason: str
    """What was found and what was expected."""
    limit: int | None
    """The bound that was exceeded, for ``kind == "limit"``."""


class PatternError(TokenmillError, ValueError):
    """A split pattern that is invalid, or exceeded its limit on a text."""

    pattern: str
    """The pattern as it was given."""
    position: int | None
    """Character position: in an invalid pattern where its mistake is, if this is known; in a text (byte
    position for bytes) where the search began that exceeded the limit. None for texts to train on."""


class SpecialTokenError(TokenmillError, ValueError):
    """A special token in a text that may hold none, or one that cannot be used."""

    token: str
    """Its literal."""
    position: int | None
    """Character position in the text."""


class UnknownTokenError(TokenmillError, ValueError):
    """A character that the vocabulary cannot spell, where there is no unknown token."""

    char: str
    """The character, or the byte as ``0xNN`` where it is none."""
    position: int
    """Character position in the text (byte position for bytes)."""


class VocabularyError(TokenmillError, ValueError):
    """An id that does not exist, or a table of tokens that contradicts itself."""

    id: int | None
    """The id in question."""
    position: int | None
    """Its index in the list of ids."""


class TrainingError(TokenmillError, ValueError):
    """Sources that cannot be trained on, or arguments of ``train`` that contradict each other."""

    path: str | None
    """The source file, where there is one."""
    row: int | None = None
    """The row in it, from 1 on: the line of a JSONL file, the row of a table."""
    byte: int | None
    """Byte position in it: of the text, or where a compressed file is damaged in that file."""


class HookError(TokenmillError, ValueError):
    """A function that serves as normalizer or splitter gave something that cannot be used."""

    hook: str | None
    """The name of the function, where it has one."""
    position: int | None
    """Character position in the text (byte position for bytes); None where no text was passed."""


class TemplateError(TokenmillError, ValueError):
    """A chat template that is invalid, that refuses a conversation, or that cannot render it."""

    template: str | None
    """The name of the template; None for what is wrong before one is chosen."""
    line: int | None
    """The line of its source, where this is known."""
    message: str
    """What is wrong, without the place: what the template itself says where it refuses."""


class BudgetError(TokenmillError, ValueError):
    """A budget of ids that cannot be met, or a vocabulary that an algorithm for budgets cannot serve.

    A conversation may need more ids than it may have, even without all that may be dropped.
    """

    needed: int | None
    """How many ids are needed at least, where a budget is too small."""
    limit: int | None
    """How many there may be."""


class ManifestError(TokenmillError, ValueError):
    """A manifest that does not fit the files beside it."""

    field: str
    """The entry of the manifest."""
    expected: str
    """What the manifest says."""
    found: str
    """What the files are."""


class MissingExtraError(TokenmillError, ValueError):
    """An optional dependency is not installed."""

    extra: str
    """What to install: ``pip install "tokenmill[extra]"``."""


class InternalError(TokenmillError):
    """A fault of tokenmill itself. The object it came from stays usable."""
