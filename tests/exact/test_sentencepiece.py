"""SentencePiece models: ids, pieces, places and text of sentencepiece 0.2.3.

Published models and those of mistral-common, and small ones that are trained here with the settings that
change what a model does. The fast run takes a sample, the slow one all; both print a table.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from .texts import compare_all, pieces

PUBLISHED = [
    "llama2/tokenizer.model",
    "mistral-7b-v0.1/tokenizer.model",
    "mistral-7b-v0.3/tokenizer.model.v3",
    "sentencepiece-test/test_model.model",
    "sentencepiece-test/test_ja_model.model",
]
# They differ in their control pieces alone.
OF_MISTRAL = [
    "tokenizer.model.v1",
    "mistral_instruct_tokenizer_240216.model.v2",
    "mistral_instruct_tokenizer_240323.model.v3",
    "mistral_instruct_tokenizer_241114.model.v7",
    "mistral_instruct_tokenizer_241114.model.v7m1",
]
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "byte fallback": {"byte_fallback": True},
    "identity": {"normalization_rule_name": "identity"},
    "case folding": {"normalization_rule_name": "nmt_nfkc_cf"},
    "user-defined": {"user_defined_symbols": ["☃", "the", " of ", "▁▁", "日本"], "control_symbols": ["<c>"]},
    "suffix": {"treat_whitespace_as_suffix": True},
    "no prefix": {"add_dummy_prefix": False},
    "all spaces": {
        "remove_extra_whitespaces": False,
        "byte_fallback": True,
        "split_by_whitespace": False,
        "allow_whitespace_only_pieces": True,
    },
    "other names": {
        "unk_id": 3,
        "bos_id": -1,
        "eos_id": 0,
        "pad_id": 1,
        "eos_piece": "<end>",
        "unk_surface": "?",
    },
}
KINDS = ["unigram", "bpe", "char"]
# The plain run has these.
FAST = ["byte fallback", "user-defined", "suffix"]
BOTH_RUNS = [
    setting if setting in FAST else pytest.param(setting, marks=pytest.mark.slow) for setting in SETTINGS
]


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message, read by hand: protobuf need not be there."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            value |= (message[at] & 127) << shift
            shift += 7
            at += 1
            if message[at - 1] < 128:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 == 2:
            size = number()
            yield tag >> 3, message[at : at + size]
            at += size
        elif tag & 7 == 5:
            at += 4
        else:
            yield tag >> 3, number()


def text_pieces(proto: bytes) -> Iterator[tuple[int, str, int, int]]:
    """Id, piece and span in bytes from a SentencePieceText."""
    for field, value in fields(proto):
        if field == 2:
            piece = dict(fields(value))
            yield piece.get(2, 0), piece[1].decode(), piece.get(4, 0), piece.get(5, 0)


def compare(ours: Any, theirs: Any, texts: list[str]) -> None:
    rows = theirs.encode(texts)
    assert ours.encode_batch(texts).to_lists() == rows
    assert ours.count_batch(texts).tolist() == [len(row) for row in rows]
    assert ours.decode_batch(rows) == theirs.decode(rows)
    # SentencePiece takes its time to tell spans.
    for text in texts[:: 1 if len(texts) < 64 else 8]:
        spans(ours, theirs, text)


def spans(ours: Any, theirs: Any, text: str) -> None:
    """The bytes that each piece stands for. A character's byte pieces are all empty there but the last."""
    found = ours.encode_with_offsets(text)
    expected = list(text_pieces(theirs.encode(text, return_type="serialized_proto")))
    assert found.ids == [number for number, *_ in expected]
    for number, got, (_, _, start, end) in zip(found.ids, found.byte_offsets, expected, strict=True):
        if theirs.is_byte(number):
            assert start <= got[0] <= got[1]
        else:
            assert got == (start, end), text[:300]
    assert all(a[0] <= b[0] for a, b in pairwise(found.byte_offsets))


def same_tables(ours: Any, theirs: Any) -> None:
    count = theirs.get_piece_size()
    assert len(ours) == count
    written = [theirs.id_to_piece(i) for i in range(count)]
    assert [ours.id_to_token(i) for i in range(count)] == written
    assert [ours.token_to_id(piece) for piece in written] == list(range(count))
    none = {-1: None}
    assert ours.bos_token_id == none.get(theirs.bos_id(), theirs.bos_id())
    assert ours.eos_token_id == none.get(theirs.eos_id(), theirs.eos_id())
    assert ours.pad_token_id == none.get(theirs.pad_id(), theirs.pad_id())
    assert ours.unk_token_id == theirs.unk_id()
    control = [piece for i, piece in enumerate(written) if theirs.is_control(i)]
    assert sorted(ours.special_tokens) == sorted(control)


