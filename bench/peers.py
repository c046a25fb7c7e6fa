"""The libraries that are compared: one small class each.

A peer is made from a vocabulary and offers *forms*: ways to be called that end in the same kind of object
for everybody. A form that its library does not have is absent; nothing is put together from other parts to
fill a table. Each library is used as its own users would.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, ClassVar

from vocabularies import Vocabulary, tiktoken_pattern

Form = Callable[[Any], Any]
FORMS = ("list", "array", "batch-lists", "batch-array", "count", "decode")
"""
========== =================== ==========================
form       in                  out
========== =================== ==========================
list       one ``str``         ``list[int]``
array      one ``str``         one array of ids
batch-...  ``list[str]``       list of lists, flat array
count      one ``str``         ``int``
decode     ``list[int]``       ``str``
========== =================== ==========================
"""


class Peer:
    """A library with a vocabulary loaded."""

    name: ClassVar[str]
    module: ClassVar[str]
    forms: dict[str, Form]

    def __init__(self, vocabulary: Vocabulary) -> None:
        raise NotImplementedError


class Tokenmill(Peer):
    name = module = "tokenmill"

    def __init__(self, vocabulary: Vocabulary) -> None:
        import tokenmill

        known = vocabulary.name == vocabulary.split  # by the hash of its file
        tokenizer = tokenmill.load(vocabulary.rank_file, split=None if known else vocabulary.split)
        self.forms = {
            "list": tokenizer.encode,
            "array": tokenizer.encode_to_numpy,
            "batch-lists": lambda texts: tokenizer.encode_batch(texts).to_lists(),
            "batch-array": lambda texts: tokenizer.encode_batch(texts).ids,
            "count": tokenizer.count,
            "decode": tokenizer.decode,
        }


class Tiktoken(Peer):
    name = module = "tiktoken"

    def __init__(self, vocabulary: Vocabulary) -> None:
        import tiktoken

        ranks = vocabulary.ranks()
        pattern = tiktoken_pattern(vocabulary.published, ranks)
        encoding = tiktoken.Encoding(
            vocabulary.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
        )
        self.forms = {
            "list": encoding.encode_ordinary,
            "array": functools.partial(encoding.encode_to_numpy, disallowed_special=()),
            "batch-lists": functools.partial(encoding.encode_ordinary_batch, num_threads=1),
            "decode": encoding.decode,
        }


class Tokenizers(Peer):
    name = module = "tokenizers"

    def __init__(self, vocabulary: Vocabulary) -> None:
        import tokenizers

        tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary.tokenizer_json()))
        self.forms = {
            "list": lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
            "batch-lists": lambda texts: [
                encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)
            ],
            "decode": functools.partial(tokenizer.decode, skip_special_tokens=False),
        }


class Gigatoken(Peer):
    name = module = "gigatoken"

    def __init__(self, vocabulary: Vocabulary) -> None:
        gigatoken = import_module("gigatoken")
        tokenizer = gigatoken.Tokenizer(str(vocabulary.tokenizer_json()))
        self.forms = {
            "list": lambda text: tokenizer.encode(text).tolist(),
            "array": tokenizer.encode,
            "batch-lists": tokenizer.encode_batch_list,
            "decode": lambda ids: tokenizer.decode(ids).decode(),
        }


class Fastokens(Peer):
    name = module = "fastokens"

    def __init__(self, vocabulary: Vocabulary) -> None:
        native = import_module("fastokens._native")
        tokenizer = native.Tokenizer.from_file(str(vocabulary.tokenizer_json()))
        self.forms = {
            "list": lambda text: tokenizer.encode(text).ids,
            "array": lambda text: tokenizer.encode_batch_flat([text])[0],
            "batch-lists": lambda texts: [encoding.ids for encoding in tokenizer.encode_batch(texts)],
            "batch-array": lambda texts: tokenizer.encode_batch_flat(texts)[0],
            "decode": tokenizer.decode,
        }


PEERS: dict[str, type[Peer]] = {
    peer.name: peer for peer in (Tokenmill, Tiktoken, Tokenizers, Gigatoken, Fastokens)
}


def installed() -> dict[str, str]:
    """The peers that can be imported here, with their versions."""
    return {name: version(name) for name, peer in PEERS.items() if find_spec(peer.module) is not None}
