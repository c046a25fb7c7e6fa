"""Notes on what may be wrong with conversations: of one, and how many there are in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .terminal import visible

if TYPE_CHECKING:
    from tokenmill.chat import ChatEncoding, FoundLiteral

__all__ = ["FileNotes", "notes_of"]

_OPTIONS = {"bos_token": "--bos-token", "eos_token": "--eos-token"}
_MOST_SHOWN = 5
"""The most names that a note lists."""


def notes_of(encoding: ChatEncoding) -> Iterator[str]:
    """The notes on a conversation."""
    yield from _of_template(encoding.unnamed_tokens, encoding.written_as_text)
    for message in encoding.turns_without_end:
        yield f"note: the template writes no end-of-turn token after messages[{message}]"
    for message, field in encoding.unwritten:
        yield f"note: the template leaves out messages[{message}].{visible(field)}"
    for literal, kind in _literals(encoding):
        became = {
            "token": f"token {literal.id}",
            "text": "text, as any other",
            "marker": "a marker of the template without a token of its own, which a model may take for the "
            "real one",
        }[kind]
        yield f"note: {_place(literal)} holds {visible(literal.literal)}: {became}"


class FileNotes:
    """The same, counted over all conversations of a file."""

    def __init__(self) -> None:
        self._of_template: dict[str, None] = {}
        # What each kind of note is of, and how often; of how many conversations, and which is the first.
        self._found: dict[str, Counter[str]] = {}
        self._conversations: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, place: str, encoding: ChatEncoding) -> None:
        """Count a conversation, which is at this place."""
        self._of_template.update(
            dict.fromkeys(_of_template(encoding.unnamed_tokens, encoding.written_as_text))
        )
        found = [("end", "") for _ in encoding.turns_without_end]
        found += [("fields", field) for _, field in encoding.unwritten]
        found += [(kind, literal.literal) for literal, kind in _literals(encoding)]
        for kind, name in found:
            self._found.setdefault(kind, Counter())[visible(name)] += 1
        for kind in {kind for kind, _ in found}:
            self._conversations[kind] += 1
            self._first.setdefault(kind, place)

    def lines(self) -> Iterator[str]:
        """A note for each kind."""
        yield from self._of_template
        for kind, found in sorted(self._found.items()):
            number = found.total()
            names = [f"{name} ({count:,})" for name, count in found.most_common(_MOST_SHOWN) if name]
            listed = f": {', '.join(names)}" + ", ..." * (len(found) > _MOST_SHOWN) if names else ""
            of_control = f"{_counted(number, 'literal')} of control tokens in messages {_are(number)}"
            what = {
                "end": f"the template writes no end-of-turn token after {_counted(number, 'trained turn')}",
                "fields": f"the template leaves out {_counted(number, 'field')}",
                "marker": f"{_counted(number, 'marker')} of the template in messages {_are(number)} text "
                "without a token of its own, which a model may take for the real one",
                "text": f"{of_control} text, as any other",
                "token": f"{of_control} the token",
            }[kind]
            count = self._conversations[kind]
            first = self._first[kind]
            where = f"{first}" if count == 1 else f"{_counted(count, 'conversation')}, the first is {first}"
            yield f"note: {what}{listed}; in {where}"


def _of_template(unnamed: tuple[str, ...], as_text: tuple[str, ...]) -> Iterator[str]:
    for name in unnamed:
        option = f"; {_OPTIONS[name]} names one" if name in _OPTIONS else ""
        yield f"note: the template writes {name}, and the tokenizer names none: nothing stands there{option}"
    for marker in as_text:
        yield f"note: the template writes {visible(marker)}, which is no token of this tokenizer"


def _literals(encoding: ChatEncoding) -> Iterator[tuple[FoundLiteral, str]]:
    """The literals in messages, and what each became: ``token``, ``text``, or ``marker`` without a token."""
    if not encoding.literals:
        return
    tokens = {
        (start, stop): number
        for (start, stop), number in zip(encoding.offsets.tolist(), encoding["input_ids"], strict=True)
    }
    for literal in encoding.literals:
        is_token = tokens.get((literal.start, literal.stop)) == literal.id
        yield literal, "marker" if literal.id is None else "token" if is_token else "text"


def _place(literal: FoundLiteral) -> str:
    message = None if literal.message is None else f"messages[{literal.message}]"
    return ".".join(filter(None, (message, literal.field))) or "the conversation"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)
