"""What is trained of a conversation: the text that a checker finds which shares no code with the tracker."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill.chat import ChatEncoding

from exact.chat_templates import NOW, SPECIAL_TOKENS, Reference, generation_blocks, template_sources
from exact.conversations import CONVERSATIONS
from exact.label_checker import Checker, UndecidedError

#: What the templates write that a tokenizer has as special tokens.
MARK = re.compile(
    r"<\|[^|<>\s]*\|>|<｜[^｜<>\s]*｜>|\[/?[A-Z_]+\]|</?s>|<(?:start|end)_of_turn>|<\|[a-z_]+>|<[a-z_]+\|>"
)

#: Prompts that a template writes whether or not it is told to. No rendering shows that they are prompts.
ALWAYS = {
    "cfg-phi-3-small-cvt": ("<|start_header_id|>assistant<|end_header_id|>\n\n",),
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": (
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>",
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
    ),
}

#: Templates of many kinds, for every run: with and without headers, rewriting, merging, repeating, hiding.
FAST = (
    "Qwen-Qwen2.5-7B-Instruct",
    "cfg-gemma-4",
    "cfg-phi-3-mini",
    "cfg-qwen3",
    "cfg-smollm3",
    "deepseek-ai-DeepSeek-V3.1",
    "mistral-common-v7",
    "openai-gpt-oss-120b",
)

#: Conversation pairs that the checker cannot decide, and why.
UNDECIDED = {
    "no rendering that ends with the prompt": "the conversation begins with an answer, or all before it is "
    "empty, and the template writes no prompt anywhere",
    "header: prompt": "the template leaves the header out behind an answer, or at the beginning",
    "end:": "the turn is written in another way where it is the last, and closes in another way",
    "the text of another message": "a result of a tool stands within the turn that called it",
}


@pytest.fixture(scope="module")
def sources(data: Path) -> dict[str, str]:
    """The templates, each once."""
    found: dict[str, str] = {}
    for name, source in template_sources(data).items():
        if source not in found.values():
            found[name] = source
    return found


def special_in(source: str) -> list[str]:
    return sorted({*MARK.findall(source), *SPECIAL_TOKENS.values()})


def tokenizer_for(source: str) -> Any:
    """A tokenizer that has nearly a token for each byte, and the special tokens of the template."""
    plain: Any = tokenmill.train(texts=["low lower"], num_merges=1)
    return plain.with_special_tokens(special_in(source), **SPECIAL_TOKENS).with_chat_template(source)


def characters(spans: Any) -> set[int]:
    return {at for start, stop in spans for at in range(start, stop)}


def trained(encoding: ChatEncoding) -> set[int]:
    """The characters of the tokens that have labels."""
    pairs = zip(encoding.offsets.tolist(), encoding["labels"], strict=True)
    return characters(span for span, label in pairs if label != -100)


def shown(text: str, chosen: set[int]) -> str:
    """A text with brackets around what is chosen."""
    shown, inside = [], False
    for at, char in enumerate([*text, ""]):
        if (at in chosen) != inside:
            shown.append("⟧" if inside else "⟦")
            inside = not inside
        shown.append(char)
    return "".join(shown)


def compare(sources: dict[str, str], reference: Reference) -> Counter[str]:
    """Every template with every conversation that it renders."""
    counted: Counter[str] = Counter()
    differing, undecided = [], []
    for name, source in sources.items():
        tok = tokenizer_for(source)
        render = partial(rendered_by, reference, source)
        checker = Checker(render, special_in(source), SPECIAL_TOKENS["eos_token"], ALWAYS.get(name, ()))
        for title, messages, options in CONVERSATIONS:
            text = reference.render(source, messages, **options)
            if isinstance(text, Exception):
                continue
            counted["pairs"] += 1
            encoding = tok.apply_chat_template(
                messages, now=NOW, return_labels=True, allow_empty=True, **options
            )
            assert encoding.text == text
            ours = trained(encoding)
            try:
                if "endgeneration" in source:
                    theirs = characters(generation_blocks(source, messages, SPECIAL_TOKENS, **options))
                else:
                    theirs = characters(checker.trained(messages, options))
            except UndecidedError as error:
                undecided.append(f"{name}, {title}: {error}")
                continue
            counted["with text that is trained"] += bool(theirs)
            counted["characters"] += len(theirs)
            if ours != theirs:
                differing.append((name, title, shown(text, ours), shown(text, theirs)))
        counted["renderings"] += checker.renderings
    counted["undecided"] = len(undecided)
    print(
        f"chat labels: {len(sources)} templates, {counted['pairs']} pairs with a conversation, "
        f"{counted['with text that is trained']} of them with text that is trained "
        f"({counted['characters']} characters), found by {counted['renderings']} renderings of transformers; "
        f"{len(differing)} differences, {len(undecided)} undecided:"
    )
    for line in undecided:
        print("   ", line)
    assert differing == []
    reasons = [line.partition(": ")[2] for line in undecided]
    assert [reason for reason in reasons if not reason.startswith(tuple(UNDECIDED))] == []
    return counted


def rendered_by(
    reference: Reference, source: str, messages: list[Any], options: dict[str, Any]
) -> str | Exception:
    return reference.render(source, messages, **options)


def test_the_trained_text_is_what_the_checker_finds(
    sources: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = compare({name: sources[name] for name in FAST}, Reference(monkeypatch))
    assert counted["with text that is trained"] > 140


@pytest.mark.slow
def test_the_trained_text_of_every_template_is_what_the_checker_finds(
    sources: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = compare(sources, Reference(monkeypatch))
    assert counted["with text that is trained"] > 1300
    assert counted["undecided"] * 20 < counted["pairs"]


def test_the_checker_refuses_labels_that_are_off_by_one(
    sources: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a comparison with it says something: its spans begin and end where they are said to."""
    source = sources["Qwen-Qwen2.5-7B-Instruct"]
    reference = Reference(monkeypatch)
    checker = Checker(
        partial(rendered_by, reference, source), special_in(source), SPECIAL_TOKENS["eos_token"]
    )
    _, messages, options = next(each for each in CONVERSATIONS if each[0] == "tool call")
    text = str(reference.render(source, messages, **options))
    written = [text[start:stop] for start, stop in checker.trained(messages, options)]
    assert written[1] == "20 degrees.<|im_end|>"
    assert written[0].startswith('Let me see.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": ')
    assert written[0].endswith('{"k": "v"}]}}\n</tool_call><|im_end|>')
    assert len(written) == 2
