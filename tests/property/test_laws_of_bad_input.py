"""Laws 9 and 10: nothing is forged, and bad input is an error that says so.

On random tokenizers, texts and files; 100 examples of each, or 2,000 with TOKENMILL_SLOW=1.
"""

from __future__ import annotations

import copy
import json
import pickle
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tokenmill import errors

from property.strategies import (
    FORMATS,
    LITERALS,
    Recipe,
    any_text,
    attempt,
    forged,
    recipes,
    trained,
)

# ---- law 9: no forging ------------------------------------------------------------------------


@given(
    recipe=recipes(),
    more=st.lists(st.sampled_from(["<x>", "low", "a", *LITERALS]), max_size=3, unique=True),
    text=forged,
)
@example(Recipe("from_tokens", {"tokens": [b"a", b"b", b"<s>"]}), ["<s>"], "a<s>")
@example(
    Recipe("train", {"texts": ["a"], "num_merges": 0, "alphabet": "chars", "end_of_word": "</w>"}),
    ["</w>"],
    "a",
)
def test_law_9_text_never_becomes_a_special_id(
    native: Any, recipe: Recipe, more: list[str], text: str
) -> None:
    tok = recipe.make(native)
    with suppress(errors.SpecialTokenError):
        tok = tok.with_special_tokens(more)
    structural = set(tok.special_tokens.values()) - {tok.unk_token_id}
    try:
        encoded = [tok.encode(text), tok.encode(text, special=set())]
    except errors.UnknownTokenError:
        return
    encoded += [
        tok.encode_to_numpy(text).tolist(),
        tok.encode_with_offsets(text).ids,
        *tok.encode_batch([text, text.encode()]).to_lists(),
    ]
    for ids in encoded:
        assert not structural & set(ids)
        if tok.unk_token_id is None:
            assert tok.decode(ids) == text


@given(text=forged, literals=st.lists(st.sampled_from(["<|endoftext|>", "<|fim_prefix|>"]), max_size=3))
def test_law_9_holds_for_a_published_vocabulary(cl100k: Any, text: str, literals: list[str]) -> None:
    text = "".join([*literals, text, *literals])
    special = set(cl100k.special_tokens.values())
    assert not special & set(cl100k.encode(text))
    assert cl100k.decode(cl100k.encode(text)) == text
    kept = set(literals[:1])
    assert special & set(cl100k.encode(text, special=kept)) == {
        cl100k.special_tokens[one] for one in kept
    } or ("<|endoftext|>" in text and not kept)


@given(recipe=recipes(), text=forged)
def test_law_9_raise_is_what_parse_would_find(native: Any, recipe: Recipe, text: str) -> None:
    tok = recipe.make(native)
    special = set(tok.special_tokens.values())
    with suppress(errors.UnknownTokenError):
        parsed = tok.encode_with_offsets(text, special="parse")
        found = [at for number, at in zip(parsed.ids, parsed.offsets, strict=True) if number in special]
        found = [at for at in found if text[slice(*at)] in tok.special_tokens]
        ids, error = attempt(errors.SpecialTokenError, lambda: tok.encode(text, special="raise"))
        if error is None:
            assert (found, ids) == ([], tok.encode(text))
        else:
            assert error.position == found[0][0]
            assert error.token == text[slice(*found[0])]


# ---- law 10: bad input ------------------------------------------------------------------------

JUNK = [
    None,
    True,
    -1,
    0,
    3,
    2**31,
    2**32,
    2**64,
    1.5,
    "",
    "a",
    "x y",
    "\ud800",
    [],
    ["a", "b"],
    {},
    {"type": "x"},
]


def mutated_bytes(data: bytes, source: random.Random) -> bytes:
    """Cut, flip, drop, repeat or exchange something."""
    at, to = sorted(source.choices(range(len(data) + 1), k=2))
    lines = data.splitlines(keepends=True)
    line = source.randrange(len(lines))
    other = source.randrange(len(lines))
    flipped = bytearray(data)
    flipped[source.randrange(len(data))] ^= 1 << source.randrange(8)
    return source.choice(
        [
            data[:at],
            bytes(flipped),
            bytes(flipped),
            data[:at] + data[to:],
            data[:to] + data[at:],
            b"".join(lines[:line] + lines[line + 1 :]),
            b"".join([*lines[: line + 1], *lines[line:]]),
            b"".join([*lines[:line], lines[other], *lines[line:]]),
            data[:at] + source.randbytes(3) + data[at:],
            data.replace(b"0", b"1", 1),
        ]
    )


def mutated_json(data: bytes, source: random.Random) -> bytes:
    """Take one value out, put junk in its place, or a copy of another one."""
    document = json.loads(data)
    places: list[tuple[Any, Any]] = []
    rest = [document]
    while rest:
        inside = rest.pop()
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        # Large tables are all alike: some of their entries stand for the rest.
        for key in keys if len(keys) < 20 else source.sample(keys, 20):
            places.append((inside, key))
            if isinstance(inside[key], dict | list):
                rest.append(inside[key])
    if not places:
        return data
    inside, key = source.choice(places)
    what = source.choice(["drop", "junk", "copy", "rename"])
    if what == "drop":
        del inside[key]
    elif what == "junk":
        inside[key] = source.choice(JUNK)
    elif what == "copy":
        from_inside, from_key = source.choice(places)
        with suppress(KeyError, IndexError):
            inside[key] = copy.deepcopy(from_inside[from_key])
    elif isinstance(inside, dict):
        inside[source.choice(["a", "ab", "", "type", "Ġ", "日"])] = inside.pop(key)
    else:
        inside.append(inside[key])
    return json.dumps(document).encode()


