"""Pretokens: the same spans as tokenizers 0.23.3 cuts with the regex that our files hold.

A tokenizer that is trained on a text until nothing is left makes each of its pretokens one token, so
the offsets of its tokens are the spans of the pretokens.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .characters import EVERY
from .peer_tokenizers import CORPORA, USER_REGEX, byte_level, cut, head, saved_regex

KNOWN = ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "whitespace", "none"]
USER = [
    USER_REGEX,
    r"\w+|[^\w\s]+",
    r"\s+",
    r"(?i:'(?:[dmt]|ve|re))| ?\p{Lu}?\p{Ll}+",
    r"(?<=\d)(?=(?:\d{3})+(?!\d))",
    r"(?>a+)b|a+?|\bs",
    r"^.|.$|\n",
    r"(?m:^\s*)|(?s:b.)",
    r"[\p{Han}\p{Hiragana}\p{Katakana}]|[^\P{P}'_]",
    r"\p{L}{2}?|\d{2,3}?",
    r"(?=[A-Z])",
    r"[\p{L}&&[^\p{Lu}]]+|[\s\-]",
    r"\x{200B}|\u00e9|\t",
    r"x*",
]
# As others write them into a tokenizer.json, where they mean something else than here.
ONIGURUMA = [
    r"\p{N}{1,3}+",
    r"a{2}?",
    r"^\w+|\w+$",
    r"(?m:a.)|b.",
    r"\w+",
    r"\h+",
    r"(?i:'(?:s|t))|\b\d\b",
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"\A\s|\s\Z|\s\z",
    r"[\r\n]|\s?[A-Za-zµÀ-ÖØ-öø-ƺ]+",
]

WHITE = [chr(code) for code in range(0x3001) if chr(code).isspace() or chr(code) in "\u200b\u2060\ufeff"]
LETTERS = "aAzsStTdDmMlLvVrReE'’ſKİıßΣσςǅǆǄʰªºéꭰᏸ日本かカ한ᄒ\u1161ก\u0e31"
MARKS = "\u0301\u0903\u20dd\u0e31\ufe0f\u200d\u200c\u093e"
NUMBERS = "0129²½Ⅷ٣०৩๓۳߃᠓㊿𝟘𐒠𑁦"
SYMBOLS = "_-./,!?()[]{}#@$+<=>^`|~«»…€©🎉🇫\U000e0001\x00\x1c\x1f\x7f\x85\ue000\U000f0000\ufffd\u0378"
EDGES = [
    "",
    "I'm you're he'll we've I'd can't it's",
    "I'M YOU'RE HE'LL WE'VE I'D CAN'T IT'S 'S 'ſ 'ſt a'ſ A'ſa 'LL'll'Ll",
    "'t't''s'''re 're' x'd've y'all'd've 'sa 'san don''t ''' '",
    "ſ 'ſ ſ's K's İ'T ı'm",
    "ǅ ǅa Aǅ aǅb ǅǅ ʰA aʰ ªº ABCdef ABCDef aBcDeF HTTPServer iPhone'S X'S x'S",
    "e\u0301 \u0301e \u0301 a\u0301's \u0301\u0301 1\u0301 _\u0301 \u0903x",
    "1 12 123 1234 12345 1234567890 ½½½½ ²³¹ ⅧⅨ ٣٣٣٣ ०१२३४ 1٣०² a1b22c333d4444 1,234.5",
    " a  b   c    \n d \n\n e \r\n\r\n f \t g \n",
    "\n \r \r\n \n\r \n\n \r\r \x0b\x0c\x85\u2028\u2029",
    "a\u200bb \u200b \u200b\u200b c\ufeffd \u2060",
    "a \u00a0b\u00a0 c\u3000\u3000d \u2003e\u2003",
    "   ", "\n\n\n", "\t\t", "   a", "a   ", " \n ", "\n a", " a\n", "a \n", "  \n  \n  ",
    "!!! ?? ... a!b !a! //x //\n/ -\n\n- =/=\r\n/ {}\n{} (a) [b]/",
    "日本語 テスト 한국어 中文。『』ー カタカナ 12月",
    "🎉🎉 👨‍👩‍👧 🇫🇷 a🎉b 1️⃣",
    "<|endoftext|> <s> </s> [CLS] ▁a ##b",
    "".join(WHITE),
    "a".join(WHITE),
    "".join(f"{space}{space}x" for space in WHITE),
    " ".join(LETTERS + MARKS + NUMBERS + SYMBOLS),
    "".join(f"{sign}a {sign}1 {sign}'s{sign}{sign}\n" for sign in LETTERS + MARKS + NUMBERS + SYMBOLS),
]  # fmt: skip


def our_spans(native: Any, text: str, split: str) -> list[tuple[int, int]]:
    """The spans of the pretokens in characters."""
    tok = native.train(texts=[text], num_merges=10_000_000, min_frequency=1, split=split, num_threads=1)
    spans: list[tuple[int, int]] = tok.encode_with_offsets(text).offsets
    return spans


class Both:
    """One split, cut by both."""

    def __init__(self, native: Any, split: str, regex: str | None) -> None:
        from tokenizers import Regex, pre_tokenizers

        self.native, self.split = native, split
        self.peer = None if regex is None else pre_tokenizers.Split(Regex(regex), "isolated")

    def their_spans(self, text: str) -> list[tuple[int, int]]:
        if self.peer is None:
            return [(0, len(text))] if text else []
        return [span for _, span in self.peer.pre_tokenize_str(text)]

    def compare(self, text: str) -> None:
        theirs, ours = self.their_spans(text), our_spans(self.native, text, self.split) if text else []
        if theirs != ours:
            one = min(set(theirs) ^ set(ours))
            pytest.fail(f"{self.split}: spans differ near {text[max(one[0] - 5, 0) : one[1] + 5]!a}")


@pytest.fixture(scope="module", params=[*KNOWN, *USER])
def both(request: pytest.FixtureRequest, native: Any, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """A split by name, or a regex of this library's dialect."""
    split = request.param
    return Both(native, split, saved_regex(split, native, tmp_path_factory.mktemp("split")))


