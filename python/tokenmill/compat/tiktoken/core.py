"""``Encoding``, with the methods of tiktoken's class of this name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

from ..._forks import waited_for
from ..._kept import kept
from ...errors import SpecialTokenError, VocabularyError
from . import _unstable
from ._arguments import check_threads, disallowed, missing, no_set, refuse, to_bytes, to_texts
from ._making import distinct_ids, make_tokenizer
from ._merging import merge_piece
from .load import get_folder, take_folder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Encoding", "raise_disallowed_special_token"]

_Special = Literal["text", "parse", "raise"] | AbstractSet[str]
_T = TypeVar("_T")

_NONE: frozenset[str] = frozenset()


class Encoding:
    """Text to ids and back, as tiktoken's class.

    ``mergeable_ranks`` gives the id of each token, which is also the order of merging;
    ``special_tokens`` the ids of literals that are found only where they are allowed. ``pat_str`` is the
    pattern whose matches are encoded; the text between two matches is dropped. ``explicit_n_vocab``, if
    given, must be the number of all tokens, and one more than the largest id (else ``AssertionError``).
    """

    name: str
    max_token_value: int
    """The largest id."""

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        self.name = name
        self._pat_str = pat_str
        self._mergeable_ranks = mergeable_ranks
        self._special_tokens = special_tokens
        self.max_token_value = max(max(mergeable_ranks.values()), max(special_tokens.values(), default=0))
        if explicit_n_vocab:
            count = len(mergeable_ranks) + len(special_tokens)
            if not count == explicit_n_vocab == self.max_token_value + 1:
                raise AssertionError(
                    f"explicit_n_vocab is {explicit_n_vocab}, but there are {count} tokens and the largest "
                    f"id is {self.max_token_value}"
                )
        self._special_token_values = set(special_tokens.values())
        self._literals = frozenset(special_tokens)
        # Inside, the second literal of an id has an id of its own, which callers never see.
        engine_ids, self._second_names = distinct_ids(mergeable_ranks, special_tokens)
        self._tokenizer = make_tokenizer(mergeable_ranks, pat_str, engine_ids)

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # ---- encoding -----------------------------------------------------------------------------

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text in which no special token is looked for."""
        return self._encode(text, "text")

    def encode(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[int]:
        """The ids of a text.

        Literals of special tokens become their id if ``allowed_special`` has them. Those of
        ``disallowed_special`` ("all": all that are not allowed) are a ``ValueError``, the others are text.
        """
        return self._checked(self._encode, text, allowed_special, disallowed_special)

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> npt.NDArray[np.uint32]:
        """As ``encode``, into an array of uint32. Surrogates are a ``UnicodeEncodeError``."""
        return self._checked(self._encode_to_numpy, text, allowed_special, disallowed_special)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """``encode_ordinary`` for each of many texts, on at most ``num_threads`` threads."""
        return self._encode_batch(to_texts(text), "text", num_threads)

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: Literal["all"] | AbstractSet[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[list[int]]:
        """``encode`` for each of many texts, on at most ``num_threads`` threads."""
        texts = to_texts(text)
        special, refused = self._policy(allowed_special, disallowed_special)
        if special == "raise":
            try:
                return self._encode_batch(texts, special, num_threads)
            except SpecialTokenError:
                special = "text"
        for one in texts:
            refuse(one, refused)
        return self._encode_batch(texts, special, num_threads)

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """The ids that no continuation of the text changes, and what may follow them.

        Each of the sequences that may follow spells the rest of the text, and perhaps more. Surrogates are
        a ``UnicodeEncodeError``. Cost: thousands of encodings.
        """
        return self._checked(self._encode_with_unstable, text, allowed_special, disallowed_special)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of one token, special ones included; ``KeyError`` where there is none."""
        token = to_bytes(text_or_bytes)
        number = self._mergeable_ranks.get(token)
        if number is None:
            number = self._special_bytes.get(token)
        if number is None:
            raise KeyError(token)
        return number

    # ---- decoding -----------------------------------------------------------------------------

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes that ids stand for; ``KeyError`` for one that does not exist."""
        if isinstance(tokens, bytes | bytearray):
            tokens = list(tokens)
        try:
            decoded = self._tokenizer.decode_bytes(tokens)
        except VocabularyError as error:
            raise missing(error.id) from error
        if self._second_names:
            for token in tokens:
                if token in self._second_names:
                    raise missing(token)
        return decoded

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text that ids stand for; ``errors`` is Python's policy for bytes that are not UTF-8."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one token, special ones included; ``KeyError`` where there is none."""
        if token in self._second_names:
            raise missing(token)
        try:
            return self._tokenizer.token_bytes(token)
        except VocabularyError as error:
            raise missing(error.id) from error

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each token."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text, and for each token the index of the first character that has bytes of it.

        Bytes that are not UTF-8 are a ``UnicodeDecodeError``.
        """
        parts = self.decode_tokens_bytes(tokens)
        offsets = []
        begun = 0
        for part in parts:
            goes_on = 0x80 <= part[0] < 0xC0
            offsets.append(max(begun - goes_on, 0))
            begun += sum(not 0x80 <= byte < 0xC0 for byte in part)
        return b"".join(parts).decode("utf-8"), offsets

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """``decode`` for each of many rows. It is fast enough for one thread, which does all."""
        check_threads(num_threads)
        return [self.decode(tokens, errors=errors) for tokens in batch]

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """``decode_bytes`` for each of many rows, on one thread."""
        check_threads(num_threads)
        return [self.decode_bytes(tokens) for tokens in batch]

    # ---- tables -------------------------------------------------------------------------------

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all tokens but the special ones, in byte order."""
        return list(self._ordered)

    @property
    def eot_token(self) -> int:
        """The id of ``<|endoftext|>``; ``KeyError`` where there is none."""
        return self._special_tokens["<|endoftext|>"]

    @kept
    def special_tokens_set(self) -> set[str]:
        """The literals of all special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Whether this is the id of a special token."""
        if not isinstance(token, int):
            raise AssertionError(f"a token is an int, not {type(token).__name__}")
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """One more than the largest id."""
        return self.max_token_value + 1

    # ---- what tiktoken keeps private and programs use nevertheless ----------------------------

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """The ids of a text or bytes that no pattern cuts."""
        return merge_piece(to_bytes(text_or_bytes), self._mergeable_ranks)

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        """As ``encode_ordinary``, but surrogates are a ``UnicodeEncodeError``."""
        text.encode()
        return self._encode(text, "text")

    def _encode_bytes(self, text: bytes) -> list[int]:
        """The ids of bytes. What is no UTF-8, and all after it, goes into one piece with the last match."""
        if not isinstance(text, bytes):
            raise TypeError(f"expected bytes, not {type(text).__name__}")
        try:
            return self._encode(text.decode(), "text")
        except UnicodeDecodeError as error:
            ids, unstable = self._apart(text[: error.start].decode(), "text")
            unstable += text[error.start :]
        return ids + merge_piece(unstable, self._mergeable_ranks)

    # ---- copies -------------------------------------------------------------------------------

    def __copy__(self) -> Encoding:
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Encoding:
        return self.__copy__()

    def __getstate__(self) -> object:
        """An encoding that ``get_encoding`` has made is sent by its name, with the folder of its file."""
        with waited_for:
            from . import registry

        if self is registry.ENCODINGS.get(self.name):
            return (self.name, *get_folder())
        return {
            "name": self.name,
            "pat_str": self._pat_str,
            "mergeable_ranks": self._mergeable_ranks,
            "special_tokens": self._special_tokens,
        }

    def __setstate__(self, value: Any) -> None:
        with waited_for:
            from . import registry

        if isinstance(value, dict):
            self.__init__(**value)  # type: ignore[misc]
            return
        # tiktoken sends the name alone.
        name, folder, offline = (value, None, False) if isinstance(value, str) else value
        if get_folder() == (None, False):
            take_folder(folder, offline=offline)
        self.__dict__.update(registry.get_encoding(name).__dict__)

    # ---- special tokens -----------------------------------------------------------------------

    def _policy(
        self, allowed: Literal["all"] | AbstractSet[str], disallowed: Literal["all"] | Collection[str]
    ) -> tuple[_Special, frozenset[str]]:
        """What special tokens mean to the tokenizer, and the literals that no text may hold."""
        if disallowed == "all" and not allowed and isinstance(allowed, AbstractSet):
            return "raise", self._literals
        if allowed == "all":
            allowed = self._literals
        if not isinstance(allowed, AbstractSet):
            raise no_set(allowed)
        refused = frozenset(self._literals - allowed if disallowed == "all" else disallowed)
        recognised = self._literals & allowed
        return (recognised or "text"), refused

    def _checked(
        self,
        encode: Callable[[str, _Special], _T],
        text: str,
        allowed: Literal["all"] | AbstractSet[str],
        disallowed: Literal["all"] | Collection[str],
    ) -> _T:
        """Encode a text that holds none of the disallowed literals.

        The tokenizer itself looks for them where that is the same, in one pass with the rest.
        """
        if not isinstance(text, str):
            raise TypeError(f"expected a str, not {type(text).__name__}")
        special, refused = self._policy(allowed, disallowed)
        if special != "raise":
            refuse(text, refused)
            return encode(text, special)
        try:
            return encode(text, special)
        except (SpecialTokenError, UnicodeEncodeError):
            # The tokenizer joins pairs of surrogates: a literal that is there only then does not count.
            refuse(text, refused)
            return encode(text, "text")

    # ---- ids ----------------------------------------------------------------------------------

    def _encode(self, text: str, special: _Special) -> list[int]:
        if not isinstance(text, str):
            raise TypeError(f"expected a str, not {type(text).__name__}")
        return self._own_ids(self._tokenizer.encode(text, special=special))

    def _encode_to_numpy(self, text: str, special: _Special) -> npt.NDArray[np.uint32]:
        if not self._second_names:
            try:
                return self._tokenizer.encode_to_numpy(text, special=special, surrogates="error")
            except UnicodeEncodeError as error:
                # The reason names an argument that this method has not.
                error.reason = "surrogates not allowed; encode reads them as U+FFFD"
                raise
        with waited_for:
            import numpy

        text.encode()
        return numpy.array(self._encode(text, special), dtype=numpy.uint32)

    def _encode_batch(self, texts: list[str], special: _Special, num_threads: int | None) -> list[list[int]]:
        check_threads(num_threads)
        rows = self._tokenizer.encode_batch(texts, special=special, num_threads=num_threads).to_lists()
        return [self._own_ids(row) for row in rows] if self._second_names else rows

    def _own_ids(self, ids: list[int]) -> list[int]:
        """Ids as the caller knows them."""
        if not self._second_names:
            return ids
        return [self._second_names.get(number, number) for number in ids]

    def _apart(self, text: str, special: _Special) -> tuple[list[int], bytes]:
        """The ids that are final, and the bytes that are not."""
        encoding = self._tokenizer.encode_with_offsets(text, special=special)
        ids = self._own_ids(encoding.ids)
        # How many ids the last match made; a special token is no match.
        words = encoding.word_ids
        last = words.count(words[-1]) if words and encoding.ids[-1] not in self._engine_special else 0
        tokens = [self._token_of_rank.get(number) for number in ids]
        length = _unstable.stable_length(tokens, last)
        return ids[:length], b"".join(token for token in tokens[length:] if token is not None)

    def _encode_with_unstable(self, text: str, special: _Special) -> tuple[list[int], list[list[int]]]:
        text.encode()
        ids, unstable = self._apart(text, special)
        return ids, _unstable.completions(
            unstable,
            ordered=self._ordered,
            ranks=self._mergeable_ranks,
            encode=self.encode_ordinary,
            token_bytes=self._tokenizer.token_bytes,
        )

    @kept
    def _ordered(self) -> list[bytes]:
        return sorted(self._mergeable_ranks)

    @kept
    def _token_of_rank(self) -> dict[int, bytes]:
        return {rank: token for token, rank in self._mergeable_ranks.items()}

    @kept
    def _special_bytes(self) -> dict[bytes, int]:
        return {literal.encode(): number for literal, number in self._special_tokens.items()}

    @kept
    def _engine_special(self) -> frozenset[int]:
        return frozenset(self._tokenizer.special_tokens.values())


def raise_disallowed_special_token(token: str) -> NoReturn:
    """Raise the ``ValueError`` that ``Encoding.encode`` raises for a literal that is not allowed."""
    raise disallowed(token)
