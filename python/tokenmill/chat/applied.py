"""Conversations to ids and labels: ``Tokenizer.apply_chat_template``.

In: a tokenizer with templates, and conversations. Out: a ``ChatEncoding`` for each. The text of messages
never becomes a control token, and labels come from what the rendering says of itself, never from a guess.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._forks import waited_for
from ..errors import SpecialTokenError, TemplateError
from . import literals as policies
from .encoding import ChatEncoding
from .literals import FoundLiteral, Literals
from .prompts import Prompt, prompts_of
from .refusals import refusal
from .rendered import RenderedChat, Segment
from .rendering import choose, literals_of, render
from .selection import Selection, TrainOn, selection_of
from .turns import Added, Span, Turn, turn_of

if TYPE_CHECKING:
    from .._core import Tokenizer

__all__ = ["Prepared", "apply", "prepared", "render_for", "special_variables"]

ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
IGNORED = -100


def special_variables(tok: Tokenizer) -> dict[str, str | list[str]]:
    """The variables of a template that hold special tokens: ``bos_token`` and the others that there are."""
    found = {f"{role}_token": getattr(tok, f"{role}_token") for role in ROLES}
    return {name: token for name, token in found.items() if token is not None}


def render_for(tok: Tokenizer, messages: Sequence[Any], **options: Any) -> RenderedChat:
    """``Tokenizer.render_chat``."""
    _refuse_others(options)
    template = options.pop("template", None)
    name, source = choose(tok.chat_templates, template, options.get("tools"))
    return render(source, messages, special_tokens=special_variables(tok), name=name, **options)


def is_batch(messages: Any) -> bool:
    """Whether these are conversations, and not the messages of one."""
    if hasattr(messages, "messages") or not isinstance(messages, Sequence) or isinstance(messages, str):
        return False
    first = messages[0] if messages else None
    return hasattr(first, "messages") or (isinstance(first, Sequence) and not isinstance(first, str | bytes))


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
    _refuse_others(options)
    policies.check(literals)
    name, source = choose(tok.chat_templates, template, tools)
    training = _Training(selection_of(train_on), end_of_turn, allow_empty) if return_labels else None
    plan = _Plan.of(tok, name, source, training, literals, options)
    options["tools"] = tools
    many = is_batch(messages)
    conversations = list(messages) if many else [messages]
    rows = []
    for index, conversation in enumerate(conversations):
        try:
            rows.append(Prepared.of(plan, conversation, options))
        except (TemplateError, SpecialTokenError) as error:
            if many:
                raise _in_row(error, index) from error
            raise
    ragged = tok.encode_batch(
        [row.chat.text for row in rows],
        offsets=True,
        special="parse",
        untrusted=[row.untrusted for row in rows],
        protected=[row.protected for row in rows],
        num_threads=num_threads,
    )
    ids, offsets, bounds = ragged.ids, ragged.offsets, ragged.row_offsets.tolist()
    encodings = []
    for index, row in enumerate(rows):
        part = slice(bounds[index], bounds[index + 1])
        try:
            encodings.append(_encoding(plan, row, ids[part], offsets[part]))
        except TemplateError as error:
            if many:
                raise _in_row(error, index) from error
            raise
    return encodings if many else encodings[0]


#: Arguments of transformers' method of this name, and what does the same here. As variables of a template
#: they would do nothing, and nobody would notice.
_OTHERS = {
    "chat_template": "template=",
    "max_length": "fit_chat, which drops whole turns",
    "padding": "pad_batch",
    "return_assistant_tokens_mask": "return_labels=True, which gives loss_mask",
    "return_dict": "nothing: the result is a mapping",
    "return_tensors": "pad_batch",
    "tokenize": "render_chat for the text",
    "tokenizer_kwargs": "nothing",
    "truncation": "fit_chat, which drops whole turns",
}


def _refuse_others(options: Mapping[str, Any]) -> None:
    for name, instead in _OTHERS.items():
        if name in options:
            raise TypeError(f"{name}= is no argument here; use {instead}")


def prepared(
    tok: Tokenizer, messages: Any, *, template: str | None = None, literals: Literals = "text", **options: Any
) -> Prepared:
    """One conversation, rendered for ``tok``, without labels."""
    _refuse_others(options)
    policies.check(literals)
    name, source = choose(tok.chat_templates, template, options.get("tools"))
    return Prepared.of(_Plan.of(tok, name, source, None, literals, options), messages, options)


class _Training(NamedTuple):
    """What is trained."""

    selection: Selection
    end_of_turn: bool
    allow_empty: bool


class _Plan(NamedTuple):
    """What is the same for all conversations of a call."""

    tok: Tokenizer
    name: str
    source: str
    special: dict[str, str | list[str]]
    literals: Literals
    markers: frozenset[str]
    """Marks of the template's protocol, in its literals."""
    protected: frozenset[int]
    """Added tokens in the literals of the template."""
    special_ids: frozenset[int]
    prompts: tuple[Prompt, ...]
    """What ``add_generation_prompt`` writes, the likeliest first; empty without labels."""
    marks_generation: bool
    training: _Training | None

    @classmethod
    def of(
        cls,
        tok: Tokenizer,
        name: str,
        source: str,
        training: _Training | None,
        literals: Literals,
        options: Mapping[str, Any],
    ) -> _Plan:
        special = special_variables(tok)
        of_template = literals_of(source, name)
        protected = _visible(tok, tok.find_added("\0".join([*of_template, *_flat(special)]), special="parse"))
        markers = policies.markers_of(of_template)
        prompts: tuple[Prompt, ...] = ()
        if training:
            known = {key: value for key, value in options.items() if key not in policies.OF_RENDERING}
            both = (prompts_of(source, _key(special), _key(given)) for given in (known, {}))
            prompts = tuple(dict.fromkeys(prompt for found in both for prompt in found))
        return cls(
            tok,
            name,
            source,
            special,
            literals,
            markers,
            protected,
            frozenset(tok.special_tokens.values()),
            prompts,
            "endgeneration" in source,
            training,
        )

    def holds(self, text: str) -> bool:
        """Whether a text holds a control literal: what a function in ``literals`` is called for."""
        if any(mark in text for mark in self.markers):
            return True
        guarded = self.protected | self.special_ids
        return any(token[2] in guarded for token in self.tok.find_added(text, special="parse"))