def test_edges_are_cut_alike(both: Both) -> None:
    for text in EDGES:
        both.compare(text)
    print(f"{both.split}: {len(EDGES)} texts cut, 0 differences")


@given(text=st.text(st.sampled_from(LETTERS + MARKS + NUMBERS + SYMBOLS + "".join(WHITE)), max_size=40))
def test_texts_of_edge_characters_are_cut_alike(both: Both, text: str) -> None:
    both.compare(text)


@given(text=st.text(max_size=40))
def test_any_texts_are_cut_alike(both: Both, text: str) -> None:
    both.compare(text)


def test_pieces_of_the_corpora_are_cut_alike(both: Both, data: Path) -> None:
    pieces = [
        piece for name in CORPORA for piece in cut(head(data / "corpus" / f"{name}.txt", 8_000), 1_000, 8_000)
    ]
    pieces += [next(cut(head(path, 500), 500, 500)) for path in sorted((data / "adversarial").glob("*.txt"))]
    for piece in pieces:
        both.compare(piece)
    print(f"{both.split}: {len(pieces)} pieces cut, 0 differences")


def surrounded(codes: Sequence[int]) -> str:
    """Each of these characters between letters, numbers, spaces, line ends and itself."""
    return "".join(
        f"{char}a{char}A {char} 1{char}{char}'s\n{char}"
        for char in map(chr, codes)
        if unicodedata.category(char) != "Cs"
    )


# A text becomes one long pretoken in some splits, which takes time quadratic in its length.
FEW = 40


def test_a_sample_of_all_characters_is_cut_alike(both: Both) -> None:
    blocks = [*range(0, 0x3400, 0x400), *range(0xA000, 0xAC00, 0x400), 0xF800, 0xFC00]
    blocks += [*range(0x10000, 0x20000, 0x400), 0x31000, 0xE0000, 0x10FC00]
    codes = [code for block in blocks for code in range(block, block + 0x400, 11)]
    for at in range(0, len(codes), FEW):
        both.compare(surrounded(codes[at : at + FEW]))
    print(f"{both.split}: {len(codes)} characters cut in their surroundings, 0 differences")


@pytest.mark.slow
@pytest.mark.parametrize("split", ["gpt2", "cl100k", "o200k", "qwen2", "whitespace", USER[1]])
def test_every_character_is_cut_alike(split: str, native: Any, tmp_path: Path) -> None:
    """All that are assigned; a sample stands for ranges where nothing is, or all is private."""
    both = Both(native, split, saved_regex(split, native, tmp_path))
    for at in range(0, len(EVERY), FEW):
        both.compare(surrounded(EVERY[at : at + FEW]))
    print(f"{split}: {len(EVERY)} characters cut in their surroundings, 0 differences")


@pytest.mark.parametrize("regex", ONIGURUMA)
def test_a_regex_from_a_file_of_others_cuts_as_there(regex: str, native: Any, tmp_path: Path) -> None:
    """Loaded from a tokenizer.json that the peer wrote; its words are translated, not copied."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    vocab = {char: number for number, char in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    peer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    peer.pre_tokenizer, peer.decoder = byte_level(regex), decoders.ByteLevel()
    path = tmp_path / "tokenizer.json"
    peer.save(str(path))
    split = native.load(path).split
    both = Both(native, split, regex)
    for text in EDGES:
        both.compare(text)
    for at in range(0, 0x3000, FEW):
        both.compare(surrounded(range(at, at + FEW)))
    print(f"{regex} (here {split}): {len(EDGES)} texts and {0x3000} characters cut, 0 differences")
