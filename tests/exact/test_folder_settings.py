"""Padding, truncation and lengths by the settings of a folder; folders that both libraries write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .folders_made import BERT, CLASSES, END, LLAMA, Json, byte_level, klass, make, pieces, spaced, words
from .test_folders import PUBLISHED, ROLES, auto

# What transformers writes where a tokenizer has no maximum length.
NO_LENGTH = 10**20

BATCH = ["ab", "Hello world ab ab", ""]


def limits(ours: Any, theirs: Any) -> None:
    """Sides, lengths and padded batches agree."""
    assert (ours.padding_side, ours.truncation_side) == (theirs.padding_side, theirs.truncation_side)
    length = theirs.model_max_length
    assert ours.model_max_length == (None if length > NO_LENGTH else length)
    calls: list[Json] = [{"truncation": True, "max_length": 4}, {"truncation": True, "max_length": 5}]
    if ours.model_max_length is not None:
        calls += [{"truncation": True}]
    if theirs.pad_token is not None:
        calls += [{"padding": True}, {"padding": True, "pad_to_multiple_of": 8}]
        calls += [
            {"padding": "max_length", "max_length": 9},
            {"padding": True, "truncation": True, "max_length": 4},
        ]
        if ours.model_max_length is not None and ours.model_max_length < 10_000:
            calls += [{"padding": "max_length"}, {"padding": "max_length", "truncation": True}]
    special = "text" if theirs.split_special_tokens else "parse"
    for options in calls:
        want = theirs(BATCH, return_attention_mask=True, return_token_type_ids=True, **options)
        got = ours(BATCH, special=special, **options)
        assert [e.ids for e in got] == want["input_ids"], options
        assert [e.attention_mask for e in got] == want["attention_mask"], options
        assert [e.type_ids for e in got] == want["token_type_ids"], options


def agree_when_saved_too(native: Any, folder: Path, saved: Path) -> None:
    ours = native.load(folder)
    limits(ours, auto(folder))
    ours.save(saved)
    again = native.load(saved)
    assert again == ours
    limits(again, auto(saved))


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_folders_pad_cut_and_limit_as_they_say(
    name: str, native: Any, data: Path, tmp_path: Path
) -> None:
    folder = data / "vocab" / name
    agree_when_saved_too(native, folder, tmp_path / "saved")


PADDING = {
    "strategy": {"Fixed": 7},
    "direction": "Left",
    "pad_to_multiple_of": 4,
    "pad_id": 0,
    "pad_type_id": 1,
    "pad_token": END[0],
}
TRUNCATION = {"direction": "Left", "max_length": 3, "strategy": "OnlyFirst", "stride": 1}
SETTINGS: dict[str, tuple[Json, Json]] = {
    "sides": (
        byte_level(END),
        {"pad_token": END[0], "padding_side": "left", "truncation_side": "left"},
    ),
    "a length": (byte_level(END), {"pad_token": END[0], "model_max_length": 6}),
    "a length under its older name": (byte_level(END), {"max_len": 6}),
    "no length": (byte_level(END), {"model_max_length": 1000000000000000019884624838656}),
    "a file's own padding": (byte_level(END, padding=PADDING), {}),
    "a file's own truncation": (byte_level(END, truncation=TRUNCATION), {"model_max_length": 5}),
    "settings over the file": (
        byte_level([*END, "<p>"], padding=PADDING, truncation=TRUNCATION),
        {"padding_side": "right", "truncation_side": "right", "pad_token": "<p>"},
    ),
    "a class that pads left": (spaced(LLAMA), {"tokenizer_class": "CodeLlamaTokenizer", "pad_token": "</s>"}),
    "a padding token without a role": (words(BERT), {}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_a_folder_are_heeded_and_saved(name: str, native: Any, tmp_path: Path) -> None:
    tokenizer, settings = SETTINGS[name]
    folder = make(tmp_path / "t", tokenizer, tokenizer_config=settings)
    agree_when_saved_too(native, folder, tmp_path / "saved")


@pytest.mark.parametrize(
    ("settings", "field"),
    [({"padding_side": "up"}, "padding_side"), ({"model_max_length": "long"}, "model_max_length")],
)
def test_settings_that_mean_nothing_are_refused(
    settings: Json, field: str, native: Any, tmp_path: Path
) -> None:
    folder = make(tmp_path / "t", byte_level(END), tokenizer_config=settings)
    with pytest.raises(native.FormatError) as caught:
        native.load(folder)
    assert caught.value.field == field


# ---- every class ----------------------------------------------------------------------------------

FAMILIES: dict[str, tuple[Json, Json]] = {
    "byte-level": (byte_level(END), {"eos_token": END[0], "pad_token": END[0]}),
    "marked": (spaced([*LLAMA, "<pad>"]), {"pad_token": "<pad>"}),
    "words": (words(BERT), {"pad_token": "[PAD]"}),
    "pieces": (pieces(["<pad>", "</s>", "<unk>"]), {"pad_token": "<pad>"}),
}
LENGTHS = {"model_max_length": 6, "truncation_side": "left"}


def exported() -> list[str]:
    """The names of all tokenizer classes of transformers, in both forms."""
    transformers = pytest.importorskip("transformers")
    from transformers.convert_slow_tokenizer import SLOW_TO_FAST_CONVERTERS

    names = {name for name in dir(transformers) if name.endswith(("Tokenizer", "TokenizerFast"))}
    names |= {"TokenizersBackend", "PythonBackend", "SentencePieceBackend", "MistralCommonBackend"}
    names |= set(SLOW_TO_FAST_CONVERTERS)
    return sorted(names | {f"{name}Fast" for name in names if name.endswith("Tokenizer")})


def loads_in_transformers(folder: Path) -> Any:
    try:
        return auto(folder)
    except Exception:
        return None


def same(ours: Any, theirs: Any) -> None:
    """Ids, specials, sides and lengths."""
    assert len(ours) == len(theirs)
    for role in ROLES:
        got, want = getattr(ours, f"{role}_token_id"), getattr(theirs, f"{role}_token_id")
        assert got == want or (role == "unk" and want is None), (role, got, want)
    assert set(ours.special_tokens) >= set(theirs.all_special_tokens)
    for text in ["", "ab", " a b", "Hello world", "I'M ab\n\n12", "a  b", *theirs.all_special_tokens[:3]]:
        for adds in (False, True):
            try:
                want = theirs(text, add_special_tokens=adds)["input_ids"]
            except Exception:  # an unknown token that its vocabulary does not have
                continue
            assert ours.encode(text, add_special_tokens=adds, special="parse") == want, (text, adds)
    limits(ours, theirs)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_class_that_transformers_exports(family: str, native: Any, tmp_path: Path) -> None:
    tokenizer, settings = FAMILIES[family]
    loaded, wrong = 0, []
    for name in exported():
        made = CLASSES.get(name.removesuffix("Fast"))
        own = {} if made is None else made[1]
        folder = make(tmp_path / name, tokenizer, tokenizer_config=klass(name, **own, **settings | LENGTHS))
        try:
            ours = native.load(folder)
        except native.FormatError as refused:
            # A refusal says what it is about.
            if not str(refused.reason).strip():
                wrong.append(f"{name}: a refusal without a reason")
            continue
        theirs = loads_in_transformers(folder)
        if theirs is None:
            wrong.append(f"{name}: loads here, and not in transformers")
            continue
        try:
            same(ours, theirs)
            loaded += 1
        except native.UnknownTokenError:
            pass  # there the character is dropped
        except Exception as failed:
            # Its own library cannot encode with an unknown token that the vocabulary does not have.
            if "Unk token" not in str(failed):
                raise
        except AssertionError as different:
            wrong.append(f"{name}: {str(different)[:300]}")
    assert not wrong, "\n".join(wrong)
    assert loaded > 10


@pytest.mark.parametrize("name", ["Phi3Tokenizer", "Phi3TokenizerFast"])
def test_phi_3_has_the_class_of_llama(name: str, native: Any, tmp_path: Path) -> None:
    tokenizer = spaced(LLAMA)
    folder = make(tmp_path / "t", tokenizer, tokenizer_config=klass(name, legacy=False))
    ours, theirs = native.load(folder), auto(folder)
    assert ours.encode(" a b") == theirs(" a b", add_special_tokens=False)["input_ids"]
    assert ours.load_report.tolerated == []


# ---- a folder that both libraries write -----------------------------------------------------------


def test_transformers_saves_into_our_folder_and_its_changes_are_read(native: Any, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    texts = ["low lower lowest new newer newest"] * 3
    tok = native.train(
        texts=texts,
        num_merges=20,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        add_bos_token=True,
        add_eos_token=True,
    )
    folder = tmp_path / "t"
    tok.save(folder)
    theirs = auto(folder)
    assert (theirs.bos_token, theirs.eos_token, theirs.pad_token) == ("<s>", "</s>", "<pad>")
    assert theirs("lower")["input_ids"] == tok("lower").ids
    assert theirs([*texts[:1], "low"], padding=True)["input_ids"] == [
        encoding.ids for encoding in tok([*texts[:1], "low"], padding=True)
    ]
    theirs = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, padding_side="left")
    theirs.add_special_tokens({"eos_token": "<|done|>"})
    theirs.save_pretrained(folder)

    changed = native.load(folder)
    assert changed.special_tokens["<|done|>"] == changed.eos_token_id == tok.vocab_size
    assert (changed.padding_side, changed.bos_token_id) == ("left", tok.bos_token_id)
    again = auto(folder)
    assert changed("lower").ids == again("lower")["input_ids"]
    report = changed.load_report
    assert {"tokenizer.json", "tokenizer_config.json"} <= set(report.files)
    assert {finding.file for finding in report.tolerated} == {"tokenizer.json", "tokenizer_config.json"}
    assert "eos_token" in report.files["tokenizer_config.json"]
    # Saved by us, the folder is all ours again.
    changed.save(folder)
    assert native.load(folder, strict=True) == changed


TEXTS = ["low lower lowest new newer newest"] * 3


def test_special_tokens_without_a_role_are_special_in_transformers_too(native: Any, tmp_path: Path) -> None:
    for roles in ({}, {"eos_token": "</s>"}):
        tok = native.train(texts=TEXTS, num_merges=9, special_tokens=["<|sys|>", "<|user|>"], **roles)
        folder = tmp_path / f"t{len(roles)}"
        tok.save(folder)
        assert native.load(folder, strict=True) == tok
        theirs = auto(folder)
        assert theirs.all_special_tokens == [*roles.values(), "<|sys|>", "<|user|>"]
        ids = theirs.encode("<|user|>low", add_special_tokens=False)
        mask = theirs.get_special_tokens_mask(ids, already_has_special_tokens=True)
        assert mask == [1] + [0] * (len(ids) - 1)
        # One that the list does not name is in it after a save.
        theirs.add_special_tokens({"extra_special_tokens": ["<|user|>"]})
        theirs.save_pretrained(tmp_path / "some")
        assert auto(tmp_path / "some").all_special_tokens == [*roles.values(), "<|user|>"]
        native.load(tmp_path / "some").save(tmp_path / "all")
        assert auto(tmp_path / "all").all_special_tokens == [*roles.values(), "<|sys|>", "<|user|>"]
        # A single file has no list, and needs none.
        tok.save(tmp_path / "alone.json", lossy=bool(roles))


@pytest.mark.parametrize("key", ["extra_special_tokens", "additional_special_tokens"])
def test_the_special_tokens_that_transformers_adds_are_kept(key: str, native: Any, tmp_path: Path) -> None:
    tok = native.train(texts=TEXTS, num_merges=9, eos_token="</s>")
    tok.save(tmp_path / "a")
    theirs = auto(tmp_path / "a")
    theirs.add_special_tokens({key: ["<|user|>"]})
    theirs.save_pretrained(tmp_path / "b")
    config = tmp_path / "b" / "tokenizer_config.json"
    fields = json.loads(config.read_text())
    config.write_text(json.dumps({**fields, key: fields.pop("extra_special_tokens")}))

    loaded = native.load(tmp_path / "b")
    assert key in loaded.load_report.files["tokenizer_config.json"]
    loaded.save(tmp_path / "c")
    again = auto(tmp_path / "c")
    assert again.all_special_tokens == ["</s>", "<|user|>"]
    ids = again.encode("low<|user|>", add_special_tokens=False)
    mask = again.get_special_tokens_mask(ids, already_has_special_tokens=True)
    assert (mask[-1], sum(mask)) == (1, 1)
    assert native.load(tmp_path / "c") == loaded


def test_the_list_of_special_tokens_changes_nothing_else(native: Any, tmp_path: Path) -> None:
    """Beside a tokenizer_config.json, padding that is known by its form alone would be none."""
    tok = native.train(texts=TEXTS, num_merges=9, special_tokens=["[PAD]", "<|sys|>"])
    tok.save(tmp_path / "t")
    assert not (tmp_path / "t" / "tokenizer_config.json").exists()
    assert native.load(tmp_path / "t").pad_token == tok.pad_token == "[PAD]"
    named = tok.with_special_tokens(pad_token="[PAD]")
    named.save(tmp_path / "t")
    assert auto(tmp_path / "t").all_special_tokens == ["[PAD]", "<|sys|>"]
    assert native.load(tmp_path / "t") == named


def test_ranks_take_the_tokens_that_their_folder_names(native: Any, tmp_path: Path, data: Path) -> None:
    ranks = data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken"
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "cl100k_base.tiktoken").write_bytes(ranks.read_bytes())
    names = {100257: "<|endoftext|>", 100258: "<|fim_middle_of_ours|>", 100300: "<|dummy_42|>"}
    tokens = {str(id): {"content": name, "special": True, "normalized": False} for id, name in names.items()}
    config = {
        "tokenizer_class": "OwnTokenizer",
        "added_tokens_decoder": tokens,
        "bos_token": "<|endoftext|>",
        "eos_token": "<|endoftext|>",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    tok = native.load(folder)
    assert tok.special_tokens == {name: id for id, name in names.items()}
    assert tok.bos_token_id == tok.eos_token_id == 100257
    assert tok.split == "cl100k"
    assert [f.field for f in tok.load_report.tolerated] == ["tokenizer_class"]
    # A flag that only a class could heed is not dropped.
    config["added_tokens_decoder"] = tokens | {"100301": {"content": "<r>", "special": True, "rstrip": True}}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(native.FormatError, match="flags") as caught:
        native.load(folder)
    assert caught.value.field == "added_tokens_decoder.100301"
