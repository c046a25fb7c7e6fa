"""Learn a byte-pair encoding, WordPiece or Unigram from text files and save it.

FILE is a path, a folder, a glob in quotes, a URL, or - for standard input; each
text is one document, and each row of JSONL, Parquet and Arrow files (--field,
--column) is one. They may be compressed (.gz, .zst). --out names a folder,
which gets a tokenizer.json, or a file whose name says the format (a slash at
the end is always a folder):

  FOLDER/, NAME.json       everything, but for a separate end-of-word symbol:
                           --end-of-word-form suffix can be saved
  NAME.model               Unigram, as SentencePiece has it
  NAME.tiktoken, vocab.json, merges.txt
                           tokens over bytes alone, no split and no special
                           tokens: only with --lossy

  tokenmill train 'corpus/*.txt' --vocab-size 32k --out tokenizer/

With --base a tokenizer learns more: its vocabulary grows to --vocab-size.

  tokenmill train new.txt --base tokenizer/ --vocab-size 40k --out larger/
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .corpora import add_rows, names_of, rows_of
from .files import as_json, check_read_once, write_output, write_summary
from .options import ROLES, add_offline, load_named
from .parsing import whole_number
from .reading import add_reading, reading
from .saving import check_ids_out, check_out, form_of, is_replaced, kept_roles
from .spool import spooled
from .streams import say
from .terminal import bar_wanted, visible
from .trace import MOST_BYTES, trace
from .usage import UsageError
from .written import as_npy

if TYPE_CHECKING:
    import numpy.typing as npt

    from tokenmill import Tokenizer

__all__ = ["add_arguments", "run"]

_FIRST_MERGES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``train`` takes."""
    parser.add_argument("files", metavar="FILE", nargs="*", help="text to learn from; - is standard input")
    parser.add_argument(
        "--counts",
        metavar="PATH",
        nargs="+",
        help="learn from what count-pretokens saved, in place of FILE: files, or folders of them; they say "
        "how texts were read",
    )
    add_rows(parser)
    parser.add_argument("--out", metavar="PATH", help="folder or file to save to (needed, but for --trace)")
    parser.add_argument(
        "--lossy",
        action="store_true",
        help="save although the format cannot hold the split, special tokens, or which of them are bos, eos "
        "and so on; the report says what is left out",
    )
    parser.add_argument(
        "--ids-out",
        metavar="NAME.npy",
        help="save the ids of the text, too, as a numpy array; for one FILE and --split none",
    )
    parser.add_argument("--json", action="store_true", help="the report as one JSON object, for programs")
    parser.add_argument(
        "--trace",
        action="store_true",
        help="print training step by step; for texts of up to 20 kB, long lists cut",
    )
    parser.add_argument("--trace-all", action="store_true", help="the same, nothing cut")
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument(
        "--vocab-size",
        type=whole_number(0),
        metavar="N",
        help="special tokens, alphabet and merges together; 32k is 32000",
    )
    size.add_argument("--num-merges", type=whole_number(0), metavar="N", help="merges alone")
    parser.add_argument(
        "--base",
        metavar="T",
        help="go on from a tokenizer, byte-pair encoding over bytes: learned merges come after its own; how "
        "text is read and which special tokens there are is as there",
    )
    parser.add_argument("--revision", metavar="REV", help="branch, tag or commit of the repository of --base")
    add_offline(parser)
    how = parser.add_argument_group("how")
    add_reading(how)
    how.add_argument(
        "--special-ids",
        choices=("first", "last"),
        default="first",
        help="special tokens before or after all others",
    )
    how.add_argument(
        "--add-bos-token", action="store_true", help="the bos token is put before each text where asked for"
    )
    how.add_argument(
        "--add-eos-token", action="store_true", help="the eos token is put after each text where asked for"
    )
    how.add_argument(
        "--post-processor",
        choices=("BertProcessing",),
        help="the cls token before each text and the sep token after it where asked for; wordpiece only",
    )
    how.add_argument(
        "--score",
        choices=("frequency", "likelihood"),
        help="what wordpiece merges next: the pair that occurs most often (default), or that does so for "
        "the counts of its parts",
    )
    how.add_argument(
        "--continuing-subword-prefix",
        metavar="PREFIX",
        help="how wordpiece writes what does not begin a word (default: ##)",
    )
    how.add_argument(
        "--max-input-chars-per-word",
        type=whole_number(1),
        metavar="N",
        help="a longer word is unknown to wordpiece (default: 100)",
    )
    how.add_argument(
        "--character-coverage",
        type=float,
        metavar="SHARE",
        help="the share of characters that are known (default: 1; 0.9995 for sentencepiece)",
    )
    how.add_argument(
        "--limit-alphabet",
        type=whole_number(1),
        metavar="N",
        help="at most N characters, the most frequent",
    )
    how.add_argument(
        "--whole-characters",
        action="store_true",
        default=None,
        help="a token over bytes lies within a character or is made of whole ones",
    )
    how.add_argument(
        "--allowed-merges",
        metavar="PATTERN",
        help="a regular expression that every merged token has to match",
    )
    how.add_argument(
        "--pad-vocab-to-multiple-of",
        type=whole_number(1),
        metavar="N",
        help="more of these at the end, so that the size is a multiple of N",
    )
    how.add_argument(
        "--initial-alphabet",
        metavar="CHARACTERS",
        help="characters that are known, seen or not",
    )
    how.add_argument(
        "--byte-fallback",
        action="store_true",
        default=None,
        help="characters outside the alphabet become the tokens of their bytes; for unigram",
    )
    how.add_argument(
        "--tie-break",
        choices=("lexicographic", "lexicographic-largest", "first-seen", "token-id", "huggingface"),
        metavar="RULE",
        help="which of several pairs with the same count is merged: lexicographic (default), "
        "lexicographic-largest, first-seen, token-id, huggingface",
    )
    how.add_argument(
        "--min-frequency",
        type=whole_number(1),
        metavar="N",
        help="the lowest count that merges (default: 2)",
    )
    how.add_argument(
        "--max-token-length",
        type=whole_number(1),
        metavar="N",
        help="the longest token, in bytes; in characters for wordpiece and unigram (16 there)",
    )
    how.add_argument(
        "--alphabet",
        choices=("bytes", "chars"),
        help="what merging starts from: all 256 bytes, or the characters of the text (default: bytes)",
    )
    how.add_argument("--end-of-word", metavar="MARK", help="a symbol after each word; alphabet chars only")
    how.add_argument(
        "--end-of-word-form",
        choices=("separate", "suffix"),
        help="a symbol of its own, or glued to the last character, which files can hold (default: separate)",
    )
    how.add_argument(
        "--num-threads", type=whole_number(1), metavar="N", help="threads for counting (default: every core)"
    )


