"""One way to ask both witnesses: train with the definition and with the engine alike.

The fixture `learn` (see conftest.py) hands a test one of them after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

from tokenmill import reference


@dataclass(frozen=True)
class Learned:
    """What came out of training, in the same form from either witness."""

    merges: list[tuple[bytes, bytes, int]]
    encode: Callable[[str], list[int]]
    token_bytes: Callable[[int], bytes]

    @property
    def rows(self) -> list[str]:
        """The merges as the golden table writes them: `e+s 9`, a space as `␣`."""
        return [f"{mark(left)}+{mark(right)} {count}" for left, right, count in self.merges]

    @property
    def tokens(self) -> list[str]:
        """What each merge made."""
        return [mark(left + right) for left, right, _ in self.merges]

    def split(self, text: str) -> list[str]:
        """The tokens of a text, for people."""
        return [mark(self.token_bytes(number)) for number in self.encode(text)]


class Learn(Protocol):
    """Train on texts, each text one pretoken."""

    def __call__(
        self,
        texts: Iterable[str],
        *,
        num_merges: int,
        tie_break: reference.TieBreak = ...,
        alphabet: Literal["bytes", "chars"] = ...,
        end_of_word: str | None = ...,
        end_of_word_form: Literal["separate", "suffix"] = ...,
        min_frequency: int = ...,
    ) -> Learned: ...


def mark(token: bytes) -> str:
    return token.decode(errors="backslashreplace").replace(" ", "␣")


def learn_by_reference(
    texts: Iterable[str],
    *,
    num_merges: int,
    tie_break: reference.TieBreak = "lexicographic",
    alphabet: Literal["bytes", "chars"] = "bytes",
    end_of_word: str | None = None,
    end_of_word_form: Literal["separate", "suffix"] = "separate",
    min_frequency: int = 2,
) -> Learned:
    """Train with the executable definition."""
    rules: dict[str, Any] = {"num_merges": num_merges, "tie_break": tie_break, "min_frequency": min_frequency}
    if alphabet == "bytes":
        corpus = reference.count_pretokens(texts, reference.byte_symbols)
        return _learned(corpus, reference.byte_symbols, reference.BYTES, None, rules)
    to_symbols = partial(reference.char_symbols, end_of_word=end_of_word, end_of_word_form=end_of_word_form)
    words = reference.count_pretokens(texts, to_symbols)
    return _learned(words, to_symbols, reference.alphabet_of(words, end_of_word), end_of_word, rules)


def _learned(
    corpus: Mapping[reference.Pretoken[reference.S], int],
    to_symbols: Callable[[str], reference.Pretoken[reference.S]],
    alphabet: Sequence[reference.S],
    end_of_word: reference.S | None,
    rules: dict[str, Any],
) -> Learned:
    merges = reference.train(corpus, alphabet=alphabet, end_of_word=end_of_word, **rules)
    pairs = [(left, right) for left, right, _ in merges]
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    symbols = list(alphabet)
    symbols += [left + right for left, right in pairs]
    ids = {symbol: number for number, symbol in enumerate(symbols)}
    tokens = reference.token_list(alphabet, pairs, end_of_word=end_of_word)

    def encode(text: str) -> list[int]:
        return [ids[symbol] for symbol in reference.encode(to_symbols(text), ranks)]

    spelled = [(reference.spell(left), reference.spell(right), n) for left, right, n in merges]
    return Learned(spelled, encode, tokens.__getitem__)


def learn_by_engine(native: Any, texts: Iterable[str], **options: Any) -> Learned:
    """Train with the compiled package."""
    tok = native.train(texts=texts, split="none", **options)
    merges = [(left, right, count) for left, right, count in tok.training_report.merges]
    assert tok.merges == [(left, right) for left, right, _ in merges]
    return Learned(merges, tok.encode, tok.token_bytes)
