"""Images: a compiled tokenizer in a file, mapped by whoever loads it, and a folder that keeps them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

TEXTS = ["low lower lowest don't 1234", "你好，世界 🦊", " \n\t ", "def f(x):\n    return x"] * 3
KINDS = {"wrong-kind", "version", "truncated", "inconsistent", "encoding"}


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    return native.train(texts=TEXTS * 3, num_merges=60, special_tokens=["<s>"], split="cl100k")


@pytest.fixture
def saved(tok: Any, tmp_path: Path) -> Path:
    tok.save(tmp_path / "t.tokenmill")
    return tmp_path / "t.tokenmill"


def images(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tokenmill"))


# ---- save and load ----------------------------------------------------------------------------


def test_an_image_is_the_tokenizer(native: Any, tok: Any, saved: Path) -> None:
    image = native.load(saved)
    assert image == tok
    assert [image.encode(text) for text in TEXTS] == [tok.encode(text) for text in TEXTS]
    assert image.load_report.files == {
        "t.tokenmill": ["vocabulary", "added_tokens", "pre_tokenizer", "decoder"]
    }
    usage = image.memory_usage()
    assert usage["image"] == saved.stat().st_size
    assert usage["seed"] <= 2_048  # all but an array of the tokens of one byte is in the image
    assert tok.memory_usage()["image"] == 0
    # It lives on without its file.
    saved.unlink()
    assert image.encode("low lower") == tok.encode("low lower")


def test_a_format_by_its_name_needs_no_ending(native: Any, tok: Any, tmp_path: Path) -> None:
    tok.save(tmp_path / "anything", format="image")
    assert native.load(tmp_path / "anything") == tok
    with pytest.raises(native.FormatError, match=r"\.tokenmill"):
        tok.save(f"{tmp_path}/", format="image")


def test_roles_settings_and_chat_templates_are_in_an_image(native: Any, tmp_path: Path) -> None:
    tok = native.train(texts=TEXTS, num_merges=9, bos_token="<s>", eos_token="</s>", add_bos_token=True)
    tok = tok.with_chat_template("chatml").with_call_defaults(padding_side="left", model_max_length=7)
    tok.save(tmp_path / "t.tokenmill")
    image = native.load(tmp_path / "t.tokenmill")
    assert image == tok
    assert (image.bos_token, image.padding_side, image.model_max_length) == ("<s>", "left", 7)
    assert image.chat_templates == tok.chat_templates
    assert image.encode("low", add_special_tokens=True) == tok.encode("low", add_special_tokens=True)


def test_additions_of_a_load_are_added_to_an_image(native: Any, tok: Any, saved: Path) -> None:
    more = native.load(saved, special_tokens=["<more>"], eos_token="<s>")
    assert more == tok.with_special_tokens(["<more>"], eos_token="<s>")
    assert more.encode("low<more>", special="parse")[-1] == tok.vocab_size
    assert native.load(saved, split="cl100k") == tok
    with pytest.raises(native.FormatError, match="split of its own"):
        native.load(saved, split="gpt2")


def test_what_is_made_from_an_image_is_what_is_made_from_the_tokenizer(
    native: Any, tok: Any, saved: Path, tmp_path: Path
) -> None:
    image = native.load(saved)
    assert image.with_vocab_size(280) == tok.with_vocab_size(280)
    assert image.vocab == tok.vocab
    assert image.merges == tok.merges
    assert image.token_to_id("low") == tok.token_to_id("low")
    assert pickle.dumps(image) == pickle.dumps(tok)
    assert native.train(base=image, texts=TEXTS, num_merges=70) == native.train(
        base=tok, texts=TEXTS, num_merges=70
    )
    image.save(tmp_path / "again.json")
    tok.save(tmp_path / "was.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "was.json").read_bytes()


def test_functions_are_given_again_by_name(native: Any, tok: Any, tmp_path: Path) -> None:
    with_hook = tok.with_normalizer(str.lower, name="low")
    with_hook.save(tmp_path / "t.tokenmill")
    with pytest.raises(native.FormatError, match="low"):
        native.load(tmp_path / "t.tokenmill")
    again = native.load(tmp_path / "t.tokenmill", hooks={"low": str.lower})
    assert again.encode("LOW lower") == tok.encode("low lower")
    with pytest.raises(native.FormatError, match="without a name"):
        tok.with_normalizer(str.lower).save(tmp_path / "u.tokenmill")


# ---- damage -----------------------------------------------------------------------------------


def test_no_damaged_image_is_used(native: Any, tok: Any, saved: Path, tmp_path: Path) -> None:
    whole = saved.read_bytes()
    drawn = random.Random(7)
    target = tmp_path / "damaged.tokenmill"

    def damage(number: int) -> bytes:
        at = drawn.randrange(len(whole))
        if number % 10 == 0:
            at %= 64  # the header
        if number % 5 < 2:
            return whole[:at] + bytes([whole[at] ^ 1 << drawn.randrange(8)]) + whole[at + 1 :]
        if number % 5 == 2:
            return whole[:at]
        if number % 5 == 3:
            length = drawn.randrange(1, 5000)
            return whole[:at] + drawn.randbytes(len(whole[at : at + length])) + whole[at + length :]
        return whole + drawn.randbytes(drawn.randrange(1, 100))

    for number in range(500):
        content = damage(number)
        assert content != whole
        target.write_bytes(content)
        with pytest.raises(native.FormatError) as error:
            native.load(target)
        assert error.value.path == str(target)
        assert error.value.kind in {*KINDS, "empty", "protobuf"}, (number, error.value)
    target.write_bytes(whole)
    assert native.load(target) == tok


def test_an_image_of_another_machine_or_build_says_what_to_do(native: Any, saved: Path) -> None:
    whole = saved.read_bytes()
    saved.write_bytes(whole[:20] + whole[20:24][::-1] + whole[24:])
    with pytest.raises(native.FormatError, match="save it again") as error:
        native.load(saved)
    assert error.value.kind == "version"
    saved.write_bytes(whole[:-1])
    with pytest.raises(native.FormatError, match="save it again") as error:
        native.load(saved)
    assert error.value.kind == "truncated"


# ---- image_dir --------------------------------------------------------------------------------


def test_a_folder_keeps_an_image_of_what_was_loaded(native: Any, tok: Any, tmp_path: Path) -> None:
    tok.save(tmp_path / "t.json")
    kept = tmp_path / "a" / "images"
    first = native.load(tmp_path / "t.json", image_dir=kept)
    (image,) = images(kept)
    assert first == tok
    assert first.memory_usage()["image"] == image.stat().st_size
    stamp = image.stat().st_mtime_ns
    again = native.load(tmp_path / "t.json", image_dir=str(kept))
    assert again == tok
    assert (images(kept), image.stat().st_mtime_ns) == ([image], stamp)
    plain = native.load(tmp_path / "t.json")
    for loaded in (first, again):
        assert loaded.load_report.files == plain.load_report.files
        assert loaded.load_report.tolerated == plain.load_report.tolerated
        assert loaded.load_report.notes == plain.load_report.notes


def test_a_changed_file_or_option_has_another_image(native: Any, tok: Any, tmp_path: Path) -> None:
    path, kept = tmp_path / "t.json", tmp_path / "images"
    tok.save(path)
    native.load(path, image_dir=kept)
    more = native.load(path, image_dir=kept, special_tokens=["<more>"])
    assert more == native.load(path, special_tokens=["<more>"])
    assert len(images(kept)) == 2
    stat = path.stat()
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"<s>"', b'"<t>"'))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    changed = native.load(path, image_dir=kept)
    assert changed == native.load(path) != tok
    assert len(images(kept)) == 3


def test_a_folder_is_all_its_files(native: Any, tmp_path: Path) -> None:
    folder, kept = tmp_path / "t", tmp_path / "images"
    made = native.train(texts=TEXTS, num_merges=9, bos_token="<s>").with_chat_template("chatml")
    made.save(folder, manifest={"think_end_id": 3})
    for _ in range(2):
        loaded = native.load(folder, image_dir=kept)
        assert loaded == made
        loaded.save(tmp_path / "again")
        assert (tmp_path / "again/tokenmill.json").read_bytes() == (folder / "tokenmill.json").read_bytes()
    assert len(images(kept)) == 1
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}")
    loaded = native.load(folder, image_dir=kept)
    assert loaded.chat_templates == {"default": "{{ messages[0].content }}"}
    assert loaded.load_report.tolerated == native.load(folder).load_report.tolerated
    # A copy elsewhere has the same image.
    shutil.copytree(folder, tmp_path / "copy")
    before = images(kept)
    assert native.load(tmp_path / "copy", image_dir=kept) == loaded
    assert images(kept) == before


def test_a_file_that_is_named_is_not_another_one_of_its_folder(native: Any, tok: Any, tmp_path: Path) -> None:
    """Both are read with the same files beside them."""
    folder, kept = tmp_path / "files", tmp_path / "kept"
    folder.mkdir()
    tok.save(folder / "vocab.json", lossy=True)
    other = native.train(texts=TEXTS, num_merges=9)
    other.save(folder / "tokenizer.json")
    given = {"split": "cl100k", "special_tokens": {"<s>": tok.token_to_id("<s>")}}
    plain = [native.load(folder / "tokenizer.json"), native.load(folder / "vocab.json", **given)]
    assert plain[0] != plain[1]
    for _ in range(2):
        assert native.load(folder / "tokenizer.json", image_dir=kept) == plain[0]
        assert native.load(folder / "vocab.json", image_dir=kept, **given) == plain[1]
    with pytest.raises(native.FormatError, match="split"):
        native.load(folder / "vocab.json", image_dir=kept)


@pytest.mark.skipif(os.name != "posix", reason="files are written beside each other there")
def test_a_file_that_changes_while_it_is_loaded_keeps_no_wrong_image(
    native: Any, tok: Any, tmp_path: Path
) -> None:
    file, kept = tmp_path / "tokenizer.json", tmp_path / "kept"
    tok.save(file)
    contents = [file.read_bytes(), file.read_bytes().replace(b'"<s>"', b'"<t>"')]
    assert contents[0] != contents[1]
    at = next(i for i, (a, b) in enumerate(zip(*contents, strict=True)) if a != b)
    is_over = threading.Event()

    def change() -> None:
        with file.open("r+b", buffering=0) as out:
            for turn in range(1_000_000):
                for place in range(at, len(contents[0])):
                    if contents[0][place] != contents[1][place]:
                        os.pwrite(out.fileno(), contents[turn % 2][place : place + 1], place)
                if is_over.wait(0.0005):
                    return

    thread = threading.Thread(target=change)
    thread.start()
    for _ in range(60):
        # Half of one content and half of the other may be refused.
        with contextlib.suppress(native.TokenmillError):
            native.load(file, image_dir=kept)
    is_over.set()
    thread.join()
    for content in contents:
        file.write_bytes(content)
        assert native.load(file, image_dir=kept) == native.load(file)


def test_an_image_in_place_of_another_file_is_named(native: Any, saved: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    shutil.copy(saved, tmp_path / "folder" / "tokenizer.json")
    with pytest.raises(native.FormatError, match="compiled image"):
        native.load(tmp_path / "folder")


@pytest.mark.parametrize("name", ["ranks.tiktoken", "t.gguf"])
def test_the_only_file_of_a_folder_may_have_any_name(
    native: Any, tok: Any, tmp_path: Path, name: str
) -> None:
    folder, kept = tmp_path / "t", tmp_path / "images"
    folder.mkdir()
    options = {"split": "cl100k"} if name == "ranks.tiktoken" else {}
    for number, source in enumerate((tok, tok.with_vocab_size(280)), 1):
        source.save(folder / name, lossy=True)
        want = native.load(folder, **options)
        for _ in range(2):
            assert native.load(folder, image_dir=kept, **options) == want
        assert len(images(kept)) == number


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes there")
def test_files_that_are_not_read_make_no_load_fail(native: Any, tok: Any, tmp_path: Path) -> None:
    folder, kept = tmp_path / "t", tmp_path / "images"
    tok.save(folder)
    (Path(os.fsdecode(os.fsencode(folder) + b"/\xff.model"))).write_bytes(b"?")
    (folder / "dangling.gguf").symlink_to("nothing")
    os.mkfifo(folder / "pipe.model")
    assert native.load(folder) == tok
    for _ in range(2):
        assert native.load(folder, image_dir=kept) == tok
    assert len(images(kept)) == 1


@pytest.mark.skipif(os.name != "posix", reason="pipes have names there")
def test_what_is_read_from_a_pipe_has_no_image(native: Any, tok: Any, tmp_path: Path) -> None:
    kept = tmp_path / "images"
    for number, source in enumerate((tok, tok.with_vocab_size(280))):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        source.save(folder / "vocab.json", lossy=True)
        merges = (folder / "merges.txt").read_bytes()
        (folder / "vocab.json").write_bytes((tmp_path / "0" / "vocab.json").read_bytes())
        (folder / "merges.txt").unlink()
        os.mkfifo(folder / "merges.txt")
        writer = threading.Thread(target=(folder / "merges.txt").write_bytes, args=(merges,), daemon=True)
        writer.start()
        loaded = native.load(folder / "merges.txt", split="cl100k", image_dir=kept)
        writer.join()
        assert loaded.merges == source.merges
    assert not images(kept)


def test_a_damaged_image_is_made_anew(native: Any, tok: Any, tmp_path: Path) -> None:
    path, kept = tmp_path / "t.json", tmp_path / "images"
    tok.save(path)
    native.load(path, image_dir=kept)
    (image,) = images(kept)
    whole = image.read_bytes()
    for content in (whole[:-1], whole[:9000] + b"x" + whole[9001:], b"", b"tokenmill image\n", b"{}"):
        image.write_bytes(content)
        assert native.load(path, image_dir=kept) == tok
        assert image.read_bytes() == whole


def test_where_no_image_can_be_kept_the_report_says_so(native: Any, tok: Any, tmp_path: Path) -> None:
    tok.save(tmp_path / "t.json")
    (tmp_path / "file").write_text("")
    loaded = native.load(tmp_path / "t.json", image_dir=tmp_path / "file")
    assert loaded == tok
    assert "no image was kept" in loaded.load_report.notes[-1]


def test_strict_loads_and_functions_have_no_image(native: Any, tok: Any, tmp_path: Path) -> None:
    path, kept = tmp_path / "t.json", tmp_path / "images"
    tok.save(path)
    assert native.load(path, image_dir=kept, strict=True) == tok
    assert not images(kept)
    tok.with_normalizer(str.lower, name="low").save(path)
    native.load(path, image_dir=kept, hooks={"low": str.lower})
    assert not images(kept)


# ---- pickles and processes --------------------------------------------------------------------


def _load(paths: tuple[str, str]) -> tuple[list[list[int]], int]:
    import tokenmill

    return _ids(tokenmill.load(paths[0], image_dir=paths[1]))


def test_many_processes_may_make_one_image(native: Any, tok: Any, tmp_path: Path) -> None:
    path, kept = tmp_path / "t.json", tmp_path / "images"
    tok.save(path)
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        found = pool.map(_load, [(str(path), str(kept))] * 12, chunksize=1)
    assert {mapped for _, mapped in found} == {images(kept)[0].stat().st_size}
    assert all(ids == [tok.encode(text) for text in TEXTS] for ids, _ in found)
    assert [path.name for path in kept.iterdir()] == [images(kept)[0].name]


def _ids(tok: Any) -> tuple[list[list[int]], int]:
    return [tok.encode(text) for text in TEXTS], tok.memory_usage()["image"]


def test_a_pickle_finds_the_images_of_its_tokenizer(native: Any, tok: Any, tmp_path: Path) -> None:
    path, kept = tmp_path / "t.json", tmp_path / "images"
    tok.save(path)
    loaded = native.load(path, image_dir=kept)
    pickled = pickle.dumps(loaded)
    assert pickled == pickle.dumps(native.load(path, image_dir=kept))
    again = pickle.loads(pickled)
    assert again == tok
    assert again.memory_usage()["image"] > 0
    assert len(images(kept)) == 2  # of the file, and of the pickle
    shutil.rmtree(kept)
    again = pickle.loads(pickled)
    assert again == tok
    assert len(images(kept)) == 1
    # So does one with other chat templates.
    templated = pickle.loads(pickle.dumps(loaded.with_chat_template("chatml")))
    assert templated == loaded.with_chat_template("chatml")
    assert templated.memory_usage()["image"] > 0


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_share_an_image(native: Any, tok: Any, tmp_path: Path, method: str) -> None:
    path = tmp_path / "t.json"
    tok.save(path)
    loaded = native.load(path, image_dir=tmp_path / "images")
    want = [tok.encode(text) for text in TEXTS]
    with multiprocessing.get_context(method).Pool(2) as pool:
        for ids, mapped in pool.map(_ids, [loaded] * 6):
            assert ids == want
            assert mapped > 0


# ---- crafted images ---------------------------------------------------------------------------

CRAFTED = """
import random, sys
import xxhash
import tokenmill

