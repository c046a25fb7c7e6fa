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
BETWEEN = [
    "",
    "",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "'s",
    " .",
    " n't",
    "é",
    "e\u0301",
    "한",
    "你",
    "\u200d",
    "🙂",
    "1",
]
# The classes of Code Llama and Whisper do more with these than any other does.
READ_BY_CODE = {"<FILL_ME>", "<|startofprev|>"}
Json = dict[str, Any]


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


def compare(ours: Any, theirs: Any, data: Path | None = None, count: int = 150) -> None:
    assert len(ours) == len(theirs)
    for role in ROLES:
        got, want = getattr(ours, f"{role}_token_id"), getattr(theirs, f"{role}_token_id")
        # Where no file names an unknown token, ours is the model's.
        assert got == want or (role == "unk" and want is None), (role, got, want)
    special = "text" if theirs.split_special_tokens else "parse"
    backend = theirs.backend_tokenizer
    for text in texts(theirs, data, count):
        for added in (False, True):
            want = theirs(text, add_special_tokens=added, return_offsets_mapping=True)
            got = ours.encode_with_offsets(text, add_special_tokens=added, special=special)
            assert got.ids == want["input_ids"], (text, added)
            offsets = want["offset_mapping"]
            is_same = covers(got.offsets, offsets) if backend.normalizer else got.offsets == offsets
            assert is_same, (text, added)
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

FLAGS = {"single_word": False, "lstrip": False, "rstrip": False}


def added(content: str, id: int, *, special: bool = True, normalized: bool = False, **flags: bool) -> Json:
    return {"id": id, "content": content, **FLAGS, "normalized": normalized, "special": special, **flags}


ALPHABET = [chr(c) for c in [*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324)]]
MERGES = [("a", "b"), ("ab", "c"), ("Ġ", "a"), ("Ġa", "b"), ("1", "2"), ("l", "l"), ("e", "ll"), ("o", "r")]


def byte_level(special: list[str], **changes: Any) -> Json:
    """A byte-level tokenizer.json whose special tokens come first."""
    tokens = [*special, *ALPHABET, *("".join(merge) for merge in MERGES)]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added(token, id) for id, token in enumerate(special)],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": True,
        },
        "post_processor": {
            "type": "ByteLevel",
            "add_prefix_space": True,
            "trim_offsets": False,
            "use_regex": True,
        },
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {token: id for id, token in enumerate(tokens)},
            "merges": [list(merge) for merge in MERGES],
        },
        **changes,
    }


def spaced(special: list[str], **changes: Any) -> Json:
    """A BPE with marks for spaces and byte tokens, as Llama's."""
    merges = [("▁", "a"), ("▁a", "b"), ("a", "b"), ("▁", "▁"), ("l", "l"), ("H", "e")]
    letters = [*"▁abcdefghijklmnopqrstuvwxyzABCHIMWX.,!?'1234"]
    tokens = [*special, *(f"<0x{byte:02X}>" for byte in range(256)), *letters]
    tokens += [token for token in map("".join, merges) if token not in tokens]
    mark = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    return byte_level(
        special,
        **{
            "pre_tokenizer": None,
            "post_processor": None,
            "decoder": {"type": "Sequence", "decoders": [mark, {"type": "ByteFallback"}, {"type": "Fuse"}]},
            "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": "<unk>",
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": True,
                "byte_fallback": True,
                "ignore_merges": False,
                "vocab": {token: id for id, token in enumerate(tokens)},
                "merges": [list(merge) for merge in merges],
            },
            **changes,
        },
    )


def words(special: list[str], **changes: Any) -> Json:
    """A WordPiece, as BERT's."""
    letters = "abcdefghijklmnopqrstuvwxyzABCHIMW.,!?'1234你"
    tokens = [*special, *letters, *(f"##{letter}" for letter in letters), "hello", "world", "##ab", "ab"]
    clean = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    return byte_level(
        special,
        **{
            "normalizer": {"type": "BertNormalizer", **clean},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": None,
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": {token: id for id, token in enumerate(tokens)},
            },
            **changes,
        },
    )


