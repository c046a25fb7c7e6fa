"""Unigram trainers: time, memory, and how well each vocabulary spells text that none of them has seen.

    python bench/unigram.py                        10 MB of English and of many languages, 16,000 tokens
    python bench/unigram.py --corpora cjk --megabytes 4 --rounds 1
    python bench/unigram.py --quick                300 kB, 2,000 tokens

Each trainer has a process of its own and one thread, without normalization and with all characters. Our
two dialects are two trainers, beside the library that each is for. Two figures are taken from the scores
alone, for words cut at spaces: bytes for each token of the best spelling, and the logarithm of the
probability of a byte, summed over all spellings; the scores of each vocabulary are made to sum to 1 first.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import data

TRAINERS = {
    "tokenmill": "tokenmill",
    "sentencepiece": "sentencepiece",
    "tokenmill, tokenizers": "tokenmill",
    "tokenizers": "tokenizers",
}
UNKNOWN = -30.0
"""The score of a character that a vocabulary does not have."""


def main() -> int:
    """Train, compare, print."""
    args = _arguments()
    if args.sample:
        print(json.dumps(_sample(args)))
        return 0
    there = {name: module for name, module in TRAINERS.items() if importlib.util.find_spec(module)}
    for corpus in args.corpora.split(","):
        lines, unseen = _texts(corpus, args.megabytes)
        with tempfile.TemporaryDirectory(dir=data.scratch()) as folder:
            text = Path(folder, "text.txt")
            text.write_text("\n".join(lines), encoding="utf-8", newline="\n")
            print(f"{corpus}, {text.stat().st_size / data.MB:.1f} MB, {args.vocab_size:,} tokens, one thread")
            for name in there:
                samples = [_run(args, name, text, Path(folder, "scores.json")) for _ in range(args.rounds)]
                scores = json.loads(Path(folder, "scores.json").read_text(encoding="utf-8"))
                bytes_a_token, log_a_byte = quality(scores, unseen)
                cpu = statistics.median(sample["cpu"] for sample in samples)
                grown = statistics.median(sample["MB"] for sample in samples)
                print(
                    f"  {name:<22}{cpu:8.2f} s of CPU {grown:7.0f} MB more"
                    f"{bytes_a_token:8.4f} bytes a token {log_a_byte:9.5f} a byte"
                )
    return 0


def quality(scores: Mapping[str, float], lines: list[str]) -> tuple[float, float]:
    """Bytes for each token of the best spellings, and the mean logarithm of the probability of a byte."""
    total = math.log(math.fsum(math.exp(score) for score in scores.values()))
    score = {piece: value - total for piece, value in scores.items()}
    longest = max(map(len, score))
    words: Counter[str] = Counter()
    size = 0
    for line in filter(None, lines):
        size += len(line.encode())
        words.update(re.findall("\u2581?[^\u2581]+|\u2581", "\u2581" + line.replace(" ", "\u2581")))
    tokens, log = 0, 0.0
    for word, count in words.items():
        best, sums = _spell(word, score, longest)
        tokens += count * best
        log += count * sums
    return size / tokens, log / size


def _spell(word: str, score: Mapping[str, float], longest: int) -> tuple[int, float]:
    """The number of tokens of the best spelling of a word, and the logarithm of the sum of all."""
    best = [(0.0, 0)] + [(-math.inf, 0)] * len(word)
    sums = [0.0] + [-math.inf] * len(word)
    for start in range(len(word)):
        for end in range(start + 1, min(len(word), start + longest) + 1):
            own = score.get(word[start:end], UNKNOWN if end == start + 1 else None)
            if own is None:
                continue
            if best[start][0] + own > best[end][0]:
                best[end] = (best[start][0] + own, best[start][1] + 1)
            low, high = sorted((sums[end], sums[start] + own))
            sums[end] = high + math.log1p(math.exp(low - high))
    return best[-1][1], sums[-1]


def _texts(corpus: str, megabytes: float) -> tuple[list[str], list[str]]:
    """Lines to learn from, and about a tenth as many behind them."""
    size = int(megabytes * data.MB)
    lines = data.text(corpus, size + size // 10).decode().split("\n")
    cut = len(lines) * 10 // 11
    return lines[:cut], lines[cut:]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--corpora", default=None)
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--vocab-size", type=int, default=16_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="300 kB, 2,000 tokens, one round")
    for hidden in ("--sample", "--text", "--scores"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.quick:
        args.megabytes, args.vocab_size, args.rounds = 0.3, 2_000, 1
    if args.corpora is None:
        args.corpora = "english,multilingual" if data.shared() else data.STDLIB
    return args


def _run(args: argparse.Namespace, name: str, text: Path, scores: Path) -> dict[str, Any]:
    words = [sys.executable, __file__, "--sample", name, "--text", str(text), "--scores", str(scores)]
    words += ["--vocab-size", str(args.vocab_size)]
    environment = {**os.environ, "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _sample(args: argparse.Namespace) -> dict[str, float]:
    train = {
        "tokenmill": _sentencepiece_dialect,
        "tokenmill, tokenizers": _tokenizers_dialect,
        "sentencepiece": _sentencepiece,
        "tokenizers": _tokenizers,
    }[args.sample]
    scores, cpu, grown = train(args.text, args.vocab_size)
    Path(args.scores).write_text(json.dumps(scores), encoding="utf-8")
    return {"cpu": cpu, "MB": grown}


class _Clock:
    """CPU time and growth of the peak of memory from here on."""

    def __init__(self) -> None:
        self._peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._start = time.process_time()

    def read(self) -> tuple[float, float]:
        cpu = time.process_time() - self._start
        return cpu, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self._peak) / 1024


def _sentencepiece_dialect(text: str, size: int) -> tuple[dict[str, float], float, float]:
    return _ours(text, size, normalizer="identity", character_coverage=1.0)


def _tokenizers_dialect(text: str, size: int) -> tuple[dict[str, float], float, float]:
    return _ours(text, size, dialect="tokenizers", unk_token="<unk>")


def _ours(text: str, size: int, **options: Any) -> tuple[dict[str, float], float, float]:
    import tokenmill

    clock = _Clock()
    tok = tokenmill.train(text, documents="lines", model="unigram", vocab_size=size, num_threads=1, **options)
    read = clock.read()
    return (_scores_of_json(tok, Path(text).with_suffix(".json")), *read)


def _scores_of_json(tok: Any, path: Path) -> dict[str, float]:
    tok.save(path, lossy=True)
    vocabulary = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
    return {piece: score for piece, score in vocabulary if piece != "<unk>"}


def _sentencepiece(text: str, size: int) -> tuple[dict[str, float], float, float]:
    import sentencepiece

    prefix = str(Path(text).with_name("peer"))
    clock = _Clock()
    sentencepiece.SentencePieceTrainer.train(
        input=text,
        model_prefix=prefix,
        vocab_size=size,
        model_type="unigram",
        normalization_rule_name="identity",
        character_coverage=1.0,
        num_threads=1,
        max_sentence_length=1_000_000_000,
        minloglevel=2,
    )
    read = clock.read()
    model = sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")
    ids = range(model.get_piece_size())
    ordinary = [id for id in ids if not model.is_control(id) and not model.is_unknown(id)]
    return ({model.id_to_piece(id): model.get_score(id) for id in ordinary}, *read)


def _tokenizers(text: str, size: int) -> tuple[dict[str, float], float, float]:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    lines = Path(text).read_text(encoding="utf-8").split("\n")
    clock = _Clock()
    tok = Tokenizer(models.Unigram())
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    tok.train_from_iterator(lines, trainer)
    read = clock.read()
    vocabulary = json.loads(tok.to_str())["model"]["vocab"]
    return ({piece: score for piece, score in vocabulary if piece != "<unk>"}, *read)


if __name__ == "__main__":
    sys.exit(main())
