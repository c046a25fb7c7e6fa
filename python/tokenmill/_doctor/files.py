"""The files of a tokenizer: hashes, files of one folder that disagree, settings that surprise."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .._files import decode
from .._forks import waited_for
from .._load import load
from .._table import quoted
from ..errors import TokenmillError
from ..findings import Finding
from .examined import Examined, counted, found, listed, read_json, some

__all__ = ["checks", "hashes", "manifest_of"]

MANIFEST = "tokenmill.json"


def manifest_of(folder: Path | None) -> dict[str, Any]:
    """The manifest of a folder; empty where there is none."""
    parsed = None if folder is None else read_json(folder / MANIFEST)
    return parsed if isinstance(parsed, dict) and isinstance(parsed.get("files"), dict) else {}


def hashes(folder: Path) -> Finding | None:
    """``hashes``: the files of a folder against its manifest; None without one."""
    files = manifest_of(folder).get("files")
    if files is None:
        return None
    stale, missing = [], []
    for name, entry in files.items():
        path = folder / name
        expected = entry.get("sha256") if isinstance(entry, dict) else None
        if Path(name).name != name or not path.is_file():
            missing.append(name)
        elif hashlib.sha256(path.read_bytes()).hexdigest() != expected:
            stale.append(name)
    if stale or missing:
        parts = [f"changed since they were saved: {listed(stale)}"] if stale else []
        parts += [f"missing: {listed(missing)}"] if missing else []
        return found(
            "hashes",
            "manifest",
            "; ".join(parts),
            status="fail",
            way_out="restore the files that were saved together; where the change is meant, load the file "
            "by itself and save the folder again",
            changed=stale,
            missing=missing,
        )
    message = counted(len(files), "file is as it was", "files are as they were") + " saved"
    return found("hashes", "manifest", message, files=sorted(files))


def checks(examined: Examined) -> Iterator[Finding]:
    """The files one by one, then beside one another, then against the manifest."""
    yield from _tolerated(examined)
    if not examined.raw:
        for name in ("model_type", "file_limits", "added_ids"):
            examined.skip(name, "there is no tokenizer.json")
    else:
        yield _added_ids(examined)
        yield _model_type(examined)
        yield _file_limits(examined)
    yield from _padding_side(examined)
    yield from _agreement(examined)
    yield from _vectors(examined)


def _tolerated(examined: Examined) -> Iterator[Finding]:
    report = examined.tok.load_report
    if report is None:
        examined.skip("tolerated", "the tokenizer was not just loaded")
        return
    rows = [
        {"kind": row.kind, "file": row.file, "field": row.field, "reason": row.reason}
        for row in report.tolerated
    ]
    if rows:
        first = rows[0]
        place = ": ".join(part for part in (first["file"], first["field"]) if part)
        yield found(
            "tolerated",
            "file",
            f"{len(rows)} defects were read as the format's own library reads them; {place}: "
            f"{first['reason']}",
            status="warn",
            way_out="save the tokenizer again to write the files without them; strict=True refuses them",
            defects=some(rows),
        )
    else:
        yield found("tolerated", "file", "the files have no defect", files=report.files)


def _model_type(examined: Examined) -> Finding:
    kind = examined.raw["model"].get("type")
    if kind is None:
        return found(
            "model_type",
            "file",
            "model.type is missing from tokenizer.json",
            status="warn",
            way_out="programs then guess the model by its other fields, each in its own way: save it again",
        )
    return found("model_type", "file", f"model.type is {kind}", type=kind)


def _file_limits(examined: Examined) -> Finding:
    active = {name: examined.raw[name] for name in ("truncation", "padding") if examined.raw.get(name)}
    if active:
        length = (
            active["truncation"].get("max_length") if isinstance(active.get("truncation"), dict) else None
        )
        cut = f" (to {length} ids)" if length is not None else ""
        return found(
            "file_limits",
            "file",
            f"{' and '.join(active)} {'are' if len(active) > 1 else 'is'} active in tokenizer.json{cut}",
            status="warn",
            way_out="programs that load the file alone cut or pad every text; set it to null, and ask for "
            "it in calls",
            **active,
        )
    return found("file_limits", "file", "neither truncation nor padding is active in tokenizer.json")


def _added_ids(examined: Examined) -> Finding:
    """The ids that tokenizer.json gives its added tokens, and those that they have once it is loaded."""
    _, added = _ids_of(examined.raw)
    moved = {
        token: [id, examined.vocab[token]]
        for token, id in added.items()
        if token in examined.vocab and examined.vocab[token] != id
    }
    if moved:
        token, (declared, real) = next(iter(moved.items()))
        return found(
            "added_ids",
            "file",
            counted(len(moved), "added token does not get its id", "added tokens do not get their ids")
            + f" of tokenizer.json; {token!r}: {declared}, and loaded {real}",
            status="fail",
            way_out="new tokens take the ids after the vocabulary, whatever is written: tokens are "
            "missing from it, or too many",
            moved=dict(some(moved.items())),
        )
    message = counted(len(added), "added token has its id", "added tokens have their ids")
    return found("added_ids", "file", f"{message} of tokenizer.json")


def _padding_side(examined: Examined) -> Iterator[Finding]:
    """The side that is padded, as each file and the manifest has it."""
    sides: dict[str, str] = {}
    padding = examined.raw.get("padding")
    if isinstance(padding, dict) and isinstance(padding.get("direction"), str):
        sides["tokenizer.json"] = padding["direction"].lower()
    config = examined.setting("tokenizer_config.json")
    if isinstance(config, dict) and isinstance(config.get("padding_side"), str):
        sides["tokenizer_config.json"] = config["padding_side"]
    manifest = manifest_of(examined.folder)
    train, generate = (manifest.get(f"padding_side_{name}") for name in ("train", "generate"))
    problems: list[str] = []
    if len(set(sides.values())) > 1:
        problems.append(", ".join(f"{name} says {side}" for name, side in sides.items()))
    used = examined.tok.padding_side
    named = {side for side in (train, generate) if isinstance(side, str)}
    if named and used not in named:
        problems.append(f"it pads on the {used}, and the manifest says {' and '.join(sorted(named))}")
    decodes = bool(examined.tok.chat_templates)
    if generate == "right" and decodes:
        problems.append("the manifest has padding_side_generate right, for a model with a chat template")
    if problems:
        yield found(
            "padding_side",
            "manifest" if named else "file",
            "; ".join(problems),
            status="warn",
            way_out="a model that continues texts is trained with either side and generates padded on the "
            "left, so that the last id of each row is of the text",
            sides=sides,
            train=train,
            generate=generate,
        )
        return
    yield found(
        "padding_side",
        "manifest" if named else "file",
        f"padded on the {used}" + (f"; for generation on the {generate}" if generate else ""),
        sides=sides,
        train=train,
        generate=generate,
    )


# ---- files of one folder ----------------------------------------------------------------------


def _agreement(examined: Examined) -> Iterator[Finding]:
    folder = examined.path if examined.path is not None and examined.path.is_dir() else None
    if folder is None or not examined.raw:
        examined.skip("agreement", "there is no folder with a tokenizer.json")
        return
    ids, added = _ids_of(examined.raw)
    compared: dict[str, list[str]] = {}
    vocab = read_json(folder / "vocab.json")
    if isinstance(vocab, dict):
        compared["vocab.json"] = _vocab_differs(vocab, ids, added)
    if (lines := _lines(folder / "merges.txt")) is not None:
        compared["merges.txt"] = _merges_differ(lines, examined.raw["model"])
    if (lines := _lines(folder / "vocab.txt")) is not None:
        listed_ids = {line.rstrip("\r"): at for at, line in enumerate(lines) if line.strip()}
        compared["vocab.txt"] = _vocab_differs(listed_ids, ids, added)
    for name in ("tokenizer.model", "tokenizer.model.v3", "spiece.model", "sentencepiece.bpe.model"):
        if (folder / name).is_file() and (pieces := _pieces(folder / name)) is not None:
            compared[name] = _vocab_differs(pieces, ids, added)
    extra = read_json(folder / "added_tokens.json")
    if isinstance(extra, dict):
        compared["added_tokens.json"] = _vocab_differs(extra, {**ids, **added}, {})
    config = read_json(folder / "tokenizer_config.json")
    if isinstance(config, dict):
        compared["tokenizer_config.json"] = _config_differs(config, {**ids, **added})
        roles = read_json(folder / "special_tokens_map.json")
        if isinstance(roles, dict):
            compared["special_tokens_map.json"] = _roles_differ(config, roles)
    if not compared:
        examined.skip("agreement", "tokenizer.json stands alone")
        return
    wrong = {name: problems for name, problems in compared.items() if problems}
    if wrong:
        name, problems = next(iter(wrong.items()))
        more = sum(map(len, wrong.values())) - 1
        yield found(
            "agreement",
            "file",
            f"tokenizer.json and {', '.join(wrong)} disagree; {name}: {problems[0]}"
            + (f", and {more:,} more" if more else ""),
            status="fail",
            way_out="programs that read one file or the other give other ids: take all files from one "
            "release",
            differs={name: some(problems) for name, problems in wrong.items()},
        )
        return
    yield found(
        "agreement", "file", f"tokenizer.json agrees with {', '.join(compared)}", files=list(compared)
    )


def _ids_of(raw: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, int]]:
    """The ids of the model, and those of added tokens."""
    vocab = raw["model"].get("vocab")
    if isinstance(vocab, dict):
        ids = {str(token): id for token, id in vocab.items()}
    else:
        rows = vocab if isinstance(vocab, list) else []
        ids = {row[0]: at for at, row in enumerate(rows) if isinstance(row, list) and row}
    added = {
        entry["content"]: entry["id"]
        for entry in raw.get("added_tokens") or []
        if isinstance(entry, dict) and "content" in entry and "id" in entry
    }
    return ids, added


def _vocab_differs(other: Mapping[str, Any], ids: Mapping[str, int], added: Mapping[str, int]) -> list[str]:
    known = {**ids, **added}
    problems = [
        f"{token!r} is {id} and in tokenizer.json {known.get(token, 'missing')}"
        for token, id in other.items()
        if known.get(token) != id
    ]
    # What a vocabulary file leaves out may be an added token, never one of the model.
    problems += [
        f"{token!r} is missing" for token in ids if token not in other and token not in added
    ] if added or ids is not known else []  # fmt: skip
    return problems


def _lines(path: Path) -> list[str] | None:
    try:
        return decode(path.read_bytes()).rstrip("\n").split("\n")
    except (OSError, UnicodeDecodeError):
        return None


def _merges_differ(lines: list[str], model: Mapping[str, Any]) -> list[str]:
    if lines and lines[0].startswith("#version"):
        lines = lines[1:]
    listed_there = [line.rstrip("\r") for line in lines if line.strip()]
    merges = model.get("merges")
    rows = merges if isinstance(merges, list) else []
    here = [" ".join(row) if isinstance(row, list) else row for row in rows]
    problems = [
        f"merge {rank} is {there!r} and in tokenizer.json {own!r}"
        for rank, (there, own) in enumerate(zip(listed_there, here, strict=False))
        if there != own
    ]
    if len(here) != len(listed_there):
        problems.append(f"{len(listed_there):,} merges, and in tokenizer.json {len(here):,}")
    return problems


def _pieces(path: Path) -> dict[str, int] | None:
    """The pieces of a SentencePiece model beside a tokenizer.json."""
    try:
        return load(path).vocab
    except (TokenmillError, OSError):
        return None


def _config_differs(config: Mapping[str, Any], ids: Mapping[str, int]) -> list[str]:
    decoder = config.get("added_tokens_decoder")
    problems = []
    for id, entry in (decoder if isinstance(decoder, dict) else {}).items():
        content = entry.get("content") if isinstance(entry, dict) else None
        if isinstance(content, str) and content in ids and str(ids[content]) != id:
            problems.append(f"{content!r} is {id} and in tokenizer.json {ids[content]}")
    return problems


def _roles_differ(config: Mapping[str, Any], roles: Mapping[str, Any]) -> list[str]:
    def content(value: Any) -> Any:
        return value.get("content") if isinstance(value, dict) else value

    return [
        f"{role} is {content(value)!r} and in tokenizer_config.json {content(config[role])!r}"
        for role, value in roles.items()
        if role.endswith("_token")
        and config.get(role) is not None
        and content(config[role]) != content(value)
    ]


# ---- what a manifest says ---------------------------------------------------------------------


def _vectors(examined: Examined) -> Iterator[Finding]:
    """``vectors``: what a manifest says of the tokenizer, and of the ids of its texts."""
    with waited_for:
        from ..manifest import verify

    if examined.folder is None or not manifest_of(examined.folder):
        examined.skip("vectors", "there is no manifest")
        return
    try:
        verified = verify(examined.folder)
    except TokenmillError as error:
        # `loads` says so, unless the split or special tokens were given for a file that lacks them.
        examined.skip("vectors", f"the folder does not load by itself: {error}")
        return
    # That a file has changed or is gone, or does not load, `hashes` and `loads` say.
    differs = [row for row in verified.findings if not _is_of_file(row.field)]
    tried = f"{verified.vectors} recorded texts"
    if differs:
        first = differs[0]
        yield found(
            "vectors",
            "manifest",
            f"{first.field}: {quoted(first.expected, 60)} was recorded, {quoted(first.found, 60)} was found"
            + (f", and {len(differs) - 1:,} more of this manifest differ" if differs[1:] else ""),
            status="fail",
            way_out="the files, or the program, give other results than when the manifest was written: "
            "take the files of one release; where the change is meant, write the manifest again",
            fields=some([row.field for row in differs]),
            texts=verified.vectors,
        )
    elif verified.vectors:
        yield found(
            "vectors", "manifest", f"{tried} have the recorded ids and offsets", texts=verified.vectors
        )
    else:
        yield found("vectors", "manifest", "size and special tokens are as recorded; no texts are", texts=0)


def _is_of_file(field: str) -> bool:
    """Whether a difference from a manifest is one of its files, and not of their sizes alone."""
    return field == "files" or (field.startswith("files.") and not field.endswith(".bytes"))
