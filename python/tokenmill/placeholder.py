"""Placeholder text, made of the words of a corpus.

``NGramModel`` counts which token follows which in text of yours, and draws new text from that. ``bundled``
has two small models: the book of Cicero that Lorem Ipsum was made of, and chapters of Jane Austen. The page
"placeholder" of the documentation says more; ``tokenmill lorem`` is the same on the command line.

>>> from tokenmill import placeholder
>>> model = placeholder.bundled("la")
>>> len(model.generate(words=5, seed=7, exact=True).split())
5
"""

from __future__ import annotations

from pathlib import Path

from ._core import NGramModel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

__all__ = ["NGramModel", "bundled"]

_FOLDER = Path(__file__).parent / "data"
_LANGUAGES = ("la", "en")


def bundled(language: Literal["la", "en"] = "la") -> NGramModel:
    """The model of a language that comes with the package: Latin or English.

    What they were made of is in ``data/SOURCES.md`` beside them.

    >>> bundled("en").order
    3
    """
    if language not in _LANGUAGES:
        raise ValueError(f"language={language!r} is neither 'la' nor 'en'; train a model of your own text")
    return NGramModel.load(_FOLDER / f"lorem-{language}.ngrams")
