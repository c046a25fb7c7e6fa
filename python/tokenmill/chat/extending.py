"""Ids that a model wrote, kept as they are, and a conversation that goes on behind them.

In: ids, the messages that they stand for, and new messages. Out: the ids, and those of what is new. Encoding
the whole conversation anew would give other ids where the model did not write what ``encode`` gives, and a
model that is trained on those did not write what it is trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .._forks import waited_for
from ..errors import TemplateError
from .encoding import ChatEncoding
from .literals import FoundLiteral
from .preparing import Prepared, prepared
from .refusals import refusal
from .rendered import RenderedChat

if TYPE_CHECKING:
    from .._core import Tokenizer

__all__ = ["extend", "first_drift"]

Seam = Literal["canonical", "border", "alone"]


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
    kept = [int(number) for number in ids]
    messages, new = list(messages), list(new)
    own = ("on_rewrite",)
    row = prepared(tok, [*messages, *new], own, add_generation_prompt=add_generation_prompt, **options)
    chat = row.chat
    whole = row.encode_with_offsets()
    text = _Whole(chat, whole.ids.tolist(), np.asarray(whole.offsets), row)
    seam: Seam
    first: int | None
    if text.ids[: len(kept)] == kept:
        seam, first, at = "canonical", len(kept), 0
    else:
        first, at = _place_of_seam(tok, kept, text, len(messages), on_rewrite)
        seam = "border" if first is not None else "alone"
    if first is None:
        tail, behind = _encoded_alone(tok, row, at)
    else:
        tail, behind = text.ids[first:], text.offsets[first:]
    before = text.offsets[: len(kept)] if seam == "canonical" else _places(tok, kept, at)
    found = [*kept, *tail]
    columns = {"input_ids": found, "attention_mask": [1] * len(found)}
    extended = _Extended(row, np.concatenate([before, behind]))
    return ChatEncoding(columns, chat, extended, (), seam, len(kept))


class _Extended(NamedTuple):
    """What is known of a conversation whose first ids were given."""

    row: Prepared
    offsets: Any

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

    def border_at(self, place: int) -> int | None:
        """The first token from a place in the text on; None where a token spans it."""
        added = {token for _, _, token in self.row.added}
        for index, (start, stop) in enumerate(self.offsets.tolist()):
            if start >= place:
                return index
            if stop > place:
                # An added token may take the white space behind it.
                takes = self.ids[index] in added and not self.chat.text[place:stop].strip()
                return index + 1 if takes else None
        return len(self.ids)


def _place_of_seam(
    tok: Tokenizer, kept: list[int], whole: _Whole, old: int, on_rewrite: str
) -> tuple[int | None, int]:
    """Where what is new begins: its first token in the whole, or None; and the place in the text."""
    # Decoding may drop characters that a token takes with it: what is compared is decoded on both sides.
    written, anew = tok.decode(kept), tok.decode(whole.ids)
    if not anew.startswith(written):
        if on_rewrite == "keep":
            at = _start_of_new(written, whole, old)
            return whole.border_at(at), at
        differs = next(
            (at for at, (one, other) in enumerate(zip(written, anew, strict=False)) if one != other),
            min(len(written), len(anew)),
        )
        token = _token_at(tok, whole.ids, differs)[0]
        place = int(whole.offsets[token][0]) if token < len(whole.ids) else len(whole.chat.text)
        raise _rewritten(whole.chat, place, written[differs:], anew[differs:])
    token, start = _token_at(tok, whole.ids, len(written))
    if start == len(written):
        at = int(whole.offsets[token][0]) if token < len(whole.ids) else len(whole.chat.text)
        return token, at
    return None, int(whole.offsets[token][0]) + len(written) - start


def _token_at(tok: Tokenizer, ids: list[int], place: int) -> tuple[int, int]:
    """The token whose text covers this place in the decoded text, and where its text begins."""
    stream = tok.decode_stream(errors="replace")
    at = 0
    for index, number in enumerate(ids):
        length = len(stream.step(number))
        if at + length > place:
            return index, at
        at += length
    return len(ids), at


def _rewritten(chat: RenderedChat, place: int, written: str, anew: str) -> TemplateError:
    turn = _message_at(chat, place)
    which = "the text before the first message" if turn is None else f"messages[{turn}]"
    return refusal(
        chat.template,
        None,
        f"{which} reads otherwise than the ids say, from character {place} on: the ids have "
        f"{written[:20]!r}, the conversation with the new messages has {anew[:20]!r}; pass "
        'on_rewrite="keep" to keep the ids and add what is new',
    )


def _message_at(chat: RenderedChat, at: int) -> int | None:
    """The message whose turn or field stands there, or last before."""
    found = None
    for segment in chat.segments:
        if segment.start > at:
            break
        if segment.message is not None:
            found = segment.message
    return found


def _start_of_new(written: str, whole: _Whole, old: int) -> int:
    """Where what is new begins in a text that is another one than the ids say.

    Behind the last field of the old messages, and behind as much of what follows it as the ids have already.
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


def _encoded_alone(tok: Tokenizer, row: Prepared, at: int) -> tuple[list[int], Any]:
    """The ids of the text from there on, encoded without what stands before."""
    untrusted = [(max(start, at) - at, stop - at) for start, stop in row.untrusted if stop > at]
    rest = tok.encode_batch(
        [row.chat.text[at:]], offsets=True, special="parse", untrusted=[untrusted], protected=[row.protected]
    )
    return rest.ids.tolist(), rest.offsets + at


def _places(tok: Tokenizer, ids: list[int], end: int) -> Any:
    """Where each of the kept ids stands, as far as decoding tells."""
    with waited_for:
        import numpy as np

    stream = tok.decode_stream(errors="replace")
    places, at = [], 0
    for number in ids:
        length = len(stream.step(number))
        places.append((min(at, end), min(at + length, end)))
        at += length
    return np.array(places, np.int64).reshape(-1, 2)


def first_drift(tok: Tokenizer, ids: Sequence[int]) -> int | None:
    """See ``Tokenizer.first_drift``."""
    given = [int(number) for number in ids]
    added = frozenset(tok.added_tokens.values())
    best: int | None = 0
    for with_spaces in (True, False):
        text, untrusted = _text_of(tok, given, added, with_spaces)
        again = tok.encode(text, special="parse", untrusted=untrusted, protected=added)
        if again == given:
            return None
        same = next((at for at, (a, b) in enumerate(zip(again, given, strict=False)) if a != b), None)
        best = max(best or 0, min(len(again), len(given)) if same is None else same)
    return best


def _text_of(
    tok: Tokenizer, ids: list[int], added: frozenset[int], with_spaces: bool
) -> tuple[str, list[tuple[int, int]]]:
    """The text that the ids stand for, and which parts of it no added token wrote.

    Some formats drop a space behind an added token, others write one that was not there: without
    ``with_spaces`` it is left out.
    """
    text = ""
    untrusted: list[tuple[int, int]] = []
    run: list[int] = []

    def end_run() -> None:
        nonlocal text
        part = tok.decode(run)
        if not with_spaces and text:
            part = part.removeprefix(" ")
        if part:
            untrusted.append((len(text), len(text) + len(part)))
        text += part
        run.clear()

    for number in ids:
        if number in added:
            end_run()
            text += tok.decode([number])
        else:
            run.append(number)
    end_run()
    return text, untrusted
