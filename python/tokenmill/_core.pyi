"""Types of the compiled part. `python -m mypy.stubtest tokenmill` holds them to the module.

Docstrings are written by `tests/stub_docs.py` from those of the Rust sources: change them there.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from inspect import Signature
from typing import Any, ClassVar, Literal, Protocol, final, overload, type_check_only

import numpy as np
import numpy.typing as npt

from .chat import ChatEncoding, Literals, RenderedChat, TrainOn
from .chunks import Chunk, Chunks
from .editing import Edit
from .embedding_plan import EmbeddingPlan
from .explain import Explanation
from .model_inputs import ModelInputs
from .ragged import Ragged, RaggedEncodings
from .stages import Audit, Plan
from .surgery import Surgery

__all__ = [
    "Appender",
    "ArrowBatch",
    "ArrowStream",
    "DecodeStream",
    "EncodedRows",
    "Encoding",
    "IntervalCounter",
    "LoadFinding",
    "LoadReport",
    "NGramModel",
    "Prepender",
    "PretokenTable",
    "ReadyIds",
    "Snapshot",
    "Tokenizer",
    "TrainingReport",
    "__version__",
    "best_fit_windows",
    "compare_tokenizers",
    "count_files",
    "count_texts",
    "encode_inputs",
    "encoded_rows_from_state",
    "encoding_from_state",
    "flat_rows",
    "force_cpu",
    "from_state",
    "from_tokenizer_json",
    "json_lines",
    "known_split",
    "load_file",
    "manifest_of_folder",
    "mask_rows",
    "not_text",
    "pad_rows",
    "position_rows",
    "register_hook",
    "special_literals",
    "train_counts",
    "train_files",
    "train_texts",
    "verify_folder",
    "written_stages",
]
__version__: str

_Changed = tuple[
    Tokenizer,
    npt.NDArray[np.int64],
    tuple[str, bool, int | None, tuple[bytes, ...], tuple[int, ...]],
]
_Bytes = bytes  # for the class that has a property of this name
_Text = str | bytes | bytearray | memoryview
_Words = Sequence[_Text]
_Buffer = bytes | bytearray | memoryview

@type_check_only
class _CallSignature:
    def __get__(self, instance: Tokenizer, owner: object = None, /) -> Signature: ...

_Special = Literal["text", "parse", "raise"] | AbstractSet[str]
_Ranges = Sequence[Sequence[int]] | npt.NDArray[np.integer[Any]]  # pairs (start, stop)
_Tokens = Collection[str | int]
_Surrogates = Literal["replace", "error"]
_Truncation = Literal["longest_first", "only_first", "only_second"] | bool | None
_Padding = Literal["longest", "max_length"] | bool | None
_Side = Literal["left", "right"]
_Border = Literal["character", "grapheme", "word", "sentence", "line"]
_Unit = Literal["characters", "bytes"]
_Oversize = Literal["split", "error", "keep"]
_Ids = Sequence[int] | npt.NDArray[Any]
_SpecialTokens = Sequence[str] | Mapping[str, int] | None
_Normalizer = Callable[[str], str | Iterable[tuple[str, int, int]]]
_Splitter = Callable[[str], Iterable[tuple[int, int]] | Iterable[str]]
_Conversation = Sequence[Mapping[str, Any]]
_Tool = Mapping[str, Any] | Callable[..., Any]
_Progress = Callable[[str, int, int], object] | None

@type_check_only
class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None, /) -> tuple[object, object]: ...

@type_check_only
class _ArrowStreamable(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None, /) -> object: ...

@final
class ArrowBatch:
    """A batch with columns of ids and counts. Any Arrow library takes it: `pyarrow.record_batch(batch)`."""
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...

@final
class ArrowStream:
    """Batches with columns of ids and counts, each of which is made when it is asked for. Any Arrow library takes it:
    `pyarrow.RecordBatchReader.from_stream(stream)`, `pyarrow.table(stream)`, `polars.DataFrame(stream)`.
    """
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Encoding:
    """Ids, each with the part of the text that it stands for.

    All lists have one entry per id. `offsets` count characters of the given text, `byte_offsets`
    bytes of its UTF-8; both are half-open, and non-decreasing in each sequence. A token that splits
    a character has the whole character as its `offsets`. Special tokens and padding that were added
    have `(0, 0)`, and no word and no sequence.

    Each list is made when it is first asked for, and kept: `encoding.ids is encoding.ids`. It is
    yours to read; changing it changes neither the encoding nor what its methods return, but what
    this attribute shows from then on. Encodings can be copied and pickled: a pickle has the tokens
    of the ids in it, so it is read without the tokenizer.
    """
    @property
    def ids(self) -> list[int]:
        """The ids."""
    @property
    def tokens(self) -> list[str]:
        """The tokens in the written form of their format (`Ġworld`)."""
    @property
    def surface_tokens(self) -> list[str]:
        """The tokens as the tokenizers library has them: added tokens, and text unknown to a Unigram
        model, appear as in the normalized text.
        """
    @property
    def offsets(self) -> list[tuple[int, int]]:
        """`(start, end)` in characters."""
    @property
    def byte_offsets(self) -> list[tuple[int, int]]:
        """`(start, end)` in bytes."""
    @property
    def type_ids(self) -> list[int]:
        """The type of each id, as set by the file's post-processor; without one, 1 for ids of the
        second sequence.
        """
    @property
    def attention_mask(self) -> list[int]:
        """0 for padding, 1 for everything else."""
    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for everything that was added to the text, including padding, 0 for everything else."""
    @property
    def word_ids(self) -> list[int | None]:
        """The index of the pretoken in its sequence (an added token in the text counts as one), or of
        the given word; None for ids that were added.
        """
    @property
    def sequence_ids(self) -> list[int | None]:
        """0 for ids of the text, 1 for those of its pair, None for ids that were added."""
    @property
    def n_sequences(self) -> int:
        """Number of texts: 2 with a pair."""
    @property
    def overflowing(self) -> list[Encoding]:
        """The windows after this one, if the text was truncated; they have none of their own."""
    def char_to_token(self, char: int, sequence: int = 0) -> int | None:
        """The index of the first id that stands for a character of a sequence, or None."""
    def token_to_chars(self, token: int) -> tuple[int, int] | None:
        """The characters that the id at an index stands for, or None for an id that was added."""
    def token_to_word(self, token: int) -> int | None:
        """The word of the id at an index, or None for an id that was added."""
    def word_to_tokens(self, word: int, sequence: int = 0) -> tuple[int, int] | None:
        """The indices of the ids of a word, `(start, end)`, or None."""
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def _repr_html_(self) -> str:
        """What a notebook shows. The lists of the attributes are not made for it: they are kept, and may be long."""
    def __copy__(self) -> Encoding: ...
    def __deepcopy__(self, memo: Any, /) -> Encoding: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class EncodedRows:
    """Encodings that are not Python objects yet. All of them share one table of the written forms of ids."""
    def part(self, start: int, step: int, count: int, /) -> EncodedRows:
        """`count` rows from `start` on, by steps."""
    def take(self, rows: list[int], /) -> EncodedRows:
        """The rows of these numbers."""
    def byte_offsets(self, start: int, step: int, count: int, /) -> npt.NDArray[np.int64]:
        """Start and end of each id of `count` rows from `start` on, by steps, one after the other, in bytes."""
    def encodings(self) -> list[Encoding]:
        """A new `Encoding` for each row."""
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Appender:
    """Counts the ids of a text that grows at its end; made by `Tokenizer.appender`.

    After each `push`, `token_count` is what `count` gives for the text so far, and `ids()` what `encode` gives.
    For one thread at a time. Cost: constant per character, on average; linear in the text so far where `plan()`
    says so.
    """
    def push(self, text: _Text, /) -> None:
        """Appends a piece of text, or of bytes where `encode` takes them.

        Errors are those of `encode` for the whole text, which is then as it was before.
        """
    @property
    def token_count(self) -> int:
        """The number of ids of the text so far."""
    def ids(self) -> list[int]:
        """The ids of the text so far, a new list."""
    def truncate(self, length: int, /) -> None:
        """Cuts the text to its first `length` characters, or bytes if bytes were pushed.

        Raises `BudgetError` if it is shorter.
        """
    def snapshot(self) -> Snapshot:
        """The text so far, for `restore`. Cost: constant; nothing is copied."""
    def restore(self, snapshot: Snapshot, /) -> None:
        """Removes everything that was pushed since a snapshot was taken.

        Raises `BudgetError` for a snapshot of another appender, and if the text was cut to less than it had then.
        """
    @property
    def stable_length(self) -> int:
        """A number of characters (bytes, if bytes were pushed) up to which nothing that is pushed later changes the
        ids: the first `stable_count` ones. Sound, but not always the largest such number; it may be 0.
        """
    @property
    def stable_count(self) -> int:
        """The number of ids, the first ones of the text, that nothing that is pushed later changes: those of the first
        `stable_length` characters. Special tokens around the text do not count.
        """
    def __len__(self) -> int: ...

@final
class Prepender:
    """Counts the ids of a text that grows at its start; made by `Tokenizer.prepender`.

    After each `push`, `token_count` is what `count` gives for the text so far, and `ids()` what `encode` gives, at the
    cost of encoding it. For one thread at a time. Cost of a push: constant per character, on average; linear in the
    text so far where the table in docs/budgets.md says so.
    """
    def push(self, text: _Text, /) -> None:
        """Puts a piece of text in front, or of bytes where `encode` takes them.

        Errors are those of `encode` for the whole text, which is then as it was before.
        """
    @property
    def token_count(self) -> int:
        """The number of ids of the text so far."""
    def ids(self) -> list[int]:
        """The ids of the text so far, a new list."""
    def truncate(self, length: int, /) -> None:
        """Cuts the text to its last `length` characters, or bytes if bytes were pushed.

        Raises `BudgetError` if it is shorter.
        """
    def snapshot(self) -> Snapshot:
        """The text so far, for `restore`. Cost: constant; nothing is copied."""
    def restore(self, snapshot: Snapshot, /) -> None:
        """Removes everything that was pushed since a snapshot was taken.

        Raises `BudgetError` for a snapshot of another prepender, and if the text was cut to less than it had then.
        """
    @property
    def stable_length(self) -> int:
        """A number of characters (bytes, if bytes were pushed) at the end of the text whose ids, the last `stable_count`
        ones, nothing that is pushed later changes. Sound, but not always the largest such number; it may be 0.
        """
    @property
    def stable_count(self) -> int:
        """The number of ids, the last ones of the text, that nothing that is pushed later changes: those of the last
        `stable_length` characters. Special tokens around the text do not count.
        """
    def __len__(self) -> int: ...

@final
class IntervalCounter:
    """Counts the ids of any range of a text; made by `Tokenizer.interval_counter`.

    A count is what `Tokenizer.count` gives for `text[start:stop]`. It takes constant time, except for ranges inside a
    long pretoken and for the tokenizers listed in docs/budgets.md. Positions are in characters, or with `unit="bytes"`
    in bytes of UTF-8. Safe to share between threads.
    """
    def count(self, start: int, stop: int, unit: _Unit = "characters") -> int:
        """The number of ids of the range from `start` to `stop`.

        Raises `BudgetError` for a range outside the text, and what `encode` raises for bytes inside a character.
        """
    def count_many(
        self, ranges: _Ranges, unit: _Unit = "characters", *, num_threads: int = 1
    ) -> npt.NDArray[np.int64]:
        """The numbers of ids of many ranges, as an int64 array of shape `(n,)`. `ranges` is a sequence of `(start, stop)`
        pairs, or an integer array of shape `(n, 2)`.

        Raises what `count` raises; the error names the index of the range.
        """
    def fits(self, start: int, n: int, unit: _Unit = "characters") -> int:
        """The largest stop for which the range from `start` has at most `n` ids.

        Raises `BudgetError` if `start` is outside the text or inside a character, or if the special tokens alone are more
        than `n`.
        """
    def __len__(self) -> int: ...
    @property
    def memory(self) -> int:
        """The memory it uses, in bytes."""

