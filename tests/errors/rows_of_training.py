"""Rows: what `train` and its split patterns cannot use."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenmill import errors

from errors.making import (
    Run,
    load,
    rows,
    train,
    train_on,
)

NO_PLACE: dict[str, object] = {"path": None, "byte": None}

TRAINING = rows(
    errors.TrainingError,
    ("neither size", lambda native, _: native.train(texts=["a"]), "neither", NO_PLACE),
    ("both sizes", train(vocab_size=300, num_merges=3), "both", NO_PLACE),
    ("no source", lambda native, _: native.train(num_merges=3), "not none", NO_PLACE),
    ("both sources", train(files="x.txt"), "not files and texts", NO_PLACE),
    ("no files", lambda native, _: native.train([], num_merges=3), "empty", NO_PLACE),
    ("a str as texts", train(texts="low"), "pass a list", NO_PLACE),
    ("bytes as texts", train(texts=b"low"), "pass a list", NO_PLACE),
    ("a str as special tokens", train(special_tokens="<s>"), "pass a list", NO_PLACE),
    ("a vocabulary of ten", train(vocab_size=10), "at least 256", NO_PLACE),
    ("a vocabulary of none", train(vocab_size=0), "at least 256", NO_PLACE),
    ("special tokens do not fit", train(vocab_size=256, special_tokens=["<s>"]), "at least 257", NO_PLACE),
    ("characters do not fit", train(vocab_size=3, alphabet="chars"), "vocab_size", NO_PLACE),
    ("a negative vocabulary", train(vocab_size=-1), "vocab_size=-1", NO_PLACE),
    ("a vocabulary beyond ids", train(vocab_size=2**32), "vocab_size", NO_PLACE),
    ("a vocabulary beyond numbers", train(vocab_size=2**70), "vocab_size", NO_PLACE),
    ("negative merges", train(num_merges=-1), "num_merges=-1", NO_PLACE),
    ("no frequency", train(min_frequency=0), "min_frequency", NO_PLACE),
    ("a negative frequency", train(min_frequency=-1), "min_frequency", NO_PLACE),
    ("tokens of no length", train(max_token_length=0), "max_token_length", NO_PLACE),
    ("tokens of negative length", train(max_token_length=-1), "max_token_length", NO_PLACE),
    ("no threads", train(num_threads=0), "num_threads=0 is not between 1 and 65,536", NO_PLACE),
    ("negative threads", train(num_threads=-1), "num_threads=-1 is not between", NO_PLACE),
    ("a million threads", train(num_threads=10**6), "num_threads=1000000 is not between", NO_PLACE),
    ("2^70 threads", train(num_threads=2**70), "is not between 1 and 65,536", NO_PLACE),
    ("a special token twice", train(special_tokens=["<s>", "<s>"]), "twice", NO_PLACE),
    ("an empty special token", train(special_tokens=[""]), "must not be empty", NO_PLACE),
    ("an empty unknown token", train(alphabet="chars", unk_token=""), "must not be empty", NO_PLACE),
    ("an empty end of word", train(alphabet="chars", end_of_word=""), "must not be empty", NO_PLACE),
    ("an end of word over bytes", train(end_of_word="</w>"), "character alphabet", NO_PLACE),
    ("an empty role", train(eos_token=""), "the eos token must not be empty", NO_PLACE),
    ("bos around texts without bos", train(add_bos_token=True), "give bos_token too", NO_PLACE),
    (
        "a special token that ends like a word",
        train(alphabet="chars", end_of_word=">", special_tokens=["<s>"]),
        "ends with the end-of-word",
        NO_PLACE,
    ),
    (
        "an end of word that is in the text",
        train(alphabet="chars", end_of_word="w"),
        "holds the end-of-word",
        NO_PLACE,
    ),
    (
        "ids of a text that is cut",
        train(return_ids=True),
        'return_ids: needs split="none"',
        NO_PLACE,
    ),
    (
        "ids of two texts",
        train(texts=["a", "a"], split="none", return_ids=True),
        "return_ids: needs one document, and there are more; for several, train, and encode each",
        NO_PLACE,
    ),
    (
        "ids of a text that counts twice",
        train(texts={"a": 2}, split="none", return_ids=True),
        "needs one document, and there are more",
        NO_PLACE,
    ),
    (
        "ids of no text",
        train(texts=[], split="none", return_ids=True),
        "needs one document, and there is none",
        NO_PLACE,
    ),
    (
        "ids of a text that is left out",
        train(texts=["\ud800"], errors="skip", split="none", return_ids=True),
        "needs one document, and there is none",
        NO_PLACE,
    ),
    (
        "ids of lines",
        train_on("a.txt", b"a", documents="lines", split="none", return_ids=True),
        'with documents="lines" each line is one',
        NO_PLACE,
    ),
    *(
        (
            f"ids of a text for {model}",
            train(model=model, unk_token="<u>", vocab_size=300, num_merges=None, return_ids=True),
            "return_ids: only byte-pair encoding has the ids at the end; train, and encode the text",
            NO_PLACE,
        )
        for model in ("wordpiece", "unigram")
    ),
    (
        "counts of another split",
        lambda native, _: native.train(
            counts=native.count_pretokens(texts=["a"], split="gpt2"), split="cl100k", num_merges=3
        ),
        "split (the counts: 'gpt2', asked for: 'cl100k')",
        NO_PLACE,
    ),
    (
        "counts that were read in two ways",
        lambda native, _: native.merge_counts(
            [native.count_pretokens(texts=["a"], split=split) for split in ("gpt2", "cl100k")]
        ),
        "split (counts 0: 'gpt2', counts 1: 'cl100k')",
        NO_PLACE,
    ),
    (
        "a pretoken that is counted too often",
        lambda native, _: native.count_pretokens(texts={"a": 2**63, "a a": 2**63}),
        'the pretoken "a" occurs more than 2^64 - 1 times; count less text',
        NO_PLACE,
    ),
    (
        "the first pair of counts",
        lambda native, _: native.train(
            counts=native.count_pretokens(texts=["a"]), tie_break="first-seen", num_merges=3
        ),
        "tie_break: first-seen needs the texts",
        NO_PLACE,
    ),
    ("an unknown special_ids", train(special_ids="middle"), 'special_ids="middle"', NO_PLACE),
    ("an unknown tie_break", train(tie_break="dice"), 'tie_break="dice"', NO_PLACE),
    ("an unknown normalizer", train(normalizer="nfc"), 'normalizer="nfc"', NO_PLACE),
    ("an unknown alphabet", train(alphabet="words"), 'alphabet="words"', NO_PLACE),
    ("an unknown errors", train(errors="ignore"), 'errors="ignore"', NO_PLACE),
    ("an unknown form", train(end_of_word_form="glued"), 'end_of_word_form="glued"', NO_PLACE),
    ("unknown documents", train_on("a.txt", b"a", documents="pages"), 'documents="pages"', NO_PLACE),
    ("unknown documents for texts", train(documents="pages"), 'documents="pages"', NO_PLACE),
    ("a surrogate in a text", train(texts=["a", "b\ud800"]), "text 1", NO_PLACE),
    (
        "a file that is not UTF-8",
        train_on("bad.txt", b"caf\xe9 au lait"),
        "byte 3: not UTF-8",
        {"path": "bad.txt", "byte": 3},
    ),
    (
        "a file that ends inside a character",
        train_on("cut.txt", b"abc\xe2\x82"),
        "not UTF-8",
        {"path": "cut.txt", "byte": 3},
    ),
    (
        "a line that is not UTF-8",
        train_on("lines.txt", b"abc\nd\xff\n", documents="lines"),
        "not UTF-8",
        {"path": "lines.txt", "byte": 5},
    ),
    *(
        (
            f"a file for {command} of {len(start)} bytes, with errors={policy}",
            train_on("text.txt", start + bytes(40), errors=policy),
            f"is compressed ({name}), which is not decompressed here; decompress it with {command} first",
            {"path": "text.txt", "byte": None},
        )
        for name, command, start in [
            ("xz", "unxz", lzma.compress(b"low lower")),
            ("bzip2", "bunzip2", bz2.compress(b"low lower")),
            ("bzip2", "bunzip2", bz2.compress(b"")),
            ("zip", "unzip -p", b"PK\x03\x04\x14\x00"),
        ]
        for policy in ("strict", "replace", "skip")
    ),
    *(
        (
            f"a {name} file that is cut off, with errors={policy}",
            train_on("text.txt", start, errors=policy),
            f"at byte {len(start)}: is damaged or cut off ({name})",
            {"path": "text.txt", "byte": len(start), "row": None},
        )
        for name, start in [
            ("gzip", gzip.compress(b"low lower")[:-1]),
            ("Zstandard", b"\x28\xb5\x2f\xfd\x04\x58"),
        ]
        for policy in ("strict", "replace", "skip")
    ),
    (
        "a gzip file with another checksum",
        train_on("text.txt", gzip.compress(b"low")[:-8] + bytes(8)),
        "(gzip): Error -3 while decompressing data: incorrect data check; fetch or write the file again",
        {"path": "text.txt", "byte": 16, "row": None},
    ),
    (
        "a gzip file with something behind it",
        train_on("text.txt", gzip.compress(b"low") + b"more"),
        "there is something else after the compressed data",
        {"path": "text.txt", "byte": len(gzip.compress(b"low")), "row": None},
    ),
    (
        "a table that is cut off",
        train_on("a.parquet", b"PAR1" + bytes(30)),
        "a.parquet: is damaged or cut off (Parquet): ",
        {"path": "a.parquet", "byte": None, "row": None},
    ),
    (
        "a line that is no JSON",
        train_on("a.jsonl", b'{"text":"a"}\n{"text":"a"\n'),
        "row 2, at byte 24: is no JSON: a comma or } is missing",
        {"path": "a.jsonl", "byte": 24, "row": 2},
    ),
    (
        "a line of JSON without the field",
        train_on("a.jsonl", b'{"id":1,"body":"a"}\n', field="meta.body"),
        'row 1: has no field "meta.body": it has "id", "body"; name another one with field=',
        {"path": "a.jsonl", "byte": None, "row": 1},
    ),
    (
        "a field that is no text",
        train_on("a.jsonl", b'\n{"text":["a"]}\n'),
        'row 2: field "text" is an array, not a string; name another one with field=',
        {"path": "a.jsonl", "byte": None, "row": 2},
    ),
    (
        "a line of JSON that is no object",
        train_on("a.jsonl", b'["a"]'),
        'row 1: is an array, where a line of JSONL is an object with the key "text"',
        {"path": "a.jsonl", "byte": None, "row": 1},
    ),
    (
        "half of a pair of surrogates",
        train_on("a.jsonl", b'{"text":"\\udd8a"}'),
        "row 1, at byte 9: the text holds half of a surrogate pair",
        {"path": "a.jsonl", "byte": 9, "row": 1},
    ),
    (
        "a line of JSON that is not UTF-8",
        train_on("a.jsonl", b'{"text":"a\xff"}'),
        'row 1, at byte 10: not UTF-8; pass errors="replace" or "skip"',
        {"path": "a.jsonl", "byte": 10, "row": 1},
    ),
    (
        "JSON in UTF-16",
        train_on("a.jsonl", '{"text":"a"}'.encode("utf-16")),
        "not UTF-8, but UTF-16; convert it",
        {"path": "a.jsonl", "byte": 0, "row": None},
    ),
    ("an empty field", train_on("a.txt", b"a", field=""), "has an empty key", NO_PLACE),
    ("a field of many keys", train_on("a.txt", b"a", field="a." * 64 + "a"), "64 are the most", NO_PLACE),
    ("a field of texts", train(field="text"), "field= is for files of JSONL", NO_PLACE),
    ("a column of texts", train(column="text"), "column= is for Parquet and Arrow files", NO_PLACE),
    (
        "a column of text",
        train_on("a.txt", b"a", column="x"),
        "column='x' is for Parquet and Arrow",
        NO_PLACE,
    ),
    (
        "lines of rows",
        train_on("a.jsonl", b'{"text":"a"}', documents="lines"),
        'documents="lines" is for text; each row of this file is a document, so leave it out',
        {"path": "a.jsonl", "byte": None, "row": None},
    ),
    (
        "UTF-16 text",
        train_on("utf16.txt", "low".encode("utf-16")),
        "not UTF-8, but UTF-16; convert it with iconv -f UTF-16 -t UTF-8 first",
        {"byte": 0},
    ),
    (
        "UTF-32 text",
        train_on("utf32.txt", b"\x00\x00\xfe\xff" + "low".encode("utf-32-be"), documents="lines"),
        "not UTF-8, but UTF-32; convert it with iconv -f UTF-32 -t UTF-8 first",
        {"byte": 2},
    ),
)


def too_hard(use: Callable[[Any], object]) -> Run:
    """Use a tokenizer whose split cannot be searched for in `aaa...`."""

    def run(native: Any, folder: Path) -> object:
        return use(native.Tokenizer.from_pairs([], split=r"(a*)*\1b", special_tokens=["<s>"]))

    return run


def encoded(text: Any) -> Run:
    return too_hard(lambda tok: tok.encode(text, special="parse"))


PATTERN = rows(
    errors.PatternError,
    ("an unknown split", train(split="gpt5"), "known are gpt2", {"pattern": "gpt5", "position": None}),
    ("an open group", train(split="("), "pattern", {"pattern": "("}),
    (
        "a mistake behind others of several bytes",
        train(split="é🦊(?<n"),
        "at character 3",
        {"pattern": "é🦊(?<n", "position": 3},
    ),
    ("a repeated nothing", train(split="*a"), "pattern", {"pattern": "*a"}),
    ("an unknown class", train(split=r"\p{Klingon}"), "pattern", {"pattern": r"\p{Klingon}"}),
    (
        "too much backtracking",
        train(split=r"(a*)*\1b", texts=["a" * 40]),
        "limit",
        {"pattern": r"(a*)*\1b", "position": None},
    ),
    *(
        (
            f"too much backtracking behind {before}",
            encoded(text),
            f"searched from {unit} {position} of the text: it exceeds the limit",
            {"pattern": r"(a*)*\1b", "position": position},
        )
        for before, text, unit, position in [
            ("nothing", "a" * 40, "character", 0),
            ("characters and a literal", "é🦊<s>" + "a" * 40, "character", 5),
            ("a pair of surrogates", "\ud83e\udd8a<s>" + "a" * 40, "character", 5),
            ("bytes that are no text", b"\xc3\xa9<s>\xff" + b"a" * 40, "byte", 6),
        ]
    ),
    (
        "too much backtracking in a batch",
        too_hard(lambda tok: tok.encode_batch(["a", "🦊<s>" + "a" * 40], special="parse")),
        "texts[1]",
        {"position": 4},
    ),
    (
        "too much backtracking in offsets",
        too_hard(lambda tok: tok.encode_with_offsets("🦊<s>" + "a" * 40, special="parse")),
        "limit",
        {"position": 4},
    ),
    ("a broken pattern for load", load("r.tiktoken", "YQ== 0\n", split="["), "pattern", {"pattern": "["}),
)
