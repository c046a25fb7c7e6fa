"""Conversations, rendered for a tokenizer, and how their text is to be encoded.

In: a tokenizer with templates, and messages. Out: the text, its untrusted ranges, and its added
tokens. The text of messages never becomes a control token.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from . import literals as policies
from .literals import FoundLiteral, Literals
from .prompts import Closing, Prompt, closing_of, prompts_of
from .rendered import RenderedChat, Segment
from .rendering import choose, literals_of, render, roles_of, variables_of
from .sources import SPECIAL_VARIABLES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .._core import Tokenizer
    from ..ragged import Ragged, RaggedEncodings

__all__ = ["AddedToken", "Plan", "Prepared", "apart_from", "encoded", "prepared", "render_for"]

#: The most templates whose tables a tokenizer keeps.
_MAX_TEMPLATES = 64

#: All white space.
_SPACES = frozenset(filter(str.isspace, map(chr, range(0x3001))))

Span = tuple[int, int]
AddedToken = tuple[int, int, int]
"""Where an added token stands, in characters, and its id."""


def render_for(tok: Tokenizer, messages: Sequence[Any], **options: Any) -> RenderedChat:
    """``Tokenizer.render_chat``."""
    template = options.pop("template", None)
    name, source = choose(tok.chat_templates, template, options.get("tools"))
    refuse_others(options, source)
    return render(source, messages, special_tokens=_special_variables(tok), name=name, **options)


def prepared(
    tok: Tokenizer,
    messages: Any,
    own: Sequence[str] = (),
    *,
    template: str | None = None,
    literals: Literals = "text",
    **options: Any,
) -> Prepared:
    """One conversation, rendered for ``tok``.

    ``own`` are arguments of the call that rendering does not have.
    """
    name, source = choose(tok.chat_templates, template, options.get("tools"))
    refuse_others(options, source, own)
    policies.check(literals, roles_of(source, name, options.get("roles")))
    return Prepared.of(Plan.of(tok, name, source, literals), messages, options)[0]


#: Arguments of transformers' `apply_chat_template`, and what to use here instead. As template variables they
#: would be ignored silently.
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


#: Arguments that only labels use.
_OF_LABELS = ("return_labels", "train_on", "end_of_turn", "allow_empty")
_OWN = ("template", "literals", *policies.OF_RENDERING)


def refuse_others(options: Mapping[str, Any], source: str, own: Sequence[str] = ()) -> None:
    """Raise ``TypeError`` for an argument that would silently become a template variable.

    These are arguments of transformers, those of labels where there are none, and misspelled ones that the
    template does not use. ``own`` are arguments of the call that rendering does not have.
    """
    for name in options:
        if name in _OTHERS:
            raise TypeError(f"{name}= is no argument here; use {_OTHERS[name]}")
        if name in _OF_LABELS:
            raise TypeError(f"{name}= is an argument of apply_chat_template; there are no labels here")
        if name not in policies.OF_RENDERING and name not in source:
            near = get_close_matches(name, [*own, *_OWN], 1, 0.8)
            if near:
                raise TypeError(f"{name}= is no argument, and no variable of the template; is it {near[0]}=?")


class _Template(NamedTuple):
    """A template for a tokenizer."""

    special: dict[str, str | list[str]]
    """The variables that hold special tokens: ``bos_token`` and the others that there are."""
    markers: frozenset[str]
    """Markers in the template's literals."""
    protected: frozenset[int]
    """Ids of added tokens in the template's literals and special tokens."""
    special_ids: frozenset[int]
    added: frozenset[str]
    """The literals of all added tokens."""
    unnamed: tuple[str, ...]
    """The variables of special tokens that the template reads and the tokenizer has no token for."""

    @classmethod
    def of(cls, tok: Tokenizer, name: str, source: str) -> _Template:
        """The tables of a template, which the tokenizer keeps."""
        tables = tok._chat_tables
        known: _Template | None = tables.get(source)
        if known is None:
            special = _special_variables(tok)
            literals = literals_of(source, name)
            joined = "\0".join([*literals, *_flat(special)])
            protected = _visible(tok, tok.find_added(joined, special="parse"))
            markers = policies.markers_of(literals)
            read = variables_of(source, name)
            unnamed = tuple([name for name in SPECIAL_VARIABLES if name in read - special.keys()])
            special_ids, added = frozenset(tok.special_tokens.values()), frozenset(tok.added_tokens)
            known = cls(special, markers, protected, special_ids, added, unnamed)
            if len(tables) < _MAX_TEMPLATES:
                tables[source] = known
        return known


