"""Functions as normalizer and splitter: the same as built-in stages, in every way to encode."""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import time
import unicodedata
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

TEXTS = ["low lower LOWEST don't 1234", "Éa e\u0301 ﬁn Straße", "你好，世界 🦊", " \n\t ", "", "ΑΣ İ"]
WORDS = re.compile(r"[a-z]+|[^a-z]")


def lower(text: str) -> str:
    """Every character for itself, as the built-in step does it."""
    return "".join(char.lower() for char in text)


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def words(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in WORDS.finditer(text)]


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.train(texts=TEXTS * 3, num_merges=60, split=WORDS.pattern, special_tokens=["<s>"])


@pytest.fixture(scope="module")
def whole(native: Any) -> Any:
    return native.train(texts=TEXTS * 3, num_merges=60, split="none", special_tokens=["<s>"])


def reloaded(native: Any, tok: Any, path: Path, **changes: Any) -> Any:
    """The tokenizer of the saved file with these changes in it."""
    tok.save(path)
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")
    return native.load(path)


def seen(encoding: Any) -> tuple[Any, ...]:
    return (encoding.ids, encoding.offsets, encoding.byte_offsets, encoding.word_ids)


# ---- the same as what is built in -------------------------------------------------------------

STRINGS = st.text(st.sampled_from("abAB zé\u0301ÉßİΣσ漢ﬁ 🦊12\n"), max_size=40) | st.text(max_size=40)


@pytest.fixture(scope="module")
def lower_cased(native: Any, whole: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("hooks") / "t.json"
    return reloaded(native, whole, path, normalizer={"type": "Lowercase"})


@given(text=STRINGS)
def test_a_function_that_lowers_case_is_the_built_in_step(whole: Any, lower_cased: Any, text: str) -> None:
    ours = whole.with_normalizer(lower)
    # Python and the step have tables of different ages.
    if all(lower_cased.encode(char) == ours.encode(char) for char in text):
        assert seen(ours.encode_with_offsets(text)) == seen(lower_cased.encode_with_offsets(text))


@given(text=STRINGS)
def test_a_splitter_is_the_built_in_split(tok: Any, whole: Any, text: str) -> None:
    of_spans = tok.with_splitter(words)
    of_pieces = tok.with_splitter(lambda text: iter(WORDS.findall(text)))
    expected = seen(tok.encode_with_offsets(text))
    assert seen(of_spans.encode_with_offsets(text)) == expected
    assert seen(of_pieces.encode_with_offsets(text)) == expected
    assert seen(tok.with_splitter(None).encode_with_offsets(text)) == seen(
        tok.with_splitter(lambda text: [text]).encode_with_offsets(text)
    )


@pytest.fixture(scope="module")
def composed(native: Any) -> Any:
    return native.train(texts=TEXTS, num_merges=20, split="none", normalizer="NFC")


@given(text=st.text(st.characters(max_codepoint=0x2FFF, exclude_categories=("Cn", "Cs")), max_size=30))
def test_a_function_that_composes_gives_the_ids_of_the_built_in_form(composed: Any, text: str) -> None:
    assert composed.with_normalizer(nfc).encode(text) == composed.encode(text)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("e\u0301!", [(0, 2), (0, 2), (2, 3)]),
        ("\u1112\u1161\u11ab", [(0, 3)] * 3),
        ("aé", [(0, 1), (1, 2), (1, 2)]),
    ],
)
def test_a_composed_character_stands_for_all_that_it_is_made_of(
    native: Any, text: str, made: list[tuple[int, int]]
) -> None:
    alone = native.Tokenizer.from_pairs([]).with_normalizer(nfc)
    assert alone.encode_with_offsets(text).offsets == made


@given(text=STRINGS, new=STRINGS)
def test_offsets_cover_and_never_go_back_whatever_a_normalizer_makes(whole: Any, text: str, new: str) -> None:
    encoding = whole.with_normalizer(lambda _: new).encode_with_offsets(text)
    assert encoding.ids == (whole.encode(new) if text else [])
    offsets = encoding.offsets
    assert all(0 <= start < end <= len(text) for start, end in offsets)
    assert all(a <= c and b <= d for (a, b), (c, d) in pairwise(offsets))


@st.composite
def pieces(draw: st.DrawFn) -> tuple[str, list[tuple[str, int, int]]]:
    """A text, and pieces that a normalizer may give for it."""
    text = draw(st.text("aé漢 ", min_size=1, max_size=12))
    places = st.lists(st.integers(0, len(text)), min_size=4, max_size=4)
    starts, ends = sorted(draw(places)), sorted(draw(places))
    made = draw(st.lists(st.text("bß字", max_size=3), min_size=4, max_size=4))
    spans = zip(starts, ends, strict=True)
    return text, [(new, start, max(start, end)) for new, (start, end) in zip(made, spans, strict=True)]