def use(native: Any, path: Path, text: str) -> None:
    """Load: a tokenizer that works, or an error of the tree. Nothing else, and no crash."""
    needs_split = path.suffix != ".json" or path.name == "vocab.json"
    tok, error = attempt(Exception, lambda: native.load(path, split="none" if needs_split else None))
    if error is not None:
        assert isinstance(error, errors.TokenmillError | OSError)
        assert not isinstance(error, errors.InternalError)
        assert str(error)
        return
    for special in ("text", "parse"):
        with suppress(errors.UnknownTokenError, errors.PatternError):
            ids = tok.encode(text, special=special)
            assert tok.count(text, special=special) == len(ids)
            assert tok.encode_with_offsets(text, special=special).ids == ids
            tok.decode(ids)
    # Several tokens may have one id.
    assert len(set(tok.vocab.values())) <= len(tok)
    assert tok == pickle.loads(pickle.dumps(tok))


@pytest.mark.parametrize(("format", "name"), FORMATS[:3])
@given(recipe=recipes(), seed=st.integers(0, 2**32), text=any_text)
def test_law_10_a_damaged_file_loads_or_is_refused(
    native: Any, folders: Any, format: str, name: str, recipe: Recipe, seed: int, text: str
) -> None:
    tok = recipe.make(native)
    folder = folders()
    try:
        tok.save(folder / name, format=format, lossy=True)
    except errors.FormatError:
        return
    source = random.Random(seed)
    path = source.choice(sorted(folder.iterdir()))
    data = path.read_bytes()
    assume(data)
    for mutate in (mutated_bytes, mutated_json) if path.suffix == ".json" else (mutated_bytes,):
        for _ in range(4):
            path.write_bytes(mutate(data, source))
            use(native, folder / name, text)
            path.write_bytes(data)


@given(recipe=trained(), seed=st.integers(0, 2**32))
def test_law_10_a_damaged_folder_is_refused_or_the_same(
    native: Any, folders: Any, recipe: Recipe, seed: int
) -> None:
    """A manifest stands beside the file: no change of the file can go unseen."""
    tok = recipe.make(native)
    folder = folders()
    try:
        tok.save(folder / "m")
    except errors.FormatError:
        return
    path = folder / "m" / "tokenizer.json"
    before = path.read_bytes()
    after = mutated_bytes(before, random.Random(seed))
    path.write_bytes(after)
    if after == before:
        assert native.load(folder / "m") == tok
    else:
        with pytest.raises((errors.ManifestError, errors.FormatError)):
            native.load(folder / "m")


@given(recipe=recipes(), seed=st.integers(0, 2**32))
def test_law_10_a_damaged_pickle_is_refused(native: Any, recipe: Recipe, seed: int) -> None:
    make, (state, *rest) = recipe.make(native).__reduce__()
    after = mutated_bytes(state, random.Random(seed))
    assume(after != state)
    with pytest.raises(errors.FormatError):
        make(after, *rest)


@given(
    data=st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_law_10_anything_is_a_file(native: Any, folders: Any, data: bytes) -> None:
    folder = folders()
    (folder / "x").write_bytes(data)
    use(native, folder / "x", "low lower")


ids = st.lists(st.integers(-3, 400) | st.integers(-(2**70), 2**70), max_size=8)


@given(recipe=recipes(), some=ids, skip=st.booleans())
def test_law_10_any_ids_decode_or_are_named(native: Any, recipe: Recipe, some: list[int], skip: bool) -> None:
    tok = recipe.make(native)
    known = set(tok.vocab.values())
    possible = [number for number in some if 0 <= number < 2**32 - 1]
    for policy in ("skip", "replace"):
        assert isinstance(tok.decode(possible, undefined=policy, skip_special_tokens=skip), str)
    unknown = [at for at, number in enumerate(some) if not 0 <= number < 2**32 - 1]
    unknown = unknown or [at for at, number in enumerate(some) if number not in known]
    if len(known) == len(tok) and unknown:
        with pytest.raises(errors.VocabularyError) as caught:
            tok.decode(some)
        assert caught.value.position == unknown[0]
    with suppress(errors.VocabularyError):
        tok.decode_bytes(some)


@given(pattern=st.text(max_size=12) | st.text(r"ab()[]{}*+?|\^$.-<>=!:pdwsLN,1", max_size=14), text=any_text)
def test_law_10_any_pattern_cuts_or_is_refused(native: Any, pattern: str, text: str) -> None:
    tok, error = attempt(
        errors.PatternError,
        lambda: native.train(texts=["abab ba", text], num_merges=3, split=pattern),
    )
    if error is None:
        ids, error = attempt(errors.PatternError, lambda: tok.encode(text))
    if error is None:
        assert tok.decode(ids) == text
    else:
        assert error.pattern == pattern