class Plan(NamedTuple):
    """What is the same for all conversations of a call."""

    tok: Tokenizer
    name: str
    source: str
    literals: Literals
    template: _Template

    @classmethod
    def of(cls, tok: Tokenizer, name: str, source: str, literals: Literals) -> Plan:
        """For a template and a policy."""
        return cls(tok, name, source, literals, _Template.of(tok, name, source))

    @property
    def parses_none(self) -> bool:
        """Whether no literal in a message is parsed."""
        return self.literals != "parse" and not isinstance(self.literals, Mapping)

    def prompts(self, options: Mapping[str, Any]) -> tuple[Prompt, ...]:
        """What ``add_generation_prompt`` writes, the likeliest first."""
        special, variables = _key(self.template.special), _variables(options)
        found = prompts_of(self.source, special, variables)
        if variables != "{}":
            found += prompts_of(self.source, special, "{}")
        return tuple(dict.fromkeys(found))

    def closing(self, options: Mapping[str, Any]) -> Closing | None:
        """What the template writes after a turn: see ``Closing``."""
        return closing_of(self.source, _key(self.template.special), _variables(options))

    def holds(self, text: str) -> bool:
        """Whether a text holds a control literal: what a function in ``literals`` is called for."""
        if any(marker in text for marker in self.template.markers):
            return True
        guarded = self.template.protected | self.template.special_ids
        return any(token[2] in guarded for token in self.tok.find_added(text, special="parse"))


class Prepared(NamedTuple):
    """A conversation, rendered, and how its text is encoded."""

    plan: Plan
    chat: RenderedChat
    untrusted: Sequence[Span]
    protected: frozenset[int]
    unnamed_tokens: tuple[str, ...]
    """The variables of special tokens that the template reads and nobody gave."""

    @classmethod
    def of(cls, plan: Plan, messages: Any, options: Mapping[str, Any]) -> tuple[Prepared, list[AddedToken]]:
        """Renders a conversation and finds its added tokens (``find_added``).

        The tokens are not kept: so many tuples would keep Python's garbage collector busy.
        """
        tok = plan.tok
        if plan.literals not in ("text", "reject", "parse"):
            given = list(getattr(messages, "messages", messages))
            messages, options = policies.rewritten(given, options, plan.literals, plan.holds)
        chat = render(plan.source, messages, special_tokens=plan.template.special, name=plan.name, **options)
        untrusted: Sequence[Span] = chat.untrusted
        if not plan.parses_none:
            untrusted = _without_parsed(chat, plan.literals)
        protected = plan.template.protected
        added = _found(tok, chat.text, untrusted=untrusted, protected=protected)
        # A token may also be built from several literals, or completed by content. Such tokens become
        # protected. In untrusted text they no longer match, which may let others match, so repeat.
        while built := _built(tok, added, untrusted, protected):
            protected |= built
            added = _found(tok, chat.text, untrusted=untrusted, protected=protected)
        unnamed = tuple([name for name in plan.template.unnamed if name not in options])
        row = cls(plan, chat, untrusted, protected, unnamed)
        for literal, segment in row.found() if _rejects(plan.literals) else ():
            if policies.policy_of(plan.literals, segment) == "reject":
                policies.refuse(literal, segment)
        return row, added

    def find_added(self) -> list[AddedToken]:
        """The added tokens that the rendering has, where their literals stand."""
        return _found(self.plan.tok, self.chat.text, untrusted=self.untrusted, protected=self.protected)

    def found(self) -> list[tuple[FoundLiteral, Segment]]:
        """Literals in untrusted text, and the segments that they begin in."""
        tok, guarded = self.plan.tok, self.protected | self.plan.template.special_ids
        added = [token for token in _found(tok, self.chat.text) if token[2] in guarded]
        untrusted = self.untrusted if self.plan.parses_none else self.chat.untrusted
        return policies.found_in(self.chat, added, self.plan.template.markers, untrusted)

    def find_literals(self) -> tuple[FoundLiteral, ...]:
        """Literals in untrusted text."""
        return tuple([literal for literal, _ in self.found()])

    def find_written_as_text(self) -> tuple[str, ...]:
        """Control markers that the template wrote as plain text."""
        if policies.control_markers(self.chat.text) <= self.plan.template.added:
            return ()
        return policies.written_as_text(self.chat, self.find_added())

    def encode_with_offsets(self) -> RaggedEncodings:
        """The ids, and ``(start, stop)`` of each token in the text: one row."""
        return self.plan.tok.encode_batch(
            [self.chat.text],
            offsets=True,
            special="parse",
            untrusted=[self.untrusted],
            protected=[self.protected],
        )

    def find_offsets(self) -> npt.NDArray[np.int64]:
        """``(start, stop)`` of each token in the text, in characters: an array of tokens x 2."""
        return self.encode_with_offsets().offsets


