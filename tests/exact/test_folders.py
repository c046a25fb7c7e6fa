"""Folders as transformers keeps them: what `AutoTokenizer` of transformers 5.23 makes of them.

Published folders, and folders made here: one for each rule of the configuration, and one for each class
that builds its own stages.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .folders_made import (
    BERT,
    CLASSES,
    CONFIGURED,
    END,
    LLAMA,
    Json,
    added,
    byte_level,
    klass,
    make,
    spaced,
    words,
)
from .texts import BETWEEN

os.environ.update({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"})

PUBLISHED = [
    "bert-base-uncased",
    "clip",
    "gpt-oss",
    "llama2",
    "mistral-7b-v0.3",
    "phi-3-mini",
    "qwen2.5",
    "qwen3",
    "roberta-base",
    "t5-small",
    "whisper-tiny",
]
ROLES = ["bos", "eos", "unk", "sep", "pad", "cls", "mask"]
# The classes of Code Llama and Whisper do more with these than any other does.
READ_BY_CODE = {"<FILL_ME>", "<|startofprev|>"}


def auto(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(folder), local_files_only=True)


def texts(theirs: Any, data: Path | None, count: int) -> Iterator[str]:
    rng = random.Random(len(theirs))
    tokens = sorted(set(theirs.get_vocab()) - READ_BY_CODE)
    added = [
        token.content for token in theirs.added_tokens_decoder.values() if token.content not in READ_BY_CODE
    ]
    plain = [
        theirs.backend_tokenizer.decode([id], skip_special_tokens=False) for id in range(0, len(theirs), 7)
    ]
    sources = [tokens, plain, plain, added or tokens, BETWEEN, BETWEEN]
    yield from [
        "",
        " ",
        "Hello world",
        " Hello  world ",
        "I'M don't ab",
        "a\n\nb",
        "Ça va?\u00a0Été 1234",
        "abcdefab",
        "vs Gerrit\n-------------------",
    ]
    for _ in range(count):
        yield "".join(rng.choice(rng.choice(sources)) for _ in range(rng.randint(1, 10)))
    if data is not None:
        for name in ("english", "code", "multilingual", "cjk"):
            raw = (data / "corpus" / f"{name}.txt").read_bytes()[:1_000_000]
            for start in range(0, len(raw), 80_000):
                yield raw[start : start + 1500].decode("utf-8", errors="ignore")
        for path in sorted((data / "adversarial").glob("*.txt")):
            yield path.read_bytes()[:1000].decode("utf-8", errors="ignore")


def covers(offsets: list[tuple[int, int]], want: list[tuple[int, int]]) -> bool:
    """Of characters that become others together, theirs cover one alone (docs/differences.md)."""
    return all(a[0] <= b[0] and a[1] >= b[1] for a, b in zip(offsets, want, strict=True))


def compare(
    ours: Any, theirs: Any, data: Path | None = None, count: int = 150, *, offsets: bool = True
) -> None:
    assert len(ours) == len(theirs)
    for role in ROLES:
        got, want = getattr(ours, f"{role}_token_id"), getattr(theirs, f"{role}_token_id")
        # Where no file names an unknown token, ours is the model's.
        assert got == want or (role == "unk" and want is None), (role, got, want)
    special = "text" if theirs.split_special_tokens else "parse"
    backend = theirs.backend_tokenizer
    for text in texts(theirs, data, count):
        for adds in (False, True):
            want = theirs(text, add_special_tokens=adds, return_offsets_mapping=True)
            got = ours.encode_with_offsets(text, add_special_tokens=adds, special=special)
            assert got.ids == want["input_ids"], (text, adds)
            if offsets:
                spans = want["offset_mapping"]
                is_same = covers(got.offsets, spans) if backend.normalizer else got.offsets == spans
                assert is_same, (text, adds)
            for skip in (False, True):
                decoded = theirs.decode(want["input_ids"], skip_special_tokens=skip)
                assert ours.decode(got.ids, skip_special_tokens=skip) == decoded, (text, skip)
        want = backend.encode(text, "a b")
        got = ours.encode_with_offsets(text, "a b", add_special_tokens=True, special=special)
        assert (got.ids, got.type_ids) == (want.ids, want.type_ids), text


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_folders(name: str, native: Any, data: Path) -> None:
    folder = data / "vocab" / name
    ours = native.load(folder)
    compare(ours, auto(folder), data)
    assert "tokenizer_config.json" in ours.load_report.files


# ---- folders made here --------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONFIGURED)
def test_what_the_configuration_says(name: str, native: Any, tmp_path: Path) -> None:
    tokenizer, files = CONFIGURED[name]
    folder = make(tmp_path / "t", tokenizer, **files)
    compare(native.load(folder), auto(folder))


@pytest.mark.parametrize("name", CLASSES)
def test_classes_that_build_their_own_stages(name: str, native: Any, tmp_path: Path) -> None:
    tokenizer, settings = CLASSES[name]
    folder = make(tmp_path / "t", tokenizer, tokenizer_config=klass(name, **settings))
    compare(native.load(folder), auto(folder))


def test_a_class_changes_ids_as_it_does_in_transformers(native: Any, tmp_path: Path, data: Path) -> None:
    """The file's own split is not that of the class."""
    folder = tmp_path / "t"
    folder.mkdir()
    shutil.copy(data / "vocab" / "gpt-oss" / "tokenizer.json", folder)
    (folder / "tokenizer_config.json").write_text(json.dumps(klass("GPT2Tokenizer")))
    plain = native.load(folder / "tokenizer.json")
    ours = native.load(folder)
    compare(ours, auto(folder), data, count=50)
    assert ours.encode("I'M a\n\nb") != plain.encode("I'M a\n\nb")


