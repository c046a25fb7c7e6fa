"""What notebooks show of a tokenizer and of what it makes: HTML without scripts and without requests.

Texts come from anywhere, so all of them go through ``inline``. What cannot be seen is an escape there, and a
text that runs from right to left cannot turn what stands beside it. Styles stand in each element, because a
style sheet would reach the rest of the page. Colours are translucent, so that they suit light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from ._table import visible
from .errors import TokenmillError

if TYPE_CHECKING:
    from ._core import Tokenizer
    from .chat import RenderedChat, Segment
    from .chunks import Chunk
    from .difference import Difference

__all__ = [
    "html_of_chat",
    "html_of_chunk",
    "html_of_difference",
    "html_of_encoding",
    "html_of_tokenizer",
    "inline",
]

EncodingRow = tuple[int, str, tuple[int, int], tuple[int, int], int, int, int, int | None, int | None]
"""Id, token, characters, bytes, type, attention mask, special tokens mask, word and sequence."""

_MOST_IDS = 200
"""Ids of a chunk that are listed."""
_MOST_SPECIAL = 20
"""Special tokens that are listed."""
_MOST_CHARACTERS = 10_000
"""Characters of a text that are shown."""
_MOST_SEGMENTS = 1000
"""Segments of a conversation that are shown."""
_ROLES = ("bos", "eos", "pad", "unk", "sep", "cls", "mask")

_FAINT = "opacity:.6"
_TEXT = "white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.7"
_TOKEN = "border-radius:3px;padding:1px 0"
_ADDED = "outline:1px dashed;outline-offset:-1px"
_COLOURS = (
    "rgba(66,133,244,.3)",
    "rgba(52,168,83,.3)",
    "rgba(251,160,5,.3)",
    "rgba(234,67,53,.3)",
    "rgba(160,80,220,.3)",
)
_TEMPLATE = "rgba(128,128,128,.3)"
_VERDICTS = {"same": "rgba(52,168,83,.3)", "different": "rgba(234,67,53,.3)"}


# ---- texts ------------------------------------------------------------------------------------


def inline(text: str, *, style: str = "", title: str = "", lines: bool = False) -> str:
    r"""The HTML of a text, apart from the direction of what is around it.

    Characters that cannot be seen are escapes in a fainter colour: a line end is ``\n``, and with ``lines``
    the line ends there, too.
    """
    attributes = "".join(
        f' {name}="{escape(visible(value))}"' for name, value in (("style", style), ("title", title)) if value
    )
    return f"<bdi{attributes}>{''.join(_parts(text, lines))}</bdi>"


def _parts(text: str, lines: bool) -> Iterator[str]:
    for is_seen, run in groupby(text, key=str.isprintable):
        if is_seen:
            yield escape("".join(run))
            continue
        for line in "".join(run).splitlines(keepends=True):
            yield f'<span style="{_FAINT}">{escape(visible(line))}</span>'
            if lines and line.endswith("\n"):
                yield "\n"


def _cut(text: str, most: int = _MOST_CHARACTERS) -> str:
    """The HTML of a text of many lines, as far as it is shown."""
    shown = inline(text[:most], lines=True)
    return shown + _more(len(text) - most, "character")


def _more(number: int, what: str) -> str:
    """What is said of the rest, where there is one."""
    return f' <span style="{_FAINT}">and {_counted(number, "more " + what)}</span>' if number > 0 else ""


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)


def _heading(kind: str, *facts: str) -> str:
    return f"<p><b>{kind}</b>: {', '.join(facts)}</p>"


def _facts(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and of ready HTML."""
    left = 'style="text-align:left;vertical-align:top"'
    lines = (f"<tr><th {left}>{name}</th><td {left}>{value}</td></tr>" for name, value in rows)
    return "\n".join(["<table>", "<tbody>", *lines, "</tbody>", "</table>"])


# ---- tokenizers -------------------------------------------------------------------------------


def html_of_tokenizer(tok: Tokenizer) -> str:
    """A table of what a tokenizer is."""
    return "<p><b>Tokenizer</b></p>\n" + _facts(_facts_of(tok))


