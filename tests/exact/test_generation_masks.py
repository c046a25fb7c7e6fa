"""Templates with `{% generation %}`: the same mask as transformers', on tokenizers of published models."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tokenmill

from exact.chat_templates import NOW, template_sources
from exact.conversations import CONVERSATIONS
from exact.generation_templates import MARKED, Marked

ROLES = ("bos_token", "eos_token", "unk_token", "pad_token")


def tokenizers_for(marked: Marked, data: Path) -> tuple[Any, Any]:
    """Ours and transformers' of one vocabulary, with the same special tokens."""
    import transformers

    file = data / "vocab" / marked.vocabulary / "tokenizer.json"
    ours: Any = tokenmill.load(file.parent)
    if marked.tokens:
        ours = ours.with_special_tokens(**dict(marked.tokens))
    named = {role: getattr(ours, role) for role in ROLES}
    fast: Any = transformers.PreTrainedTokenizerFast
    theirs = fast(
        tokenizer_file=str(file), **{role: token for role, token in named.items() if token is not None}
    )
    return ours, theirs


def gaps(theirs: Any, text: str, mask: list[int], spans: list[tuple[int, int]]) -> list[int]:
    """The mask where `char_to_token` finds a token for each end of a block."""
    return mask


@pytest.mark.table
def test_the_mask_of_generation_blocks_is_transformers(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = template_sources(data)
    counted: Counter[str] = Counter()
    differing = []
    for marked in MARKED:
        source = marked.of(sources[marked.template])
        ours, theirs = tokenizers_for(marked, data)
        ours = ours.with_chat_template(source)
        for title, messages, options in CONVERSATIONS:
            if "continue_final_message" in options:
                continue
            try:
                expected = theirs.apply_chat_template(
                    messages,
                    chat_template=source,
                    return_dict=True,
                    return_assistant_tokens_mask=True,
                    **options,
                )
            except Exception:
                continue
            got = ours.apply_chat_template(
                messages, return_labels=True, allow_empty=True, literals="parse", **options
            )
            counted["pairs"] += 1
            counted[marked.template] += 1
            counted["marked"] += sum(expected["assistant_masks"])
            if got["input_ids"] != expected["input_ids"]:
                differing.append((marked.template, title, "ids", got["input_ids"], expected["input_ids"]))
            elif got["loss_mask"] != expected["assistant_masks"]:
                differing.append(
                    (marked.template, title, "mask", got["loss_mask"], expected["assistant_masks"])
                )
    print(counted)
    for d in differing:
        print(d[:3], [i for i, (a, b) in enumerate(zip(*d[3:])) if a != b][:10], len(d[3]))
    assert not differing
