"""The real SentencePiece models, tekken.json and GGUF files that are damaged, cut like the others."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from . import keys, sources
from .keys import Keys
from .making import Source
from .messages import NORMAL, VARINT, Model, fields, with_field
from .sources import KEPT

# ---- SentencePiece ----------------------------------------------------------------------------------

MODELS = {
    "botchan": "sentencepiece-test/test_model.model",
    "japanese": "sentencepiece-test/test_ja_model.model",
    "llama2": "llama2/tokenizer.model",
    "mistral": "mistral-7b-v0.3/tokenizer.model.v3",
}
TRAINER, NORMALIZER = 2, 3
VOCAB_SIZE, CHARSMAP = 4, 2


@cache
def sentencepiece(data: Path, name: str) -> Source:
    """A published model: its first pieces, and the last, which are characters."""
    model = model_of(data, name)
    others = {"charsmap": charsmap(model_of(data, "botchan"))}
    return Source(
        {"tokenizer.model": model.to_bytes()}, "tokenizer.model", others=others, saves_as="sentencepiece"
    )


def model_of(data: Path, name: str) -> Model:
    model = Model.of((data / "vocab" / MODELS[name]).read_bytes())
    last = KEPT // 5
    pieces = model.pieces
    if len(pieces) > KEPT:
        first = [piece for piece in pieces[:-last] if piece.kind != NORMAL]
        first += [piece for piece in pieces[:-last] if piece.kind == NORMAL][: KEPT - last]
        pieces = [*first, *pieces[-last:]]
    model = model.with_pieces(pieces)
    return model.with_part(TRAINER, lambda part: with_field(part, VOCAB_SIZE, VARINT, len(pieces)))


def charsmap(model: Model) -> bytes:
    return next(bytes(value) for which, _, value in fields(model.part(NORMALIZER)) if which == CHARSMAP)


# ---- tekken.json ------------------------------------------------------------------------------------

TEKKEN = {
    "nemo": "mistral-nemo/tekken.json",
    "240718": "tekken_240718.json",
    "240911": "tekken_240911.json",
}


@cache
def tekken(data: Path, name: str) -> Source:
    """The first ranks of a published file; of those that list more than they use, some more."""
    if name == "240911, named":
        # As later files have it: the special tokens by name.
        document = json.loads(tekken(data, "240911").bytes_of("tekken.json"))
        document["special_tokens"] = [
            {"rank": rank, "token_str": token, "is_control": True}
            for rank, token in enumerate(special_names())
        ]
        document["config"]["version"] = "v11"
    else:
        document = json.loads(tekken_path(data, name).read_bytes())
        config, vocab = document["config"], document["vocab"]
        unused = min(100, len(vocab) + config["default_num_special_tokens"] - config["default_vocab_size"])
        document["vocab"] = vocab[: KEPT + unused]
        config["num_vocab_tokens"] = KEPT + unused
        config["default_vocab_size"] = KEPT + config["default_num_special_tokens"]
    return Source({"tekken.json": json.dumps(document).encode()}, "tekken.json")


def tekken_path(data: Path, name: str) -> Path:
    if "/" in TEKKEN[name]:
        return data / "vocab" / TEKKEN[name]
    import mistral_common

    return Path(str(mistral_common.__file__)).parent / "data" / TEKKEN[name]


def special_names() -> list[str]:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    return [str(token["token_str"]) for token in Tekkenizer.DEPRECATED_SPECIAL_TOKENS]


# ---- GGUF -------------------------------------------------------------------------------------------


@cache
def gguf(data: Path, name: str) -> Source:
    """A published file, cut; or one made of a tokenizer.json or a SentencePiece model that was."""
    if name == "qwen2":
        found = of_tokenizer_json(sources.tokenizer_json(data, "qwen2.5"), name)
    elif name == "t5":
        found = of_model(model_of(data, "botchan"))
    else:
        found = cut(Keys.of((data / "vocab" / "gguf" / f"ggml-vocab-{name}.gguf").read_bytes()))
    return Source({"vocab.gguf": found.to_bytes()}, "vocab.gguf")


def cut(found: Keys) -> Keys:
    """Keep the first tokens and those that are not ordinary."""
    tokens = found.texts("tokens")
    kinds = found.numbers("token_type")
    vocab = {token.decode(): i for i, token in enumerate(tokens)}
    special = {vocab_id for name, vocab_id in found.ids()}
    if found.has("merges"):
        model: dict[str, Any] = {
            "vocab": vocab,
            "merges": [merge.decode() for merge in found.texts("merges")],
        }
        kept = {vocab[token] for token in sources.kept_tokens(model)}
        found = found.with_texts("merges", [merge.encode() for merge in model["merges"]])
    else:
        kept = {i for i in range(len(tokens)) if i < KEPT}
    others = [i for i, kind in enumerate(kinds) if kind != NORMAL and i >= KEPT]
    kept |= special | set(others[:10])
    order = sorted(kept)
    found = found.with_texts("tokens", [tokens[i] for i in order])
    for name in ("scores", "token_type"):
        if found.has(name):
            found = found.with_items(name, order)
    for name, number in found.ids():
        found = found.with_plain(name, order.index(number))
    return found


def of_tokenizer_json(source: Source, pre: str) -> Keys:
    document = json.loads(source.bytes_of(source.opens))
    ids: dict[str, int] = dict(document["model"]["vocab"])
    kinds = dict.fromkeys(ids, NORMAL)
    for added in document["added_tokens"]:
        ids[added["content"]] = added["id"]
        kinds[added["content"]] = 3 if added["special"] else 4
    tokens = sorted(ids, key=ids.__getitem__)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in document["model"]["merges"]]
    return (
        Keys.made({"model": "gpt2", "pre": pre})
        .with_texts("tokens", [token.encode() for token in tokens])
        .with_new("token_type", keys.I32, [kinds[token] for token in tokens])
        .with_texts("merges", [merge.encode() for merge in merges])
        .with_new("eos_token_id", keys.U32, ids["<|endoftext|>"])
    )


def of_model(model: Model) -> Keys:
    return (
        Keys.made({"model": "t5"})
        .with_texts("tokens", [piece.text for piece in model.pieces])
        .with_raw("scores", keys.F32, b"".join(piece.score for piece in model.pieces))
        .with_new("token_type", keys.I32, [piece.kind for piece in model.pieces])
        .with_new("bos_token_id", keys.U32, 1)
        .with_new("eos_token_id", keys.U32, 2)
        .with_new("unknown_token_id", keys.U32, 0)
        .with_new("add_space_prefix", keys.BOOL, True)
        .with_new("remove_extra_whitespaces", keys.BOOL, True)
        .with_raw("precompiled_charsmap", keys.U8, charsmap(model))
    )