def _facts_of(tok: Tokenizer) -> Iterator[tuple[str, str]]:
    ids = f"{tok.vocab_size:,} ids"
    with suppress(TokenmillError):  # An empty vocabulary has no largest one.
        ids += f", the largest {tok.max_id}"
    yield "vocabulary", ids
    stage = tok.plan()["model"]
    yield "model", f"{inline(stage.path)} ({inline(stage.reason)})"
    yield "split", "no single split" if tok.split is None else inline(tok.split)
    yield "special tokens", _special(tok) or "none"
    if hooks := tok._hook_names:
        yield "hooks", ", ".join("without a name" if name is None else inline(name) for name in hooks)
    sides = f"padded on the {tok.padding_side}, truncated on the {tok.truncation_side}"
    longest = tok.model_max_length
    yield "inputs", sides + ("" if longest is None else f", at most {longest:,} ids")
    yield "chat templates", ", ".join(map(inline, tok.chat_templates)) or "none"
    try:
        yield "fingerprint", f"<code>{tok.fingerprint}</code>"
    except TokenmillError as error:  # Hooks without a name have none.
        yield "fingerprint", f"none: {inline(str(error))}"


def _special(tok: Tokenizer) -> str:
    roles: dict[int | None, list[str]] = {}
    for role in _ROLES:
        roles.setdefault(getattr(tok, f"{role}_token_id"), []).append(role)
    tokens = sorted(tok.special_tokens.items(), key=lambda token: token[1])
    # Those with a role first: they are what people look for.
    tokens.sort(key=lambda token: token[1] not in roles)
    shown = []
    for token, number in tokens[:_MOST_SPECIAL]:
        of_it = f" ({', '.join(roles[number])})" if number in roles else ""
        shown.append(f"<code>{inline(token)}</code> {number}{of_it}")
    return "<br>\n".join(shown) + _more(len(tokens) - _MOST_SPECIAL, "special token")


# ---- encodings and chunks ---------------------------------------------------------------------


def html_of_encoding(rows: Sequence[EncodingRow], length: int, sequences: int, windows: int) -> str:
    """The tokens of an encoding side by side; their ids, offsets and masks in a table that opens.

    ``rows`` are the first of its ``length`` ids. ``sequences`` is the number of its texts, ``windows`` that
    of its overflowing windows.
    """
    facts = [_counted(length, "id")]
    facts += [_counted(sequences, "text")] * (sequences > 1)
    facts += [f"{_counted(windows, 'more window')} in overflowing"] * (windows > 0)
    tokens = "".join(_token(place, row) for place, row in enumerate(rows))
    more = _more(length - len(rows), "id")
    legend = []
    if any(special and attention for *_, attention, special, _, _ in rows):
        legend.append("dashed: added to the text")
    if not all(attention for *_, attention, _, _, _ in rows):
        legend.append("pale: padding")
    notes = f'<p style="{_FAINT}">{"; ".join(legend)}</p>\n' * bool(legend)
    body = "\n".join(_row(row) for row in rows)
    names = ("id", "token", "characters", "bytes", "type", "attention", "special", "word", "sequence")
    head = "".join(f"<th>{name}</th>" for name in names)
    return (
        f"{_heading('Encoding', *facts)}\n"
        f'<div style="{_TEXT}">{tokens}{more}</div>\n{notes}'
        "<details><summary>ids, offsets and masks</summary>\n"
        f'<table style="white-space:pre-wrap"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table>"
        f"{more}</details>"
    )


def _token(place: int, row: EncodingRow) -> str:
    number, token, characters, in_bytes, kind, attention, special, *_ = row
    title = f"id {number}, characters {_range(characters)}, bytes {_range(in_bytes)}, type {kind}"
    style = f"background:{_COLOURS[place % len(_COLOURS)]};{_TOKEN}"
    if not attention:
        title, style = f"id {number}, padding, type {kind}", f"{style};{_FAINT}"
    elif special:
        title, style = f"id {number}, added to the text, type {kind}", f"{style};{_ADDED}"
    return inline(token, style=style, title=title)


