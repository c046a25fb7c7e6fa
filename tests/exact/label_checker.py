"""What of a rendering is trained, found without the tracker: by the reference alone, many renderings each.

Every character of the data that a template can be expected to leave alone is exchanged for one of its own, so
that it is found again wherever the template writes it. A turn then begins where the rendering that ends with
the generation prompt before it ends, and closes with what the conversation that ends with it closes with.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

Span = tuple[int, int]
Path = tuple[int | str, ...]
Render = Callable[[list[Any], dict[str, Any]], "str | Exception"]

#: The first of the characters that stand for those of the data: ideographs, of no template, and printable.
FIRST = 0x20000

#: Values that templates compare.
KEPT = frozenset(("role", "type"))

#: What stays as it is: white space is trimmed, and these are escaped or cut at.
BLANK = re.compile(r"""[\s"'\\<>&]""")
TAG = re.compile(r"<[^<>\n]*>|\[/?[A-Z_]+\]|\{\{.*?\}\}")

#: A text is compared by these: a half of a tag or of a word is no common beginning.
PIECE = re.compile(r"<[^<>\s]*>|\[/?[A-Z_]+\]|\w+|\s|.", re.DOTALL)

OF_LAST_TURN = ("add_generation_prompt", "continue_final_message")


class UndecidedError(Exception):
    """What the checker cannot tell, and why."""


class Place(NamedTuple):
    """A character of the data."""

    message: int
    path: Path
    at: int
    """Where in the field."""
    text: str
    """The whole field."""


class Painted(NamedTuple):
    """A rendering, and which of its characters stand for which of the data."""

    text: str
    found: list[tuple[int, Place]]


