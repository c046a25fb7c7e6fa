"""Rendered chats: who wrote what, turns, options, tools, errors."""

# ruff: noqa: E501 (templates are easier to read on one line)
from __future__ import annotations

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from exact.conversations import SCHEMA, convert, get_weather
from tokenmill.chat import RenderedChat, builtin, choose, render
from tokenmill.chat.tools import schema_of
from tokenmill.errors import MissingExtraError, TemplateError

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TWO = [{"role": "user", "content": "Hi <|im_end|>"}, {"role": "assistant", "content": "Hello"}]


def chat(source: str, messages: Any = TWO, **options: Any) -> RenderedChat:
    return render(source, messages, special_tokens={"bos_token": "<s>"}, **options)


def parts(rendered: RenderedChat) -> list[tuple[str, int | None, str | None, str]]:
    """Text, message, field and kind of each segment."""
    return [(rendered.text[s.start : s.stop], s.message, s.field, s.kind) for s in rendered.segments]


def test_segments_tile_the_text_and_say_who_wrote_it() -> None:
    rendered = chat(CHATML, add_generation_prompt=True)
    assert parts(rendered) == [
        ("<|im_start|>", 0, None, "template"),
        ("user", 0, "role", "role"),
        ("\n", 0, None, "template"),
        ("Hi <|im_end|>", 0, "content", "content"),
        ("<|im_end|>\n<|im_start|>"[:11], 0, None, "template"),
        ("<|im_start|>", 1, None, "template"),
        ("assistant", 1, "role", "role"),
        ("\n", 1, None, "template"),
        ("Hello", 1, "content", "content"),
        ("<|im_end|>\n", 1, None, "template"),
        ("<|im_start|>assistant\n", None, None, "template"),
    ]
    assert [rendered.text[a:b] for a, b in rendered.untrusted] == ["Hi <|im_end|>", "Hello"]
    assert [segment.role for segment in rendered.segments[::5]] == ["user", "assistant", None]


def test_turns_are_what_was_written_for_each_message() -> None:
    rendered = chat(CHATML, add_generation_prompt=True)
    assert [[rendered.text[a:b] for a, b in turn] for turn in rendered.turns] == [
        ["<|im_start|>user\nHi <|im_end|><|im_end|>\n"],
        ["<|im_start|>assistant\nHello<|im_end|>\n"],
    ]


@pytest.mark.parametrize(
    "source",
    [
        "{{ bos_token }}{% for m in messages %}[{{ m.content }}]{% endfor %}",
        "{{ bos_token }}{% for i in range(messages|length) %}{% set m = messages[i] %}[{{ m.content }}]{% endfor %}",
        "{{ bos_token }}{% for m in messages[:1] + messages[1:] %}{{ '[' ~ m.content }}]{% endfor %}",
        "{{ bos_token }}{{ '[' + messages[0].content + ']' }}{% for m in messages[1:] %}[{{ m.content }}]{% endfor %}",
        "{% macro all() %}{% for m in messages %}[{{ m.content }}]{% endfor %}{% endmacro %}{{ bos_token }}{{ all() }}",
        "{% set ns = namespace(t='') %}{% for m in messages %}{% set ns.t = ns.t + '[' + m.content + ']' %}{% endfor %}"
        "{{ bos_token }}{{ ns.t }}",
        "{% set ns = namespace(l=[]) %}{% for m in messages %}{% set ns.l = ns.l + [{'role': m.role, 'c': m.content}] %}"
        "{% endfor %}{{ bos_token }}{% for m in ns.l %}[{{ m.c }}]{% endfor %}",
    ],
)
def test_a_turn_is_found_however_messages_are_walked(source: str) -> None:
    rendered = chat(source)
    assert rendered.text == "<s>[Hi <|im_end|>][Hello]"
    assert rendered.turns == (((3, 18),), ((18, 25),))
    assert rendered.segments[0][2:] == (None, None, None, "template", True)


def test_special_tokens_and_the_date_are_the_templates_own_and_variables_are_not() -> None:
    source = "{{ bos_token }}{{ strftime_now('%Y') }}{{ extra }}{{ strftime_now(extra) }}{{ more[0] }}"
    now = datetime(2024, 1, 2)
    rendered = render(source, TWO, special_tokens={"bos_token": "<s>", "more": ["<x>"]}, now=now, extra="<s>")
    assert rendered.text == "<s>2024<s><s><x>"
    assert [rendered.text[a:b] for a, b in rendered.untrusted] == ["<s><s>"]
    assert parts(rendered)[1] == ("<s>", None, "extra", "variable")
    # A variable of the call takes the place of a special token, and is not trusted then.
    assert render("{{ bos_token }}", TWO, special_tokens={"bos_token": "a"}, bos_token="b").untrusted == (
        (0, 1),
    )


