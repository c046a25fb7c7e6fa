"""Folders without a tokenizer.json: what `AutoTokenizer` of transformers 5.23 makes of older files.

`vocab.json` with `merges.txt`, `vocab.txt`, SentencePiece models, files of tiktoken and tekken.json, for
each class that reads them, with settings beside them.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .folders_made import BERT, END, FAIRSEQ, Json, byte_level, klass, make, pieces, words
from .test_folders import auto, compare

pytest.importorskip("google.protobuf", reason="transformers reads SentencePiece models with protobuf")

# SentencePiece models and how they are trained.
MODELS: dict[str, dict[str, Any]] = {
    "pieces": {"vocab_size": 600},
    "pieces and bytes": {
        "vocab_size": 700,
        "byte_fallback": True,
        "user_defined_symbols": ["<sep>", "<cls>", "foo"],
        "control_symbols": ["<ctl>"],
    },
    "merges": {"vocab_size": 700, "model_type": "bpe", "byte_fallback": True},
    "merges and symbols": {
        "vocab_size": 700,
        "model_type": "bpe",
        "byte_fallback": True,
        "user_defined_symbols": ["<mask>", "foo"],
        "normalization_rule_name": "identity",
    },
    "padding last": {"vocab_size": 600, "pad_id": 3},
    "padding first": {"vocab_size": 600, "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    "brackets": {
        "vocab_size": 600,
        "pad_id": 0,
        "unk_id": 1,
        "bos_id": -1,
        "eos_id": -1,
        "control_symbols": ["[CLS]", "[SEP]", "[MASK]"],
    },
}
SPIECE, FAIRSEQ_MODEL, MODEL = "spiece.model", "sentencepiece.bpe.model", "tokenizer.model"
# The file that each class reads, and the models that it is tried with.
READERS: dict[str, tuple[str, list[str]]] = {
    "LlamaTokenizer": (MODEL, ["merges", "merges and symbols", "pieces and bytes"]),
    "CodeLlamaTokenizer": (MODEL, ["merges", "merges and symbols"]),
    "GemmaTokenizer": (MODEL, ["merges", "merges and symbols"]),
    "NllbTokenizer": (FAIRSEQ_MODEL, ["merges", "merges and symbols", "pieces"]),
    "ReformerTokenizer": (SPIECE, ["merges", "merges and symbols"]),
    "T5Tokenizer": (SPIECE, ["padding first", "pieces and bytes", "merges"]),
    "AlbertTokenizer": (SPIECE, ["brackets"]),
    "FNetTokenizer": (SPIECE, ["brackets", "pieces"]),
    "RemBertTokenizer": ("sentencepiece.model", ["brackets", "pieces"]),
    "XLNetTokenizer": (SPIECE, ["pieces", "pieces and bytes"]),
    "XLMRobertaTokenizer": (FAIRSEQ_MODEL, ["pieces", "merges"]),
    "CamembertTokenizer": (FAIRSEQ_MODEL, ["pieces"]),
    "BarthezTokenizer": (FAIRSEQ_MODEL, ["pieces", "pieces and bytes"]),
    "XGLMTokenizer": (MODEL, ["pieces", "pieces and bytes"]),
    "MBartTokenizer": (FAIRSEQ_MODEL, ["pieces", "merges"]),
    "MBart50Tokenizer": (FAIRSEQ_MODEL, ["pieces", "merges"]),
    "PegasusTokenizer": (SPIECE, ["padding first"]),
    "BigBirdTokenizer": (SPIECE, ["pieces", "pieces and bytes"]),
    "DebertaV2Tokenizer": ("spm.model", ["pieces", "pieces and bytes", "brackets"]),
    "PreTrainedTokenizerFast": (MODEL, ["pieces and bytes", "merges", "merges and symbols"]),
}
ASKED: Json = {
    "add_bos_token": True,
    "add_eos_token": True,
    "mask_token": "<mm>",
    "additional_special_tokens": ["<ad>"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Callable[[str], Path]:
    """A SentencePiece model by its name among `MODELS`."""
    import sentencepiece

    folder = tmp_path_factory.mktemp("models")
    lines = (data / "corpus" / "english.txt").read_bytes()[:300_000].decode(errors="ignore").splitlines()

    def model(name: str) -> Path:
        path = folder / f"{name}.model"
        if not path.exists():
            written = io.BytesIO()
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_writer=written, minloglevel=2, **MODELS[name]
            )
            path.write_bytes(written.getvalue())
        return path

    return model


def with_files(folder: Path, files: dict[str, Path], **configurations: Json) -> Path:
    make(folder, None, **configurations)
    for name, path in files.items():
        shutil.copy(path, folder / name)
    return folder


def pair_of(tokenizer: Json, folder: Path) -> dict[str, Path]:
    """The vocabulary and the merges of a tokenizer.json as two files."""
    folder.mkdir(exist_ok=True)
    merges = "\n".join(" ".join(merge) for merge in tokenizer["model"]["merges"])
    (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}\n", encoding="utf-8")
    make(folder, tokenizer["model"]["vocab"])
    (folder / "tokenizer.json").rename(folder / "vocab.json")
    return {name: folder / name for name in ("vocab.json", "merges.txt")}


def same(native: Any, folder: Path, data: Path | None = None, **options: Any) -> Any:
    """Both are equal, and ours is kept by a save to a folder."""
    ours = native.load(folder)
    compare(ours, auto(folder), data, **options)
    ours.save(folder / "saved")
    again = native.load(folder / "saved")
    changed = {part for part in ours.digests if again.digests[part] != ours.digests[part]}
    if any("spiece" in name or name.endswith(".model") for name in ours.load_report.files):
        # One score in a thousand has no decimal that readers of tokenizer.json take for it (decision 49).
        compare(again, auto(folder), data, **options)
        changed -= {"encode"}
    assert not changed
    return ours


@pytest.mark.parametrize(("name", "model"), [(name, model) for name in READERS for model in READERS[name][1]])
@pytest.mark.parametrize("settings", [{}, ASKED], ids=["defaults", "asked"])
def test_sentencepiece_models(
    name: str, model: str, settings: Json, native: Any, tmp_path: Path, made: Callable[[str], Path]
) -> None:
    file = READERS[name][0]
    folder = with_files(tmp_path / "t", {file: made(model)}, tokenizer_config=klass(name, **settings))
    # Where a map drops characters, ours tell where the others come from (docs/differences.md).
    ours = same(native, folder, count=60, offsets=False)
    assert "vocabulary" in ours.load_report.files[file]


@pytest.mark.parametrize("legacy", [True, False])
def test_a_published_model_with_its_configuration(
    legacy: bool, native: Any, tmp_path: Path, data: Path
) -> None:
    """The ids are those of the conversion, which ranks merges by id and not by score."""
    files = {name: data / "vocab" / "llama2" / name for name in [MODEL, "special_tokens_map.json"]}
    config = klass("LlamaTokenizer", legacy=legacy, add_bos_token=True, add_eos_token=False)
    folder = with_files(tmp_path / "t", files, tokenizer_config=config)
    ours = same(native, folder, data)
    assert ours.encode("Hello world", add_special_tokens=True) == [1, 15043, 3186]
    assert ours.encode("a  b") != native.load(folder / MODEL).encode("a  b")


WHISPER = [
    *("<|startofprev|>", "<|startoftranscript|>", "<|en|>", "<|zh|>", "<|de|>"),
    *("<|notimestamps|>", "<|transcribe|>"),
]
PAIRS = {
    "GPT2Tokenizer": END,
    "CodeGenTokenizer": END,
    "BlenderbotTokenizer": FAIRSEQ,
    "RobertaTokenizer": FAIRSEQ,
    "BartTokenizer": FAIRSEQ,
    "DebertaTokenizer": BERT,
    "GPTNeoXTokenizer": END,
    "CohereTokenizer": END,
    "Qwen2Tokenizer": END,
    "WhisperTokenizer": [*END, *WHISPER],
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("settings", [{}, {**ASKED, "add_prefix_space": False}], ids=["defaults", "asked"])
def test_pairs_of_files(name: str, settings: Json, native: Any, tmp_path: Path) -> None:
    files = pair_of(byte_level(PAIRS[name]), tmp_path / "pair")
    folder = with_files(tmp_path / "t", files, tokenizer_config=klass(name, **settings))
    same(native, folder)


@pytest.mark.parametrize(
    ("name", "model_type"), [("gpt2", "gpt2"), ("roberta-base", "roberta"), ("qwen2.5", "")]
)
def test_published_pairs(name: str, model_type: str, native: Any, tmp_path: Path, data: Path) -> None:
    published = data / "vocab" / name
    files = {file: published / file for file in ("vocab.json", "merges.txt")}
    if not model_type:
        files["tokenizer_config.json"] = published / "tokenizer_config.json"
    folder = with_files(tmp_path / "t", files, config={"model_type": model_type} if model_type else {})
    same(native, folder, data)


@pytest.mark.parametrize(
    "name",
    ["BertTokenizer", "ConvBertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "SplinterTokenizer"],
)
@pytest.mark.parametrize("settings", [{}, {"do_lower_case": False, "strip_accents": True}, ASKED])
def test_words(name: str, settings: Json, native: Any, tmp_path: Path) -> None:
    vocabulary = words([*BERT, "[QUESTION]"])["model"]["vocab"]
    folder = make(tmp_path / "t", None, tokenizer_config=klass(name, **settings))
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    same(native, folder)


def test_published_words(native: Any, tmp_path: Path, data: Path) -> None:
    files = {"vocab.txt": data / "vocab" / "bert-base-chinese" / "vocab.txt"}
    same(native, with_files(tmp_path / "t", files, config={"model_type": "bert"}), data)


BEHIND = {
    "bos_token": "<|begin_of_text|>",
    "add_bos_token": True,
    "extra_special_tokens": ["<e>"],
    "added_tokens_decoder": {
        "128000": {"content": "<|begin_of_text|>", "special": True},
        "128005": {"content": "<|x|>", "special": True, "lstrip": True},
    },
}


@pytest.mark.parametrize(
    "configuration",
    [
        {"config": {"model_type": "llama"}},
        {"tokenizer_config": klass("LlamaTokenizer")},
        {"tokenizer_config": klass("PreTrainedTokenizerFast", **BEHIND)},
    ],
)
def test_a_model_that_is_a_file_of_tiktoken(
    configuration: Json, native: Any, tmp_path: Path, data: Path
) -> None:
    files = {MODEL: data / "vocab" / "llama3" / MODEL}
    ours = same(native, with_files(tmp_path / "t", files, **configuration), count=40)
    if "added_tokens_decoder" in configuration.get("tokenizer_config", {}):
        assert ours.id_to_token(128003) == "<|reserved_token_128003|>"


@pytest.mark.parametrize(
    "settings", [klass("PreTrainedTokenizerFast"), klass("LlamaTokenizer", add_bos_token=True)]
)
def test_tekken_without_mistral_s_library(settings: Json, native: Any, tmp_path: Path, data: Path) -> None:
    files = {"tekken.json": data / "vocab" / "mistral-nemo" / "tekken.json"}
    same(native, with_files(tmp_path / "t", files, tokenizer_config=settings), count=40)


def test_tekken_as_mistral_s_library_reads_it(native: Any, tmp_path: Path, data: Path) -> None:
    files = {"tekken.json": data / "vocab" / "mistral-nemo" / "tekken.json"}
    folder = with_files(tmp_path / "t", files, config={"model_type": "mistral"})
    ours, theirs = native.load(folder), auto(folder)
    assert type(theirs).__name__ == "MistralCommonBackend"
    for text in ["", "Hello  world", "I'M a\n\nb", "Ça va? 1234", "你好 ½"]:
        for adds in (False, True):
            ids = theirs(text, add_special_tokens=adds)["input_ids"]
            assert ours.encode(text, add_special_tokens=adds) == ids
            assert ours.decode(ids, skip_special_tokens=True) == theirs.decode(ids, skip_special_tokens=True)
    for role in ("bos", "eos", "unk", "pad"):
        assert getattr(ours, f"{role}_token_id") == getattr(theirs, f"{role}_token_id")


# ---- languages ------------------------------------------------------------------------------------


def test_languages_that_nobody_lists_are_added(native: Any, tmp_path: Path) -> None:
    """NLLB's, and those of the second mBART, which has them among its pieces."""
    from .folders_made import spaced

    folder = make(
        tmp_path / "nllb", spaced(FAIRSEQ), tokenizer_config=klass("NllbTokenizer", src_lang="fra_Latn")
    )
    ours = same(native, folder)
    assert ours.token_to_id("zul_Latn") is not None
    folder = make(
        tmp_path / "mbart50",
        pieces(["<1>", "<2>", "<3>"]),
        tokenizer_config=klass("MBart50Tokenizer", src_lang="de_DE"),
    )
    ours = same(native, folder)
    assert ours.encode("a", add_special_tokens=True)[0] == ours.token_to_id("de_DE")


