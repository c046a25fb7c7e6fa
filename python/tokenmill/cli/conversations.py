"""The conversations that ``chat`` reads: one JSON document, or JSONL with one on each line.

They come one after the other, so that a file of any size can be read.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from .files import STDIN, check_read_once, check_text, expand, open_input, source
from .usage import UsageError

__all__ = ["ARGUMENTS", "OF_LINES", "Conversation", "conversations", "read_json", "size_of"]

ARGUMENTS = frozenset(
    (
        *("messages", "tools", "documents", "template", "add_generation_prompt", "continue_final_message"),
        *("now", "keep_none", "roles", "literals", "return_labels", "train_on", "end_of_turn", "allow_empty"),
        *("num_threads", "max_steps", "name", "special_tokens"),
    )
)
"""Names of arguments of ``apply_chat_template`` and of what it calls: no template variable can have them."""
_SHOWN_KEYS = 5
"""The most keys of an object that an error names."""
OF_LINES = (".jsonl", ".ndjson")
"""Endings of names of files in which each line is a JSON value."""
_BOM = b"\xef\xbb\xbf"


class Conversation(NamedTuple):
    """The messages of a conversation, what belongs to them, and where they are from."""

    messages: list[Any]
    options: dict[str, Any]
    """``tools`` and ``documents``, where the file has them, and what is in ``chat_template_kwargs``."""
    name: str
    number: int
    """The number of the conversation in its file, from 1 on."""
    line: int | None
    """The line of the conversation, from 1 on; None in a JSON document."""
    done: int
    """The bytes read so far, of all files, up to and including this conversation."""

    @property
    def place(self) -> str:
        """What a message calls it."""
        line = "" if self.line is None else f"line {self.line}, "
        return f"{source(self.name)}: {line}conversation {self.number}"


def conversations(files: list[str], *, tokenizer: str | None = None) -> Iterator[Conversation]:
    """The conversations of ``files``, or of standard input, in their order."""
    names = expand(files) or [STDIN]
    check_read_once(names, tokenizer=tokenizer)
    return _of_files(names)


def read_json(name: str) -> Any:
    """What is in a file of JSON."""
    with open_input(name) as file:
        return _parsed(name, file.read())


def size_of(files: list[str]) -> int:
    """The bytes of all files; 0 where that is not known."""
    names = expand(files) or [STDIN]
    try:
        sizes = [Path(name).stat().st_size if name != STDIN else 0 for name in names]
    except OSError:  # opening it will say so
        return 0
    return sum(sizes) if all(sizes) else 0


def _of_files(names: Iterable[str]) -> Iterator[Conversation]:
    before = 0
    for name in names:
        if os.path.isdir(name):  # noqa: PTH112
            raise UsageError(
                f"{name}: is a folder", hint=f"'{Path(name, '*.jsonl')}' in quotes takes the files in it"
            )
        with open_input(name) as file:
            for conversation in _of_file(name, file):
                yield conversation._replace(done=before + conversation.done)
            before += _position(file)


def _position(file: IO[bytes]) -> int:
    try:
        return file.tell()
    except OSError:  # a pipe
        return 0


def _of_file(name: str, file: IO[bytes]) -> Iterator[Conversation]:
    """Lines, where the first one is a whole JSON value; else the file is one document."""
    start = file.readline()
    check_text(name, start[:16])
    lines = enumerate(itertools.chain([start.removeprefix(_BOM)], file), start=1)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        raise UsageError(
            f"{source(name)}: is empty", hint="a conversation is a list of messages: " + _EXAMPLE
        )
    number, line = first
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        if name.endswith(OF_LINES):
            _parsed(name, line.rstrip(), first=number)
        rest = b"".join(line for _, line in lines)
        value = _parsed(name, line + rest, first=number)
        yield from _of_document(name, value, len(line) + len(rest))
        return
    following = ((number, line) for number, line in lines if line.strip())
    second = next(following, None)
    if second is None:
        yield from _of_document(name, value, len(line))
        return
    done = len(line) + len(second[1])
    yield _of_value(name, value, 1, number, len(line))
    yield _of_value(name, _parsed(name, second[1].rstrip(), first=second[0]), 2, second[0], done)
    for count, (number, line) in enumerate(following, start=3):
        done += len(line)
        yield _of_value(name, _parsed(name, line.rstrip(), first=number), count, number, done)


def _parsed(name: str, content: bytes, *, first: int = 1) -> Any:
    """The parsed JSON; errors name a line, counted from ``first``."""
    try:
        return json.loads(content)
    except UnicodeDecodeError as error:
        line = first + content.count(b"\n", 0, error.start)
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise UsageError(f"{source(name)}: line {line}, column {column}: a byte that is not UTF-8") from error
    except json.JSONDecodeError as error:
        said = f"{error.msg[:1].lower()}{error.msg[1:]}"
        raise UsageError(
            f"{source(name)}: line {first + error.lineno - 1}, column {error.colno}: no JSON: {said}",
            hint="one JSON document, or JSONL: a conversation on each line",
        ) from error
    except RecursionError as error:
        raise UsageError(f"{source(name)}: line {first}: JSON that is nested too deeply") from error
    except ValueError as error:  # a number of too many digits
        raise UsageError(f"{source(name)}: line {first}: {error}") from error


_EXAMPLE = '[{"role": "user", "content": "Hi"}]'


def _of_document(name: str, value: Any, size: int) -> Iterator[Conversation]:
    """One conversation, or a list of them."""
    if isinstance(value, list) and value and all(map(_is_conversation, value)):
        for number, item in enumerate(value, start=1):
            yield _of_value(name, item, number, None, size * number // len(value))
    else:
        yield _of_value(name, value, 1, None, size)


def _is_conversation(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and "messages" in value)


def _of_value(name: str, value: Any, number: int, line: int | None, done: int) -> Conversation:
    messages, options = value, {}
    place = Conversation([], {}, name, number, line, done).place
    if isinstance(value, dict):
        if "messages" not in value:
            keys = ", ".join(list(value)[:_SHOWN_KEYS]) or "none"
            raise UsageError(
                f"{place}: an object has its messages under `messages`, and this one has the keys {keys}",
                hint=f'{{"messages": {_EXAMPLE}}}',
            )
        messages = value["messages"]
        for key in ("tools", "documents"):
            if value.get(key) is not None:
                _check_list(f"{place}: {key}", value[key], "objects")
                options[key] = value[key]
        extra = value.get("chat_template_kwargs")
        if extra is not None and not isinstance(extra, dict):
            raise UsageError(f"{place}: chat_template_kwargs is an object, not {_kind(extra)}")
        for key in extra or {}:
            if key in ARGUMENTS:  # a file must not decide how far it is trusted, or what is trained
                raise UsageError(
                    f"{place}: chat_template_kwargs has {key!r}, which is no variable of a template"
                )
        options = {**(extra or {}), **options}
    _check_list(place if messages is value else f"{place}: messages", messages, "messages", hint=_EXAMPLE)
    if not messages:
        raise UsageError(f"{place}: has no messages", hint=_EXAMPLE)
    return Conversation(messages, options, name, number, line, done)


def _check_list(place: str, value: Any, of_what: str, *, hint: str | None = None) -> None:
    """Raise ``UsageError`` for what is no list of objects."""
    if not isinstance(value, list):
        raise UsageError(f"{place}: a list of {of_what} is needed, not {_kind(value)}", hint=hint)
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise UsageError(f"{place}[{index}]: an object is needed, not {_kind(item)}", hint=hint)


def _kind(value: Any) -> str:
    """What JSON calls it."""
    if isinstance(value, bool):
        return "true or false"
    kinds = {dict: "an object", list: "a list", str: "a string", type(None): "null"}
    return kinds.get(type(value), "a number")
