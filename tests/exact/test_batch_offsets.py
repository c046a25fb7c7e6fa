"""The offsets of a batch, in characters and in bytes, beside those of each text alone.

On random files of every component: normalizers that move text, and post-processors that trim it. Texts
are str and bytes, some of them no UTF-8, with untrusted parts; some have surrogates.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from .random_files import Drawn, random_file, random_texts

ROWS = 6
NON_ASCII = ["🦊狐", "\ud83e\udd8a", "\ud800", "i\u0307", "ﬁ", "é", "e\u0301", "\u2028"]


def given_text(drawn: Drawn, text: str) -> Any:
    """A text in one of the forms that texts have."""
    text = "".join([drawn.choice(NON_ASCII), text, drawn.choice(NON_ASCII)])
    form = drawn.randint(0, 3)
    if form < 2:
        return text
    data = text.encode("utf-8", "replace" if drawn.flag() else "surrogatepass")
    return data if form == 2 else bytearray(data)


def spelled(tok: Any, texts: list[Any]) -> list[Any] | None:
    """The texts, as str for a vocabulary that takes no bytes but UTF-8; None if it cannot spell them."""
    for given in (
        texts,
        [text if isinstance(text, str) else text.decode("utf-8", "replace") for text in texts],
    ):
        with suppress(ValueError):
            tok.encode_batch(given)
            return given
    return None


def ranges(drawn: Drawn, length: int) -> list[tuple[int, int]] | None:
    """Parts of a text that are untrusted."""
    if drawn.flag(0.3):
        return None
    cuts = [sorted(drawn.randint(0, length) for _ in range(2)) for _ in range(drawn.randint(0, 2))]
    return [(start, stop) for start, stop in cuts]


def compare(tok: Any, drawn: Drawn, texts: list[Any], counts: Counter[str]) -> None:
    untrusted = [ranges(drawn, len(text)) for text in texts] if drawn.flag() else [None] * len(texts)
    options: dict[str, Any] = {
        "add_special_tokens": drawn.flag(),
        "special": drawn.choice(["text", "parse"]),
    }
    alone = [
        tok.encode_with_offsets(text, untrusted=of_text, **options)
        for text, of_text in zip(texts, untrusted, strict=True)
    ]
    for threads in (1, 2):
        batch = tok.encode_batch(texts, offsets=True, untrusted=untrusted, num_threads=threads, **options)
        for rows in (slice(None), slice(1, 4), slice(None, None, -2)):
            part, expected = batch[rows], alone[rows]
            assert part.to_lists() == [one.ids for one in expected]
            assert part.offsets.tolist() == [[*span] for one in expected for span in one.offsets]
            assert part.byte_offsets.tolist() == [[*span] for one in expected for span in one.byte_offsets]
    counts["ids"] += len(batch.ids)
    counts["differ"] += int((batch.offsets != batch.byte_offsets).any())
    counts["untrusted"] += any(untrusted)


def run(native: Any, folder: Path, seeds: range) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in seeds:
        drawn = Drawn(seed)
        file = random_file(drawn)
        path = folder / "tokenizer.json"
        path.write_text(json.dumps(file), encoding="utf-8")
        try:
            tok = native.load(path)
        except native.FormatError:
            counts["refused"] += 1
            continue
        drawn_texts = [given_text(drawn, text) for text in random_texts(drawn, file, ROWS)]
        texts = spelled(tok, drawn_texts)
        if texts is None:
            counts["unknown"] += 1
        else:
            compare(tok, drawn, texts, counts)
    return counts


def test_offsets_of_a_batch_are_those_of_each_text(native: Any, tmp_path: Path) -> None:
    counts = run(native, tmp_path, range(250))
    assert counts["ids"] > 1500, counts
    assert counts["differ"] > 50, counts
    assert counts["untrusted"] > 30, counts


@pytest.mark.slow
@pytest.mark.parametrize("start", range(10_000, 20_000, 1000))
def test_offsets_of_thousands_of_batches_are_those_of_each_text(
    native: Any, tmp_path: Path, start: int
) -> None:
    assert run(native, tmp_path, range(start, start + 1000))["ids"] > 6000
