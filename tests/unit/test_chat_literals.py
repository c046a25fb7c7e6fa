"""What is done with control literals in conversations: `literals=`, and what is listed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from tokenmill.errors import SpecialTokenError

TEMPLATE = """
{%- for tool in tools or [] %}{{ tool | tojson }}{% endfor %}
{%- for document in documents or [] %}{{ document.text }}{% endfor %}
{{- note }}
{%- for message in messages %}
    {{- "<|a|>" ~ message.role ~ ":" ~ message.content }}
    {%- for call in message.tool_calls or [] %}{{ call.function.arguments | tojson }}{% endfor %}
    {{- "<|z|>" }}
{%- endfor %}"""


@pytest.fixture(scope="module")
def tok(native: Any) -> Any:
    """`<|pad|>` is special, and no part of the template."""
    trained = native.train(texts=["low lower"], num_merges=2, special_tokens=["<|a|>", "<|z|>", "<|pad|>"])
    return trained.with_chat_template(TEMPLATE)


def escaped(text: str) -> str:
    return text.replace("<|", "<\\|")


def places(encoding: Any) -> list[tuple[str, int | None, str | None]]:
    return [(found.literal, found.message, found.field) for found in encoding.literals]


def test_special_tokens_that_the_template_does_not_write_are_control_tokens_too(tok: Any) -> None:
    chat = [{"role": "user", "content": "a<|pad|>"}]
    encoding = tok.apply_chat_template(chat)
    assert places(encoding) == [("<|pad|>", 0, "content")]
    with pytest.raises(SpecialTokenError, match=r"messages\[0\].content holds '<\|pad\|>'"):
        tok.apply_chat_template(chat, literals="reject")
    assert "a<\\|pad|>" in tok.apply_chat_template(chat, literals=escaped).text


def test_a_function_rewrites_whatever_a_conversation_holds(tok: Any) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "<|z|>"}]
    messages.append(
        {
            "role": "assistant",
            "content": "x",
            "tool_calls": [{"function": {"name": "f", "arguments": {"<|z|>": ["<|pad|>"]}}}],
        }
    )
    options: dict[str, Any] = {
        "tools": [{"name": "<|a|>", "description": "plain"}],
        "documents": [{"text": "<|a|>"}],
        "note": "<|z|>",
    }
    assert len(tok.apply_chat_template(messages, **options).literals) == 6
    given = json.dumps([messages, options])
    seen: list[str] = []

    def replaced(text: str) -> str:
        seen.append(text)
        return "!"

    encoding = tok.apply_chat_template(messages, literals=replaced, **options)
    assert encoding.literals == ()
    assert encoding.text.count("!") == 6
    assert sorted(seen) == ["<|a|>", "<|a|>", "<|pad|>", "<|z|>", "<|z|>", "<|z|>"]
    assert json.dumps([messages, options]) == given

    def search(query: str) -> None:
        """Search <|z|>.

        Args:
            query: What for.
        """

    assert "Search <\\\\|z|>" in tok.apply_chat_template(messages[:1], tools=[search], literals=escaped).text


def test_a_mapping_chooses_by_kind_first_and_then_by_role(tok: Any) -> None:
    calls = [{"function": {"name": "f", "arguments": {"k": "<|z|>"}}}]
    messages = [
        {"role": "user", "content": "<|z|>"},
        {"role": "assistant", "content": "<|z|>", "tool_calls": calls},
    ]
    cases: list[tuple[Any, list[int | None]]] = [
        ({"content": escaped}, [1]),
        ({"tool_call": escaped}, [0, 1]),
        ({"assistant": escaped}, [0]),
        ({"assistant": escaped, "tool_call": "text"}, [0, 1]),
        ({"user": escaped, "tool_call": escaped}, [1]),
    ]
    for literals, left in cases:
        found = tok.apply_chat_template(messages, literals=literals).literals
        assert [literal.message for literal in found] == left, literals
    for literals, ends in (("parse", 5), ({"content": "parse"}, 4), ({"tool_call": "parse"}, 3)):
        ids = tok.apply_chat_template(messages, literals=literals)["input_ids"]
        assert ids.count(tok.token_to_id("<|z|>")) == ends


def test_a_role_answers_for_what_its_messages_hold_and_nothing_else(tok: Any) -> None:
    # The tools are written in the turn of the user, whose literals are parsed.
    source = "{% for m in messages %}{{ '<|a|>' ~ (tools | tojson) ~ m.content }}{% endfor %}"
    options: dict[str, Any] = {"tools": [{"name": "<|z|>"}], "template": source}
    messages = [{"role": "user", "content": "<|z|>"}]
    assert tok.render_chat(messages, **options).segments[1].role == "user"
    end = tok.token_to_id("<|z|>")
    for literals, count in (("parse", 2), ({"user": "parse"}, 1), ({"tools": "parse"}, 1), ("text", 0)):
        ids = tok.apply_chat_template(messages, literals=literals, **options)["input_ids"]
        assert ids.count(end) == count, literals
    with pytest.raises(SpecialTokenError, match=r"^tools.* holds '<\|z\|>', a control token's literal"):
        tok.apply_chat_template(messages, literals={"tools": "reject"}, **options)
    with pytest.raises(SpecialTokenError, match=r"^messages\[0\].content holds"):
        tok.apply_chat_template(messages, literals={"user": "reject"}, **options)


def test_messages_that_are_objects_are_rewritten_too(tok: Any) -> None:
    @dataclasses.dataclass
    class Message:
        role: str
        content: str

    messages = [Message("user", "<|z|>")]
    assert "<\\|z|>" in tok.apply_chat_template(messages, literals=escaped).text
    assert messages == [Message("user", "<|z|>")]


def test_white_space_that_a_token_takes_is_no_literal_of_a_message(native: Any, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    native.train(texts=["low lower"], num_merges=2, special_tokens=["<|a|>", "<|z|>"]).save(path)
    file = json.loads(path.read_text(encoding="utf-8"))
    for token in file["added_tokens"]:
        token["lstrip"] = token["rstrip"] = True
    path.write_text(json.dumps(file), encoding="utf-8")
    source = (
        "{% for m in messages %}{{ '<|a|>' ~ m.content ~ '<|z|>' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|a|>' }}{% endif %}"
    )
    tok = native.load(path).with_chat_template(source)
    chat = [{"role": "user", "content": " \n low \n"}]
    encoding = tok.apply_chat_template(chat, literals="reject")
    assert encoding.literals == ()
    assert tok.decode(encoding["input_ids"]) == "<|a|>low<|z|>"
    # Nor does it make a header part of what is trained, or an end of turn part of a message.
    chat[0]["role"] = "assistant"
    row = tok.apply_chat_template(chat, return_labels=True)
    assert row["loss_mask"] == [0] + [1] * (len(row["input_ids"]) - 1)
    assert row.turns[0].end is not None
    chat[0]["content"] = " <|z|> "
    (found,) = tok.apply_chat_template(chat).literals
    assert (found.literal, found.start, found.stop) == ("<|z|>", 6, 11)


def test_content_does_not_go_on_with_a_token_of_the_template(native: Any, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokens = ["<x>", "<y>", "<y>z", "z<y>", "<z>"]
    native.train(texts=["low lower"], num_merges=2, special_tokens=tokens).save(path)
    file = json.loads(path.read_text(encoding="utf-8"))
    for token in file["added_tokens"]:
        token["special"] = False
        token["rstrip"] = token["content"] == "<z>"
    path.write_text(json.dumps(file), encoding="utf-8")
    source = "{{ '<x>' }}{% for m in messages %}{{ '<' ~ 'y>' }}{{ m.content ~ '<y>' ~ '\\n' }}{% endfor %}"
    tok = native.load(path).with_chat_template(source)
    ids = {token: tok.token_to_id(token) for token in tokens}

    def found(content: str) -> list[str]:
        row = tok.apply_chat_template([{"role": "user", "content": content}])
        return [tok.id_to_token(number) for number in row["input_ids"] if number in ids.values()]

    # Of tokens that are not special a user may write those that the template does not.
    assert found("low <z> low") == ["<x>", "<y>", "<z>", "<y>"]
    # White space of the template that it takes is no part of it.
    assert found("low <z>") == ["<x>", "<y>", "<z>", "<y>"]
    for content in ("z", "z low z", "<x>", "<y>", "low"):
        assert found(content) == ["<x>", "<y>", "<y>"], content
    assert found("low<y>z low") == ["<x>", "<y>", "<y>z", "<y>"]