@pytest.mark.parametrize(
    "settings",
    [
        {"auto_map": {"AutoTokenizer": ["own.OwnTokenizer", None]}},
        {"tokenizer_class": "OwnTokenizer", "auto_map": {"AutoTokenizer": [None, "own.OwnTokenizerFast"]}},
    ],
)
def test_code_of_a_folder_is_never_run(settings: Json, native: Any, tmp_path: Path) -> None:
    folder = make(tmp_path / "t", byte_level(END), tokenizer_config=settings)
    (folder / "own.py").write_text("raise SystemExit")
    with pytest.raises(native.FormatError, match="own") as caught:
        native.load(folder)
    assert (caught.value.kind, caught.value.field) == ("unsupported", "auto_map")


@pytest.mark.parametrize("name", ["TapasTokenizer", "LayoutLMv3TokenizerFast", "SiglipTokenizer"])
def test_a_class_that_is_not_reproduced_is_named(name: str, native: Any, tmp_path: Path) -> None:
    folder = make(tmp_path / "t", byte_level(END), tokenizer_config=klass(name))
    with pytest.raises(native.FormatError, match=name) as caught:
        native.load(folder)
    error = caught.value
    assert (error.kind, error.field, error.path) == (
        "unsupported",
        "tokenizer_class",
        str(folder / "tokenizer_config.json"),
    )
    # The file alone is read as it stands.
    assert native.load(folder / "tokenizer.json").encode("ab") != []


def test_what_the_code_of_a_class_does_to_texts_and_ids_is_not_reproduced(
    native: Any, tmp_path: Path
) -> None:
    folder = make(tmp_path / "llama", spaced(LLAMA), tokenizer_config=klass("CodeLlamaTokenizer"))
    ours, theirs = native.load(folder), auto(folder)
    fill = ours.token_to_id("<FILL_ME>")
    assert fill in ours.encode("ab<FILL_ME>b", special="parse")
    assert fill not in theirs("ab<FILL_ME>b")["input_ids"]
    tokenizer, settings = CLASSES["WhisperTokenizer"]
    folder = make(tmp_path / "whisper", tokenizer, tokenizer_config=klass("WhisperTokenizer", **settings))
    ours, theirs = native.load(folder), auto(folder)
    ids = ours.encode("<|startofprev|>ab<|startoftranscript|>c", special="parse")
    assert ours.decode(ids, skip_special_tokens=True) == "abc"
    assert theirs.decode(ids, skip_special_tokens=True) == "c"


