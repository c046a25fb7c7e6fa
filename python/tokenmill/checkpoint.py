"""``tokenmill.check_checkpoint``: whether a model on disk can have been trained with a tokenizer.

Only headers are read: of ``*.safetensors`` the JSON with names, types and shapes, and none of the data.
The layout is that of the format's documentation (huggingface/safetensors, README, "Format"): eight bytes
with the length of the header as a little-endian number, then the header.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._core import Tokenizer
from ._doctor.examined import found, listed, some
from ._files import decode
from .errors import FormatError
from .findings import Finding, Findings

__all__ = ["check_checkpoint", "has_checkpoint"]

MOST_HEADER = 100_000_000
"""The most bytes of a header, as the format's own library has it."""
MOST_JSON = 1 << 28
"""The most bytes of another JSON file."""
MOST_FILES = 10_000
"""The most ``*.safetensors`` of a folder."""

INDEX = "model.safetensors.index.json"

EMBEDDINGS = (
    "model.embed_tokens.weight",
    "transformer.wte.weight",
    "wte.weight",
    "embed_tokens.weight",
    "tok_embeddings.weight",
    "model.tok_embeddings.weight",
    "gpt_neox.embed_in.weight",
    "backbone.embeddings.weight",
    "model.decoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "transformer.word_embeddings.weight",
    "word_embeddings.weight",
    "model.language_model.embed_tokens.weight",
    "language_model.model.embed_tokens.weight",
    "bert.embeddings.word_embeddings.weight",
    "embeddings.word_embeddings.weight",
    "roberta.embeddings.word_embeddings.weight",
    "shared.weight",
)
"""Names under which models keep the rows of their tokens."""

HEADS = (
    "lm_head.weight",
    "language_model.lm_head.weight",
    "output.weight",
    "embed_out.weight",
    "transformer.output_layer.weight",
    "cls.predictions.decoder.weight",
)
"""Names under which models keep the rows that predict tokens."""