@given(case=pieces())
def test_pieces_stand_for_what_they_say(native: Any, case: tuple[str, list[tuple[str, int, int]]]) -> None:
    text, given_pieces = case
    alone = native.Tokenizer.from_pairs([]).with_normalizer(lambda _: given_pieces)
    encoding = alone.encode_with_offsets(text)
    expected = [
        place
        for new, *span in given_pieces
        for byte in range(len(new.encode()))
        for place in [tuple(span) if new != text[span[0] : span[1]] else None]
    ]
    assert alone.decode(encoding.ids) == "".join(new for new, *_ in given_pieces)
    got = encoding.offsets
    assert all(want in (None, place) for want, place in zip(expected, got, strict=True))


# ---- every way to encode ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def hooked(tok: Any) -> Any:
    return tok.with_normalizer(lower, name="lower").with_splitter(words, name="words")


def test_all_ways_agree(hooked: Any) -> None:
    texts = [f"{text}<s>{text}" * 50 for text in TEXTS] * 100
    rows = [hooked.encode(text, special="parse") for text in texts[: len(TEXTS)]]
    expected = rows * 100
    assert sum(map(len, texts)) > 600_000
    for threads in (1, 2, 5):
        batch = hooked.encode_batch(texts, special="parse", num_threads=threads)
        assert batch.to_lists() == expected
        counts = hooked.count_batch(texts, special="parse", num_threads=threads)
        assert counts.tolist() == [len(row) for row in expected]
    for text, row in zip(texts, rows, strict=False):
        assert hooked.count(text, special="parse") == len(row)
        assert hooked.encode_to_numpy(text, special="parse").tolist() == row
        assert hooked.encode_with_offsets(text, special="parse").ids == row
        assert hooked.explain(text, special="parse").ids == row
        assert hooked.encode(text.encode(), special="parse") == row
    joined = "<s>".join(texts[:240])
    assert hooked.encode(joined, special="parse", num_threads=4) == hooked.encode(joined, special="parse")


def test_a_function_sees_the_text_between_added_tokens(tok: Any) -> None:
    calls: list[str] = []

    def split(text: str) -> list[str]:
        calls.append(text)
        return [text]

    shown = tok.with_splitter(split)
    shown.encode("<s>ab <s>c\ud83e\udd8a\ud800<s>", special="parse")
    assert calls == ["ab ", "c🦊\ufffd"]
    calls.clear()
    shown.encode("ab<s>")
    shown.encode(b"\xffab\xfe\xffc\xff")
    shown.encode("")
    assert calls == ["ab<s>", "ab", "c"]


def test_a_splitter_sees_what_the_normalizer_made_and_counts_in_that(tok: Any) -> None:
    grown = tok.with_normalizer(lambda text: [(f"<{char}>", i, i + 1) for i, char in enumerate(text)])
    encoding = grown.with_splitter(lambda text: [(0, 3), (4, 5)]).encode_with_offsets("ab")
    assert tok.decode(encoding.ids) == "<a>b"
    assert encoding.offsets[-1] == (1, 2)
    assert set(encoding.offsets[:-1]) == {(0, 1)}


def test_added_tokens_that_are_normalized_go_through_the_function(
    native: Any, tok: Any, tmp_path: Path
) -> None:
    tok.save(tmp_path / "t.json")
    entries = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["added_tokens"]
    entries.append(
        {**entries[0], "id": tok.vocab_size, "content": "ABC", "normalized": True, "special": False}
    )
    added = reloaded(native, tok, tmp_path / "t.json", added_tokens=entries)
    assert added.encode("abc") == tok.encode("abc")
    found = added.with_normalizer(lower)
    for text in ("abc", "ABC", "aBc"):
        assert found.encode(text) == [tok.vocab_size]
        assert found.encode_with_offsets(text).offsets == [(0, 3)]
    # With the special token, which is not normalized, still found before.
    assert found.encode("<s>Abc", special="parse") == [0, tok.vocab_size]
    assert found.with_normalizer(None).encode("abc") == tok.encode("abc")


def test_explain_shows_the_hook_by_its_name(tok: Any) -> None:
    shown = tok.with_normalizer(lower, name="my own").explain("aB")
    assert [(step.name, step.text) for step in shown.segments[0].normalized] == [('hook "my own"', "ab")]
    assert 'hook "my own"  "ab"' in str(shown)
    assert tok.with_normalizer(lower).explain("B").segments[0].normalized[0].name == "unnamed hook"


