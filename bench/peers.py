"""The libraries that are compared: one small class each.

A peer is made from a vocabulary and offers *forms*: ways to be called that end in the same kind of object
for everybody. A form that its library does not have is absent; nothing is put together from other parts to
fill a table. Each library is used as its own users would.
"""

from __future__ import annotations

import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

from cells import BEFORE
from vocabularies import Vocabulary, tiktoken_pattern

LEVEL = "TOKENMILL_BENCH_LEVEL"
"""The environment variable with the instructions that tokenmill may use."""

Form = Callable[[Any], Any]
FORMS = (
    *("list", "array", "batch-lists", "batch-array", "count", "decode", "decode-bytes", "decode-array"),
    *("padded", "batch-parsed", "batch-untrusted", "batch-offsets"),
)
"""
=============== =================== ==========================
form            in                  out
=============== =================== ==========================
list            one ``str``         ``list[int]``
array           one ``str``         one array (or buffer) of ids
batch-lists     ``list[str]``       list of lists
batch-array     ``list[str]``       flat array
count           one ``str``         ``int``
decode          ``list[int]``       ``str``
decode-bytes    array of ids        ``bytes``
decode-array    array of ids        ``str``
padded          ``list[str]``       arrays of ids and of their mask by name, rows of one length
batch-parsed    ``Turns``           flat array, of texts with added tokens
batch-untrusted ``Turns``           the same, where no added token may come from what others wrote
batch-offsets   ``list[str]``       ids and the characters of each: flat arrays, or lists for each text
=============== =================== ==========================
"""

TOKENIZER_JSON, RANK_FILE, BUILT_IN = "tokenizer.json", "rank file", "built-in vocabulary"
MODEL = "tokenizer.model"


class Peer(ABC):
    """A library with a vocabulary loaded, for one or more threads."""

    name: ClassVar[str]
    module: ClassVar[str]
    distribution: ClassVar[str]
    major: ClassVar[str] = ""
    """The version begins so, where two of one library are compared."""
    forms: dict[str, Form]
    has_lists: ClassVar[bool] = True
    """Whether it has the plain forms, and so can say what is right."""

    @abstractmethod
    def __init__(self, vocabulary: Vocabulary, threads: int = 1) -> None: ...

    @classmethod
    def has(cls, vocabulary: Vocabulary) -> bool:
        """Whether the library can have this vocabulary at all."""
        return vocabulary.has_json

    @classmethod
    def reads(cls, vocabulary: Vocabulary) -> str:
        """What it has a vocabulary from: times of loading are compared where this is the same."""
        return TOKENIZER_JSON

    @classmethod
    def installed_version(cls) -> str | None:
        """The version that can be imported here."""
        try:
            found = version(cls.distribution)
        except PackageNotFoundError:
            return None
        return found if find_spec(cls.module) is not None and found.startswith(cls.major) else None


class Tokenmill(Peer):
    name = module = distribution = "tokenmill"

    def __init__(self, vocabulary: Vocabulary, threads: int = 1) -> None:
        import tokenmill

        if level := os.environ.get(LEVEL):
            import_module("tokenmill._core").force_cpu(level)
        tokenizer = tokenmill.load(vocabulary.file, split=vocabulary.split_to_give)
        encode, encode_to_numpy = tokenizer.encode, tokenizer.encode_to_numpy
        encode_batch, count = tokenizer.encode_batch, tokenizer.count
        # As the library that the file comes from does.
        special: Literal["text", "parse"] = "text" if vocabulary.json_file is None else "parse"
        self.forms = {
            "list": lambda text: encode(text, special=special, num_threads=threads),
            "array": lambda text: encode_to_numpy(text, special=special, num_threads=threads),
            "batch-lists": lambda texts: encode_batch(texts, special=special, num_threads=threads).to_lists(),
            "batch-array": lambda texts: encode_batch(texts, special=special, num_threads=threads).ids,
            "count": lambda text: count(text, special=special, num_threads=threads),
            "decode": tokenizer.decode,
            "decode-bytes": tokenizer.decode_bytes,
            "decode-array": tokenizer.decode,
        }
        if vocabulary.json_file is not None:
            self.forms["batch-offsets"] = lambda texts: encode_batch(
                texts, offsets=True, special=special, num_threads=threads
            )
        if vocabulary.pad_token is not None:
            pad_id = tokenizer.token_to_id(vocabulary.pad_token)
            self.forms["padded"] = functools.partial(
                tokenizer,
                padding=True,
                pad_id=pad_id,
                add_special_tokens=False,
                return_token_type_ids=False,
                return_tensors="np",
                special="parse",
                num_threads=threads,
            )
        if vocabulary.chat_tokens:
            parse = functools.partial(encode_batch, special="parse", num_threads=threads)
            protected = vocabulary.chat_tokens
            self.forms["batch-parsed"] = lambda turns: parse(turns.texts).ids
            self.forms["batch-untrusted"] = lambda turns: (
                parse(turns.texts, untrusted=turns.untrusted, protected=protected).ids
            )

    @classmethod
    def has(cls, vocabulary: Vocabulary) -> bool:
        return True

    @classmethod
    def reads(cls, vocabulary: Vocabulary) -> str:
        if vocabulary.json_file is not None:
            return TOKENIZER_JSON
        return RANK_FILE if vocabulary.rank_file is not None else MODEL


