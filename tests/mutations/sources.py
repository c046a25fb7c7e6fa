"""The real files that are damaged: published ones, cut to their first tokens where they are large.

A cut file is sound: what it keeps refers to nothing that is gone.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

from .making import Content, Source
from .messages import Model, fields

KEPT = 3000
"""Tokens of a cut vocabulary."""


# ---- .tiktoken ------------------------------------------------------------------------------------

SPLITS = {"r50k_base": "gpt2", "cl100k_base": "cl100k", "o200k_base": "o200k"}
CUT = "cut-"
"""Prefix for the names of cut files: under the published name, `load` reports that the sha256 differs."""


@cache
def tiktoken(data: Path, name: str) -> Source:
    """The first ranks of a published encoding, with one special token behind them."""
    lines = (data / "vocab" / name / f"{name}.tiktoken").read_bytes().splitlines(keepends=True)
    file = f"{CUT}{name}.tiktoken"
    options = {"split": SPLITS[name], "special_tokens": {"<|endoftext|>": KEPT + 10}}
    return Source({file: b"".join(lines[:KEPT])}, file, options, "tiktoken")


# ---- tokenizer.json -------------------------------------------------------------------------------


@cache
def tokenizer_json(data: Path, name: str) -> Source:
    """A published tokenizer.json, cut; or what a SentencePiece model becomes for the tokenizers library."""
    if name in MODELS:
        document = converted(data / "vocab" / "sentencepiece-test" / MODELS[name])
    else:
        path = data / "vocab" / FOLDERS.get(name, name) / "tokenizer.json"
        document = cut(json.loads(path.read_bytes()))
    return Source({"tokenizer.json": written(document)}, "tokenizer.json")


FOLDERS = {"bert": "bert-base-uncased", "t5": "t5-small"}
MODELS = {"sentencepiece": "test_model.model", "sentencepiece-ja": "test_ja_model.model"}


def written(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, indent=1).encode()


def converted(path: Path) -> Any:
    """The pieces, scores and character map of a model."""
    from sentencepiece import SentencePieceProcessor

    pieces = SentencePieceProcessor(model_file=str(path))
    special = ["<unk>", "<s>", "</s>"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    mark = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, "content": token, **flags} for i, token in enumerate(special)],
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap(path.read_bytes())},
        "pre_tokenizer": mark,
        "post_processor": None,
        "decoder": mark,
        "model": {
            "type": "Unigram",
            "unk_id": 0,
            "vocab": [[pieces.id_to_piece(i), pieces.get_score(i)] for i in range(len(pieces))],
            "byte_fallback": False,
        },
    }


NORMALIZER_SPEC = 3
PRECOMPILED_CHARSMAP = 2


def charsmap(model: bytes) -> str:
    """The table of a model's normalizer, in base64."""
    rules = Model.of(model).part(NORMALIZER_SPEC)
    table = next(value for number, _, value in fields(rules) if number == PRECOMPILED_CHARSMAP)
    return base64.b64encode(table).decode()


def cut(document: Any) -> Any:
    """Keep the first tokens, and number them and the added tokens behind them anew."""
    model = document["model"]
    vocab = model["vocab"]
    template = special_of_templates(document["post_processor"])
    added = document["added_tokens"]
    added = [token for i, token in enumerate(added) if i < 10 or token["content"] in template]
    if isinstance(vocab, list):
        model["vocab"] = vocab[:KEPT]
        ids = {token: i for i, (token, _) in enumerate(model["vocab"])}
    else:
        kept = {token["content"] for token in added} | kept_tokens(model)
        ids = {token: i for i, token in enumerate(sorted(vocab.keys() & kept, key=vocab.__getitem__))}
        model["vocab"] = ids
    numbers = dict(ids)
    for token in added:
        token["id"] = numbers.setdefault(token["content"], len(numbers))
    for token in template.values():
        token["ids"] = [numbers[one] for one in token["tokens"]]
    return {**document, "added_tokens": added}


def special_of_templates(processor: Any) -> Any:
    """The table of the template, of which the ids are numbered anew."""
    if processor is None:
        return {}
    table = dict(processor.get("special_tokens", {}))
    for step in processor.get("processors", []):
        table |= special_of_templates(step)
    return table


def kept_tokens(model: Any) -> set[str]:
    """What a cut vocabulary keeps; the merges beyond it are taken out."""
    vocab = model["vocab"]
    if "merges" not in model:
        return {token for token, number in vocab.items() if number < KEPT}
    kept = {token for token in vocab if len(token) == 1 or token.startswith("<0x")}
    merges: list[Any] = []
    for merge in model["merges"]:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        if len(merges) < KEPT and {left, right} <= kept:
            merges.append(merge)
            kept.add(left + right)
    model["merges"] = merges
    return kept


# ---- vocab.txt, vocab.json with merges.txt ----------------------------------------------------------


@cache
def vocab_files(data: Path, name: str) -> Source:
    """The first lines of a vocab.txt, or a vocab.json and merges.txt that fit together."""
    if name in WORDS:
        return Source({"vocab.txt": vocab_txt(data / "vocab" / WORDS[name])}, "vocab.txt")
    vocab = json.loads((data / "vocab" / name / "vocab.json").read_bytes())
    header, *merges = merges_txt(data, name)
    model = {"vocab": vocab, "merges": merges}
    kept = kept_tokens(model) | {SPECIALS[name]}
    tokens = sorted(vocab.keys() & kept, key=vocab.__getitem__)
    if SPECIALS[name] not in tokens:
        tokens.append(SPECIALS[name])
    files: dict[str, Content] = {
        "vocab.json": json.dumps({token: i for i, token in enumerate(tokens)}, ensure_ascii=False).encode(),
        "merges.txt": "".join(f"{line}\n" for line in [header, *model["merges"]]).encode(),
    }
    other = merges_txt(data, "gpt2" if name == "qwen2.5" else "qwen2.5")[: KEPT + 1]
    return Source(
        files,
        "vocab.json",
        {"split": "gpt2", "special_tokens": [SPECIALS[name]]},
        "vocab+merges",
        {"merges.txt": "".join(f"{line}\n" for line in other).encode()},
    )


def merges_txt(data: Path, name: str) -> list[str]:
    return (data / "vocab" / name / "merges.txt").read_text(encoding="utf-8").split("\n")[:-1]


WORDS = {
    "bert": "bert-base-uncased/vocab.txt",
    "bert-chinese": "bert-base-chinese/vocab.txt",
    "bge": "gguf/ggml-vocab-bert-bge.gguf",
}
SPECIALS = {"gpt2": "<|endoftext|>", "roberta-base": "</s>", "qwen2.5": "<|endoftext|>"}


def vocab_txt(path: Path) -> bytes:
    """The lines of a file, or the tokens of a GGUF file in the order of their ids."""
    if path.suffix == ".txt":
        # The Chinese one has a token of white space alone, which is empty when it is read.
        lines = [line for line in path.read_bytes().split(b"\n") if line.strip() and line.decode().strip()]
        return b"".join(line + b"\n" for line in lines[:KEPT])
    import tokenmill

    ids = tokenmill.load(path).vocab
    # Every other word, so that it is not the same file once more.
    tokens = sorted(ids, key=ids.__getitem__)
    return "".join(f"{token}\n" for i, token in enumerate(tokens) if i < 1500 or i % 12 == 0).encode()