@pytest.fixture(
    scope="module",
    params=[*PUBLISHED, *(pytest.param(name, marks=pytest.mark.slow) for name in OF_MISTRAL)],
)
def model(request: pytest.FixtureRequest, data: Path) -> Path:
    if request.param in PUBLISHED:
        return data / "vocab" / str(request.param)
    import mistral_common

    return Path(str(mistral_common.__file__)).parent / "data" / str(request.param)


def both(native: Any, path: Path) -> tuple[Any, Any]:
    from sentencepiece import SentencePieceProcessor

    return native.load(path), SentencePieceProcessor(model_file=str(path))


def run(name: str, ours: Any, theirs: Any, data: Path, slow: bool) -> str:
    written = [theirs.id_to_piece(i) for i in range(theirs.get_piece_size())]
    return compare_all(name, written, data, slow, partial(compare, ours, theirs))


def test_published_models_are_those_of_sentencepiece(native: Any, model: Path, data: Path) -> None:
    ours, theirs = both(native, model)
    same_tables(ours, theirs)
    print(run(model.name, ours, theirs, data, slow=False))


@pytest.mark.slow
def test_published_models_are_those_of_sentencepiece_on_all_texts(
    native: Any, model: Path, data: Path
) -> None:
    row = run(model.name, *both(native, model), data, slow=True)
    print(row)


@pytest.fixture(scope="module")
def lines(data: Path) -> list[str]:
    corpus = data / "corpus"
    texts = [*pieces(corpus / "english.txt", 400_000, 4), *pieces(corpus / "cjk.txt", 200_000, 4)]
    return [line for text in texts for line in text.splitlines() if line.strip()]


def train(path: Path, lines: list[str], kind: str, options: dict[str, Any]) -> Path:
    import sentencepiece

    model = BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type=kind,
        vocab_size=2400,
        character_coverage=0.98,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
        **options,
    )
    path.write_bytes(model.getvalue())
    return path


@pytest.mark.parametrize("setting", BOTH_RUNS)
@pytest.mark.parametrize("kind", KINDS)
def test_trained_models_are_those_of_sentencepiece(
    native: Any, lines: list[str], tmp_path: Path, data: Path, kind: str, setting: str
) -> None:
    ours, theirs = both(native, train(tmp_path / "m.model", lines, kind, SETTINGS[setting]))
    same_tables(ours, theirs)
    print(run(f"{kind}, {setting}", ours, theirs, data, slow=False))
    # What is saved is the same model to both, and is saved again to the same bytes.
    ours.save(tmp_path / "again.model")
    again, their_again = both(native, tmp_path / "again.model")
    assert again == ours
    again.save(tmp_path / "third.model")
    assert (tmp_path / "third.model").read_bytes() == (tmp_path / "again.model").read_bytes()
    same_tables(again, their_again)
    compare(ours, their_again, lines[:200])


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_trained_models_are_those_of_sentencepiece_on_all_texts(
    native: Any,
    lines: list[str],
    tmp_path: Path,
    data: Path,
    kind: str,
    setting: str,
) -> None:
    ours, theirs = both(native, train(tmp_path / "m.model", lines, kind, SETTINGS[setting]))
    row = run(f"{kind}, {setting}", ours, theirs, data, slow=True)
    print(row)