class Before(Tokenmill):
    """An earlier build, in an interpreter that ``--before`` names."""

    name = BEFORE

    @classmethod
    def installed_version(cls) -> str | None:
        return None


class Tiktoken(Peer):
    name = module = distribution = "tiktoken"

    def __init__(self, vocabulary: Vocabulary, threads: int = 1) -> None:
        import tiktoken

        ranks = vocabulary.ranks()
        pattern = vocabulary.pattern or ""
        if vocabulary.published is not None:
            pattern = tiktoken_pattern(vocabulary.published, ranks)
        encoding = tiktoken.Encoding(
            vocabulary.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
        )
        if vocabulary.split == "none":
            self.forms = {"list": encoding._encode_single_piece}
            return
        self.forms = {
            "list": encoding.encode_ordinary,
            "array": functools.partial(encoding.encode_to_numpy, disallowed_special=()),
            "batch-lists": functools.partial(encoding.encode_ordinary_batch, num_threads=threads),
            "decode": encoding.decode,
        }

    @classmethod
    def has(cls, vocabulary: Vocabulary) -> bool:
        return vocabulary.rank_file is not None

    @classmethod
    def reads(cls, vocabulary: Vocabulary) -> str:
        return RANK_FILE


class Tokenizers(Peer):
    name = module = distribution = "tokenizers"
    major = "0."

    def __init__(self, vocabulary: Vocabulary, threads: int = 1) -> None:
        import tokenizers

        tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary.tokenizer_json()))
        self.forms = {
            "list": lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
            "batch-lists": lambda texts: [
                encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)
            ],
            "batch-offsets": lambda texts: [
                (encoding.ids, encoding.offsets)
                for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)
            ],
            "decode": functools.partial(tokenizer.decode, skip_special_tokens=False),
        }


class Tokenizers1(Peer):
    """The release candidate of the next major version."""

    name, module, distribution, major = "tokenizers-1", "tokenizers", "tokenizers", "1."

    def __init__(self, vocabulary: Vocabulary, threads: int = 1) -> None:
        tokenizers: Any = import_module("tokenizers")
        tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary.tokenizer_json()))
        plain = {"add_special_tokens": False}

        def joined(texts: list[str]) -> Any:
            import numpy as np

            return np.concatenate([row.ids_array for row in tokenizer.encode_batch(texts, **plain)])

        self.forms = {
            "list": lambda text: tokenizer.encode(text, **plain).ids,
            "array": lambda text: tokenizer.encode(text, **plain).ids_array,
            "batch-lists": lambda texts: [row.ids for row in tokenizer.encode_batch(texts, **plain)],
            "batch-array": joined,
            "decode": functools.partial(tokenizer.decode, skip_special_tokens=False),
        }


class Transformers(Peer):
    """What makes tensors of texts: its ids are those of tokenizers."""

    name = module = distribution = "transformers"
    has_lists = False

    def __init__(self, vocabulary: Vocabulary, threads: int = 1) -> None:
        transformers: Any = import_module("transformers")
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_file=str(vocabulary.tokenizer_json()), pad_token=vocabulary.pad_token
        )
        self.forms = {
            "padded": functools.partial(
                tokenizer,
                padding=True,
                add_special_tokens=False,
                return_token_type_ids=False,
                return_tensors="np",
            )
        }

    @classmethod
    def has(cls, vocabulary: Vocabulary) -> bool:
        return vocabulary.pad_token is not None


