"""`tokenmill.compat.tiktoken` beside tiktoken 0.14.0: every method, every policy, errors by their type.

The fast run draws thousands of texts, the slow one 50,000 for each of two encodings.
"""

from __future__ import annotations

import copy
import inspect
import pickle
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property.strategies import byte_strings, forged, lone, pieces, texts, with_surrogates

NAMES = ["gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"]
SOURCES = {
    "r50k_base.tiktoken": "r50k_base/r50k_base.tiktoken",
    "p50k_base.tiktoken": "p50k_base/p50k_base.tiktoken",
    "cl100k_base.tiktoken": "cl100k_base/cl100k_base.tiktoken",
    "o200k_base.tiktoken": "o200k_base/o200k_base.tiktoken",
    "vocab.bpe": "gpt2/merges.txt",
    "encoder.json": "gpt2/vocab.json",
}

# ---- both sides -------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def folder(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that tiktoken would download, by their own names."""
    path = tmp_path_factory.mktemp("tiktoken")
    for name, source in SOURCES.items():
        shutil.copy(data / "vocab" / source, path / name)
    return path


@pytest.fixture(scope="module")
def ours(native: Any, folder: Path) -> Iterator[Any]:
    from tokenmill.compat import tiktoken

    tiktoken.set_folder(folder)
    yield tiktoken
    tiktoken.set_folder(None)


@cache
def their_encoding(name: str, folder: Path) -> Any:
    """tiktoken's own definition, made by its own readers from local files."""
    import tiktoken
    from tiktoken_ext import openai_public

    def local(read: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: str, **options: str) -> Any:
            by_name = {key: here(value) for key, value in options.items()}
            return read(*map(here, args), **by_name)

        return call

    def here(argument: str) -> str:
        return str(folder / argument.rsplit("/", 1)[-1]) if "://" in argument else argument

    readers = ["load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", "")
        for reader in readers:
            patch.setattr(openai_public, reader, local(getattr(openai_public, reader)))
        return tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[name]())


class Both:
    """One encoding, ours and theirs."""

    def __init__(self, ours: Any, theirs: Any) -> None:
        self.ours, self.theirs = ours, theirs

    def same(self, method: str, *args: Any, **options: Any) -> None:
        """The same result, or an error of the same type; where tiktoken panics anything of ours goes."""
        want = outcome(getattr(self.theirs, method), *args, **options)
        got = outcome(getattr(self.ours, method), *args, **options)
        if isinstance(want, BaseException):
            if type(want).__name__ != "PanicException":
                assert isinstance(got, type(want)), (method, args, options, want, got)
            return
        assert plain(got) == plain(want), (method, args, options)


def outcome(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return call(*args, **options)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return error


def plain(result: Any) -> Any:
    """Arrays as lists, and what is in no order in one."""
    if hasattr(result, "tolist"):
        return [str(result.dtype), result.tolist()]
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], list):
        return result[0], sorted(map(tuple, result[1]))
    return result


@pytest.fixture(scope="module", params=NAMES)
def each(request: pytest.FixtureRequest, ours: Any, folder: Path) -> Both:
    return Both(ours.get_encoding(request.param), their_encoding(request.param, folder))


@pytest.fixture(scope="module", params=["p50k_edit", "cl100k_base", "o200k_base"])
def both(request: pytest.FixtureRequest, ours: Any, folder: Path) -> Both:
    """One encoding for each pattern."""
    return Both(ours.get_encoding(request.param), their_encoding(request.param, folder))


LITERALS = ["<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|start|>"]

literals = st.sampled_from([*LITERALS, "<|endof", "text|>", "<|unknown|>"])
with_literals = st.lists(pieces | literals | st.text(max_size=4), max_size=8).map("".join)
all_texts = texts | with_literals | with_surrogates | forged
with_everything = st.lists(pieces | literals | lone, max_size=8).map("".join)
allowed = st.just("all") | st.sets(literals, max_size=3) | st.frozensets(literals, max_size=2)
disallowed = st.just("all") | st.just(()) | st.lists(literals, max_size=3) | st.sampled_from(["x", [""]])
some = partial(st.lists, min_size=20, max_size=20)

