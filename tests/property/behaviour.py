"""Which random edits change behaviour: those that golden vectors, probes or single ids tell apart."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenmill import TokenmillError

from property.changes import Parts, behaviour_edits

PROBES = [
    "",
    "low lower lowest newest wider",
    " low  lower\n\nlow\t\t12 345 x\t\ty",
    "don't NEW Näive e\u0301 你好 <tool> x<tool>y <tool>z",
    "loww elow estest 1212 neweset llooww tsew",
    "!low? n-ew (12) Hello w",
    "<s>low</s> <s> low </s>  [CLS]low[SEP] low[UNK]",
    "lowlowlowlowlowlow",
]
"""Texts beside the golden ones."""


@dataclass(frozen=True)
class Edited:
    """A tokenizer before and after an edit."""

    what: str
    before: Any
    after: Any
    parts: Parts
    """The file after the edit."""
    changes_behaviour: bool
    """Whether a text or an id that was tried tells the two apart."""

    @property
    def kind(self) -> str:
        return self.what.partition(":")[0]


def loaded(native: Any, folder: Path, text: str) -> Any:
    path = folder / "t.json"
    path.write_text(text, encoding="utf-8")
    return native.load(path)


def behaviour(tok: Any, text: str) -> list[object]:
    """All that a tokenizer makes of a text."""
    found: list[object] = []
    for options in (
        {"special": "text"},
        {"special": "parse"},
        {"special": "text", "add_special_tokens": True},
    ):
        try:
            encoding = tok.encode_with_offsets(text, **options)
            found += [encoding.ids, encoding.offsets, tok.decode(encoding.ids)]
            found += [tok.decode(encoding.ids, skip_special_tokens=True)]
        except TokenmillError as error:
            found.append(type(error).__name__)
    return found


def golden(tok: Any) -> list[dict[str, Any]]:
    from tokenmill.manifest import manifest_of

    vectors: list[dict[str, Any]] = manifest_of(tok)["golden"]
    return vectors


def of_ids(tok: Any) -> list[object]:
    """What each id decodes to, alone and behind another."""
    ids = sorted(set(tok.vocab.values()) | set(tok.special_tokens.values()))
    return [tok.decode([number]) for number in ids] + [tok.decode([ids[-1], number]) for number in ids]


def edits(native: Any, folder: Path, parts: Parts, seed: int) -> Iterator[Edited]:
    """Endless random edits of a tokenizer that can be loaded."""
    before = loaded(native, folder, json.dumps(parts))
    texts = [*PROBES, *(vector["text"] for vector in golden(before))]
    expected = {text: behaviour(before, text) for text in texts}
    decoded = of_ids(before)
    for what, edited in behaviour_edits(random.Random(seed), parts):
        try:
            after = loaded(native, folder, json.dumps(edited))
        except TokenmillError:
            continue  # no tokenizer any more
        differs = any(behaviour(after, text) != found for text, found in expected.items())
        yield Edited(what, before, after, edited, differs or of_ids(after) != decoded)
