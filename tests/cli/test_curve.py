"""``tokenmill curve``: the figures of the library, as a table, as JSON and as a plot."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import tokenmill

from .conftest import TEXT, Pipe, Run

pytestmark = pytest.mark.usefixtures("native")

ENGLISH = "The lazy dog jumps over the quick fox. " * 3
GERMAN = "Das Brötchen und der Käse. " * 3
SIZES = "260,280,297"
NUMBERS = [260, 280, 297]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A folder with a text in each of two languages, and one to learn from."""
    for name, text in (("en", ENGLISH), ("de", GERMAN), ("corpus", TEXT)):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def test_the_table_is_that_of_the_library(run: Run, folder: Path, texts: Path) -> None:
    found = tokenmill.compare_vocab_sizes(tokenmill.load(folder), {"en": ENGLISH, "de": GERMAN}, NUMBERS)
    done = run("curve", "-t", folder, "--sizes", SIZES, texts / "en.txt", texts / "de.txt")
    assert (done.code, done.err) == (0, "")
    assert done.out.decode() == found.table() + "\n"
    done = run("curve", "-t", folder, "--sizes", SIZES, "--measure", "fertility", texts / "??.txt")
    assert [line.split() for line in done.out.decode().splitlines()] == [
        line.split()
        for line in [*found.table("fertility").splitlines()[::2], found.table("fertility").splitlines()[1]]
    ]


def test_json_and_a_plot(run: Run, folder: Path, texts: Path) -> None:
    found = tokenmill.compare_vocab_sizes(tokenmill.load(folder), {"English": ENGLISH}, NUMBERS)
    svg, out = texts / "curve.svg", texts / "curve.json"
    given = ["-t", folder, "--sizes", SIZES, f"English={texts / 'en.txt'}"]
    done = run("curve", *given, "--json", "--svg", svg)
    assert (done.code, done.err, done.json) == (0, "", found.to_dict())
    assert svg.read_text(encoding="utf-8") == found.to_svg()
    ElementTree.parse(svg)
    done = run("curve", *given, "--json", "--out", out, "--svg", svg, "--measure", "tokens")
    assert (done.code, done.out) == (0, b"")
    assert json.loads(out.read_text(encoding="utf-8")) == found.to_dict()
    assert svg.read_text(encoding="utf-8") == found.to_svg("tokens")


def test_sizes_are_written_as_people_do(run: Run, folder: Path, texts: Path) -> None:
    done = run("curve", "-t", folder, "--sizes", "297, 260,260", "--json", texts / "en.txt")
    assert done.json["sizes"] == [260, 297]


# ---- names ------------------------------------------------------------------------------------


def names(run: Run, folder: Path, *files: object, stdin: bytes = b"") -> Any:
    done = run("curve", "-t", folder, "--sizes", "260", "--json", *files, stdin=stdin)
    assert done.code == 0, done.err
    return {row["name"]: row["characters"] for row in done.json["rows"]}


def test_files_have_their_own_names_or_those_given(run: Run, folder: Path, texts: Path) -> None:
    en, de = texts / "en.txt", texts / "de.txt"
    assert names(run, folder, en, f"d={de}") == {"en": len(ENGLISH), "d": len(GERMAN)}
    assert names(run, folder, f"all={en}", f"all={de}") == {"all": len(ENGLISH + GERMAN)}
    assert names(run, folder, f"all={texts / '*.txt'}") == {"all": len(ENGLISH + GERMAN + TEXT)}
    assert names(run, folder, stdin=b"fox") == {"standard input": 3}
    assert names(run, folder, "x=-", en, stdin=b"fox") == {"x": 3, "en": len(ENGLISH)}


def test_files_of_one_name_are_told_apart_by_their_folders(run: Run, folder: Path, texts: Path) -> None:
    (texts / "old").mkdir()
    (texts / "old" / "en.txt").write_text("fox", encoding="utf-8")
    files = [texts / "en.txt", texts / "old" / "en.txt"]
    assert names(run, folder, *files) == {str(files[0]): len(ENGLISH), str(files[1]): 3}


def test_a_file_with_an_equals_sign_in_its_name(run: Run, folder: Path, texts: Path) -> None:
    (texts / "a=b.txt").write_text("fox", encoding="utf-8")
    assert names(run, folder, texts / "a=b.txt") == {"a=b": 3}
    assert names(run, folder, f"c={texts / 'a=b.txt'}") == {"c": 3}


# ---- training ---------------------------------------------------------------------------------


