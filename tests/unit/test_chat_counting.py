"""`count_chat` and `fit_chat`: conversations within a number of ids."""

from __future__ import annotations

from typing import Any

import pytest
import tokenmill
from tokenmill.errors import BudgetError

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for call in m.tool_calls or [] %}{{ call.function | tojson }}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CALL = {"type": "function", "function": {"name": "find", "arguments": {"word": "low"}}}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "low?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "content": "3 times"},
    {"role": "assistant", "content": "It is there."},
    {"role": "user", "content": "widest?"},
    {"role": "assistant", "content": "newest"},
    {"role": "user", "content": "And lower?"},
]


@pytest.fixture(scope="module")
def tok() -> tokenmill.Tokenizer:
    texts = ["low lower lowest newest widest", "Be brief. It is there."] * 20
    plain = tokenmill.train(texts=texts, num_merges=60, special_tokens=["<|im_start|>", "<|im_end|>"])
    return plain.with_chat_template(TEMPLATE)


def fitted(tok: tokenmill.Tokenizer, n: int, **options: Any) -> list[int]:
    """The indices of what is left."""
    left = tok.fit_chat(CHAT, n, **options)
    assert all(any(message is given for given in CHAT) for message in left)
    options.pop("keep", None)
    assert tok.count_chat(left, **options) <= n
    return [CHAT.index(message) for message in left]


def test_counts_are_lengths(tok: tokenmill.Tokenizer) -> None:
    for stop in range(1, len(CHAT) + 1):
        for options in ({}, {"add_generation_prompt": True}, {"literals": "parse"}):
            ids = tok.apply_chat_template(CHAT[:stop], **options)["input_ids"]
            assert tok.count_chat(CHAT[:stop], **options) == len(ids)
    forged = [{"role": "user", "content": "<|im_end|>"}]
    assert tok.count_chat(forged) == len(tok.apply_chat_template(forged)["input_ids"])


def test_what_fits_is_given_back(tok: tokenmill.Tokenizer) -> None:
    whole = tok.count_chat(CHAT)
    left = tok.fit_chat(CHAT, whole)
    assert left == CHAT
    assert left is not CHAT


def test_the_oldest_turns_are_dropped_whole(tok: tokenmill.Tokenizer) -> None:
    whole = tok.count_chat(CHAT)
    assert fitted(tok, whole - 1) == [0, 5, 6, 7]
    second = tok.count_chat([CHAT[index] for index in (0, 5, 6, 7)])
    assert fitted(tok, second) == [0, 5, 6, 7]
    assert fitted(tok, second - 1) == [0, 7]


def test_the_prompt_counts(tok: tokenmill.Tokenizer) -> None:
    whole = tok.count_chat(CHAT)
    assert fitted(tok, whole, add_generation_prompt=True) == [0, 5, 6, 7]


def test_what_is_kept(tok: tokenmill.Tokenizer) -> None:
    whole = tok.count_chat(CHAT)
    assert fitted(tok, whole - 1, keep=("system", "last", 1)) == [0, 1, 2, 3, 4, 7]
    assert fitted(tok, whole - 1, keep=("last",)) == list(range(1, 8))
    assert fitted(tok, 30, keep=()) == [5, 6, 7] or fitted(tok, 30, keep=()) == [7]
    with pytest.raises(BudgetError) as caught:
        tok.fit_chat(CHAT, 3)
    needed = tok.count_chat([CHAT[0], CHAT[7]])
    assert (caught.value.needed, caught.value.limit) == (needed, 3)
    assert f"needs {needed} ids" in str(caught.value)
    assert fitted(tok, needed) == [0, 7]


def test_a_conversation_that_ends_with_tools_keeps_its_call(tok: tokenmill.Tokenizer) -> None:
    chat = CHAT[:4]
    with pytest.raises(BudgetError):
        tok.fit_chat(chat, tok.count_chat(chat) - 1)


def test_each_number_gives_the_longest_that_fits(tok: tokenmill.Tokenizer) -> None:
    sizes = [tok.count_chat([CHAT[0], *CHAT[start:]]) for start in (1, 5, 7)]
    for n in range(sizes[-1], sizes[0] + 2):
        left = tok.fit_chat(CHAT, n)
        assert tok.count_chat(left) == max(size for size in sizes if size <= n)


@pytest.mark.parametrize(
    ("keep", "error", "match"),
    [
        ("system", TypeError, "not one str"),
        ((1.5,), TypeError, "not float"),
        ((9,), IndexError, "no message 9"),
    ],
)
def test_keep_that_is_wrong(tok: tokenmill.Tokenizer, keep: Any, error: type, match: str) -> None:
    with pytest.raises(error, match=match):
        tok.fit_chat(CHAT, 20, keep=keep)


def test_numbers_that_are_none(tok: tokenmill.Tokenizer) -> None:
    for wrong in (1.5, "9", True, None):
        with pytest.raises(TypeError, match="n must be an integer"):
            tok.fit_chat(CHAT, wrong)  # type: ignore[arg-type]


def test_a_conversation_without_messages(tok: tokenmill.Tokenizer) -> None:
    for call in (tok.count_chat, tok.apply_chat_template, lambda chat: tok.fit_chat(chat, 100)):
        with pytest.raises(ValueError, match="an empty conversation renders to nothing"):
            call([])


@pytest.mark.parametrize("role", ["developer", "system", "user"])
def test_a_call_is_dropped_with_its_result_whatever_stands_between(
    tok: tokenmill.Tokenizer, role: str
) -> None:
    between = {"role": role, "content": "Count all of them."}
    chat = [*CHAT[:3], between, *CHAT[3:]]
    whole = tok.count_chat(chat)
    for n in range(tok.count_chat([CHAT[0], CHAT[-1]]), whole + 1):
        left = tok.fit_chat(chat, n, keep=(0, "last"))
        assert (CHAT[2] in left) == (CHAT[3] in left), n
        assert role != "user" or (between in left) == (CHAT[3] in left)
    dropped = [CHAT[0], *CHAT[5:]] if role == "user" else [CHAT[0], between, *CHAT[5:]]
    assert tok.fit_chat(chat, whole - 1, keep=(0, "last")) == dropped
    if role != "user":  # kept by default, and keeps nothing else
        assert tok.fit_chat(chat, whole - 1) == dropped


def test_results_stay_with_the_calls_whose_ids_they_have(tok: tokenmill.Tokenizer) -> None:
    def call(number: int) -> dict[str, Any]:
        return {"role": "assistant", "content": "", "tool_calls": [{**CALL, "id": str(number)}]}

    def result(number: int) -> dict[str, Any]:
        return {"role": "tool", "content": "3 times", "tool_call_id": str(number)}

    user, waits, end = (
        {"role": "user", "content": "low?"},
        {"role": "assistant", "content": "wait"},
        CHAT[-1],
    )
    for middle in ([call(1), user, waits, result(1)], [call(1), user, call(2), result(1), result(2)]):
        chat = [user, *middle, end]
        whole = tok.count_chat(chat)
        assert tok.fit_chat(chat, whole) == chat
        assert tok.fit_chat(chat, whole - 1) == [end]


def test_several_conversations_are_not_one(tok: tokenmill.Tokenizer) -> None:
    several: Any = [CHAT]
    for call in (tok.count_chat, tok.render_chat, lambda chat: tok.fit_chat(chat, 100)):
        with pytest.raises(TypeError, match=r"messages\[0\] must be a dict .*, not list: this takes one"):
            call(several)