CONFIGURED = {"architectures", "eos_token_id", "model_type", "text_config", "vocab_size"}
"""Keys of which the configuration of a model has at least one."""


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor by its header."""

    name: str
    shape: tuple[int, ...]
    file: str


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """What is known of a model: configurations as they stand, tensors by name."""

    config: Mapping[str, Any] | None
    generation: Mapping[str, Any] | None
    tensors: Mapping[str, _Tensor] | None


def has_checkpoint(folder: Path) -> bool:
    """Whether there is anything in a folder that ``check_checkpoint`` reads."""
    names = ("config.json", "generation_config.json")
    return any((folder / name).is_file() for name in names) or any(folder.glob("*.safetensors"))


def check_checkpoint(
    tok: Tokenizer, folder: str | os.PathLike[str], *, embedding: str | None = None
) -> Findings:
    """Whether the model in ``folder`` fits ``tok``: a row for every id, and the same ids of special tokens.

    ``folder`` has ``config.json``, ``generation_config.json`` and ``*.safetensors``, each where it is
    there; or it is one such JSON file. Of tensors only headers are read, so that it takes milliseconds
    whatever the size of the model. ``embedding`` names the tensor of the token embedding where it has a
    name that is not known.

    The checks (docs/doctor.md): ``embedding_rows`` and ``head_rows`` pass with more rows than ids, as
    models pad them, and fail with fewer; ``tied_heads``; ``config_vocab_size``; ``config_bos``,
    ``config_eos``, ``config_pad`` and ``generation_bos``, ``generation_eos``, ``generation_pad``. What the
    folder does not say is in ``skipped``.

    Raises ``FileNotFoundError`` for a folder that is not there, or has none of the files, ``FormatError``
    with file, field and reason for a header or a JSON file that is broken and for an ``embedding`` that no
    file holds, and ``TypeError`` for another type.

    >>> import json, pathlib, tempfile, tokenmill
    >>> tok = tokenmill.train(texts=["low"], num_merges=2, special_tokens=["</s>"], eos_token="</s>")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     config = {"vocab_size": 320, "eos_token_id": 0}
    ...     _ = pathlib.Path(folder, "config.json").write_text(json.dumps(config))
    ...     checked = tokenmill.check_checkpoint(tok, folder)
    >>> checked["config_vocab_size"].message
    'vocab_size is 320, for ids up to 256'
    >>> checked.ok(strict=True)
    True
    """
    if not isinstance(tok, Tokenizer):
        raise TypeError(f"tok must be a Tokenizer, not {type(tok).__name__}")
    if not isinstance(folder, str | os.PathLike) or not isinstance(os.fspath(folder), str):
        raise TypeError(f"folder must be str or os.PathLike, not {type(folder).__name__}")
    if embedding is not None and not isinstance(embedding, str):
        raise TypeError(f"embedding must be str, not {type(embedding).__name__}")
    checkpoint = _read(Path(folder))
    skipped: dict[str, str] = {}
    rows = [
        *_tensors(tok, checkpoint, embedding, Path(folder), skipped),
        *_configured(tok, checkpoint, skipped),
    ]
    return Findings(tuple(rows), skipped)


# ---- reading ----------------------------------------------------------------------------------


def _read(place: Path) -> _Checkpoint:
    if not place.is_dir():
        parsed = _json(place)
        if place.name.startswith("generation"):
            return _Checkpoint(None, parsed, None)
        if not CONFIGURED.intersection(parsed):
            reason = "it says nothing of a model: none of " + ", ".join(sorted(CONFIGURED))
            raise _broken(place, "", "wrong-kind", reason)
        return _Checkpoint(parsed, None, None)
    config = _json(place / "config.json") if (place / "config.json").exists() else None
    generation_file = place / "generation_config.json"
    generation = _json(generation_file) if generation_file.exists() else None
    files = sorted(place.glob("*.safetensors"))
    if len(files) > MOST_FILES:
        reason = f"{len(files):,} files of tensors; at most {MOST_FILES:,} are read"
        raise _broken(place, "", "limit", reason, MOST_FILES)
    tensors: dict[str, _Tensor] | None = None
    if files:
        tensors = {}
        for file in files:
            for tensor in _header(file):
                tensors[tensor.name] = tensor
        _check_index(place, tensors, {file.name for file in files})
    if config is None and generation is None and tensors is None:
        reason = "no config.json, generation_config.json or *.safetensors"
        raise FileNotFoundError(2, reason, str(place))
    return _Checkpoint(config, generation, tensors)


def _check_index(place: Path, tensors: Mapping[str, _Tensor], files: set[str]) -> None:
    """Refuse an index that names files or tensors which are not there: then tensors are missing."""
    path = place / INDEX
    if not path.exists():
        return
    names = _json(path).get("weight_map")
    if not isinstance(names, dict):
        raise _broken(path, "weight_map", "type", "it must be an object of files by tensor")
    for name, file in names.items():
        if file not in files:
            raise _broken(path, f"weight_map.{name}", "missing", f"the file {file!r} is not in the folder")
        if name not in tensors or tensors[name].file != file:
            raise _broken(path, f"weight_map.{name}", "inconsistent", f"the tensor is not in {file}")


def _json(path: Path) -> dict[str, Any]:
    """An object from a JSON file."""
    size = path.stat().st_size
    if size > MOST_JSON:
        raise _broken(path, "", "limit", f"it has {size:,} bytes; at most {MOST_JSON:,} are read", MOST_JSON)
    try:
        parsed = json.loads(decode(path.read_bytes()))
    except (ValueError, RecursionError) as error:
        raise _broken(path, "", "syntax", f"it is no JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise _broken(path, "", "type", f"it must hold an object, not {type(parsed).__name__}")
    return parsed


def _header(path: Path) -> Iterator[_Tensor]:
    """The tensors of a file, by its header, whose sizes are checked before anything is read."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        if len(start) < 8:
            raise _broken(path, "header", "truncated", f"it has {size} bytes, less than the 8 of the length")
        length: int = struct.unpack("<Q", start)[0]
        if length > MOST_HEADER:
            reason = f"the header would have {length:,} bytes; at most {MOST_HEADER:,} are read"
            raise _broken(path, "header", "limit", reason, MOST_HEADER)
        if 8 + length > size:
            reason = f"the header would have {length:,} bytes, and the file has {size - 8:,} after its length"
            raise _broken(path, "header", "truncated", reason)
        data = file.read(length)
    if len(data) < length:
        raise _broken(path, "header", "truncated", "the file became shorter while it was read")
    try:
        entries = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _broken(path, "header", "syntax", f"it is no JSON: {error}") from error
    if not isinstance(entries, dict):
        raise _broken(path, "header", "type", f"it must be an object, not {type(entries).__name__}")
    left = size - 8 - length
    for name, entry in entries.items():
        if name == "__metadata__":
            continue
        shape = entry.get("shape") if isinstance(entry, dict) else None
        ends = entry.get("data_offsets") if isinstance(entry, dict) else None
        if not isinstance(shape, list) or not all(_is_count(number) for number in shape):
            raise _broken(path, f"header.{name}.shape", "type", "it must be a list of sizes")
        if not isinstance(ends, list) or len(ends) != 2 or not all(_is_count(end) for end in ends):
            raise _broken(path, f"header.{name}.data_offsets", "type", "it must be a begin and an end")
        if not ends[0] <= ends[1] <= left:
            reason = f"{ends} is not within the {left:,} bytes after the header"
            raise _broken(path, f"header.{name}.data_offsets", "truncated", reason)
        yield _Tensor(name, tuple(shape), path.name)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _broken(path: Path, field: str, kind: str, reason: str, limit: int | None = None) -> FormatError:
    place = f"{path}: {field}" if field else str(path)
    return FormatError(
        f"{place}: {reason}", path=str(path), field=field, kind=kind, reason=reason, limit=limit
    )


