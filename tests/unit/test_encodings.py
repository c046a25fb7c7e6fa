"""``Encoding`` as an object: lists made once, pickles, copies; and what a stream shows of itself."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
from tokenmill import errors

LISTS = [
    *("ids", "tokens", "surface_tokens", "offsets", "byte_offsets", "type_ids", "attention_mask"),
    *("special_tokens_mask", "word_ids", "sequence_ids"),
]


@pytest.fixture(scope="module")
def tok(native: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Adds tokens around a text under names of their own, and pads."""
    path: Path = tmp_path_factory.mktemp("template") / "tokenizer.json"
    words = ["<pad>", "<s>", "</s>", "<unk>", "▁low", "▁", "er", "l", "o", "w", "e", "r"]
    special = [
        {"id": at, "content": word, "special": True, "single_word": False, "lstrip": at == 3, "rstrip": False}
        | {"normalized": False}
        for at, word in enumerate(words[:4])
    ]
    name = [
        {"id": "[BEGIN]", "ids": [1], "tokens": ["[BEGIN]"]},
        {"id": "</s>", "ids": [2], "tokens": ["</s>"]},
    ]
    begin, end = ({"SpecialToken": {"id": each["id"], "type_id": 0}} for each in name)
    first, second = ({"Sequence": {"id": which, "type_id": at}} for at, which in enumerate("AB"))
    file = {
        "version": "1.0",
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, first, end],
            "pair": [begin, first, end, second, end],
            "special_tokens": {each["id"]: each for each in name},
        },
        "padding": {
            "strategy": "BatchLongest",
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 3,
            "pad_token": "[P]",
        },
        "decoder": None,
        "model": {
            "type": "Unigram",
            "unk_id": 3,
            "vocab": [[word, -float(at)] for at, word in enumerate(words)],
        },
    }
    path.write_text(json.dumps(file), encoding="utf-8")
    return native.load(path)


def made(tok: Any) -> dict[str, Any]:
    """Encodings of every kind."""
    long = "low lower é🦊 <unk> lower low"
    cut: dict[str, Any] = {"max_length": 9, "stride": 1, "truncation": "only_first", "padding": "max_length"}
    return {
        "a text": tok(long),
        "nothing": tok.encode_with_offsets(""),
        "a pair": tok(long, "low", special="parse"),
        "surrogates": tok("low \ud83e\udd8a\ud83e low"),
        "bytes": tok.encode_with_offsets("low é".encode()),
        "words": tok(["low", "", "é er"], is_pretokenized=True),
        "padded": tok(["low", long], padding=True)[0],
        "windows": tok(long, "low lower", **cut),
        "a window": tok(long, max_length=5, stride=1).overflowing[1],
        "an added token": tok("low <unk>lower", special="parse"),
    }


def seen(encoding: Any) -> list[Any]:
    """All that can be asked of it."""
    count = len(encoding)
    return [
        *(list(getattr(encoding, name)) for name in LISTS),
        (count, encoding.n_sequences, repr(encoding)),
        [seen(window) for window in encoding.overflowing],
        [encoding.token_to_chars(at) for at in range(count + 1)],
        [encoding.token_to_word(at) for at in range(count + 1)],
        [encoding.char_to_token(at, text) for at in range(30) for text in (0, 1)],
        [encoding.word_to_tokens(at, text) for at in range(9) for text in (0, 1)],
    ]


KINDS = [
    *("a text", "nothing", "a pair", "surrogates", "bytes", "words", "padded", "windows", "a window"),
    "an added token",
]


# ---- lists ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*LISTS, "overflowing"])
def test_a_list_is_made_once(tok: Any, name: str) -> None:
    encoding = made(tok)["windows"]
    first = getattr(encoding, name)
    assert type(first) is list
    assert getattr(encoding, name) is first


def test_a_list_that_was_changed_changes_nothing_else(tok: Any) -> None:
    encoding, other = made(tok)["a pair"], made(tok)["a pair"]
    before = seen(other)
    for name in LISTS:
        getattr(encoding, name).clear()
    encoding.overflowing.append(None)
    assert encoding == other
    assert (len(encoding), encoding.token_to_chars(1)) == (len(other), other.token_to_chars(1))
    assert [encoding.char_to_token(at) for at in range(9)] == [other.char_to_token(at) for at in range(9)]
    # Neither copies nor pickles have the changes, nor has another encoding.
    assert seen(copy.deepcopy(encoding)) == seen(pickle.loads(pickle.dumps(encoding))) == before
    assert seen(other) == before


def test_an_encoding_that_holds_itself_is_collected(native: Any) -> None:
    class Alive:
        pass

    encoding, alive = native.Tokenizer.from_tokens([b"a"]).encode_with_offsets("a"), Alive()
    gone = weakref.ref(alive)
    encoding.ids.extend([encoding, alive])
    del encoding, alive
    gc.collect()
    assert gone() is None


