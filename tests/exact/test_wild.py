"""Tokenizers and texts of our own finding, which are not in the test data: held against their own libraries.

The files are those of `wild_files.py`. Each is compared on the sample that the published ones of the test
data have, on texts that lay beside such files, and on strings of its own tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from . import test_published as published
from . import test_sentencepiece as pieces_of
from . import test_vocab_txt as words_of
from .texts import compare_all, pieces, strings
from .wild_files import CASES, GGUF, KIMI, MODELS, TEXTS, TOKENIZERS, VOCABULARIES, Wild, find

pytestmark = pytest.mark.slow

STRINGS = 3_000
OF_A_TEXT = 100_000
"""Bytes of each text."""


def named(files: list[Wild]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("file", files, ids=[file.name for file in files])


def wild_texts() -> Iterator[str]:
    """Every second piece of the texts that were found."""
    for file in TEXTS:
        yield from pieces(find(file), OF_A_TEXT, 2)


class Spelled:
    """Texts without what a vocabulary cannot spell: without an unknown token the peer drops it."""

    def __init__(self, native: Any, ours: Any, theirs: Any) -> None:
        self.error = native.UnknownTokenError
        self.ours, self.theirs = ours, theirs
        self.tokens = theirs.get_vocab(with_added_tokens=True)
        self.unknown: dict[int, None] = {}

    def of(self, texts: Iterable[str], plain: bool) -> Iterator[str]:
        for text in texts:
            while True:
                known = text.translate(self.unknown)
                try:
                    self.ours.count(known, special="text" if plain else "parse")
                except self.error as error:
                    assert self.unspellable(known), known
                    self.unknown[ord(known[error.position])] = None
                else:
                    break
            yield known

    def unspellable(self, text: str) -> bool:
        """Is one of the letters that the peer's model sees no token?"""
        normalizer, splitter = self.theirs.normalizer, self.theirs.pre_tokenizer
        normal = normalizer.normalize_str(text) if normalizer else text
        words = splitter.pre_tokenize_str(normal) if splitter else [(normal, None)]
        return any(letter not in self.tokens for word, _ in words for letter in word)


@named(TOKENIZERS)
def test_tokenizers_are_those_of_tokenizers(native: Any, data: Path, tmp_path: Path, file: Wild) -> None:
    from tokenizers import Tokenizer

    path = find(file)
    ours, theirs = native.load(path), Tokenizer.from_file(str(path))
    theirs.no_truncation()
    theirs.no_padding()
    assert ours.vocab == theirs.get_vocab(with_added_tokens=True)
    assert native.load(path).fingerprint == ours.fingerprint
    spelled = Spelled(native, ours, theirs)
    own = list(published.strings(f"wild {file.name}", theirs, STRINGS))
    found = [(f"found{kind}", bool(kind), wild_texts()) for kind in ("", ", plain")]
    made = [(f"strings{kind}", bool(kind), own) for kind in ("", ", plain")]
    sources = (
        (name, plain, spelled.of(texts, plain))
        for name, plain, texts in chain(published.corpora(file.name, theirs, data, False), found, made)
    )
    row = published.compare_all(file.name, ours, theirs, sources)
    missing = len(spelled.unknown)
    print(row + (f", without {missing} characters that it cannot spell" if missing else ""))
    published.saves_alike(native, ours, theirs, own[:300], tmp_path)


def saved_as_folder(native: Any, ours: Any, folder: Path) -> tuple[Any, Any]:
    """What a folder with this tokenizer is, here and in tokenizers."""
    from tokenizers import Tokenizer

    ours.save(folder / "saved")
    again = native.load(folder / "saved")
    assert again.fingerprint == ours.fingerprint
    return again, Tokenizer.from_file(str(folder / "saved" / "tokenizer.json"))


def compare_more(name: str, tokens: list[str], data: Path, compare: Callable[[list[str]], None]) -> str:
    """As `compare_all`, with the texts that were found and more strings; a row of the table."""
    row = compare_all(name, tokens, data, False, compare)
    more = [*wild_texts(), *strings(f"wild {name}", tokens, STRINGS)]
    compare(more)
    return f"{row}, {len(more)} more"


@named(MODELS)
def test_models_are_those_of_sentencepiece(native: Any, data: Path, tmp_path: Path, file: Wild) -> None:
    ours, theirs = pieces_of.both(native, find(file))
    pieces_of.same_tables(ours, theirs)
    written = [theirs.id_to_piece(i) for i in range(theirs.get_piece_size())]
    print(compare_more(file.name, written, data, partial(pieces_of.compare, ours, theirs)))
    ours.save(tmp_path / "again.model")
    again, their_again = pieces_of.both(native, tmp_path / "again.model")
    assert (again, again.fingerprint) == (ours, ours.fingerprint)
    pieces_of.compare(ours, their_again, list(strings(file.name, written, 300)))