def _row(row: EncodingRow) -> str:
    number, token, characters, in_bytes, *masks = row
    cells = [str(number), inline(token), _range(characters), _range(in_bytes)]
    cells += ["" if value is None else str(value) for value in masks]
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _range(span: tuple[int, int]) -> str:
    return "{}-{}".format(*span)


def html_of_chunk(chunk: Chunk) -> str:
    """The text of a chunk, where it stands, and its ids."""
    facts = [
        _counted(chunk.count, "id"),
        f"characters {chunk.start}-{chunk.end}",
        f"bytes {chunk.byte_start}-{chunk.byte_end}",
    ]
    ids = ", ".join(map(str, chunk.ids[:_MOST_IDS])) + _more(chunk.count - _MOST_IDS, "id")
    return (
        f"{_heading('Chunk', *facts)}\n"
        f'<div style="{_TEXT};background:{_TEMPLATE};{_TOKEN}">{_cut(chunk.text)}</div>\n'
        f"<details><summary>ids</summary><p>{ids}</p></details>"
    )


# ---- conversations ----------------------------------------------------------------------------


def html_of_chat(chat: RenderedChat) -> str:
    """A conversation, coloured by who wrote each part of it."""
    colours = {"template": _TEMPLATE}
    parts = []
    end = 0
    for segment in chat.segments[:_MOST_SEGMENTS]:
        if segment.start >= _MOST_CHARACTERS:
            break
        writer = writer_of(segment)
        colour = colours.setdefault(writer, _COLOURS[(len(colours) - 1) % len(_COLOURS)])
        end = min(segment.stop, _MOST_CHARACTERS)
        text = chat.text[segment.start : end]
        style = f"background:{colour};{_TOKEN}"
        parts.append(inline(text, style=style, title=_said_of(segment), lines=True))
    legend = " ".join(inline(name, style=f"background:{colour};{_TOKEN}") for name, colour in colours.items())
    facts = [_counted(len(chat.text), "character"), _counted(len(chat.roles), "message")]
    return (
        f"{_heading('RenderedChat', f'template {inline(chat.template)}', *facts)}\n"
        f"<p>written by {legend}</p>\n"
        f'<div style="{_TEXT}">{"".join(parts)}{_more(len(chat.text) - end, "character")}</div>'
    )


def writer_of(segment: Segment) -> str:
    """Who wrote a segment: ``template``, the role of its message, or what is no message (``tools``).

    A role may have any name, ``template`` too.
    """
    if segment.trusted:
        return "template"
    return segment.kind if segment.role is None else f"role {segment.role}"


def _said_of(segment: Segment) -> str:
    facts = [] if segment.message is None else [f"messages[{segment.message}]"]
    facts += [] if segment.role is None else [segment.role]
    facts.append(segment.field or segment.kind)
    facts.append(f"characters {segment.start}-{segment.stop}")
    return ", ".join(facts)


# ---- differences ------------------------------------------------------------------------------


def html_of_difference(difference: Difference) -> str:
    """The verdict on two tokenizers, what shows it where there is such a witness, and all else."""
    verdict = difference.verdict
    colour = _VERDICTS.get(verdict, _TEMPLATE)
    lines = [f"<p><b>Difference</b>: {inline(verdict, style=f'background:{colour};{_TOKEN}')}</p>"]
    if difference.witness is not None:
        witness = difference.witness.to_dict()
        lines.append(_facts((name, _value(value)) for name, value in witness.items()))
    lines.append(f'<pre style="white-space:pre-wrap">{_page(str(difference))}</pre>')
    return "\n".join(lines)


def _value(value: object) -> str:
    return inline(value if isinstance(value, str) else repr(value))


def _page(text: str) -> str:
    """The HTML of printed lines, whose ends are not marked."""
    lines = text[:_MOST_CHARACTERS].split("\n")
    return "\n".join(map(inline, lines)) + _more(len(text) - _MOST_CHARACTERS, "character")