def plain(value: Any) -> Any:
    """The data as plain JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    elif hasattr(value, "model_dump"):
        value = value.model_dump()
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def fields_of(value: Any, path: Path, in_data: bool = False) -> Iterator[Path]:
    """The paths of the strings; a key of arguments is one at the path that it makes, with "key" in front."""
    if isinstance(value, str):
        if value.strip():
            yield path
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from fields_of(item, (*path, index), in_data)
    elif isinstance(value, dict):
        for key, item in value.items():
            below = in_data or key == "arguments"
            if in_data:
                yield ("key", *path, key)
            if key not in KEPT or in_data:
                yield from fields_of(item, (*path, key), below)


class Paint:
    """Characters for those of the data: for one character of a field always the same."""

    def __init__(self) -> None:
        self.places: dict[str, Place] = {}
        self._chars: dict[tuple[Path, int], str] = {}

    def text(self, text: str, path: Path, level: int) -> str:
        if level == 0:
            return text
        kept = [] if level == 2 else [match.span() for match in TAG.finditer(text)]
        message = next(part for part in path if isinstance(part, int))
        painted = []
        for index, char in enumerate(text):
            if not BLANK.match(char) and not any(start <= index < stop for start, stop in kept):
                assert len(self._chars) < 0xA6D7, "there are no more ideographs"
                own = self._chars.setdefault((path, index), chr(FIRST + len(self._chars)))
                self.places[own] = Place(message, path, index, text)
                char = own
            painted.append(char)
        return "".join(painted)

    def value(self, value: Any, path: Path, levels: dict[Path, int]) -> Any:
        if isinstance(value, str):
            return self.text(value, path, levels.get(path, 0))
        if isinstance(value, list):
            return [self.value(item, (*path, index), levels) for index, item in enumerate(value)]
        if isinstance(value, dict):
            return {
                self.text(key, ("key", *path, key), levels.get(("key", *path, key), 0)): self.value(
                    item, (*path, key), levels
                )
                for key, item in value.items()
            }
        return value

    def off(self, text: str) -> str:
        """The text with the characters of the data."""
        return "".join(
            [self.places[char].text[self.places[char].at] if char in self.places else char for char in text]
        )


class Checker:
    """One template with its special tokens."""

    def __init__(self, render: Render, special: Sequence[str], eos: str, always: Sequence[str] = ()) -> None:
        """`always` are prompts that the template writes, told to or not: the longest first."""
        self.render, self.eos, self.always = render, eos, always
        longest = sorted(special, key=len, reverse=True)
        self.special = re.compile("|".join(map(re.escape, longest)))
        self.renderings = 0

    def trained(self, messages: list[Any], options: dict[str, Any]) -> list[Span]:
        """The spans of the rendering that are trained by default, in order. Raises `UndecidedError`."""
        found = _Conversation(self, plain(messages), options)
        return found.trained()


class _Conversation:
    def __init__(self, checker: Checker, messages: list[Any], options: dict[str, Any]) -> None:
        self.checker, self.messages, self.options = checker, messages, options
        self.of_prefix = {key: value for key, value in options.items() if key not in OF_LAST_TURN}
        self.paint = Paint()
        self.levels: dict[Path, int] | None = None
        full = self.painted(range(len(messages)), options)
        if full is None:
            raise UndecidedError("no rendering")
        self.full = full
        self.prefixes: dict[tuple[int, bool], Painted | None] = {}
        self.longer: dict[tuple[int, bool, bool], Painted | None] = {}

    def trained(self) -> list[Span]:
        spans = []
        for message, given in enumerate(self.messages):
            if given.get("role") == "assistant":
                span = self.turn(message)
                if span is not None and span[0] < span[1]:
                    spans.append(span)
        return spans

    # ---- renderings ---------------------------------------------------------------------------

    def painted(self, chosen: Sequence[int], options: dict[str, Any]) -> Painted | None:
        """Some of the messages rendered, with as much painted as leaves the text what it is."""
        messages = {index: self.messages[index] for index in chosen}
        bare = self.rendered(list(messages.values()), options)
        if isinstance(bare, Exception):
            return None
        paths = [path for index, each in messages.items() for path in fields_of(each, (index,))]
        if self.levels is not None:
            known = {path: self.levels.get(path, 2) for path in paths}
            if made := self.attempt(messages, options, bare, known):
                return made
        for level in (2, 1):
            levels = dict.fromkeys(paths, level)
            if made := self.attempt(messages, options, bare, levels):
                break
        else:
            levels = {}
            made = self.attempt(messages, options, bare, {})
            for path in paths:
                for level in (2, 1):
                    if more := self.attempt(messages, options, bare, {**levels, path: level}):
                        levels[path], made = level, more
                        break
        if self.levels is None:
            self.levels = levels
        return made

    def rendered(self, messages: list[Any], options: dict[str, Any]) -> str | Exception:
        self.checker.renderings += 1
        return self.checker.render(messages, options)

    def attempt(
        self, messages: dict[int, Any], options: dict[str, Any], bare: str, levels: dict[Path, int]
    ) -> Painted | None:
        text = self.rendered([self.paint.value(each, (i,), levels) for i, each in messages.items()], options)
        if isinstance(text, Exception) or self.paint.off(text) != bare:
            return None
        places = self.paint.places
        return Painted(bare, [(at, places[char]) for at, char in enumerate(text) if char in places])

    def prefix(self, count: int, prompt: bool) -> Painted | None:
        key = (count, prompt)
        if key not in self.prefixes:
            options = {**self.of_prefix, "add_generation_prompt": prompt}
            made = self.painted(range(count), options) if count else None
            if made is not None and not prompt:
                ends = [end for end in self.checker.always if made.text.endswith(end)][:1]
                made = Painted(made.text.removesuffix("".join(ends)), made.found)
            self.prefixes[key] = made
        return self.prefixes[key]

    # ---- a turn -------------------------------------------------------------------------------

    def turn(self, message: int) -> Span | None:
        """Where the model writes in the turn of a message; None where nothing is written of it."""
        without, before, upto = (
            self.prefix(message, False),
            self.prefix(message, True),
            self.prefix(message + 1, False),
        )
        mine = [(at, place) for at, place in self.full.found if place.message == message]
        if not mine and upto is not None and without is not None and upto.text == without.text:
            return None
        begin = self.begin(message, before, without, mine)
        return begin, self.end(message, begin, upto, mine)

    def begin(
        self, message: int, before: Painted | None, without: Painted | None, mine: list[tuple[int, Place]]
    ) -> int:
        first = _grown_back(self.full.text, *mine[0]) if mine else None
        if before is None:
            return self.begin_by_prompt(message, first)
        last = self.last_of(before, message)
        at, tail = self.behind(last, before.text, first)
        gap = self.full.text[at : self.next_field(at)]
        same = common(tail, gap)
        known = tail if without is None else self.behind(last, without.text, None, without)[1]
        known = known[: common(known, tail)]
        prompt = tail[len(known) :]
        if prompt:
            if is_header(tail[:same], known):
                return at + same
            return at + self.header(prompt, gap)
        if same == len(tail) and self.messages[message - 1].get("role") != "assistant":
            return at + same
        # Another prompt stands here than behind these messages: it closes like that, or is another's.
        for length in sorted({len(tail) - piece.start() for piece in PIECE.finditer(tail)}, reverse=True):
            where = gap.find(tail[-length:])
            if where >= 0 and self.checker.special.search(tail[-length:]):
                length += where
                break
        else:
            length = same
        return max(at + length, self.begin_by_prompt(message, first, at))

    def last_of(self, chat: Painted, message: int) -> tuple[int, Place] | None:
        """The last character of an earlier message that both renderings have."""
        there = {place for _, place in self.full.found}
        earlier = [(at, place) for at, place in chat.found if place.message < message and place in there]
        if not earlier and any(place.message < message for _, place in chat.found):
            raise UndecidedError("what stands before the turn is not in the rendering")
        return earlier[-1] if earlier else None

    def behind(
        self, last: tuple[int, Place] | None, text: str, first: int | None, other: Painted | None = None
    ) -> tuple[int, str]:
        """Where the field ends that `last` is in, in the whole rendering; and what follows it in `text`."""
        if last is None:
            return 0, text
        at, place = last
        if other is not None:
            stands = [where for where, each in other.found if each == place]
            if not stands:
                return 0, ""
            at = stands[-1]
        stop = _grown(text, at, place)
        places = [where for where, each in self.full.found if each == place]
        places = [where for where in places if first is None or where < first] or places[:1]
        return _grown(self.full.text, places[-1], place), text[stop:]

    def next_field(self, at: int) -> int:
        """Where the first field from there on begins."""
        text = self.full.text
        starts = [_grown_back(text, *each, at) for each in self.full.found if each[0] >= at]
        # White space may be the template's as well.
        return min(
            [start + len(text[start:]) - len(text[start:].lstrip()) for start in starts], default=len(text)
        )

    def header(self, prompt: str, gap: str) -> int:
        """Where in the gap the header ends, that what stands before it makes another than the prompt's."""
        starts = [piece.start() for piece in PIECE.finditer(gap)]
        reached = [(common(prompt, gap[start:]), start) for start in starts]
        length, start = max(reached, key=lambda each: (each[0], -each[1]), default=(0, 0))
        if not any(map(str.isalnum, prompt[:length])):
            raise UndecidedError(f"header: prompt {prompt!r}, text {gap!r}")
        return start + length

    def begin_by_prompt(self, message: int, first: int | None, floor: int = 0) -> int:
        """As `begin`, where no rendering ends with the prompt before the turn: by that of another turn."""
        text = self.full.text
        bound = len(text) if first is None else first
        at = floor or max(
            [
                _grown(text, *each)
                for each in self.full.found
                if each[0] < bound and each[1].message != message
            ],
            default=0,
        )
        gap = text[at : self.next_field(at)]
        for prompt in self.prompts(message):
            return at + self.header(prompt, gap)
        if floor and any(each.get("role") == "user" for each in self.messages):
            return floor  # No header at all.
        raise UndecidedError("no rendering that ends with the prompt")

    def prompts(self, message: int) -> Iterator[str]:
        """What the prompt is after more of the conversation, and after less."""
        counts = [*range(message + 1, len(self.messages) + 1), *range(1, message + 1)]
        for count in sorted(counts, key=lambda each: self.messages[each - 1].get("role") != "user"):
            plain, prompted = self.prefix(count, False), self.prefix(count, True)
            if plain is not None and prompted is not None:
                prompt = prompted.text[common(plain.text, prompted.text) :]
                if prompt:
                    yield prompt

    def end(self, message: int, begin: int, upto: Painted | None, mine: list[tuple[int, Place]]) -> int:
        text = self.full.text
        if upto is None:
            raise UndecidedError("no rendering that ends with the turn")
        written = self.own(begin, mine)
        theirs = [place for _, place in upto.found if place.message == message]
        if theirs and not written:
            raise UndecidedError("the turn is another when it is the last")
        skipped = 0
        if written:
            start = _grown(text, *written[-1])
            place = written[-1][1]
            stands = [at for at, each in upto.found if each == place]
            tail = upto.text[_grown(upto.text, stands[-1], place) :] if stands else ""
        else:
            last = self.last_of(upto, message)
            at, tail = self.behind(last, upto.text, None)
            skipped = begin - at
            tail, start = tail[skipped:], begin
        tail = self.of_turn(message, tail, skipped)
        gap = text[start : self.next_field(start)]
        same = common(tail, gap)
        tokens = list(self.checker.special.finditer(gap[:same]))
        if not tokens and self.checker.special.search(gap):
            same = self.without_next_header(message, gap, same)
            tokens = list(self.checker.special.finditer(gap[:same]))
        for token in tokens:
            if token[0] == self.checker.eos:
                return start + token.end()
        if tokens:
            return start + tokens[-1].end()
        return start + len(gap[:same].rstrip())

    def own(self, begin: int, mine: list[tuple[int, Place]]) -> list[tuple[int, Place]]:
        """The characters of a message from there to the first of another one; each where it stands first.

        What a template repeats of a message behind it, such as the name of a tool before its result, is not
        of its turn.
        """
        found: dict[Place, int] = {}
        others = False
        for at, place in self.full.found:
            if at < begin or not mine:
                continue
            if place.message != mine[0][1].message:
                others = True
            elif not others:
                found.setdefault(place, at)
            elif place not in found:
                raise UndecidedError("the text of another message stands within the turn")
        return [(at, place) for place, at in found.items()]

    def of_turn(self, message: int, tail: str, skipped: int) -> str:
        """What closes a turn, without what the template writes at the end of every conversation."""
        asked = self.before_question(message, True, skipped > 0)
        same = 0 if asked is None else common(tail, asked)
        if not skipped or asked is None:
            return tail[:same] if self.checker.special.search(tail[:same]) else tail
        # Nothing in the turn tells where what closes it begins: it closes like a turn with something in it.
        starts = [piece.start() for piece in PIECE.finditer(tail)]
        for start in starts:
            same = common(tail[start:], asked)
            if self.checker.special.search(tail[start : start + same]):
                return tail[: start + same]
        return tail

    def extended(self, message: int, after: bool, filled: bool) -> Painted | None:
        """The conversation to that turn, with it (or an answer in its stead) or without, and a question."""
        key = (message, after, filled)
        if key not in self.longer:
            kept = self.messages
            self.messages = [*kept, {"role": "user", "content": "zeta"}]
            if filled:
                self.messages[message] = {"role": "assistant", "content": "eta"}
            self.longer[key] = self.painted([*range(message + after), len(kept)], self.of_prefix)
            self.messages = kept
        return self.longer[key]

    def without_next_header(self, message: int, gap: str, same: int) -> int:
        """How much of the gap behind a turn is its own, where it closes in another way than a last turn.

        What follows is the header of the next message. It begins with the special token that the prompt
        begins with, or is what stands before a question behind others, too.
        """
        for prompt in self.prompts(message):
            token = self.checker.special.match(prompt)
            at = gap.rfind(token[0]) if token else -1
            if at >= same and self.checker.special.search(gap[:at]):
                return at
        asked = self.before_question(message, True)
        header = self.before_question(message, False)
        if asked is None or header is None:
            raise UndecidedError(f"end: {gap!r} behind the turn")
        closing = asked[: len(asked) - common_end(asked, header)]
        if gap.startswith(closing):
            return max(same, len(closing))
        raise UndecidedError(f"end: {closing!r} before a question, {gap!r} here")

    def before_question(self, message: int, after: bool, filled: bool = False) -> str | None:
        """What stands before a question that is asked behind a turn, or in its stead."""
        chat = self.extended(message, after, filled)
        firsts = [each for each in chat.found if each[1].message == len(self.messages)] if chat else []
        if chat is None or not firsts:
            return None
        before = [_grown(chat.text, *each) for each in chat.found if each[0] < firsts[0][0]]
        return chat.text[max(before, default=0) : firsts[0][0]]