class Prepared(NamedTuple):
    """A conversation, rendered, and how its text is encoded."""

    plan: _Plan
    chat: RenderedChat
    untrusted: Sequence[Span]
    protected: frozenset[int]
    added: list[tuple[int, int, int]]
    """The added tokens that the rendering has, where their literals stand."""

    @classmethod
    def of(cls, plan: _Plan, messages: Any, options: Mapping[str, Any]) -> Prepared:
        """Renders a conversation and finds its added tokens."""
        tok = plan.tok
        if plan.literals not in ("text", "reject", "parse"):
            given = list(getattr(messages, "messages", messages))
            messages, options = policies.rewritten(given, options, plan.literals, plan.holds)
        chat = render(plan.source, messages, special_tokens=plan.special, name=plan.name, **options)
        untrusted: Sequence[Span] = chat.untrusted
        if plan.literals == "parse" or isinstance(plan.literals, Mapping):
            untrusted = _without_parsed(chat, plan.literals)
        protected = plan.protected
        added = _found(tok, chat.text, untrusted=untrusted, protected=protected)
        # Where the template joined literals from parts, or content would go on with one; those that are
        # dropped may make room for others.
        while built := _visible(tok, _not_within(added, untrusted)) - protected:
            protected |= built
            added = _found(tok, chat.text, untrusted=untrusted, protected=protected)
        row = cls(plan, chat, untrusted, protected, added)
        for literal, segment in row.found() if _rejects(plan.literals) else ():
            if policies.policy_of(plan.literals, segment) == "reject":
                policies.refuse(literal, segment)
        return row

    def found(self) -> list[tuple[FoundLiteral, Segment]]:
        """Literals in untrusted text, and the segments that they begin in."""
        tok, guarded = self.plan.tok, self.protected | self.plan.special_ids
        added = [token for token in _found(tok, self.chat.text) if token[2] in guarded]
        return policies.found_in(self.chat, added, self.plan.markers)

    def find_literals(self) -> tuple[FoundLiteral, ...]:
        """Literals in untrusted text."""
        return tuple([literal for literal, _ in self.found()])


def _rejects(literals: Literals) -> bool:
    return "reject" in (literals.values() if isinstance(literals, Mapping) else (literals,))


def _flat(special: Mapping[str, str | list[str]]) -> list[str]:
    return [text for value in special.values() for text in ([value] if isinstance(value, str) else value)]


def _visible(tok: Tokenizer, found: Sequence[tuple[int, int, int]]) -> frozenset[int]:
    """The ids of tokens that are not white space: that is nobody's protocol."""
    ids = {token[2] for token in found}
    return frozenset([number for number in ids if (tok.id_to_token(number) or "").strip()])


def _apart_from(found: Sequence[tuple[int, int, int]], spans: Sequence[Span]) -> list[tuple[int, int, int]]:
    """The tokens that touch no span; both are in order."""
    kept, at = [], 0
    for token in found:
        while at < len(spans) and spans[at][1] <= token[0]:
            at += 1
        if at == len(spans) or spans[at][0] >= token[1]:
            kept.append(token)
    return kept


def _not_within(found: Sequence[tuple[int, int, int]], spans: Sequence[Span]) -> list[tuple[int, int, int]]:
    """The tokens that do not stand within a span; both are in order."""
    kept, at = [], 0
    for token in found:
        while at < len(spans) and spans[at][1] <= token[0]:
            at += 1
        if at == len(spans) or token[0] < spans[at][0] or spans[at][1] < token[1]:
            kept.append(token)
    return kept


