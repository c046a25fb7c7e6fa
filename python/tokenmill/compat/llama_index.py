"""A node parser of LlamaIndex that counts as the tokenizer does.

>>> from tokenmill.compat.llama_index import NodeParser
>>> parser = NodeParser(tokenizer=tok, chunk_size=512, chunk_overlap=64, at="sentence")  # doctest: +SKIP

Needs the extra ``llama-index``.
"""

from __future__ import annotations

from typing import Any, Literal

from .._forks import waited_for
from ..errors import BudgetError, MissingExtraError
from ._splitting import fitting_chunks

try:
    with waited_for:
        from llama_index.core.bridge.pydantic import Field, PrivateAttr
        from llama_index.core.node_parser.interface import MetadataAwareTextSplitter
except ImportError as error:
    raise MissingExtraError(
        'tokenmill.compat.llama_index needs llama-index-core: pip install "tokenmill[llama-index]"',
        extra="llama-index",
    ) from error

__all__ = ["NodeParser"]

_BETWEEN = "\n\n"
"""What stands between the metadata of a node and its text."""


class NodeParser(MetadataAwareTextSplitter):  # type: ignore[misc]
    """Splits documents into nodes of at most ``chunk_size`` ids, with their metadata.

    ``chunk_overlap`` is in ids, too; ``at`` and ``special`` are as for ``Tokenizer.chunk``. White space
    around a chunk is taken away; no node has more than ``chunk_size`` ids afterwards either, nor with its
    metadata before it, as the library writes them for a model.

    Raises ``BudgetError`` where the metadata leave no ids for the text.
    """

    chunk_size: int = Field(default=512, description="The most ids of a node.", gt=0)
    chunk_overlap: int = Field(default=0, description="The ids that the next node repeats.", ge=0)
    at: Literal["character", "grapheme", "word", "sentence", "line"] = Field(
        default="word", description="Where a text may be cut."
    )
    special: Literal["text", "parse", "raise"] = Field(
        default="text", description="What the literal of a special token in a text means."
    )
    _tokenizer: Any = PrivateAttr()

    def __init__(self, tokenizer: Any, **fields: Any) -> None:
        super().__init__(**fields)
        self._tokenizer = tokenizer

    @classmethod
    def class_name(cls) -> str:
        """The name by which the library knows it."""
        return "TokenmillNodeParser"

    def split_text(self, text: str) -> list[str]:
        """The chunks of a text."""
        return self._chunks(text, "")

    def split_text_metadata_aware(self, text: str, metadata_str: str) -> list[str]:
        """The chunks of a text that fit with these metadata before them."""
        return self._chunks(text, metadata_str + _BETWEEN if metadata_str else "")

    def _chunks(self, text: str, before: str) -> list[str]:
        def count(text: str) -> int:
            counted: int = self._tokenizer.count(text, special=self.special)
            return counted

        left = self.chunk_size - count(before)
        if left < 1:
            raise BudgetError(
                f"the metadata have {self.chunk_size - left} ids, which leaves none of {self.chunk_size} for "
                "the text; leave keys out with excluded_embed_metadata_keys and excluded_llm_metadata_keys",
                needed=self.chunk_size - left,
                limit=self.chunk_size,
            )
        chunks = fitting_chunks(
            self._tokenizer,
            text,
            left,
            overlap=min(self.chunk_overlap, left - 1),
            strip=True,
            fits=lambda chunk: count(chunk) <= self.chunk_size and count(before + chunk) <= self.chunk_size,
            options={"at": self.at, "special": self.special},
        )
        return [chunk for _, chunk in chunks]