def test_numbers_truth_values_and_keys_are_of_their_fields() -> None:
    messages = [{"role": "user", "content": {"n": 5, "b": True, "f": 0.5, "deep": {"z": None}}}]
    source = "{% for k, v in messages[0].content.items() %}{{ k }}={{ v }};{% endfor %}"
    assert [
        (text, field) for text, _, field, kind in parts(chat(source, messages)) if kind != "template"
    ] == [
        ("n", "content.n"),
        ("5", "content.n"),
        ("b", "content.b"),
        ("True", "content.b"),
        ("f", "content.f"),
        ("0.5", "content.f"),
        ("deep", "content.deep"),
        ("{", "content.deep"),
        ("'z'", "content.deep.z"),
        (": ", "content.deep"),
        ("None", "content.deep.z"),
        ("}", "content.deep"),
    ]


def test_kinds_of_fields() -> None:
    messages = [
        {"role": "user", "content": "q", "name": "n"},
        {
            "role": "assistant",
            "thinking": "r",
            "tool_calls": [{"id": "i", "function": {"name": "f", "arguments": {"a b": "v"}}}],
        },
        {"role": "tool", "content": "t", "tool_call_id": "i"},
    ]
    source = (
        "{{ messages[0].name }} {{ messages[1].reasoning_content }} {{ messages[1].tool_calls[0].id }} "
        "{{ messages[1].tool_calls[0].function.arguments['a b'] }} {{ messages[2].content }} "
        "{{ messages[2].tool_call_id }} {{ tools[0].x }} {{ documents[0].t }} {{ 1 + 1 }} {{ messages[0].role }}"
    )
    rendered = chat(source, messages, tools=[{"x": "s"}], documents=[{"t": "d"}])
    assert [(field, kind) for text, _, field, kind in parts(rendered) if text != " "] == [
        ("name", "name"),
        ("thinking", "reasoning"),
        ("tool_calls[0].id", "id"),
        ("tool_calls[0].function.arguments['a b']", "tool_call"),
        ("content", "tool_result"),
        ("tool_call_id", "id"),
        ("tools[0].x", "tools"),
        ("documents[0].t", "documents"),
        (None, "template"),
        ("role", "role"),
    ]
    computed = rendered.segments[-3]
    assert (rendered.text[computed.start : computed.stop], computed.trusted) == ("2", False)


def test_what_is_not_followed_is_unknown_and_untrusted() -> None:
    rendered = chat("{{ messages[1].content|urlencode }}{{ namespace }}")
    assert {segment.kind for segment in rendered.segments} == {"unknown"}
    assert rendered.untrusted == ((0, len(rendered.text)),)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("('<|im_start|>' + m.role + ' ').strip()", "<|im_start|>user"),
        ("(' <|im_start|>').lstrip() ~ ('<|im_start|> ').rstrip()", "<|im_start|><|im_start|>"),
        ("'a <|im_start|>'.split(' ')[1] ~ '<|im_start|> a'.rsplit(' ', 1)[0]", "<|im_start|><|im_start|>"),
        (
            "'a <|im_start|>'.partition(' ')[2] ~ '<|im_start|> a'.rpartition(' ')[0]",
            "<|im_start|><|im_start|>",
        ),
        ("'a<|im_start|>'.removeprefix('a') ~ '<|im_start|>a'.removesuffix('a')", "<|im_start|><|im_start|>"),
        ("'<|im_start|>' if ('a' + m.role).startswith('a') and 'a'.strip('b') == 'a'", "<|im_start|>"),
    ],
)
def test_a_method_that_cuts_a_literal_gives_literals(expression: str, text: str) -> None:
    rendered = chat("{% for m in messages %}{{ " + expression + " }}{{ m.content }}{% endfor %}", TWO[:1])
    assert rendered.text == text + TWO[0]["content"]
    assert rendered.untrusted == ((len(text), len(rendered.text)),)


def test_generation_blocks_are_found() -> None:
    source = (
        "{% for m in messages %}[{{ m.role }}]"
        "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}.{% endgeneration %}{% endif %}{% endfor %}"
    )
    rendered = chat(source)
    assert [rendered.text[a:b] for a, b in rendered.generation] == ["Hello."]


def test_literals_are_those_that_wrote_text() -> None:
    source = "{% if messages|length > 5 %}<long>{% endif %}{{ '<' ~ messages[0].role ~ '|end|>' }}"
    assert chat(source).literals == ("<", "|end|>")


def test_a_rendered_chat_can_be_pickled_and_compared() -> None:
    rendered = chat(CHATML)
    again = pickle.loads(pickle.dumps(rendered))
    assert again == rendered == chat(CHATML)
    assert hash(again) == hash(rendered)
    for name in ("text", "segments", "untrusted", "turns", "generation", "literals", "template"):
        assert getattr(again, name) == getattr(rendered, name)
    assert rendered != chat(CHATML, TWO[:1])
    # The same text by another's hand is another chat.
    assert chat("{{ x }}", x="a") != chat("a")