def is_header(written: str, known: str) -> bool:
    """Whether more is there than what stands before a header."""
    return written.startswith(known) and any(map(str.isalnum, written[len(known) :]))


def common(one: str, two: str) -> int:
    """The length of what both begin with, in whole pieces."""
    length = 0
    for mine, theirs in zip(PIECE.finditer(one), PIECE.finditer(two), strict=False):
        if mine[0] != theirs[0]:
            break
        length = mine.end()
    return length


def common_end(one: str, two: str) -> int:
    """The length of what both end with, in whole pieces."""
    length = 0
    for mine, theirs in zip(reversed(PIECE.findall(one)), reversed(PIECE.findall(two)), strict=False):
        if mine != theirs:
            break
        length += len(mine)
    return length


def _grown(text: str, at: int, place: Place) -> int:
    """Where the field ends of which a character stands there: what was not painted may follow it."""
    stop, index = at + 1, place.at + 1
    tags = {match.start(): match[0] for match in TAG.finditer(place.text)}
    while index < len(place.text):
        part = tags.get(index, place.text[index])
        if not text.startswith(part, stop):
            break
        stop, index = stop + len(part), index + len(part)
    # What is alike by chance does not go on to the end.
    return stop if not place.text[index:].strip() else at + 1


def _grown_back(text: str, at: int, place: Place, bound: int = 0) -> int:
    """Where that field begins."""
    start, index = at, place.at
    tags = {match.end(): match[0] for match in TAG.finditer(place.text)}
    while index > 0:
        part = tags.get(index, place.text[index - 1])
        if start - len(part) < bound or not text.startswith(part, start - len(part)):
            break
        start, index = start - len(part), index - len(part)
    return start if not place.text[:index].strip() else at
