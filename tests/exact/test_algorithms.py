"""The algorithms of `tokenmill.algorithms` beside `encode`, beside the executable definition, and by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill import algorithms, reference
from tokenmill.errors import BudgetError

EXACT = [algorithms.heap, algorithms.table, algorithms.backtracking]
NAMES = ["cl100k_base", "o200k_base", "gpt2", "llama3.1"]


@pytest.fixture(scope="module")
def seed_tok() -> Any:
    """The tokens of the seed's example, in its order, and all other bytes behind them."""
    tokens = [b"a", b"b", b"c", b"ab", b"cb", b"ac", b"bb", b"cbb", b"acbb"]
    return tokenmill.Tokenizer.from_tokens(
        tokens + [bytes([v]) for v in range(256) if bytes([v]) not in tokens]
    )


def test_the_prefixes_of_the_seed(seed_tok: Any) -> None:
    rows = {
        "a": ["a"],
        "ab": ["ab"],
        "aba": ["ab", "a"],
        "abac": ["ab", "ac"],
        "abacb": ["ab", "a", "cb"],
        "abacbb": ["ab", "acbb"],
    }
    for text, row in rows.items():
        for algorithm in EXACT:
            assert [seed_tok.token_bytes(id).decode() for id in algorithm(seed_tok, text)] == row
    # Counting is not monotonic.
    assert [seed_tok.count(text) for text in ("abac", "abacb", "abacbb")] == [2, 3, 2]


def test_approximations_differ() -> None:
    bytes_ = [bytes([v]) for v in range(256)]
    tok = tokenmill.Tokenizer.from_tokens([*bytes_, b"bc", b"cd", b"abc", b"ab"])
    spelled = {
        name: [tok.token_bytes(id) for id in getattr(algorithms, name)(tok, "abcd")]
        for name in ("table", "greedy", "minimal")
    }
    assert spelled["table"] == [b"abc", b"d"] == spelled["greedy"]
    tok = tokenmill.Tokenizer.from_tokens([*bytes_, b"ab", b"cd", b"bc", b"abc", b"de", b"cde"])
    assert len(algorithms.greedy(tok, "abcde")) == 2
    assert len(algorithms.minimal(tok, "abcde")) == 2
    assert tok.decode(algorithms.greedy(tok, "abcde")) == "abcde"


def test_special_tokens_and_bytes(seed_tok: Any) -> None:
    tok = seed_tok.with_special_tokens(["<s>"])
    for algorithm in [*EXACT, algorithms.greedy, algorithms.minimal]:
        assert algorithm(tok, "ab<s>ab", special="parse") == tok.encode("ab<s>ab", special="parse")
        assert algorithm(tok, b"ab\xffab") == tok.encode(b"ab\xffab")
        assert algorithm(tok, "") == []
        with pytest.raises(tokenmill.SpecialTokenError):
            algorithm(tok, "ab<s>", special="raise")
        with pytest.raises(TypeError):
            algorithm(tok, 5)  # type: ignore[arg-type]


def test_a_vocabulary_that_an_algorithm_cannot_serve_says_why(data: Path) -> None:
    """The heap serves merges over characters, the others need all bytes. Other models have no merges."""
    llama2 = tokenmill.load(data / "vocab" / "llama2")
    text = "Merges go by score: naïve café 漢字 🦊."
    assert algorithms.heap(llama2, text) == llama2.encode(text)
    for algorithm in (algorithms.table, algorithms.backtracking, algorithms.greedy, algorithms.minimal):
        with pytest.raises(BudgetError, match=r"heap serves every vocabulary") as error:
            algorithm(llama2, text)
        assert (error.value.needed, error.value.limit) == (None, None)
    bert = tokenmill.load(data / "vocab" / "bert-base-uncased")
    with pytest.raises(BudgetError, match="byte-pair encoding"):
        algorithms.heap(bert, text)


