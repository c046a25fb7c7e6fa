"""``check_checkpoint``: rows, roles and configurations of a model on disk, read from headers alone."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill import FormatError, Tokenizer


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    """258 ordinary tokens, then </s> and <pad>: ids up to 259."""
    plain = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    return plain.with_special_tokens(eos_token="</s>", pad_token="<pad>")


def tensors(path: Path, **shapes: list[int]) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    for name, shape in shapes.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}
    data = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(data)) + data + bytes(4))


def config(folder: Path, name: str = "config.json", **values: Any) -> None:
    (folder / name).write_text(json.dumps(values), encoding="utf-8")


def statuses(tok: Tokenizer, folder: Path, **options: Any) -> dict[str, str]:
    return {row.check: row.status for row in tokenmill.check_checkpoint(tok, folder, **options)}


@pytest.mark.parametrize(("rows", "status"), [(259, "fail"), (260, "pass"), (512, "pass")])
def test_more_rows_than_ids_pass_and_fewer_fail(
    tok: Tokenizer, tmp_path: Path, rows: int, status: str
) -> None:
    tensors(tmp_path / "model.safetensors", **{"wte.weight": [rows, 4], "lm_head.weight": [rows, 4]})
    found = statuses(tok, tmp_path)
    assert found == {"embedding_rows": status, "head_rows": status, "tied_heads": "pass"}


def test_tensors_are_found_in_every_file(tok: Tokenizer, tmp_path: Path) -> None:
    tensors(tmp_path / "model-00001-of-00002.safetensors", **{"model.embed_tokens.weight": [260, 4]})
    tensors(tmp_path / "model-00002-of-00002.safetensors", **{"lm_head.weight": [200, 4]})
    files = {
        "model.embed_tokens.weight": "model-00001-of-00002.safetensors",
        "lm_head.weight": "model-00002-of-00002.safetensors",
    }
    config(tmp_path, "model.safetensors.index.json", weight_map=files)
    found = statuses(tok, tmp_path)
    assert found == {"embedding_rows": "pass", "head_rows": "fail", "tied_heads": "fail"}
    files["lm_head.weight"] = "model-00003-of-00003.safetensors"
    config(tmp_path, "model.safetensors.index.json", weight_map=files)
    with pytest.raises(FormatError) as raised:
        tokenmill.check_checkpoint(tok, tmp_path)
    assert raised.value.field == "weight_map.lm_head.weight"
    assert raised.value.kind == "missing"


def test_an_unknown_tensor_is_named(tok: Tokenizer, tmp_path: Path) -> None:
    tensors(tmp_path / "model.safetensors", **{"my.table": [100, 4]})
    assert statuses(tok, tmp_path) == {}
    assert "embedding_rows" in tokenmill.check_checkpoint(tok, tmp_path).skipped
    assert statuses(tok, tmp_path, embedding="my.table")["embedding_rows"] == "fail"
    with pytest.raises(FormatError, match=r"my\.tabel: no file holds this tensor; there are \"my\.table\""):
        tokenmill.check_checkpoint(tok, tmp_path, embedding="my.tabel")


def test_a_matrix_that_is_none_fails(tok: Tokenizer, tmp_path: Path) -> None:
    tensors(tmp_path / "model.safetensors", **{"wte.weight": [512]})
    assert statuses(tok, tmp_path)["embedding_rows"] == "fail"


@pytest.mark.parametrize(
    ("value", "status"),
    [
        *((258, "pass"), ([258, 259], "pass"), (259, "fail"), ([259], "fail")),
        *((3, "fail"), (999, "fail"), ("</s>", "fail")),
    ],
)
def test_eos_may_be_a_list(tok: Tokenizer, tmp_path: Path, value: Any, status: str) -> None:
    config(tmp_path, "generation_config.json", eos_token_id=value)
    assert statuses(tok, tmp_path) == {"generation_eos": status}


def test_eos_of_the_configuration_may_be_one_of_generation(tok: Tokenizer, tmp_path: Path) -> None:
    config(tmp_path, eos_token_id=259)
    config(tmp_path, "generation_config.json", eos_token_id=[258, 259])
    assert statuses(tok, tmp_path) == {"config_eos": "pass", "generation_eos": "pass"}


@pytest.mark.parametrize(
    ("size", "status"),
    [*((259, "fail"), (260, "pass"), (320, "pass")), *((32_000, "warn"), ("260", "fail"), (True, "fail"))],
)
def test_vocab_size(tok: Tokenizer, tmp_path: Path, size: Any, status: str) -> None:
    config(tmp_path, text_config={"vocab_size": size})
    assert statuses(tok, tmp_path) == {"config_vocab_size": status}
    assert statuses(tok, tmp_path / "config.json") == {"config_vocab_size": status}


def test_a_head_that_is_not_there(tok: Tokenizer, tmp_path: Path) -> None:
    tensors(tmp_path / "model.safetensors", **{"wte.weight": [260, 4]})
    config(tmp_path, tie_word_embeddings=True)
    assert statuses(tok, tmp_path)["tied_heads"] == "pass"
    config(tmp_path, tie_word_embeddings=False)
    assert statuses(tok, tmp_path)["tied_heads"] == "fail"


def header(entry: Any) -> bytes:
    data = json.dumps(entry).encode()
    return struct.pack("<Q", len(data)) + data


@pytest.mark.parametrize(
    ("data", "kind", "field"),
    [
        (b"", "truncated", "header"),
        (bytes(7), "truncated", "header"),
        (struct.pack("<Q", 9) + b"{}", "truncated", "header"),
        (struct.pack("<Q", 1 << 40), "limit", "header"),
        (struct.pack("<Q", 2) + b"{]", "syntax", "header"),
        (struct.pack("<Q", 2) + b"\xff\xff", "syntax", "header"),
        (header([]), "type", "header"),
        (header({"a": 1}), "type", "header.a.shape"),
        (header({"a": {"shape": [-1], "data_offsets": [0, 0]}}), "type", "header.a.shape"),
        (header({"a": {"shape": [1]}}), "type", "header.a.data_offsets"),
        (header({"a": {"shape": [1], "data_offsets": [0, 4]}}), "truncated", "header.a.data_offsets"),
        (header({"a": {"shape": [1], "data_offsets": [2, 1]}}), "truncated", "header.a.data_offsets"),
    ],
)
def test_a_broken_header_is_an_error(
    tok: Tokenizer, tmp_path: Path, data: bytes, kind: str, field: str
) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    with pytest.raises(FormatError) as raised:
        tokenmill.check_checkpoint(tok, tmp_path)
    assert (raised.value.kind, raised.value.field, raised.value.path) == (kind, field, str(path))


def test_a_broken_configuration_is_an_error(tok: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(FormatError, match="it must hold an object, not list"):
        tokenmill.check_checkpoint(tok, tmp_path)
    (tmp_path / "config.json").write_text("[" * 100_000)
    with pytest.raises(FormatError, match="it is no JSON"):
        tokenmill.check_checkpoint(tok, tmp_path)
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0"}')
    with pytest.raises(FormatError, match="it says nothing of a model: none of architectures") as raised:
        tokenmill.check_checkpoint(tok, tmp_path / "tokenizer.json")
    assert raised.value.kind == "wrong-kind"


def test_what_is_not_there_is_an_error(tok: Tokenizer, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none"):
        with pytest.raises(FileNotFoundError):
            tokenmill.check_checkpoint(tok, place)
    with pytest.raises(TypeError, match="tok must be a Tokenizer, not str"):
        tokenmill.check_checkpoint("gpt2", tmp_path)  # type: ignore[arg-type]
