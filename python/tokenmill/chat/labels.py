"""Which parts of a conversation are trained.

In: a conversation that was rendered for a tokenizer, and what to train. Out: the trained turns, and their
parts of the text. They come from what the rendering says of itself, never from a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._forks import waited_for
from .outline import Outline
from .preparing import AddedToken, Prepared, apart_from
from .prompts import Closing, Prompt
from .refusals import refusal
from .rendered import outline_of
from .selection import Selection
from .turns import Added, Span, Turn, token_behind, turn_of

__all__ = ["IGNORED", "Trained", "Training", "ranges_by_offsets"]

IGNORED = -100
"""The label of what is not trained."""


class Trained(NamedTuple):
    """Which parts of one conversation are trained."""

    turns: tuple[Turn, ...]
    spans: list[Span]
    """Pairs ``(start, stop)`` in characters, in order and apart from each other."""


class Training(NamedTuple):
    """What is trained in all conversations of a call."""

    selection: Selection
    end_of_turn: bool
    allow_empty: bool
    prompts: tuple[Prompt, ...]
    closing: Callable[[], Closing | None]
    """What the template writes after turns; called only where a turn has no end of its own."""

    def of(self, row: Prepared, found: Sequence[AddedToken]) -> Trained:
        """Which parts of a conversation are trained.

        ``found`` are its added tokens, as ``Prepared.of`` gives them.
        Raises ``TemplateError`` where nothing is trained, unless ``allow_empty`` is set.
        """
        chat, selection = row.chat, self.selection
        outline = outline_of(chat)
        roles = chat.roles
        special, eos = row.plan.template.special_ids, row.plan.tok.eos_token_id
        # A token that touches untrusted text ends no turn. Special ones are not matched there, but an eos
        # that is not special may be.
        added = Added.of(found if eos in special else apart_from(found, row.untrusted), special, eos)
        # Literals in messages that are parsed as tokens are still not the template's own text.
        untrusted = row.untrusted if row.plan.parses_none else chat.untrusted
        blocks = _joined(outline.generation)
        turns, spans = [], list[Span]()
        has_blocks = "endgeneration" in row.plan.source
        for message in selection.turns(roles):
            role = roles[message]
            prompts = self.prompts if role == "assistant" else ()
            turn = turn_of(chat, outline, message, role, prompts, added, untrusted)
            if turn is None:
                continue
            if turn.end is None and (token := token_behind(turn, chat.text, added, untrusted)) is not None:
                closing = self.closing()
                if closing is not None and closing.closes_turns_with(chat.text[token[0] : token[1]]):
                    turn = turn.ended_by(token)
            turns.append(turn)
            own = list(turn.spans)
            if has_blocks and (role == "assistant" or _has_block(role, roles, outline)):
                own = _common(outline.spans(message), blocks)
            if not self.end_of_turn and turn.end is not None:
                own = _common(own, [(0, turn.end[0]), (turn.end[1], len(chat.text))])
            if selection.has_parts:
                own = _common(own, selection.parts(chat, message))
            spans += own
        if not spans and not self.allow_empty:
            left_out = ", ".join(f"messages[{message}].{field}" for message, field in chat.unwritten[:5])
            raise refusal(
                row.plan.name,
                None,
                "nothing of the conversation is trained; name other turns by train_on=, or pass "
                "allow_empty=True" + (f" (the template leaves out {left_out})" if left_out else ""),
            )
        return Trained(tuple(turns), _joined(spans))


def _has_block(role: str | None, roles: Sequence[str | None], outline: Outline) -> bool:
    """Whether a ``{% generation %}`` block stands in any turn of this role."""
    blocks = _joined(outline.generation)
    return any(other == role and _common(outline.spans(at), blocks) for at, other in enumerate(roles))


def _common(first: list[Span], second: list[Span]) -> list[Span]:
    """What two lists of spans have in common, each in order and without overlaps."""
    common, one, two = [], 0, 0
    while one < len(first) and two < len(second):
        start, stop = max(first[one][0], second[two][0]), min(first[one][1], second[two][1])
        if start < stop:
            common.append((start, stop))
        if first[one][1] <= second[two][1]:
            one += 1
        else:
            two += 1
    return common


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Spans in order and apart from each other."""
    joined: list[Span] = []
    for start, stop in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined


# ---- tokens of spans ----------------------------------------------------------------------------


def ranges_by_offsets(offsets: Any, added: Sequence[AddedToken], spans: Sequence[Span]) -> list[Span]:
    """The tokens that overlap a span, as ranges ``(first, stop)`` of neighbours."""
    with waited_for:
        import numpy as np

    mask = _overlaps(_of_literals(offsets, added), spans)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    bounds: list[int] = edges.tolist()
    return list(zip(bounds[::2], bounds[1::2], strict=True))


def _of_literals(offsets: Any, added: Sequence[AddedToken]) -> Any:
    """The offsets without the white space that added tokens take.

    Else the white space of a header would be part of an answer.
    """
    with waited_for:
        import numpy as np

    if not added:
        return offsets
    bounds = np.array(added, np.int64)[:, :2]
    # The last token that begins at or before it; only a token without text begins where another does.
    index = np.searchsorted(offsets[:, 0], bounds[:, 0], side="right") - 1
    if (offsets[index] == bounds).all():
        return offsets
    narrowed = offsets.copy()
    narrowed[index] = bounds
    return narrowed


def _overlaps(offsets: Any, spans: Sequence[Span]) -> Any:
    """Which tokens overlap a span: a ``bool`` array."""
    with waited_for:
        import numpy as np

    if not spans:
        return np.zeros(len(offsets), bool)
    bounds = np.array(spans, np.int64)
    # A token of nothing but white space, where offsets leave white space out, is empty and stands at the end
    # of that white space: it overlaps what the character before it overlaps.
    are_empty = offsets[:, 0] == offsets[:, 1]
    next_bound = np.searchsorted(bounds[:, 1], offsets[:, 0] - are_empty, side="right")
    starts = np.append(bounds[:, 0], np.iinfo(np.int64).max)
    return starts[next_bound] < offsets[:, 1]
