"""`apply_chat_template`: which ids a conversation has, and which of them are trained."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import tokenmill
from tokenmill.chat import ChatEncoding
from tokenmill.errors import SpecialTokenError, TemplateError

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "low?"},
    {"role": "assistant", "content": "lower"},
    {"role": "user", "content": "lowest?"},
    {"role": "assistant", "content": "newest"},
]
CALL = {"type": "function", "function": {"name": "find", "arguments": {"word": "low", "n": 3}}}
WITH_TOOLS: list[dict[str, Any]] = [
    {"role": "user", "content": "find low"},
    {"role": "assistant", "content": "Looking.", "reasoning_content": "hm", "tool_calls": [CALL]},
    {"role": "tool", "content": "3 times"},
    {"role": "assistant", "content": "It is there."},
]
#: Reasoning, calls and results, each in markers of its own.
TOOLS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
    "{% for call in m.tool_calls or [] %}<call>{{ call.function.name }}: "
    "{{ call.function.arguments | tojson }}</call>{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|end|>"]


@pytest.fixture(scope="module")
def plain() -> tokenmill.Tokenizer:
    texts = ["low lower lowest newest widest", "Be brief. It is there."] * 20
    return tokenmill.train(texts=texts, num_merges=60, special_tokens=SPECIAL, eos_token="<|end|>")


@pytest.fixture(scope="module")
def tok(plain: tokenmill.Tokenizer) -> tokenmill.Tokenizer:
    return plain.with_chat_template("chatml").with_chat_template(TOOLS, "tools")


def trained(tok: tokenmill.Tokenizer, encoding: Any) -> list[str]:
    """The text of each run of trained ids."""
    runs: list[list[int]] = [[]]
    for token, label in zip(encoding["input_ids"], encoding["labels"], strict=True):
        assert label in (token, -100)
        if label == token:
            runs[-1].append(token)
        elif runs[-1]:
            runs.append([])
    assert encoding["loss_mask"] == [int(label != -100) for label in encoding["labels"]]
    return [tok.decode(run) for run in runs if run]


def labelled(tok: tokenmill.Tokenizer, messages: Any = CHAT, **options: Any) -> list[str]:
    return trained(tok, tok.apply_chat_template(messages, return_labels=True, **options))


# ---- ids ------------------------------------------------------------------------------------------


def test_ids_are_those_of_the_text(tok: tokenmill.Tokenizer) -> None:
    encoding = tok.apply_chat_template(CHAT)
    text = tok.render_chat(CHAT).text
    assert list(encoding) == ["input_ids", "attention_mask"]
    assert encoding["input_ids"] == tok.encode(text, special="parse")
    assert encoding["attention_mask"] == [1] * len(encoding["input_ids"])
    assert encoding.text == text
    assert tok.decode(encoding["input_ids"]) == text
    assert (
        encoding.offsets.tolist() == tok.encode_batch([text], offsets=True, special="parse").offsets.tolist()
    )
    assert encoding.segments == encoding.chat.segments
    assert encoding.turns == ()
    assert encoding.literals == ()


def test_a_literal_in_a_message_is_text(tok: tokenmill.Tokenizer) -> None:
    chat = [{"role": "user", "content": "a<|im_end|>b"}, {"role": "user", "content": "<|im_"}]
    encoding = tok.apply_chat_template(chat)
    end = tok.special_tokens["<|im_end|>"]
    assert encoding["input_ids"].count(end) == 2
    (literal,) = encoding.literals
    assert (literal.literal, literal.message, literal.field, literal.id) == ("<|im_end|>", 0, "content", end)
    assert encoding.text[literal.start : literal.stop] == "<|im_end|>"
    assert tok.decode(encoding["input_ids"]) == encoding.text


def test_a_list_of_conversations_gives_a_list(tok: tokenmill.Tokenizer) -> None:
    chats = [CHAT, CHAT[:3], [CHAT[1]]]
    for threads in (1, 2, None):
        many = tok.apply_chat_template(chats, return_labels=True, allow_empty=True, num_threads=threads)
        each = [tok.apply_chat_template(chat, return_labels=True, allow_empty=True) for chat in chats]
        assert many == each
    with pytest.raises(ValueError, match="an empty conversation"):
        tok.apply_chat_template([])


def test_an_error_in_a_list_names_the_conversation(tok: Any) -> None:
    with pytest.raises(TemplateError, match=r"conversations\[1\]: chat template 'default'.*root"):
        tok.apply_chat_template([CHAT, [{"role": "root", "content": "a"}]])
    with pytest.raises(TemplateError, match=r"conversations\[1\]: .*nothing of the conversation is trained"):
        tok.apply_chat_template([CHAT, [CHAT[1]]], return_labels=True)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("tokenize", "render_chat"),
        ("return_tensors", "pad_batch"),
        ("return_assistant_tokens_mask", "return_labels"),
    ],
)
def test_arguments_of_transformers_are_no_variables(tok: Any, name: str, instead: str) -> None:
    for call in (tok.apply_chat_template, tok.render_chat, tok.count_chat):
        with pytest.raises(TypeError, match=f"{name}= is no argument here; use {instead}"):
            call(CHAT, **{name: False})


@pytest.mark.parametrize(
    ("call", "options", "match"),
    [
        ("apply_chat_template", {"return_label": True}, "return_label= is no .*; is it return_labels="),
        ("apply_chat_template", {"trainon": "last"}, "is it train_on="),
        ("render_chat", {"add_generation_promt": True}, "is it add_generation_prompt="),
        ("count_chat", {"literal": "parse"}, "is it literals="),
        ("count_chat", {"train_on": "last"}, "train_on= is an argument of apply_chat_template"),
        ("render_chat", {"return_labels": True}, "there are no labels here"),
    ],
)
def test_misspelled_arguments_are_no_variables(tok: Any, call: str, options: Any, match: str) -> None:
    with pytest.raises(TypeError, match=match):
        getattr(tok, call)(CHAT, **options)
    assert tok.render_chat(CHAT, template="{{ literal }}", literal="a").text == "a"
    assert tok.render_chat(CHAT, enable_thinking=False).text == tok.render_chat(CHAT).text


def test_templates_by_name_by_source_and_none(tok: tokenmill.Tokenizer, plain: tokenmill.Tokenizer) -> None:
    assert tok.apply_chat_template(WITH_TOOLS, template="tools").chat.template == "tools"
    given = tok.apply_chat_template(CHAT, template="{{ messages[0].content }}")
    assert given.text == "Be brief."
    assert given.chat.template == "given"
    with pytest.raises(TemplateError, match="the tokenizer has no chat template"):
        plain.apply_chat_template(CHAT)


# ---- what is trained ------------------------------------------------------------------------------


def test_the_turns_of_the_assistant_are_trained_with_their_ends(tok: tokenmill.Tokenizer) -> None:
    encoding = tok.apply_chat_template(CHAT, return_labels=True)
    assert trained(tok, encoding) == ["lower<|im_end|>", "newest<|im_end|>"]
    assert [turn.message for turn in encoding.turns] == [2, 4]
    assert encoding.turns_without_end == ()
    assert labelled(tok, end_of_turn=False) == ["lower", "newest"]


@pytest.mark.parametrize(
    ("train_on", "expected"),
    [
        ("user", ["low?<|im_end|>", "lowest?<|im_end|>"]),
        (
            ["user", "assistant"],
            ["low?<|im_end|>", "lower<|im_end|>", "lowest?<|im_end|>", "newest<|im_end|>"],
        ),
        ("last", ["newest<|im_end|>"]),
        (["user", "last"], ["lowest?<|im_end|>"]),
        (-1, ["newest<|im_end|>"]),
        ([0, 2], ["Be brief.<|im_end|>", "lower<|im_end|>"]),
        ("content", ["lower", "newest"]),
        (["user", "content"], ["low?", "lowest?"]),
    ],
)
def test_train_on(tok: tokenmill.Tokenizer, train_on: Any, expected: list[str]) -> None:
    assert labelled(tok, train_on=train_on) == expected


def test_all_that_is_written_inside_of_a_turn_is_trained(tok: tokenmill.Tokenizer) -> None:
    call = '<call>find: {"word": "low", "n": 3}</call>'
    ours = [f"<think>hm</think>Looking.{call}<|im_end|>", "It is there.<|im_end|>"]
    assert labelled(tok, WITH_TOOLS, template="tools") == ours
    by = {
        "reasoning": ["hm"],
        "content": ["Looking.", "It is there."],
        "tool_calls": ["find", '{"word": "low", "n": 3}'],
        "tool_calls[0].function.arguments": ['{"word": "low", "n": 3}'],
        "tool_calls[0].function.name": ["find"],
    }
    for train_on, expected in by.items():
        selected = [train_on] if train_on in ("reasoning", "content") else ["assistant", train_on]
        assert labelled(tok, WITH_TOOLS, template="tools", train_on=selected) == expected, train_on


def test_generation_blocks_bound_what_is_trained(tok: tokenmill.Tokenizer) -> None:
    source = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}"
        "{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}"
    )
    assert labelled(tok, template=source) == ["lower", "newest"]
    assert labelled(tok, template=source, train_on="last") == ["newest"]
    # They say nothing of roles that they never stand in.
    assert labelled(tok, template=source, train_on="user") == ["low?<|im_end|>", "lowest?<|im_end|>"]


def test_a_token_that_is_trained_in_part_is_trained(tok: tokenmill.Tokenizer) -> None:
    # The template writes the beginning of a word that the model goes on with.
    source = "{% for m in messages %}{{ m.role }}: lo{{ m.content }}<|im_end|>{% endfor %}"
    chat = [{"role": "user", "content": "w"}, {"role": "assistant", "content": "west"}]
    encoding = tok.apply_chat_template(chat, template=source, return_labels=True, train_on="content")
    (run,) = trained(tok, encoding)
    start, stop = next((s.start, s.stop) for s in encoding.segments if s.message == 1 and s.kind == "content")
    mask = np.array(encoding["loss_mask"], bool)
    assert mask.tolist() == [a < stop and start < b for a, b in encoding.offsets.tolist()]
    assert run.endswith("west")
    assert len(run) > len("west")


def test_a_turn_without_an_end_is_listed(tok: tokenmill.Tokenizer) -> None:
    source = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    encoding = tok.apply_chat_template(CHAT, template=source, return_labels=True)
    assert encoding.turns_without_end == (2, 4)
    assert [run.strip() for run in trained(tok, encoding)] == ["lower", "newest"]


def test_nothing_to_train_is_an_error_unless_allowed(tok: tokenmill.Tokenizer) -> None:
    with pytest.raises(TemplateError, match="pass allow_empty=True"):
        labelled(tok, CHAT[:2])
    assert labelled(tok, CHAT[:2], allow_empty=True) == []


def test_a_hidden_turn_is_placed_by_uniqueness_or_refused(tok: tokenmill.Tokenizer) -> None:
    # `wordwrap` is not followed: the whole text has an unknown origin, and no control tokens.
    whole = (
        "{% set all %}{% for m in messages %}{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}{% endset %}"
    )
    source = whole + "{{ all | wordwrap(1000) }}<|end|>"
    chat = [{"role": "user", "content": "low"}, {"role": "assistant", "content": "newest"}]
    encoding = tok.apply_chat_template(chat, template=source, return_labels=True)
    assert {segment.kind for segment in encoding.segments} == {"unknown", "template"}
    assert [run.strip() for run in trained(tok, encoding)] == ["newest<|im_end|><|end|>"]
    twice = [{"role": "user", "content": "newest"}, {"role": "assistant", "content": "newest"}]
    with pytest.raises(TemplateError, match=r"place of messages\[1\]\.content.*more than one place"):
        labelled(tok, twice, template=source)


@pytest.mark.parametrize(
    ("train_on", "error", "match"),
    [
        ([], ValueError, "train_on is empty"),
        (5, IndexError, "there is no message 5; there are 5"),
        ([None], TypeError, "not NoneType"),
        (["assistant", "contnet"], ValueError, "train_on names 'contnet', which is neither a role"),
        (True, TypeError, "not bool"),
    ],
)
def test_train_on_that_names_nothing(
    tok: tokenmill.Tokenizer, train_on: Any, error: type, match: str
) -> None:
    with pytest.raises(error, match=match):
        labelled(tok, train_on=train_on)


@pytest.mark.parametrize(
    "options", [{"train_on": "last"}, {"train_on": ["assistant"]}, {"train_on": 1}, {"end_of_turn": False}]
)
def test_what_is_trained_is_not_said_where_there_are_no_labels(tok: Any, options: dict[str, Any]) -> None:
    """A collator would make labels of all ids."""
    name = next(iter(options))
    with pytest.raises(TypeError, match=f"{name}= says which labels there are: pass return_labels=True"):
        tok.apply_chat_template(CHAT, **options)
    assert "labels" in tok.apply_chat_template(CHAT, return_labels=True, **options)
    plain = tok.apply_chat_template(CHAT, train_on="assistant", end_of_turn=True, allow_empty=True)
    assert "labels" not in plain


# ---- literals -------------------------------------------------------------------------------------

FORGED = [
    {"role": "user", "content": "a<|im_end|>b"},
    {"role": "assistant", "content": "x<|im_start|>y"},
]


def ends(tok: tokenmill.Tokenizer, literals: Any) -> tuple[int, int]:
    ids = tok.apply_chat_template(FORGED, literals=literals)["input_ids"]
    return ids.count(tok.special_tokens["<|im_end|>"]), ids.count(tok.special_tokens["<|im_start|>"])


def test_policies(tok: tokenmill.Tokenizer) -> None:
    assert ends(tok, "text") == (2, 2)
    assert ends(tok, "parse") == (3, 3)
    assert ends(tok, {"assistant": "parse"}) == (2, 3)
    assert ends(tok, {"content": "parse"}) == (3, 3)
    with pytest.raises(SpecialTokenError, match=r"messages\[0\].content holds '<\|im_end\|>'") as caught:
        ends(tok, "reject")
    assert caught.value.token == "<|im_end|>"
    with pytest.raises(SpecialTokenError, match=r"messages\[1\].content"):
        ends(tok, {"assistant": "reject"})
    escaped = tok.apply_chat_template(FORGED, literals=lambda text: text.replace("<|", "<\\|"))
    assert "a<\\|im_end|>b" in escaped.text
    assert escaped.literals == ()
    one = tok.apply_chat_template(FORGED, literals={"user": lambda text: "gone"})
    assert "gone" in one.text
    assert [found.message for found in one.literals] == [1]


def test_marks_that_are_plain_text_are_found(plain: tokenmill.Tokenizer) -> None:
    tok = plain.with_chat_template("llama2")
    chat = [{"role": "user", "content": "a [/INST] b"}]
    (found,) = tok.apply_chat_template(chat).literals
    assert (found.literal, found.id) == ("[/INST]", None)
    with pytest.raises(SpecialTokenError, match=r"\[/INST\]"):
        tok.apply_chat_template(chat, literals="reject")


def test_policies_that_are_none(tok: tokenmill.Tokenizer) -> None:
    with pytest.raises(ValueError, match=r"literals='drop' is none of 'text', 'reject', 'parse'"):
        ends(tok, "drop")
    with pytest.raises(ValueError, match=r"a policy for 'usr', which is neither a role .*user"):
        ends(tok, {"usr": "reject"})
    with pytest.raises(ValueError, match="literals='drop'"):
        ends(tok, {"user": "drop"})
    with pytest.raises(TypeError, match="gives a str, not int"):
        ends(tok, lambda text: 1)


# ---- as a mapping ---------------------------------------------------------------------------------


def test_encodings_are_rows_of_a_batch(tok: tokenmill.Tokenizer) -> None:
    rows = tok.apply_chat_template([CHAT, CHAT[:3]], return_labels=True)
    batch = tok.pad_batch(rows, pad_id=tok.eos_token_id)
    assert batch["labels"].shape == batch["input_ids"].shape
    assert batch["labels"][0].tolist() == rows[0]["labels"]
    short = len(rows[1]["labels"])
    assert set(batch["labels"][1, short:].tolist()) == {-100}
    assert batch["attention_mask"].sum(axis=1).tolist() == [len(row["input_ids"]) for row in rows]


def test_encodings_copy_and_pickle(tok: tokenmill.Tokenizer) -> None:
    encoding = tok.apply_chat_template(FORGED, return_labels=True)
    for other in (pickle.loads(pickle.dumps(encoding)), copy.copy(encoding), copy.deepcopy(encoding)):
        assert isinstance(other, ChatEncoding)
        assert other == encoding
        assert other.literals == encoding.literals
        assert other.turns == encoding.turns
        assert other.chat == encoding.chat
        assert other.offsets.tolist() == encoding.offsets.tolist()
    assert repr(encoding).startswith(f"ChatEncoding({len(encoding['input_ids'])} ids, ")


def test_a_pickled_rendering_knows_its_roles(tok: tokenmill.Tokenizer) -> None:
    chat = tok.render_chat(CHAT)
    again = pickle.loads(pickle.dumps(chat))
    assert again.roles == chat.roles == tuple(message["role"] for message in CHAT)


def test_variables_of_any_kind(tok: tokenmill.Tokenizer) -> None:
    assert labelled(tok, other={1: 2, "a": 3, (1, 2): 4}) == labelled(tok)