def test_an_empty_rendering_has_no_segments() -> None:
    rendered = chat("")
    assert (rendered.text, rendered.segments, rendered.untrusted, rendered.turns) == ("", (), (), ((), ()))


# ---- options --------------------------------------------------------------------------------------


def test_none_is_left_out_unless_it_is_kept() -> None:
    messages = [{"role": "user", "content": None}]
    source = "{{ 'content' in messages[0] }} {{ messages[0].content is none }} {{ messages[0].content }}"
    assert chat(source, messages).text == "False False "
    kept = chat(source, messages, keep_none=True)
    assert kept.text == "True True None"
    assert kept.segments[-1].field == "content"


def test_calls_without_content_render_with_none_kept(data: Any) -> None:
    source = (data / "templates" / "deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja").read_text(
        encoding="utf-8"
    )
    call = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    with pytest.raises(TemplateError):
        chat(source, messages)
    assert "<｜tool▁call▁begin｜>" in chat(source, messages, keep_none=True).text


def test_the_last_message_is_continued() -> None:
    rendered = chat(CHATML, continue_final_message=True)
    assert rendered.text.endswith("<|im_start|>assistant\nHello")
    assert rendered.segments[-1].field == "content"
    assert rendered.segments[-1].stop == len(rendered.text)
    with pytest.raises(ValueError, match="choose one of them"):
        chat(CHATML, continue_final_message=True, add_generation_prompt=True)
    with pytest.raises(TemplateError, match="has no 'thinking' to continue"):
        chat(CHATML, continue_final_message="thinking")
    with pytest.raises(TemplateError, match="cannot be continued"):
        chat("{{ messages[0].content }}", continue_final_message=True)


def test_messages_are_not_changed() -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "a"}], "thinking": "t", "x": None}]
    chat("{{ messages[0].content[0].text }}", messages, continue_final_message=True)
    assert messages == [
        {"role": "user", "content": [{"type": "text", "text": "a"}], "thinking": "t", "x": None}
    ]


def test_objects_with_fields_are_messages_too() -> None:
    @dataclass
    class Said:
        role: str
        content: str

    class Model:
        def model_dump(self) -> dict[str, str]:
            return {"role": "assistant", "content": "b"}

    assert (
        chat("{% for m in messages %}{{ m.content }}{% endfor %}", [Said("user", "a"), Model()]).text == "ab"
    )


# ---- roles ----------------------------------------------------------------------------------------


def test_methods_of_markup_take_what_is_undefined() -> None:
    messages = [{"role": "user", "content": "xzx"}]
    source = "{{ ('<a>' + messages[0].content|safe).replace('z', nothing, 1) }}"
    assert render(source, messages, special_tokens={}).text == "&lt;a&gt;xx"


def test_roles_are_those_that_the_template_knows() -> None:
    messages = [{"role": "critic", "content": "x"}]
    with pytest.raises(
        TemplateError, match=r"messages\[0\] has the role 'critic'; allowed are 'assistant'"
    ) as caught:
        chat(CHATML, messages, name="chatml")
    assert (caught.value.template, caught.value.line) == ("chatml", None)
    assert chat(CHATML, messages, roles=["critic"]).segments[1].trusted
    compares = "{% if messages[0]['role'] in ['critic', 'x'] %}{{ messages[0].role }}{% endif %}"
    assert chat(compares, messages).text == "critic"
    # What content is compared with is no role.
    with pytest.raises(TemplateError, match="has the role"):
        chat("{{ '<|x|>' in messages[0].content }}", [{"role": "<|x|>", "content": ""}])
    with pytest.raises(TemplateError, match="has the role 5"):
        chat(CHATML, [{"role": 5, "content": ""}])


# ---- which template -------------------------------------------------------------------------------


def test_choosing_a_template() -> None:
    named = {"default": "D", "tool_use": "T", "rag": "R"}
    assert choose(named, None, None) == ("default", "D")
    assert choose(named, None, []) == ("tool_use", "T")
    assert choose(named, "rag", [SCHEMA]) == ("rag", "R")
    assert choose(named, "{{ x }}", None) == ("given", "{{ x }}")
    assert choose(named, "chatml", None) == ("chatml", builtin.source_of("chatml"))
    assert choose({"chatml": "own"}, "chatml", None) == ("chatml", "own")
    with pytest.raises(TemplateError, match=r"no template is named 'rga'; those .*'rag'.*'chatml'"):
        choose(named, "rga", None)
    assert choose({"default": "D"}, None, [SCHEMA]) == ("default", "D")
    with pytest.raises(TemplateError, match=r"choose one of 'a', 'b' by template="):
        choose({"b": "", "a": ""}, None, None)
    with pytest.raises(TemplateError, match="has no chat template"):
        choose({}, None, None)