class Gigatoken(Peer):
    name = module = distribution = "gigatoken"

    def __init__(self, vocabulary: Vocabulary, threads: int = 1) -> None:
        gigatoken = import_module("gigatoken")
        if self.reads(vocabulary) == RANK_FILE:
            tokenizer = gigatoken.Tokenizer.from_tiktoken(
                vocabulary.rank_file, pretokenizer=vocabulary.split, special_tokens={}
            )
        else:
            tokenizer = gigatoken.Tokenizer(str(vocabulary.tokenizer_json()))
        self.forms = {
            "list": lambda text: tokenizer.encode(text).tolist(),
            "array": tokenizer.encode,
            "batch-lists": tokenizer.encode_batch_list,
            "batch-array": tokenizer.encode_batch,
            "decode": lambda ids: tokenizer.decode(ids).decode(),
            "decode-bytes": tokenizer.decode,
            "decode-array": lambda ids: tokenizer.decode(ids).decode(),
        }

    @classmethod
    def has(cls, vocabulary: Vocabulary) -> bool:
        # It refuses a byte-level file without a split.
        return vocabulary.has_json and (vocabulary.split != "none" or vocabulary.json_file is not None)

    @classmethod
    def reads(cls, vocabulary: Vocabulary) -> str:
        has_ranks = vocabulary.json_file is None and vocabulary.split != "own"
        return RANK_FILE if has_ranks else TOKENIZER_JSON


class Fastokens(Peer):
    name = module = distribution = "fastokens"

    def __init__(self, vocabulary: Vocabulary, threads: int = 1) -> None:
        native = import_module("fastokens._native")
        tokenizer = native.Tokenizer.from_file(str(vocabulary.tokenizer_json()))
        self.forms = {
            "list": lambda text: tokenizer.encode(text).ids,
            "array": lambda text: tokenizer.encode_batch_flat([text])[0],
            "batch-lists": lambda texts: [encoding.ids for encoding in tokenizer.encode_batch(texts)],
            "batch-array": lambda texts: tokenizer.encode_batch_flat(texts)[0],
            "decode": tokenizer.decode,
        }


class Nanotoken(Peer):
    """WordPiece alone."""

    name = module = distribution = "nanotoken"

    def __init__(self, vocabulary: Vocabulary, threads: int = 1) -> None:
        tokenizer = import_module("nanotoken").Tokenizer(str(vocabulary.tokenizer_json()))
        plain = {"add_special_tokens": False, "parallel": threads > 1}
        self.forms = {
            "list": lambda text: tokenizer.encode_batch_list([text], **plain)[0],
            "array": lambda text: tokenizer.encode_batch([text], **plain).ids,
            "batch-lists": lambda texts: tokenizer.encode_batch_list(texts, **plain),
            "batch-array": lambda texts: tokenizer.encode_batch(texts, **plain).ids,
        }

    @classmethod
    def has(cls, vocabulary: Vocabulary) -> bool:
        return vocabulary.is_wordpiece


class SentencePiece(Peer):
    """Loads its own file (`tokenizer.model`), whose ids equal those of the tokenizer.json on all corpora."""

    name = module = distribution = "sentencepiece"

    def __init__(self, vocabulary: Vocabulary, threads: int = 1) -> None:
        processor: Any = import_module("sentencepiece").SentencePieceProcessor(
            model_file=str(vocabulary.model_file)
        )
        self.forms = {
            "list": processor.encode,
            "batch-lists": lambda texts: processor.encode(texts, num_threads=threads),
            "decode": processor.decode,
        }

    @classmethod
    def has(cls, vocabulary: Vocabulary) -> bool:
        return vocabulary.model_file is not None

    @classmethod
    def reads(cls, vocabulary: Vocabulary) -> str:
        return MODEL


class OfItsOwn(Peer):
    """A library that has its vocabularies inside."""

    _ENCODINGS: ClassVar[dict[str, str]]

    @classmethod
    def has(cls, vocabulary: Vocabulary) -> bool:
        return vocabulary.name in cls._ENCODINGS

    @classmethod
    def reads(cls, vocabulary: Vocabulary) -> str:
        return BUILT_IN


