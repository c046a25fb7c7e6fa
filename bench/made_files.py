"""Files that are made of published ones, where a kind of tokenizer has no file in the shared data.

Byte-level files and those of BERT are made with the library tokenizers, or written as its format says, never
with our own code: a fault of ours could not show otherwise.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import data

T = TypeVar("T", str, bytes)
Ranks = Mapping[bytes, int]
GEMMA_PIECES = 256_000


def made(name: str, sources: tuple[Path, ...], make: Callable[[], str | bytes]) -> Path:
    """The file of this name in the scratch folder, made once and again when a source is newer."""
    target = data.scratch() / name
    newest = max(path.stat().st_mtime for path in sources)
    if not target.exists() or target.stat().st_mtime < newest:
        content = make()
        partial = target.with_suffix(".partial")
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        partial.replace(target)
    return target


def byte_characters() -> dict[int, str]:
    """The character that stands for each byte in a byte-level ``tokenizer.json``."""
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printing)]
    return {byte: chr(byte) for byte in printing} | {byte: chr(256 + n) for n, byte in enumerate(others)}


def of_ranks(ranks: Ranks, pattern: str | None) -> str:
    """A byte-level ``tokenizer.json`` with the merges that the ranks stand for."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    characters = byte_characters()

    def written(token: bytes) -> str:
        return "".join(characters[byte] for byte in token)

    merges = []
    for token, rank in sorted(ranks.items(), key=lambda entry: entry[1]):
        if len(token) > 1:
            parts = _parts([token[at : at + 1] for at in range(len(token))], rank, ranks)
            if len(parts) == 2:
                merges.append((written(parts[0]), written(parts[1])))
    model = models.BPE(vocab={written(token): rank for token, rank in ranks.items()}, merges=merges)
    tokenizer = Tokenizer(model)
    stages: list[Any] = [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    if pattern is not None:
        stages.insert(0, pre_tokenizers.Split(Regex(pattern), "isolated"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(stages)
    tokenizer.decoder = decoders.ByteLevel()
    written_out: dict[str, Any] = json.loads(tokenizer.to_str())
    return json.dumps(written_out, ensure_ascii=False)


def with_stages(file: Path, **stages: Any) -> str:
    """The published ``tokenizer.json`` with other stages: ``pre_tokenizer=``, ``normalizer=``."""
    content = json.loads(file.read_text(encoding="utf-8"))
    return json.dumps({**content, **stages}, ensure_ascii=False)


STARCODER = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ],
}
FALCON = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "Punctuation", "behavior": "Contiguous"},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        {"type": "Digits", "individual_digits": False},
        {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated", "invert": False},
    ],
}
LLAMA4_TOKENS = ("<|begin_of_text|>", "<|end_of_text|>", "<|header_start|>", "<|header_end|>", "<|eot|>")
LLAMA4_RESERVED = 1_130
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def like_llama4(file: Path) -> str:
    """The ranks and the split of o200k with as many added tokens as Llama 4 has."""
    content = json.loads(file.read_text(encoding="utf-8"))
    first = max(content["model"]["vocab"].values()) + 1
    reserved = (f"<|reserved_special_token_{number}|>" for number in range(LLAMA4_RESERVED))
    content["added_tokens"] = [
        {"id": first + number, "content": token, "special": True, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for number, token in enumerate((*LLAMA4_TOKENS, *reserved))
    ]
    return json.dumps(content, ensure_ascii=False)


def _replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def like_albert(file: Path, *, lower_case: bool) -> str:
    """T5's pieces behind the normalizers of ALBERT (with ``lower_case``) or XLNet."""
    content = json.loads(file.read_text(encoding="utf-8"))
    stages = [_replace({"String": "``"}, '"'), _replace({"String": "''"}, '"')]
    stages += [{"type": "NFKD"}, {"type": "StripAccents"}]
    if lower_case:
        stages.append({"type": "Lowercase"})
    stages += [content["normalizer"], _replace({"Regex": " {2,}"}, " ")]
    content["normalizer"] = {"type": "Sequence", "normalizers": stages}
    content["pre_tokenizer"] = METASPACE
    content["decoder"] = METASPACE
    return json.dumps(content, ensure_ascii=False)


def unigram_model(file: Path) -> bytes:
    """The pieces, scores and map of a Unigram ``tokenizer.json`` in the format of sentencepiece."""
    formats: Any = import_module("sentencepiece.sentencepiece_model_pb2")
    content = json.loads(file.read_text(encoding="utf-8"))
    unknown = content["model"]["unk_id"]
    special = {token["content"] for token in content["added_tokens"]}
    model = formats.ModelProto()
    kinds = formats.ModelProto.SentencePiece
    for number, (piece, score) in enumerate(content["model"]["vocab"]):
        kind = kinds.CONTROL if piece in special else kinds.NORMAL
        model.pieces.add(piece=piece, score=score, type=kinds.UNKNOWN if number == unknown else kind)
    spec = model.trainer_spec
    spec.model_type = formats.TrainerSpec.UNIGRAM
    spec.pad_id, spec.eos_id, spec.unk_id, spec.bos_id = 0, 1, unknown, -1
    model.normalizer_spec.name = "nmt_nfkc"
    model.normalizer_spec.precompiled_charsmap = base64.b64decode(
        content["normalizer"]["precompiled_charsmap"]
    )
    return bytes(model.SerializeToString())


def like_gemma(*sources: Ranks) -> str:
    """SentencePiece BPE of 256,000 pieces, with byte fallback and nothing that splits.

    The pieces are the tokens of rank files that are whole characters, in their order; what their merges
    need besides, such as the characters, comes first.
    """
    order: dict[str, int] = {}
    for found in sources:
        for token in sorted(found, key=found.__getitem__):
            try:
                piece = token.decode().replace(" ", "▁")
            except UnicodeDecodeError:
                continue
            order.setdefault(piece, len(order))
    characters = dict.fromkeys(character for piece in order for character in piece)
    symbols = ["<pad>", "<eos>", "<bos>", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *characters]
    merges: list[tuple[str, str]] = []
    joined: list[str] = []
    reachable = dict.fromkeys(characters, -1)
    for piece, rank in order.items():
        if len(piece) == 1:
            continue
        parts = _parts(list(piece), rank, reachable)
        if len(parts) == 2:
            reachable[piece] = rank
            merges.append((parts[0], parts[1]))
            joined.append(piece)
        if len(symbols) + len(joined) == GEMMA_PIECES:
            break
    vocabulary = {piece: number for number, piece in enumerate(symbols + joined)}
    special = [
        {"id": number, "content": content, "special": True, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for number, content in enumerate(symbols[:4])
    ]
    space = {"String": " "}
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": special,
            "normalizer": _replace(space, "▁"),
            "pre_tokenizer": {
                "type": "Split",
                "pattern": space,
                "behavior": "MergedWithPrevious",
                "invert": False,
            },
            "post_processor": None,
            "decoder": {
                "type": "Sequence",
                "decoders": [_replace({"String": "▁"}, " "), {"type": "ByteFallback"}, {"type": "Fuse"}],
            },
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": "<unk>",
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": True,
                "byte_fallback": True,
                "vocab": vocabulary,
                "merges": [list(merge) for merge in merges],
            },
        },
        ensure_ascii=False,
    )


def bert_of(words: Path) -> str:
    """A ``tokenizer.json`` of a ``vocab.txt``, with the settings that BERT was published with."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    lines = words.read_text(encoding="utf-8").splitlines()
    model = models.WordPiece(
        {word: number for number, word in enumerate(lines)}, unk_token="[UNK]", max_input_chars_per_word=100
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return str(tokenizer.to_str())


def _parts(parts: list[T], rank: int, ranks: Mapping[T, int]) -> list[T]:
    """What stands in the place of a token when only lower ranks have been merged."""
    while len(parts) > 2:
        joined = [ranks.get(left + right, rank) for left, right in pairwise(parts)]
        lowest = min(joined)
        if lowest >= rank:
            break
        at = joined.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts
