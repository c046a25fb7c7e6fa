"""Manifests: what they say, that it stays, and that what has changed is found."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from tokenmill import FormatError, ManifestError

TEXTS = ["low lower lowest don't 123"] * 9
GIVEN = {
    "think_end_id": 5,
    "padding_side_train": "right",
    "padding_side_generate": "left",
    "corpus": {"name": "three words", "share": [0.5, 1]},
}
SEED_NAMES = [
    "tokenizer_sha256",
    "vocab_size",
    "bos_token_id",
    "eos_token_id",
    "think_end_id",
    "padding_side_train",
    "padding_side_generate",
    "chat_template_sha256",
]


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    made = native.train(
        texts=TEXTS,
        vocab_size=280,
        split="llama3",
        special_tokens=["<s>", "<e>"],
        bos_token="<s>",
        eos_token="<e>",
    )
    return made.with_chat_template("{% for m in messages %}<s>{{ m.content }}<e>{% endfor %}")


@pytest.fixture
def folder(tok: Any, tmp_path: Path) -> Path:
    tok.save(tmp_path / "kept", manifest=GIVEN)
    return tmp_path / "kept"


def manifest_in(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "tokenmill.json").read_text(encoding="utf-8"))
    return read


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    parts = json.loads(path.read_text(encoding="utf-8"))
    change(parts)
    path.write_text(json.dumps(parts), encoding="utf-8")


def fields(folder: Path, **options: Any) -> list[str]:
    from tokenmill import manifest

    return [found.field for found in manifest.verify(folder, **options).findings]


# ---- what is written --------------------------------------------------------------------------


def test_a_manifest_says_what_a_model_depends_on(tok: Any, folder: Path) -> None:
    import hashlib

    found = manifest_in(folder)
    assert list(found)[1:9] == SEED_NAMES
    file = (folder / "tokenizer.json").read_bytes()
    assert found["tokenizer_sha256"] == hashlib.sha256(file).hexdigest()
    template = tok.chat_templates["default"].encode()
    assert found["chat_template_sha256"] == hashlib.sha256(template).hexdigest()
    assert {name: found[name] for name in GIVEN} == GIVEN
    assert (found["vocab_size"], found["bos_token_id"], found["eos_token_id"]) == (len(tok), 0, 1)
    assert (found["fingerprint"], found["digests"]) == (tok.fingerprint, tok.digests)
    assert (found["split"], found["special_tokens"]) == ("llama3", {"<s>": 0, "<e>": 1})
    assert found["unicode_edition"] == {"normal_forms": None, "patterns": "16.0.0"}
    assert (found["training"]["documents"], found["training"]["bytes"]) == (9, 234)
    asked = found["training"]["settings"]
    assert (asked["vocab_size"], asked["tie_break"], asked["split"]) == (280, "lexicographic", "llama3")
    assert "num_threads" not in asked
    assert len((folder / "tokenmill.json").read_bytes()) < 20_000


def test_vectors_are_what_the_tokenizer_makes_of_the_texts(tok: Any, folder: Path) -> None:
    vectors = manifest_in(folder)["golden"]
    assert 20 <= len(vectors) <= 60
    for vector in vectors:
        options = {name: vector[name] for name in ("special", "add_special_tokens") if name in vector}
        encoding = tok.encode_with_offsets(vector["text"], vector.get("pair"), **options)
        assert vector["ids"] == encoding.ids
        assert [tuple(pair) for pair in vector["offsets"]] == encoding.offsets
        assert vector["decoded"] == tok.decode(encoding.ids)
    assert any("<s>" in vector["text"] and 0 in vector["ids"] for vector in vectors)
    assert any("pair" in vector for vector in vectors)


def test_what_cannot_be_spelled_is_a_vector_too(native: Any) -> None:
    from tokenmill import manifest

    tok = native.Tokenizer.from_tokens([b"a", b"b", b"ab"])
    vectors = manifest.manifest_of(tok)["golden"]
    assert {"text": "Hello, world!", "unknown_token": "H"} in vectors


def test_the_edition_of_normal_forms_is_named(native: Any, tmp_path: Path) -> None:
    from tokenmill import manifest

    tok = native.train(texts=TEXTS, vocab_size=260, normalizer="NFKC")
    assert manifest.manifest_of(tok)["unicode_edition"]["normal_forms"] == "18.0.0"


@pytest.mark.parametrize(
    ("literals", "expected"),
    [(["</think>"], 0), (["[/THINK]", "<x>"], 0), (["</think>", "[/THINK]"], None), (["<x>"], None)],
)
def test_the_end_of_thought_is_told_by_its_literal(
    native: Any, literals: list[str], expected: int | None
) -> None:
    from tokenmill import manifest

    tok = native.train(texts=TEXTS, vocab_size=260, special_tokens=literals)
    assert manifest.manifest_of(tok)["think_end_id"] == expected


# ---- that it stays ----------------------------------------------------------------------------


def test_it_survives_load_and_save(native: Any, tok: Any, folder: Path, tmp_path: Path) -> None:
    from tokenmill import manifest

    first = (folder / "tokenmill.json").read_bytes()
    again = native.load(folder)
    assert (again.split, again == tok, hash(again) == hash(tok)) == ("llama3", True, True)
    again.save(tmp_path / "second")
    assert (tmp_path / "second" / "tokenmill.json").read_bytes() == first
    # By the path of its file, too, whose settings are not read then.
    alone = manifest.manifest_of(native.load(folder / "tokenizer.json"))
    assert {name: alone[name] for name in (*GIVEN, "training")} == {
        name: manifest_in(folder)[name] for name in (*GIVEN, "training")
    }
    again.save(tmp_path / "fourth", manifest={"corpus": None, "think_end_id": None})
    taken_back = manifest_in(tmp_path / "fourth")
    assert (taken_back["corpus"], taken_back["think_end_id"]) == (None, None)
    assert taken_back["padding_side_train"] == "right"


def test_what_is_known_has_no_effect(native: Any, tok: Any, tmp_path: Path) -> None:
    bare = native.Tokenizer.from_tokens([b"a", b"b", b"ab"], special_tokens=["<s>"])
    bare.save(tmp_path / "a")
    bare.save(tmp_path / "b", manifest={"corpus": "x"})
    one, other = native.load(tmp_path / "a"), native.load(tmp_path / "b")
    assert (one == other, one.fingerprint == other.fingerprint) == (True, True)
    # Other libraries key their caches by pickles.
    assert pickle.dumps(one) == pickle.dumps(other)


def test_derived_tokenizers_keep_what_is_still_true(native: Any, tok: Any, folder: Path) -> None:
    from tokenmill import manifest

    kept = native.load(folder)
    of = manifest.manifest_of
    for other in (
        kept.with_special_tokens(["<x>"]),
        kept.with_chat_template(None),
        kept.with_call_defaults(padding_side="left"),
        kept.with_vocab_size(265),
    ):
        assert {name: of(other)[name] for name in GIVEN} == GIVEN
        assert of(other)["training"] == of(kept)["training"] != None  # noqa: E711
    assert of(kept.with_splitter(None))["training"] is None
    assert of(kept.with_splitter(None))["corpus"] == GIVEN["corpus"]


def test_an_id_that_is_gone_is_not_kept(native: Any, tok: Any, tmp_path: Path) -> None:
    from tokenmill import manifest

    last = tok.max_id
    tok.save(tmp_path / "kept", manifest={"think_end_id": last})
    kept = native.load(tmp_path / "kept")
    assert manifest.manifest_of(kept)["think_end_id"] == last
    assert manifest.manifest_of(kept.with_vocab_size(265))["think_end_id"] is None


def test_the_same_texts_give_the_same_manifest(native: Any, tmp_path: Path) -> None:
    from tokenmill import manifest

    texts = ["low lower", "newest", "low"]
    for name, text in zip("abc", texts, strict=True):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    made = [
        native.train(texts=texts, vocab_size=262),
        native.train(texts=texts[::-1], vocab_size=262, num_threads=2),
        native.train(str(tmp_path / "*.txt"), vocab_size=262),
        native.train(counts=native.count_pretokens(texts=texts), vocab_size=262),
    ]
    first, *others = [manifest.manifest_of(tok) for tok in made]
    assert all(other == first for other in others)


# ---- what cannot be given ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"padding_side": "left"}, "padding_side"),
        ({"vocab_size": 3}, "vocab_size"),
        ({"training": {}}, "training"),
        ({"padding_side_train": "up"}, "padding_side_train"),
        ({"think_end_id": "7"}, "think_end_id"),
        ({"think_end_id": 4_000_000}, "think_end_id"),
        ({"think_end_id": True}, "think_end_id"),
    ],
)
def test_what_cannot_be_given_is_refused_by_its_key(
    tok: Any, tmp_path: Path, given: dict[str, Any], field: str
) -> None:
    from tokenmill import manifest

    with pytest.raises(ManifestError) as raised:
        tok.save(tmp_path / "x", manifest=given)
    assert raised.value.field == field
    assert not (tmp_path / "x" / "tokenizer.json").exists()
    with pytest.raises(ManifestError):
        manifest.manifest_of(tok, given)


def test_a_single_file_has_no_manifest(tok: Any, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="save to a folder") as raised:
        tok.with_chat_template(None).save(tmp_path / "t.json", lossy=True, manifest={"corpus": "x"})
    assert raised.value.field == "manifest"
    assert list(tmp_path.iterdir()) == []


# ---- folders of others ------------------------------------------------------------------------


def test_version_1_is_still_read(native: Any, tok: Any, folder: Path) -> None:
    from tokenmill import manifest

    names = ("files", "ignored", "vocab_size", "special_tokens")
    first = {"manifest_version": 1, **{name: manifest_in(folder)[name] for name in names}}
    (folder / "tokenmill.json").write_text(json.dumps(first), encoding="utf-8")
    assert native.load(folder) == tok
    verified = manifest.verify(folder)
    assert (verified.manifest_version, verified.vectors, verified.findings) == (1, 0, [])
    edit(folder / "tokenmill.json", lambda parts: parts.update(vocab_size=3))
    assert fields(folder) == ["vocab_size"]
    assert manifest.write(folder)["manifest_version"] == 2
    assert fields(folder) == []


def test_a_folder_of_others_gets_one_and_means_the_same(native: Any, tok: Any, tmp_path: Path) -> None:
    from tokenmill import manifest

    tok.save(tmp_path / "f")
    (tmp_path / "f" / "tokenmill.json").unlink()
    with pytest.raises(FormatError, match=r"no tokenmill\.json") as raised:
        manifest.verify(tmp_path / "f")
    assert raised.value.kind == "missing"
    before = {path.name: path.read_bytes() for path in (tmp_path / "f").iterdir()}
    made = manifest.manifest_of(tmp_path / "f")
    assert {path.name: path.read_bytes() for path in (tmp_path / "f").iterdir()} == before
    written = manifest.write(tmp_path / "f", {"padding_side_train": "left"})
    assert written == {**made, "padding_side_train": "left"} == manifest_in(tmp_path / "f")
    # No training is known of files without a manifest.
    assert (written["training"], written["split"]) == (None, "cl100k")
    assert set(written["files"]) == set(before)
    assert native.load(tmp_path / "f") == tok
    assert manifest.verify(tmp_path / "f").ok


@pytest.mark.slow
def test_folders_of_the_field_mean_the_same_with_a_manifest(native: Any, data: Path, tmp_path: Path) -> None:
    from tokenmill import manifest

    for name in ("bert-base-uncased", "gpt2", "clip"):
        folder = tmp_path / name
        folder.mkdir()
        for file in (data / "vocab" / name).iterdir():
            (folder / file.name).symlink_to(file.resolve())
        before = native.load(folder)
        manifest.write(folder)
        assert native.load(folder) == before
        assert manifest.verify(folder).ok


# ---- what has changed -------------------------------------------------------------------------


def test_a_change_that_matters_is_found_in_a_vector(folder: Path) -> None:
    def swap(parts: dict[str, Any]) -> None:
        merges = parts["model"]["merges"]
        merges[0], merges[-1] = merges[-1], merges[0]

    def lower(parts: dict[str, Any]) -> None:
        parts["normalizer"] = {"type": "Lowercase"}

    edit(folder / "tokenizer.json", lower)
    found = fields(folder)
    assert found[0] == "files.tokenizer.json.sha256"
    assert "fingerprint" in found
    assert "digests.encode" in found
    assert "digests.decode" not in found
    assert any(field.startswith("golden[1].") for field in found)


def test_a_change_that_does_not_matter_is_one_of_files_alone(folder: Path) -> None:
    edit(folder / "tokenizer.json", lambda parts: None)
    assert fields(folder) == ["files.tokenizer.json.sha256"]


def test_a_file_that_is_gone_or_no_tokenizer_is_a_finding(folder: Path) -> None:
    from tokenmill import manifest

    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert fields(folder)[0] == "files.tokenizer.json.sha256"
    (folder / "tokenizer.json").unlink()
    verified = manifest.verify(folder)
    assert (verified.findings[0].field, verified.findings[0].found) == (
        "files.tokenizer.json",
        "no such file in the folder",
    )
    with pytest.raises(ManifestError):
        verified.check()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda m: m["golden"][1]["ids"].append(1), "golden[1].ids"),
        (lambda m: m["golden"][1]["offsets"].pop(), "golden[1].offsets"),
        (lambda m: m["golden"][1].update(decoded="x"), "golden[1].decoded"),
        (lambda m: m["golden"].insert(0, {"text": "a", "unknown_token": "a"}), "golden[0].unknown_token"),
        (lambda m: m["golden"].clear(), "golden"),
        (lambda m: m.update(fingerprint="tm1-0"), "fingerprint"),
        (lambda m: m["digests"].update(chat="0"), "digests.chat"),
        (lambda m: m["special_tokens"].update({"<x>": 9}), "special_tokens.<x>"),
        (lambda m: m.update(bos_token_id=None), "bos_token_id"),
        (lambda m: m.update(think_end_id=10**6), "think_end_id"),
        (lambda m: m.update(chat_template_sha256=None), "chat_template_sha256"),
        (lambda m: m["unicode_edition"].update(patterns="15.0.0"), "unicode_edition.patterns"),
        (lambda m: m["files"]["tokenizer.json"].update(bytes=1), "files.tokenizer.json.bytes"),
        (lambda m: m.update(tokenizer_sha256="0"), "tokenizer_sha256"),
        (lambda m: m.update(vocab_size=1), "vocab_size"),
        (lambda m: m.update(time="12:00"), "time"),
    ],
)
def test_every_field_is_compared(
    folder: Path, change: Callable[[dict[str, Any]], object], field: str
) -> None:
    edit(folder / "tokenmill.json", change)
    assert fields(folder)[0] == field


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda m: m.pop("golden"), "golden"),
        (lambda m: m.update(padding_side_train="up"), "padding_side_train"),
        (lambda m: m["golden"][2].pop("text"), "golden[2].text"),
        (lambda m: m["golden"][2].update(ids=["a"]), "golden[2].ids[0]"),
        (lambda m: m["golden"][2].update(special="maybe"), "golden[2].special"),
        (lambda m: m.update(vocab_size=-1), "vocab_size"),
        (lambda m: m.pop("tokenizer_sha256"), "tokenizer_sha256"),
        (lambda m: m["files"]["tokenizer.json"].pop("sha256"), "files.tokenizer.json.sha256"),
        (lambda m: m["digests"].pop("chat"), "digests.chat"),
        (lambda m: m.update(manifest_version=3), "manifest_version"),
        (lambda m: m.update(manifest_version="2"), "manifest_version"),
    ],
)
def test_a_damaged_manifest_names_the_field(
    native: Any, folder: Path, change: Callable[[dict[str, Any]], object], field: str
) -> None:
    from tokenmill import manifest

    edit(folder / "tokenmill.json", change)
    for read in (native.load, manifest.verify):
        with pytest.raises(FormatError) as raised:
            read(folder)
        assert raised.value.path is not None
        assert (raised.value.field, Path(raised.value.path).name) == (field, "tokenmill.json")


@pytest.mark.parametrize("written", ["[]", "null", "[2]", '"x"'])
def test_what_is_no_object_is_no_manifest(native: Any, folder: Path, written: str) -> None:
    (folder / "tokenmill.json").write_text(written, encoding="utf-8")
    with pytest.raises(FormatError, match="an object"):
        native.load(folder)


def test_a_manifest_that_lists_other_folders_opens_nothing_there(folder: Path) -> None:
    (folder.parent / "secret").write_text("x", encoding="utf-8")
    entry = {"bytes": 1, "sha256": "0" * 64}
    edit(
        folder / "tokenmill.json",
        lambda parts: parts["files"].update({"../secret": entry, "/etc/passwd": entry}),
    )
    from tokenmill import manifest

    found = {finding.field: finding.found for finding in manifest.verify(folder).findings}
    said = "no such file in the folder"
    assert found == {"files.../secret": said, "files./etc/passwd": said}


# ---- load -------------------------------------------------------------------------------------


def test_load_refuses_another_fingerprint(native: Any, tok: Any, folder: Path) -> None:
    assert native.load(folder, expected_fingerprint=tok.fingerprint) == tok
    other = f"tm1-{'0' * 64}"
    with pytest.raises(ManifestError) as raised:
        native.load(folder, expected_fingerprint=other)
    error = raised.value
    assert (error.field, error.expected, error.found) == ("fingerprint", other, tok.fingerprint)
    with pytest.raises(TypeError, match="expected_fingerprint"):
        native.load(folder, expected_fingerprint=7)


def test_hooks_are_called_for_vectors_and_may_refuse_them(native: Any, tmp_path: Path) -> None:
    from tokenmill import manifest

    def picky(text: str) -> str:
        if "Hello" in text:
            raise RuntimeError("no")
        return text

    tok = native.train(texts=TEXTS, vocab_size=260).with_normalizer(picky, name="picky")
    texts = [vector["text"] for vector in manifest.manifest_of(tok)["golden"]]
    assert "Hello, world!" not in texts
    assert "  two   spaces\t\ttabs\n\n\nlines\r\n end  \n " in texts


# ---- the schema -------------------------------------------------------------------------------


def test_the_schema_describes_what_is_written(native: Any, tok: Any, folder: Path) -> None:
    """With the validator that ``make check`` installs."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema comes with the extra lint")
    from tokenmill import manifest

    schema = json.loads((ROOT / "docs" / "manifest.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    tokenizers = [
        native.Tokenizer.from_tokens([b"a", b"b", b"ab"]),
        native.train(texts=TEXTS, vocab_size=262, normalizer="NFC", allowed_merges="[a-z]+"),
        native.train(texts=TEXTS, vocab_size=40, model="unigram"),
        native.train(
            texts=TEXTS, vocab_size=40, model="wordpiece", special_tokens=["[UNK]"], unk_token="[UNK]"
        ),
        tok.with_splitter(None),
    ]
    for made in [manifest_in(folder), *(manifest.manifest_of(other) for other in tokenizers)]:
        assert [error.message for error in validator.iter_errors(made)] == []
    for wrong in ({"vocab_size": None}, {"padding_side_train": "up"}, {"fingerprint": "x"}, {"time": 1}):
        assert not validator.is_valid({**manifest_in(folder), **wrong})