# ---- tensors ----------------------------------------------------------------------------------


def _tensors(
    tok: Tokenizer, checkpoint: _Checkpoint, embedding: str | None, place: Path, skipped: dict[str, str]
) -> Iterator[Finding]:
    tensors = checkpoint.tensors
    if tensors is None:
        if embedding is not None:
            raise _broken(place, embedding, "missing", "there are no *.safetensors to find the tensor in")
        for name in ("embedding_rows", "head_rows", "tied_heads"):
            skipped[name] = "there are no *.safetensors"
        return
    table = _embedding(tensors, embedding, place)
    if table is None:
        skipped["embedding_rows"] = "no tensor has a known name of a token embedding: name it (embedding=)"
    else:
        yield _rows("embedding_rows", "the embedding", tok, table)
    head = next((tensors[name] for name in HEADS if name in tensors), None)
    if head is None:
        skipped["head_rows"] = "no tensor has a known name of an output matrix; it may be the embedding"
    else:
        yield _rows("head_rows", "the output matrix", tok, head)
    yield from _tied(checkpoint, table, head, skipped)


def _embedding(tensors: Mapping[str, _Tensor], name: str | None, place: Path) -> _Tensor | None:
    if name is None:
        return next((tensors[known] for known in EMBEDDINGS if known in tensors), None)
    if name not in tensors:
        near = listed([other for other in tensors if "emb" in other.lower()] or list(tensors))
        raise _broken(place, name, "missing", f"no file holds this tensor; there are {near}")
    return tensors[name]


def _needed(tok: Tokenizer) -> int:
    return tok.max_id + 1 if len(tok) else 0


def _rows(check: str, what: str, tok: Tokenizer, tensor: _Tensor) -> Finding:
    needed = _needed(tok)
    facts: dict[str, Any] = {
        "tensor": tensor.name,
        "file": tensor.file,
        "shape": list(tensor.shape),
        "needed": needed,
    }
    if len(tensor.shape) != 2:
        return found(
            check,
            "config",
            f"{what} ({tensor.name}) has shape {list(tensor.shape)}, and must have rows and columns",
            status="fail",
            way_out="name the tensor of the token embedding (embedding=)",
            **facts,
        )
    rows = tensor.shape[0]
    if rows < needed:
        beyond = sorted((id, token) for token, id in tok.vocab.items() if id >= rows)
        names = [token for _, token in beyond]
        return found(
            check,
            "config",
            f"{what} ({tensor.name}) has {rows:,} rows, and ids go up to {needed - 1:,}: {listed(names)}",
            status="fail",
            way_out="an id beyond the rows is an error or reads foreign memory: take the tokenizer of this "
            "model, or "
            f"resize to Tokenizer.embedding_plan({rows})",
            ids=some([id for id, _ in beyond]),
            **facts,
        )
    more = f", {rows - needed:,} more than ids" if rows > needed else ""
    return found(check, "config", f"{what} has {rows:,} rows{more}", **facts)


def _tied(
    checkpoint: _Checkpoint, table: _Tensor | None, head: _Tensor | None, skipped: dict[str, str]
) -> Iterator[Finding]:
    tied = _setting(checkpoint.config, "tie_word_embeddings")
    if table is None:
        skipped["tied_heads"] = "no embedding to compare with"
        return
    facts: dict[str, Any] = {
        "tie_word_embeddings": tied,
        "embedding": list(table.shape),
        "head": head and list(head.shape),
    }
    if head is None:
        if tied is False:
            yield found(
                "tied_heads",
                "config",
                "config.json says that the output matrix is one of its own, and there is none",
                status="fail",
                way_out="tensors are missing, or tie_word_embeddings is wrong",
                **facts,
            )
        else:
            yield found("tied_heads", "config", "the output matrix is the embedding", **facts)
        return
    if head.shape[:1] != table.shape[:1]:
        yield found(
            "tied_heads",
            "config",
            f"the output matrix has {head.shape[0] if head.shape else 0:,} rows, and the embedding "
            f"{table.shape[0] if table.shape else 0:,}",
            status="fail",
            way_out="both need a row for every id: resize them together",
            **facts,
        )
        return
    yield found("tied_heads", "config", "the output matrix has as many rows as the embedding", **facts)


# ---- configurations ---------------------------------------------------------------------------