@final
class NGramModel:
    """Placeholder text from a corpus: which token follows which, how often, and the bytes of each token.

    `train` makes one, `load` reads one that was saved. It needs no tokenizer to make text. It never changes, and is
    safe to share between threads.

    >>> from tokenmill.placeholder import NGramModel
    >>> text = "The cat sat. The dog sat. The cat ran. "
    >>> tok = tokenmill.train(texts=[text], num_merges=10)
    >>> model = NGramModel.train(tok, texts=[text])
    >>> model.generate(words=5, seed=1).endswith(".")
    True
    """
    @classmethod
    def train(
        cls,
        tok: Tokenizer,
        *,
        files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
        texts: Iterable[str] | None = None,
        ids: _Ids | None = None,
        order: Literal[2, 3] = 2,
    ) -> NGramModel:
        """Counts which token follows which in a corpus.

        The corpus is one of `files` (as for `tokenmill.train`: paths, globs, folders and URLs, of text and of rows), `texts`
        (an iterable of `str`, each a document) and `ids` (what `tok` made of a text before). Documents are encoded one by one,
        without special tokens around them, and joined in their order: where one does not end in white space, a line end is
        put after it. The end of the corpus is followed by its start. With `order=2` a token depends on the one before it,
        with `order=3` on the two before it.

        Raises `TrainingError` for an empty corpus and for files that are not text, `VocabularyError` for an id that `tok` does
        not have. Cost: linear, in time and memory.

        >>> from tokenmill.placeholder import NGramModel
        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> NGramModel.train(tok, ids=tok.encode("low lower "), order=3)
        NGramModel(order=3, tokens=6, contexts=5, ngrams=6)
        """
    @staticmethod
    def load(path: str | os.PathLike[str]) -> NGramModel:
        """A model that `save` wrote. The file stays mapped: loading takes the same time for every size, and its pages are
        shared between processes.

        Only the header and the size are checked, and every number when it is used: `FormatError` for what is damaged there.
        `verify` checks all. A file that is mapped must not be shortened in place; saving over it is safe.
        """
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file, which is replaced as a whole or not at all. The same model gives the same bytes on every
        machine.
        """
    def verify(self) -> None:
        """Checks every number of the model, and the checksum of the file that it was loaded from. Raises `FormatError`, whose
        `field` says where the first fault is.
        """
    def generate(
        self,
        *,
        words: int | None = None,
        tokens: int | None = None,
        sentences: int | None = None,
        characters: int | None = None,
        seed: int | None = None,
        start: str | _Ids | None = None,
        exact: bool = False,
    ) -> str:
        """Draws a text, of exactly one of `words` (what white space separates), `tokens`, `sentences` and `characters`.

        It ends at the first end of a sentence from that amount on, inside a token if need be; with `exact=True` it is cut
        there and closed with a full stop. So it is where no sentence ends within 512 tokens; a corpus without white space, which has no
        words to count, gives 64 tokens for each and 512 more. A sentence ends at `.`, `!`, `?` or `…`, with closing quotes and
        brackets, before white space (at `。`, `！`, `？` before anything), but not at an abbreviation such as `Mr.` or `M.`

        The text begins with a sentence, or with `start`: a text, which has to be spelled by tokens that follow one another in
        the corpus, or ids, of which the last have to stand together there (else `VocabularyError`). The same `seed`, from 0 to
        2**64 - 1, gives the same text on every machine; without one the system chooses.

        >>> from tokenmill.placeholder import NGramModel
        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> model = NGramModel.train(tok, texts=["One, two. Three, four! "])
        >>> len(model.generate(words=3, seed=0, exact=True).split())
        3
        """
    def generate_ids(self, n: int, *, seed: int | None = None, start: str | _Ids | None = None) -> list[int]:
        """Draws ids: of every `order` that stand together, the last follows the others somewhere in the corpus. They begin
        with `start`, or anywhere. Raises what `generate` raises.

        >>> from tokenmill.placeholder import NGramModel
        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> NGramModel.train(tok, ids=[1, 2, 3]).generate_ids(5, start=[2])
        [2, 3, 1, 2, 3]
        """
    def successors(self, context: _Ids) -> list[tuple[int, int]]:
        """The ids that follow a context of `order - 1` ids, ascending, each with how often it does. None follow what the corpus
        does not have.

        >>> from tokenmill.placeholder import NGramModel
        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> NGramModel.train(tok, ids=[1, 2, 1, 3, 1, 2]).successors([1])
        [(2, 2), (3, 1)]
        """
    @property
    def order(self) -> int:
        """How many tokens an n-gram has: 2 or 3."""
    @property
    def tokens(self) -> int:
        """How many tokens the corpus has."""
    @property
    def contexts(self) -> int:
        """How many different contexts there are."""
    @property
    def ngrams(self) -> int:
        """How many different n-grams there are."""
    @property
    def memory(self) -> int:
        """The memory it uses, in bytes, without a file that is mapped."""

@final
class Snapshot:
    """A text that an appender or a prepender can go back to; made by `Appender.snapshot` and `Prepender.snapshot`."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class DecodeStream:
    """Decodes ids one at a time; made by `Tokenizer.decode_stream`.

    `step` returns the text that is certain after an id, which may be empty; `finish` returns the
    rest. The joined pieces are the result of `decode` for all ids, and no piece ends inside a
    character. For one thread at a time. Cost: constant per id, on average.
    """
    def step(self, id: int, /) -> str:
        """Takes the next id and returns the text that is certain now.

        Raises `VocabularyError` for an id that does not exist, and with `errors="strict"`
        `UnicodeDecodeError` for bytes that are no text; the id is then not taken.
        """
    def extend(self, ids: _Ids, /) -> str:
        """Takes many ids, as `decode` does, and returns the text that is certain then.

        Raises `VocabularyError` for an id that does not exist, and with `errors="strict"`
        `UnicodeDecodeError` for bytes that are no text; then none of the ids is taken.
        """
    def finish(self) -> str:
        """Ends the ids and returns the rest of the text. The stream starts anew."""
    def reset(self) -> None:
        """Drops the ids so far. The stream starts anew."""

@final
class ReadyIds:
    """The `int` objects of the ids 0, 1, 2, ... of a tokenizer. Lists of ids reuse them, which takes a
    fifth of the time of making new objects.
    """
    def rows(self, ids: npt.NDArray[Any], row_offsets: npt.NDArray[np.int64], /) -> list[list[int]]:
        """A list for each row of ids: `row_offsets` has the start of each row in `ids`, and the end of
        the last one.
        """