path, whole, text = sys.argv[1], bytearray(open(sys.argv[1], "rb").read()), sys.argv[2]
drawn = random.Random(11)


def sealed(content):
    # As Rust does it: the hash of all but itself, with a hash of what is before it as the seed.
    seed = xxhash.xxh3_128_intdigest(bytes(content[:32])) % 2**64
    content[32:48] = xxhash.xxh3_128_intdigest(bytes(content[48:]), seed=seed).to_bytes(16, "little")
    return bytes(content)


assert sealed(bytearray(whole)) == whole
errors = 0
for number in range(200):
    content = bytearray(whole)
    for _ in range(drawn.choice([1, 3, 50, 2000])):
        content[drawn.randrange(64, len(content))] = drawn.randrange(256)
    if number % 3 == 0:
        at = drawn.randrange(8, len(content) // 8) * 8
        content[at : at + 8] = drawn.choice([0, 1, 255, 2**32, 2**63]).to_bytes(8, "little")
    open(path, "wb").write(sealed(content))
    try:
        tok = tokenmill.load(path)
        ids = tok.encode(text)
        tok.decode(ids), tok.count(text), tok.encode_with_offsets(text)
    except tokenmill.TokenmillError:
        errors += 1
print(errors)
"""


def test_a_crafted_image_never_reads_out_of_bounds(tok: Any, tmp_path: Path) -> None:
    pytest.importorskip("xxhash")
    tok.save(tmp_path / "t.tokenmill")
    command = [sys.executable, "-c", CRAFTED, str(tmp_path / "t.tokenmill"), "".join(TEXTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 10
