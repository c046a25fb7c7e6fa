"""What tokenmill means, in plain Python: byte-pair encoding at its slowest and clearest.

The engine is written for speed; this file is written to be read. Where the two disagree, this
one is right: the tests hold the engine to it, token by token. Each part rests on those above it:

1. symbols    a pretoken as a row of bytes or characters
2. corpus     texts cut into pretokens and counted
3. training   count the pairs, merge the most frequent, repeat; the same for WordPiece
4. encoding   the same merges on a new text, and the way back
5. trace      the steps of training on a page

A *symbol* is `bytes` over the byte alphabet and `str` over a character alphabet, and is known by
its spelling alone. A *pretoken* is a tuple of symbols; no merge crosses its ends. A *corpus* maps
each distinct pretoken to the number of times it occurs, in the order of first occurrence. Texts
are cut by the caller's `split`: the usual patterns name Unicode classes that `re` does not have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, repeat
from typing import Generic, Literal, TypeVar

S = TypeVar("S", bytes, str)
Pair = tuple[S, S]
Pretoken = tuple[S, ...]
Split = Callable[[str], Iterable[str]]
TieBreak = Literal["lexicographic", "lexicographic-largest", "first-seen", "token-id", "huggingface"]

# ---- 1. symbols -------------------------------------------------------------------------------

BYTES: tuple[bytes, ...] = tuple(bytes([value]) for value in range(256))
"""The byte alphabet in byte order. It spells every text: nothing is unknown to it."""


def byte_symbols(text: str | bytes) -> Pretoken[bytes]:
    """Make one symbol of each UTF-8 byte of a text."""
    data = text.encode() if isinstance(text, str) else text
    return tuple(BYTES[value] for value in data)


def char_symbols(
    text: str,
    end_of_word: str | None = None,
    end_of_word_form: Literal["separate", "suffix"] = "separate",
) -> Pretoken[str]:
    """Make one symbol of each character of a text, and mark where the word ends.

    The mark is a symbol of its own, `l o w </w>`, or a part of the last one, `l o w</w>`. The two
    learn different merges: only the first can make `est` before it knows that a word ends there.
    """
    symbols = tuple(text)
    if end_of_word is None or not symbols:
        return symbols
    if end_of_word_form == "separate":
        return (*symbols, end_of_word)
    return (*symbols[:-1], symbols[-1] + end_of_word)


def alphabet_of(corpus: Iterable[Pretoken[S]], end_of_word: S | None = None) -> list[S]:
    """List the symbols that occur in the order of their ids: by code point, those that end a word last."""
    symbols = {symbol for pretoken in corpus for symbol in pretoken}
    return sorted(symbols, key=lambda symbol: (without_mark(symbol, end_of_word) != symbol, symbol))


def without_mark(symbol: S, end_of_word: S | None) -> S:
    """Give what a symbol stands for: the mark of a word's end stands for nothing."""
    return symbol if end_of_word is None else symbol.removesuffix(end_of_word)


