"""Surgery: what `trim`, `extend`, `remap`, `rename_special` and `join` promise, and training that goes on.

On small vocabularies and all texts of a few letters. The vocabularies are random: merges that contradict each
other, tokens that nothing builds, ranks below those of parts.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pytest
import tokenmill
from tokenmill import _core, errors

LETTERS = "abc"


class Size(NamedTuple):
    """How much the laws are tried on: the slow run takes more."""

    rounds: int
    texts: list[str]


@pytest.fixture(scope="module", params=["small", pytest.param("large", marks=pytest.mark.slow)])
def size(request: pytest.FixtureRequest) -> Size:
    rounds, longest = (4, 5) if request.param == "small" else (16, 6)
    lengths = range(1, longest + 1)
    texts = ["".join(letters) for length in lengths for letters in itertools.product(LETTERS, repeat=length)]
    return Size(rounds, texts)


def encoded(tok: tokenmill.Tokenizer, texts: list[str]) -> list[list[int]]:
    return tok.encode_batch(texts).to_lists()


def mapped(id_map: npt.NDArray[np.int64], ids: list[int]) -> list[int]:
    return [int(id) for id in id_map[ids]] if ids else []


# ---- random tokenizers ------------------------------------------------------------------------


def random_words(source: random.Random, count: int) -> list[str]:
    words = {"".join(source.choices(LETTERS, k=source.randint(2, 5))) for _ in range(count)}
    return source.sample(sorted(words), len(words))


def listed(source: random.Random) -> tokenmill.Tokenizer:
    """Listed merges of any two tokens, in any order, several of which may make one token."""
    tokens = [bytes([byte]) for byte in range(256)]
    known, merges = [b"a", b"b", b"c"], []
    for _ in range(source.randint(3, 14)):
        left, right = source.choice(known), source.choice(known)
        if len(left + right) > 5 or (left, right) in merges:
            continue
        merges.append((left, right))
        if left + right not in known:
            known.append(left + right)
    tokens += known[3:]
    source.shuffle(merges)
    vocab = {token: id for id, token in enumerate(source.sample(tokens, len(tokens)))}
    return tokenmill.Tokenizer.from_merges(vocab, merges, split="none", special_tokens=["<s>"])


def ranks(source: random.Random) -> tokenmill.Tokenizer:
    """Tokens that merge by their ids, some of which nothing builds."""
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [word.encode() for word in random_words(source, source.randint(2, 14))]
    return tokenmill.Tokenizer.from_ranks(
        {token: id for id, token in enumerate(tokens)},
        split="none",
        whole_pretokens=source.random() < 0.5,
        special_tokens={"<s>": 1000},
    )


def from_json(model: dict[str, Any]) -> tokenmill.Tokenizer:
    content: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [],
        "model": model,
        "pre_tokenizer": None,
        "normalizer": None,
    }
    return _core.from_tokenizer_json(json.dumps(content).encode())


def wordpiece(source: random.Random) -> tokenmill.Tokenizer:
    written = ["[UNK]", *LETTERS, *random_words(source, 8)]
    written += ["##" + word for word in [*LETTERS[: source.randint(1, 3)], *random_words(source, 8)]]
    vocab = {token: id for id, token in enumerate(written)}
    model = {"type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]", "max_input_chars_per_word": 100}
    return from_json({**model, "continuing_subword_prefix": "##"})


def unigram(source: random.Random) -> tokenmill.Tokenizer:
    """Few scores, so that there are ties, and sometimes a letter that is no piece."""
    letters = LETTERS[: source.randint(2, 3)]
    pieces = ["<unk>", *letters, *random_words(source, 10)]
    vocab = [[piece, -float(source.randint(1, 4))] for piece in pieces]
    return from_json({"type": "Unigram", "unk_id": 0, "vocab": vocab})


def chars(source: random.Random) -> tokenmill.Tokenizer:
    """Merges over characters, one of which may be unknown."""
    known = list(LETTERS[: source.randint(2, 3)])
    merges: list[list[str]] = []
    for _ in range(8):
        left, right = source.choice(known), source.choice(known)
        if len(left + right) <= 4 and [left, right] not in merges:
            merges.append([left, right])
            if left + right not in known:
                known.append(left + right)
    vocab = {token: id for id, token in enumerate(["<unk>", *known])}
    return from_json({"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "<unk>"})


def sentencepiece_model(kind: str) -> Callable[[random.Random], tokenmill.Tokenizer]:
    def make(source: random.Random) -> tokenmill.Tokenizer:
        trainer = pytest.importorskip("sentencepiece").SentencePieceTrainer
        model = BytesIO()
        sentences = [" ".join(random_words(source, 6)) for _ in range(60)]
        trainer.train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            model_type=kind,
            vocab_size=24,
            hard_vocab_limit=False,
            minloglevel=2,
            user_defined_symbols=["ac"] if source.random() < 0.5 else [],
        )
        return loaded(model.getvalue())

    return make


def loaded(model: bytes) -> tokenmill.Tokenizer:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.model"
        path.write_bytes(model)
        return tokenmill.load(path)


MAKERS: dict[str, Callable[[random.Random], tokenmill.Tokenizer]] = {
    "listed": listed,
    "ranks": ranks,
    "chars": chars,
    "wordpiece": wordpiece,
    "unigram": unigram,
    "sentencepiece bpe": sentencepiece_model("bpe"),
    "sentencepiece unigram": sentencepiece_model("unigram"),
}
EXTENDED = ["listed", "ranks", "chars", "wordpiece", "sentencepiece bpe"]


def examples(kind: str, rounds: int) -> Iterator[tuple[random.Random, tokenmill.Tokenizer]]:
    for seed in range(rounds // 4 or 1 if kind.startswith("sentencepiece") else rounds):
        source = random.Random(f"{kind} {seed}")
        yield source, MAKERS[kind](source)


def unknown_of(tok: tokenmill.Tokenizer) -> int:
    """The id of unknown text, -1 without one."""
    unknown = tok.encode_batch(["\U0001f600"]).to_lists()[0]
    is_byte_level = b"".join(map(tok.token_bytes, unknown)) == "\U0001f600".encode()
    return -1 if is_byte_level else unknown[-1]


def holds(tok: tokenmill.Tokenizer, absent: tuple[bytes, ...], text: str) -> bool:
    """Does a text hold bytes that a promise leaves out? SentencePiece sees a mark before it, and no other
    change."""
    seen = ("▁" + text.replace(" ", "▁")).encode()
    return any(bytes_ in text.encode() or bytes_ in seen for bytes_ in absent)


# ---- the promises -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MAKERS)
def test_trimmed_texts_whose_ids_are_kept_have_them(kind: str, size: Size) -> None:
    kept_texts = lost = 0
    for source, tok in examples(kind, size.rounds):
        before = encoded(tok, size.texts)
        unknown = unknown_of(tok)
        ids = sorted(set(tok.vocab.values()))
        for share in (0.2, 0.5, 0.8):
            done = tok.trim(keep=[id for id in ids if source.random() < share])
            assert done.promise.ids_kept
            after = encoded(done.tokenizer, size.texts)
            for text, old, new in zip(size.texts, before, after, strict=True):
                if unknown in old or any(done.id_map[id] < 0 for id in old):
                    lost += 1
                    continue
                kept_texts += 1
                assert new == mapped(done.id_map, old), text
    assert kept_texts > 100
    assert lost > 100


@pytest.mark.parametrize("kind", MAKERS)
def test_trimming_numbers_the_kept_tokens_in_their_order(kind: str, size: Size) -> None:
    for source, tok in examples(kind, size.rounds // 2):
        ids = sorted(set(tok.vocab.values()))
        asked = source.sample(ids, 5)
        done = tok.trim(keep=asked)
        kept = [old for old in range(len(done.id_map)) if done.id_map[old] >= 0]
        assert done.id_map[kept].tolist() == list(range(len(done.tokenizer)))
        assert sorted({*asked, *done.promise.also_kept}) == kept
        for old in kept:
            assert done.tokenizer.token_bytes(int(done.id_map[old])) == tok.token_bytes(old)
        close = tok.remap({old: new for new, old in enumerate(ids)}).tokenizer
        assert tok.trim(keep=ids).tokenizer.fingerprint == close.fingerprint


@pytest.mark.parametrize("kind", EXTENDED)
def test_extended_texts_without_the_new_bytes_have_their_ids(kind: str, size: Size) -> None:
    spared = 0
    for source, tok in examples(kind, size.rounds):
        marked = ["##cb", "##bca"] if kind == "wordpiece" else []
        new = [word for word in [*random_words(source, 4), *marked] if tok.token_to_id(word) is None]
        if not new:
            continue
        try:
            done = tok.extend(new)
        except errors.VocabularyError:
            assert kind == "ranks"  # a token that nothing builds is in the way
            continue
        ids = sorted(set(tok.vocab.values()))
        assert done.id_map[ids].tolist() == ids
        before, after = encoded(tok, size.texts), encoded(done.tokenizer, size.texts)
        for text, old, ids_now in zip(size.texts, before, after, strict=True):
            if not holds(tok, done.promise.absent, text):
                spared += 1
                assert ids_now == old, (text, new)
        for word in new:
            if kind in ("listed", "ranks", "chars") or (kind == "wordpiece" and "#" not in word):
                assert done.tokenizer.encode(word) == [done.tokenizer.token_to_id(word)]
    assert spared > 100


@pytest.mark.parametrize("kind", MAKERS)
def test_remapped_texts_have_their_ids_mapped(kind: str, size: Size) -> None:
    for source, tok in examples(kind, size.rounds // 2):
        ids = sorted(set(tok.vocab.values()))
        order = source.sample(ids, len(ids))
        try:
            done = tok.remap(order)
        except errors.FormatError:
            assert kind == "ranks"  # some token is built by nothing: no list of merges says the same
            continue
        before, after = encoded(tok, size.texts), encoded(done.tokenizer, size.texts)
        assert after == [mapped(done.id_map, old) for old in before]
        back = done.tokenizer.remap({int(done.id_map[id]): id for id in ids})
        assert encoded(back.tokenizer, size.texts) == before
        same = tok.remap({id: id for id in ids}).tokenizer
        assert (same == tok, same.fingerprint) == (True, tok.fingerprint)


@pytest.mark.parametrize("kind", EXTENDED)
def test_joined_texts_without_the_new_bytes_have_the_ids_of_the_first(kind: str, size: Size) -> None:
    spared = 0
    for source, first in examples(kind, size.rounds):
        second = MAKERS[kind](source)
        try:
            done = tokenmill.join(first, second)
        except errors.FormatError:
            assert kind == "listed" or kind == "ranks"
            continue
        ids = sorted(set(second.vocab.values()))
        for id in ids:
            assert done.tokenizer.token_bytes(int(done.id_map[id])) == second.token_bytes(id)
        assert len(done.tokenizer) <= len(first) + len(second)
        before, after = encoded(first, size.texts), encoded(done.tokenizer, size.texts)
        for text, old, new in zip(size.texts, before, after, strict=True):
            if not holds(first, done.promise.absent, text):
                spared += 1
                assert new == old, text
    assert spared > 20


# ---- what else goes with it -------------------------------------------------------------------


@pytest.fixture(scope="module")
def tok() -> tokenmill.Tokenizer:
    trained = tokenmill.train(
        texts=["low lower lowest", "new newer newest"] * 3,
        num_merges=30,
        special_tokens=["<pad>"],
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        add_bos_token=True,
        add_eos_token=True,
    )
    return trained.with_chat_template("{% for m in messages %}<s>{{ m.content }}</s>{% endfor %}")


def test_roles_and_the_tokens_around_texts_go_with_their_tokens(tok: tokenmill.Tokenizer) -> None:
    ids = sorted(set(tok.vocab.values()))
    for done in (tok.remap(ids[::-1]), tok.trim(texts=["low"]), tok.extend(["lowlow"])):
        new = done.tokenizer
        assert (new.bos_token, new.eos_token, new.pad_token) == ("<s>", "</s>", "<pad>")
        framed = tok.encode("low", add_special_tokens=True)
        assert new.encode("low", add_special_tokens=True) == mapped(done.id_map, framed)
        assert new.chat_templates == tok.chat_templates
        assert new.decode(new.encode("low")) == "low"


def test_renaming_changes_every_place_of_the_literal(tok: tokenmill.Tokenizer) -> None:
    done = tok.rename_special("</s>", "<|end|>")
    new = done.tokenizer
    assert new.special_tokens == {"<pad>": 0, "<s>": 1, "<|end|>": 2}
    assert new.eos_token == "<|end|>"
    assert new.encode("low", add_special_tokens=True) == tok.encode("low", add_special_tokens=True)
    chat = [{"role": "user", "content": "low"}]
    assert new.render_chat(chat).text == "<s>low<|end|>"
    assert new.encode("<|end|>", special="parse") == [2]
    assert new.encode("</s>", special="parse") == tok.encode("</s>")
    assert done.promise.absent == (b"</s>", b"<|end|>")
    assert new.rename_special("<|end|>", "</s>").tokenizer == tok


def test_a_matrix_moves_with_its_tokens(tok: tokenmill.Tokenizer) -> None:
    matrix = np.random.default_rng(0).standard_normal((tok.max_id + 1, 3)).astype(np.float32)
    ids = sorted(set(tok.vocab.values()))
    for done in (tok.trim(texts=["low newest"]), tok.remap(ids[::-1]), tok.extend(["lownew"])):
        new = done.tokenizer
        plan = new.embedding_plan(len(matrix), id_map=done.id_map, multiple_of=8)
        moved = plan.moved(matrix)
        assert moved.shape == (plan.new_rows, 3)
        assert moved.dtype == matrix.dtype
        for old in ids:
            if done.id_map[old] >= 0:
                assert (moved[done.id_map[old]] == matrix[old]).all()
        for row in plan.new:
            assert (moved[row.id] == moved[list(row.mean_of)].mean(0)).all()
            assert b"".join(map(new.token_bytes, row.mean_of)) == new.token_bytes(row.id)
        assert not moved[plan.needed :].any()
        assert plan.to_dict()["sources"] == list(plan.sources or ())
    assert plan.new
    assert not plan.fits


def test_a_matrix_that_only_grows_keeps_its_rows(tok: tokenmill.Tokenizer) -> None:
    more = tok.with_special_tokens(["low<|x|>"])
    matrix = np.arange(2.0 * (tok.max_id + 1)).reshape(-1, 2)
    plan = more.embedding_plan(len(matrix))
    moved = plan.moved(matrix)
    assert (moved[: len(matrix)] == matrix).all()
    assert (moved[len(matrix)] == matrix[list(plan.new[0].mean_of)].mean(0)).all()
    with pytest.raises(ValueError, match=r"the matrix has 3 rows, but the plan is for \d+"):
        plan.moved(matrix[:3])


def test_saved_together_or_not_at_all(tok: tokenmill.Tokenizer, tmp_path: Path) -> None:
    done = tok.trim(texts=["low"])
    done.save(tmp_path / "small")
    assert tokenmill.load(tmp_path / "small") == done.tokenizer
    assert (np.load(tmp_path / "small" / "id_map.npy") == done.id_map).all()
    with pytest.raises(FileExistsError, match="give a new folder"):
        done.save(tmp_path / "small")
    nameless = tok.with_normalizer(str.lower).trim(texts=["low"])
    with pytest.raises(errors.FormatError, match="a hook without a name"):
        nameless.save(tmp_path / "other")
    (tmp_path / "empty").mkdir()
    done.save(tmp_path / "empty")
    assert {path.name for path in tmp_path.iterdir()} == {"small", "empty"}


def test_texts_of_any_iterable_are_kept(tok: tokenmill.Tokenizer) -> None:
    words = ["low", "lower"] * 600
    for texts in cast(Any, (np.array(words), iter(words), {"low": 1, "lower": 2})):
        assert tok.trim(texts=texts).tokenizer == tok.trim(texts=words).tokenizer
    assert tok.trim(texts=["low"]).tokenizer == tok.trim(texts="low").tokenizer


def test_a_map_cannot_be_written_to_and_a_promise_says_what_it_is(tok: tokenmill.Tokenizer) -> None:
    done = tok.trim(drop=["low"])
    assert not done.id_map.flags.writeable
    assert done.id_map.dtype == np.int64
    assert "no unknown token among them" in str(done.promise)
    assert str(tok.remap({}).promise) == "Every text has its old ids, mapped."
    assert repr(done).endswith("ids kept)")
    assert "of 2 byte strings" in str(tok.rename_special("<s>", "<x>").promise)


UNIGRAM = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -2.0]]}


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda tok: tok.trim(), TypeError, "exactly one of keep, drop and texts"),
        (lambda tok: tok.trim(keep=[1], drop=[2]), TypeError, "exactly one of"),
        (lambda tok: tok.trim(keep="low"), TypeError, "keep must be an iterable of ids or tokens"),
        (lambda tok: tok.trim(keep=[99999]), errors.VocabularyError, "99999"),
        (lambda tok: tok.trim(drop=["nothing"]), errors.VocabularyError, "'nothing' is no token"),
        (lambda tok: tok.extend("low"), TypeError, "tokens must be an iterable"),
        (lambda tok: tok.extend([1]), TypeError, r"tokens\[0\] must be str or bytes, not int"),
        (lambda tok: tok.extend([""]), errors.VocabularyError, "cannot be empty"),
        (lambda tok: tok.extend(["xy", "xy"]), errors.VocabularyError, "listed twice"),
        (lambda tok: tok.extend(["low"]), errors.VocabularyError, 'the id of b"low" already'),
        (lambda tok: tok.extend(["<s>"]), errors.VocabularyError, 'the id of b"<s>" already'),
        (
            lambda tok: from_json(UNIGRAM).extend(["ab"]),
            errors.FormatError,
            "competes by its score",
        ),
        (lambda tok: tok.remap({99999: 1}), errors.VocabularyError, "does not exist"),
        (lambda tok: tok.remap({5: 6}), errors.VocabularyError, "the new id of two tokens"),
        (lambda tok: tok.remap([0, 1]), errors.VocabularyError, "leaves out the id 2"),
        (lambda tok: tok.remap(5), TypeError, "ids must be a mapping"),
        (lambda tok: tok.remap([0, 1, 0]), errors.VocabularyError, "has the id 0 twice, at 0 and 2"),
        (lambda tok: tok.remap([0, 1.5]), TypeError, r"ids\[1\] must be an integer, not float"),
        (lambda tok: tok.trim(texts=5), TypeError, "texts must be a str or an iterable of str, not int"),
        (lambda tok: tok.trim(texts=["a", 5]), TypeError, r"texts\[1\] must be str, not int"),
        (lambda tok: tok.rename_special("low", "x"), errors.SpecialTokenError, "no special token"),
        (lambda tok: tok.rename_special("<s>", "</s>"), errors.SpecialTokenError, "a token already"),
        (lambda tok: tok.rename_special("<s>", ""), errors.SpecialTokenError, "cannot be empty"),
        (lambda tok: tok.rename_special("<s>", "{%"), errors.SpecialTokenError, "with_chat_template"),
        (lambda tok: tok.rename_special(1, "x"), TypeError, "old must be str"),
        (
            lambda tok: tokenmill.join(tok, from_json(UNIGRAM)),
            errors.FormatError,
            "different kinds",
        ),
        (lambda tok: tokenmill.join(tok, cast(Any, 1)), TypeError, "b must be a Tokenizer, not int"),
        (lambda tok: tok.embedding_plan(5, id_map=[9_999]), ValueError, r"id_map\[0\] is 9999"),
    ],
)
def test_what_cannot_be_done_is_said(tok: tokenmill.Tokenizer, change: Any, error: type, match: str) -> None:
    with pytest.raises(error, match=match):
        change(tok)


# ---- learned extension ------------------------------------------------------------------------


CORPUS = [
    "low lower lowest new newer newest wide wider widest",
    "the lowest of the new, the widest of the low",
] * 4


@pytest.mark.parametrize("tie_break", ["lexicographic", "first-seen", "token-id", "huggingface"])
@pytest.mark.parametrize("begun", [0, 1, 7, 20])
def test_training_goes_on_as_if_it_had_not_stopped(tie_break: Any, begun: int) -> None:
    options: dict[str, Any] = {"tie_break": tie_break, "min_frequency": 2, "max_token_length": 6}
    whole = tokenmill.train(texts=CORPUS, num_merges=40, special_tokens=["<s>"], split="gpt2", **options)
    first = tokenmill.train(texts=CORPUS, num_merges=begun, special_tokens=["<s>"], split="gpt2", **options)
    made = len(whole.merges) - len(first.merges)
    assert tokenmill.train(texts=CORPUS, num_merges=made, base=first, **options) == whole
    assert tokenmill.train(texts=CORPUS, vocab_size=len(whole), base=first, **options) == whole
    if tie_break != "first-seen":
        counts = tokenmill.count_pretokens(texts=CORPUS, special_tokens=["<s>"], split="gpt2")
        assert tokenmill.train(counts=counts, num_merges=made, base=first, **options) == whole


def test_counts_must_be_read_as_the_base_reads(tok: tokenmill.Tokenizer) -> None:
    def more(base: tokenmill.Tokenizer, **options: Any) -> tokenmill.Tokenizer:
        counts = tokenmill.count_pretokens(texts=CORPUS, **options)
        return tokenmill.train(counts=counts, num_merges=2, base=base)

    special = list(tok.special_tokens)
    assert len(more(tok, special_tokens=special)) == len(tok) + 2
    with pytest.raises(errors.TrainingError, match=r"only base: '</s>', '<pad>', '<s>'"):
        more(tok)
    with pytest.raises(errors.TrainingError, match=r"split \(the counts: 'gpt2', base: 'cl100k'\)"):
        more(tok, special_tokens=special, split="gpt2")
    with pytest.raises(errors.TrainingError, match=r"normalizer \(the counts: 'NFC', base: 'none'\)"):
        more(tok, special_tokens=special, normalizer="NFC")
    normalized = tokenmill.train(texts=CORPUS, num_merges=2, normalizer="NFC")
    with pytest.raises(errors.TrainingError, match="give files or texts"):
        more(normalized, normalizer="NFC")


def test_training_does_not_go_on_from_functions(tok: tokenmill.Tokenizer) -> None:
    hooks = [tok.with_normalizer(str.upper, name="up"), tok.with_splitter(lambda text: [(0, len(text))])]
    for base in hooks:
        with pytest.raises(errors.TrainingError, match="the tokenizer has a function as its normalizer"):
            tokenmill.train(texts=CORPUS, num_merges=2, base=base)


def test_the_manifest_says_what_training_went_on_from(tok: tokenmill.Tokenizer, tmp_path: Path) -> None:
    tokenmill.train(texts=CORPUS, num_merges=2, base=tok).save(tmp_path / "more")
    assert tok.fingerprint in (tmp_path / "more" / "tokenmill.json").read_text()


def test_training_goes_on_from_a_tokenizer_of_other_texts() -> None:
    base = tokenmill.train(
        texts=["abcab abcab"] * 3, num_merges=6, special_tokens=["<s>"], special_ids="last"
    )
    more = tokenmill.train(texts=CORPUS, num_merges=12, base=base)
    assert more.merges[: len(base.merges)] == base.merges
    assert len(more.merges) == len(base.merges) + 12
    old = base.vocab
    assert {token: more.vocab[token] for token in old} == old
    new = sorted(set(more.vocab.values()) - set(old.values()))
    assert new == list(range(base.max_id + 1, base.max_id + 13))
    assert (more.split, more.special_tokens) == (base.split, base.special_tokens)
    tokens = {base.token_bytes(id) for id in old.values()} | {left + right for left, right in more.merges}
    # Each new merge is the most frequent pair of the text as the tokenizer so far has it.
    for count in range(12):
        so_far = tokenmill.Tokenizer.from_merges(
            {token: id for id, token in enumerate(sorted(tokens))},
            more.merges[: len(base.merges) + count],
            split=base.split or "none",
        )
        counts: dict[tuple[bytes, bytes], int] = {}
        for text in CORPUS:
            for word in _words(so_far, text):
                for pair in itertools.pairwise(word):
                    counts[pair] = counts.get(pair, 0) + 1
        best = max(counts.values())
        assert counts[more.merges[len(base.merges) + count]] == best


def _words(tok: tokenmill.Tokenizer, text: str) -> list[list[bytes]]:
    """The tokens of each pretoken."""
    encoding = tok.encode_with_offsets(text)
    words: dict[Any, list[bytes]] = {}
    for id, word in zip(encoding.ids, encoding.word_ids, strict=True):
        words.setdefault(word, []).append(tok.token_bytes(id))
    return list(words.values())


def backwards(merges: list[tuple[str, str]]) -> tokenmill.Tokenizer:
    """Merges that training does not make."""
    pairs = [(left.encode(), right.encode()) for left, right in merges]
    made = dict.fromkeys(
        left + right for left, right in sorted(pairs, key=lambda pair: len(pair[0] + pair[1]))
    )
    tokens = [*(bytes([byte]) for byte in range(256)), *made]
    return tokenmill.Tokenizer.from_merges(
        {token: id for id, token in enumerate(tokens)}, pairs, split="none"
    )


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"base": 1}, TypeError, "base must be Tokenizer or None"),
        ({"split": "gpt2"}, errors.TrainingError, "split does not go with base"),
        ({"special_tokens": ["<x>"]}, errors.TrainingError, "special_tokens does not go with base"),
        ({"vocab_size": 5, "num_merges": None}, errors.TrainingError, "5 is below the 258 ids that base has"),
        (
            {"base": tokenmill.Tokenizer.from_tokens([b"a", b"b"])},
            errors.TrainingError,
            "no token for the byte 0; .*extend first",
        ),
        (
            {"base": backwards([("ab", "c"), ("a", "b")])},
            errors.TrainingError,
            "merge 0 joins the token 256, wh",
        ),
        (
            {"base": backwards([("a", "b"), ("ab", "c"), ("b", "c"), ("a", "bc")])},
            errors.TrainingError,
            "merge 3 makes",
        ),
        ({"base": from_json(UNIGRAM)}, errors.TrainingError, "over bytes alone"),
    ],
)
def test_what_training_cannot_go_on_from(options: Any, error: type, match: str) -> None:
    base = tokenmill.train(texts=["low"] * 2, num_merges=2)
    with pytest.raises(error, match=match):
        tokenmill.train(**{"texts": CORPUS, "num_merges": 2, "base": base, **options})