def unsplit(data: Path, name: str, folder: Path) -> Any:
    """The tokenizer without its split: each text is one pretoken."""
    path = data / "vocab" / name
    if (path / f"{name}.tiktoken").exists():
        return tokenmill.load(path / f"{name}.tiktoken", split="none")
    file = json.loads((path / "tokenizer.json").read_bytes())
    file["pre_tokenizer"] = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }
    (folder / f"{name}.json").write_text(json.dumps(file), encoding="utf-8")
    return tokenmill.load(folder / f"{name}.json")


@pytest.fixture(scope="module", params=[f"{name}{how}" for name in NAMES for how in ("", ", unsplit")])
def tok(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    name, _, how = request.param.partition(", ")
    return (
        unsplit(data, name, tmp_path_factory.mktemp("unsplit"))
        if how
        else tokenmill.load(data / "vocab" / name)
    )


def texts_of(corpus: Callable[[str], str], length: int) -> Iterator[str]:
    for name in ("english", "multilingual", "code", "cjk", "json"):
        yield corpus(name).encode()[:length].decode(errors="ignore")


def check(tok: Any, text: str) -> None:
    want = tok.encode(text)
    for algorithm in EXACT:
        assert algorithm(tok, text) == want
    greedy, minimal = algorithms.greedy(tok, text), algorithms.minimal(tok, text)
    assert tok.decode(greedy) == tok.decode(minimal) == text
    assert len(minimal) <= min(len(greedy), len(want))


def test_corpora(tok: Any, corpus: Callable[[str], str]) -> None:
    for text in texts_of(corpus, 20_000):
        check(tok, text)


@pytest.mark.slow
def test_a_megabyte_of_each_corpus(tok: Any, corpus: Callable[[str], str]) -> None:
    for text in texts_of(corpus, 1_000_000):
        check(tok, text)


def random_texts(corpus: Callable[[str], str], count: int) -> Iterator[str]:
    """Texts of 1 to 200 bytes: few letters, parts of corpora, any characters; short ones more often."""
    rng = random.Random(40)
    parts = list(texts_of(corpus, 1_000_000))
    alphabets = ["ab", "abc ", " \n\t", "the in", "0123456789.", "漢字かな", "éèà 'sST"]
    for _ in range(count):
        length = int(200 ** rng.random())
        kind = rng.randrange(3)
        if kind == 0:
            text = "".join(rng.choices(rng.choice(alphabets), k=length))
        elif kind == 1:
            part = rng.choice(parts)
            at = rng.randrange(len(part) - length)
            text = part[at : at + length]
        else:
            text = "".join(
                chr(rng.choice([rng.randrange(128), rng.randrange(0x250), rng.randrange(0xD800)]))
                for _ in range(length)
            )
        yield text.encode()[:200].decode(errors="ignore")


def check_definition(tok: Any, texts: Iterator[str], is_split: bool) -> int:
    tokens, ranks, count = {}, {}, 0
    if not is_split:
        special = {*tok.special_tokens.values()}
        tokens = {tok.token_bytes(id): id for id in tok.vocab.values() if id not in special}
        ranks = {pair: rank for rank, pair in enumerate(tok.merges)}
    for text in texts:
        want = tok.encode(text)
        if not is_split:
            merged = reference.encode(reference.byte_symbols(text), ranks)
            # A pretoken that is a token as a whole becomes it in some of the vocabularies.
            whole = tokens.get(text.encode())
            assert want == [tokens[token] for token in merged] or want == [whole]
        for algorithm in EXACT:
            assert algorithm(tok, text) == want
        count += 1
    return count


def test_random_texts(tok: Any, corpus: Callable[[str], str], request: pytest.FixtureRequest) -> None:
    check_definition(tok, random_texts(corpus, 100), "unsplit" not in request.node.name)


@pytest.mark.slow
def test_a_hundred_thousand_random_texts(
    tok: Any, corpus: Callable[[str], str], request: pytest.FixtureRequest
) -> None:
    count = check_definition(tok, random_texts(corpus, 100_000), "unsplit" not in request.node.name)
    print(f"{request.node.name}: {count} random texts, three algorithms, 0 differences")