@final
class LoadFinding:
    """A defect that `tokenmill.load` tolerated. With `strict=True` it is a `FormatError` with the same
    kind, file, field and reason.
    """
    @property
    def kind(self) -> str:
        """The kind of defect, a stable word."""
    @property
    def file(self) -> str:
        """The name of the file."""
    @property
    def field(self) -> str:
        """The field or line in the file."""
    @property
    def reason(self) -> str:
        """What was found, and how it was read."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class LoadReport:
    """The findings of `tokenmill.load`: the files that were read, tolerated defects, and decisions."""
    @property
    def files(self) -> dict[str, list[str]]:
        """The parts that each file supplied, by the name of the file; a new dict at every access."""
    @property
    def tolerated(self) -> list[LoadFinding]:
        """The tolerated defects, in order; a new list at every access. Of many defects of one kind in
        one place the first hundred are listed.
        """
    @property
    def notes(self) -> list[str]:
        """The decisions made, with reasons; a new list at every access."""

@final
class TrainingReport:
    """The report of a training run."""
    @property
    def documents(self) -> int:
        """Documents counted."""
    @property
    def skipped(self) -> int:
        """Documents left out because they are not UTF-8 (`errors="skip"`)."""
    @property
    def replaced(self) -> int:
        """Documents in which U+FFFD replaces invalid UTF-8 (`errors="replace"`)."""
    @property
    def bytes(self) -> int:
        """Bytes of the documents counted."""
    @property
    def pretokens(self) -> int:
        """Pretokens counted."""
    @property
    def distinct_pretokens(self) -> int:
        """Distinct pretokens."""
    @property
    def merges(self) -> list[tuple[_Bytes, _Bytes, int]]:
        """Each merge as (left, right, count when it was chosen), in order; of WordPiece as the parts are written."""
    @property
    def stopped_early(self) -> str | None:
        """Why there are fewer merges than requested (`"no-pair-left"`, `"min-frequency"`,
        `"max-token-length"`), or None.
        """
    @property
    def phases(self) -> dict[str, float]:
        """Wall seconds by phase, in order."""

@final
class Tokenizer:
    """A tokenizer: text to ids and back.

    It never changes; methods that modify return a new one. It may be shared between threads, forked
    and pickled. Make one with `tokenmill.train`, `tokenmill.load` or the constructors
    `from_tokens`, `from_merges` and `from_pairs`. Called with a text or a list of texts, it returns
    input of a model: special tokens, truncation and padding (`help(Tokenizer.__call__)`).
    """
    @staticmethod
    def from_tokens(
        tokens: Sequence[bytes], *, split: str = "none", special_tokens: _SpecialTokens = None
    ) -> Tokenizer:
        """A tokenizer from an ordered list of tokens: ids are indices, and any two neighbours whose
        joined bytes are a token merge, lowest id first, leftmost first.

        Special tokens take the ids after the list. A table says nothing about how text is split, so
        that it is not, unless `split` says how. Raises `FormatError` for an invalid vocabulary (empty
        or repeated tokens).

        >>> tok = tokenmill.Tokenizer.from_tokens([b"a", b"b", b"ab"])
        >>> tok.encode("abb")
        [2, 1]
        """
    @staticmethod
    def from_merges(
        vocab: Mapping[str, int] | Mapping[bytes, int],
        merges: Sequence[tuple[str, str]] | Sequence[tuple[bytes, bytes]],
        *,
        split: str = "none",
        special_tokens: _SpecialTokens = None,
    ) -> Tokenizer:
        """A tokenizer from ids by token and merges in rank order, over bytes.

        Tokens are `bytes`, or `str` in the byte alphabet (`Ġworld`). Raises `FormatError` that
        names the merge with a missing part or result, or the wrong entry.

        >>> tok = tokenmill.Tokenizer.from_merges({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
        >>> tok.encode("abb")
        [2, 1]
        """
    @staticmethod
    def from_ranks(
        ranks: Mapping[bytes, int],
        *,
        split: str = "none",
        unmatched: Literal["keep", "drop"] = "keep",
        whole_pretokens: bool = True,
        special_tokens: _SpecialTokens = None,
    ) -> Tokenizer:
        """A tokenizer from ranks, as in tiktoken: a rank is the id of its token, and any two
        neighbours whose joined bytes are a token merge, lowest rank first, leftmost first. Ranks
        may have gaps.

        `unmatched` is the policy for text that the split does not match: `"keep"`, or `"drop"` as
        in tiktoken. With `whole_pretokens` a pretoken that is a token becomes that token, even if
        merging gives another result. Raises `FormatError` for invalid ranks (empty tokens, repeated
        ranks).

        >>> tok = tokenmill.Tokenizer.from_ranks({b"a": 0, b"b": 1, b"ab": 5})
        >>> tok.encode("abb")
        [5, 1]
        """
    @staticmethod
    def from_pairs(
        pairs: Sequence[tuple[int, int]], *, split: str = "none", special_tokens: _SpecialTokens = None
    ) -> Tokenizer:
        """A tokenizer from pairs of ids: ids 0 to 255 are the bytes, and the pairs become 256, 257, ...
        in order, which is also the order of the merges.

        Raises `VocabularyError` that names a pair of ids that do not exist yet.

        >>> tok = tokenmill.Tokenizer.from_pairs([(97, 98), (256, 98)])
        >>> tok.encode("abb")
        [257]
        """
    def encode(
        self,
        text: _Text,
        *,
        add_special_tokens: bool = False,
        special: _Special = "text",
        untrusted: _Ranges | None = None,
        protected: _Tokens | None = None,
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> list[int]:
        """The ids of a text.

        `special` is the meaning of a special token's literal in the text: `"text"` plain text,
        `"parse"` the token, `"raise"` a `SpecialTokenError`, or a set of the literals to recognise.
        `add_special_tokens` adds the special tokens that the file puts around a text. `surrogates`
        is `"replace"` (lone ones become U+FFFD, pairs are joined) or `"error"`. A long text is cut
        for several threads where that cannot change the ids (`num_threads=None`: all cores). Raises
        `UnknownTokenError` for text that the vocabulary cannot spell. Cost: at most n log n, for
        any text.

        `untrusted` names the parts of the text that others wrote, as pairs (start, stop) in
        characters (for bytes in bytes), in any order, or as an integer array of shape (n, 2). A
        literal that holds an untrusted character, even if only one, is plain text if its token is
        special or in `protected`, which holds added tokens by literal or id. A shorter literal may
        match in its place, or one inside it; all else is encoded as in the whole text. A pair that
        is not in the text is a `ValueError`, an unknown token in `protected` a `SpecialTokenError`
        or, for an id, a `VocabularyError`. Such a text is encoded on one thread.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2, special_tokens=["<|end|>"])
        >>> tok.encode("low<|end|>", special="parse")
        [258, 0]
        >>> tok.encode("low<|end|>low<|end|>", special="parse", untrusted=[(10, 20)])
        [258, 0, 258, 61, 125, 102, 111, 101, 125, 63]
        """
    def encode_to_numpy(
        self,
        text: _Text,
        *,
        dtype: npt.DTypeLike = "uint32",
        out: npt.NDArray[Any] | None = None,
        add_special_tokens: bool = False,
        special: _Special = "text",
        untrusted: _Ranges | None = None,
        protected: _Tokens | None = None,
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> npt.NDArray[Any]:
        """As `encode`, into a numpy array.

        `dtype` is uint16, uint32, int32, int64 or uint64; one that cannot hold the largest id is a
        `ValueError`. With `out=`, an array of one of these types, the ids fill it from the front
        and the filled view is returned; if it is too small, a `ValueError` names the required size.
        A `dtype` given with `out` must be that of the array.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> tok.encode_to_numpy("low low", dtype="uint16")
        array([257,  32, 257], dtype=uint16)
        """
    def _repr_html_(self) -> str:
        """What a notebook shows."""
    def _manifest(self, manifest: Mapping[str, object] | None = None) -> str:
        """The manifest, as JSON, that saving into a new folder writes; `manifest` is as in `save`."""
    @property
    def _hook_names(self) -> list[str | None]:
        """The functions of Python that it calls: their names, None for one without."""
    @overload
    def encode_arrow(
        self,
        data: _ArrowArray,
        column: str = "text",
        *,
        ids_column: str | None = "ids",
        count_column: str | None = "n_tokens",
        dtype: npt.DTypeLike = "uint32",
        offsets: bool = False,
        add_special_tokens: bool = False,
        special: _Special = "text",
        num_threads: int | None = 1,
    ) -> ArrowBatch:
        """The ids of a column of texts, as new columns beside those that are there.

        `data` is what exports Arrow's C data or stream interface: a batch, table or reader of
        pyarrow, a frame of Polars, a relation of DuckDB. Its columns are passed on without a copy,
        nulls and metadata of the schema included. A batch gives an `ArrowBatch`, anything else a
        lazy `ArrowStream`: each of its batches is encoded when a consumer asks for it, so that
        memory is that of one batch and its ids. Neither needs pyarrow.

        `column` holds text: string, large_string, string_view, the three of binary, or a dictionary
        of one of these. `ids_column` is the name of a `large_list` of `dtype` (uint16, uint32,
        int32, int64 or uint64), `count_column` of the number of ids (int64). Both are null where the
        text is. None leaves a column out; without `ids_column` no ids are stored. `offsets=True`
        adds `starts` and `ends`, a `large_list` of uint32 each: the part of the text that each id
        stands for, in characters (of a binary column as for `bytes`).

        Raises `ValueError` for a column that is missing, a name that is there already and a `dtype`
        that cannot hold the largest id, `TypeError` for a column of another type, both before the
        first batch, and what `encode` raises, with the row. Within a stream an error reaches the
        consumer as its own library's, with our message and the number of the row in the stream.

        >>> import pyarrow as pa
        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> batch = pa.record_batch({"id": [1, 2], "text": ["low", None]})
        >>> pa.record_batch(tok.encode_arrow(batch)).to_pylist()
        [{'id': 1, 'text': 'low', 'ids': [257], 'n_tokens': 1}, {'id': 2, 'text': None, 'ids': None, 'n_tokens': None}]
        """
    @overload
    def encode_arrow(
        self,
        data: _ArrowStreamable,
        column: str = "text",
        *,
        ids_column: str | None = "ids",
        count_column: str | None = "n_tokens",
        dtype: npt.DTypeLike = "uint32",
        offsets: bool = False,
        add_special_tokens: bool = False,
        special: _Special = "text",
        num_threads: int | None = 1,
    ) -> ArrowStream: ...
    @overload
    def encode_batch(
        self,
        texts: Iterable[_Text] | _ArrowArray | _ArrowStreamable,
        *,
        dtype: npt.DTypeLike = "uint32",
        offsets: Literal[False] = False,
        add_special_tokens: bool = False,
        special: _Special = "text",
        untrusted: Sequence[_Ranges | None] | None = None,
        protected: _Tokens | Sequence[_Tokens | None] | None = None,
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> Ragged:
        """The ids of many texts, as a `Ragged`: flat ids and the offset of each row.

        Rows are the same as from `encode`, for every `num_threads`. `texts` is an iterable of
        texts, or an Arrow array or stream of strings or bytes (`encode_arrow` says of which types),
        which is read without making Python strings: a null gives an empty row, and stays null in
        `Ragged.to_arrow()`. With `offsets`, the result is a `RaggedEncodings`, which also has the
        part of its text that each id stands for, in characters and in bytes, as from
        `encode_with_offsets`. `untrusted` has for each text what `encode` takes, or None;
        `protected` is one collection for all texts, or one for each. Raises what `encode` raises; the
        message names the text, as `texts[3]`.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> batch = tok.encode_batch(["low", "", "lower"])
        >>> batch.ids, batch.row_offsets
        (array([257, 257, 101, 114], dtype=uint32), array([0, 1, 1, 4]))
        """
    @overload
    def encode_batch(
        self,
        texts: Iterable[_Text] | _ArrowArray | _ArrowStreamable,
        *,
        dtype: npt.DTypeLike = "uint32",
        offsets: Literal[True],
        add_special_tokens: bool = False,
        special: _Special = "text",
        untrusted: Sequence[_Ranges | None] | None = None,
        protected: _Tokens | Sequence[_Tokens | None] | None = None,
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> RaggedEncodings: ...
    @overload
    def encode_with_offsets(
        self,
        text: _Text,
        pair: _Text | None = None,
        *,
        add_special_tokens: bool = False,
        is_pretokenized: Literal[False] = False,
        special: _Special = "text",
        untrusted: _Ranges | None = None,
        protected: _Tokens | None = None,
        surrogates: _Surrogates = "replace",
    ) -> Encoding:
        """The ids of a text, each with the part of the text that it stands for, as an `Encoding`.

        With `pair`, of two texts. With `is_pretokenized`, a text is a sequence of words: each word
        is encoded as a text of its own, offsets count within the word, and `word_ids` are the
        indices of the words. `untrusted` and `protected` are as for `encode`, for one text that is
        no list of words. Raises what `encode` raises.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> tok.encode_with_offsets("lower").offsets
        [(0, 3), (3, 4), (4, 5)]
        """
    @overload
    def encode_with_offsets(
        self,
        text: Sequence[_Text],
        pair: Sequence[_Text] | None = None,
        *,
        add_special_tokens: bool = False,
        is_pretokenized: Literal[True],
        special: _Special = "text",
        untrusted: None = None,
        protected: _Tokens | None = None,
        surrogates: _Surrogates = "replace",
    ) -> Encoding: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self,
        text: _Text,
        pair: _Text | None = None,
        *,
        add_special_tokens: bool = True,
        truncation: _Truncation = None,
        padding: _Padding = None,
        max_length: int | None = None,
        stride: int | None = None,
        pad_to_multiple_of: int | None = None,
        truncation_side: _Side | None = None,
        padding_side: _Side | None = None,
        pad_id: int | None = None,
        is_pretokenized: Literal[False] = False,
        return_tensors: None = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        return_position_ids: bool = False,
        dtype: npt.DTypeLike = "int64",
        out: npt.NDArray[Any] | Mapping[str, npt.NDArray[Any]] | None = None,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> Encoding:
        """Encodes a text as input of a model: an `Encoding`. For a list of texts, a list of them. With
        `return_tensors`, arrays: `ModelInputs`.

        `pair` is a second text, or a list of as many. With `is_pretokenized` a text is a list of words:
        each word is encoded as a text of its own, offsets count within it, and `word_ids` are its index.
        `add_special_tokens` adds the tokens that the file puts around a text or a pair; `special` and
        `surrogates` are as for `encode`.

        Lengths count ids, special tokens included:

        - `truncation` cuts to `max_length`: True as the file says, or `"longest_first"`, `"only_first"`,
          `"only_second"`; False does not cut. None cuts if `max_length` is given and there is no
          `padding`. `truncation_side` is `"right"` or `"left"`. The windows after the first one are its
          `overflowing`; neighbours share `stride` ids.
        - `padding` is True (as the file says, else to the longest of the list), `"longest"` or
          `"max_length"`, on `padding_side`, up to a multiple of `pad_to_multiple_of`, with the padding
          token of the file or with `pad_id`.

        `return_tensors` is `"np"` for numpy or `"pt"` for torch, which shares the memory. Then all rows must
        be equally long. The arrays have the names of transformers, and a row for each text:

        - `input_ids` and, unless `return_attention_mask` is False, `attention_mask`;
        - `token_type_ids` by `return_token_type_ids` (None: if the tokenizer has a `[CLS]` token and its file
          gives a pair more than one type), `special_tokens_mask` by `return_special_tokens_mask`;
        - `position_ids` by `return_position_ids`, counted from the first id that is no padding;
        - `offset_mapping` by `return_offsets_mapping`: rows x length x 2, in characters;
        - `length` by `return_length`: that of the rows, padding included;
        - with `return_overflowing_tokens` windows are rows, too, and `overflow_to_sample_mapping` has the
          index of the text of each row.

        `dtype` is that of ids and masks, the others are int64. `out` is an array for `input_ids`, or a mapping
        from names to arrays, at least as large: they are filled, and views of them come back.

        The texts of a list are shared among `num_threads` threads, None for all cores; the result is the
        same.

        Raises `UnknownTokenError` for text that the vocabulary cannot spell, `SpecialTokenError` as
        `special` says, `MissingExtraError` where torch is not installed, and `ValueError` for what cannot be:
        a `max_length` without room for the special tokens, a `stride` that is not below it, truncation to a
        `max_length` that `pad_to_multiple_of` does not divide, padding without a padding token, arrays of
        rows of unequal length. Where a text of several is at fault the message names it: `text[3]`, `pair[3]`, or
        `text[3][2]` for a word.

        >>> import tokenmill
        >>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
        >>> [encoding.tokens for encoding in tok(["lower", "low"], max_length=2)]
        [['low', 'e'], ['low']]
        >>> tok(["lower", "low"], padding=True, pad_id=0, return_tensors="np")["input_ids"]
        array([[257, 101, 114],
               [257,   0,   0]])
        >>> tok(["low", "lower"], "lowest", is_pretokenized=True)
        Traceback (most recent call last):
            ...
        TypeError: pair must be a sequence of words where is_pretokenized is set, not str
        """
    @overload
    def __call__(
        self,
        text: Sequence[_Text],
        pair: Sequence[_Text] | None = None,
        *,
        add_special_tokens: bool = True,
        truncation: _Truncation = None,
        padding: _Padding = None,
        max_length: int | None = None,
        stride: int | None = None,
        pad_to_multiple_of: int | None = None,
        truncation_side: _Side | None = None,
        padding_side: _Side | None = None,
        pad_id: int | None = None,
        is_pretokenized: Literal[False] = False,
        return_tensors: None = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        return_position_ids: bool = False,
        dtype: npt.DTypeLike = "int64",
        out: npt.NDArray[Any] | Mapping[str, npt.NDArray[Any]] | None = None,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> list[Encoding]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self,
        text: _Words,
        pair: _Words | None = None,
        *,
        add_special_tokens: bool = True,
        truncation: _Truncation = None,
        padding: _Padding = None,
        max_length: int | None = None,
        stride: int | None = None,
        pad_to_multiple_of: int | None = None,
        truncation_side: _Side | None = None,
        padding_side: _Side | None = None,
        pad_id: int | None = None,
        is_pretokenized: Literal[True],
        return_tensors: None = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        return_position_ids: bool = False,
        dtype: npt.DTypeLike = "int64",
        out: npt.NDArray[Any] | Mapping[str, npt.NDArray[Any]] | None = None,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> Encoding: ...
    @overload
    def __call__(
        self,
        text: Sequence[_Words],
        pair: Sequence[_Words] | None = None,
        *,
        add_special_tokens: bool = True,
        truncation: _Truncation = None,
        padding: _Padding = None,
        max_length: int | None = None,
        stride: int | None = None,
        pad_to_multiple_of: int | None = None,
        truncation_side: _Side | None = None,
        padding_side: _Side | None = None,
        pad_id: int | None = None,
        is_pretokenized: Literal[True],
        return_tensors: None = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        return_position_ids: bool = False,
        dtype: npt.DTypeLike = "int64",
        out: npt.NDArray[Any] | Mapping[str, npt.NDArray[Any]] | None = None,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> list[Encoding]: ...
    @overload
    def __call__(
        self,
        text: _Text | Sequence[_Text],
        pair: _Text | Sequence[_Text] | None = None,
        *,
        add_special_tokens: bool = True,
        truncation: _Truncation = None,
        padding: _Padding = None,
        max_length: int | None = None,
        stride: int | None = None,
        pad_to_multiple_of: int | None = None,
        truncation_side: _Side | None = None,
        padding_side: _Side | None = None,
        pad_id: int | None = None,
        is_pretokenized: Literal[False] = False,
        return_tensors: Literal["np", "pt"],
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        return_position_ids: bool = False,
        dtype: npt.DTypeLike = "int64",
        out: npt.NDArray[Any] | Mapping[str, npt.NDArray[Any]] | None = None,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> ModelInputs: ...
    @overload
    def __call__(
        self,
        text: _Words | Sequence[_Words],
        pair: _Words | Sequence[_Words] | None = None,
        *,
        add_special_tokens: bool = True,
        truncation: _Truncation = None,
        padding: _Padding = None,
        max_length: int | None = None,
        stride: int | None = None,
        pad_to_multiple_of: int | None = None,
        truncation_side: _Side | None = None,
        padding_side: _Side | None = None,
        pad_id: int | None = None,
        is_pretokenized: Literal[True],
        return_tensors: Literal["np", "pt"],
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        return_position_ids: bool = False,
        dtype: npt.DTypeLike = "int64",
        out: npt.NDArray[Any] | Mapping[str, npt.NDArray[Any]] | None = None,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> ModelInputs: ...
    def pad_batch(
        self,
        rows: Ragged | Mapping[str, Any] | Sequence[Any] | npt.NDArray[Any],
        *,
        padding: _Padding = True,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: _Side | None = None,
        pad_id: int | None = None,
        pad_values: Mapping[str, int | float] | None = None,
        own_length: Sequence[str] = (),
        return_tensors: Literal["np", "pt"] = "np",
        return_token_type_ids: bool = False,
        return_attention_mask: bool = True,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        return_position_ids: bool = False,
        position_offset: int | Sequence[int] | npt.NDArray[Any] = 0,
        dtype: npt.DTypeLike = "int64",
        out: npt.NDArray[Any] | Mapping[str, npt.NDArray[Any]] | None = None,
        num_threads: int | None = 1,
    ) -> ModelInputs:
        """Rows of ids as arrays of equal length: `ModelInputs`.

        `rows` is a list of rows (lists of ids, arrays, `Encoding`s, or mappings with `input_ids` and
        more columns), a `Ragged`, or a mapping of columns. `padding`, `max_length`,
        `pad_to_multiple_of`, `padding_side`, `pad_id`, `return_tensors`, `dtype`, `out` and
        `num_threads` are as for a call. Nothing is cut: whatever `padding` is, a row longer than
        `max_length` (up to the next multiple of `pad_to_multiple_of`) is an error.

        A column with a list in each row is padded beside `input_ids`: `labels` with -100, masks with 0
        (`special_tokens_mask` with 1), `token_type_ids`, `position_ids` and `document_ids` as their
        names say, others with the value in `pad_values`. It must be as long as `input_ids` in each row,
        unless `own_length` names it. A column with a number in each row becomes an array of these.
        What is padding is known by length: an id that is also `pad_id` is none.

        `attention_mask` is made where the rows have none. `return_position_ids` adds the position of
        each id from the first one that is no padding, `max(0, cumsum(attention_mask) - 1)`, plus
        `position_offset`: a number, or one for each row, of the ids before these.
        `return_token_type_ids`, `return_special_tokens_mask`, `return_offsets_mapping` and
        `return_length` are for rows of encodings.

        Raises `ValueError` for rows of unequal length without padding, or longer than `max_length`,
        columns that do not fit, and values without padding; `TypeError` for what holds no ids.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> batch = tok.pad_batch([[257], [257, 101, 114]], pad_id=0, padding_side="left")
        >>> batch["input_ids"]
        array([[  0,   0, 257],
               [257, 101, 114]])
        >>> batch["attention_mask"]
        array([[0, 0, 1],
               [1, 1, 1]])
        """
    __signature__: ClassVar[_CallSignature]
    def memory_usage(self) -> dict[str, int]:
        """The memory of the tokenizer and the counters of its cache, in a dict of ints.

        In bytes: `vocabulary`, `model`, `lists` (an `int` for each id, made with the first list), `seed` (the
        static table of pretokens that are tokens), `image` (a mapped image, which processes share: what is in
        it counts nowhere else), `chat_templates` (their sources), `workers` (the pretoken caches of all workers;
        never more than `cache_bytes`). In pretokens: `misses`, for which the model was asked so far, and
        `hits`, all others. A tokenizer made by `with_chat_template` shares all of it but its templates with the
        one that it is made from.
        """
    def plan(self) -> Plan:
        """The implementation of each stage for encoding and decoding, and the reason for it, as a
        `Plan`: print it, or ask it for a stage by name.
        """
    def _never_built(self) -> tuple[list[int], list[int]]:
        """The ids that the model never gives, and those that it gives only for a pretoken with exactly their
        bytes: two lists, ascending. Added tokens, the unknown token and tokens that spell bytes are in neither.
        """
    def _unused_merges(self) -> list[int]:
        """The ranks of the merges that no text makes, ascending: indices of `merges`."""
    def audit(self, *, seconds: float = 3.0, max_bytes: int = 65_536) -> Audit:
        """How the time of each stage grows with the length of a text, as an `Audit`: the promised
        growth, the reason, and the worst text that was found, with its measured slope. Print it, or
        ask it for a stage by name.

        Texts that are known to be slow, among them some of the tokenizer's own tokens, go through
        every stage at lengths that double up to `max_bytes`, for about `seconds`. A slope is d log
        cost / d log length. The cost is counted work, which is the same in every run; if time grows
        clearly faster than that, it is time. An error that a text causes is part of the finding;
        functions of yours (hooks) are called with these texts.
        """
    def explain(
        self, text: _Text, *, special: _Special = "text", surrogates: _Surrogates = "replace"
    ) -> Explanation:
        """The output of every stage for a text, as an `Explanation`: print it, or walk through its segments.

        Shows added tokens and the text between them, the output of each normalizer step, the
        pretokens, and the tokens of each; for byte-pair encoding also the merges in the order in
        which they were made, for pretokens of at most 1,000 symbols. Its `ids` are those of
        `encode`. Errors are those of `encode`.
        """
    def encode_nbest(
        self, text: _Text, n: int, *, special: _Special = "text", surrogates: _Surrogates = "replace"
    ) -> list[tuple[list[int], float]]:
        """The `n` best ways to spell a text (at most 1024), as ids and score, best first; fewer if
        there are no more.

        A score is the logarithm of a probability. Only Unigram models have them: for others a
        `FormatError`. The first result is that of `encode`. Cost: `n` times that of encoding.
        """
    def log_probability(
        self, text: _Text, *, special: _Special = "text", surrogates: _Surrogates = "replace"
    ) -> float:
        """The logarithm of the probability of a text: the sum over all ways to spell it, not only the best.

        Added tokens are certain and do not count. For models other than Unigram a `FormatError`.
        """
    def sample(
        self,
        text: _Text,
        *,
        seed: int,
        alpha: float | None = None,
        dropout: float | None = None,
        nbest_size: int = -1,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
    ) -> list[int]:
        """The ids of a text, spelled in a randomly drawn way (subword regularization).

        Unigram: ways are drawn with a probability proportional to exp(alpha × score), among all of
        them (`nbest_size=-1`), among this number of the best, or always the best (0 or 1).
        Byte-pair encoding: each merge is skipped with the probability `dropout`, by default that of
        the file; as in tokenizers, and for models by score as in SentencePiece. An argument that
        the model does not support is a `FormatError`. The same seed gives the same ids on every
        machine.
        """
    def count_till_limit(
        self,
        text: _Text,
        limit: int,
        *,
        add_special_tokens: bool = False,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
    ) -> int | None:
        """The number of ids of a text, as `count` gives it; `None` if it is more than `limit`.

        No more of the text is read than the limit needs, where stages look at no more than a pretoken: time
        grows with the limit, not with the text. What is wrong with the rest, or a special token there under
        `special="raise"`, is then not seen. Errors are those of `encode`.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> tok.count_till_limit("lower", 3), tok.count_till_limit("lower" * 1_000_000, 3)
        (3, None)
        """
    def appender(
        self,
        *,
        add_special_tokens: bool = False,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
    ) -> Appender:
        """An `Appender`: a text that grows at its end, and the number of its ids.

        With `add_special_tokens` they are counted, too. `special` and `surrogates` are as in `encode`, each piece
        is read on its own.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
        >>> text = tok.appender()
        >>> for word in ["low", " lower", " lowest"]:
        ...     before = text.snapshot()
        ...     text.push(word)
        ...     if text.token_count > 5:
        ...         text.restore(before)
        >>> len(text), text.token_count, tok.decode(text.ids())
        (9, 4, 'low lower')
        """
    def prepender(
        self,
        *,
        add_special_tokens: bool = False,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
    ) -> Prepender:
        """A `Prepender`: a text that grows at its start, and the number of its ids. Arguments are as for `appender`.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
        >>> text = tok.prepender()
        >>> for word in [" lowest", " lower", "low"]:
        ...     text.push(word)
        >>> len(text), text.token_count, tok.decode(text.ids())
        (16, 8, 'low lower lowest')
        >>> text.truncate(7)
        >>> text.token_count
        4
        """
    def interval_counter(
        self,
        text: str,
        *,
        add_special_tokens: bool = False,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
    ) -> IntervalCounter:
        """An `IntervalCounter` of a text: the number of ids of any range of it, after one pass.

        With `add_special_tokens` those around a range count, too. Raises what `encode` raises.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
        >>> ranges = tok.interval_counter("low lower lowest")
        >>> ranges.count(4, 9), tok.count("lower"), ranges.count_many([(0, 3), (0, 9)])
        (3, 3, array([1, 4]))
        >>> ranges.fits(4, 5)
        14
        """
    def edit(
        self,
        text: str,
        encoding: Encoding,
        start: int,
        stop: int,
        replacement: str,
        *,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
    ) -> Edit:
        """The encoding of a text in which the characters from `start` to `stop` are replaced: an `Edit`.

        `encoding` is what `encode_with_offsets` gave for `text`, with the same `special`. Only what the change can
        reach is encoded anew, the rest is copied. The result is what `encode_with_offsets` gives for the changed text.

        Raises what `encode` raises, and `BudgetError` for a range that the text does not have, for an encoding that
        has a pair, was truncated or padded, or is of another tokenizer or text, as far as that shows.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
        >>> text = "low lower lowest"
        >>> edit = tok.edit(text, tok.encode_with_offsets(text), 4, 9, "low")
        >>> edit.text, edit.start, edit.old_stop, edit.new_stop
        ('low low lowest', 2, 4, 2)
        """
    def truncate(
        self,
        text: str,
        n: int,
        *,
        side: Literal["right", "left"] = "right",
        at: _Border = "character",
        add_special_tokens: bool = False,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
    ) -> Chunk:
        r"""The longest prefix of a text that ends at a border and has at most `n` ids when encoded by itself, as a `Chunk`.

        With `side="left"` it is the longest suffix that begins at a border. It may be empty. `at` is a border:
        `"character"`, `"grapheme"`, `"word"`, `"sentence"` (these three by UAX 29) or `"line"` (after `\n`, `\r\n`
        and `\r`). With `add_special_tokens` the tokens around the text count.

        Raises what `encode` raises, and `BudgetError` if the special tokens alone are more than `n`.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
        >>> tok.truncate("low lower lowest", 3).text, tok.truncate("low lower lowest", 5, at="word").text
        ('low lowe', 'low lower ')
        >>> tok.truncate("low lower lowest", 3, side="left").text
        'est'
        """
    def chunk(
        self,
        text: str,
        n: int,
        *,
        overlap: int = 0,
        at: _Border = "character",
        oversize: _Oversize = "split",
        add_special_tokens: bool = False,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> Chunks:
        """A text in chunks of at most `n` ids each: `Chunks`.

        Each is the longest prefix of what is left that ends at a border (`at`, as in `truncate`) and has at most `n`
        ids when it is encoded by itself; joined they are the text. With `overlap`, a chunk begins at the earliest
        border from which on the one before it has at most that many ids. What has more than `n` ids between two
        borders is cut at finer ones (`oversize="split"`: line, sentence, word, grapheme, character), is a
        `BudgetError` (`"error"`), or a chunk of its own (`"keep"`).

        With `add_special_tokens` the tokens around each chunk count. Threads encode what is in front of a chunk, where
        ids stand for bytes of the text (byte-level BPE without a normalizer); the chunks are the same. Raises what `encode` raises, and `BudgetError`
        for an `overlap` that is not less than `n`, and for a character of more than `n` ids.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
        >>> [chunk.text for chunk in tok.chunk("low lower lowest", 4, at="word")]
        ['low lower', ' lowest']
        >>> tok.chunk("low lower lowest", 4).counts
        array([4, 4])
        """
    def chunk_batch(
        self,
        texts: Iterable[str],
        n: int,
        *,
        overlap: int = 0,
        at: _Border = "character",
        oversize: _Oversize = "split",
        add_special_tokens: bool = False,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> list[Chunks]:
        """Each of many texts in chunks, as `chunk` has them: a list of `Chunks`.

        Threads share the texts. Errors name the text by its index.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
        >>> [len(chunks) for chunks in tok.chunk_batch(["low lower", "lowest", ""], 2)]
        [2, 2, 0]
        """
    def chunk_file(
        self,
        path: str | os.PathLike[str],
        n: int,
        *,
        overlap: int = 0,
        at: _Border = "character",
        oversize: _Oversize = "split",
        add_special_tokens: bool = False,
        special: _Special = "text",
        block_size: int = 1048576,
        num_threads: int | None = 1,
    ) -> Iterator[Chunk]:
        """The text of a file in chunks, as `chunk` has them: an iterator of `Chunk`, in the order of the text.

        The file is UTF-8, of any size: it is read in parts of `block_size` bytes, and what is kept of it is the part
        between two borders, and a chunk. `start` and `end` of a chunk count from the beginning of the file. A byte
        order mark is a character of the text. Threads work as in `chunk`, on each part.

        Raises what `chunk` raises, when it comes to the place; `OSError` for what cannot be read, and `ValueError`
        for what is not UTF-8.
        """
    def _encode_by(
        self,
        algorithm: str,
        text: _Text,
        *,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
    ) -> list[int]:
        """The ids of a text by an algorithm: what `tokenmill.algorithms` calls."""
    def find_added(
        self,
        text: _Text,
        *,
        special: _Special = "parse",
        untrusted: _Ranges | None = None,
        protected: _Tokens | None = None,
        surrogates: _Surrogates = "replace",
    ) -> list[tuple[int, int, int]]:
        """The added tokens that `encode` would recognise in a text, as a list of (start, stop, id) in the
        order of the text.

        Places are in characters, for bytes in bytes. White space that a token takes (`lstrip`,
        `rstrip`) belongs to it. A token that is matched in normalized text is where its characters
        come from. Arguments are as for `encode`, but that special tokens are found by default:
        `special="text"` finds only those that are not special. Raises what `encode` raises, but no
        `UnknownTokenError`: the text between is not encoded.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2, special_tokens=["<|end|>"])
        >>> tok.find_added("low<|end|>low<|end|>")
        [(3, 10, 0), (13, 20, 0)]
        >>> tok.find_added("low<|end|>low<|end|>", untrusted=[(0, 4)])
        [(13, 20, 0)]
        """
    def count(
        self,
        text: _Text,
        *,
        add_special_tokens: bool = False,
        special: _Special = "text",
        untrusted: _Ranges | None = None,
        protected: _Tokens | None = None,
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> int:
        """The number of ids that `encode` returns; none are stored. Arguments are as for `encode`. Raises
        what `encode` raises.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> tok.count("lower")
        3
        """
    def count_batch(
        self,
        texts: Iterable[_Text] | _ArrowArray | _ArrowStreamable,
        *,
        add_special_tokens: bool = False,
        special: _Special = "text",
        untrusted: Sequence[_Ranges | None] | None = None,
        protected: _Tokens | Sequence[_Tokens | None] | None = None,
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
        limit: int | None = None,
    ) -> npt.NDArray[np.int64]:
        """The number of ids of each text, as an int64 array. For a null of an Arrow array it is 0.
        Arguments are as for `encode_batch`. Raises what `encode` raises.

        With `limit`, a text of more ids has -1, and is read no further than `count_till_limit` would.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> tok.count_batch(["low", "lower"])
        array([1, 3])
        >>> tok.count_batch(["low", "lower"], limit=2)
        array([ 1, -1])
        """
    def decode(
        self,
        ids: _Ids,
        *,
        errors: Literal["replace", "strict", "ignore"] = "replace",
        skip_special_tokens: bool = False,
        undefined: Literal["error", "skip", "replace"] = "error",
    ) -> str:
        """The text of ids.

        `ids` is a list, an integer array or any sequence. `errors` is Python's policy for invalid
        UTF-8: `"replace"`, `"strict"` or `"ignore"`. `undefined` is the policy for an id that does
        not exist: `"error"` (a `VocabularyError` with id and position), `"skip"`, or `"replace"`
        (U+FFFD). The words of `errors` are those of `bytes.decode`; an id that does not exist is no
        byte to ignore, so `undefined` has words of its own. If the file has a decoder, its steps turn
        the tokens into text; one for byte fallback (Llama 2, Mistral) writes U+FFFD for invalid UTF-8 itself,
        whatever `errors` says. Cost: linear.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> tok.decode([257, 101, 114])
        'lower'
        """
    def decode_bytes(
        self,
        ids: _Ids,
        *,
        skip_special_tokens: bool = False,
        undefined: Literal["error", "skip", "replace"] = "error",
    ) -> bytes:
        r"""The bytes of ids, which need not be valid UTF-8. Raises `VocabularyError` for an id that does not
        exist, unless `undefined` says otherwise.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> tok.decode_bytes([257, 0xC3])
        b'low\xc3'
        """
    def token_lengths(self, ids: _Ids, /) -> npt.NDArray[np.int64]:
        """The length in bytes of the token of each id: an `int64` array.

        Their sum is what a loss is divided by for bits per byte. `ids` is what `decode` takes. A special token
        counts with the bytes of its literal. Raises `VocabularyError` for an id that does not exist.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> tok.token_lengths(tok.encode("low é"))
        array([3, 1, 1, 1])
        """
    def decode_batch(
        self,
        batch: Iterable[_Ids] | Ragged,
        *,
        errors: Literal["replace", "strict", "ignore"] = "replace",
        skip_special_tokens: bool = False,
        undefined: Literal["error", "skip", "replace"] = "error",
        num_threads: int | None = 1,
    ) -> list[str]:
        """The text of every row of ids: a `Ragged`, or an iterable of what `decode` takes. Raises what
        `decode` raises; a `VocabularyError` names the row.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> tok.decode_batch([[257], [257, 101, 114]])
        ['low', 'lower']
        """
    def decode_stream(
        self,
        *,
        skip_special_tokens: bool = False,
        errors: Literal["replace", "strict", "ignore"] = "replace",
        undefined: Literal["error", "skip", "replace"] = "error",
    ) -> DecodeStream:
        """A `DecodeStream`, which takes ids one at a time and returns text as soon as it is certain.

        Its joined pieces are the result of `decode` for all ids; no piece ends inside a character.
        The arguments are those of `decode`, and so are the errors, which `step` raises.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> stream = tok.decode_stream()
        >>> [stream.step(id) for id in [257, 0xC3, 0xA9]] + [stream.finish()]
        ['low', '', 'é', '']
        """
    def token_to_id(self, token: str, /) -> int | None:
        """The id of a token in written form (`Ġworld`), or None."""
    def id_to_token(self, id: int, /) -> str | None:
        """The written form of an id, or None for one that does not exist."""
    def token_bytes(self, id: int, /) -> bytes:
        """The bytes of an id. Raises `VocabularyError` for one that does not exist."""
    @property
    def vocab(self) -> dict[str, int]:
        """Ids by written form, special tokens included; a new dict at every access. Several tokens may
        have one id.

        >>> tokenmill.Tokenizer.from_tokens([b"a", b" b"], special_tokens=["<s>"]).vocab
        {'a': 0, 'Ġb': 1, '<s>': 2}
        """
    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The merges in rank order, as pairs of bytes; a new list at every access."""
    @property
    def vocab_size(self) -> int:
        """Number of ids that exist; `len(tok)` is the same. Ids may have gaps: an embedding needs `max_id + 1` rows."""
    @property
    def max_id(self) -> int:
        """The largest id. If ids have gaps it is more than `vocab_size - 1`; an embedding needs `max_id + 1` rows."""
    @property
    def special_tokens(self) -> dict[str, int]:
        """Ids of the special tokens by literal, ascending by id."""
    @property
    def _chat_tables(self) -> dict[Any, Any]:
        """Where `tokenmill.chat` keeps its tables."""
    @property
    def added_tokens(self) -> dict[str, int]:
        """The ids of all added tokens by literal, special or not, ascending by id.

        >>> tokenmill.train(texts=["low"] * 2, num_merges=1, special_tokens=["<|end|>"]).added_tokens
        {'<|end|>': 0}
        """
    @property
    def chat_templates(self) -> dict[str, str]:
        """The chat templates by name, as they are written; a new dict at every access. The one for calls that
        name none is `default`.

        They belong to the tokenizer: a folder keeps them, `==`, `hash` and pickles include them. They change no
        id of a text, so that `fingerprint` does not; `digests["chat"]` is theirs.

        >>> tok = tokenmill.Tokenizer.from_tokens([b"a"]).with_chat_template("{{ messages[0].content }}")
        >>> tok.chat_templates
        {'default': '{{ messages[0].content }}'}
        """
    @property
    def fingerprint(self) -> str:
        """A hash of the tokenizer's behaviour: `tm1-` and 64 hexadecimal digits. It is the same for
        files that differ in layout only, and another one for any other behaviour. Chat templates, which
        change no id of a text, are not part of it. Hooks are
        identified by their names; one without a name is a `FormatError`.
        """
    @property
    def digests(self) -> dict[str, str]:
        """The three parts of the fingerprint as hashes: of what determines the ids of a text
        (`encode`), the text of ids (`decode`), and the tokens around ids (`template`). Beside them, and not
        in the fingerprint, stands the hash of the chat templates (`chat`), in whatever order they are.
        """
    @property
    def split(self) -> str | None:
        """The name of the split, or its regular expression, whatever normalizes the text before; None if
        pre-tokenization is more than one split.
        `llama3` and `cl100k` are one pattern: it goes by the name that was asked for, in a file by `cl100k`.
        """
    @property
    def bos_token_id(self) -> int | None:
        """The id that begins a sequence, or None where the file names none."""
    @property
    def eos_token_id(self) -> int | None:
        """The id that ends a sequence, or None where the file names none."""
    @property
    def pad_token_id(self) -> int | None:
        """The id of padding, or None where the file names none. If it names no roles at all, a special
        token that is written like padding (`[PAD]`, `<pad>`) is it.
        """
    @property
    def unk_token_id(self) -> int | None:
        """The id for text that the vocabulary cannot spell, or None."""
    @property
    def sep_token_id(self) -> int | None:
        """The id that separates two sequences, or None where the file names none."""
    @property
    def cls_token_id(self) -> int | None:
        """The id that represents a whole text, or None where the file names none."""
    @property
    def mask_token_id(self) -> int | None:
        """The id of a token to be predicted, or None where the file names none."""
    @property
    def bos_token(self) -> str | None:
        """The token that begins a sequence, in its written form, or None: that of `bos_token_id`."""
    @property
    def eos_token(self) -> str | None:
        """The token that ends a sequence, in its written form, or None: that of `eos_token_id`."""
    @property
    def pad_token(self) -> str | None:
        """The token that is padding, in its written form, or None: that of `pad_token_id`."""
    @property
    def unk_token(self) -> str | None:
        """The token for text that the vocabulary cannot spell, in its written form, or None: that of
        `unk_token_id`.
        """
    @property
    def sep_token(self) -> str | None:
        """The token that separates two sequences, in its written form, or None: that of `sep_token_id`."""
    @property
    def cls_token(self) -> str | None:
        """The token that represents a whole text, in its written form, or None: that of `cls_token_id`."""
    @property
    def mask_token(self) -> str | None:
        """The token that is to be predicted, in its written form, or None: that of `mask_token_id`."""
    @property
    def padding_side(self) -> Literal["left", "right"]:
        """The side on which `tok(...)` pads: `"right"` or `"left"`, as the file says."""
    @property
    def truncation_side(self) -> Literal["left", "right"]:
        """The side on which `tok(...)` cuts: `"right"` or `"left"`, as the file says."""
    @property
    def model_max_length(self) -> int | None:
        """The number of ids that the model takes at most, which `tok(...)` cuts and pads to where a call
        gives no `max_length`; None where the file names none. Only a folder's settings do.
        """
    @property
    def load_report(self) -> LoadReport | None:
        """The findings of `tokenmill.load`: the files that were read, and tolerated defects; None for
        a tokenizer that was not just loaded.
        """
    @property
    def training_report(self) -> TrainingReport | None:
        """The report of `tokenmill.train`; None for a tokenizer that was not just trained."""
    def with_special_tokens(
        self,
        special_tokens: _SpecialTokens = None,
        *,
        bos_token: str | None = None,
        eos_token: str | None = None,
        unk_token: str | None = None,
        sep_token: str | None = None,
        pad_token: str | None = None,
        cls_token: str | None = None,
        mask_token: str | None = None,
        add_bos_token: bool | None = None,
        add_eos_token: bool | None = None,
    ) -> Tokenizer:
        """The same tokenizer with more special tokens, and with roles of tokens.

        `special_tokens` is a list (they take the next free ids) or a dict of ids. A role (`bos_token`,
        `eos_token`, ...) is given by the literal of its token; one that is not a token yet becomes a
        special token. `add_bos_token` and `add_eos_token` say whether `add_special_tokens=True` puts
        these tokens before and after each text. None leaves a thing as it is. A folder keeps all of it;
        a tokenizer.json alone cannot hold roles.

        Raises `SpecialTokenError` for an empty or repeated literal and for an id that is taken, and
        `ValueError` for a token around texts whose role no token has.

        >>> import tokenmill
        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> tok = tok.with_special_tokens(["<pad>"], bos_token="<s>", pad_token="<pad>", add_bos_token=True)
        >>> tok.special_tokens, tok.pad_token_id
        ({'<pad>': 258, '<s>': 259}, 258)
        >>> tok.encode("low", add_special_tokens=True)
        [259, 257]
        """
    def with_call_defaults(
        self,
        *,
        padding_side: Literal["left", "right"] | None = None,
        truncation_side: Literal["left", "right"] | None = None,
        model_max_length: int | None = None,
    ) -> Tokenizer:
        """The same tokenizer with other defaults for `tok(...)`, as a folder's settings have them.

        `padding_side` and `truncation_side` are `"right"` or `"left"`. `model_max_length` is the number of
        ids that calls cut and pad to where they give no `max_length`. None keeps the current value. Strategy,
        stride and fixed lengths from a tokenizer.json no longer count. A folder keeps all of it; a
        tokenizer.json alone cannot.

        Raises `ValueError` for another side and for a length below 1.

        >>> import tokenmill
        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2, pad_token="<pad>")
        >>> tok = tok.with_call_defaults(padding_side="left", model_max_length=4)
        >>> [encoding.tokens for encoding in tok(["low", "lower low"], truncation=True, padding=True)]
        [['<pad>', '<pad>', '<pad>', 'low'], ['low', 'e', 'r', 'Ġ']]
        """
    def with_vocab_size(self, vocab_size: int) -> Tokenizer:
        """The same tokenizer with only its first merges, so that `vocab_size` ids remain: the result
        of training to that size. Remaining ids are unchanged.

        Raises `VocabularyError` for a size below that without merges, or above that with all merges.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> tok.with_vocab_size(257).merges
        [(b'l', b'o')]
        """
    def render_chat(
        self,
        messages: _Conversation,
        *,
        tools: Sequence[_Tool] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        now: datetime | None = None,
        keep_none: bool = False,
        roles: Iterable[str] | None = None,
        **variables: Any,
    ) -> RenderedChat:
        r"""A conversation as text, by a chat template: a `tokenmill.chat.RenderedChat`.

        `messages` is a list of mappings with `role` and mostly `content`. `template` is the name of one of
        `chat_templates`, or a source of its own; without it the one named `tool_use` serves where there are
        `tools`, else `default`. `tools` are schemas, or functions with type hints and a docstring;
        `documents` are mappings. `add_generation_prompt` begins an answer; `continue_final_message` ends
        where the last message ends (or the field of this name). `now` is the moment of `strftime_now`, the
        local time by default. Keys whose value is `None` are left out unless `keep_none` is set. `roles` are
        those that messages may have: by default system, developer, user, assistant, tool and those that the
        template compares with. All other arguments are variables of the template; what is nearly the name of
        an argument is a `TypeError`.

        The text is that of transformers 5.23. `segments` say what wrote each part of it, `untrusted` what the
        template did not write: `encode(untrusted=)` takes that.

        Raises `TemplateError` where the template is wrong, refuses the conversation, or takes too many steps,
        and for other roles; `MissingExtraError` without jinja2 (extra `chat`).

        >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=1).with_chat_template("chatml")
        >>> chat = tok.render_chat([{"role": "user", "content": "low"}])
        >>> chat.text
        '<|im_start|>user\nlow<|im_end|>\n'
        >>> chat.untrusted
        ((17, 20),)
        """
    @overload
    def apply_chat_template(
        self,
        messages: _Conversation,
        *,
        tools: Sequence[_Tool] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        now: datetime | None = None,
        keep_none: bool = False,
        roles: Iterable[str] | None = None,
        literals: Literals = "text",
        return_labels: bool = False,
        train_on: TrainOn = "assistant",
        end_of_turn: bool = True,
        allow_empty: bool = False,
        num_threads: int | None = 1,
        **variables: Any,
    ) -> ChatEncoding:
        """The ids of a conversation, and what a model trains on: a `tokenmill.chat.ChatEncoding`, or a list of them
        for a list of conversations, which then share `tools` and all else.

        It is a mapping with `input_ids` and `attention_mask`, and with `return_labels` also `labels` (the id
        where it is trained, -100 elsewhere, not shifted) and `loss_mask`; `pad_batch` takes it as a row. `text`,
        `offsets`, `segments`, `literals`, `turns`, `turns_without_end` and `unwritten` (fields that the template
        leaves out) are attributes. Rendering is as for `render_chat`, with the same arguments.

        No text of a message becomes a control token: a literal in it is text. `literals` says otherwise:
        `"reject"` refuses messages with control literals, `"parse"` takes them for the tokens, a function
        rewrites a string that has one (of tools, documents and variables, too), and a mapping from kinds of
        segments or roles to one of these chooses.

        `train_on` says which turns are trained, `"assistant"` by default: roles, indices of messages,
        `"last"`. It may also say which parts of them: kinds (`"content"`, `"reasoning"`, `"tool_call"`), field
        paths (`"tool_calls[0].function.arguments"`). A part is what the message says, without what the template
        writes around it. A turn begins after its header and ends with its
        end-of-turn token, which `end_of_turn=False` leaves out. Where the template marks the turns of a role
        with `{% generation %}` blocks, only what these write is trained: no end-of-turn token after them. `turns`
        say what the model writes, also where not all of it is trained. A token that is only partly in a
        trained range is trained as a whole. `num_threads` is for encoding a list.

        Raises `TemplateError` as `render_chat`, where the place of a turn is not known for certain, and where
        nothing is trained unless `allow_empty` is set; `SpecialTokenError` for `literals="reject"`; `TypeError`
        for `train_on` or `end_of_turn` without `return_labels`.

        >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2, special_tokens=["<|im_start|>", "<|im_end|>"])
        >>> chat = [{"role": "user", "content": "low"}, {"role": "assistant", "content": "lower"}]
        >>> encoding = tok.with_chat_template("chatml").apply_chat_template(chat, return_labels=True)
        >>> tok.decode([id for id in encoding["labels"] if id != -100])
        'lower<|im_end|>'
        """
    @overload
    def apply_chat_template(
        self,
        messages: Sequence[_Conversation],
        *,
        tools: Sequence[_Tool] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        now: datetime | None = None,
        keep_none: bool = False,
        roles: Iterable[str] | None = None,
        literals: Literals = "text",
        return_labels: bool = False,
        train_on: TrainOn = "assistant",
        end_of_turn: bool = True,
        allow_empty: bool = False,
        num_threads: int | None = 1,
        **variables: Any,
    ) -> list[ChatEncoding]: ...
    def extend_chat(
        self,
        ids: _Ids,
        messages: _Conversation,
        new: _Conversation,
        *,
        tools: Sequence[_Tool] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        template: str | None = None,
        add_generation_prompt: bool = True,
        on_rewrite: Literal["error", "keep"] = "error",
        now: datetime | None = None,
        keep_none: bool = False,
        roles: Iterable[str] | None = None,
        literals: Literals = "text",
        **variables: Any,
    ) -> ChatEncoding:
        """Ids that a model wrote, kept as they are, and the ids of new messages after them: a `ChatEncoding`.

        There are no labels. `ids` stand for `messages` rendered by the same template; `new` are the messages
        that follow. The text
        is that of all messages rendered anew. `seam` says how what is new was encoded: `"canonical"`, the
        ids are those of the whole text; `"border"`, those after `ids` are, too; `"alone"`, a token of the
        whole text would span the seam, so that what is new was encoded without what stands before. `kept` is
        the number of `ids`. Other arguments are as for `apply_chat_template`.

        Raises `TemplateError`, naming the turn, where the template writes the earlier messages otherwise than
        `ids` say; `on_rewrite="keep"` keeps them and adds what is new.

        >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2, special_tokens=["<|im_start|>", "<|im_end|>"])
        >>> tok, chat = tok.with_chat_template("chatml"), [{"role": "user", "content": "low"}]
        >>> prompt = tok.apply_chat_template(chat, add_generation_prompt=True)["input_ids"]
        >>> answer = [tok.token_to_id("l"), tok.token_to_id("o"), tok.token_to_id("w"), 1]
        >>> chat.append({"role": "assistant", "content": "low"})
        >>> more = tok.extend_chat([*prompt, *answer], chat, [{"role": "user", "content": "low"}])
        >>> more.seam, more["input_ids"][: more.kept] == [*prompt, *answer]
        ('border', True)
        """
    def is_canonical(self, ids: _Ids) -> bool:
        """Whether these ids are those that their text has when it is encoded: `first_drift` is `None`.

        >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2)
        >>> tok.is_canonical(tok.encode("low")), tok.is_canonical([*b"low"])
        (True, False)
        """
    def first_drift(self, ids: _Ids) -> int | None:
        """The index of the first id that is another one when the text of the ids is encoded; `None` where there
        is none. Added tokens are kept for what they are, and the text between them stays text.

        >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2)
        >>> tok.first_drift([*tok.encode("low"), *b"low"])
        1
        """
    def count_chat(
        self,
        messages: _Conversation,
        *,
        tools: Sequence[_Tool] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        now: datetime | None = None,
        keep_none: bool = False,
        roles: Iterable[str] | None = None,
        literals: Literals = "text",
        **variables: Any,
    ) -> int:
        """How many ids a conversation has: `len(apply_chat_template(...)["input_ids"])`, without making them.

        Arguments are as for `apply_chat_template`.

        >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2, special_tokens=["<|im_start|>", "<|im_end|>"])
        >>> tok.with_chat_template("chatml").count_chat([{"role": "user", "content": "low"}])
        9
        """
    def fit_chat(
        self,
        messages: _Conversation,
        n: int,
        *,
        keep: Iterable[str | int] = ("system", "last"),
        tools: Sequence[_Tool] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        template: str | None = None,
        add_generation_prompt: bool = False,
        now: datetime | None = None,
        keep_none: bool = False,
        roles: Iterable[str] | None = None,
        literals: Literals = "text",
        **variables: Any,
    ) -> list[Any]:
        """The messages of a conversation without its oldest turns, so that it has at most `n` ids.

        A turn is a user's message with the answers after it; tool results go with their calls, and no
        message is cut. `keep` says what is never dropped: roles, indices of messages, and `"last"`, the
        last turn. Other arguments are as for `count_chat`.

        Raises `BudgetError` where what is kept has more than `n` ids.

        >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2).with_chat_template("chatml")
        >>> chat = [{"role": role, "content": "low"} for role in ("user", "assistant") * 2]
        >>> len(tok.fit_chat(chat, tok.count_chat(chat) - 1))
        2
        """
    def embedding_plan(
        self,
        rows: int,
        *,
        tied: bool = False,
        multiple_of: int = 64,
        id_map: Iterable[int] | None = None,
    ) -> EmbeddingPlan:
        """What a model's embedding matrix of `rows` rows needs for this tokenizer: an `EmbeddingPlan`.

        It has the rows to resize to (a multiple of `multiple_of`), the tokens without a row and the ids whose
        mean is a good beginning for each, the rows that no token has, and the padding; print it, or take
        `to_dict()`. `tied` says that the output matrix is the input matrix. `id_map` is that of a `Surgery` which
        made this tokenizer, with the new id of each old one: the matrix is that of the old tokenizer then, and
        `moved(matrix)` puts each row where its token is now.

        >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2, special_tokens=["<|end|>"])
        >>> plan = tok.embedding_plan(258)
        >>> plan.fits, plan.new_rows, [row.token for row in plan.new]
        (False, 320, ['low'])
        """
    def trim(
        self,
        *,
        keep: Iterable[int | str] | None = None,
        drop: Iterable[int | str] | None = None,
        texts: str | Iterable[str] | None = None,
    ) -> Surgery:
        """The same tokenizer with only some of its tokens, ids close together: a `Surgery`, with the map from old ids
        to new ones.

        Exactly one of these says which: `keep` and `drop` are ids, or tokens as `token_to_id` takes them; `texts`
        is a text or an iterable of texts whose ids are kept. Added tokens, bytes, the unknown token, tokens with a
        role, and what kept tokens are made of stay in any case; `promise.also_kept` has those that nobody asked for.

        Every text whose old ids are all kept, with no unknown token among them, has these ids, mapped. Raises
        `VocabularyError` for a token that does not exist.

        >>> tok = tokenmill.train(texts=["low lower lowest"] * 3, num_merges=7)
        >>> small = tok.trim(texts=["low"])
        >>> len(tok), len(small.tokenizer)
        (263, 258)
        >>> small.id_map[tok.encode("low")].tolist() == small.tokenizer.encode("low")
        True
        """
    def extend(self, tokens: Iterable[str | bytes]) -> Surgery:
        """The same tokenizer with more ordinary tokens, whose ids come after all others: a `Surgery`. Old ids stay.

        `tokens` are `bytes`, or `str` as the model sees text: after the normalizer, so that a token of SentencePiece
        that begins a word begins with `▁`; for WordPiece as it is written (`##ing`). Byte-pair encoding gets the
        merges that make them, from left to right, and the tokens between, which are new tokens too.

        Every text that holds none of the new tokens' bytes (`promise.absent`) has its old ids. Raises
        `VocabularyError` for a token that is there already, listed twice or empty, and `FormatError` for Unigram,
        whose tokens compete by scores, and for models that mark the ends of words.

        >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2)
        >>> more = tok.extend(["lowest"])
        >>> more.promise.absent
        (b'lowe', b'lowes', b'lowest')
        >>> more.tokenizer.encode("low lowest")
        [257, 32, 260]
        """
    def remap(self, ids: Mapping[int, int] | Iterable[int]) -> Surgery:
        """The same tokenizer with other ids: a `Surgery`. Every text has its old ids, mapped.

        `ids` is a mapping of old ids to new ones, in which ids that are not named stay; or all old ids in a new
        order, where the first becomes 0. Raises `VocabularyError` for an id that does not exist, is named twice or
        left out of an order, and for a new id that two tokens would have.

        >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=2)
        >>> swapped = tok.remap({257: 0, 0: 257})
        >>> tok.encode("low"), swapped.tokenizer.encode("low")
        ([257], [0])
        """
    def rename_special(self, old: str, new: str) -> Surgery:
        """The same tokenizer with another literal for a special token, whose id stays: a `Surgery`. The tokens around
        texts and the chat templates are changed with it.

        Every text that holds neither literal has its old ids. Raises `SpecialTokenError` where `old` is no special
        token or `new` is a token already, and for a new literal that a chat template cannot write as it is.

        >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=1, special_tokens=["<|end|>"])
        >>> tok.rename_special("<|end|>", "<eos>").tokenizer.special_tokens
        {'<eos>': 0}
        """
    def _trim(self, wanted: list[int]) -> _Changed:
        """The tokenizer with only these ids and what they need; see `trim`."""
    def _extend(self, tokens: list[bytes]) -> _Changed:
        """The tokenizer with more tokens; see `extend`."""
    def _remap(self, old: list[int], new: list[int]) -> _Changed:
        """The tokenizer with new ids for old ones; see `remap`."""
    def _rename_special(self, old: str, new: str) -> _Changed:
        """The tokenizer with another literal for a special token; see `rename_special`."""
    def _join(self, second: Tokenizer) -> _Changed:
        """This tokenizer with the tokens of another; see `tokenmill.join`."""
    def cache_key(self, text_or_messages: object, *, call: str | None = None, **options: Any) -> str:
        """A key for a cache of encodings: `tmk1-` and 64 hexadecimal digits. It changes with everything that can
        change the ids, masks or labels, and is the same in every process and on every machine.

        `text_or_messages` is what is encoded: a text, a list of texts, or messages. `call` names the method
        with whose `options` it is (`"encode"`, `"call"` for `tok(...)`, `"apply_chat_template"`): by default
        `apply_chat_template` for messages, else `encode`. Options that change no result, such as
        `num_threads`, change no key.

        A function in `literals=` counts by its module and name, not by what it does: give it another name when
        you change it. Raises `TypeError` for options that the call does not take, for values of which no
        lasting key can be made (a lambda, a partial, an object), and for a template that writes the date where
        `now=` is not given.

        >>> tok = tokenmill.train(texts=["low"] * 2, num_merges=1)
        >>> tok.cache_key("low") == tok.cache_key("low", num_threads=4)
        True
        >>> tok.cache_key("low") == tok.cache_key("low", special="parse")
        False
        """
    def with_chat_template(self, source: str | None, name: str = "default") -> Tokenizer:
        """The same tokenizer with a chat template under a name, in place of the one that has it; with `None`
        without that one. Nothing else changes: both share their tables and caches.

        `source` is a Jinja template, or the name of one that comes with tokenmill: `"chatml"`, `"gemma"`,
        `"llama2"`, `"llama3"`, `"mistral"`. A text without `{` is taken for a name; no file is read. The template
        is not parsed here.

        Raises `ValueError` for a name that is not known, and `FormatError` for a template of more than 1 MiB, a
        name of more than 255 bytes, and more than 100 templates.

        >>> tok = tokenmill.Tokenizer.from_tokens([b"a"]).with_chat_template("chatml")
        >>> "<|im_start|>" in tok.chat_templates["default"]
        True
        >>> tok.with_chat_template(None).chat_templates
        {}
        """
    def with_normalizer(self, function: _Normalizer | None, *, name: str | None = None) -> Tokenizer:
        """The same tokenizer with a function of yours in place of its normalizer; `None` removes the normalizer.

        `function` gets the text between added tokens (`str`) and returns the new text: as a `str`,
        which is aligned with the given text by comparison, or as a sequence of pieces `(text,
        start, end)`, each with the characters of the given text that it stands for, in order. It is
        called from the threads that encode. An invalid result is a `HookError`; what the function
        raises reaches the caller of `encode`. `name` identifies the function in saved files and
        pickles, and `tokenmill.load(path, hooks={name: function})` finds it by name; without one
        the tokenizer cannot be saved. Added tokens with `normalized` set go through the function at
        once.
        """
    def with_splitter(self, function: _Splitter | None, *, name: str | None = None) -> Tokenizer:
        """The same tokenizer with a function of yours in place of its pre-tokenizer; with `None` the
        text between added tokens is one pretoken.

        `function` gets the normalized text between added tokens (`str`) and returns the pretokens
        in order: as `(start, end)` in characters of that text, or as `str` pieces of it. Text
        between them is dropped. Threads, errors and `name` are as for `with_normalizer`.
        """
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: Literal[
            "tokenizer.json",
            "tiktoken",
            "vocab+merges",
            "sentencepiece",
            "vocab.txt",
            "gguf",
            "tekken",
            "image",
        ]
        | None = None,
        lossy: bool = False,
        manifest: Mapping[str, object] | None = None,
    ) -> None:
        """Saves the tokenizer atomically, with the same bytes every time.

        A folder (a name without an ending, or with one that holds a digit, as in `qwen2.5`) gets a
        tokenizer.json and a manifest, with tokenizer_config.json and files of chat templates where there are
        special tokens, roles, settings and templates; else the name decides: `*.json` is
        tokenizer.json, `*.tiktoken` ranks, `*.gguf` a GGUF file without tensors, `tekken.json` that of Mistral,
        `vocab.json` the pair vocab.json and merges.txt, `*.tokenmill` an image; `format` overrides the name. What a
        format cannot hold is a `FormatError`, unless `lossy=True`.

        An image has the tables of the tokenizer as they are in memory, so that loading it maps the file: some
        milliseconds for any vocabulary, and all processes share the memory. It holds everything but `manifest`, and
        is for this release of tokenmill on this type of machine; `load` refuses another one.

        `manifest` is what the manifest of the folder says that no tokenizer knows: `think_end_id`,
        `padding_side_train`, `padding_side_generate`, and `corpus` (any JSON). Loading the folder keeps it; None
        as a value takes it back. Another key, and a value that cannot be, is a `ManifestError`.

        >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
        >>> tok.save("low.json")
        >>> tokenmill.load("low.json") == tok
        True
        """
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Tokenizer: ...
    def __deepcopy__(self, memo: Any, /) -> Tokenizer: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def load_file(
    path: str | os.PathLike[str],
    *,
    split: str | None = None,
    additions: dict[str, object],
    strict: bool = False,
    hooks: Mapping[str, Callable[[str], Any]] | None = None,
    cache_bytes: int | None = None,
    image_dir: str | os.PathLike[str] | None = None,
) -> Tokenizer:
    """Loads a tokenizer file or folder; see `tokenmill.load`. `additions` has the keyword arguments of
    `Tokenizer.with_special_tokens`.
    """

