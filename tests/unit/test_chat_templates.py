"""Chat templates belong to a tokenizer: which there are, what keeps them, what they do not change."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from gguf_files import small_gpt2

TEXTS = ["low lower lowest"] * 3
SOURCE = "{% for message in messages %}{{ message.content }}{% endfor %}\n"
DEFAULT = "chat_template.jinja"
MORE = "additional_chat_templates"


@pytest.fixture
def plain(native: Any) -> Any:
    return native.train(texts=TEXTS, num_merges=5)


@pytest.fixture
def chatty(plain: Any) -> Any:
    """Two templates, whose order is not that of their names."""
    return plain.with_chat_template("{{ 2 }}", "tool_use").with_chat_template(SOURCE)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# ---- with_chat_template ---------------------------------------------------------------------------


def test_a_template_is_set_replaced_and_removed_in_a_new_tokenizer(plain: Any) -> None:
    one = plain.with_chat_template(SOURCE)
    assert (plain.chat_templates, one.chat_templates) == ({}, {"default": SOURCE})
    two = one.with_chat_template("{{ 2 }}", name="tool_use")
    assert list(two.chat_templates.items()) == [("default", SOURCE), ("tool_use", "{{ 2 }}")]
    again = two.with_chat_template("{{ 3 }}")
    assert list(again.chat_templates.items()) == [("default", "{{ 3 }}"), ("tool_use", "{{ 2 }}")]
    assert again.with_chat_template(None).chat_templates == {"tool_use": "{{ 2 }}"}
    assert again.with_chat_template(None, "tool_use").with_chat_template(None) == plain
    assert plain.with_chat_template(None, "not there") == plain
    # A dict of its own each time.
    two.chat_templates.clear()
    assert len(two.chat_templates) == 2


def test_nothing_else_changes_and_nothing_is_built_anew(plain: Any) -> None:
    chatty = plain.with_chat_template(SOURCE)
    assert chatty.encode("low lowest") == plain.encode("low lowest")
    before, after = plain.memory_usage(), chatty.memory_usage()
    assert before["chat_templates"] == 0
    assert after["chat_templates"] >= len(SOURCE)
    # What one of them looks up, the other has in its cache.
    chatty.encode("lower " * 50)
    assert plain.memory_usage()["hits"] > before["hits"]
    assert plain.memory_usage()["workers"] == chatty.memory_usage()["workers"]


def test_derived_tokenizers_keep_templates(chatty: Any) -> None:
    for other in [
        chatty.with_special_tokens(["<x>"], bos_token="<s>"),
        chatty.with_vocab_size(258),
        chatty.with_normalizer(str.lower, name="lower"),
        chatty.with_splitter(None),
    ]:
        assert other.chat_templates == chatty.chat_templates
    assert chatty.with_splitter(str.split, name="s").with_chat_template(None).encode("a b")


def test_equality_hash_and_pickle_include_templates_and_the_fingerprint_does_not(
    plain: Any, chatty: Any
) -> None:
    assert chatty != plain
    assert chatty.fingerprint == plain.fingerprint
    changed = {name for name, digest in chatty.digests.items() if digest != plain.digests[name]}
    assert changed == {"chat"}
    # Their order means nothing.
    other = plain.with_chat_template(SOURCE).with_chat_template("{{ 2 }}", "tool_use")
    assert list(other.chat_templates) != list(chatty.chat_templates)
    assert (other, hash(other), other.digests) == (chatty, hash(chatty), chatty.digests)
    again = pickle.loads(pickle.dumps(chatty))
    assert again == chatty
    assert list(again.chat_templates.items()) == list(chatty.chat_templates.items())


def test_a_digest_tells_which_name_has_which_source(plain: Any) -> None:
    made = [
        plain,
        plain.with_chat_template("{a"),
        plain.with_chat_template("{a", "b"),
        plain.with_chat_template("{ab"),
        plain.with_chat_template("{a").with_chat_template("{b", "b"),
        plain.with_chat_template("{b").with_chat_template("{a", "b"),
    ]
    assert len({tok.digests["chat"] for tok in made}) == len(made)
    assert len({tok.fingerprint for tok in made}) == 1


@pytest.mark.parametrize("name", ["chatml", "gemma", "llama2", "llama3", "mistral"])
def test_a_template_that_comes_with_the_package_goes_by_its_name(name: str, plain: Any) -> None:
    from tokenmill.chat import builtin

    assert name in builtin.NAMES
    tok = plain.with_chat_template(name)
    assert tok.chat_templates == {"default": builtin.source_of(name)}
    assert "{%- generation %}" in builtin.source_of(name)
    assert plain.with_chat_template(name, "mine").chat_templates == {"mine": builtin.source_of(name)}


@pytest.mark.parametrize("source", ["chat-ml", "ChatML", "", "no braces", "../chatml", "chatml.jinja"])
def test_a_text_without_a_brace_that_is_no_name_is_refused(source: str, plain: Any) -> None:
    with pytest.raises(ValueError, match="chatml, gemma, llama2, llama3, mistral"):
        plain.with_chat_template(source)


def test_wrong_types_and_sizes_are_refused(native: Any, plain: Any) -> None:
    for arguments in [(b"{{ 1 }}",), (3,), ("{", 3), ("{", None)]:
        with pytest.raises(TypeError):
            plain.with_chat_template(*arguments)
    with pytest.raises(TypeError, match=r"not the path of a file: pass path\.read_text\("):
        plain.with_chat_template(Path("chat.jinja"))
    with pytest.raises(ValueError, match="a file is not read here, pass its text"):
        plain.with_chat_template("chat.jinja")
    with pytest.raises(ValueError, match="surrogates"):
        plain.with_chat_template("{\ud800")
    plain.with_chat_template("{" * 2**20, "n" * 255)
    for arguments, limit in [(("{" * (2**20 + 1),), 2**20), (("{", "n" * 256), 255)]:
        with pytest.raises(native.FormatError) as caught:
            plain.with_chat_template(*arguments)
        assert (caught.value.kind, caught.value.limit) == ("limit", limit)
        assert caught.value.field == "chat_templates"
    for number in range(100):
        plain = plain.with_chat_template("{", str(number))
    assert plain.with_chat_template("{{", "99").chat_templates["99"] == "{{"
    with pytest.raises(native.FormatError, match="more than 100 chat templates"):
        plain.with_chat_template("{", "100")


# ---- saved folders ---------------------------------------------------------------------------------


def test_a_folder_keeps_templates_in_files_that_the_manifest_lists(
    native: Any, chatty: Any, tmp_path: Path
) -> None:
    chatty.save(tmp_path / "t")
    files = contents(tmp_path / "t")
    assert set(files) == {DEFAULT, f"{MORE}/tool_use.jinja", "tokenizer.json", "tokenmill.json"}
    assert files[DEFAULT].decode() == SOURCE
    listed = json.loads(files["tokenmill.json"])["files"]
    assert set(listed) == set(files) - {"tokenmill.json"}
    again = native.load(tmp_path / "t")
    assert again == chatty
    assert again.load_report.tolerated == []
    assert again.load_report.notes == []
    assert again.load_report.files[DEFAULT] == ["chat_template"]
    again.save(tmp_path / "t")
    again.save(tmp_path / "other")
    assert contents(tmp_path / "t") == contents(tmp_path / "other") == files


@pytest.mark.parametrize(
    "names",
    [
        ("a/b",),
        ("",),
        ("..",),
        ("file",),
        ("Default", "default"),
        ("a", "A"),
        ("é",),
        ("n" * 255,),
        ("x\0y",),
    ],
)
def test_names_that_are_no_file_names_are_kept_in_the_settings(
    names: tuple[str, ...], native: Any, plain: Any, tmp_path: Path
) -> None:
    for number, name in enumerate(names):
        plain = plain.with_chat_template(f"{{{{ {number} }}}}", name)
    plain.save(tmp_path / "t")
    assert sorted(contents(tmp_path / "t")) == ["tokenizer.json", "tokenizer_config.json", "tokenmill.json"]
    again = native.load(tmp_path / "t")
    assert again.chat_templates == plain.chat_templates
    assert again == plain
    again.save(tmp_path / "u")
    assert contents(tmp_path / "t") == contents(tmp_path / "u")


def test_line_ends_that_files_do_not_keep_are_kept_in_the_settings(
    native: Any, plain: Any, tmp_path: Path
) -> None:
    tok = plain.with_chat_template("{{ 1 }}\r\n")
    tok.save(tmp_path / "t")
    config = json.loads((tmp_path / "t" / "tokenizer_config.json").read_text())
    assert config["chat_template"] == "{{ 1 }}\r\n"
    assert native.load(tmp_path / "t") == tok


def test_settings_that_would_change_padding_are_not_written_for_templates(
    native: Any, plain: Any, tmp_path: Path
) -> None:
    truncation = {"direction": "Left", "max_length": 3, "strategy": "OnlyFirst", "stride": 1}
    plain.save(tmp_path / "t.json")
    file = json.loads((tmp_path / "t.json").read_text())
    (tmp_path / "t.json").write_text(json.dumps({**file, "truncation": truncation}))
    cut = native.load(tmp_path / "t.json")
    for tok in [cut, plain.with_special_tokens(["[PAD]"])]:
        held = tok.with_chat_template(SOURCE)
        held.save(tmp_path / "held")
        assert native.load(tmp_path / "held") == held
        with pytest.raises(native.FormatError, match="padding and truncation") as caught:
            tok.with_chat_template("{\r").save(tmp_path / "not")
        assert (caught.value.kind, caught.value.field) == ("cannot-hold", "chat_templates")
        tok.with_chat_template("{\r").save(tmp_path / "lossy", lossy=True)
        assert native.load(tmp_path / "lossy") == tok


def test_roles_and_templates_are_saved_together(native: Any, chatty: Any, tmp_path: Path) -> None:
    tok = chatty.with_special_tokens(bos_token="<s>")
    tok.save(tmp_path / "t")
    assert "chat_template" not in (tmp_path / "t" / "tokenizer_config.json").read_text()
    assert native.load(tmp_path / "t") == tok


def test_a_single_file_cannot_hold_them(native: Any, chatty: Any, plain: Any, tmp_path: Path) -> None:
    with pytest.raises(native.FormatError, match=r"chat templates \(tool_use, default\).*save to a folder"):
        chatty.save(tmp_path / "t.json")
    with pytest.raises(native.FormatError) as caught:
        chatty.save(tmp_path / "t.json")
    assert (caught.value.kind, caught.value.field) == ("cannot-hold", "chat_templates")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(native.FormatError, match="chat templates"):
        plain.with_chat_template("{\r").save(tmp_path / "t.json")
    chatty.save(tmp_path / "t.json", lossy=True)
    assert native.load(tmp_path / "t.json") == plain
    chatty.save(tmp_path / "t.tiktoken", lossy=True)
    chatty.save(tmp_path / "pair", format="vocab+merges", lossy=True)
    loaded = native.load(tmp_path / "pair", split=plain.split)
    assert loaded.chat_templates == chatty.chat_templates


def test_templates_of_the_tokenizer_before_are_removed_and_other_files_stay(
    native: Any, chatty: Any, plain: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "t"
    chatty.save(folder)
    (folder / "mine.jinja").write_text("mine")
    (folder / MORE / "notes.txt").write_text("mine")
    plain.save(folder)
    plain.save(tmp_path / "fresh")
    mine = {"mine.jinja": b"mine", f"{MORE}/notes.txt": b"mine"}
    assert contents(folder) == contents(tmp_path / "fresh") | mine
    assert native.load(folder) == plain
    # One of two; and the folder of the others goes when it is empty.
    (folder / MORE / "notes.txt").unlink()
    chatty.save(folder)
    chatty.with_chat_template(None, "tool_use").save(folder)
    assert native.load(folder).chat_templates == {"default": SOURCE}
    assert not (folder / MORE).exists()


def test_templates_that_nobody_saved_stay_and_are_not_read(native: Any, plain: Any, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    (folder / MORE).mkdir(parents=True)
    (folder / DEFAULT).write_text("{{ 'mine' }}")
    (folder / MORE / "a.jinja").write_text("{{ 'mine too' }}")
    plain.save(folder)
    assert (folder / DEFAULT).read_text() == "{{ 'mine' }}"
    tok = native.load(folder)
    assert tok == plain
    notes = [note for note in tok.load_report.notes if "belongs to a tokenizer" in note]
    assert [note.partition(" ")[0] for note in notes] == [f"{MORE}/a.jinja", DEFAULT]
    # A template of the saved tokenizer takes the place of one with its name.
    plain.with_chat_template(SOURCE).save(folder)
    assert native.load(folder).chat_templates == {"default": SOURCE}
    assert (folder / MORE / "a.jinja").read_text() == "{{ 'mine too' }}"


def test_templates_that_came_or_changed_later_are_read_and_reported(
    native: Any, plain: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "t"
    plain.save(folder)
    (folder / MORE).mkdir()
    (folder / DEFAULT).write_text(SOURCE)
    (folder / MORE / "a.jinja").write_text("{{ 1 }}")
    tok = native.load(folder)
    assert tok.chat_templates == {"default": SOURCE, "a": "{{ 1 }}"}
    assert f"{DEFAULT} came after the last save; it is read" in tok.load_report.notes
    assert f"{MORE}/a.jinja came after the last save; it is read" in tok.load_report.notes
    native.load(folder, strict=True)
    tok.save(folder)
    (folder / DEFAULT).write_text("{{ 'changed' }}")
    changed = native.load(folder)
    assert changed.chat_templates["default"] == "{{ 'changed' }}"
    assert [(one.file, one.field) for one in changed.load_report.tolerated] == [(DEFAULT, "sha256")]
    with pytest.raises(native.FormatError, match="was changed after tokenmill saved it"):
        native.load(folder, strict=True)
    (folder / DEFAULT).unlink()
    assert native.load(folder).chat_templates == {"a": "{{ 1 }}"}


def test_a_template_that_changed_does_not_excuse_a_vocabulary_that_did(
    native: Any, plain: Any, tmp_path: Path
) -> None:
    plain.with_chat_template(SOURCE).save(tmp_path)
    (tmp_path / DEFAULT).write_text("{{ 'changed' }}")
    path = tmp_path / "tokenizer.json"
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(native.ManifestError):
        native.load(tmp_path)


# ---- saves that were killed --------------------------------------------------------------------------


def pending(folder: Path) -> Path:
    """The folder as a save leaves it that was killed once it had been decided."""
    there = folder / ".tokenmill-pending"
    there.mkdir()
    for path in [path for path in folder.rglob("*") if path.is_file() and there not in path.parents]:
        path.rename(there / path.relative_to(folder).as_posix().replace("/", "@"))
    (folder / MORE).rmdir()
    return there


def test_a_killed_save_is_read_and_completed(native: Any, chatty: Any, plain: Any, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    chatty.save(folder)
    files = contents(folder)
    pending(folder)
    assert native.load(folder) == chatty
    native.load(folder).save(folder)
    assert contents(folder) == files
    pending(folder)
    plain.save(folder)
    assert native.load(folder) == plain
    assert sorted(contents(folder)) == ["tokenizer.json", "tokenmill.json"]


def test_completing_writes_nothing_outside_the_folder(native: Any, chatty: Any, tmp_path: Path) -> None:
    folder, outside = tmp_path / "t", tmp_path / "outside"
    outside.mkdir()
    chatty.save(folder)
    pending(folder)
    (folder / MORE).symlink_to(outside)
    chatty.save(folder)
    assert list(outside.iterdir()) == []
    assert native.load(folder) == chatty


# ---- files that others wrote -------------------------------------------------------------------------


def given(plain: Any, folder: Path, config: object = None, **files: bytes) -> Path:
    """A folder of a tokenizer.json, settings and templates; `a` is the file of an additional one."""
    (folder / MORE).mkdir(parents=True)
    plain.save(folder / "tokenizer.json")
    if config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": config}))
    for name, content in files.items():
        path = folder / DEFAULT if name == "default" else folder / MORE / f"{name}.jinja"
        path.write_bytes(content)
    return folder


def test_files_take_the_place_of_the_setting(native: Any, plain: Any, tmp_path: Path) -> None:
    tok = native.load(given(plain, tmp_path / "a", "{{ 0 }}", tool_use=b"{{ 1 }}"))
    assert tok.chat_templates == {"tool_use": "{{ 1 }}"}
    assert "is ignored because of additional_chat_templates/tool_use.jinja" in tok.load_report.notes[-1]
    # The same template in both places is no finding.
    tok = native.load(given(plain, tmp_path / "b", "{{ 0 }}", default=b"{{ 0 }}"))
    assert not any("is ignored" in note and "template" in note for note in tok.load_report.notes)


def test_a_processor_s_template_is_not_read_and_a_note_says_so(
    native: Any, plain: Any, tmp_path: Path
) -> None:
    plain.save(tmp_path / "tokenizer.json")
    (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": "{{ 1 }}"}))
    tok = native.load(tmp_path)
    assert tok.chat_templates == {}
    assert tok.load_report.notes == ["chat_template.json is a processor's; a tokenizer does not read it"]


def test_broken_templates_are_errors_with_their_file(native: Any, plain: Any, tmp_path: Path) -> None:
    long = b"{" * (2**20 + 1)
    many = {f"t{number}": b"{{ 1 }}" for number in range(101)}
    rows: list[tuple[str, dict[str, Any], str, str]] = [
        ("encoding", {"default": b"{{ \xff }}"}, DEFAULT, ""),
        ("encoding", {"a": b"\xff\xfe{\0"}, f"{MORE}/a.jinja", ""),
        ("limit", {"default": long}, DEFAULT, ""),
        ("limit", {"config": long.decode()}, "tokenizer_config.json", "chat_template"),
        ("limit", many, "", ""),
        ("type", {"config": [3]}, "tokenizer_config.json", "chat_template[0]"),
        ("missing", {"config": [{"name": "a"}]}, "tokenizer_config.json", "chat_template[0].template"),
    ]
    for number, (kind, files, file, field) in enumerate(rows):
        folder = given(plain, tmp_path / str(number), **files)
        with pytest.raises(native.FormatError) as caught:
            native.load(folder)
        assert (caught.value.kind, caught.value.field) == (kind, field), files
        assert str(caught.value.path).startswith(str(folder / file)), files


def test_what_is_no_template_is_tolerated_and_refused_strictly(
    native: Any, plain: Any, tmp_path: Path
) -> None:
    settings = {"0": 5, "1": {"a": None}, "2": [{"name": "a", "template": 1}], "3": True}
    for name, setting in settings.items():
        folder = given(plain, tmp_path / name, setting)
        tok = native.load(folder)
        assert tok.chat_templates == {}
        (finding,) = tok.load_report.tolerated
        assert finding.file == "tokenizer_config.json"
        assert finding.field.startswith("chat_template")
        with pytest.raises(native.FormatError) as caught:
            native.load(folder, strict=True)
        assert caught.value.field == finding.field


@pytest.mark.parametrize("listed", ["../secret.jinja", f"{MORE}/../../secret.jinja", f"{MORE}/../x.jinja"])
def test_a_manifest_leads_to_no_template_outside(
    listed: str, native: Any, plain: Any, tmp_path: Path
) -> None:
    (tmp_path / "secret.jinja").write_text("{{ 'secret' }}")
    plain.save(tmp_path / "t")
    (tmp_path / "t" / MORE).mkdir()
    (tmp_path / "t" / "x.jinja").write_text("{{ 'x' }}")
    path = tmp_path / "t" / "tokenmill.json"
    manifest = json.loads(path.read_text())
    manifest["files"][listed] = manifest["files"]["tokenizer.json"]
    path.write_text(json.dumps(manifest))
    assert native.load(tmp_path / "t").chat_templates == {}


def test_damaged_settings_are_read_or_refused_and_never_more(native: Any, plain: Any, tmp_path: Path) -> None:
    """Every load ends with templates that are strings, or with a typed error."""
    pieces: list[Any] = [None, True, 5, -1.5, "", "{{ 1 }}", "\r\n\0é", [], {}, "name", "template", "default"]
    rng = random.Random(39)

    def value(depth: int) -> Any:
        kind = rng.randrange(4) if depth else 0
        if kind == 1:
            return [value(depth - 1) for _ in range(rng.randrange(4))]
        if kind == 2:
            return {rng.choice(["name", "template", "a", ""]): value(depth - 1) for _ in range(3)}
        if kind == 3:
            return {"name": value(0), "template": value(0)}
        return rng.choice(pieces)

    plain.save(tmp_path / "tokenizer.json")
    read, fields = 0, set()
    for number in range(300):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": value(3)}))
        try:
            tok = native.load(tmp_path)
        except native.FormatError as refused:
            fields.add(refused.field.partition("[")[0])
            continue
        read += bool(tok.chat_templates)
        tok.save(tmp_path / f"saved{number}")
        assert native.load(tmp_path / f"saved{number}") == tok
    assert read > 20
    assert fields == {"chat_template"}


def test_damaged_files_are_read_or_refused(native: Any, plain: Any, tmp_path: Path) -> None:
    rng = random.Random(39)
    folder = given(plain, tmp_path / "t", default=SOURCE.encode())
    for _ in range(200):
        content = bytearray(SOURCE.encode())
        for _ in range(rng.randrange(1, 4)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        (folder / DEFAULT).write_bytes(content)
        try:
            want = (folder / DEFAULT).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            with pytest.raises(native.FormatError) as caught:
                native.load(folder)
            assert caught.value.kind == "encoding"
        else:
            assert native.load(folder).chat_templates == {"default": want}


# ---- GGUF ----------------------------------------------------------------------------------------------


def test_a_gguf_file_has_templates(native: Any, tmp_path: Path) -> None:
    keys = {
        "tokenizer.chat_template": "{{ 1 }}\r\n",
        "tokenizer.chat_template.rag": "{{ 2 }}",
        "tokenizer.chat_template.tool_use": "{{ 3 }}",
        "tokenizer.chat_templates": ["tool_use", "rag"],
    }
    path = tmp_path / "m.gguf"
    path.write_bytes(small_gpt2(**keys))
    tok = native.load(path)
    want = {"default": "{{ 1 }}\r\n", "tool_use": "{{ 3 }}", "rag": "{{ 2 }}"}
    assert list(tok.chat_templates.items()) == list(want.items())
    assert "chat_template" in tok.load_report.files["m.gguf"]
    tok.save(tmp_path / "t")
    assert native.load(tmp_path / "t").chat_templates == want


# ---- many saves ------------------------------------------------------------------------------------------


def test_whatever_was_there_before_a_folder_is_what_was_saved_last(
    native: Any, plain: Any, tmp_path: Path
) -> None:
    made = [
        plain,
        plain.with_chat_template(SOURCE),
        plain.with_chat_template("{{ 1 }}", "a").with_chat_template("{{ 2 }}", "b"),
        plain.with_chat_template("{{ 1 }}", "a/b").with_chat_template(SOURCE),
        plain.with_chat_template("{\r\n").with_special_tokens(eos_token="<e>"),
    ]
    for number, (first, second) in enumerate(itertools.product(made, made)):
        folder = tmp_path / str(number)
        first.save(folder)
        second.save(folder)
        loaded = native.load(folder)
        assert loaded == second, number
        after = contents(folder)
        second.save(folder)
        assert contents(folder) == after, number
        # What is left of the first are its settings, which a manifest ignores.
        second.save(tmp_path / f"{number}-fresh")
        left = set(after) - set(contents(tmp_path / f"{number}-fresh"))
        assert left <= {"tokenizer_config.json"}, number


@pytest.mark.skipif(os.name == "nt", reason="permissions of Unix")
def test_a_template_that_cannot_be_read_is_an_error_of_the_system(
    native: Any, plain: Any, tmp_path: Path
) -> None:
    folder = given(plain, tmp_path / "t", default=b"{{ 1 }}")
    (folder / DEFAULT).chmod(0)
    if os.access(folder / DEFAULT, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(PermissionError):
        native.load(folder)
