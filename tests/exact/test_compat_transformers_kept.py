"""`tokenmill.compat.transformers`: tokenizers that are changed, saved, copied and made, beside plain ones.

The tokenizers are made here, one for each class of transformers that builds its own stages.
"""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Iterator
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any

import pytest

from .folders_made import CLASSES, CONFIGURED, klass, make
from .test_compat_transformers import attached, outcome
from .test_folders import auto


@pytest.fixture(scope="module", autouse=True)
def _ours(native: Any) -> None:
    """All of it needs the package."""


# ---- changes ------------------------------------------------------------------------------------


def small(tmp_path: Path, kind: str = "GPT2Tokenizer") -> Any:
    tokenizer, settings = CLASSES[kind]
    tmp_path.mkdir(exist_ok=True)
    return auto(make(tmp_path / kind, tokenizer, tokenizer_config=klass(kind, **settings)))


TEXTS = ["ab <new> abc", "a  <x>b  Hello", "", "abc <end> 12"]


def agree(theirs: Any, ours: Any) -> None:
    assert ours.get_vocab() == theirs.get_vocab()
    for text in TEXTS:
        want, got = theirs(text, "ab"), ours(text, "ab")
        assert got.data == want.data, text
        assert got.tokens() == want.tokens()
        assert ours.decode(got["input_ids"]) == theirs.decode(want["input_ids"])


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_and_what_is_added_to_it(kind: str, tmp_path: Path) -> None:
    from tokenizers import AddedToken

    theirs = small(tmp_path, kind)
    ours = attached(theirs)
    theirs = small(tmp_path, kind)
    agree(theirs, ours)
    for change in [
        methodcaller("add_tokens", ["<new>", AddedToken("<x>", lstrip=True, normalized=False)]),
        methodcaller("add_special_tokens", {"pad_token": "<fill>"}),
        methodcaller("add_tokens", "<end>", special_tokens=True),
    ]:
        assert change(ours) == change(theirs)
        agree(theirs, ours)
    assert ours(TEXTS, padding=True).data == theirs(TEXTS, padding=True).data


@pytest.mark.parametrize("name", CONFIGURED)
def test_every_configuration(name: str, tmp_path: Path) -> None:
    tokenizer, files = CONFIGURED[name]
    folder = make(tmp_path / "t", tokenizer, **files)
    theirs = auto(folder)
    agree(theirs, attached(theirs))


def test_stages_that_are_set_or_changed_in_place_are_followed(tmp_path: Path) -> None:
    from tokenizers import decoders, normalizers, pre_tokenizers, processors

    def set_stages(backend: Any) -> Iterator[None]:
        backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Prepend("b")])
        yield
        backend.normalizer[1] = normalizers.Prepend("c")
        yield
        backend.normalizer = normalizers.BertNormalizer(lowercase=False)
        held = backend.normalizer
        yield
        held.lowercase = True
        yield
        backend.normalizer = None
        yield
        backend.pre_tokenizer.add_prefix_space = True
        yield
        split = pre_tokenizers.Split(" ", "removed")
        backend.pre_tokenizer = pre_tokenizers.Sequence([split, backend.pre_tokenizer])
        yield
        split.behavior = "isolated"
        yield
        backend.post_processor = processors.TemplateProcessing(
            single="a $A", pair="$A $B", special_tokens=[("a", 5)]
        )
        yield
        backend.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip("a", 1, 0)])
        yield
        backend.model.unk_token = "a"
        yield
        backend.model.ignore_merges = True
        yield
        backend.encode_special_tokens = True
        yield

    theirs = small(tmp_path)
    ours = attached(theirs)
    steps = zip(set_stages(theirs.backend_tokenizer), set_stages(ours.backend_tokenizer), strict=True)
    seen = set()
    for _ in steps:
        for text in [*TEXTS, "AB ABC", "ab<|endoftext|>"]:
            want, got = (one.backend_tokenizer.encode(text) for one in (theirs, ours))
            assert (got.ids, got.tokens) == (want.ids, want.tokens)
            assert ours.backend_tokenizer.decode(got.ids) == theirs.backend_tokenizer.decode(want.ids)
        seen.add(str(ours("AB ab abc")["input_ids"]))
    assert len(seen) > 5


def test_what_the_tokenizer_was_made_of_is_no_longer_part_of_it(tmp_path: Path) -> None:
    """Nor does attaching one change another."""
    from tokenmill.compat.transformers import attach

    theirs = small(tmp_path)
    before = theirs.backend_tokenizer
    stage = before.pre_tokenizer
    other = small(tmp_path)
    assert attach(theirs) is theirs
    want = theirs("ab <new> abc")["input_ids"]
    before.add_tokens(["<new>"])
    stage.add_prefix_space = True
    assert theirs("ab <new> abc")["input_ids"] == want
    assert type(theirs.backend_tokenizer).__module__.startswith("tokenmill.")
    assert type(other.backend_tokenizer).__module__ == "tokenizers"


