"""How texts are read: the options that ``train`` and ``count-pretokens`` share."""

from __future__ import annotations

import argparse
from typing import Any

from .options import ROLES
from .parsing import whole_number
from .usage import SPLITS

__all__ = ["add_reading", "reading"]

_RULES = ("identity", "nfkc", "nfkc_cf", "nmt_nfkc", "nmt_nfkc_cf")
"""The rules of SentencePiece."""

_SENTENCEPIECE = {
    "split-digits": "sentencepiece: a digit is a token of its own",
    "no-split-by-unicode-script": "sentencepiece: a token may have characters of several scripts",
    "no-add-dummy-prefix": "sentencepiece: no space is put before a text",
    "no-remove-extra-whitespaces": "sentencepiece: runs of spaces stay",
}
"""Options of the dialect that are on or off, each under the name that departs from the default."""

_BERT = {
    "lowercase": "BertNormalizer: text in lower case (default: yes)",
    "strip-accents": "BertNormalizer: letters without their accents (default: as --lowercase)",
    "clean-text": "BertNormalizer: no control characters, all white space a space (default: yes)",
    "handle-chinese-chars": "BertNormalizer: Chinese characters are words (default: yes)",
}


def add_reading(how: argparse._ArgumentGroup) -> None:
    """Declare them."""
    how.add_argument(
        "--model",
        choices=("bpe", "wordpiece", "unigram"),
        default="bpe",
        help="what is learned (default: bpe)",
    )
    how.add_argument(
        "--split",
        metavar="NAME",
        help=f"{', '.join(SPLITS)}, BertPreTokenizer, or a pattern (default: cl100k; BertPreTokenizer for "
        "wordpiece)",
    )
    how.add_argument(
        "--normalizer",
        choices=("NFC", "NFD", "NFKC", "NFKD", "BertNormalizer", "none", *_RULES),
        metavar="NAME",
        help="what text is brought into first: NFC, NFD, NFKC, NFKD, BertNormalizer (for wordpiece), none "
        f"(default); for unigram {', '.join(_RULES)} (default: nmt_nfkc)",
    )
    for name, meaning in _BERT.items():
        how.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, help=meaning)
    how.add_argument(
        "--special-token",
        dest="special_tokens",
        metavar="LITERAL",
        action="append",
        default=[],
        help="a special token; may be given again; training gives the ids (--special-ids)",
    )
    for role, meaning in ROLES.items():
        how.add_argument(f"--{role}-token", metavar="LITERAL", help=f"the special token for {meaning}")
    how.add_argument(
        "--dialect",
        choices=("sentencepiece", "tokenizers"),
        help="the library that unigram is trained for (default: sentencepiece, saved as .model)",
    )
    how.add_argument(
        "--user-defined-symbol",
        dest="user_defined_symbols",
        metavar="LITERAL",
        action="append",
        default=[],
        help="text that is always one token of unigram; may be given again",
    )
    how.add_argument(
        "--reserved-tokens",
        type=whole_number(0),
        default=0,
        metavar="N",
        help="N special tokens for later use, which count in --vocab-size (default: 0)",
    )
    for name, meaning in _SENTENCEPIECE.items():
        option = name.removeprefix("no-").replace("-", "_")
        value = not name.startswith("no-")
        how.add_argument(f"--{name}", dest=option, action="store_const", const=value, help=meaning)
    how.add_argument(
        "--documents", choices=("file", "lines"), default="file", help="what a document is (default: file)"
    )
    how.add_argument(
        "--errors",
        choices=("strict", "replace", "skip"),
        default="strict",
        help="a document that is not UTF-8: stop, replace what is wrong, or leave it out (default: strict)",
    )


def reading(args: argparse.Namespace) -> dict[str, Any]:
    """The same as arguments of the library; what is not given is None where the library has a default."""
    flags = [name.removeprefix("no-").replace("-", "_") for name in (*_BERT, *_SENTENCEPIECE)]
    names = ["model", "normalizer", "split", "dialect", "reserved_tokens", "documents", "errors", *flags]
    return {
        **{name: getattr(args, name) for name in (*names, *(f"{role}_token" for role in ROLES))},
        "special_tokens": args.special_tokens or None,
        "user_defined_symbols": args.user_defined_symbols or None,
    }