def run(args: argparse.Namespace) -> int:
    """Train, save, and report."""
    import tokenmill

    args.trace = args.trace or args.trace_all
    if args.out is None and not args.trace:
        raise UsageError("--out is needed: where the tokenizer goes", hint="--out tokenizer/")
    if args.json and args.trace:
        raise UsageError("--trace is for people and --json for programs: choose one")
    if args.trace and args.model != "bpe":
        raise UsageError("--trace shows byte-pair encoding; choose one of it and --model", hint="--model bpe")
    if args.normalizer and args.trace:
        raise UsageError("--trace shows text as it stands, without --normalizer: choose one")
    if bool(args.files) == (args.counts is not None):
        raise UsageError("give FILE, or --counts PATH", hint="tokenmill train --help")
    if args.counts is not None and (args.trace or args.ids_out is not None):
        option = "--trace" if args.trace else "--ids-out"
        raise UsageError(f"{option} needs the text, which is not in counts: give FILE")
    if args.base is not None and args.trace:
        raise UsageError("--trace shows training from the start, without --base: choose one")
    if args.model == "bpe" and args.counts is None and args.base is None:
        args.split = args.split or "cl100k"
    if args.out is not None:
        check_out(args)
    names = names_of(args.files)
    if args.ids_out is not None:
        check_ids_out(args, documents=len(names))
    check_read_once(names)
    if args.revision is not None and args.base is None:
        raise UsageError("--revision is for --base")
    base = None if args.base is None else load_named(args.base, revision=args.revision, offline=args.offline)
    wants_ids: Any = args.ids_out is not None
    with spooled(names, limit=MOST_BYTES if args.trace else None) as files:
        start = time.perf_counter()
        trained: Any = tokenmill.train(
            files if args.counts is None else None,
            counts=args.counts,
            base=base,
            **rows_of(args)._asdict(),
            vocab_size=args.vocab_size,
            num_merges=args.num_merges,
            **reading(args),
            byte_fallback=args.byte_fallback,
            character_coverage=args.character_coverage,
            initial_alphabet=args.initial_alphabet,
            limit_alphabet=args.limit_alphabet,
            whole_characters=args.whole_characters,
            allowed_merges=args.allowed_merges,
            pad_vocab_to_multiple_of=args.pad_vocab_to_multiple_of,
            post_processor=args.post_processor,
            score=args.score,
            continuing_subword_prefix=args.continuing_subword_prefix,
            max_input_chars_per_word=args.max_input_chars_per_word,
            special_ids=args.special_ids,
            tie_break=args.tie_break,
            min_frequency=args.min_frequency,
            max_token_length=args.max_token_length,
            alphabet=args.alphabet,
            end_of_word=args.end_of_word,
            end_of_word_form=args.end_of_word_form,
            add_bos_token=args.add_bos_token or None,
            add_eos_token=args.add_eos_token or None,
            num_threads=args.num_threads,
            progress=bar_wanted(),
            return_ids=wants_ids,
        )
        tokenizer: Tokenizer
        tokenizer, ids = trained if wants_ids else (trained, None)
        seconds = time.perf_counter() - start
        steps = trace(files, len(tokenizer.merges), args) if args.trace else ""
    if args.trace:
        if stopped := _stopped(tokenizer, args):
            steps += f"\nstopped after {_merges(len(tokenizer.merges))}; {stopped}\n"
        if args.out is None:
            steps += "".join(f"\n{name}: {what}\n" for name, what in _not_utf8(tokenizer))
        write_output(None, (steps + "\n" * (args.out is not None)).encode())
    report = tokenizer.training_report
    if report is not None and report.bytes == 0:
        say("tokenmill: warning: there was no text to learn from")
    for literal in args.special_tokens:
        if re.fullmatch(".+=[0-9]+", literal, re.DOTALL):
            say(f"tokenmill: warning: the special token is {literal!r} as it stands; training gives the ids")
    if args.out is None:
        say("nothing is saved: --out FOLDER/ saves the tokenizer")
    else:
        done = "replaced" if is_replaced(args.out) else "saved"
        tokenizer.save(args.out, lossy=args.lossy)
        if ids is not None:
            write_output(args.ids_out, as_npy(ids))
        if args.json:
            page = _facts(tokenizer, args, seconds, ids)
        else:
            page = _summary(tokenizer, args, done, seconds, ids)
        write_summary(args.out, page)
    return 0


