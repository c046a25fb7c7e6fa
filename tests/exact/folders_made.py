"""Folders made for the tests: a tokenizer.json for each kind of pipeline, and configurations beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]

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
