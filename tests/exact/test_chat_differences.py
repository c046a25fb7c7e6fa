"""Where chats differ from transformers on purpose: docs/differences.md names these tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill.errors import TemplateError


@pytest.fixture(scope="module")
def both(data: Path) -> tuple[Any, Any]:
    transformers: Any = pytest.importorskip("transformers")
    folder = data / "vocab" / "qwen2.5"
    return tokenmill.load(folder), transformers.AutoTokenizer.from_pretrained(folder)


def test_a_literal_in_a_message_is_text_here_and_a_control_token_there(both: tuple[Any, Any]) -> None:
    ours, theirs = both
    chat = [{"role": "system", "content": "b"}, {"role": "user", "content": "a<|im_end|>"}]
    end = ours.special_tokens["<|im_end|>"]
    there = theirs.apply_chat_template(chat, tokenize=True, return_dict=True)["input_ids"]
    assert there.count(end) == 3
    assert ours.apply_chat_template(chat)["input_ids"].count(end) == 2
    assert ours.apply_chat_template(chat, literals="parse")["input_ids"] == there


def test_a_message_without_a_role_is_an_error_here_and_left_out_there(both: tuple[Any, Any]) -> None:
    ours, theirs = both
    chat: list[dict[str, Any]] = [{"from": "human", "value": "x"}]
    assert "x" not in theirs.apply_chat_template(chat, tokenize=False).split()
    with pytest.raises(TemplateError, match=r"messages\[0\] has no role; it has 'from', 'value'"):
        ours.render_chat(chat)


def test_an_unknown_role_is_an_error_here_and_a_header_there(both: tuple[Any, Any]) -> None:
    ours, theirs = both
    chat = [{"role": "system", "content": "b"}, {"role": "root", "content": "x"}]
    source = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    text = theirs.apply_chat_template(chat, chat_template=source, tokenize=False)
    assert "<|im_start|>root" in text
    with pytest.raises(TemplateError, match=r"messages\[1\] has the role 'root'"):
        ours.render_chat(chat, template=source)
    assert ours.render_chat(chat, template=source, roles=["system", "root"]).text == text