# ---- texts to ids -----------------------------------------------------------------------------


def compare_texts(both: Both, batch: list[str]) -> None:
    for text in batch:
        both.same("encode_ordinary", text)
        both.same("encode", text)
    both.same("encode_ordinary_batch", batch)
    both.same("encode_batch", batch, disallowed_special=(), num_threads=2)


@given(batch=some(all_texts))
def test_texts_have_the_same_ids(both: Both, batch: list[str]) -> None:
    compare_texts(both, batch)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_fifty_thousand_texts_have_the_same_ids(name: str, ours: Any, folder: Path) -> None:
    both = Both(ours.get_encoding(name), their_encoding(name, folder))
    compared = 0

    @settings(max_examples=2500, deadline=None)
    @given(batch=some(all_texts))
    def run(batch: list[str]) -> None:
        nonlocal compared
        compare_texts(both, batch)
        compared += len(batch)

    run()
    print(f"{name}: {compared} texts compared, 0 differences")
    assert compared >= 50_000


@given(text=with_everything, allowed=allowed, disallowed=disallowed)
def test_every_policy_for_special_tokens_is_the_same(
    each: Both, text: str, allowed: Any, disallowed: Any
) -> None:
    policy = {"allowed_special": allowed, "disallowed_special": disallowed}
    each.same("encode", text, **policy)
    each.same("encode_to_numpy", text, **policy)
    each.same("encode_batch", [text, "a", text], **policy)


def test_text_in_front_of_a_special_token_is_cut_as_if_it_ended_there(each: Both) -> None:
    for literal in list(each.theirs._special_tokens)[:8]:
        for text in [literal, f"a  {literal}", f"  {literal}  {literal}\n", f"x\n{literal}\n"]:
            each.same("encode", text, allowed_special="all")
            each.same("encode", text, allowed_special={literal})
            each.same("encode", text)


def test_corpora_have_the_same_ids(each: Both, corpus: Callable[[str], str]) -> None:
    for name in ["english", "code", "multilingual", "cjk", "json"]:
        text = corpus(name)[:50_000]
        each.same("encode", text)
        each.same("encode_to_numpy", text)


def test_a_million_spaces_and_a_letter_encode_where_tiktoken_fails(both: Both) -> None:
    text = " " * 1_000_000 + "a"
    ids = both.ours.encode(text)
    assert both.ours.decode(ids) == text
    assert both.ours.encode_to_numpy(text).tolist() == both.ours.encode_ordinary(text) == ids
    assert isinstance(outcome(both.theirs.encode, text), ValueError)
    assert type(outcome(both.theirs.encode_ordinary, text)).__name__ == "PanicException"


@settings(max_examples=60)
@given(text=st.lists(pieces | literals | lone, max_size=4).map("".join), allowed=allowed)
def test_stable_tokens_and_completions_are_the_same(both: Both, text: str, allowed: Any) -> None:
    both.same("encode_with_unstable", text, allowed_special=allowed, disallowed_special=())


@pytest.mark.parametrize("text", ["", " ", "\n\n", "a \n\t\n", "hello fanta", "hi<|endoftext|>", "x\u3000"])
def test_completions_of_what_may_go_on(each: Both, text: str) -> None:
    each.same("encode_with_unstable", text, allowed_special="all")


@given(raw=byte_strings)
def test_bytes_have_the_same_ids(both: Both, raw: bytes) -> None:
    both.same("_encode_bytes", raw)
    both.same("_encode_single_piece", raw)
    both.same("encode_single_token", raw)


@given(text=all_texts)
def test_what_is_private_is_the_same_too(both: Both, text: str) -> None:
    both.same("_encode_single_piece", text)
    both.same("encode_single_token", text)
    for token in [text[:1], text[:2], text[:3]]:
        both.same("encode_single_token", token)
    # tiktoken splits this one with Python's regex, whose Unicode is newer than that of its own engine.
    known = "".join(char for char in text if unicodedata.category(char) != "Cn")
    both.same("_encode_only_native_bpe", known.encode(errors="replace").decode())


