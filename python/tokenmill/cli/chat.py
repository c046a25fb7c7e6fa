"""A conversation as a model reads it: its tokens, their ids, and what is trained.

FILE is JSON: a list of messages, or an object with `messages`, which may have
`tools`, `documents` and `chat_template_kwargs` beside them; a list of these; or
JSONL with one on each line. A single conversation, or the Nth by --show N, is
shown: ids stand below their tokens, and below these ^ for what is trained
(--labels), . for what the template writes, nothing for what messages say.

Several, and NAME.jsonl, are written as JSONL, an object for each: input_ids,
and labels with --labels. --out NAME.npz writes arrays: ids, labels, and
row_offsets, which say where each conversation begins. --json writes an object
for each conversation with all that is known of it. Labels are the ids where
they are trained, else -100; they are not shifted.

Nothing that a message says becomes a control token, unless --literals says so.

  tokenmill chat -t model/ chat.json --labels
  tokenmill chat -t model/ chats.jsonl --labels --out train.npz
  tokenmill chat -t model/ chats.jsonl --show 3 --train-on last,reasoning
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill import TokenmillError

from .._progress import follower
from .chat_notes import FileNotes
from .chat_page import page
from .conversations import ARGUMENTS, OF_LINES, Conversation, conversations, read_json, size_of
from .files import STDIN, as_json, write_output, write_whole
from .options import add_files, add_output, add_tokenizer, load_tokenizer
from .parsing import closest, whole_number
from .streams import is_terminal, say
from .terminal import bar_wanted, colour_wanted, visible
from .usage import UsageError, explain

if TYPE_CHECKING:
    from datetime import datetime

    from tokenmill import Tokenizer
    from tokenmill.chat import ChatEncoding

    from .._progress import Progress

    Pair = tuple[Conversation, ChatEncoding]

__all__ = ["add_arguments", "run"]

_POLICIES = ("text", "reject", "parse")
_COLUMNS = 100
"""The width of a page that is not printed on a terminal."""
_LIMIT = 100_000
"""The most characters of a conversation that is shown."""
_BATCH = 256
"""The most conversations that are encoded in one call, whose threads share them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``chat`` takes."""
    add_files(parser, "conversations")
    parser.add_argument("--show", type=whole_number(1), metavar="N", help="take the Nth conversation alone")
    parser.add_argument("--labels", action="store_true", help="say what is trained: assistant turns")
    parser.add_argument(
        "--train-on",
        metavar="WHAT",
        action="append",
        default=[],
        help="what is trained instead: roles, numbers of messages from 0 on, last, kinds (content, "
        "reasoning, tool_call) or fields (tool_calls[0].function.arguments), with commas between; "
        "may be given again",
    )
    parser.add_argument(
        "--allow-empty", action="store_true", help="take conversations in which nothing is trained"
    )
    parser.add_argument(
        "--literals",
        metavar="POLICY",
        action="append",
        default=[],
        help="what a control token's literal in a message is: text, an error (reject), or the token (parse); "
        "ROLE=POLICY or KIND=POLICY for some of them, may be given again (default: text)",
    )
    group = parser.add_argument_group("the template")
    group.add_argument(
        "--template",
        metavar="NAME",
        help="one of the tokenizer's, one that comes with tokenmill (chatml, gemma, llama2, llama3, "
        "mistral), or a file",
    )
    for role, where in (("bos", "begins a text"), ("eos", "ends a text or a turn")):
        group.add_argument(
            f"--{role}-token",
            metavar="TOKEN",
            help=f"the literal of the token that {where}, for a template that writes {role}_token and a "
            "tokenizer that names none",
        )
    group.add_argument("--tools", metavar="FILE", help="a JSON list of the tools that the model may call")
    group.add_argument(
        "--add-generation-prompt", action="store_true", help="begin an answer after the last message"
    )
    group.add_argument(
        "--set",
        metavar="NAME=VALUE",
        dest="variables",
        action="append",
        default=[],
        help="a variable of the template, such as enable_thinking=false; JSON, else text; may be given again",
    )
    group.add_argument(
        "--now", metavar="DATE", help="the date that a template writes, as 2025-01-31 (default: today)"
    )
    parser.add_argument(
        "--color",
        "--colour",
        dest="colour",
        choices=("always", "never", "auto"),
        default="auto",
        help="colour what is shown (auto: on a terminal, unless NO_COLOR is set)",
    )
    parser.add_argument(
        "--num-threads", type=whole_number(1), metavar="N", help="threads (default: every core)"
    )
    add_output(parser, json="one JSON object for each conversation, with all that is known of it")
    add_tokenizer(parser)


def run(args: argparse.Namespace) -> int:
    """Encode the conversations, and show or write them."""
    if args.json and _is_npz(args.out):
        raise UsageError("arrays of --out NAME.npz and --json are two forms of output: choose one")
    options = _options(args)
    tokenizer, template = _with_template(_with_roles(load_tokenizer(args), args), args)
    read = _chosen(conversations(args.files, tokenizer=args.tokenizer), args.show)
    first = list(itertools.islice(read, 2))
    has_one = len(first) == 1
    form = _form(args, first)
    read = itertools.chain(first, read)
    with follower(not has_one and bar_wanted()) as follow:
        pairs = _encoded(tokenizer, _followed(read, args, follow), {**options, "template": template})
        if form == "page":
            _show(args, tokenizer, *next(pairs))
            return 0
        counts = _Counts(args.out, labels=bool(options["return_labels"]))
        pairs = counts.of(pairs)
        if form == "npz":
            from .npz import as_npz

            columns = ("ids", "labels")[: 2 if options["return_labels"] else 1]
            rows = ({"ids": row["input_ids"], "labels": row.get("labels", ())} for _, row in pairs)
            write_output(args.out, as_npz(rows, columns))
        else:
            made = (_facts(*pair) if form == "json" else _row(pair[1]) for pair in pairs)
            write_whole(args.out, map(as_json, made))
    counts.report()
    return 0


# ---- what is asked for ------------------------------------------------------------------------


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``apply_chat_template`` that are the same for all conversations."""
    options: dict[str, Any] = _variables(args.variables)
    labels = args.labels or bool(args.train_on)
    if args.allow_empty and not labels:
        raise UsageError("--allow-empty is for what is trained", hint="--labels, or --train-on WHAT")
    if labels:
        options["train_on"] = _train_on(args.train_on)
        options["allow_empty"] = args.allow_empty
    if args.tools is not None:
        options["tools"] = _tools(args.tools)
    if args.now is not None:
        options["now"] = _date(args.now)
    return {
        **options,
        "return_labels": labels,
        "literals": _literals(args.literals),
        "add_generation_prompt": args.add_generation_prompt,
        "num_threads": args.num_threads,
    }


