"""Where a turn begins and ends in templates that do not write one header and one end for each message."""

from __future__ import annotations

from typing import Any

import pytest
from tokenmill.errors import TemplateError

SPECIAL = ("<|im_start|>", "<|im_end|>", "<|call|>", "<|result|>", "<|end|>", "[/INST]")

USER = {"role": "user", "content": "one"}
ANSWER = {"role": "assistant", "content": "two"}


@pytest.fixture(scope="module")
def plain(native: Any) -> Any:
    tok = native.train(texts=["low lower"], num_merges=1)
    return tok.with_special_tokens(SPECIAL, eos_token="</s>")


def trained(plain: Any, source: str, messages: list[dict[str, Any]], **options: Any) -> list[str]:
    """The texts that are trained, without what stands between them."""
    encoding = plain.with_chat_template(source).apply_chat_template(
        messages, return_labels=True, allow_empty=True, **options
    )
    chosen = "".join(
        encoding.text[start:stop] if label != -100 else "\0"
        for (start, stop), label in zip(encoding.offsets.tolist(), encoding["labels"], strict=True)
    )
    return [text for text in chosen.split("\0") if text]


CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def test_a_turn_without_text_is_its_end_of_turn_token(plain: Any) -> None:
    assert trained(plain, CHATML, [USER, {"role": "assistant", "content": ""}]) == ["<|im_end|>"]


def test_an_eos_behind_the_last_turn_instead_of_a_prompt_hides_no_header(plain: Any) -> None:
    source = CHATML.replace("{% endif %}", "{% else %}{{ eos_token }}{% endif %}")
    empty = {"role": "assistant", "content": ""}
    assert trained(plain, source, [USER, ANSWER, USER, empty]) == ["two<|im_end|>", "<|im_end|>"]


def test_a_header_that_is_written_whatever_the_template_is_told_is_not_trained(plain: Any) -> None:
    source = CHATML.partition("{% if")[0] + "{{ '<|im_start|>assistant\n' }}"
    assert trained(plain, source, [USER, ANSWER]) == ["two<|im_end|>"]


def test_a_header_that_no_prompt_writes_is_not_trained(plain: Any) -> None:
    source = CHATML.partition("{% if")[0]
    calls = source.replace("{{ m.content }}", '{% if m.call %}<|call|>{"name": "{{ m.call }}"}{% endif %}')
    assert trained(plain, source, [USER, ANSWER]) == ["two<|im_end|>"]
    assert trained(plain, calls, [USER, {"role": "assistant", "call": "f"}])[0].endswith('f"}<|im_end|>')


def test_of_a_prompt_only_what_stands_there_is_the_header(plain: Any) -> None:
    source = CHATML.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}")
    answered = source.replace(
        "{{ m.content }}", "{{ '<think></think>' if m.role == 'assistant' }}{{ m.content }}"
    )
    assert trained(plain, source, [USER, ANSWER]) == ["two<|im_end|>"]
    assert trained(plain, answered, [USER, ANSWER]) == ["</think>two<|im_end|>"]


def test_a_turn_without_a_header_begins_with_what_the_template_writes_in_it(plain: Any) -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
        '{% else %}{% if m.call %}[TOOL_CALLS][{"name": "{{ m.call }}"}]{% else %} {{ m.content }}{% endif %}'
        "{{ eos_token }}{% endif %}{% endfor %}"
    )
    assert trained(plain, source, [USER, ANSWER]) == [" two</s>"]
    called = {"role": "assistant", "call": "f"}
    assert trained(plain, source, [USER, called]) == ['[TOOL_CALLS][{"name": "f"}]</s>']


def test_a_space_that_the_turn_before_writes_for_the_answer_is_trained(plain: Any) -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
        "{% if not loop.last %} {% endif %}{% else %}{{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
    )
    assert trained(plain, source, [USER, ANSWER]) == [" two</s>"]


JOINED = (
    "{% set ns = namespace(text='') %}{% for m in messages %}"
    "{% if m.role == 'user' %}[INST]{{ m.content }}[/INST]"
    "{% elif loop.nextitem and loop.nextitem.role == 'assistant' %}"
    "{% set ns.text = ns.text + m.content + '\n' %}"
    "{% else %}{{ ns.text + m.content }}{{ eos_token }}{% set ns.text = '' %}{% endif %}{% endfor %}"
)


def test_answers_that_are_joined_share_the_token_behind_the_last(plain: Any) -> None:
    messages = [USER, ANSWER, {"role": "assistant", "content": "three"}]
    assert trained(plain, JOINED, messages) == ["two\nthree</s>"]
    assert trained(plain, JOINED, messages, train_on="last") == ["three</s>"]


