"""Training WordPiece: the definition, and tokenizers where chance does not decide."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill.errors import FormatError, TrainingError
from tokenmill.reference import train_wordpiece

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

PEER = """
import json
import sys

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

size, special, path = json.loads(sys.argv[1])
tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
tok.normalizer = normalizers.BertNormalizer()
tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, show_progress=False)
with open(path, encoding="utf-8") as file:
    tok.train_from_iterator([file.read()], trainer)
print(json.dumps(sorted(tok.get_vocab())))
"""


def train(texts: Any, **options: Any) -> Any:
    return tokenmill.train(
        texts=texts,
        model="wordpiece",
        special_tokens=SPECIAL,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        **options,
    )


def pieces(tok: Any) -> list[str]:
    return [tok.id_to_token(id) for id in range(len(SPECIAL), tok.vocab_size)]


@pytest.mark.parametrize("score", ["frequency", "likelihood"])
@pytest.mark.parametrize("count", [120, pytest.param(2_000, marks=pytest.mark.slow)])
def test_random_corpora(score: Any, count: int) -> None:
    rng = random.Random(f"{score} {count}")
    for _ in range(count):
        letters = rng.choice(["ab", "abc", "abcdefgh", "aé漢", "a#"])
        words = {
            "".join(rng.choices(letters, k=rng.randrange(1, 9))): rng.randrange(1, 8)
            for _ in range(rng.randrange(1, 15))
        }
        merges, least = rng.randrange(30), rng.randrange(1, 4)
        want = train_wordpiece(words, merges, score=score, min_frequency=least)
        tok = train(
            words, num_merges=merges, min_frequency=least, score=score, split="none", normalizer="none"
        )
        assert pieces(tok) == want, (words, merges, least)


def peer_vocabularies(path: Path, size: int, runs: int) -> list[list[str]]:
    arguments = json.dumps([size, SPECIAL, str(path)])
    command = [sys.executable, "-c", PEER, arguments]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(runs)]
    found = []
    for process in started:
        found.append(json.loads(process.communicate()[0]))
        assert process.returncode == 0
    return found


def test_tokens_are_those_of_tokenizers_where_it_agrees_with_itself(corpus: Any, tmp_path: Path) -> None:
    """Its trainer numbers symbols by chance, which decides ties: five fresh processes must agree."""
    compared = 0
    for name, size in [("english", 150), ("english", 600), ("multilingual", 1_500), ("code", 400)]:
        path = tmp_path / "text.txt"
        path.write_text(corpus(name)[:300_000], encoding="utf-8")
        text = path.read_text(encoding="utf-8")
        first, *others = peer_vocabularies(path, size, 5)
        if any(other != first for other in others):
            continue
        compared += 1
        tok = train([text], vocab_size=size, min_frequency=1)
        assert sorted(SPECIAL + pieces(tok)) == first, (name, size)
    print(f"{compared} of 4 corpora on which it agrees with itself")
    assert compared >= 2


def test_it_is_loaded_by_others(corpus: Any, tmp_path: Path) -> None:
    import transformers
    from tokenizers import Tokenizer

    text = corpus("english")
    tok = train([text[:2_000_000]], vocab_size=4_000, post_processor="BertProcessing")
    tok.save(tmp_path / "tokenizer.json", lossy=True)
    tok.save(tmp_path / "folder")
    tok.save(tmp_path / "vocab.txt", lossy=True)
    with pytest.raises(FormatError, match="holds tokens alone"):
        tok.save(tmp_path / "other" / "vocab.txt")
    lines = (corpus("english")[-500_000:] + corpus("multilingual")[:500_000]).split("\n")
    ours = [tok.encode(line, add_special_tokens=True) for line in lines]
    theirs = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert [encoding.ids for encoding in theirs.encode_batch(lines)] == ours
    library: Any = transformers
    fast = library.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    assert fast(lines)["input_ids"] == ours
    whole = library.AutoTokenizer.from_pretrained(str(tmp_path / "folder"))
    assert whole(lines)["input_ids"] == ours
    # A vocabulary alone: the library brings the rest.
    bert = library.BertTokenizerFast(str(tmp_path / "vocab.txt"))
    assert bert(lines)["input_ids"] == ours
    for name in ("vocab.txt", "folder"):
        assert (
            tokenmill.load(tmp_path / name).encode_batch(lines[:500], add_special_tokens=True).to_lists()
            == ours[:500]
        )
    again = tokenmill.load(tmp_path / "tokenizer.json")
    assert [again.encode(line, add_special_tokens=True) for line in lines[:200]] == ours[:200]
    assert again.decode(again.encode("hello, world!")) == "hello, world!"


def test_text_never_becomes_a_special_token() -> None:
    tok = train(
        ["[[CLSKNU]] [CLSKNU] UNK CLS"] * 3,
        num_merges=50,
        min_frequency=1,
        split="whitespace",
        lowercase=False,
    )
    ids = tok.encode("[CLS] [UNK]")
    assert not {tok.unk_token_id, tok.cls_token_id} & set(ids)


def test_threads_and_order_change_nothing(corpus: Any) -> None:
    texts = corpus("multilingual")[:1_500_000].split("\n")
    for score in ("frequency", "likelihood"):
        one = train(texts, vocab_size=4_000, score=score, num_threads=1)
        other = train(reversed(texts), vocab_size=4_000, score=score, num_threads=3)
        assert one == other
        assert one.training_report.stopped_early is None
        assert one.vocab_size == 4_000


def test_options() -> None:
    texts = {"Low lower lowest": 3, "LÖW": 2}
    tok = train(texts, num_merges=20, min_frequency=1)
    assert tok.encode("lowest löw") == tok.encode("LOWEST LÖW")
    kept = train(texts, num_merges=20, min_frequency=1, lowercase=False)
    assert kept.encode("LOW") != kept.encode("low")
    assert train(texts, num_merges=20, min_frequency=1, max_token_length=2).encode("lowest") != tok.encode(
        "lowest"
    )
    marked = train(texts, num_merges=0, continuing_subword_prefix="@@")
    assert "@@o" in pieces(marked)
    short = train(texts, num_merges=20, max_input_chars_per_word=3)
    assert short.encode("lowest") == [short.unk_token_id]
    assert train(texts, num_merges=99).training_report.stopped_early in ("min-frequency", "no-pair-left")
    report = tok.training_report
    assert report.merges[0][:2] == (b"l", b"##o")
    assert train(texts, num_merges=20, post_processor="BertProcessing").encode(
        "low", add_special_tokens=True
    )[0] == SPECIAL.index("[CLS]")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unk_token": None}, "unk_token"),
        ({"alphabet": "bytes"}, "alphabet"),
        ({"tie_break": "first-seen"}, "tie_break"),
        ({"end_of_word": "</w>"}, "end_of_word"),
        ({"score": "best"}, "score"),
        ({"post_processor": "BertProcessing"}, "cls_token"),
        ({"normalizer": "NFC", "lowercase": True}, "BertNormalizer"),
        ({"model": "bpe", "score": "frequency"}, "wordpiece"),
        ({"model": "unigrams"}, "model"),
        ({"vocab_size": 3, "num_merges": None}, "vocab_size"),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"model": "wordpiece", "unk_token": "[UNK]", "num_merges": 1} | options
    with pytest.raises(TrainingError, match=message):
        tokenmill.train(texts=["low lower"], **given)