def suffixed(special: list[str], **changes: Any) -> Json:
    """A BPE with ends of words, as the first GPT's."""
    letters = "abcdefghijklmnopqrstuvwxyz.,!?'1234"
    merges = [("a", "b</w>"), ("l", "l"), ("h", "e")]
    tokens = [
        *special,
        *letters,
        *(f"{letter}</w>" for letter in letters),
        *("".join(merge) for merge in merges),
    ]
    full = byte_level(special, **changes)
    full["model"] |= {
        "vocab": {token: id for id, token in enumerate(tokens)},
        "merges": [list(m) for m in merges],
    }
    return full | {"model": full["model"] | {"unk_token": special[0], "end_of_word_suffix": "</w>"}}


def pieces(special: list[str], **changes: Any) -> Json:
    """A Unigram, as T5's."""
    letters = "abcdefghijklmnopqrstuvwxyzABCHIMW.,!?'1234"
    table = [[token, 0.0] for token in special]
    table += [
        [piece, -3.0 - i / 50]
        for i, piece in enumerate(["▁", "▁a", "ab", "▁hello", "▁Hello", "ell", *letters])
    ]
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return byte_level(
        special,
        **{
            "pre_tokenizer": metaspace,
            "post_processor": None,
            "decoder": metaspace,
            "model": {"type": "Unigram", "unk_id": 2, "vocab": table, "byte_fallback": False},
            **changes,
        },
    )


def make(folder: Path, tokenizer: Json | None, **files: Any) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in {"tokenizer": tokenizer, **files}.items():
        if content is not None:
            (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


END = ["<|endoftext|>"]
LLAMA = ["<unk>", "<s>", "</s>"]
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
AFTER = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
}


def klass(name: str, **settings: Any) -> Json:
    return {"tokenizer_class": name, **settings}


def token(content: str, **flags: bool) -> Json:
    return {"__type": "AddedToken", "content": content, **FLAGS, "normalized": True, **flags}


