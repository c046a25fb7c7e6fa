"""A text splitter of LangChain that counts as the tokenizer does.

>>> from tokenmill.compat.langchain import TextSplitter
>>> splitter = TextSplitter(tok, chunk_size=512, chunk_overlap=64, at="sentence")  # doctest: +SKIP

Needs the extra ``langchain``.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Literal

from .._forks import waited_for
from ..errors import MissingExtraError
from ._splitting import fitting_chunks

try:
    with waited_for:
        import langchain_text_splitters as _library
        from langchain_core.documents import Document
except ImportError as error:
    raise MissingExtraError(
        'tokenmill.compat.langchain needs langchain-text-splitters: pip install "tokenmill[langchain]"',
        extra="langchain",
    ) from error

if TYPE_CHECKING:
    from .. import Tokenizer

__all__ = ["TextSplitter"]


class TextSplitter(_library.TextSplitter):
    """Splits texts into chunks of at most ``chunk_size`` ids, as ``Tokenizer.chunk`` does.

    ``chunk_overlap`` is in ids, too; ``at``, ``add_special_tokens`` and ``special`` are as for ``chunk``.
    ``strip_whitespace`` takes the white space around a chunk away, as in the library; no chunk has more than
    ``chunk_size`` ids afterwards either. ``start_index`` is where the chunk begins in the text.

    Raises ``ValueError`` where the library does, and ``BudgetError`` for a character of too many ids.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        chunk_size: int = 512,
        chunk_overlap: int = 0,
        *,
        at: Literal["character", "grapheme", "word", "sentence", "line"] = "word",
        add_special_tokens: bool = False,
        special: Literal["text", "parse", "raise"] | frozenset[str] = "text",
        add_start_index: bool = False,
        strip_whitespace: bool = True,
    ) -> None:
        self._tokenizer = tokenizer
        self._counting: dict[str, Any] = {"add_special_tokens": add_special_tokens, "special": special}
        self._at = at
        super().__init__(
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            length_function=self._count,
            add_start_index=add_start_index,
            strip_whitespace=strip_whitespace,
        )
        if chunk_overlap == chunk_size:
            raise ValueError(f"chunk_overlap={chunk_overlap} is not less than chunk_size={chunk_size}")

    def _count(self, text: str) -> int:
        return self._tokenizer.count(text, **self._counting)

    def split_text(self, text: str) -> list[str]:
        """The chunks of a text."""
        return [chunk for _, chunk in self._chunks(text)]

    def create_documents(
        self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None
    ) -> list[Document]:
        """A document for each chunk, with a copy of the metadata of its text."""
        documents = []
        for number, text in enumerate(texts):
            for start, chunk in self._chunks(text):
                metadata = copy.deepcopy(metadatas[number]) if metadatas else {}
                if self._add_start_index:
                    metadata["start_index"] = start
                documents.append(Document(page_content=chunk, metadata=metadata))
        return documents

    def _chunks(self, text: str) -> list[tuple[int, str]]:
        chunks = fitting_chunks(
            self._tokenizer,
            text,
            self._chunk_size,
            overlap=self._chunk_overlap,
            strip=bool(self._strip_whitespace),
            fits=lambda chunk: self._count(chunk) <= self._chunk_size,
            options={"at": self._at, **self._counting},
        )
        return list(chunks)
