"""Ids that a model wrote, kept as they are, and a conversation that goes on behind them.

In: ids, the messages that they stand for, and new messages. Out: the ids, and those of what is new. Encoding the
whole conversation anew would give other ids where the model did not write what ``encode`` gives, and a model that
is trained on those did not write what it is trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from .._forks import waited_for
from .applied import Prepared, prepared
from .encoding import ChatEncoding
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
    row = prepared(tok, [*messages, *new], add_generation_prompt=add_generation_prompt, **options)
    chat = row.chat
    whole = tok.encode_batch(
        [chat.text], offsets=True, special="parse", untrusted=[row.untrusted], protected=[row.protected]
    )
    all_ids, offsets = whole.ids.tolist(), np.asarray(whole.offsets)
    seam: Seam
    if all_ids[: len(kept)] == kept:
        seam, tail, behind = "canonical", all_ids[len(kept) :], offsets[len(kept) :]
        before = offsets[: len(kept)]
    else:
        at = _place_of_seam(tok, kept, chat, len(messages), on_rewrite, row)
        start = int(np.searchsorted(offsets[:, 0], at))
        is_border = start == len(offsets) or (
            offsets[start, 0] == at and (start == 0 or offsets[start - 1, 1] <= at)
        )
        if is_border:
            seam, tail, behind = "border", all_ids[start:], offsets[start:]
        else:
            seam = "alone"
            tail, behind = _encoded_alone(tok, row, at)
        before = _places(tok, kept, at)
    found = [*kept, *tail]
    columns = {"input_ids": found, "attention_mask": [1] * len(found)}
    return ChatEncoding(columns, chat, np.concatenate([before, behind]), (), row.find_literals, seam, len(kept))


def _place_of_seam(
    tok: Tokenizer, kept: list[int], chat: RenderedChat, old: int, on_rewrite: str, row: Prepared
) -> int:
    """Where in the text of the whole conversation the ids end."""
    written = tok.decode(kept)
    if chat.text.startswith(written):
        return len(written)
    if on_rewrite == "keep":
        return _start_of_new(kept, chat, old, row)
    pairs = zip(written, chat.text, strict=False)
    differs = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(written), len(chat.text)))
    turn = _message_at(chat, differs)
    which = "the text before the first message" if turn is None else f"messages[{turn}]"
    raise refusal(
        chat.template,
        None,
        f"{which} reads otherwise than the ids say, from character {differs} on: the ids have "
        f"{written[differs : differs + 20]!r}, the conversation with the new messages has "
        f'{chat.text[differs : differs + 20]!r}; pass on_rewrite="keep" to keep the ids and add what is new',
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


def _start_of_new(kept: list[int], chat: RenderedChat, old: int, row: Prepared) -> int:
    """Where what is new begins: behind the last added token of the ids, if the template wrote that one too."""
    starts = [turn[0][0] for turn in chat.turns[old:] if turn]
    start = min(starts, default=None)
    if start is None:
        start = max((turn[-1][1] for turn in chat.turns[:old] if turn), default=len(chat.text))
    last = kept[-1] if kept else None
    same = [stop for _, stop, number in row.added if number == last and stop <= start]
    # Between them the template writes nothing but white space that belongs to the turn before.
    if same and not chat.text[same[-1] : start].strip():
        return same[-1]
    return start


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