def _stopped(tokenizer: Tokenizer, args: argparse.Namespace) -> str | None:
    """A sentence that says what was asked for and why there is less; None where there is not less."""
    report = tokenizer.training_report
    if report is None or report.stopped_early is None:
        return None
    size = args.vocab_size
    asked = f"a vocabulary of {size:,} was" if size is not None else f"{_merges(args.num_merges)} were"
    why = {
        "no-pair-left": "no pair of tokens is left",
        "min-frequency": f"no pair is left that occurs {args.min_frequency or 2} times (--min-frequency)",
        "not-allowed": "the pairs left would make tokens that are not allowed",
        "no-piece-left": "no substring is left that occurs more than once",
        "max-token-length": "every pair left is too long (--max-token-length)",
    }
    return f"{asked} asked for: {why.get(report.stopped_early, report.stopped_early)}"


def _merges(count: int) -> str:
    return f"{count:,} merge{'' if count == 1 else 's'}"


def _not_utf8(tokenizer: Tokenizer) -> Iterator[tuple[str, str]]:
    """What became of documents that are not UTF-8."""
    report = tokenizer.training_report
    assert report is not None
    if report.skipped:
        yield "left out", f"{report.skipped:,} not UTF-8"
    if report.replaced:
        yield "mended", f"{report.replaced:,} with U+FFFD for what is not UTF-8"


