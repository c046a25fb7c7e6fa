"""The parts of `tokenmill.compat.tiktoken` that need no published file."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenmill import reference

URL = "https://example.org/some/ranks.tiktoken"
LINES = b"YQ== 0\nYg== 1\n\nYWI= 2\n"
RANKS = {b"a": 0, b"b": 1, b"ab": 2}
BYTES = {bytes([byte]): byte for byte in range(256)}


@pytest.fixture(autouse=True)
def _no_cache(native: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from tokenmill.compat import tiktoken

    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", "")
    # Without it nothing is downloaded; tests/hub has what is.
    monkeypatch.setitem(sys.modules, "pooch", None)
    yield
    tiktoken.set_folder(None)


def sha1(url: str) -> str:
    return hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()


# ---- files ------------------------------------------------------------------------------------


def test_a_file_is_found_in_the_folder_by_its_own_name_and_by_the_name_in_a_cache(tmp_path: Path) -> None:
    from tokenmill.compat.tiktoken import load, set_folder

    for name in ["ranks.tiktoken", sha1(URL)]:
        folder = tmp_path / f"with {name}"
        folder.mkdir()
        (folder / name).write_bytes(LINES)
        set_folder(folder)
        assert load.load_tiktoken_bpe(URL) == RANKS


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_a_file_is_found_in_the_cache_of_tiktoken(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokenmill.compat.tiktoken import load

    (tmp_path / sha1(URL)).write_bytes(LINES)
    monkeypatch.setenv(variable, str(tmp_path))
    assert load.load_tiktoken_bpe(URL, hashlib.sha256(LINES).hexdigest()) == RANKS


def test_a_file_with_another_hash_is_not_taken(native: Any, tmp_path: Path) -> None:
    from tokenmill.compat.tiktoken import load, set_folder

    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(LINES)
    set_folder(tmp_path)
    with pytest.raises(native.MissingExtraError):
        load.load_tiktoken_bpe(URL, "0" * 64)
    with pytest.raises(native.FormatError) as raised:
        load.load_tiktoken_bpe(str(path), "0" * 64)
    assert (raised.value.kind, raised.value.path) == ("hash", str(path))
    assert path.read_bytes() == LINES


def test_a_missing_file_says_where_to_put_it(native: Any, tmp_path: Path) -> None:
    from tokenmill.compat import tiktoken
    from tokenmill.compat.tiktoken.registry import ENCODINGS

    tiktoken.set_folder(tmp_path)
    before = ENCODINGS.pop("p50k_edit", None)
    try:
        with pytest.raises(native.MissingExtraError, match=r"p50k_base\.tiktoken .*set_folder") as raised:
            tiktoken.get_encoding("p50k_edit")
    finally:
        if before is not None:
            ENCODINGS["p50k_edit"] = before
    assert raised.value.extra == "hub"
    with pytest.raises(FileNotFoundError):
        tiktoken.load.load_tiktoken_bpe(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("lines", "place"), [(b"YQ== 0\nYg==\n", "line 2"), (b"YQ== x\n", "line 1"), (b"\n=YQ 1\n", "line 2")]
)
def test_a_broken_line_is_named(native: Any, lines: bytes, place: str, tmp_path: Path) -> None:
    from tokenmill.compat.tiktoken import load

    path = tmp_path / "ranks"
    path.write_bytes(lines)
    with pytest.raises(native.FormatError, match=place) as raised:
        load.load_tiktoken_bpe(str(path))
    assert raised.value.field == place


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_local_files_are_read_once_and_may_be_pipes(tmp_path: Path) -> None:
    from tokenmill.compat.tiktoken import load

    def pipe(name: str, content: bytes) -> str:
        os.mkfifo(tmp_path / name)
        threading.Thread(target=(tmp_path / name).write_bytes, args=(content,), daemon=True).start()
        return str(tmp_path / name)

    assert load.load_tiktoken_bpe(pipe("ranks", LINES), hashlib.sha256(LINES).hexdigest()) == RANKS
    printing = [byte for byte in range(256) if chr(byte).isprintable() and chr(byte) != " "]
    others = [byte for byte in range(256) if byte not in printing]
    letters = [chr(byte) for byte in printing] + [chr(256 + place) for place in range(len(others))]
    table = {letter: rank for rank, letter in enumerate([*letters, "ab"])}
    merges, encoder = pipe("merges", b"#version\na b\n"), pipe("encoder", json.dumps(table).encode())
    assert load.data_gym_to_mergeable_bpe_ranks(merges, encoder)[b"ab"] == 256


def test_written_ranks_are_read_again_in_their_order(tmp_path: Path) -> None:
    from tokenmill.compat.tiktoken import load

    path = tmp_path / "ranks"
    load.dump_tiktoken_bpe(dict(reversed(RANKS.items())), str(path))
    assert path.read_bytes() == LINES.replace(b"\n\n", b"\n")
    assert list(load.load_tiktoken_bpe(str(path)).items()) == list(RANKS.items())
    assert [one.name for one in tmp_path.iterdir()] == ["ranks"]


def test_ranks_are_written_through_links_and_into_pipes(tmp_path: Path) -> None:
    from tokenmill.compat.tiktoken import load

    (tmp_path / "link").symlink_to("ranks")
    load.dump_tiktoken_bpe(RANKS, str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert load.load_tiktoken_bpe(str(tmp_path / "ranks")) == RANKS
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    load.dump_tiktoken_bpe(RANKS, str(pipe))
    reader.join()
    assert pipe.is_fifo()
    assert read == [(tmp_path / "ranks").read_bytes()]


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    from tokenmill.compat.tiktoken import load

    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        load.dump_tiktoken_bpe(RANKS, str(tmp_path / "folder"))
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_merges_and_a_table_give_ranks(native: Any, tmp_path: Path) -> None:
    from tokenmill.compat.tiktoken import load

    merges, table = tmp_path / "vocab.bpe", tmp_path / "encoder.json"
    order = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in order]
    ids = {chr(byte): rank for rank, byte in enumerate(order)}
    ids |= {chr(256 + place): len(order) + place for place in range(len(others))}
    merges.write_text("#version: 0.2\na b\nab c\n", encoding="utf-8")
    table.write_text(json.dumps({**ids, "ab": 256, "abc": 257, "<|endoftext|>": 258}), encoding="utf-8")
    ranks = load.data_gym_to_mergeable_bpe_ranks(str(merges), str(table))
    assert (ranks[b"abc"], ranks[b"!"], ranks[b"\x00"], len(ranks)) == (257, 0, 188, 258)
    table.write_text(json.dumps({**ids, "ab": 257, "abc": 256}), encoding="utf-8")
    with pytest.raises(native.FormatError, match=r"b'ab' has the rank 256 .* 257"):
        load.data_gym_to_mergeable_bpe_ranks(str(merges), str(table))
    swapped = {**ids, "a": ids["b"], "b": ids["a"], "ab": 256, "abc": 257}
    table.write_text(json.dumps(swapped), encoding="utf-8")
    clobbered = load.data_gym_to_mergeable_bpe_ranks(str(merges), str(table), clobber_one_byte_tokens=True)
    assert clobbered[b"a"] == ranks[b"b"]
    merges.write_text("#version: 0.2\n\u4e16 b\n", encoding="utf-8")
    with pytest.raises(native.FormatError, match="byte alphabet"):
        load.data_gym_to_mergeable_bpe_ranks(str(merges), str(table))


# ---- encodings --------------------------------------------------------------------------------


def encoding(**tables: Any) -> Any:
    from tokenmill.compat import tiktoken

    arguments = {"name": "own", "pat_str": r"\w+|\W+", "mergeable_ranks": BYTES, "special_tokens": {}}
    return tiktoken.Encoding(**{**arguments, **tables})


def test_an_encoding_may_be_added_to_the_registry(tmp_path: Path) -> None:
    from tokenmill.compat import tiktoken
    from tokenmill.compat.tiktoken import registry

    own = {"name": "own", "pat_str": "a", "mergeable_ranks": BYTES, "special_tokens": {}}
    registry.ENCODING_CONSTRUCTORS["own"] = lambda: own
    try:
        enc = tiktoken.get_encoding("own")
        assert enc is tiktoken.get_encoding("own")
        assert enc.encode("bab") == [97]
        tiktoken.set_folder(tmp_path)
        assert str(tmp_path).encode() in pickle.dumps(enc)
        assert pickle.loads(pickle.dumps(enc)).encode("bab") == [97]
    finally:
        del registry.ENCODING_CONSTRUCTORS["own"], registry.ENCODINGS["own"]
    for wrong in ["own", 5]:
        with pytest.raises(ValueError, match="encoding"):
            tiktoken.get_encoding(wrong)  # type: ignore[arg-type]


def test_a_disallowed_literal_is_named_with_its_place(native: Any) -> None:
    enc = encoding(special_tokens={"<s>": 256, "<s><s>": 257})
    with pytest.raises(native.SpecialTokenError, match="allowed_special") as raised:
        enc.encode("ab<s><s>")
    assert (raised.value.token, raised.value.position) == ("<s><s>", 2)


def test_what_tiktoken_refuses_is_refused_in_words_of_its_own_arguments() -> None:
    enc = encoding(special_tokens={"<s>": 256})
    for disallowed in ["all", ()]:
        with pytest.raises(TypeError, match=r"""is "all" or a set, not str; for one literal write {'<s>'}"""):
            enc.encode("ab", allowed_special="<s>", disallowed_special=disallowed)
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed; encode reads them") as raised:
        enc.encode_to_numpy("a\ud83d")
    assert "surrogates=" not in str(raised.value)


def test_a_literal_that_only_joined_surrogates_spell_is_none() -> None:
    enc = encoding(special_tokens={"\U0001f98a": 256})
    assert enc.encode("\ud83e\udd8a") == list("\U0001f98a".encode())
    assert enc.encode_batch(["\ud83e\udd8a"]) == [list("\U0001f98a".encode())]
    with pytest.raises(ValueError, match="allowed_special"):
        enc.encode("\U0001f98a")


def test_an_escaped_backslash_is_no_back_reference() -> None:
    assert encoding(pat_str=r"\\1").encode("a\\1") == [92, 49]


@given(piece=st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=30).map(b"".join))
def test_a_piece_is_merged_as_the_definition_says(native: Any, piece: bytes) -> None:
    from tokenmill.compat.tiktoken._merging import merge_piece

    ranks = {b"a": 9, b"b": 8, b"c": 7, b"ab": 6, b"bc": 5, b"aa": 4, b"abab": 3, b"aab": 2, b"cab": 1}
    want = [ranks[token] for token in reference.encode_by_id(reference.byte_symbols(piece), ranks)]
    assert merge_piece(piece, ranks, whole=False) == want
    assert merge_piece(piece, ranks) == ([ranks[piece]] if piece in ranks else want)


@pytest.mark.parametrize(
    ("piece", "shown", "position"),
    [
        (b"abc", "c", 2),
        (b"ab\xff", "0xFF", 2),
        ("b🦊".encode(), "🦊", 1),
        (b"a\xe2\x82", "0xE2", 1),
        (b"\x82", "0x82", 0),
    ],
)
def test_what_has_no_token_is_shown_as_a_character_where_it_is_one(
    native: Any, piece: bytes, shown: str, position: int
) -> None:
    from tokenmill.compat.tiktoken._merging import merge_piece

    with pytest.raises(native.UnknownTokenError) as raised:
        merge_piece(piece, RANKS)
    assert (raised.value.char, raised.value.position) == (shown, position)
    assert repr(shown) in str(raised.value)


# ---- in the place of tiktoken -----------------------------------------------------------------


def run(script: str) -> str:
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_in_the_place_of_tiktoken_its_modules_are_the_same_objects(native: Any) -> None:
    run("""
        import pickle, sys
        import tokenmill.compat.tiktoken as ours

        sys.modules["tiktoken"] = ours
        import tiktoken
        import tiktoken.core
        from tiktoken import registry
        from tiktoken.load import load_tiktoken_bpe
        from tiktoken.model import encoding_name_for_model
        import tokenmill.compat.tiktoken.core, tokenmill.compat.tiktoken.registry

        assert tiktoken is ours
        assert tiktoken.core.Encoding is tiktoken.Encoding is tokenmill.compat.tiktoken.core.Encoding
        for name in ("core", "load", "model", "registry"):
            own = sys.modules[f"tokenmill.compat.tiktoken.{name}"]
            exec(f"import tiktoken.{name}")
            assert sys.modules[f"tiktoken.{name}"] is getattr(tiktoken, name) is own
            # It is what it was: what it imports later is found beside it.
            assert own.__spec__.name == own.__name__ == f"tokenmill.compat.tiktoken.{name}"
        assert load_tiktoken_bpe is ours.load.load_tiktoken_bpe
        assert encoding_name_for_model("gpt-4o") == "o200k_base"

        # One registry: what is added by one name is found by the other.
        ranks = {bytes([byte]): byte for byte in range(256)}
        tables = {"name": "own", "pat_str": "a+|[^a]+", "mergeable_ranks": ranks, "special_tokens": {}}
        tiktoken.registry.ENCODING_CONSTRUCTORS["own"] = lambda: tables
        enc = ours.get_encoding("own")
        assert enc is tiktoken.registry.ENCODINGS["own"]
        assert enc is tokenmill.compat.tiktoken.registry.ENCODINGS["own"]
        assert pickle.loads(pickle.dumps(enc)).encode("ab") == [97, 98]
        try:
            import tiktoken.nothing
        except ModuleNotFoundError as error:
            assert error.name == "tiktoken.nothing"
        else:
            raise AssertionError
    """)


def test_beside_tiktoken_itself_nothing_changes(native: Any) -> None:
    pytest.importorskip("tiktoken")
    run("""
        import sys
        import tokenmill.compat.tiktoken as ours
        finders = list(sys.meta_path)
        import tiktoken, tiktoken.core, tiktoken.load

        assert tiktoken.core.Encoding is tiktoken.Encoding is not ours.Encoding
        assert not tiktoken.load.__file__.startswith(ours.__path__[0])
        import importlib
        importlib.reload(ours)
        assert sys.meta_path == finders, "one finder, however often the package is loaded"
    """)


def test_a_disallowed_literal_can_be_raised_by_its_function(native: Any) -> None:
    from tokenmill.compat.tiktoken.core import raise_disallowed_special_token

    with pytest.raises(
        native.SpecialTokenError, match=r"'<s>', which is not allowed.*allowed_special"
    ) as raised:
        raise_disallowed_special_token("<s>")
    assert (raised.value.token, raised.value.position) == ("<s>", None)