def not_text(start: bytes, /) -> str | None:
    """Says why a file is not UTF-8 text and how to convert it, if its first bytes (at least ten) show that it
    is compressed, or UTF-16 or UTF-32 with a byte-order mark. Else None.
    """

def json_lines(lines: bytes, field: str, row: int, start: int, /) -> list[bytes | None]:
    """The texts of lines of JSONL as UTF-8, None for a line that is no document: `lines` are whole lines. `row` is the number of the
    first one, from 1 on, and `start` the position of its first byte in the file, for errors.
    """

def force_cpu(level: Literal["portable", "neon", "avx2", "avx512"] | None, /) -> str:
    """Makes encoding use these instructions from now on, in all threads, and returns the name of the
    level in use: `"portable"`, `"neon"`, `"avx2"`, `"avx512"`. `None` selects the widest level of
    the machine, which is the default. Meant for tests: the ids are the same at every level.

    Raises `ValueError` for a level that this machine does not have, without a change.
    """

def register_hook(name: str, function: Callable[[str], Any], /) -> None:
    """Registers a function under a name in this process: `tokenmill.load` and unpickling find it there
    for a tokenizer that names it. A later function replaces an earlier one of the same name, for
    tokenizers loaded from then on.

    A file never causes an import, so each process registers what it needs. Raises `ValueError` for
    an empty name.
    """

