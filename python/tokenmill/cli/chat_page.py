"""A conversation as people read it: its tokens with their ids, and which of them are trained.

Three lines belong together: tokens, their ids, and marks for the kind of each token. Colours say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from .chat_notes import notes_of
from .terminal import columns_of, shortened, visible

if TYPE_CHECKING:
    from tokenmill import Tokenizer
    from tokenmill.chat import ChatEncoding, Segment

__all__ = ["page"]

_MARKS = {"trained": "^", "template": ".", "context": " "}
_COLOURS = {"trained": "38;5;231;48;5;22", "template": "38;5;245", "context": "38;5;231;48;5;24"}
_FAINT = "38;5;245"
_INDENT = "  "
_GAP = "  "


class _Cell(NamedTuple):
    """A token on the page."""

    text: str
    id: str
    kind: str
    """``trained``, ``template`` or ``context``."""
    ends_line: bool
    turn: str
    """The heading that it stands below."""

    @property
    def width(self) -> int:
        """In columns."""
        return max(columns_of(self.text), len(self.id))


def page(tok: Tokenizer, encoding: ChatEncoding, title: str, *, columns: int, colour: bool) -> str:
    """The conversation below a title, in lines of at most ``columns`` where a token fits."""
    cells = _cells(tok, encoding)
    has_labels = "labels" in encoding
    trained = sum(cell.kind == "trained" for cell in cells)
    legend = [f"{_MARKS['trained']} trained"] if has_labels else []
    legend += [f"{_MARKS['template']} template", "no mark: what messages say", "· a space in a token"]
    lines = [f"{title}: {_counted(len(cells), 'id')}" + f", {trained} trained" * has_labels]
    lines += ["   ".join(legend)]
    for turn, of_turn in groupby(cells, key=lambda cell: cell.turn):
        lines += ["", *_turn(turn, list(of_turn), columns, has_labels=has_labels, colour=colour)]
    notes = list(notes_of(encoding))
    return "\n".join([*lines, *[""] * bool(notes), *notes]) + "\n"


def _turn(turn: str, cells: list[_Cell], columns: int, *, has_labels: bool, colour: bool) -> Iterator[str]:
    trained = sum(cell.kind == "trained" for cell in cells)
    yield f"{turn}: {_counted(len(cells), 'id')}" + f", {trained} trained" * has_labels
    for row in _rows(cells, columns):
        texts, ids, marks = [], [], []
        for cell in row:
            fill = " " * (cell.width - columns_of(cell.text))
            texts.append(_painted(cell.text, _COLOURS[cell.kind], colour) + fill)
            ids.append(_painted(cell.id, _FAINT, colour) + " " * (cell.width - len(cell.id)))
            marks.append((_MARKS[cell.kind] * columns_of(cell.text)).ljust(cell.width))
        for parts in (texts, ids, marks):
            yield (_INDENT + _GAP.join(parts)).rstrip()


def _rows(cells: list[_Cell], columns: int) -> Iterator[list[_Cell]]:
    """Tokens that share a line: up to a line end of the text, or of the page."""
    row: list[_Cell] = []
    taken = len(_INDENT)
    for cell in cells:
        if row and taken + cell.width > columns:
            yield row
            row, taken = [], len(_INDENT)
        row.append(cell)
        taken += cell.width + len(_GAP)
        if cell.ends_line:
            yield row
            row, taken = [], len(_INDENT)
    if row:
        yield row


def _painted(text: str, colour: str, wanted: bool) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if wanted else text


def _cells(tok: Tokenizer, encoding: ChatEncoding) -> list[_Cell]:
    segments = encoding.segments
    learned = encoding.get("loss_mask") or [0] * len(encoding["input_ids"])
    cells, at = [], 0
    for number, (start, stop), is_trained in zip(
        encoding["input_ids"], encoding.offsets.tolist(), learned, strict=True
    ):
        while at + 1 < len(segments) and segments[at].stop <= start:
            at += 1
        kind = "trained" if is_trained else "template" if _is_trusted(segments, at, stop) else "context"
        token = tok.token_bytes(number)
        text = token.decode("utf-8", "backslashreplace")
        shown = shortened([visible(char) for char in text.replace(" ", "·")])
        cells.append(_Cell(shown, str(number), kind, "\n" in text, _heading(segments[at])))
    return cells


def _is_trusted(segments: Sequence[Segment], at: int, stop: int) -> bool:
    """Whether the template wrote all of a token that begins in this segment."""
    while segments[at].trusted:
        at += 1
        if at == len(segments) or segments[at].start >= stop:
            return True
    return False


def _heading(segment: Segment) -> str:
    if segment.message is not None:
        return f"messages[{segment.message}], {visible(segment.role or 'no role')}"
    return "outside of messages"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)
