"""Continuing a conversation after ids that a model wrote, which are kept as they are.

In: ids, the messages that they stand for, and new messages. Out: the given ids, and the ids of what is new.
Encoding the whole conversation again could give other ids than the model wrote, and the model would be
trained on tokens that it did not choose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .._forks import waited_for
from ..errors import TemplateError
from .decoded import decoded_places
from .drifts import first_drift
from .encoding import ChatEncoding
from .given import checked_ids
from .literals import FoundLiteral
from .preparing import Prepared, prepared
from .refusals import refusal
from .rendered import RenderedChat

if TYPE_CHECKING:
    from .._core import Tokenizer

__all__ = ["extend", "first_drift"]

#: Texts to encode before the new text, for formats that put a space before the first text.
_BEFORE = ("\n", "0", "a", ".")
#: How many tokens are tried as the first new one: several may end at the same character.
_MAX_TRIALS = 16


class _Seam(NamedTuple):
    """The new ids, and how they follow the kept ones."""

    kind: Literal["canonical", "border", "alone"]
    at: int
    """Where the new text begins, in characters."""
    tail: list[int]
    """The new ids."""
    offsets: Any
    """The offsets of each new id in the text."""


def extend(
    tok: Tokenizer,
    ids: Sequence[int],
    messages: Sequence[Any],
    new: Sequence[Any],
    *,
    add_generation_prompt: bool = True,
    on_rewrite: Literal["error", "keep"] = "error",
    **options: Any,
) -> ChatEncoding:
    """See ``Tokenizer.extend_chat``."""
    with waited_for:
        import numpy as np

    if on_rewrite not in ("error", "keep"):
        raise ValueError(f'on_rewrite={on_rewrite!r} is none of "error", "keep"')
    kept = checked_ids(ids)
    messages, new = list(messages), list(new)
    own = ("on_rewrite",)
    row = prepared(tok, [*messages, *new], own, add_generation_prompt=add_generation_prompt, **options)
    chat = row.chat
    whole = row.encode_with_offsets()
    added = frozenset([token for _, _, token in row.find_added()])
    text = _Whole(chat, whole.ids.tolist(), np.asarray(whole.offsets), row, added)
    if text.ids[: len(kept)] == kept:
        before = text.offsets[: len(kept)]
        seam = _Seam("canonical", 0, text.ids[len(kept) :], text.offsets[len(kept) :])
    else:
        seam = _seam(tok, kept, text, len(messages), on_rewrite)
        before = _places(tok, kept, text, seam.at)
    found = [*kept, *seam.tail]
    columns = {"input_ids": found, "attention_mask": [1] * len(found)}
    extended = _Extended(row, np.concatenate([before, seam.offsets]))
    return ChatEncoding(columns, chat, extended, (), seam.kind, len(kept))


class _Extended(NamedTuple):
    """What is known of a conversation whose first ids were given."""

    row: Prepared
    offsets: Any

    @property
    def unnamed_tokens(self) -> tuple[str, ...]:
        """The variables of special tokens that the template reads and nobody gave."""
        return self.row.unnamed_tokens

    def find_written_as_text(self) -> tuple[str, ...]:
        """Control markers that the template wrote as plain text."""
        return self.row.find_written_as_text()

    def find_literals(self) -> tuple[FoundLiteral, ...]:
        """Literals in untrusted text."""
        return self.row.find_literals()

    def find_offsets(self) -> Any:
        """Where each token stands, as far as that is known."""
        return self.offsets


class _Whole(NamedTuple):
    """The whole conversation, rendered and encoded anew."""

    chat: RenderedChat
    ids: list[int]
    offsets: Any
    row: Prepared
    added: frozenset[int]
    """The ids of its added tokens."""

    def border_at(self, place: int) -> int | None:
        """The first token that begins at this place or after it; None where a token spans the place."""
        for index, (start, stop) in enumerate(self.offsets.tolist()):
            if start >= place:
                return index
            if stop > place:
                # An added token may take the white space after it.
                takes = self.ids[index] in self.added and not self.chat.text[place:stop].strip()
                if self.is_control(index) and not takes:
                    return index
                return index + 1 if takes else None
        return len(self.ids)

    def is_control(self, token: int) -> bool:
        """Whether this token is an added one, and more than white space."""
        start, stop = self.offsets[token].tolist()
        return self.ids[token] in self.added and bool(self.chat.text[start:stop].strip())

    def start_of(self, token: int) -> int:
        """Where a token begins in the text; the end of the text for the index after the last token."""
        return int(self.offsets[token][0]) if token < len(self.ids) else len(self.chat.text)

    def text_place(self, token: int, decoded: tuple[int, int], place: int) -> int:
        """The place in the text for a place in the decoded text that this token covers."""
        start, stop = map(int, self.offsets[token])
        # Counted from the token's end: what decoding drops or adds is at its beginning.
        return start if place <= decoded[0] else max(start, stop - (decoded[1] - place))


def _seam(tok: Tokenizer, kept: list[int], whole: _Whole, old: int, on_rewrite: str) -> _Seam:
    """The new ids: those that, after the kept ones, decode to the text of the whole conversation."""
    # Decoding may drop characters of the text, so decoded text is compared with decoded text.
    written, anew = tok.decode(kept), tok.decode(whole.ids)
    places = decoded_places(tok, whole.ids)
    if not anew.startswith(written):
        if on_rewrite == "keep":
            return _seam_of_rewritten(tok, kept, written, whole, old)
        differs = next(
            (at for at, (one, other) in enumerate(zip(written, anew, strict=False)) if one != other),
            min(len(written), len(anew)),
        )
        token = next((token for token, (_, stop) in enumerate(places) if stop > differs), len(whole.ids))
        raise _rewritten(whole.chat, whole.start_of(token), written[differs:], anew[differs:])

    def holds(tail: Sequence[int]) -> bool:
        return tok.decode([*kept, *tail]) == anew

    # Tokens that share a character end in the same place, so several may end where the kept ids do.
    stops = [0, *(stop for _, stop in places)]
    candidates = [token for token, stop in enumerate(stops) if stop == len(written)][:_MAX_TRIALS]
    # Some formats decode control tokens to nothing. Places where the ids before have the same added tokens as
    # the kept ids are tried first, so that none is written twice.
    added = frozenset(tok.added_tokens.values())
    has = [number for number in kept if number in added]
    candidates.sort(key=lambda first: [number for number in whole.ids[:first] if number in added] != has)
    for first in candidates:
        if holds(whole.ids[first:]):
            return _Seam("border", whole.start_of(first), whole.ids[first:], whole.offsets[first:])
    token = next((token for token, (_, stop) in enumerate(places) if stop > len(written)), len(whole.ids))
    if token < len(whole.ids):
        if whole.is_control(token) and places[token][0] < len(written):
            literal = tok.id_to_token(whole.ids[token])
            raise _refused(
                whole.chat, whole.start_of(token), f"the ids end within {literal!r}, a control token"
            )
        at = whole.text_place(token, places[token], len(written))
    else:
        at = len(whole.chat.text)
    for tail, offsets in _encoded_alone(tok, whole, at):
        if holds(tail):
            return _Seam("alone", at, tail, offsets)
    raise _refused(whole.chat, at, "the ids end where no ids give the rest of its text")


def _seam_of_rewritten(tok: Tokenizer, kept: list[int], written: str, whole: _Whole, old: int) -> _Seam:
    """The same where the text of the whole conversation does not begin with the text of the kept ids."""
    at = _start_of_new(written, whole, old)
    first = whole.border_at(at)
    if first is not None:
        return _Seam("border", at, whole.ids[first:], whole.offsets[first:])
    ways = list(_encoded_alone(tok, whole, at))
    text = written + whole.chat.text[at:]
    tail, offsets = next((way for way in ways if tok.decode([*kept, *way[0]]) == text), ways[0])
    return _Seam("alone", at, tail, offsets)


def _rewritten(chat: RenderedChat, place: int, written: str, anew: str) -> TemplateError:
    return _refused(
        chat,
        place,
        f"the ids have {written[:20]!r}, the conversation with the new messages has {anew[:20]!r}; pass "
        'on_rewrite="keep" to keep the ids and add what is new',
    )


def _refused(chat: RenderedChat, place: int, why: str) -> TemplateError:
    turn = _message_at(chat, place)
    which = "the text before the first message" if turn is None else f"messages[{turn}]"
    message = f"{which} reads otherwise than the ids say, from character {place} on: {why}"
    return refusal(chat.template, None, message)


def _message_at(chat: RenderedChat, at: int) -> int | None:
    """The message whose turn or field stands there, else the last one before it."""
    found = None
    for segment in chat.segments:
        if segment.start > at:
            break
        if segment.message is not None:
            found = segment.message
    return found


def _start_of_new(written: str, whole: _Whole, old: int) -> int:
    """Where the new text begins, where the whole text does not begin with the text of the kept ids.

    That is after the last field of the old messages, and after as much of what follows it as the kept ids
    end with.
    """
    chat = whole.chat
    first = min((turn[0][0] for turn in chat.turns[old:] if turn), default=len(chat.text))
    fields = [
        segment.stop
        for segment in chat.segments
        if segment.message is not None and segment.message < old and segment.field and segment.stop <= first
    ]
    last = max(fields, default=0)
    closing = chat.text[last:first]
    there = next(length for length in range(len(closing), -1, -1) if written.endswith(closing[:length]))
    return last + there


def _encoded_alone(tok: Tokenizer, whole: _Whole, at: int) -> Iterator[tuple[list[int], Any]]:
    """The ids of the text from there on, and their offsets, encoded without the text before it.

    Some formats put a space before every text that they encode. To avoid it, the text is also encoded after
    other text, whose ids are then left out.
    """
    row, text = whole.row, whole.chat.text
    after = [(max(start, at) - at, stop - at) for start, stop in row.untrusted if stop > at]
    for before in dict.fromkeys(("", *_BEFORE, *(text[max(at - length, 0) : at] for length in range(1, 9)))):
        length = len(before)
        # No control token is to be found in the text that was put before.
        untrusted = [(0, length), *((start + length, stop + length) for start, stop in after)]
        rest = tok.encode_batch(
            [before + text[at:]],
            offsets=True,
            special="parse",
            untrusted=[untrusted if before else after],
            protected=[row.protected],
        )
        offsets = rest.offsets
        first = int((offsets[:, 1] <= length).sum()) if before else 0
        if first == len(offsets) or int(offsets[first, 0]) >= length or not before:
            yield rest.ids[first:].tolist(), offsets[first:] + (at - length)


def _places(tok: Tokenizer, ids: list[int], whole: _Whole, end: int) -> Any:
    """Where each of the kept ids stands in the text, as far as decoding tells."""
    with waited_for:
        import numpy as np

    same = next((at for at, (a, b) in enumerate(zip(ids, whole.ids, strict=False)) if a != b), None)
    shared = min(len(ids), len(whole.ids)) if same is None else same
    # Decoding drops and adds characters, so places in the decoded text are turned into places in the text.
    anew = np.array(decoded_places(tok, whole.ids), np.int64).reshape(-1, 2)
    mine = np.array(decoded_places(tok, ids), np.int64).reshape(-1, 2)[shared:]
    if len(anew):
        token = np.minimum(np.searchsorted(anew[:, 1], mine, side="right"), len(anew) - 1)
        starts, stops = whole.offsets[token, 0], whole.offsets[token, 1]
        inner = np.clip(stops - (anew[token, 1] - mine), starts, stops)
        mine = np.where(mine <= anew[token, 0], starts, inner)
    return np.concatenate([whole.offsets[:shared], np.minimum(mine, end)])
