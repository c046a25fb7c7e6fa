"""Documents of every kind, as a table: what all ways to encode a column have to agree on."""

from __future__ import annotations

from random import Random
from typing import Any

#: A few words in many scripts, hostile characters, and what looks like special tokens.
PIECES = [
    "the mill stands by the river", "Größe über Straße", "Лев Толстой", "ελληνικά", "עברית",
    "العربية", "हिन्दी भाषा", "ไทย", "日本語のテキスト", "中文文本", "한국어", "ქართული", "አማርኛ",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466\U0001f3f3\ufe0f\u200d\U0001f308",
    "e\u0301\u0323", "\u200d\u202e\ufeff", "\x00\x01\x7f", "<|endoftext|>", "<s>", "</s>", "[CLS]",
    "\t\n\r\n  ", "0123456789", "def f(x):\n    return x**2\n", "ﬁ ﬃ Ⅷ ㎏",
]  # fmt: skip


def documents(count: int, largest: int, seed: int = 7) -> list[str | None]:
    """So many documents: nulls, empty ones, single bytes, all lengths, and one of ``largest`` bytes."""
    random = Random(seed)
    texts: list[str | None] = [None, "", "a", "é", "🦊", "<|endoftext|>", "low " * 5000]
    while len(texts) < count - 1:
        kind = random.random()
        if kind < 0.02:
            texts.append(None)
        elif kind < 0.04:
            texts.append("")
        elif kind < 0.06:
            texts.append(chr(random.randrange(32, 127)))
        else:
            length = min(40, int(random.expovariate(0.2)) + 1)
            texts.append(" ".join(random.choice(PIECES) for _ in range(length)))
    random.shuffle(texts)
    piece = "A long document has many sentences, and 中文 too. "
    texts.insert(count // 2, piece * (largest // len(piece.encode())))
    return texts


def table(texts: list[str | None]) -> Any:
    """The documents beside columns that have to stay as they are."""
    import pyarrow as pa

    rows = range(len(texts))
    return pa.table(
        {
            "id": pa.array(rows, pa.int64()),
            "text": pa.array(texts, pa.string()),
            "score": pa.array([None if i % 7 == 0 else i / 8 for i in rows], pa.float64()),
            "tags": pa.array([[str(i), None] if i % 3 else None for i in rows], pa.list_(pa.string())),
        }
    )


def expected(tok: Any, texts: list[str | None], **options: Any) -> list[list[int] | None]:
    """The ids of each document, by ``encode_batch``."""
    rows = tok.encode_batch([text or "" for text in texts], **options).to_lists()
    return [None if text is None else row for text, row in zip(texts, rows, strict=True)]


def trained(native: Any) -> Any:
    """A tokenizer with special tokens that occur in the documents."""
    return native.train(texts=PIECES * 4, vocab_size=600, special_tokens=["<|endoftext|>", "<s>", "</s>"])