def test_the_old_tokenizer_stays_and_derived_ones_keep_the_functions(tok: Any, hooked: Any) -> None:
    assert tok.encode("LOW") != hooked.encode("LOW")
    assert repr(tok.with_normalizer(lower)).endswith(", special_tokens=1, unnamed hook)")
    assert repr(hooked).endswith('split=None, special_tokens=1, hook "lower", hook "words")')
    more = hooked.with_special_tokens(["<x>"])
    assert more.encode("LOW<x>", special="parse") == [*hooked.encode("low"), more.special_tokens["<x>"]]
    small = hooked.with_vocab_size(hooked.vocab_size - 10)
    assert small.encode("LOW lower") == small.encode("low LOWER")
    assert hooked.with_normalizer(None).with_splitter(None) == tok.with_splitter(None)


def test_equal_tokenizers_have_the_same_function_or_name(tok: Any) -> None:
    assert tok.with_normalizer(lower) == tok.with_normalizer(lower)
    assert tok.with_normalizer(lower) != tok.with_normalizer(nfc)
    assert hash(tok.with_normalizer(lower)) == hash(tok.with_normalizer(lower))
    named = tok.with_normalizer(lower, name="f")
    assert named == tok.with_normalizer(nfc, name="f") != tok.with_normalizer(lower, name="g")
    assert named.fingerprint == tok.with_normalizer(nfc, name="f").fingerprint != tok.fingerprint
    assert copy.deepcopy(named) is named


# ---- exceptions, threads, the garbage collector -----------------------------------------------


class OwnError(Exception):
    """What a function raises."""


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("stage", ["with_normalizer", "with_splitter"])
def test_what_a_function_raises_reaches_the_caller_as_it_is(tok: Any, stage: str, threads: int) -> None:
    error = OwnError("mine")

    def refuse(text: str) -> Any:
        if "!" in text:
            raise error
        return text if stage == "with_normalizer" else [text]

    refusing = getattr(tok, stage)(refuse)
    with pytest.raises(OwnError) as caught:
        refusing.encode("low!")
    assert caught.value is error
    assert [frame.name for frame in caught.traceback][-1] == "refuse"
    rows = ["low " * 100] * 4000
    rows[3000] = "!"
    with pytest.raises(OwnError) as caught:
        refusing.encode_batch(rows, num_threads=threads)
    assert caught.value is error
    assert refusing.encode("low") == tok.with_splitter(None).encode("low")


def test_the_error_of_the_first_row_comes_back_for_any_number_of_threads(tok: Any) -> None:
    def refuse(text: str) -> Any:
        if text[0] == "!":
            raise OwnError(text[:4])
        return [(0, len(text))]

    rows = [f"{'!' if i % 7 == 5 else '.'}{i:03} " + "low " * 500 for i in range(600)]
    for threads in (1, 3):
        with pytest.raises(OwnError, match="!005"):
            tok.with_splitter(refuse).encode_batch(rows, num_threads=threads)


def test_many_threads_may_use_one_hooked_tokenizer(hooked: Any) -> None:
    texts = [*TEXTS, "Low LOWER " * 1000]
    expected = [hooked.encode(text) for text in texts]

    def call(number: int) -> bool:
        return all(
            hooked.encode(texts[(number + turn) % len(texts)]) == expected[(number + turn) % len(texts)]
            for turn in range(40)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(8)))


def test_a_function_may_use_another_tokenizer(tok: Any) -> None:
    counting = tok.with_splitter(lambda text: [text] if tok.count(text) else [])
    assert counting.encode("low") == tok.with_splitter(None).encode("low")


def test_an_object_whose_method_is_a_hook_of_its_own_tokenizer_can_go(tok: Any) -> None:
    class Model:
        def __init__(self) -> None:
            self.tok = tok.with_splitter(self.split).with_special_tokens(["<x>"])

        def split(self, text: str) -> list[str]:
            return text.split()

    model = Model()
    assert model.tok.encode("a b") == tok.encode("ab")
    gc.collect()
    assert model.tok.encode("a b") == tok.encode("ab")
    gone = weakref.ref(model)
    kept = model.tok.encode_with_offsets("a b")
    del model
    gc.collect()
    assert gone() is None
    assert kept.tokens == ["a", "b"]