def test_a_long_piece_is_merged_alike(both: Both, corpus: Callable[[str], str]) -> None:
    both.same("_encode_single_piece", corpus("multilingual")[:3000])
    both.same("_encode_single_piece", b"\xff" * 500 + b"abc" * 500)


# ---- ids to text ------------------------------------------------------------------------------


@given(draw=st.data())
def test_ids_have_the_same_text_bytes_and_offsets(both: Both, draw: st.DataObject) -> None:
    ids = st.integers(0, both.theirs.max_token_value + 3) | st.integers(0, 300)
    rows = draw.draw(some(st.lists(ids, max_size=6)))
    for row in rows:
        both.same("decode", row)
        both.same("decode", row, errors="strict")
        both.same("decode", row, "backslashreplace")
        both.same("decode_bytes", tuple(row))
        both.same("decode_tokens_bytes", row)
        both.same("decode_with_offsets", row)
    both.same("decode_batch", rows, errors="ignore")
    both.same("decode_bytes_batch", rows, num_threads=2)


@given(text=texts)
def test_offsets_of_texts_are_the_same(both: Both, text: str) -> None:
    ids = both.theirs.encode(text, disallowed_special=())
    both.same("decode_with_offsets", ids)
    assert both.ours.decode(ids) == text


def test_every_id_has_the_same_bytes(each: Both) -> None:
    theirs = {**each.theirs._mergeable_ranks, **each.theirs._special_tokens}
    for number in [*theirs.values(), each.theirs.n_vocab, each.theirs.n_vocab + 1, -1, 1 << 32, 1 << 70]:
        each.same("decode_single_token_bytes", number)
        each.same("is_special_token", number)
    each.same("decode", [each.theirs.n_vocab])


def test_tables_are_the_same(each: Both) -> None:
    ours, theirs = each.ours, each.theirs
    for name in ["name", "_pat_str", "_mergeable_ranks", "_special_tokens", "max_token_value", "n_vocab"]:
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.eot_token == theirs.eot_token
    assert ours.special_tokens_set == theirs.special_tokens_set
    assert repr(ours) == repr(theirs)
    assert ours.token_byte_values() == theirs.token_byte_values()


# ---- names ------------------------------------------------------------------------------------


def test_every_public_name_of_tiktoken_is_here_with_the_same_arguments(ours: Any) -> None:
    import tiktoken
    import tiktoken.load
    import tiktoken.model
    import tiktoken.registry

    compared = 0
    for module in ["", "core", "load", "model", "registry"]:
        theirs, mine = (getattr(root, module) if module else root for root in (tiktoken, ours))
        for name, member in vars(theirs).items():
            if name.startswith("_") or getattr(member, "__module__", "").split(".")[0] != "tiktoken":
                continue
            assert hasattr(mine, name), f"{module}.{name}"
            compare_arguments(getattr(mine, name), member)
            compared += 1
    members = {name for name in vars(tiktoken.Encoding) if not name.startswith("__")}
    for name in members:
        assert hasattr(ours.Encoding, name), name
        compare_arguments(getattr(ours.Encoding, name), getattr(tiktoken.Encoding, name))
    assert compared > 12
    assert len(members) > 20


def test_what_tiktoken_is_made_of_is_not_here(ours: Any) -> None:
    import tiktoken._educational  # noqa: F401  # there

    assert not hasattr(ours, "_educational")
    both = own(ours)
    assert hasattr(both.theirs, "_core_bpe")
    assert not hasattr(both.ours, "_core_bpe")


def compare_arguments(ours: Any, theirs: Any) -> None:
    if callable(theirs):
        shapes = [
            [(p.name, p.kind) for p in inspect.signature(one).parameters.values()] for one in (ours, theirs)
        ]
        assert shapes[0] == shapes[1], theirs


