"""Placeholder text: what is drawn occurs, as often as it should; what is asked for is what comes."""

from __future__ import annotations

import contextlib
import math
import random
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill import placeholder
from tokenmill.placeholder import NGramModel

CORPUS = (
    "The quick brown fox jumps over the lazy dog. The dog barks, and the fox runs away! "
    "Did the quick dog run? No, the lazy dog (and the cat) slept. A cat is a cat, 3.5 dogs are not; "
    "Mr. Fox was away. "
) * 3
ORDERS = (2, 3)


@pytest.fixture(scope="module")
def tok(native: Any) -> tokenmill.Tokenizer:
    return tokenmill.train(texts=[CORPUS], num_merges=40)


@pytest.fixture(scope="module", params=ORDERS)
def model(tok: tokenmill.Tokenizer, request: pytest.FixtureRequest) -> NGramModel:
    return NGramModel.train(tok, texts=[CORPUS], order=request.param)


def counted(ids: list[int], order: int) -> dict[tuple[int, ...], Counter[int]]:
    """The successors of each context in a circle of ids."""
    counts: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    around = ids + ids[: order - 1]
    for at in range(len(ids)):
        *context, successor = around[at : at + order]
        counts[tuple(context)][successor] += 1
    return counts


# ---- the model --------------------------------------------------------------------------------


def test_counts_are_those_of_the_corpus(tok: tokenmill.Tokenizer, model: NGramModel) -> None:
    ids = tok.encode(CORPUS)
    want = counted(ids, model.order)
    assert (model.tokens, model.contexts) == (len(ids), len(want))
    assert model.ngrams == sum(map(len, want.values()))
    for context, successors in want.items():
        assert model.successors(context) == sorted(successors.items())
    assert model.successors([0] * (model.order - 1)) == []
    model.verify()


def test_every_ngram_that_is_drawn_occurs(tok: tokenmill.Tokenizer, model: NGramModel) -> None:
    want = counted(tok.encode(CORPUS), model.order)
    for seed in range(20):
        ids = model.generate_ids(500, seed=seed)
        assert len(ids) == 500
        for at in range(len(ids) - model.order + 1):
            *context, successor = ids[at : at + model.order]
            assert successor in want[tuple(context)]


def test_frequencies_pass_chi_square(tok: tokenmill.Tokenizer, model: NGramModel) -> None:
    want = counted(tok.encode(CORPUS), model.order)
    drawn = counted(model.generate_ids(200_000, seed=17), model.order)
    statistic, freedom = 0.0, 0
    for context, successors in want.items():
        draws, occurrences = sum(drawn[context].values()), sum(successors.values())
        if len(successors) < 2 or draws < 5 * occurrences:
            continue
        expected = {token: draws * count / occurrences for token, count in successors.items()}
        statistic += sum((drawn[context][token] - mean) ** 2 / mean for token, mean in expected.items())
        freedom += len(successors) - 1
    assert freedom > 5
    # Chi-square is near normal for many degrees; 4 deviations are passed by all but one of 30,000.
    assert abs(statistic - freedom) < 4 * math.sqrt(2 * freedom), (statistic, freedom)