# ---- pickles and copies -----------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", KINDS)
def test_a_pickle_is_equal_and_knows_the_same(tok: Any, kind: str, protocol: int) -> None:
    encoding = made(tok)[kind]
    again = pickle.loads(pickle.dumps(encoding, protocol))
    assert type(again) is type(encoding)
    assert again == encoding
    assert encoding == again
    assert seen(again) == seen(encoding)
    # The pickle of what came out of a pickle is the same one.
    assert pickle.dumps(again, protocol) == pickle.dumps(encoding, protocol)


def test_pickles_of_different_encodings_differ(tok: Any) -> None:
    again = {kind: pickle.loads(pickle.dumps(encoding)) for kind, encoding in made(tok).items()}
    originals = made(tok)
    for kind, encoding in again.items():
        assert [name for name, other in originals.items() if other == encoding] == [kind]


@pytest.mark.parametrize("kind", KINDS)
def test_copies(tok: Any, kind: str) -> None:
    encoding = made(tok)[kind]
    assert copy.copy(encoding) is encoding
    deep = copy.deepcopy(encoding)
    assert deep == encoding
    assert deep.ids is not encoding.ids
    assert seen(deep) == seen(encoding)


def test_a_pickle_is_small_and_needs_no_tokenizer(native: Any, data: Path) -> None:
    tok = native.load(data / "vocab" / "gpt2" / "vocab.json")
    encoding = tok.encode_with_offsets("It was the best of times, it was the worst of times.\n" * 40)
    state = pickle.dumps(encoding)
    assert len(state) < 8 * len(encoding)
    code = (
        "import pickle, sys; e = pickle.load(sys.stdin.buffer); print(len(e), e.tokens[4], e.offsets[4], "
        "'tokenmill.ragged' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=state, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().split() == [str(len(encoding)), "Ġof", "(15,", "18)", "False"]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda state: b"", "wrong-kind"),
        (lambda state: b"tokenmill" + bytes(40), "wrong-kind"),
        (lambda state: state[:18] + b"\x02" + state[19:], "version"),
        (lambda state: state[:-1], "inconsistent"),
        (lambda state: state + b"\x00", "inconsistent"),
        (lambda state: state[:40] + bytes([state[40] ^ 1]) + state[41:], "inconsistent"),
    ],
)
def test_a_state_that_is_none_is_refused(tok: Any, change: Any, kind: str) -> None:
    from tokenmill import _core

    restore, (state,) = made(tok)["windows"].__reduce__()
    assert restore is _core.encoding_from_state
    assert restore(state) == made(tok)["windows"]
    for read in (_core.encoding_from_state, _core.encoded_rows_from_state):
        with pytest.raises(errors.FormatError) as refused:
            read(change(state))
        assert refused.value.kind == kind


def test_a_state_of_several_encodings_is_none_of_one(tok: Any) -> None:
    from tokenmill import _core

    _, (state,) = tok.encode_batch(["low", "lower"], offsets=True)._encodings.__reduce__()
    assert len(_core.encoded_rows_from_state(state)) == 2
    with pytest.raises(errors.FormatError, match="not of one encoding"):
        _core.encoding_from_state(state)


# ---- streams --------------------------------------------------------------------------------------


def test_a_stream_shows_how_many_ids_came_and_what_waits(native: Any) -> None:
    tok = native.Tokenizer.from_pairs([])
    stream = tok.decode_stream()
    assert repr(stream) == "DecodeStream(0 ids)"
    stream.extend(list("lo🦊".encode()[:-1]))
    assert repr(stream) == r"DecodeStream(5 ids, 3 bytes pending: b'\xf0\x9f\xa6')"
    assert stream.step("🦊".encode()[-1]) == "🦊"
    assert repr(stream) == "DecodeStream(6 ids)"
    stream.finish()
    assert repr(stream) == "DecodeStream(0 ids)"


def test_a_stream_with_steps_shows_what_waits_and_is_not_changed(native: Any, tmp_path: Path) -> None:
    """Whitespace at the end is stripped, so that all of it waits; the text of it is not shown at length."""
    path = tmp_path / "tokenizer.json"
    model = {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1, " ": 2}}
    decoder = {
        "type": "Sequence",
        "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 0, "stop": 100}],
    }
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model, "decoder": decoder}))
    stream = native.load(path).decode_stream()
    given = "".join(stream.step(number) for number in [1, *[2] * 200])
    shown = repr(stream)
    assert shown.startswith("DecodeStream(201 ids")
    assert len(shown) < 120
    assert repr(stream) == shown
    assert given + stream.finish() == "a" + " " * 100


def test_a_strict_stream_that_refuses_is_as_it_was(native: Any) -> None:
    """As for an id that does not exist: what was certain before the fault is not lost."""
    tok = native.Tokenizer.from_pairs([])
    fox, low = tok.encode("🦊"), tok.encode("low")
    stream = tok.decode_stream(errors="strict")
    before = repr(stream)
    with pytest.raises(UnicodeDecodeError):
        stream.extend([*low, fox[0], *low])
    assert repr(stream) == before
    assert stream.extend([*low, fox[0]]) == "low"
    with pytest.raises(UnicodeDecodeError):
        stream.step(low[0])
    assert stream.extend(fox[1:]) + stream.finish() == "🦊"