def test_models_have_the_same_encodings(ours: Any) -> None:
    import tiktoken
    from tiktoken.model import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING
    from tokenmill.compat.tiktoken import model

    assert model.MODEL_TO_ENCODING == MODEL_TO_ENCODING
    assert model.MODEL_PREFIX_TO_ENCODING == MODEL_PREFIX_TO_ENCODING
    names = [*MODEL_TO_ENCODING, *MODEL_PREFIX_TO_ENCODING]
    for name in [*names, *(f"{name}x" for name in names), "nothing", "", "ft:gpt-4o-mini:x", "ft:gpt-4:x"]:
        want, got = (outcome(side.encoding_name_for_model, name) for side in (tiktoken, ours))
        assert got == want or (type(got) is type(want) is KeyError), name
    assert ours.list_encoding_names() == tiktoken.list_encoding_names() == NAMES
    assert ours.encoding_for_model("gpt-4o") is ours.get_encoding("o200k_base")
    assert isinstance(outcome(ours.encoding_for_model, "nothing"), KeyError)


# ---- own tables -------------------------------------------------------------------------------

RANKS = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b" a": 257, b"abc": 260, b"\n\n": 270}
SPECIAL = {"<s>": 300, "é": 258, "q": 97, "<a>": 301}
OWN: dict[str, Any] = {
    "name": "own",
    "pat_str": r"\w+",
    "mergeable_ranks": RANKS,
    "special_tokens": SPECIAL,
}

PATTERNS = [
    *(r"\w+", r"\w+|\s", "a|b", "a", r"\d", "[^a]", "(?s).", "ab|b\n", "(a)|(b)c", "abc", "é|😀"),
    *("^.", r"\b\w", r"(?<=a)b", "(?=a)ab?", "a(?!b)", r"\S+$", r"[a-z]{2}|\s+(?!\S)", r"(?i)a+|x$"),
    *(r"(?m:^\S+$)", r"\p{Lu}?\p{Ll}++", r"(?s:.){3}", r"\s++$|\s+", "(?>ab|a)b?", r" ?\S+|\s+"),
]

characters = st.sampled_from([*"abc \nx1éAq-", "<s>", "ab", "😀", "é", "\u3000", "\r\n"])
short_texts = st.lists(characters, max_size=8).map("".join)


def own(ours: Any, **tables: Any) -> Both:
    import tiktoken

    arguments: dict[str, Any] = {**OWN, **tables}
    return Both(ours.Encoding(**arguments), tiktoken.Encoding(**arguments))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_text_that_a_pattern_does_not_match_is_dropped_alike(ours: Any, pattern: str) -> None:
    both = own(ours, pat_str=pattern)

    @settings(max_examples=40, deadline=None)
    @given(text=short_texts)
    def run(text: str) -> None:
        for policy in [set(), {"<s>"}, "all"]:
            both.same("encode", text, allowed_special=policy, disallowed_special=())
        both.same("encode", text)
        both.same("encode_ordinary_batch", [text, "ab"])
        both.same("encode_to_numpy", text, disallowed_special=())
        both.same("encode_with_unstable", text, allowed_special="all")
        both.same("_encode_bytes", text.encode() + b"\xe2\x82")

    run()


@pytest.mark.parametrize(
    ("pattern", "ids"), [("", []), ("x*", [120]), ("a?", [97]), ("^", []), ("(?=b)", []), (r"\b", [])]
)
def test_a_match_of_nothing_gives_no_ids_here_and_panics_in_tiktoken(
    ours: Any, pattern: str, ids: list[int]
) -> None:
    both = own(ours, pat_str=pattern)
    text = "axb"
    assert type(outcome(both.theirs.encode, text)).__name__ == "PanicException"
    assert both.ours.encode(text) == both.ours.encode_ordinary(text) == ids


@pytest.mark.parametrize(("pattern", "position"), [("[", 1), ("(?<=a", 5), ("a|(b", None)])
def test_a_bad_pattern_is_named_as_the_argument(ours: Any, pattern: str, position: int | None) -> None:
    error = outcome(ours.Encoding, **{**OWN, "pat_str": pattern})
    assert type(error).__name__ == "PatternError"
    assert str(error).startswith("pat_str: pattern ")
    assert error.pattern == pattern
    assert position is None or error.position == position