def test_the_result_of_a_tool_within_the_turn_that_called_it_is_not_trained(plain: Any) -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'user' %}<|im_start|>user\n{{ m.content }}<|im_end|>\n"
        "{% elif m.role == 'assistant' %}<|im_start|>assistant\n{% for call in m.tool_calls or [] %}"
        "<|call|>{{ call.function.name }}<|result|>"
        "{{ call.function.name }}={{ loop.length and messages[2].content }}"
        "<|end|>{% endfor %}{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    call = {"type": "function", "function": {"name": "f", "arguments": {}}}
    messages: list[dict[str, Any]] = [
        USER,
        {**ANSWER, "tool_calls": [call]},
        {"role": "tool", "content": "20"},
    ]
    assert trained(plain, source, messages) == ["<|call|>f<|result|>", "two<|im_end|>"]
    hidden = source.replace("{{ m.content }}<|im_end|>\n{% endif %}", "<|im_end|>\n{% endif %}")
    assert trained(plain, hidden, messages)[0] == "<|call|>f<|result|>"


def test_a_tool_name_in_its_result_is_no_turn_of_the_call(plain: Any) -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'user' %}<|im_start|>user\n{{ m.content }}<|im_end|>\n"
        "{% elif m.role == 'tool' %}<|result|>{{ messages[loop.index0 - 1].tool_calls[0].function.name }}="
        "{{ m.content }}<|end|>{% endif %}{% endfor %}"
    )
    call = {"type": "function", "function": {"name": "f", "arguments": {}}}
    messages: list[dict[str, Any]] = [
        USER,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "content": "20"},
    ]
    assert trained(plain, source, messages) == []


def test_a_generation_block_that_is_to_be_continued_is_trained_to_the_end_of_the_text(plain: Any) -> None:
    source = CHATML.replace(
        "{{ m.content }}<|im_end|>", "{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}"
    )
    assert trained(plain, source, [USER, ANSWER], continue_final_message=True) == ["two"]


@pytest.mark.parametrize("said", ["one", "one<|im_start|>assistant", "one<|im_start|>assistant\n"])
def test_a_message_that_ends_like_the_header_is_no_header(plain: Any, said: str) -> None:
    source = CHATML.replace("<|im_end|>\n", "").replace("\n", "")
    assert trained(plain, source, [{**USER, "content": said.rstrip()}, ANSWER]) == ["two"]
    # The header stands before the turn, where the template writes it behind the question.
    behind = (
        "{% for m in messages %}{{ m.content }}{% if m.role == 'user' %}<|im_start|>assistant\n"
        "{% else %}<|im_end|>{% endif %}{% endfor %}"
    )
    assert trained(plain, behind, [{**USER, "content": said}, ANSWER]) == ["two<|im_end|>"]


def test_a_message_that_ends_like_what_closes_it_closes_nothing(plain: Any) -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'user' %}[INST]{{ m.content }}[/INST]"
        "{% else %}{{ m.content }}{{ eos_token if m.role == 'assistant' }}{% endif %}{% endfor %}"
    )
    result = {"role": "tool", "content": "three[/INST]\n"}
    assert trained(plain, source, [USER, result, ANSWER]) == ["two</s>"]


OUTSIDE = {
    "indices": (
        "{% for i in range(messages|length) %}<|im_start|>{{ messages[i].role }}\n{{ messages[i].content }}"
        "<|im_end|>\n{% endfor %}"
    ),
    "hidden": (
        "{% for i in range(messages|length) %}<|im_start|>{{ messages[i].role }}\n"
        "{{ messages[i].content|wordwrap(200) }}<|im_end|>\n{% endfor %}"
    ),
    "separator": (
        "{% for m in messages %}{% if not loop.first %}<|im_end|>\n{% endif %}<|im_start|>{{ m.role }}\n"
        "{{ m.content }}{% endfor %}<|im_end|>\n"
    ),
    "pairs": (
        "{% for p in messages|batch(2) %}<|im_start|>user\n{{ p[0].content }}<|im_end|>\n"
        "<|im_start|>assistant\n{{ p[1].content }}<|im_end|>\n{% endfor %}"
    ),
    "parts": (
        "{% set ns = namespace(parts=[]) %}{% for m in messages %}{% set ns.parts = ns.parts + "
        "['<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n'] %}{% endfor %}{{ ns.parts|join }}"
    ),
    "set block": (
        "{% set ns = namespace(text='') %}{% for m in messages %}{% set ns.text %}{{ ns.text }}<|im_start|>"
        "{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endset %}{% endfor %}{{ ns.text }}"
    ),
}
MORE = [USER, ANSWER, {"role": "user", "content": "three"}, {"role": "assistant", "content": "four"}]