def _is_npz(out: str | None) -> bool:
    return out is not None and out.endswith(".npz")


def _form(args: argparse.Namespace, first: list[Conversation]) -> str:
    """What is written: a ``page``, ``json``, ``rows`` or ``npz``."""
    if _is_npz(args.out):
        return "npz"
    if args.json:
        return "json"
    is_row = str(args.out).endswith((".json", *OF_LINES)) or first[0].name.endswith(OF_LINES)
    return "page" if args.show or (len(first) == 1 and not is_row) else "rows"


def _variables(given: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--set {word} is not NAME=VALUE", hint="--set enable_thinking=false")
        if name in ARGUMENTS:
            raise UsageError(f"--set {name}: is no variable of a template", hint="tokenmill chat --help")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _train_on(given: list[str]) -> list[str | int]:
    words = [word.strip() for words in given for word in words.split(",")]
    if not all(words):
        raise UsageError("--train-on is empty", hint="--train-on assistant, or a number of a message")
    return [int(word) if word.lstrip("-").isdecimal() else word for word in words] or ["assistant"]


def _literals(given: list[str]) -> str | dict[str, str]:
    of: dict[str, str] = {}
    for word in given:
        name, equals, policy = word.rpartition("=")
        if policy not in _POLICIES or (equals and not name):
            raise UsageError(
                f"--literals {word} is none of {', '.join(_POLICIES)}, nor ROLE=POLICY",
                hint="--literals reject, or --literals assistant=parse",
            )
        if of.setdefault(name, policy) != policy:
            raise UsageError(f"--literals says two things of {name or 'all messages'}", hint="choose one")
    everywhere = of.pop("", None)
    if everywhere is not None and of:
        raise UsageError(
            "--literals says one thing of all messages, and others of some",
            hint="ROLE=POLICY for each role; what is not named is text",
        )
    return of or everywhere or "text"


def _tools(name: str) -> list[Any]:
    tools = read_json(name)
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise UsageError(f"{name}: tools are a list of objects", hint='[{"type": "function", ...}]')
    return tools


def _date(given: str) -> datetime:
    from datetime import datetime

    try:
        return datetime.fromisoformat(given)
    except ValueError:
        raise UsageError(f"--now {given} is no date", hint="--now 2025-01-31, or 2025-01-31T12:00") from None


def _with_roles(tokenizer: Tokenizer, args: argparse.Namespace) -> Tokenizer:
    """The tokenizer with the tokens that ``--bos-token`` and ``--eos-token`` name."""
    named = {role: getattr(args, role) for role in ("bos_token", "eos_token")}
    named = {role: token for role, token in named.items() if token is not None}
    for role, token in named.items():
        if token not in tokenizer.added_tokens and tokenizer.token_to_id(token) is None:
            raise UsageError(
                f"--{role.replace('_', '-')} {visible(token)}: no token of the vocabulary"
                f"{closest(token, tokenizer.added_tokens)}",
                hint="`tokenmill info` lists the special tokens",
            )
    return tokenizer.with_special_tokens(**named) if named else tokenizer


def _with_template(tokenizer: Tokenizer, args: argparse.Namespace) -> tuple[Tokenizer, str | None]:
    """The tokenizer, and the name of the template to use; None leaves the choice to it."""
    from tokenmill.chat.builtin import NAMES

    given, known = args.template, tokenizer.chat_templates
    if given is None:
        if not known:
            raise UsageError(
                f"{args.tokenizer}: has no chat template",
                hint="--template FILE, the chat_template of its model; or one that comes with tokenmill, if "
                f"the model was trained with it: {', '.join(NAMES)}",
            )
        return tokenizer, None
    if given in known or given in NAMES:
        return tokenizer, given
    try:
        source = Path(given).read_text(encoding="utf-8")
    except FileNotFoundError:
        names = ", ".join([*sorted(known), *(name for name in NAMES if name not in known)])
        raise UsageError(f"{given}: neither a file nor a template; there are {names}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{given}: byte {error.start} is not UTF-8") from error
    name = Path(given).name
    if "{" not in source:
        raise UsageError(f"{given}: is no template, which would have a {{")
    return tokenizer.with_chat_template(source, name), name


# ---- encoding ---------------------------------------------------------------------------------


def _chosen(read: Iterator[Conversation], number: int | None) -> Iterator[Conversation]:
    """All conversations, or the one with this number."""
    if number is None:
        yield from read
        return
    count = 0
    for count, conversation in enumerate(read, start=1):
        if count == number:
            yield conversation
            return
    raise UsageError(f"--show {number}: there {'is' if count == 1 else 'are'} {_counted(count)}")


def _followed(
    read: Iterable[Conversation], args: argparse.Namespace, follow: Progress | None
) -> Iterator[Conversation]:
    total = size_of(args.files) if follow is not None else 0
    for conversation in read:
        yield conversation
        if follow is not None:
            follow("encoding", conversation.done, total)


def _encoded(tokenizer: Tokenizer, read: Iterator[Conversation], options: dict[str, Any]) -> Iterator[Pair]:
    """Each conversation with its encoding.

    Neighbours with the same options (tools, documents, variables) are encoded in one call.
    """
    for own, group in itertools.groupby(read, key=lambda conversation: conversation.options):
        of_group = {**options, **own}
        while batch := list(itertools.islice(group, _BATCH)):
            with _naming(tokenizer, batch, of_group):
                rows = tokenizer.apply_chat_template([one.messages for one in batch], **of_group)
            yield from zip(batch, rows, strict=True)


@contextlib.contextmanager
def _naming(tokenizer: Tokenizer, batch: list[Conversation], options: dict[str, Any]) -> Iterator[None]:
    """Make errors say which conversation they are about."""
    known = (TokenmillError, ValueError, TypeError, IndexError)
    try:
        yield
    except known as error:
        for conversation in batch:
            try:
                tokenizer.apply_chat_template(conversation.messages, **options)
            except known as found:
                message, hint = explain(found)
                raise UsageError(f"{conversation.place}: {message}", hint=hint) from error
        raise


# ---- output -----------------------------------------------------------------------------------


def _show(
    args: argparse.Namespace, tokenizer: Tokenizer, conversation: Conversation, encoding: ChatEncoding
) -> None:
    size = len(encoding.text)
    if size > _LIMIT:
        raise UsageError(
            f"{conversation.place}: {size:,} characters are too many to show; {_LIMIT:,} is the limit",
            hint="--json writes any size",
        )
    import shutil

    to_terminal = args.out is None and is_terminal(sys.stdout)
    columns = shutil.get_terminal_size().columns if to_terminal else _COLUMNS
    title = f"{conversation.place}, template {encoding.chat.template}"
    shown = page(tokenizer, encoding, title, columns=columns, colour=colour_wanted(args.colour, args.out))
    write_output(args.out, shown.encode("utf-8", "backslashreplace"))


def _row(encoding: ChatEncoding) -> dict[str, Any]:
    """What a model is trained with: a row for ``pad_batch``."""
    return {name: encoding[name] for name in ("input_ids", "labels") if name in encoding}


def _facts(conversation: Conversation, encoding: ChatEncoding) -> dict[str, Any]:
    """All that is known of a conversation."""
    return {
        "file": conversation.name,
        "line": conversation.line,
        "conversation": conversation.number,
        "template": encoding.chat.template,
        "text": encoding.text,
        "count": len(encoding["input_ids"]),
        **_row(encoding),
        "offsets": encoding.offsets.tolist(),
        "segments": [segment._asdict() for segment in encoding.segments],
        "turns": [turn._asdict() for turn in encoding.turns],
        "literals": [literal._asdict() for literal in encoding.literals],
        "unwritten": [{"message": message, "field": field} for message, field in encoding.unwritten],
        "unnamed_tokens": encoding.unnamed_tokens,
        "written_as_text": encoding.written_as_text,
    }


class _Counts:
    """Counts what is written, for a report when the file is complete."""

    def __init__(self, out: str | None, *, labels: bool) -> None:
        self._out, self._labels = out, labels
        self._conversations = self._ids = self._trained = 0
        self._notes = FileNotes()

    def of(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """The same pairs, counting them."""
        for pair in pairs:
            if self._is_told:
                self._notes.add(pair[0].place, pair[1])
            self._conversations += 1
            self._ids += len(pair[1]["input_ids"])
            self._trained += sum(pair[1].get("loss_mask", ()))
            yield pair

    @property
    def _is_told(self) -> bool:
        return self._out not in (None, STDIN)

    def report(self) -> None:
        """Print the counts and the notes, if the output is a file."""
        if not self._is_told:
            return
        said = f"{_counted(self._conversations)}, {self._ids:,} ids"
        say(f"saved {self._out}: {said}" + f", {self._trained:,} of them trained" * self._labels)
        for note in self._notes.lines():
            say(note)


def _counted(conversations: int) -> str:
    return f"{conversations:,} conversation" + "s" * (conversations != 1)
