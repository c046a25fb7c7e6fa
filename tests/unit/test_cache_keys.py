"""`cache_key`: it changes with everything that can change a result, and with nothing else."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenmill

CHAT = [{"role": "user", "content": "low"}]


@pytest.fixture(scope="module")
def tok() -> tokenmill.Tokenizer:
    trained = tokenmill.train(texts=["low lower"] * 3, num_merges=4, special_tokens=["<s>"])
    return trained.with_chat_template("chatml")


def schema(word: str) -> str:
    """A tool.

    Args:
        word: A word.
    """
    return word


def test_a_key_is_written_alike(tok: tokenmill.Tokenizer) -> None:
    key = tok.cache_key("low")
    assert key.startswith("tmk1-")
    assert len(key) == 69
    assert set(key[5:]) <= set("0123456789abcdef")
    assert key == tok.cache_key("low")


def test_a_signature_is_read_once(tok: tokenmill.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [tok.cache_key("low", call=call) for call in ("encode", "call")]
    monkeypatch.setattr("inspect.signature", lambda method: pytest.fail(f"read again: {method}"))
    assert [tok.cache_key("low", call=call) for call in ("encode", "call")] == keys


SAME: list[tuple[Any, dict[str, Any], Any, dict[str, Any]]] = [
    ("low", {}, "low", {"special": "text"}),
    ("low", {}, "low", {"num_threads": 4}),
    ("low", {}, "low", {"call": "encode"}),
    (CHAT, {}, CHAT, {"call": "apply_chat_template"}),
    (CHAT, {"return_labels": True}, CHAT, {"return_labels": True, "train_on": "assistant"}),
    (CHAT, {}, [dict(CHAT[0])], {"num_threads": 2}),
    (["low"], {"special": {"a", "b"}}, ["low"], {"special": {"b", "a"}}),
]
OTHER: list[tuple[Any, dict[str, Any], Any, dict[str, Any]]] = [
    ("low", {}, "lov", {}),
    ("low", {}, b"low", {}),
    ("low", {}, ["low"], {}),
    ("low", {}, "low", {"special": "parse"}),
    ("low", {}, "low", {"add_special_tokens": True}),
    ("low", {}, "low", {"untrusted": [(0, 1)]}),
    ("low", {}, "low", {"call": "call"}),
    ("low", {"call": "call"}, "low", {"call": "call", "max_length": 5, "truncation": True}),
    (CHAT, {}, [{"role": "user", "content": "low "}], {}),
    (CHAT, {}, [{"content": "low", "role": "user"}], {}),
    (CHAT, {}, CHAT, {"add_generation_prompt": True}),
    (CHAT, {}, CHAT, {"return_labels": True}),
    (CHAT, {"return_labels": True}, CHAT, {"return_labels": True, "train_on": "user"}),
    (CHAT, {"return_labels": True}, CHAT, {"return_labels": True, "end_of_turn": False}),
    (CHAT, {}, CHAT, {"literals": "parse"}),
    (CHAT, {}, CHAT, {"tools": [schema]}),
    (CHAT, {}, CHAT, {"custom": 1}),
    (CHAT, {"custom": 1}, CHAT, {"custom": True}),
    (CHAT, {"custom": 1}, CHAT, {"custom": 1.0}),
    (CHAT, {"custom": "1"}, CHAT, {"custom": 1}),
    (CHAT, {}, CHAT, {"now": datetime.datetime(2025, 1, 1)}),
]


@pytest.mark.parametrize(("one", "options", "other", "others"), SAME)
def test_same(tok: tokenmill.Tokenizer, one: Any, options: Any, other: Any, others: Any) -> None:
    assert tok.cache_key(one, **options) == tok.cache_key(other, **others)


@pytest.mark.parametrize(("one", "options", "other", "others"), OTHER)
def test_others(tok: tokenmill.Tokenizer, one: Any, options: Any, other: Any, others: Any) -> None:
    assert tok.cache_key(one, **options) != tok.cache_key(other, **others)


def test_tokenizers_and_templates(tok: tokenmill.Tokenizer) -> None:
    more = tok.with_special_tokens(["<t>"])
    assert tok.cache_key("low") != more.cache_key("low")
    rewritten = tok.with_chat_template("{{ messages[0].content }}")
    assert tok.cache_key(CHAT) != rewritten.cache_key(CHAT)
    # A template changes no id of a text.
    assert tok.cache_key("low") == rewritten.cache_key("low")


def test_a_key_is_the_same_in_another_process(tok: tokenmill.Tokenizer, tmp_path: Any) -> None:
    tok.save(tmp_path / "saved")
    program = (
        "import sys, tokenmill\n"
        "tok = tokenmill.load(sys.argv[1])\n"
        "chat = [{'role': 'user', 'content': 'low'}]\n"
        "print(tok.cache_key(chat, special={'x', 'y', 'z'}, return_labels=True))"
    )
    for seed in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "saved")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == tok.cache_key(CHAT, special={"z", "y", "x"}, return_labels=True)


def test_what_has_no_lasting_key(tok: tokenmill.Tokenizer) -> None:
    with pytest.raises(TypeError, match=r"custom: no key can be made of object"):
        tok.cache_key(CHAT, custom=object())
    with pytest.raises(TypeError, match=r"encode takes no option 'padding'"):
        tok.cache_key("low", padding=True)
    with pytest.raises(ValueError, match="call='train' is none of 'encode', 'call', 'apply_chat_template'"):
        tok.cache_key("low", call="train")
    with pytest.raises(TypeError, match=r"no lasting key can be made of .*<lambda>"):
        tok.cache_key(CHAT, literals=lambda text: text)


# ---- what a conversation says, and its options ------------------------------------------------------

DATED = "{{ strftime_now('%d %b %Y') }}{{ messages[0].content }}"
PRINTS = "{{ messages[0].k }}"


def rewrite(text: str) -> str:
    return text.replace("<", "")


@functools.wraps(rewrite)
def wrapped(text: str) -> str:
    return rewrite(text) + "!"


class Rewriter:
    """Rewrites by what it holds."""

    def __init__(self, char: str) -> None:
        self.char = char

    def rewrite(self, text: str) -> str:
        return text.replace("<", self.char)

    def __call__(self, text: str) -> str:
        return self.rewrite(text)


@dataclasses.dataclass
class Message:
    """A message."""

    role: str
    content: str


class Dumped:
    """A message that says what it is."""

    def model_dump(self) -> dict[str, str]:
        return dict(CHAT[0])


def test_the_date_is_given(tok: tokenmill.Tokenizer) -> None:
    dated = tok.with_chat_template(DATED)
    for other, options in ((dated, {}), (tok, {"template": DATED})):
        with pytest.raises(TypeError, match=r"strftime_now.*pass now="):
            other.cache_key(CHAT, call="apply_chat_template", **options)
    days = [dated.cache_key(CHAT, now=datetime.datetime(2025, 1, day)) for day in (1, 2, 1)]
    assert days[0] == days[2] != days[1]
    assert dated.cache_key("low")


@pytest.mark.parametrize(
    "function",
    [Rewriter("A").rewrite, Rewriter("A"), functools.partial(rewrite), wrapped, str.upper, Rewriter],
)
def test_functions_that_are_no_name(tok: tokenmill.Tokenizer, function: Any) -> None:
    with pytest.raises(TypeError, match="literals: no lasting key can be made of"):
        tok.cache_key(CHAT, literals=function)


def test_functions_of_modules(tok: tokenmill.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tok.cache_key(CHAT, literals=rewrite) == tok.cache_key(CHAT, literals=rewrite)
    assert tok.cache_key(CHAT, literals=rewrite) != tok.cache_key(CHAT)
    monkeypatch.setattr(rewrite, "__module__", "__main__")
    with pytest.raises(TypeError, match="no lasting key can be made of rewrite"):
        tok.cache_key(CHAT, literals=rewrite)


def test_tools_are_their_schemas(tok: tokenmill.Tokenizer) -> None:
    from tokenmill.chat.tools import schema_of

    key = tok.cache_key(CHAT, tools=[schema])
    assert key == tok.cache_key(CHAT, tools=(schema_of(schema),))

    def edited(word: str) -> str:
        """Another tool.

        Args:
            word: A word.
        """
        return word

    edited.__name__ = "schema"
    assert tok.cache_key(CHAT, tools=[edited]) not in (key, tok.cache_key(CHAT))


def test_what_a_template_prints(tok: tokenmill.Tokenizer) -> None:
    chats = [[{**CHAT[0], "k": value}] for value in ((1, 2), [1, 2], ((1, 2),), [(1, 2)])]
    keys = [tok.cache_key(chat, template=PRINTS) for chat in chats]
    texts = [tok.apply_chat_template(chat, template=PRINTS).text for chat in chats]
    assert len(set(keys)) == len(set(texts)) == 4
    variables = [tok.cache_key(CHAT, template="{{ v }}", v=value) for value in ((1,), [1])]
    assert variables[0] != variables[1]
    # A list of messages may be a tuple: it is the same conversation.
    assert tok.cache_key(tuple(CHAT)) == tok.cache_key(CHAT)


@pytest.mark.parametrize(
    "options",
    [
        {"return_tensors": "np"},
        {"padding": True},
        {"return_label": True},
        {"literals": "drop"},
        {"train_on": "last"},
    ],
)
def test_what_the_call_refuses(tok: tokenmill.Tokenizer, options: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as of_call:
        tok.apply_chat_template(CHAT, **options)
    with pytest.raises(type(of_call.value)) as of_key:
        tok.cache_key(CHAT, **options)
    assert str(of_key.value) == str(of_call.value)


def test_what_the_call_takes(tok: tokenmill.Tokenizer) -> None:
    key = tok.cache_key(CHAT)
    assert tok.cache_key([Message("user", "low")]) == key
    assert tok.cache_key([Dumped()]) == key
    assert tok.cache_key([[Message("user", "low")]]) == tok.cache_key([CHAT])
    spans = np.array([[0, 1]])
    assert tok.cache_key("low", untrusted=spans) == tok.cache_key("low", untrusted=[[0, 1]])
    call: dict[str, Any] = {"call": "call", "truncation": True}
    assert tok.cache_key("low", max_length=np.int64(5), **call) == tok.cache_key("low", max_length=5, **call)
    with pytest.raises(TypeError, match=r"no key can be made of PosixPath|WindowsPath"):
        tok.cache_key([{**CHAT[0], "file": Path("low")}])
