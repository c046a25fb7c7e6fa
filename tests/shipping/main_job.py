"""The main job with an installed package: it trains, saves, loads and encodes, and prints what it used.

``installed.py`` runs it with ``python -I``, so that nothing of this repository can be imported: only the
standard library, numpy and the package. Its executable definition says what is right.
"""

from __future__ import annotations

import json
import sys
from email import message_from_string
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import tokenmill
from tokenmill import reference

TEXTS = [
    "the mill grinds text",
    "the miller mills words",
    "words become ids",
    "ids become words",
    "Käse, 你好 🦊 und Käse, 你好 🦊",
]
END = "<|end|>"
MERGES = 25


def train(folder: Path) -> tokenmill.Tokenizer:
    """Trains, and compares each merge with what the definition learns."""
    source = folder / "lines.txt"
    source.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    tok = tokenmill.train(
        source, documents="lines", split="none", num_merges=MERGES, special_tokens=[END], special_ids="last"
    )
    corpus = reference.count_pretokens(TEXTS, reference.byte_symbols)
    learned = reference.train(corpus, num_merges=MERGES, alphabet=reference.BYTES)
    assert len(learned) == MERGES
    assert tok.training_report is not None
    assert list(tok.training_report.merges) == learned
    return tok


def save_and_load(tok: tokenmill.Tokenizer, folder: Path) -> tokenmill.Tokenizer:
    """Saves in two formats, and loads what is equal; a chat template is a file of the package."""
    tok.save(folder / "mill")
    loaded = tokenmill.load(folder / "mill")
    assert loaded == tok
    tok.save(folder / "mill.json")
    assert tokenmill.load(folder / "mill.json") == tok
    chatty = tok.with_chat_template("chatml")
    chatty.save(folder / "chat")
    assert tokenmill.load(folder / "chat") == chatty != tok
    return loaded


def encode(tok: tokenmill.Tokenizer) -> list[list[int]]:
    """Encodes to lists and arrays, decodes, and compares the ids with those of the definition."""
    ranks = {pair: rank for rank, pair in enumerate(tok.merges)}
    symbols = [*reference.BYTES, *(left + right for left, right in tok.merges)]
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    ids = [tok.encode(text) for text in TEXTS]
    for text, own in zip(TEXTS, ids, strict=True):
        right = reference.encode(reference.byte_symbols(text), ranks)
        assert own == [numbers[symbol] for symbol in right]
        assert tok.decode(own) == text
        assert tok.count(text) == len(own) < len(text.encode())
        assert np.array_equal(tok.encode_to_numpy(text), own)
    assert tok.encode_batch(TEXTS).to_lists() == ids
    assert tok.encode(END, special="parse") == [tok.special_tokens[END]]
    assert tok.decode(tok.encode(END)) == END
    return ids


def main() -> None:
    """Does it all in the folder that is given."""
    folder = Path(sys.argv[1])
    ids = encode(save_and_load(train(folder), folder))
    text = distribution("tokenmill").read_text("METADATA")
    assert text is not None
    metadata = message_from_string(text)
    print(
        json.dumps(
            {
                "version": tokenmill.__version__,
                "package": str(Path(tokenmill.__file__).parent),
                "ids": ids,
                "metadata": [[key, str(value)] for key, value in metadata.items()],
                "description": metadata.get_payload(),
            }
        )
    )


if __name__ == "__main__":
    main()
