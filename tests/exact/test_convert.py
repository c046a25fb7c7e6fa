"""Conversions of published tokenizers: every id and every decoded text over real and made texts.

The other end is read by the format's own library where there is one; keys of GGUF by the package `gguf`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

from .test_gguf import cases
from .texts import compare_all, pieces

pytestmark = pytest.mark.slow

Ids = Callable[[list[str]], list[list[int]]]


@pytest.fixture(scope="module")
def real(data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files of text from all over the corpora: the whole would take an hour."""
    folder = tmp_path_factory.mktemp("real")
    for name in ("english", "code", "multilingual"):
        path = data / "corpus" / f"{name}.txt"
        text = "\n".join(pieces(path, path.stat().st_size, 40))
        (folder / path.name).write_text(text, encoding="utf-8", newline="")
    return sorted(folder.iterdir())


def is_clean(text: str, *, literals: Any = ()) -> bool:
    """Whether no format says another thing about a text than that the ids of its letters count."""
    return normalize("NFC", text) == text and not any(literal in text for literal in literals)


def compare(
    name: str, ours: Any, data: Path, theirs: Ids, keep: Callable[[str], bool] = lambda _: True
) -> None:
    """Ids of ours against those of another library, over the corpora and strings of tokens."""
    tokens = [token for token in (ours.id_to_token(i) for i in range(0, len(ours), 7)) if token is not None]

    def check(texts: list[str]) -> None:
        kept = [text for text in texts if keep(text)]
        assert ours.encode_batch(kept).to_lists() == theirs(kept)

    print(compare_all(name, tokens, data, False, check))


def of_tokenizers(path: Path) -> Ids:
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(str(path))
    return lambda texts: [e.ids for e in tok.encode_batch(texts, add_special_tokens=False)]