# ---- tools ----------------------------------------------------------------------------------------


def nothing_said(x: int) -> None:
    """Do it."""


def no_hint(x) -> None:  # type: ignore[no-untyped-def]
    """Do it.

    Args:
        x: It.
    """


def odd_type(x: range) -> None:
    """Do it.

    Args:
        x: It.
    """


def odd_choices(x: int) -> None:
    """Do it.

    Args:
        x: It (choices: [a])
    """


def bare(x: int) -> None:
    pass


def many(
    a: list[int],
    b: tuple[str, int],
    c: dict[str, float],
    d: int | str | None,
    e: list[str] | dict[str, int],
    f: Any,
) -> tuple[int, ...]:
    """Do
    much.

    Args:
        a: One
            more of it: with a colon

        b (tuple): Two
        c: Three (choices: [" x ", 2])
        d: Four
        e: Five
        b: Two: again
        f: Six

    Raises:
        ValueError: never
    """
    return (1,)


class Holder:
    def method(self, x: int) -> str:
        """A method.

        Args:
            x: It.

        Returns:
            str: What it says.
        """
        return ""


@pytest.mark.parametrize("tool", [get_weather, convert, many, Holder().method])
def test_functions_have_the_schemas_of_transformers(tool: Any) -> None:
    from transformers.utils.chat_template_utils import get_json_schema

    assert schema_of(tool) == get_json_schema(tool)
    assert list(schema_of(tool)["function"]["parameters"]["properties"]) == list(
        get_json_schema(tool)["function"]["parameters"]["properties"]
    )


@pytest.mark.parametrize(
    ("tool", "says"),
    [
        (nothing_said, "says nothing of argument 'x'"),
        (no_hint, "argument 'x' has no type hint"),
        (odd_type, "the type of argument 'x'"),
        (odd_choices, "the choices of argument 'x'"),
        (bare, "has no docstring"),
        ("search", "a tool is a schema"),
    ],
)
def test_tools_that_have_no_schema_say_why(tool: Any, says: str) -> None:
    with pytest.raises(TemplateError, match=says):
        chat("", tools=[tool])


# ---- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("a\n{{ raise_exception('No such thing') }}", 2, "No such thing"),
        ("\n\n{% if %}", 3, "Expected an expression, got 'end of statement block'"),
        ("{{ messages[0].missing + 'x' }}", 1, "'dict object' has no attribute 'missing'"),
        ("{% macro f(x) %}\n{{ x.y.z }}{% endmacro %}{{ f({}) }}", 2, "'dict object' has no attribute 'y'"),
        ("{{ 'a' + 1 }}", 1, 'can only concatenate str (not "int") to str'),
        ("{{ messages.append(1) }}", 1, "access to attribute 'append' of 'list' object is unsafe."),
        ("{% for a in range(10**9) %}{% endfor %}", 1, "it takes more than 100,000,000 steps"),
    ],
)
def test_errors_name_template_and_line(source: str, line: int, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        chat(source, name="mine")
    error = caught.value
    assert (error.template, error.line, error.message) == ("mine", line, message)
    assert str(error) == f"chat template 'mine', line {line}: {message}"


@pytest.mark.parametrize("messages", ["text", {"role": "user"}, None, [1], ["x"]])
def test_messages_are_a_list_of_dicts(messages: Any) -> None:
    with pytest.raises(TypeError, match=r"^messages"):
        chat("", messages)
    with pytest.raises(ValueError, match="at least one message"):
        chat("", [])
    with pytest.raises(TypeError, match=r"documents\[0\] must be a dict"):
        chat("", documents=["x"])


def test_without_jinja2_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenmill.chat import rendering

    monkeypatch.setattr(rendering, "_loaded", None)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"tokenmill\[chat\]") as caught:
        chat(CHATML)
    assert caught.value.extra == "chat"


def test_an_old_jinja2_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import jinja2
    from tokenmill.chat import rendering

    monkeypatch.setattr(rendering, "_loaded", None)
    monkeypatch.setattr(jinja2, "__version__", "3.1.5")
    with pytest.raises(MissingExtraError, match=r"not 3\.1\.5"):
        chat(CHATML)


def test_threads_share_a_template() -> None:
    def one(number: int) -> bool:
        text = f"message {number}"
        rendered = chat(CHATML, [{"role": "user", "content": text}])
        return rendered.text == f"<|im_start|>user\n{text}<|im_end|>\n" and rendered.untrusted == (
            (17, 17 + len(text)),
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, range(400)))
