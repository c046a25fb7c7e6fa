"""``Encoding``, with the attributes and methods of the class of this name in tokenizers 0.23.3."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import tokenizers

from ..._core import Encoding as CoreEncoding

__all__ = ["Encoding"]

_NOTHING: dict[str, object] = {
    "ids": [],
    "type_ids": [],
    "tokens": [],
    "words": [],
    "offsets": [],
    "special_tokens_mask": [],
    "attention_mask": [],
    "overflowing": [],
    "sequence_ranges": {},
}
# The library makes what this needs at the first call. A process that forks while another thread makes it
# would wait for it for ever, so it is made at import.
tokenizers.Encoding().__setstate__(json.dumps(_NOTHING).encode())


class Encoding:
    """Ids and what they stand for.

    All that is looked up in it, and what changes it, is done by an encoding of the tokenizers library that is
    made of these ids and offsets when it is first needed. Lists are new ones every time, as there: callers
    change them.
    """

    __slots__ = ("_core", "_plain")

    def __init__(self, core: CoreEncoding | None, plain: tokenizers.Encoding | None = None) -> None:
        self._core = core
        self._plain = plain

    # ---- what it consists of ----------------------------------------------------------------------

    @property
    def ids(self) -> list[int]:
        return list(self._data.ids)

    @property
    def type_ids(self) -> list[int]:
        return list(self._data.type_ids)

    @property
    def tokens(self) -> list[str]:
        core = self._core
        return self.to_tokenizers().tokens if core is None else list(core.surface_tokens)

    @property
    def offsets(self) -> list[tuple[int, int]]:
        return list(self._data.offsets)

    @property
    def attention_mask(self) -> list[int]:
        return list(self._data.attention_mask)

    @property
    def special_tokens_mask(self) -> list[int]:
        return list(self._data.special_tokens_mask)

    @property
    def word_ids(self) -> list[int | None]:
        return list(self._data.word_ids)

    @property
    def words(self) -> list[int | None]:
        return list(self._data.word_ids)

    @property
    def sequence_ids(self) -> list[int | None]:
        return list(self._data.sequence_ids)

    @property
    def n_sequences(self) -> int:
        return self._data.n_sequences

    @property
    def overflowing(self) -> list[Encoding]:
        core = self._core
        if core is None:
            return [Encoding(None, window) for window in self.to_tokenizers().overflowing]
        return [Encoding(window) for window in core.overflowing]

    @property
    def _data(self) -> CoreEncoding | tokenizers.Encoding:
        return self.to_tokenizers() if self._core is None else self._core

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return repr(self.to_tokenizers())

    def to_tokenizers(self) -> tokenizers.Encoding:
        """The same as an encoding of the tokenizers library."""
        plain = self._plain
        if plain is None:
            plain = tokenizers.Encoding()
            plain.__setstate__(json.dumps(self._state()).encode())
            self._plain = plain
        return plain

    def _state(self) -> dict[str, Any]:
        """In the form of a pickle of that library."""
        sequences = self.sequence_ids
        ranges = {}
        for number in range(self.n_sequences):
            places = [place for place, of in enumerate(sequences) if of == number]
            start, end = (places[0], places[-1] + 1) if places else (0, 0)
            ranges[str(number)] = {"start": start, "end": end}
        return {
            "ids": self.ids,
            "type_ids": self.type_ids,
            "tokens": self.tokens,
            "words": self.word_ids,
            "offsets": self.offsets,
            "special_tokens_mask": self.special_tokens_mask,
            "attention_mask": self.attention_mask,
            "overflowing": [window._state() for window in self.overflowing],
            "sequence_ranges": ranges,
        }

    # ---- looked up --------------------------------------------------------------------------------

    def token_to_sequence(self, token_index: int) -> int | None:
        """The number of the text that a token is of."""
        return self.to_tokenizers().token_to_sequence(token_index)

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """The characters that a token stands for."""
        return self.to_tokenizers().token_to_chars(token_index)

    def token_to_word(self, token_index: int) -> int | None:
        """The word that a token is of."""
        return self.to_tokenizers().token_to_word(token_index)

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The tokens of a word, half-open."""
        return self.to_tokenizers().word_to_tokens(word_index, sequence_index)

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The characters of a word, half-open."""
        return self.to_tokenizers().word_to_chars(word_index, sequence_index)

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The token that stands for a character."""
        return self.to_tokenizers().char_to_token(char_pos, sequence_index)

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The word that a character is in."""
        return self.to_tokenizers().char_to_word(char_pos, sequence_index)

    # ---- changed ----------------------------------------------------------------------------------

    def _own(self) -> tokenizers.Encoding:
        """The library's own encoding, which is about to change; from then on it alone counts."""
        plain = self.to_tokenizers()
        self._core = None
        return plain

    def set_sequence_id(self, sequence_id: int) -> None:
        """Make all tokens those of one text."""
        self._own().set_sequence_id(sequence_id)

    def pad(self, length: int, **settings: Any) -> None:
        """Pad to a length; ``direction``, ``pad_id``, ``pad_type_id`` and ``pad_token`` say how."""
        self._own().pad(length, **settings)

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Cut to a length; what is cut off becomes ``overflowing``."""
        self._own().truncate(max_length, stride, direction)

    @staticmethod
    def merge(encodings: Sequence[Encoding | tokenizers.Encoding], growing_offsets: bool = True) -> Encoding:
        """One encoding of several, one after the other."""
        plain = [one.to_tokenizers() if isinstance(one, Encoding) else one for one in encodings]
        return Encoding(None, tokenizers.Encoding.merge(plain, growing_offsets))

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoding, (None, self.to_tokenizers())
