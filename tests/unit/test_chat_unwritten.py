"""Fields that a template leaves out, and messages that are none."""

from __future__ import annotations

import dataclasses
import pickle
from collections import UserDict
from typing import Any

import pytest
import tokenmill
from tokenmill.chat import render
from tokenmill.errors import TemplateError

SOURCE = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ (m.tool_calls or [{}])[0].name }}\n{% endfor %}"
)
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "a", "contnet": "b", "name": " "},
    {"role": "assistant", "content": "", "reasoning": "hm", "tool_calls": [{"name": "f", "id": "1"}], "n": 5},
]


def test_fields_without_a_place_in_the_text() -> None:
    chat = render(SOURCE, CHAT, special_tokens={})
    assert chat.unwritten == ((0, "contnet"), (1, "reasoning"))
    assert pickle.loads(pickle.dumps(chat)).unwritten == chat.unwritten
    whole = SOURCE + "{{ messages[0].contnet }}{{ messages[1].reasoning_content }}"
    assert render(whole, CHAT, special_tokens={}).unwritten == ()
    # What nobody can tell is not claimed.
    hidden = "{% set all %}" + SOURCE + "{% endset %}{{ all | wordwrap(1000) }}"
    assert render(hidden, CHAT, special_tokens={}).unwritten == ()


@pytest.mark.parametrize(
    "source", [SOURCE, SOURCE.replace("m.content", "m.content | upper"), "{{ messages }}"]
)
def test_they_are_those_that_no_segment_has(source: str) -> None:
    """Found by runs where that can be, which is cheaper."""
    from tokenmill.chat import rendered

    for chat in (CHAT, [*CHAT, *CHAT[:1]], [{"role": "user", "content": [{"type": "text", "text": "a"}]}]):
        made = render(source, chat, special_tokens={})
        assert made.unwritten == rendered._unwritten(made._messages, made.segments)


def test_messages_without_a_role() -> None:
    with pytest.raises(TemplateError, match=r"messages\[0\] has no role; it has 'from', 'value'$"):
        render(SOURCE, [{"from": "human", "value": "x"}], special_tokens={})
    with pytest.raises(TemplateError, match=r"has no role; it has 'messages': a row of a file is no message"):
        render(SOURCE, [{"messages": [CHAT[0]]}], special_tokens={})
    # A template that reads none needs none.
    assert render("{{ messages[0].text }}", [{"text": "x"}], special_tokens={}).text == "x"


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ({"role": "user", "content": None}, r"\(messages\[0\]\.content is missing or None\)"),
        (
            {"role": "user", "content": [{"type": "text", "text": "a"}]},
            r"\(messages\[0\]\.content is no str\)",
        ),
    ],
)
def test_content_that_is_no_text_is_named(message: Any, hint: str) -> None:
    with pytest.raises(TemplateError, match=hint):
        render("{{ 'a' + messages[0].content }}", [message], special_tokens={})


@pytest.mark.parametrize("name", ["chatml", "gemma", "llama2", "llama3", "mistral"])
def test_built_in_templates_refuse_tools(name: str) -> None:
    tok = tokenmill.train(texts=["low"], num_merges=1).with_chat_template(name)
    user = {"role": "user", "content": "a"}
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    with pytest.raises(TemplateError, match="no place for tools"):
        tok.render_chat([user], tools=[tool])
    with pytest.raises(TemplateError, match="no place for calls of tools"):
        tok.render_chat([user, {"role": "assistant", "content": "", "tool_calls": [tool]}])


def test_nothing_to_train_names_what_is_left_out() -> None:
    tok = tokenmill.train(texts=["low"], num_merges=1).with_chat_template(SOURCE)
    with pytest.raises(
        TemplateError, match=r"the template leaves out messages\[0\]\.contnet, messages\[1\]\.reason"
    ):
        tok.apply_chat_template(CHAT, return_labels=True, train_on="reasoning")
    assert tok.apply_chat_template(CHAT).unwritten == ((0, "contnet"), (1, "reasoning"))
    with pytest.raises(TypeError, match="is it return_labels="):
        tok.cache_key(CHAT, return_label=True)


@dataclasses.dataclass
class Part:
    type: str
    text: str


def test_fields_of_any_type_are_kept_as_they_were() -> None:
    source = (
        "{% for m in messages %}{{ m.content if m.content is string else m.content[0].text }}{% endfor %}"
    )
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [Part("text", "Hi")], "more": UserDict(a=1)},
        {"role": "assistant", "content": "Yo", "tool_calls": [{"id": "1"}]},
    ]
    chat = render(source, messages, special_tokens={})
    messages[1]["tool_calls"].clear()
    messages[0]["content"].clear()
    assert chat.text == "HiYo"
    assert chat.unwritten == ((0, "more"), (1, "tool_calls"))


def test_labels_of_a_hidden_text_in_parts_of_any_type(native: Any) -> None:
    source = (
        "{% set ns = namespace(t='') %}{% for i in range(messages | length) %}{% set m = messages[i] %}"
        "{% set ns.t = ns.t ~ '<|im_start|>' ~ m.role ~ '\n' ~ (m.content if m.content is string else "
        "m.content[0].text) | wordwrap(99) ~ '<|im_end|>\n' %}{% endfor %}{{ ns.t | center(3) }}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    tok = native.train(texts=["low"], num_merges=1, special_tokens=["<|im_start|>", "<|im_end|>"])
    for part in (
        {"type": "text", "text": "Yo man"},
        Part("text", "Yo man"),
        UserDict(type="text", text="Yo man"),
    ):
        chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [part]}]
        encoding = tok.with_chat_template(source).apply_chat_template(chat, return_labels=True)
        labels = [label for label in encoding["labels"] if label != -100]
        assert tok.decode(labels) == "Yo man<|im_end|>"


# ---- tokens that the template writes and the tokenizer has not ------------------------------------------

TOLD = "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
ASKED = [{"role": "user", "content": "<|made|> up <|end|>"}]


def test_special_tokens_that_nobody_names(native: Any) -> None:
    tok = native.train(texts=["low"], num_merges=0, special_tokens=["<s>"])
    encoding = tok.apply_chat_template(ASKED, template=TOLD)
    assert encoding.unnamed_tokens == ("bos_token",)
    assert pickle.loads(pickle.dumps(encoding)).unnamed_tokens == ("bos_token",)
    named = tok.with_special_tokens(bos_token="<s>").apply_chat_template(ASKED, template=TOLD)
    assert (named.unnamed_tokens, named.text[:3]) == ((), "<s>")
    # A variable of the call counts, and a name that the template sets is its own.
    assert tok.apply_chat_template(ASKED, template=TOLD, bos_token="<s>").unnamed_tokens == ()
    own = "{% set bos_token = '<s>' %}" + TOLD
    assert tok.apply_chat_template(ASKED, template=own).unnamed_tokens == ()
    answer = [{"role": "assistant", "content": "b"}]
    extended = tok.extend_chat(encoding["input_ids"], ASKED, answer, template=TOLD)
    assert (extended.unnamed_tokens, extended.written_as_text) == (
        ("bos_token",),
        ("<|user|>", "<|end|>", "<|assistant|>"),
    )


def test_control_tokens_that_are_plain_text_here(native: Any) -> None:
    tok = native.train(texts=["low"], num_merges=0, special_tokens=["<|end|>"])
    encoding = tok.apply_chat_template(ASKED, template=TOLD)
    assert encoding.written_as_text == ("<|user|>",)  # not what the message says
    assert pickle.loads(pickle.dumps(encoding)).written_as_text == ("<|user|>",)
    whole = tok.with_special_tokens(["<|user|>"])
    assert whole.apply_chat_template(ASKED, template=TOLD).written_as_text == ()
    # A token may hold more than the marker.
    wider = tok.with_special_tokens(["<|user|><"])
    assert wider.apply_chat_template(ASKED, template=TOLD.replace("{{ m.c", "<{{ m.c")).written_as_text == ()
    gemma = tok.apply_chat_template(ASKED, template="gemma")
    assert gemma.written_as_text == ("<start_of_turn>", "<end_of_turn>")
    # What is plain text by design is none: [INST], <tools>.
    plain = "[INST] <tools> </tools> {{ messages[0].content }} [/INST]"
    assert tok.apply_chat_template(ASKED, template=plain).written_as_text == ()


def test_a_template_that_fails_for_want_of_a_token_says_so(native: Any) -> None:
    tok = native.train(texts=["low"], num_merges=0)
    with pytest.raises(TemplateError, match=r"\(the tokenizer names no bos_token, no eos_token\)"):
        tok.apply_chat_template(ASKED, template="{{ bos_token + messages[0].content + eos_token }}")
