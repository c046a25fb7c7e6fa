"""What is trained of a conversation: the text that a checker finds which shares no code with the tracker."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tokenmill

from exact.chat_templates import NOW, SPECIAL_TOKENS, Reference, generation_blocks, template_sources
from exact.conversations import CONVERSATIONS
from exact.label_checker import Checker, UndecidedError
from exact.label_table import rows, table
from exact.labelled import characters, shown, special_in, tokenizer_for, trained

#: Prompts that a template writes whether or not it is told to. No rendering shows that they are prompts.
ALWAYS = {
    "fireworks-ai-llama-3-firefunction-v2": ("<|start_header_id|>assistant<|end_header_id|>\n\n",),
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

LOOKED_UP = [
    '<|tool_call>call:look{query:<|"|>the mill<|"|>}<tool_call|><|tool_response>',
    "I look.<turn|>",
    "It grinds.<turn|>",
]

#: What is trained where the checker cannot tell, read by hand.
BY_HAND = {
    # The conversation begins with an answer, or all before it is empty, and the template writes no prompt.
    ("cfg-added-tokens", "assistant first"): ["Welcome<|end|>"],
    ("cfg-nvidia-mistral", "assistant first"): ["Welcome"],
    ("cfg-phi-3-medium", "assistant first"): ["Welcome<|end|>"],
    ("mistral-7b-v0.3", "empty"): [" <EOS>"],
    ("mistralai-Mistral-Nemo-Instruct-2407", "empty"): ["<EOS>"],
    ("qwen2", "assistant first"): ["Welcome<|im_end|>"],
    ("unsloth-mistral-Devstral-Small-2507", "assistant first"): ["Welcome<EOS>"],
    # The header is left out at the beginning, or behind another answer.
    ("cfg-gemma-4", "two users"): ["three<turn|>", "four<turn|>"],
    ("deepseek-ai-DeepSeek-V3.1", "assistant first"): ["Welcome<｜end▁of▁sentence｜>"],
    ("deepseek-ai-DeepSeek-V3.1", "two users"): ["three<｜end▁of▁sentence｜>four<｜end▁of▁sentence｜>"],
    # A turn without text is written in another way where it is the last, and closes in another way.
    ("Apriel-1.6-15b-Thinker-fixed", "none content"): ["\n<|end|>"],
    ("GLM-4.6", "none content"): ["\n<think></think>"],
    ("ByteDance-Seed-OSS", "none content"): [],
    # The result of a tool stands within the turn that called it.
    ("cfg-gemma-4", "tool call"): [
        '<|tool_call>call:get_weather{city:<|"|>Zürich<|"|>,days:3,exact:true,list:[<|"|>x<|"|>,1,{k:<|"|>v<|"|>}],'
        "none:None,share:0.5}<tool_call|><|tool_response>",
        "Let me see.<turn|>",
        "20 degrees.<turn|>",
    ],
    ("cfg-gemma-4", "one tool"): LOOKED_UP,
    ("cfg-gemma-4", "functions as text"): LOOKED_UP,
    # The template closes every conversation with a message of its own.
    ("CohereForAI-c4ai-command-r-plus-tool_use", "one tool"): [
        'I look.\nAction:\n```json\n[\n    {\n        "tool_name": "look",\n        "parameters": {\n'
        '            "query": "the mill"\n        }\n    }\n]```',
        "It grinds.<|END_OF_TURN_TOKEN|>",
    ],
}


@pytest.fixture(scope="module")
def sources(data: Path) -> dict[str, str]:
    """The templates, each once."""
    found: dict[str, str] = {}
    for name, source in template_sources(data).items():
        if source not in found.values():
            found[name] = source
    return found


def compare(sources: dict[str, str], reference: Reference) -> Counter[str]:
    """Every template with every conversation that it renders."""
    counted: Counter[str] = Counter()
    differing, by_hand = [], []
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
            if (name, title) in BY_HAND:
                by_hand.append(f"{name}, {title}")
                assert re.findall("⟦(.*?)⟧", shown(text, ours), re.DOTALL) == BY_HAND[name, title], by_hand[
                    -1
                ]
                theirs = ours
            elif "endgeneration" in source:
                theirs = characters(generation_blocks(source, messages, SPECIAL_TOKENS, **options))
            else:
                try:
                    theirs = characters(checker.trained(messages, options))
                except UndecidedError as error:
                    raise AssertionError(f"{name}, {title}: {error}") from error
            counted["with text that is trained"] += bool(theirs)
            counted["characters"] += len(theirs)
            if ours != theirs:
                differing.append((name, title, shown(text, ours), shown(text, theirs)))
        counted["renderings"] += checker.renderings
    counted["by hand"] = len(by_hand)
    print(
        f"chat labels: {len(sources)} templates, {counted['pairs']} pairs with a conversation, "
        f"{counted['with text that is trained']} of them with text that is trained "
        f"({counted['characters']} characters), found by {counted['renderings']} renderings of transformers; "
        f"{len(differing)} differences; {len(by_hand)} that the checker cannot decide, read by hand: "
        f"{'; '.join(by_hand)}"
    )
    assert differing == []
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
    assert counted["by hand"] * 20 < counted["pairs"]


def test_the_checker_finds_what_is_read_by_hand(
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


def test_the_table_of_the_docs_is_what_is_computed(data: Path) -> None:
    found = list(rows(data))
    page = (Path(__file__).parents[2] / "docs" / "chat-templates.md").read_text(encoding="utf-8")
    assert table(found) in page
    assert len(found) == 80
    # Of which the page says that none is refused, and none is found by uniqueness.
    assert {row.labels for row in found} == {"tracked in full"}


@pytest.mark.parametrize(
    "name", ["roberta-base", "gpt2", "llama2", "phi-3-mini", "bert-base-uncased", "clip"]
)
def test_labels_depend_on_nothing_but_the_conversation(name: str, data: Path) -> None:
    """Not on what else is in the batch, nor on what was encoded before."""
    tok: Any = tokenmill.load(data / "vocab" / name).with_chat_template("chatml")
    user = {"role": "user", "content": "x"}
    one = [user, {"role": "assistant", "content": "trail  lead é\n   a"}]
    other = [user, {"role": "assistant", "content": "\ud800"}]
    alone = tok.apply_chat_template(one, return_labels=True)["labels"]
    again = tok.with_chat_template("chatml")
    mixed, _ = again.apply_chat_template([one, other], return_labels=True)
    assert mixed["labels"] == alone
    assert again.apply_chat_template(one, return_labels=True)["labels"] == alone