def test_a_function_lives_as_long_as_a_tokenizer_that_has_it(tok: Any) -> None:
    derived = tok.with_splitter(lambda text: text.split()).with_special_tokens(["<x>"])
    gc.collect()
    assert derived.encode("a b") == tok.encode("ab")


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("pause", ["time.sleep(0.001)", "sum(range(10_000))"])
def test_ctrl_c_stops_a_call_whose_time_goes_into_hooks(threads: int, pause: str) -> None:
    script = f"""
        import time, tokenmill
        def split(text):
            {pause}
            return [(0, len(text))]
        tok = tokenmill.train(texts=["ab ab"], num_merges=1).with_splitter(split)
        print("started", flush=True)
        tok.encode_batch(["ab " * 20] * 200_000, num_threads={threads})
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    assert said.rstrip().endswith("KeyboardInterrupt"), said
    assert process.returncode in (-signal.SIGINT, 130, 1)


# ---- files, pickles, names --------------------------------------------------------------------


@pytest.fixture
def registered(native: Any) -> Iterator[None]:
    native.register_hook("tests.lower", nfc)
    native.register_hook("tests.lower", lower)  # takes the place of the other
    yield
    native.register_hook("tests.lower", lambda text: 1 // 0)


@pytest.mark.parametrize("target", ["t.json", "folder"])
def test_a_saved_tokenizer_finds_its_functions_by_name(
    native: Any, tok: Any, tmp_path: Path, target: str
) -> None:
    saved = tok.with_normalizer(lower, name="l").with_splitter(words, name="w")
    saved.save(tmp_path / target)
    hooks = {"l": lower, "w": words, "another": print}
    loaded = native.load(tmp_path / target, hooks=hooks, special_tokens=["<x>"])
    assert seen(loaded.encode_with_offsets("LOW aé")) == seen(saved.encode_with_offsets("LOW aé"))
    loaded = native.load(tmp_path / target, hooks=hooks)
    assert (loaded, loaded.fingerprint) == (saved, saved.fingerprint)
    assert loaded.load_report.tolerated == []
    loaded.save(tmp_path / f"again-{target}")
    part = "" if target == "t.json" else "tokenizer.json"
    first, second = (tmp_path / name / part for name in (target, f"again-{target}"))
    assert first.read_bytes() == second.read_bytes()
    file = json.loads(first.read_text(encoding="utf-8"))
    assert file["normalizer"] == {"type": "Hook", "name": "l"}
    assert file["pre_tokenizer"]["pretokenizers"][0] == {"type": "Hook", "name": "w"}


@pytest.mark.usefixtures("registered")
def test_load_and_unpickling_find_registered_functions(native: Any, tok: Any, tmp_path: Path) -> None:
    saved = tok.with_normalizer(lower, name="tests.lower")
    saved.save(tmp_path / "t.json")
    for again in (native.load(tmp_path / "t.json"), pickle.loads(pickle.dumps(saved))):
        assert again == saved
        assert again.encode("LOW") == tok.encode("low")
        assert pickle.dumps(again) == pickle.dumps(saved)
    # What is given to a call comes first, and what has been loaded keeps what it found.
    other = native.load(tmp_path / "t.json", hooks={"tests.lower": nfc})
    native.register_hook("tests.lower", nfc)
    assert other.encode("LOW") == tok.encode("LOW") != again.encode("LOW")


def test_another_process_registers_what_it_needs(tok: Any, tmp_path: Path) -> None:
    (tmp_path / "t.pickle").write_bytes(pickle.dumps(tok.with_normalizer(str.lower, name="process")))
    script = """
        import pickle, sys, tokenmill
        data = open(sys.argv[1], "rb").read()
        try:
            pickle.loads(data)
        except tokenmill.FormatError as error:
            assert error.kind == "missing"
        tokenmill.register_hook("process", str.lower)
        print(pickle.loads(data).encode("LOW"))
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "t.pickle")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == tok.encode("low")


def test_hooks_of_a_file_stand_among_other_steps(native: Any, tok: Any, tmp_path: Path) -> None:
    steps = [{"type": "Hook", "name": "a"}, {"type": "Lowercase"}, {"type": "Hook", "name": "a"}]
    tok.save(tmp_path / "t.json")
    file = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    file["normalizer"] = {"type": "Sequence", "normalizers": steps}
    (tmp_path / "t.json").write_text(json.dumps(file), encoding="utf-8")
    calls: list[str] = []

    def note(text: str) -> str:
        calls.append(text)
        return text.replace("o", "0")

    loaded = native.load(tmp_path / "t.json", hooks={"a": note})
    assert loaded.encode("LOo") == tok.encode("l00")
    assert calls == ["LOo", "lo0"]


def test_formats_of_ids_alone_are_saved_without_the_functions_where_asked(
    native: Any, tok: Any, hooked: Any, tmp_path: Path
) -> None:
    hooked.save(tmp_path / "t.tiktoken", lossy=True)
    assert native.load(tmp_path / "t.tiktoken", split=WORDS.pattern).encode("low") == [
        native.load(tmp_path / "t.tiktoken", split="none").token_to_id(tok.id_to_token(id))
        for id in tok.encode("low")
    ]