def test_a_normalized_added_token_decodes_to_itself_here_and_normalized_in_the_peer(tmp_path: Path) -> None:
    theirs = small(tmp_path, "DistilBertTokenizer")
    ours = attached(theirs)
    for one in (theirs, ours):
        one.add_tokens(["<É>"])
    ids = ours("<É>", add_special_tokens=False)["input_ids"]
    assert ids == theirs("<É>", add_special_tokens=False)["input_ids"] == [len(theirs) - 1]
    assert ours.decode(ids) == "<É>"
    assert theirs.decode(ids) == "<e>"
    assert ours.convert_ids_to_tokens(ids) == theirs.convert_ids_to_tokens(ids)


def test_a_model_that_draws_ids_is_refused(native: Any, tmp_path: Path) -> None:
    ours = attached(small(tmp_path))
    ours.backend_tokenizer.model.dropout = 0.5
    with pytest.raises(native.FormatError, match=r"dropout is 0\.5") as raised:
        ours("ab")
    assert (raised.value.field, raised.value.kind) == ("model.dropout", "unsupported")
    ours.backend_tokenizer.model.dropout = None
    assert ours("ab") == small(tmp_path / "again")("ab")
    theirs = small(tmp_path, "T5Tokenizer")
    theirs.backend_tokenizer.model.alpha = 0.1
    with pytest.raises(native.FormatError, match="alpha"):
        attached(theirs)


def test_a_stage_of_own_code_is_refused(native: Any, tmp_path: Path) -> None:
    from tokenizers import pre_tokenizers

    ours = attached(small(tmp_path))
    want = ours("ab")
    before = ours.backend_tokenizer.pre_tokenizer
    ours.backend_tokenizer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(object())
    with pytest.raises(native.FormatError, match="cannot be written"):
        ours("ab")
    assert ours.backend_tokenizer.pre_tokenizer is not None
    ours.backend_tokenizer.pre_tokenizer = before
    assert ours("ab") == want


# ---- kept ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["GPT2Tokenizer", "BertTokenizer", "LlamaTokenizer", "T5Tokenizer"])
def test_what_is_saved_is_loaded_without_us_and_is_equal(kind: str, tmp_path: Path) -> None:
    theirs = small(tmp_path, kind)
    ours = attached(theirs)
    for one in (theirs, ours):
        one.add_tokens(["<new>"])
    theirs.save_pretrained(tmp_path / "theirs")
    ours.save_pretrained(tmp_path / "ours")
    files = {path.name: path.read_bytes() for path in (tmp_path / "theirs").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "ours").iterdir()} == files
    again = auto(tmp_path / "ours")
    assert type(again.backend_tokenizer).__module__ == "tokenizers"
    agree(again, ours)


@pytest.mark.parametrize("kind", ["GPT2Tokenizer", "BertTokenizer", "T5Tokenizer"])
def test_copies_and_pickles_are_attached_and_stand_alone(kind: str, tmp_path: Path) -> None:
    theirs = small(tmp_path, kind)
    ours = attached(theirs, num_threads=2)
    ours.backend_tokenizer.encode_special_tokens = True
    for twin in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert type(twin.backend_tokenizer) is type(ours.backend_tokenizer)
        assert twin.backend_tokenizer.encode_special_tokens
        agree(theirs, twin)
        twin.add_tokens(["<new>"])
        assert twin("<new>") != ours("<new>")
    encoded = ours("ab abc", "Hello")
    again = pickle.loads(pickle.dumps(encoded))
    assert again.data == encoded.data
    assert again.tokens() == encoded.tokens()
    assert again.char_to_token(4) == encoded.char_to_token(4)


def test_a_copy_of_scores_is_exact_here_and_off_by_a_bit_in_the_peer(data: Path) -> None:
    """It reads scores from its own form, and may miss the last bit, which decides between equal rows."""
    theirs = auto(data / "vocab" / "t5-small")
    text = "vs Gerrit\n-------------------"
    want = theirs(text)["input_ids"]
    assert copy.deepcopy(theirs)(text)["input_ids"] != want
    ours = attached(theirs)
    assert copy.deepcopy(ours)(text)["input_ids"] == ours(text)["input_ids"] == want
    assert pickle.loads(pickle.dumps(ours))(text)["input_ids"] == want
    assert ours.backend_tokenizer.to_str() == theirs.backend_tokenizer.to_str()