@named(VOCABULARIES)
def test_vocabularies_are_those_of_bert(native: Any, data: Path, tmp_path: Path, file: Wild) -> None:
    path = find(file)
    ours = native.load(path)
    lowercase = not any(token != token.lower() for token in ours.vocab if not token.startswith("["))
    theirs = words_of.peer(path, lowercase)
    compare = partial(words_of.compare, ours, theirs)
    print(compare_more(file.name, sorted(ours.vocab), data, compare))
    again, peer = saved_as_folder(native, ours, tmp_path)
    texts = list(strings(file.name, sorted(ours.vocab), 300))
    peer.encode_special_tokens = True
    rows = [found.ids for found in peer.encode_batch(texts, add_special_tokens=False)]
    assert ours.encode_batch(texts).to_lists() == again.encode_batch(texts).to_lists() == rows


HAN = r"[\p{Han}]+"
ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
SPLIT_OF_KIMI = "|".join(
    [
        HAN,
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}&&[^\p{{Han}}]]*"
        rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}&&[^\p{{Han}}]]+{ENDINGS}",
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}&&[^\p{{Han}}]]+"
        rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}&&[^\p{{Han}}]]*{ENDINGS}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
"""Its split cuts Chinese characters off from other letters."""


@named(KIMI)
def test_ranks_with_an_own_split_are_those_of_tiktoken(
    native: Any, data: Path, tmp_path: Path, file: Wild
) -> None:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    path = find(file)
    ranks = load_tiktoken_bpe(str(path))
    special = {"[BOS]": len(ranks), "[EOS]": len(ranks) + 1, "<|im_end|>": len(ranks) + 2}
    ours = native.load(path, split=SPLIT_OF_KIMI, special_tokens=special)
    theirs = tiktoken.Encoding(
        file.name, pat_str=SPLIT_OF_KIMI, mergeable_ranks=ranks, special_tokens=special
    )

    def compare(texts: list[str]) -> None:
        rows = theirs.encode_ordinary_batch(texts)
        assert ours.encode_batch(texts).to_lists() == rows
        assert ours.decode_batch(rows) == theirs.decode_batch(rows)
        rows = theirs.encode_batch(texts, allowed_special="all")
        assert ours.encode_batch(texts, special="parse").to_lists() == rows

    tokens = [*special, *(token.decode(errors="replace") for token in ranks)]
    print(compare_more(file.name, tokens, data, compare))
    ours.save(tmp_path / "again.tiktoken", lossy=True)
    assert load_tiktoken_bpe(str(tmp_path / "again.tiktoken")) == ranks


@named([file for file in GGUF if file.name in CASES])
def test_published_cases_of_llama_cpp_give_their_ids(native: Any, tmp_path: Path, file: Wild) -> None:
    ours = native.load(find(file))
    texts = find(TEXTS[0]).read_bytes().decode().split("\n__ggml_vocab_test__\n")
    rows = [
        [int(number) for number in line.split()]
        for line in find(CASES[file.name]).read_text(encoding="utf-8").split("\n")
    ]
    assert len(texts) == len(rows) == 47
    assert ours.encode_batch(texts).to_lists() == rows
    assert ours.encode_batch(texts, special="parse").to_lists() == rows
    assert ours.decode_batch(rows) == texts
    _, peer = saved_as_folder(native, ours, tmp_path)
    assert [found.ids for found in peer.encode_batch(texts, add_special_tokens=False)] == rows
    print(f"{file.name} of llama.cpp: {len(texts)} cases, 0 differences")


def by_name(files: list[Wild], name: str) -> Wild:
    return next(file for file in files if file.name == name)


@pytest.mark.parametrize(
    ("gguf", "split", "of"), [("gpt-neox", "gpt2", "gpt-neox"), ("falcon", None, "falcon")]
)
def test_gguf_files_are_those_of_their_tokenizer_json(
    native: Any, data: Path, gguf: str, split: str | None, of: str
) -> None:
    from unicodedata import normalize

    from tokenizers import Tokenizer

    ours = native.load(find(by_name(GGUF, gguf)), split=split)
    path = find(by_name(TOKENIZERS, of))
    theirs = native.load(path)
    spelled = Spelled(native, theirs, Tokenizer.from_file(str(path)))
    tokens = [ours.id_to_token(i) for i in range(0, len(theirs), 7)]
    added = [token for token in theirs.special_tokens if token not in ours.special_tokens]

    def compare(texts: list[str]) -> None:
        # Neither a normalization nor what is special in a tokenizer.json is in a GGUF file.
        texts = list(spelled.of((normalize("NFC", text) for text in texts), True))
        texts = [text for text in texts if not any(token in text for token in added)]
        rows = theirs.encode_batch(texts).to_lists()
        assert ours.encode_batch(texts).to_lists() == rows

    print(compare_more(f"{gguf} of llama.cpp", tokens, data, compare))
