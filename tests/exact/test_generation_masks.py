"""Templates with `{% generation %}`: the same mask as transformers', on tokenizers of published models."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tokenmill

from exact.chat_templates import generation_blocks, template_sources
from exact.conversations import CONVERSATIONS
from exact.generation_templates import MARKED, Marked

#: Whose vocabularies load in a second.
FAST = ("cfg-gemma-3", "cfg-phi-3-mini", "mistral-7b-v0.3")

#: The conversations in which transformers' mask leaves out a token of the last character of a block.
GAPS = {"cfg-qwen3": ["unicode"]}

ROLES = ("bos_token", "eos_token", "unk_token", "pad_token")


def tokenizers_for(marked: Marked, data: Path) -> tuple[Any, Any]:
    """Ours and transformers' of one vocabulary, with the same special tokens."""
    import transformers

    file = data / "vocab" / marked.vocabulary / "tokenizer.json"
    folder: Any = tokenmill.load(file.parent)
    named = {role: getattr(folder, role) for role in ROLES} | dict(marked.tokens)
    named = {role: token for role, token in named.items() if token is not None}
    ours: Any = tokenmill.load(file)
    fast: Any = transformers.PreTrainedTokenizerFast
    return ours.with_special_tokens(**named), fast(tokenizer_file=str(file), **named)


def without_gaps(mask: list[int], offsets: Any, spans: list[tuple[int, int]]) -> list[int]:
    """The mask with what `char_to_token` leaves out of it.

    It gives the first token of a character. Where the last character of a block has several, of its bytes,
    the others are not in transformers' mask.
    """
    ends = {stop - 1 for start, stop in spans if start < stop}
    return [
        1 if any(start <= end < stop for end in ends) else marked
        for marked, (start, stop) in zip(mask, offsets.tolist(), strict=True)
    ]


@pytest.mark.table
@pytest.mark.parametrize(
    "marked",
    [
        pytest.param(each, id=each.template, marks=() if each.template in FAST else pytest.mark.slow)
        for each in MARKED
    ],
)
def test_the_mask_of_generation_blocks_is_that_of_transformers(marked: Marked, data: Path) -> None:
    source = marked.of(template_sources(data)[marked.template])
    ours, theirs = tokenizers_for(marked, data)
    ours = ours.with_chat_template(source)
    counted: Counter[str] = Counter()
    differing, gaps = [], []
    for title, messages, options in CONVERSATIONS:
        if "continue_final_message" in options:  # which transformers refuses together with the mask
            continue
        try:
            expected = theirs.apply_chat_template(
                messages, chat_template=source, return_dict=True, return_assistant_tokens_mask=True, **options
            )
        except Exception:
            continue
        got = ours.apply_chat_template(
            messages, return_labels=True, allow_empty=True, literals="parse", **options
        )
        counted["pairs"] += 1
        counted["marked"] += sum(expected["assistant_masks"])
        assert got["input_ids"] == expected["input_ids"]
        mask = expected["assistant_masks"]
        complete = without_gaps(
            mask, got.offsets, generation_blocks(source, messages, theirs.special_tokens_map, **options)
        )
        if complete != mask:
            gaps.append(title)
        if got["loss_mask"] != complete:
            differing.append((title, got["loss_mask"], complete))
    print(
        f"generation blocks: {marked.template} on {marked.vocabulary}, {counted['pairs']} conversations, "
        f"{counted['marked']} tokens marked, {len(differing)} differences; gaps of char_to_token: {gaps}"
    )
    assert differing == []
    assert gaps == GAPS.get(marked.template, [])
    assert counted["pairs"] >= 10
    assert counted["marked"] > 50


def test_an_edit_that_does_not_fit_is_refused() -> None:
    marked = Marked("name", "gpt2", (("a", "b"),))
    assert marked.of("xay") == "xby"
    with pytest.raises(ValueError, match="stands 2 times"):
        marked.of("aa")