def test_training_from_an_attached_one_gives_a_plain_one(tmp_path: Path) -> None:
    theirs = small(tmp_path)
    lines = ["low lower lowest", "new newer newest"] * 5
    ours = attached(theirs)
    learned = [one.train_new_from_iterator(lines, 300, show_progress=False) for one in (theirs, ours)]
    assert learned[0].get_vocab() == learned[1].get_vocab()
    assert type(learned[1].backend_tokenizer).__module__ == "tokenizers"
    for one in (theirs, ours):
        one.backend_tokenizer.train_from_iterator(lines)
    assert ours(lines[0]).tokens() == theirs(lines[0]).tokens()
    assert ours.get_vocab() == theirs.get_vocab() != small(tmp_path / "again").get_vocab()


# ---- the object ---------------------------------------------------------------------------------


def test_an_object_for_transformers(native: Any, tmp_path: Path) -> None:
    from tokenizers import Tokenizer
    from tokenmill.compat.transformers import tokenizer_object

    transformers: Any = pytest.importorskip("transformers")

    tok = native.train(texts=["low lower lowest"] * 3, vocab_size=270, special_tokens=["<s>", "<pad>"])
    tok.save(tmp_path / "tokenizer.json")
    plain = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    roles = {"bos_token": "<s>", "pad_token": "<pad>", "additional_special_tokens": ["<new>"]}
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=plain, **roles)
    for source in (tok, plain):
        ours = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer_object(source), **roles)
        assert type(ours.backend_tokenizer).__module__.startswith("tokenmill.")
        agree(theirs, ours)
        assert ours(TEXTS, padding=True).data == theirs(TEXTS, padding=True).data
        assert ours("lower")["input_ids"] == tok.encode("lower")


def test_a_folder_s_tokenizer_with_roles_becomes_an_object(native: Any, tmp_path: Path) -> None:
    from tokenmill.compat.transformers import tokenizer_object

    transformers: Any = pytest.importorskip("transformers")

    tokenizer, settings = CLASSES["BertTokenizer"]
    folder = make(tmp_path / "t", tokenizer, tokenizer_config=klass("BertTokenizer", **settings))
    ours = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer_object(native.load(folder)))
    assert ours("hello ab")["input_ids"] == auto(folder)("hello ab")["input_ids"]


def test_the_methods_of_the_object_are_those_of_the_peer(tmp_path: Path) -> None:
    import tokenizers

    theirs = small(tmp_path)
    ours = attached(theirs).backend_tokenizer
    plain = theirs.backend_tokenizer
    constructors = {"from_buffer", "from_file", "from_pretrained", "from_str"}
    public = {name for name in dir(plain) if not name.startswith("_")}
    assert public - set(dir(ours)) == constructors
    encoding = ours.encode("ab abc", "Hello")
    assert {name for name in dir(tokenizers.Encoding) if name[0] != "_"} <= set(dir(encoding))
    peer = plain.encode("ab abc", "Hello")
    for change in [
        methodcaller("pad", 20, pad_id=3, pad_token="x", direction="left"),
        methodcaller("truncate", 4, stride=1),
        methodcaller("set_sequence_id", 1),
    ]:
        change(encoding)
        change(peer)
        assert state(encoding) == state(peer)
    parts = [ours.encode("ab"), ours.encode("abc")]
    assert state(type(encoding).merge(parts)) == state(
        tokenizers.Encoding.merge([plain.encode("ab"), plain.encode("abc")])
    )
    for add in (True, False):
        processed = ours.post_process(ours.encode("ab"), ours.encode("c"), add)
        assert state(processed) == state(plain.post_process(plain.encode("ab"), plain.encode("c"), add))
    assert repr(encoding) == repr(peer)
    assert ours.to_tokenizers().to_str() == plain.to_str()
    assert "BPE" in repr(ours)
    with pytest.raises(AttributeError, match="no_such"):
        ours.no_such  # noqa: B018


def state(encoding: Any) -> Any:
    names = ["ids", "type_ids", "tokens", "offsets", "attention_mask", "special_tokens_mask", "word_ids"]
    windows = [state(window) for window in encoding.overflowing]
    return [getattr(encoding, name) for name in [*names, "sequence_ids", "n_sequences"]], windows


def rows(backend: Any, inputs: Any, is_pretokenized: bool = False) -> Any:
    return [state(one) for one in backend.encode_batch(inputs, is_pretokenized)]


def one_row(backend: Any, text: Any, pair: Any) -> Any:
    return state(backend.encode(text, pair))


