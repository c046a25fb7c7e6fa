"""``main``: reads the arguments, runs one command, turns errors into words and exit codes.

Exit codes: 0 done; 1 done, and something was found that should not be; 2 bad use or bad input;
130 stopped by Ctrl-C; 141 nobody reads the output any more.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import tokenmill

from . import (
    chat,
    chunk,
    convert,
    count,
    count_pretokens,
    curve,
    decode,
    demo,
    diff,
    doctor,
    encode,
    info,
    inspect,
    lorem,
    manifest,
    report,
    train,
    verify,
    vocab,
)
from .files import STDIN
from .given import in_quotes
from .parsing import Help, Parser, check_words
from .streams import check_stdout, say
from .terminal import visible
from .usage import UsageError, explain

__all__ = ["main"]

_COMMANDS = {
    "train": (train, "learn a tokenizer from text"),
    "count-pretokens": (count_pretokens, "count what train learns from, to put counts together first"),
    "encode": (encode, "text into ids"),
    "decode": (decode, "ids into text"),
    "count": (count, "how many tokens a text has"),
    "chunk": (chunk, "texts in parts of at most N tokens each"),
    "chat": (chat, "conversations by a chat template: ids, and what of them is trained"),
    "inspect": (inspect, "each token of a text: id, bytes, offsets"),
    "info": (info, "sizes, special tokens, roles, split and fingerprint of a tokenizer"),
    "vocab": (vocab, "each token of a tokenizer with its id"),
    "doctor": (doctor, "whether a tokenizer is healthy, and fits its files, a model, a text, another one"),
    "manifest": (manifest, "hashes, fingerprint, ids and golden vectors of a tokenizer, for its folder"),
    "verify": (verify, "whether a folder is still what its manifest says"),
    "lorem": (lorem, "placeholder text, in Latin, in English or as in a file"),
    "convert": (convert, "a tokenizer in another format, compared before it is written"),
    "curve": (curve, "bytes per token by the size of the vocabulary and by language"),
    "diff": (diff, "whether two tokenizers give the same, and an input for which they do not"),
    "report": (report, "tokenizers side by side on one page: languages, vocabulary, samples, merges"),
    "demo": (demo, "train on Python's standard library, prove the round trip, show the result"),
}

_TELLS = ("train", "count-pretokens", "demo")
"""Commands that report on standard output what they saved to ``--out``."""


def _parsers() -> tuple[Parser, dict[str, Parser]]:
    """The parser, and those of its commands."""
    parser = Parser(
        prog="tokenmill",
        description="Train, load and use tokenizers. Data goes to stdout, words to stderr.",
        epilog="Exit codes: 0 done, 1 a finding, 2 bad use or input. `tokenmill COMMAND --help` says more.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tokenmill {tokenmill.__version__}")
    chosen = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    commands = {}
    for name, (module, summary) in _COMMANDS.items():
        command = chosen.add_parser(
            name, help=summary, description=module.__doc__, allow_abbrev=False, formatter_class=Help
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run, options=frozenset(command._option_string_actions))
        commands[name] = command
    return parser, commands


def _parse(words: list[str]) -> argparse.Namespace:
    parser, commands = _parsers()
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    check_words(parser, commands, words)
    args, surplus = parser.parse_known_args(words)
    if surplus:
        hint = f"tokenmill {args.command} --help"
        if args.command == "inspect":
            text = " ".join(word for word in [args.text, *surplus] if word is not None)
            hint = f"quote the text: {in_quotes(text)}"
        raise UsageError(f"more words than tokenmill {args.command} takes: {' '.join(surplus)}", hint=hint)
    _check_paths(args)
    return args


def _check_paths(args: argparse.Namespace) -> None:
    """Refuse a path with a NUL, for which Python's functions raise an error that is not an ``OSError``."""
    for name in (
        "files",
        "file",
        "out",
        "tokenizer",
        "tools",
        "template",
        "corpus",
        "model",
        "svg",
        "train",
        "counts",
        "a",
        "b",
        "text",
        "target",
        "verify",
        "config",
        "against",
        "tokenizers",
        "text_files",
    ):
        given = getattr(args, name, None)
        for path in given if isinstance(given, list) else [given]:
            if path is not None and "\0" in path:
                raise UsageError(f"{visible(path)}: the name of a file holds no NUL")


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``tokenmill`` with these arguments (default: the process's own); gives the exit code."""
    options: frozenset[str] | None = None
    try:
        args = _parse(list(sys.argv[1:] if argv is None else argv))
        options = args.options
        if args.command in _TELLS or args.out in (None, STDIN):
            check_stdout()  # before any work is done
        run: Callable[[argparse.Namespace], int] = args.run
        return run(args)
    except SystemExit as end:  # --help and --version
        return end.code if isinstance(end.code, int) else 2
    except KeyboardInterrupt:
        say("tokenmill: stopped")
        return 130
    except BrokenPipeError:
        return 141
    except (UsageError, tokenmill.TokenmillError, OSError, UnicodeEncodeError, MemoryError) as error:
        message, hint = explain(error, options)
        say(f"tokenmill: error: {message}")
        if hint:
            say(f"hint: {hint}")
        return 2
    except Exception as error:
        say(f"tokenmill: internal error: {_place(error)}: {type(error).__name__}: {error}")
        say("hint: this is a fault of tokenmill; please report it with the command that was given")
        return 2


def _place(error: Exception) -> str:
    """File and line where an error was raised."""
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"