def test_patterns_that_are_taken_to_match_everything_do(ours: Any) -> None:
    """Whatever tiktoken drops, decoding would miss."""
    import tiktoken
    from tokenmill.compat.tiktoken._published import COVERING

    scalars = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    spread = [*scalars[:0x3100], *scalars[0x3100::97]]
    text = "".join(scalars)
    for pattern in COVERING:
        enc = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=RANKS, special_tokens={})
        for between in ["", " ", "a", "\n", "'", "1"]:
            joined = between.join(spread) if between else text
            assert enc.decode(enc.encode_ordinary(joined)) == joined, (pattern, between)
        assert [one for one in spread if enc.decode(enc.encode_ordinary(one)) != one] == []


def test_a_gap_need_not_be_spelled(ours: Any) -> None:
    both = own(ours, mergeable_ranks={b"a": 0, b"b": 1}, pat_str=r"\w+", special_tokens={})
    assert both.ours.encode("a b") == both.theirs.encode("a b") == [0, 1]


@pytest.mark.parametrize("pattern", [r"(a)\1", r"(?<x>a)b\k<x>", r"(?P<x>a)", r"\Ga", r"a\Kb", r"(?<=a)b|c"])
def test_groups_and_places_of_a_pattern_with_gaps(ours: Any, pattern: str) -> None:
    both = own(ours, pat_str=pattern)
    for text in ("aab", "abab aabb", "aaabcaba", "caa\nab", ""):
        assert both.ours.encode(text) == both.theirs.encode(text), text


def test_of_two_special_tokens_that_begin_alike_the_longest_allowed_is_found_here(ours: Any) -> None:
    both = own(ours, special_tokens={"<a>": 301, "<a>b": 302})
    text = "x<a>b"
    assert both.ours.encode(text, allowed_special="all") == [120, 302]
    assert both.ours.encode(text, allowed_special={"<a>b"}, disallowed_special=()) == [120, 302]
    # There, a hash table has the shorter one first, and what is not allowed hides what is.
    assert both.theirs.encode(text, allowed_special="all") == [120, 301, 98]
    assert 302 not in both.theirs.encode(text, allowed_special={"<a>b"}, disallowed_special=())


def test_an_id_may_have_two_names(ours: Any, folder: Path) -> None:
    both = Both(ours.get_encoding("o200k_harmony"), their_encoding("o200k_harmony", folder))
    for text in ["<|endofprompt|>", "<|reserved_200018|>", "a<|reserved_200018|>b<|endofprompt|>"]:
        for policy in ["all", {"<|endofprompt|>"}, {"<|reserved_200018|>"}]:
            both.same("encode", text, allowed_special=policy, disallowed_special=())
            both.same("encode_to_numpy", text, allowed_special=policy, disallowed_special=())
    both.same("decode", [200_018])
    both.same("encode_single_token", "<|reserved_200018|>")
    both.same("decode", [201_088])
    both.same("decode_single_token_bytes", 201_088)
    assert both.ours.special_tokens_set == both.theirs.special_tokens_set


def test_ids_may_have_holes(ours: Any) -> None:
    both = own(ours, mergeable_ranks={b"a": 5, b"b": 2, b"ab": 9, b" ": 40}, pat_str=r"\w+|\s+")
    for text in ["ab", "ba ab  b", "", "<s>ab"]:
        both.same("encode", text, allowed_special="all")
        both.same("encode_with_unstable", text, allowed_special="all")
    for number in range(45):
        both.same("decode", [number])
    assert isinstance(outcome(both.ours.encode, "abc"), ValueError)  # tiktoken panics: no token for the byte


@pytest.mark.parametrize(
    "tables",
    [
        {"pat_str": "("},
        {"pat_str": None},
        {"pat_str": "abc"},
        {"mergeable_ranks": {}},
        {"mergeable_ranks": {b"a": 0, b"b": 0}},
        {"mergeable_ranks": {b"a": -1}},
        {"mergeable_ranks": {b"a": 1 << 32}},
        {"mergeable_ranks": {"a": 0}},
        {"special_tokens": {"a": -1}},
        {"special_tokens": {"\ud800": 300}},
        {"explicit_n_vocab": 5},
        {"explicit_n_vocab": 261},
        {"explicit_n_vocab": 256, "mergeable_ranks": dict(list(RANKS.items())[:256]), "special_tokens": {}},
    ],
)
def test_tables_are_refused_alike(ours: Any, tables: dict[str, Any]) -> None:
    import tiktoken

    want, got = (outcome(side.Encoding, **{**OWN, **tables}) for side in (tiktoken, ours))
    if not isinstance(want, BaseException):
        assert repr(got) == repr(want)
    elif type(want).__name__ == "PanicException":
        assert isinstance(got, ValueError)
    else:
        assert isinstance(got, type(want)), (want, got)


