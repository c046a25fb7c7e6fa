"""Conversations to ids and labels: ``Tokenizer.apply_chat_template``.

In: a tokenizer with templates, and conversations. Out: a ``ChatEncoding`` for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import SpecialTokenError, TemplateError
from . import literals as policies
from .encoding import ChatEncoding
from .labels import IGNORED, Trained, Training, ranges_by_offsets
from .literals import Literals
from .overlaps import has_whole_offsets, ranges_of
from .preparing import Plan, Prepared, encoded, refuse_others
from .rendering import choose, roles_of
from .selection import TrainOn, refuse_without_labels, selection_of

if TYPE_CHECKING:
    from .._core import Tokenizer

__all__ = ["OWN", "apply"]

Span = tuple[int, int]

#: The key of what ``has_whole_offsets`` found, among the templates that a tokenizer keeps tables of.
_WHOLE_OFFSETS = ("whole offsets",)

OWN = ("return_labels", "train_on", "end_of_turn", "allow_empty", "num_threads")
"""The arguments of ``apply`` that are not arguments of rendering."""


def apply(
    tok: Tokenizer,
    messages: Any,
    *,
    template: str | None = None,
    tools: Sequence[Any] | None = None,
    return_labels: bool = False,
    train_on: TrainOn = "assistant",
    end_of_turn: bool = True,
    allow_empty: bool = False,
    literals: Literals = "text",
    num_threads: int | None = 1,
    **options: Any,
) -> ChatEncoding | list[ChatEncoding]:
    """See ``Tokenizer.apply_chat_template``."""
    name, source = choose(tok.chat_templates, template, tools)
    refuse_others(options, source, OWN)
    roles = roles_of(source, name, options.get("roles"))
    policies.check(literals, roles)
    of_labels = {"return_labels": return_labels, "train_on": train_on, "end_of_turn": end_of_turn}
    refuse_without_labels(of_labels)
    plan = Plan.of(tok, name, source, literals)
    training = None
    if return_labels:
        closing = partial(plan.closing, dict(options))
        selection = selection_of(train_on, roles)
        training = Training(selection, end_of_turn, allow_empty, plan.prompts(options), closing)
    options["tools"] = tools
    many = _is_batch(messages)
    rows: list[Prepared] = []
    trained: list[Trained] = []
    for index, conversation in enumerate(messages if many else [messages]):
        try:
            row, added = Prepared.of(plan, conversation, options)
            if training is not None:
                trained.append(training.of(row, added))
            rows.append(row)
        except (TemplateError, SpecialTokenError) as error:
            if many:
                raise _in_row(error, index) from error
            raise
    ragged = encoded(rows, num_threads)
    all_ids: list[list[int]] = ragged.to_lists()
    if training is None:
        encodings = [_encoding(row, ids) for row, ids in zip(rows, all_ids, strict=True)]
    else:
        found = zip(rows, all_ids, trained, _ranges(tok, rows, ragged, trained), strict=True)
        encodings = [_labelled(row, ids, of_row, ranges) for row, ids, of_row, ranges in found]
    return encodings if many else encodings[0]


def _is_batch(messages: Any) -> bool:
    """Whether these are conversations, and not the messages of one."""
    if hasattr(messages, "messages") or not isinstance(messages, Sequence) or isinstance(messages, str):
        return False
    first = messages[0] if messages else None
    return hasattr(first, "messages") or (isinstance(first, Sequence) and not isinstance(first, str | bytes))


def _ranges(
    tok: Tokenizer, rows: Sequence[Prepared], ragged: Any, trained: Sequence[Trained]
) -> list[list[Span]]:
    """The ranges of trained tokens of each conversation."""
    spans = [of_row.spans for of_row in trained]
    is_whole: bool | None = tok._chat_tables.get(_WHOLE_OFFSETS)
    if is_whole is None:
        is_whole = tok._chat_tables.setdefault(_WHOLE_OFFSETS, has_whole_offsets(tok))
    found: Sequence[list[Span] | None] = [None] * len(rows)
    if is_whole:
        found = ranges_of(tok, [row.chat.text for row in rows], ragged, spans)
    return [
        ranges_by_offsets(row.find_offsets(), row.find_added(), of_row) if ranges is None else ranges
        for row, of_row, ranges in zip(rows, spans, found, strict=True)
    ]


def _encoding(row: Prepared, ids: list[int]) -> ChatEncoding:
    return ChatEncoding({"input_ids": ids, "attention_mask": [1] * len(ids)}, row.chat, row)


def _labelled(row: Prepared, ids: list[int], trained: Trained, ranges: Sequence[Span]) -> ChatEncoding:
    labels, mask = [IGNORED] * len(ids), [0] * len(ids)
    for first, stop in ranges:
        labels[first:stop] = ids[first:stop]
        mask[first:stop] = [1] * (stop - first)
    columns = {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": labels, "loss_mask": mask}
    return ChatEncoding(columns, row.chat, row, trained.turns)


def _in_row(error: TemplateError | SpecialTokenError, row: int) -> Exception:
    """The error with the place of its conversation in the list."""
    message = f"conversations[{row}]: {error}"
    if isinstance(error, SpecialTokenError):
        return SpecialTokenError(message, token=error.token, position=error.position)
    return TemplateError(message, template=error.template, line=error.line, message=error.message)