class _Saved(NamedTuple):
    """What of a tokenizer is in the file: ids by role and by literal, and what --lossy left out."""

    roles: dict[str, int]
    special_tokens: dict[str, int]
    left_out: list[str]


def _saved(tokenizer: Tokenizer, args: argparse.Namespace) -> _Saved:
    form = form_of(args.out)
    ids = {role: getattr(tokenizer, f"{role}_token_id") for role in ROLES}
    named = {role: id for role, id in ids.items() if id is not None}
    roles = {role: id for role, id in named.items() if role in kept_roles(form, args)}
    special = dict(tokenizer.special_tokens)
    left_out = []
    if form not in ("folder", "tokenizer.json", ".model"):
        left_out += ["the split", *["special tokens"] * bool(special)]
        special = {}
    if lost := [role for role in named if role not in roles]:
        left_out.append(f"which tokens are {', '.join(lost)}")
    return _Saved(roles, special, left_out)


def _facts(
    tokenizer: Tokenizer, args: argparse.Namespace, seconds: float, ids: npt.NDArray[Any] | None
) -> bytes:
    report = tokenizer.training_report
    assert report is not None
    saved = _saved(tokenizer, args)
    facts = {
        "saved": args.out,
        **({} if ids is None else {"ids_saved": args.ids_out, "ids": len(ids), "dtype": ids.dtype.name}),
        "vocab_size": tokenizer.vocab_size,
        "merges": len(report.merges),
        "special_tokens": saved.special_tokens,
        "roles": saved.roles,
        "left_out": saved.left_out,
        "documents": report.documents,
        "skipped": report.skipped,
        "replaced": report.replaced,
        "bytes": report.bytes,
        "pretokens": report.pretokens,
        "distinct_pretokens": report.distinct_pretokens,
        "stopped_early": report.stopped_early,
        "seconds": round(seconds, 3),
        "phases": {name: round(taken, 3) for name, taken in report.phases.items()},
    }
    return as_json(facts)


def _summary(
    tokenizer: Tokenizer, args: argparse.Namespace, done: str, seconds: float, ids: npt.NDArray[Any] | None
) -> bytes:
    report = tokenizer.training_report
    assert report is not None
    first = [
        visible((left + right).decode("utf-8", "backslashreplace")).replace(" ", "␣")
        for left, right, _ in report.merges[:_FIRST_MERGES]
    ]
    merges = "" if args.model == "unigram" else f", {len(report.merges):,} of them merges"
    saved = _saved(tokenizer, args)
    stopped = _stopped(tokenizer, args)
    roles = ", ".join(f"{role} {id}" for role, id in saved.roles.items())
    lines = [
        (done, args.out),
        *[("not saved", ", ".join(saved.left_out))] * bool(saved.left_out),
        ("vocabulary", f"{tokenizer.vocab_size:,} tokens{merges}"),
        *([("", stopped)] if stopped else []),
        *[("roles", roles)] * bool(roles),
        ("documents", f"{report.documents:,}"),
        ("bytes", f"{report.bytes:,}"),
        *([] if ids is None else [("ids", f"{len(ids):,} as {ids.dtype}, saved {args.ids_out}")]),
        ("pretokens", f"{report.pretokens:,}, {report.distinct_pretokens:,} distinct"),
        *([] if args.model == "unigram" else [("first merges", " ".join(first) or "none")]),
        ("seconds", f"{seconds:.2f}"),
        *_not_utf8(tokenizer),
    ]
    return "".join(f"{name:<14}{value}\n" for name, value in lines).encode("utf-8", "surrogateescape")