# ---- arguments --------------------------------------------------------------------------------

WRONG = [b"a", None, 5, ["a"], bytearray(b"a")]


@pytest.mark.parametrize(
    "method", ["encode", "encode_ordinary", "encode_to_numpy", "encode_with_unstable", "_encode_bytes"]
)
def test_what_is_no_text_is_refused_alike(ours: Any, method: str) -> None:
    both = own(ours)
    for wrong in WRONG:
        both.same(method, wrong)
    both.same("encode_batch", ["a", 5])
    both.same("encode_ordinary_batch", "ab")


def test_arguments_of_all_kinds_are_taken_or_refused_alike(ours: Any) -> None:
    import numpy as np

    both = own(ours)
    for wrong in [*WRONG, "<s>", "", "\ud800", b"\xff"]:
        both.same("encode_single_token", wrong)
        both.same("_encode_single_piece", wrong)
    for ids in [
        (97, 98),
        range(97, 99),
        np.array([97, 98]),
        b"ab",
        [np.int64(97)],
        [],
        "ab",
        5,
        None,
        [97.0],
    ]:
        both.same("decode", ids)
        both.same("decode_bytes", ids)
    for number in [97, 300, 299, -1, 1 << 32, "a", None, 97.0, True]:
        both.same("decode_single_token_bytes", number)
        both.same("decode", [number])
        both.same("is_special_token", number)
    both.same("decode", [255], errors="nope")
    both.same("encode", "a", allowed_special=["<s>"])
    both.same("encode", "a", allowed_special=["<s>"], disallowed_special=())
    both.same("encode", "a", allowed_special={"unknown"})
    for threads in [0, -1, 1, 3, None]:
        both.same("encode_batch", ["a", "b"], num_threads=threads)
        both.same("decode_batch", [[97]], num_threads=threads)
        both.same("decode_bytes_batch", [[97]], num_threads=threads)
    both.same("decode_batch", [[97], [999]])
    assert isinstance(outcome(lambda: both.ours.eot_token), KeyError)


# ---- copies -----------------------------------------------------------------------------------


def test_an_encoding_by_name_is_pickled_by_name(ours: Any) -> None:
    enc = ours.get_encoding("cl100k_base")
    pickled = pickle.dumps(enc)
    assert len(pickled) < 1000
    assert pickle.loads(pickled).encode("hello world") == enc.encode("hello world")


def test_a_pickle_by_name_that_tiktoken_wrote_is_read(ours: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import tiktoken

    theirs = tiktoken.Encoding(**{**OWN, "name": "cl100k_base"})
    for name in ["cl100k_base", "nobody"]:
        theirs.name = name
        monkeypatch.setitem(tiktoken.registry.ENCODINGS, name, theirs)
        sent = pickle.dumps(theirs)
        assert len(sent) < 200
        with monkeypatch.context() as patch:
            for module in ["", ".core", ".load", ".model", ".registry"]:
                patch.delitem(sys.modules, f"tiktoken{module}", raising=False)
            patch.setitem(sys.modules, "tiktoken", ours)
            if name == "nobody":
                with pytest.raises(ValueError, match="no encoding is called 'nobody'"):
                    pickle.loads(sent)
            else:
                read = pickle.loads(sent)
                assert type(read) is ours.Encoding
                assert read.encode("hello world") == ours.get_encoding(name).encode("hello world")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda enc: pickle.loads(pickle.dumps(enc))])
def test_a_copy_encodes_the_same(ours: Any, copied: Callable[[Any], Any]) -> None:
    enc = own(ours).ours
    twin = copied(enc)
    assert twin is not enc
    assert repr(twin) == repr(enc)
    for text in ["ab <s>", "q", "a b"]:
        assert twin.encode(text, allowed_special="all") == enc.encode(text, allowed_special="all")
