"""What a chat becomes: ids, and what a model trains on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .literals import FoundLiteral
from .rendered import RenderedChat, Segment
from .turns import Turn

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["ChatEncoding"]


class ChatEncoding(dict[str, Any]):
    """The ids of a conversation: a mapping with ``input_ids`` and ``attention_mask``, lists of ``int``.

    With ``return_labels`` there are also ``labels`` (the id where a token is trained, -100 elsewhere, not
    shifted) and ``loss_mask`` (1 and 0). What the mapping holds goes into a batch (``Tokenizer.pad_batch``);
    what else is known of the conversation are attributes.
    """

    __slots__ = ("_find_literals", "_literals", "chat", "kept", "offsets", "seam", "turns")

    chat: RenderedChat
    """The rendering."""
    offsets: npt.NDArray[np.int64]
    """``(start, stop)`` of each token in ``text``, in characters: an array of tokens x 2."""
    turns: tuple[Turn, ...]
    """The trained turns; empty without ``return_labels``."""
    seam: str | None
    """Of ``extend_chat``: ``"canonical"``, all ids are those of the whole text; ``"border"``, the new ones
    are; ``"alone"``, what is new was encoded without what stands before. None for other calls."""
    kept: int
    """How many ids were given to ``extend_chat``."""

    def __init__(
        self,
        columns: dict[str, Any],
        chat: RenderedChat,
        offsets: npt.NDArray[np.int64],
        turns: tuple[Turn, ...],
        find_literals: Callable[[], tuple[FoundLiteral, ...]],
        seam: str | None = None,
        kept: int = 0,
    ) -> None:
        super().__init__(columns)
        self.chat, self.offsets, self.turns = chat, offsets, turns
        self.seam, self.kept = seam, kept
        self._find_literals = find_literals
        self._literals: tuple[FoundLiteral, ...] | None = None

    @property
    def text(self) -> str:
        """What the template wrote."""
        return self.chat.text

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Who wrote which part of the text."""
        return self.chat.segments

    @property
    def literals(self) -> tuple[FoundLiteral, ...]:
        """Literals of control tokens, and marks of the template, in what others wrote."""
        if self._literals is None:
            self._literals = self._find_literals()
        return self._literals

    @property
    def turns_without_end(self) -> tuple[int, ...]:
        """The indices of trained messages behind which the template writes no end-of-turn token."""
        return tuple([turn.message for turn in self.turns if turn.end is None])

    def __reduce__(self) -> tuple[Any, ...]:
        rest = (self.offsets, self.turns, self.literals, self.seam, self.kept)
        return (_restored, (dict(self), self.chat, *rest))

    def __repr__(self) -> str:
        trained = f", {sum(self['loss_mask'])} trained" if "loss_mask" in self else ""
        return f"ChatEncoding({len(self['input_ids'])} ids{trained}, template={self.chat.template!r})"


def _restored(
    columns: dict[str, Any],
    chat: RenderedChat,
    offsets: Any,
    turns: Any,
    literals: tuple[FoundLiteral, ...],
    *rest: Any,
) -> ChatEncoding:
    """An encoding that was copied or pickled."""
    return ChatEncoding(columns, chat, offsets, turns, lambda: literals, *rest)