CONFIGURED: dict[str, tuple[Json, Json]] = {
    "nothing said": (byte_level(END), {"tokenizer_config": {}}),
    "the generic class": (
        byte_level(END),
        {"tokenizer_config": klass("PreTrainedTokenizerFast", eos_token=END[0])},
    ),
    "a class nobody knows": (byte_level(END), {"tokenizer_config": klass("FooTokenizer")}),
    "a class by model type": (byte_level(END), {"config": {"model_type": "gpt2"}, "tokenizer_config": {}}),
    "a class of the model": (
        byte_level(END),
        {"config": {"model_type": "x", "tokenizer_class": "GPT2Tokenizer"}},
    ),
    "a wrong class for a model type": (
        byte_level(END),
        {"config": {"model_type": "qwen2"}, "tokenizer_config": klass("GPT2Tokenizer")},
    ),
    "a model type without a class": (
        byte_level(END),
        {
            "config": {"model_type": "mistral"},
            "tokenizer_config": klass("GPT2Tokenizer", add_prefix_space=True),
        },
    ),
    "a Llama of bytes": (byte_level(END), {"tokenizer_config": klass("LlamaTokenizer")}),
    "code beside a known class": (
        byte_level(END),
        {"tokenizer_config": klass("GPT2Tokenizer", auto_map={"AutoTokenizer": ["own.Own", None]})},
    ),
    "legacy": (
        spaced(LLAMA, post_processor=AFTER),
        {"tokenizer_config": klass("LlamaTokenizer", legacy=True)},
    ),
    "not legacy": (
        spaced(LLAMA, post_processor=AFTER),
        {"tokenizer_config": klass("LlamaTokenizer", legacy=False)},
    ),
    "no prefix": (
        spaced(LLAMA, post_processor=AFTER),
        {"tokenizer_config": klass("LlamaTokenizerFast", add_prefix_space=False)},
    ),
    "bos and eos beside a post-processor": (
        spaced(LLAMA, post_processor=AFTER),
        {"tokenizer_config": klass("LlamaTokenizer", add_bos_token=False, add_eos_token=True)},
    ),
    "bos and eos beside none": (
        byte_level(END, post_processor=None),
        {"tokenizer_config": klass("GPT2Tokenizer", add_bos_token=True, add_eos_token=True)},
    ),
    "special tokens split": (
        byte_level(END, added_tokens=[added(END[0], 0), added("ab", 200, special=False)]),
        {"tokenizer_config": klass("PreTrainedTokenizerFast", split_special_tokens=True)},
    ),
    "clean-up of words": (
        words(BERT),
        {"tokenizer_config": klass("PreTrainedTokenizerFast", clean_up_tokenization_spaces=True)},
    ),
    "clean-up of pieces": (
        pieces(["<pad>", "</s>", "<unk>"]),
        {"tokenizer_config": klass("PreTrainedTokenizerFast", clean_up_tokenization_spaces=True)},
    ),
    "clean-up of pairs": (
        byte_level(END),
        {"tokenizer_config": klass("PreTrainedTokenizerFast", clean_up_tokenization_spaces=True)},
    ),
    "clean-up of pairs in earnest": (
        byte_level(END),
        {
            "tokenizer_config": klass(
                "PreTrainedTokenizerFast",
                clean_up_tokenization_spaces=True,
                clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output=True,
            )
        },
    ),
    "tokens by id": (
        byte_level(END),
        {
            "tokenizer_config": klass(
                "PreTrainedTokenizerFast",
                added_tokens_decoder={
                    "60001": {"content": "<b>", "special": True, "rstrip": True},
                    "60000": {"content": "<a>", "special": False, "normalized": True, "lstrip": True},
                    "0": {"content": END[0], "special": True, "lstrip": True, "normalized": False},
                },
            )
        },
    ),
    "tokens by id for a class": (
        byte_level([*END, "<old>"]),
        {
            "tokenizer_config": klass(
                "GPT2Tokenizer",
                added_tokens_decoder={"7": {"content": "<a>", "special": False, "single_word": True}},
            )
        },
    ),
    "named tokens": (
        byte_level(END),
        {
            "tokenizer_config": klass(
                "PreTrainedTokenizerFast",
                bos_token="<bos>",
                eos_token=token("<eos>", rstrip=True),
                image_token="<img>",
                audio_token="<aud>",
                additional_special_tokens=["<x>", token("<y>", lstrip=True), "<bos>"],
            )
        },
    ),
    "further tokens by name": (
        byte_level(END),
        {
            "tokenizer_config": klass(
                "PreTrainedTokenizerFast", extra_special_tokens={"z_token": "<z>", "a_token": "<a>"}
            )
        },
    ),
    "former files": (
        byte_level(END),
        {
            "special_tokens_map": {
                "bos_token": "<s>",
                "pad_token": {"content": "<pad>", "lstrip": True},
                "additional_special_tokens": ["<m>"],
            },
            "added_tokens": {"<s>": 60000, "foo": 60001},
        },
    ),
    "padding names a token": (
        byte_level(
            END,
            padding={
                "strategy": "BatchLongest",
                "direction": "Left",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": END[0],
            },
        ),
        {"tokenizer_config": klass("PreTrainedTokenizerFast")},
    ),
}