def manifest_of_folder(
    path: str | os.PathLike[str],
    *,
    split: str | None = None,
    additions: dict[str, object],
    manifest: Mapping[str, object] | None = None,
    writes: bool = False,
) -> str:
    """The manifest of a folder as it is, as JSON, with what `manifest` says; see `Tokenizer.save`. With `writes` it is
    written into the folder, too.
    """

def verify_folder(
    path: str | os.PathLike[str], *, split: str | None = None, additions: dict[str, object]
) -> tuple[int, int, int, list[tuple[str, str, str]]]:
    """What of a folder is not as its manifest says: (field, expected, found) of each, with the version of the manifest
    before them, and the numbers of files and of vectors that were compared.
    """

def from_state(
    state: bytes, split: str | None = None, image_dir: str | os.PathLike[str] | None = None, /
) -> Tokenizer:
    """Restores a tokenizer from the bytes of a pickle. `split` is the name that its split was asked for by, `image_dir`
    the folder of images that it was loaded with.
    """

def encoding_from_state(state: bytes, /) -> Encoding:
    """Restores an encoding from the bytes of a pickle."""

def encoded_rows_from_state(state: bytes, /) -> EncodedRows:
    """Restores rows from the bytes of a pickle."""

def from_tokenizer_json(json: bytes, /, scores: Sequence[float] | None = None) -> Tokenizer:
    """Loads a tokenizer.json from memory. `scores` are exact scores of a Unigram vocabulary, by id."""