def test_where_no_file_names_an_unknown_token_it_is_the_model_s(native: Any, tmp_path: Path) -> None:
    folder = make(tmp_path / "t", words(BERT), tokenizer_config={})
    assert native.load(folder).unk_token_id == 1
    assert auto(folder).unk_token_id is None


def test_what_was_tolerated_is_reported_and_refused_when_asked(native: Any, tmp_path: Path) -> None:
    tokenizer = byte_level(END)
    tokenizer["added_tokens"].append(added("<far>", 9000))
    tokenizer["pre_tokenizer"]["spare"] = 1
    tokenizer["model"]["spare"] = 2
    folder = make(tmp_path / "t", tokenizer)
    found = native.load(folder / "tokenizer.json").load_report
    assert [(f.kind, f.file, f.field) for f in found.tolerated] == [
        ("ignored", "tokenizer.json", "pre_tokenizer.spare"),
        ("ignored", "tokenizer.json", "model.spare"),
        ("ignored", "tokenizer.json", "added_tokens[1].id"),
    ]
    assert "9000" in repr(found)
    with pytest.raises(native.FormatError, match="spare") as caught:
        native.load(folder / "tokenizer.json", strict=True)
    assert (caught.value.kind, caught.value.field) == ("ignored", "pre_tokenizer.spare")


def test_the_report_says_which_file_gave_what_and_why_a_class_was_taken(native: Any, tmp_path: Path) -> None:
    config = klass("FooTokenizer", bos_token=END[0], add_bos_token=True, vocab_file="/home/x/vocab.json")
    folder = make(tmp_path / "t", byte_level(END), tokenizer_config=config)
    report = native.load(folder).load_report
    assert {"vocabulary", "added_tokens", "decoder"} <= set(report.files["tokenizer.json"])
    assert report.files["tokenizer_config.json"] == ["bos_token"]
    assert [(f.kind, f.field) for f in report.tolerated] == [
        ("ignored", "vocab_file"),
        ("unknown", "tokenizer_class"),
        ("ignored", "add_bos_token"),
    ]
    assert "FooTokenizer" in report.notes[0]
    with pytest.raises(native.FormatError) as caught:
        native.load(folder, strict=True)
    assert (caught.value.kind, caught.value.field) == ("ignored", "vocab_file")


def test_only_what_was_loaded_has_a_report(native: Any, tmp_path: Path) -> None:
    assert native.train(texts=["ab ab"], num_merges=1).load_report is None


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../t.json", "a/b.json", "C:t.json", "https://x/t.json", "..", ""]
)
def test_a_configuration_names_no_path_outside_its_folder(path: str, native: Any, tmp_path: Path) -> None:
    config = klass("PreTrainedTokenizerFast", fast_tokenizer_files=["tokenizer.json", path])
    folder = make(tmp_path / "t", byte_level(END), tokenizer_config=config)
    with pytest.raises(native.FormatError) as caught:
        native.load(folder)
    assert caught.value.field == "fast_tokenizer_files[1]"


def test_saving_to_a_folder_keeps_roles_and_defaults(native: Any, tmp_path: Path) -> None:
    settings = {"bos_token": END[0], "split_special_tokens": True, "clean_up_tokenization_spaces": True}
    folder = make(tmp_path / "t", words(BERT), tokenizer_config=klass("BertTokenizer", **settings))
    ours = native.load(folder)
    ours.save(tmp_path / "saved")
    again = native.load(tmp_path / "saved")
    assert again == ours
    compare(again, auto(tmp_path / "saved"))
    with pytest.raises(native.FormatError) as caught:
        ours.save(tmp_path / "t.json")
    assert (caught.value.kind, caught.value.field) == ("cannot-hold", "roles")
    ours.save(tmp_path / "t.json", lossy=True)
