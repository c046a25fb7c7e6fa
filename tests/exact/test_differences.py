"""Where we differ from other libraries on purpose: what docs/differences.md lists and nothing else tests.

Compared with tokenizers 0.23.3 and tiktoken 0.14.0.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from .files import both, file_of, special
from .peer_tokenizers import merges_of, peer_training, saved, written_merges
from .test_splits import our_spans
from .test_tiktoken import tiktoken_encoding

BYTES = [bytes([value]) for value in range(256)]


@pytest.fixture(scope="module")
def cl100k(native: Any, data: Path) -> Any:
    return native.load(data / "vocab" / "cl100k_base" / "cl100k_base.tiktoken")


def test_the_page_names_tests_that_exist_and_versions_that_are_installed() -> None:
    import tiktoken
    import tokenizers
    import transformers

    page = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 10
    defined = {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert named - defined == set()
    assert f"tokenizers {tokenizers.__version__}" in page
    assert f"tiktoken {tiktoken.__version__}" in page
    assert f"transformers {transformers.__version__}" in page


# ---- tokenizers: encoding and decoding ----------------------------------------------------------


def test_an_added_token_outside_of_ascii_decodes_to_itself_here(native: Any, tmp_path: Path) -> None:
    """The byte-level decoder reads characters of added tokens as bytes where it can."""
    from tokenizers import Tokenizer

    literals = ["<é>", "Ġq", "<日>", "<é日>"]
    tok = native.train(texts=["low"], num_merges=1, special_tokens=literals)
    peer = Tokenizer.from_file(str(saved(tok, tmp_path)))
    ids = [tok.special_tokens[literal] for literal in literals]
    assert [tok.decode([number]) for number in ids] == literals
    theirs = [peer.decode([number], skip_special_tokens=False) for number in ids]
    assert theirs == ["<\ufffd>", " q", "<日>", "<é日>"]
    # So do those that are not special, where the vocabulary has no such token.
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    model = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
    added = [special(1, "é", special=False)]
    stages = {"pre_tokenizer": byte_level, "decoder": byte_level}
    tok, peer = both(native, tmp_path, file_of([""], model=model, added_tokens=added, **stages))
    assert tok.encode("aé") == peer.encode("aé").ids == [0, 1]
    assert (tok.decode([0, 1]), peer.decode([0, 1])) == ("aé", "a\ufffd")


def test_an_unknown_character_is_an_error_here_and_nothing_in_the_peer(native: Any, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    tok = native.train(texts=["low"] * 3, num_merges=2, split="whitespace", alphabet="chars")
    peer = Tokenizer.from_file(str(saved(tok, tmp_path)))
    encoding = peer.encode("loxw low")
    assert encoding.tokens == ["low", "low"]
    # The x and the space are gone, and what follows an unknown character within its piece has moved.
    assert encoding.offsets == [(0, 3), (4, 7)]
    with pytest.raises(native.UnknownTokenError) as raised:
        tok.encode("loxw low")
    assert (raised.value.char, raised.value.position) == ("x", 2)


def test_special_tokens_are_text_here_unless_asked_for(cl100k: Any, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    tok = cl100k
    peer = Tokenizer.from_file(str(saved(tok, tmp_path)))
    text = "a<|endoftext|>b"
    assert peer.encode(text).ids == tok.encode(text, special="parse") == [64, 100_257, 65]
    assert 100_257 not in tok.encode(text)
    peer.encode_special_tokens = True
    assert peer.encode(text).ids == tok.encode(text)


def test_an_id_that_does_not_exist_is_an_error_here_and_nothing_in_the_peer(
    native: Any, cl100k: Any, tmp_path: Path
) -> None:
    from tokenizers import Tokenizer

    tok = cl100k
    peer = Tokenizer.from_file(str(saved(tok, tmp_path)))
    assert peer.decode([64, 10**6, 65]) == "ab"
    assert tok.decode([64, 10**6, 65], undefined="skip") == "ab"
    with pytest.raises(native.VocabularyError) as raised:
        tok.decode([64, 10**6, 65])
    assert (raised.value.id, raised.value.position) == (10**6, 1)


def test_a_function_is_saved_by_its_name_here_and_not_at_all_there(native: Any, tmp_path: Path) -> None:
    from tokenizers import Tokenizer, pre_tokenizers

    class Words:
        def pre_tokenize(self, pretokenized: Any) -> None:
            pretokenized.split(lambda _, text: [text])

    tok = native.train(texts=["low low"], num_merges=2, split="none")
    peer = Tokenizer.from_file(str(saved(tok, tmp_path)))
    peer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Words())
    with pytest.raises(Exception, match="cannot be serialized"):
        peer.to_str()
    ours = tok.with_splitter(str.split, name="x")
    path = saved(ours, tmp_path)
    assert native.load(path, hooks={"x": str.split}) == ours
    with pytest.raises(Exception, match="did not match any variant"):
        Tokenizer.from_file(str(path))


def _offsets_with_t5(text: str, native: Any, data: Path) -> tuple[list[Any], list[Any]]:
    """Theirs and ours; the ids are the same."""
    from tokenizers import Tokenizer

    path = data / "vocab" / "t5-small" / "tokenizer.json"
    want = Tokenizer.from_file(str(path)).encode(text, add_special_tokens=False)
    found = native.load(path).encode_with_offsets(text)
    assert found.ids == want.ids
    return want.offsets, found.offsets


@pytest.mark.parametrize(
    ("text", "theirs", "ours"),
    [
        # U+0344 becomes two characters, and the control character after it is removed.
        ("a\u0344\x01", [(0, 1), (0, 1), (1, 3)], [(0, 1), (0, 1), (1, 2)]),
        ("a\u0344\x01b", [(0, 1), (0, 1), (1, 3), (3, 4)], [(0, 1), (0, 1), (1, 2), (3, 4)]),
        ("\ufb01\x01", [(0, 2)], [(0, 1)]),
        ("½\x01", [(0, 1), (0, 1), (1, 2)], [(0, 1), (0, 1), (0, 1)]),
        # Without the one or the other there is no difference.
        ("a\u0344", [(0, 1), (0, 1), (1, 2)], [(0, 1), (0, 1), (1, 2)]),
        ("a\x01", [(0, 1), (0, 1)], [(0, 1), (0, 1)]),
    ],
)
def test_a_removed_control_character_is_no_part_of_the_token_before_it_here(
    text: str, theirs: list[tuple[int, int]], ours: list[tuple[int, int]], native: Any, data: Path
) -> None:
    assert _offsets_with_t5(text, native, data) == (theirs, ours)


@pytest.mark.parametrize(
    ("text", "theirs", "ours"),
    [
        ("\x07ab", [(0, 2)], [(1, 3)]),
        ("\x07\x07ab cd", [(0, 2), (3, 4), (3, 4), (4, 5)], [(2, 4), (5, 6), (5, 6), (6, 7)]),
        ("ab\x07 cd", [(0, 2), (4, 5), (4, 5), (5, 6)], [(0, 2), (4, 5), (4, 5), (5, 6)]),
    ],
)
def test_removed_control_characters_before_a_text_are_counted_here(
    text: str, theirs: list[tuple[int, int]], ours: list[tuple[int, int]], native: Any, data: Path
) -> None:
    assert _offsets_with_t5(text, native, data) == (theirs, ours)


def test_of_added_tokens_with_one_normalized_text_the_first_is_found_here_and_any_there(
    native: Any, tmp_path: Path
) -> None:
    """In the peer the order of a randomly seeded map decides, so that it changes from load to load."""
    from tokenizers import Tokenizer

    added = [special(1, "<A>", normalized=True), special(2, "<a>", normalized=True)]
    tok, _ = both(native, tmp_path, file_of(["?"], normalizer={"type": "Lowercase"}, added_tokens=added))
    path = str(tmp_path / "tokenizer.json")
    loads = (Tokenizer.from_file(path) for _ in range(200))
    found_there = set()
    for peer in loads:
        found_there.add(peer.encode("<a>").ids[0])
        if found_there == {1, 2}:
            break
    assert found_there == {1, 2}
    for text in ["<a>", "<A>"]:
        assert tok.encode(text, special="parse") == [1]
        assert {tuple(native.load(path).encode(text, special="parse")) for _ in range(8)} == {(1,)}


def test_an_end_of_word_symbol_within_a_special_token_is_kept_here_and_removed_there(
    native: Any, tmp_path: Path
) -> None:
    """What removes the symbol from a decoded text looks at every token there."""
    from tokenizers import Tokenizer

    tok = native.train(
        texts=["low low"],
        num_merges=2,
        split="whitespace",
        alphabet="chars",
        end_of_word="</w>",
        end_of_word_form="suffix",
        special_tokens=["x</w>y"],
    )
    peer = Tokenizer.from_file(str(saved(tok, tmp_path)))
    ids = tok.encode("lowx</w>y", special="parse")
    assert ids == peer.encode("lowx</w>y").ids
    assert peer.decode(ids, skip_special_tokens=False) == "lowxy"
    assert tok.decode(ids) == "lowx</w>y"


@pytest.mark.parametrize(
    ("regex", "text", "theirs", "ours"),
    [
        # There, `+` behind a counted quantifier is a quantifier of its own.
        (r"\p{N}{1,3}+", "1234567", [(0, 7)], [(0, 3), (3, 6), (6, 7)]),
        # There, `^` and `$` are the ends of lines.
        (r"^a", "a\na", [(0, 1), (1, 2), (2, 3)], [(0, 1), (1, 3)]),
        # There, the superscripts and fractions of Latin-1 are word characters, and the joiners are not.
        (r"\w+", "a²", [(0, 2)], [(0, 1), (1, 2)]),
        (r"\w+", "a\u200db", [(0, 1), (1, 2), (2, 3)], [(0, 3)]),
        # There, `ss` and `ß` are the same when case is ignored.
        (r"(?i:ss)", "aßa", [(0, 1), (1, 2), (2, 3)], [(0, 3)]),
    ],
)
def test_the_same_regex_may_mean_another_split_there(
    regex: str, text: str, theirs: list[tuple[int, int]], ours: list[tuple[int, int]], native: Any
) -> None:
    from tokenizers import Regex, pre_tokenizers

    peer = pre_tokenizers.Split(Regex(regex), "isolated")
    assert [span for _, span in peer.pre_tokenize_str(text)] == theirs
    assert our_spans(native, text, regex) == ours


def test_a_regex_that_cannot_be_translated_with_certainty_is_refused_when_saved(
    native: Any, tmp_path: Path
) -> None:
    tok = native.Tokenizer.from_tokens(BYTES, split=r"(?i:ss)")
    with pytest.raises(native.FormatError) as raised:
        tok.save(tmp_path / "tokenizer.json")
    assert raised.value.field == "pre_tokenizer[0].pattern"


# ---- tokenizers: files --------------------------------------------------------------------------


def pair_of_files(folder: Path, vocab: str, merges: str) -> tuple[str, str]:
    """Write vocab.json and merges.txt."""
    files = folder / "vocab.json", folder / "merges.txt"
    files[0].write_text(vocab, encoding="utf-8")
    files[1].write_text(merges, encoding="utf-8")
    return str(files[0]), str(files[1])


def test_an_empty_line_in_merges_is_nothing_here_and_an_error_in_the_peer(
    native: Any, tmp_path: Path
) -> None:
    from tokenizers import models

    files = pair_of_files(tmp_path, '{"a": 0, "b": 1, "ab": 2}', "#version: 0.2\na b\n\n")
    with pytest.raises(Exception, match="Merges text file invalid at line 2"):
        models.BPE.from_file(*files)
    assert native.load(files[0], split="none").merges == [(b"a", b"b")]


# ---- tokenizers: training -----------------------------------------------------------------------


def test_a_file_is_one_document_here_and_a_document_for_each_line_there(native: Any, tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, trainers

    path = tmp_path / "text"
    path.write_text("a\na\na\na\n", encoding="utf-8")
    peer = Tokenizer(models.BPE())
    peer.train([str(path)], trainers.BpeTrainer(vocab_size=20, min_frequency=2, show_progress=False))
    assert peer.get_vocab().keys() == {"a", "\n", "a\n"}
    ours = native.train(path, num_merges=20, split="none", tie_break="huggingface")
    assert [left + right for left, right in ours.merges] == [b"a\n", b"a\na\n"]
    # Its lines keep their ends; ours, with documents="lines", do not.
    assert native.train(path, num_merges=20, split="none", documents="lines").merges == []


def test_a_size_below_the_alphabet_is_an_error_here_and_exceeded_by_the_peer(native: Any) -> None:
    theirs = peer_training(["abab"], vocab_size=10)
    assert len(theirs["model"]["vocab"]) == 256
    with pytest.raises(native.TrainingError, match="too small"):
        native.train(texts=["abab"], vocab_size=10)


def test_a_frequency_of_zero_means_one_in_the_peer_and_is_an_error_here(native: Any) -> None:
    from .peer_tokenizers import byte_level

    none, one = (
        peer_training(["abcabd"], vocab_size=300, pre_tokenizer=byte_level(None), min_frequency=frequency)
        for frequency in [0, 1]
    )
    ours = native.train(
        texts=["abcabd"], vocab_size=300, split="none", tie_break="huggingface", min_frequency=1
    )
    assert merges_of(none) == merges_of(one) == written_merges(ours)
    with pytest.raises(native.TrainingError, match="min_frequency"):
        native.train(texts=["abcabd"], vocab_size=300, min_frequency=0)


# ---- sentencepiece ------------------------------------------------------------------------------


def unigram_model(path: Path, scores: dict[str, float]) -> Path:
    """A model of these pieces behind `<unk>`, which changes nothing in a text."""
    from sentencepiece import sentencepiece_model_pb2 as messages

    model = messages.ModelProto()  # type: ignore[attr-defined]
    model.pieces.add(piece="<unk>", score=0, type=2)
    for piece, score in scores.items():
        model.pieces.add(piece=piece, score=score, type=1)
    model.trainer_spec.model_type = 1
    for name in ("bos_id", "eos_id", "pad_id"):
        setattr(model.trainer_spec, name, -1)
    model.normalizer_spec.name = "identity"
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    path.write_bytes(model.SerializeToString())
    return path


def nbest_of_sentencepiece(path: Path, text: str, n: int) -> list[tuple[list[int], float]]:
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_file=str(path))
    found = processor.nbest_encode(text, nbest_size=n, return_type="proto")
    return [([piece.id for piece in one.pieces], one.score) for one in found.nbests]


def test_the_best_of_one_has_its_score_here_and_zero_in_sentencepiece(native: Any, data: Path) -> None:
    path = data / "vocab" / "sentencepiece-test" / "test_model.model"
    tok = native.load(path)
    for text in ["hello", "I saw a girl with a telescope.", "aaaaaa"]:
        ((ids, score),) = tok.encode_nbest(text, 1)
        assert nbest_of_sentencepiece(path, text, 1) == [(ids, 0.0)]
        # Asked for more, it gives the score of the best one, too.
        theirs = nbest_of_sentencepiece(path, text, 8)
        ours = tok.encode_nbest(text, 8)
        assert [way for way, _ in ours] == [way for way, _ in theirs]
        assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], abs=1e-4)
        assert ours[0] == (ids, score)
        assert score < -10


def test_segmentations_of_equal_score_have_another_order_in_sentencepiece(
    native: Any, tmp_path: Path
) -> None:
    scores = {"a": -1.0, "b": -1.0, "c": -1.0, "ab": -2.0, "bc": -2.0, "abc": -3.0}
    path = unigram_model(tmp_path / "ties.model", scores)
    tok = native.load(path)
    pieces = {number: piece for piece, number in tok.vocab.items()}

    def written(ways: list[tuple[list[int], float]]) -> list[str]:
        assert {score for _, score in ways} == {-3.0}
        return [" ".join(pieces[number] for number in ids) for ids, _ in ways]

    ours, theirs = written(tok.encode_nbest("abc", 9)), written(nbest_of_sentencepiece(path, "abc", 9))
    assert sorted(ours) == sorted(theirs) == ["a b c", "a bc", "ab c", "abc"]
    assert ours != theirs
    # Which of them are among the first two is a matter of the order.
    assert written(tok.encode_nbest("abc", 2)) == ours[:2]


# ---- tiktoken -----------------------------------------------------------------------------------


def tiktoken_bytes(pattern: str, special_tokens: dict[str, int]) -> Any:
    """The 256 bytes and no merges."""
    import tiktoken

    ranks = {token: rank for rank, token in enumerate(BYTES)}
    return tiktoken.Encoding("bytes", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special_tokens)


def test_text_between_matches_is_kept_here_and_dropped_by_tiktoken(native: Any) -> None:
    ours = native.Tokenizer.from_tokens(BYTES, split=r"\w+")
    assert tiktoken_bytes(r"\w+", {}).encode("a b") == [97, 98]
    assert ours.encode("a b") == [97, 32, 98]


def test_of_two_special_tokens_that_begin_alike_the_longer_is_taken_here(native: Any) -> None:
    """In tiktoken the names decide: the order of a hash table is the order they are tried in."""
    taken_by_tiktoken = set()
    for short, long in [("<s>", "<s><s>"), ("<a>", "<a>b"), ("<|e|>", "<|e|>2"), ("#", "##"), ("x", "xy")]:
        special_tokens = {short: 256, long: 257}
        theirs = tiktoken_bytes(r"\s+|\S+", special_tokens).encode(long, allowed_special="all")
        taken_by_tiktoken.add(theirs[0])
        ours = native.Tokenizer.from_tokens(BYTES, split=r"\s+|\S+", special_tokens=special_tokens)
        assert ours.encode(long, special="parse") == [257]
    assert taken_by_tiktoken == {256, 257}


def test_a_run_that_is_needed_twice_is_needed_once_in_tiktoken(native: Any) -> None:
    """An error of its regex engine, which is kept from it where a pattern runs on it here."""
    ranks = {token: rank for rank, token in enumerate(BYTES)}

    def ours(pattern: str, text: str) -> list[int]:
        tok = native.Tokenizer.from_ranks(ranks, split=pattern, unmatched="drop")
        found: list[int] = tok.encode(text)
        return found

    assert tiktoken_bytes("b+a?b+", {}).encode("b") == [98]
    assert ours("b+a?b+", "b") == []
    assert tiktoken_bytes("(?!c)b+a?b+", {}).encode("b") == [98]
    assert ours("(?!c)b+a?b+", "b") == []
    for pattern in ["(?:b+a?b*)+", "(?!c)(?:b+a?b*)+"]:
        assert tiktoken_bytes(pattern, {}).encode("baa") == list(b"baa")
        assert ours(pattern, "baa") == list(b"ba")
    import tiktoken

    ab = {bytes([byte]): rank for rank, byte in enumerate(range(256))} | {b"bb": 256, b"bba": 257}
    both = tiktoken.Encoding("both", pat_str="b+b|b+a", mergeable_ranks=ab, special_tokens={})
    assert both.encode("bba") == [257]
    assert native.Tokenizer.from_ranks(ab, split="b+b|b+a", unmatched="drop").encode("bba") == [256]
    for text in ["bb", "bab"]:
        assert tiktoken_bytes("b+a?b+", {}).encode(text) == ours("b+a?b+", text) == list(text.encode())


def test_a_special_token_in_a_text_is_text_here_and_an_error_in_tiktoken(native: Any) -> None:
    theirs = tiktoken_bytes(r"\s+|\S+", {"<s>": 256})
    ours = native.Tokenizer.from_tokens(BYTES, split=r"\s+|\S+", special_tokens={"<s>": 256})
    with pytest.raises(ValueError, match="disallowed special token"):
        theirs.encode("a<s>")
    assert ours.encode("a<s>") == theirs.encode("a<s>", disallowed_special=()) == [97, *b"<s>"]
    with pytest.raises(native.SpecialTokenError):
        ours.encode("a<s>", special="raise")


def test_an_id_that_does_not_exist_is_a_key_error_in_tiktoken(native: Any) -> None:
    ours = native.Tokenizer.from_tokens(BYTES)
    with pytest.raises(KeyError):
        tiktoken_bytes(r"\s+|\S+", {}).decode([97, 300])
    with pytest.raises(native.VocabularyError):
        ours.decode([97, 300])


def test_a_megabyte_of_spaces_encodes_here_and_panics_in_tiktoken(native: Any, data: Path) -> None:
    """Its regex engine overflows its stack of backtracking."""
    text = " " * 1_000_000 + "a"
    ours = native.load(data / "vocab" / "o200k_base" / "o200k_base.tiktoken")
    assert ours.decode(ours.encode(text)) == text
    # A panic is no Exception.
    with pytest.raises(BaseException, match="StackOverflow") as raised:
        tiktoken_encoding("o200k_base", data).encode_ordinary(text)
    assert type(raised.value).__name__ == "PanicException"


@pytest.mark.parametrize(
    "step",
    [
        {"normalizer": ["x"]},
        {
            "post_processor": {
                "type": "RobertaProcessing",
                "sep": ["a", 1],
                "cls": ["u", 0],
                "trim_offsets": "x",
                "add_prefix_space": True,
            }
        },
    ],
    ids=["Prepend", "BertProcessing"],
)
def test_a_step_of_wrong_types_is_refused_here_and_another_step_in_the_peer(
    native: Any, tmp_path: Path, step: dict[str, Any]
) -> None:
    """The peer takes the first kind of step that the fields are right for."""
    from tokenizers import Tokenizer

    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file_of(["u", "a", "x"], **step)), encoding="utf-8")
    peer = Tokenizer.from_file(str(path))
    assert str(peer.normalizer or peer.post_processor).startswith(("Prepend", "BertProcessing"))
    with pytest.raises(native.FormatError, match="expected"):
        native.load(path)