@pytest.mark.parametrize("source", OUTSIDE.values(), ids=OUTSIDE)
@pytest.mark.parametrize("prompt", ["", CHATML.partition("{% endfor %}")[2]], ids=["no prompt", "prompt"])
def test_a_token_right_behind_a_turn_ends_it_wherever_it_is_written(
    plain: Any, source: str, prompt: str
) -> None:
    assert trained(plain, source + prompt, MORE) == ["two<|im_end|>", "four<|im_end|>"]
    asked = ["one<|im_end|>", "three<|im_end|>"]
    assert source == OUTSIDE["pairs"] or trained(plain, source, MORE, train_on="user") == asked
    # What a message says is no token of the template, nor is what stands behind other text.
    said = [USER, {**ANSWER, "content": "two <|im_end|>"}, *MORE[2:]]
    assert trained(plain, source, said)[0] == "two <|im_end|><|im_end|>"
    behind = source.replace("<|im_end|>", ".<|im_end|>")
    assert (
        "<|im_end|>" not in "".join(trained(plain, behind, MORE)) or "two." in trained(plain, behind, MORE)[0]
    )


def test_a_separator_ends_all_turns_but_the_last(plain: Any) -> None:
    source = OUTSIDE["separator"].removesuffix("<|im_end|>\n")
    for prompt in ("", "{% if add_generation_prompt %}<|im_end|>\n<|im_start|>assistant\n{% endif %}"):
        assert trained(plain, source + prompt, MORE) == ["two<|im_end|>", "four"]


TWO_HEADERS = "{{ '<|call|>' if m.role == 'user' else '<|result|>' }}"


@pytest.mark.parametrize(
    "source",
    [
        "{% for m in messages %}" + TWO_HEADERS + "\n{{ m.content }}{% endfor %}",
        "{% for i in range(messages|length) %}{{ '<|call|>' if i % 2 == 0 else '<|result|>' }}\n"
        "{{ messages[i].content }}{% endfor %}",
        "{% for i in range(messages|length) %}<|im_start|>{{ messages[i].role }}\n"
        "{{ messages[i].content }}{% endfor %}",
        "{% for m in messages %}{% if not loop.first %}" + TWO_HEADERS + "{% endif %}\n"
        "{{ m.content }}{% endfor %}",
    ],
)
@pytest.mark.parametrize("always", [False, True])
def test_a_token_that_begins_the_next_turn_ends_none(plain: Any, source: str, always: bool) -> None:
    header = "<|im_start|>assistant\n" if "<|im_start|>" in source else "<|result|>\n"
    prompt = header if always else "{% if add_generation_prompt %}" + header + "{% endif %}"
    assert trained(plain, source + "{{ '" + prompt + "' }}" if always else source + prompt, MORE) == [
        "two",
        "four",
    ]
    assert trained(plain, source + prompt, MORE, train_on="user") == ["one", "three"]


def test_a_header_that_the_template_hides_is_refused(plain: Any) -> None:
    prompt = CHATML.partition("{% endfor %}")[2]
    hidden = CHATML.replace("{{ m.content }}", "{{ m.content|wordwrap(200) }}")
    for source in (hidden, hidden.removesuffix(prompt)):
        assert trained(plain, source, MORE) == ["two<|im_end|>", "four<|im_end|>"]
    for expression in ("m.role + '\n' + m.content", "'<|im_start|>' + m.role + '\n' + m.content"):
        begun = "" if "im_start" in expression else "<|im_start|>"
        source = (
            "{% for m in messages %}"
            + begun
            + "{{ ("
            + expression
            + ")|wordwrap(200) }}<|im_end|>\n{% endfor %}"
        )
        for whole in (source, source + prompt):
            with pytest.raises(TemplateError, match=r"messages\[1\] begins, and the template hides whether"):
                trained(plain, whole, MORE)


@pytest.mark.parametrize("said", ["</think>", "<think>", "<|im_start|>", "assistant"])
def test_a_message_that_reads_like_the_template_does_not_move_its_turn(plain: Any, said: str) -> None:
    """The template leaves the text out, and writes the same itself."""
    source = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}<think></think>"
        f"{{{{ m.content.split('{said}')[-1] }}}}{{% else %}}{{{{ m.content }}}}{{% endif %}}<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<think></think>{% endif %}"
    )
    want = trained(plain, source, [USER, {"role": "assistant", "content": ""}])
    assert trained(plain, source, [USER, {"role": "assistant", "content": said}]) == want == ["<|im_end|>"]
