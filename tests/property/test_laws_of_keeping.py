"""Laws 7 and 8: the same input gives the same bytes, and what is saved is what is loaded.

On random tokenizers, texts and files; 100 examples of each, or 2,000 with TOKENMILL_SLOW=1.
"""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
import random
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenmill import errors

from property.strategies import (
    EXAMPLES,
    FORMATS,
    PIECES,
    THREADED,
    Recipe,
    any_text,
    attempt,
    recipes,
    trained,
)

few = settings(max_examples=max(10, EXAMPLES // 10))
"""For examples that are a hundred times as large as the others."""


# ---- law 7: determinism -----------------------------------------------------------------------


@given(recipe=trained(), seed=st.integers(0, 99), threads=st.sampled_from([1, 2, 3]))
def test_law_7_training_depends_on_nothing_but_its_input(
    native: Any, recipe: Recipe, seed: int, threads: int
) -> None:
    first = recipe.make(native)
    arguments = dict(recipe.arguments, num_threads=threads)
    if arguments["tie_break"] != "first-seen":
        arguments["texts"] = random.Random(seed).sample(arguments["texts"], len(arguments["texts"]))
    second = native.train(**arguments)
    assert pickle.dumps(second) == pickle.dumps(first)
    assert second.training_report.merges == first.training_report.merges
    assert (second == first, hash(second) == hash(first)) == (True, True)


@few
@given(recipe=trained(THREADED[:6]), seed=st.integers(0, 99))
def test_law_7_threads_that_run_do_not_change_training(native: Any, recipe: Recipe, seed: int) -> None:
    """Enough text that several threads count it, as one document and as many."""
    assume(any(text.strip() for text in recipe.arguments["texts"]))
    source = random.Random(seed)
    arguments = dict(recipe.arguments, num_merges=100)
    mixed = source.choices([*recipe.arguments["texts"], *PIECES], k=60_000)
    if arguments.get("end_of_word") is not None:
        mixed = [piece for piece in mixed if arguments["end_of_word"] not in piece]
    for documents in (["".join(mixed)], mixed):
        results = {
            pickle.dumps(native.train(**{**arguments, "texts": documents, "num_threads": threads}))
            for threads in (1, 2, 5)
        }
        assert len(results) == 1


PROCESS = """
    import hashlib, pickle, sys, tempfile, tokenmill
    from pathlib import Path
    digest = hashlib.sha256()
    texts = ["low lower lowest don't 1234 " * 9, "\\u4f60\\u597d \\U0001f98a low", " newer wider " * 7] * 3
    for options in (
        {},
        {"split": "gpt2", "tie_break": "huggingface"},
        {"tie_break": "first-seen"},
        {"alphabet": "chars", "end_of_word": "</w>", "end_of_word_form": "suffix", "unk_token": "<unk>"},
    ):
        tok = tokenmill.train(
            texts=texts, num_merges=60, special_tokens=["<s>", "</s>"],
            num_threads=int(sys.argv[1]), **options
        )
        with tempfile.TemporaryDirectory() as folder:
            tok.save(Path(folder) / "m")
            for path in sorted(Path(folder, "m").iterdir()):
                digest.update(path.read_bytes())
        digest.update(pickle.dumps(tok, 4))
        digest.update(repr(tok.encode(" ".join(texts), special="parse")).encode())
    print(digest.hexdigest())
"""


def test_law_7_processes_and_hash_seeds_give_the_same_files(native: Any) -> None:
    found = set()
    for seed, threads in (("0", "1"), ("1", "2"), ("4711", "1"), ("random", "4")):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", textwrap.dedent(PROCESS), threads]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        found.add(done.stdout)
    assert len(found) == 1
    assert len(found.pop().strip()) == hashlib.sha256().digest_size * 2


# ---- law 8: keeping ---------------------------------------------------------------------------


def saved_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("format", "name"), FORMATS)
@pytest.mark.parametrize("lossy", [False, True])
@given(recipe=recipes())
def test_law_8_what_is_saved_is_what_is_loaded(
    native: Any, folders: Any, format: str | None, name: str, lossy: bool, recipe: Recipe
) -> None:
    tok = recipe.make(native)
    folder = folders()
    _, error = attempt(errors.FormatError, lambda: tok.save(folder / name, format=format, lossy=lossy))
    if error is not None:
        assert error.kind == "cannot-hold"
        assert error.field
        assert saved_files(folder) == {}
        return
    options: dict[str, Any] = {}
    if format not in ("tokenizer.json", None):
        # What a lossy save loses is what load() is then given.
        assert lossy
        options = {"split": tok.split, "special_tokens": tok.special_tokens}
    again = native.load(folder / name, **options)
    assert again == tok
    assert hash(again) == hash(tok)
    second = folders()
    again.save(second / name, format=format, lossy=lossy)
    assert saved_files(second) == saved_files(folder)


@given(recipe=recipes(), text=any_text)
def test_law_8_what_is_loaded_encodes_the_same(native: Any, folders: Any, recipe: Recipe, text: str) -> None:
    tok = recipe.make(native)
    folder = folders()
    try:
        tok.save(folder / "t.json")
    except errors.FormatError:
        return
    again = native.load(folder / "t.json")
    assert (again.vocab, again.special_tokens, again.merges) == (tok.vocab, tok.special_tokens, tok.merges)
    for special in ("text", "parse"):
        assert outcome(again, text, special) == outcome(tok, text, special)


def outcome(tok: Any, text: str, special: str) -> Any:
    try:
        ids = tok.encode(text, special=special)
    except errors.UnknownTokenError as error:
        return str(error)
    return ids, tok.decode(ids)


@given(recipe=recipes())
def test_law_8_pickles_and_copies_mean_the_same(native: Any, recipe: Recipe) -> None:
    tok = recipe.make(native)
    for again in (pickle.loads(pickle.dumps(tok)), copy.copy(tok), copy.deepcopy(tok)):
        assert again == tok
        assert hash(again) == hash(tok)
        assert pickle.dumps(again) == pickle.dumps(tok)


@given(recipe=trained(), fewer=st.integers(0, 30))
def test_law_8_a_smaller_vocabulary_is_what_training_to_that_size_gives(
    native: Any, recipe: Recipe, fewer: int
) -> None:
    assume(recipe.arguments["special_ids"] == "first")
    tok = recipe.make(native)
    kept = max(len(tok.merges) - fewer, 0)
    smaller = tok.with_vocab_size(tok.vocab_size - len(tok.merges) + kept)
    assert smaller == native.train(**{**recipe.arguments, "num_merges": kept})