@pytest.mark.parametrize("language", ["en", "German", "MANDARIN"])
def test_a_language_of_whisper(language: str, native: Any, tmp_path: Path) -> None:
    config = klass("WhisperTokenizer", language=language, task="transcribe")
    folder = make(tmp_path / "t", byte_level([*END, *WHISPER]), tokenizer_config=config)
    code = {"en": "en", "German": "de", "MANDARIN": "zh"}[language]
    ours = same(native, folder)
    assert ours.encode("a", add_special_tokens=True)[1] == ours.token_to_id(f"<|{code}|>")


# ---- what cannot be read --------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "last"), [("padding first", 6), ("brackets", 5)])
def test_an_unknown_token_that_a_class_sets_and_no_piece_has(
    model: str, last: int, native: Any, tmp_path: Path, made: Callable[[str], Path]
) -> None:
    """The class puts pieces of its own before those of the model, which has one of them again."""
    files = {FAIRSEQ_MODEL: made(model)}
    folder = with_files(tmp_path / "t", files, tokenizer_config=klass("CamembertTokenizer"))
    with pytest.raises(native.FormatError, match="CamembertTokenizer") as caught:
        native.load(folder)
    error = caught.value
    assert (error.path, error.field, error.kind) == (str(folder / FAIRSEQ_MODEL), "model.unk_id", "missing")
    assert f'"<unk>", occurs again, with the id {last}' in error.reason


