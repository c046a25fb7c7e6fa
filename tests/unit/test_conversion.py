"""``tokenmill.convert``, and saving as GGUF and as tekken.json: small tokenizers, every way to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gguf_files import gguf, small_gpt2

TEXTS = ["low lower lowest newer wider 12 34 don't", "den Weg über die Brücke"] * 3
SPECIAL = ["<unk>", "<s>", "</s>"]


@pytest.fixture
def bpe(native: Any) -> Any:
    return native.train(texts=TEXTS, num_merges=30, split="gpt2", special_tokens=SPECIAL)


def saved_again(native: Any, tok: Any, path: Path, form: str, **options: Any) -> Any:
    """The tokenizer after a save; a second save has the same bytes."""
    tok.save(path, format=form, **options)
    first = path.read_bytes()
    again = native.load(path)
    again.save(path, format=form, **options)
    assert path.read_bytes() == first
    return again


@pytest.mark.parametrize("model", ["bpe", "wordpiece", "unigram"])
def test_gguf_means_the_same(native: Any, tmp_path: Path, model: str) -> None:
    every: dict[str, dict[str, Any]] = {
        "bpe": {"num_merges": 30, "split": "gpt2", "special_tokens": SPECIAL},
        "wordpiece": {"vocab_size": 60, "unk_token": "[UNK]"},
        "unigram": {"vocab_size": 40},
    }
    tok = native.train(texts=TEXTS, model=model, **every[model])
    again = saved_again(native, tok, tmp_path / "t.gguf", "gguf")
    assert again == tok
    assert again.fingerprint == tok.fingerprint
    assert again.encode("lower 12") == tok.encode("lower 12")


PIECES = ["<unk>", "<s>", "</s>", "<0x41>", "\u2581", "a", "b", "\u2581a", "ab"]
OF_PIECES: dict[str, Any] = {
    "tokens": PIECES,
    "scores": [0.0, 0.0, 0.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0],
    "token_type": [2, 3, 3, 6, 1, 1, 1, 1, 1],
    "unknown_token_id": 0,
}
FILES = {
    "byte-level": small_gpt2(),
    "a gap and an added token": small_gpt2(
        tokens=["a", "b", "ab", "\u0120", "<s>", "[PAD5]", "<user>"], token_type=[1, 1, 1, 1, 3, 5, 4]
    ),
    "whole pretokens": small_gpt2(pre="llama-bpe", add_bos_token=True),
    "llama": gguf(model="llama", bos_token_id=1, eos_token_id=2, **OF_PIECES),
    "t5": gguf(model="t5", eos_token_id=2, add_space_prefix=True, **OF_PIECES),
    "bert": gguf(
        model="bert",
        tokens=["[UNK]", "[CLS]", "[SEP]", "\u2581a", "b", "[unused0]"],
        token_type=[3, 3, 3, 1, 1, 1],
        unknown_token_id=0,
        cls_token_id=1,
        seperator_token_id=2,
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_gguf_file_that_is_read_is_written_as_the_same(native: Any, tmp_path: Path, kind: str) -> None:
    (tmp_path / "theirs.gguf").write_bytes(FILES[kind])
    tok = native.load(tmp_path / "theirs.gguf")
    again = saved_again(native, tok, tmp_path / "ours.gguf", "gguf")
    assert (again, again.fingerprint) == (tok, tok.fingerprint)
    # The keys of llama.cpp say all of it.
    assert b"tokenmill.source" not in (tmp_path / "ours.gguf").read_bytes()


def edited(native: Any, tok: Any, path: Path, change: Callable[[Any], object]) -> Any:
    """The tokenizer after a change of its tokenizer.json."""
    tok.save(path)
    file = json.loads(path.read_bytes())
    change(file)
    path.write_text(json.dumps(file), encoding="utf-8")
    return native.load(path)


def surround(*names: str) -> Callable[[Any], object]:
    """Put these special tokens around a text."""

    def piece(name: str) -> dict[str, Any]:
        key = "Sequence" if name == "A" else "SpecialToken"
        return {key: {"id": name, "type_id": 0}}

    template = {
        "type": "TemplateProcessing",
        "single": [piece(name) for name in names],
        "pair": [*map(piece, names), {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            name: {"id": name, "ids": [SPECIAL.index(name)], "tokens": [name]}
            for name in names
            if name != "A"
        },
    }
    return lambda file: file.update(post_processor=template)


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        (surround("<s>", "<s>", "A"), "post_processor", "at most one token"),
        (lambda file: file.update(normalizer={"type": "Lowercase"}), "normalizer", "no such normalization"),
    ],
)
def test_gguf_says_what_llama_cpp_cannot(
    native: Any, bpe: Any, tmp_path: Path, change: Callable[[Any], object], field: str, says: str
) -> None:
    tok = edited(native, bpe, tmp_path / "t.json", change)
    target = tmp_path / "t.gguf"
    with pytest.raises(native.FormatError, match=says) as caught:
        tok.save(target)
    assert (caught.value.field, caught.value.kind, target.exists()) == (field, "cannot-hold", False)


def other_prefix(file: Any) -> None:
    file["model"]["continuing_subword_prefix"] = "@@"
    file["model"]["vocab"] = {token.replace("##", "@@"): i for token, i in file["model"]["vocab"].items()}
    file["decoder"]["prefix"] = "@@"


@pytest.mark.parametrize("to", ["tiktoken", "vocab+merges"])
@pytest.mark.parametrize("flag", ["lstrip", "rstrip", "single_word"])
def test_what_special_tokens_do_beside_them_cannot_be_given_again(
    native: Any, bpe: Any, tmp_path: Path, to: str, flag: str
) -> None:
    tok = edited(native, bpe, tmp_path / "t.json", lambda file: file["added_tokens"][1].update({flag: True}))
    says = "a word of its own" if flag == "single_word" else "takes the space beside it"
    with pytest.raises(native.FormatError, match=says) as caught:
        native.convert(tok, tmp_path / "new/", to=to)
    assert (caught.value.field, caught.value.kind) == ("added_tokens[1]", "cannot-hold")
    assert not (tmp_path / "new").exists()


def test_gguf_says_which_models_it_does_not_hold(native: Any, tmp_path: Path) -> None:
    options = {"num_merges": 9, "alphabet": "chars", "unk_token": "<unk>", "special_tokens": SPECIAL}
    words = native.train(texts=TEXTS, model="wordpiece", vocab_size=60, unk_token="[UNK]")
    rows = [
        (native.train(texts=TEXTS, **options), "over bytes"),
        (edited(native, words, tmp_path / "t.json", other_prefix), "##"),
    ]
    for tok, says in rows:
        with pytest.raises(native.FormatError, match=says) as caught:
            tok.save(tmp_path / "t.gguf")
        assert (caught.value.field, caught.value.kind) == ("model", "cannot-hold")


def test_gguf_keeps_roles_settings_and_templates(native: Any, bpe: Any, tmp_path: Path) -> None:
    tok = (
        bpe.with_special_tokens(bos_token="<s>", eos_token="</s>", add_bos_token=True)
        .with_chat_template("{{ messages }}")
        .with_chat_template("{{ tools }}", name="tool_use")
        .with_call_defaults(padding_side="left", model_max_length=99)
    )
    again = saved_again(native, tok, tmp_path / "t.gguf", "gguf")
    assert again == tok
    assert again.chat_templates == tok.chat_templates
    assert (again.bos_token_id, again.eos_token_id, again.unk_token_id) == (1, 2, None)
    assert (again.padding_side, again.model_max_length) == ("left", 99)
    assert again.encode("low", add_special_tokens=True) == tok.encode("low", add_special_tokens=True)


def test_a_split_without_a_name_is_refused_and_lossy_asks_for_it_again(native: Any, tmp_path: Path) -> None:
    tok = native.train(texts=TEXTS, num_merges=9, split=r"\w+|\W")
    path = tmp_path / "t.gguf"
    with pytest.raises(native.FormatError, match=r"tokenizer\.ggml\.pre") as caught:
        tok.save(path)
    assert (caught.value.field, caught.value.kind, path.exists()) == ("split", "cannot-hold", False)
    tok.save(path, lossy=True)
    with pytest.raises(native.FormatError, match="split="):
        native.load(path)
    assert native.load(path, split=r"\w+|\W").encode("lower low") == tok.encode("lower low")


def test_tokens_that_others_changed_are_not_taken_for_the_saved_ones(native: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.gguf"
    options = {"num_merges": 9, "split": "gpt2", "special_tokens": SPECIAL}
    native.train(texts=TEXTS, normalizer="NFC", **options).save(path)
    file = path.read_bytes()
    assert b"tokenizer.huggingface.json" in file
    # The list of tokens comes first.
    path.write_bytes(file.replace(b"</s>", b"</t>", 1))
    with pytest.raises(native.FormatError) as caught:
        native.load(path)
    assert (caught.value.kind, caught.value.field) == ("inconsistent", "tokenizer.huggingface.json")


@pytest.mark.parametrize("name", ["tekken.json", "ranks.json"])
def test_tekken_means_the_same(native: Any, bpe: Any, tmp_path: Path, name: str) -> None:
    tok = bpe.with_special_tokens(bos_token="<s>", eos_token="</s>", unk_token="<unk>", add_bos_token=True)
    again = saved_again(native, tok, tmp_path / name, "tekken")
    assert again == tok
    assert again.encode("lower 12") == tok.encode("lower 12")
    file = json.loads((tmp_path / name).read_bytes())
    assert file["config"]["default_num_special_tokens"] == 3
    assert [token["token_str"] for token in file["special_tokens"]] == SPECIAL


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"special_ids": "last"}, "added_tokens"),
        ({"split": "none"}, "split"),
        ({"alphabet": "chars", "unk_token": "<unk>"}, "model"),
        ({"normalizer": "NFC"}, "normalizer"),
    ],
)
def test_tekken_says_what_it_cannot_hold(
    native: Any, tmp_path: Path, options: dict[str, Any], field: str
) -> None:
    given = {"num_merges": 9, "split": "gpt2", "special_tokens": SPECIAL, **options}
    tok = native.train(texts=TEXTS, **given)
    with pytest.raises(native.FormatError, match=r"tekken\.json") as caught:
        tok.save(tmp_path / "tekken.json")
    assert (caught.value.field, caught.value.kind) == (field, "cannot-hold")
    assert not list(tmp_path.iterdir())


def test_tekken_says_which_tokens_and_settings_it_cannot_hold(native: Any, bpe: Any, tmp_path: Path) -> None:
    rows = [
        (edited(native, bpe, tmp_path / "t.json", surround("<s>", "A", "</s>")), "post_processor"),
        (bpe.with_call_defaults(padding_side="left", model_max_length=99), "defaults"),
        (
            native.train(
                texts=TEXTS, model="wordpiece", vocab_size=60, unk_token="<unk>", special_tokens=SPECIAL
            ),
            "model",
        ),
    ]
    for tok, field in rows:
        with pytest.raises(native.FormatError, match=r"tekken\.json") as caught:
            tok.save(tmp_path / "tekken.json")
        assert (caught.value.field, caught.value.kind) == (field, "cannot-hold")


@pytest.mark.parametrize("to", ["tokenizer.json", "tiktoken", "vocab+merges", "gguf"])
def test_convert_compares_and_writes(native: Any, bpe: Any, tmp_path: Path, to: str) -> None:
    bpe.save(tmp_path / "in.json")
    (tmp_path / "real.txt").write_text("low lower\n" * 2000, encoding="utf-8")
    done = native.convert(tmp_path / "in.json", tmp_path / "out/", to=to, verify=tmp_path / "real.txt")
    assert (done.written, done.differing, done.first, done.format) == (True, 0, None, to)
    assert done.is_same == (to not in ("tiktoken", "vocab+merges")) or done.split == "gpt2"
    assert done.texts > 1500
    assert done.tokens > 4000
    again = native.load(tmp_path / "out", split=done.split, special_tokens=done.special_tokens or None)
    assert again.encode("lower <s>", special="parse") == bpe.encode("lower <s>", special="parse")
    assert "none" in str(done)
    assert done.to_dict()["texts"] == done.texts


def test_convert_refuses_and_leaves_what_was_there(native: Any, bpe: Any, tmp_path: Path) -> None:
    target = tmp_path / "tokenizer.model"
    target.write_text("old")
    with pytest.raises(native.FormatError, match="SentencePiece"):
        native.convert(bpe, target)
    assert target.read_text() == "old"
    with pytest.raises(ValueError, match="no format"):
        native.convert(bpe, tmp_path / "x.bin")
    with pytest.raises(ValueError, match="'onnx'"):
        native.convert(bpe, tmp_path / "x.bin", to="onnx")
    with pytest.raises(ValueError, match="split="):
        native.convert(bpe, tmp_path / "x.gguf", split="gpt2")


def test_convert_shows_the_text_that_differs(native: Any, tmp_path: Path) -> None:
    tok = native.train(texts=TEXTS, num_merges=9, split="gpt2", normalizer="NFC")
    target = tmp_path / "t.tiktoken"
    with pytest.raises(native.FormatError, match="normalizer"):
        native.convert(tok, target)
    assert not target.exists()
    done = native.convert(tok, target, lossy=True)
    assert done.written
    assert done.differing
    assert done.first is not None
    text, before, after = done.first
    assert before == tok.encode(text) != after


def test_what_is_compared_does_not_depend_on_the_size_of_the_blocks(
    native: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tok = native.train(texts=TEXTS, num_merges=9, split="gpt2", normalizer="NFC")
    (tmp_path / "real.txt").write_text("lower e\u0301 low\n" * 900, encoding="utf-8")
    given = {"verify": tmp_path / "real.txt", "lossy": True}
    whole = native.convert(tok, tmp_path / "t.tiktoken", **given)
    monkeypatch.setattr("tokenmill.conversion._BLOCK", 1000)
    assert native.convert(tok, tmp_path / "t.tiktoken", **given) == whole
    assert whole.differing
