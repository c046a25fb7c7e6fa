"""The result of encoding a conversation: ids, and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .literals import FoundLiteral
from .rendered import RenderedChat, Segment
from .turns import Turn

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["ChatEncoding"]


class _Source(Protocol):
    """Finds the literals and the offsets of a conversation when they are asked for."""

    @property
    def unnamed_tokens(self) -> tuple[str, ...]: ...

    def find_written_as_text(self) -> tuple[str, ...]: ...

    def find_literals(self) -> tuple[FoundLiteral, ...]: ...

    def find_offsets(self) -> npt.NDArray[np.int64]: ...


class ChatEncoding(dict[str, Any]):
    """The ids of a conversation: a mapping with ``input_ids`` and ``attention_mask``, lists of ``int``.

    With ``return_labels`` there are also ``labels`` (the id where a token is trained, -100 elsewhere, not
    shifted) and ``loss_mask`` (1 and 0). What the mapping holds goes into a batch (``Tokenizer.pad_batch``);
    what else is known of the conversation are attributes.
    """

    __slots__ = ("_literals", "_offsets", "_source", "chat", "kept", "seam", "turns")

    chat: RenderedChat
    """The rendering."""
    turns: tuple[Turn, ...]
    """The turns that ``train_on`` names, as the model writes them; empty without ``return_labels``."""
    seam: str | None
    """Of ``extend_chat``. ``"canonical"``: all ids are those of the whole text. ``"border"``: the new ids
    are. ``"alone"``: the new text was encoded without the text before it. None for other calls."""
    kept: int
    """How many ids were given to ``extend_chat``."""

    def __init__(
        self,
        columns: dict[str, Any],
        chat: RenderedChat,
        source: _Source,
        turns: tuple[Turn, ...] = (),
        seam: str | None = None,
        kept: int = 0,
    ) -> None:
        super().__init__(columns)
        self.chat, self.turns, self.seam, self.kept = chat, turns, seam, kept
        self._source = source
        self._literals: tuple[FoundLiteral, ...] | None = None
        self._offsets: npt.NDArray[np.int64] | None = None

    @property
    def text(self) -> str:
        """What the template wrote."""
        return self.chat.text

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Who wrote which part of the text."""
        return self.chat.segments

    @property
    def unwritten(self) -> tuple[tuple[int, str], ...]:
        """The fields that hold text and that the template leaves out: pairs of message and field."""
        return self.chat.unwritten

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """``(start, stop)`` of each token in ``text``, in characters: an array of tokens x 2."""
        if self._offsets is None:
            self._offsets = self._source.find_offsets()
        return self._offsets

    @property
    def literals(self) -> tuple[FoundLiteral, ...]:
        """Literals of control tokens, and markers of the template, in what others wrote."""
        if self._literals is None:
            self._literals = self._source.find_literals()
        return self._literals

    @property
    def unnamed_tokens(self) -> tuple[str, ...]:
        """The special tokens that the template asks for and the tokenizer does not name: ``bos_token``, ...

        Nothing is written for them. ``tok.with_special_tokens(bos_token=...)`` names one.
        """
        return self._source.unnamed_tokens

    @property
    def written_as_text(self) -> tuple[str, ...]:
        """The literals, such as ``<|im_start|>``, that the template writes and that are no tokens here.

        Each becomes several ids, as any other text does: most likely the template is of another model.
        """
        return self._source.find_written_as_text()

    @property
    def turns_without_end(self) -> tuple[int, ...]:
        """The indices of trained messages after which no end-of-turn token follows, trained or not."""
        return tuple([turn.message for turn in self.turns if turn.end is None])

    def __reduce__(self) -> tuple[Any, ...]:
        known = Known(self.offsets, self.literals, self.unnamed_tokens, self.written_as_text)
        return (ChatEncoding, (dict(self), self.chat, known, self.turns, self.seam, self.kept))

    def __repr__(self) -> str:
        trained = f", {sum(self['loss_mask'])} trained" if "loss_mask" in self else ""
        return f"ChatEncoding({len(self['input_ids'])} ids{trained}, template={self.chat.template!r})"


class Known(NamedTuple):
    """What was found already, as a pickled ``ChatEncoding`` keeps them."""

    offsets: npt.NDArray[np.int64]
    literals: tuple[FoundLiteral, ...]
    unnamed_tokens: tuple[str, ...] = ()
    written_as_text: tuple[str, ...] = ()

    def find_written_as_text(self) -> tuple[str, ...]:
        """The control markers that are plain text."""
        return self.written_as_text

    def find_literals(self) -> tuple[FoundLiteral, ...]:
        """The literals."""
        return self.literals

    def find_offsets(self) -> npt.NDArray[np.int64]:
        """The offsets."""
        return self.offsets