@pytest.mark.parametrize("name", ["MBartTokenizer", "BarthezTokenizer"])
def test_an_unknown_token_that_a_class_sets_beyond_the_pieces(name: str, native: Any, tmp_path: Path) -> None:
    tokenizer = pieces(["<s>", "<pad>"])
    tokenizer["model"]["vocab"] = tokenizer["model"]["vocab"][:3]
    folder = make(tmp_path / "t", tokenizer, tokenizer_config=klass(name))
    with pytest.raises(native.FormatError, match=f"{name} sets the unknown token by its id") as caught:
        native.load(folder)
    error = caught.value
    assert (error.path, error.field) == (str(folder / "tokenizer.json"), "model.unk_id")
    assert "3 is not the place of a token; there are 3" in error.reason


@pytest.mark.parametrize(
    ("files", "configuration", "field", "kind"),
    [
        ({}, {"config": {"model_type": "gpt2"}}, "", "missing"),
        ({"vocab.json": "{}"}, {"config": {"model_type": "gpt2"}}, "", "missing"),
        ({"vocab.json": "[1]", "merges.txt": ""}, {"config": {"model_type": "gpt2"}}, "[0]", "type"),
        (
            {"vocab.json": '{"a": 0}', "merges.txt": "a b c"},
            {"config": {"model_type": "gpt2"}},
            "line 1",
            "line",
        ),
        (
            {"vocab.json": '{"a": 0}', "merges.txt": "a b"},
            {"config": {"model_type": "gpt2"}},
            "model.merges[0]",
            "merge",
        ),
        ({MODEL: "neither"}, {"config": {"model_type": "llama"}}, "line 1", "line"),
        ({"spiece.model": ""}, {"tokenizer_config": klass("T5Tokenizer")}, "", "empty"),
    ],
)
def test_what_a_folder_lacks_is_named(
    files: dict[str, str], configuration: Json, field: str, kind: str, native: Any, tmp_path: Path
) -> None:
    folder = make(tmp_path / "t", None, **configuration)
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(native.FormatError) as caught:
        native.load(folder)
    assert (caught.value.kind, caught.value.field) == (kind, field)