def encoded(rows: Sequence[Prepared], num_threads: int | None) -> Ragged:
    """The ids of conversations of one tokenizer."""
    return rows[0].plan.tok.encode_batch(
        [row.chat.text for row in rows],
        special="parse",
        untrusted=[row.untrusted for row in rows],
        protected=[row.protected for row in rows],
        num_threads=num_threads,
    )


def _special_variables(tok: Tokenizer) -> dict[str, str | list[str]]:
    found = {name: getattr(tok, name) for name in SPECIAL_VARIABLES}
    return {name: token for name, token in found.items() if token is not None}


def _rejects(literals: Literals) -> bool:
    return "reject" in (literals.values() if isinstance(literals, Mapping) else (literals,))


def _flat(special: Mapping[str, str | list[str]]) -> list[str]:
    return [text for value in special.values() for text in ([value] if isinstance(value, str) else value)]


def _key(values: Mapping[str, Any]) -> str:
    return json.dumps(values, default=repr, skipkeys=True)


def _variables(options: Mapping[str, Any]) -> str:
    return _key({key: value for key, value in options.items() if key not in policies.OF_RENDERING})


def _visible(
    tok: Tokenizer, found: Sequence[AddedToken], known: frozenset[int] = frozenset()
) -> frozenset[int]:
    """The ids of tokens that are not known and not only white space, which is never a control token."""
    ids = {token[2] for token in found} - known
    return frozenset([number for number in ids if (tok.id_to_token(number) or "").strip()])


def _built(
    tok: Tokenizer, added: Sequence[AddedToken], untrusted: Sequence[Span], protected: frozenset[int]
) -> frozenset[int]:
    """Ids of tokens, not protected yet, that the template wrote at least in part."""
    if all(token[2] in protected for token in added):
        return frozenset()
    return _visible(tok, _not_within(added, untrusted), protected)


def apart_from(found: Sequence[AddedToken], spans: Sequence[Span]) -> list[AddedToken]:
    """The tokens that no span touches; both are in order."""
    kept, at = [], 0
    for token in found:
        while at < len(spans) and spans[at][1] <= token[0]:
            at += 1
        if at == len(spans) or spans[at][0] >= token[1]:
            kept.append(token)
    return kept


def _not_within(found: Sequence[AddedToken], spans: Sequence[Span]) -> list[AddedToken]:
    """The tokens that do not stand within a span; both are in order."""
    kept, at = [], 0
    for token in found:
        while at < len(spans) and spans[at][1] <= token[0]:
            at += 1
        if at == len(spans) or token[0] < spans[at][0] or spans[at][1] < token[1]:
            kept.append(token)
    return kept


def _found(tok: Tokenizer, text: str, **options: Any) -> list[AddedToken]:
    """The added tokens of a text, without the white space beside their literals."""
    found = tok.find_added(text, special="parse", **options)
    for index, (start, stop, token) in enumerate(found):
        if text[start] in _SPACES or text[stop - 1] in _SPACES:
            found[index] = (*policies.without_space(text, start, stop, tok.id_to_token(token) or ""), token)
    return found


def _without_parsed(chat: RenderedChat, literals: Literals) -> list[Span]:
    """The untrusted ranges without segments whose literals are parsed."""
    ranges: list[Span] = []
    for segment in chat.segments:
        if segment.trusted or policies.policy_of(literals, segment) == "parse":
            continue
        if ranges and ranges[-1][1] == segment.start:
            ranges[-1] = (ranges[-1][0], segment.stop)
        else:
            ranges.append((segment.start, segment.stop))
    return ranges
