"""Laws 3 and 8 for GGUF files: small random vocabularies with tokens of every type, saved and loaded again.

100 examples of each kind of model, or 2,000 with TOKENMILL_SLOW=1; every short text over a few characters is
encoded before and after.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from gguf_files import gguf, small_gpt2
from hypothesis import given
from hypothesis import strategies as st
from tokenmill import errors

from property.strategies import attempt

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

BASE = {
    "gpt2": ["a", "b", "Ġ", "ab"],
    "bert": ["[UNK]", "[CLS]", "[SEP]", "▁a", "a", "b"],
    "llama": ["<unk>", "a", "b", "▁"],
    "t5": ["<unk>", "a", "b", "▁"],
}
PARTS = {
    "gpt2": ["a", "b", "Ġ", "a", "b", "Ġ", "é", "漢", " ", "<s>", "<0x41>"],
    "bert": ["▁a", "a", "b", "▁b", "[X]", "##a"],
    "llama": ["a", "b", "▁", "a", "b", "▁", "é", " ", "<s>"],
    "t5": ["a", "b", "▁", "a", "b", "▁", "é", " ", "<s>"],
}
CHARACTERS = {
    "gpt2": ["a", "b", " ", "Ġ", "é", "<s>"],
    "bert": ["a", "b", " ", "▁", "漢", "[X]"],
    "llama": ["a", "b", " ", "▁", "é", "<s>"],
    "t5": ["a", "b", " ", "▁", "é", "<s>"],
}
SPLIT = re.compile(r" ?[^\W\d_]+| ?\d+| ?[^\s\w]+|\s+(?!\S)|\s+")
"""That of GPT-2, without contractions."""


@st.composite
def files(draw: st.DrawFn, model: str) -> dict[str, Any]:
    """The keys of a file; tokens may be there twice."""
    made = st.lists(st.sampled_from(PARTS[model]), min_size=1, max_size=4).map("".join)
    tokens = BASE[model] + draw(st.lists(made, max_size=9))
    if draw(st.integers(0, 9)):
        tokens = list(dict.fromkeys(tokens))
    tokens = draw(st.permutations(tokens))
    kinds = st.sampled_from([NORMAL] * 4 + [UNKNOWN, CONTROL, USER_DEFINED, USER_DEFINED, UNUSED])
    fixed = {"<unk>": UNKNOWN, "[UNK]": CONTROL, "[CLS]": CONTROL, "[SEP]": CONTROL}
    types = [fixed.get(token) or draw(kinds) for token in tokens]
    keys: dict[str, Any] = {"model": model, "tokens": tokens}
    if model == "gpt2":
        # Bytes of their own mean nothing in these files.
        types = [BYTE if kind == UNUSED and draw(st.booleans()) else kind for kind in types]
        possible = [
            f"{left} {right}"
            for left, right in product(dict.fromkeys(tokens), repeat=2)
            if left + right in tokens and " " not in left[1:] + right
        ]
        merges = draw(st.lists(st.sampled_from(possible), min_size=1, unique=True))
        keys |= {"pre": draw(st.sampled_from(["gpt-2", "llama-bpe"])), "merges": merges}
    else:
        keys["scores"] = [float(-draw(st.integers(0, 6))) for _ in tokens]
        keys["unknown_token_id"] = tokens.index("[UNK]" if model == "bert" else "<unk>")
        keys |= {name: draw(st.sampled_from([None, False])) for name in ("add_bos_token", "add_eos_token")}
    keys["bos_token_id"] = draw(st.none() | st.sampled_from([i for i, _ in enumerate(tokens)]))
    return {**keys, "token_type": types}


def short_texts(model: str) -> list[str]:
    return ["".join(parts) for length in range(4) for parts in product(CHARACTERS[model], repeat=length)]


def outcome(tok: Any, text: str, special: str) -> tuple[list[int], str] | str:
    try:
        ids = tok.encode(text, special=special)
    except errors.UnknownTokenError as error:
        return str(error)
    return ids, tok.decode(ids)


def loaded(native: Any, path: Path, keys: dict[str, Any]) -> Any:
    """`None` for a vocabulary that is refused: a token is there twice, in one way of writing it or in two."""
    path.write_bytes(gguf(**keys))
    tok, error = attempt(errors.FormatError, lambda: native.load(path))
    assert error is None or error.kind == "duplicate"
    return tok


@pytest.mark.parametrize("model", ["gpt2", "bert", "llama", "t5"])
@given(data=st.data())
def test_law_8_a_gguf_file_that_is_saved_is_what_is_loaded(
    native: Any, folders: Any, model: str, data: st.DataObject
) -> None:
    keys = data.draw(files(model))
    folder = folders()
    tok = loaded(native, folder / "t.gguf", keys)
    if tok is None:
        return
    for format, name in ((None, "folder"), ("tokenizer.json", "t.json"), ("sentencepiece", "t.model")):
        path, second = folder / name, folder / f"second-{name}"
        _, error = attempt(errors.FormatError, partial(tok.save, path, format=format))
        if error is not None:
            assert error.kind == "cannot-hold"
            assert error.field
            assert not path.exists()
            continue
        again = native.load(path)
        assert again == tok
        assert again.fingerprint == tok.fingerprint
        again.save(second, format=format)
        assert contents(second) == contents(path)
        for special in ("text", "parse"):
            for text in short_texts(model):
                assert outcome(again, text, special) == outcome(tok, text, special)


def contents(path: Path) -> dict[str, bytes]:
    found = path.iterdir() if path.is_dir() else [path]
    return {file.name if path.is_dir() else "": file.read_bytes() for file in found}


@given(keys=files("gpt2"))
def test_law_3_byte_level_gguf_files_have_the_ids_of_the_rule(
    native: Any, folders: Any, keys: dict[str, Any]
) -> None:
    keys["pre"] = "gpt-2"
    # What is not written in the byte alphabet has a meaning only where it is searched for.
    pairs = zip(keys["tokens"], keys["token_type"], strict=True)
    keys["token_type"] = [USER_DEFINED if {" ", "漢"} & {*token} else kind for token, kind in pairs]
    tok = loaded(native, folders() / "t.gguf", keys)
    if tok is None:
        return
    for text in short_texts("gpt2"):
        found = outcome(tok, text, "text")
        if not isinstance(found, str):
            assert found[0] == by_the_rule(keys, text), text


def by_the_rule(keys: dict[str, Any], text: str) -> list[int]:
    """Ids as llama.cpp has them, but for control tokens, which no text becomes.

    User-defined tokens are searched for in the text, the longest first (what a control token covers is none
    of them); what lies between is split, and merged in the byte alphabet.
    """
    types = dict(zip(keys["tokens"], keys["token_type"], strict=True))
    ids = {token: i for i, token in enumerate(keys["tokens"]) if types[token] != CONTROL}
    ranks: dict[tuple[str, str], int] = {}
    for rank, merge in enumerate(keys["merges"]):
        blank = merge.index(" ", 1)
        left, right = merge[:blank], merge[blank + 1 :]
        if {left, right, left + right} <= set(ids):
            ranks.setdefault((left, right), rank)
    literals = sorted(
        (token for token in types if types[token] in (CONTROL, USER_DEFINED)), key=len, reverse=True
    )
    parts: list[str | int] = [""]
    for part in re.split(f"({'|'.join(map(re.escape, literals))})", text) if literals else [text]:
        if types.get(part) == USER_DEFINED and part in literals:
            parts += [ids[part], ""]
        else:
            parts[-1] = f"{parts[-1]}{part}"
    found: list[int] = []
    for part in parts:
        if isinstance(part, int):
            found.append(part)
            continue
        for pretoken in SPLIT.findall(part):
            symbols = list(in_the_byte_alphabet(pretoken))
            while True:
                pairs = [(ranks[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in ranks]
                if not pairs:
                    break
                at = min(pairs)[1]
                symbols[at : at + 2] = ["".join(symbols[at : at + 2])]
            found += [ids[symbol] for symbol in symbols]
    return found


def in_the_byte_alphabet(text: str) -> str:
    own = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = {byte: chr(0x100 + i) for i, byte in enumerate(b for b in range(256) if b not in own)}
    return "".join(others.get(byte, chr(byte)) for byte in text.encode())


@pytest.mark.parametrize("kind", [NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE])
@pytest.mark.parametrize("place", range(5))
def test_a_token_of_each_type_in_a_merge_is_kept(native: Any, tmp_path: Path, kind: int, place: int) -> None:
    """`ab` is merged of `a` and `b`, and a part of `abc`."""
    types = [NORMAL] * 5 + [CONTROL]
    types[place] = kind
    (tmp_path / "t.gguf").write_bytes(
        small_gpt2(
            tokens=["a", "b", "c", "ab", "abc", "<s>"],
            token_type=types,
            merges=["a b", "ab c"],
            bos_token_id=5,
        )
    )
    tok = native.load(tmp_path / "t.gguf")
    tok.save(tmp_path / "saved")
    again = native.load(tmp_path / "saved")
    assert again == tok
    for text in ("ab", "abc", "aabc", "abab", "cab"):
        assert outcome(again, text, "text") == outcome(tok, text, "text")


def test_a_user_defined_byte_is_text_and_a_literal(native: Any, tmp_path: Path) -> None:
    """`Ġ` is how a space is written: both become the token, as in llama.cpp."""
    (tmp_path / "t.gguf").write_bytes(small_gpt2(token_type=[1, 1, 1, USER_DEFINED, 3]))
    assert native.load(tmp_path / "t.gguf").encode("a bĠ") == [0, 3, 1, 3]


def test_a_user_defined_character_that_no_merge_has_is_text(native: Any, tmp_path: Path) -> None:
    """`ø` is how the byte 0xF8 is written, which is in no character, and `ā` one that is in many."""
    tokens = ["a", "b", "ab", "Ġ", "<s>", "ā", "ø"]
    (tmp_path / "t.gguf").write_bytes(
        small_gpt2(tokens=tokens, token_type=[1, 1, 1, 1, 3, USER_DEFINED, USER_DEFINED])
    )
    tok = native.load(tmp_path / "t.gguf")
    assert tok.encode("aø ā") == [0, 6, 3, 5]
    assert tok.decode([0, 6, 3]) == "aø "
    assert tok.decode_bytes([5]) == b"\x01"
    tok.save(tmp_path / "saved")
    assert native.load(tmp_path / "saved") == tok


def test_a_published_file_with_such_characters_keeps_them(native: Any, data: Path, tmp_path: Path) -> None:
    tok = native.load(data / "vocab/gguf/ggml-vocab-deepseek-llm.gguf")
    for text in ("Sønderjylland", "öÿú", "ÀÁ ý"):
        assert tok.decode(tok.encode(text)) == text
    tok.save(tmp_path / "saved")
    assert native.load(tmp_path / "saved") == tok


def test_what_a_file_cannot_say_is_refused(native: Any, tmp_path: Path) -> None:
    """The word `foo` and the literal `▁foo` have one id; read again, the literal would be a word as well."""
    tokens = ["[UNK]", "[CLS]", "[SEP]", "▁foo", "▁a"]
    keys = {"model": "bert", "tokens": tokens, "unknown_token_id": 0, "scores": [0.0] * 5}
    (tmp_path / "t.gguf").write_bytes(gguf(**keys, token_type=[3, 3, 3, USER_DEFINED, 1]))
    tok = native.load(tmp_path / "t.gguf")
    assert tok.encode("foo a ▁foo") == [3, 4, 3]
    with pytest.raises(errors.FormatError) as caught:
        tok.save(tmp_path / "saved")
    assert (caught.value.kind, caught.value.field) == ("cannot-hold", "added_tokens")
    assert not (tmp_path / "saved").exists()