def test_pieces_that_a_class_needs_are_named(
    native: Any, tmp_path: Path, made: Callable[[str], Path]
) -> None:
    for name, field in [("AlbertTokenizer", "cls_token"), ("PegasusTokenizer", "unk_token")]:
        folder = with_files(tmp_path / name, {SPIECE: made("pieces")}, tokenizer_config=klass(name))
        with pytest.raises(native.FormatError) as caught:
            native.load(folder)
        assert (caught.value.kind, caught.value.field) == ("missing", field)
        with pytest.raises((TypeError, ValueError)):
            auto(folder)


def test_a_class_without_any_vocabulary_is_an_error(native: Any, tmp_path: Path) -> None:
    folder = make(tmp_path / "t", None, config={"model_type": "gpt2"})
    assert len(auto(folder)) == 1
    with pytest.raises(native.FormatError, match=r"vocab\.json"):
        native.load(folder)


def test_without_a_configuration_a_model_is_read_as_its_own_library_does(
    native: Any, tmp_path: Path, data: Path
) -> None:
    import sentencepiece

    folder = with_files(tmp_path / "t", {MODEL: data / "vocab" / "llama2" / MODEL})
    library = sentencepiece.SentencePieceProcessor(model_file=str(folder / MODEL))
    assert native.load(folder).encode("Hello  world") == library.encode("Hello  world")
    assert auto(folder)("Hello  world", add_special_tokens=False)["input_ids"] != library.encode(
        "Hello  world"
    )