SENTENCE = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
CLASSES: dict[str, tuple[Json, Json]] = {
    "GPT2Tokenizer": (byte_level(END), {"add_prefix_space": True}),
    "CodeGenTokenizer": (byte_level(END), {}),
    "BlenderbotTokenizer": (byte_level(FAIRSEQ), {"add_prefix_space": True}),
    "RobertaTokenizer": (byte_level(FAIRSEQ), {}),
    "BartTokenizer": (byte_level(FAIRSEQ), {"add_prefix_space": True, "trim_offsets": False}),
    "DebertaTokenizer": (byte_level(BERT), {}),
    "GPTNeoXTokenizer": (byte_level(END), {}),
    "CohereTokenizer": (byte_level(END), {"add_prefix_space": False}),
    "Qwen2Tokenizer": (byte_level(END), {"unk_token": None, "additional_special_tokens": ["<|im_start|>"]}),
    "Qwen3_5Tokenizer": (byte_level(END), {"unk_token": None}),
    "WhisperTokenizer": (
        byte_level(
            [
                *END,
                "<|startoftranscript|>",
                "<|translate|>",
                "<|transcribe|>",
                "<|startofprev|>",
                "<|notimestamps|>",
            ]
        ),
        {"task": "transcribe"},
    ),
    "CLIPTokenizer": (suffixed(["<|endoftext|>", "<|startoftext|>"]), {}),
    "BertTokenizer": (words(BERT), {"do_lower_case": False}),
    "DistilBertTokenizer": (words(BERT), {}),
    "ElectraTokenizer": (words(BERT), {"strip_accents": False}),
    "ConvBertTokenizer": (words(BERT), {}),
    "SplinterTokenizer": (words([*BERT, "[QUESTION]"]), {}),
    "MPNetTokenizer": (words([*FAIRSEQ, "[UNK]"]), {}),
    "FunnelTokenizer": (
        words(["<pad>", "<unk>", "<cls>", "<sep>", "<mask>", "<s>", "</s>"]),
        {"tokenize_chinese_chars": False},
    ),
    "OpenAIGPTTokenizer": (suffixed(["<unk>"]), {}),
    "HerbertTokenizer": (suffixed(["<s>", "<unk>", "</s>", "<pad>", "<mask>"]), {}),
    "LlamaTokenizer": (spaced(LLAMA), {}),
    "CodeLlamaTokenizer": (spaced(LLAMA), {}),
    "GemmaTokenizer": (spaced(["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]), {}),
    "NllbTokenizer": (
        spaced([*FAIRSEQ, "eng_Latn", "fra_Latn"]),
        {"additional_special_tokens": ["eng_Latn", "fra_Latn"], "src_lang": "fra_Latn"},
    ),
    "ReformerTokenizer": (spaced(LLAMA), {}),
    "T5Tokenizer": (pieces(["<pad>", "</s>", "<unk>"]), {"extra_ids": 3}),
    "AlbertTokenizer": (pieces(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]), {}),
    "FNetTokenizer": (pieces(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]), {}),
    "RemBertTokenizer": (pieces(["<pad>", "[CLS]", "<unk>", "[SEP]", "[MASK]"]), {}),
    "XLNetTokenizer": (pieces(["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"]), {}),
    "XLMRobertaTokenizer": (pieces(FAIRSEQ), {}),
    "CamembertTokenizer": (pieces(FAIRSEQ), {}),
    "BarthezTokenizer": (pieces(FAIRSEQ), {}),
    "XGLMTokenizer": (pieces(FAIRSEQ[:4]), {}),
    "MBartTokenizer": (pieces([*FAIRSEQ, "en_XX", "fr_XX"]), {"src_lang": "fr_XX"}),
    "MBart50Tokenizer": (pieces([*FAIRSEQ, "en_XX", "fr_XX"]), {}),
    "PegasusTokenizer": (pieces(["<pad>", "</s>", "<mask_1>", "<mask_2>", "<unk>"]), {"offset": 5}),
    "BigBirdTokenizer": (pieces(["<pad>", "</s>", "<s>", "<unk>", "[SEP]", "[MASK]", "[CLS]"]), {}),
    "DebertaV2Tokenizer": (
        pieces(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]),
        {"do_lower_case": True, "split_by_punct": True},
    ),
}


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