def test_documents_are_joined_by_line_ends(tok: tokenmill.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One.", encoding="utf-8")
    (tmp_path / "b.txt").write_text("Two.\n", encoding="utf-8")
    ids = tok.encode("One.\n") + tok.encode("Two.\n")
    models = [
        NGramModel.train(tok, texts=["One.", "Two.\n"]),
        NGramModel.train(tok, files=tmp_path / "*.txt"),
        NGramModel.train(tok, ids=ids),
    ]
    assert len({model.generate(words=30, seed=3) for model in models}) == 1
    assert {model.tokens for model in models} == {len(ids)}


def test_a_decoder_with_steps_is_held_too(native: Any, tmp_path: Path) -> None:
    from memory.cases import Inputs

    with Inputs(100) as inputs:
        for tok, text in [(inputs.characters, "aa a aa "), (inputs.words, "aa a aaa aa")]:
            model = NGramModel.train(tok, texts=[text])
            assert set(model.generate(words=9, seed=1, exact=True).rstrip(".").split()) <= {"a", "aa", "aaa"}


# ---- text -------------------------------------------------------------------------------------


def test_words_end_with_a_sentence(model: NGramModel) -> None:
    for seed in range(50):
        text = model.generate(words=12, seed=seed)
        assert len(text.split()) >= 12
        assert text.rstrip("\"')")[-1] in ".!?"
        assert text == text.strip()


def test_exact_amounts(model: NGramModel) -> None:
    for seed in range(50):
        for n in (1, 2, 7, 80):
            words = model.generate(words=n, seed=seed, exact=True)
            characters = model.generate(characters=n, seed=seed, exact=True)
            assert (len(words.split()), len(characters)) == (n, n)
            for text in (words, characters):
                assert text.rstrip("\"')")[-1] in ".!?"
                assert not text.endswith(("..", ",.", " ."))


def test_a_seed_decides(model: NGramModel, tok: tokenmill.Tokenizer) -> None:
    assert len({model.generate(words=9, seed=7) for _ in range(3)}) == 1
    assert len({model.generate(words=9) for _ in range(20)}) > 1
    assert model.generate(words=9, seed=2**64 - 1)
    program = (
        "import sys, tokenmill; from tokenmill.placeholder import NGramModel; text = sys.argv[1]; "
        "tok = tokenmill.train(texts=[text], num_merges=40); "
        f"print(NGramModel.train(tok, texts=[text], order={model.order}).generate(words=9, seed=7))"
    )
    other = subprocess.run(
        [sys.executable, "-c", program, CORPUS], capture_output=True, text=True, check=True
    ).stdout
    assert other == model.generate(words=9, seed=7) + "\n"


def test_it_begins_as_asked(model: NGramModel, tok: tokenmill.Tokenizer) -> None:
    assert model.generate(words=5, seed=1, start="The quick").startswith("The quick")
    ids = tok.encode(CORPUS)[:4]
    assert model.generate_ids(9, seed=1, start=ids)[:4] == ids
    assert model.generate_ids(2, seed=1, start=ids) == ids[:2]


def test_errors_say_what_is_wrong(model: NGramModel, tok: tokenmill.Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(tokenmill.VocabularyError, match="zebra"):
        model.generate(words=5, start="zebra")
    with pytest.raises(tokenmill.VocabularyError) as caught:
        model.generate(words=5, start=[*tok.encode(CORPUS)[:2], 0xFF])
    assert (caught.value.id, caught.value.position) == (255, 2)
    wrong: list[dict[str, Any]] = [{}, {"words": 1, "tokens": 1}, {"words": 0}, {"sentences": -1}]
    for amounts in wrong:
        with pytest.raises(ValueError, match=r"exactly one|at least 1"):
            model.generate(**amounts)
    for seed in (-1, 2**64):
        with pytest.raises(ValueError, match="seed"):
            model.generate(words=1, seed=seed)
    with pytest.raises(tokenmill.TrainingError, match="order=4"):
        NGramModel.train(tok, texts=[CORPUS], order=4)  # type: ignore[arg-type]
    with pytest.raises(tokenmill.TrainingError, match="exactly one"):
        NGramModel.train(tok)
    with pytest.raises(tokenmill.TrainingError, match="not empty"):
        NGramModel.train(tok, texts=[])
    with pytest.raises(tokenmill.TrainingError, match="single string"):
        NGramModel.train(tok, texts="abc")
    with pytest.raises(tokenmill.VocabularyError):
        NGramModel.train(tok, ids=[1, 10**6])
    with pytest.raises(FileNotFoundError):
        NGramModel.load(tmp_path / "none")
    with pytest.raises(ValueError, match="context"):
        model.successors([1] * 5)


# ---- files ------------------------------------------------------------------------------------


def test_a_saved_model_is_the_same(model: NGramModel, tmp_path: Path) -> None:
    path = tmp_path / "model.ngrams"
    model.save(path)
    loaded = NGramModel.load(path)
    loaded.verify()
    assert repr(loaded) == repr(model)
    assert loaded.generate(words=50, seed=5) == model.generate(words=50, seed=5)
    again = tmp_path / "again.ngrams"
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    assert loaded.memory < 100


def damaged(content: bytes, kind: int, chance: random.Random) -> bytes:
    changed = bytearray(content)
    at = chance.randrange(len(content))
    match kind:
        case 0:
            changed[at] ^= 1 << chance.randrange(8)
        case 1:
            del changed[at:]
        case 2:
            for place in range(at, min(at + chance.randrange(1, 64), len(changed))):
                changed[place] = chance.randrange(256)
        case 3:  # two parts change places
            to = chance.randrange(len(content) - 8)
            at = min(at, len(content) - 8)
            changed[at : at + 8], changed[to : to + 8] = content[to : to + 8], content[at : at + 8]
        case _:
            changed[at:at] = chance.randbytes(4 * chance.randrange(1, 9))
    return bytes(changed)


def use(path: Path, seed: int) -> None:
    """Load and verify a model, and use it before that: damage is a typed error or does no harm."""
    loaded = NGramModel.load(path)
    with contextlib.suppress(tokenmill.FormatError):
        loaded.generate(words=20, seed=seed)
        loaded.generate_ids(20, seed=seed)
    loaded.verify()


def test_500_damaged_files(model: NGramModel, tmp_path: Path) -> None:
    whole = tmp_path / "model.ngrams"
    model.save(whole)
    content, chance, found = whole.read_bytes(), random.Random(model.order), 0
    while found < 500:
        changed = damaged(content, found % 5, chance)
        if changed == content:
            continue
        path = tmp_path / "damaged.ngrams"
        path.unlink(missing_ok=True)
        path.write_bytes(changed)
        with pytest.raises(tokenmill.FormatError):
            use(path, seed=found)
        found += 1


# ---- what comes with the package --------------------------------------------------------------


@pytest.mark.parametrize("language", ["la", "en"])
def test_bundled_models(native: Any, language: Any) -> None:
    model = placeholder.bundled(language)
    model.verify()
    text = model.generate(words=80, seed=7)
    assert len(text.split()) >= 80
    assert text[0].isupper()


def test_bundled_models_are_small_and_the_latin_one_has_the_source_of_lorem_ipsum(native: Any) -> None:
    folder = Path(placeholder.__file__).parent / "data"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_000_000
    assert placeholder.bundled("la").generate(words=5, seed=1, start="qui dolorem ipsum, quia dolor sit")
    with pytest.raises(ValueError, match="language"):
        placeholder.bundled("xx")  # type: ignore[arg-type]
