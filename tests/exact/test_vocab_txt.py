"""vocab.txt: ids, offsets and text of tokenizers 0.23.3 with the same vocabulary in BERT's pipeline."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from .test_published import explain
from .texts import compare_all

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def peer(path: Path, lowercase: bool) -> Any:
    """BERT as tokenizers builds it from such a file."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    vocab = models.WordPiece.read_file(str(path))
    theirs = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    theirs.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    theirs.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    theirs.add_special_tokens([AddedToken(t, normalized=False) for t in SPECIAL if t in vocab])
    if "[SEP]" in vocab:
        theirs.post_processor = processors.BertProcessing(
            ("[SEP]", vocab["[SEP]"]), ("[CLS]", vocab["[CLS]"])
        )
    theirs.decoder = decoders.WordPiece()
    return theirs


def compare(ours: Any, theirs: Any, texts: list[str]) -> None:
    theirs.encode_special_tokens = True
    expected = theirs.encode_batch(texts, add_special_tokens=False)
    assert ours.encode_batch(texts).to_lists() == [encoding.ids for encoding in expected]
    for text, want in zip(texts, expected, strict=True):
        got = ours.encode_with_offsets(text)
        assert got.tokens == want.tokens, text[:300]
        if got.offsets != want.offsets:
            explain(text, got.offsets, want.offsets, composes=theirs.normalizer)
        assert ours.decode(want.ids) == theirs.decode(want.ids, skip_special_tokens=False)


def run(native: Any, path: Path, lowercase: bool, data: Path, slow: bool) -> str:
    ours, theirs = native.load(path), peer(path, lowercase)
    assert ours.vocab == theirs.get_vocab(with_added_tokens=True)
    name, tokens = path.parent.name, sorted(ours.vocab)
    return compare_all(name, tokens, data, slow, partial(compare, ours, theirs))


FILES = ["bert-base-uncased", "bert-base-chinese"]


@pytest.mark.parametrize("name", FILES)
def test_vocab_txt_is_that_of_tokenizers(native: Any, data: Path, name: str) -> None:
    print(run(native, data / "vocab" / name / "vocab.txt", True, data, slow=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_vocab_txt_is_that_of_tokenizers_on_all_texts(native: Any, data: Path, name: str) -> None:
    row = run(native, data / "vocab" / name / "vocab.txt", True, data, slow=True)
    print(row)


def test_the_published_tokenizer_json_says_the_same(native: Any, data: Path) -> None:
    folder = data / "vocab" / "bert-base-uncased"
    ours, theirs = native.load(folder / "vocab.txt"), native.load(folder / "tokenizer.json")
    assert ours.vocab == theirs.vocab
    for text in ("Hello wörld", "[MASK] is 你好", ""):
        for pair in (None, "Another"):
            assert ours(text, pair).ids == theirs(text, pair).ids
            assert ours(text, pair).type_ids == theirs(text, pair).type_ids


ODD = {
    "CRLF": "[UNK]\r\n[CLS]\r\n[SEP]\r\na\r\n##b\r\n",
    "no final newline": "[UNK]\n[CLS]\n[SEP]\na\n##b",
    "an empty last line": "[UNK]\n[CLS]\n[SEP]\na\n##b\n\n",
    "an empty line": "[UNK]\n[CLS]\n\n[SEP]\na\n##b\n",
    "a token twice": "[UNK]\n[CLS]\n[SEP]\na\n##b\na\n",
    "spaces behind a token": "[UNK]\n[CLS]\n[SEP]\na \n##b\t\u3000\n",
    "other line ends": "[UNK]\n[CLS]\n[SEP]\na\u2028\n##b\nx\u2028y\nx\x85y\nx\x0cy\n",
    "a zero byte": "[UNK]\n[CLS]\n[SEP]\na\n##b\nx\0y\n",
}


@pytest.mark.parametrize("text", ODD.values(), ids=list(ODD))
def test_odd_lines_are_read_as_tokenizers_reads_them(native: Any, tmp_path: Path, text: str) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(text.encode())
    ours, theirs = native.load(path), peer(path, True)
    assert ours.vocab == theirs.get_vocab(with_added_tokens=True)
    for sample in ("ab a B", "x y", "\x85", "[UNK]"):
        assert ours.encode(sample, special="parse") == theirs.encode(sample, add_special_tokens=False).ids


def test_a_folder_saved_of_it_is_the_same_tokenizer(native: Any, data: Path, tmp_path: Path) -> None:
    ours = native.load(data / "vocab" / "bert-base-uncased" / "vocab.txt")
    ours.save(tmp_path / "saved")
    again = native.load(tmp_path / "saved")
    assert (again, again.fingerprint) == (ours, ours.fingerprint)


def test_case_is_kept_where_a_token_has_an_upper_case_letter(native: Any, tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("[UNK]\n[CLS]\n[SEP]\na\nA\n", encoding="utf-8")
    assert native.load(path).encode("a A é") == [3, 4, 0]


def test_without_an_unknown_token_a_word_that_cannot_be_spelled_is_an_error(
    native: Any, tmp_path: Path
) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("a\n##b\n", encoding="utf-8")
    tok = native.load(path)
    assert tok.encode("ab") == [0, 1]
    with pytest.raises(native.errors.UnknownTokenError):
        tok.encode("x")


def test_what_is_odd_is_reported_and_refused_where_that_is_asked_for(native: Any, tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("[UNK]\na\n\na\n", encoding="utf-8")
    found = [(finding.kind, finding.field) for finding in native.load(path).load_report.tolerated]
    assert found == [("empty", "line 3"), ("duplicate", "line 4")]
    with pytest.raises(native.errors.FormatError) as caught:
        native.load(path, strict=True)
    assert (caught.value.kind, caught.value.field) == ("empty", "line 3")