RULES = {"h": "H", "Uh": "H", "U": "UU", "ab": "", "a ": "", "e\u0301": "é", " .": ".", "the quick": "one"}
"""Keys and what they become; one is the start of another, one goes over the end of a word."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_map_is_applied_to_what_was_decoded(
    native: Any, lines: list[str], tmp_path: Path, data: Path, kind: str
) -> None:
    rules = tmp_path / "rules.tsv"
    numbers = {key: " ".join(f"{ord(char):X}" for char in key) for key in {*RULES, *RULES.values()}}
    rules.write_text("".join(f"{numbers[key]}\t{numbers[to]}\n" for key, to in RULES.items()))
    lines = [*lines, *RULES, "The Uhe quick abc ab", "the the quic the quick a U Uh ."]
    ours, theirs = both(native, train(tmp_path / "m.model", lines, kind, {"denormalization_rule_tsv": rules}))
    assert theirs.decode(theirs.encode("Uhab UU .")) == "H UUUU."
    print(run(f"{kind}, a map after decoding", ours, theirs, data, slow=False))
    compare(ours, theirs, lines)
    for line in lines[-40:]:
        stream = ours.decode_stream()
        given = [stream.step(number) for number in ours.encode(line)]
        assert "".join(given) + stream.finish() == ours.decode(ours.encode(line))
    ours.save(tmp_path / "again.model")
    again, their_again = both(native, tmp_path / "again.model")
    assert (again, again.fingerprint) == (ours, ours.fingerprint)
    compare(again, their_again, lines)
    assert ours.fingerprint != native.load(train(tmp_path / "n.model", lines, kind, {})).fingerprint


def test_models_of_words_are_refused(native: Any, lines: list[str], tmp_path: Path) -> None:
    path = train(tmp_path / "m.model", lines, "word", {})
    with pytest.raises(native.errors.FormatError, match="word") as caught:
        native.load(path)
    assert (caught.value.kind, caught.value.field) == ("unsupported", "trainer_spec.model_type")


def test_control_pieces_are_found_only_where_they_are_asked_for(native: Any, data: Path) -> None:
    tok = native.load(data / "vocab/llama2/tokenizer.model")
    assert 1 not in tok.encode("<s>a")
    assert tok.encode("<s>a", special="parse") == [1, *tok.encode("a")]
    # The unknown piece is none: text never becomes it.
    assert 0 not in tok.encode("<unk>", special="parse")
    with pytest.raises(native.errors.SpecialTokenError):
        tok.encode("a</s>", special="raise")


def test_sums_over_a_long_text_start_over_where_they_have_grown_too_far(native: Any, data: Path) -> None:
    # Most of these digits are unknown, and that counts much. At token 3717 are 87 6 and 8 76, whose scores
    # differ by less than single precision shows in a sum beyond 100 000.
    ours, theirs = both(native, data / "vocab/sentencepiece-test/test_ja_model.model")
    text = (data / "adversarial/digits_scripts.txt").read_bytes()[:20_000].decode(errors="ignore")
    ids = theirs.encode(text)
    assert [theirs.id_to_piece(number) for number in ids[3717:3719]] == ["87", "6"]
    assert ours.encode(text) == ids
    assert ours.encode(text * 5) == theirs.encode(text * 5)


def test_words_are_cached_where_rounding_cannot_change_them(native: Any, data: Path) -> None:
    """Each word many times, in an order of its own, so that nearly equal paths meet all kinds of sums."""
    ours, theirs = both(native, data / "vocab/sentencepiece-test/test_model.model")
    assert "words before normalization" in ours.plan()["lookup of pretokens"].path
    words = (data / "corpus/english.txt").read_bytes()[:60_000].decode(errors="ignore").split()
    chosen = random.Random(11)
    for number in range(8):
        chosen.shuffle(words)
        text = chosen.choice([" ", "  ", "\n", "\u3000 "]).join(words)
        assert ours.encode(text) == theirs.encode(text), number
        assert ours.count(text) == len(ours.encode(text))
    marked = text.replace("the", "the\u2581", 3)
    assert ours.encode(marked) == theirs.encode(marked)


def test_a_model_is_no_tokenizer_json(native: Any, data: Path, tmp_path: Path) -> None:
    tok = native.load(data / "vocab/sentencepiece-test/test_model.model")
    with pytest.raises(native.errors.FormatError) as caught:
        tok.save(tmp_path / "t.json")
    assert caught.value.kind == "cannot-hold"
    assert not list(tmp_path.iterdir())


def test_what_is_no_model_cannot_be_saved_as_one(native: Any, data: Path, tmp_path: Path) -> None:
    for name in ("gpt2", "t5-small", "bert-base-uncased"):
        tok = native.load(data / "vocab" / name / "tokenizer.json")
        with pytest.raises(native.errors.FormatError, match="SentencePiece") as caught:
            tok.save(tmp_path / "t.model")
        assert caught.value.kind == "cannot-hold"


def test_ranks_in_a_file_called_tokenizer_model_are_known_by_what_they_are(native: Any, data: Path) -> None:
    folder = data / "vocab" / "llama3"
    ranks, json = native.load(folder / "tokenizer.model"), native.load(folder / "tokenizer.json")
    assert ranks.special_tokens == json.special_tokens
    for text in ("Hello  world's 1234\n\n x", "<|eot_id|> é 你好"):
        assert ranks.encode(text) == json.encode(text)
        assert ranks.encode(text, special="parse") == json.encode(text, special="parse")