def byte_to_unicode() -> dict[int, str]:
    """Map each byte to the character that stands for it in vocabulary files, where raw bytes cannot.

    Bytes that print in Latin-1 stand for themselves. The other 68 (controls, both spaces, the
    soft hyphen) take the code points from 256 on, in byte order: the space becomes `Ġ`.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = [value for value in range(256) if value not in printable]
    return {value: chr(value if value in printable else 256 + hidden.index(value)) for value in range(256)}


def unicode_to_byte() -> dict[str, int]:
    """Map each of those characters back to its byte."""
    return {character: value for value, character in byte_to_unicode().items()}


def spell(symbol: bytes | str) -> bytes:
    """Give the bytes of a symbol."""
    return symbol if isinstance(symbol, bytes) else symbol.encode()


def written(symbol: bytes | str) -> str:
    """Write a symbol as vocabulary files do."""
    if isinstance(symbol, str):
        return symbol
    characters = byte_to_unicode()
    return "".join(characters[value] for value in symbol)


# ---- 2. corpus --------------------------------------------------------------------------------


def cut_special(text: str, special_tokens: Iterable[str]) -> list[tuple[str, bool]]:
    """Cut a text at its special tokens, leftmost and longest first; True marks a special token.

    >>> cut_special("a<s>b", ["<s>"])
    [('a', False), ('<s>', True), ('b', False)]
    """
    literals = sorted(filter(None, special_tokens), key=len, reverse=True)
    anything = "|".join(map(re.escape, literals)) or "(?!)"
    parts = re.split(f"({anything})", text)
    return [(part, place % 2 == 1) for place, part in enumerate(parts) if part]


def count_pretokens(
    texts: Iterable[str] | Mapping[str, int],
    to_symbols: Callable[[str], Pretoken[S]],
    *,
    split: Split | None = None,
    special_tokens: Iterable[str] = (),
) -> Counter[Pretoken[S]]:
    """Build the corpus from texts, each a document, or from a mapping of texts to counts.

    Special tokens are cut out, not counted.
    """
    literals = list(special_tokens)
    corpus: Counter[Pretoken[S]] = Counter()
    for text, times in texts.items() if isinstance(texts, Mapping) else zip(texts, repeat(1)):
        for part, is_special in cut_special(text, literals):
            if not is_special:
                for pretoken in filter(None, split(part) if split else [part]):
                    corpus[to_symbols(pretoken)] += times
    return corpus


# ---- 3. training ------------------------------------------------------------------------------


def pair_counts(corpus: Mapping[Pretoken[S], int]) -> dict[Pair[S], int]:
    """How often each pair of neighbours occurs, in the order of first occurrence.

    Occurrences may overlap: `a a a` holds (a, a) twice, although only one of them can be merged.
    """
    counts: dict[Pair[S], int] = {}
    for pretoken, weight in corpus.items():
        for pair in pairwise(pretoken):
            counts[pair] = counts.get(pair, 0) + weight
    return counts


def merge(pretoken: Pretoken[S], pair: Pair[S]) -> Pretoken[S]:
    """Make one symbol of a pair wherever it stands, left to right: `a a a` becomes `aa a`."""
    merged: list[S] = []
    at = 0
    while at < len(pretoken):
        if pretoken[at : at + 2] == pair:
            merged.append(pair[0] + pair[1])
            at += 2
        else:
            merged.append(pretoken[at])
            at += 1
    return tuple(merged)


def merge_corpus(corpus: Mapping[Pretoken[S], int], pair: Pair[S]) -> Counter[Pretoken[S]]:
    """Merge a pair in every pretoken; their order and weights stay."""
    merged: Counter[Pretoken[S]] = Counter()
    for pretoken, weight in corpus.items():
        merged[merge(pretoken, pair)] += weight
    return merged


def choose(tied: Sequence[Pair[S]], tie_break: TieBreak, numbers: Mapping[S, int]) -> Pair[S]:
    """Choose the pair to merge among equally frequent ones, given in the order of first occurrence.

    Strings compare by code point, which is also the order of their UTF-8 bytes. Both rules by id take the
    smallest pair of ids, and differ in how the alphabet is numbered (see `trace_training`): as here, or in
    the order of the written forms, as the library tokenizers does.
    """
    if tie_break == "lexicographic":
        return min(tied)
    if tie_break == "lexicographic-largest":
        return max(tied)
    if tie_break == "first-seen":
        return tied[0]
    if tie_break in ("token-id", "huggingface"):
        return min(tied, key=lambda pair: (numbers[pair[0]], numbers[pair[1]]))
    raise ValueError(f"unknown tie_break {tie_break!r}")


@dataclass(frozen=True)
class Step(Generic[S]):
    """One step of training: what was counted, what won, what corpus and vocabulary became."""

    before: Mapping[Pretoken[S], int]
    counts: Mapping[Pair[S], int]
    winner: Pair[S]
    count: int
    after: Mapping[Pretoken[S], int]
    vocabulary: Sequence[S]


def trace_training(
    pretokens: Mapping[Pretoken[S], int] | Iterable[Pretoken[S]],
    *,
    num_merges: int,
    tie_break: TieBreak = "lexicographic",
    min_frequency: int = 2,
    max_token_length: int | None = None,
    alphabet: Iterable[S] | None = None,
    end_of_word: S | None = None,
) -> Iterator[Step[S]]:
    """Count, choose, merge, until there are enough merges or no pair is frequent enough and fits.

    Both bounds are inclusive; a token is as long as the text it stands for. `alphabet` lists the first
    symbols in the order of their ids (default: `alphabet_of` the pretokens); each merge takes the next id.
    A merge whose text would hold the mark `end_of_word` is skipped: it could not be told from the mark.
    """

    def fits(left: S, right: S) -> bool:
        text = left + without_mark(right, end_of_word)
        if end_of_word is not None and end_of_word in text:
            return False
        return max_token_length is None or len(text) <= max_token_length

    corpus: Mapping[Pretoken[S], int] = Counter(pretokens)
    if any(isinstance(pretoken, str | bytes) for pretoken in corpus):
        raise TypeError("a pretoken is a tuple of symbols: see byte_symbols and char_symbols")
    vocabulary: list[S] = alphabet_of(corpus, end_of_word) if alphabet is None else list(alphabet)
    order = vocabulary
    if tie_break == "huggingface":
        order = sorted(vocabulary, key=lambda s: (without_mark(s, end_of_word) != s, written(s)))
    numbers = {symbol: number for number, symbol in enumerate(order)}
    for _ in range(num_merges):
        counts = pair_counts(corpus)
        allowed = {pair: count for pair, count in counts.items() if count >= min_frequency and fits(*pair)}
        if not allowed:
            return
        highest = max(allowed.values())
        tied = [pair for pair, count in allowed.items() if count == highest]
        winner = choose(tied, tie_break, numbers)
        before, corpus = corpus, merge_corpus(corpus, winner)
        vocabulary.append(winner[0] + winner[1])
        numbers[vocabulary[-1]] = len(numbers)
        yield Step(before, counts, winner, highest, corpus, tuple(vocabulary))


def train(
    pretokens: Mapping[Pretoken[S], int] | Iterable[Pretoken[S]],
    *,
    num_merges: int,
    tie_break: TieBreak = "lexicographic",
    min_frequency: int = 2,
    max_token_length: int | None = None,
    alphabet: Iterable[S] | None = None,
    end_of_word: S | None = None,
) -> list[tuple[S, S, int]]:
    """Learn merges, and list them in that order: left, right, and the count that won.

    >>> train(map(byte_symbols, ["work", "work", "worked"]), num_merges=3)
    [(b'o', b'r', 3), (b'or', b'k', 3), (b'w', b'ork', 3)]
    """
    steps = trace_training(
        pretokens,
        num_merges=num_merges,
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        alphabet=alphabet,
        end_of_word=end_of_word,
    )
    return [(step.winner[0], step.winner[1], step.count) for step in steps]


# ---- 4. encoding ------------------------------------------------------------------------------


def train_wordpiece(
    words: Mapping[str, int],
    num_merges: int,
    *,
    score: Literal["frequency", "likelihood"] = "frequency",
    prefix: str = "##",
    min_frequency: int = 2,
) -> list[str]:
    """The pieces of a WordPiece vocabulary, by the definition: the alphabet, then what the merges make.

    ``words`` says how often each word occurs. A piece that does not begin a word is written with
    ``prefix``; pieces that are written alike are one piece. The score of a pair is its count, or its
    count divided by the counts of both parts. Of equal pairs the one with the smallest numbers is
    merged.

    >>> train_wordpiece({"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}, 1)[-1]
    '##ug'
    >>> train_wordpiece({"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}, 1, score="likelihood")[-1]
    '##gs'
    """
    corpus = {tuple(c if i == 0 else prefix + c for i, c in enumerate(word)): n for word, n in words.items()}
    begins = sorted({c for word in words for c in word})
    continues = sorted({prefix + c for word in words for c in word[1:]})
    pieces = list(dict.fromkeys([*begins, *continues]))
    for _ in range(num_merges):
        number = {piece: at for at, piece in enumerate(pieces)}
        counts: Counter[str] = Counter()
        for row, n in corpus.items():
            for piece in row:
                counts[piece] += n
        pairs = {pair: n for pair, n in pair_counts(corpus).items() if n >= min_frequency}
        if not pairs:
            break

        def worth(
            pair: Pair[str],
            pairs: Mapping[Pair[str], int] = pairs,
            counts: Mapping[str, int] = counts,
            number: Mapping[str, int] = number,
        ) -> tuple[Fraction, int, int]:
            of_parts = counts[pair[0]] * counts[pair[1]] if score == "likelihood" else 1
            return Fraction(pairs[pair], of_parts), -number[pair[0]], -number[pair[1]]

        left, right = max(pairs, key=worth)
        joined = left + right.removeprefix(prefix)
        merged: Counter[Pretoken[str]] = Counter()
        for row, n in corpus.items():
            new: list[str] = []
            rest = list(row)
            while rest:
                is_pair = len(rest) > 1 and rest[0] == left and rest[1] == right
                new.append(joined if is_pair else rest[0])
                del rest[: 1 + is_pair]
            merged[tuple(new)] += n
        corpus = dict(merged)
        if joined not in number:
            pieces.append(joined)
    return pieces


def encode(pretoken: Pretoken[S], ranks: Mapping[Pair[S], int]) -> Pretoken[S]:
    """Merge the neighbours of lowest rank, the leftmost of them first, until no two can merge."""
    return merge_lowest(pretoken, lambda left, right: ranks.get((left, right)))


def encode_by_id(pretoken: Pretoken[S], ids: Mapping[S, int]) -> Pretoken[S]:
    """Do the same with a bare vocabulary: any two that spell a token may merge, lowest id first."""
    return merge_lowest(pretoken, lambda left, right: ids.get(left + right))


def merge_lowest(pretoken: Pretoken[S], rank_of: Callable[[S, S], int | None]) -> Pretoken[S]:
    """Merge one pair at a time: the lowest rank, and of equal ranks the leftmost."""
    symbols = list(pretoken)
    while True:
        ranked = [(rank_of(left, right), at) for at, (left, right) in enumerate(pairwise(symbols))]
        candidates = [(rank, at) for rank, at in ranked if rank is not None]
        if not candidates:
            return tuple(symbols)
        _, place = min(candidates)
        symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]


def apply_merges_in_order(pretoken: Pretoken[S], merges: Iterable[Pair[S]]) -> Pretoken[S]:
    """Encode the textbook way: every merge once over the whole pretoken, in the order of training.

    For trained merges it equals `encode`: what a merge makes can only be part of a later one.
    """
    for pair in merges:
        pretoken = merge(pretoken, pair)
    return pretoken


def token_list(
    alphabet: Iterable[S],
    merges: Iterable[Pair[S]],
    *,
    end_of_word: S | None = None,
    special_tokens: Iterable[str] = (),
    special_ids: Literal["first", "last"] = "first",
    unk_token: str | None = None,
) -> list[bytes]:
    """List what every token stands for, in the order of ids: special tokens, alphabet, merges.

    An `unk_token` follows the special tokens unless it is one of them; `special_ids="last"` puts
    all of these after the merges.
    """
    literals = dict.fromkeys([*special_tokens, *([unk_token] if unk_token is not None else [])])
    special = [spell(literal) for literal in literals]
    symbols: list[S] = list(alphabet)
    symbols += [left + right for left, right in merges]
    learned = [spell(without_mark(symbol, end_of_word)) for symbol in symbols]
    return special + learned if special_ids == "first" else learned + special


def tokens_from_pairs(pairs: Iterable[tuple[int, int]]) -> list[bytes]:
    """List the bytes of every token when 0 to 255 are bytes and later ids are pairs of earlier ones."""
    tokens = list(BYTES)
    for left, right in pairs:
        tokens.append(tokens[left] + tokens[right])
    return tokens


def decode_bytes(ids: Iterable[int], tokens: Sequence[bytes]) -> bytes:
    """Join the bytes that the ids stand for."""
    return b"".join(tokens[number] for number in ids)


def decode(ids: Iterable[int], tokens: Sequence[bytes], errors: str = "replace") -> str:
    """Give the text that the ids stand for. Bytes are joined first: a token may be half a character."""
    return decode_bytes(ids, tokens).decode(errors=errors)


# ---- 5. trace ---------------------------------------------------------------------------------


def format_trace(steps: Iterable[Step[S]], *, most_rows: int | None = None) -> str:
    """Write the steps as a page to read: the corpus, then for each step its counts and what it makes.

    Lists longer than `most_rows` are cut, and say how many rows are left out.
    """
    lines: list[str] = []
    learned: list[str] = []
    for step in steps:
        left, right = show(step.winner[0]), show(step.winner[1])
        learned.append(left + right)
        base = len(step.vocabulary) - len(learned)
        if not lines:
            lines += ["start"]
            lines += first_rows(corpus_rows(step.before), most_rows)
        lines += ["", f"step {len(learned)}: {left} + {right}, count {step.count}"]
        lines += first_rows(pair_rows(step), most_rows, keep=pair_row(step.count, step.winner, " *"))
        lines += ["  becomes"]
        lines += first_rows(corpus_rows(step.after), most_rows)
        lines += [f"  vocabulary: {base} symbols and {last_of(learned, most_rows)}"]
    return "\n".join(lines or ["no pair to merge"]) + "\n"


def first_rows(rows: Sequence[str], most: int | None, *, keep: str | None = None) -> list[str]:
    """Cut a list after its first rows; the row `keep` stays, wherever it stands."""
    if most is None or len(rows) <= most:
        return list(rows)
    kept = [*rows[:most], *(row for row in rows[most:] if row == keep)]
    return [*kept, f"       … and {len(rows) - len(kept):,} more"] if len(kept) < len(rows) else kept


def last_of(learned: Sequence[str], most: int | None) -> str:
    """List what was learned; of a long list the last ones."""
    if most is None or len(learned) <= most:
        return ", ".join(learned)
    return f"{len(learned) - most:,} more, … {', '.join(learned[-most:])}"


def pair_rows(step: Step[S]) -> list[str]:
    """Write the table of counts, the most frequent pair first, the winner marked."""
    table = sorted(step.counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return [pair_row(count, pair, " *" if pair == step.winner else "") for pair, count in table]


def pair_row(count: int, pair: Pair[S], mark: str) -> str:
    """Write a pair and its count."""
    left, right = pair
    return f"  {count:>6}  {show(left)} {show(right)}{mark}"


def corpus_rows(corpus: Mapping[Pretoken[S], int]) -> list[str]:
    """Write the distinct pretokens with their weights."""
    return [
        f"  {weight:>6} x {' '.join(show(symbol) for symbol in pretoken)}"
        for pretoken, weight in corpus.items()
    ]


def show(symbol: bytes | str) -> str:
    """Show a symbol in print: `␣` for a space, escapes for what does not print or is no character."""
    text = symbol.decode(errors="backslashreplace") if isinstance(symbol, bytes) else symbol
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text.replace(" ", "␣"))
