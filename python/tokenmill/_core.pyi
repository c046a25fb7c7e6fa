"""Types of the compiled part. `python -m mypy.stubtest tokenmill` holds them to the module."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from inspect import Signature
from typing import Any, ClassVar, Literal, Protocol, final, overload, type_check_only

import numpy as np
import numpy.typing as npt

from .explain import Explanation
from .ragged import Ragged, RaggedEncodings
from .stages import Audit, Plan

__all__ = [
    "DecodeStream",
    "EncodedRows",
    "Encoding",
    "LoadFinding",
    "LoadReport",
    "ReadyIds",
    "Tokenizer",
    "TrainingReport",
    "__version__",
    "encode_inputs",
    "encoded_rows_from_state",
    "encoding_from_state",
    "force_cpu",
    "from_state",
    "from_tokenizer_json",
    "load_file",
    "register_hook",
    "train_files",
    "train_texts",
]
__version__: str

_Bytes = bytes  # for the class that has a property of this name
_Text = str | bytes | bytearray | memoryview
_Words = Sequence[_Text]

@type_check_only
class _ArrowStrings(Protocol):
    """A column of strings that any Arrow library has made."""

    def __arrow_c_array__(self, requested_schema: object | None = None, /) -> tuple[object, object]: ...

@type_check_only
class _CallSignature:
    """What objects that can be called have, and their class has not."""

    def __get__(self, instance: Tokenizer, owner: object = None, /) -> Signature: ...

_Special = Literal["text", "parse", "raise"] | AbstractSet[str]
_Surrogates = Literal["replace", "error"]
_Truncation = Literal["longest_first", "only_first", "only_second"] | bool | None
_Padding = Literal["longest", "max_length"] | bool | None
_Side = Literal["left", "right"]
_Ids = Sequence[int] | npt.NDArray[Any]
_SpecialTokens = Sequence[str] | Mapping[str, int] | None
_Normalizer = Callable[[str], str | Iterable[tuple[str, int, int]]]
_Splitter = Callable[[str], Iterable[tuple[int, int]] | Iterable[str]]
_Progress = Callable[[str, int, int], object] | None

@final
class Encoding:
    @property
    def ids(self) -> list[int]: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def surface_tokens(self) -> list[str]: ...
    @property
    def offsets(self) -> list[tuple[int, int]]: ...
    @property
    def byte_offsets(self) -> list[tuple[int, int]]: ...
    @property
    def type_ids(self) -> list[int]: ...
    @property
    def attention_mask(self) -> list[int]: ...
    @property
    def special_tokens_mask(self) -> list[int]: ...
    @property
    def word_ids(self) -> list[int | None]: ...
    @property
    def sequence_ids(self) -> list[int | None]: ...
    @property
    def n_sequences(self) -> int: ...
    @property
    def overflowing(self) -> list[Encoding]: ...
    def char_to_token(self, char: int, sequence: int = 0) -> int | None: ...
    def token_to_chars(self, token: int) -> tuple[int, int] | None: ...
    def token_to_word(self, token: int) -> int | None: ...
    def word_to_tokens(self, word: int, sequence: int = 0) -> tuple[int, int] | None: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> Encoding: ...
    def __deepcopy__(self, memo: Any, /) -> Encoding: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class EncodedRows:
    def part(self, start: int, step: int, count: int, /) -> EncodedRows: ...
    def encodings(self) -> list[Encoding]: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class DecodeStream:
    def step(self, id: int, /) -> str: ...
    def extend(self, ids: _Ids, /) -> str: ...
    def finish(self) -> str: ...
    def reset(self) -> None: ...

@final
class ReadyIds:
    def rows(self, ids: npt.NDArray[Any], row_offsets: npt.NDArray[np.int64], /) -> list[list[int]]: ...

@final
class LoadFinding:
    @property
    def kind(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def field(self) -> str: ...
    @property
    def reason(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class LoadReport:
    @property
    def files(self) -> dict[str, list[str]]: ...
    @property
    def tolerated(self) -> list[LoadFinding]: ...
    @property
    def notes(self) -> list[str]: ...

@final
class TrainingReport:
    @property
    def documents(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def replaced(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def pretokens(self) -> int: ...
    @property
    def distinct_pretokens(self) -> int: ...
    @property
    def merges(self) -> list[tuple[_Bytes, _Bytes, int]]: ...
    @property
    def stopped_early(self) -> str | None: ...
    @property
    def phases(self) -> dict[str, float]: ...

@final
class Tokenizer:
    @staticmethod
    def from_tokens(
        tokens: Sequence[bytes], *, split: str = "none", special_tokens: _SpecialTokens = None
    ) -> Tokenizer: ...
    @staticmethod
    def from_merges(
        vocab: Mapping[str, int] | Mapping[bytes, int],
        merges: Sequence[tuple[str, str]] | Sequence[tuple[bytes, bytes]],
        *,
        split: str = "none",
        special_tokens: _SpecialTokens = None,
    ) -> Tokenizer: ...
    @staticmethod
    def from_ranks(
        ranks: Mapping[bytes, int],
        *,
        split: str = "none",
        unmatched: Literal["keep", "drop"] = "keep",
        whole_pretokens: bool = True,
        special_tokens: _SpecialTokens = None,
    ) -> Tokenizer: ...
    @staticmethod
    def from_pairs(
        pairs: Sequence[tuple[int, int]], *, split: str = "none", special_tokens: _SpecialTokens = None
    ) -> Tokenizer: ...
    def encode(
        self,
        text: _Text,
        *,
        add_special_tokens: bool = False,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> list[int]: ...
    def encode_to_numpy(
        self,
        text: _Text,
        *,
        dtype: npt.DTypeLike = "uint32",
        out: npt.NDArray[Any] | None = None,
        add_special_tokens: bool = False,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> npt.NDArray[Any]: ...
    @overload
    def encode_batch(
        self,
        texts: Iterable[_Text] | _ArrowStrings,
        *,
        dtype: npt.DTypeLike = "uint32",
        offsets: Literal[False] = False,
        add_special_tokens: bool = False,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> Ragged: ...
    @overload
    def encode_batch(
        self,
        texts: Iterable[_Text] | _ArrowStrings,
        *,
        dtype: npt.DTypeLike = "uint32",
        offsets: Literal[True],
        add_special_tokens: bool = False,
        special: _Special = "text",
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
        surrogates: _Surrogates = "replace",
    ) -> Encoding: ...
    @overload
    def encode_with_offsets(
        self,
        text: Sequence[_Text],
        pair: Sequence[_Text] | None = None,
        *,
        add_special_tokens: bool = False,
        is_pretokenized: Literal[True],
        special: _Special = "text",
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
        is_pretokenized: Literal[False] = False,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> Encoding: ...
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
        is_pretokenized: Literal[False] = False,
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
        is_pretokenized: Literal[True],
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
        is_pretokenized: Literal[True],
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> list[Encoding]: ...
    __signature__: ClassVar[_CallSignature]
    def memory_usage(self) -> dict[str, int]: ...
    def plan(self) -> Plan: ...
    def audit(self, *, seconds: float = 3.0, max_bytes: int = 65_536) -> Audit: ...
    def explain(
        self, text: _Text, *, special: _Special = "text", surrogates: _Surrogates = "replace"
    ) -> Explanation: ...
    def encode_nbest(
        self, text: _Text, n: int, *, special: _Special = "text", surrogates: _Surrogates = "replace"
    ) -> list[tuple[list[int], float]]: ...
    def log_probability(
        self, text: _Text, *, special: _Special = "text", surrogates: _Surrogates = "replace"
    ) -> float: ...
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
    ) -> list[int]: ...
    def count(
        self,
        text: _Text,
        *,
        add_special_tokens: bool = False,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> int: ...
    def count_batch(
        self,
        texts: Iterable[_Text] | _ArrowStrings,
        *,
        add_special_tokens: bool = False,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> npt.NDArray[np.int64]: ...
    def decode(
        self,
        ids: _Ids,
        *,
        errors: Literal["replace", "strict", "ignore"] = "replace",
        skip_special_tokens: bool = False,
        undefined: Literal["error", "skip", "replace"] = "error",
    ) -> str: ...
    def decode_bytes(
        self,
        ids: _Ids,
        *,
        skip_special_tokens: bool = False,
        undefined: Literal["error", "skip", "replace"] = "error",
    ) -> bytes: ...
    def decode_batch(
        self,
        batch: Iterable[_Ids] | Ragged,
        *,
        errors: Literal["replace", "strict", "ignore"] = "replace",
        skip_special_tokens: bool = False,
        undefined: Literal["error", "skip", "replace"] = "error",
        num_threads: int | None = 1,
    ) -> list[str]: ...
    def decode_stream(
        self,
        *,
        skip_special_tokens: bool = False,
        errors: Literal["replace", "strict", "ignore"] = "replace",
        undefined: Literal["error", "skip", "replace"] = "error",
    ) -> DecodeStream: ...
    def token_to_id(self, token: str, /) -> int | None: ...
    def id_to_token(self, id: int, /) -> str | None: ...
    def token_bytes(self, id: int, /) -> bytes: ...
    @property
    def vocab(self) -> dict[str, int]: ...
    @property
    def merges(self) -> list[tuple[bytes, bytes]]: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def max_id(self) -> int: ...
    @property
    def special_tokens(self) -> dict[str, int]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def digests(self) -> dict[str, str]: ...
    @property
    def split(self) -> str | None: ...
    @property
    def bos_token_id(self) -> int | None: ...
    @property
    def eos_token_id(self) -> int | None: ...
    @property
    def pad_token_id(self) -> int | None: ...
    @property
    def unk_token_id(self) -> int | None: ...
    @property
    def sep_token_id(self) -> int | None: ...
    @property
    def cls_token_id(self) -> int | None: ...
    @property
    def mask_token_id(self) -> int | None: ...
    @property
    def padding_side(self) -> Literal["left", "right"]: ...
    @property
    def truncation_side(self) -> Literal["left", "right"]: ...
    @property
    def model_max_length(self) -> int | None: ...
    @property
    def load_report(self) -> LoadReport | None: ...
    @property
    def training_report(self) -> TrainingReport | None: ...
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
    ) -> Tokenizer: ...
    def with_vocab_size(self, vocab_size: int) -> Tokenizer: ...
    def with_normalizer(self, function: _Normalizer | None, *, name: str | None = None) -> Tokenizer: ...
    def with_splitter(self, function: _Splitter | None, *, name: str | None = None) -> Tokenizer: ...
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: Literal["tokenizer.json", "tiktoken", "vocab+merges", "sentencepiece"] | None = None,
        lossy: bool = False,
    ) -> None: ...
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
) -> Tokenizer: ...
def force_cpu(level: Literal["portable", "neon", "avx2", "avx512"] | None, /) -> str: ...
def register_hook(name: str, function: Callable[[str], Any], /) -> None: ...
def from_state(state: bytes, split: str | None = None, /) -> Tokenizer: ...
def encoding_from_state(state: bytes, /) -> Encoding: ...
def encoded_rows_from_state(state: bytes, /) -> EncodedRows: ...
def from_tokenizer_json(json: bytes, /, scores: Sequence[float] | None = None) -> Tokenizer: ...
def encode_inputs(
    tokenizer: Tokenizer,
    texts: Sequence[Any],
    pairs: Sequence[Any] | None = None,
    *,
    add_special_tokens: bool,
    is_pretokenized: bool,
    special: _Special,
    truncation: Mapping[str, Any] | None = None,
    padding: Mapping[str, Any] | None = None,
    num_threads: int | None,
) -> list[Encoding]: ...
def train_files(
    paths: Sequence[str], options: Mapping[str, object], progress: _Progress = None
) -> Tokenizer: ...
def train_texts(
    texts: Iterable[str],
    options: Mapping[str, object],
    progress: _Progress = None,
    weights: Sequence[int] | None = None,
) -> Tokenizer: ...