def of_tiktoken(path: Path, pattern: str) -> Ids:
    from tiktoken import Encoding

    lines = (line.split() for line in path.read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    encoding = Encoding("converted", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda texts: [encoding.encode_ordinary(text) for text in texts]


def of_tekken(theirs: Any) -> Ids:
    return lambda texts: [theirs.encode(text, bos=False, eos=False) for text in texts]


PATTERNS = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "qwen2": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}


@pytest.mark.parametrize(("folder", "split"), [("gpt2", "gpt2"), ("qwen2.5", "qwen2")])
@pytest.mark.parametrize("to", ["vocab+merges", "tiktoken"])
def test_bytes_and_back(
    native: Any, data: Path, real: list[Path], tmp_path: Path, folder: str, split: str, to: str
) -> None:
    path = data / "vocab" / folder / "tokenizer.json"
    tok = native.load(path)
    has_form = folder == "qwen2.5"  # NFC, which ranks and merges cannot say
    if has_form:
        with pytest.raises(native.FormatError, match="normalizer"):
            native.convert(path, tmp_path / "x/", to=to)
    done = native.convert(path, tmp_path / "there", to=to, verify=real, lossy=has_form)
    assert done.written
    assert done.differing == 0 or has_form
    again = native.load(tmp_path / "there", split=done.split, special_tokens=done.special_tokens)

    def alike(texts: list[str]) -> None:
        kept = [text for text in texts if not has_form or is_clean(text)]
        rows = tok.encode_batch(kept, special="parse").to_lists()
        assert again.encode_batch(kept, special="parse").to_lists() == rows
        assert again.decode_batch(rows) == tok.decode_batch(rows)

    print(compare_all(f"{folder} as {to}", list(tok.vocab)[::7], data, False, alike))
    if to == "tiktoken":
        theirs = of_tiktoken(tmp_path / "there", PATTERNS[split])
        literals = list(tok.added_tokens)
        compare("tiktoken", tok, data, theirs, lambda text: is_clean(text, literals=literals))
    back = native.convert(again, tmp_path / "back.json", verify=real)
    assert back.written
    assert back.differing == 0
    if not has_form:
        compare("tokenizers", again, data, of_tokenizers(tmp_path / "back.json"), lambda t: "<|" not in t)


GGUF = {
    "gpt2/tokenizer.json": ("gpt2", "gpt-2", "gpt-2"),
    "qwen2.5/tokenizer.json": ("gpt2", "qwen2", "qwen2"),
    "mistral-nemo/tekken.json": ("gpt2", "tekken", None),
    "llama3/tokenizer.json": ("gpt2", "llama-bpe", "llama-bpe"),
    "bert-base-uncased/tokenizer.json": ("bert", "default", "bert-bge"),
    "llama2/tokenizer.model": ("llama", "default", "llama-spm"),
    "sentencepiece-test/test_model.model": ("t5", "default", None),
}


@pytest.mark.parametrize("file", GGUF)
def test_gguf(native: Any, data: Path, real: list[Path], tmp_path: Path, file: str) -> None:
    model, pre, published = GGUF[file]
    target = tmp_path / "t.gguf"
    done = native.convert(data / "vocab" / file, target, verify=real)
    assert done.written
    assert done.is_same
    assert done.differing == 0
    tok, again = native.load(data / "vocab" / file), native.load(target)
    assert again == tok
    again.save(tmp_path / "again.gguf")
    assert (tmp_path / "again.gguf").read_bytes() == target.read_bytes()
    if published is not None:
        assert all(again.encode(text) == ids for text, ids in cases(data, published))
    if file.endswith(".model"):
        back = native.convert(target, tmp_path / "back.model", verify=real)
        assert back.written
        assert back.is_same
        from sentencepiece import SentencePieceProcessor

        theirs = SentencePieceProcessor(model_file=str(tmp_path / "back.model"))
        compare("sentencepiece", again, data, theirs.encode)
    gguf = pytest.importorskip("gguf", reason="the package gguf is not installed: pip install gguf==0.19.0")
    fields = gguf.GGUFReader(target).fields
    key = {name: field.contents() for name, field in fields.items()}
    assert (key["tokenizer.ggml.model"], key["tokenizer.ggml.pre"]) == (model, pre)
    assert len(key["tokenizer.ggml.tokens"]) == len(key["tokenizer.ggml.token_type"]) == tok.max_id + 1
    assert key["general.architecture"]


@pytest.mark.parametrize("file", ["gpt2", "qwen2.5", "llama3", "bert-base-uncased"])
def test_the_keys_of_llama_cpp_alone_say_the_ids(native: Any, data: Path, tmp_path: Path, file: str) -> None:
    """What llama.cpp reads: without the tokenizer.json that is in the file too."""
    tok = native.load(data / "vocab" / file / "tokenizer.json")
    target = tmp_path / "t.gguf"
    tok.save(target, lossy=True)
    assert b"tokenizer.huggingface.json" not in target.read_bytes()
    plain = native.load(target)

    def keep(text: str) -> bool:
        # llama.cpp has no normal forms, no longest word, and takes <|endoftext|> for a control token always.
        return is_clean(text, literals=tok.added_tokens) and max(map(len, text.split()), default=0) <= 100

    compare(f"{file}, plain", plain, data, lambda texts: tok.encode_batch(texts).to_lists(), keep)


def test_tekken_and_back(native: Any, data: Path, real: list[Path], tmp_path: Path) -> None:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    folder = data / "vocab" / "mistral-nemo"
    there = native.convert(folder / "tekken.json", tmp_path / "json/", to="tokenizer.json", verify=real)
    assert there.written
    assert there.is_same
    for source, name in [(folder / "tokenizer.json", "a"), (tmp_path / "json", "b")]:
        target = tmp_path / name / "tekken.json"
        target.parent.mkdir()
        back = native.convert(source, target, verify=real)
        assert back.written
        assert back.differing == 0
        ours, theirs = native.load(target), Tekkenizer.from_file(target)
        compare(f"tekken {name}", ours, data, of_tekken(theirs))
    assert back.is_same
    compare(
        "tokenizers",
        native.load(target),
        data,
        of_tokenizers(folder / "tokenizer.json"),
        lambda t: "[" not in t and "<" not in t,
    )


def test_bert_and_back(native: Any, data: Path, real: list[Path], tmp_path: Path) -> None:
    folder = data / "vocab" / "bert-base-uncased"
    there = native.convert(folder / "tokenizer.json", tmp_path / "vocab.txt", verify=real, lossy=True)
    assert there.written
    assert there.differing == 0
    back = native.convert(tmp_path / "vocab.txt", tmp_path / "back/", verify=real)
    assert back.written
    assert back.is_same
    ours = native.load(tmp_path / "back")
    literals = list(ours.added_tokens)
    compare(
        "tokenizers",
        ours,
        data,
        of_tokenizers(folder / "tokenizer.json"),
        lambda t: not any(x in t for x in literals),
    )
    assert json.loads((folder / "tokenizer.json").read_bytes())["model"]["vocab"] == ours.vocab