def encode_inputs(
    tokenizer: Tokenizer,
    texts: Sequence[Any],
    pairs: Sequence[Any] | None = None,
    *,
    is_batch: bool,
    add_special_tokens: bool,
    is_pretokenized: bool,
    special: _Special,
    truncation: Mapping[str, Any] | None = None,
    padding: Mapping[str, Any] | None = None,
    num_threads: int | None,
) -> list[Encoding]:
    """Encodes texts, each with the text at the same index of `pairs` unless that is None. Errors name its place in
    `input` if `is_batch` is set.

    `truncation` and `padding` are dicts as in the tokenizers library. A truncation that cuts
    nothing is ignored, for any stride.
    """

@final
class PretokenTable:
    """Distinct pretokens in the order of their bytes, with their counts. `tokenmill.PretokenCounts` adds what they are of."""

    @staticmethod
    def from_columns(
        data: _Buffer, offsets: _Buffer, counts: _Buffer, *, are_sorted: bool = False
    ) -> PretokenTable:
        """From all pretokens one after the other, where each begins and the last one ends, and their counts; the numbers as
        uint64, the lowest byte first. They need not be sorted or distinct, unless `are_sorted` says so. Raises
        `TrainingError` for what is no count of pretokens.
        """

    def columns(self) -> tuple[bytes, bytes, bytes]:
        """What `from_columns` takes."""

    @property
    def total(self) -> int:
        """The sum of all counts."""

    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def items(self, start: int, stop: int) -> list[tuple[bytes, int]]:
        """Some of the pretokens with their counts, by their numbers."""

    def merged(self, other: PretokenTable) -> PretokenTable:
        """The pretokens of both, the counts of equal ones summed. Raises `TrainingError` for a sum above 64 bits."""

    def shares(self, parts: int) -> list[PretokenTable]:
        """`parts` tables, which together are this one: each pretoken is in the one that its bytes say, in every process."""
    def at_least(self, count: int) -> PretokenTable:
        """Those that occur so often at least."""