class Quicktok(OfItsOwn):
    name, module, distribution = "quicktok", "quicktok", "quicktok-v1"
    _ENCODINGS: ClassVar = {
        "cl100k": "cl100k_base",
        "o200k": "o200k_base",
        "llama3": "llama3",
        "qwen2.5": "qwen3",
    }

    def __init__(self, vocabulary: Vocabulary, threads: int = 1) -> None:
        tokenizer = import_module("quicktok").get_encoding(self._ENCODINGS[vocabulary.name])
        self.forms = {
            "list": tokenizer.encode_ordinary,
            "array": lambda text: tokenizer.encode_batch([text], threads)[0],
            "batch-array": lambda texts: tokenizer.encode_batch(texts, threads)[0],
            "count": tokenizer.count,
            "decode": tokenizer.decode,
        }


class Splintr(Peer):
    name, module, distribution = "splintr", "splintr", "splintr-rs"

    def __init__(self, vocabulary: Vocabulary, threads: int = 1) -> None:
        tokenizer = import_module("splintr").from_json(str(vocabulary.tokenizer_json()))
        self.forms = {
            "list": tokenizer.encode_raw,
            "array": tokenizer.encode_flat,
            "batch-lists": tokenizer.encode_batch,
            "batch-array": lambda texts: tokenizer.encode_batch_flat(texts)[0],
            "decode": tokenizer.decode_with_special,
        }


class RsBpe(OfItsOwn):
    name, module, distribution = "rs-bpe", "rs_bpe", "rs-bpe"
    _ENCODINGS: ClassVar = {"cl100k": "cl100k_base", "o200k": "o200k_base", "o200k-unsplit": "o200k_base"}

    def __init__(self, vocabulary: Vocabulary, threads: int = 1) -> None:
        openai: Any = import_module("rs_bpe").openai
        tokenizer = getattr(openai, self._ENCODINGS[vocabulary.name])()
        if vocabulary.split == "none":
            merges = tokenizer.bpe()
            self.forms = {"list": lambda text: merges.encode_via_backtracking(text.encode())}
            return
        self.forms = {
            "list": tokenizer.encode,
            "batch-lists": lambda texts: tokenizer.encode_batch(texts)[0],
            "count": tokenizer.count,
            "decode": tokenizer.decode,
        }


PEERS: dict[str, type[Peer]] = {
    peer.name: peer
    for peer in (
        Tokenmill,
        Before,
        Gigatoken,
        Fastokens,
        Quicktok,
        Splintr,
        Nanotoken,
        SentencePiece,
        Tokenizers1,
        Tokenizers,
        Transformers,
        Tiktoken,
        RsBpe,
    )
}


def installed() -> dict[str, str]:
    """The peers that can be imported here, with their versions."""
    found = {name: peer.installed_version() for name, peer in PEERS.items()}
    return {name: number for name, number in found.items() if number is not None}


def flat(result: Any) -> Any:
    """The ids that a form gave, in one array: for comparing, never inside a clock."""
    import numpy as np

    if isinstance(result, Mapping):
        ids, mask = (np.asarray(result[name]) for name in ("input_ids", "attention_mask"))
        assert ids.dtype == mask.dtype == np.dtype("int64")
        assert ids.shape == mask.shape
        return np.concatenate([ids.shape, ids.ravel(), mask.ravel()]).astype(np.uint32)
    if hasattr(result, "offsets") and hasattr(result, "row_offsets"):
        return np.concatenate([result.ids, result.offsets.ravel()]).astype(np.uint32)
    if isinstance(result, list) and result and isinstance(result[0], tuple):
        columns = [np.asarray(row[part]).ravel() for part in range(2) for row in result]
        return np.concatenate(columns).astype(np.uint32)
    if isinstance(result, bytes | bytearray):
        return np.frombuffer(result, dtype="<u4")
    if type(result).__module__.partition(".")[0] == "awkward":
        awkward = import_module("awkward")
        return np.asarray(awkward.to_numpy(awkward.flatten(result)), dtype=np.uint32)
    if isinstance(result, list) and result and isinstance(result[0], list):
        return np.concatenate([np.asarray(row, dtype=np.uint32) for row in result])
    return np.asarray(result, dtype=np.uint32)
