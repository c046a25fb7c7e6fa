"""Types of the compiled part. `python -m mypy.stubtest tokenmill` holds them to the module."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from .ragged import Ragged

__all__ = [
    "Encoding",
    "Tokenizer",
    "TrainingReport",
    "__version__",
    "from_state",
    "load_file",
    "train_files",
    "train_texts",
]
__version__: str

_Bytes = bytes  # for the class that has a property of this name
_Text = str | bytes | bytearray | memoryview
_Special = Literal["text", "parse", "raise"] | AbstractSet[str]
_Surrogates = Literal["replace", "error"]
_Ids = Sequence[int] | npt.NDArray[Any]
_SpecialTokens = Sequence[str] | Mapping[str, int] | None
_Progress = Callable[[str, int, int], object] | None

@final
class Encoding:
    @property
    def ids(self) -> list[int]: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def offsets(self) -> list[tuple[int, int]]: ...
    @property
    def byte_offsets(self) -> list[tuple[int, int]]: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

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
    def from_pairs(
        pairs: Sequence[tuple[int, int]], *, split: str = "none", special_tokens: _SpecialTokens = None
    ) -> Tokenizer: ...
    def encode(
        self,
        text: _Text,
        *,
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
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> npt.NDArray[Any]: ...
    def encode_batch(
        self,
        texts: Iterable[_Text],
        *,
        dtype: npt.DTypeLike = "uint32",
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> Ragged: ...
    def encode_with_offsets(
        self, text: _Text, *, special: _Special = "text", surrogates: _Surrogates = "replace"
    ) -> Encoding: ...
    def count(
        self,
        text: _Text,
        *,
        special: _Special = "text",
        surrogates: _Surrogates = "replace",
        num_threads: int | None = 1,
    ) -> int: ...
    def count_batch(
        self,
        texts: Iterable[_Text],
        *,
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
    def split(self) -> str: ...
    @property
    def bos_token_id(self) -> int | None: ...
    @property
    def eos_token_id(self) -> int | None: ...
    @property
    def pad_token_id(self) -> int | None: ...
    @property
    def unk_token_id(self) -> int | None: ...
    @property
    def training_report(self) -> TrainingReport | None: ...
    def with_special_tokens(self, special_tokens: Sequence[str] | Mapping[str, int]) -> Tokenizer: ...
    def with_vocab_size(self, vocab_size: int) -> Tokenizer: ...
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: Literal["tokenizer.json", "tiktoken", "vocab+merges"] | None = None,
        lossy: bool = False,
    ) -> None: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Tokenizer: ...
    def __deepcopy__(self, memo: Any, /) -> Tokenizer: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def load_file(
    path: str | os.PathLike[str], *, split: str | None = None, special_tokens: _SpecialTokens = None
) -> Tokenizer: ...
def from_state(state: bytes, /) -> Tokenizer: ...
def train_files(
    paths: Sequence[str], options: Mapping[str, object], progress: _Progress = None
) -> Tokenizer: ...
def train_texts(
    texts: Iterable[str], options: Mapping[str, object], progress: _Progress = None
) -> Tokenizer: ...