def count_files(
    sources: Sequence[object], options: Mapping[str, object], progress: _Progress = None
) -> tuple[PretokenTable, tuple[int, int, int, int, int]]:
    """Counts the pretokens of files; see `tokenmill.count_pretokens`. Also gives figures: documents, bytes, documents left
    out, documents mended, pretokens.
    """

def count_texts(
    texts: Iterable[str] | _ArrowArray | _ArrowStreamable,
    options: Mapping[str, object],
    progress: _Progress = None,
    weights: Sequence[int] | None = None,
) -> tuple[PretokenTable, tuple[int, int, int, int, int]]:
    """Counts the pretokens of an iterable of str; see `tokenmill.count_pretokens`. Also gives figures, as `count_files`."""

def train_counts(
    counts: PretokenTable,
    figures: tuple[int, int, int, int, int],
    options: Mapping[str, object],
    progress: _Progress = None,
) -> Tokenizer:
    """Trains on counted pretokens; see `tokenmill.train`. The figures, as of `count_files`, are for the report."""

def known_split(split: str) -> str | None:
    """The name of the split that a name or a pattern stands for, if its pattern is a known one."""

def special_literals(options: Mapping[str, object]) -> list[str]:
    """The special tokens of a training run in the order of their ids."""

def train_files(
    sources: Sequence[object], options: Mapping[str, object], progress: _Progress = None
) -> tuple[Tokenizer, npt.NDArray[Any] | None]:
    """Trains on files, as `tokenmill.sources.expand` gives them; see `tokenmill.train`."""

