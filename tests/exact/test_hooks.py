"""Functions as splitter against the custom components of the tokenizers library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TEXTS = ["low lower lowest", "a", "", "é漢字 🦊x", "x" * 500, " <s> low<s>é", "ab\u0301\n\tc"]


def every_third(text: str) -> list[tuple[int, int]]:
    """Pieces of two characters with one left out between them."""
    return [(at, min(at + 2, len(text))) for at in range(0, len(text), 3)]


class EveryThird:
    """The same as a component of that library."""

    def pre_tokenize(self, pretokenized: Any) -> None:
        pretokenized.split(lambda _, text: [text[start:end] for start, end in every_third(str(text))])


@pytest.mark.parametrize("alphabet", ["bytes", "chars"])
def test_a_splitter_gives_what_a_custom_one_gives_there(native: Any, tmp_path: Path, alphabet: str) -> None:
    from tokenizers import Tokenizer, pre_tokenizers

    tok = native.train(
        texts=["".join(TEXTS)] * 3, num_merges=20, split="none", alphabet=alphabet, special_tokens=["<s>"]
    )
    tok.save(tmp_path / "t.json")
    peer = Tokenizer.from_file(str(tmp_path / "t.json"))
    steps = [pre_tokenizers.PreTokenizer.custom(EveryThird())]
    if peer.pre_tokenizer is not None:
        steps.append(peer.pre_tokenizer)
    peer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    ours = tok.with_splitter(every_third)
    for text in TEXTS:
        encoding, expected = ours.encode_with_offsets(text, special="parse"), peer.encode(text)
        assert (encoding.ids, encoding.tokens) == (expected.ids, expected.tokens)
        assert encoding.offsets == expected.offsets