def _setting(config: Mapping[str, Any] | None, name: str) -> Any:
    """A setting of a model, or of the text model that is part of it."""
    if config is None:
        return None
    if config.get(name) is not None:
        return config[name]
    inner = config.get("text_config")
    return inner.get(name) if isinstance(inner, dict) else None


def _configured(tok: Tokenizer, checkpoint: _Checkpoint, skipped: dict[str, str]) -> Iterator[Finding]:
    size = _setting(checkpoint.config, "vocab_size")
    if size is None:
        skipped["config_vocab_size"] = (
            "config.json does not say it" if checkpoint.config else "no config.json"
        )
    else:
        yield _vocab_size(tok, size)
    stops: list[int] = []
    for source, name, values in (
        ("config", "config.json", checkpoint.config),
        ("generation", "generation_config.json", checkpoint.generation),
    ):
        for role in ("bos", "eos", "pad"):
            check = f"{source}_{role}"
            value = _setting(values, f"{role}_token_id")
            if value is None:
                skipped[check] = f"{name} does not say it" if values is not None else f"no {name}"
                continue
            ids = value if isinstance(value, list) else [value]
            if role == "eos":
                stops += [id for id in ids if _is_count(id)]
            yield _role(tok, check, name, role, ids, beside=_eos_beside(checkpoint, source))


def _eos_beside(checkpoint: _Checkpoint, source: str) -> list[Any]:
    """The ids at which generation stops, for what config.json says alone."""
    if source != "config":
        return []
    value = _setting(checkpoint.generation, "eos_token_id")
    return value if isinstance(value, list) else [] if value is None else [value]


def _vocab_size(tok: Tokenizer, size: Any) -> Finding:
    needed = _needed(tok)
    if not _is_count(size) or size < needed:
        return found(
            "config_vocab_size",
            "config",
            f"vocab_size is {size!r}, and ids go up to {needed - 1:,}",
            status="fail",
            way_out="the configuration belongs to another tokenizer, or tokens were added without resizing",
            vocab_size=size,
            needed=needed,
        )
    if size > 2 * needed + 1024:
        return found(
            "config_vocab_size",
            "config",
            f"vocab_size is {size:,}, more than twice the {needed:,} that ids need",
            status="warn",
            way_out="rows are padded by some hundreds: this is the configuration of another tokenizer",
            vocab_size=size,
            needed=needed,
        )
    return found(
        "config_vocab_size",
        "config",
        f"vocab_size is {size:,}, for ids up to {needed - 1:,}",
        vocab_size=size,
        needed=needed,
    )


def _role(tok: Tokenizer, check: str, name: str, role: str, ids: list[Any], *, beside: list[Any]) -> Finding:
    own: int | None = getattr(tok, f"{role}_token_id")
    special = set(tok.special_tokens.values())
    shown = ", ".join(_named(tok, id) for id in ids)
    field = f"{role}_token_id"
    facts: dict[str, Any] = {"file": name, "ids": list(ids), "tokenizer": own}
    unknown = [id for id in ids if not _is_count(id) or tok.id_to_token(id) is None]
    if unknown:
        # -1 and the like say that there is none.
        is_none = all(isinstance(id, int) and id < 0 for id in unknown)
        return found(
            check,
            "config",
            f"{field} in {name} is {shown}: no token has the id",
            status="warn" if is_none else "fail",
            way_out="write the id of the token, or null",
            **facts,
        )
    if own is None:
        ordinary = [id for id in ids if id not in special]
        if ordinary:
            return found(
                check,
                "config",
                f"{field} in {name} is {shown}, which is no special token, and the tokenizer names none",
                status="warn",
                way_out="the id may be of another tokenizer: compare it with special_tokens",
                **facts,
            )
        return found(check, "config", f"{field} in {name} is {shown}; the tokenizer names none", **facts)
    if own in ids:
        return found(check, "config", f"{field} in {name} is {shown}, as in the tokenizer", **facts)
    if role == "eos" and own in beside and all(id in beside for id in ids):
        reason = f"{field} in {name} is {shown}; generation stops at {_named(tok, own)}, too"
        return found(check, "config", reason, **facts)
    return found(
        check,
        "config",
        f"{field} in {name} is {shown}, and the tokenizer's is {_named(tok, own)}",
        status="fail" if any(id not in special for id in ids) or role == "eos" else "warn",
        way_out={
            "eos": "generation stops at another token than turns end with: name all tokens that end an "
            "answer",
            "bos": "texts begin with another token than in training: compare with the published "
            "configuration",
            "pad": "rows are padded with one id and masked by another: name the same in both",
        }[role],
        **facts,
    )


def _named(tok: Tokenizer, id: Any) -> str:
    token = tok.id_to_token(id) if _is_count(id) and id < 1 << 32 else None
    return f"{id!r}" if token is None else f"{id} ({token})"
