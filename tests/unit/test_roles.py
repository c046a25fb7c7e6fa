"""Roles of tokens: named in training, in loading and later; kept by a folder; heeded by padding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROLES = ["bos", "eos", "unk", "sep", "pad", "cls", "mask"]
TEXTS = ["low lower lowest new newer newest wide wider"] * 3


def trained(native: Any, **options: Any) -> Any:
    return native.train(texts=TEXTS, num_merges=20, **options)


def test_roles_of_training_are_special_tokens_with_ids(native: Any) -> None:
    names = {f"{role}_token": f"<{role}>" for role in ROLES}
    tok = trained(native, **names)
    assert list(tok.special_tokens) == [f"<{role}>" for role in ROLES]
    for role in ROLES:
        assert getattr(tok, f"{role}_token_id") == tok.special_tokens[f"<{role}>"]
    assert tok.encode("<bos>", special="parse") == [tok.bos_token_id]
    # They take part in the size, as any special token does.
    assert native.train(texts=TEXTS, vocab_size=270, **names).vocab_size == 270


def test_a_listed_special_token_keeps_its_place(native: Any) -> None:
    tok = trained(native, special_tokens=["<a>", "<|end|>"], eos_token="<|end|>", pad_token="<|end|>")
    assert tok.special_tokens == {"<a>": 0, "<|end|>": 1}
    assert tok.eos_token_id == tok.pad_token_id == 1
    assert tok.bos_token_id is None
    last = trained(native, special_ids="last", eos_token="<|end|>")
    assert last.eos_token_id == last.vocab_size - 1


def test_bos_and_eos_are_put_around_texts(native: Any) -> None:
    plain = trained(native, bos_token="<s>", eos_token="</s>")
    assert plain.encode("low", add_special_tokens=True) == plain.encode("low")
    tok = trained(native, bos_token="<s>", eos_token="</s>", add_bos_token=True, add_eos_token=True)
    low = tok.encode("low")
    around = [tok.bos_token_id, *low, tok.eos_token_id]
    assert tok.encode("low", add_special_tokens=True) == around == tok("low").ids
    assert tok.count("low", add_special_tokens=True) == len(around)
    assert tok.encode_batch(["low"], add_special_tokens=True).to_lists() == [around]
    pair = tok("low", "wide")
    assert pair.ids == [*around, tok.bos_token_id, *tok.encode("wide"), tok.eos_token_id]
    assert pair.type_ids == [0] * len(around) + [1] * (len(pair) - len(around))
    assert tok.decode(around, skip_special_tokens=True) == "low"
    eos = tok.with_special_tokens(add_bos_token=False)
    assert eos.encode("low", add_special_tokens=True) == [*low, tok.eos_token_id]
    none = eos.with_special_tokens(add_eos_token=False)
    assert none.encode("low", add_special_tokens=True) == low
    assert tok.with_special_tokens(add_bos_token=True, add_eos_token=True) == tok


@pytest.mark.parametrize(
    "around", [{}, {"add_bos_token": True}, {"add_bos_token": True, "add_eos_token": True}]
)
def test_a_folder_keeps_roles_and_what_is_put_around(around: Any, native: Any, tmp_path: Path) -> None:
    tok = trained(native, bos_token="<s>", eos_token="</s>", pad_token="<pad>", **around)
    tok.save(tmp_path / "t")
    again = native.load(tmp_path / "t")
    assert again == tok
    assert again.fingerprint == tok.fingerprint
    assert [getattr(again, f"{role}_token_id") for role in ROLES] == [0, 1, None, None, 2, None, None]
    config = json.loads((tmp_path / "t" / "tokenizer_config.json").read_text())
    assert (config["bos_token"], config["eos_token"], config["pad_token"]) == ("<s>", "</s>", "<pad>")
    with pytest.raises(native.FormatError, match="bos, eos, pad"):
        tok.save(tmp_path / "t.json")


def test_roles_are_given_later_and_in_loading(native: Any, tmp_path: Path) -> None:
    plain = trained(native, special_tokens=["<pad>"])
    later = plain.with_special_tokens(["<x>"], pad_token="<pad>", eos_token="</s>")
    assert later.special_tokens == {"<pad>": 0, "<x>": plain.vocab_size, "</s>": plain.vocab_size + 1}
    assert (later.pad_token_id, later.eos_token_id) == (0, plain.vocab_size + 1)
    plain.save(tmp_path / "t")
    loaded = native.load(tmp_path / "t", pad_token="<pad>", eos_token="</s>", add_eos_token=True)
    assert loaded.encode("low", add_special_tokens=True)[-1] == loaded.eos_token_id == plain.vocab_size
    # One role more leaves the others as they are.
    more = loaded.with_special_tokens(bos_token="<pad>")
    assert (more.bos_token_id, more.eos_token_id) == (0, loaded.eos_token_id)


def test_a_role_pads(native: Any) -> None:
    tok = trained(native)
    with pytest.raises(ValueError, match=r"with_special_tokens\(pad_token=\)"):
        tok(["low", "lower lowest"], padding=True)
    tok = tok.with_special_tokens(pad_token="<pad>")
    short, long = tok(["low", "lower lowest"], padding=True)
    assert len(short) == len(long)
    assert short.ids[-1] == tok.pad_token_id
    assert short.attention_mask[-1] == 0


def test_a_special_token_that_is_written_like_padding_pads(native: Any, tmp_path: Path) -> None:
    trained(native, special_tokens=["[UNK]", "[PAD]"]).save(tmp_path / "t.json")
    tok = native.load(tmp_path / "t.json")
    assert tok.pad_token_id == 1
    assert tok(["low", "lower lowest"], padding=True)[0].ids[-1] == 1
    # Roles that are named are complete.
    assert tok.with_special_tokens(bos_token="[UNK]").pad_token_id is None


def test_an_unknown_token_of_bytes_is_a_role_and_of_characters_the_model_s(
    native: Any, tmp_path: Path
) -> None:
    of_bytes = trained(native, unk_token="<unk>")
    assert of_bytes.unk_token_id == 0
    assert 0 not in of_bytes.encode("\u00e9<unk>")
    of_chars = trained(native, alphabet="chars", unk_token="<unk>")
    assert of_chars.encode("é") == [of_chars.unk_token_id]
    of_chars.save(tmp_path / "t.json")  # no role, so a file alone can hold it
    assert native.load(tmp_path / "t.json") == of_chars
    both = trained(native, alphabet="chars", unk_token="<unk>", eos_token="</s>")
    both.save(tmp_path / "t")
    assert native.load(tmp_path / "t") == both
    assert "<unk>" in (tmp_path / "t" / "tokenizer_config.json").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"add_bos_token": True}, "give bos_token too"),
        ({"pad_token": ""}, "must not be empty"),
    ],
)
def test_roles_that_cannot_be_are_refused_before_training(options: Any, message: str, native: Any) -> None:
    with pytest.raises(native.TrainingError, match=message):
        trained(native, **options)


def test_roles_of_the_wrong_type_are_type_errors(native: Any, tmp_path: Path) -> None:
    tok = trained(native)
    tok.save(tmp_path / "t")
    with pytest.raises(TypeError, match="eos_token"):
        trained(native, eos_token=3)
    with pytest.raises(TypeError, match="eos_token"):
        tok.with_special_tokens(eos_token=3)
    with pytest.raises(TypeError, match="eos_token"):
        native.load(tmp_path / "t", eos_token=3)
    with pytest.raises(ValueError, match="give eos_token too"):
        tok.with_special_tokens(add_eos_token=True)
    with pytest.raises(native.SpecialTokenError, match="cannot be empty"):
        tok.with_special_tokens(eos_token="")


# ---- settings beside a saved tokenizer ------------------------------------------------------------


def test_settings_written_by_hand_beside_a_saved_tokenizer_are_read(native: Any, tmp_path: Path) -> None:
    trained(native, special_tokens=["<s>", "<pad>"]).save(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": "<s>", "pad_token": "<pad>"}')
    tok = native.load(tmp_path, strict=True)
    assert (tok.bos_token_id, tok.pad_token_id) == (0, 1)
    assert "bos_token" in tok.load_report.files["tokenizer_config.json"]
    assert any("came after the last save" in note for note in tok.load_report.notes)


def test_settings_that_were_changed_after_a_save_are_read_and_reported(native: Any, tmp_path: Path) -> None:
    trained(native, special_tokens=["<x>"], bos_token="<s>").save(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config | {"eos_token": "<x>"}))
    tok = native.load(tmp_path)
    assert (tok.bos_token_id, tok.eos_token_id) == (1, 0)
    [finding] = tok.load_report.tolerated
    assert (finding.file, finding.field) == ("tokenizer_config.json", "sha256")
    with pytest.raises(native.FormatError, match="was changed after tokenmill saved it") as raised:
        native.load(tmp_path, strict=True)
    error = raised.value
    assert error.path == str(tmp_path / finding.file)
    assert (error.kind, error.field, error.reason) == (finding.kind, finding.field, finding.reason)


def test_settings_of_another_tokenizer_are_not_read(native: Any, tmp_path: Path) -> None:
    """A folder that held another tokenizer before: its settings name tokens that ours does not have."""
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": "<old>"}')
    tok = trained(native)
    tok.save(tmp_path)
    again = native.load(tmp_path)
    assert again == tok
    assert any("it is not read" in note for note in again.load_report.notes)
    # A file that is named alone has no settings, and nothing is said of them.
    assert native.load(tmp_path / "tokenizer.json").load_report.notes == []
    # Written anew, they are.
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": "<new>"}')
    assert native.load(tmp_path).bos_token_id == tok.vocab_size


def test_a_changed_vocabulary_alone_is_an_error(native: Any, tmp_path: Path) -> None:
    trained(native, bos_token="<s>").save(tmp_path)
    file = tmp_path / "tokenizer.json"
    file.write_text(file.read_text() + " ")
    with pytest.raises(native.ManifestError):
        native.load(tmp_path)


def test_settings_that_are_no_json_are_an_error(native: Any, tmp_path: Path) -> None:
    trained(native, bos_token="<s>").save(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(native.FormatError, match=r"tokenizer_config\.json"):
        native.load(tmp_path)


def test_a_role_s_token_has_its_written_form(native: Any) -> None:
    tok = trained(native, bos_token="<s>", pad_token="<pad>")
    assert [getattr(tok, f"{role}_token") for role in ROLES] == ["<s>", None, None, None, "<pad>", None, None]
    # A form alone makes a token padding where nothing names roles.
    assert trained(native, special_tokens=["[PAD]"]).pad_token == "[PAD]"


def test_the_role_of_the_unknown_token_reaches_the_model(native: Any, tmp_path: Path) -> None:
    """Where the vocabulary cannot spell all, ``unk_token=`` says what stands for the rest."""
    tokenizers = pytest.importorskip("tokenizers")
    plain = trained(native, alphabet="chars")
    of_merges = native.Tokenizer.from_merges({"l": 0, "o": 1, "lo": 2}, [("l", "o")])
    for tok in (plain, of_merges, trained(native, alphabet="chars", unk_token="[A]")):
        later = tok.with_special_tokens(unk_token="[B]")
        assert later.encode("lox") == [*tok.encode("lo"), later.special_tokens["[B]"]]
        later.save(tmp_path / "t")
        assert native.load(tmp_path / "t") == later
        ids = tokenizers.Tokenizer.from_file(str(tmp_path / "t" / "tokenizer.json")).encode("lox").ids
        assert ids == later.encode("lox")
    # Bytes spell everything: the token has a role, and the model has no use for it.
    whole = trained(native)
    assert (
        whole.with_special_tokens(unk_token="[B]").digests["encode"]
        == (whole.with_special_tokens(["[B]"]).digests["encode"])
    )


def test_defaults_of_a_call_are_set_and_kept(native: Any, tmp_path: Path) -> None:
    tok = trained(native, pad_token="<pad>")
    left = tok.with_call_defaults(padding_side="left", model_max_length=4)
    assert (left.padding_side, left.truncation_side, left.model_max_length) == ("left", "right", 4)
    short, long = left(["low", "lower newest wide"], truncation=True, padding=True)
    assert (short.ids[0], len(long)) == (tok.pad_token_id, 4)
    both = left.with_call_defaults(truncation_side="left")
    assert (both.padding_side, both.truncation_side, both.model_max_length) == ("left", "left", 4)
    both.save(tmp_path / "t")
    again = native.load(tmp_path / "t")
    assert again == both
    assert again("lower newest wide", truncation=True).ids == tok.encode("lower newest wide")[-4:]
    # Padding that is known by its form alone stays padding.
    formed = trained(native, special_tokens=["[PAD]"])
    assert formed.with_call_defaults(padding_side="left").pad_token_id == formed.pad_token_id == 0
    # The length of a file's own truncation stays.
    tok.save(tmp_path / "f")
    document = json.loads((tmp_path / "f" / "tokenizer.json").read_text())
    cut = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    (tmp_path / "alone.json").write_text(json.dumps(document | {"truncation": cut}))
    alone = native.load(tmp_path / "alone.json").with_call_defaults(truncation_side="left")
    assert alone.model_max_length == 3
    assert alone("lower newest wide", truncation=True).ids == tok.encode("lower newest wide")[-3:]
    with pytest.raises(ValueError, match='"middle" is neither "left" nor "right"'):
        tok.with_call_defaults(padding_side="middle")
    with pytest.raises(ValueError, match="model_max_length is 0"):
        tok.with_call_defaults(model_max_length=0)
