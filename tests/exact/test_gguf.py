"""GGUF files: the ids of llama.cpp's published cases, and of the files that vocabularies came from.

A pair of `.inp` and `.out` has 47 texts and the ids that they become. Where only the pair is there, it is
held against the tokenizer.json of that family, and against a GGUF file made of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from gguf_files import gguf, small_gpt2

from .texts import compare_all

PAIRS = {
    "bert-bge": None,
    "deepseek-llm": None,
    "deepseek-r1-qwen": "qwen2.5",
    "gpt-2": None,
    "llama-bpe": "llama3",
    "llama-spm": None,
    "phi-3": None,
    "qwen2": "qwen2.5",
    "roberta-bpe": "roberta-base",
}
"""Names of pairs, and the folder of a family that has no GGUF file."""


def cases(data: Path, name: str) -> list[tuple[str, list[int]]]:
    stem = data / "vocab" / "gguf" / f"ggml-vocab-{name}.gguf"
    texts = Path(f"{stem}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    rows = Path(f"{stem}.out").read_text(encoding="utf-8").split("\n")
    assert len(texts) == len(rows) == 47
    return [(text, [int(number) for number in row.split()]) for text, row in zip(texts, rows, strict=True)]


@pytest.mark.parametrize("name", PAIRS)
def test_published_cases_give_their_ids(native: Any, data: Path, name: str) -> None:
    folder = PAIRS[name]
    file = f"gguf/ggml-vocab-{name}.gguf" if folder is None else f"{folder}/tokenizer.json"
    tok = native.load(data / "vocab" / file)
    for text, ids in cases(data, name):
        assert tok.encode(text) == ids, text
        assert tok.encode(text, special="parse") == ids, text


def of_tokenizer_json(path: Path, pre: str) -> bytes:
    """A byte-level tokenizer.json as a GGUF file."""
    file = json.loads(path.read_text(encoding="utf-8"))
    ids = dict(file["model"]["vocab"])
    kinds = dict.fromkeys(ids, 1)
    for added in file["added_tokens"]:
        ids[added["content"]] = added["id"]
        kinds[added["content"]] = 3 if added["special"] else 4
    tokens = sorted(ids, key=lambda token: ids[token])
    assert [ids[token] for token in tokens] == list(range(len(tokens)))
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in file["model"]["merges"]]
    return gguf(
        model="gpt2", pre=pre, tokens=tokens, token_type=[kinds[token] for token in tokens], merges=merges
    )


@pytest.mark.parametrize(
    ("folder", "pre"),
    [
        ("roberta-base", "roberta-bpe"),
        ("qwen2.5", "qwen2"),
        ("llama3", "llama-bpe"),
        *(
            pytest.param(folder, pre, marks=pytest.mark.slow)
            for folder, pre in [("gpt2", "gpt-2"), ("deepseek-v3", "deepseek-v3"), ("mistral-nemo", "tekken")]
        ),
    ],
)
def test_a_file_made_of_a_tokenizer_json_gives_the_same_ids(
    native: Any, data: Path, tmp_path: Path, folder: str, pre: str
) -> None:
    path = data / "vocab" / folder / "tokenizer.json"
    (tmp_path / "t.gguf").write_bytes(of_tokenizer_json(path, pre))
    ours, theirs = native.load(tmp_path / "t.gguf"), native.load(path)
    tokens = [ours.id_to_token(i) for i in range(0, len(ours), 7)]

    def compare(texts: list[str]) -> None:
        # A GGUF file cannot say the NFC of Qwen, nor that <mask> takes a space with it; and whatever it
        # says <|endoftext|> is a control token, as in llama.cpp.
        texts = [text for text in texts if normalize("NFC", text) == text]
        texts = [
            text for text in texts if not any(literal in text for literal in ("<mask>", "<|endoftext|>"))
        ]
        for special in ("text", "parse"):
            rows = theirs.encode_batch(texts, special=special).to_lists()
            assert ours.encode_batch(texts, special=special).to_lists() == rows

    print(compare_all(f"{folder} as {pre}", tokens, data, False, compare))
    if pre in PAIRS:
        assert all(ours.encode(text) == ids for text, ids in cases(data, pre))


def pieces_of(path: Path) -> Any:
    from sentencepiece import SentencePieceProcessor

    return SentencePieceProcessor(model_file=str(path))


def kind_of(theirs: Any, i: int) -> int:
    if theirs.is_byte(i):
        return 6
    return 2 if theirs.is_unknown(i) else 3 if theirs.is_control(i) else 5 if theirs.is_unused(i) else 1


def charsmap(path: Path) -> bytes:
    """The map of a model: field 2 of its field 3."""
    from .test_sentencepiece import fields

    return next(
        bytes(inner) for n, m in fields(path.read_bytes()) if n == 3 for k, inner in fields(m) if k == 2
    )


@pytest.mark.parametrize(
    ("file", "model"), [("sentencepiece-test/test_model.model", "t5"), ("llama2/tokenizer.model", "llama")]
)
def test_a_file_made_of_a_sentencepiece_model_gives_the_same_ids(
    native: Any, data: Path, tmp_path: Path, file: str, model: str
) -> None:
    path = data / "vocab" / file
    theirs = pieces_of(path)
    ids = range(theirs.get_piece_size())
    (tmp_path / "t.gguf").write_bytes(
        gguf(
            model=model,
            tokens=[theirs.id_to_piece(i) for i in ids],
            scores=[float(theirs.get_score(i)) for i in ids],
            token_type=[kind_of(theirs, i) for i in ids],
            bos_token_id=theirs.bos_id(),
            eos_token_id=theirs.eos_id(),
            unknown_token_id=theirs.unk_id(),
            add_space_prefix=True,
            remove_extra_whitespaces=model == "t5",
            precompiled_charsmap=charsmap(path) if model == "t5" else None,
        )
    )
    ours = native.load(tmp_path / "t.gguf")

    def compare(texts: list[str]) -> None:
        rows = theirs.encode(texts)
        assert ours.encode_batch(texts).to_lists() == rows
        if model == "t5":
            assert ours.decode_batch(rows) == theirs.decode(rows)

    print(compare_all(f"{path.name} as {model}", [theirs.id_to_piece(i) for i in ids], data, False, compare))
    around = [*([1] if model == "llama" else []), *theirs.encode("a"), *([2] if model == "t5" else [])]
    assert ours.encode("a", add_special_tokens=True) == around


def test_bert_is_that_of_its_vocab_txt(native: Any, data: Path) -> None:
    ours = native.load(data / "vocab/gguf/ggml-vocab-bert-bge.gguf")
    theirs = native.load(data / "vocab/bert-base-uncased/vocab.txt")
    assert ours.vocab == theirs.vocab
    tokens = list(ours.vocab)

    def compare(texts: list[str]) -> None:
        # llama.cpp has no limit to the length of a word.
        short = [text for text in texts if all(len(word) <= 100 for word in text.split())]
        for text in short:
            assert ours(text).ids == theirs(text).ids
            assert ours.decode(ours.encode(text)) == theirs.decode(theirs.encode(text))

    print(compare_all("bert-bge", tokens, data, False, compare))


def test_tensors_need_not_be_whole(native: Any, tmp_path: Path) -> None:
    (tmp_path / "t.gguf").write_bytes(small_gpt2() + b"\xff" * 1000)
    tok = native.load(tmp_path)
    assert tok.encode("ab a") == [2, 3, 0]
    assert tok.encode("<s>", special="parse") == [4]
    assert (tok.bos_token_id, tok.eos_token_id) == (4, None)
    assert tok.encode("a", add_special_tokens=True) == [0]


def test_bos_is_added_where_the_file_or_its_split_says_so(native: Any, tmp_path: Path) -> None:
    changed: dict[str, dict[str, Any]] = {"flag": {"add_bos_token": True}, "split": {"pre": "llama-bpe"}}
    for name, changes in changed.items():
        path = tmp_path / f"{name}.gguf"
        path.write_bytes(small_gpt2(**changes))
        assert native.load(path).encode("a", add_special_tokens=True) == [4, 0]


def test_user_defined_tokens_are_always_matched(native: Any, tmp_path: Path) -> None:
    tokens = ["a", "b", "ab", "Ġ", "<s>", "<u>"]
    path = tmp_path / "t.gguf"
    path.write_bytes(small_gpt2(tokens=tokens, token_type=[1, 1, 1, 1, 3, 4]))
    assert native.load(path).encode("a<u>b") == [0, 5, 1]


def test_a_split_may_be_given_for_a_file_that_names_none(native: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.gguf"
    path.write_bytes(small_gpt2(pre=None))
    assert native.load(path, split="gpt2").encode("ab") == [2]