def train_texts(
    texts: Iterable[str] | _ArrowArray | _ArrowStreamable,
    options: Mapping[str, object],
    progress: _Progress = None,
    weights: Sequence[int] | None = None,
) -> tuple[Tokenizer, npt.NDArray[Any] | None]:
    """Trains on an iterable of str, each a document. `weights` says how often each counts; see `tokenmill.train`."""

def flat_rows(rows: list[Any], /) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """The values of lists of `int` one after the other, and the bounds of the lists, as int64 arrays. None if
    a row is no list, or an item no plain `int` of 64 bits.
    """

def pad_rows(
    values: npt.NDArray[Any],
    row_offsets: npt.NDArray[np.int64],
    out: npt.NDArray[Any],
    pad: int,
    is_left: bool,
    num_threads: int | None,
    /,
) -> None:
    """Writes rows of values (int64 or uint32) into `out`, of two dimensions, padded with `pad`."""

def mask_rows(
    row_offsets: npt.NDArray[np.int64], out: npt.NDArray[Any], is_left: bool, num_threads: int | None, /
) -> None:
    """Writes 1 for each value of a row and 0 for padding into `out`, of two dimensions."""

def position_rows(
    row_offsets: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    out: npt.NDArray[Any],
    is_left: bool,
    num_threads: int | None,
    /,
) -> None:
    """Writes the positions of the values of each row into `out`, of two dimensions. `first` has the first
    position of each row, int64.
    """

def best_fit_windows(lengths: npt.NDArray[np.int64], window: int, /) -> npt.NDArray[np.int64]:
    """The window of each piece, by best fit; `lengths` is an int64 array."""

def compare_tokenizers(
    a: Tokenizer, b: Tokenizer, texts: list[str], /
) -> tuple[
    Literal["descriptions", "merges"] | None,
    tuple[tuple[str, str] | None, tuple[list[int], bool] | None],
    list[tuple[str, int]],
    tuple[list[int], list[int], list[tuple[int, int]]],
]:
    """Compares two tokenizers, chat templates and settings aside; see `tokenmill.diff`.

    `texts` are tried first. Gives the proof that they are the same (`"descriptions"`, `"merges"` or
    None), a witness that they are not (a text and the name of a call, or ids and whether special
    tokens are left out), how many inputs of each kind were tried, and the ranks of merges that only
    the first and only the second has, and of those that moved.
    """

def written_stages(tokenizer: Tokenizer, /) -> str:
    """The stages and settings of a tokenizer as JSON; see `tokenmill.difference`."""