def _found(tok: Tokenizer, text: str, **options: Any) -> list[tuple[int, int, int]]:
    """The added tokens of a text where their literals stand: white space that they take is not theirs."""
    found = tok.find_added(text, special="parse", **options)
    for index, (start, stop, token) in enumerate(found):
        if text[start].isspace() or text[stop - 1].isspace():
            found[index] = (*policies.without_space(text, start, stop, tok.id_to_token(token) or ""), token)
    return found


def _without_parsed(chat: RenderedChat, literals: Literals) -> list[Span]:
    """The untrusted ranges but for the segments whose literals are taken for tokens."""
    ranges: list[Span] = []
    for segment in chat.segments:
        if segment.trusted or policies.policy_of(literals, segment) == "parse":
            continue
        if ranges and ranges[-1][1] == segment.start:
            ranges[-1] = (ranges[-1][0], segment.stop)
        else:
            ranges.append((segment.start, segment.stop))
    return ranges


# ---- labels -----------------------------------------------------------------------------------


def _encoding(plan: _Plan, row: Prepared, ids: Any, offsets: Any) -> ChatEncoding:
    with waited_for:
        import numpy as np

    found = ids.tolist()
    columns: dict[str, Any] = {"input_ids": found, "attention_mask": [1] * len(found)}
    turns: tuple[Turn, ...] = ()
    if plan.training is not None:
        turns, spans = _trained(plan, plan.training, row)
        mask = mask_of(_of_literals(offsets, row.added), spans)
        if not plan.training.allow_empty and not mask.any():
            raise refusal(
                plan.name,
                None,
                "nothing of the conversation is trained; name other turns by train_on=, or pass "
                "allow_empty=True",
            )
        columns["labels"] = np.where(mask, ids.astype(np.int64, copy=False), IGNORED).tolist()
        columns["loss_mask"] = mask.astype(np.int64).tolist()
    return ChatEncoding(columns, row.chat, offsets, turns, row.find_literals)


def _trained(plan: _Plan, training: _Training, row: Prepared) -> tuple[tuple[Turn, ...], list[Span]]:
    chat = row.chat
    added = Added.of(_apart_from(row.added, row.untrusted), plan.special_ids, plan.tok.eos_token_id)
    bounded = _bounded_roles(chat) if plan.marks_generation else frozenset()
    turns, spans = [], []
    for message in training.selection.turns(chat.roles):
        role = chat.roles[message]
        turn = turn_of(chat, message, plan.prompts if role == "assistant" else (), added)
        if turn is None:
            continue
        turns.append(turn)
        if role in bounded:
            of_message = _intersection(list(chat.turns[message]), list(chat.generation))
        else:
            of_message = list(turn.spans)
        if not training.end_of_turn and turn.end is not None:
            of_message = _intersection(of_message, [(0, turn.end[0]), (turn.end[1], len(chat.text))])
        if training.selection.has_parts:
            of_message = _intersection(of_message, training.selection.parts(chat, message))
        spans += of_message
    return tuple(turns), sorted(spans)


def _bounded_roles(chat: RenderedChat) -> frozenset[str | None]:
    """The roles whose turns ``{% generation %}`` blocks bound: the assistant's, and those that have one."""
    return frozenset(
        role
        for role, stretches in zip(chat.roles, chat.turns, strict=True)
        if role == "assistant" or _intersection(list(stretches), list(chat.generation))
    )


def _intersection(first: list[Span], second: list[Span]) -> list[Span]:
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


def _of_literals(offsets: Any, added: Sequence[tuple[int, int, int]]) -> Any:
    """The offsets without white space that added tokens take, which makes no header part of an answer."""
    with waited_for:
        import numpy as np

    if not added:
        return offsets
    bounds = np.array(added, np.int64)[:, :2]
    # The last token that begins no later; only tokens without any text begin where another does.
    index = np.searchsorted(offsets[:, 0], bounds[:, 0], side="right") - 1
    if (offsets[index] == bounds).all():
        return offsets
    narrowed = offsets.copy()
    narrowed[index] = bounds
    return narrowed


def mask_of(offsets: Any, spans: Sequence[Span]) -> Any:
    """Which tokens overlap a span: a ``bool`` array. Spans are in order and do not overlap."""
    with waited_for:
        import numpy as np

    if not spans:
        return np.zeros(len(offsets), bool)
    bounds = np.array(spans, np.int64)
    behind = np.searchsorted(bounds[:, 1], offsets[:, 0], side="right")
    starts = np.append(bounds[:, 0], np.iinfo(np.int64).max)
    return (starts[behind] < offsets[:, 1]) & (offsets[:, 0] < offsets[:, 1])


def _key(values: Mapping[str, Any]) -> str:
    return json.dumps(values, default=repr, sort_keys=True)


def _in_row(error: TemplateError | SpecialTokenError, row: int) -> Exception:
    """The error with the place of its conversation in the list."""
    message = f"conversation {row}: {error}"
    if isinstance(error, SpecialTokenError):
        return SpecialTokenError(message, token=error.token, position=error.position)
    return TemplateError(message, template=error.template, line=error.line, message=error.message)