def test_a_file_that_the_generic_class_does_not_read_is_read_alone(
    native: Any, tmp_path: Path, data: Path
) -> None:
    files = {name: data / "vocab" / "gpt2" / name for name in ("vocab.json", "merges.txt")}
    folder = with_files(tmp_path / "t", files, tokenizer_config=klass("PreTrainedTokenizerFast"))
    assert native.load(folder) == native.load(data / "vocab" / "gpt2" / "vocab.json")
    with pytest.raises(ValueError, match="instantiate the backend"):
        auto(folder)


def test_of_a_piece_that_is_there_twice_the_later_counts(
    native: Any, tmp_path: Path, made: Callable[[str], Path]
) -> None:
    """The class puts `<pad>` before the pieces, and this model has it among them."""
    folder = with_files(
        tmp_path / "t", {FAIRSEQ_MODEL: made("padding last")}, tokenizer_config=klass("MBartTokenizer")
    )
    assert auto(folder).pad_token_id == native.load(folder).pad_token_id == 4
    with pytest.raises(native.FormatError) as caught:
        native.load(folder, strict=True)
    assert (caught.value.kind, caught.value.field) == ("duplicate", "model.vocab[4]")


# ---- saving ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_a_sentencepiece_model_is_saved_to_a_folder_as_one(
    model: str, native: Any, tmp_path: Path, made: Callable[[str], Path]
) -> None:
    ours = native.load(made(model))
    (tmp_path / "saved").mkdir()
    # What is no part of what was saved last does not count.
    make(tmp_path / "saved", None, tokenizer_config=klass("LlamaTokenizer"))
    ours.save(tmp_path / "saved")
    again = native.load(tmp_path / "saved")
    assert (again, again.fingerprint) == (ours, ours.fingerprint)
    first = (tmp_path / "saved" / MODEL).read_bytes()
    again.save(tmp_path / "saved")
    assert (tmp_path / "saved" / MODEL).read_bytes() == first
    with pytest.raises(native.FormatError) as caught:
        ours.with_special_tokens(["<new>"]).save(tmp_path / "other")
    assert (caught.value.kind, caught.value.field) == ("cannot-hold", "added_tokens")
    assert not (tmp_path / "other").exists()
