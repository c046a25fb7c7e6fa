"""Placeholder models: training beside BPE, loading, text.

    python bench/placeholder.py                  5 MB of English, or of the standard library's source
    python bench/placeholder.py --corpus code --size 40

Times are the least of five runs, in milliseconds.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import data
import tokenmill
from tokenmill.placeholder import NGramModel


def least(call: Callable[[], object], rounds: int = 5) -> float:
    """The shortest time of a call, in milliseconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--corpus", choices=data.corpora(), default=data.corpora()[0])
    parser.add_argument("--size", type=int, default=5, metavar="MB", help="of the text (default: 5)")
    args = parser.parse_args()
    text = data.text(args.corpus, args.size * data.MB).decode()
    print(f"BPE, 8,000 merges    {least(lambda: tokenmill.train(texts=[text], num_merges=8000), 1):9.1f}")
    tok = tokenmill.train(texts=[text], num_merges=8000)
    ids = tok.encode_to_numpy(text)
    for order in (2, 3):
        measure(tok, text, ids, order)


def measure(tok: tokenmill.Tokenizer, text: str, ids: Any, order: Any) -> None:
    """Print the figures of one order."""
    model = NGramModel.train(tok, ids=ids, order=order)
    print(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.ngrams"
        model.save(path)
        loaded = NGramModel.load(path)
        print(f"  train from text    {least(lambda: NGramModel.train(tok, texts=[text], order=order)):9.1f}")
        print(f"  train from ids     {least(lambda: NGramModel.train(tok, ids=ids, order=order)):9.1f}")
        print(f"  size in MB         {path.stat().st_size / 1e6:9.1f}")
        print(f"  load               {least(lambda: NGramModel.load(path)):9.3f}")
        print(f"  verify             {least(loaded.verify):9.1f}")
        print(f"  10,000 words       {least(lambda: loaded.generate(words=10_000, seed=1)):9.1f}")


if __name__ == "__main__":
    main()