def test_byte_pair_encoding_is_trained_once(run: Run, texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    train = tokenmill.train

    def counted(*files: Any, **options: Any) -> tokenmill.Tokenizer:
        sizes.append(options["vocab_size"])
        tok: tokenmill.Tokenizer = train(*files, **options)
        return tok

    monkeypatch.setattr(tokenmill, "train", counted)
    given = ["--train", texts / "corpus.txt", "--sizes", "260,290"]
    done = run("curve", *given, "--split", "gpt2", "--json", texts / "en.txt")
    tok = train(texts=[TEXT], vocab_size=290, split="gpt2")
    assert sizes == [290]
    assert done.json == tokenmill.compare_vocab_sizes(tok, {"en": ENGLISH}, [260, 290]).to_dict()


@pytest.mark.parametrize(
    ("model", "options", "sizes"),
    [("unigram", {}, [45, 55]), ("wordpiece", {"unk_token": "[UNK]"}, [70, 80])],
)
def test_other_models_are_trained_anew_for_each_size(
    run: Run, texts: Path, model: Any, options: Any, sizes: list[int]
) -> None:
    given = ["--model", model, "--sizes", ",".join(map(str, sizes))]
    done = run("curve", "--train", texts / "corpus.txt", *given, texts / "en.txt")
    found = tokenmill.compare_vocab_sizes(
        None,
        {"en": ENGLISH},
        sizes,
        train=lambda size: tokenmill.train(texts=[TEXT], model=model, vocab_size=size, **options),
    )
    assert (done.code, done.err, done.out.decode()) == (0, "", f"{found}\n".replace("\n\n", "\n"))
    again = run("curve", "--train", "-", *given, texts / "en.txt", stdin=TEXT.encode())
    assert again == done


def test_pipes_are_read_once_although_training_reads_them_for_each_size(
    run: Run, texts: Path, pipe: Pipe
) -> None:
    given = ["--model", "unigram", "--sizes", "45,55"]
    want = run("curve", "--train", texts / "corpus.txt", *given, f"x={texts / 'en.txt'}")
    done = run("curve", "--train", pipe(TEXT.encode()), *given, f"x={pipe(ENGLISH.encode())}")
    assert done == want


# ---- what is refused --------------------------------------------------------------------------

BAD: list[tuple[str, str]] = [
    ("--sizes 260 en.txt", "missing: -t/--tokenizer or --train"),
    ("-t tok --train en.txt --sizes 260 en.txt", "choose one of -t/--tokenizer and --train"),
    ("-t tok en.txt", "missing: --sizes"),
    ("-t tok --sizes 260,x en.txt", "'260,x' is not a list of whole numbers from 1 on; write 1k,2k,4k"),
    ("-t tok --sizes 1,000 en.txt", "is not a list of whole numbers"),
    ("-t tok --sizes 260, en.txt", "is not a list of whole numbers"),
    ("-t tok --sizes 260,20 en.txt", "--sizes: 20 is not between 257 (no merges) and 297 (all of them)"),
    ("-t tok --sizes 260,9k en.txt", "--sizes: 9000 is not between 257 (no merges) and 297 (all of them)"),
    ("--train en.txt --sizes 260,9k en.txt", "hint: more text to learn from gives more merges"),
    ("--train en.txt --sizes 20,260 en.txt", "--sizes: 20 is not between 256 (no merges) and 260"),
    ("--train en.txt --sizes 20 en.txt", "--sizes: 20 is too small for"),
    ("--train en.txt --model unigram --sizes 5 en.txt", "it must be at least 27\n"),
    ("-t u.model --sizes 30 en.txt", "u.model: cannot be cut to another size: only byte-pair encoding has"),
    ("-t u.model --sizes 30 en.txt", "hint: --train FILE --model unigram, or another model, trains a"),
    ("-t tok --model unigram --sizes 260 en.txt", "--model is for --train"),
    ("--train en.txt --special-token <s> --sizes 260 en.txt", "--special-token is for -t/--tokenizer"),
    ("--train en.txt --offline --sizes 260 en.txt", "--offline is for -t/--tokenizer"),
    ("--train en.txt --model unigram --split gpt2 --sizes 60 en.txt", "--split is for --model bpe"),
    ("-t tok --sizes 260 --measure words en.txt", "none of bytes-per-token, fertility, tokens-per-character"),
    ("-t tok --sizes 260 --svg - en.txt", "--svg needs a file: standard output has the table"),
    ("-t tok --sizes 260 --svg= en.txt", "--svg is empty"),
    ("-t tok --sizes 260 --svg no/curve.svg en.txt", "no: the folder does not exist"),
    ("-t tok --sizes 260 --svg ./ en.txt", "./: is the name of a folder\nhint: --svg ./NAME"),
    ("-t tok --sizes 260 =en.txt", "=en.txt: a name and a file are needed, as in English=en.txt"),
    ("-t tok --sizes 260 English=", "English=: a name and a file are needed"),
    ("-t tok --sizes 260 English=no.txt", "no.txt: No such file or directory"),
    ("-t tok --sizes 260 no*.txt", "no*.txt: no file matches"),
    ("--train no*.txt --sizes 260 en.txt", "no*.txt: no file matches"),
    ("-t tok --sizes 260 empty.txt", "empty.txt: there is no text to measure"),
    ("-t tok --sizes 260 bad.txt", "bad.txt: byte 3 is not UTF-8"),
    ("-t tok --sizes 260 zip.txt", "zip.txt: "),
    ("-t tok --sizes 260", "standard input: there is no text to measure"),
    ("-t tok --sizes 260 - -", "can be read only once"),
    ("--train - --sizes 260 -", "can be read only once"),
    ("--train bad.txt --sizes 260 en.txt", "bad.txt"),
]


@pytest.mark.parametrize(("words", "said"), BAD)
def test_bad_use_is_2_and_says_what(
    run: Run, folder: Path, texts: Path, monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    monkeypatch.chdir(texts)
    (texts / "empty.txt").touch()
    (texts / "bad.txt").write_bytes(b"abc\xff")
    (texts / "zip.txt").write_bytes(b"\x1f\x8b\x08\0" + bytes(20))
    (texts / "tok").symlink_to(folder)
    tokenmill.train(texts=[TEXT], model="unigram", vocab_size=60).save("u.model")
    done = run("curve", *words.split())
    assert (done.code, done.out) == (2, b"")
    assert said in done.err
    assert re.search("=|_size", done.err.replace("English=", "").replace("=en.txt", "")) is None
    assert not (texts / "curve.svg").exists()