def test_calls_in_an_event_loop(tmp_path: Path) -> None:
    import asyncio

    ours = attached(small(tmp_path)).backend_tokenizer

    async def calls() -> list[Any]:
        one = await ours.async_encode("ab abc")
        rows = await ours.async_encode_batch(["ab", "abc"])
        fast = await ours.async_encode_batch_fast(["ab", "abc"])
        texts = await ours.async_decode_batch([row.ids for row in rows])
        return [one.ids, [row.ids for row in rows], [row.ids for row in fast], texts]

    rows = [ours.encode(text).ids for text in ("ab", "abc")]
    assert asyncio.run(calls()) == [ours.encode("ab abc").ids, rows, rows, [" ab", " abc"]]


def test_inputs_of_every_form(tmp_path: Path) -> None:
    import numpy as np

    theirs = small(tmp_path)
    peer, ours = theirs.backend_tokenizer, attached(theirs).backend_tokenizer
    for arguments in [
        ["ab"],
        ["ab", ("a", "bc"), ["a", "bc"]],
        ("ab", "c"),
        np.array(["ab", "c"]),
        [],
        ["ab", ("a",)],
        ["ab", 1],
        [b"ab"],
        "ab",
        iter(["ab"]),
        None,
        ["a\ud800"],
        [("a", None)],
    ]:
        assert outcome(partial(rows, ours, arguments)) == outcome(partial(rows, peer, arguments)), arguments
    for arguments in [
        [["a", "b"]],
        [("a", "b"), (["a"], ["b", "c"]), [["a"], ["b"]], [], ()],
        ["ab"],
        [[1]],
        [["a"], (["a"], "b")],
        [np.array(["a", "b"], dtype=object)],
    ]:
        want = outcome(partial(rows, peer, arguments, True))
        assert outcome(partial(rows, ours, arguments, True)) == want, arguments
    for pair in [("a", "b"), ("a", None), (("a", "b"), None), ("a", ["b"]), (1, None)]:
        want = outcome(partial(one_row, peer, *pair))
        assert outcome(partial(one_row, ours, *pair)) == want, pair
    for ids in [[1, 2], (1, 2), np.array([1, 2]), [], "ab", None, [1.5], [-1], [2**40]]:
        want, got = outcome(partial(peer.decode, ids)), outcome(partial(ours.decode, ids))
        assert got == want or (isinstance(want, type) and isinstance(got, type)), ids


def test_a_stream_of_the_peer_takes_the_plain_tokenizer(tmp_path: Path) -> None:
    from tokenizers.decoders import DecodeStream

    theirs = small(tmp_path)
    ours = attached(theirs)
    ids = ours("ab abc")["input_ids"]
    with pytest.raises(TypeError):
        DecodeStream([]).step(ours.backend_tokenizer, ids[0])
    plain, stream = ours.backend_tokenizer.to_tokenizers(), DecodeStream([])
    assert "".join(stream.step(plain, id) or "" for id in ids) == ours.decode(ids)


def test_fast_batches_have_offsets_here(tmp_path: Path) -> None:
    theirs = small(tmp_path)
    ours = attached(theirs)
    (want,) = theirs.backend_tokenizer.encode_batch_fast(["ab abc"])
    (got,) = ours.backend_tokenizer.encode_batch_fast(["ab abc"])
    assert got.ids == want.ids
    assert set(want.offsets) == {(0, 0)}
    assert got.offsets == theirs.backend_tokenizer.encode("ab abc").offsets


def test_threads_and_their_number_change_nothing(tmp_path: Path, data: Path) -> None:
    theirs = small(tmp_path)
    text = (data / "corpus" / "english.txt").read_bytes()[:1_500_000].decode("utf-8", errors="ignore")
    batch = [text[start : start + 1000] for start in range(0, len(text), 1000)]
    one, several = attached(theirs), attached(theirs, num_threads=None)
    want = one(batch)["input_ids"]
    assert several(batch)["input_ids"] == want
    assert several.batch_decode(want) == one.batch_decode(want) == theirs.batch_decode(want)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(one(batch[:200])["input_ids"])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [want[:200]] * 4


def test_an_attached_object_is_shown_by_its_model_and_size_and_not_as_the_whole_file(tmp_path: Path) -> None:
    theirs = small(tmp_path)
    plain = theirs.backend_tokenizer
    ours = attached(theirs).backend_tokenizer
    size = plain.get_vocab_size()
    assert repr(plain).startswith('Tokenizer(version="1.0", truncation=None')
    assert repr(ours) == str(ours) == f"Backend(BPE, vocab_size={size})"
    assert repr(ours.to_tokenizers()) == repr(plain)
